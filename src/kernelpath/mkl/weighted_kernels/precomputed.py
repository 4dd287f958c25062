r"""Sums of kernel matrices that the user brings, one for each view of the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError
from kernelpath.mkl.weighted_kernels.base import as_columns
from kernelpath.mkl.weighted_kernels.matrices import (
    SYMMETRY,
    as_numbers,
    check_grams,
    factored,
    rounding_of,
)
from kernelpath.mkl.weighted_kernels.storage import HeldSum
from kernelpath.tables.rows import Shares, mean_of, shares_of

NOTHING = 1e-12  # trace of a centred matrix, relative to the matrix, that counts as zero


class GivenKernels(HeldSum):
    r"""A weighted sum of given matrices, centred and of mean diagonal 1 if so wished.

    .. math:: K(d) = \sum_k d_k \frac{n\, H K_k H}{\operatorname{tr}(H K_k H)}

    Parameters
    ----------
    grams : sequence or mapping of ndarray of shape (n_rows, n_rows)
        Symmetric and positive semidefinite; a mapping gives them names.
    standardize : bool
        Whether matrices are centred and scaled; otherwise they are taken as they are.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows in means and traces; rows of weight 0 are left out, also of matrices
        for new rows, which have a column for them.

    Attributes
    ----------
    names : ndarray or None
        Keys of the mapping.
    constant : ndarray of bool
        Matrices of which centring leaves nothing, or that are zero: they explain nothing.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 3.0])
    >>> kernels = GivenKernels({"x": np.outer(x, x), "same": np.ones((3, 3))})
    >>> float(kernels.gram(np.array([1.0, 5.0])).trace().round(6)), kernels.constant.tolist()
    (3.0, [False, True])
    """

    def __init__(
        self,
        grams: Sequence[Any] | Mapping[str, Any],
        standardize: bool = True,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.names = names_of(grams)
        matrices = check_grams(matrices_of(grams))
        self._n_given = len(matrices[0])
        self._kept: NDArray[np.intp] | None = None
        self._shares: Shares = None
        if weight is not None:
            self._kept = np.flatnonzero(weight > 0)
            self._shares = shares_of(weight[self._kept])
            matrices = [K[np.ix_(self._kept, self._kept)] for K in matrices]
        self.n_kernels, self.n_rows = len(matrices), len(matrices[0])
        self._means = np.zeros((self.n_kernels, self.n_rows))
        self._scale = np.ones(self.n_kernels)
        self.constant = np.zeros(self.n_kernels, dtype=bool)
        # One at a time: most are kept as factors, and copies of all would double the memory.
        kept = (self._normalised(k, K, standardize) for k, K in enumerate(matrices))
        rounding = max(rounding_of(one) for one in matrices_of(grams))
        self._engine = factored(kept, rounding=rounding)

    def _normalised(self, k: int, K: NDArray[np.float64], standardize: bool) -> NDArray:
        """A matrix as it enters the sum."""
        size = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)))
        if standardize:
            K = K.copy()
            means = mean_of(K, self._shares)
            half = 0.5 * mean_of(means, self._shares)
            K -= means - half
            K -= (means - half)[:, None]
            self._means[k] = means
        trace = float(K.trace())
        if trace <= NOTHING * size * len(K):
            if np.abs(K).max(initial=0.0) > SYMMETRY * size:
                raise DataError(
                    f"Kernel matrix {k} is not positive semidefinite: its trace is {trace:.3g}."
                )
            self.constant[k] = True
            return np.zeros_like(K)
        if standardize:
            self._scale[k] = 1.0 / float(mean_of(K.diagonal(), self._shares)[0])
            K *= self._scale[k]
        return K

    def cross_times(
        self, weights: NDArray[np.float64], grams: Any, U: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """``K(new rows, rows) U``, where the columns of ``U`` sum to zero."""
        U = as_columns(U)
        matrices = self._check_new(grams)
        result = np.zeros((len(matrices[0]), U.shape[1]))
        for k in np.flatnonzero((weights != 0) & ~self.constant).tolist():
            values = matrices[k] - self._means[k]
            result += weights[k] * self._scale[k] * (values @ U)
        return result

    def _check_new(self, grams: Any) -> list[NDArray[np.float64]]:
        """Refuse what does not belong to the matrices of training."""
        names = names_of(grams)
        if names is not None and self.names is not None:
            grams = {str(name): gram for name, gram in grams.items()}
            missing = [name for name in self.names if name not in grams]
            if missing:
                raise DataError(
                    f"There is no matrix {missing[0]!r}; give one for each of those of fit."
                )
            extra = [name for name in grams if name not in set(self.names)]
            if extra:
                raise DataError(f"The matrix {extra[0]!r} was not there in fit; leave it out.")
            grams = [grams[name] for name in self.names]
        matrices = [as_numbers(k, K) for k, K in enumerate(matrices_of(grams))]
        if len(matrices) != self.n_kernels:
            raise DataError(f"{len(matrices)} matrices were given, but fit had {self.n_kernels}.")
        n_new = len(matrices[0]) if matrices[0].ndim else 0
        for k, K in enumerate(matrices):
            if K.shape != (n_new, self._n_given):
                raise DataError(
                    f"Kernel matrix {k} has the shape {K.shape}, but a row for each new row and a "
                    f"column for each row of fit are needed, ({n_new}, {self._n_given})."
                )
            if not np.isfinite(K).all():
                raise DataError(f"Kernel matrix {k} holds NaN or infinite values.")
        return matrices if self._kept is None else [K[:, self._kept] for K in matrices]


def names_of(grams: Any) -> NDArray | None:
    """Names of the matrices of a mapping."""
    if not isinstance(grams, Mapping):
        return None
    return np.array([str(name) for name in grams], dtype=object)


def matrices_of(grams: Any) -> Sequence[Any]:
    """The matrices of a mapping, a sequence or a stack; one alone is a list of one."""
    if isinstance(grams, Mapping):
        return list(grams.values())
    if getattr(grams, "ndim", 3) == 2:
        return [grams]
    if isinstance(grams, str) or not hasattr(grams, "__len__"):
        raise DataError(
            "kernel='precomputed' takes kernel matrices: a list, a mapping from names, or an "
            f"array of shape (n_kernels, n_rows, n_rows), got {type(grams).__name__}."
        )
    return list(grams)

r"""Sums of kernel matrices that the user brings, one for each view of the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.lapack import dpstrf

from kernelpath.errors import DataError
from kernelpath.mkl.weighted_kernels._factor_loops import size_and_asymmetry
from kernelpath.mkl.weighted_kernels.base import SumKernel, as_columns
from kernelpath.mkl.weighted_kernels.storage import LOW_RANK, Concatenated, families_of
from kernelpath.tables.rows import Shares, mean_of, shares_of
from kernelpath.tables.table import plain_array

NOTHING = 1e-12  # trace of a centred matrix, relative to the matrix, that counts as zero
SYMMETRY = 1e-8  # largest difference of a matrix from its transpose, relative to its size
NEGATIVE = 1e-8  # smallest eigenvalue, relative to the largest, that counts as zero
SINGLE = 1e-5  # the same, and for symmetry, where matrices were given in single precision
RANK_TOL = 1e-10  # share of the trace that a factor may leave out


class GivenKernels(Concatenated):
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
        super().__init__(*factored(kept, rounding=rounding))

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
        if self.names is not None and isinstance(grams, Mapping):
            grams = by_names(grams, self.names)
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


def by_names(grams: Mapping[Any, Any], names: Iterable[str]) -> list[Any]:
    """Matrices in the order of the names of training; each must be there, and no other."""
    given, known = {str(name): gram for name, gram in grams.items()}, list(names)
    missing = [name for name in known if name not in given]
    if missing:
        raise DataError(f"There is no matrix {missing[0]!r}; give one for each of those of fit.")
    extra = set(given).difference(known)
    if extra:
        first = next(name for name in given if name in extra)
        raise DataError(f"The matrix {first!r} was not there in fit; leave it out.")
    return [given[name] for name in known]


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


# -- what is refused, and which matrices are kept as factors ---------------------------------------


def check_grams(grams: Any) -> list[NDArray[np.float64]]:
    """Refuse what is no list of kernel matrices of the same rows, and say which one and why."""
    if getattr(grams, "ndim", 3) == 2:
        grams = [grams]
    grams = list(grams)
    checked = [as_numbers(k, gram) for k, gram in enumerate(grams)]
    if not checked:
        raise DataError("There is no kernel matrix; give at least one.")
    n = len(checked[0]) if checked[0].ndim else 0
    for k, gram in enumerate(checked):
        if gram.shape != (n, n):
            raise DataError(
                f"Kernel matrix {k} has the shape {gram.shape}, but all must be square and as "
                f"large as the first, ({n}, {n})."
            )
        size, apart = size_and_asymmetry(gram)
        if np.isnan(size):
            raise DataError(f"Kernel matrix {k} holds NaN or infinite values.")
        if apart > max(SYMMETRY, rounding_of(grams[k])) * size:
            raise DataError(f"Kernel matrix {k} is not symmetric.")
        if apart > SYMMETRY * size:
            checked[k] = 0.5 * (gram + gram.T)
    return checked


def as_numbers(k: int, gram: Any) -> NDArray[np.float64]:
    """A matrix that was given as an array of double precision, row after row."""
    if sparse.issparse(gram):
        gram = gram.toarray()
    gram = plain_array(gram, f"Kernel matrix {k}")
    try:
        return np.asarray(gram, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(f"Kernel matrix {k} is no matrix of numbers ({error}).") from error


def rounding_of(gram: Any) -> float:
    """Rounding errors of a matrix as it was given, relative to its size."""
    return SINGLE if getattr(getattr(gram, "dtype", None), "itemsize", 8) < 8 else NEGATIVE


def factored(
    grams: Iterable[NDArray[np.float64]], tol: float = RANK_TOL, rounding: float = NEGATIVE
) -> tuple[list[SumKernel], list[NDArray[np.intp]]]:
    """Matrices of low rank as factors, the others packed: what `Concatenated` is made of.

    Refuses matrices that are not positive semidefinite, but for rounding.
    """
    factors, whole, low, full = [], [], [], []
    for k, gram in enumerate(grams):
        factor = factor_of(gram, tol, f"Kernel matrix {k}", rounding)
        if factor.shape[1] <= LOW_RANK * len(gram):
            factors.append(factor.T)
            low.append(k)
        else:
            whole.append(gram)
            full.append(k)
    return families_of(factors, low, whole, full)


def factor_of(
    gram: NDArray,
    tol: float = RANK_TOL,
    name: str = "A kernel matrix",
    rounding: float = NEGATIVE,
) -> NDArray:
    """Factor of a positive semidefinite matrix, of as few columns as the tolerance allows.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> factor_of(np.outer(x, x)).shape
    (3, 1)
    """
    factor = _pivoted(gram, tol)
    return _spectral(gram, tol, name, rounding) if factor is None else factor


def _pivoted(gram: NDArray, tol: float) -> NDArray | None:
    """Factor by pivoted Cholesky, or None where what it leaves out is not small."""
    n, trace = len(gram), float(np.trace(gram))
    if n == 0 or trace <= 0.0:
        return None
    least = tol * trace / n  # of the diagonal that is left out
    lower, pivots, rank, info = dpstrf(gram.T, tol=least, lower=1)  # symmetric: in LAPACK's order
    if info < 0:
        return None
    factor = np.zeros((n, rank))
    factor[pivots - 1] = np.tril(lower[:, :rank])
    # A remainder that is positive semidefinite is as small as its diagonal.
    probe = np.random.default_rng(0).normal(size=n)
    rest = gram @ probe - factor @ (factor.T @ probe)
    room = n * least + 1e-12 * trace
    return factor if np.linalg.norm(rest) <= room * np.linalg.norm(probe) else None


def _spectral(gram: NDArray, tol: float, name: str, rounding: float) -> NDArray:
    """Factor by eigenvectors, which says what is wrong with a matrix that has none."""
    values, vectors = np.linalg.eigh(gram)
    largest = max(values[-1], 0.0) if len(values) else 0.0
    if len(values) and values[0] < -rounding * max(largest, np.abs(gram).max()):
        raise DataError(
            f"{name} is not positive semidefinite: it has the eigenvalue {values[0]:.3g}."
        )
    kept = np.maximum(values[::-1], 0.0)
    rest = kept.sum() - np.cumsum(kept)
    rank = int(np.searchsorted(-rest, -tol * kept.sum())) + 1 if kept.sum() > 0 else 0
    return vectors[:, ::-1][:, :rank] * np.sqrt(kept[:rank])

r"""Sums of kernels of columns of a table, each centred and of mean diagonal 1.

.. math:: K(d) = \sum_k d_k \frac{n\, H K_k H}{\operatorname{tr}(H K_k H)}

A smooth kernel of one column has a low rank, whatever the number of rows: it is kept as a factor,
and new rows are mapped to the same factor.  Kernels of high rank are kept as matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.kernels import (
    Delta,
    FeatureKernel,
    built_in_formula,
    formula_settings,
    kernel_diagonal,
    kernel_values,
)
from kernelpath.mkl.weighted_kernels.base import SumKernel, as_columns
from kernelpath.mkl.weighted_kernels.factors import NOTHING, Factor, make_factor
from kernelpath.mkl.weighted_kernels.storage import (
    LOW_RANK,
    MOST_DENSE_ROWS,
    Concatenated,
    families_of,
)
from kernelpath.tables.rows import Shares, mean_of, spread_of
from kernelpath.utils.checks import whole
from kernelpath.utils.words import counted

TRACE_TOL = 1e-12  # share of the trace that a factor leaves out
LEAST_RANK = 16  # factors of this rank are kept, however few rows there are
MOST_LANDMARKS = 200  # rank of a factor; a kernel that needs more is kept as a matrix


@dataclass(frozen=True)
class ColumnKernel:
    """One kernel of the sum.

    Attributes
    ----------
    kernel : FeatureKernel
        Its formula.
    columns : tuple of int
        Columns that it looks at; of several, the squared distance or the inner product counts.
    gamma : float
        Width parameter.
    """

    kernel: FeatureKernel
    columns: tuple[int, ...]
    gamma: float

    def gram(self, X: NDArray[np.float64], Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel values between two tables of these columns only, centred as in training."""
        if len(self.columns) == 1:
            return kernel_values(self.kernel, X[:, 0], Z[:, 0], self.gamma)
        of_rows = getattr(built_in_formula(self.kernel), "gram_of_rows", None)
        if of_rows is None:
            raise ValueError(f"the kernel {self.kernel!r} takes one column, got {self.columns}")
        return of_rows(self.kernel, X, Z, self.gamma)

    def diagonal(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel values of each row with itself."""
        if len(self.columns) == 1:
            return kernel_diagonal(self.kernel, X[:, 0], self.gamma)
        return np.array([self.gram(x[None], x[None])[0, 0] for x in X])

    @property
    def formula(self) -> tuple[type[FeatureKernel], float, tuple[float, ...]] | None:
        """Class, width and settings for compiled loops; None if they cannot do it."""
        known = built_in_formula(self.kernel)
        if len(self.columns) > 1 or known is None:
            return None
        return known, float(self.gamma), formula_settings(self.kernel)


class SumOfColumnKernels(Concatenated):
    """A sum of kernels of the columns of a table, bound to its rows.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        Training rows, in any units; a sparse matrix is looked at column by column.
    parts : sequence of ColumnKernel
    nystrom : int, optional
        An approximation: kernels that need more landmark rows than this are cut there, by the
        method of Nystrom with rows chosen one after the other, and no matrix is made for any part.
        Default: all digits.
    shares : ndarray of shape (n_rows,), optional
        Weights of the rows, which sum to 1, in means and traces.  Default: equal ones.

    Attributes
    ----------
    constant : ndarray of bool
        Parts that are the same for all rows: they explain nothing.
    left_out : ndarray of shape (n_kernels,)
        Share of the trace of each kernel, before it is centred, that `nystrom` left out.

    Examples
    --------
    >>> from kernelpath.kernels.feature import Laplace
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> rough = SumOfColumnKernels(X, [ColumnKernel(Laplace(), (0,), 1.0)], nystrom=8)
    >>> bool(0.0 < rough.left_out[0] < 0.05)
    True
    """

    def __init__(
        self,
        X: Any,
        parts: Sequence[ColumnKernel],
        nystrom: int | None = None,
        shares: Shares = None,
    ) -> None:
        if nystrom is not None:
            whole("nystrom", nystrom, at_least=1, must="be None or a number of rows", bools=True)
        self.parts, self.nystrom = tuple(parts), nystrom
        if not self.parts:
            raise DataError("There is no kernel to combine; name at least one.")
        self.n_kernels, self.n_rows = len(self.parts), X.shape[0]
        self._X = X.tocsc() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        self._shares = shares
        self._center = mean_of(self._X, shares)
        self.constant = np.zeros(self.n_kernels, dtype=bool)
        self.left_out = np.zeros(self.n_kernels)
        self._maps: dict[int, Factor] = {}
        self._dense: dict[int, tuple[NDArray[np.float64], float]] = {}
        super().__init__(*self._families_and_places())

    def _families_and_places(self) -> tuple[list[SumKernel], list[NDArray[np.intp]]]:
        factors, packed = [], []
        low, full = [], []
        for k, part in enumerate(self.parts):
            factor = self._factor(k, part)
            if factor is not None:
                factors.append(factor)
                low.append(k)
            else:
                packed.append(self._matrix(k, part))
                full.append(k)
        return families_of(factors, low, packed, full)

    def _factor(self, k: int, part: ColumnKernel) -> NDArray[np.float64] | None:
        """Centred factor of a part, or None if it is to be a matrix."""
        n = self.n_rows
        if len(part.columns) > 1 and self.nystrom is None:
            return None
        most = min(n, MOST_LANDMARKS, max(LEAST_RANK, int(LOW_RANK * n)))
        if self.nystrom is not None:
            most = min(n, int(self.nystrom))
        own = self._columns(self._X, part.columns)
        rows, factor, left = make_factor(part, own, most, TRACE_TOL, self._shares)
        if left > TRACE_TOL:
            if self.nystrom is None:
                return None
            self.left_out[k] = left
        if factor is None:
            self.constant[k] = True
        else:
            self._maps[k] = factor
        return rows

    def _matrix(self, k: int, part: ColumnKernel) -> NDArray[np.float64]:
        """Centred matrix of a part."""
        if self.n_rows > MOST_DENSE_ROWS:
            raise DataError(
                f"The kernel {part.kernel!r} of {_columns_text(part)} has a high rank, which "
                f"needs a matrix of {self.n_rows:,} x {self.n_rows:,} numbers; take a wider "
                "kernel, fewer rows, or the approximation nystrom=500."
            )
        own = self._columns(self._X, part.columns)
        K = part.gram(own, own)
        whole = float(mean_of(np.abs(K.diagonal()), self._shares)[0])
        means = mean_of(K, self._shares)
        K = K - means - means[:, None] + mean_of(means, self._shares)
        size = float(mean_of(K.diagonal(), self._shares)[0])
        if size <= NOTHING * whole:
            self.constant[k] = True
            self._dense[k] = (means, 0.0)
            return np.zeros_like(K)
        self._dense[k] = (means, 1.0 / size)
        return K * (1.0 / size)

    def cross_times(
        self, weights: NDArray[np.float64], X: Any, U: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """``K(X, rows) U`` for new rows, where the columns of ``U`` sum to zero."""
        U = as_columns(U)
        X = X.tocsc() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        result = np.zeros((X.shape[0], U.shape[1]))
        for k in np.flatnonzero((weights != 0) & ~self.constant).tolist():
            part = self.parts[k]
            if k in self._maps:
                old, new = (
                    self._maps[k].rows(part, self._columns(table, part.columns))
                    for table in (self._X, X)
                )
                result += weights[k] * (new.T @ (old @ U))
            else:
                means, scale = self._dense[k]
                used = np.flatnonzero(np.any(U != 0.0, axis=1))
                own = self._columns(self._X, part.columns)[used]
                values = part.gram(self._columns(X, part.columns), own) - means[used]
                result += weights[k] * scale * (values @ U[used])
        return result

    def _columns(self, X: Any, columns: tuple[int, ...]) -> NDArray[np.float64]:
        """Some columns of a table, as numbers, less their means in training."""
        some = X[:, list(columns)]
        dense = some.toarray() if sparse.issparse(some) else some
        return np.asfortranarray(dense - self._center[list(columns)])


def _columns_text(part: ColumnKernel) -> str:
    if len(part.columns) == 1:
        return f"column {part.columns[0]}"
    return counted(len(part.columns), "column")


# -- recipes ---------------------------------------------------------------------------------------


def one_per_column(
    X: Any, kernel: Any, categorical: Any = None, shares: Shares = None
) -> list[ColumnKernel]:
    """One kernel for each column, of the width that its standard deviation asks for."""
    scale = spread_of(X, shares)
    scale[scale == 0] = 1.0
    parts = []
    for j in range(X.shape[1]):
        own = Delta() if categorical is not None and categorical[j] else kernel
        parts.append(ColumnKernel(own, (j,), float(own.gamma(scale[j]))))
    return parts

r"""Gaussian kernels of very many one-dimensional views, computed anew whenever they are asked for.

A million kernel matrices of 200 rows are 320 GB of numbers; the views that they are made from, ten
widths each, are 80 MB.  One short series and a few products give a pair of rows at all widths, and
only pairs of rows that have a dual coefficient count; see ``_view_loops``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.kernels.feature import RBF
from kernelpath.mkl.weighted_kernels._view_loops import add_distances, pair_sums
from kernelpath.mkl.weighted_kernels.base import SumKernel, as_columns
from kernelpath.mkl.weighted_kernels.columns import ColumnKernel, SumOfColumnKernels
from kernelpath.mkl.weighted_kernels.published import BANDWIDTHS
from kernelpath.tables.rows import Shares, mean_of, spread_of

SERIES = [1.0, -1 / 2, 1 / 6, -1 / 24, 1 / 120, -1 / 720]  # of (1 - exp(-x)) / x
SMALL = {"f": 0.25, "d": 2.0**-7}  # arguments for which that is exact in each precision
MOST_DOUBLINGS = 20  # between two widths; more would be slower than to begin again
NEAR = 1e-4  # relative: quadratic forms as close as that to the largest are made exact
MOST_EXACT = 1000
CHUNK = 2048  # views that are in double precision at a time
CONSTANT = 1e-12  # share of the trace: a kernel with less of it is the same for all rows


class GaussianViews(SumKernel):
    r"""Sum of Gaussian kernels of one-dimensional views of a table, each at the same widths.

    .. math:: K(d) = \sum_{v, b} d_{vb}\, s_{vb}\, H K_{vb} H, \qquad
              (K_{vb})_{ij} = \exp\Bigl(-\frac{(z_{vi} - z_{vj})^2}{2\, w_b^2 \sigma_v^2}\Bigr)

    with the standard deviation :math:`\sigma_v` of a view and scales :math:`s_{vb}` that make the
    mean diagonal 1: the same kernels as those of ``SumOfColumnKernels``.
    Only the views and the scales are kept.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        Training rows, in any units.
    widths : sequence of float
        Widths of the kernels, in standard deviations of a view.  A pass is fastest where each is
        a power of the root of two times the next.
    projection : sparse matrix or ndarray of shape (n_columns, n_views), optional
        Views are the columns of ``X @ projection``; without it, those of ``X``.
    dtype : {numpy.float32, numpy.float64}
        Precision of the views and of a pass over all kernels.
    shares : ndarray of shape (n_rows,), optional
        Weights of the rows in standard deviations and traces.

    Attributes
    ----------
    n_views, n_kernels, n_rows : int
    widths : ndarray of shape (n_widths,)
    constant : ndarray of bool, shape (n_kernels,)
        Kernels that are the same for all rows.

    Notes
    -----
    Kernel ``k`` has view ``k // n_widths`` and width ``k % n_widths``.  A pass takes
    ``n_kernels n_used^2 / 2`` steps, where ``n_used`` rows have a dual coefficient other than
    zero.  In single precision quadratic forms are exact to about 1e-6 of the largest one, and that
    one, on which bounds rest, to double precision; so are the scales.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> kernel = GaussianViews(X, widths=[0.5, 1.0, 2.0])
    >>> kernel.n_kernels, kernel.nbytes
    (12, 576)
    >>> round(float(kernel.gram(np.full(12, 1 / 12)).trace()), 6)
    30.0
    """

    def __init__(
        self,
        X: Any,
        widths: Sequence[float] = BANDWIDTHS,
        *,
        projection: Any = None,
        dtype: Any = np.float32,
        shares: Shares = None,
    ) -> None:
        self.widths = np.asarray(widths, dtype=np.float64)
        if self.widths.ndim != 1 or not (np.isfinite(self.widths) & (self.widths > 0)).all():
            raise ValueError(f"widths must be positive numbers, got {widths!r}")
        if len(self.widths) == 0 or X.shape[1] == 0:
            raise DataError("There is no kernel to combine; give a column and a width at least.")
        self._projection: Any = None if projection is None else sparse.csc_matrix(projection)
        X = self._table(X)
        self.n_rows = X.shape[0]
        self.n_views = X.shape[1] if self._projection is None else self._projection.shape[1]
        self.n_kernels = self.n_views * len(self.widths)
        self._shares = shares
        self._order = np.argsort(-self.widths, kind="stable")
        self._gammas = 0.5 / np.square(self.widths[self._order])
        self._jumps = _doublings(self._gammas)
        self._read(X, np.dtype(dtype))
        self._scales = self._traces()
        self.constant = self._scales == 0.0

    def _read(self, X: Any, dtype: np.dtype) -> None:
        """Keep the views, centred and in units of their standard deviation."""
        self._views = np.empty((self.n_views, self.n_rows), dtype)
        self._center, self._sigma = np.zeros(self.n_views), np.ones(self.n_views)
        for first in range(0, self.n_views, CHUNK):
            some = slice(first, first + CHUNK)
            values = self._raw(X, np.arange(self.n_views)[some])
            center, sigma = mean_of(values, self._shares), spread_of(values, self._shares)
            # Rounding of the mean must not pass for a difference between rows.
            still = (values.min(axis=0) == values.max(axis=0)) | (sigma == 0.0)
            center, sigma = np.where(still, values[0], center), np.where(still, 1.0, sigma)
            self._center[some], self._sigma[some] = center, sigma
            self._views[some] = ((values - center) / sigma).T

    def _traces(self) -> NDArray[np.float64]:
        """Factors that make the mean diagonal of the centred kernels 1, or 0 for no kernel."""
        n = self.n_rows
        rows, pairs = np.arange(n), np.full(n * (n - 1) // 2, 1.0 / n**2)
        if self._shares is not None:
            pairs = np.outer(self._shares, self._shares)[np.triu_indices(n, 1)]
        sums = [
            self._sums(self._views[first : first + CHUNK].astype(np.float64), rows, pairs)
            for first in range(0, self.n_views, CHUNK)
        ]
        mean_diagonal = 2.0 * np.concatenate(sums)
        there = mean_diagonal > CONSTANT
        return np.where(there, 1.0 / np.where(there, mean_diagonal, 1.0), 0.0)

    @property
    def nbytes(self) -> int:
        """Memory of views and scales."""
        return self._views.nbytes + self._scales.nbytes

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted sum of the centred kernels of the training rows."""
        n = self.n_rows
        used, table = self._by_view(weights)
        pairs = np.zeros(n * (n - 1) // 2)
        exact = len(used) <= CHUNK
        for first in range(0, len(used), CHUNK):
            some = used[first : first + CHUNK]
            A = self._views[some].astype(np.float64 if exact else self._views.dtype)
            self._add(A, A, table[first : first + CHUNK], True, pairs)
        D = np.zeros((n, n))
        D[np.triu_indices(n, 1)] = pairs
        D += D.T
        means = D.mean(axis=0)
        return means + (means[:, None] - D) - means.mean()

    def quad(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """``sum_o u_o' K_k u_o`` of every kernel."""
        U = _of_sum_zero(as_columns(U))
        rows = np.flatnonzero(np.any(U != 0.0, axis=1))
        if len(rows) < 2:
            return np.zeros(self.n_kernels)
        size = float(np.abs(U).max())  # in single precision squares of small numbers are zero
        used = U[rows] / size
        pairs = (used @ used.T)[np.triu_indices(len(rows), 1)]
        factors = -2.0 * size**2 * self._scales
        forms = factors * self._sums(self._views, rows, pairs.astype(self._views.dtype))
        if self._views.dtype != np.float64:
            # Bounds rest on the largest form: that one is exact.
            near = np.flatnonzero(forms >= (1.0 - NEAR) * forms.max())
            if len(near) > MOST_EXACT:
                near = near[np.argpartition(-forms[near], MOST_EXACT)[:MOST_EXACT]]
            views = np.unique(near // len(self.widths))
            own = self._sums(self._views[views].astype(np.float64), rows, pairs)
            table = forms.reshape(self.n_views, -1)
            table[views] = factors.reshape(table.shape)[views] * own.reshape(len(views), -1)
        return np.maximum(forms, 0.0)

    def times(self, parts: NDArray[np.intp], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K_k u`` of some kernels, as columns."""
        u = _of_sum_zero(u[:, None])
        rows = np.flatnonzero(u)
        product = np.empty((self.n_rows, len(parts)))
        for column, k in enumerate(np.asarray(parts).tolist()):
            weights = np.zeros((1, len(self.widths)))
            weights[0, self._order == k % len(self.widths)] = self._scales[k]
            A = self._views[[k // len(self.widths)]].astype(np.float64)
            D = np.zeros(self.n_rows * len(rows))
            self._add(A, np.ascontiguousarray(A[:, rows]), weights, False, D)
            image = D.reshape(self.n_rows, -1) @ u[rows, 0]
            product[:, column] = image.mean() - image
        return product

    def restrict(self, parts: NDArray[np.intp]) -> SumOfColumnKernels:
        """Some of the kernels, as factors and matrices in double precision."""
        views, own = np.unique(np.asarray(parts) // len(self.widths), return_inverse=True)
        gammas = 0.5 / np.square(self.widths[np.asarray(parts) % len(self.widths)])
        rbf = RBF()
        made = [ColumnKernel(rbf, (int(v),), float(g)) for v, g in zip(own.tolist(), gammas)]
        return SumOfColumnKernels(
            self._views[views].T.astype(np.float64), made, shares=self._shares
        )

    def cross_times(
        self, weights: NDArray[np.float64], X: Any, U: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """``K(X, rows) U`` for new rows, where the columns of ``U`` sum to zero."""
        U, X = as_columns(U), self._table(X)
        used, table = self._by_view(weights)
        rows = np.flatnonzero(np.any(U != 0.0, axis=1))
        new, old = np.zeros(X.shape[0] * len(rows)), np.zeros(self.n_rows * len(rows))
        for first in range(0, len(used) if len(rows) else 0, CHUNK):
            some = used[first : first + CHUNK]
            own = table[first : first + CHUNK]
            A = self._views[some].astype(np.float64)
            B = np.ascontiguousarray(A[:, rows])
            fresh = (self._raw(X, some) - self._center[some]) / self._sigma[some]
            self._add(np.ascontiguousarray(fresh.T), B, own, False, new)
            self._add(A, B, own, False, old)
        means = old.reshape(self.n_rows, -1).mean(axis=0)
        return (means - new.reshape(X.shape[0], -1)) @ U[rows]

    def _table(self, X: Any) -> Any:
        """A table of numbers, of which columns can be taken."""
        if not sparse.issparse(X):
            X = np.asarray(X)
            return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        return X.tocsc()

    def _raw(self, X: Any, views: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some views of rows, in the units of the table."""
        if self._projection is None:
            values = X[:, views]
            values = values.toarray() if sparse.issparse(values) else values
        else:
            values = X @ self._projection[:, views]
            values = values.toarray() if sparse.issparse(values) else np.asarray(values)
        return values.astype(np.float64, copy=False)

    def _by_view(self, weights: NDArray) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Views with a weight, and their weights times scales from wide to narrow."""
        table = (weights * self._scales).reshape(self.n_views, -1)
        used = np.flatnonzero(table.any(axis=1))
        return used, np.ascontiguousarray(table[used][:, self._order])

    def _sums(self, views: NDArray, rows: NDArray[np.intp], pairs: NDArray) -> NDArray[np.float64]:
        """``sum_{i<j} pairs_ij (1 - k_ij)`` of every kernel of some views."""
        out = np.empty((len(views), len(self.widths)))
        pair_sums(views, rows, pairs, self._gammas, self._jumps, _series(views.dtype), out)
        result = np.empty_like(out)
        result[:, self._order] = out
        return result.ravel()

    def _add(self, A: NDArray, B: NDArray, weights: NDArray, triangle: bool, out: NDArray) -> None:
        add_distances(A, B, weights, self._gammas, self._jumps, _series(A.dtype), triangle, out)


def _series(dtype: np.dtype) -> NDArray:
    return np.array([*SERIES, SMALL[dtype.char]], dtype)


def _doublings(gammas: NDArray[np.float64]) -> NDArray[np.intp]:
    """How many doublings lead from each width to the next; -1 where none do.

    Examples
    --------
    >>> _doublings(np.array([0.1, 0.4, 0.4, 0.5])).tolist()
    [-1, 2, 0, -1]
    """
    steps = np.log2(gammas[1:] / gammas[:-1])
    whole = np.rint(steps)
    near = (np.abs(steps - whole) < 1e-12) & (whole <= MOST_DOUBLINGS)
    return np.concatenate([[-1], np.where(near, whole, -1)]).astype(np.intp)


def _of_sum_zero(U: NDArray[np.float64]) -> NDArray[np.float64]:
    """Dual vectors less their means, where these are more than rounding.

    Centred kernels see no difference, and rows without a dual coefficient must stay so.
    """
    sums = np.abs(U.sum(axis=0))
    if (sums <= 1e-12 * np.abs(U).sum(axis=0)).all():
        return U
    return U - U.mean(axis=0)

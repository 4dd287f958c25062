r"""Columns whose kernel has an exact map into one or two dimensions.

Linear kernels, polynomials of degree 2, and the other kernels of a column with two values, where
:math:`-d(x, z) = \phi(x) \cdot \phi(z) - \tfrac12 |\phi(x)|^2 - \tfrac12 |\phi(z)|^2`.
A point is one symmetric product of the maps of its active columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, dsyrk

from kernelpath.path_kernels.columns import DenseColumns
from kernelpath.path_kernels.point_weights import PointWeights

LARGEST_DEGREE = 2


def mappable(columns: DenseColumns) -> NDArray[np.bool_]:
    """Columns with an exact map of at most two dimensions."""
    degree = columns.kernels.degree
    return ((degree > 0) & (degree <= LARGEST_DEGREE)) | _segments(columns)


def _segments(columns: DenseColumns) -> NDArray[np.bool_]:
    """Columns with two values; where the form is shifted to 0, one of them has to be 0."""
    result = two_valued(columns.values) & ~columns.kernels.polynomial
    shifted = np.flatnonzero(columns.shifted & result)
    values, zero = columns.values[shifted], columns.kernels.zero[shifted]
    result[shifted] = (values.min(axis=1, initial=np.inf) == zero) | (
        values.max(axis=1, initial=-np.inf) == zero
    )
    return result


def two_valued(values: NDArray) -> NDArray[np.bool_]:
    """Rows of a feature-major table with at most two distinct values."""
    result = np.zeros(len(values), dtype=bool)
    if values.size == 0:
        return result
    lo, hi = values.min(axis=1), values.max(axis=1)
    # Most columns show a third value early: only the others are read to the end.
    head = values[:, :64]
    candidates = np.flatnonzero(np.all((head == lo[:, None]) | (head == hi[:, None]), axis=1))
    part = values[candidates]
    both = (part == lo[candidates, None]) | (part == hi[candidates, None])
    result[candidates] = both.all(axis=1)
    return result


def exact_map(
    columns: DenseColumns, row_weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Centred coordinates, those of the value where the form vanishes, and whose they are."""
    kernels = columns.kernels
    segment = _segments(columns)
    degree = np.where(segment, 1, kernels.degree)
    owner = np.repeat(np.arange(len(degree)), degree)
    power = np.arange(len(owner)) - np.repeat(np.cumsum(degree) - degree, degree) + 1
    phi = columns.values[owner]
    phi[power == 2] *= phi[power == 2]
    scale = np.sqrt(kernels.factors[owner, power - 1])
    phi *= scale[:, None]
    zero = np.where(columns.shifted[owner], scale * kernels.zero[owner] ** power, 0.0)
    which = np.flatnonzero(segment)
    if len(which):
        at = np.flatnonzero(segment[owner])
        phi[at], zero[at] = _segment_map(columns.take(which))
    train = phi[:, : columns.n_train]
    mean = train.mean(axis=1) if row_weight is None else train @ row_weight
    phi -= mean[:, None]
    return phi, zero - mean, owner


def _segment_map(columns: DenseColumns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two values at their distance: 0 for the lower, ``sqrt(2 d)`` for the higher."""
    kernels = columns.kernels
    ends = np.stack([columns.values.min(axis=1), columns.values.max(axis=1)], axis=1)
    d = kernels.distances(ends, (0, 1), (1, 2))[:, 0]
    length, high = np.sqrt(2.0 * d), ends[:, 1:]
    return (columns.values == high) * length, ((kernels.zero == high[:, 0]) * length[:, 0])


class ExactMaps:
    """The weighted sums of mappable columns at several points.

    Parameters
    ----------
    columns : DenseColumns
    weights : PointWeights
        Of the same columns.
    row_weight : ndarray of shape (n_train,), optional
    """

    def __init__(
        self,
        columns: DenseColumns,
        weights: PointWeights,
        row_weight: NDArray[np.float64] | None = None,
    ) -> None:
        self._columns = columns
        self._phi, self._zero, owner = exact_map(columns, row_weight)
        self._owner = owner
        self._plain = ~(columns.shifted | columns.kernels.polynomial)[owner]
        self._weights = weights
        self._last = -1, np.empty(0, dtype=np.intp), np.empty(0)  # the point read last

    def _row(self, point: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Coordinates with a weight at a point, and their weights."""
        if self._last[0] != point:
            dense = self._weights.dense(slice(point, point + 1))[0, self._owner]
            which = np.flatnonzero(dense)
            self._last = point, which, dense[which]
        return self._last[1:]

    def add(self, point: int, train: NDArray[np.float64], new: NDArray[np.float64]) -> None:
        """Add a point to the lower triangle of ``train`` and to ``new``; either may be empty."""
        which, weight = self._row(point)
        if len(which) == 0:
            return
        n_train = self._columns.n_train
        # BLAS works on the transposed, Fortran-ordered view of the C-ordered arrays.
        scaled = np.sqrt(weight)[:, None] * self._phi[which]
        old = np.ascontiguousarray(scaled[:, :n_train])
        if train.size:
            dsyrk(1.0, old.T, 1.0, train.T, lower=0, overwrite_c=1)
        if new.size:
            fresh = np.ascontiguousarray(scaled[:, n_train:])
            dgemm(1.0, old.T, fresh.T, 1.0, new.T, trans_b=1, overwrite_c=1)

    def shift(self, point: int) -> NDArray[np.float64]:
        """What turns the product of the maps into the form of the table."""
        which, weight = self._row(point)
        phi = self._phi[which]
        plain = np.where(self._plain[which], weight, 0.0)
        moved = weight - plain
        zero = self._zero[which]
        result = -0.5 * (plain @ np.square(phi)) - (moved * zero) @ phi
        return result + 0.5 * (moved @ np.square(zero))

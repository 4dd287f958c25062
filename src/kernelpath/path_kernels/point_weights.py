"""Weights of columns at the points of a path, read point by point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.errors import DataError


@dataclass(frozen=True)
class PointWeights:
    """Non-negative weights of some columns of a table.

    Each algorithm reads the weights of its own columns one point at a time: cutting the whole
    matrix would cost as much as combining sparse columns.

    Attributes
    ----------
    rows : CSR matrix of shape (n_points, n_table_columns)
    factor : ndarray of shape (n_table_columns,)
        Multiplies the weights.
    columns : ndarray
        The columns, in increasing order; from here on they are numbered 0, 1, ...
    place : ndarray of shape (n_table_columns,)
        Number of each column of the table, -1 for the others.
    """

    rows: sp.csr_matrix
    factor: NDArray[np.float64]
    columns: NDArray[np.intp]
    place: NDArray[np.int32]

    @classmethod
    def of(cls, weights: Any, factor: NDArray[np.float64]) -> PointWeights:
        """Weights of all columns that have one, or say what is wrong with them."""
        n_columns = len(factor)
        given = weights if sp.issparse(weights) else np.atleast_2d(weights)
        rows = sp.csr_matrix(given, dtype=np.float64)
        if rows.shape[1] != n_columns:
            raise DataError(f"There are weights for {rows.shape[1]} of {n_columns} columns.")
        if not np.all(np.isfinite(rows.data)) or (rows.nnz and rows.data.min() < 0):
            raise DataError("Weights must be finite and not negative.")
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        total = np.bincount(rows.indices, weights=rows.data, minlength=n_columns) * factor
        return cls(rows, factor, *_numbered(np.flatnonzero(total), n_columns))

    @property
    def n_points(self) -> int:
        """Number of points."""
        return self.rows.shape[0]

    def take(self, which: NDArray[np.intp]) -> PointWeights:
        """Restrict to some of the columns, in increasing order."""
        numbered = _numbered(self.columns[which], len(self.factor))
        return PointWeights(self.rows, self.factor, *numbered)

    def row(self, point: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Columns with a weight at a point, and their weights."""
        place, weight, factor = self._entries(point)
        return place, weight * factor

    def _entries(
        self, point: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Columns with a weight at a point, their weights without the factor, and the factor."""
        entries = slice(self.rows.indptr[point], self.rows.indptr[point + 1])
        index, weight = self.rows.indices[entries], self.rows.data[entries]
        place, factor = self.place[index], self.factor[index]
        counts = (place >= 0) & (weight > 0.0) & (factor > 0.0)
        return place[counts], weight[counts], factor[counts]

    @property
    def scale(self) -> NDArray[np.float64]:
        """Factor of each of the columns."""
        return self.factor[self.columns]

    def unscaled(self, points: slice) -> NDArray[np.float64]:
        """Weights of some points without the factor, (n_points, n_columns)."""
        result = np.zeros((points.stop - points.start, len(self.columns)))
        for target, point in zip(result, range(points.start, points.stop)):
            place, weight, _ = self._entries(point)
            target[place] = weight
        return result

    def dense(self, points: slice) -> NDArray[np.float64]:
        """Weights of some points, (n_points, n_columns)."""
        return self.unscaled(points) * self.scale

    def n_uses(self) -> NDArray[np.int64]:
        """Points at which each column has a weight."""
        return np.bincount(self.rows.indices, minlength=len(self.factor))[self.columns]


def _numbered(
    columns: NDArray[np.intp], n_columns: int
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    place = np.full(n_columns, -1, dtype=np.int32)
    place[columns] = np.arange(len(columns), dtype=np.int32)
    return columns, place

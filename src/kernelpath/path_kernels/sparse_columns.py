"""Sparse columns: only pairs of non-zeros are visited, point by point.

Kernels are evaluated once per pair of distinct values; a point then costs one addition per pair
of stored entries.  Sharing work between points was measured and does not pay.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.path_kernels import _sparse_loops as loops
from kernelpath.path_kernels.columns import SparseColumns
from kernelpath.path_kernels.point_weights import PointWeights

FEW_VALUES = 64


class Scatter:
    """The weighted sums of sparse columns at several points.

    Parameters
    ----------
    columns : SparseColumns
    weights : PointWeights
        Of the same columns.
    only_new : bool
        Leave out the pairs of training rows.
    memory_limit : int
        Bytes for kernels of columns with many distinct values; what does not fit is evaluated
        again at every point.
    """

    def __init__(
        self,
        columns: SparseColumns,
        weights: PointWeights,
        only_new: bool = False,
        memory_limit: int = 2**28,
    ) -> None:
        self._columns = columns
        self._weights = weights
        self._only_new = only_new
        kernels, self._zero = columns.kernels, columns.kernels.zero
        self._codes = np.zeros(len(columns.values), dtype=np.uint8)
        distinct = np.empty(len(columns.values))
        self._n_distinct = np.zeros(len(columns.split), dtype=np.int64)
        loops.code_columns(
            columns.ptr, columns.values, FEW_VALUES, self._codes, distinct, self._n_distinct
        )
        many = self._n_distinct > FEW_VALUES
        self._kinds = np.where(self._n_distinct == 1, loops.ONE, loops.FEW)
        sizes = np.square(np.where(many, 0, self._n_distinct))
        if many.any():
            fits = self._pairs_that_fit(many, memory_limit)
            self._kinds[many] = loops.EVALUATE
            self._kinds[fits] = loops.PAIRS
            sizes[fits] = self._pairs()[fits]
        self._start = np.concatenate([[0], np.cumsum(sizes)])
        self._tables = np.empty(int(self._start[-1]))
        for part, formula, settings in kernels.runs(np.arange(len(columns.split))):
            loops.fill_tables(formula)(
                part, columns.ptr, columns.split, columns.values, distinct, self._n_distinct,
                self._kinds, kernels.gamma, self._zero, kernels.factors, settings, self._start,
                self._tables,
            )  # fmt: skip

    def _pairs(self) -> NDArray[np.int64]:
        """Pairs of stored entries of each column."""
        train = self._columns.split
        new = np.diff(self._columns.ptr) - train
        return train * (train + 1) // 2 + new * train

    def _pairs_that_fit(self, many: NDArray[np.bool_], memory_limit: int) -> NDArray[np.intp]:
        """Columns worth a table of all pairs: first those with a weight at most points."""
        uses = self._weights.n_uses()
        order = np.argsort(-uses, kind="stable")
        order = order[many[order] & (uses[order] > 1)]
        return order[np.cumsum(8 * self._pairs()[order]) <= memory_limit]

    def add(self, point: int, train: NDArray[np.float64], new: NDArray[np.float64]) -> None:
        """Add a point to the lower triangle of ``train`` and to ``new``."""
        columns, kernels = self._columns, self._columns.kernels
        which, weights = self._weights.row(point)
        done = 0
        for part, formula, settings in kernels.runs(which):
            loops.scatter(formula)(
                part, weights[done : done + len(part)], columns.ptr, columns.split, columns.rows,
                columns.values, self._codes, self._n_distinct, self._kinds, kernels.gamma,
                self._zero, kernels.factors, settings, self._start, self._tables, columns.n_train,
                self._only_new, train, new,
            )  # fmt: skip
            done += len(part)

    def shift(self, point: int) -> NDArray[np.float64] | None:
        """Nothing: the shifted kernel is the form of sparse tables."""
        return None

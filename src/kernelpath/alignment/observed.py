"""Columns with missing values: the points are the observed ones, and one more, far from all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.alignment.accumulators import HI, SQUARES, ColumnStatistics
from kernelpath.alignment.columns import RaggedColumns, SparseBlock
from kernelpath.kernels.missing import FAR, NO_CATEGORY

BLOCK_VALUES = 400_000  # points of a block, with their weights


@dataclass(frozen=True)
class ObservedBlock(SparseBlock):
    """Observed values of some features, and the missing ones as one point far from them.

    The statistics are those of the observed values.  Where these are all the same, missing or not
    is all that the column says, and its two values are given a width.
    """

    seen: RaggedColumns
    far = True

    def observed(self, which: NDArray[np.intp]) -> tuple[RaggedColumns, NDArray[np.intp]]:
        """The observed values alone."""
        return self.seen, which


class ObservedColumns:
    """Columns of a dense or sparse table in which NaN means missing.

    Parameters
    ----------
    X : ndarray or sparse matrix
    as_category : bool
        Whether missing values are a category of their own; else they stand at the mean.
    codes : bool
        Whether the values are numbers of categories, which count from 0.
    """

    feature_major = None

    def __init__(self, X: Any, as_category: bool = True, codes: bool = False) -> None:
        self._X = sp.csc_matrix(X) if sp.issparse(X) else X
        self.as_category = as_category
        self.codes = codes
        self.n_samples, self.n_features = X.shape

    def slices(self) -> Iterator[slice]:
        """Cut the features; the cut depends on the shape of the table only."""
        width = max(1, BLOCK_VALUES // self.n_samples)
        for start in range(0, self.n_features, width):
            yield slice(start, min(start + width, self.n_features))

    def open(
        self,
        features: slice,
        columns: NDArray[np.float64],
        statistics: ColumnStatistics | None = None,
    ) -> ObservedBlock:
        """Take the points of some features, and their statistics."""
        parts = [self._points(j, columns) for j in range(features.start, features.stop)]
        seen = _ragged([(x, weights) for x, weights, _ in parts])
        statistics = _statistics(seen)
        every = []
        for i, (x, weights, missing) in enumerate(parts):
            if missing is not None:
                every.append(
                    (
                        np.append(x, self._stand_in(statistics, i, len(x))),
                        np.column_stack([weights, missing]),
                    )
                )
                _tell_apart(statistics, i, len(x), self.as_category)
            else:
                every.append((x, weights))
        return ObservedBlock(_ragged(every), statistics, seen)

    def _stand_in(self, statistics: ColumnStatistics, i: int, n_observed: int) -> float:
        """Value of the missing point."""
        if not self.as_category:
            return float(statistics.mean[i])
        if self.codes or n_observed == 0:
            return NO_CATEGORY
        width = statistics.hi[i] - statistics.lo[i]
        return float(statistics.hi[i] + FAR * (width if width > 0 else 1.0))

    def _points(
        self, j: int, columns: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
        """Observed values of a column, their weights, and the weights of what is missing."""
        if not sp.issparse(self._X):
            x, of, rest = np.asarray(self._X[:, j], dtype=np.float64), columns, None
        else:
            span = slice(self._X.indptr[j], self._X.indptr[j + 1])
            x, of = self._X.data[span].astype(np.float64), columns[:, self._X.indices[span]]
            rest = columns.sum(axis=1) - of.sum(axis=1) if len(x) < self.n_samples else None
        known = ~np.isnan(x)
        missing = None if known.all() else of[:, ~known].sum(axis=1)
        x, of = x[known], of[:, known]
        if rest is not None:  # the zeros that are not stored
            x, of = np.append(x, 0.0), np.column_stack([of, rest])
        return x, of, missing


def _ragged(parts: list[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> RaggedColumns:
    """Columns one after the other, with weights of their own."""
    ptr = np.concatenate([[0], np.cumsum([len(x) for x, _ in parts])]).astype(np.int64)
    values = np.concatenate([x for x, _ in parts])
    weights = np.concatenate([weights for _, weights in parts], axis=1)
    return RaggedColumns(values, ptr, np.ascontiguousarray(weights), False)


def _statistics(seen: RaggedColumns) -> ColumnStatistics:
    """Statistics of the observed values; a column without any is constant."""
    filled = np.flatnonzero(seen.n_points)
    statistics = ColumnStatistics(len(seen.n_points))
    totals = np.ones(len(seen.n_points))
    if len(filled):
        ptr = np.append(seen.ptr[filled], seen.ptr[-1])
        some = ColumnStatistics(len(filled))
        some.update_points(seen.values, ptr, seen.columns[0])
        statistics.rows[filled] = some.rows
        totals[filled] = np.add.reduceat(seen.columns[0], ptr[:-1])
    statistics.total_weight = totals
    return statistics


def _tell_apart(statistics: ColumnStatistics, i: int, n_observed: int, as_category: bool) -> None:
    """Give a column of one observed value and missing ones a width: they are two values."""
    if as_category and n_observed and statistics.hi[i] == statistics.lo[i]:
        unit = max(1.0, abs(float(statistics.lo[i])))
        statistics.rows[i, HI] += unit
        statistics.rows[i, SQUARES] = np.asarray(statistics.total_weight)[i] * unit**2

"""The two mergeable passes over rows: column statistics, then Chebyshev moments.

Both are sums over rows (or merge like sums), so chunks of rows may come from anywhere, in any
number, and be merged in any order; only rounding depends on it.  The second pass needs the
intervals that the first one found.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelpath.alignment import _moment_loops, _stats_loops
from kernelpath.alignment.expansions import TableStack

LO, HI, MEAN, SQUARES, TWO_VALUED, ORIGIN = range(6)


class ColumnStatistics:
    """Range, mean, spread and two-valuedness of a set of columns.

    Parameters
    ----------
    n_features : int

    Examples
    --------
    >>> first, second = ColumnStatistics(1), ColumnStatistics(1)
    >>> first.update(np.array([[1.0], [2.0]]))
    >>> second.update(np.array([[6.0]]))
    >>> first.merge(second)
    >>> float(first.mean[0]), float(first.std[0].round(6))
    (3.0, 2.160247)
    """

    def __init__(self, n_features: int) -> None:
        self.rows = np.zeros((n_features, 6))
        self.total_weight: float | NDArray[np.float64] = 0.0  # one, or one per column

    def update(self, values: NDArray, weights: NDArray[np.float64] | None = None) -> None:
        """Add rows: ``values`` is (n_rows, n_features)."""
        if len(values) == 0:
            return
        weights = np.ones(len(values)) if weights is None else weights
        if values.flags.f_contiguous:
            fresh = np.zeros_like(self.rows)
            if np.all(weights == 1.0):
                _stats_loops.feature_major_stats(values.T, fresh)
            else:
                _stats_loops.weighted_feature_major_stats(values.T, weights, fresh)
            self._fold(fresh, float(weights.sum()))
        else:
            self.update_rows(np.ascontiguousarray(values), slice(0, len(values)), 0, weights)

    def update_rows(
        self, table: NDArray, rows: slice, first: int, weights: NDArray[np.float64]
    ) -> None:
        """Add some rows of a row-major table; the columns start at ``first``."""
        fresh = np.zeros_like(self.rows)
        _stats_loops.row_major_stats(table, rows.start, rows.stop, first, weights, fresh)
        self._fold(fresh, float(weights[rows].sum()))

    def update_points(
        self, values: NDArray, ptr: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> None:
        """Set the statistics from ragged columns with weights of their own."""
        _stats_loops.ragged_stats(values, ptr, weights, self.rows)
        self.total_weight = float(weights[ptr[0] : ptr[1]].sum()) if len(ptr) > 1 else 0.0

    def merge(self, other: ColumnStatistics) -> None:
        """Add the rows that ``other`` has seen."""
        self._fold(other.rows, float(other.total_weight))

    def _fold(self, fresh: NDArray[np.float64], weight: float) -> None:
        if self.total_weight == 0.0:
            self.rows[:] = fresh
        elif weight > 0.0:
            _stats_loops.merge_stats(self.rows, self.total_weight, fresh, weight)
        self.total_weight += weight

    @property
    def lo(self) -> NDArray[np.float64]:
        """Smallest value of each column."""
        return self.rows[:, LO]

    @property
    def hi(self) -> NDArray[np.float64]:
        """Largest value of each column."""
        return self.rows[:, HI]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Weighted mean of each column."""
        return self.rows[:, ORIGIN] + self.rows[:, MEAN]

    @property
    def std(self) -> NDArray[np.float64]:
        """Population standard deviation of each column."""
        return np.sqrt(self.rows[:, SQUARES] / self.total_weight)

    @property
    def anchors(self) -> tuple[NDArray[np.float64], ...]:
        """Origin, mean relative to it, and largest value of each column."""
        return self.rows[:, ORIGIN], self.rows[:, MEAN], self.rows[:, HI]

    @property
    def two_valued(self) -> NDArray[np.bool_]:
        """Columns with at most two distinct values."""
        return self.rows[:, TWO_VALUED] == 1.0

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Columns without NaN or infinity."""
        return np.all(np.isfinite(self.rows[:, [LO, HI, MEAN, SQUARES]]), axis=1)


@dataclass
class ChebyshevMoments:
    """Sums over rows of Chebyshev polynomials, per feature and class or target column.

    Attributes
    ----------
    center, scale : ndarray of shape (n_features,)
        Column ``x`` is mapped to ``u = (x - center) * scale`` in [-1, 1].
    table : ndarray of shape (n_features,)
        Which table of ``stack`` serves the feature.
    stack : TableStack
    n_groups : int
        Number of classes, or of columns when rows have weights of their own.
    sums : ndarray of shape (n_features, n_groups, max_degree)
        Up to three degrees more than the tables use.
    """

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    table: NDArray[np.int64]
    stack: TableStack
    n_groups: int
    sums: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self._degree = _moment_loops.whole_sweeps(self.stack.degree[self.table])
        top = int(self._degree.max()) if len(self._degree) else 0
        self.sums = np.zeros((len(self.center), self.n_groups, top))

    def add_groups(
        self,
        values: NDArray,
        features: NDArray[np.intp],
        order: NDArray[np.intp],
        starts: NDArray[np.int64],
    ) -> None:
        """Add rows by class.

        Feature ``f`` is row ``features[f]`` of the feature-major ``values``; class ``g`` has its
        entries ``order[starts[g]:starts[g + 1]]``.
        """
        _moment_loops.add_group_sums(
            values, features, order, starts, self.center, self.scale, self._degree, self.sums
        )

    def add_columns(
        self,
        values: NDArray[np.float64],
        ptr: NDArray[np.int64],
        columns: NDArray[np.float64],
        shared: bool,
    ) -> None:
        """Add points with weight columns, in the ragged layout of the point loops."""
        _moment_loops.add_column_sums(
            values, ptr, columns, shared, self.center, self.scale, self._degree, self.sums
        )

    def merge(self, other: ChebyshevMoments) -> None:
        """Add the rows that ``other`` has seen."""
        self.sums += other.sums

    def finish(
        self, combine: NDArray[np.float64], mass: NDArray[np.float64], total_weight: float
    ) -> NDArray[np.float64]:
        """Return numerator, trace and error bound per feature, (n_features, 3)."""
        out = np.empty((len(self.center), 3))
        stack = self.stack
        _moment_loops.quadratic_forms(
            self.sums,
            combine,
            self.table,
            stack.even,
            stack.odd,
            stack.tail,
            stack.corner,
            stack.degree,
            mass,
            total_weight,
            out,
        )
        return out

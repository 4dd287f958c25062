"""Null moments of rows that come in chunks, of a Gaussian kernel at several widths.

As with alignments there are two passes: :class:`ColumnStatistics` finds ranges and scales, and
:class:`GridSums` adds rows to bins.  Both are sums over rows, so chunks may come from anywhere, in
any number, and be merged in any order; only rounding depends on it.  Columns of few values are kept
as their values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelpath.alignment import _chunk_loops
from kernelpath.alignment._null_loops import MOST_LEVELS
from kernelpath.alignment.accumulators import ColumnStatistics
from kernelpath.alignment.null_sums import LARGEST_GRID, RESOLUTION, ColumnSums, WidthTables
from kernelpath.errors import DataError
from kernelpath.kernels import RBF

Array = NDArray[np.float64]


class GridSums:
    """The second pass over rows.

    Parameters
    ----------
    statistics : ColumnStatistics
        Of all rows: the first pass.
    scale : ndarray of shape (n_features,)
        Scale of every column, such as its standard deviation.
    factors : sequence of float
        Widths in units of the scale.
    n_rows : int
        Of all chunks.
    n_columns : int
        Weight columns: that of the rows, and the centred columns of the target.
    resolution : float
        Spacing of the grid in units of the narrowest width.  Where nearly all rows are alike
        beside a few far ones (a trace below a fifth of the rows), a finer one is needed, such as
        0.1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    >>> columns = np.stack([np.ones(300), y - y.mean()])
    >>> known = ColumnStatistics(2)
    >>> known.update(X)
    >>> first, second = (GridSums(known, known.std, (1.0, 0.5), 300, 2) for _ in range(2))
    >>> first.update(X[:100], columns[:, :100])
    >>> second.update(X[100:], columns[:, 100:])
    >>> first.merge(second)
    >>> first.finish().sums.shape
    (2, 2, 8)
    """

    def __init__(
        self,
        statistics: ColumnStatistics,
        scale: Array,
        factors: Sequence[float],
        n_rows: int,
        n_columns: int,
        resolution: float = RESOLUTION,
    ) -> None:
        self._widths = WidthTables.of(tuple(float(f) for f in factors), resolution)
        self._n_rows, self._n_columns = float(n_rows), n_columns
        self._low, self._high = statistics.lo.copy(), statistics.hi.copy()
        narrowest = float(min(factors)) * np.asarray(scale, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self._gamma = RBF().gamma(narrowest)
            step = resolution * narrowest
            usable = (scale > 0) & (self._high > self._low)
            size = np.where(usable, (self._high - self._low) / step, 0.0)
        if (size > min(LARGEST_GRID, 64 * n_rows + 4096)).any():
            worst = int(size.argmax())
            raise DataError(
                f"Column {worst} has values so far from the others that its grid would have "
                f"{size[worst]:,.0f} points; such a column must be read as a whole."
            )
        self._step = np.where(usable, step, 0.0)
        n_features = len(self._step)
        self._bins = np.zeros((n_features, 2), dtype=np.int64)
        self._finer = self._widths.for_loops[5]
        _chunk_loops.bins_of(
            self._low, self._high, self._step, self._n_rows, self._finer, self._bins
        )
        lengths = n_columns * self._bins.prod(axis=1)
        self._ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self._store = np.zeros(int(self._ptr[-1]))
        self._levels = np.zeros((n_features, MOST_LEVELS))
        self._counts = np.zeros((n_features, n_columns, MOST_LEVELS))
        self._n_levels = np.zeros(n_features, dtype=np.int64)

    def update(self, values: NDArray, columns: Array) -> None:
        """Add rows: ``values`` is (n_rows, n_features), ``columns`` (n_columns, n_rows)."""
        if len(values) == 0:
            return
        table = np.ascontiguousarray(np.asarray(values).T, dtype=np.float64)
        _chunk_loops.add_rows(
            table, np.ascontiguousarray(columns, dtype=np.float64), self._low, self._high,
            self._step, self._n_rows, self._finer, self._bins, self._ptr, self._store,
            self._levels, self._counts, self._n_levels,
        )  # fmt: skip

    def merge(self, other: GridSums) -> None:
        """Add the rows that ``other`` has seen."""
        self._store += other._store
        _chunk_loops.merge_levels(
            self._levels, self._counts, self._n_levels, other._levels, other._counts,
            other._n_levels,
        )  # fmt: skip

    def finish(self) -> ColumnSums:
        """The sums of all columns; zeros for those that are constant."""
        n_features, n_widths = len(self._step), len(self._widths.place)
        own = ColumnSums.empty(n_features, n_widths, self._n_columns - 1)
        _chunk_loops.sums_of_bins(
            self._low, self._high, self._gamma, self._step, self._n_rows, self._bins, self._ptr,
            self._store, self._levels, self._counts, self._n_levels, *self._widths.for_loops,
            own.sums, own.forms,
        )  # fmt: skip
        out = ColumnSums.empty(n_features, n_widths, self._n_columns - 1)
        out.sums[:, self._widths.place] = own.sums
        out.forms[:, self._widths.place] = own.forms
        out.n_levels[:] = self._n_levels
        return out

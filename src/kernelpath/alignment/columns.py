"""A table as columns: dense in either order or sparse, read in blocks of features.

``DenseColumns`` and ``SparseColumns`` hide layout and type.  Both cut the table into slices of
neighbouring features and open a slice as a *block*: statistics of its columns, and their points
as ragged float64 blocks, in which ``values[ptr[f]:ptr[f + 1]]`` are the points of feature ``f``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.alignment import _stats_loops
from kernelpath.alignment.accumulators import ColumnStatistics

ROW_CHUNK = 1024
TILE_SIZE = 196608  # float64 values of a tile: stays in cache
DENSE_BLOCK = (TILE_SIZE, 8 * TILE_SIZE)  # values of a dense block, at least and at most
SPARSE_BLOCK = 400_000  # stored entries of a sparse block
SMALL = 8 * TILE_SIZE  # values of a table up to which a copy by feature costs next to nothing
TURNED = (256, 32)  # rows and columns that are put into the other order at a time


@dataclass(frozen=True)
class RaggedColumns:
    """Points of some features, with the weight columns that go with them."""

    values: NDArray[np.float64]
    ptr: NDArray[np.int64]
    columns: NDArray[np.float64]
    shared: bool

    @property
    def n_points(self) -> NDArray[np.int64]:
        """Number of points of each feature."""
        return np.diff(self.ptr)

    def take(self, features: NDArray[np.intp]) -> RaggedColumns:
        """Return the block of some of the features."""
        if len(features) == len(self.ptr) - 1:
            return self
        spans = [slice(self.ptr[f], self.ptr[f + 1]) for f in features]
        values = np.concatenate([self.values[s] for s in spans])
        ptr = np.concatenate([[0], np.cumsum([s.stop - s.start for s in spans])])
        columns = self.columns
        if not self.shared:
            columns = np.concatenate([columns[:, s] for s in spans], axis=1)
        return RaggedColumns(values, ptr.astype(np.int64), columns, self.shared)


class ColumnBlock(Protocol):
    """Neighbouring features, opened for contraction."""

    @property
    def statistics(self) -> ColumnStatistics:
        """Range and spread of each column."""

    @property
    def merged(self) -> bool:
        """Whether equal values have become one point, as in sparse columns."""

    @property
    def far(self) -> bool:
        """Whether some points lie far outside of the range of the statistics."""

    @property
    def n_points(self) -> NDArray[np.int64]:
        """Number of points of each feature."""

    def parts(self, which: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Split features into lots that stay in cache."""

    def points(self, which: NDArray[np.intp]) -> tuple[RaggedColumns, NDArray[np.intp]]:
        """Return points and where among them the wanted features stand."""

    def observed(self, which: NDArray[np.intp]) -> tuple[RaggedColumns, NDArray[np.intp]]:
        """Like ``points``, without the point of the missing values."""

    def per_point_block(self, values: NDArray, which: NDArray[np.intp]) -> NDArray:
        """Values per feature of the block, rearranged for those of ``points(which)``."""


class TableColumns(Protocol):
    """A table that can be cut into tasks."""

    n_samples: int
    n_features: int

    def slices(self) -> Iterator[slice]:
        """Cut the features; large enough to hide the cost of a block, small enough to share."""

    @property
    def feature_major(self) -> NDArray | None:
        """The table as a float array (n_features, n_samples), if it is stored so."""

    def open(
        self,
        features: slice,
        columns: NDArray[np.float64],
        statistics: ColumnStatistics | None = None,
    ) -> ColumnBlock:
        """Open a slice; ``columns`` is (n_columns, n_samples), sample weights first.

        ``statistics`` spares the first pass where they are known.
        """


@dataclass
class DenseBlock:
    """Some features of a dense table; points are read when asked for."""

    source: DenseColumns
    first: int
    statistics: ColumnStatistics
    columns: NDArray[np.float64]
    merged = False
    far = False
    _buffer: NDArray[np.float64] | None = None

    @property
    def n_points(self) -> NDArray[np.int64]:
        """The number of rows, for every feature."""
        return np.full(len(self.statistics.rows), self.source.n_samples)

    def parts(self, which: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Split features into lots that stay in cache."""
        width = max(1, TILE_SIZE // self.source.n_samples)
        return np.array_split(which, range(width, len(which), width))

    def points(self, which: NDArray[np.intp]) -> tuple[RaggedColumns, NDArray[np.intp]]:
        """Return whole columns, in the order of ``which``."""
        n = self.source.n_samples
        values = self.source.tile(which + self.first, np.arange(n))
        ptr = np.arange(len(which) + 1, dtype=np.int64) * n
        return RaggedColumns(values.reshape(-1), ptr, self.columns, True), np.arange(len(which))

    observed = points

    def per_point_block(self, values: NDArray, which: NDArray[np.intp]) -> NDArray:
        """Values in the order of ``which``."""
        return values[which]

    @property
    def in_place(self) -> bool:
        """Whether ``rows`` needs no copy, so that there is no tile to keep small."""
        return self.source.feature_major is not None

    def rows(
        self, which: NDArray[np.intp], order: NDArray[np.intp]
    ) -> tuple[NDArray, NDArray[np.intp], NDArray[np.intp]]:
        """Return feature-major values, and where in them the features and the rows stand.

        A feature-major table is returned as it is.  Otherwise the next call may overwrite the
        values: fresh memory for every tile would cost page faults.
        """
        if self.source.feature_major is not None:
            return self.source.feature_major, which + self.first, order
        size = len(which) * len(order)
        if self._buffer is None or len(self._buffer) < size:
            self._buffer = np.empty(size)
        out = self._buffer[:size].reshape(len(which), len(order))
        tile = self.source.tile(which + self.first, order, out)
        return read_only(tile), np.arange(len(which)), np.arange(len(order))


@dataclass(frozen=True)
class SparseBlock:
    """Some features of a sparse table, as sorted distinct values with summed weights."""

    ragged: RaggedColumns
    statistics: ColumnStatistics
    merged = True
    far = False

    @property
    def n_points(self) -> NDArray[np.int64]:
        """Number of distinct values of each feature."""
        return self.ragged.n_points

    def parts(self, which: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """All at once: the points exist already."""
        return [which]

    def points(self, which: NDArray[np.intp]) -> tuple[RaggedColumns, NDArray[np.intp]]:
        """Return all points, and the wanted features among them."""
        return self.ragged, which

    observed = points

    def per_point_block(self, values: NDArray, which: NDArray[np.intp]) -> NDArray:
        """Values as they are: all features are there."""
        return values


def _by_feature(X: NDArray) -> NDArray[np.float64]:
    """The same as float64 in Fortran order, turned in pieces that a cache can hold."""
    if X.flags.f_contiguous:
        return np.asarray(X, dtype=np.float64, order="F")
    turned = np.empty(X.shape[::-1])
    rows, columns = TURNED
    for j in range(0, X.shape[1], columns):
        for i in range(0, X.shape[0], rows):
            turned[j : j + columns, i : i + rows] = X[i : i + rows, j : j + columns].T
    return turned.T


class DenseColumns:
    """Columns of an ndarray in C or Fortran order, of any real type, possibly memory-mapped.

    A small table is kept as float64 by feature, and every table is read only: so most jobs need
    one variant of one loop, and the first of them does not wait until others are compiled.
    """

    def __init__(self, X: NDArray) -> None:
        X = np.asarray(X)  # a memory map becomes a plain view of the same memory
        self.n_samples, self.n_features = X.shape
        if X.size <= SMALL:
            X = _by_feature(X)
        X = read_only(X)
        self._by_feature = X.flags.f_contiguous
        # Compiled loops exist for the two float types; others are converted tile by tile.
        self._native = X.dtype in (np.float64, np.float32) and X.dtype.isnative
        self._X = X.T if self._by_feature else X
        contiguous = X.flags.f_contiguous or X.flags.c_contiguous
        self._native = self._native and contiguous

    @property
    def feature_major(self) -> NDArray | None:
        """The table as (n_features, n_samples), if it is stored so in a float type."""
        return self._X if self._by_feature and self._native else None

    def _part(self, features: slice, rows: slice) -> NDArray:
        """Rows and features as (n_rows, n_features), contiguous in the order of the table."""
        part = self._X[features, rows] if self._by_feature else self._X[rows, features]
        if not self._native:
            part = np.ascontiguousarray(part, dtype=np.float64)
        return part.T if self._by_feature else part

    def slices(self) -> Iterator[slice]:
        """Cut the features; the cut depends on the shape of the table only."""
        size = np.clip(self.n_samples * self.n_features // 16, *DENSE_BLOCK)
        # A row-major table is read in stretches of at least 2 kB a row.
        width = max(8 if self._by_feature else 256, int(size // self.n_samples))
        for start in range(0, self.n_features, width):
            yield slice(start, min(start + width, self.n_features))

    def open(
        self,
        features: slice,
        columns: NDArray[np.float64],
        statistics: ColumnStatistics | None = None,
    ) -> DenseBlock:
        """Run the first pass over the rows of some features, unless its result is given."""
        statistics = statistics or self._statistics(features, columns[0])
        return DenseBlock(self, features.start, statistics, columns)

    def _statistics(self, features: slice, weights: NDArray[np.float64]) -> ColumnStatistics:
        """First pass over the rows of some features."""
        width = features.stop - features.start
        statistics = ColumnStatistics(width)
        if self._by_feature:
            part = self._part(features, slice(0, self.n_samples))
            statistics.update(part, weights)
            return statistics
        # Short chunks of rows, so that the second sweep over them finds them in cache.
        chunk = max(16, TILE_SIZE // width)
        for start in range(0, self.n_samples, chunk):
            rows = slice(start, min(start + chunk, self.n_samples))
            if self._native:
                statistics.update_rows(self._X, rows, features.start, weights)
            else:
                statistics.update(self._part(features, rows), weights[rows])
        return statistics

    def tile(
        self,
        features: NDArray[np.intp],
        rows: NDArray[np.intp],
        out: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return a copy of some rows of increasing features, (n_features, n_rows)."""
        out = np.empty((len(features), len(rows))) if out is None else out
        source = self._X
        if not self._native:
            lo, hi = int(features[0]), int(features[-1]) + 1
            row_lo, row_hi = int(rows.min()), int(rows.max()) + 1
            part = self._part(slice(lo, hi), slice(row_lo, row_hi))
            source = part.T if self._by_feature else part
            features, rows = features - lo, rows - row_lo
        if self._by_feature:
            _stats_loops.gather_feature_major(source, features, rows, out)
        else:
            _stats_loops.gather_row_major(source, features, rows, out)
        return out


def read_only(values: NDArray) -> NDArray:
    """The same array, as one that nobody may write to through it."""
    view = values.view()
    view.flags.writeable = False
    return view


class SparseColumns:
    """Columns of a SciPy sparse matrix, turned into distinct values with summed weights."""

    feature_major = None

    def __init__(self, X: sp.spmatrix) -> None:
        self._X = sp.csc_matrix(X)
        if not self._X.has_canonical_format:
            self._X = self._X.copy()
            self._X.sum_duplicates()
        self.n_samples, self.n_features = self._X.shape
        data = self._X.data
        if data.dtype not in (np.float64, np.float32):
            data = data.astype(np.float64)
        self._data = data

    def slices(self) -> Iterator[slice]:
        """Cut the features so that each block has about as many stored entries."""
        entries = self._X.indptr
        ends = np.searchsorted(entries, np.arange(SPARSE_BLOCK, entries[-1], SPARSE_BLOCK))
        start = 0
        for stop in [*np.unique(ends).tolist(), self.n_features]:
            if stop > start:
                yield slice(start, stop)
                start = stop

    def open(
        self,
        features: slice,
        columns: NDArray[np.float64],
        statistics: ColumnStatistics | None = None,
    ) -> SparseBlock:
        """Merge equal values and take their statistics."""
        ragged = self._ragged(features, columns)
        statistics = ColumnStatistics(features.stop - features.start)
        statistics.update_points(ragged.values, ragged.ptr, ragged.columns[0])
        return SparseBlock(ragged, statistics)

    def _ragged(self, features: slice, columns: NDArray[np.float64]) -> RaggedColumns:
        """Return the points of neighbouring features; ``columns`` is (n_columns, n_samples)."""
        indptr = self._X.indptr[features.start : features.stop + 1]
        lo, hi = int(indptr[0]), int(indptr[-1])
        width = len(indptr) - 1
        values = np.empty(hi - lo + width)
        weights = np.empty((len(columns), hi - lo + width))
        ptr = np.empty(width + 1, dtype=np.int64)
        end = _stats_loops.sparse_points(
            self._data[lo:hi],
            self._X.indices[lo:hi],
            indptr - lo,
            np.ascontiguousarray(columns.T),
            columns.sum(axis=1),
            self.n_samples,
            values,
            weights,
            ptr,
        )
        return RaggedColumns(values[:end], ptr, np.ascontiguousarray(weights[:, :end]), False)

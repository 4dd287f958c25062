"""Which algorithm serves which column, and the sum of their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from kernelpath.path_kernels.columns import (
    SPARSE_DENSITY,
    ColumnKernels,
    DenseColumns,
    dense_columns,
    sparse_columns,
    take_columns,
)
from kernelpath.path_kernels.dense import Tiles, lower_tiles, n_pairs
from kernelpath.path_kernels.exact_maps import ExactMaps, mappable
from kernelpath.path_kernels.point_weights import PointWeights
from kernelpath.path_kernels.sparse_columns import Scatter

FEWEST_POINTS = 32
LARGEST_SCALE = 1e20
"""Kernels so wide that their distances, about one over this, would vanish in single precision."""


@dataclass(frozen=True)
class SplitColumns:
    """Columns with weights, split by algorithm.

    With ``only_new`` the pairs of training rows are left out.
    """

    n_train: int
    n_rows: int
    only_new: bool
    scatter: Scatter | None
    maps: ExactMaps | None
    dense: DenseColumns | None
    dense_weights: PointWeights | None

    @classmethod
    def split(
        cls,
        train: Any,
        new: Any | None,
        kernels: ColumnKernels,
        weights: PointWeights,
        *,
        row_weight: NDArray[np.float64] | None = None,
        only_new: bool = False,
        limit: int = 2**30,
    ) -> SplitColumns:
        """Prepare columns; the ``weights`` of the same columns multiply the raw kernels."""
        from_sparse = sp.issparse(train)
        n_train = train.shape[0]
        n_rows = n_train + (0 if new is None else new.shape[0])
        full = np.arange(train.shape[1])
        scatter = None
        if from_sparse:
            train = train.tocsc()
            new = None if new is None else new.tocsc()
            thin = kernels.shiftable & (np.diff(train.indptr) <= SPARSE_DENSITY * n_train)
            some, full = np.flatnonzero(thin), np.flatnonzero(~thin)
            if len(some):
                stored = sparse_columns(*_both(train, new, some), kernels.take(some))
                scatter = Scatter(stored, weights.take(some), only_new, limit // 4)
        maps = dense = dense_weights = None
        if len(full):
            columns = dense_columns(
                *_both(train, new, full), kernels.take(full), from_sparse=from_sparse
            )
            mapped = mappable(columns)
            exact, rest = np.flatnonzero(mapped), np.flatnonzero(~mapped)
            if len(exact):
                part = weights.take(full[exact])
                maps = ExactMaps(columns.take(exact), part, row_weight)
            if len(rest):
                dense, dense_weights = columns.take(rest), weights.take(full[rest])
        return cls(n_train, n_rows, only_new, scatter, maps, dense, dense_weights)

    def store(self, limit: int, n_points: int, dtype: DTypeLike) -> NDArray[np.floating]:
        """Memory for as many points as are worth computing together, (size, pairs of rows)."""
        if self.dense is None:
            return np.empty((n_points, 0), dtype=dtype)
        pairs = n_pairs(lower_tiles(self.n_train, self.n_rows, self.only_new))
        if self.dense_weights is not None and self.dense_weights.scale.max() > LARGEST_SCALE:
            dtype = np.float64
        # With few columns it is cheaper to evaluate them again than to fill much memory.
        worth = min(n_points, max(FEWEST_POINTS, len(self.dense.values)))
        fits = int(limit // max(1, np.dtype(dtype).itemsize * pairs))
        return np.empty((max(1, min(worth, fits)), pairs), dtype=dtype)

    def block(
        self,
        points: slice,
        store: NDArray[np.floating],
        tell: Callable[[float], None] = lambda share: None,
    ) -> PointBlock:
        """Evaluate the dense columns for some points; ``tell`` hears the share that is done."""
        if self.dense is None or self.dense_weights is None:
            return PointBlock(self, points.start, None)
        tiles = Tiles(self.dense, self.dense_weights, points, self.only_new, store.ravel(), tell)
        return PointBlock(self, points.start, tiles)


@dataclass(frozen=True)
class PointBlock:
    """Some points, ready to be read."""

    parts: SplitColumns
    first: int
    tiles: Tiles | None

    def add(
        self, point: int, train: NDArray[np.float64], new: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Add a point to the lower triangle of ``train`` and to ``new``.

        Returns the ``f`` by which ``f(x) + f(z)`` completes the sum to the form of the table.
        """
        shifts = []
        for part, own in (
            (self.parts.scatter, point),
            (self.parts.maps, point),
            (self.tiles, point - self.first),
        ):
            if part is not None:
                part.add(own, train, new)
                shifts.append(part.shift(own))
        given = [shift for shift in shifts if shift is not None]
        return sum(given[1:], start=given[0]) if given else None


def _both(train: Any, new: Any | None, columns: NDArray[np.intp]) -> tuple[Any, Any | None]:
    if len(columns) == train.shape[1]:
        return train, new
    return take_columns(train, columns), None if new is None else take_columns(new, columns)

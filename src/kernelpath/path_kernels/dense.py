"""Dense columns: every base kernel is evaluated once per pair of rows, for all points at once.

A tile is a rectangle of pairs.  The distances of a block of features fill a buffer that stays in
cache, and few matrix products (see ``low_rank_plan``) add them to all points.

A block of columns goes to all points by one matrix product.  Along a path the weights of features
that stay change slowly, so over the points at which *all* columns of a block have a weight the
weights of the block have a low rank: the block is reduced to a few sums first, and the points are
mixed from these.  Where features enter or leave the rank is full, and the weights are used as they
are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import svd
from scipy.linalg.blas import dgemm, dgemv, sgemm, sgemv

from kernelpath.path_kernels import _dense_loops
from kernelpath.path_kernels.columns import DenseColumns
from kernelpath.path_kernels.point_weights import PointWeights

TILE_ROWS, TILE_COLUMNS = 16, 128
FEW_POINTS = 4  # up to which matrix-vector products are faster
FEATURES = 64  # columns of a block
MOST_SUMS = 96  # held before they are mixed
WORTH = 0.7  # share of the multiplications of the plain product that must remain at most
FEWEST_POINTS = 8


def lower_tiles(n_train: int, n_rows: int, only_new: bool = False) -> NDArray[np.int64]:
    """Tiles of the lower triangle and of the new rows: rows, columns, and pairs before each.

    Examples
    --------
    >>> lower_tiles(3, 4).tolist()
    [[0, 3, 0, 3, 0], [3, 4, 0, 3, 9]]
    """
    tiles, before = [], 0
    old = [] if only_new else range(0, n_train, TILE_ROWS)
    for row in [*old, *range(n_train, n_rows, TILE_ROWS)]:
        last = min(row + TILE_ROWS, n_train if row < n_train else n_rows)
        width = min(last, n_train)
        for column in range(0, width, TILE_COLUMNS):
            end = min(column + TILE_COLUMNS, width)
            tiles.append((row, last, column, end, before))
            before += (last - row) * (end - column)
    return np.array(tiles, dtype=np.int64).reshape(-1, 5)


class Tiles:
    """The weighted sums of dense columns at several points.

    Parameters
    ----------
    columns : DenseColumns
    weights : PointWeights
        Of the same columns: what multiplies ``-d``.
    points : slice
        The points; from here on they are numbered 0, 1, ...
    only_new : bool
        Leave out the pairs of training rows.
    store : ndarray
        Memory to use: ``n_points * n_pairs`` numbers or more.  Its type is the precision.
    tell : callable, optional
        Called with the share of the work that is done.
    """

    def __init__(
        self,
        columns: DenseColumns,
        weights: PointWeights,
        points: slice,
        only_new: bool,
        store: NDArray[np.floating],
        tell: Callable[[float], None] = lambda share: None,
    ) -> None:
        self._columns = columns
        self._scale = weights.scale
        self._weights = weights.unscaled(points)
        # d / trace and a weight of at most 1 fit into any precision, whatever their units.
        self._largest = self._weights.max(axis=1, initial=0.0)
        self._weights /= np.where(self._largest > 0, self._largest, 1.0)[:, None]
        self._n_points = len(self._weights)
        self._tiles = lower_tiles(columns.n_train, columns.values.shape[1], only_new)
        self._store = store[: self._n_points * n_pairs(self._tiles)]
        self._fill(np.flatnonzero(self._weights.any(axis=0)), tell)

    def _fill(self, used: NDArray[np.intp], tell: Callable[[float], None]) -> None:
        held = self._weights[:, used] != 0
        first, last = held.argmax(axis=0), self._n_points - held[::-1].argmax(axis=0)
        # Along a path features leave (or enter) one by one: in this order a block of features
        # has weights at few points beyond those at which each of them has.
        order = np.lexsort((last, first))
        used, first, last = used[order], first[order], last[order]
        columns = self._columns.take(used)
        kernels, scale, dtype = columns.kernels, self._scale[used], self._store.dtype
        groups = low_rank_plan(-self._weights[:, used], first, last, dtype)
        largest = TILE_ROWS * TILE_COLUMNS
        buffer = np.empty(FEATURES * largest, dtype=dtype)
        # Zeros, for a BLAS that multiplies what it is told to forget: NaN would survive.
        scratch = np.zeros(max((g.mix.shape[1] for g in groups), default=0) * largest, dtype=dtype)
        for row, last_row, column, end, before in self._tiles.tolist():
            size = (last_row - row) * (end - column)
            offset = before * self._n_points
            out = self._store[offset : offset + self._n_points * size].reshape(-1, size)
            out[:] = 0.0  # now, while it enters the cache
            for group in groups:
                sums = scratch[: group.mix.shape[1] * size].reshape(-1, size)
                done = 0
                for step in group.steps:
                    tile = buffer[: (step.stop - step.start) * size].reshape(-1, size)
                    kernels.fill(
                        columns.values, (step.start, step.stop), scale, (row, last_row),
                        (column, end), tile,
                    )  # fmt: skip
                    for points, weights in step.plain:
                        _multiply(weights, tile, out[points])
                    if step.basis is not None:
                        _multiply(step.basis, tile, sums[done : done + step.n_sums], keep=0.0)
                        done += step.n_sums
                if done:
                    _multiply(group.mix, sums, out[group.points])
            tell(offset / len(self._store))

    def add(self, point: int, train: NDArray[np.float64], new: NDArray[np.float64]) -> None:
        """Add a point to the lower triangle of ``train`` and to ``new``."""
        _dense_loops.place_tiles(
            self._store, point, self._n_points, self._tiles, self._largest[point],
            self._columns.n_train, train, new,
        )  # fmt: skip

    def shift(self, point: int) -> NDArray[np.float64] | None:
        """What turns the sum into the form of the table, if that is another one."""
        which = np.flatnonzero(self._columns.shifted & (self._weights[point] > 0))
        if len(which) == 0:
            return None
        weights = self._largest[point] * self._weights[point, which] * self._scale[which]
        return weights @ shift_to_zero(self._columns.take(which))


def n_pairs(tiles: NDArray[np.int64]) -> int:
    """Pairs of rows in all tiles."""
    if len(tiles) == 0:
        return 0
    row, last, column, end, before = tiles[-1].tolist()
    return before + (last - row) * (end - column)


def _multiply(
    weights: NDArray[np.floating],
    tile: NDArray[np.floating],
    out: NDArray[np.floating],
    keep: float = 1.0,
) -> None:
    """``out = keep * out + weights @ tile`` in place.

    All are C-contiguous, which BLAS sees as transposed.
    """
    single = out.dtype == np.float32
    if len(weights) <= FEW_POINTS:
        gemv = sgemv if single else dgemv
        for row, target in zip(weights, out):
            gemv(1.0, tile.T, row, keep, target, overwrite_y=1)
    else:
        gemm = sgemm if single else dgemm
        gemm(1.0, tile.T, weights.T, keep, out.T, overwrite_c=1)


def shift_to_zero(columns: DenseColumns) -> NDArray[np.float64]:
    """``f`` that makes ``-d(x, z) + f(x) + f(z)`` vanish at 0, (n_columns, n_rows)."""
    kernels = columns.kernels
    n_rows = columns.values.shape[1]
    values = np.concatenate([columns.values, kernels.zero[:, None]], axis=1)
    d = kernels.distances(values, (n_rows, n_rows + 1), (0, n_rows + 1))[:, 0]
    return d[:, :-1] - 0.5 * d[:, -1:]


# -- low rank: from columns to points with few multiplications -------------------------------------


@dataclass(frozen=True)
class Step:
    """A block of columns: ``plain`` weights of some points, and the ``basis`` of the others."""

    start: int
    stop: int
    plain: tuple[tuple[slice, NDArray[np.floating]], ...]
    basis: NDArray[np.floating] | None = None

    @property
    def n_sums(self) -> int:
        """Number of sums that the basis gives."""
        return 0 if self.basis is None else len(self.basis)


@dataclass(frozen=True)
class Group:
    """Blocks whose sums are mixed together into ``points``."""

    steps: tuple[Step, ...]
    points: slice
    mix: NDArray[np.floating]


def low_rank_plan(
    weights: NDArray[np.float64], first: NDArray[np.intp], last: NDArray[np.intp], dtype: DTypeLike
) -> list[Group]:
    """Groups of blocks that make ``weights``, (n_points, n_columns), in the precision of ``dtype``.

    Column ``j`` has no weight before point ``first[j]`` and from ``last[j]`` on.

    Examples
    --------
    >>> weights = np.linspace(1.0, 2.0, 40)[:, None] * np.ones(20)
    >>> (group,) = low_rank_plan(weights, np.zeros(20, dtype=int), np.full(20, 40), np.float64)
    >>> group.mix.shape, group.steps[0].basis.shape
    ((40, 1), (1, 20))
    """
    groups, steps, mixes = [], [], []
    for start in range(0, weights.shape[1], FEATURES):
        stop = min(start + FEATURES, weights.shape[1])
        step, mix = _step(weights, first, last, (start, stop), dtype)
        steps.append(step)
        mixes.append(mix)
        if sum(one.n_sums for one in steps) >= MOST_SUMS:
            groups.append(_group(steps, mixes, dtype))
            steps, mixes = [], []
    if steps:
        groups.append(_group(steps, mixes, dtype))
    return groups


def _step(
    weights: NDArray[np.float64],
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    columns: tuple[int, int],
    dtype: DTypeLike,
) -> tuple[Step, tuple[slice, NDArray[np.float64]] | None]:
    """A block, and what its sums add to which points."""
    some = slice(*columns)
    enter, leave = first[some], last[some]
    whole = slice(int(enter.min()), int(leave.max()))
    shared = slice(int(enter.max()), int(leave.min()))

    def plain(*parts: slice) -> tuple[tuple[slice, NDArray[np.floating]], ...]:
        return tuple(
            (part, np.ascontiguousarray(weights[part, some], dtype=dtype))
            for part in parts
            if part.stop > part.start
        )

    width, n_shared = len(enter), shared.stop - shared.start
    if n_shared >= FEWEST_POINTS:
        left, values, right = svd(weights[shared, some], full_matrices=False)
        rank = int(np.sum(values > np.finfo(np.dtype(dtype)).eps * values[0]))
        if rank * (width + n_shared) <= WORTH * width * n_shared:
            around = plain(slice(whole.start, shared.start), slice(shared.stop, whole.stop))
            basis = np.ascontiguousarray(right[:rank], dtype=dtype)
            return Step(*columns, around, basis), (shared, left[:, :rank] * values[:rank])
    return Step(*columns, plain(whole)), None


def _group(
    steps: list[Step], mixes: list[tuple[slice, NDArray[np.float64]] | None], dtype: DTypeLike
) -> Group:
    given = [mix for mix in mixes if mix is not None]
    start = min((points.start for points, _ in given), default=0)
    stop = max((points.stop for points, _ in given), default=0)
    mix = np.zeros((stop - start, sum(part.shape[1] for _, part in given)), dtype=dtype)
    before = 0
    for points, part in given:
        mix[points.start - start : points.stop - start, before : before + part.shape[1]] = part
        before += part.shape[1]
    return Group(tuple(steps), slice(start, stop), mix)

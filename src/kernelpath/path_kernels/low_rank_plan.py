"""How to turn the base kernels of many columns into those of many points with few multiplications.

A block of columns goes to all points by one matrix product.  Along a path the weights of features
that stay change slowly, so over the points at which *all* columns of a block have a weight the
weights of the block have a low rank: the block is reduced to a few sums first, and the points are
mixed from these.  Where features enter or leave the rank is full, and the weights are used as they
are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import svd

FEATURES = 64  # columns of a block
MOST_SUMS = 96  # held before they are mixed
WORTH = 0.7  # share of the multiplications of the plain product that must remain at most
FEWEST_POINTS = 8


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

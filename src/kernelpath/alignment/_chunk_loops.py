"""Compiled loops of null moments of rows that come in chunks: to bins, and from bins to sums."""

from __future__ import annotations

import numpy as np

from kernelpath.alignment import _grid_loops as grids
from kernelpath.alignment._null_loops import MOST_LEVELS, few_levels, level_of
from kernelpath.utils.compiled import compiled

POINTS, FEW_POINTS = grids.POINTS, grids.FEW_POINTS
_add, _add_few = grids._add_weighted, grids._add_few_weighted
_bins, _spread, _all_widths = grids._bins, grids._spread, grids._all_widths
_room, _room_of_levels = grids._room, grids._room_of_levels


@compiled()
def bins_of(low, high, step, n_rows, finer, out):
    """Place of every column's bins: number of them, and whether they are halved."""
    for f in range(low.shape[0]):
        if step[f] > 0.0:
            _, _, _, n_bins, halved = _bins(low[f], high[f], step[f], n_rows, finer)
            out[f, 0], out[f, 1] = n_bins, FEW_POINTS if halved else POINTS


@compiled(part=True)
def _add_level(value, weights, levels, counts, size):
    """Add weights to a level, old or new; returns how many there are now, or one too many."""
    if size > MOST_LEVELS:
        return size
    place = level_of(value, levels, size, 0)
    if place < 0:
        if size == MOST_LEVELS:
            return MOST_LEVELS + 1
        place = size
        levels[place] = value
        counts[:, place] = 0.0
        size += 1
    for k in range(weights.shape[0]):
        counts[k, place] += weights[k]
    return size


@compiled()
def add_rows(
    values, columns, low, high, step, n_rows, finer, bins, ptr, store, levels, counts, n_levels
):
    """Add rows of the feature-major ``values`` with their weights ``columns`` (n_columns, rows).

    The moments of feature ``f`` are ``store[ptr[f]:ptr[f + 1]]``, of shape (n_columns, bins,
    points); ``n_rows`` is the number of rows of all chunks.
    """
    n_columns = columns.shape[0]
    for f in range(values.shape[0]):
        if not step[f] > 0.0:
            continue
        x = values[f]
        anchor, inverse, first, n_bins, halved = _bins(low[f], high[f], step[f], n_rows, finer)
        moments = store[ptr[f] : ptr[f + 1]].reshape(n_columns, n_bins, bins[f, 1])
        if halved:
            _add_few(x, columns, 0, anchor, inverse, first, moments)
        else:
            _add(x, columns, 0, anchor, inverse, first, moments)
        for i in range(x.shape[0]):
            n_levels[f] = _add_level(x[i], columns[:, i], levels[f], counts[f], n_levels[f])


@compiled()
def merge_levels(levels, counts, n_levels, other_levels, other_counts, other_n):
    """Add the values that other rows have, where both are few."""
    for f in range(levels.shape[0]):
        if other_n[f] > MOST_LEVELS:
            n_levels[f] = MOST_LEVELS + 1
        for i in range(min(other_n[f], MOST_LEVELS)):
            n_levels[f] = _add_level(
                other_levels[f, i], other_counts[f, :, i], levels[f], counts[f], n_levels[f]
            )


@compiled()
def sums_of_bins(
    low, high, gamma, step, n_rows, bins, ptr, store, levels, counts, n_levels, rates, octave,
    tables, reach, pad, finer, shares, few_shares, middle, sums, forms,
):  # fmt: skip
    """Sums and forms of all columns, as of the rows in one piece."""
    n_columns = counts.shape[1]
    _, _, weight, few, K = _room_of_levels(n_columns)
    missing = np.zeros(n_columns)
    longest = 1
    for f in range(low.shape[0]):
        longest = max(longest, bins[f, 0] + bins[f, 1] - 1)
    grid, other, rows, scratch, flipped = _room(n_columns, longest, pad)
    for f in range(low.shape[0]):
        if not step[f] > 0.0:
            continue
        if n_levels[f] <= MOST_LEVELS:
            few_levels(
                levels[f], counts[f], n_levels[f], missing, gamma[f], rates, counts[f, 0].sum(),
                few, weight, K, sums[f], forms[f],
            )  # fmt: skip
            continue
        _, _, first, n_bins, halved = _bins(low[f], high[f], step[f], n_rows, finer)
        points = bins[f, 1]
        size = n_bins + points - 1
        moments = store[ptr[f] : ptr[f + 1]].reshape(n_columns, n_bins, points)
        grid[:, : 2 * pad + size + 32] = 0.0
        for k in range(n_columns):
            _spread(moments[k], few_shares if halved else shares, flipped, grid[k, pad:])
        weight_of_all = moments[0, :, 0].sum()
        _all_widths(
            grid, other, first - points // 2 + 1, size, halved, pad, missing, weight_of_all, octave,
            tables, reach, rows, scratch, middle, sums[f], forms[f],
        )  # fmt: skip

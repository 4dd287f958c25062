"""Compiled loops of the null moments: a column becomes weights on a grid, once for all widths.

A value adds powers of its place in its bin to the moments of the bin; a fixed matrix turns these
into weights on the eight grid points around (interpolation by a polynomial of degree 7).  Where
rows are many, four points of a grid four times finer are as exact, and half the work for each row.
From then on the column *is* its grid: sums over rows of a smooth function, and over pairs of rows
of a smooth function of the difference, are sums over grid points.  Columns of few values are their
values.
"""

from __future__ import annotations

import math

import numpy as np

from kernelpath.alignment._null_loops import (
    FAST,
    MOST_LEVELS,
    few_levels,
    finish_with_missing,
    level_of,
)
from kernelpath.utils.compiled import compiled

POINTS, FEW_POINTS = 8, 4  # grid points that share a value
FINER = 2  # halvings of the step with few points, which make up for them
ROWS_PER_BIN = 4.0  # from which on this pays
ONE, TWO, BETWEEN, THREE, PAIR = range(5)
"""Tables of a Gaussian from 0 on: itself, its square and that half way between grid points, its
cube, and the factor of a pair of rows in the trace of the third power."""


def lagrange(points: int) -> np.ndarray:
    """Coefficients of the polynomials that are 1 at one of some points and 0 at the others."""
    nodes = np.arange(points) - (points - 1) / 2
    return np.linalg.inv(np.vander(nodes, increasing=True)).T.copy()


SHARES, FEW_SHARES = lagrange(POINTS), lagrange(FEW_POINTS)
MIDDLE = SHARES[: POINTS // 2, 0].copy()  # of a point half way between two, on one side


@compiled(part=True)
def _add_values(x, group, anchor, inverse, first, moments):
    """Add values to the moments (n_classes, n_bins, 8) of the bins from ``first`` on."""
    for i in range(x.shape[0]):
        place = (x[i] - anchor) * inverse - first
        b = int(place)
        t = place - b - 0.5
        row = moments[group[i], b]
        t2 = t * t
        t4 = t2 * t2
        row[0] += 1.0
        row[1] += t
        row[2] += t2
        row[3] += t2 * t
        row[4] += t4
        row[5] += t4 * t
        row[6] += t4 * t2
        row[7] += t4 * (t2 * t)


@compiled(part=True)
def _add_weighted(x, columns, start, anchor, inverse, first, moments):
    """Add values with weights: column ``k`` to ``moments[k]``."""
    power = np.empty(POINTS)
    for i in range(x.shape[0]):
        place = (x[i] - anchor) * inverse - first
        b = int(place)
        t = place - b - 0.5
        power[0] = 1.0
        for a in range(1, POINTS):
            power[a] = power[a - 1] * t
        for k in range(columns.shape[0]):
            w = columns[k, start + i]
            row = moments[k, b]
            for a in range(POINTS):
                row[a] += w * power[a]


@compiled(part=True)
def _add_few(x, group, anchor, inverse, first, moments):
    """The same with four powers, to moments (n_classes, n_bins, 4)."""
    for i in range(x.shape[0]):
        place = (x[i] - anchor) * inverse - first
        b = int(place)
        t = place - b - 0.5
        row = moments[group[i], b]
        t2 = t * t
        row[0] += 1.0
        row[1] += t
        row[2] += t2
        row[3] += t2 * t


@compiled(part=True)
def _add_few_weighted(x, columns, start, anchor, inverse, first, moments):
    """Values with weights, four powers."""
    for i in range(x.shape[0]):
        place = (x[i] - anchor) * inverse - first
        b = int(place)
        t = place - b - 0.5
        t2 = t * t
        t3 = t2 * t
        for k in range(columns.shape[0]):
            w = columns[k, start + i]
            row = moments[k, b]
            row[0] += w
            row[1] += w * t
            row[2] += w * t2
            row[3] += w * t3


@compiled(part=True, fastmath=FAST)
def _spread(moments, shares, flipped, grid):
    """Weights of the grid points from the moments of the bins; ``grid`` has a few points more."""
    n_bins, points = moments.shape
    for a in range(points):
        for b in range(n_bins):
            flipped[a, b] = moments[b, a]
    for j in range(points):
        out = grid[j : j + n_bins]
        for a in range(0, points, 4):
            s0, s1, s2, s3 = shares[j, a], shares[j, a + 1], shares[j, a + 2], shares[j, a + 3]
            m0, m1, m2, m3 = flipped[a], flipped[a + 1], flipped[a + 2], flipped[a + 3]
            for b in range(n_bins):
                out[b] += s0 * m0[b] + s1 * m1[b] + s2 * m2[b] + s3 * m3[b]


@compiled(part=True, fastmath=FAST)
def _coarsen(fine, first, size, middle, odd, coarse):
    """Add the weights to every second grid point; returns the first of these, and their number.

    ``first`` is the index of the first fine point, counted from one that stays.  ``coarse`` is zero
    before.
    """
    last = first + size - 1
    start = first // 2 - 3
    n = last // 2 + 4 - start + 1
    m0, m1, m2, m3 = middle[0], middle[1], middle[2], middle[3]
    for k in range(coarse.shape[0]):
        odd[: n + 16] = 0.0
        for h in range(n):
            g = 2 * (start + h) - first
            if 0 <= g < size:
                coarse[k, h] = fine[k, g]
            if -1 <= g < size - 1:
                odd[h + 8] = fine[k, g + 1]
        out = coarse[k]
        for h in range(n):  # a point between two goes to the four on either side
            out[h] += (
                m0 * (odd[h + 11] + odd[h + 4])
                + m1 * (odd[h + 10] + odd[h + 5])
                + m2 * (odd[h + 9] + odd[h + 6])
                + m3 * (odd[h + 8] + odd[h + 7])
            )
    return start, n


@compiled(part=True, fastmath=FAST)
def _dot(x, y):
    total = 0.0
    for g in range(x.shape[0]):
        total += x[g] * y[g]
    return total


@compiled(part=True, fastmath=FAST)
def _triple(x, y, z):
    total = 0.0
    for g in range(x.shape[0]):
        total += x[g] * y[g] * z[g]
    return total


@compiled(part=True, fastmath=FAST)
def _smooth(x, size, pad, table, reach, between, out):
    """``out[g] = sum_h kernel(g - h) x[h]``; ``x`` has ``pad`` zeros on both sides.

    ``between`` is 1 for the points half way to the next, else 0.
    """
    out[:size] = 0.0
    j = 0
    if between == 0:
        j = 1
        for g in range(size):
            out[g] = table[0] * x[pad + g]
    while j + 4 <= reach:
        a, b, c, d = table[j], table[j + 1], table[j + 2], table[j + 3]
        up = x[pad + between + j : pad + between + j + size + 3]
        down = x[pad - j - 3 : pad - j + size]
        for g in range(size):
            out[g] += (
                a * (up[g] + down[g + 3])
                + b * (up[g + 1] + down[g + 2])
                + c * (up[g + 2] + down[g + 1])
                + d * (up[g + 3] + down[g])
            )
        j += 4
    while j < reach:
        up = x[pad + between + j : pad + between + j + size]
        down = x[pad - j : pad - j + size]
        for g in range(size):
            out[g] += table[j] * (up[g] + down[g])
        j += 1


@compiled(part=True)
def _form(x, table, reach):
    """``sum_gh x[g] kernel(g - h) x[h]``."""
    total = table[0] * _dot(x, x)
    for j in range(1, min(reach, x.shape[0])):
        total += 2.0 * table[j] * _dot(x[: x.shape[0] - j], x[j:])
    return total


@compiled(part=True)
def _third_trace(x, table, reach, at, between):
    """``tr K^3``: for pairs of grid points, the square of the kernel at the point between them."""
    size = x.shape[0]
    total = table[0] * _triple(x, x, at[:size])
    for j in range(1, min(reach, size)):
        half = j // 2
        middle = at if j % 2 == 0 else between
        total += 2.0 * table[j] * _triple(x[: size - j], x[j:], middle[half : half + size - j])
    return total


@compiled(part=True)
def _gaussian_grid(grid, size, pad, missing, n, tables, reach, rows, scratch, sums, forms):
    """Sums and forms of one width; ``grid`` has the weights and the target columns, padded."""
    total = grid[0]
    inner = total[pad : pad + size]
    row_sum, square, twice, between = rows[0], rows[1], rows[2], rows[3]
    _smooth(total, size, pad, tables[ONE], reach[ONE], 0, row_sum)
    _smooth(total, size, pad, tables[TWO], reach[TWO], 0, square)
    _smooth(total, size, pad, tables[BETWEEN], reach[BETWEEN], 1, between)
    third = _third_trace(inner, tables[PAIR], reach[PAIR], square, between)
    cubes = _form(inner, tables[THREE], reach[THREE])
    for g in range(size):
        scratch[pad + g] = inner[g] * row_sum[g]
    _smooth(scratch, size, pad, tables[ONE], reach[ONE], 0, twice)
    for g in range(size):
        scratch[pad + g] = 0.0
    for k in range(1, grid.shape[0]):
        form = _form(grid[k, pad : pad + size], tables[ONE], reach[ONE])
        forms[k - 1] = form + missing[k] * missing[k]
    finish_with_missing(total, pad, size, rows, missing[0], cubes, third, n, sums)


@compiled(part=True)
def _all_widths(
    grid, other, first, size, finer, pad, missing, n, octave, tables, reach, rows, scratch, middle,
    sums, forms,
):  # fmt: skip
    """Width by width, from the narrowest: the grid is made coarser where the next allows it."""
    level = -finer
    for w in range(octave.shape[0]):
        while level < octave[w]:
            other[:, : 2 * pad + size + 32] = 0.0
            first, size = _coarsen(grid[:, pad:], first, size, middle, rows[0], other[:, pad:])
            grid, other = other, grid
            level += 1
        _gaussian_grid(
            grid, size, pad, missing, n, tables[w], reach[w], rows, scratch, sums[w], forms[w]
        )


@compiled(part=True)
def _levels_by_class(x, group, levels, counts):
    """Find the different values and how often each class has them.

    Returns their number, ``MOST_LEVELS + 1`` if they are more.
    """
    size = 0
    last = 0
    for i in range(x.shape[0]):
        last = level_of(x[i], levels, size, last)
        if last < 0:
            if size == MOST_LEVELS:
                return MOST_LEVELS + 1
            levels[size] = x[i]
            counts[:, size] = 0.0
            last = size
            size += 1
        counts[group[i], last] += 1.0
    return size


@compiled(part=True)
def _levels_by_column(x, columns, start, levels, counts):
    """The same for points with weights: sums of each column."""
    size = 0
    last = 0
    for i in range(x.shape[0]):
        last = level_of(x[i], levels, size, last)
        if last < 0:
            if size == MOST_LEVELS:
                return MOST_LEVELS + 1
            levels[size] = x[i]
            counts[:, size] = 0.0
            last = size
            size += 1
        for k in range(columns.shape[0]):
            counts[k, last] += columns[k, start + i]
    return size


@compiled(part=True)
def _mix(combine, counts, size, mixed):
    """What the classes have, as weights and target columns."""
    for k in range(combine.shape[0]):
        mixed[k, :size] = 0.0
        for g in range(counts.shape[0]):
            for i in range(size):
                mixed[k, i] += combine[k, g] * counts[g, i]


@compiled(part=True)
def _bins(low, high, step, n_values, finer):
    """Where the bins of a column are: a point between two, the inverse width, first, number.

    And how often they are halved, where the values are many enough: up to ``finer``.
    """
    anchor = 0.0 if low <= 0.0 <= high else low
    if (high - low) / step * 2.0**finer * ROWS_PER_BIN > n_values:
        finer = 0
    inverse = 2.0**finer / step
    first = math.floor((low - anchor) * inverse)
    n_bins = math.floor((high - anchor) * inverse) - first + 2  # one for rounding
    return anchor, inverse, first, n_bins, finer


@compiled(part=True)
def _room(n_columns, size, pad):
    """Two grids, rows of sums and one more, with zeros on both sides; and moments by power."""
    length = 2 * pad + size + 32
    shape = (n_columns, length)
    rows, flipped = np.empty((4, length)), np.empty((POINTS, length))
    return np.zeros(shape), np.zeros(shape), rows, np.zeros(length), flipped


@compiled(part=True)
def _room_of_levels(n_columns):
    """Values, weights of each, and what their sums take."""
    wide = MOST_LEVELS + 1
    return (
        np.empty(MOST_LEVELS), np.empty((n_columns, MOST_LEVELS)), np.zeros(wide),
        np.empty((3, wide)), np.empty((MOST_LEVELS, MOST_LEVELS)),
    )  # fmt: skip


@compiled()
def sums_by_class(
    values, features, group, combine, low, high, gamma, step, rates, octave, tables, reach, pad,
    finer, shares, few_shares, middle, n_levels, sums, forms,
):  # fmt: skip
    """Sums (n_features, n_widths, 8) and forms (n_features, n_widths, n_columns) of RBF kernels.

    Feature ``f`` is row ``features[f]`` of the feature-major ``values``; ``combine`` turns sums of
    the classes, ``group`` of each row, into those of the weights and the target columns.  ``step``
    is the spacing of the finest grid, 0 for columns that are left out; width ``w`` is
    ``gamma * rates[w]``, on a grid coarser by ``2**octave[w]``.  Values may go to bins ``2**finer``
    times finer, to fewer points.  ``n_levels`` becomes the number of different values, where they
    are few.
    """
    n = group.shape[0]
    n_columns, n_classes = combine.shape
    levels, mixed, weight, few, K = _room_of_levels(n_columns)
    counts = np.empty((n_classes, MOST_LEVELS))
    missing = np.zeros(n_columns)
    moments = np.empty((n_classes, 1, POINTS))
    plain = np.empty((n_classes, 1))
    grid, other, rows, scratch, flipped = _room(n_columns, 1, 0)
    for f in range(features.shape[0]):
        if not step[f] > 0.0:
            continue
        x = values[features[f]]
        size = _levels_by_class(x, group, levels, counts)
        n_levels[f] = size
        if size <= MOST_LEVELS:
            _mix(combine, counts, size, mixed)
            few_levels(
                levels, mixed, size, missing, gamma[f], rates, float(n), few, weight, K, sums[f],
                forms[f],
            )  # fmt: skip
            continue
        anchor, inverse, first, n_bins, halved = _bins(low[f], high[f], step[f], n, finer)
        points = FEW_POINTS if halved else POINTS
        size = n_bins + points - 1
        if moments.shape[1] < n_bins or moments.shape[2] != points:
            moments = np.empty((n_classes, n_bins, points))
            plain = np.empty((n_classes, size))
            grid, other, rows, scratch, flipped = _room(n_columns, size, pad)
        moments[:, :n_bins] = 0.0
        plain[:, :size] = 0.0
        if halved:
            _add_few(x, group, anchor, inverse, first, moments)
        else:
            _add_values(x, group, anchor, inverse, first, moments)
        for g in range(n_classes):
            _spread(moments[g, :n_bins], few_shares if halved else shares, flipped, plain[g])
        grid[:, : 2 * pad + size + 32] = 0.0
        _mix(combine, plain, size, grid[:, pad:])
        _all_widths(
            grid, other, first - points // 2 + 1, size, halved, pad, missing, float(n), octave,
            tables, reach, rows, scratch, middle, sums[f], forms[f],
        )  # fmt: skip


@compiled()
def sums_by_column(
    values, ptr, columns, shared, which, absent, low, high, gamma, step, rates, octave, tables,
    reach, pad, finer, shares, few_shares, middle, n_levels, sums, forms,
):  # fmt: skip
    """The same of ragged points with weight columns (n_columns, n_points), those of ``which``.

    ``absent`` (n_features, n_columns) has the weights of missing rows.
    """
    n_columns = columns.shape[0]
    levels, counts, weight, few, K = _room_of_levels(n_columns)
    moments = np.empty((n_columns, 1, POINTS))
    grid, other, rows, scratch, flipped = _room(n_columns, 1, 0)
    for f in which:
        if not step[f] > 0.0:
            continue
        x = values[ptr[f] : ptr[f + 1]]
        start = 0 if shared else ptr[f]
        n = absent[f, 0]
        for i in range(x.shape[0]):
            n += columns[0, start + i]
        size = _levels_by_column(x, columns, start, levels, counts)
        n_levels[f] = size
        if size <= MOST_LEVELS:
            few_levels(
                levels, counts, size, absent[f], gamma[f], rates, n, few, weight, K, sums[f],
                forms[f],
            )  # fmt: skip
            continue
        anchor, inverse, first, n_bins, halved = _bins(low[f], high[f], step[f], x.shape[0], finer)
        points = FEW_POINTS if halved else POINTS
        size = n_bins + points - 1
        if moments.shape[1] < n_bins or moments.shape[2] != points:
            moments = np.empty((n_columns, n_bins, points))
            grid, other, rows, scratch, flipped = _room(n_columns, size, pad)
        moments[:, :n_bins] = 0.0
        if halved:
            _add_few_weighted(x, columns, start, anchor, inverse, first, moments)
        else:
            _add_weighted(x, columns, start, anchor, inverse, first, moments)
        grid[:, : 2 * pad + size + 32] = 0.0
        for k in range(n_columns):
            _spread(moments[k, :n_bins], few_shares if halved else shares, flipped, grid[k, pad:])
        _all_widths(
            grid, other, first - points // 2 + 1, size, halved, pad, absent[f], n, octave, tables,
            reach, rows, scratch, middle, sums[f], forms[f],
        )  # fmt: skip

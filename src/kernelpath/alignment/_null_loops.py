"""Compiled loops of the null moments: a column becomes weights on a grid, once for all widths.

A value adds powers of its place in its bin to the moments of the bin; a fixed matrix turns these
into weights on the eight grid points around (interpolation by a polynomial of degree 7).  From then
on the column *is* its grid: sums over rows of a smooth function, and over pairs of rows of a smooth
function of the difference, are sums over grid points.  Columns of few values are their values.
"""

from __future__ import annotations

import math

import numpy as np

from kernelpath.utils.compiled import compiled

FAST = {"reassoc", "contract", "nsz"}
POINTS = 8  # grid points that share a value
MOST_LEVELS = 24  # different values of a column that is its values
ONE, TWO, BETWEEN, THREE, PAIR = range(5)
"""Tables of a Gaussian: itself, its square and that half way between grid points, on both sides of
0; its cube, and the factor of a pair of rows in the trace of the third power, from 0 on."""


def lagrange() -> np.ndarray:
    """Coefficients of the polynomials that are 1 at one of eight points and 0 at the others."""
    nodes = np.arange(POINTS) - (POINTS - 1) / 2
    return np.linalg.inv(np.vander(nodes, increasing=True)).T.copy()


SHARES = lagrange()
MIDDLE = SHARES[:, 0].copy()  # of a point half way between two


@compiled(part=True)
def _add_values(x, anchor, inverse, first, moments):
    """Add values to the moments (n_bins, 8) of the bins from ``first`` on."""
    for i in range(x.shape[0]):
        place = (x[i] - anchor) * inverse
        b = math.floor(place)
        t = place - b - 0.5
        row = moments[int(b) - first]
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
        place = (x[i] - anchor) * inverse
        b = math.floor(place)
        t = place - b - 0.5
        power[0] = 1.0
        for a in range(1, POINTS):
            power[a] = power[a - 1] * t
        bin_ = int(b) - first
        for k in range(columns.shape[0]):
            w = columns[k, start + i]
            row = moments[k, bin_]
            for a in range(POINTS):
                row[a] += w * power[a]


@compiled(part=True, fastmath=FAST)
def _spread(moments, shares, grid):
    """Weights of the grid points from the moments of the bins; ``grid`` has 7 more."""
    for b in range(moments.shape[0]):
        for j in range(POINTS):
            total = 0.0
            for a in range(POINTS):
                total += shares[j, a] * moments[b, a]
            grid[b + j] += total


@compiled(part=True)
def _coarsen(fine, first, size, middle, coarse):
    """Add the weights to every second grid point; returns the first of these, and their number.

    ``first`` is the index of the first fine point, counted from one that stays.
    """
    last = first + size - 1
    start = first // 2 - 3
    n = last // 2 + 4 - start + 1
    for k in range(coarse.shape[0]):
        for g in range(size):
            i = first + g
            half = i // 2 - start
            if i % 2 == 0:
                coarse[k, half] += fine[k, g]
            else:
                for j in range(POINTS):
                    coarse[k, half - 3 + j] += middle[j] * fine[k, g]
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


@compiled(part=True)
def _smooth(x, size, pad, table, reach, out):
    """``out[g] = sum_h kernel(g - h) x[h]``; ``x`` has ``pad`` zeros on both sides.

    ``table`` has the kernel from ``1 - reach`` on: to ``reach - 1``, or half a step further, for
    points half way to the next.
    """
    first = pad - reach + 1
    for g in range(size):
        out[g] = _dot(table, x[first + g : first + g + table.shape[0]])


@compiled(part=True)
def _form(x, table, reach):
    """``sum_gh x[g] kernel(g - h) x[h]``; ``table`` has the kernel from 0 on."""
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


@compiled(part=True, fastmath=FAST)
def finish(weight, pad, size, own, mean, square, twice, cubes, third, n, out):
    """The eight sums of ``H K H`` from those of ``K``.

    ``weight`` of the points (from ``pad`` on), ``own`` the kernel of a point with itself, ``mean``
    of its row, ``square`` the sum of its squared row, ``twice`` the kernel times the row means;
    ``cubes`` is the sum of all cubed entries, ``third`` the trace of the third power.
    """
    weight = weight[pad : pad + size]
    grand = 0.0
    for g in range(size):
        grand += weight[g] * mean[g]
    grand /= n
    a1 = 0.0
    a2 = 0.0
    for g in range(size):
        a = mean[g] - 0.5 * grand
        a1 += weight[g] * a
        a2 += weight[g] * a * a
    T = T2 = S2 = S3 = R = mean2 = a3 = aq = aar = aka = ad = dkd = rkr = total = 0.0
    for g in range(size):
        w = weight[g]
        r = mean[g]
        a = r - 0.5 * grand
        ka = twice[g] - 0.5 * grand * n * r
        d = own - 2.0 * a
        length = square[g] - 2.0 * n * a * r - 2.0 * ka + n * a * a + 2.0 * a * a1 + a2
        T += w * d
        T2 += w * square[g]
        mean2 += w * r * r
        S2 += w * d * d
        S3 += w * d * d * d
        R += w * d * length
        a3 += w * a * a * a
        aq += w * a * square[g]
        aar += w * a * a * r
        aka += w * a * ka
        ad += w * a * d
        total += w * d
        dkd += w * d * (own * n * r - 2.0 * ka)
        rkr += w * r * twice[g]
    out[0] = T
    out[1] = T2 - 2.0 * n * mean2 + n * n * grand * grand
    out[2] = third - 3.0 * n * rkr + 3.0 * n * n * grand * mean2 - n * n * n * grand * grand * grand
    out[3] = S2
    out[4] = S3
    out[5] = cubes - 6.0 * aq + 6.0 * n * aar + 6.0 * aka - 2.0 * n * a3 - 6.0 * a2 * a1
    out[6] = R
    out[7] = dkd - 2.0 * ad * total


@compiled(part=True)
def _finish_with_missing(grid, pad, size, rows, missing, cubes, third, n, out):
    """Append the missing rows as a point of their own, alike among themselves only."""
    grid[pad + size] = missing
    mean, square, twice = rows[0], rows[1], rows[2]
    for g in range(size):
        mean[g] /= n
    mean[size] = missing / n
    square[size] = missing
    # ``twice`` was summed with row sums.
    for g in range(size):
        twice[g] /= n
    twice[size] = missing * mean[size]
    more = 1 if missing > 0.0 else 0
    finish(
        grid, pad, size + more, 1.0, mean, square, twice, cubes + missing * missing,
        third + missing * missing * missing, n, out,
    )  # fmt: skip
    grid[pad + size] = 0.0


@compiled(part=True)
def _gaussian_grid(grid, size, pad, missing, n, tables, reach, rows, scratch, sums, forms):
    """Sums and forms of one width; ``grid`` has the weights and the target columns, padded."""
    total = grid[0]
    inner = total[pad : pad + size]
    row_sum, square, twice, between = rows[0], rows[1], rows[2], rows[3]
    one = tables[ONE, : 2 * reach[ONE] - 1]
    _smooth(total, size, pad, one, reach[ONE], row_sum)
    _smooth(total, size, pad, tables[TWO, : 2 * reach[TWO] - 1], reach[TWO], square)
    _smooth(total, size, pad, tables[BETWEEN, : 2 * reach[BETWEEN]], reach[BETWEEN], between)
    third = _third_trace(inner, tables[PAIR], reach[PAIR], square, between)
    cubes = _form(inner, tables[THREE], reach[THREE])
    for g in range(size):
        scratch[pad + g] = inner[g] * row_sum[g]
    _smooth(scratch, size, pad, one, reach[ONE], twice)
    for g in range(size):
        scratch[pad + g] = 0.0
    half = tables[ONE, reach[ONE] - 1 :]
    for k in range(1, grid.shape[0]):
        forms[k - 1] = _form(grid[k, pad : pad + size], half, reach[ONE]) + missing[k] * missing[k]
    _finish_with_missing(total, pad, size, rows, missing[0], cubes, third, n, sums)


@compiled(part=True)
def _few_levels(values, counts, size, missing, gamma, rates, n, rows, weight, K, sums, forms):
    """The same for a column of few values; ``counts`` has the weights and the target columns."""
    row_sum, square, twice = rows[0], rows[1], rows[2]
    for i in range(size):
        weight[i] = counts[0, i]
    for w in range(rates.shape[0]):
        for i in range(size):
            K[i, i] = 1.0
            for j in range(i):
                gap = values[i] - values[j]
                K[i, j] = math.exp(-rates[w] * gamma * gap * gap)
                K[j, i] = K[i, j]
        cubes = 0.0
        for i in range(size):
            row_sum[i] = 0.0
            square[i] = 0.0
            for j in range(size):
                row_sum[i] += weight[j] * K[i, j]
                square[i] += weight[j] * K[i, j] * K[i, j]
                cubes += weight[i] * weight[j] * K[i, j] * K[i, j] * K[i, j]
        third = 0.0
        for i in range(size):
            twice[i] = 0.0
            for j in range(size):
                twice[i] += weight[j] * row_sum[j] * K[i, j]
            for j in range(i + 1):
                inner = 0.0
                for k in range(size):
                    inner += K[i, k] * weight[k] * K[k, j]
                third += (1.0 if i == j else 2.0) * weight[i] * weight[j] * K[i, j] * inner
        for k in range(1, counts.shape[0]):
            form = missing[k] * missing[k]
            for i in range(size):
                for j in range(size):
                    form += counts[k, i] * counts[k, j] * K[i, j]
            forms[w, k - 1] = form
        _finish_with_missing(weight, 0, size, rows, missing[0], cubes, third, n, sums[w])


@compiled(part=True)
def _level_of(value, levels, size, last):
    """Where a value stands among the levels; -1 if it is new.  ``last`` is a guess."""
    if size > 0 and levels[last] == value:
        return last
    for i in range(size):
        if levels[i] == value:
            return i
    return -1


@compiled(part=True)
def _all_widths(
    grid, other, first, size, pad, missing, n, octave, tables, reach, rows, scratch, middle, sums,
    forms,
):  # fmt: skip
    """Width by width, from the narrowest: the grid is made coarser where the next allows it."""
    level = 0
    for w in range(octave.shape[0]):
        while level < octave[w]:
            other[:] = 0.0
            first, size = _coarsen(grid[:, pad:], first, size, middle, other[:, pad:])
            grid, other = other, grid
            level += 1
        _gaussian_grid(
            grid, size, pad, missing, n, tables[w], reach[w], rows, scratch, sums[w], forms[w]
        )


@compiled()
def sums_by_class(
    values, features, order, starts, combine, low, high, gamma, step, rates, octave, tables, reach,
    pad, shares, middle, n_levels, sums, forms,
):  # fmt: skip
    """Sums (n_features, n_widths, 8) and forms (n_features, n_widths, n_columns) of RBF kernels.

    Row ``features[f]`` of the feature-major ``values`` has class ``g`` at
    ``order[starts[g]:starts[g + 1]]``; ``combine`` turns sums of the classes into those of the
    weights and the target columns.  ``step`` is the spacing of the finest grid, 0 for columns that
    are left out; width ``w`` is ``gamma * rates[w]``, on a grid coarser by ``2**octave[w]``.
    ``n_levels`` becomes the number of different values, where they are few.
    """
    n = order.shape[0]
    n_classes = starts.shape[0] - 1
    x = np.empty(n)
    levels = np.empty(MOST_LEVELS)
    counts = np.empty((n_classes, MOST_LEVELS))
    mixed = np.empty((combine.shape[0], MOST_LEVELS))
    weight = np.zeros(MOST_LEVELS + 1)
    few = np.empty((3, MOST_LEVELS + 1))
    K = np.empty((MOST_LEVELS, MOST_LEVELS))
    missing = np.zeros(combine.shape[0])
    moments = np.empty((n_classes, 1, POINTS))
    plain = np.empty((n_classes, 1))
    grid = np.empty((combine.shape[0], 1))
    other = np.empty((combine.shape[0], 1))
    rows = np.empty((4, 1))
    scratch = np.empty(1)
    for f in range(features.shape[0]):
        if not step[f] > 0.0:
            continue
        source = values[features[f]]
        for i in range(n):
            x[i] = source[order[i]]
        size = 0
        for g in range(n_classes):
            last = 0
            for i in range(starts[g], starts[g + 1]):
                last = _level_of(x[i], levels, size, last)
                if last < 0:
                    if size == MOST_LEVELS:
                        size = MOST_LEVELS + 1
                        break
                    levels[size] = x[i]
                    for c in range(n_classes):
                        counts[c, size] = 0.0
                    last = size
                    size += 1
                counts[g, last] += 1.0
            if size > MOST_LEVELS:
                break
        n_levels[f] = size
        if size <= MOST_LEVELS:
            for k in range(combine.shape[0]):
                for i in range(size):
                    total = 0.0
                    for g in range(n_classes):
                        total += combine[k, g] * counts[g, i]
                    mixed[k, i] = total
            _few_levels(
                levels, mixed, size, missing, gamma[f], rates, float(n), few, weight, K, sums[f],
                forms[f],
            )  # fmt: skip
            continue
        inverse = 1.0 / step[f]
        anchor = 0.0 if low[f] <= 0.0 <= high[f] else low[f]
        first = math.floor((low[f] - anchor) * inverse)
        n_bins = math.floor((high[f] - anchor) * inverse) - first + 1
        size = n_bins + POINTS - 1
        if moments.shape[1] < n_bins:
            moments = np.empty((n_classes, n_bins, POINTS))
            plain = np.empty((n_classes, size))
            length = 2 * pad + size + 32
            grid = np.zeros((combine.shape[0], length))
            other = np.zeros((combine.shape[0], length))
            rows = np.empty((4, length))
            scratch = np.zeros(length)
        for g in range(n_classes):
            moments[g, :n_bins] = 0.0
            plain[g, :size] = 0.0
            _add_values(x[starts[g] : starts[g + 1]], anchor, inverse, first, moments[g])
            _spread(moments[g, :n_bins], shares, plain[g])
        for k in range(combine.shape[0]):
            grid[k, :] = 0.0
            for g in range(n_classes):
                for i in range(size):
                    grid[k, pad + i] += combine[k, g] * plain[g, i]
        _all_widths(
            grid, other, first - POINTS // 2 + 1, size, pad, missing, float(n), octave, tables,
            reach, rows, scratch, middle, sums[f], forms[f],
        )  # fmt: skip


@compiled()
def sums_by_column(
    values, ptr, columns, shared, which, absent, low, high, gamma, step, rates, octave, tables,
    reach, pad, shares, middle, n_levels, sums, forms,
):  # fmt: skip
    """The same of ragged points with weight columns (n_columns, n_points), those of ``which``.

    ``absent`` (n_features, n_columns) has the weights of missing rows.
    """
    n_columns = columns.shape[0]
    levels = np.empty(MOST_LEVELS)
    mixed = np.empty((n_columns, MOST_LEVELS))
    weight = np.zeros(MOST_LEVELS + 1)
    few = np.empty((3, MOST_LEVELS + 1))
    K = np.empty((MOST_LEVELS, MOST_LEVELS))
    moments = np.empty((n_columns, 1, POINTS))
    grid = np.empty((n_columns, 1))
    other = np.empty((n_columns, 1))
    rows = np.empty((4, 1))
    scratch = np.empty(1)
    for f in which:
        if not step[f] > 0.0:
            continue
        x = values[ptr[f] : ptr[f + 1]]
        start = 0 if shared else ptr[f]
        n = absent[f, 0]
        for i in range(x.shape[0]):
            n += columns[0, start + i]
        size = 0
        last = 0
        for i in range(x.shape[0]):
            last = _level_of(x[i], levels, size, last)
            if last < 0:
                if size == MOST_LEVELS:
                    size = MOST_LEVELS + 1
                    break
                levels[size] = x[i]
                for k in range(n_columns):
                    mixed[k, size] = 0.0
                last = size
                size += 1
            for k in range(n_columns):
                mixed[k, last] += columns[k, start + i]
        n_levels[f] = size
        if size <= MOST_LEVELS:
            _few_levels(
                levels, mixed, size, absent[f], gamma[f], rates, n, few, weight, K, sums[f],
                forms[f],
            )  # fmt: skip
            continue
        inverse = 1.0 / step[f]
        anchor = 0.0 if low[f] <= 0.0 <= high[f] else low[f]
        first = math.floor((low[f] - anchor) * inverse)
        n_bins = math.floor((high[f] - anchor) * inverse) - first + 1
        size = n_bins + POINTS - 1
        if moments.shape[1] < n_bins:
            moments = np.empty((n_columns, n_bins, POINTS))
            length = 2 * pad + size + 32
            grid = np.zeros((n_columns, length))
            other = np.zeros((n_columns, length))
            rows = np.empty((4, length))
            scratch = np.zeros(length)
        moments[:, :n_bins] = 0.0
        _add_weighted(x, columns, start, anchor, inverse, first, moments)
        for k in range(n_columns):
            grid[k, :] = 0.0
            _spread(moments[k, :n_bins], shares, grid[k, pad:])
        _all_widths(
            grid, other, first - POINTS // 2 + 1, size, pad, absent[f], n, octave, tables, reach,
            rows, scratch, middle, sums[f], forms[f],
        )  # fmt: skip


# -- the Laplace kernel: sums that run along the sorted values -------------------------------------


@compiled()
def exponential_sums(x, weight, rate, out):
    """``out[i] = sum_j exp(-rate |x_i - x_j|) weight_j`` for increasing ``x``."""
    run = 0.0
    for i in range(x.shape[0]):
        if i > 0:
            run *= math.exp(-rate * (x[i] - x[i - 1]))
        run += weight[i]
        out[i] = run
    run = 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        out[i] += run
        if i > 0:
            run = (run + weight[i]) * math.exp(-rate * (x[i] - x[i - 1]))


@compiled()
def exponential_triples(x, weight, rate):
    """Sum over triples of points of ``exp(-rate (largest - smallest))``, for increasing ``x``."""
    total = 0.0
    plain = 0.0  # sum of exp(-rate (x_k - x_i)) w_i over i < k
    behind = 0.0  # the same with w_i (3 w_i - 6 (weight up to i))
    before = 0.0  # weight before k
    for k in range(x.shape[0]):
        if k > 0:
            fade = math.exp(-rate * (x[k] - x[k - 1]))
            plain *= fade
            behind *= fade
        w = weight[k]
        total += w * (behind + (6.0 * before + 3.0 * w) * plain) + w * w * w
        before += w
        plain += w
        behind += w * (3.0 * w - 6.0 * before)
    return total


@compiled()
def finished(weight, own, mean, square, twice, cubes, third, n, out):
    """:func:`finish` for points from the first on."""
    finish(weight, 0, weight.shape[0], own, mean, square, twice, cubes, third, n, out)

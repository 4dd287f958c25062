"""Compiled first pass over a table: range, mean, spread and two-valuedness of every column.

A row of statistics is ``[lo, hi, mean - origin, centred sum of squares, two-valued?, origin]``.
The mean is kept relative to an origin (the first value seen), so that a huge common offset of a
column costs no digits, also when statistics of different rows are merged.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelpath.utils.compiled import compiled

# Reductions may be reassociated; differences such as (x - shift) - mean may not, or a huge offset
# would cost digits.  So differences are stored first, by functions without that licence.
FAST = {"reassoc", "contract", "nsz"}
RANGE_FAST = {"contract", "nsz", "nnan"}  # lets min and max vectorise; the sums show NaN
BLOCK = 512


@compiled(part=True, fastmath=RANGE_FAST)
def _store_gaps(x, shift, gaps):
    """Differences to the shift, and the range of the values."""
    lo = x[0]
    hi = x[0]
    for j in range(x.shape[0]):
        v = x[j]
        lo = min(lo, v)
        hi = max(hi, v)
        gaps[j] = np.float64(v) - shift
    return lo, hi


@compiled(part=True, fastmath=FAST)
def _sum(gaps):
    total = 0.0
    for j in range(gaps.shape[0]):
        total += gaps[j]
    return total


@compiled(part=True, fastmath=FAST)
def _squares(gaps, mean):
    total = 0.0
    for j in range(gaps.shape[0]):
        deviation = gaps[j] - mean
        total += deviation * deviation
    return total


@compiled(part=True, fastmath=FAST)
def _weighted_sums(gaps, weights):
    mass = 0.0
    total = 0.0
    for j in range(gaps.shape[0]):
        mass += weights[j]
        total += weights[j] * gaps[j]
    return mass, total


@compiled(part=True, fastmath=FAST)
def _weighted_squares(gaps, weights, mean):
    total = 0.0
    for j in range(gaps.shape[0]):
        deviation = gaps[j] - mean
        total += weights[j] * (deviation * deviation)
    return total


def _made(weighted: bool) -> Callable:
    """Make the statistics of a column whose values have weights, or all weigh 1."""

    @compiled(part=True)
    def column_stats(x, weights, first, gaps, out):
        """Statistics of one run of values, block by block."""
        shift = np.float64(x[0])
        lo = np.float64(x[0])
        hi = lo
        mass = 0.0
        mean = 0.0
        squares = 0.0
        finite = 0.0
        for start in range(0, x.shape[0], BLOCK):
            part = x[start : start + BLOCK]
            block = gaps[: part.shape[0]]
            block_lo, block_hi = _store_gaps(part, shift, block)
            total = _sum(block)
            finite += 0.0 * total  # NaN if any value is not finite
            if not weighted:
                block_mass = np.float64(part.shape[0])
                block_mean = total / block_mass
                block_squares = _squares(block, block_mean)
            else:
                w = weights[first + start : first + start + part.shape[0]]
                block_mass, total = _weighted_sums(block, w)
                block_mean = total / block_mass
                block_squares = _weighted_squares(block, w, block_mean)
            lo = min(lo, np.float64(block_lo))
            hi = max(hi, np.float64(block_hi))
            gap = block_mean - mean
            squares += block_squares + gap * gap * (mass * block_mass / (mass + block_mass))
            mass += block_mass
            mean += gap * (block_mass / mass)
        two = 1.0
        for j in range(x.shape[0]):
            if x[j] != lo and x[j] != hi:
                two = 0.0
                break
        out[0] = lo
        out[1] = hi
        out[2] = mean
        out[3] = squares + finite
        out[4] = two
        out[5] = shift

    return column_stats


plain_column_stats, weighted_column_stats = _made(False), _made(True)


@compiled()
def feature_major_stats(values, out):
    """Statistics of the rows of ``values`` (n_features, n_rows) into ``out`` (n_features, 6)."""
    gaps = np.empty(BLOCK)
    for f in range(values.shape[0]):
        plain_column_stats(values[f], gaps, 0, gaps, out[f])  # no weights: anything stands there


@compiled()
def weighted_feature_major_stats(values, weights, out):
    """The same of rows that have weights."""
    gaps = np.empty(BLOCK)
    for f in range(values.shape[0]):
        weighted_column_stats(values[f], weights, 0, gaps, out[f])


@compiled()
def ragged_stats(values, ptr, weights, out):
    """Statistics of columns stored one after the other, with their own weights."""
    gaps = np.empty(BLOCK)
    for f in range(ptr.shape[0] - 1):
        if ptr[f + 1] > ptr[f]:
            weighted_column_stats(values[ptr[f] : ptr[f + 1]], weights, ptr[f], gaps, out[f])


@compiled(part=True, fastmath=RANGE_FAST)
def _row_range(x, shift, w, lo, hi, total):
    for f in range(x.shape[0]):
        v = np.float64(x[f])
        lo[f] = min(lo[f], v)
        hi[f] = max(hi[f], v)
        total[f] += w * (v - shift[f])


@compiled()
def row_major_stats(values, first_row, last_row, first, weights, out):
    """Statistics of some rows and columns of ``values`` (n_rows, n_features), read row by row.

    Columns ``first`` to ``first + len(out)``; the rows are read twice, so few enough of them
    should be given to stay in cache.
    """
    d = out.shape[0]
    lo = np.empty(d)
    hi = np.empty(d)
    shift = np.empty(d)
    mean = np.zeros(d)
    squares = np.zeros(d)
    mass = 0.0
    for f in range(d):
        lo[f] = values[first_row, first + f]
        hi[f] = lo[f]
        shift[f] = lo[f]
    for j in range(first_row, last_row):
        mass += weights[j]
        _row_range(values[j, first : first + d], shift, weights[j], lo, hi, mean)
    for f in range(d):
        mean[f] /= mass
    for j in range(first_row, last_row):
        w = weights[j]
        x = values[j, first : first + d]
        for f in range(d):
            deviation = (np.float64(x[f]) - shift[f]) - mean[f]
            squares[f] += w * deviation * deviation
    for f in range(d):
        out[f, 0] = lo[f]
        out[f, 1] = hi[f]
        out[f, 2] = mean[f]
        out[f, 3] = squares[f]
        out[f, 4] = 1.0
        out[f, 5] = shift[f]
        for j in range(first_row, last_row):
            v = values[j, first + f]
            if v != lo[f] and v != hi[f]:
                out[f, 4] = 0.0
                break


@compiled()
def merge_stats(a, mass_a, b, mass_b):
    """Fold the statistics ``b`` of other rows into ``a``, in place."""
    total = mass_a + mass_b
    for f in range(a.shape[0]):
        two = a[f, 4] == 1.0 and b[f, 4] == 1.0
        lo = min(a[f, 0], b[f, 0])
        hi = max(a[f, 1], b[f, 1])
        for k in range(2):
            two = two and (a[f, k] == lo or a[f, k] == hi) and (b[f, k] == lo or b[f, k] == hi)
        shift = (b[f, 2] - a[f, 2]) + (b[f, 5] - a[f, 5])
        a[f, 0] = lo
        a[f, 1] = hi
        a[f, 2] += shift * (mass_b / total)
        a[f, 3] += b[f, 3] + shift * shift * (mass_a * mass_b / total)
        a[f, 4] = 1.0 if two else 0.0


@compiled()
def gather_row_major(values, features, rows, out):
    """``out[f, j] = values[rows[j], features[f]]``, eight rows at a time."""
    n = rows.shape[0]
    whole = n - n % 8
    for j in range(0, whole, 8):
        r0 = values[rows[j]]
        r1 = values[rows[j + 1]]
        r2 = values[rows[j + 2]]
        r3 = values[rows[j + 3]]
        r4 = values[rows[j + 4]]
        r5 = values[rows[j + 5]]
        r6 = values[rows[j + 6]]
        r7 = values[rows[j + 7]]
        for f in range(features.shape[0]):
            column = features[f]
            to = out[f]
            to[j] = r0[column]
            to[j + 1] = r1[column]
            to[j + 2] = r2[column]
            to[j + 3] = r3[column]
            to[j + 4] = r4[column]
            to[j + 5] = r5[column]
            to[j + 6] = r6[column]
            to[j + 7] = r7[column]
    for j in range(whole, n):
        for f in range(features.shape[0]):
            out[f, j] = values[rows[j], features[f]]


@compiled()
def gather_feature_major(values, features, rows, out):
    """``out[f, j] = values[features[f], rows[j]]``."""
    for f in range(features.shape[0]):
        x = values[features[f]]
        for j in range(rows.shape[0]):
            out[f, j] = x[rows[j]]


@compiled()
def sparse_points(data, indices, indptr, columns, totals, n_rows, values, weights, ptr):
    """Turn sparse columns into sorted distinct values with summed weights.

    ``columns`` is (n_rows, n_columns) and ``totals`` its sum over rows: what the stored entries
    leave of it belongs to the value 0.  ``values`` (n_points,) and ``weights``
    (n_columns, n_points) are filled; column ``f`` gets the points ``ptr[f]:ptr[f + 1]``.
    """
    n_columns = columns.shape[1]
    rest = np.empty(n_columns)
    end = 0
    ptr[0] = 0
    for f in range(indptr.shape[0] - 1):
        lo = indptr[f]
        hi = indptr[f + 1]
        rest[:] = totals
        same = True
        for i in range(lo + 1, hi):
            if data[i] != data[lo]:
                same = False
                break
        zero_done = hi - lo == n_rows
        order = np.arange(hi - lo) if same else np.argsort(data[lo:hi])
        if not zero_done:
            for i in range(lo, hi):
                for c in range(n_columns):
                    rest[c] -= columns[indices[i], c]
        start = end
        for i in order:
            v = np.float64(data[lo + i])
            if not zero_done and v >= 0.0:
                values[end] = 0.0
                for c in range(n_columns):
                    weights[c, end] = rest[c]
                end += 1
                zero_done = True
            if end == start or values[end - 1] != v:
                values[end] = v
                for c in range(n_columns):
                    weights[c, end] = 0.0
                end += 1
            for c in range(n_columns):
                weights[c, end - 1] += columns[indices[lo + i], c]
        if not zero_done:
            values[end] = 0.0
            for c in range(n_columns):
                weights[c, end] = rest[c]
            end += 1
        ptr[f + 1] = end
    return end

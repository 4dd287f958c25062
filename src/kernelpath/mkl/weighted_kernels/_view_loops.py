r"""Compiled passes over Gaussian kernels of many one-dimensional views, each at several widths.

With :math:`d = 1 - \exp(-\gamma g^2)` for the gap ``g`` of two rows, the width that belongs to
:math:`2 \gamma` has :math:`d' = d (2 - d)`.  So no exponential is needed: a short series gives
``d`` for so wide a kernel that it is small, and doublings climb to all others.  Each doubling
damps the relative error of ``d``, whereas ``1 - d`` of a wide kernel has few digits left: that is
why everything here is written with ``d``.  Pairs are taken in blocks that stay in the cache, and
the loops over a block are plain enough to be vectorised, twice as wide in single precision.
"""

from __future__ import annotations

import numpy as np

from kernelpath.utils.compiled import compiled

BLOCK = 2048  # pairs at a time: what is looked at again and again stays in the first cache
FAST = {"reassoc", "contract", "nsz"}  # sums in any order; infinities and NaN stay what they are


@compiled(fastmath=FAST)
def _row(value, others, square):
    for t in range(others.shape[0]):
        gap = value - others[t]
        square[t] = gap * gap


@compiled()
def _squares(a, b, i, j, triangle, square):
    """Squared gaps of consecutive pairs from ``(i, j)`` on, as many as a block has room for.

    Returns their number and the pair that is next; a triangle has the pairs with ``i < j``.
    """
    count = 0
    while i < a.shape[0] and count < BLOCK:
        here = min(b.shape[0] - j, BLOCK - count)
        _row(a[i], b[j : j + here], square[count:])
        count += here
        j += here
        if j >= b.shape[0]:
            i += 1
            j = i + 1 if triangle else 0
            if triangle and j >= b.shape[0]:
                i = a.shape[0]
    return count, i, j


@compiled(fastmath=FAST)
def _begin(square, count, gamma, series, d):
    """``1 - exp(-gamma square)`` where that is small."""
    factor = d.dtype.type(gamma)  # single precision must not become double
    for t in range(count):
        x = factor * square[t]
        rest = series[3] + x * (series[4] + x * series[5])
        d[t] = x * (series[0] + x * (series[1] + x * (series[2] + x * rest)))


@compiled(fastmath=FAST)
def _double(d, count, two):
    for t in range(count):
        d[t] = d[t] * (two - d[t])


@compiled(fastmath=FAST)
def _double_twice(d, count, two):
    for t in range(count):
        value = d[t] * (two - d[t])
        d[t] = value * (two - value)


@compiled(fastmath=FAST)
def _double_four_times(d, count, two):
    for t in range(count):
        value = d[t] * (two - d[t])
        value = value * (two - value)
        value = value * (two - value)
        d[t] = value * (two - value)


@compiled()
def _climb(square, count, gamma, jump, widest, series, two, d):
    """Bring ``d`` to the next width: by doublings, or from the start where ``jump`` is negative."""
    if jump < 0:
        jump = 0
        while gamma * widest > series[6]:
            gamma *= 0.5
            jump += 1
        _begin(square, count, gamma, series, d)
    while jump >= 4:
        _double_four_times(d, count, two)
        jump -= 4
    if jump >= 2:
        _double_twice(d, count, two)
        jump -= 2
    if jump == 1:
        _double(d, count, two)


@compiled(fastmath=FAST)
def _product(pairs, d, zero):
    total = zero
    for t in range(pairs.shape[0]):
        total += pairs[t] * d[t]
    return total


@compiled(fastmath=FAST)
def _product_then_double_twice(pairs, d, two, zero):
    """The two together, as most steps need both: each number is loaded once."""
    total = zero
    for t in range(pairs.shape[0]):
        value = d[t]
        total += pairs[t] * value
        value = value * (two - value)
        d[t] = value * (two - value)
    return total


@compiled(fastmath=FAST)
def _add_scaled(d, weight, out):
    for t in range(out.shape[0]):
        out[t] += weight * d[t]


@compiled()
def _take(view, rows, out):
    """Values of some rows; returns the squared range of all of them."""
    low = high = view[rows[0]]
    for t in range(rows.shape[0]):
        value = view[rows[t]]
        out[t] = value
        low, high = min(low, value), max(high, value)
    return (high - low) * (high - low)


@compiled()
def pair_sums(views, rows, pairs, gammas, jumps, series, out):
    """``sum_{i<j} pairs_ij d_ij`` of each view and width.

    Parameters
    ----------
    views : array of shape (n_views, n_rows)
    rows : array of shape (n_used,)
        Rows that take part.
    pairs : array of shape (n_used (n_used - 1) / 2,)
        One number for each pair of them, row by row.
    gammas, jumps : arrays of shape (n_widths,)
        Widths from wide to narrow, and how many doublings lead to each from the one before; -1
        where there is no such way.
    series : array of shape (7,)
        Coefficients of ``(1 - exp(-x)) / x``, and the largest ``x`` for which they suffice.
    out : array of shape (n_views, n_widths), float64
    """
    a = np.empty(rows.shape[0], views.dtype)
    square, d = np.empty(BLOCK, views.dtype), np.empty(BLOCK, views.dtype)
    two, zero = series[0] + series[0], series[0] - series[0]
    for f in range(views.shape[0]):
        widest = _take(views[f], rows, a)
        out[f] = 0.0
        first, i, j = 0, 0, 1
        while first < pairs.shape[0]:
            count, i, j = _squares(a, a, i, j, True, square)
            own = pairs[first : first + count]
            ahead = False
            for b in range(gammas.shape[0]):
                if not ahead:
                    _climb(square, count, gammas[b], jumps[b], widest, series, two, d)
                ahead = b + 1 < gammas.shape[0] and jumps[b + 1] == 2
                if ahead:
                    out[f, b] += _product_then_double_twice(own, d, two, zero)
                else:
                    out[f, b] += _product(own, d, zero)
            first += count


@compiled()
def add_distances(A, B, weights, gammas, jumps, series, triangle, out):
    """Add ``sum_k weights_k d_k`` of all views and widths to ``out``, one number for each pair.

    ``A`` and ``B`` have shapes (n_views, n_rows) and (n_views, n_other_rows), ``weights`` (n_views,
    n_widths); pairs are those of a triangle, for ``A`` equal to ``B``, or all, row by row.
    """
    square, d = np.empty(BLOCK, A.dtype), np.empty(BLOCK, A.dtype)
    two = series[0] + series[0]
    for f in range(A.shape[0]):
        last = -1
        for b in range(gammas.shape[0]):
            if weights[f, b] != 0.0:
                last = b
        a, c = A[f], B[f]
        low, high = min(a.min(), c.min()), max(a.max(), c.max())
        widest = (high - low) * (high - low)
        first, i, j = 0, 0, 1 if triangle else 0
        while last >= 0 and first < out.shape[0]:
            count, i, j = _squares(a, c, i, j, triangle, square)
            for b in range(last + 1):
                _climb(square, count, gammas[b], jumps[b], widest, series, two, d)
                if weights[f, b] != 0.0:
                    _add_scaled(d, weights[f, b], out[first : first + count])
            first += count

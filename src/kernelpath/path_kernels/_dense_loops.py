"""Compiled half squared distances ``d(x, z)`` of many pairs of rows, one feature after another.

The exponentials are the whole cost of a base kernel, so they are written out such that LLVM turns
the loop over pairs into vector instructions: no branch, no call, no table.  In single precision
they take a third of the time; differences of values are always taken in double precision.
A kernel that is not among the four here goes by the formula of its class.  A loop is made, and
compiled, for each kernel and precision that a table asks for.

At the end stand the loops that mirror one triangle of a sum and centre it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelpath.kernels import FeatureKernel
from kernelpath.kernels._pairs import pairs_of, per_kernel
from kernelpath.kernels.codes import DELTA, LAPLACE, POLYNOMIAL, RBF
from kernelpath.utils.compiled import compiled

# Not "reassoc": the magic-number rounding below is an addition that must not be simplified.
SAFE = {"contract", "nsz", "arcp"}
LOG2_E = 1.4426950408889634
MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, held in the low bits
SMALLEST = -1021.0  # two to the power of it is still a normal number
# (2^r - 1) / r for |r| <= 1/2, truncated Chebyshev series: relative error 2e-17.
C0, C1, C2 = 0.6931471805599453, 0.24022650695910097, 0.05550410866482162
C3, C4, C5 = 0.009618129107606802, 0.0013333558146410112, 0.00015403530441862433
C6, C7, C8 = 1.5252733837770538e-05, 1.3215442518018404e-06, 1.0178058671834066e-07
C9, C10 = 7.072598860417143e-09, 4.455588072499563e-10

SINGLE = np.float32
ONE_S, MAGIC_S, SMALLEST_S = SINGLE(1.0), SINGLE(12582912.0), SINGLE(-125.0)
# The same series for single precision: relative error 3e-10.
S0, S1, S2 = SINGLE(0.6931471806), SINGLE(0.2402265092), SINGLE(0.05550410906)
S3, S4, S5 = SINGLE(0.00961805667), SINGLE(0.001333347847), SINGLE(0.0001546144746)
S6 = SINGLE(1.530370259e-05)
# Of the loops that centre.
FAST = {"reassoc", "contract", "nsz"}
TILE = 32


part = compiled(part=True, inline="always")  # of a loop, which alone is compiled


@part
def _fall(y):
    """``1 - 2^y`` for ``y <= 0``, to a few units in the last place of the result.

    With ``y = k + r`` it is ``(1 - 2^k) - 2^k (2^r - 1)``; for small ``y`` the first term is
    exactly 0, so a wide kernel keeps all its digits.
    """
    y = y if y > SMALLEST else SMALLEST
    shifted = y + MAGIC
    r = y - (shifted - MAGIC)
    series = C9 + r * C10
    series = C8 + r * series
    series = C7 + r * series
    series = C6 + r * series
    series = C5 + r * series
    series = C4 + r * series
    series = C3 + r * series
    series = C2 + r * series
    series = C1 + r * series
    series = C0 + r * series
    exponent = (np.float64(shifted).view(np.int64) + 1023) << 52
    power = np.int64(exponent).view(np.float64)
    return (1.0 - power) - power * (r * series)


@part
def _fall_single(y):
    """:func:`_fall` in single precision."""
    y = y if y > SMALLEST_S else SMALLEST_S
    shifted = y + MAGIC_S
    r = y - (shifted - MAGIC_S)
    series = S5 + r * S6
    series = S4 + r * series
    series = S3 + r * series
    series = S2 + r * series
    series = S1 + r * series
    series = S0 + r * series
    exponent = (np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)
    power = np.int32(exponent).view(np.float32)
    return (ONE_S - power) - power * (r * series)


# -- one row of pairs: ``scale d(x, z[j])`` into ``out``, by each kernel ---------------------------


@part
def _square(rate, gap):
    return (rate * gap) * gap


@part
def _absolute(rate, gap):
    return rate * abs(gap)


def _falling_row(exponent: Callable, single: bool) -> Callable:
    """Make the row of a kernel that is an exponential of a difference."""
    number, fall = (np.float32, _fall_single) if single else (np.float64, _fall)

    @part
    def row(x, z, gamma, factors, settings, scale, out):
        # The loops stay apart: one that mixes two precisions runs at the width of the larger.
        rate = -gamma * LOG2_E
        for j in range(z.shape[0]):
            out[j] = exponent(rate, x - z[j])
        height = number(scale)
        for j in range(z.shape[0]):
            out[j] = height * fall(out[j])

    return row


@part
def _delta_row(x, z, gamma, factors, settings, scale, out):
    for j in range(z.shape[0]):
        out[j] = 0.0 if x == z[j] else scale


@part
def _polynomial_row(x, z, gamma, factors, settings, scale, out):
    """Minus the kernel, by Horner's rule in the product of the two values."""
    for j in range(z.shape[0]):
        product = x * z[j]
        value = factors[-1]
        for b in range(factors.shape[0] - 2, -1, -1):
            value = factors[b] + product * value
        out[j] = -scale * product * value


def _formula_row(kernel: type[FeatureKernel]) -> Callable:
    """Make the row of any kernel of the package."""
    distance = pairs_of(kernel).distance

    @part
    def row(x, z, gamma, factors, settings, scale, out):
        for j in range(z.shape[0]):
            out[j] = scale * distance(x, z[j], gamma, *settings)

    return row


def _written_out(code: int, single: bool) -> Callable | None:
    """Row of a kernel that vector instructions serve."""
    if code in (RBF, LAPLACE):
        return _falling_row(_square if code == RBF else _absolute, single)
    return {DELTA: _delta_row, POLYNOMIAL: _polynomial_row}.get(code)


@per_kernel
def distances_of(kernel: type[FeatureKernel], single: bool) -> Callable:
    """Make the loop over pairs of rows for the columns of one kernel, in one precision.

    It fills ``out[f - first, a * n_columns + b]`` with ``scale_f d_f`` of two rows of the table,
    for the columns ``f`` from ``first`` to ``last`` with ``groups[f] == group``.  ``values`` is
    feature-major; ``rows`` and ``columns`` are half-open ranges of its rows.  Polynomial columns
    arrive centred and scaled, with the ``factors`` of their powers 1, 2, ...; minus the kernel
    takes the place of ``d`` there.
    """
    known = _written_out(kernel.code, single)
    row = _formula_row(kernel) if known is None else known

    @compiled(error_model="numpy", fastmath=False if known is None else SAFE)
    def distances_of(
        values, first, last, groups, group, gamma, factors, settings, scale, rows, columns, out
    ):
        width = columns[1] - columns[0]
        for f in range(first, last):
            if groups[f] == group:
                z = values[f, columns[0] : columns[1]]
                for a in range(rows[0], rows[1]):
                    start = (a - rows[0]) * width
                    target = out[f - first, start : start + width]
                    row(values[f, a], z, gamma[f], factors[f], settings, scale[f], target)

    return distances_of


@compiled()
def place_tiles(store, point, n_points, tiles, factor, n_train, train, new):
    """Add ``factor`` times the tiles of a point to the lower triangle of ``train`` and to ``new``.

    A row of ``tiles`` is (first row, end row, first column, end column, pairs before it).
    """
    for t in range(tiles.shape[0]):
        row, last, column, end = tiles[t, 0], tiles[t, 1], tiles[t, 2], tiles[t, 3]
        position = tiles[t, 4] * n_points + point * (last - row) * (end - column)
        for a in range(row, last):
            target = train[a] if a < n_train else new[a - n_train]
            for j in range(column, end):
                target[j] += factor * store[position + j - column]
            position += end - column


# -- the end of a combination: centre with the training rows ---------------------------------------


@compiled(fastmath=FAST)
def triangle_means(lower, weight, means):
    """Weighted means of the columns of a symmetric matrix, given its lower triangle."""
    means[:] = 0.0
    for i in range(lower.shape[0]):
        row = lower[i]
        w = weight[i]
        total = w * row[i]
        for j in range(i):
            means[j] += w * row[j]
            total += weight[j] * row[j]
        means[i] += total


@compiled()
def centre_triangle(matrix, means, grand):
    """Centre the lower triangle in place and mirror it, tile by tile."""
    n = matrix.shape[0]
    for top in range(0, n, TILE):
        bottom = min(top + TILE, n)
        for left in range(0, bottom, TILE):
            for i in range(top, bottom):
                shift = means[i] - grand
                for j in range(left, min(left + TILE, i + 1)):
                    value = (matrix[i, j] - means[j]) - shift
                    matrix[i, j] = value
                    matrix[j, i] = value


@compiled(fastmath=FAST)
def centre_rows(matrix, weight, means, grand):
    """Centre new rows with the training rows, in place."""
    for i in range(matrix.shape[0]):
        row = matrix[i]
        own = 0.0
        for j in range(row.shape[0]):
            own += weight[j] * row[j]
        for j in range(row.shape[0]):
            row[j] = (row[j] - means[j]) - (own - grand)

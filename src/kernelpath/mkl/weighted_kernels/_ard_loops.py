"""Compiled loops of kernels with weights inside: matrices of rows by rows, filled in place."""

from __future__ import annotations

import math

import numpy as np

from kernelpath.utils.compiled import compiled

MOST = 40.0
INV_LOG2 = 1.4426950408889634
LOG2_HIGH, LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
POWERS = 2.0 ** np.arange(-60, 61)
BLOCK = 32  # rows and columns that are mirrored together


@compiled()
def gaussian_less_one(products, own):
    """Turn ``x' D z`` into ``exp(2 x' D z - x' D x - z' D z) - 1``, symmetric, in place."""
    n = products.shape[0]
    for i in range(n):
        for j in range(i):
            products[i, j] = 2.0 * products[i, j] - own[i] - own[j]
        _expm1(products[i, :i])
        products[i, i] = 0.0
    _mirror(products)


@compiled(fastmath={"nnan", "ninf", "nsz", "contract"})
def _expm1(x):
    """``exp(x) - 1`` in place, by ``x = k log 2 + r`` and a series in ``r``.

    Unlike calls of a library the loop runs on several numbers at once.  Exponents below -40 count
    as -40, where the value is -1; for those above 40, of weights below zero, a library is called.
    """
    n = len(x)
    largest = 0.0
    for i in range(n):
        largest = max(largest, x[i])
    if largest > MOST:
        for i in range(n):
            x[i] = math.expm1(x[i])
        return
    for i in range(n):
        z = max(x[i], -MOST)
        k = np.floor(z * INV_LOG2 + 0.5)
        r = (z - k * LOG2_HIGH) - k * LOG2_LOW
        series = 1.0 / 6227020800.0
        series = series * r + 1.0 / 479001600.0
        series = series * r + 1.0 / 39916800.0
        series = series * r + 1.0 / 3628800.0
        series = series * r + 1.0 / 362880.0
        series = series * r + 1.0 / 40320.0
        series = series * r + 1.0 / 5040.0
        series = series * r + 1.0 / 720.0
        series = series * r + 1.0 / 120.0
        series = series * r + 1.0 / 24.0
        series = series * r + 1.0 / 6.0
        series = series * r + 0.5
        series = series * r + 1.0
        power = POWERS[int(k) + 60]
        x[i] = power * (series * r) + (power - 1.0)


@compiled()
def distances_times(products, own, values):
    """Turn ``x' D z`` into ``-(values + 1)`` times squared distances, symmetric, in place."""
    n = products.shape[0]
    for i in range(n):
        for j in range(i):
            gap = 2.0 * products[i, j] - own[i] - own[j]
            products[i, j] = gap * (values[i, j] + 1.0)
        products[i, i] = 0.0
    _mirror(products)


@compiled()
def _mirror(matrix):
    n = matrix.shape[0]
    for first in range(0, n, BLOCK):
        for second in range(0, first + 1, BLOCK):
            for i in range(first, min(first + BLOCK, n)):
                for j in range(second, min(second + BLOCK, i)):
                    matrix[j, i] = matrix[i, j]


@compiled()
def centred_lower(values, means, ridge, out):
    """Fill the lower triangle of ``out`` with the centred matrix and a ridge on its diagonal."""
    n, mean = values.shape[0], means.mean()
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = values[i, j] - means[i] - means[j] + mean
        out[i, i] += ridge


@compiled()
def squares_of_columns(lower, out):
    """Sums of squares of the columns of a lower triangular matrix."""
    out[:] = 0.0
    for i in range(lower.shape[0]):
        for j in range(i + 1):
            out[j] += lower[i, j] * lower[i, j]

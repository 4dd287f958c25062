"""Compiled sums over all pairs of rows for backward elimination with a Gaussian kernel.

Pairs ``i > k`` stand one after the other, row by row.
"""

from __future__ import annotations

import math

import numpy as np

from kernelpath.utils.compiled import compiled

FAST = {"reassoc", "contract", "nsz"}
SMALL = 0.25  # exponents up to which the series is exact to rounding


@compiled(fastmath=FAST)
def add_distances(Z, columns, sign, distances):
    """Add the squared differences of columns to those of all pairs, or take them away."""
    for j in columns:
        x = Z[:, j]
        at = 0
        for i in range(x.shape[0]):
            row = distances[at : at + i]
            for k in range(i):
                row[k] += sign * (x[i] - x[k]) ** 2
            at += i


@compiled()
def pair_weights(group, factor, own, shift):
    """``shift + l_ik - own_i - own_k`` for all pairs.

    The kernel ``l`` of the target is ``factor_i factor_k`` for rows of one group, and 0 for others.
    """
    n = own.shape[0]
    result = np.empty(n * (n - 1) // 2)
    at = 0
    for i in range(n):
        for k in range(i):
            result[at] = shift - own[i] - own[k]
            if group[i] == group[k]:
                result[at] += factor[i] * factor[k]
            at += 1
    return result


@compiled(part=True, inline="always")
def _series(u):
    """``exp(u) - 1`` for ``u`` up to :data:`SMALL`, in a form that vector instructions take."""
    high = 1 / 5040 + u * (1 / 40320 + u * (1 / 362880 + u * (1 / 3628800)))
    low = 1 / 24 + u * (1 / 120 + u * (1 / 720 + u * high))
    return u * (1.0 + u * (1 / 2 + u * (1 / 6 + u * low)))


@compiled(fastmath=FAST)
def gains_without(Z, columns, gamma, distances, weights, terms, out):
    """By how much the sum of all terms grows when a column is left out of the distances.

    A term is ``weight exp(-gamma distance)``.  It is multiplied by ``exp(gamma (x_i - x_k)^2)``;
    what exceeds 1 is summed, so that one column of many keeps its digits.  Where that could
    overflow, the exponents are taken together.
    """
    for c in range(columns.shape[0]):
        x = Z[:, columns[c]]
        largest = gamma * (x.max() - x.min()) ** 2
        total = 0.0
        at = 0
        for i in range(x.shape[0]):
            row = terms[at : at + i]
            if largest <= SMALL:
                for k in range(i):
                    total += row[k] * _series(gamma * (x[i] - x[k]) ** 2)
            elif largest <= 128 * SMALL:
                for k in range(i):
                    e = 1.0 + _series(gamma / 128.0 * (x[i] - x[k]) ** 2)
                    e = e * e * e * e
                    e = e * e * e * e
                    e = e * e * e * e
                    total += row[k] * (e * e - 1.0)
            else:
                for k in range(i):
                    rest = max(distances[at + k] - (x[i] - x[k]) ** 2, 0.0)
                    total += weights[at + k] * math.exp(-gamma * rest) - row[k]
            at += i
        out[c] = total

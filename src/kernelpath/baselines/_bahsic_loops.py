"""Compiled sums over all pairs of rows for backward elimination with a Gaussian kernel.

Pairs ``i > k`` stand one after the other, row by row.
"""

from __future__ import annotations

import math

import numpy as np

from kernelpath.utils.compiled import compiled

FAST = {"reassoc", "contract", "nsz"}
SMALL = 0.25  # exponents up to which the series below is exact to rounding


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


@compiled(fastmath=FAST)
def weighted_kernel(distances, gamma, own, factor, same, shift, out):
    """Store the terms of HSIC, kernel times weight of each pair, and return half their sum.

    The weight is ``shift - own[i] - own[k]``, and ``factor[i, c] * factor[k, c]`` more for each
    column of the target; those of rows of one class are given by ``same``, their class.
    """
    total = 0.0
    at = 0
    n_columns = factor.shape[1]
    for i in range(own.shape[0]):
        for k in range(i):
            weight = shift - own[i] - own[k]
            if same[i] >= 0:
                if same[i] == same[k]:
                    weight += factor[i, 0] * factor[k, 0]
            else:
                for c in range(n_columns):
                    weight += factor[i, c] * factor[k, c]
            out[at] = weight * math.exp(-gamma * max(distances[at], 0.0))
            total += out[at]
            at += 1
    return total


@compiled(fastmath=FAST)
def gains_without(Z, columns, gamma, terms, out):
    """By how much the sum of the terms grows when a column is left out of the distances.

    A term is multiplied by ``exp(gamma (x_i - x_k)^2)``; what exceeds 1 is summed, so that a column
    of many keeps its digits.
    """
    for c in range(columns.shape[0]):
        x = Z[:, columns[c]]
        span = x.max() - x.min()
        total = 0.0
        at = 0
        if gamma * span * span <= SMALL:
            for i in range(x.shape[0]):
                row = terms[at : at + i]
                for k in range(i):
                    u = gamma * (x[i] - x[k]) ** 2
                    series = 1.0 + u / 7.0 * (1.0 + u / 8.0 * (1.0 + u / 9.0))
                    series = 1.0 + u / 4.0 * (1.0 + u / 5.0 * (1.0 + u / 6.0 * series))
                    total += row[k] * u * (1.0 + u / 2.0 * (1.0 + u / 3.0 * series))
                at += i
        else:
            for i in range(x.shape[0]):
                row = terms[at : at + i]
                for k in range(i):
                    total += row[k] * math.expm1(gamma * (x[i] - x[k]) ** 2)
                at += i
        out[c] = total

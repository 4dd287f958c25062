"""Compiled loops of sums: factors of one-feature kernels, and matrices kept as lower triangles."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kernelpath.kernels import FeatureKernel
from kernelpath.kernels._pairs import pairs_of, per_kernel
from kernelpath.utils.compiled import compiled

BLOCK = 32  # rows and columns that are mirrored together


@per_kernel
def pivoted_factor(kernel: type[FeatureKernel]) -> Callable:
    """Make the loop that fills rows of ``factor`` for a kernel of the package.

    It ends when what is left of the trace is at most ``tol`` of it.  Every step takes the row that
    is explained worst.  Returned are the number of rows filled and the share of the trace that is
    left, larger than ``tol`` if there was no room for more.
    """
    value_of = pairs_of(kernel).kernel

    @compiled()
    def pivoted_factor(x, gamma, settings, tol, factor, pivots):
        n = x.shape[0]
        rest = np.empty(n)
        total = 0.0
        for t in range(n):
            rest[t] = value_of(x[t], x[t], gamma, *settings)
            total += rest[t]
        left = total
        rank = 0
        while left > tol * total:
            if rank == factor.shape[0]:
                break
            j = np.argmax(rest)
            root = math.sqrt(rest[j])
            pivots[rank] = j
            left = 0.0
            for t in range(n):
                value = value_of(x[j], x[t], gamma, *settings)
                for s in range(rank):
                    value -= factor[s, j] * factor[s, t]
                value /= root
                factor[rank, t] = value
                rest[t] = max(rest[t] - value * value, 0.0)
                left += rest[t]
            rest[j] = 0.0
            rank += 1
        return rank, (left / total if total > 0.0 else 0.0)

    return pivoted_factor


@per_kernel
def map_rows(kernel: type[FeatureKernel]) -> Callable:
    """Make the loop that finds rows of the factor of a kernel for new values.

    ``points`` are the values of the pivots, ``triangle[s, q]`` the factor ``q`` at pivot ``s``;
    ``out[s, t]`` follows by forward substitution.
    """
    value_of = pairs_of(kernel).kernel

    @compiled()
    def map_rows(x, points, triangle, gamma, settings, out):
        for t in range(x.shape[0]):
            for s in range(points.shape[0]):
                value = value_of(points[s], x[t], gamma, *settings)
                for q in range(s):
                    value -= triangle[s, q] * out[q, t]
                out[s, t] = value / triangle[s, s]

    return map_rows


@compiled()
def packed_times(packed, parts, u, out):
    """Add ``K_k u`` of some matrices to the rows of ``out``; each is a lower triangle by rows."""
    n = len(u)
    for row in range(len(parts)):
        triangle = packed[parts[row]]
        own = out[row]
        place = 0
        for i in range(n):
            total = 0.0
            for j in range(i):
                value = triangle[place + j]
                total += value * u[j]
                own[j] += value * u[i]
            own[i] += total + triangle[place + i] * u[i]
            place += i + 1


@compiled()
def pack(matrix, triangle):
    """Lower triangle of a matrix, row after row."""
    place = 0
    for i in range(len(matrix)):
        triangle[place : place + i + 1] = matrix[i, : i + 1]
        place += i + 1


@compiled()
def packed_sum(packed, parts, weights, out):
    """Weighted sum of some lower triangles as a whole matrix, which is zero before."""
    n = len(out)
    place = 0
    for i in range(n):
        row = out[i]
        for part in parts:
            weight = weights[part]
            triangle = packed[part, place : place + i + 1]
            for j in range(i + 1):
                row[j] += weight * triangle[j]
        place += i + 1
    for top in range(0, n, BLOCK):  # both triangles of a block stay in cache
        for left in range(0, top + 1, BLOCK):
            for i in range(top, min(top + BLOCK, n)):
                for j in range(left, min(left + BLOCK, i)):
                    out[j, i] = out[i, j]


@compiled()
def size_and_asymmetry(matrix):
    """Largest absolute value, and largest difference from the transpose; NaN where one is."""
    n = len(matrix)
    size = 0.0
    apart = 0.0
    for top in range(0, n, BLOCK):
        for left in range(0, top + 1, BLOCK):
            for i in range(top, min(top + BLOCK, n)):
                for j in range(left, min(left + BLOCK, i + 1)):
                    here, there = matrix[i, j], matrix[j, i]
                    if not (abs(here) < np.inf and abs(there) < np.inf):
                        return np.nan, np.nan
                    size = max(size, abs(here), abs(there))
                    apart = max(apart, abs(here - there))
    return size, apart

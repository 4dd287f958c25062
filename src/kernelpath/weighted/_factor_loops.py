"""Compiled factors of one-feature kernels: pivoted Cholesky, without a kernel matrix."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

RBF, LAPLACE, DELTA = 0, 1, 2


@njit(cache=True, nogil=True)
def _kernel(code, x, z, gamma, degree, coef0):
    gap = x - z
    if code == RBF:
        return math.exp(-gamma * gap * gap)
    if code == LAPLACE:
        return math.exp(-gamma * abs(gap))
    if code == DELTA:
        return 1.0 if x == z else 0.0
    return (coef0 + gamma * x * z) ** degree


@njit(cache=True, nogil=True)
def pivoted_factor(x, code, gamma, degree, coef0, tol, factor, pivots):
    """Fill rows of ``factor`` until what is left of the trace is at most ``tol`` of it.

    Every step takes the row that is explained worst.  Returns the number of rows filled and the
    share of the trace that is left, larger than ``tol`` if there was no room for more.
    """
    n = x.shape[0]
    rest = np.empty(n)
    total = 0.0
    for t in range(n):
        rest[t] = _kernel(code, x[t], x[t], gamma, degree, coef0)
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
            value = _kernel(code, x[j], x[t], gamma, degree, coef0)
            for s in range(rank):
                value -= factor[s, j] * factor[s, t]
            value /= root
            factor[rank, t] = value
            rest[t] = max(rest[t] - value * value, 0.0)
            left += rest[t]
        rest[j] = 0.0
        rank += 1
    return rank, (left / total if total > 0.0 else 0.0)


@njit(cache=True, nogil=True)
def map_rows(x, points, triangle, code, gamma, degree, coef0, out):
    """Rows of the factor for new values: ``out[s, t]`` by forward substitution.

    ``points`` are the values of the pivots, ``triangle[s, q]`` the factor ``q`` at pivot ``s``.
    """
    for t in range(x.shape[0]):
        for s in range(points.shape[0]):
            value = _kernel(code, points[s], x[t], gamma, degree, coef0)
            for q in range(s):
                value -= triangle[s, q] * out[q, t]
            out[s, t] = value / triangle[s, s]


@njit(cache=True, nogil=True)
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

"""Compiled contractions of one column at a time, for every kernel.

A block of columns is ragged: feature ``f`` has the points ``values[ptr[f]:ptr[f + 1]]`` and the
weights ``columns[:, ptr[f]:ptr[f + 1]]`` (or ``columns`` as it is when ``shared``, for dense
columns, which all have the same rows).  Only the features ``which`` are computed.  Row 0 of
``columns`` holds the sample weights, the others the weighted, centred target columns.  With the
half squared distance ``d`` of the kernel,

    numerator = -sum_c sum_ij v_ci v_cj d_ij,      trace = sum_ij w_i w_j d_ij / sum_i w_i.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kernelpath.kernels import FeatureKernel
from kernelpath.kernels._pairs import pairs_of, per_kernel
from kernelpath.utils.compiled import compiled

FAST = {"reassoc", "contract", "nsz"}


@compiled()
def _store_centred(x, origin, mean, out):
    """``(x - origin) - mean``: two differences, so that a huge offset costs no digits."""
    for j in range(x.shape[0]):
        out[j] = (x[j] - origin) - mean


@per_kernel
def pairwise(kernel: type[FeatureKernel]) -> Callable:
    """Make the sum over all pairs of points, for a kernel of the package.

    It is exact and takes O(points^2) time and O(points) memory.
    """
    distance = pairs_of(kernel).distance
    centred = not kernel.of_differences

    @compiled()
    def pairwise(values, ptr, columns, shared, which, origin, mean, gamma, settings, out):
        n_columns = columns.shape[0]
        row = np.empty(n_columns)
        for f in which:
            x = values[ptr[f] : ptr[f + 1]]
            if centred:
                x = np.empty(ptr[f + 1] - ptr[f])
                _store_centred(values[ptr[f] : ptr[f + 1]], origin[f], mean[f], x)
            offset = 0 if shared else ptr[f]
            numerator = 0.0
            trace = 0.0
            mass = 0.0
            for i in range(x.shape[0]):
                row[:] = 0.0
                for j in range(i):
                    d = distance(x[i], x[j], gamma[f], *settings)
                    for c in range(n_columns):
                        row[c] += columns[c, offset + j] * d
                mass += columns[0, offset + i]
                trace += 2.0 * columns[0, offset + i] * row[0]
                for c in range(1, n_columns):
                    numerator -= 2.0 * columns[c, offset + i] * row[c]
            out[f, 0] = numerator
            out[f, 1] = trace / mass
            out[f, 2] = 0.0

    return pairwise


@compiled()
def two_valued(values, ptr, columns, shared, which, high, out):
    """Closed form for columns with two distinct values: every kernel gives the same alignment."""
    n_columns = columns.shape[0]
    upper = np.empty(n_columns)
    for f in which:
        offset = ptr[f] if shared else 0
        upper[:] = 0.0
        mass = 0.0
        for i in range(ptr[f], ptr[f + 1]):
            mass += columns[0, i - offset]
            if values[i] == high[f]:
                for c in range(n_columns):
                    upper[c] += columns[c, i - offset]
        numerator = 0.0
        for c in range(1, n_columns):
            numerator += upper[c] * upper[c]
        out[f, 0] = numerator
        out[f, 1] = upper[0] * (mass - upper[0]) / mass
        out[f, 2] = 0.0


@compiled(fastmath=FAST)
def _monomial_sums(power, columns, offset, factor):
    """Contribution of one monomial of the feature map: numerator and trace."""
    m = power.shape[0]
    mass = 0.0
    mean = 0.0
    for j in range(m):
        mass += columns[0, offset + j]
        mean += columns[0, offset + j] * power[j]
    mean /= mass
    spread = 0.0
    for j in range(m):
        gap = power[j] - mean
        spread += columns[0, offset + j] * (gap * gap)
    numerator = 0.0
    for c in range(1, columns.shape[0]):
        s = 0.0
        for j in range(m):
            gap = power[j] - mean
            s += columns[c, offset + j] * gap
        numerator += s * s
    return factor * numerator, factor * spread


@compiled()
def powers(values, ptr, columns, shared, which, origin, mean, gamma, degree, coef0, out):
    """Polynomial kernels through their explicit feature map of centred monomials."""
    binomial = np.ones(degree + 1)
    for b in range(1, degree + 1):
        binomial[b] = binomial[b - 1] * (degree - b + 1) / b
    for f in which:
        offset = 0 if shared else ptr[f]
        z = np.empty(ptr[f + 1] - ptr[f])
        _store_centred(values[ptr[f] : ptr[f + 1]], origin[f], mean[f], z)
        z *= math.sqrt(gamma[f])
        power = np.ones(z.shape[0])
        out[f] = 0.0
        for b in range(1, degree + 1):
            power *= z
            factor = binomial[b] * coef0 ** (degree - b)
            if factor > 0.0:
                numerator, spread = _monomial_sums(power, columns, offset, factor)
                out[f, 0] += numerator
                out[f, 1] += spread


@compiled()
def laplace_sorted(values, ptr, columns, shared, which, gamma, out):
    """Laplace kernel by sorting: the sum over smaller points obeys a one-term recursion.

    With ``A_j = sum_{i<j} w_i (1 - q_i..j)`` and ``q`` the kernel of the next gap,
    ``A_{j+1} = (1 - q) W_j + q A_j``: only positive terms, so no digits are lost.
    """
    n_columns = columns.shape[0]
    running = np.empty(n_columns)
    below = np.empty(n_columns)
    for f in which:
        offset = ptr[f] if shared else 0
        x = values[ptr[f] : ptr[f + 1]]
        order = np.argsort(x)
        running[:] = 0.0
        below[:] = 0.0
        numerator = 0.0
        trace = 0.0
        last = x[order[0]]
        for position in order:
            gap = x[position] - last
            last = x[position]
            fall = -math.expm1(-gamma[f] * gap)
            j = ptr[f] + position - offset
            for c in range(n_columns):
                running[c] = fall * below[c] + (1.0 - fall) * running[c]
            trace += 2.0 * columns[0, j] * running[0]
            for c in range(1, n_columns):
                numerator -= 2.0 * columns[c, j] * running[c]
            for c in range(n_columns):
                below[c] += columns[c, j]
        out[f, 0] = numerator
        out[f, 1] = trace / below[0]
        out[f, 2] = 0.0


@compiled()
def delta_sorted(values, ptr, columns, shared, which, out):
    """Categorical kernel: sums per distinct value."""
    n_columns = columns.shape[0]
    category = np.empty(n_columns)
    for f in which:
        offset = ptr[f] if shared else 0
        x = values[ptr[f] : ptr[f + 1]]
        order = np.argsort(x)
        mass = 0.0
        for i in range(x.shape[0]):
            mass += columns[0, ptr[f] + i - offset]
        numerator = 0.0
        trace = 0.0
        category[:] = 0.0
        for k in range(order.shape[0]):
            j = ptr[f] + order[k] - offset
            for c in range(n_columns):
                category[c] += columns[c, j]
            if k + 1 == order.shape[0] or x[order[k + 1]] != x[order[k]]:
                trace += category[0] * (mass - category[0])
                for c in range(1, n_columns):
                    numerator += category[c] * category[c]
                category[:] = 0.0
        out[f, 0] = numerator
        out[f, 1] = trace / mass
        out[f, 2] = 0.0


@compiled()
def _pairs_up_to(x, mass_before, mass, limit):
    """Weight of the pairs of sorted points at distance at most ``limit``."""
    total = 0.0
    start = 0
    for j in range(x.shape[0]):
        while x[j] - x[start] > limit:
            start += 1
        total += mass[j] * (mass_before[j] - mass_before[start])
        total += 0.5 * mass[j] * (mass[j] - 1.0)
    return total


@compiled()
def _nearest_distance(x, limit):
    """Smallest distance between two sorted points that is at least ``limit``."""
    best = np.inf
    start = 0
    for j in range(x.shape[0]):
        while start < j and x[j] - x[start + 1] >= limit:
            start += 1
        if x[j] - x[start] >= limit:
            best = min(best, x[j] - x[start])
    return best


@compiled()
def _ranked_distance(x, mass_before, mass, rank):
    """The ``rank``-th smallest distance (from 1) by bisection on its value."""
    if _pairs_up_to(x, mass_before, mass, 0.0) >= rank:
        return 0.0
    lo = 0.0
    hi = x[-1] - x[0]
    for _ in range(1100):  # at most the number of halvings of a float64 exponent and mantissa
        middle = lo + 0.5 * (hi - lo)
        if middle <= lo or middle >= hi or hi - lo < 1e-15 * hi:
            break
        if _pairs_up_to(x, mass_before, mass, middle) >= rank:
            hi = middle
        else:
            lo = middle
    nearest = _nearest_distance(x, lo)
    return nearest if nearest <= hi else hi


@compiled()
def median_distance(values, ptr, weights, shared, which, unit, out):
    """Median distance of all pairs of rows, per column; a row counts ``weight / unit`` times."""
    for f in which:
        offset = ptr[f] if shared else 0
        order = np.argsort(values[ptr[f] : ptr[f + 1]])
        m = order.shape[0]
        x = np.empty(m)
        mass = np.empty(m)
        before = np.zeros(m)
        for k in range(m):
            x[k] = values[ptr[f] + order[k]]
            mass[k] = weights[ptr[f] + order[k] - offset] / unit
            if k > 0:
                before[k] = before[k - 1] + mass[k - 1]
        total = before[m - 1] + mass[m - 1]
        pairs = 0.5 * total * (total - 1.0)
        if pairs < 1.0 or x[m - 1] == x[0]:
            out[f] = 0.0
            continue
        upper = math.floor(pairs / 2.0) + 1.0
        out[f] = _ranked_distance(x, before, mass, upper)
        if pairs % 2.0 == 0.0:
            out[f] = 0.5 * (out[f] + _ranked_distance(x, before, mass, upper - 1.0))

"""Compiled loops of the factors of columns: landmarks, Nystrom, centring."""

from __future__ import annotations

import math

import numpy as np

from kernelpath.utils.compiled import compiled

DEPENDENT = 1e-10  # of the largest diagonal entry


@compiled()
def landmarks(values, far, out):
    """Some of the values of each column, the first one in the middle; what is left repeats it.

    All, if there are few.  Otherwise both ends, and between them steps of the same size in the sum
    of two measures: the rank among the distinct values, and the cube root of squared gaps, which
    lies between ranks, that leave the tails without support, and distances, that a single outlier
    spoils.  A value that stands for what is missing is one of them.  Returned is the largest number
    that any column has.
    """
    n_wanted, most = out.shape[1], 0
    for f in range(values.shape[0]):
        ordered = np.sort(values[f])
        n, missing = 0, 0
        for i in range(ordered.shape[0]):
            if ordered[i] == far[f]:
                missing = 1
            elif n == 0 or ordered[i] != ordered[n - 1]:
                ordered[n] = ordered[i]
                n += 1
        wanted = n_wanted - missing
        count = 0
        if n <= wanted:
            for i in range(n):
                out[f, i] = ordered[i]
            count = n
        else:
            place = np.zeros(n)
            for i in range(1, n):
                place[i] = place[i - 1] + np.cbrt((ordered[i] - ordered[i - 1]) ** 2)
            for i in range(n):
                place[i] = place[i] / place[n - 1] * (n - 1) + i if i < n - 1 else 2.0 * i
            i = 0
            for k in range(wanted):
                at = place[n - 1] * k / (wanted - 1) if wanted > 1 else 0.5 * place[n - 1]
                while i < n - 1 and place[i + 1] <= at:
                    i += 1
                nearest = i
                if i < n - 1 and place[i + 1] - at < at - place[i]:
                    nearest = i + 1
                if count == 0 or out[f, count - 1] != ordered[nearest]:
                    out[f, count] = ordered[nearest]
                    count += 1
        if missing:
            out[f, count] = far[f]
            count += 1
        middle = (count - missing) // 2
        first = out[f, middle]
        out[f, middle] = out[f, 0]
        out[f, 0] = first
        for k in range(count, n_wanted):
            out[f, k] = first
        most = max(most, count)
    return most


@compiled()
def nystrom(d, out, ranks):
    """Rows of a factor from half squared distances of landmarks, the first one the origin, to rows.

    ``d[f, l]`` are those of landmark ``l`` to all rows and then to all landmarks.  The landmarks
    are taken by pivots; those that depend on others leave rows of zeros, behind all ``ranks``.
    """
    rank, n = out.shape[1], out.shape[2]
    own, low = np.empty((rank, rank)), np.zeros((rank, rank))
    rest, taken, pivots = np.empty(rank), np.zeros(rank, dtype=np.bool_), np.zeros(rank, np.int64)
    for f in range(d.shape[0]):
        for k in range(rank):
            for m in range(rank):
                own[k, m] = d[f, 0, n + 1 + k] + d[f, 0, n + 1 + m] - d[f, k + 1, n + 1 + m]
            rest[k], taken[k] = own[k, k], False
        least = DEPENDENT * rest.max()
        ranks[f] = rank
        for s in range(rank):
            p = -1
            for k in range(rank):
                if not taken[k] and (p < 0 or rest[k] > rest[p]):
                    p = k
            if rest[p] <= least:
                out[f, s:] = 0.0
                ranks[f] = s
                break
            pivots[s], taken[p] = p, True
            root = math.sqrt(rest[p])
            for k in range(rank):
                value = own[k, p]
                for q in range(s):
                    value -= low[k, q] * low[p, q]
                low[k, s] = value / root
                rest[k] -= low[k, s] * low[k, s]
            for i in range(n):
                out[f, s, i] = d[f, 0, i] + d[f, 0, n + 1 + p] - d[f, p + 1, i]
            for q in range(s):
                share = low[p, q]
                for i in range(n):
                    out[f, s, i] -= share * out[f, q, i]
            for i in range(n):
                out[f, s, i] /= root


@compiled()
def centre_and_scale(factors, root):
    """Means 0, squares that sum to 1 in each factor, and rows times the roots of their shares."""
    n = root.shape[0]
    for f in range(factors.shape[0]):
        size, whole = 0.0, 0.0
        for j in range(factors.shape[1]):
            mean = 0.0
            for i in range(n):
                mean += root[i] * root[i] * factors[f, j, i]
            for i in range(n):
                value = (factors[f, j, i] - mean) * root[i]
                whole += (factors[f, j, i] * root[i]) ** 2
                factors[f, j, i] = value
                size += value * value
        # A column of one value has no factor: what is left is rounding.
        scale = 1.0 / math.sqrt(size) if size > 1e-24 * whole else 0.0
        for j in range(factors.shape[1]):
            for i in range(n):
                factors[f, j, i] *= scale

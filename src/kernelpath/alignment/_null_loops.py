"""Compiled loops of the null moments without a grid: the eight sums, few values, exponentials."""

from __future__ import annotations

import math

from kernelpath.utils.compiled import compiled

FAST = {"reassoc", "contract", "nsz"}
MOST_LEVELS = 24  # different values of a column that is its values


@compiled(part=True, fastmath=FAST)
def finish(weight, pad, size, own, mean, square, twice, cubes, third, n, out):
    """The eight sums of ``H K H`` from those of ``K``.

    ``weight`` of the points (from ``pad`` on), ``own`` the kernel of a point with itself, ``mean``
    of its row, ``square`` the sum of its squared row, ``twice`` the kernel times the row means;
    ``cubes`` is the sum of all cubed entries, ``third`` the trace of the third power.
    """
    weight = weight[pad : pad + size]
    grand = 0.0
    for g in range(size):
        grand += weight[g] * mean[g]
    grand /= n
    a1 = 0.0
    a2 = 0.0
    for g in range(size):
        a = mean[g] - 0.5 * grand
        a1 += weight[g] * a
        a2 += weight[g] * a * a
    T = T2 = S2 = S3 = R = mean2 = a3 = aq = aar = aka = ad = dkd = rkr = total = 0.0
    for g in range(size):
        w = weight[g]
        r = mean[g]
        a = r - 0.5 * grand
        ka = twice[g] - 0.5 * grand * n * r
        d = own - 2.0 * a
        length = square[g] - 2.0 * n * a * r - 2.0 * ka + n * a * a + 2.0 * a * a1 + a2
        T += w * d
        T2 += w * square[g]
        mean2 += w * r * r
        S2 += w * d * d
        S3 += w * d * d * d
        R += w * d * length
        a3 += w * a * a * a
        aq += w * a * square[g]
        aar += w * a * a * r
        aka += w * a * ka
        ad += w * a * d
        total += w * d
        dkd += w * d * (own * n * r - 2.0 * ka)
        rkr += w * r * twice[g]
    out[0] = T
    out[1] = T2 - 2.0 * n * mean2 + n * n * grand * grand
    out[2] = third - 3.0 * n * rkr + 3.0 * n * n * grand * mean2 - n * n * n * grand * grand * grand
    out[3] = S2
    out[4] = S3
    out[5] = cubes - 6.0 * aq + 6.0 * n * aar + 6.0 * aka - 2.0 * n * a3 - 6.0 * a2 * a1
    out[6] = R
    out[7] = dkd - 2.0 * ad * total


@compiled()
def finished(weight, own, mean, square, twice, cubes, third, n, out):
    """:func:`finish` for points from the first on."""
    finish(weight, 0, weight.shape[0], own, mean, square, twice, cubes, third, n, out)


@compiled(part=True)
def finish_with_missing(grid, pad, size, rows, missing, cubes, third, n, out):
    """Append the missing rows as a point of their own, alike among themselves only."""
    grid[pad + size] = missing
    mean, square, twice = rows[0], rows[1], rows[2]
    for g in range(size):
        mean[g] /= n
    mean[size] = missing / n
    square[size] = missing
    # ``twice`` was summed with row sums.
    for g in range(size):
        twice[g] /= n
    twice[size] = missing * mean[size]
    more = 1 if missing > 0.0 else 0
    finish(
        grid, pad, size + more, 1.0, mean, square, twice, cubes + missing * missing,
        third + missing * missing * missing, n, out,
    )  # fmt: skip
    grid[pad + size] = 0.0


# -- columns of few values ------------------------------------------------------------------------


@compiled(part=True)
def level_of(value, levels, size, last):
    """Where a value stands among the levels; -1 if it is new.  ``last`` is a guess."""
    if size > 0 and levels[last] == value:
        return last
    for i in range(size):
        if levels[i] == value:
            return i
    return -1


@compiled(part=True)
def few_levels(values, counts, size, missing, gamma, rates, n, rows, weight, K, sums, forms):
    """The same for a column of few values; ``counts`` has the weights and the target columns."""
    row_sum, square, twice = rows[0], rows[1], rows[2]
    for i in range(size):
        weight[i] = counts[0, i]
    for w in range(rates.shape[0]):
        for i in range(size):
            K[i, i] = 1.0
            for j in range(i):
                gap = values[i] - values[j]
                K[i, j] = math.exp(-rates[w] * gamma * gap * gap)
                K[j, i] = K[i, j]
        cubes = 0.0
        for i in range(size):
            row_sum[i] = 0.0
            square[i] = 0.0
            for j in range(size):
                row_sum[i] += weight[j] * K[i, j]
                square[i] += weight[j] * K[i, j] * K[i, j]
                cubes += weight[i] * weight[j] * K[i, j] * K[i, j] * K[i, j]
        third = 0.0
        for i in range(size):
            twice[i] = 0.0
            for j in range(size):
                twice[i] += weight[j] * row_sum[j] * K[i, j]
            for j in range(i + 1):
                inner = 0.0
                for k in range(size):
                    inner += K[i, k] * weight[k] * K[k, j]
                third += (1.0 if i == j else 2.0) * weight[i] * weight[j] * K[i, j] * inner
        for k in range(1, counts.shape[0]):
            form = missing[k] * missing[k]
            for i in range(size):
                for j in range(size):
                    form += counts[k, i] * counts[k, j] * K[i, j]
            forms[w, k - 1] = form
        finish_with_missing(weight, 0, size, rows, missing[0], cubes, third, n, sums[w])


# -- the Laplace kernel: sums that run along the sorted values -------------------------------------


@compiled()
def exponential_sums(x, weight, rate, out):
    """``out[i] = sum_j exp(-rate |x_i - x_j|) weight_j`` for increasing ``x``."""
    run = 0.0
    for i in range(x.shape[0]):
        if i > 0:
            run *= math.exp(-rate * (x[i] - x[i - 1]))
        run += weight[i]
        out[i] = run
    run = 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        out[i] += run
        if i > 0:
            run = (run + weight[i]) * math.exp(-rate * (x[i] - x[i - 1]))


@compiled()
def exponential_triples(x, weight, rate):
    """Sum over triples of points of ``exp(-rate (largest - smallest))``, for increasing ``x``."""
    total = 0.0
    plain = 0.0  # sum of exp(-rate (x_k - x_i)) w_i over i < k
    behind = 0.0  # the same with w_i (3 w_i - 6 (weight up to i))
    before = 0.0  # weight before k
    for k in range(x.shape[0]):
        if k > 0:
            fade = math.exp(-rate * (x[k] - x[k - 1]))
            plain *= fade
            behind *= fade
        w = weight[k]
        total += w * (behind + (6.0 * before + 3.0 * w) * plain) + w * w * w
        before += w
        plain += w
        behind += w * (3.0 * w - 6.0 * before)
    return total

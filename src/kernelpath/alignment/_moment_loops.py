"""Compiled loops of the Chebyshev moments: arrays in, arrays out.

The sums over rows are the only part that touches the data.  Rows sorted by class need neither a
multiplication by the target nor a load of it; every coding of the classes is a short combination
of the class sums afterwards.
"""

from __future__ import annotations

import numpy as np

from kernelpath.utils.compiled import compiled

# Reassociation lets the compiler keep several partial sums; NaN and inf keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
BLOCK = 640  # rows whose Chebyshev polynomials stay in the first-level cache


def whole_sweeps(degree):
    """Round degrees up to what the loops compute: six at once, then sweeps of four."""
    return 6 + 4 * (np.maximum(degree - 3, 0) // 4)


@compiled(part=True, fastmath=FAST)
def _add_sums(x, center, scale, degree, two_u, prev, cur, out):
    """``out[k] += sum_j T_k((x_j - center) * scale)`` for one block of rows."""
    m = x.shape[0]
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    s4 = 0.0
    s5 = 0.0
    for j in range(m):
        u = (x[j] - center) * scale
        w = u + u
        t2 = w * u - 1.0
        t3 = w * t2 - u
        t4 = w * t3 - t2
        t5 = w * t4 - t3
        two_u[j] = w
        prev[j] = t4
        cur[j] = t5
        s1 += u
        s2 += t2
        s3 += t3
        s4 += t4
        s5 += t5
    out[0] += m
    out[1] += s1
    out[2] += s2
    out[3] += s3
    out[4] += s4
    out[5] += s5
    k = 6
    # Four degrees a sweep: three loads and two stores for eight operations.  A sweep for a single
    # degree costs nearly as much, so callers round degrees up (``whole_sweeps``).
    while k + 3 < degree:
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        for j in range(m):
            w = two_u[j]
            t0 = w * cur[j] - prev[j]
            t1 = w * t0 - cur[j]
            t2 = w * t1 - t0
            t3 = w * t2 - t1
            prev[j] = t2
            cur[j] = t3
            s0 += t0
            s1 += t1
            s2 += t2
            s3 += t3
        out[k] += s0
        out[k + 1] += s1
        out[k + 2] += s2
        out[k + 3] += s3
        k += 4


@compiled(part=True, inline="always")
def gather(x, order, out):
    """``out[j] = x[order[j]]``, as float64."""
    for j in range(order.shape[0]):
        out[j] = x[order[j]]


@compiled(part=True, inline="always")
def add_classes(x, starts, center, scale, degree, scratch, out):
    """Chebyshev sums of one column sorted by class, in pieces that stay in cache.

    The pieces have equal size: a short rest would cost as much as a full one.
    """
    for g in range(starts.shape[0] - 1):
        count = starts[g + 1] - starts[g]
        pieces = (count + BLOCK - 1) // BLOCK
        for i in range(pieces):
            lo = starts[g] + i * count // pieces
            hi = starts[g] + (i + 1) * count // pieces
            _add_sums(x[lo:hi], center, scale, degree, scratch[0], scratch[1], scratch[2], out[g])


@compiled()
def add_group_sums(values, features, order, starts, center, scale, degree, out):
    """Chebyshev sums per class.

    Feature ``f`` is the row ``features[f]`` of ``values``; class ``g`` has its entries
    ``order[starts[g]:starts[g + 1]]``.  ``out`` is (n_features, n_groups, max_degree).
    """
    x = np.empty(order.shape[0])
    scratch = np.empty((3, BLOCK))
    for f in range(features.shape[0]):
        gather(values[features[f]], order, x)
        add_classes(x, starts, center[f], scale[f], degree[f], scratch, out[f])


@compiled(part=True, fastmath=FAST)
def _add_weighted_sums(x, weight, target, center, scale, degree, two_u, prev, cur, out_w, out_t):
    """Sums of ``T_k`` against two columns at once: the weights and one target column."""
    m = x.shape[0]
    w0 = 0.0
    w1 = 0.0
    t0 = 0.0
    t1 = 0.0
    for j in range(m):
        u = (x[j] - center) * scale
        two_u[j] = 2.0 * u
        prev[j] = 1.0
        cur[j] = u
        w0 += weight[j]
        w1 += weight[j] * u
        t0 += target[j]
        t1 += target[j] * u
    out_w[0] += w0
    out_w[1] += w1
    out_t[0] += t0
    out_t[1] += t1
    k = 2
    while k + 1 < degree:  # two degrees a sweep; degrees are even (``whole_sweeps``)
        w0 = 0.0
        w1 = 0.0
        t0 = 0.0
        t1 = 0.0
        for j in range(m):
            a = two_u[j] * cur[j] - prev[j]
            b = two_u[j] * a - cur[j]
            prev[j] = a
            cur[j] = b
            w0 += weight[j] * a
            w1 += weight[j] * b
            t0 += target[j] * a
            t1 += target[j] * b
        out_w[k] += w0
        out_w[k + 1] += w1
        out_t[k] += t0
        out_t[k + 1] += t1
        k += 2


@compiled()
def add_column_sums(values, ptr, columns, shared, center, scale, degree, out):
    """Chebyshev sums against general target columns.

    Feature ``f`` has the points ``values[ptr[f]:ptr[f + 1]]``; ``columns`` (n_columns, n_points)
    is the same for all features when ``shared`` and follows ``ptr`` otherwise.  ``out`` is
    (n_features, n_columns, max_degree).
    """
    two_u = np.empty(BLOCK)
    prev = np.empty(BLOCK)
    cur = np.empty(BLOCK)
    spare = np.empty(out.shape[2])
    for f in range(ptr.shape[0] - 1):
        offset = ptr[f] if shared else 0
        for lo in range(ptr[f], ptr[f + 1], BLOCK):
            hi = min(lo + BLOCK, ptr[f + 1])
            weight = columns[0, lo - offset : hi - offset]
            for c in range(1, columns.shape[0]):
                sums = out[f, 0] if c == 1 else spare
                target = columns[c, lo - offset : hi - offset]
                _add_weighted_sums(
                    values[lo:hi], weight, target, center[f], scale[f], degree[f],
                    two_u, prev, cur, sums, out[f, c],
                )  # fmt: skip


@compiled(fastmath=FAST)
def quadratic_forms(sums, combine, table, even, odd, tail, corner, degree, mass, total_weight, out):
    """Alignment numerator, trace and error bound of every feature from its Chebyshev sums.

    ``sums`` is (n_features, n_groups, max_degree) and ``combine`` (1 + n_columns, n_groups) turns
    group sums into the sums of the weights and of the target columns.  The tables hold the even
    and the odd block of ``d`` in Chebyshev form; ``tail[k]`` is the mass of the dropped
    coefficients that pair with degree ``k`` and ``corner`` that of pairs of dropped degrees.
    ``out`` is (n_features, 3): numerator, trace, bound on the error of their ratio.
    """
    eps = 2.3e-16
    n_columns = combine.shape[0]
    half = np.empty(even.shape[1])
    product = np.empty(even.shape[1])
    full = np.empty(sums.shape[2])
    for f in range(sums.shape[0]):
        t = table[f]
        q = degree[t]
        numerator = 0.0
        trace = 0.0
        error_numerator = 0.0
        error_trace = 0.0
        for c in range(n_columns):
            for k in range(q):
                full[k] = 0.0
            for g in range(combine.shape[1]):
                w = combine[c, g]
                for k in range(q):
                    full[k] += w * sums[f, g, k]
            form = 0.0
            rounding = 0.0
            for parity in range(2):
                size = (q - parity + 1) // 2
                width = (size + 3) // 4 * 4  # the tables are padded with zeros
                block = even[t] if parity == 0 else odd[t]
                for b in range(width):
                    product[b] = 0.0
                for a in range(size):  # by columns of the symmetric block: no horizontal sums
                    half[a] = full[2 * a + parity]
                    w = half[a]
                    for b in range(width):
                        product[b] += w * block[a, b]
                for a in range(size):
                    form += half[a] * product[a]
                    rounding += abs(product[a])
            dropped = 0.0
            for k in range(q):
                dropped += tail[t, k] * abs(full[k])
            m = total_weight if c == 0 else mass[c - 1]
            error = 2.0 * m * dropped + corner[t] * m * m + 4.0 * eps * m * rounding
            if c == 0:
                trace = form / total_weight
                error_trace = error / total_weight
            else:
                numerator -= form
                error_numerator += error
        out[f, 0] = numerator
        out[f, 1] = trace
        if trace > error_trace:
            out[f, 2] = (error_numerator + abs(numerator) / trace * error_trace) / (
                trace - error_trace
            )
        else:
            out[f, 2] = np.inf

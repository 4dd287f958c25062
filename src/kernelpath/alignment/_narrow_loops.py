"""Compiled contractions for Gaussian kernels that are narrow against the range of the column.

Same block layout as in ``_point_loops``.  Here ``k`` rather than ``1 - k`` is summed: a narrow
kernel is far from 1 nearly everywhere, so nothing cancels.
"""

from __future__ import annotations

import math

import numpy as np

from kernelpath.utils.compiled import compiled

FAST = {"reassoc", "contract", "nsz"}
BLOCK = 512


@compiled(fastmath=FAST)
def _rotate(re, im, step_re, step_im):
    for j in range(re.shape[0]):
        a = re[j] * step_re[j] - im[j] * step_im[j]
        im[j] = re[j] * step_im[j] + im[j] * step_re[j]
        re[j] = a


@compiled(fastmath=FAST)
def _dot(a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@compiled()
def fourier(values, ptr, columns, shared, which, center, sigma, reach, mass, out):
    """Periodised Gaussian as a cosine series: diagonal, so a feature costs points x harmonics.

    The period leaves ``reach * sigma`` beyond the range and the series ends at frequency
    ``reach / sigma``; both errors are at most ``2 exp(-reach^2 / 2)``.
    """
    n_columns = columns.shape[0]
    re = np.empty(BLOCK)
    im = np.empty(BLOCK)
    step_re = np.empty(BLOCK)
    step_im = np.empty(BLOCK)
    error = 4.0 * math.exp(-0.5 * reach * reach)
    for f in which:
        offset = ptr[f] if shared else 0
        lo = np.inf
        hi = -np.inf
        for i in range(ptr[f], ptr[f + 1]):
            lo = min(lo, values[i])
            hi = max(hi, values[i])
        omega = 2.0 * math.pi / ((hi - lo) + reach * sigma[f])
        n_harmonics = math.ceil(reach / (omega * sigma[f]))
        sums = np.zeros((n_harmonics, n_columns, 2))
        for start in range(ptr[f], ptr[f + 1], BLOCK):
            end = min(start + BLOCK, ptr[f + 1])
            m = end - start
            for j in range(m):
                angle = (values[start + j] - center[f]) * omega
                step_re[j] = math.cos(angle)
                step_im[j] = math.sin(angle)
                re[j] = step_re[j]
                im[j] = step_im[j]
            for k in range(n_harmonics):
                for c in range(n_columns):
                    column = columns[c, start - offset : end - offset]
                    sums[k, c, 0] += _dot(column, re[:m])
                    sums[k, c, 1] += _dot(column, im[:m])
                _rotate(re[:m], im[:m], step_re[:m], step_im[:m])
        total = 0.0
        for i in range(ptr[f], ptr[f + 1]):
            total += columns[0, i - offset]
        numerator = 0.0
        trace = 0.0
        for k in range(n_harmonics):
            z = (k + 1) * omega * sigma[f]
            weight = 2.0 * omega * sigma[f] / math.sqrt(2.0 * math.pi) * math.exp(-0.5 * z * z)
            trace += weight * (total - (sums[k, 0, 0] ** 2 + sums[k, 0, 1] ** 2) / total)
            for c in range(1, n_columns):
                numerator += weight * (sums[k, c, 0] ** 2 + sums[k, c, 1] ** 2)
        bound = 0.0
        for c in range(1, n_columns):
            bound += mass[c - 1] * mass[c - 1]
        out[f, 0] = numerator
        out[f, 1] = trace
        out[f, 2] = error * (bound + numerator / trace * total) / trace


@compiled()
def _window_cost(x, cutoff):
    pairs = 0.0
    start = 0
    for j in range(x.shape[0]):
        while x[j] - x[start] > cutoff:
            start += 1
        pairs += j - start
    return pairs


@compiled()
def _window_sums(x, weights, sigma, cutoff, row):
    """Pairs closer than the cutoff, exactly; farther ones are below 1e-16."""
    numerator = 0.0
    trace = 0.0
    start = 0
    n_columns = weights.shape[0]
    for j in range(x.shape[0]):
        while x[j] - x[start] > cutoff:
            start += 1
        row[:] = 0.0
        for i in range(start, j):
            z = (x[j] - x[i]) / sigma
            k = math.exp(-0.5 * z * z)
            for c in range(n_columns):
                row[c] += weights[c, i] * k
        trace += weights[0, j] * (weights[0, j] + 2.0 * row[0])
        for c in range(1, n_columns):
            numerator += weights[c, j] * (weights[c, j] + 2.0 * row[c])
    return numerator, trace


@compiled()
def _exponential_sums(x, weights, sigma, rates, factors, state):
    """The Gaussian as a sum of complex exponentials: one forward recursion per exponential."""
    numerator = 0.0
    trace = 0.0
    n_columns = weights.shape[0]
    state[:] = 0.0
    for j in range(x.shape[0]):
        if j > 0:
            gap = (x[j] - x[j - 1]) / sigma
            for m in range(rates.shape[0]):
                fade = np.exp(-rates[m] * gap)
                for c in range(n_columns):
                    state[m, c] *= fade
        for c in range(n_columns):
            pull = 0.0
            for m in range(rates.shape[0]):
                pull += (factors[m] * state[m, c]).real
            value = weights[c, j] * (weights[c, j] + 2.0 * pull)
            if c == 0:
                trace += value
            else:
                numerator += value
        for m in range(rates.shape[0]):
            for c in range(n_columns):
                state[m, c] += weights[c, j]
    return numerator, trace


@compiled()
def gaussian_sorted(
    values, ptr, columns, shared, which, sigma, rates, factors, error, mass, window_pairs, out
):
    """Sort, then sum the pairs in a window if they are few, or run the exponentials.

    The cost does not depend on how narrow the kernel is.  Equal values are merged first.
    """
    n_columns = columns.shape[0]
    row = np.empty(n_columns)
    state = np.empty((rates.shape[0], n_columns), dtype=np.complex128)
    for f in which:
        offset = ptr[f] if shared else 0
        order = np.argsort(values[ptr[f] : ptr[f + 1]])
        x = np.empty(order.shape[0])
        weights = np.zeros((n_columns, order.shape[0]))
        m = 0
        for k in order:
            v = values[ptr[f] + k]
            if m == 0 or x[m - 1] != v:
                x[m] = v
                m += 1
            for c in range(n_columns):
                weights[c, m - 1] += columns[c, ptr[f] + k - offset]
        x = x[:m]
        total = weights[0, :m].sum()
        cutoff = 8.6 * sigma[f]
        kernel_error = 1e-16
        if _window_cost(x, cutoff) <= window_pairs * m:
            numerator, square = _window_sums(x, weights[:, :m], sigma[f], cutoff, row)
        else:
            numerator, square = _exponential_sums(
                x, weights[:, :m], sigma[f], rates, factors, state
            )
            kernel_error = error
        trace = total - square / total
        bound = 0.0
        for c in range(1, n_columns):
            bound += mass[c - 1] * mass[c - 1]
        out[f, 0] = numerator
        out[f, 1] = trace
        if trace > 0.0:
            out[f, 2] = kernel_error * (bound + abs(numerator) / trace * total) / trace
        else:
            out[f, 2] = np.inf

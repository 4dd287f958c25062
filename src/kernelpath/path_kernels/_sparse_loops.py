"""Compiled sums over the stored entries of sparse columns.

Sparse columns use the kernel shifted to vanish where either value is 0,

    tilde(x, z) = d(x, 0) + d(0, z) - d(x, z),

which is the same after centring and costs only pairs of non-zeros.  Column ``f`` has the entries
``ptr[f]:ptr[f + 1]``, sorted by row; the first ``split[f]`` of them are training rows.  Pairs are
visited in one order everywhere: training rows with earlier ones and themselves, then new rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelpath.kernels import FeatureKernel
from kernelpath.kernels._pairs import pairs_of, per_kernel
from kernelpath.kernels.codes import POLYNOMIAL
from kernelpath.utils.compiled import compiled

ONE, FEW, PAIRS, EVALUATE = 0, 1, 2, 3


@compiled(kept=False)
def _tilde_of_powers(x, z, gamma, zero, factors, settings):
    """Polynomial columns arrive centred and scaled, and ``zero`` is where the raw value 0 went."""
    total = 0.0
    x_power, z_power, zero_power = 1.0, 1.0, 1.0
    for b in range(factors.shape[0]):
        x_power *= x
        z_power *= z
        zero_power *= zero
        total += factors[b] * (x_power - zero_power) * (z_power - zero_power)
    return total


@per_kernel
def tilde(kernel: type[FeatureKernel]) -> Callable:
    """Make the shifted kernel of two non-zero values, for a kernel of the package."""
    if kernel.code == POLYNOMIAL:
        return _tilde_of_powers
    shifted = pairs_of(kernel).shifted

    @compiled(kept=False)
    def tilde(x, z, gamma, zero, factors, settings):
        return shifted(x, z, gamma, *settings)

    return tilde


@compiled()
def code_columns(ptr, values, limit, codes, distinct, n_distinct):
    """Replace the values of each column by codes of its distinct values, if they are few.

    ``distinct[ptr[f]:]`` receives the sorted distinct values, ``n_distinct[f]`` their number, or
    ``limit + 1`` where there are more than ``limit``.
    """
    for f in range(ptr.shape[0] - 1):
        x = values[ptr[f] : ptr[f + 1]]
        code = codes[ptr[f] : ptr[f + 1]]
        levels = distinct[ptr[f] : ptr[f + 1]]
        count = 0
        for i in range(x.shape[0]):
            k = 0
            if count > 0 and levels[count - 1] < x[i]:
                k = count
            else:
                while k < count and levels[k] < x[i]:
                    k += 1
            if k == count or levels[k] != x[i]:
                if count == limit:
                    count = limit + 1
                    break
                for m in range(count, k, -1):
                    levels[m] = levels[m - 1]
                levels[k] = x[i]
                count += 1
        n_distinct[f] = count
        if count <= limit:
            for i in range(x.shape[0]):
                code[i] = np.searchsorted(levels[:count], x[i])


@per_kernel
def fill_tables(kernel: type[FeatureKernel]) -> Callable:
    """Make the loop that evaluates a kernel once per pair of distinct values, or of entries."""
    value_of = tilde(kernel)

    @compiled()
    def fill_tables(
        columns, ptr, split, values, distinct, n_distinct, kinds, gamma, zero, factors, settings,
        start, tables,
    ):  # fmt: skip
        for f in columns:
            position = start[f]
            if kinds[f] <= FEW:
                levels = distinct[ptr[f] : ptr[f] + n_distinct[f]]
                for a in range(levels.shape[0]):
                    for b in range(levels.shape[0]):
                        tables[position] = value_of(
                            levels[a], levels[b], gamma[f], zero[f], factors[f], settings
                        )
                        position += 1
            elif kinds[f] == PAIRS:
                middle = ptr[f] + split[f]
                for a in range(ptr[f], ptr[f + 1]):
                    for b in range(ptr[f], min(a + 1, middle)):
                        tables[position] = value_of(
                            values[a], values[b], gamma[f], zero[f], factors[f], settings
                        )
                        position += 1

    return fill_tables


@compiled()
def _add_one(rows, split, value, n_train, only_new, train, new):
    """Add the same number for all pairs of entries of a column, two rows at a time."""
    a = split if only_new else 0
    while a + 1 < split:
        first, second = train[rows[a]], train[rows[a + 1]]
        for b in range(a + 1):
            first[rows[b]] += value
            second[rows[b]] += value
        second[rows[a + 1]] += value
        a += 2
    if a < split:
        first = train[rows[a]]
        for b in range(a + 1):
            first[rows[b]] += value
        a += 1
    while a + 1 < rows.shape[0]:
        first, second = new[rows[a] - n_train], new[rows[a + 1] - n_train]
        for b in range(split):
            first[rows[b]] += value
            second[rows[b]] += value
        a += 2
    if a < rows.shape[0]:
        first = new[rows[a] - n_train]
        for b in range(split):
            first[rows[b]] += value


@compiled()
def _pairs_before(a, split):
    """Number of pairs visited before entry ``a`` of a column with ``split`` training entries."""
    if a <= split:
        return a * (a + 1) // 2
    return split * (split + 1) // 2 + (a - split) * split


@per_kernel
def scatter(kernel: type[FeatureKernel]) -> Callable:
    """Make the loop that adds weighted columns to the triangle of ``train`` and to ``new``.

    With ``only_new`` training rows are but partners of the new ones, and ``train`` may be empty.
    ``rows`` and ``codes`` are unsigned: signed indices would be tested for wrapping around.
    Column by column beats row by row, although the rows of the result leave the cache: the
    lengths of the inner loop are 1, 2, 3, ..., which the processor predicts.
    """
    value_of = tilde(kernel)

    @compiled()
    def scatter(
        columns, weights, ptr, split, rows, values, codes, n_distinct, kinds, gamma, zero, factors,
        settings, start, tables, n_train, only_new, train, new,
    ):  # fmt: skip
        for position in range(columns.shape[0]):
            f = columns[position]
            w = weights[position]
            begin = ptr[f]
            middle = begin + split[f]
            table = start[f]
            if kinds[f] == ONE:
                own = rows[begin : ptr[f + 1]]
                _add_one(own, split[f], w * tables[table], n_train, only_new, train, new)
                continue
            for a in range(middle if only_new else begin, ptr[f + 1]):
                end = min(a + 1, middle)
                target = train[rows[a]] if a < middle else new[rows[a] - n_train]
                if kinds[f] == FEW:
                    first = table + codes[a] * n_distinct[f]
                    level = tables[first : first + n_distinct[f]]
                    for b in range(begin, end):
                        target[rows[b]] += w * level[codes[b]]
                elif kinds[f] == PAIRS:
                    first = table + _pairs_before(a - begin, split[f])
                    for b in range(begin, end):
                        target[rows[b]] += w * tables[first + b - begin]
                else:
                    for b in range(begin, end):
                        target[rows[b]] += w * value_of(
                            values[a], values[b], gamma[f], zero[f], factors[f], settings
                        )

    return scatter

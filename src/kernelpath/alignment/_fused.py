"""The common case in one sweep: continuous feature-major columns, classes, RBF, default width.

Statistics, width, table, moments and bound of a feature follow each other while its column is in
cache.  Whatever is not plain sailing (constant, two-valued or long columns, a bound that fails)
is left to the general route, which starts from the statistics found here.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpath.alignment import _moment_loops
from kernelpath.alignment._moment_loops import BLOCK, add_classes, gather, quadratic_forms
from kernelpath.alignment._stats_loops import BLOCK as STATS_BLOCK
from kernelpath.alignment._stats_loops import plain_column_stats
from kernelpath.alignment.accumulators import ColumnStatistics
from kernelpath.alignment.expansions import (
    GRID_RATIO,
    TableStack,
    chebyshev_table,
    grid_index,
    stack_tables,
)
from kernelpath.utils.compiled import compiled

SHORTEST_LENGTH, LONGEST_LENGTH = 2.0, 12.0  # range / std of the columns served here


@compiled()
def _fused_pass(
    values, first, order, starts, combine, mass, total, tol, grid_step, grid_first, sweep_degree,
    degree, even, odd, tail, corner, sums, statistics, out, done,
):  # fmt: skip
    """Align the features ``first``, ``first + 1``, ... of a feature-major table.

    ``statistics`` (n_features, 6), ``out`` (n_features, 3) with numerator, trace and bound, and
    ``done`` (n_features,) are filled.  Tables are for the grid lengths ``exp(grid_step * k)``
    with ``k`` from ``grid_first``; ``sums`` (1, n_classes, largest sweep degree) is overwritten.
    """
    n_tables = degree.shape[0]
    gaps = np.empty(STATS_BLOCK)
    scratch = np.empty((3, BLOCK))
    x = np.empty(order.shape[0])
    table = np.zeros(1, dtype=np.int64)
    for f in range(statistics.shape[0]):
        row = values[first + f]
        stats = statistics[f]
        plain_column_stats(row, gaps, 0, gaps, stats)
        done[f] = False
        span = stats[1] - stats[0]
        if stats[4] == 1.0 or not (span > 1e-140 and span < 1e140):
            continue
        sigma = math.sqrt(stats[3] / order.shape[0])
        center = 0.5 * stats[0] + 0.5 * stats[1]
        half = max(stats[1] - center, center - stats[0])
        ratio = math.log(2.0 * half / sigma) / grid_step
        if not (ratio > grid_first - 1 and ratio < grid_first + n_tables - 1):  # also for NaN
            continue
        k = math.ceil(ratio - 1e-9)
        table[0] = k - grid_first
        scale = 2.0 / (math.exp(grid_step * k) * sigma)
        gather(row, order, x)
        for g in range(sums.shape[1]):
            for i in range(sums.shape[2]):
                sums[0, g, i] = 0.0
        add_classes(x, starts, center, scale, sweep_degree[table[0]], scratch, sums[0])
        quadratic_forms(
            sums, combine, table, even, odd, tail, corner, degree, mass, total, out[f : f + 1]
        )
        if out[f, 1] > 0.0:
            done[f] = out[f, 2] <= tol * max(out[f, 0] / out[f, 1], 1.0)


@functools.lru_cache(maxsize=16)
def _tables(key: int) -> tuple[int, TableStack]:
    """First grid index of the pass, and the tables of all its grid lengths."""
    first, last = grid_index(np.array([SHORTEST_LENGTH, LONGEST_LENGTH])).tolist()
    return first, stack_tables([chebyshev_table(k, key) for k in range(first, last + 1)])


@dataclass(frozen=True)
class FusedPass:
    """Everything the pass needs to know of a target.

    Attributes
    ----------
    order, starts : ndarray
        Rows sorted by class, and where the classes start.
    combine : ndarray of shape (1 + n_columns, n_classes)
        Turns class sums into sums of the weights and of the target columns.
    mass : ndarray of shape (n_columns,)
    tol : float
    key : int
        Half decades of the kernel tolerance.
    """

    order: NDArray[np.intp]
    starts: NDArray[np.int64]
    combine: NDArray[np.float64]
    mass: NDArray[np.float64]
    tol: float
    key: int

    def run(
        self, values: NDArray, features: slice
    ) -> tuple[ColumnStatistics, NDArray[np.float64], NDArray[np.bool_]]:
        """Statistics of all columns; numerator, trace and bound of those that are done."""
        n = features.stop - features.start
        statistics = ColumnStatistics(n)
        statistics.total_weight = float(len(self.order))
        forms, done = np.zeros((n, 3)), np.zeros(n, dtype=bool)
        first, stack = _tables(self.key)
        sweep_degree = _moment_loops.whole_sweeps(stack.degree)
        _fused_pass(
            values,
            features.start,
            self.order,
            self.starts,
            self.combine,
            self.mass,
            statistics.total_weight,
            self.tol,
            math.log(GRID_RATIO),
            first,
            sweep_degree,
            stack.degree,
            stack.even,
            stack.odd,
            stack.tail,
            stack.corner,
            np.empty((1, len(self.starts) - 1, int(sweep_degree.max()))),
            statistics.rows,
            forms,
            done,
        )
        return statistics, forms, done

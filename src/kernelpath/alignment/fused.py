"""Statistics and moments of a column in one pass: see ``_fused_loops``."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpath.alignment import _fused_loops, _moment_loops
from kernelpath.alignment.accumulators import ColumnStatistics
from kernelpath.alignment.expansions import (
    GRID_RATIO,
    TableStack,
    chebyshev_table,
    grid_index,
    stack_tables,
)

SHORTEST_LENGTH, LONGEST_LENGTH = 2.0, 12.0  # range / std of the columns served here


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
        _fused_loops.fused_pass(
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
            _moment_loops.whole_sweeps(stack.degree),
            stack.degree,
            stack.even,
            stack.odd,
            stack.tail,
            stack.corner,
            statistics.rows,
            forms,
            done,
        )
        return statistics, forms, done

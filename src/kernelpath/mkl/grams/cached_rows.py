"""A kernel matrix by its rows, computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.grams._row_loops import add_rows
from kernelpath.mkl.grams.base import Inverse, Rows

CACHE_BYTES = 2_000_000_000  # of kernel rows; 20,000 rows fit completely
TILE_ROWS = 256  # rows that are computed at a time


class CachedRows:
    """A matrix whose rows are computed when they are asked for and kept in single precision.

    Parameters
    ----------
    n_rows : int
    compute : callable
        From at most `TILE_ROWS` row numbers to these rows, of shape (n, n_rows).
    diagonal_sum : float
        The trace.
    n_bytes : int, optional
        Memory for rows; when it is full, those that were not asked for longest make room.

    Attributes
    ----------
    n_computed : int
        Rows computed so far.
    """

    def __init__(
        self,
        n_rows: int,
        compute: Callable[[Rows], NDArray],
        diagonal_sum: float,
        n_bytes: int | None = None,
    ) -> None:
        self.n_rows, self._compute, self._trace = n_rows, compute, diagonal_sum
        budget = CACHE_BYTES if n_bytes is None else n_bytes
        self._capacity = max(min(n_rows, budget // (4 * n_rows)), TILE_ROWS)
        # Memory that is never written to costs nothing.
        self._kept = np.empty((self._capacity, n_rows), dtype=np.float32)
        self._slot = np.full(n_rows, -1, dtype=np.intp)
        self._owner = np.full(self._capacity, -1, dtype=np.intp)
        self._asked = np.zeros(self._capacity, dtype=np.int64)
        self._clock = self.n_computed = 0

    def trace(self) -> float:
        """Sum of the diagonal."""
        return self._trace

    def block(self, rows: Rows, columns: Rows) -> NDArray[np.float64]:
        """``K[rows][:, columns]``."""
        part = np.empty((len(rows), len(columns)))
        for first in range(0, len(rows), TILE_ROWS):
            slots = self._slots(rows[first : first + TILE_ROWS])
            part[first : first + TILE_ROWS] = self._kept[slots[:, None], columns]
        return part

    def times(self, u: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
        """``K[:, rows] u``, added up in double precision."""
        total = np.zeros(self.n_rows)
        used = np.flatnonzero(u)
        for first in range(0, len(used), TILE_ROWS):
            some = used[first : first + TILE_ROWS]
            slots = self._slots(rows[some])
            add_rows(self._kept, slots, u[some], total)
        return total

    def inverse(self, ridge: float) -> Inverse | None:
        """None: there is no short cut."""
        return None

    def _slots(self, rows: Rows) -> NDArray[np.intp]:
        """Where rows are kept, after those that were missing are computed."""
        self._clock += 1
        slots = self._slot[rows]
        self._asked[slots[slots >= 0]] = self._clock
        missing = np.unique(rows[slots < 0])
        if len(missing):
            free = self._room(len(missing))
            self._slot[self._owner[free][self._owner[free] >= 0]] = -1
            self._kept[free] = self._compute(missing)
            self._owner[free], self._slot[missing] = missing, free
            self._asked[free] = self._clock
            self.n_computed += len(missing)
        return self._slot[rows]

    def _room(self, count: int) -> NDArray[np.intp]:
        """Slots that are empty, or whose rows were not asked for longest."""
        return np.argpartition(self._asked, count - 1)[:count]

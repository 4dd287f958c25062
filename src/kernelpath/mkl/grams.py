r"""Kernel matrices of many rows: what a machine asks of one is small blocks, and products.

Both are to be had from a factor, or from rows of single precision that are computed when they are
asked for, so with many rows the matrix itself need not exist.  Where few rows make it affordable
it is a plain array; :func:`block` reads both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.utils.compiled import compiled

Rows = NDArray[np.intp]
Inverse = Callable[[NDArray[np.float64]], NDArray[np.float64]]
MOST_INVERTED = 2000  # rank: a larger system is left to conjugate gradients
CACHE_BYTES = 2_000_000_000  # of kernel rows; 20,000 rows fit completely
TILE_ROWS = 256  # rows that are computed at a time


@runtime_checkable
class Gram(Protocol):
    """A symmetric positive semidefinite matrix that can be asked for parts of it.

    Attributes
    ----------
    n_rows : int
    """

    n_rows: int

    def trace(self) -> float:
        """Sum of the diagonal."""

    def block(self, rows: Rows, columns: Rows) -> NDArray[np.float64]:
        """``K[rows][:, columns]`` in double precision; both are to be few."""

    def times(self, u: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
        """``K[:, rows] u``, where ``u`` has one number for each of these rows."""

    def inverse(self, ridge: float) -> Inverse | None:
        """Product with ``(K + ridge)^-1``, to rounding, or None where it is too dear."""


def block(K: NDArray[np.float64] | Gram, rows: Rows, columns: Rows) -> NDArray[np.float64]:
    """Part of a kernel matrix, whether it is an array or not.

    Examples
    --------
    >>> two = np.array([0, 2])
    >>> block(np.arange(9.0).reshape(3, 3), two, two).tolist()
    [[0.0, 2.0], [6.0, 8.0]]
    """
    return K[np.ix_(rows, columns)] if isinstance(K, np.ndarray) else K.block(rows, columns)


class LowRank:
    r"""A matrix by its factor, :math:`K = F^\top \operatorname{diag}(s) F`.

    Parameters
    ----------
    factor : ndarray of shape (rank, n_rows)
        Not copied.
    scale : ndarray of shape (rank,)
        Not negative.

    Examples
    --------
    >>> K = LowRank(np.array([[1.0, 2.0, 3.0]]), np.array([2.0]))
    >>> K.times(np.array([1.0]), np.array([1])).tolist()
    [4.0, 8.0, 12.0]
    """

    def __init__(self, factor: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        self.factor, self.scale = factor, scale
        self.rank, self.n_rows = factor.shape

    def trace(self) -> float:
        """Sum of the diagonal."""
        return float(self.scale @ np.einsum("ij,ij->i", self.factor, self.factor))

    def block(self, rows: Rows, columns: Rows) -> NDArray[np.float64]:
        """``K[rows][:, columns]``."""
        left = self.factor[:, rows]
        right = left if columns is rows else self.factor[:, columns]
        return left.T @ (right * self.scale[:, None])

    def times(self, u: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
        """``K[:, rows] u``, in the number of rows times the rank."""
        part = self.factor if len(rows) == self.n_rows else self.factor[:, rows]
        return (self.scale * (part @ u)) @ self.factor

    def inverse(self, ridge: float) -> Inverse | None:
        """Product with the inverse, by a system of the size of the rank."""
        if self.rank > MOST_INVERTED:
            return None
        return low_rank_inverse(self.factor * np.sqrt(self.scale)[:, None], ridge)


def low_rank_inverse(factor: NDArray[np.float64], ridge: float) -> Inverse:
    """Product with ``(F' F + ridge)^-1``: a system of the size of the rank instead of the rows."""
    if len(factor) == 0:
        return lambda B: B / ridge
    small = factor @ factor.T
    small.flat[:: len(small) + 1] += ridge
    root = linalg.cho_factor(small, lower=True, overwrite_a=True)

    def product(B: NDArray[np.float64]) -> NDArray[np.float64]:
        return (B - factor.T @ linalg.cho_solve(root, factor @ B)) / ridge

    return product


@compiled()
def add_rows(kept, slots, factors, total):
    """Add ``factors[t] * kept[slots[t]]`` to ``total``, in double precision."""
    for t in range(slots.shape[0]):
        row = kept[slots[t]]
        factor = factors[t]
        for j in range(total.shape[0]):
            total[j] += factor * row[j]


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

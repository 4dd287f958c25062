r"""Which groups could have a weight, without looking at all of them again.

With :math:`\|G_k^\top \theta'\|` known at some :math:`\theta'` and :math:`\sigma_k` a bound of the
spectral norm of a factor,

.. math:: \|G_k^\top \theta\|_F \le \|G_k^\top \theta'\|_F + \sigma_k \|\theta - \theta'\|_F,

and a group for which this is at most the strength has no weight and cannot spoil the dual point:
it is left out with proof.  Only the others are looked at, and then this is their new
:math:`\theta'`.  Factors are kept in single precision as far as a budget goes, with a bound of
the rounding errors; what is near the strength is decided in double precision.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.tracers.additive.problem import Array, Factors

STORED = 2**26  # numbers in single precision that are kept: 256 MB
BLOCK = 2**20  # numbers of the factors that are made at a time
UNIT = 2.0**-24  # of rounding to single precision
MOST = 0.25  # share of a block from which on all of it is multiplied


class Screening:
    """Upper bounds of ``||G_k' theta||`` for all groups, as sharp as needed.

    Parameters
    ----------
    factors : Factors
    theta : ndarray of shape (n_columns, n_rows)
        Where the first bounds are taken, exactly.
    stored : int
        Numbers that may be kept.

    Attributes
    ----------
    bounds : ndarray of shape (n_groups,)
        Upper bounds at the point of the dual where each group was looked at last.
    n_looked : int
        Groups that were looked at so far, all times counted.
    """

    def __init__(self, factors: Factors, theta: Array, stored: int = STORED) -> None:
        self._factors, n = factors, factors.n_groups
        self.bounds, self._spectral = np.zeros(n), np.zeros(n)
        self._known = np.zeros(n, dtype=np.intp)  # at which point
        self._points = [theta]
        self._slack = (theta.shape[1] + 3) * UNIT
        self._blocks: list[_Block] = []
        self.n_looked = 0
        start = 0
        while start < n:
            stop = min(start + factors.together(BLOCK), n)
            groups = np.arange(start, stop)
            rows, ptr = factors.rows(groups)
            self.bounds[groups] = norms_of(rows, theta, ptr)
            self._spectral[groups] = spectral_bounds(rows, ptr)
            kept = None
            if rows.size <= stored:
                stored -= rows.size
                kept = rows.astype(np.float32), ptr
            self._blocks.append(_Block(start, stop, kept))
            self.n_looked += stop - start
            start = stop

    def above(self, theta: Array, strength: float, but: NDArray[np.intp]) -> NDArray[np.intp]:
        """Groups with a norm above the strength, their ``bounds`` exact; all others are below.

        Parameters
        ----------
        theta : ndarray
        strength : float
        but : ndarray of int
            Groups that are not asked for.
        """
        far = np.array([np.linalg.norm(theta - point) for point in self._points])
        open_ = self.bounds + self._spectral * far[self._known] > strength
        open_[but] = False
        if not open_.any():
            return np.zeros(0, dtype=np.intp)
        self._points.append(theta)
        slack = self._slack * float(np.linalg.norm(theta))
        for block in self._blocks:
            groups = block.start + np.flatnonzero(open_[block.start : block.stop])
            if len(groups) == 0:
                continue
            self._known[groups] = len(self._points) - 1
            self.n_looked += len(groups)
            if block.kept is None:
                self.bounds[groups] = self._exact(groups, theta)
                continue
            self.bounds[groups] = block.norms(groups, theta) + slack
            near = groups[self.bounds[groups] > strength]
            self.bounds[near] = self._exact(near, theta)
        self._forget()
        found = np.flatnonzero(open_)
        return found[self.bounds[found] > strength]

    def _exact(self, groups: NDArray[np.intp], theta: Array) -> Array:
        """Norms in double precision, from factors that are made again."""
        parts = [np.zeros(0)]
        size = self._factors.together(BLOCK)
        for start in range(0, len(groups), size):
            rows, ptr = self._factors.rows(groups[start : start + size])
            parts.append(norms_of(rows, theta, ptr))
        return np.concatenate(parts)

    def _forget(self) -> None:
        """Points that no group was last looked at."""
        used = np.unique(self._known)
        self._points = [self._points[i] for i in used.tolist()]
        self._known = np.searchsorted(used, self._known)


class _Block:
    """Neighbouring groups, and their factors where they are kept."""

    def __init__(self, start: int, stop: int, kept: tuple | None) -> None:
        self.start, self.stop, self.kept = start, stop, kept

    def norms(self, groups: NDArray[np.intp], theta: Array) -> Array:
        """Norms of the products of some groups, in single precision."""
        assert self.kept is not None
        rows, ptr = self.kept
        place = groups - self.start
        if len(place) >= MOST * (self.stop - self.start):
            return norms_of(rows, theta, ptr)[place]
        sizes = np.diff(ptr)[place]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        which = np.arange(ends[-1]) - np.repeat(ends[:-1] - ptr[place], sizes)
        return norms_of(rows[which], theta, ends)


def norms_of(rows: NDArray, theta: Array, ptr: NDArray[np.intp]) -> Array:
    """Norms of the products of factors with a point of the dual.

    Examples
    --------
    >>> norms_of(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[3.0, 4.0]]),
    ...     np.array([0, 2, 3])).tolist()
    [5.0, 7.0]
    """
    products = rows @ theta.T.astype(rows.dtype)
    squares = np.square(products.astype(np.float64)).sum(axis=1)
    return np.sqrt(np.add.reduceat(squares, ptr[:-1]))


def spectral_bounds(rows: Array, ptr: NDArray[np.intp]) -> Array:
    r"""Bounds of the largest singular values of factors: :math:`\|G G^\top\|_F^{1/2}`.

    Examples
    --------
    >>> spectral_bounds(np.array([[3.0, 4.0], [0.6, 0.8]]), np.array([0, 1, 2])).round(9).tolist()
    [5.0, 1.0]
    """
    sizes = np.diff(ptr)
    result = np.empty(len(sizes))
    for size in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == size)
        own = rows if len(which) == len(sizes) else rows[ptr[which][:, None] + np.arange(size)]
        own = own.reshape(len(which), size, -1)
        grams = own @ own.transpose(0, 2, 1)
        result[which] = np.sqrt(np.linalg.norm(grams.reshape(len(which), -1), axis=1))
    return result

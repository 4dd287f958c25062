"""Rows and columns for a search that takes the cube of the rows: which of them take part."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.tables.table import Table
from kernelpath.tracers.joint.columns import JointColumns
from kernelpath.tracers.joint.held_out import HeldOut
from kernelpath.tracers.joint.kernels import JointRBF
from kernelpath.tracers.joint.leave_one_out import RIDGES, rounded
from kernelpath.tracers.joint.trace import Tell

BLOCK = 1024  # columns that are dense at a time


def sample_rows(
    table: Table, target: NDArray[np.float64], most: int, seed: int
) -> NDArray[np.intp]:
    """Rows that take part, increasing: as many of each class, or part of the target, as there are.

    Which ones is drawn, but by what is in a row and not by where it stands.

    Examples
    --------
    >>> table = Table(np.arange(8.0)[:, None], None, np.array([False]))
    >>> rows = sample_rows(table, np.repeat([0.0, 1.0], 4), 4, seed=0)
    >>> len(rows), int((rows < 4).sum())
    (4, 2)
    """
    n = table.n_rows
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(seed)
    order = np.lexsort((_keys(table.values, rng.uniform(500.0, 1500.0)), target))
    places = np.floor((np.arange(most) + rng.uniform()) * (n / most)).astype(np.intp)
    return np.sort(order[places])


def _keys(values: NDArray, frequency: float) -> NDArray[np.float64]:
    """A number for each row that depends on what is in it, and not on the order of the columns."""
    if sparse.issparse(values):
        found = values.astype(np.float64).tocsr()  # type: ignore[attr-defined]
        size = np.asarray(abs(found).max(axis=0).todense()).ravel()
        found = found @ sparse.diags_array(1.0 / np.where(size > 0, size, 1.0))
        found.data = np.sin(frequency * np.nan_to_num(found.data))
        return np.asarray(found.sum(axis=1)).ravel()
    low, high = (np.nan_to_num(f(values, axis=0)) for f in (np.fmin.reduce, np.fmax.reduce))
    size = np.where(high > low, high - low, 1.0)
    return np.sin(frequency * np.nan_to_num((values - low) / size)).sum(axis=1)


def screen(
    features: Callable[[NDArray[np.intp]], JointColumns],
    columns: NDArray[np.intp],
    target: HeldOut,
    most: int,
    keep: NDArray[np.intp],
    tell: Tell,
) -> NDArray[np.intp]:
    """The columns that are left when half of them leave in a round, down to ``most``.

    Those leave that the loss of rows left out misses least in one kernel of all columns, by its
    gradient: what acts only together with others has a slope there, too.

    Parameters
    ----------
    features : callable
        Makes features of some columns.
    columns : ndarray
    target : HeldOut
    most : int
    keep : ndarray
        Columns that stay in any case, no more than ``most``.
    tell : callable
        Gets the number of columns that have left, and how many will.
    """
    left, total = columns, max(len(columns) - most, 1)
    while len(left) > most:
        blocks = [left[start : start + BLOCK] for start in range(0, len(left), BLOCK)]
        gradient = _gradient(features, blocks, len(left), target)
        scores = np.full(int(columns.max()) + 1, -np.inf)
        for block in blocks:
            own = features(block)
            which = np.arange(own.n_features)
            scores[own.source] = JointRBF(own).slopes(gradient, which)
        slopes = rounded(np.where(np.isfinite(scores[left]), scores[left], -1e300))
        slopes[np.isin(left, keep)] = np.inf
        count = max(most, len(left) // 2)
        left = np.sort(left[np.argsort(-slopes, kind="stable")[:count]])
        tell(len(columns) - len(left), total)
    return left


def _gradient(
    features: Callable[[NDArray[np.intp]], JointColumns],
    blocks: list[NDArray[np.intp]],
    k: int,
    target: HeldOut,
) -> NDArray[np.float64]:
    """Gradient of the loss in the Gaussian kernel of all columns, times that kernel."""
    n = len(target.Y)
    D = np.zeros((n, n))
    for block in blocks:
        own = features(block)
        D += own.distances(np.arange(own.n_features))
    best, gradient = np.inf, D
    for c in JointRBF.scales:
        K = np.exp(D * (-c / k)) + 1.0
        ridges = 2.0 * RIDGES
        losses = target.losses(K, ridges)
        if losses.min() < best:
            best = losses.min()
            gradient = target.gradient(K, float(ridges[losses.argmin()]))[1] * (K - 1.0)
    return gradient

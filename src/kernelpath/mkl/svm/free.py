"""Rows between their bounds, solved together: where pairs of rows take too many steps.

On a kernel of low rank, or of nearly equal rows, steps of two rows crawl along a valley.  With the
rows at a bound held there, the others solve linear equations; a step towards that solution ends at
the first bound, whose row is held from then on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.svm._smo import smo

PATIENCE, AGAIN = 20, 5  # steps for each row before the first and the next solution of all
MOST_FREE = 1500  # rows: more would cost more than they save
JITTER = 1e-13  # of the mean diagonal


def solve_pairs_and_free(
    K: NDArray[np.float64],
    problem: DualProblem,
    tol: float,
    max_steps: int,
    u: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> tuple[int, float, float]:
    """Steps of two rows and of all free rows in turn; ``u`` and ``gradient`` change in place.

    Returns the number of steps, the smallest slope upwards and the largest downwards.
    """
    n, done = len(u), 0
    patience = PATIENCE * n
    while True:
        now = min(patience, max_steps - done)
        n_steps, rising, falling = smo(
            K, problem.linear, problem.low, problem.high, float(problem.kink),
            float(problem.ridge), float(tol), now, u, gradient,
        )  # fmt: skip
        done += n_steps
        if n_steps < now or done >= max_steps:
            return done, rising, falling
        done += solve_free(K, problem, u, gradient)
        patience = AGAIN * n


def solve_free(
    K: NDArray[np.float64],
    problem: DualProblem,
    u: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> int:
    """Minimise over the rows between their bounds, in place; returns the number of steps."""
    for step in range(len(u)):
        free = (u > problem.low) & (u < problem.high)
        if problem.kink > 0.0:
            free &= u != 0.0
        V = np.flatnonzero(free)
        if not 2 <= len(V) <= MOST_FREE:
            return step
        move = _to_the_minimum(K, problem, u, gradient, V)
        if move is None:
            return step
        length, blocking = _room(problem, u[V], move, V)
        change = length * move
        before = u[V]
        after = before + change
        after[blocking] = _edge(problem, before, move, V)[blocking]
        u[V] = after
        gradient += K[:, V] @ (after - before)
        gradient[V] += problem.ridge * (after - before)
        if length == 1.0:
            return step + 1
    return len(u)


def _to_the_minimum(
    K: NDArray[np.float64],
    problem: DualProblem,
    u: NDArray[np.float64],
    gradient: NDArray[np.float64],
    V: NDArray[np.intp],
) -> NDArray[np.float64] | None:
    """Move of the free rows to the minimum of the objective, their sum unchanged."""
    slope = gradient[V] + problem.kink * np.sign(u[V])
    M = K[np.ix_(V, V)].copy()
    diagonal = float(np.trace(M)) / len(V) + problem.ridge
    M.flat[:: len(V) + 1] += problem.ridge
    jitter = JITTER * diagonal
    for _ in range(6):
        M.flat[:: len(V) + 1] += jitter
        try:
            root = linalg.cho_factor(M, lower=True, check_finite=False)
            break
        except linalg.LinAlgError:
            jitter = max(100.0 * jitter, 1e-300)
    else:
        return None
    both = linalg.cho_solve(root, np.column_stack([slope, np.ones(len(V))]), check_finite=False)
    move = both[:, 1] * (both[:, 0].sum() / both[:, 1].sum()) - both[:, 0]
    move -= move.mean()  # of a nearly singular matrix the solution is rounded
    image = K[np.ix_(V, V)] @ move + problem.ridge * move
    gain, curvature = -float(slope @ move), float(move @ image)
    if not np.isfinite(gain) or gain <= 1e-15 * abs(float(problem.linear @ u)):
        return None
    return move * (gain / curvature if curvature > 0.0 else 1.0)


def _edge(
    problem: DualProblem,
    before: NDArray[np.float64],
    move: NDArray[np.float64],
    V: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Where each row has to stop: at its bound, or at the kink on the way there."""
    edge = np.where(move > 0, problem.high[V], problem.low[V])
    if problem.kink > 0.0:
        edge = np.where(before * move < 0, 0.0, edge)
    return edge


def _room(
    problem: DualProblem, before: NDArray[np.float64], move: NDArray[np.float64], V: NDArray
) -> tuple[float, NDArray[np.bool_]]:
    """Share of the move that fits, and the rows that stop it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(move != 0, (_edge(problem, before, move, V) - before) / move, np.inf)
    length = min(1.0, float(shares.min()))
    return length, shares <= length

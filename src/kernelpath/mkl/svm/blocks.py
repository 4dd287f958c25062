r"""The dual problem by blocks of rows, for kernel matrices that are not held as arrays.

A round takes the rows that violate optimality most, solves for them alone with the compiled solver
of `_smo`, and brings the gradient of all rows up to date by one product.  Of the kernel matrix it
needs a small block and that product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.grams import Gram
from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.svm._smo import smo

BLOCK = 1000  # rows of a round
SHARE = 0.3  # of the violation that a round may leave within its block
MAX_ROUNDS = 100_000


def solve_by_blocks(
    K: Gram, problem: DualProblem, tol: float, u: NDArray[np.float64], max_steps: int
) -> tuple[NDArray[np.float64], float, float, int]:
    """Improve ``u`` in place until no pair of rows violates optimality by more than ``tol``.

    Returns ``K u``, the smallest slope upwards, the largest downwards, and the number of steps.
    """
    used = np.flatnonzero(u)
    Ku = K.times(u[used], used) if len(used) else np.zeros(len(u))
    n_steps = 0
    for _ in range(MAX_ROUNDS):
        up, down = slopes(problem, u, Ku)
        rising, falling = float(up.min()), float(down.max())
        if falling - rising <= tol or n_steps >= max_steps:
            break
        rows = _worst(up, down, rising, falling)
        inner = max(SHARE * (falling - rising), 0.5 * tol)
        change, steps = _improve(K, problem, rows, u, Ku, inner, max_steps - n_steps)
        n_steps += steps
        moved = np.flatnonzero(change)
        if len(moved) == 0:
            break
        u[rows] += change
        Ku += K.times(change[moved], rows[moved])
    return Ku, rising, falling, n_steps


def slopes(
    problem: DualProblem, u: NDArray[np.float64], Ku: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Derivative of minus the objective upwards, and downwards; infinite where a bound forbids."""
    gradient = Ku + problem.ridge * u - problem.linear
    up = gradient + np.where(u >= 0.0, problem.kink, -problem.kink)
    down = gradient + np.where(u > 0.0, problem.kink, -problem.kink)
    up[u >= problem.high] = np.inf
    down[u <= problem.low] = -np.inf
    return up, down


def _worst(
    up: NDArray[np.float64], down: NDArray[np.float64], rising: float, falling: float
) -> NDArray[np.intp]:
    """Rows of a round: those that want most to go up, those that want most to go down.

    Rows between their bounds come first.  They answer to every change of the others; without them
    rounds undo one another.
    """
    middle = 0.5 * (rising + falling)
    between = np.flatnonzero(np.isfinite(up) & np.isfinite(down))
    chosen = [_largest(np.abs(up[between] - middle), between, BLOCK // 2)]
    half = (BLOCK - len(chosen[0])) // 2
    for gain in (falling - up, down - rising):
        wanting = np.flatnonzero(gain > 0.0)
        chosen.append(_largest(gain[wanting], wanting, half))
    return np.unique(np.concatenate(chosen))


def _largest(size: NDArray[np.float64], rows: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """At most so many of the rows, those of the largest size."""
    if len(rows) <= count:
        return rows
    return rows[np.argpartition(size, len(rows) - count)[len(rows) - count :]]


def _improve(
    K: Gram,
    problem: DualProblem,
    rows: NDArray[np.intp],
    u: NDArray[np.float64],
    Ku: NDArray[np.float64],
    tol: float,
    max_steps: int,
) -> tuple[NDArray[np.float64], int]:
    """Change of some dual coefficients that solves the problem where all others stay."""
    part = u[rows]
    linear = problem.linear[rows]
    gradient = Ku[rows] + problem.ridge * part - linear
    n_steps, _, _ = smo(
        np.ascontiguousarray(K.block(rows, rows)), linear, problem.low[rows], problem.high[rows],
        float(problem.kink), float(problem.ridge), tol, max_steps, part, gradient,
    )  # fmt: skip
    return part - u[rows], n_steps

"""Solving the dual problem of a loss for one kernel matrix, to a tolerance and from a start."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.fits._smo import smo
from kernelpath.fits.losses import DualProblem

MAX_STEPS = 100_000_000


@dataclass(frozen=True, eq=False)
class DualSolution:
    """A point of the dual problem and what it proves.

    Attributes
    ----------
    u : ndarray of shape (n_rows,)
        Signed dual coefficients; their sum is zero.
    scores : ndarray of shape (n_rows,)
        Decision values of the rows, bias included.
    bias : float
    dual, primal : float
        Objective values: the optimum lies between them.
    n_steps : int
        Steps of the solver.
    """

    u: NDArray[np.float64]
    scores: NDArray[np.float64]
    bias: float
    dual: float
    primal: float
    n_steps: int

    @property
    def gap(self) -> float:
        """How far from optimal the point can be at most, relative to the primal value."""
        return max(self.primal - self.dual, 0.0) / max(abs(self.primal), 1e-300)


def solve_dual(
    K: NDArray,
    problem: DualProblem,
    *,
    tol: float = 1e-3,
    start: NDArray[np.float64] | None = None,
    max_steps: int = MAX_STEPS,
) -> DualSolution:
    """Solve the dual problem of a loss.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
        Symmetric and positive semidefinite.
    problem : DualProblem
    tol : float
        Largest violation of the optimality conditions, in units of the decision value.
    start : ndarray of shape (n_rows,), optional
        Dual coefficients to start from; they need not be feasible.
    max_steps : int
        Pairs of rows that are looked at.

    Examples
    --------
    >>> from kernelpath.fits.losses import Hinge
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> solution = solve_dual(np.outer(x, x), Hinge(C=10.0).dual(np.sign(x)), tol=1e-9)
    >>> solution.u.tolist(), solution.gap
    ([0.0, -0.5, 0.5, 0.0], 0.0)
    """
    if problem.is_linear_system:
        return _solve_system(K, problem)
    n = len(problem.linear)
    if start is None:
        u, gradient = np.zeros(n), -problem.linear
    else:
        u = problem.feasible(start)
        gradient = K @ u + problem.ridge * u - problem.linear
    n_steps, rising, falling = smo(
        np.ascontiguousarray(K), problem.linear, problem.low, problem.high, float(problem.kink),
        float(problem.ridge), float(tol), int(max_steps), u, gradient,
    )  # fmt: skip
    Ku = gradient - problem.ridge * u + problem.linear
    return _solution(problem, u, Ku, _bias(rising, falling), n_steps)


def _bias(rising: float, falling: float) -> float:
    """Middle of the interval of optimal biases; its end where it has only one."""
    if math.isinf(rising) or math.isinf(falling):
        known = [slope for slope in (rising, falling) if not math.isinf(slope)]
        return -known[0] if known else 0.0
    return -0.5 * (rising + falling)


def _solution(
    problem: DualProblem, u: NDArray, Ku: NDArray, bias: float, n_steps: int
) -> DualSolution:
    scores = Ku + bias
    primal = 0.5 * float(u @ Ku) + problem.loss(scores)
    return DualSolution(u, scores, bias, problem.value(u, Ku), primal, n_steps)


def _solve_system(K: NDArray, problem: DualProblem) -> DualSolution:
    """``(K + ridge) u + bias = linear`` and ``sum(u) = 0``, by one Cholesky decomposition."""
    n = len(problem.linear)
    factor = linalg.cho_factor(K + problem.ridge * np.eye(n), lower=True)
    both = linalg.cho_solve(factor, np.column_stack([problem.linear, np.ones(n)]))
    bias = float(both[:, 0].sum() / both[:, 1].sum())
    u = both[:, 0] - bias * both[:, 1]
    u -= u.mean()
    return _solution(problem, u, K @ u, bias, 0)

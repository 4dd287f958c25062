"""Solving the dual problem of a loss for one kernel matrix, to a tolerance and from a start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.grams.base import Gram
from kernelpath.mkl.grams.low_rank import MOST_INVERTED, LowRank
from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.svm.blocks import slopes, solve_by_blocks
from kernelpath.mkl.svm.free import solve_pairs_and_free
from kernelpath.mkl.svm.smooth import solve_smooth
from kernelpath.mkl.svm.systems import solve_array, solve_gram
from kernelpath.mkl.svm.without_kernel import null_coefficients

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
    root : tuple, optional
        Cholesky decomposition of ``K + ridge`` for all rows, where the solver made one.
    """

    u: NDArray[np.float64]
    scores: NDArray[np.float64]
    bias: float
    dual: float
    primal: float
    n_steps: int
    root: tuple[NDArray[np.float64], bool] | None = None

    @property
    def gap(self) -> float:
        """How far from optimal the point can be at most, relative to the primal value."""
        return max(self.primal - self.dual, 0.0) / max(abs(self.primal), 1e-300)


def solve_dual(
    K: NDArray | Gram,
    problem: DualProblem,
    *,
    tol: float = 1e-3,
    start: NDArray[np.float64] | None = None,
    max_steps: int = MAX_STEPS,
) -> DualSolution:
    """Solve the dual problem of a loss.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows), or Gram
        Symmetric and positive semidefinite.  An array is solved as a whole, a `Gram` by blocks.
    problem : DualProblem
    tol : float
        Largest violation of the optimality conditions, in units of the decision value.
    start : ndarray of shape (n_rows,), optional
        Dual coefficients to start from; they need not be feasible.
    max_steps : int
        Pairs of rows that are looked at.

    Examples
    --------
    >>> from kernelpath.mkl.losses import Hinge
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> solution = solve_dual(np.outer(x, x), Hinge(C=10.0).dual(np.sign(x)), tol=1e-9)
    >>> solution.u.tolist(), solution.gap
    ([0.0, -0.5, 0.5, 0.0], 0.0)
    """
    n = len(problem.linear)
    u = np.zeros(n) if start is None else problem.feasible(start)
    if not isinstance(K, np.ndarray):
        return _solve_gram(K, problem, tol, u, max_steps)
    if problem.is_linear_system:
        (solution,) = solve_systems(K, (problem,))
        return solution
    gradient = (K @ u if u.any() else 0.0) + problem.ridge * u - problem.linear
    n_steps, rising, falling = solve_pairs_and_free(
        np.ascontiguousarray(K), problem, tol, int(max_steps), u, gradient
    )
    Ku = gradient - problem.ridge * u + problem.linear
    return _solution(problem, u, Ku, _bias(rising, falling), n_steps)


def solve_duals(
    K: NDArray | Gram,
    problems: Sequence[DualProblem],
    tol: float,
    starts: Sequence[NDArray[np.float64]] | None = None,
) -> tuple[DualSolution, ...]:
    """Solve the dual problems of several outputs with one kernel matrix."""
    if isinstance(K, np.ndarray) and share_a_system(problems):
        return solve_systems(K, problems)
    begin = [None] * len(problems) if starts is None else starts
    return tuple(solve_dual(K, one, tol=tol, start=u) for one, u in zip(problems, begin))


def share_a_system(problems: Sequence[DualProblem]) -> bool:
    """Whether all outputs lead to linear equations with the same matrix."""
    return all(one.is_linear_system and one.ridge == problems[0].ridge for one in problems)


def solve_systems(
    K: NDArray[np.float64], problems: Sequence[DualProblem]
) -> tuple[DualSolution, ...]:
    """Least squares for several targets of one matrix: one decomposition serves them all."""
    targets = np.column_stack([problem.linear for problem in problems])
    U, biases, root = solve_array(K, problems[0].ridge, targets)
    KU = K @ U
    return tuple(
        replace(_solution(problem, u, Ku, float(bias), 0), root=root)
        for problem, u, Ku, bias in zip(problems, U.T, KU.T, biases)
    )


def solve_without_kernel(problem: DualProblem) -> DualSolution:
    """Solve the dual problem without any kernel: the solution is a bias.

    Examples
    --------
    >>> from kernelpath.mkl.losses import Hinge
    >>> solution = solve_without_kernel(Hinge(3.0).dual(np.array([1.0, 1.0, 1.0, -1.0])))
    >>> solution.bias, solution.dual, solution.primal
    (1.0, 6.0, 6.0)
    """
    u = null_coefficients(problem)
    zero = np.zeros(len(u))
    up, down = slopes(problem, u, zero)
    return _solution(problem, u, zero, _bias(float(up.min()), float(down.max())), 0)


def _solve_gram(
    K: Gram, problem: DualProblem, tol: float, u: NDArray[np.float64], max_steps: int
) -> DualSolution:
    if problem.is_linear_system:
        u, Ku, bias, n_steps = solve_gram(K, problem, tol, u)
        return _solution(problem, u, Ku, bias, n_steps)
    before = 0
    if problem.ridge > 0.0 and isinstance(K, LowRank) and 0 < K.rank <= MOST_INVERTED:
        # Blocks check what comes out and bring its sum to zero; a good start is left to them.
        used = np.flatnonzero(u)
        up, down = slopes(problem, u, K.times(u[used], used))
        rising, falling = float(up.min()), float(down.max())
        if falling - rising > tol:
            u, before = solve_smooth(K, problem, 0.1 * tol, u, _bias(rising, falling))
            u = problem.feasible(u)
    Ku, rising, falling, n_steps = solve_by_blocks(K, problem, tol, u, max_steps)
    n_steps += before
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

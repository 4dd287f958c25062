r"""Non-monotonic feature selection: the best features for every budget [yang2015].

.. math:: \min_{p}\; \omega(p), \qquad 0 \le p \le 1,\; 1^\top p = m

is Eq. (5), the relaxation of a choice of ``m`` features, and with its dual vectors a certificate:
no choice of ``m`` features has an objective below the dual bound.  Objectives here are half of
those of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.mkl.feasible_sets import Budget, CappedSimplex, FeasibleSet
from kernelpath.mkl.problem import PointSolver, Problem
from kernelpath.mkl.solvers.base import Solution
from kernelpath.mkl.solvers.choice import solve
from kernelpath.mkl.solvers.proximal import level_weights
from kernelpath.tracers.nmmkl_rounding import WHOLE, Rounder, Selection

EXACT = 0.1  # of the tolerance: precision of the machines on chosen features


@dataclass(frozen=True, eq=False)
class BudgetPoint:
    """What one budget leads to.

    Attributes
    ----------
    budget : int
    relaxed : Solution
        Of Eq. (5): weights between 0 and 1, and a certified gap.
    choice : Selection
        Features, and the machine on them.
    marginal_value : float
        By how much one more feature would lower the relaxed objective, to first order: the
        multiplier of the budget.
    n_svm : int
        Machines solved for it.
    """

    budget: int
    relaxed: Solution
    choice: Selection
    marginal_value: float
    n_svm: int

    @property
    def objective(self) -> float:
        """Objective of the machine on the chosen features, from above."""
        return self.choice.at.upper

    @property
    def ratio(self) -> float:
        """Objective relative to the dual bound: no choice of as many features is better by more."""
        return self.objective / self.relaxed.lower if self.relaxed.lower > 0 else np.inf


def budget_set(budget: float, fixed: tuple[int, ...]) -> FeasibleSet:
    """Weights of a relaxed budget."""
    return Budget(float(budget), fixed) if fixed else CappedSimplex(float(budget))


def trace_budgets(
    problem: Problem,
    budgets: Iterable[int],
    *,
    fixed: tuple[int, ...] = (),
    rounding: str = "swap",
    solver: str = "auto",
    tol: float = 1e-4,
    tell: Callable[[int], None] | None = None,
    **options: Any,
) -> Iterator[BudgetPoint]:
    """Solve for one budget after the other, each from the last solution.

    ``problem`` is that of the kernels and losses; its set and regulariser do not matter.
    """
    evaluate = PointSolver(problem)
    rounder = Rounder(evaluate, fixed, EXACT * tol)
    start, duals, before, quad = None, None, None, np.zeros(0)
    for number, budget in enumerate(budgets):
        now = replace(problem, feasible=budget_set(budget, fixed))
        if start is not None:
            start = scaled_to(start, quad, budget)
        found = solve(now, solver, start, duals=duals, tol=tol, **options)
        quad = problem.kernel.grad_quad(found.weights, found.at.U)
        choice = rounder.choose(rounding, found.weights, quad, budget, before)
        choice = rounder.sharpened(choice, EXACT * tol)
        rounder.forget()
        n_svm, evaluate.n_svm = found.n_svm + evaluate.n_svm, 0
        yield BudgetPoint(budget, found, choice, _marginal(quad, budget, fixed), n_svm)
        start = found.weights
        duals, before = tuple(one.u for one in found.at.solutions), choice.members
        if tell is not None:
            tell(number + 1)


def scaled_to(
    weights: NDArray[np.float64], quad: NDArray[np.float64], budget: float
) -> NDArray[np.float64]:
    """Weights of another budget from those of one: multiples, cut at 1.

    Features without a weight get none, unless there are too few others; then those of the largest
    quadratic forms do.

    Examples
    --------
    >>> scaled_to(np.array([0.75, 0.25, 0.0]), np.array([2.0, 2.0, 1.0]), 1.5)
    array([1. , 0.5, 0. ])
    >>> scaled_to(np.array([1.0, 0.0, 0.0]), np.array([2.0, 0.5, 1.0]), 2.0)
    array([1., 0., 1.])
    """
    positive = weights > 0.0
    if positive.sum() < budget:
        order = np.lexsort([-quad, ~positive])
        start = np.zeros(len(weights))
        start[order[: int(np.ceil(budget))]] = 1.0
        return start
    start = np.empty(len(weights))
    level_weights(weights, 0.0, float(budget), start)
    return start


def _marginal(quad: NDArray[np.float64], budget: int, fixed: tuple[int, ...]) -> float:
    """Half the smallest quadratic form within the budget: the multiplier lambda of Eq. (8)."""
    free = np.delete(quad, list(fixed))
    within = budget - len(fixed)
    if within >= len(free):
        return 0.0
    return 0.5 * float(np.sort(free)[::-1][max(within - 1, 0)])


def published_bound(problem: Problem, relaxed: Solution) -> float:
    r"""Theorem 4: no rounding that keeps the features of weight 1 is worse by a larger factor.

    .. math:: \frac{1}{1 - \rho}, \qquad \rho = \lambda_{\max}(M^{-1/2} B M^{-1/2}), \quad
              M = K(p) + \tau I, \quad B = \sum_{0 < p_j < 1} p_j K_j

    with neither of the matrices, or both, multiplied by :math:`y y^\top`: the text has it in one.
    """
    weights = relaxed.weights
    open_ = (weights > WHOLE) & (weights < 1.0 - WHOLE)
    if not open_.any():
        return 1.0
    ridge = min(dual.ridge for dual in problem.duals)
    if ridge <= 0.0:
        return np.inf
    M = problem.kernel.gram(weights).copy()
    M.flat[:: len(M) + 1] += ridge
    B = problem.kernel.gram(np.where(open_, weights, 0.0))
    last = len(M) - 1
    try:
        rho = float(linalg.eigh(B, M, eigvals_only=True, subset_by_index=[last, last])[0])
    except linalg.LinAlgError:  # a ridge next to nothing
        return np.inf
    return 1.0 / (1.0 - rho) if rho < 1.0 else np.inf

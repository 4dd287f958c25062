"""Few kernels at a time, when there are very many and few of them will have a weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl._budget_set import Budget
from kernelpath.mkl.feasible_sets import Box, CappedSimplex, FeasibleSet, NonNegative
from kernelpath.mkl.problem import Problem, ProblemPoint, lower_bound, relative
from kernelpath.mkl.regularizers import L1, ElasticNet, Lp, NoRegularizer, Regularizer
from kernelpath.mkl.solvers.base import CONVERGED, LIMIT, STALLED, Solution, require
from kernelpath.mkl.solvers.newton import FIRST as FIRST_PRECISION
from kernelpath.mkl.solvers.newton import newton
from kernelpath.mkl.svm.dual import solve_without_kernel
from kernelpath.mkl.weighted_kernels.base import SumKernel

FIRST = 100  # kernels of the first round
MOST_FRESH = 400
INNER = 0.5  # share of the tolerance that the last round may leave
SHARE = 0.1  # of the gap on all kernels: a round that leaves less of it is too exact
FIRST_GAP = 0.25
STUCK, PATIENCE = 0.99, 3  # of the gap of the round before, and rounds as useless as that
LEAST = 1e-3  # of the tolerance: a round as exact as that cannot be improved


def working_set(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
    over: Callable[..., Solution] = newton,
) -> Solution:
    """Solve on some kernels, look at all of them, add those that want a weight.

    ``over`` is the solver of a round: `newton`, or any other one.

    A round costs one pass over all kernels; the bound from below is one of the whole problem.  A
    round is as exact as the gap on all kernels makes worthwhile.
    """
    require(
        problem,
        "working_set",
        a_sum_of_kernels=problem.kernel.is_sum,
        a_cost_of_each_weight_by_itself=is_separable(problem.regularizer),
    )
    if isinstance(problem.feasible, Box):  # bounds of its own for each weight, and perhaps no zero
        return over(problem, start, tol=tol, max_iter=2 * max_iter, warm=warm, duals=duals)
    kernel = cast(SumKernel, problem.kernel)
    whole = _Whole(problem, kernel)
    parts = np.array(getattr(problem.feasible, "fixed", ()), dtype=np.intp)
    weights = np.ones(len(parts))
    if start is not None and np.any(start):
        start = problem.feasible.project(start)
        parts = np.flatnonzero(start)
        weights = start[parts]
        inside = _restricted(problem, kernel, parts)
        look = {"max_iter": 0 if over is newton else 1, **_first(over, tol)}
        found = over(inside, weights, warm=warm, duals=duals, **look)
        duals = whole.take(found, parts)
        if whole.gap <= tol:
            return whole.result(1, CONVERGED)
    inner, before, stuck = math.inf, math.inf, 0
    for n_iter in range(1, max_iter + 1):
        fresh = _fresh(problem, whole.gradient, parts, len(weights))
        stuck = stuck + 1 if whole.gap > STUCK * before else 0
        if n_iter > 1 and (len(fresh) == 0 or stuck >= PATIENCE):
            # All that is missing is in the set, or comes and goes: a round may leave less.
            if inner <= LEAST * tol:
                return whole.result(n_iter, STALLED)
            inner, stuck = 0.3 * inner, 0
        before = whole.gap
        inner = min(inner, max(INNER * tol, SHARE * whole.gap))
        parts = np.concatenate([parts, fresh])
        weights = np.concatenate([weights, np.zeros(len(fresh))])
        inside = _restricted(problem, kernel, parts)
        begin = weights if weights.any() else None
        found = over(inside, begin, tol=inner, warm=warm, duals=duals, **_first(over, inner))
        duals = whole.take(found, parts)
        if whole.gap <= tol:
            return whole.result(n_iter, CONVERGED)
        used = found.weights > 0
        parts, weights = parts[used], found.weights[used]
    return whole.result(max_iter, LIMIT)


def _first(over: Callable[..., Solution], tol: float) -> dict[str, Any]:
    """Precision of the first machines of a round, for the solver that takes one."""
    return {"precision": min(FIRST_PRECISION, tol)} if over is newton else {}


def is_separable(regularizer: Regularizer) -> bool:
    """Whether a regularizer is known for some of the weights: ours, or one with ``restrict``."""
    known = type(regularizer) in (L1, Lp, ElasticNet, NoRegularizer)  # a subclass may be another
    return known or hasattr(regularizer, "restrict")


def _restricted(problem: Problem, kernel: SumKernel, parts: NDArray[np.intp]) -> Problem:
    """The problem on some kernels."""
    regularizer = problem.regularizer
    if hasattr(regularizer, "restrict"):
        regularizer = regularizer.restrict(parts)
    feasible = problem.feasible
    if hasattr(feasible, "restrict"):
        feasible = feasible.restrict(parts)
    inside = kernel.restrict(parts)
    return replace(problem, kernel=inside, regularizer=regularizer, feasible=feasible)


class _Whole:
    """What rounds have shown about the problem with all kernels.

    Attributes
    ----------
    gradient : ndarray of shape (n_kernels,)
        At the last point, or without any kernel.
    gap : float
        Certified, once there was a round.
    """

    def __init__(self, problem: Problem, kernel: SumKernel) -> None:
        self._problem, self._kernel = problem, kernel
        self._best: ProblemPoint | None = None
        self._lower = -math.inf
        self._gradient: NDArray[np.float64] | None = None
        self._n_svm = self._n_steps = 0
        self._history: list[dict[str, float]] = []

    @property
    def gradient(self) -> NDArray[np.float64]:
        """See the class; without any kernel it takes a pass, which a start makes needless."""
        if self._gradient is None:
            self._gradient = _null_gradient(self._problem, self._kernel)
        return self._gradient

    @property
    def gap(self) -> float:
        """See the class."""
        return FIRST_GAP if self._best is None else relative(self._best.upper, self._lower)

    def take(self, found: Solution, parts: NDArray[np.intp]) -> tuple[NDArray[np.float64], ...]:
        """Look at all kernels from the end of a round; returns its dual vectors."""
        self._n_svm, self._n_steps = self._n_svm + found.n_svm, self._n_steps + found.n_steps
        weights = np.zeros(self._kernel.n_kernels)
        weights[parts] = found.weights
        at = replace(found.at, weights=weights)
        quad = self._kernel.quad(at.U)
        self._gradient = self._problem.gradient(weights, quad)
        self._lower = max(self._lower, lower_bound(self._problem, at, quad))
        if self._best is None or at.upper <= self._best.upper:
            self._best = at
        self._history.append(
            {
                "objective": self._best.upper,
                "lower": self._lower,
                "n_svm": self._n_svm,
                "n_steps": self._n_steps,
            }
        )
        return tuple(one.u for one in at.solutions)

    def result(self, n_iter: int, status: str) -> Solution:
        """The end of the work."""
        assert self._best is not None
        return Solution(
            at=self._best,
            lower=self._lower,
            gap=self.gap,
            residual=self.gap,
            n_svm=self._n_svm,
            n_steps=self._n_steps,
            n_iter=n_iter,
            status=status,
            history=self._history,
        )


def _null_gradient(problem: Problem, kernel: SumKernel) -> NDArray[np.float64]:
    """Gradient where no kernel has a weight."""
    U = np.column_stack([solve_without_kernel(dual).u for dual in problem.duals])
    return problem.gradient(np.zeros(kernel.n_kernels), kernel.quad(U))


def _fresh(
    problem: Problem, gradient: NDArray[np.float64], parts: NDArray[np.intp], n_used: int
) -> NDArray[np.intp]:
    """Kernels with the steepest descent that are not in the set."""
    steep = gradient.copy()
    steep[parts] = np.inf
    count = max(min(max(FIRST, 2 * n_used), MOST_FRESH), _fewest(problem.feasible) - n_used)
    count = min(count, len(steep) - len(parts))
    if count <= 0:
        return np.zeros(0, np.intp)
    chosen = np.argpartition(steep, count - 1)[:count]
    if isinstance(problem.feasible, NonNegative) and n_used:
        chosen = chosen[steep[chosen] < 0]
    return np.sort(chosen)


def _fewest(feasible: FeasibleSet) -> int:
    """Number of weights below which the set has no point."""
    if isinstance(feasible, CappedSimplex):
        return math.ceil(feasible.total / feasible.cap)
    if isinstance(feasible, Budget):
        return math.ceil(feasible.total)
    return 0

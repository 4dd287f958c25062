"""Few kernels at a time, when there are very many and few of them will have a weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.problem import Problem, Work, lower_bound
from kernelpath.mkl.solvers.base import CONVERGED, LIMIT, STALLED, Bounds, Solution, require
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
        a_cost_of_each_weight_by_itself=problem.is_separable,
    )
    if problem.feasible.bounds_each_weight:  # and perhaps none may be zero
        return over(problem, start, tol=tol, max_iter=2 * max_iter, warm=warm, duals=duals)
    kernel = cast(SumKernel, problem.kernel)
    whole = _Whole(problem, kernel, tol)
    parts = np.array(problem.feasible.fixed, dtype=np.intp)
    weights = np.ones(len(parts))
    if start is not None and np.any(start):
        start = problem.feasible.project(start)
        parts = np.flatnonzero(start)
        weights = start[parts]
        inside = problem.restrict(parts)
        look = {"max_iter": 0 if over is newton else 1, **_first(over, tol)}
        found = over(inside, weights, warm=warm, duals=duals, **look)
        duals = whole.take(found, parts)
        if whole.done:
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
        inside = problem.restrict(parts)
        begin = weights if weights.any() else None
        found = over(inside, begin, tol=inner, warm=warm, duals=duals, **_first(over, inner))
        duals = whole.take(found, parts)
        if whole.done:
            return whole.result(n_iter, CONVERGED)
        used = found.weights > 0
        parts, weights = parts[used], found.weights[used]
    return whole.result(max_iter, LIMIT)


def _first(over: Callable[..., Solution], tol: float) -> dict[str, Any]:
    """Precision of the first machines of a round, for the solver that takes one."""
    return {"precision": min(FIRST_PRECISION, tol)} if over is newton else {}


class _Whole(Bounds):
    """What rounds have shown about the problem with all kernels."""

    def __init__(self, problem: Problem, kernel: SumKernel, tol: float) -> None:
        super().__init__(problem, Work(), tol)
        self._kernel = kernel
        self._gradient: NDArray[np.float64] | None = None

    @property
    def gradient(self) -> NDArray[np.float64]:
        """At the last point; before, without any kernel, a pass that a start makes needless."""
        if self._gradient is None:
            self._gradient = _null_gradient(self.problem, self._kernel)
        return self._gradient

    @property
    def gap(self) -> float:
        """Certified, once there was a round."""
        return FIRST_GAP if self.best is None else super().gap

    def take(self, found: Solution, parts: NDArray[np.intp]) -> tuple[NDArray[np.float64], ...]:
        """Look at all kernels from the end of a round; returns its dual vectors."""
        self.work.n_svm += found.n_svm
        self.work.n_steps += found.n_steps
        weights = np.zeros(self._kernel.n_kernels)
        weights[parts] = found.weights
        at = replace(found.at, weights=weights)
        quad = self._kernel.quad(at.U)
        self._gradient = self.problem.gradient(weights, quad)
        self.add(at, lower_bound(self.problem, at, quad))
        assert self.best is not None
        self.log(self.best.upper)
        return tuple(one.u for one in at.solutions)


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
    count = max(min(max(FIRST, 2 * n_used), MOST_FRESH), problem.feasible.fewest - n_used)
    count = min(count, len(steep) - len(parts))
    if count <= 0:
        return np.zeros(0, np.intp)
    chosen = np.argpartition(steep, count - 1)[:count]
    if problem.feasible.non_negative_only and n_used:
        chosen = chosen[steep[chosen] < 0]
    return np.sort(chosen)

"""Few kernels at a time, when there are very many and few of them will have a weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernelpath.feasible_sets import NonNegative
from kernelpath.fits.svm import solve_dual
from kernelpath.problem import Evaluation, Problem, lower_bound, relative
from kernelpath.solvers.newton import newton
from kernelpath.solvers.state import CONVERGED, LIMIT, STALLED, Solution, require
from kernelpath.weight_norms import MixedNorm
from kernelpath.weighted.base import SumKernel

FIRST = 100  # kernels of the first round
MOST_FRESH = 400
INNER = 0.3  # share of the gap that a round may leave


def working_set(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """Solve on some kernels by `newton`, look at all of them, add those that want a weight.

    A round costs one pass over all kernels; the bound from below is one of the whole problem.
    """
    require(
        problem,
        "working_set",
        a_sum_of_kernels=problem.kernel.is_sum,
        a_cost_without_groups=not isinstance(problem.regularizer, MixedNorm),
    )
    kernel = cast(SumKernel, problem.kernel)
    n_svm = n_steps = 0
    lower, gradient = -math.inf, _null_gradient(problem, kernel)
    known = np.zeros(0, np.intp) if start is None else np.flatnonzero(start)
    parts, weights = known, np.zeros(0) if start is None else np.asarray(start)[known]
    best: Evaluation | None = None
    history: list[dict[str, float]] = []
    for n_iter in range(1, max_iter + 1):
        fresh = _fresh(problem, gradient, parts, len(weights))
        if n_iter > 1 and len(fresh) == 0:
            assert best is not None
            return _result(best, lower, n_svm, n_steps, n_iter, STALLED, history)
        parts = np.concatenate([parts, fresh])
        weights = np.concatenate([weights, np.zeros(len(fresh))])
        inside = replace(problem, kernel=kernel.restrict(parts))
        begin = weights if weights.any() else None
        found = newton(inside, begin, tol=INNER * tol, warm=warm, duals=duals)
        n_svm, n_steps = n_svm + found.n_svm, n_steps + found.n_steps
        duals = tuple(one.u for one in found.at.solutions)
        whole = np.zeros(kernel.n_kernels)
        whole[parts] = found.weights
        at = replace(found.at, weights=whole)
        quad = kernel.quad(at.U)
        gradient = problem.regularizer.gradient(whole) - 0.5 * quad
        lower = max(lower, lower_bound(problem, at, quad))
        if best is None or at.upper <= best.upper:
            best = at
        history.append(
            {"objective": best.upper, "lower": lower, "n_svm": n_svm, "n_steps": n_steps}
        )
        if relative(best.upper, lower) <= tol:
            return _result(best, lower, n_svm, n_steps, n_iter, CONVERGED, history)
        used = found.weights > 0
        parts, weights = parts[used], found.weights[used]
    assert best is not None
    return _result(best, lower, n_svm, n_steps, max_iter, LIMIT, history)


def _null_gradient(problem: Problem, kernel: SumKernel) -> NDArray[np.float64]:
    """Gradient where no kernel has a weight."""
    n = kernel.n_rows
    zero = np.zeros((n, n))
    U = np.column_stack([solve_dual(zero, dual, tol=1e-3).u for dual in problem.duals])
    return problem.regularizer.gradient(np.zeros(kernel.n_kernels)) - 0.5 * kernel.quad(U)


def _fresh(
    problem: Problem, gradient: NDArray[np.float64], parts: NDArray[np.intp], n_used: int
) -> NDArray[np.intp]:
    """Kernels with the steepest descent that are not in the set."""
    steep = gradient.copy()
    steep[parts] = np.inf
    count = min(max(FIRST, 2 * n_used), MOST_FRESH, len(steep) - len(parts))
    if count <= 0:
        return np.zeros(0, np.intp)
    chosen = np.argpartition(steep, count - 1)[:count]
    if isinstance(problem.feasible, NonNegative) and n_used:
        chosen = chosen[steep[chosen] < 0]
    return np.sort(chosen)


def _result(
    at: Evaluation,
    lower: float,
    n_svm: int,
    n_steps: int,
    n_iter: int,
    status: str,
    history: list[dict[str, float]],
) -> Solution:
    gap = relative(at.upper, lower)
    return Solution(at, lower, gap, gap, n_svm, n_steps, n_iter, status, history)

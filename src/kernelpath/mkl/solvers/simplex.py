r"""Three solvers of other authors for weights on a simplex, to time and to compare with.

SimpleMKL's reduced gradient [rakotomamonjy2008], the semi-infinite linear program [sonnenburg2006]
and HessianMKL [chapelle2008].  All minimise the objective of SimpleMKL, in which weights cost
nothing and have a fixed sum; bounds and counts are those of all solvers here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from kernelpath.mkl.feasible_sets import Simplex
from kernelpath.mkl.problem import PointSolver, Problem, ProblemPoint
from kernelpath.mkl.regularizers import NoRegularizer
from kernelpath.mkl.solvers._model_loops import minimize_model
from kernelpath.mkl.solvers.base import (
    CONVERGED,
    LIMIT,
    STALLED,
    MissingCapability,
    PointBounds,
    Solution,
)
from kernelpath.mkl.solvers.curvature import curvature_root
from kernelpath.mkl.weighted_kernels.base import SumKernel

EXACT = 0.01  # of the tolerance: gap of the machines, which these methods take for exact
DECREASE = 1e-4
SHORTEST = 1e-10  # of the longest step
MODEL_STEPS, MODEL_TOL = 2000, 1e-9
RIDGE = 1e-10  # of the mean curvature, which the model of HessianMKL needs to have one minimum


def _begin(
    problem: Problem, start: NDArray[np.float64] | None, total: float
) -> NDArray[np.float64]:
    """Weights to start from: equal ones."""
    n = problem.kernel.n_kernels
    return np.full(n, total / n) if start is None else problem.feasible.project(start)


def _total(problem: Problem, name: str) -> float:
    """The sum of the weights; other problems are refused."""
    fits = problem.is_convex and isinstance(problem.feasible.given, Simplex)
    if not (fits and type(problem.regularizer) is NoRegularizer):
        raise MissingCapability(
            f"solver {name!r} is for sums of kernels whose weights have a fixed sum: give "
            "feasible=kp.Simplex() and regularizer=kp.NoRegularizer(), or use solver='auto'"
        )
    known = problem.feasible.cap_and_total(problem.kernel.n_kernels)
    assert known is not None
    return known[1]


# -- SimpleMKL -------------------------------------------------------------------------------------


def simple_mkl(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 2000,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """Reduced gradients: weights along the direction reach zero one by one, then a line search."""
    total = _total(problem, "simple_mkl")
    evaluate = PointSolver(problem, warm, duals)
    bounds = PointBounds(problem, evaluate, tol)
    at = evaluate(_begin(problem, start, total), EXACT * tol)
    for n_iter in range(max_iter):
        gradient = bounds.take(at)
        if bounds.done:
            return bounds.result(n_iter, CONVERGED)
        heaviest = int(at.weights.argmax())
        direction = _reduced(at.weights, gradient, heaviest)
        moved = _descend(evaluate, at, gradient, direction, heaviest, EXACT * tol)
        if moved is None:
            return bounds.result(n_iter, STALLED)
        at = moved
    bounds.take(at)
    return bounds.result(max_iter, CONVERGED if bounds.done else LIMIT)


def _reduced(
    weights: NDArray[np.float64], gradient: NDArray[np.float64], heaviest: int
) -> NDArray[np.float64]:
    """Descent direction that keeps the sum: the heaviest weight takes what the others give."""
    direction = gradient[heaviest] - gradient
    direction[(weights <= 0.0) & (direction < 0.0)] = 0.0
    direction[heaviest] = 0.0
    direction[heaviest] = -direction.sum()
    return direction


def _longest(
    weights: NDArray[np.float64], direction: NDArray[np.float64]
) -> tuple[float, int | None]:
    """Longest step that keeps all weights, and the weight that it takes to zero."""
    falling = np.flatnonzero(direction < 0.0)
    if len(falling) == 0:
        return 0.0, None
    steps = -weights[falling] / direction[falling]
    first = int(steps.argmin())
    return float(steps[first]), int(falling[first])


def _descend(
    evaluate: PointSolver,
    at: ProblemPoint,
    gradient: NDArray[np.float64],
    direction: NDArray[np.float64],
    heaviest: int,
    tol: float,
) -> ProblemPoint | None:
    """Take weights to zero while the objective falls, then search along the rest.

    None where the objective falls nowhere.
    """
    first = at
    while True:
        length, emptied = _longest(at.weights, direction)
        if emptied is None or length == 0.0:
            return None if at is first else at
        trial = evaluate(_stepped(at.weights, length, direction, emptied), tol)
        if trial.value >= at.value:
            break
        at = trial
        direction = direction.copy()
        direction[heaviest] += direction[emptied]
        direction[emptied] = 0.0
        if emptied == heaviest or not (direction < 0.0).any():
            return at
    slope = min(float(gradient @ direction), 0.0)
    found, share = trial, 1.0
    while found.value > at.value + DECREASE * share * length * slope:
        share *= 0.5
        if share < SHORTEST:
            return None if at is first else at
        found = evaluate(_stepped(at.weights, share * length, direction, None), tol)
    return found


def _stepped(
    weights: NDArray[np.float64],
    length: float,
    direction: NDArray[np.float64],
    emptied: int | None,
) -> NDArray[np.float64]:
    moved = np.maximum(weights + length * direction, 0.0)
    if emptied is not None:
        moved[emptied] = 0.0
    return moved * (weights.sum() / moved.sum())


# -- SILP ------------------------------------------------------------------------------------------


def silp(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 2000,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    r"""Column generation: every dual vector ``u`` is a plane below the objective.

    .. math:: \min_{d, t}\; t \quad \text{subject to} \quad
              t \ge \ell(u_j) - \tfrac12 \sum_k d_k\, u_j^\top K_k u_j

    for all dual vectors so far, by HiGHS; the machine at its weights gives the next one, and its
    value ``t`` is a lower bound.
    """
    total = _total(problem, "silp")
    evaluate = PointSolver(problem, warm, duals)
    bounds = PointBounds(problem, evaluate, tol)
    weights = _begin(problem, start, total)
    planes: list[NDArray[np.float64]] = []
    heights: list[float] = []
    lowest = -np.inf
    for n_iter in range(max_iter):
        at = evaluate(weights, EXACT * tol)
        gradient = bounds.take(at)  # minus half of the quadratic forms
        bounds.add(at, lowest)
        if bounds.done:
            return bounds.result(n_iter, CONVERGED)
        planes.append(gradient)
        heights.append(at.value - float(gradient @ weights))
        found = _program(np.array(planes), np.array(heights), total)
        if found is None:
            return bounds.result(n_iter, STALLED)
        weights, lowest = found
    return bounds.result(max_iter, LIMIT)


def _program(
    planes: NDArray[np.float64], heights: NDArray[np.float64], total: float
) -> tuple[NDArray[np.float64], float] | None:
    """Lowest point above all planes, and how high it is; None where the program fails."""
    n = planes.shape[1]
    size = np.abs(planes).max(initial=1e-300)  # the units of the program
    for method in ("highs-ds", "highs-ipm"):  # where rounding stops one, the other goes on
        found = linprog(
            np.r_[np.zeros(n), 1.0],
            A_ub=np.column_stack([planes * (total / size), -np.ones(len(planes))]),
            b_ub=-heights / size,
            A_eq=np.r_[np.ones(n), 0.0][None],
            b_eq=[1.0],
            bounds=[(0.0, None)] * n + [(None, None)],
            method=method,
        )
        if found.status == 0:
            weights = np.maximum(found.x[:-1], 0.0)
            return weights * (total / weights.sum()), float(found.fun * size)
    return None


# -- HessianMKL ------------------------------------------------------------------------------------


def hessian_mkl(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """Quadratic programs with the exact Hessian of the machine, and a line search after each.

    Where few support vectors lie between their bounds the Hessian says little, and steps are halved
    until the objective falls.
    """
    total = _total(problem, "hessian_mkl")
    evaluate = PointSolver(problem, warm, duals)
    bounds = PointBounds(problem, evaluate, tol)
    at = evaluate(_begin(problem, start, total), EXACT * tol)
    for n_iter in range(max_iter):
        gradient = bounds.take(at)
        if bounds.done:
            return bounds.result(n_iter, CONVERGED)
        target = _newton_target(problem, at, gradient, total)
        slope = float(gradient @ (target - at.weights))
        share, found = 1.0, None
        while slope < 0.0 and share >= SHORTEST:
            trial = evaluate(at.weights + share * (target - at.weights), EXACT * tol)
            if trial.value <= at.value + DECREASE * share * slope:
                found = trial
                break
            share *= 0.5
        if found is None:
            return bounds.result(n_iter, STALLED)
        at = found
    bounds.take(at)
    return bounds.result(max_iter, CONVERGED if bounds.done else LIMIT)


def _newton_target(
    problem: Problem, at: ProblemPoint, gradient: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """Minimum of the quadratic model over the simplex."""
    n = problem.kernel.n_kernels
    kernel = cast(SumKernel, problem.kernel)
    every = np.arange(n)
    K = problem.gram(at.weights)
    H = np.zeros((n, n))
    for dual, one in zip(problem.duals, at.solutions):
        V = dual.between(one.u)
        if len(V) >= 2:
            Z = curvature_root(K, V, dual.ridge, kernel.times(every, one.u)[V])
            H += Z.T @ Z
    mean = float(np.trace(H)) / n
    size = float(np.abs(gradient).max()) / total
    curve = np.full(n, RIDGE * (mean if mean > 0.0 else size))
    point = at.weights.copy()
    step = float(np.linalg.norm(point)) / max(float(np.linalg.norm(gradient)), 1e-300)
    minimize_model(
        H, np.zeros((1, n)), curve, gradient.copy(), point, step, total, total, MODEL_STEPS,
        MODEL_TOL,
    )  # fmt: skip
    point = np.maximum(point, 0.0)
    return point * (total / point.sum())

r"""Projected Newton steps on the weights of a sum of kernels.

With the set ``V`` of rows strictly between their bounds unchanged, the dual vector is a smooth
function of the weights, and so the objective has the Hessian

.. math:: H_{kl} = (K_k u)_V^\top A\, (K_l u)_V, \qquad
          A = M^{-1} - \frac{M^{-1} 1 1^\top M^{-1}}{1^\top M^{-1} 1},
          \quad M = (K(d) + \tau I)_{VV}.

A step minimises the quadratic model over the feasible set, on the weights that are positive or
want to become so, without any support vector machine; a line search on the objective follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.problem import Evaluation, Evaluator, Problem
from kernelpath.solvers.state import (
    CONVERGED,
    LIMIT,
    STALLED,
    Progress,
    Solution,
    natural_start,
    require,
)
from kernelpath.weighted.base import SumKernel

TIGHT = 1e-10
FRESH = 0.5  # new weights in the model, as a share of the positive ones
LEAST_FRESH = 20
JITTER = 1e-12
DECREASE = 1e-4
MODEL_STEPS, MODEL_TOL = 2000, 1e-9
ROUNDING = 1e-14  # of the objective: a smaller rise is none


def newton(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """Minimise a sum of kernels by projected Newton steps; parameters as in `spg`."""
    require(
        problem,
        "newton",
        a_sum_of_kernels=problem.kernel.is_sum,
        a_finite_second_derivative_at_zero=bool(
            np.isfinite(problem.regularizer.hess_diag(np.zeros(problem.kernel.n_kernels))).all()
        ),
    )
    evaluate = Evaluator(problem, warm, duals)
    progress = Progress(problem, evaluate, tol)
    weights = natural_start(problem, start)
    precision, damping = 1e-4, 0.0
    K = problem.kernel.gram(weights)
    at = evaluate(weights, precision, K)
    for n_iter in range(1, max_iter + 1):
        gradient = progress.look(at)
        if progress.done:
            return progress.result(n_iter - 1, CONVERGED)
        if progress.svm_gap > 0.25 * progress.gap and precision > TIGHT:
            precision = max(precision / 10.0, TIGHT)
            at = evaluate(at.weights, precision, K)
            continue
        move, damping, unit = _step(problem, at, K, gradient, damping, progress.lower)
        slope = -float(gradient @ move)
        # A machine that is less exact than the step is long would mislead the line search.
        exact = at.upper - at.value <= 0.5 * slope or precision <= TIGHT
        found = _search(evaluate, at, move, slope, precision) if slope > 0.0 and exact else None
        if found is not None:
            at, K, length = found
            damping = 0.1 * damping if length == 1.0 else max(10.0 * damping, 1e-2 * unit)
            continue
        if not exact or slope <= 0.0:
            if precision <= TIGHT:
                return progress.result(n_iter, STALLED)
            precision = max(precision / 10.0, TIGHT)
            at = evaluate(at.weights, precision, K)
        elif damping < 1e6 * unit:
            damping = max(100.0 * damping, unit)
        else:
            return progress.result(n_iter, STALLED)
    progress.look(at)
    return progress.result(max_iter, CONVERGED if progress.done else LIMIT)


def _step(
    problem: Problem,
    at: Evaluation,
    K: NDArray[np.float64],
    gradient: NDArray[np.float64],
    damping: float,
    lower: float,
) -> tuple[NDArray[np.float64], float, float]:
    """Minimise the model, damped until it promises no more than the bounds allow.

    Few rows between their bounds mean little curvature: an undamped model would promise any
    decrease.  Returns the move, the damping that it needed, and the unit of damping, at which a
    gradient step promises the whole gap.
    """
    room = at.upper - lower if np.isfinite(lower) else at.upper
    room = max(room, 1e-12 * abs(at.upper))
    tiny = 1e-6 * max(float(at.weights.max()), 1e-300) / max(float(np.abs(gradient).max()), 1e-300)
    inside = (at.weights - problem.feasible.project(at.weights - tiny * gradient)) / tiny
    unit = max(float(inside @ inside), 1e-300) / room
    active = _active(problem, at.weights, gradient)
    Z = _root_of_hessian(problem, at, K, active) if K.trace() > 0.0 else np.zeros((1, len(active)))
    if not Z.any():
        damping = max(damping, unit)
    for _ in range(20):
        move = _model_step(problem, at.weights, gradient, active, Z, damping)
        if -float(gradient @ move) <= 2.0 * room:
            break
        damping = max(10.0 * damping, 1e-4 * unit)
    return move, damping, unit


def _active(
    problem: Problem, weights: NDArray[np.float64], gradient: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Weights of the model: the positive ones, and the steepest descents of the others."""
    positive = np.flatnonzero(weights > 0)
    others = np.flatnonzero(weights <= 0)
    count = min(len(others), max(LEAST_FRESH, int(FRESH * len(positive))))
    if count and count < len(others):
        others = others[np.argpartition(gradient[others], count - 1)[:count]]
    return np.sort(np.concatenate([positive, others]))


def _root_of_hessian(
    problem: Problem, at: Evaluation, K: NDArray[np.float64], active: NDArray[np.intp]
) -> NDArray[np.float64]:
    """A matrix ``Z`` with ``Z' Z`` the Hessian on the active weights."""
    kernel = cast(SumKernel, problem.kernel)
    roots = []
    for dual, one in zip(problem.duals, at.solutions):
        inside = (one.u > dual.low) & (one.u < dual.high)
        if dual.kink > 0:
            inside &= one.u != 0.0
        V = np.flatnonzero(inside)
        if len(V) < 2:
            continue
        M = K[np.ix_(V, V)].copy()
        M.flat[:: len(V) + 1] += dual.ridge + JITTER * float(np.trace(M)) / len(V) + 1e-300
        try:
            root = linalg.cholesky(M, lower=True)
        except linalg.LinAlgError:
            M.flat[:: len(V) + 1] += 1e-8 * float(np.trace(M)) / len(V)
            root = linalg.cholesky(M, lower=True)
        images = kernel.times(active, one.u)[V]
        both = linalg.solve_triangular(root, np.column_stack([images, np.ones(len(V))]), lower=True)
        Z, ones = both[:, :-1], both[:, -1]
        Z -= np.outer(ones, ones @ Z) / float(ones @ ones)  # the bias takes its share
        roots.append(Z)
    return np.vstack(roots) if roots else np.zeros((1, len(active)))


def _model_step(
    problem: Problem,
    weights: NDArray[np.float64],
    gradient: NDArray[np.float64],
    active: NDArray[np.intp],
    Z: NDArray[np.float64],
    damping: float,
) -> NDArray[np.float64]:
    """Minimise the quadratic model over the feasible set by spectral projected gradients."""
    base, slope = weights[active], gradient[active]
    curve = problem.regularizer.hess_diag(weights)[active] + damping
    point, g = base.copy(), slope.copy()
    size = float(np.linalg.norm(base)) or 1.0
    step = size / max(float(np.linalg.norm(g)), 1e-300)
    H = Z.T @ Z if Z.shape[1] <= Z.shape[0] else None
    first = 0.0
    for _ in range(MODEL_STEPS):
        move = problem.feasible.project(point - step * g) - point
        descent = float(g @ move)
        first = min(first, descent)
        if descent >= MODEL_TOL * first:
            break
        image = (H @ move if H is not None else Z.T @ (Z @ move)) + curve * move
        curvature = float(move @ image)
        length = 1.0 if curvature <= 0 else min(1.0, -descent / curvature)  # exact, within the set
        point = point + length * move
        g = g + length * image
        step = float(move @ move) / curvature if curvature > 0 else 10.0 * step
    full = np.zeros_like(weights)
    full[active] = np.where(point < 1e-14 * point.max(initial=0.0), 0.0, point) - base
    return full


def _search(
    evaluate: Evaluator,
    at: Evaluation,
    move: NDArray[np.float64],
    slope: float,
    precision: float,
) -> tuple[Evaluation, NDArray[np.float64], float] | None:
    """Halve the step until the objective falls by enough."""
    problem = evaluate.problem
    length = 1.0
    while length > 0.1:
        weights = problem.feasible.project(at.weights + length * move)
        K = problem.kernel.gram(weights)
        trial = evaluate(weights, precision, K)
        if trial.value <= at.value - DECREASE * length * slope + ROUNDING * abs(at.value):
            return trial, K, length
        length *= 0.5
    return None

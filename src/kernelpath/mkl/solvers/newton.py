r"""Projected Newton steps on the weights of a sum of kernels.

With the set ``V`` of rows strictly between their bounds unchanged, the dual vector is a smooth
function of the weights, and so the objective has the Hessian

.. math:: H_{kl} = (K_k u)_V^\top A\, (K_l u)_V, \qquad
          A = M^{-1} - \frac{M^{-1} 1 1^\top M^{-1}}{1^\top M^{-1} 1},
          \quad M = (K(d) + \tau I)_{VV}.

A step minimises the quadratic model over the feasible set, on the weights that are positive or
want to become so, without any support vector machine; a line search on the objective follows.

A hinge or eps-insensitive loss has ``tau = 0``: few kernels leave ``M`` singular, and the objective
has kinks where no model holds.  Such losses are rounded off, by a ``tau`` that vanishes with the
gap.  Dual vectors of the rounded problem are ones of the problem itself, and so bounds stay exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.feasible_sets import FeasibleSet
from kernelpath.mkl.grams import Gram
from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.problem import PointSolver, Problem, ProblemPoint
from kernelpath.mkl.solvers._model_loops import minimize_model
from kernelpath.mkl.solvers.base import (
    CONVERGED,
    LIMIT,
    STALLED,
    PointBounds,
    Solution,
    natural_start,
    require,
)
from kernelpath.mkl.solvers.curvature import curvature_root, root_by_decomposition
from kernelpath.mkl.svm.dual import DualSolution, share_a_system
from kernelpath.mkl.weighted_kernels.base import SumKernel
from kernelpath.utils.probes import not_nan

FIRST, TIGHT = 1e-2, 1e-9  # precision: how far decision values may be rounded off
EXACTNESS = 0.1  # of the machines, relative to that
FRESH = 0.5  # new weights in the model, as a share of the positive ones
LEAST_FRESH = 20
EASY = 0.2  # of the objective: a closed form that is sure to bring as much is taken
DECREASE = 1e-4
MODEL_STEPS, MODEL_TOL = 2000, 1e-7
MOST_SQUARE = 1000  # weights: beyond, their Hessian is slower than its root
ROUNDING = 1e-14  # of the objective: a smaller rise is none


def newton(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
    precision: float | None = None,
) -> Solution:
    """Minimise a sum of kernels by projected Newton steps.

    Parameters as in `spg`; ``precision`` is that of the first machines, and rises from there.
    A start is taken for a good one, whose machine is worth to be exact.
    """
    require(
        problem,
        "newton",
        a_sum_of_kernels=problem.kernel.is_sum,
        a_finite_second_derivative_at_zero=bool(
            np.isfinite(problem.regularizer.hess_diag(np.zeros(problem.kernel.n_kernels))).all()
        ),
    )
    if precision is None:
        precision = FIRST if start is None else min(FIRST, tol)
    evaluate = _RoundedOff(problem, warm, duals, precision)
    bounds = PointBounds(problem, evaluate, tol)
    weights = natural_start(problem, start)
    damping = 0.0
    K = problem.gram(weights)
    at = evaluate(weights, evaluate.exactness, K)
    for n_iter in range(1, max_iter + 1):
        gradient = bounds.take(at)
        if bounds.done:
            return bounds.result(n_iter - 1, CONVERGED)
        if bounds.svm_gap > 0.25 * bounds.gap and evaluate.precision > TIGHT:
            at = evaluate.tighter(at, K)
            continue
        fresh = _easy_step(problem, at, gradient)
        if fresh is not None:
            K = problem.gram(fresh)
            at = evaluate(fresh, evaluate.exactness, K)
            continue
        move, damping, unit = _step(evaluate, at, K, gradient, damping, bounds.lower)
        slope = -float(gradient @ move)
        # A machine that is less exact than the step is long would mislead the line search.
        exact = at.noise <= 0.5 * slope or evaluate.precision <= TIGHT
        found = _search(evaluate, at, move, slope) if slope > 0.0 and exact else None
        if found is not None:
            at, K, length = found
            damping = 0.1 * damping if length == 1.0 else max(10.0 * damping, 1e-2 * unit)
            continue
        if not exact or slope <= 0.0:
            if evaluate.precision <= TIGHT:
                return bounds.result(n_iter, STALLED)
            at = evaluate.tighter(at, K)
        elif damping < 1e6 * unit:
            damping = max(100.0 * damping, unit)
        else:
            return bounds.result(n_iter, STALLED)
    bounds.take(at)
    return bounds.result(max_iter, CONVERGED if bounds.done else LIMIT)


def _easy_step(
    problem: Problem, at: ProblemPoint, gradient: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    r"""Weights by the closed form of `alternate`, where they are sure to bring much.

    Far from the optimum the objective is like one over the weights, and Newton steps grow them by
    a half at a time.  With the norms of the parts of the machine the closed form minimises
    :math:`\sum_k \|w_k\|^2 / (2 d_k) + r(d)`, by which the objective falls at least.
    """
    closed = problem.closed_form
    if closed is None or not problem.feasible.non_negative_only:
        return None
    d = at.weights
    square = np.square(d) * 2.0 * (problem.regularizer.gradient(d) - gradient)
    fresh = not_nan(problem.regularizer, "closed_form", closed(square))
    used = square > 0.0
    if not fresh[used].all():
        return None
    rise = problem.cost(fresh) - at.cost
    fall = 0.5 * float((square[used] / d[used] - square[used] / fresh[used]).sum())
    return fresh if fall - rise > EASY * at.upper else None


@dataclass(frozen=True, eq=False)
class _Point(ProblemPoint):
    """An evaluation whose value is that of the rounded problem.

    Attributes
    ----------
    noise : float
        How far the value can be from that of exact machines.
    """

    noise: float = 0.0


class _RoundedOff(PointSolver):
    """Evaluates with losses rounded off, to a precision that can be raised.

    Attributes
    ----------
    precision : float
        By how much rounding may shift a decision value.
    duals : tuple of DualProblem
        The rounded problems.
    """

    def __init__(
        self,
        problem: Problem,
        warm: bool,
        duals: Sequence[NDArray[np.float64]] | None,
        precision: float,
    ) -> None:
        super().__init__(problem, warm, duals)
        self.precision = precision
        self._round_off([dual.low for dual in problem.duals] if duals is None else duals)

    @property
    def exactness(self) -> float:
        """Tolerance of the machines."""
        return EXACTNESS * self.precision

    def _round_off(self, duals: Sequence[NDArray[np.float64]]) -> None:
        self.duals = tuple(
            _rounded(dual, self.precision, u) for dual, u in zip(self.problem.duals, duals)
        )

    def tighter(self, at: ProblemPoint, K: NDArray[np.float64] | Gram) -> _Point:
        """Raise the precision and look again."""
        self.precision = max(0.1 * self.precision, TIGHT)
        self._round_off([one.u for one in at.solutions])
        return self(at.weights, self.exactness, K)

    def __call__(
        self, weights: NDArray[np.float64], tol: float, K: NDArray[np.float64] | Gram | None = None
    ) -> _Point:
        """Evaluate; values are those of the rounded problem, upper bounds those of the true one."""
        if K is None:
            K = self.problem.gram(weights)
        found = self.solve_svms(K, self.duals, tol)
        true = tuple(map(_true_bound, found, self.duals, self.problem.duals))
        noise = sum(max(one.primal - one.dual, 0.0) for one in found)
        return _Point(weights, true, self.problem.cost(weights), noise)


def _rounded(dual: DualProblem, precision: float, u: NDArray[np.float64]) -> DualProblem:
    """A dual problem with a ridge, if it has none, that shifts decision values by the precision."""
    largest = float(np.abs(u[np.isfinite(u)]).max(initial=0.0))
    if dual.ridge > 0.0 or largest == 0.0:
        return dual
    return replace(dual, ridge=precision / largest)


def _true_bound(one: DualSolution, rounded: DualProblem, dual: DualProblem) -> DualSolution:
    if rounded is dual:
        return one
    return replace(one, primal=one.primal - rounded.loss(one.scores) + dual.loss(one.scores))


def _step(
    evaluate: _RoundedOff,
    at: ProblemPoint,
    K: NDArray[np.float64] | Gram,
    gradient: NDArray[np.float64],
    damping: float,
    lower: float,
) -> tuple[NDArray[np.float64], float, float]:
    """Minimise the model, damped until it promises no more than the bounds allow.

    Few rows between their bounds mean little curvature: an undamped model would promise any
    decrease.  Returns the move, the damping that it needed, and the unit of damping, at which a
    gradient step promises the whole gap.
    """
    problem = evaluate.problem
    room = at.upper - lower if np.isfinite(lower) else at.upper
    room = max(room, 1e-12 * abs(at.upper))
    tiny = 1e-6 * max(float(at.weights.max()), 1e-300) / max(float(np.abs(gradient).max()), 1e-300)
    inside = (at.weights - problem.feasible.project(at.weights - tiny * gradient)) / tiny
    unit = max(float(inside @ inside), 1e-300) / room
    active = _active(problem, at.weights, gradient)
    Z = _root_of_hessian(evaluate, at, K, active) if K.trace() > 0.0 else np.zeros((1, len(active)))
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
    evaluate: _RoundedOff, at: ProblemPoint, K: NDArray[np.float64] | Gram, active: NDArray[np.intp]
) -> NDArray[np.float64]:
    """A matrix ``Z`` with ``Z' Z`` the Hessian on the active weights."""
    kernel = cast(SumKernel, evaluate.problem.kernel)
    root = at.solutions[0].root
    if root is not None and share_a_system(evaluate.duals):
        moved = kernel.images(active, at.U)
        Z = root_by_decomposition(root, moved.reshape(len(moved), -1))
        return Z.reshape(moved.shape).swapaxes(0, 1).reshape(-1, len(active))
    roots = []
    for dual, one in zip(evaluate.duals, at.solutions):
        V = dual.between(one.u)
        if len(V) < 2:
            continue
        roots.append(curvature_root(K, V, dual.ridge, kernel.times(active, one.u)[V]))
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
    base, g = weights[active], gradient[active]
    curve = problem.regularizer.hess_diag(weights)[active] + damping
    not_nan(problem.regularizer, "hess_diag", curve)
    size = float(np.linalg.norm(base)) or 1.0
    step = size / max(float(np.linalg.norm(g)), 1e-300)
    H = Z.T @ Z if len(active) <= max(len(Z), MOST_SQUARE) else np.zeros((0, 0))
    known = problem.feasible.cap_and_total(len(active))
    if known is None:
        point = _minimize_model(problem.feasible.restrict(active), H, Z, curve, g, base, step)
    else:
        point = base.copy()
        Z = np.ascontiguousarray(Z)
        minimize_model(H, Z, curve, g, point, step, *known, MODEL_STEPS, MODEL_TOL)
    full = np.zeros_like(weights)
    full[active] = np.where(point < 1e-14 * point.max(initial=0.0), 0.0, point) - base
    return full


def _minimize_model(
    feasible: FeasibleSet,
    H: NDArray[np.float64],
    Z: NDArray[np.float64],
    curve: NDArray[np.float64],
    g: NDArray[np.float64],
    point: NDArray[np.float64],
    step: float,
) -> NDArray[np.float64]:
    """The same steps for any set that has a projection."""
    first = 0.0
    for _ in range(MODEL_STEPS):
        move = feasible.project(point - step * g) - point
        descent = float(g @ move)
        first = min(first, descent)
        if descent >= MODEL_TOL * first:
            break
        image = (H @ move if len(H) else Z.T @ (Z @ move)) + curve * move
        curvature = float(move @ image)
        length = 1.0 if curvature <= 0 else min(1.0, -descent / curvature)  # exact, within the set
        point = point + length * move
        g = g + length * image
        step = float(move @ move) / curvature if curvature > 0 else 10.0 * step
    return point


def _search(
    evaluate: _RoundedOff, at: ProblemPoint, move: NDArray[np.float64], slope: float
) -> tuple[_Point, NDArray[np.float64] | Gram, float] | None:
    """Halve the step until the objective falls by enough."""
    problem = evaluate.problem
    length = 1.0
    while length > 0.1:
        moved = at.weights + length * move
        weights = np.where(moved == 0.0, 0.0, problem.feasible.project(moved))  # up to rounding
        K = problem.gram(weights)
        trial = evaluate(weights, evaluate.exactness, K)
        if trial.value <= at.value - DECREASE * length * slope + ROUNDING * abs(at.value):
            return trial, K, length
        length *= 0.5
    return None

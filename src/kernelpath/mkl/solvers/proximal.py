r"""A budget of features without any kernel matrix: the m-support norm.

The weights of a relaxed budget can be eliminated instead of the machine: with the parts
:math:`w_k` of the machine that belong to the features,

.. math:: \min_{w, b}\; \tfrac12 \|w\|_m^2 + \sum_i \ell_i(f(x_i)), \qquad
          \|w\|_m^2 = \min_{0 \le p \le 1,\, 1^\top p = m} \sum_k \|w_k\|^2 / p_k,

the squared m-support norm (Argyriou, Foygel and Srebro 2012), which has closed forms for its
weights and for its proximal operator.  Accelerated proximal gradients need products with the table
of factors only: no matrix of rows by rows, and no support vector machine.

The loss has to be smooth, which a ridge makes it.  The smaller the ridge, the more steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.problem import Problem, ProblemPoint, Work, lower_bound
from kernelpath.mkl.regularizers import NoRegularizer
from kernelpath.mkl.solvers.base import CONVERGED, LIMIT, Bounds, Solution, require
from kernelpath.mkl.svm.dual import DualSolution
from kernelpath.mkl.weighted_kernels.storage import segment_sums
from kernelpath.utils.compiled import compiled

LOOK = 10  # steps between two looks at the gap
POWER_STEPS = 20
SHORTER = 2.0  # a step that overshoots is made shorter by this
BIAS_STEPS = 100
MOST_CUTS = 200


def primal(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 5_000,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """Minimise over the parts of the machine; parameters as in `spg`."""
    factors = problem.kernel.as_factors()
    require(
        problem,
        "primal",
        kernels_held_as_factors=factors is not None,
        a_loss_with_a_ridge=all(dual.ridge > 0.0 for dual in problem.duals),
        a_budget_of_weights_up_to_1=budget_of(problem) is not None,
    )
    assert factors is not None
    run = _Run(problem, *factors, tol)
    W = run.parts(start, duals if warm else None)
    V, momentum = W, 1.0
    step = 1.0 / run.steepness()
    for n_iter in range(1, max_iter + 1):
        value, slope = run.smooth(V)
        while True:
            fresh = run.proximal(V - step * slope, step)
            move = fresh - V
            ahead = value + float((slope * move).sum()) + float((move * move).sum()) / (2.0 * step)
            if run.smooth_value(fresh) <= ahead + 1e-12 * abs(value):
                break
            step /= SHORTER
        after = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        forward = fresh - W
        if float(((V - fresh) * forward).sum()) > 0.0:  # uphill: without momentum
            after, V = 1.0, fresh
        else:
            V = fresh + (momentum - 1.0) / after * forward
        W, momentum = fresh, after
        step *= 1.02
        if n_iter % LOOK == 0:
            run.look(W, n_iter)
            if run.bounds.done:
                return run.bounds.result(n_iter, CONVERGED)
    run.look(W, max_iter)
    return run.bounds.result(max_iter, CONVERGED if run.bounds.done else LIMIT)


def budget_of(problem: Problem) -> float | None:
    """Sum of the weights, if they are those of a relaxed budget and cost nothing."""
    budget = problem.feasible.budget
    if budget is None or budget > problem.kernel.n_kernels:
        return None
    return budget if type(problem.regularizer) is NoRegularizer else None


class _Run:
    """The problem in terms of the parts ``W`` of the machines, one column for each output."""

    def __init__(
        self,
        problem: Problem,
        factors: NDArray[np.float64],
        starts: NDArray[np.intp],
        tol: float,
    ) -> None:
        self._problem, self._factors, self._starts = problem, factors, starts
        self._fixed = list(problem.feasible.fixed)
        self._total = (budget_of(problem) or 0.0) - len(self._fixed)
        self._biases = [0.0] * len(problem.duals)
        self.bounds = Bounds(problem, Work(), tol)

    def parts(self, start: Any, duals: Any) -> NDArray[np.float64]:
        """Parts of the machines of some weights and dual vectors; zero without them."""
        shape = (len(self._factors), len(self._problem.duals))
        if start is None or duals is None:
            return np.zeros(shape)
        weights = np.repeat(self._problem.feasible.project(start), np.diff(self._starts))
        return weights[:, None] * (self._factors @ np.column_stack(list(duals)))

    def steepness(self) -> float:
        """Largest second derivative of the loss, by the power method from below."""
        rng = np.random.default_rng(0)
        v = rng.normal(size=(self._factors.shape[1],))
        for _ in range(POWER_STEPS):
            unit = v / float(np.sqrt(v @ v))
            v = self._factors.T @ (self._factors @ unit)
        ridge = min(dual.ridge for dual in self._problem.duals)
        return max(float(np.linalg.norm(v)), 1e-300) / ridge

    def smooth(self, W: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Loss with the best biases, and its slope."""
        value, U = self._losses(W)
        return value, -(self._factors @ U)

    def smooth_value(self, W: NDArray[np.float64]) -> float:
        """Loss with the best biases."""
        return self._losses(W)[0]

    def _losses(self, W: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = self._factors.T @ W
        U, value = np.empty_like(scores), 0.0
        for o, dual in enumerate(self._problem.duals):
            self._biases[o], U[:, o] = best_bias(dual, scores[:, o], self._biases[o])
            value += dual.loss(scores[:, o] + self._biases[o])
        return value, U

    def weights(self, W: NDArray[np.float64], shift: float = 0.0) -> NDArray[np.float64]:
        """Weights of the norm; with the shift of a step those of its proximal operator."""
        size = np.sqrt(segment_sums(np.square(W).sum(axis=1), self._starts))
        free = np.ones(len(size), dtype=bool)
        free[self._fixed] = False
        weights, some = np.ones(len(size)), np.empty(int(free.sum()))
        if len(some):
            level_weights(size[free], shift, self._total, some)
        weights[free] = some
        return weights

    def proximal(self, V: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Proximal operator of the squared norm: shrinks each part by its weight."""
        weights = self.weights(V, step)
        return V * np.repeat(weights / (weights + step), np.diff(self._starts))[:, None]

    def look(self, W: NDArray[np.float64], n_iter: int) -> None:
        """Bound the optimum from both sides."""
        weights = self.weights(W)
        inner = self._factors.T @ W
        _, U = self._losses(W)
        square = segment_sums(np.square(W), self._starts)
        used = weights > 0.0
        norms = (square[used] / weights[used, None]).sum(axis=0)
        images = np.square(self._factors @ U)
        forms = segment_sums(images, self._starts)
        solutions = []
        for o, dual in enumerate(self._problem.duals):
            u, scores = U[:, o], inner[:, o] + self._biases[o]
            value = float(dual.linear @ u - dual.kink * np.abs(u).sum())
            value -= 0.5 * (float(weights @ forms[:, o]) + dual.ridge * float(u @ u))
            upper = 0.5 * float(norms[o]) + dual.loss(scores)
            solutions.append(DualSolution(u, scores, self._biases[o], value, upper, n_iter))
        at = ProblemPoint(weights, tuple(solutions), 0.0)
        self.bounds.work.n_steps = n_iter
        self.bounds.add(at, lower_bound(self._problem, at, forms.sum(axis=1)))
        self.bounds.log(at.upper)


def best_bias(
    dual: DualProblem, scores: NDArray[np.float64], bias: float
) -> tuple[float, NDArray[np.float64]]:
    """The bias of the smallest loss and the dual vector there, whose sum is zero.

    The sum falls with the bias in pieces that are linear: Newton steps within a bracket.
    """
    low, high = -math.inf, math.inf
    size = max(float(np.abs(dual.linear - scores).max()) + dual.kink, 1e-300)
    for _ in range(BIAS_STEPS):
        residual = dual.linear - scores - bias
        shrunk = np.sign(residual) * np.maximum(np.abs(residual) - dual.kink, 0.0) / dual.ridge
        u = np.clip(shrunk, dual.low, dual.high)
        total, held = float(u.sum()), float(np.abs(u).sum())
        if abs(total) <= 1e-14 * held:
            break
        if total > 0.0:
            low = bias
        else:
            high = bias
        between = int(((shrunk == u) & (u != 0.0)).sum())
        better = bias + total * dual.ridge / between if between else math.inf
        if not low < better < high:
            if math.isinf(low) or math.isinf(high):
                better = bias + math.copysign(size, total)
            else:
                better = 0.5 * (low + high)
        if better == bias or low == high:
            break
        bias = better
    return bias, dual.feasible(u)


# -- weights of the norm ---------------------------------------------------------------------------


@compiled()
def level_weights(size, shift, total, out):
    """Fill ``out`` with ``clip(a * size - shift, 0, 1)`` of the sum ``total``.

    The sum grows with ``a`` in pieces that are linear: Newton steps within a bracket find it.
    Where too few sizes are positive, the others share what is left.
    """
    n = size.shape[0]
    positive, largest = 0, 0.0
    for t in range(n):
        positive += size[t] > 0.0
        largest = max(largest, size[t])
    if positive <= total:
        rest = (total - positive) / max(n - positive, 1)
        for t in range(n):
            out[t] = 1.0 if size[t] > 0.0 else rest
        return
    low, high = shift / largest, np.inf
    a = (shift + total / n) / largest
    for _ in range(MOST_CUTS):
        excess, slope = -total, 0.0
        for t in range(n):
            value = a * size[t] - shift
            if value >= 1.0:
                excess += 1.0
            elif value > 0.0:
                excess += value
                slope += size[t]
        if abs(excess) <= 1e-14 * total:
            break
        if excess > 0.0:
            high = a
        else:
            low = a
        better = a - excess / slope if slope > 0.0 else np.inf
        if low < better < high:
            a = better
        else:
            a = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
        if not low < a < high:
            break
    for t in range(n):
        out[t] = min(max(a * size[t] - shift, 0.0), 1.0)

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

from kernelpath.mkl._budget_set import Budget
from kernelpath.mkl.feasible_sets import CappedSimplex
from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.problem import Problem, ProblemPoint, lower_bound, relative
from kernelpath.mkl.regularizers import NoRegularizer
from kernelpath.mkl.solvers._norm_loops import level_weights
from kernelpath.mkl.solvers.base import CONVERGED, LIMIT, Solution, require
from kernelpath.mkl.svm.dual import DualSolution
from kernelpath.mkl.weighted_kernels.storage import factors_of, segment_sums

LOOK = 10  # steps between two looks at the gap
POWER_STEPS = 20
SHORTER = 2.0  # a step that overshoots is made shorter by this
BIAS_STEPS = 100


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
    factors = factors_of(problem.kernel)
    require(
        problem,
        "primal",
        kernels_held_as_factors=factors is not None,
        a_loss_with_a_ridge=all(dual.ridge > 0.0 for dual in problem.duals),
        a_budget_of_weights_up_to_1=is_budget(problem),
    )
    assert factors is not None
    run = _Run(problem, *factors)
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
        if n_iter % LOOK == 0 and run.look(W, n_iter) <= tol:
            return run.result(n_iter, CONVERGED)
    run.look(W, max_iter)
    return run.result(max_iter, CONVERGED if run.gap <= tol else LIMIT)


def is_budget(problem: Problem) -> bool:
    """Whether the weights are those of a relaxed budget and cost nothing."""
    feasible, n = problem.feasible, problem.kernel.n_kernels
    budget = isinstance(feasible, Budget) or (
        isinstance(feasible, CappedSimplex) and feasible.cap == 1.0
    )
    free = type(problem.regularizer) is NoRegularizer
    return budget and free and float(getattr(feasible, "total", math.inf)) <= n


class _Run:
    """The problem in terms of the parts ``W`` of the machines, one column for each output."""

    def __init__(
        self, problem: Problem, factors: NDArray[np.float64], starts: NDArray[np.intp]
    ) -> None:
        self._problem, self._factors, self._starts = problem, factors, starts
        self._fixed = list(getattr(problem.feasible, "fixed", ()))
        self._total = float(getattr(problem.feasible, "total", 0.0)) - len(self._fixed)
        self._biases = [0.0] * len(problem.duals)
        self._lower = -math.inf
        self._best: ProblemPoint | None = None
        self._history: list[dict[str, float]] = []

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

    def look(self, W: NDArray[np.float64], n_iter: int) -> float:
        """Bound the optimum from both sides; returns the gap."""
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
        self._lower = max(self._lower, lower_bound(self._problem, at, forms.sum(axis=1)))
        if self._best is None or at.upper <= self._best.upper:
            self._best = at
        self._history.append(
            {"objective": at.upper, "lower": self._lower, "n_svm": 0, "n_steps": n_iter}
        )
        return self.gap

    @property
    def gap(self) -> float:
        """Certified relative gap."""
        assert self._best is not None
        return relative(self._best.upper, self._lower)

    def result(self, n_iter: int, status: str) -> Solution:
        """The end of the work."""
        assert self._best is not None
        return Solution(
            at=self._best,
            lower=self._lower,
            gap=self.gap,
            residual=self.gap,
            n_svm=0,
            n_steps=n_iter,
            n_iter=n_iter,
            status=status,
            history=self._history,
        )


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

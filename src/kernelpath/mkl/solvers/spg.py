"""Spectral projected gradient descent, Algorithm 1 of [jain2012], and the baseline it beats.

Departures from the paper: the first step moves the weights by their own size and
spectral steps have no upper limit (a limit of 10 is an assumption about units); thresholds of the
precision schedule are relative; the machines are also solved more exactly when their own gap is
what is left of the gap; and a run ends with one exact machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.grams import Gram
from kernelpath.mkl.problem import PointSolver, Problem, ProblemPoint
from kernelpath.mkl.solvers.base import (
    CONVERGED,
    LIMIT,
    STALLED,
    PointBounds,
    Solution,
    natural_start,
)

DECREASE = 1e-4  # gamma of Eq. (10)
REFRESH = 50  # iterations after which a sum of kernels is computed anew
LOOSE, TIGHT = 1e-1, 1e-9
EXACT = 0.1  # of the tolerance: gap of the machines of a result
SMALLEST_STEP = 1e-10


def spg(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 2000,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """Minimise by spectral steps, an averaged non-monotone line search and rising precision.

    Parameters
    ----------
    problem : Problem
    start : ndarray of shape (n_kernels,), optional
        Default: equal weights of a sensible size.
    tol : float
        Relative gap, or stationarity where the problem is not convex, to reach.
    max_iter : int
    warm : bool
        Whether every support vector machine starts from the last one.
    duals : sequence of ndarray, optional
        Dual vectors that the first one starts from.

    Examples
    --------
    >>> from kernelpath.mkl.losses import Hinge
    >>> from kernelpath.mkl.regularizers import L1
    >>> from kernelpath.mkl.weighted_kernels.storage import FactorKernels
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> kernels = FactorKernels.of([X[:, [k]] for k in range(3)])
    >>> dual = Hinge(C=1.0).dual(np.sign(X[:, 0]))
    >>> spg(Problem(kernels, (dual,), L1())).weights.argmax()
    np.int64(0)
    """
    evaluate = PointSolver(problem, warm, duals)
    bounds = PointBounds(problem, evaluate, tol)
    line = _Line(problem)
    weights = natural_start(problem, start)
    precision = LOOSE
    at = evaluate(weights, precision, line.kernel_at(weights))
    gradient = bounds.take(at)
    step = _first_step(weights, gradient)
    reference, count, memory = at.value, 1.0, 1.0
    for n_iter in range(1, max_iter + 1):
        if bounds.done:
            if bounds.svm_gap <= EXACT * tol or precision <= TIGHT:
                return bounds.result(n_iter - 1, CONVERGED)
            # Loose machines overstate the objective, and may understate the residual.
            weights = cast(ProblemPoint, bounds.best).weights
            precision = max(0.1 * precision, TIGHT)
            at = evaluate(weights, precision, line.kernel_at(weights))
            gradient = bounds.take(at)
            reference, step = at.value, _first_step(weights, gradient)
            continue
        tighter = _precision(bounds, precision)
        if tighter < precision:
            precision = tighter
            at = evaluate(weights, precision, line.kernel_at(weights))
            gradient = bounds.take(at)
            reference = max(reference, at.value)
            if bounds.done:
                continue
        move = weights - problem.feasible.project(weights - step * gradient)  # Eq. (8)
        slope = float(gradient @ move)
        if slope <= 0.0:
            if precision <= TIGHT:
                return _finish(bounds, evaluate, n_iter, STALLED)
            precision = max(precision / 10.0, TIGHT)
            at = evaluate(weights, precision, line.kernel_at(weights))
            gradient = bounds.take(at)
            step = _first_step(weights, gradient)
            continue
        found, length = _search(evaluate, line, at, move, slope, reference, precision)
        if length < 1e-8:
            precision = max(precision / 10.0, TIGHT)  # the last case of Eq. (13)
        if found is None:
            if precision <= TIGHT:
                return _finish(bounds, evaluate, n_iter, STALLED)
            at = evaluate(weights, precision, line.kernel_at(weights))
            gradient = bounds.take(at)
            step = _first_step(weights, gradient)
            reference, count = at.value, 1.0
            continue
        memory = _memory(memory, at.value - found.value, length * slope)
        before, last = weights, gradient
        at, weights = found, found.weights
        gradient = bounds.take(at)
        count, previous = memory * count + 1.0, count
        reference = (memory * previous * reference + at.value) / count  # Eq. (11), (12)
        step = _spectral_step(weights - before, gradient - last, step)
    return _finish(bounds, evaluate, max_iter, CONVERGED if bounds.done else LIMIT)


def pgd(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 2000,
    max_svm: int | None = None,
    precision: float = 1e-6,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """Projected gradient descent with Armijo steps that start from 1, the paper's baseline."""
    evaluate = PointSolver(problem, warm, duals)
    bounds = PointBounds(problem, evaluate, tol)
    line = _Line(problem)
    weights = natural_start(problem, start)
    at = evaluate(weights, precision, line.kernel_at(weights))
    for n_iter in range(max_iter):
        gradient = bounds.take(at)
        if bounds.done:
            return bounds.result(n_iter, CONVERGED)
        step = 1.0
        while True:
            moved = problem.feasible.project(weights - step * gradient)
            slope = float(gradient @ (weights - moved))
            trial = evaluate(moved, precision)
            if trial.value <= at.value - DECREASE * slope:  # Eq. (5)
                break
            step *= 0.5
            if step < 1e-30:
                return bounds.result(n_iter, STALLED)
            if max_svm is not None and evaluate.n_svm >= max_svm:
                return bounds.result(n_iter, LIMIT)
        at, weights = trial, moved
    bounds.take(at)
    return bounds.result(max_iter, CONVERGED if bounds.done else LIMIT)


class _Line:
    """Kernel matrices along a line: arrays of a sum are a line themselves."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._weights: NDArray | None = None
        self._K: NDArray | Gram | None = None
        self._age = 0

    def kernel_at(self, weights: NDArray[np.float64]) -> NDArray[np.float64] | Gram:
        """Kernel matrix of some weights, remembered for the next question."""
        if self._weights is None or not np.array_equal(weights, self._weights):
            self._K = None  # room for the next one
            self._K, self._weights, self._age = self._problem.gram(weights), weights, 0
        assert self._K is not None
        return self._K

    def direction(self, weights: NDArray, move: NDArray) -> NDArray[np.float64] | None:
        """Kernel matrix of the move, for sums that are held as arrays."""
        if self._problem.is_convex and isinstance(self.kernel_at(weights), np.ndarray):
            return self._problem.kernel.gram(move)
        return None

    def along(
        self, weights: NDArray, move: NDArray, length: float, change: NDArray | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | Gram]:
        """Weights and kernel matrix after a part of the move."""
        moved = weights - length * move
        if length == 1.0:  # exactly the projected point, zeros included
            moved = np.where(np.abs(moved) <= 1e-16 * np.abs(weights), 0.0, moved)
        if change is None or self._age >= REFRESH:
            return moved, self._problem.gram(moved)
        return moved, cast(NDArray, self.kernel_at(weights)) - length * change

    def accept(self, weights: NDArray[np.float64], K: NDArray[np.float64] | Gram) -> None:
        """Remember where the next line begins."""
        self._age = 0 if self._age >= REFRESH else self._age + 1
        self._weights, self._K = weights, K


def _search(
    evaluate: PointSolver,
    line: _Line,
    at: ProblemPoint,
    move: NDArray[np.float64],
    slope: float,
    reference: float,
    precision: float,
) -> tuple[ProblemPoint | None, float]:
    """First of the lengths 1, 1/2, 1/4, ... that Eq. (10) accepts; None if none is."""
    change = line.direction(at.weights, move)
    length = 1.0
    while length >= SMALLEST_STEP:
        weights, K = line.along(at.weights, move, length, change)
        trial = evaluate(weights, precision, K)
        if trial.value <= reference - DECREASE * length * slope:
            line.accept(weights, K)
            return trial, length
        length *= 0.5
    return None, length


def _first_step(weights: NDArray[np.float64], gradient: NDArray[np.float64]) -> float:
    """A step that moves the weights by their own size."""
    size, slope = float(np.linalg.norm(weights)), float(np.linalg.norm(gradient))
    return (size if size > 0 else 1.0) / slope if slope > 0 else 1.0


def _spectral_step(s: NDArray[np.float64], y: NDArray[np.float64], last: float) -> float:
    """Eq. (6); where the curvature is not positive, a longer step than the last one."""
    curvature = float(s @ y)
    return float(s @ s) / curvature if curvature > 0 else 10.0 * last


def _memory(memory: float, actual: float, predicted: float) -> float:
    """How long the line search remembers: longer after steps that went as predicted."""
    ratio = actual / predicted if predicted > 0 else 0.0
    if ratio > 0.75:
        return min(memory + 0.025, 1.0)
    return max(memory - 0.025, 0.1) if ratio < 0.25 else memory


def _precision(bounds: PointBounds, now: float) -> float:
    """Eq. (13), by the relative gap; and half of the gap may be that of the machines."""
    gap = bounds.gap
    wanted = 1e-1 if gap > 1e-1 else 1e-2 if gap > 1e-2 else 1e-3
    if bounds.svm_gap > 0.5 * max(gap, bounds.tol) and now <= wanted:
        wanted = now / 10.0
    return max(min(now, wanted), TIGHT)


def _finish(bounds: PointBounds, evaluate: PointSolver, n_iter: int, status: str) -> Solution:
    """Solve the machines of the best point exactly: loose ones overstate the objective."""
    best = bounds.best
    assert best is not None
    if bounds.svm_gap > EXACT * bounds.tol:
        bounds.take(evaluate(best.weights, 1e-6))
    return bounds.result(n_iter, CONVERGED if bounds.done else status)

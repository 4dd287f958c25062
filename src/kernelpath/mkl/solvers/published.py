r"""Algorithm 1 of [jain2012] to the letter, to time and to compare with; `spg` is the one to use.

Everything that `spg` does otherwise is as printed here: random weights to start from, a first
step of 1, spectral steps between 1e-30 and 10, precisions by the absolute duality gap ``u`` and the
norm ``v`` of the projected gradient, and an end where ``u`` (or ``v``, where there is no gap) is
small.  None of these knows the units of kernels and costs.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.problem import PointSolver, Problem, ProblemPoint
from kernelpath.mkl.solvers.base import CONVERGED, LIMIT, STALLED, PointBounds, Solution

GAMMA = 1e-4  # of Eq. (9) and (10)
SHORTEST, LONGEST = 1e-30, 10.0  # spectral steps
SMALL_NORM = 0.04  # of the projected gradient: the end where there is no duality gap
TINY_STEP = 1e-8
FIRST_PRECISION, TIGHTEST = 1e-1, 1e-5
REMEMBERED = 10  # M of Eq. (9)
SEED = 0


class _Average:
    """Eq. (11) and (12): the reference is a running mean of the objective."""

    def __init__(self, value: float) -> None:
        self.value, self._count, self._memory = value, 1.0, 1.0

    def add(self, value: float, actual: float, predicted: float) -> None:
        ratio = actual / predicted if predicted > 0 else 0.0
        if ratio > 0.75:
            self._memory = min(self._memory + 0.025, 1.0)
        elif ratio < 0.25:
            self._memory = max(self._memory - 0.025, 0.1)
        count = self._memory * self._count + 1.0
        self.value = (self._memory * self._count * self.value + value) / count
        self._count = count


class _Largest:
    """Eq. (9): the reference is the largest of the last objectives."""

    def __init__(self, value: float) -> None:
        self._last = deque([value], maxlen=REMEMBERED + 1)

    @property
    def value(self) -> float:
        return max(self._last)

    def add(self, value: float, actual: float, predicted: float) -> None:
        self._last.append(value)


def spg_published(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 2000,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """Algorithm 1 with the averaged criterion (10); ``tol`` is the absolute duality gap.

    Examples
    --------
    >>> from kernelpath.mkl.losses import Hinge
    >>> from kernelpath.mkl.regularizers import L1
    >>> from kernelpath.mkl.weighted_kernels.storage import FactorKernels
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> kernels = FactorKernels.of([X[:, [k]] for k in range(3)])
    >>> dual = Hinge(C=1.0).dual(np.sign(X[:, 0]))
    >>> spg_published(Problem(kernels, (dual,), L1())).weights.argmax()
    np.int64(0)
    """
    return _algorithm_1(problem, start, tol, max_iter, PointSolver(problem, warm, duals), _Average)


def spg_classical(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 2000,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """The same with the classical criterion (9), the largest of eleven objectives."""
    return _algorithm_1(problem, start, tol, max_iter, PointSolver(problem, warm, duals), _Largest)


def _algorithm_1(
    problem: Problem,
    start: NDArray[np.float64] | None,
    tol: float,
    max_iter: int,
    evaluate: PointSolver,
    criterion: type[_Average] | type[_Largest],
) -> Solution:
    bounds = PointBounds(problem, evaluate, tol)
    project = problem.feasible.project
    if start is None:
        start = np.random.default_rng(SEED).uniform(size=problem.kernel.n_kernels)
    weights, precision, step = project(start), FIRST_PRECISION, 1.0
    at = evaluate(weights, precision)
    gradient = bounds.take(at)
    reference = criterion(at.value)
    for n_iter in range(1, max_iter + 1):
        u = at.upper - bounds.lower  # infinite without a certificate
        v = float(np.linalg.norm(weights - project(weights - gradient)))
        if u <= tol or (math.isinf(u) and v <= SMALL_NORM):
            return bounds.result(n_iter - 1, CONVERGED)
        move = weights - project(weights - step * gradient)  # Eq. (8)
        slope = float(gradient @ move)
        found, length = None, 0.0
        if slope > 0.0:
            found, length = _search(evaluate, at, move, slope, reference.value, precision)
        tighter = _precision(precision, u, v, length)  # Eq. (13)
        if found is None:
            if tighter == precision:
                return bounds.result(n_iter, CONVERGED if bounds.done else STALLED)
            precision = tighter
            at = evaluate(weights, precision)
            gradient = bounds.take(at)
            reference = criterion(at.value)
            continue
        precision = tighter
        reference.add(found.value, at.value - found.value, length * slope)
        last_weights, last = weights, gradient
        at, weights = found, found.weights
        gradient = bounds.take(at)
        step = _spectral_step(weights - last_weights, gradient - last)
    return bounds.result(max_iter, LIMIT)


def _search(
    evaluate: PointSolver,
    at: ProblemPoint,
    move: NDArray[np.float64],
    slope: float,
    reference: float,
    precision: float,
) -> tuple[ProblemPoint | None, float]:
    """First of the lengths 1, 1/2, 1/4, ... that Eq. (10), or (9), accepts."""
    length = 1.0
    while length >= 0.1 * TINY_STEP:
        moved = at.weights - length * move
        # Of the projected point zeros are to be zeros, not rounding errors.
        moved[np.abs(moved) <= 1e-16 * np.abs(at.weights)] = 0.0
        trial = evaluate(moved, precision)
        if trial.value <= reference - GAMMA * length * slope:
            return trial, length
        length *= 0.5
    return None, length


def _spectral_step(s: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Eq. (6)."""
    curvature = float(s @ y)
    if curvature <= 0.0:
        return LONGEST
    return min(max(float(s @ s) / curvature, SHORTEST), LONGEST)


def _precision(now: float, u: float, v: float, length: float) -> float:
    """Eq. (13); where there is no duality gap, by the norm alone."""
    if length < TINY_STEP:
        return max(now / 10.0, TIGHTEST)
    known = not math.isinf(u)
    if u >= 1.0 if known else v >= 5.0:
        return min(now, 1e-1)
    if u >= 0.1 if known else v >= 1.0:
        return min(now, 1e-2)
    return min(now, 1e-3)

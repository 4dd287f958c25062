"""What all solvers of generalised multiple kernel learning share: start, bounds, end, the result.

A solver stops where the gap is small enough; weights that do not matter to it may be left over from
where it started.  Under a regularizer that makes weights zero they are to be zero: see `trimmed`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.grams import block
from kernelpath.mkl.problem import (
    PointSolver,
    Problem,
    ProblemPoint,
    Work,
    lower_bound,
    relative,
    stationarity,
)
from kernelpath.mkl.svm.dual import solve_duals, solve_without_kernel

CONVERGED, LIMIT, STALLED = "converged", "iteration limit", "stalled"
SETTLED = 0.1  # of the gap: an objective that falls by less waits for its lower bound
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
Mixture = tuple[float, NDArray[np.float64], NDArray[np.float64]]
N_LOOKS = 25  # of a search between two dual vectors: 1e-5 of the distance
SAMPLE = 200  # rows that scales are compared on
SAMPLE_TOL = 0.1  # tolerance of their machines
SMALLER, MOST_SCALES = 0.25, 10  # from one scale to the next
UNPAID = (0.0, 0.001, 0.01, 0.1)  # of its cost: a kernel that earns so much less is left out
TRIMMED_TOL = 0.1  # of the tolerance: precision of the machines


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a solver arrived, and how good that is.

    Attributes
    ----------
    at : ProblemPoint
        The best point: weights, dual vectors and biases.
    lower : float
        Certified lower bound of the optimum; minus infinity for problems that are not convex.
    gap : float or None
        Relative distance of the objective from the lower bound; None where there is none.
    residual : float
        Stationarity of the point.
    n_svm, n_steps, n_iter : int
        Support vector machines, steps of their solver, iterations.
    status : str
    history : list of dict
        Objective, bound, counts and seconds after every iteration.
    """

    at: ProblemPoint
    lower: float
    gap: float | None
    residual: float
    n_svm: int
    n_steps: int
    n_iter: int
    status: str
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the best point."""
        return self.at.weights

    @property
    def objective(self) -> float:
        """Objective of the best point, from above."""
        return self.at.upper


class DualBound:
    """Lower bounds from the dual vectors of all machines, and from mixtures of them.

    Any mixture of feasible dual vectors is one.  Where the loss has kinks, the dual vectors of
    neighbouring weights differ, and each of them overcharges another kernel; the optimal one lies
    between them, and no single machine ever returns it.

    Attributes
    ----------
    value : float
        The largest bound, minus infinity before the first one.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self.value = problem, -math.inf
        self._U: NDArray[np.float64] | None = None
        self._quad: NDArray[np.float64] | None = None

    def add(self, at: ProblemPoint, quad: NDArray[np.float64]) -> None:
        """Take in the dual vectors of a point and their quadratic forms."""
        self._keep(lower_bound(self._problem, at, quad), at.U, quad)

    def mix(self, at: ProblemPoint, quad: NDArray[np.float64]) -> None:
        """Look between the best dual vectors so far and those of a point, for one more pass."""
        U, V, other = at.U, self._U, self._quad
        if V is None or other is None or np.array_equal(U, V):
            return
        # Of u_a' K_k u_b for every kernel, from the quadratic forms of a, b and their sum.
        between = 0.5 * (self._problem.kernel.grad_quad(at.weights, U + V) - quad - other)

        def mixture(share: float) -> Mixture:
            W, rest = share * U + (1.0 - share) * V, 1.0 - share
            q = share * share * quad + 2.0 * share * rest * between + rest * rest * other
            q = np.maximum(q, 0.0)
            solutions = tuple(replace(one, u=w) for one, w in zip(at.solutions, W.T))
            return lower_bound(self._problem, replace(at, solutions=solutions), q), W, q

        self._keep(*_best_of(mixture))

    def _keep(self, value: float, U: NDArray[np.float64], quad: NDArray[np.float64]) -> None:
        if value > self.value or self._U is None:
            self.value, self._U, self._quad = max(value, self.value), U, quad


def _best_of(mixture: Callable[[float], Mixture]) -> Mixture:
    """Largest value of a concave function on [0, 1], by golden section."""
    low, high = 0.0, 1.0
    left, right = mixture(1.0 - GOLDEN), mixture(GOLDEN)
    for _ in range(N_LOOKS):
        if left[0] > right[0]:
            high, right = low + GOLDEN * (high - low), left
            left = mixture(high - GOLDEN * (high - low))
        else:
            low, left = high - GOLDEN * (high - low), right
            right = mixture(low + GOLDEN * (high - low))
    return left if left[0] > right[0] else right


class Bounds:
    """Bounds so far: the best point from above, the best bound from below.

    Parameters
    ----------
    problem : Problem
    work : Work
        Counts what was done for them; a `PointSolver` does.
    tol : float
        Relative gap to reach.

    Attributes
    ----------
    best : ProblemPoint or None
        The best point; the last one where the problem is not convex.
    lower : float
        Largest lower bound.
    history : list of dict
        What was written down by `log`.
    """

    def __init__(self, problem: Problem, work: Work, tol: float) -> None:
        self.problem, self.work, self.tol = problem, work, tol
        self.best: ProblemPoint | None = None
        self.lower = -math.inf
        self.history: list[dict[str, float]] = []
        self._begun = time.perf_counter()

    def add(self, at: ProblemPoint, lower: float) -> None:
        """Take in a point, and a lower bound."""
        self.lower = max(self.lower, lower)
        if self.best is None or at.upper <= self.best.upper or not self.problem.is_convex:
            self.best = at

    def log(self, objective: float) -> None:
        """Write down where the work stands."""
        self.history.append(
            {
                "objective": objective, "lower": self.lower, "n_svm": self.work.n_svm,
                "n_steps": self.work.n_steps, "seconds": time.perf_counter() - self._begun,
            }
        )  # fmt: skip

    @property
    def gap(self) -> float:
        """Certified relative gap, infinite without a lower bound."""
        assert self.best is not None
        return relative(self.best.upper, self.lower)

    @property
    def done(self) -> bool:
        """Whether the gap is small enough."""
        return self.gap <= self.tol

    def result(self, n_iter: int, status: str) -> Solution:
        """The end of the work."""
        assert self.best is not None
        return Solution(
            at=self.best,
            lower=self.lower,
            gap=self.gap,
            residual=self.gap,
            n_svm=self.work.n_svm,
            n_steps=self.work.n_steps,
            n_iter=n_iter,
            status=status,
            history=self.history,
        )


class PointBounds(Bounds):
    """Bounds by the machines of one point after another, as far as possible by mixtures of them.

    Attributes
    ----------
    residual : float
        Stationarity of the last point, which stands for the gap where there is no certificate.
    svm_gap : float
        That of the machines of the last point.
    """

    def __init__(self, problem: Problem, evaluate: PointSolver, tol: float) -> None:
        super().__init__(problem, evaluate, tol)
        self._bound = DualBound(problem)
        self.residual = self.svm_gap = math.inf

    def take(self, at: ProblemPoint) -> NDArray[np.float64]:
        """Take a point in; return its gradient."""
        quad = self.problem.kernel.grad_quad(at.weights, at.U)
        gradient = self.problem.gradient(at.weights, quad)
        if self.problem.is_convex:
            self._improve_bound(at, quad)
        self.residual = stationarity(self.problem, at.weights, gradient, at.value)
        self.svm_gap = relative(at.upper, at.value)
        self.add(at, self._bound.value)
        self.log(at.upper)
        return gradient

    def _improve_bound(self, at: ProblemPoint, quad: NDArray[np.float64]) -> None:
        """Bound by the dual vectors of a point; where that alone is behind, by mixtures too.

        Only where the objective has settled: a mixture costs a pass over all kernels.
        """
        if self.best is not None and math.isfinite(self.lower):
            left = self.best.upper - self.lower
            fallen = self.best.upper - at.upper
            if fallen < SETTLED * left and relative(at.upper, at.value) < 0.5 * self.gap:
                self._bound.mix(at, quad)
        self._bound.add(at, quad)

    @property
    def gap(self) -> float:
        """Certified relative gap, or the stationarity where there is no certificate."""
        return self.residual if math.isinf(self.lower) else super().gap

    def result(self, n_iter: int, status: str) -> Solution:
        """The end of the work; without a certificate there is no gap."""
        gap = None if math.isinf(self.lower) else self.gap
        return replace(super().result(n_iter, status), gap=gap, residual=self.residual)


class MissingCapability(TypeError):
    """A solver cannot work on this problem; the message says what it lacks and what to use."""


def require(problem: Problem, solver: str, **needs: Any) -> None:
    """Refuse a problem that lacks what a solver needs, before any work."""
    lacking = [what for what, there in needs.items() if not there]
    if lacking:
        words = ", ".join(name.replace("_", " ") for name in lacking)
        on = type(problem.feasible.given).__name__
        raise MissingCapability(
            f"solver {solver!r} needs {words}, which "
            f"{'a sum of kernels' if problem.is_convex else 'a kernel that is no sum'} with "
            f"{type(problem.regularizer).__name__} on {on} does not "
            "have; use solver='auto' or 'spg'"
        )


# -- where solvers start ---------------------------------------------------------------------------


def natural_start(problem: Problem, given: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The point that was given, made feasible, or one of sensible size.

    For a sum of kernels: the equal weights that are best on some of the rows, in whatever units
    the kernels are.  The optimum costs no more than the objective without any kernel; from the
    weights that cost as much, scales fall until the objective rises.
    """
    if given is not None:
        given = np.asarray(given, dtype=np.float64)
        near = problem.feasible.project(given)
        # A point that is feasible up to rounding keeps its zeros.
        return np.where(given == 0.0, 0.0, near) if np.allclose(near, given, atol=1e-9) else near
    uniform = problem.feasible.start(problem.kernel.n_kernels)
    if not problem.feasible.non_negative_only:
        return uniform
    if not problem.is_convex:
        return problem.weight_unit * uniform
    rows = _sample(problem)
    duals = [dual.sample(rows) for dual in problem.duals]
    K = np.ascontiguousarray(block(problem.gram(uniform), rows, rows))
    scale = best = _largest_scale(problem, uniform)
    least = np.inf
    for _ in range(MOST_SCALES):
        value = problem.cost(scale * uniform)
        value += sum(one.primal for one in solve_duals(scale * K, duals, SAMPLE_TOL))
        if value >= least:
            break
        least, best = value, scale
        scale *= SMALLER
    return best * uniform


def _largest_scale(problem: Problem, uniform: NDArray[np.float64]) -> float:
    """Scale at which equal weights cost as much as the objective without any kernel."""
    null = sum(solve_without_kernel(dual).primal for dual in problem.duals)
    low, high = -60.0, 60.0  # powers of two
    for _ in range(40):
        middle = 0.5 * (low + high)
        if problem.cost(2.0**middle * uniform) > null:
            high = middle
        else:
            low = middle
    return 2.0**low


def _sample(problem: Problem) -> NDArray[np.intp]:
    """Few of the rows, evenly spread over the targets."""
    n = problem.kernel.n_rows
    if n <= SAMPLE:
        return np.arange(n)
    shuffled = np.random.default_rng(0).permutation(n)
    order = shuffled[np.lexsort([dual.linear[shuffled] for dual in problem.duals])]
    return np.sort(order[np.linspace(0, n - 1, SAMPLE).astype(np.intp)])


# -- leaving out kernels that a certificate does not need ------------------------------------------


def trimmed(problem: Problem, found: Solution, tol: float) -> Solution:
    """The solution with as few kernels as its certificate allows, at most the tolerance worse.

    Looks at no kernel at all, and at those that pay what they cost, more and less strictly.
    """
    zero = np.zeros(problem.kernel.n_kernels)
    wanted = found.status == CONVERGED and found.gap is not None and found.weights.any()
    if not (wanted and problem.is_convex and problem.feasible.non_negative_only):
        return found
    if not (problem.regularizer.gradient(zero) > 0.0).all():
        return found  # weights of nothing cost nothing: all are positive
    null = ProblemPoint(zero, tuple(solve_without_kernel(dual) for dual in problem.duals), 0.0)
    if relative(null.upper, found.lower) <= tol:
        return _moved_to(found, null)
    d = found.weights
    cost = problem.regularizer.gradient(d)
    gradient = problem.gradient(d, problem.kernel.grad_quad(d, found.at.U))
    evaluate = PointSolver(problem, duals=[one.u for one in found.at.solutions])
    tried = d
    for share in UNPAID:
        kept = np.where(gradient > share * cost, 0.0, d)
        if np.array_equal(kept, d):
            break
        if not kept.any() or np.array_equal(kept, tried):
            continue
        tried = kept
        at = evaluate(kept, TRIMMED_TOL * tol)
        if relative(at.upper, found.lower) <= tol:
            found = _moved_to(found, at)
            break
    n_svm, n_steps = found.n_svm + evaluate.n_svm, found.n_steps + evaluate.n_steps
    return replace(found, n_svm=n_svm, n_steps=n_steps)


def _moved_to(found: Solution, at: ProblemPoint) -> Solution:
    """The same certificate for another point."""
    return replace(found, at=at, gap=relative(at.upper, found.lower))

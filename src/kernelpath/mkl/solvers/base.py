"""What all solvers of generalised multiple kernel learning share: bounds, stopping, the result."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.bounds import DualBound
from kernelpath.mkl.problem import PointSolver, Problem, ProblemPoint, relative, stationarity

CONVERGED, LIMIT, STALLED = "converged", "iteration limit", "stalled"
SETTLED = 0.1  # of the gap: an objective that falls by less waits for its lower bound


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
        Objective, bound and counts after every iteration.
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


class Bounds:
    """Bounds so far: the best point from above, the best bound from below."""

    def __init__(self, problem: Problem, evaluate: PointSolver, tol: float) -> None:
        self.problem, self.evaluate, self.tol = problem, evaluate, tol
        self.best: ProblemPoint | None = None
        self._bound = DualBound(problem)
        self.residual = math.inf
        self.svm_gap = math.inf
        self.history: list[dict[str, float]] = []

    def take(self, at: ProblemPoint) -> NDArray[np.float64]:
        """Take a point in; return its gradient."""
        quad = self.problem.kernel.grad_quad(at.weights, at.U)
        gradient = self.problem.gradient(at.weights, quad)
        if self.problem.is_convex:
            self._improve_bound(at, quad)
        self.residual = stationarity(self.problem, at.weights, gradient, at.value)
        self.svm_gap = relative(at.upper, at.value)
        if self.best is None or at.upper <= self.best.upper or not self.problem.is_convex:
            self.best = at
        self.history.append(
            {
                "objective": at.upper,
                "lower": self.lower,
                "n_svm": self.evaluate.n_svm,
                "n_steps": self.evaluate.n_steps,
            }
        )
        return gradient

    @property
    def lower(self) -> float:
        """Largest lower bound; minus infinity where the problem is not convex."""
        return self._bound.value

    def _improve_bound(self, at: ProblemPoint, quad: NDArray[np.float64]) -> None:
        """Bound by the dual vectors of a point; where that alone is behind, by mixtures too.

        Only where the objective has settled: a mixture costs a pass over all kernels.
        """
        before = self._bound.value
        if self.best is not None and math.isfinite(before):
            left = self.best.upper - before
            fallen = self.best.upper - at.upper
            if fallen < SETTLED * left and relative(at.upper, at.value) < 0.5 * self.gap:
                self._bound.mix(at, quad)
        self._bound.add(at, quad)

    @property
    def gap(self) -> float:
        """Certified relative gap, or the stationarity where there is no certificate."""
        if self.problem.is_convex and not math.isinf(self.lower):
            assert self.best is not None
            return relative(self.best.upper, self.lower)
        return self.residual

    @property
    def done(self) -> bool:
        """Whether the gap is small enough."""
        return self.gap <= self.tol

    def result(self, n_iter: int, status: str) -> Solution:
        """The end of the work."""
        assert self.best is not None
        certified = self.problem.is_convex and not math.isinf(self.lower)
        return Solution(
            at=self.best,
            lower=self.lower,
            gap=relative(self.best.upper, self.lower) if certified else None,
            residual=self.residual,
            n_svm=self.evaluate.n_svm,
            n_steps=self.evaluate.n_steps,
            n_iter=n_iter,
            status=status,
            history=self.history,
        )


class MissingCapability(TypeError):
    """A solver cannot work on this problem; the message says what it lacks and what to use."""


def require(problem: Problem, solver: str, **needs: Any) -> None:
    """Refuse a problem that lacks what a solver needs, before any work."""
    lacking = [what for what, there in needs.items() if not there]
    if lacking:
        words = ", ".join(name.replace("_", " ") for name in lacking)
        raise MissingCapability(
            f"solver {solver!r} needs {words}, which "
            f"{'a sum of kernels' if problem.is_convex else 'a kernel that is no sum'} with "
            f"{type(problem.regularizer).__name__} on {type(problem.feasible).__name__} does not "
            "have; use solver='auto' or 'spg'"
        )

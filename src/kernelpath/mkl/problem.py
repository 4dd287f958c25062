r"""The problem that generalised multiple kernel learning solves, and the proof of a solution.

.. math:: \min_{d \in F}\; r(d) + \sum_o \max_{u_o}\;
          c_o^\top u_o - e \|u_o\|_1 - \tfrac12 u_o^\top (K(d) + \tau I) u_o,

Eq. (1) and (2) of [jain2012], one dual vector for each output.  Inside is a support vector machine
with kernel matrix :math:`K(d)`; its value and its dual vectors give value and gradient in the
weights :math:`d`, Eq. (4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.feasible_sets import FeasibleSet, NonNegative
from kernelpath.mkl.grams import Gram
from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.regularizers import L1, ElasticNet, Lp, NoRegularizer, Regularizer
from kernelpath.mkl.svm.dual import DualSolution, solve_duals
from kernelpath.mkl.weighted_kernels.base import SumKernel, WeightedKernel
from kernelpath.utils.probes import is_own, not_nan, refused

TINY = 1e-300
ANY_WEIGHTS = NonNegative()
SEPARABLE = (L1, Lp, ElasticNet, NoRegularizer)
CONTRADICTION = 1e-5  # relative: a lower bound so far above an upper one is no rounding error
MANY_ROWS = 800  # beyond, kernel matrices are not held as arrays of double precision


@dataclass(frozen=True, eq=False)
class Problem:
    """A kernel with weights, what it is to explain, and what the weights cost.

    Attributes
    ----------
    kernel : WeightedKernel
    duals : tuple of DualProblem
        One for each output: a single one for two classes or a continuous target.
    regularizer : Regularizer
    feasible : FeasibleSet
    """

    kernel: WeightedKernel
    duals: tuple[DualProblem, ...]
    regularizer: Regularizer
    feasible: FeasibleSet = ANY_WEIGHTS

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", WeightedKernel.of(self.kernel))
        object.__setattr__(self, "feasible", FeasibleSet.of(self.feasible))

    @property
    def is_convex(self) -> bool:
        """Whether a stationary point is the optimum: sums of kernels are convex in the weights."""
        return bool(self.kernel.is_sum)

    @property
    def has_many_rows(self) -> bool:
        """Whether there are too many rows to hold kernel matrices as arrays."""
        return self.kernel.n_rows > MANY_ROWS

    @property
    def weight_unit(self) -> float:
        """Size of a weight that matters: 1 unless the kernel knows that its table says another."""
        return self.kernel.weight_unit

    @property
    def closed_form(self) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
        """The update of the weights that the regularizer knows, if it does."""
        return getattr(self.regularizer, "closed_form", None)

    @property
    def is_separable(self) -> bool:
        """Whether the cost is known for some of the weights: ours, or one with ``restrict``."""
        known = type(self.regularizer) in SEPARABLE  # a subclass may be another
        return known or hasattr(self.regularizer, "restrict")

    def restrict(self, parts: NDArray[np.intp]) -> Problem:
        """The problem on some kernels of a sum, all other weights being zero."""
        kernel = cast(SumKernel, self.kernel).restrict(parts)
        cost = getattr(self.regularizer, "restrict", None)
        regularizer = self.regularizer if cost is None else cost(parts)
        return replace(
            self, kernel=kernel, regularizer=regularizer, feasible=self.feasible.restrict(parts)
        )

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64] | Gram:
        """Kernel matrix of some weights: with many rows a `Gram`, if the kernel can give one."""
        kernel = self.kernel
        K = kernel.large_gram(weights) if self.has_many_rows else kernel.gram(weights)
        known = not is_own(kernel.given) or not isinstance(K, np.ndarray)
        return K if known else not_nan(kernel.given, "gram", K)

    def gradient(self, weights: NDArray[np.float64], quad: NDArray) -> NDArray[np.float64]:
        """Derivative of the objective in every weight, Eq. (4); ``quad`` is that of the kernel."""
        not_nan(self.kernel.given, "grad_quad", quad)
        slope = not_nan(self.regularizer, "gradient", self.regularizer.gradient(weights))
        return slope - 0.5 * quad

    def cost(self, weights: NDArray[np.float64]) -> float:
        """The regularizer, which must be a number."""
        return not_nan(self.regularizer, "value", self.regularizer.value(weights))


@dataclass(frozen=True, eq=False)
class ProblemPoint:
    """The problem at one point.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
    solutions : tuple of DualSolution
        Support vector machines with the kernel of these weights.
    cost : float
        The regulariser.
    """

    weights: NDArray[np.float64]
    solutions: tuple[DualSolution, ...]
    cost: float

    @property
    def value(self) -> float:
        """Objective from below, as exact as the support vector machines are."""
        return sum(one.dual for one in self.solutions) + self.cost

    @property
    def upper(self) -> float:
        """Objective from above: no optimum is larger."""
        return sum(one.primal for one in self.solutions) + self.cost

    @property
    def U(self) -> NDArray[np.float64]:
        """Dual vectors, as columns."""
        return np.column_stack([one.u for one in self.solutions])


@dataclass(eq=False)
class Work:
    """What a solver has done so far.

    Attributes
    ----------
    n_svm, n_steps : int
        Support vector machines solved, and steps of their solver.
    """

    n_svm: int = 0
    n_steps: int = 0


class PointSolver(Work):
    """Solves the support vector machines of a problem, each from the last one, and counts them."""

    def __init__(
        self,
        problem: Problem,
        warm: bool = True,
        duals: Sequence[NDArray[np.float64]] | None = None,
    ) -> None:
        super().__init__()
        self.problem, self._warm = problem, warm
        self._starts = None if duals is None else list(duals)

    def __call__(
        self, weights: NDArray[np.float64], tol: float, K: NDArray[np.float64] | Gram | None = None
    ) -> ProblemPoint:
        """Evaluate at some weights; ``K`` is their kernel matrix, if it is known."""
        problem = self.problem
        not_nan(problem.feasible.given, "project", weights)
        if K is None:
            K = problem.gram(weights)
        solutions = self.solve_svms(K, problem.duals, tol)
        return ProblemPoint(weights, solutions, problem.cost(weights))

    def solve_svms(
        self, K: NDArray[np.float64] | Gram, duals: Sequence[DualProblem], tol: float
    ) -> tuple[DualSolution, ...]:
        """Solve the machines of all outputs for one kernel matrix, from the last ones."""
        solutions = solve_duals(K, duals, tol, self._starts if self._warm else None)
        self._starts = [one.u for one in solutions]
        self.n_svm += len(solutions)
        self.n_steps += sum(one.n_steps for one in solutions)
        return solutions

    def gradient(self, at: ProblemPoint) -> NDArray[np.float64]:
        """Derivative of the objective in every weight, Eq. (4)."""
        quad = self.problem.kernel.grad_quad(at.weights, at.U)
        return self.problem.gradient(at.weights, quad)


# -- what a point proves ---------------------------------------------------------------------------


def lower_bound(problem: Problem, at: ProblemPoint, quad: NDArray[np.float64]) -> float:
    r"""A number that no feasible point of a convex problem undercuts.

    For any dual vectors the minimum over the weights is a conjugate,
    :math:`\ell(u) - \psi(q / 2)` with :math:`q_k = u^\top K_k u`.  Scaling ``u`` keeps it feasible
    and makes the best of it; without that the bound of an l1 norm is minus infinity at almost
    every point.
    """
    earned = sum(
        float(dual.linear @ one.u - dual.kink * np.abs(one.u).sum())
        for dual, one in zip(problem.duals, at.solutions)
    )
    ridge = sum(
        0.5 * dual.ridge * float(one.u @ one.u) for dual, one in zip(problem.duals, at.solutions)
    )
    longest = min(_room(dual, one.u) for dual, one in zip(problem.duals, at.solutions))
    half = 0.5 * quad
    if type(problem.regularizer) is NoRegularizer and problem.feasible.bounded:
        # Everything but the linear part grows with the square of the scale.
        return _best_square(earned, ridge + problem.feasible.support(half), longest)
    if problem.feasible.non_negative_only:
        if not hasattr(problem.regularizer, "conjugate"):
            return -math.inf
        bound = _best_conjugate(problem.regularizer, earned, ridge, half, longest)
        return _believed(problem.regularizer, bound, at)
    if not problem.feasible.bounded:
        return -math.inf
    # A convex regulariser lies above its tangent, so that the set alone gives a bound.
    slope = problem.regularizer.gradient(at.weights)
    offset = float(slope @ at.weights) - at.cost
    return earned - ridge - problem.feasible.support(half - slope) - offset


def _believed(regularizer: Any, lower: float, at: ProblemPoint) -> float:
    """A bound by a conjugate, which must not lie above the objective at any point."""
    not_nan(regularizer, "conjugate", lower)
    if is_own(regularizer) and lower > at.upper + CONTRADICTION * abs(at.upper):
        raise refused(
            regularizer, "conjugate",
            f"is too small: it says that no weights cost less than {lower:.6g}, but some cost "
            f"{at.upper:.6g}.",
        )  # fmt: skip
    return lower


def _room(dual: DualProblem, u: NDArray[np.float64]) -> float:
    """Largest factor by which a dual vector can be multiplied."""
    if dual.is_linear_system:
        return math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(u > 0, dual.high / u, np.where(u < 0, dual.low / u, np.inf))
    return float(factors.min(initial=math.inf))


def _best_square(earned: float, square: float, longest: float) -> float:
    """Largest ``t earned - t^2 square`` for ``0 <= t <= longest``."""
    if earned <= 0:
        return 0.0
    t = min(longest, earned / (2.0 * square) if square > 0 else math.inf)
    return 0.0 if math.isinf(t) else t * earned - t * t * square


def _best_conjugate(
    regularizer: Any, earned: float, ridge: float, half: NDArray[np.float64], longest: float
) -> float:
    """Largest ``t earned - t^2 ridge - psi(t^2 half)``: concave in ``t``, by golden section."""
    domain = math.inf  # a conjugate without a limit is finite everywhere
    if hasattr(regularizer, "domain_scale"):
        domain = not_nan(regularizer, "domain_scale", regularizer.domain_scale(half))
    most = min(longest, math.sqrt(domain))

    def bound(t: float) -> float:
        return t * earned - t * t * ridge - regularizer.conjugate(t * t * half)

    if earned <= 0 or most == 0:
        return 0.0
    if not math.isinf(most) and regularizer.conjugate(most * most * half) == 0.0:
        # Zero up to a threshold and infinite beyond, as for the l1 norm.
        return _best_square(earned, ridge, most)
    low, high = 0.0, min(most, 1.0)
    while high < most and bound(min(2.0 * high, most)) > bound(high):
        high = min(2.0 * high, most)
    high = min(2.0 * high, most)
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(60):
        if high - low <= 1e-9 * high:
            break
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = bound(right)
    return max(at_left, at_right, bound(min(most, 1.0)) if most >= 1.0 else -math.inf, 0.0)


def relative(upper: float, lower: float) -> float:
    """Gap between two bounds, relative to the upper one."""
    if math.isinf(lower):
        return math.inf
    return max(upper - lower, 0.0) / max(abs(upper), TINY)


def stationarity(
    problem: Problem, weights: NDArray[np.float64], gradient: NDArray[np.float64], value: float
) -> float:
    r"""How much a projected gradient step of the size of the weights would gain, relative.

    Zero at a stationary point, and free of units: scaling kernels, weights or the objective does
    not change it.
    """
    size, slope = float(np.linalg.norm(weights)), float(np.linalg.norm(gradient))
    if slope == 0.0:
        return 0.0
    step = (size if size > 0 else 1.0) / slope
    move = weights - problem.feasible.project(weights - step * gradient)
    return float(gradient @ move) / max(abs(value), TINY)

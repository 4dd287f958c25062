"""The best lower bound of a convex problem so far, and the dual vectors that prove it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.problem import Problem, ProblemPoint, lower_bound

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
Mixture = tuple[float, NDArray[np.float64], NDArray[np.float64]]
N_LOOKS = 25  # of a search between two dual vectors: 1e-5 of the distance


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

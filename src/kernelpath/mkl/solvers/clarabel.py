r"""A budget of features as the paper writes it, by an interior point method.

Theorems 1 and 5 of [yang2015]: the relaxed budget is a problem with quadratic constraints,

.. math:: \max_{u, \lambda, \gamma}\; c^\top u - e \|u\|_1 - \tfrac{\tau}{2} \|u\|^2
          - \tfrac12 (m \lambda + 1^\top \gamma), \qquad
          u^\top K_k u \le \lambda + \gamma_k,\; \gamma \ge 0,

within the bounds of ``u``.  Clarabel, an optional dependency, solves it to many digits; the
multipliers of the constraints are the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.mkl.problem import PointSolver, Problem, lower_bound
from kernelpath.mkl.solvers.base import CONVERGED, LIMIT, Bounds, Solution, require
from kernelpath.mkl.solvers.proximal import budget_of
from kernelpath.mkl.weighted_kernels.base import Factors

EXACT = 1e-2  # of the tolerance: that of the interior point method, and of the machine
LEAST = 1e-10


def clarabel_solve(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    """Solve by Clarabel; a start cannot help an interior point method, and is not used."""
    factors = problem.kernel.as_factors()
    require(
        problem,
        "clarabel",
        kernels_held_as_factors=factors is not None,
        a_budget_of_weights_up_to_1=budget_of(problem) is not None,
    )
    assert factors is not None
    program = _Program(problem, factors)
    U, weights, n_iter = program.solve(max(EXACT * tol, LEAST), max_iter)
    weights = problem.feasible.project(np.where(weights < LEAST, 0.0, weights))
    evaluate = PointSolver(problem, duals=list(U.T))
    at = evaluate(weights, EXACT * tol)
    own = [dual.feasible(u) for dual, u in zip(problem.duals, U.T)]
    other = tuple(replace(one, u=u) for one, u in zip(at.solutions, own))
    bounds = Bounds(problem, evaluate, tol)
    for point in (at, replace(at, solutions=other)):
        quad = problem.kernel.grad_quad(weights, point.U)
        bounds.add(at, lower_bound(problem, point, quad))
    return bounds.result(n_iter, CONVERGED if bounds.done else LIMIT)


class _Program:
    """The cone program; its unknowns are ``u``, ``|u|`` where that costs, lambda and gamma."""

    def __init__(self, problem: Problem, factors: Factors) -> None:
        self._problem, (self._factors, self._starts) = problem, factors
        self._n, self._outputs = problem.kernel.n_rows, len(problem.duals)
        self._n_u = self._n * self._outputs
        self._kinks = self._n_u if any(dual.kink > 0.0 for dual in problem.duals) else 0
        self._at_lambda = self._n_u + self._kinks
        self._size = self._at_lambda + 1 + problem.kernel.n_kernels
        self._fixed = set(problem.feasible.fixed)
        self._budget = budget_of(problem) or 0.0
        self._blocks: list[Any] = []
        self._sides: list[NDArray[np.float64]] = []
        self._cones: list[Any] = []

    def solve(self, tol: float, max_iter: int) -> tuple[NDArray, NDArray, int]:
        """Dual vectors as columns, weights, and the number of steps."""
        clarabel = _clarabel()
        self._linear_rows(clarabel)
        first = sum(block.shape[0] for block in self._blocks)
        heights = self._quadratic_rows(clarabel)
        P, q = self._objective()
        A, b = sparse.vstack(self._blocks, format="csc"), np.concatenate(self._sides)
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter, settings.max_threads = False, max_iter, 1
        settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tol
        for equilibrate in (False, True):  # columns of a table are on one scale already
            settings.equilibrate_enable = equilibrate
            done = clarabel.DefaultSolver(P, q, A, b, self._cones, settings).solve()
            if done.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
                break
        z = np.asarray(done.z)
        # Stationarity in lambda and gamma: half a weight is the sum of two multipliers of a cone.
        place = first + np.concatenate([[0], np.cumsum(heights)[:-1]])
        weights = 2.0 * (z[place] + z[place + 1])
        weights[list(self._fixed)] = 1.0
        U = np.asarray(done.x)[: self._n_u].reshape(self._outputs, self._n).T
        return U, np.clip(weights, 0.0, 1.0), int(done.iterations)

    def _objective(self) -> tuple[Any, NDArray[np.float64]]:
        duals, d = self._problem.duals, self._problem.kernel.n_kernels
        ridge = np.zeros(self._size)
        ridge[: self._n_u] = np.repeat([dual.ridge for dual in duals], self._n)
        free = self._budget - len(self._fixed)
        kinks = np.repeat([dual.kink for dual in duals], self._n) if self._kinks else np.zeros(0)
        earned = np.concatenate([-dual.linear for dual in duals])
        q = np.concatenate([earned, kinks, [0.5 * free], np.full(d, 0.5)])
        return sparse.diags_array(ridge, format="csc"), q

    def _add(self, block: Any, side: NDArray[np.float64], cones: list[Any]) -> None:
        self._blocks.append(block)
        self._sides.append(side)
        self._cones += cones

    def _linear_rows(self, clarabel: Any) -> None:
        """Sums of zero, bounds, and what stands for absolute values; lambda, gamma >= 0."""
        duals, width = self._problem.duals, self._size
        one = sparse.eye_array(self._n_u, width, format="csr")
        sums = sparse.kron(sparse.eye_array(self._outputs), np.ones((1, self._n)))
        rest = sparse.csr_array((self._outputs, width - self._n_u))
        zero = np.zeros(self._outputs)
        cones = [clarabel.ZeroConeT(self._outputs)]
        self._add(sparse.hstack([sums, rest], format="csr"), zero, cones)
        for sign, bounds in ((1.0, [d.high for d in duals]), (-1.0, [-d.low for d in duals])):
            bound = np.concatenate(bounds)
            known = np.flatnonzero(np.isfinite(bound))
            cones = [clarabel.NonnegativeConeT(len(known))]
            self._add(sign * one[known], bound[known], cones)
        if self._kinks:
            size = sparse.eye_array(self._n_u, width, k=self._n_u, format="csr")
            both = sparse.vstack([one - size, -one - size], format="csr")
            count = 2 * self._n_u
            self._add(both, np.zeros(count), [clarabel.NonnegativeConeT(count)])
        count = width - self._at_lambda
        positive = -sparse.eye_array(count, width, k=self._at_lambda, format="csr")
        self._add(positive, np.zeros(count), [clarabel.NonnegativeConeT(count)])

    def _quadratic_rows(self, clarabel: Any) -> NDArray[np.intp]:
        """``|Phi_k' u|^2 <= t`` as ``|(t - 1, 2 Phi_k' u)| <= t + 1``; heights of the cones."""
        ranks = np.diff(self._starts)
        heights = 2 + ranks * self._outputs
        first = np.concatenate([[0], np.cumsum(heights)])
        d, n = len(ranks), self._n
        rows, columns, values = [], [], []
        for k in range(d):
            room = [self._at_lambda + 1 + k] + ([] if k in self._fixed else [self._at_lambda])
            for row in (first[k], first[k] + 1):
                rows.append(np.full(len(room), row))
                columns.append(np.array(room))
                values.append(np.full(len(room), -1.0))
            own = self._factors[self._starts[k] : self._starts[k + 1]]
            for o in range(self._outputs):
                top = first[k] + 2 + o * ranks[k]
                rows.append(np.repeat(top + np.arange(ranks[k]), n))
                columns.append(np.tile(o * n + np.arange(n), ranks[k]))
                values.append(-2.0 * own.ravel())
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        side = np.zeros(first[-1])
        side[first[:-1]], side[first[:-1] + 1] = 1.0, -1.0
        cones = [clarabel.SecondOrderConeT(int(height)) for height in heights]
        self._add(sparse.csr_array(entries, shape=(first[-1], self._size)), side, cones)
        return heights


def _clarabel() -> Any:
    try:
        import clarabel  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            "solver='clarabel' needs the package clarabel; install it with "
            "pip install 'kernelpath[exact]', or take solver='auto'"
        ) from error
    return clarabel

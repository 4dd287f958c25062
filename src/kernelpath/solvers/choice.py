"""Which solver for which problem: by what a problem can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import not_one_of
from kernelpath.feasible_sets import NonNegative
from kernelpath.fits.losses import DualProblem
from kernelpath.fits.svm import DualSolution, solve_dual
from kernelpath.problem import Evaluation, Problem, lower_bound, relative
from kernelpath.solvers.alternation import alternate
from kernelpath.solvers.newton import newton
from kernelpath.solvers.spg import pgd, spg
from kernelpath.solvers.state import CONVERGED, Solution
from kernelpath.solvers.working_set import working_set
from kernelpath.weight_norms import MixedNorm

MANY = 2000  # kernels: beyond, those without a weight are left out of the steps

SOLVERS: dict[str, Callable[..., Solution]] = {
    "spg": spg,
    "pgd": pgd,
    "newton": newton,
    "alternation": alternate,
    "working_set": working_set,
}


def choose_solver(problem: Problem) -> str:
    """Name of the solver that "auto" means.

    Sums of kernels: Newton steps where the regulariser has a second derivative at zero, on a
    working set if there are many kernels, and the closed form where there is one.  Everything
    else: spectral projected gradients.
    """
    if not problem.is_convex:
        return "spg"
    nothing = np.zeros(problem.kernel.n_kernels)
    if np.isfinite(problem.regularizer.hess_diag(nothing)).all() and not isinstance(
        problem.regularizer, MixedNorm
    ):
        return "working_set" if problem.kernel.n_kernels > MANY else "newton"
    if hasattr(problem.regularizer, "closed_form") and isinstance(problem.feasible, NonNegative):
        return "alternation"
    return "spg"


def solve(problem: Problem, solver: str = "auto", start: Any = None, **options: Any) -> Solution:
    """Minimise with a solver by name; "auto" chooses."""
    name = choose_solver(problem) if solver == "auto" else solver
    if name not in SOLVERS:
        raise not_one_of("solver", solver, ["auto", *SOLVERS])
    if solver == "auto" and (empty := empty_model(problem, options.get("tol", 1e-3))) is not None:
        return empty
    found = SOLVERS[name](problem, start, **options)
    if solver != "auto" or name == "spg" or found.status == CONVERGED:
        return found
    # Second derivatives fail where few rows lie between their bounds; first ones do not.
    duals = tuple(one.u for one in found.at.solutions)
    more = spg(problem, found.weights, **(options | {"duals": duals}))
    best = more if more.objective <= found.objective else found
    lower = max(found.lower, more.lower)
    gap = None if more.gap is None else relative(best.objective, lower)
    return replace(
        best,
        lower=lower,
        gap=gap,
        n_svm=found.n_svm + more.n_svm,
        n_steps=found.n_steps + more.n_steps,
        n_iter=found.n_iter + more.n_iter,
        status=more.status,
        history=[*found.history, *more.history],
    )


def empty_model(problem: Problem, tol: float) -> Solution | None:
    """The solution without any kernel, where that is optimal up to the tolerance."""
    if not (problem.is_convex and isinstance(problem.feasible, NonNegative)):
        return None
    n, nothing = problem.kernel.n_rows, np.zeros(problem.kernel.n_kernels)
    solutions = []
    for dual in problem.duals:
        u, zero = null_dual(dual), np.zeros(n)
        bias = solve_dual(np.zeros((n, n)), dual, tol=1e-8).bias
        scores = np.full(n, bias)
        solutions.append(
            DualSolution(u, scores, bias, dual.value(u, zero), dual.loss(scores), n_steps=0)
        )
    at = Evaluation(nothing, tuple(solutions), problem.regularizer.value(nothing))
    lower = lower_bound(problem, at, problem.kernel.grad_quad(nothing, at.U))
    gap = relative(at.upper, lower)
    if gap > tol:
        return None
    return Solution(at, lower, gap, gap, n_svm=0, n_steps=0, n_iter=0, status=CONVERGED)


def null_dual(dual: DualProblem) -> NDArray[np.float64]:
    """Dual vector of the model without any kernel; of many, one that treats rows alike.

    Where rows of the larger class share the coefficients of the smaller one, equal shares give the
    smallest quadratic forms.
    """
    positive, negative = dual.high > 0, dual.low < 0
    if dual.ridge == 0.0 and dual.kink == 0.0 and not (positive & negative).any():
        room_up, room_down = dual.high.sum(), -dual.low.sum()
        total = min(room_up, room_down)
        if total > 0 and np.isfinite(total):
            return dual.high * (total / room_up) + dual.low * (total / room_down)
    n = len(dual.linear)
    return solve_dual(np.zeros((n, n)), dual, tol=1e-8).u

"""Which solver for which problem: by what a problem can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelpath.errors import not_one_of
from kernelpath.mkl.problem import Problem, ProblemPoint, Work, lower_bound, relative, stationarity
from kernelpath.mkl.regularizers import MixedNorm
from kernelpath.mkl.solvers.alternation import alternate
from kernelpath.mkl.solvers.base import CONVERGED, Bounds, Solution, trimmed
from kernelpath.mkl.solvers.clarabel import clarabel_solve
from kernelpath.mkl.solvers.newton import newton
from kernelpath.mkl.solvers.proximal import budget_of, primal
from kernelpath.mkl.solvers.published import spg_classical, spg_published
from kernelpath.mkl.solvers.simplex import hessian_mkl, silp, simple_mkl
from kernelpath.mkl.solvers.spg import pgd, spg
from kernelpath.mkl.solvers.working_set import working_set
from kernelpath.mkl.svm.dual import solve_without_kernel

THIN = 0.5  # of the rows: kernels of a lower rank in all leave many dual vectors optimal
MOST_ROWS = 6000  # beyond, second derivatives of a loss with kinks take too long
MANY = 2000  # kernels: beyond, those without a weight are left out of the steps

SOLVERS: dict[str, Callable[..., Solution]] = {
    "spg": spg,
    "pgd": pgd,
    "newton": newton,
    "alternation": alternate,
    "working_set": working_set,
    "primal": primal,
    "clarabel": clarabel_solve,
    # As published, to time and to compare with.
    "spg_published": spg_published,
    "spg_classical": spg_classical,
    "simple_mkl": simple_mkl,
    "silp": silp,
    "hessian_mkl": hessian_mkl,
}


def choose_solver(problem: Problem) -> str:
    """Name of the solver that "auto" means.

    Sums of kernels: Newton steps where the regulariser has a second derivative at zero, on a
    working set if there are many kernels, and the closed form where there is one.  Everything
    else: spectral projected gradients.

    A loss with kinks changes its slope at every row, and many rows that the kernels can hardly tell
    apart leave Newton steps too short: then the closed form comes first.

    A budget with a smooth loss and more rows than the kernels have ranks needs no kernel matrix.
    """
    if not problem.is_convex:
        return "spg"
    if _is_tall_budget(problem):
        return "primal"
    closed = _has_closed_form(problem)
    kinks = any(dual.ridge == 0.0 for dual in problem.duals)
    n, rank = problem.kernel.n_rows, problem.kernel.rank
    crowded = n > MOST_ROWS or (problem.has_many_rows and rank < THIN * n)
    if closed and kinks and crowded and problem.kernel.n_kernels <= MANY:
        return "alternation"
    if _has_curvature(problem):
        many = problem.kernel.n_kernels > MANY and problem.is_separable
        return "working_set" if many else "newton"
    return "alternation" if closed else "spg"


def solve(problem: Problem, solver: str = "auto", start: Any = None, **options: Any) -> Solution:
    """Minimise with a solver by name; "auto" chooses."""
    name = choose_solver(problem) if solver == "auto" else solver
    if name not in SOLVERS:
        raise not_one_of("solver", solver, ["auto", *SOLVERS])
    if solver == "auto" and (empty := empty_model(problem, options.get("tol", 1e-3))) is not None:
        return empty
    found = SOLVERS[name](problem, start, **options)
    tol = options.get("tol", 1e-3)
    if solver != "auto":
        return trimmed(problem, found, tol)
    for other in _fallbacks(problem, name):
        if found.status == CONVERGED:
            break
        duals = tuple(one.u for one in found.at.solutions)
        more = SOLVERS[other](problem, found.weights, **(options | {"duals": duals}))
        found = _together(found, more, tol)
    return _or_nothing(problem, trimmed(problem, found, tol), options)


def _fallbacks(problem: Problem, name: str) -> list[str]:
    """Solvers to go on with where one has stalled.

    Second derivatives fail where few rows lie between their bounds, and their machines prove
    little where many dual vectors are optimal; other points prove more.
    """
    if name == "spg":
        return []
    others = ["alternation"] if _has_closed_form(problem) else []
    others += ["newton"] if _has_curvature(problem) else []
    return [other for other in [*others, "spg"] if other != name]


def _is_tall_budget(problem: Problem) -> bool:
    kernel = problem.kernel
    smooth = all(dual.ridge > 0.0 for dual in problem.duals)
    tall = problem.has_many_rows and kernel.rank <= kernel.n_rows
    if not (tall and smooth and budget_of(problem) is not None):
        return False
    return kernel.as_factors() is not None


def _has_curvature(problem: Problem) -> bool:
    nothing = np.zeros(problem.kernel.n_kernels)
    finite = bool(np.isfinite(problem.regularizer.hess_diag(nothing)).all())
    return problem.is_convex and finite and not isinstance(problem.regularizer, MixedNorm)


def _has_closed_form(problem: Problem) -> bool:
    known = problem.closed_form is not None
    return known and problem.is_convex and problem.feasible.non_negative_only


def _together(found: Solution, more: Solution, tol: float) -> Solution:
    """The better point of two runs, with the better bound and all the work."""
    best = more if more.objective <= found.objective else found
    lower = max(found.lower, more.lower)
    gap = None if more.gap is None else relative(best.objective, lower)
    reached = gap is not None and gap <= tol
    return replace(
        best,
        lower=lower,
        gap=gap,
        n_svm=found.n_svm + more.n_svm,
        n_steps=found.n_steps + more.n_steps,
        n_iter=found.n_iter + more.n_iter,
        status=CONVERGED if reached else more.status,
        history=[*found.history, *_after(found, more)],
    )


def _after(found: Solution, more: Solution) -> list[dict[str, float]]:
    """The history of a run that went on from another: its work comes on top."""
    last = found.history[-1] if found.history else {}
    sums = ("n_svm", "n_steps", "seconds")
    return [one | {name: one[name] + last.get(name, 0) for name in sums} for one in more.history]


def _or_nothing(problem: Problem, found: Solution, options: dict[str, Any]) -> Solution:
    """From the model without any kernel, where a problem with several optima led to a worse one."""
    nothing = np.zeros(problem.kernel.n_kernels)
    if problem.is_convex or problem.feasible.project(nothing).any():
        return found
    solutions = tuple(solve_without_kernel(dual) for dual in problem.duals)
    at = ProblemPoint(nothing, solutions, problem.cost(nothing))
    if at.upper >= found.objective:
        return found
    gradient = problem.gradient(nothing, problem.kernel.grad_quad(nothing, at.U))
    residual = stationarity(problem, nothing, gradient, at.value)
    if residual > options.get("tol", 1e-3):
        duals = tuple(one.u for one in solutions)
        more = spg(problem, nothing, **(options | {"duals": duals}))
        if more.objective < at.upper:
            return _together(found, more, options.get("tol", 1e-3))
        # Of many optimal dual vectors the gradient shows one; no step from here leads down.
        residual = 0.0
    return replace(found, at=at, residual=residual, status=CONVERGED)


def empty_model(problem: Problem, tol: float) -> Solution | None:
    """The solution without any kernel, where that is optimal up to the tolerance."""
    if not (problem.is_convex and problem.feasible.non_negative_only):
        return None
    nothing = np.zeros(problem.kernel.n_kernels)
    solutions = tuple(solve_without_kernel(dual) for dual in problem.duals)
    at = ProblemPoint(nothing, solutions, problem.cost(nothing))
    bounds = Bounds(problem, Work(), tol)
    bounds.add(at, lower_bound(problem, at, problem.kernel.grad_quad(nothing, at.U)))
    return bounds.result(0, CONVERGED) if bounds.done else None

"""Which solver for which problem: by what it can do, the fastest that was measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelpath.errors import not_one_of
from kernelpath.feasible_sets import NonNegative
from kernelpath.problem import Problem
from kernelpath.solvers.alternation import alternate
from kernelpath.solvers.newton import newton
from kernelpath.solvers.spg import pgd, spg
from kernelpath.solvers.state import Solution
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
    return SOLVERS[name](problem, start, **options)

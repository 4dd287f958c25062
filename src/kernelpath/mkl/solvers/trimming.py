"""Leaving out kernels that a certificate does not need.

A solver stops where the gap is small enough; weights that do not matter to it may be left over from
where it started.  Under a regularizer that makes weights zero they are to be zero.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelpath.mkl.feasible_sets import NonNegative
from kernelpath.mkl.problem import PointSolver, Problem, ProblemPoint, relative
from kernelpath.mkl.solvers.base import CONVERGED, Solution
from kernelpath.mkl.svm.dual import solve_without_kernel

UNPAID = (0.0, 0.001, 0.01, 0.1)  # of its cost: a kernel that earns so much less is left out
EXACT = 0.1  # of the tolerance: precision of the machines


def trimmed(problem: Problem, found: Solution, tol: float) -> Solution:
    """The solution with as few kernels as its certificate allows, at most the tolerance worse.

    Looks at no kernel at all, and at those that pay what they cost, more and less strictly.
    """
    zero = np.zeros(problem.kernel.n_kernels)
    wanted = found.status == CONVERGED and found.gap is not None and found.weights.any()
    if not (wanted and problem.is_convex and isinstance(problem.feasible, NonNegative)):
        return found
    if not (problem.regularizer.gradient(zero) > 0.0).all():
        return found  # weights of nothing cost nothing: all are positive
    null = ProblemPoint(zero, tuple(solve_without_kernel(dual) for dual in problem.duals), 0.0)
    if relative(null.upper, found.lower) <= tol:
        return _at(found, null)
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
        at = evaluate(kept, EXACT * tol)
        if relative(at.upper, found.lower) <= tol:
            found = _at(found, at)
            break
    n_svm, n_steps = found.n_svm + evaluate.n_svm, found.n_steps + evaluate.n_steps
    return replace(found, n_svm=n_svm, n_steps=n_steps)


def _at(found: Solution, at: ProblemPoint) -> Solution:
    """The same certificate for another point."""
    return replace(found, at=at, gap=relative(at.upper, found.lower))

"""Where solvers of generalised multiple kernel learning start from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.feasible_sets import NonNegative
from kernelpath.mkl.grams.base import block
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.svm.dual import solve_duals, solve_without_kernel

SAMPLE = 200  # rows that scales are compared on
LOOSE = 0.1  # tolerance of their machines
SMALLER, MOST_SCALES = 0.25, 10  # from one scale to the next


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
    if not isinstance(problem.feasible, NonNegative):
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
        value += sum(one.primal for one in solve_duals(scale * K, duals, LOOSE))
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

"""Closed-form alternation for sums of kernels: weights from norms, norms from a machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.problem import PointSolver, Problem
from kernelpath.mkl.solvers.base import (
    CONVERGED,
    LIMIT,
    STALLED,
    PointBounds,
    Solution,
    natural_start,
    require,
)
from kernelpath.utils.probes import not_nan

LOOSEST, TIGHT = 1e-2, 1e-9
REVIVED = 1e-6  # of the largest weight: what a kernel that pays gets at least


def alternate(
    problem: Problem,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    warm: bool = True,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Solution:
    r"""Minimise by the update of [kloft2011].

    With the weights fixed, the machine has parts of squared norm
    :math:`\|w_k\|^2 = d_k^2\, u^\top K_k u`; with these fixed, the best weights minimise
    :math:`\sum_k \|w_k\|^2 / (2 d_k) + r(d)`, which the regulariser knows in closed form.
    """
    require(
        problem,
        "alternation",
        a_sum_of_kernels=problem.kernel.is_sum,
        a_closed_form_update=problem.closed_form is not None,
        non_negative_weights_only=problem.feasible.non_negative_only,
    )
    closed_form = problem.closed_form
    assert closed_form is not None
    evaluate = PointSolver(problem, warm, duals)
    bounds = PointBounds(problem, evaluate, tol)
    weights = natural_start(problem, start)
    precision = LOOSEST
    best = np.inf
    for n_iter in range(1, max_iter + 1):
        at = evaluate(weights, precision)
        gradient = bounds.take(at)
        if bounds.done:
            return bounds.result(n_iter, CONVERGED)
        if bounds.svm_gap > 0.25 * bounds.gap:
            if precision <= TIGHT:
                return bounds.result(n_iter, STALLED)
            precision = max(precision / 10.0, TIGHT)
        quad = 2.0 * (problem.regularizer.gradient(weights) - gradient)
        fresh = closed_form(np.square(weights) * quad)
        not_nan(problem.regularizer, "closed_form", fresh)
        # A weight of nothing stays so, even if its kernel has come to pay.
        least = REVIVED * fresh.max(initial=0.0)
        fresh = np.where((gradient < 0.0) & (fresh < least), least, fresh)
        if at.upper >= best and np.allclose(fresh, weights, rtol=1e-14, atol=0.0):
            return bounds.result(n_iter, STALLED)
        best, weights = min(best, at.upper), fresh
    return bounds.result(max_iter, LIMIT)

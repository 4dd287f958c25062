"""The relaxed budget as the papers write it, Eq. (8) and (20), solved by cvxpy."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def qcqp(factors, dual, m, fixed=(), tol=1e-9):
    """Half the optimum, the dual vector and the multiplier of the budget.

    ``factors`` are those of one kernel for each feature, of shape (n_rows, rank).  The solver is an
    interior point method.
    """
    n = len(dual.linear)
    u, lam = cp.Variable(n), cp.Variable(nonneg=True)
    gamma = cp.Variable(len(factors), nonneg=True)
    forms = [cp.sum_squares(factor.T @ u) for factor in factors]
    bounds = [u >= dual.low, u <= dual.high, cp.sum(u) == 0]
    rows = [form <= gamma[k] + (0.0 if k in fixed else lam) for k, form in enumerate(forms)]
    earned = dual.linear @ u - dual.kink * cp.norm1(u) - 0.5 * dual.ridge * cp.sum_squares(u)
    cost = 0.5 * ((m - len(fixed)) * lam + cp.sum(gamma))
    problem = cp.Problem(cp.Maximize(earned - cost), bounds + rows)
    problem.solve(solver="CLARABEL", tol_gap_rel=tol, tol_gap_abs=0.1 * tol, tol_feas=tol)
    return float(problem.value), np.asarray(u.value), float(lam.value)

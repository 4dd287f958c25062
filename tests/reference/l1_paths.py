"""Slow twins of the paths over l1 norms: each point by a solver that knows nothing of a path."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def l1_svm_loss(Z, label, budget):
    """Least sum of hinge losses with ``||b||_1 <= budget``, a linear program."""
    n, d = Z.shape
    signed = label[:, None] * Z
    margins = sparse.hstack([-signed, signed, -label[:, None], -sparse.eye_array(n)])
    norm = sparse.csr_array(np.concatenate([np.ones(2 * d), np.zeros(n + 1)])[None])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    found = linprog(
        np.concatenate([np.zeros(2 * d + 1), np.ones(n)]),
        A_ub=sparse.vstack([margins, norm]).tocsc(),
        b_ub=np.append(-np.ones(n), budget),
        bounds=bounds,
        method="highs",
    )
    assert found.status == 0
    return found.fun


def l1_mkl(kernels, label, strength):
    """Objective and norms of logistic multiple kernel learning, from kernel matrices."""
    bias, f, penalty, parts = cp.Variable(), 0.0, 0.0, []
    for K in kernels:
        sizes, vectors = np.linalg.eigh(K)
        keep = sizes > 1e-10 * sizes[-1]
        parts.append(cp.Variable(int(keep.sum())))
        f = f + (vectors[:, keep] * np.sqrt(sizes[keep])) @ parts[-1]
        penalty = penalty + cp.norm(parts[-1])
    loss = cp.sum(cp.logistic(-cp.multiply(label, f + bias)))
    problem = cp.Problem(cp.Minimize(loss + strength * penalty))
    problem.solve(solver=cp.CLARABEL)
    return problem.value, np.array([np.linalg.norm(part.value) for part in parts])


def one_feature_kernels(Z, kernel="rbf"):
    """Kernel matrices of standardised columns, centred and of trace n."""
    n = len(Z)
    H = np.eye(n) - 1.0 / n
    made = []
    for z in Z.T:
        K = np.exp(-0.5 * (z[:, None] - z) ** 2) if kernel == "rbf" else np.outer(z, z)
        K = H @ K @ H
        made.append(n * K / np.trace(K))
    return made

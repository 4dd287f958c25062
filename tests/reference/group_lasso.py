"""Slow twins of the group lasso over factors: the program itself, and its optimality conditions."""

from __future__ import annotations

import numpy as np


def factor(x, landmarks, shares, gamma):
    """Nystrom factor of a centred Gaussian kernel, its squares summing to 1, times root shares."""
    K = np.exp(-gamma * np.square(x[:, None] - x))
    which = [int(np.flatnonzero(x == value)[0]) for value in landmarks]
    values, vectors = np.linalg.eigh(K[np.ix_(which, which)])
    F = K[:, which] @ vectors / np.sqrt(values)
    F = np.sqrt(shares)[:, None] * (F - shares @ F)
    return F / np.linalg.norm(F)


def solve(factors, target, hinge, root, strength, ridge=0.0):
    """Objective, norms and outputs, by cvxpy; factors are of shape (n_rows, rank)."""
    import cvxpy as cp

    n, q = target.shape
    weights = [cp.Variable((G.shape[1], q)) for G in factors]
    bias = cp.Variable((1, q))
    output = root[:, None] @ bias + sum(G @ W for G, W in zip(factors, weights))
    rest = target - output
    losses = []
    for c in range(q):
        part = rest[:, c]
        if hinge[c]:
            part = cp.pos(cp.multiply(np.sign(target[:, c]), part))
        losses.append(cp.sum_squares(part))
    norms = [cp.norm(W, "fro") for W in weights]
    squares = [cp.sum_squares(W) for W in weights]
    penalty = strength * (sum(norms) + 0.5 * ridge * sum(squares))
    objective = 0.5 * sum(losses) + penalty
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    sizes = np.array([np.linalg.norm(W.value) for W in weights])
    return float(problem.value), sizes, output.value


def residuals(target, output, hinge):
    """``t - f``, for a hinge where its margin is not reached."""
    rest = target - output
    return np.where(hinge & (rest * target <= 0), 0.0, rest)


def violation(factors, weights, rest, strength, ridge=0.0):
    """Largest distance of 0 from the subdifferential of a group."""
    worst = 0.0
    for G, W in zip(factors, weights):
        pull, norm = G.T @ rest, np.linalg.norm(W)
        if norm > 0:
            own = np.linalg.norm(pull - strength * W * (1.0 / norm + ridge))
        else:
            own = max(np.linalg.norm(pull) - strength, 0.0)
        worst = max(worst, own)
    return worst

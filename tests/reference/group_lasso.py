"""Slow twins of the group lasso over factors: the program itself, and its optimality conditions."""

from __future__ import annotations

import warnings

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
    unit = np.sqrt(n)  # rows as they are, which suits the solver better than roots of shares
    target, root, factors = unit * target, unit * root, [unit * G for G in factors]
    weights = [cp.Variable((G.shape[1], q)) for G in factors]
    bias = cp.Variable((1, q))
    output = root[:, None] @ bias + sum(G @ W for G, W in zip(factors, weights))
    rest, constraints = target - output, []
    if np.any(hinge):
        sign, which = np.sign(target), np.flatnonzero(hinge)
        short = cp.Variable((n, len(which)), nonneg=True)
        constraints.append(short >= cp.multiply(sign[:, which], rest[:, which]))
        parts = [short, rest[:, np.flatnonzero(~hinge)]] if not np.all(hinge) else [short]
    else:
        parts = [rest]
    loss = 0.5 * sum(cp.sum_squares(part) for part in parts)
    penalty = sum(cp.norm(cp.vec(W, order="F")) for W in weights)
    if ridge:
        penalty = penalty + 0.5 * ridge * sum(cp.sum_squares(W) for W in weights)
    problem = cp.Problem(cp.Minimize(loss + n * strength * penalty), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is near enough is held against ours
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-7, tol_gap_rel=1e-7, tol_feas=1e-7)
    sizes = np.array([np.linalg.norm(W.value) for W in weights])
    return float(problem.value) / n, sizes, output.value / unit


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

"""The conditions of optimality of L1KR, written down with dense arrays and nothing shared."""

from __future__ import annotations

import numpy as np


def kernel_matrix(X, weights, kind, degree=3):
    """Kernel matrix by loops over the features."""
    if kind == "gaussian":
        return np.exp(-sum(w * np.subtract.outer(x, x) ** 2 for w, x in zip(weights, X.T)))
    inner = sum(w * np.outer(x, x) for w, x in zip(weights, X.T)) / (1 + weights.sum())
    return (inner + 1) ** degree


def derivative(X, weights, kind, k, degree=3):
    """Derivative of the kernel matrix in one weight."""
    if kind == "gaussian":
        return -(np.subtract.outer(X[:, k], X[:, k]) ** 2) * kernel_matrix(X, weights, kind)
    total = 1 + weights.sum()
    inner = sum(w * np.outer(x, x) for w, x in zip(weights, X.T)) / total
    first = (np.outer(X[:, k], X[:, k]) - inner) / total
    return degree * (inner + 1) ** (degree - 1) * first


def kkt(X, y, weights, ridge, kind="gaussian", budget=None):
    """Violations, relative: of equal slopes, of the inactive ones, of the norm budget.

    The machine solves ``(H K + ridge) a = y - mean``, Eq. (3) of the paper.
    """
    n, y = len(y), y - y.mean()
    K = kernel_matrix(X, weights, kind)
    H = np.eye(n) - 1.0 / n
    a = np.linalg.solve(H @ K + ridge * np.eye(n), y)
    slopes = np.array([a @ derivative(X, weights, kind, k) @ a for k in range(X.shape[1])])
    active = weights > 0
    top = slopes[active].max()
    unit = max(top, 1e-5 * (y @ y) / ridge)
    equal = float(np.abs(slopes[active] - top).max()) / unit
    behind = float(max((slopes[~active] - top).max(initial=-np.inf), 0.0)) / unit
    norm = 0.0 if budget is None else abs(a @ K @ a / budget - 1.0)
    return equal, behind, norm

"""The slow, obvious twin of the combined kernels: one feature at a time, centred explicitly.

Extended precision throughout, and kernels up to an additive constant, as in the alignments.
"""

from __future__ import annotations

from math import comb

import numpy as np

from kernelpath.kernels import Polynomial

LONG = np.longdouble


def gram(x, z, kernel, gamma, center):
    """Kernel matrix of two columns up to an additive constant."""
    x, z = np.asarray(x).astype(LONG), np.asarray(z).astype(LONG)
    gap = x[:, None] - z[None, :]
    if kernel.name == "rbf":
        return np.expm1(-LONG(gamma) * gap * gap)
    if kernel.name == "laplace":
        return np.expm1(-LONG(gamma) * np.abs(gap))
    if kernel.name == "delta":
        return (gap == 0).astype(LONG)
    product = LONG(gamma) * np.multiply.outer(x - LONG(center), z - LONG(center))
    return sum(factor * product**b for b, factor in powers(kernel))


def powers(kernel):
    """Pairs ``b, c_b`` with ``(coef0 + t)^degree = constant + sum_b c_b t^b``."""
    n = kernel.degree
    return [(b, comb(n, b) * LONG(kernel.coef0) ** (n - b)) for b in range(1, n + 1)]


def half_squared_distance(x, z, kernel, gamma, center):
    """``d(x, z)`` from the definition, for polynomials power by power."""
    if isinstance(kernel, Polynomial):
        root = np.sqrt(LONG(gamma))
        a, b = (root * (np.asarray(v).astype(LONG) - LONG(center)) for v in (x, z))
        return sum(c * (a[:, None] ** p - b[None, :] ** p) ** 2 for p, c in powers(kernel)) / 2
    cross = gram(x, z, kernel, gamma, center)
    own_x = np.array([gram([a], [a], kernel, gamma, center)[0, 0] for a in x])
    own_z = np.array([gram([a], [a], kernel, gamma, center)[0, 0] for a in z])
    return (own_x[:, None] + own_z[None, :]) / 2 - cross


def centring(row_weight):
    """``H = I - 1 w'`` for weights that sum to 1."""
    w = np.asarray(row_weight).astype(LONG)
    w = w / w.sum()
    return np.eye(len(w), dtype=LONG) - np.outer(np.ones(len(w), dtype=LONG), w)


def centred(x, x_new, kernel, gamma, center, row_weight):
    """Centred kernel of the training rows, and of new rows with training rows."""
    H = centring(row_weight)
    K = H @ gram(x, x, kernel, gamma, center) @ H.T
    w = np.asarray(row_weight).astype(LONG)
    raw = gram(x, x, kernel, gamma, center)
    own_mean = (w / w.sum()) @ raw
    K_new = (gram(x_new, x, kernel, gamma, center) - own_mean) @ H.T
    return K, K_new


def trace(x, kernel, gamma, center, row_weight):
    """``sum_i w_i (H K H)_ii``: for whole weights the trace of the kernel of repeated rows."""
    K, _ = centred(x, x[:0], kernel, gamma, center, row_weight)
    return float(np.asarray(row_weight).astype(LONG) @ np.diag(K))


def combine(X, X_new, bank, weights, row_weight=None):
    """Weighted sum of the centred kernels, with the parameters and traces of ``bank``."""
    X, X_new = np.asarray(X), np.asarray(X_new)
    row_weight = np.ones(len(X)) if row_weight is None else row_weight
    K = np.zeros((len(X), len(X)), dtype=LONG)
    K_new = np.zeros((len(X_new), len(X)), dtype=LONG)
    for i, weight in enumerate(weights):
        if weight == 0 or bank.constant[i]:
            continue
        kernel = bank.kernels[bank.which[i]]
        parameters = (kernel, bank.gamma[i], bank.center[i], row_weight)
        one, one_new = centred(X[:, i], X_new[:, i], *parameters)
        K += LONG(weight) / LONG(bank.traces[i]) * one
        K_new += LONG(weight) / LONG(bank.traces[i]) * one_new
    return K, K_new


def cross(X, X_new, bank, factors, sparse):
    """Not centred: ``-d``, polynomials as they are; shifted to vanish at 0 for sparse tables."""
    total = np.zeros((len(X_new), len(X)), dtype=LONG)
    for i, factor in enumerate(factors):
        kernel = bank.kernels[bank.which[i]]
        parameters = (kernel, bank.gamma[i], bank.center[i])
        d = half_squared_distance(X_new[:, i], X[:, i], *parameters)
        zero = np.zeros(1)
        form = -d
        if isinstance(kernel, Polynomial) and not sparse:
            form = gram(X_new[:, i], X[:, i], *parameters)
        if sparse:
            form = form + half_squared_distance(X_new[:, i], zero, *parameters)
            form = form + half_squared_distance(zero, X[:, i], *parameters)
        total += LONG(factor) * form
    return total

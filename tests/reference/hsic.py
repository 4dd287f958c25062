"""HSIC Lasso from kernel matrices, and BAHSIC by computing every kernel anew."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls


def normalised(K):
    """Centred, of Frobenius norm 1."""
    H = np.eye(len(K)) - 1.0 / len(K)
    K = H @ K @ H
    return K / np.linalg.norm(K)


def gaussian(x, sigma=1.0):
    return np.exp(-np.square(x[:, None] - x[None, :]) / (2.0 * sigma**2))


def same_class(y):
    """One over the size of the class for two rows of a class, else 0."""
    sizes = {label: np.sum(y == label) for label in y}
    return np.array([[(a == b) / sizes[a] for b in y] for a in y])


def problem(Z, L, sigma=1.0):
    """Products of the kernels of all columns with each other and with that of the target."""
    kernels = np.array([normalised(gaussian(z, sigma)).ravel() for z in Z.T])
    return kernels @ kernels.T, kernels @ normalised(L).ravel()


def lasso(G, b, strength):
    """Weights that are not negative, by the solver of scipy."""
    R = np.linalg.cholesky(G).T
    return nnls(R, solve_triangular(R, b - strength, trans="T"), maxiter=10_000)[0]


def unbiased(K, L):
    """Eq. (4) of Song et al. (2012)."""
    n = len(K)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    total = np.trace(K @ L) + K.sum() * L.sum() / ((n - 1) * (n - 2))
    return (total - 2.0 / (n - 2) * np.ones(n) @ K @ L @ np.ones(n)) / (n * (n - 3))


def kernel_of(Z, columns, name, gamma):
    if name == "linear":
        return Z[:, columns] @ Z[:, columns].T
    K = np.empty((len(Z), len(Z)))
    for i, a in enumerate(Z[:, columns]):
        for k, b in enumerate(Z[:, columns]):
            K[i, k] = np.exp(-gamma * np.sum((a - b) ** 2))
    return K


def bahsic(Z, L, name, drop):
    """Columns from the last that is left to the first that leaves, and HSIC before each round."""
    left, out, before = list(range(Z.shape[1])), [], []
    while left:
        gamma = 1.0 / (2 * len(left))
        before.append(unbiased(kernel_of(Z, left, name, gamma), L))
        if len(left) == 1:
            out += left
            break
        without = {
            j: unbiased(kernel_of(Z, [k for k in left if k != j], name, gamma), L) for j in left
        }
        worst = sorted(left, key=lambda j: -without[j])[: max(1, int(drop * len(left)))]
        out += worst
        left = [j for j in left if j not in worst]
    return out[::-1], before

"""The slow, obvious twin of kernels of the user's own: one pair of values after the other.

A kernel is a function ``k(a, b, gamma)`` of two numbers, written with :mod:`math` alone; everything
else is sums over pairs.  Values are centred at the mean of the training column first.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC, SVR

EPSILON = 0.1


def matrix(k, x, z, gamma):
    """Kernel matrix, entry by entry."""
    return np.array([[k(a, b, gamma) for b in z.tolist()] for a in x.tolist()]).reshape(
        len(x), len(z)
    )


def anchored(k):
    """The kernel of the same distances that is 0 where a value is."""
    return lambda a, b, g: k(a, b, g) - k(a, 0.0, g) - k(0.0, b, g) + k(0.0, 0.0, g)


def mean_and_scale(x, counts):
    mean = np.average(x, weights=counts)
    return mean, np.sqrt(np.average((x - mean) ** 2, weights=counts))


def target_columns(y, task):
    if task == "regression":
        return ((y - y.mean()) / y.std())[:, None]
    labels = np.unique(y)
    if len(labels) == 2:
        return np.where(y == labels[1], 1.0, -1.0)[:, None]
    return (y[:, None] == labels).astype(float)


def alignments(X, y, k, width, task, counts=None):
    """``tr(Y' H K H Y) / tr(H K H)`` of every column, weights as repeated rows."""
    if counts is not None:
        X, y = np.repeat(X, counts, axis=0), np.repeat(y, counts)
    n = len(X)
    H = np.eye(n) - 1.0 / n
    Y = target_columns(y, task)
    values = []
    for x in X.T:
        mean, scale = mean_and_scale(x, np.ones(n))
        K = H @ matrix(k, x - mean, x - mean, width(scale)) @ H
        values.append(np.trace(Y.T @ K @ Y) / np.trace(K))
    return np.array(values)


def combined(X, X_new, weights, k, width, counts=None):
    """``sum_i w_i H K_i H / tr(H K_i H)``, and new rows against old."""
    n = len(X)
    counts = np.ones(n) if counts is None else np.asarray(counts, dtype=float)
    share = counts / counts.sum()
    H = np.eye(n) - np.outer(np.ones(n), share)
    total, total_new = np.zeros((n, n)), np.zeros((len(X_new), n))
    for x, new, weight in zip(X.T, X_new.T, weights):
        if weight == 0.0:
            continue
        mean, scale = mean_and_scale(x, counts)
        raw = matrix(k, x - mean, x - mean, width(scale))
        cross = matrix(k, new - mean, x - mean, width(scale))
        K = H @ raw @ H.T
        trace = counts @ np.diag(K)
        total += weight / trace * K
        total_new += weight / trace * (cross - share @ raw) @ H.T
    return total, total_new


def predictions(X, y, X_new, weights, k, width, task, C):
    """A support vector machine on the combined kernel of mean diagonal 1, and its predictions."""
    K, K_new = combined(X, X_new, len(X) * weights / weights.sum(), k, width)
    if task == "regression":
        mean, scale = y.mean(), y.std()
        svm = SVR(kernel="precomputed", C=C, epsilon=EPSILON, tol=1e-6).fit(K, (y - mean) / scale)
        return mean + scale * svm.predict(K_new)
    svm = SVC(kernel="precomputed", C=C, tol=1e-6).fit(K, y)
    return svm.decision_function(K_new) if len(np.unique(y)) == 2 else svm.predict(K_new)


def curve(x, target, grid, k, width, ridges, n_landmarks):
    """Kernel ridge regression on landmarks, the ridge by generalised cross-validation."""
    mean, scale = mean_and_scale(x, np.ones(len(x)))
    landmarks = np.unique(np.quantile(x, np.linspace(0.0, 1.0, n_landmarks))) - mean
    values, vectors = np.linalg.eigh(matrix(k, landmarks, landmarks, width(scale)))
    kept = values > 1e-10 * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    phi, phi_new = (matrix(k, v - mean, landmarks, width(scale)) @ root for v in (x, grid))
    phi_new, phi = phi_new - phi.mean(axis=0), phi - phi.mean(axis=0)
    best, chosen = np.inf, None
    for ridge in ridges * len(x):
        inverse = np.linalg.inv(phi.T @ phi + ridge * np.eye(phi.shape[1]))
        hat = phi @ inverse @ phi.T
        residual = target - target.mean() - hat @ (target - target.mean())
        score = np.square(residual).sum() / (len(x) - 1.0 - np.trace(hat)) ** 2
        if score < best:
            best, chosen = score, phi_new @ inverse @ phi.T @ (target - target.mean())
    return chosen + target.mean()

"""Joint kernels and their loss of rows left out: every fit is made, every change computed anew."""

from __future__ import annotations

import numpy as np


def rbf(Z, features, c):
    """Gaussian kernel of standardised columns, value by value."""
    n, k = len(Z), max(len(features), 1)
    K = np.ones((n, n))
    for i in range(n):
        for j in range(n):
            K[i, j] += np.exp(-c / k * sum((Z[i, f] - Z[j, f]) ** 2 for f in features))
    return K


def one_feature(z, ends_and_quantiles=6):
    """Centred Gaussian kernel of one column by landmarks, of mean diagonal 1."""
    n = len(z)
    places = [round(i * (n - 1) / (ends_and_quantiles - 1)) for i in range(ends_and_quantiles)]
    known = np.sort(z)[places]
    near = np.exp(-0.5 * (known[:, None] - known) ** 2)
    far = np.exp(-0.5 * (z[:, None] - known) ** 2)
    H = np.eye(n) - 1.0 / n
    K = H @ far @ np.linalg.pinv(near, rcond=1e-10, hermitian=True) @ far.T @ H
    return K * n / np.trace(K)


def anova(Z, features, c):
    """Product of 1 plus the kernels of single columns."""
    K = np.ones((len(Z), len(Z)))
    for f in features:
        K = K * (1 + c / max(len(features), 1) * one_feature(Z[:, f]))
    return K


def residuals(K, ridge, Y, groups):
    """By how much a fit without a group misses the rows of the group: one fit for each."""
    R = np.empty_like(Y)
    for group in np.unique(groups):
        out, rest = np.flatnonzero(groups == group), np.flatnonzero(groups != group)
        dual = np.linalg.solve(K[np.ix_(rest, rest)] + ridge * np.eye(len(rest)), Y[rest])
        R[out] = Y[out] - K[np.ix_(out, rest)] @ dual
    return R


def loss(K, ridge, Y, codes, groups=None):
    """Mean squared hinge loss of codes, summed over columns; mean squared error of numbers."""
    R = residuals(K, ridge, Y, np.arange(len(Y)) if groups is None else groups)
    total = 0.0
    for i in range(len(Y)):
        for k in range(Y.shape[1]):
            total += max(0.0, Y[i, k] * R[i, k]) ** 2 if codes else R[i, k] ** 2
    return total / len(Y)


def set_loss(kernel, Z, features, c, ridge, Y, codes, groups=None):
    """Loss of some features; the ridge is in units of the mean diagonal."""
    K = kernel(Z, features, c)
    return loss(K, ridge * np.trace(K) / len(K), Y, codes, groups)


def lower_exchanges(kernel, Z, head, pool, c, ridge, Y, codes):
    """All exchanges of one feature that lower the loss."""
    now = set_loss(kernel, Z, head, c, ridge, Y, codes)
    found = []
    for out in head:
        for into in pool:
            swapped = [f for f in head if f != out] + [into]
            if set_loss(kernel, Z, swapped, c, ridge, Y, codes) < now * (1 - 1e-7):
                found.append((out, into))
    return found

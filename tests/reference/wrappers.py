"""Wrappers around models, by loops."""

from __future__ import annotations

import numpy as np


def eliminate(Z, squared_weights, drop, one_by_one):
    """Columns from best to worst: refit, drop the smallest, again; `squared_weights(columns)`."""
    left, gone = list(range(Z.shape[1])), []
    while len(left) > 1:
        squares = squared_weights(Z[:, left])
        count = 1
        while count + 1 <= drop * len(left) and len(left) - (count + 1) >= one_by_one:
            count += 1
        for j in [left[i] for i in np.argsort(squares, kind="stable")[:count]]:
            gone.append(j)
            left.remove(j)
    return [*left, *gone[::-1]]


def shuffled_losses(fit, score, Z, y, folds, n_repeats, rng):
    """Mean loss of the score where a column is shuffled."""
    losses = np.zeros(Z.shape[1])
    for train, test in folds:
        model = fit(Z[train], y[train])
        plain = score(model, Z[test], y[test])
        for j in range(Z.shape[1]):
            for _ in range(n_repeats):
                other = Z[test].copy()
                other[:, j] = rng.permutation(other[:, j])
                losses[j] += plain - score(model, other, y[test])
    return losses / (len(folds) * n_repeats)


def pls(A, y, n_components):
    """Coefficients of partial least squares with one target: deflation, then back to columns."""
    A, y = A - A.mean(axis=0), y - y.mean()
    W, P, q = [], [], []
    for _ in range(n_components):
        w = A.T @ y
        w = w / np.linalg.norm(w)
        t = A @ w
        p, c = A.T @ t / (t @ t), y @ t / (t @ t)
        A, y = A - np.outer(t, p), y - c * t
        W.append(w), P.append(p), q.append(c)
    W, P = np.array(W).T, np.array(P).T
    return W @ np.linalg.solve(P.T @ W, np.array(q))


def cars_run(A, y, groups, n_components, n_rounds, share, rng):
    """Rounds that each column survives a competition."""
    p = A.shape[1]
    left, survived = np.arange(p), np.zeros(p)
    a, k = (p / 2) ** (1 / (n_rounds - 1)), np.log(p / 2) / (n_rounds - 1)
    for i in range(1, n_rounds + 1):
        rows = []
        for g in np.unique(groups):
            inside = np.flatnonzero(groups == g)
            rows += sorted(rng.choice(inside, round(share * len(inside)), replace=False))
        b = np.abs(pls(A[np.ix_(rows, left)], y[rows], min(n_components, len(left))))
        count = min(round(p * a * np.exp(-k * i)), len(left))
        best = sorted(range(len(left)), key=lambda j: -b[j])[:count]
        drawn = rng.choice(count, size=count, p=b[best] / b[best].sum())
        left = np.array(sorted({left[best[j]] for j in drawn}))
        survived[left] += 1
    return survived / n_rounds

"""Filters by loops over rows, cuts and pairs: slow and obvious."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import mutual_info_score

TIE = 1e-10


def entropy(labels):
    """In bits."""
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(shares * np.log2(shares)).sum())


def gain_of(labels, left):
    weights = left.mean(), 1 - left.mean()
    return (
        entropy(labels) - weights[0] * entropy(labels[left]) - weights[1] * entropy(labels[~left])
    )


def best_cut(x, labels):
    """Largest gain in bits of a cut, and the cut; the smallest of equals."""
    best = (0.0, None)
    for cut in np.unique(x)[:-1]:
        gain = gain_of(labels, x <= cut)
        if best[1] is None or gain > best[0] + TIE / np.log(2):
            best = (gain, cut)
    return best


def mdl_cuts(x, labels):
    """Cuts of Fayyad and Irani."""
    gain, cut = best_cut(x, labels)
    if cut is None:
        return []
    n, left = len(x), x <= cut
    parts = labels, labels[left], labels[~left]
    k, k1, k2 = (len(np.unique(part)) for part in parts)
    e, e1, e2 = map(entropy, parts)
    delta = np.log2(3.0**k - 2) - (k * e - k1 * e1 - k2 * e2)
    if not gain > (np.log2(n - 1) + delta) / n:
        return []
    below, above = mdl_cuts(x[left], labels[left]), mdl_cuts(x[~left], labels[~left])
    return [*below, cut, *above]


def mdl_codes(x, labels):
    return np.searchsorted(mdl_cuts(x, labels), x, side="left")


def quantile_codes(x, n_bins):
    """By the middle of the ranks of each value, counted from 0."""
    middle = [((x < v).sum() + (x <= v).sum()) / 2 for v in x]
    return np.floor(n_bins * np.array(middle) / len(x) + 1e-12).astype(int)


def gini(labels):
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return 1 - float((shares**2).sum())


def gini_decrease(x, labels):
    cuts = [x <= cut for cut in np.unique(x)[:-1]]
    least = min(
        left.mean() * gini(labels[left]) + (1 - left.mean()) * gini(labels[~left]) for left in cuts
    )
    return gini(labels) - least


def mrmr(relevance, redundancy, steps, quotient):
    """From scratch at every step; ``redundancy(j, s)`` is that of two columns."""
    chosen, criteria = [], []
    for _ in range(steps):
        now = {}
        for j in (j for j in range(len(relevance)) if j not in chosen):
            if chosen:
                mean = np.mean([redundancy(j, s) for s in chosen])
                now[j] = relevance[j] / max(mean, 1e-3) if quotient else relevance[j] - mean
            else:
                now[j] = relevance[j]
        best = max(now, key=now.get)
        chosen.append(best)
        criteria.append(now[best])
    return chosen, np.array(criteria)


def code_information(codes):
    return lambda j, s: mutual_info_score(codes[j], codes[s])


def neighbours(X, i, among, k):
    """Rows and shares: the nearest count in full, those as near as the last one in part."""
    among = np.array([j for j in among if j != i], dtype=int)
    k = min(k, len(among))
    if k == 0:
        return []
    distance = np.abs(X[among] - X[i]).sum(axis=1)
    last = np.sort(distance)[k - 1]
    tied = np.isclose(distance, last, rtol=1e-9, atol=0)
    nearer = (distance < last) & ~tied
    share = (k - nearer.sum()) / tied.sum()
    return [(j, (1.0 if near else share) / k) for j, near, tie in zip(among, nearer, tied)
            if near or tie]  # fmt: skip


def relieff(X, labels, k, rows=None):
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    rows = range(len(X)) if rows is None else rows
    weights = np.zeros(X.shape[1])
    for i in rows:
        for label in np.unique(labels):
            same, share = label == labels[i], np.mean(labels == label)
            factor = -1.0 if same else share / (1 - np.mean(labels == labels[i]))
            for j, part in neighbours(X, i, np.flatnonzero(labels == label), k):
                weights += factor * part * np.abs(X[i] - X[j])
    return weights / len(rows)


def rrelieff(X, y, k):
    X, y = (X - X.min(axis=0)) / np.ptp(X, axis=0), (y - y.min()) / np.ptp(y)
    of_y, of_x, of_both = 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i in range(len(X)):
        for j, part in neighbours(X, i, range(len(X)), k):
            apart = abs(y[i] - y[j])
            of_y += part * apart
            of_x += part * np.abs(X[i] - X[j])
            of_both += part * apart * np.abs(X[i] - X[j])
    return of_both / of_y - (of_x - of_both) / (len(X) - of_y)


def spectral(Z, W, style):
    """All eigenvectors of the normalised Laplacian."""
    degree = W.sum(axis=1)
    root = np.sqrt(degree)
    L = np.eye(len(W)) - W / np.outer(root, root)
    F = Z * root[:, None]
    F = F / np.linalg.norm(F, axis=0)
    first = root / np.linalg.norm(root)
    if style == -1:
        return 2 - np.einsum("ij,ik,kj->j", F, L, F)
    rest = 1 - (first @ F) ** 2
    if style == 0:
        return 2 - np.einsum("ij,ik,kj->j", F, L, F) / rest
    # Eigenvectors orthogonal to the first one: those of L within that space.
    basis = np.linalg.svd(np.eye(len(W)) - np.outer(first, first))[0][:, : len(W) - 1]
    values, vectors = np.linalg.eigh(basis.T @ L @ basis)
    kept = values <= values[min(style - 1, len(values)) - 1] + 1e-9
    alphas = (basis @ vectors[:, kept]).T @ F
    return (2 - values[kept]) @ alphas**2

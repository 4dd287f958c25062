"""The slow, obvious twin of the alignments: a dense Gram matrix per column, centred explicitly.

Extended precision throughout.  Radial kernels are shifted by a constant (``k - 1``), which
centring removes and which keeps the digits of a nearly constant kernel.
"""

from __future__ import annotations

import numpy as np

LONG = np.longdouble


def repeat_rows(x, counts):
    """Integer sample weights, taken literally."""
    return np.repeat(np.asarray(x), np.asarray(counts, dtype=int), axis=0)


def code_target(y, task):
    """Columns of the target: +-1 for two classes, one-hot for more, standardised otherwise."""
    y = np.asarray(y)
    if task == "regression":
        z = y.astype(LONG) - LONG(y[0])
        z = z - z.mean()
        return (z / np.sqrt(np.mean(z * z)))[:, None]
    labels = sorted(set(y.tolist()))
    if len(labels) == 2:
        return np.array([[1.0 if v == labels[1] else -1.0] for v in y.tolist()], dtype=LONG)
    return np.array([[float(v == label) for label in labels] for v in y.tolist()], dtype=LONG)


def centred_column(x):
    """The column minus its mean, without losing digits to a common offset."""
    z = np.asarray(x).astype(LONG)
    z = z - z[0]
    z = z - z.mean()
    return z - z.mean()


def std(x):
    z = centred_column(x)
    return np.sqrt(np.mean(z * z))


def median_distance(x):
    z = np.asarray(x).astype(LONG)
    upper = np.triu_indices(len(z), 1)
    return np.median(np.abs(z[:, None] - z[None, :])[upper])


def default_gamma(kernel, scale):
    """Textbook widths for a column of a given scale."""
    return {
        "rbf": 1 / (2 * LONG(scale) ** 2),
        "laplace": 1 / LONG(scale),
        "polynomial": 1 / LONG(scale) ** 2,
        "linear": LONG(1),
        "delta": LONG(1),
    }[kernel]


def gram(x, kernel, gamma, degree=3, coef0=1.0):
    """Kernel matrix up to an additive constant."""
    z = np.asarray(x).astype(LONG)
    gap = z[:, None] - z[None, :]
    if kernel == "rbf":
        return np.expm1(-LONG(gamma) * gap * gap)
    if kernel == "laplace":
        return np.expm1(-LONG(gamma) * np.abs(gap))
    if kernel == "delta":
        return (gap == 0).astype(LONG)
    c = centred_column(x)
    product = c[:, None] * c[None, :]
    if kernel == "linear":
        return product
    if kernel == "polynomial":
        return (LONG(coef0) + LONG(gamma) * product) ** degree
    raise ValueError(kernel)


def double_centre(K):
    """``H K H`` with ``H = I - 1 1' / n``."""
    n = len(K)
    H = np.eye(n, dtype=LONG) - LONG(1) / n
    return H @ K @ H


def align_column(
    x,
    y,
    kernel="rbf",
    task="classification",
    *,
    bandwidth="std",
    gamma=None,
    counts=None,
    degree=3,
    coef0=1.0,
):
    """``tr(Y' H K H Y) / tr(H K H)``; 0 for a column that carries nothing."""
    if counts is not None:
        x, y = repeat_rows(x, counts), repeat_rows(y, counts)
    x = np.asarray(x)
    if np.all(x == x[0]):
        return 0.0
    if gamma is None:
        scale = std(x)
        if bandwidth == "median" and median_distance(x) > 0:
            scale = median_distance(x)
        gamma = default_gamma(kernel, scale)
    K = double_centre(gram(x, kernel, gamma, degree, coef0))
    Y = code_target(y, task)
    trace = np.trace(K)
    if trace <= 0:
        return 0.0
    return float(np.trace(Y.T @ K @ Y) / trace)


def align(X, y, kernel="rbf", task="classification", *, gamma=None, **options):
    """One column after the other."""
    X = np.asarray(X)
    gammas = [None] * X.shape[1] if gamma is None else np.broadcast_to(gamma, X.shape[1])
    columns = (X[:, j] for j in range(X.shape[1]))
    return np.array(
        [align_column(x, y, kernel, task, gamma=g, **options) for x, g in zip(columns, gammas)]
    )


def align_outputs(X, outputs, tasks, kernel="rbf", *, counts=None):
    """Mean over the outputs of ``sum_ab v_a (H K H)_ab v_b / tr(H K H)``, each sum written out."""
    X = np.asarray(X)
    if counts is not None:
        X, outputs = repeat_rows(X, counts), [repeat_rows(y, counts) for y in outputs]
    found = []
    for x in X.T:
        if np.all(x == x[0]):
            found.append(0.0)
            continue
        K = double_centre(gram(x, kernel, default_gamma(kernel, std(x))))
        total = LONG(0)
        for y, task in zip(outputs, tasks):
            for v in code_target(y, task).T:
                for a in range(len(x)):
                    for b in range(len(x)):
                        total += v[a] * K[a, b] * v[b]
        found.append(float(total / len(outputs) / np.trace(K)))
    return np.array(found)


def worst_error(actual, expected):
    """Largest error in the units of the promise, ``max(alignment, 1)``."""
    expected = np.asarray(expected)
    return float(np.max(np.abs(np.asarray(actual) - expected) / np.maximum(expected, 1.0)))

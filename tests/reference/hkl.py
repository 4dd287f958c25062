"""HKL over all kernels of a lattice at once, as one cone program, from loops over nodes."""

from __future__ import annotations

import warnings
from itertools import product

import cvxpy as cp
import numpy as np


def centred(K):
    H = np.eye(len(K)) - 1.0 / len(K)
    return H @ K @ H


def gaussian_levels(z, bandwidth=1.0):
    """1 and the centred Gaussian kernel of a column, with a diagonal of mean 1."""
    n = len(z)
    K = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            K[i, j] = np.exp(-0.5 * (z[i] - z[j]) ** 2 / bandwidth**2)
    K = centred(K)
    return [np.ones((n, n)), K / np.mean(np.diag(K))]


def polynomial_levels(z, degree):
    """Outer products of the powers of a column after Gram and Schmidt."""
    basis, found = [np.ones(len(z))], [np.ones((len(z), len(z)))]
    for power in range(1, degree + 1):
        new = z**power
        for _ in range(2):
            for one in basis:
                new = new - one * (one @ new) / (one @ one)
        size = np.sqrt(np.mean(new**2))
        new = new / size if size > 1e-6 else 0.0 * new
        if size > 1e-6:
            basis.append(new)
        found.append(np.outer(new, new))
    return found


def all_kernels(levels):
    """Kernel of every node of the lattice."""
    found = {}
    for node in product(*(range(len(one)) for one in levels)):
        K = np.ones_like(levels[0][0])
        for i, level in enumerate(node):
            K = K * levels[i][level]
        found[node] = K
    return found


def is_below(v, w):
    return all(a <= b for a, b in zip(v, w))


def weight(node, beta, root_weight):
    return beta ** sum(node) if any(node) else root_weight


def optimum(kernels, y, strength, beta, root_weight):
    """Objective, and for each node the norm of its descendants' functions."""
    n, nodes = len(y), list(kernels)
    factors, coefs = {}, {}
    for v in nodes:
        values, vectors = np.linalg.eigh(centred(kernels[v]))
        kept = values > 1e-10 * max(values.max(), 1e-10)
        factors[v] = vectors[:, kept] * np.sqrt(values[kept])
        coefs[v] = cp.Variable(kept.sum()) if kept.any() else None
    real = [v for v in nodes if coefs[v] is not None]
    groups = {}
    for v in nodes:
        inside = [coefs[w] for w in real if is_below(v, w)]
        if inside:
            groups[v] = cp.norm(cp.hstack(inside))
    norm = sum(weight(v, beta, root_weight) * one for v, one in groups.items())
    total = cp.Variable()
    residual = y - np.hstack([factors[v] for v in real]) @ cp.hstack([coefs[v] for v in real])
    loss = cp.sum_squares(residual) / (2 * n) + strength / 2 * cp.square(total)
    problem = cp.Problem(cp.Minimize(loss), [norm <= total])
    accurate = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9)
    with warnings.catch_warnings():  # a bound that rounding keeps out of reach
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver="CLARABEL", **accurate)
    return problem.value, {v: float(one.value) for v, one in groups.items()}


def sum_over_descendants(kernels, t, dual, beta, root_weight):
    """The sufficient condition's sum, by loops."""
    total = 0.0
    for w, K in kernels.items():
        if is_below(t, w):
            between = [v for v in kernels if is_below(t, v) and is_below(v, w)]
            total += dual @ K @ dual / sum(weight(v, beta, root_weight) for v in between) ** 2
    return total


def squared_dual_norm(kernels, dual, beta, root_weight):
    """Largest squared norm that a weighting of all kernels gives to a vector."""
    nodes = [v for v in kernels if any(v) or root_weight > 0]
    x = cp.Variable(len(nodes), nonneg=True)
    terms = []
    for w in nodes:
        value = max(dual @ kernels[w] @ dual, 0.0)
        above = [k for k, v in enumerate(nodes) if is_below(v, w)]
        squares = np.array([weight(nodes[k], beta, root_weight) ** 2 for k in above])
        if value > 0:  # the harmonic mean is concave: 1 / sum(d^2 / x)
            scaled = cp.hstack([x[k] / s for k, s in zip(above, squares)])
            terms.append(value * cp.harmonic_mean(scaled) / len(above))
    problem = cp.Problem(cp.Maximize(sum(terms)), [cp.sum(x) == 1])
    problem.solve(solver="CLARABEL")
    return problem.value

"""The slow, obvious twin of the lp-KTA solvers: one coordinate of objective (1) at a time."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar


def euclidean(eta, x0):
    return (eta - x0) ** 2


def kl(eta, x0):
    return (eta * math.log(eta / x0) if eta > 0 else 0.0) - eta + x0


def quartic(eta, x0):
    """Bregman divergence of ``F = x^2 / 2 + x^4``."""

    def generator(x):
        return 0.5 * x * x + x**4

    return generator(eta) - generator(x0) - (eta - x0) * (x0 + 4 * x0**3)


SLOPES = {
    euclidean: lambda eta, x0: 2 * (eta - x0),
    kl: lambda eta, x0: math.log(eta / x0),
    quartic: lambda eta, x0: (eta - x0) + 4 * (eta**3 - x0**3),
}


def coordinate_objective(eta, a, p, lam1, lam2, x0=0.0, divergence=euclidean):
    """One term of objective (1)."""
    value = lam2 * eta**p - eta * a
    return value + lam1 * divergence(eta, x0) if lam1 else value


def objective(etas, a, p, lam1, lam2, x0=0.0, divergence=euclidean):
    """Objective (1)."""
    x0 = np.broadcast_to(x0, len(a))
    args = (p, lam1, lam2)
    return math.fsum(
        coordinate_objective(e, s, *args, r, divergence) for e, s, r in zip(etas, a, x0)
    )


def _slope(t, a, p, lam1, lam2, x0, divergence):
    eta = math.exp(t)
    value = lam2 * p * math.exp((p - 1) * t) - a
    return value + lam1 * SLOPES[divergence](eta, x0) if lam1 else value


def optimal_weight(a, p, lam1, lam2, x0=0.0, divergence=euclidean):
    """Minimiser of one term: a root of the slope by bisection, else 0."""
    args = (a, p, lam1, lam2, x0, divergence)
    low, high = -700.0, 0.0
    if _slope(low, *args) >= 0:
        return 0.0
    while _slope(high, *args) < 0:
        high += 1.0
    return math.exp(brentq(_slope, low, high, args=args, xtol=1e-14, rtol=1e-15, maxiter=500))


def optimal_weights(a, p, lam1, lam2, x0=0.0, divergence=euclidean):
    x0 = np.broadcast_to(x0, len(a))
    args = (p, lam1, lam2)
    return np.array([optimal_weight(s, *args, r, divergence) for s, r in zip(a, x0)])


def minimised(a, p, lam1, lam2, x0=0.0, divergence=euclidean, upper=10.0):
    """The same minimiser without any derivative, good to about 1e-7."""
    found = minimize_scalar(
        lambda eta: coordinate_objective(eta, a, p, lam1, lam2, x0, divergence),
        bounds=(0.0, upper),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return found.x

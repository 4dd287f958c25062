"""Slow, obvious twins of feasible sets and regularizers: cvxpy, scipy and exact fractions.

A set is given by a function from a cvxpy variable to its constraints, a regularizer by a function
from a cvxpy expression to the penalty.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import cvxpy as cp
import numpy as np
from scipy.optimize import brentq, minimize

TIGHT = {"xtol": 1e-300, "rtol": 1e-15, "maxiter": 5000}


def _solved(objective, constraints):
    problem = cp.Problem(objective, constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def project(x, constraints):
    d = cp.Variable(len(x))
    _solved(cp.Minimize(cp.sum_squares(d - x)), constraints(d))
    return d.value


def support(g, constraints):
    d = cp.Variable(len(g))
    return _solved(cp.Maximize(g @ d), constraints(d))


def violation(d, constraints):
    """How far ``d`` is outside the set, at worst."""
    variable = cp.Variable(len(d))
    variable.value = d
    return max(float(np.max(c.violation())) for c in constraints(variable))


def penalty_value(d, penalty):
    value = penalty(cp.Constant(d))
    return float(getattr(value, "value", value))


def conjugate(g, penalty):
    d = cp.Variable(len(g))
    return _solved(cp.Maximize(g @ d - penalty(d)), [d >= 0])


def closed_form(squared_norms, penalty):
    """Minimiser of ``sum s / (2 d) + r(d)`` by quasi-Newton steps on ``log d``, good to 1e-5."""

    def objective(t):
        d = np.exp(t)
        return np.sum(squared_norms / (2 * d)) + penalty_value(d, penalty)

    found = minimize(objective, np.zeros(len(squared_norms)), method="BFGS", options={"gtol": 1e-7})
    return np.exp(found.x)


def capped_simplex(x, total, cap):
    """Exact projection on ``0 <= d <= cap, sum d = total``: try every interval of thresholds."""
    x = [Fraction(v) for v in x]
    total, cap = Fraction(total), Fraction(cap)

    def weights(threshold):
        return [min(max(v - threshold, Fraction(0)), cap) for v in x]

    breaks = sorted({*x, *(v - cap for v in x)})
    for left, right in pairwise(breaks):
        more, less = sum(weights(left)), sum(weights(right))
        if less <= total <= more:
            share = (more - total) / (more - less) if more > less else Fraction(0)
            return np.array([float(w) for w in weights(left + share * (right - left))])
    raise ValueError("the set is empty")


def lp_ball(x, p, radius):
    """Projection on ``d >= 0, norm_p(d) <= radius`` by a root inside a root."""

    def weight(y, multiplier):
        if y <= 0:
            return 0.0
        return brentq(lambda d: d + multiplier * d ** (p - 1) - y, 0.0, y, **TIGHT)

    def excess(multiplier):
        return math.fsum(weight(y, multiplier) ** p for y in x) - radius**p

    if excess(0.0) <= 0:
        return np.maximum(x, 0.0)
    high = 1.0
    while excess(high) > 0:
        high *= 2.0
    multiplier = brentq(excess, 0.0, high, **TIGHT)
    return np.array([weight(y, multiplier) for y in x])

"""Slow twins of the support vector machines: interior point methods on primal and dual."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np


def dual_value(K, problem):
    """Largest value of the dual problem, by cvxpy."""
    n = len(problem.linear)
    u = cp.Variable(n)
    root = factor_of(K)
    value = problem.linear @ u - 0.5 * cp.sum_squares(root.T @ u)
    if problem.kink:
        value -= problem.kink * cp.norm1(u)
    if problem.ridge:
        value -= 0.5 * problem.ridge * cp.sum_squares(u)
    constraints = [cp.sum(u) == 0]
    for bound, sign in ((problem.high, 1), (problem.low, -1)):
        held = np.flatnonzero(np.isfinite(bound))
        if len(held):
            constraints.append(sign * u[held] <= sign * bound[held])
    return cp.Problem(cp.Maximize(value), constraints).solve(solver="CLARABEL")


def factor_of(K):
    """A matrix whose product with its transpose is K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def losses_of(loss, y, scores):
    """Loss of each row from its definition in words, as a cvxpy expression."""
    kind = type(loss).__name__
    if kind == "Hinge":
        return loss.C * cp.pos(1 - cp.multiply(y, scores))
    if kind == "SquaredHinge":
        return 0.5 * loss.C * cp.square(cp.pos(1 - cp.multiply(y, scores)))
    if kind == "HuberHinge":  # cvxpy's huber is z^2 up to M, then 2 M z - M^2
        slack = cp.pos(1 - cp.multiply(y, scores))
        return cp.huber(slack, loss.ridge * loss.C) / (2 * loss.ridge)
    if kind == "EpsilonInsensitive":
        slack = cp.pos(cp.abs(y - scores) - loss.epsilon)
        if loss.ridge:
            return cp.huber(slack, loss.ridge * loss.C) / (2 * loss.ridge)
        return loss.C * slack
    assert kind == "LeastSquares"
    return 0.5 * loss.C * cp.square(y - scores)


def primal_value(K, loss, y):
    """Smallest value of the primal problem, from the words of the loss."""
    root = factor_of(K)
    w, b = cp.Variable(root.shape[1]), cp.Variable()
    value = 0.5 * cp.sum_squares(w) + cp.sum(losses_of(loss, y, root @ w + b))
    return cp.Problem(cp.Minimize(value)).solve(solver="CLARABEL")


def mkl_value(factors, loss, targets, cost, constraints):
    """Smallest value of multiple kernel learning on a sum of kernels, in one convex program.

    ``factors`` are those of the kernels, ``targets`` one target for each output, ``cost`` and
    ``constraints`` functions of the weights as a cvxpy variable.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy tells how it writes powers
        d = cp.Variable(len(factors), nonneg=True)
        value = cost(d)
        for y in targets:
            b = cp.Variable()
            parts = [cp.Variable(factor.shape[1]) for factor in factors]
            scores = sum(factor @ w for factor, w in zip(factors, parts)) + b
            value += 0.5 * sum(cp.quad_over_lin(w, d[k]) for k, w in enumerate(parts))
            value += cp.sum(losses_of(loss, y, scores))
        return cp.Problem(cp.Minimize(value), constraints(d)).solve(solver="CLARABEL")

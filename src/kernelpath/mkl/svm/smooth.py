r"""Smooth losses with a kernel of low rank: Newton steps on the coefficients of the factor.

With :math:`K = G^\top G` and a ridge :math:`\tau > 0` the primal problem

.. math:: \min_{w, b}\; \tfrac12 \|w\|^2 + \sum_i \ell_i(g_i^\top w + b)

has as many unknowns as the factor has rows, and its slope is continuous and piecewise linear.  A
step solves it as if no row changed its piece; a few steps reach the pieces of the solution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.mkl.grams import LowRank
from kernelpath.mkl.losses import DualProblem

MAX_STEPS = 100
LINE_STEPS = 40
DAMPING = 1e-4  # of the curvature in the bias that all rows together could give


def solve_smooth(
    K: LowRank, problem: DualProblem, tol: float, u: NDArray[np.float64], bias: float
) -> tuple[NDArray[np.float64], int]:
    """Dual coefficients whose decision values are those of ``w`` and ``b`` within ``tol``.

    They start from ``u`` and ``bias``; their sum is next to zero, not exactly so.  Returns the
    number of steps, too.
    """
    G = K.factor * np.sqrt(K.scale)[:, None]
    w, b = G @ u, bias
    scores = w @ G + b
    n_steps = 0
    while n_steps < MAX_STEPS:
        n_steps += 1
        u, between = _coefficients(problem, scores)
        slope = np.append(w - G @ u, -u.sum())
        damping = DAMPING * len(u) / problem.ridge
        step = -_newton_solve(G, between, problem.ridge, slope, damping)
        change = step[:-1] @ G + step[-1]
        if np.abs(change).max() <= tol:
            break
        length = _search(problem, w, step, scores, change)
        w, b = w + length * step[:-1], b + length * step[-1]
        scores = scores + length * change
    return u, n_steps


def _coefficients(
    problem: DualProblem, scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Best dual coefficients for decision values, and the rows whose coefficient varies."""
    residual = problem.linear - scores
    shrunk = np.sign(residual) * np.maximum(np.abs(residual) - problem.kink, 0.0) / problem.ridge
    u = np.clip(shrunk, problem.low, problem.high)
    return u, np.flatnonzero((shrunk == u) & (shrunk != 0.0))


def _newton_solve(
    G: NDArray[np.float64],
    rows: NDArray[np.intp],
    ridge: float,
    slope: NDArray[np.float64],
    damping: float,
) -> NDArray[np.float64]:
    """Second derivatives of the pieces of some rows, applied inversely.

    Nothing but these rows holds the bias; without any of them it would go anywhere.
    """
    part = G[:, rows]
    H = np.empty((len(slope), len(slope)))
    H[:-1, :-1] = part @ part.T / ridge
    H[:-1, -1] = H[-1, :-1] = part.sum(axis=1) / ridge
    H[-1, -1] = len(rows) / ridge + damping
    H.flat[: -len(slope) : len(slope) + 1] += 1.0
    return linalg.cho_solve(linalg.cho_factor(H, lower=True, overwrite_a=True), slope)


def _search(
    problem: DualProblem,
    w: NDArray[np.float64],
    step: NDArray[np.float64],
    scores: NDArray[np.float64],
    change: NDArray[np.float64],
) -> float:
    """Length at which the slope along a step vanishes: a root of an increasing function."""

    def slope(length: float) -> float:
        u, _ = _coefficients(problem, scores + length * change)
        own = w + length * step[:-1]
        return float(own @ step[:-1] - u @ change)

    if slope(1.0) <= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(LINE_STEPS):
        middle = 0.5 * (low + high)
        if slope(middle) > 0.0:
            high = middle
        else:
            low = middle
        if low > 0.0 and high - low < 1e-3 * high:
            break
    return 0.5 * (low + high)

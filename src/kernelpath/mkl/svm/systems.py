"""Least squares: the dual problem without bounds is a system of linear equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.mkl.grams.base import Gram
from kernelpath.mkl.losses import DualProblem

MAX_STEPS = 10_000  # conjugate gradients
ROUNDING = 1e-13  # of the target: a smaller residual is none


def solve_array(
    K: NDArray[np.float64], ridge: float, targets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[NDArray[np.float64], bool]]:
    """``(K + ridge) u + bias = target`` and ``sum(u) = 0``, by one Cholesky decomposition.

    Targets and solutions are columns; there is a bias for each of them.  Returns these and the
    decomposition.
    """
    M = K.copy()
    M.flat[:: len(K) + 1] += ridge
    factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    right = np.column_stack([targets, np.ones(len(K))])
    both = linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)
    ones = both[:, -1:]
    biases = both[:, :-1].sum(axis=0) / ones.sum()
    U = both[:, :-1] - ones * biases
    return U - U.mean(axis=0), biases, factor


def solve_gram(
    K: Gram, problem: DualProblem, tol: float, u: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, int]:
    """The same system by conjugate gradients within ``sum(u) = 0``, from ``u``.

    Where the matrix has a factor, its inverse leaves one or two steps, which repair the rounding.
    Returns ``u``, ``K u``, the bias and the number of steps.
    """
    every = np.arange(len(u))
    invert = K.inverse(problem.ridge)
    ones = np.ones(len(u)) if invert is None else invert(np.ones(len(u)))

    def toward(residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """The residual through the inverse, less what would change the sum."""
        z = residual if invert is None else invert(residual)
        return z - ones * (z.sum() / ones.sum())

    u = u.copy()
    Ku = K.times(u, every) if u.any() else np.zeros(len(u))
    residual = problem.linear - Ku - problem.ridge * u
    enough = max(0.5 * tol, ROUNDING * float(np.abs(problem.linear).max(initial=0.0)))
    z = toward(residual)
    move, size = z.copy(), float(residual @ z)
    n_steps = 0
    while n_steps < MAX_STEPS and np.abs(residual - residual.mean()).max() > enough and size > 0:
        image = K.times(move, every)
        length = size / float(move @ image + problem.ridge * (move @ move))
        u += length * move
        Ku += length * image
        residual -= length * (image + problem.ridge * move)
        z = toward(residual)
        before, size = size, float(residual @ z)
        move = z + (size / before) * move
        n_steps += 1
    return u, Ku, float(residual.mean()), n_steps

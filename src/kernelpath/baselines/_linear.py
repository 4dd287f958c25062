"""Linear machines that the baselines fit: by the package's solver, or as linear programs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from kernelpath.mkl.grams import LowRank
from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.svm.dual import solve_dual

MOST_MATRIX_ROWS = 3000  # more rows: the kernel matrix of a linear machine is used by its factor
TOL = 1e-5


def linear_machine(
    Z: NDArray[np.float64], problem: DualProblem, start: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of the linear machine of a loss, with a free bias, and its dual coefficients.

    Examples
    --------
    >>> from kernelpath.mkl.losses import Hinge
    >>> Z = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> linear_machine(Z, Hinge(10.0).dual(np.sign(Z[:, 0])))[0].tolist()
    [1.0]
    """
    if len(Z) <= MOST_MATRIX_ROWS or Z.shape[1] >= len(Z):
        solution = solve_dual(Z @ Z.T, problem, tol=TOL, start=start)
    else:
        factor = LowRank(np.ascontiguousarray(Z.T), np.ones(Z.shape[1]))
        solution = solve_dual(factor, problem, tol=TOL, start=start)
    return Z.T @ solution.u, solution.u


def joined(weights: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Root of the sum of squares over the machines, one number for each feature."""
    return np.sqrt(np.square(np.array(weights)).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Program:
    """Optimum of a linear machine that is a linear program.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
    bias : float
    slopes : ndarray of shape (n_features,)
        ``|sum_i a_i y_i x_ij|`` with the multipliers ``a`` of the rows, at most the cost of the
        feature: the nearer, the sooner a feature without weight would get one.
    value : float
    """

    weights: NDArray[np.float64]
    bias: float
    slopes: NDArray[np.float64]
    value: float


def solve_program(
    Z: NDArray[np.float64],
    label: NDArray[np.float64],
    costs: NDArray[np.float64],
    slack_costs: NDArray[np.float64],
) -> Program:
    r"""Solve a machine with weighted 1-norm and hinge loss.

    .. math:: \min_{w, b}\; \sum_j c_j |w_j| + \sum_i s_i \max(0, 1 - y_i (w^\top x_i + b))

    Examples
    --------
    >>> Z = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> found = solve_program(Z, np.sign(Z[:, 0]), np.ones(1), np.ones(4))
    >>> found.weights.tolist(), found.value
    ([1.0], 1.0)
    """
    n, d = Z.shape
    signed = label[:, None] * Z
    # Variables: positive parts of w, negative parts, b, slacks.
    matrix = sparse.hstack(
        [
            sparse.csr_array(np.hstack([-signed, signed, -label[:, None]])),
            -sparse.eye_array(n, format="csr"),
        ],
        format="csc",
    )
    bounds = np.tile([0.0, np.inf], (2 * d + 1 + n, 1))
    bounds[2 * d, 0] = -np.inf
    cost = np.concatenate([costs, costs, [0.0], slack_costs])
    found = linprog(cost, A_ub=matrix, b_ub=-np.ones(n), bounds=bounds, method="highs")
    if found.status != 0:
        raise RuntimeError(
            f"the linear program was not solved ({found.message}); lower C or steepness"
        )
    weights = found.x[:d] - found.x[d : 2 * d]
    multipliers = -found.ineqlin.marginals
    return Program(weights, float(found.x[2 * d]), np.abs(signed.T @ multipliers), float(found.fun))

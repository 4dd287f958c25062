"""Linear machines that the baselines fit: by the package's solver, or as linear programs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve
from scipy.optimize import linprog

from kernelpath.mkl.grams import LowRank
from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.svm.dual import solve_dual

MOST_MATRIX_ROWS = 3000  # more rows: the kernel matrix of a linear machine is used by its factor
TOL = 1e-5
MOST_STEPS = 200  # of Newton's method; a few are needed
LEAST_STEP = 1e-10
TINY_GAIN = 1e-13  # of the objective: rounding


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


@dataclass(frozen=True, eq=False)
class SquaredMachine:
    r"""Linear machine with squared errors beyond a margin, its bias free.

    .. math:: \min_{w, b}\; \tfrac12 \|w\|^2 + C \sum_i \ell_i(w^\top x_i + b)^2

    For labels :math:`\ell_i(f) = \max(0, 1 - y_i f)`; for numbers, with ``epsilon``,
    :math:`\max(0, |y_i - f| - \varepsilon)`.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        -1 and 1, or numbers.
    C : float
    epsilon : float or None
        None for labels.
    """

    y: NDArray[np.float64]
    C: float
    epsilon: float | None = None

    def solve(
        self, Z: NDArray[np.float64], start: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Weights, and the bias at the end.

        Where the rows with errors stay the same the problem is ridge regression on them: each step
        of Newton's method is one, and where they no longer change it is solved.  With fewer rows
        than columns no ``start`` is needed.

        Examples
        --------
        >>> Z = np.array([[-2.0], [-1.0], [1.0], [3.0]])
        >>> SquaredMachine(np.sign(Z[:, 0]), 1e6).solve(Z)[:1].round(3).tolist()
        [1.0]
        """
        if len(Z) < Z.shape[1]:  # the same products of rows by fewer columns
            squares, vectors = np.linalg.eigh(Z @ Z.T)
            root = vectors * np.sqrt(np.maximum(squares, 0.0))
            at = self._newton(root, np.zeros(len(Z) + 1))
            return np.append(2.0 * self.C * self._errors(root, at) @ Z, at[-1])
        return self._newton(Z, np.zeros(Z.shape[1] + 1) if start is None else start)

    def _newton(self, Z: NDArray[np.float64], now: NDArray[np.float64]) -> NDArray[np.float64]:
        value = self._objective(Z, now)
        for _ in range(MOST_STEPS):
            errors = self._errors(Z, now)
            there = self._ridge(Z, errors != 0, self._outputs(Z, now) + errors)
            if np.array_equal(np.sign(self._errors(Z, there)), np.sign(errors)):
                return there
            step, best = 1.0, value
            while step > LEAST_STEP:
                trial = now + step * (there - now)
                best = self._objective(Z, trial)
                if best < value:
                    break
                step /= 2.0
            if not best < value * (1.0 - TINY_GAIN):
                return there if self._objective(Z, there) <= value else now
            now, value = trial, best
        return now

    def _outputs(self, Z: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
        return Z @ at[:-1] + at[-1]

    def _errors(self, Z: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each output lacks, with its sign; 0 inside the margin."""
        lacks = self.y - self._outputs(Z, at)
        if self.epsilon is None:
            return np.where(self.y * lacks > 0, lacks, 0.0)
        return np.sign(lacks) * np.maximum(np.abs(lacks) - self.epsilon, 0.0)

    def _objective(self, Z: NDArray[np.float64], at: NDArray[np.float64]) -> float:
        errors = self._errors(Z, at)
        return float(0.5 * at[:-1] @ at[:-1] + self.C * errors @ errors)

    def _ridge(
        self, Z: NDArray[np.float64], which: NDArray[np.bool_], target: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Ridge regression on some of the rows, by columns or by rows, whatever is less."""
        if not which.any():
            return np.append(np.zeros(Z.shape[1]), 0.0)
        A, t = Z[which], target[which]
        middle, level = A.mean(axis=0), t.mean()
        A, t = A - middle, t - level
        small = 0.5 / self.C
        if len(A) < A.shape[1]:
            w = A.T @ solve(A @ A.T + small * np.eye(len(A)), t, assume_a="pos")
        else:
            w = solve(A.T @ A + small * np.eye(A.shape[1]), A.T @ t, assume_a="pos")
        return np.append(w, level - middle @ w)


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

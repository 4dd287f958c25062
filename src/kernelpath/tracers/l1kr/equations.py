r"""The equations of the L1KR path, with the coefficients of the machine eliminated.

.. math:: \min_{\alpha, \alpha_0, d}\; \|y - K(d) \alpha - \alpha_0 1\|^2, \qquad
          \alpha^\top K \alpha \le C,\; 1^\top d \le D,\; d \ge 0,

Eq. (1) of [li2010].  With :math:`K_c = H K H`, :math:`G = (K_c + \lambda I)^{-1}` the machine is
:math:`a = G y`, and with :math:`h_k = a^\top \partial_k K a` the multiplier of ``D`` is
:math:`\lambda h_k`, the same for all features with a weight, and not less than that of the others.
What is left are as many equations as features with a weight, in their weights and
:math:`\log \lambda`: all :math:`h_k` are equal, and :math:`a^\top K_c a = C`.

Without a norm budget :math:`\lambda` is fixed, and the last equation and unknown are not there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.mkl.weighted_kernels._ard_loops import squares_of_columns
from kernelpath.mkl.weighted_kernels.ard import ARDKernel, ARDPoint, Matrix, Vector

Indices = NDArray[np.intp]

LEAST_RIDGE = 1e-7  # for each row: below, rounding errors of the equations are larger than 1e-7
NEWTON_STEPS, NEWTON_TOL, FARTHEST = 8, 1e-9, 3.0

TIED = 1e-9  # relative difference of correlations that are the same
FLAT = 1e-5  # of the squared norm of the target: a smaller multiplier is no unit of slopes


class NoRidge(ValueError):
    """No ridge is small enough for the norm budget."""


class Cholesky:
    """Cholesky decomposition of ``H K H + ridge I``; fails with ``LinAlgError`` if singular."""

    def __init__(self, point: ARDPoint, ridge: float) -> None:
        self._matrices = point.kernel.matrices
        self._lower = point.centred(ridge, self._matrices.take())
        # The lower triangle of rows is the upper one of columns, the order of LAPACK.
        self._upper = linalg.cho_factor(self._lower.T, overwrite_a=True, check_finite=False)

    def solve(self, right: Matrix) -> Matrix:
        """The inverse times something."""
        return np.asarray(linalg.cho_solve(self._upper, right, check_finite=False))

    def inverse_diagonal(self) -> Vector:
        """Diagonal of the inverse: squares of the columns of the inverse of the factor."""
        factor = self._matrices.take()
        np.copyto(factor, self._lower)
        linalg.lapack.dtrtri(factor.T, overwrite_c=1)
        diagonal = np.empty(len(factor))
        squares_of_columns(factor, diagonal)
        return diagonal


@dataclass(frozen=True, eq=False)
class RidgeState:
    """The machine at some weights and a ridge.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
    log_ridge : float
    point : ARDPoint
    a : ndarray of shape (n_rows,)
        Coefficients of the machine; their sum is zero.
    norm : float
        ``a' K a``.
    root : Cholesky
        Of the centred kernel matrix with the ridge.
    """

    weights: Vector
    log_ridge: float
    point: ARDPoint
    a: Vector
    norm: float
    root: Cholesky

    @property
    def ridge(self) -> float:
        """``lambda``."""
        return math.exp(self.log_ridge)

    @property
    def radius(self) -> float:
        """``D``, the sum of the weights."""
        return float(self.weights.sum())

    @property
    def loss(self) -> float:
        """Sum of squared residuals."""
        return self.ridge**2 * float(self.a @ self.a)

    @cached_property
    def slopes(self) -> Vector:
        """``h``, how much more of each feature would help."""
        return self.point.slopes(self.a)

    @property
    def multiplier(self) -> float:
        """``mu``: what one more unit of ``D`` is worth."""
        return self.ridge * float(self.slopes.max())

    @cached_property
    def leave_one_out(self) -> Vector:
        """Residuals of every row when the machine does without it, in closed form.

        The weights stay as they are.
        """
        inverse = self.root.inverse_diagonal()
        return self.ridge * self.a / (self.ridge * inverse - 1.0 / len(self.a))


class RidgeSystem:
    """The equations for one kernel and target.

    Parameters
    ----------
    kernel : ARDKernel
    y : ndarray of shape (n_rows,)
    norm_budget : float, optional
        ``C``, in units of the squared norm of the centred target.
    ridge : float, optional
        ``lambda`` where there is no norm budget.

    Attributes
    ----------
    n_jacobians, n_looks : int
        Work so far: derivatives, and machines.
    """

    def __init__(
        self, kernel: ARDKernel, y: Vector, norm_budget: float | None, ridge: float | None = None
    ) -> None:
        self.kernel, self.y = kernel, y - y.mean()
        self.scale = float(self.y @ self.y)
        self.budget = None if norm_budget is None else norm_budget * self.scale
        self.fixed = None if ridge is None else math.log(ridge)
        self.n_jacobians = self.n_looks = 0

    @property
    def with_budget(self) -> bool:
        """Whether the ridge is an unknown."""
        return self.budget is not None

    def look(self, weights: Vector, log_ridge: float, point: ARDPoint | None = None) -> RidgeState:
        """The machine; raises ``LinAlgError`` where the matrix is singular.

        ``point`` is the kernel at these weights, where it is known.
        """
        self.n_looks += 1
        if not -600.0 < log_ridge < 600.0:
            raise linalg.LinAlgError("the ridge is no number")
        point = self.kernel.at(weights) if point is None else point
        root = Cholesky(point, math.exp(log_ridge))
        a = root.solve(self.y)
        if not np.isfinite(a).all():  # weights far below zero, which a trial may have
            raise linalg.LinAlgError("the kernel is no number")
        a -= a.mean()
        norm = float(a @ (point.values @ a))
        return RidgeState(weights, log_ridge, point, a, norm, root)

    # -- equations ---------------------------------------------------------------------------------

    def unit_of_slopes(self, state: RidgeState, active: Indices) -> float:
        """The slope of the active features, unless it is next to zero."""
        return max(float(state.slopes[active[0]]), FLAT * self.scale / state.ridge)

    def residual(self, state: RidgeState, active: Indices, unit: float) -> Vector:
        """What the equations leave over: differences of slopes in some unit, and of the norm."""
        h = state.slopes[active]
        left = (h[1:] - h[0]) / unit
        if self.budget is None:
            return left
        return np.append(left, state.norm / self.budget - 1.0)

    def violation(self, state: RidgeState, active: Indices) -> float:
        """Largest violation of the conditions: equal slopes, none larger, the norm budget."""
        unit = self.unit_of_slopes(state, active)
        left = float(np.abs(self.residual(state, active, unit)).max(initial=0.0))
        ahead = float((state.slopes - state.slopes[active[0]]).max()) / unit
        return max(left, ahead, 0.0) if math.isfinite(left) else math.inf

    def jacobian(self, state: RidgeState, active: Indices, unit: float) -> Matrix:
        """Derivatives of the equations in the active weights and the logarithm of the ridge."""
        self.n_jacobians += 1
        p, ridge = len(active), state.ridge
        V = state.point.images(state.a, active)
        V -= V.mean(axis=0)
        solved = state.root.solve(np.column_stack([V, state.a]))
        W, g = solved[:, :p], solved[:, p]
        rows = (state.point.curvature(state.a, active) - 2.0 * V.T @ W) / unit
        if self.budget is None:
            return rows[1:] - rows[0]
        in_ridge = -2.0 * ridge * (V.T @ g)
        rows = np.column_stack([rows, in_ridge / unit])
        norm = -state.slopes[active] - in_ridge
        last = ridge * (2.0 * ridge * float(state.a @ g) - 2.0 * float(state.a @ state.a))
        return np.vstack([rows[1:] - rows[0], np.append(norm, last) / self.budget])

    def slack_row(self, state: RidgeState, active: Indices, unit: float, feature: int) -> Vector:
        """Derivatives of how far a slope is ahead of the active ones, O(n^2 d).

        As second derivatives are symmetric, these are rates of slopes along one direction.
        """
        rate = np.zeros_like(state.weights)
        rate[feature], rate[active[0]] = 1.0, -1.0
        direction = state.point.along(rate)
        v = direction.image(state.a)
        v = v - v.mean()
        w, g = state.root.solve(np.column_stack([v, state.a])).T
        row = direction.slopes(state.a, -w)[active] / unit
        if self.budget is None:
            return row
        return np.append(row, -2.0 * state.ridge * float(v @ g) / unit)

    def rates(
        self, state: RidgeState, active: Indices, unit: float, tangent: Vector
    ) -> tuple[Vector, Vector]:
        """Rates along a direction of the slopes of all features, O(n^2 d), and of the equations."""
        rate = np.zeros_like(state.weights)
        rate[active] = tangent[: len(active)]
        direction = state.point.along(rate)
        moved = direction.image(state.a)
        moved = moved - moved.mean()
        if self.with_budget:
            moved = moved + state.ridge * tangent[-1] * state.a
        a_rate = -state.root.solve(moved)
        slopes = direction.slopes(state.a, a_rate)
        relative = slopes[active] / unit
        if self.budget is None:
            return slopes, relative[1:] - relative[0]
        norm = float(state.slopes[active] @ tangent[:-1])
        norm += 2.0 * float((self.y - state.ridge * state.a) @ a_rate)
        return slopes, np.append(relative[1:] - relative[0], norm / self.budget)

    # -- the start ---------------------------------------------------------------------------------

    def start(self) -> tuple[RidgeState, Indices]:
        """The first point: one feature, of the largest correlation with the target.

        With a norm budget there is no solution at zero weights, where the kernel is constant; the
        first weight is as small as makes its feature the best one.
        """
        first = int(np.argmax(np.abs(self.kernel.X.T @ self.y)))
        weights = np.zeros(self.kernel.n_kernels)
        if self.fixed is not None:
            return self.look(weights, self.fixed), np.array([first])
        for power in range(4, 12):
            weights[first] = 10.0**-power
            state = self.look(weights, self.ridge_of_budget(weights))
            if int(np.argmax(state.slopes)) == first:
                break
        return state, np.array([first])

    def first_features(self) -> Indices:
        """Features of the largest correlation with the target: usually one."""
        size = np.abs(self.kernel.X.T @ self.y)
        return np.flatnonzero(size >= (1.0 - TIED) * float(size.max()))

    def at_budget(
        self, weights: Vector, near: float | None = None, tol: float = NEWTON_TOL
    ) -> RidgeState:
        """The machine at some weights with the ridge that the norm budget asks for.

        ``near`` is the logarithm of a ridge that should be close to it: a few Newton steps on the
        logarithm of the norm, until that is exact to ``tol``, take the place of all eigenvalues.
        """
        if self.fixed is not None:
            return self.look(weights, self.fixed)
        assert self.budget is not None
        point = self.kernel.at(weights)
        for _ in range(NEWTON_STEPS):
            if near is None:
                break
            state = self.look(weights, near, point)
            off = math.log(max(state.norm, 1e-300) / self.budget)
            if abs(off) <= tol:
                return state
            a, ridge = state.a, state.ridge
            slope = 2.0 * ridge * (ridge * float(a @ state.root.solve(a)) - float(a @ a))
            step = -off * state.norm / slope if slope < 0.0 else math.inf
            if not abs(step) < FARTHEST:
                break
            near = state.log_ridge + step
        return self.look(weights, self.ridge_of_budget(weights), point)

    def ridge_of_budget(self, weights: Vector) -> float:
        """Logarithm of the ridge at which the norm of the machine is the budget.

        Raises `NoRidge` where no ridge is small enough: the budget exceeds the norm of a
        machine that fits all rows.
        """
        assert self.budget is not None
        K = self.kernel.at(weights).centred(0.0, self.kernel.matrices.take())
        values, vectors = np.linalg.eigh(K)
        values = np.maximum(values, 0.0)
        share = np.square(vectors.T @ self.y) * values

        def norm(log_ridge: float) -> float:
            return float((share / np.square(values + math.exp(log_ridge))).sum())

        low, high = math.log(max(values[-1], 1e-300)) - 60.0, math.log(max(values[-1], 1e-300))
        while norm(high) > self.budget:
            high += 5.0
        if norm(low) <= self.budget:
            raise NoRidge
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if norm(middle) > self.budget else (low, middle)
        return 0.5 * (low + high)

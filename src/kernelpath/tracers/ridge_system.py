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

from kernelpath.weighted.ard import ARDKernel, ARDPoint, Matrix, Vector

Places = NDArray[np.intp]


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
    slopes : ndarray of shape (n_features,)
        ``h``, how much more of a feature would help.
    norm : float
        ``a' K a``.
    root : tuple
        Cholesky decomposition of the centred kernel matrix with the ridge.
    """

    weights: Vector
    log_ridge: float
    point: ARDPoint
    a: Vector
    slopes: Vector
    norm: float
    root: tuple[Matrix, bool]

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

    @property
    def multiplier(self) -> float:
        """``mu``: what one more unit of ``D`` is worth."""
        return self.ridge * float(self.slopes.max())

    def solve(self, right: Matrix) -> Matrix:
        """``G`` times something."""
        return linalg.cho_solve(self.root, right, check_finite=False)

    @cached_property
    def leave_one_out(self) -> Vector:
        """Residuals of every row when the machine does without it, in closed form.

        The weights stay as they are.
        """
        n = len(self.a)
        inverse = np.diag(self.solve(np.eye(n)))
        return self.ridge * self.a / (self.ridge * inverse - 1.0 / n)


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

    def look(self, weights: Vector, log_ridge: float) -> RidgeState:
        """The machine; raises ``LinAlgError`` where the matrix is singular."""
        self.n_looks += 1
        if not -600.0 < log_ridge < 600.0:
            raise linalg.LinAlgError("the ridge is no number")
        point = self.kernel.at(weights)
        K = point.centred
        M = K.copy()
        M.flat[:: len(M) + 1] += math.exp(log_ridge)
        root = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        a = linalg.cho_solve(root, self.y, check_finite=False)
        a -= a.mean()
        return RidgeState(weights, log_ridge, point, a, point.slopes(a), float(a @ K @ a), root)

    # -- equations ---------------------------------------------------------------------------------

    def residual(self, state: RidgeState, active: Places, unit: float) -> Vector:
        """What the equations leave over: differences of slopes in some unit, and of the norm."""
        h = state.slopes[active]
        left = (h[1:] - h[0]) / unit
        if self.budget is None:
            return left
        return np.append(left, state.norm / self.budget - 1.0)

    def jacobian(
        self, state: RidgeState, active: Places, unit: float, more: Places | None = None
    ) -> Matrix:
        """Derivatives of the equations in the active weights and the logarithm of the ridge.

        ``more`` are features without a weight whose slopes have an equation, too; their rows come
        after those of the others, before that of the norm.
        """
        self.n_jacobians += 1
        parts = active if more is None else np.concatenate([active, more])
        p, ridge = len(active), state.ridge
        V = state.point.images(state.a, parts)
        V -= V.mean(axis=0)
        solved = state.solve(np.column_stack([V[:, :p], state.a]))
        W, g = solved[:, :p], solved[:, p]
        rates = state.point.curvature(state.a, parts)[:, :p] - 2.0 * V.T @ W
        rows = rates / unit
        if self.budget is None:
            return rows[1:] - rows[0]
        in_ridge = -2.0 * ridge * (V.T @ g)
        rows = np.column_stack([rows, in_ridge / unit])
        norm = -state.slopes[active] - in_ridge[:p]
        last = ridge * (2.0 * ridge * float(state.a @ g) - 2.0 * float(state.a @ state.a))
        return np.vstack([rows[1:] - rows[0], np.append(norm, last) / self.budget])

    def rates(
        self, state: RidgeState, active: Places, unit: float, tangent: Vector
    ) -> tuple[Vector, Vector]:
        """Rates along a direction of the slopes of all features, O(n^2 d), and of the equations."""
        rate = np.zeros_like(state.weights)
        rate[active] = tangent[: len(active)]
        V = state.point.images(state.a, active)
        V -= V.mean(axis=0)
        moved = V @ tangent[: len(active)]
        if self.with_budget:
            moved = moved + state.ridge * tangent[-1] * state.a
        a_rate = -state.solve(moved)
        slopes = state.point.rates(state.a, a_rate, rate)
        relative = slopes[active] / unit
        if self.budget is None:
            return slopes, relative[1:] - relative[0]
        norm = float(state.slopes[active] @ tangent[:-1])
        norm += 2.0 * float((self.y - state.ridge * state.a) @ a_rate)
        return slopes, np.append(relative[1:] - relative[0], norm / self.budget)

    # -- the start ---------------------------------------------------------------------------------

    def start(self) -> tuple[RidgeState, Places]:
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

    def ridge_of_budget(self, weights: Vector) -> float:
        """Logarithm of the ridge at which the norm of the machine is the budget.

        Raises ``ValueError`` where no ridge is small enough: the budget exceeds the norm of a
        machine that fits all rows.
        """
        assert self.budget is not None
        values, vectors = np.linalg.eigh(self.kernel.at(weights).centred)
        values = np.maximum(values, 0.0)
        share = np.square(vectors.T @ self.y) * values

        def norm(log_ridge: float) -> float:
            return float((share / np.square(values + math.exp(log_ridge))).sum())

        low, high = math.log(max(values[-1], 1e-300)) - 60.0, math.log(max(values[-1], 1e-300))
        while norm(high) > self.budget:
            high += 5.0
        if norm(low) <= self.budget:
            raise ValueError("no ridge is small enough for the budget")
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if norm(middle) > self.budget else (low, middle)
        return 0.5 * (low + high)

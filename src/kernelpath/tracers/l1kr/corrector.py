"""Newton's method on the equations of the L1KR path, with one more that fixes the place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kernelpath.mkl.weighted_kernels.ard import Matrix, Vector
from kernelpath.tracers.l1kr.curve_points import FLOOR, CurvePoint, solved
from kernelpath.tracers.l1kr.equations import Indices, NoRidge, RidgeState, RidgeSystem

EXACT = 1e-10  # at events
ROUNDING = 1e-14  # relative to the ridge: no matrix gives more digits
MOST_STEPS = 12  # of Newton's method
LEAST_SHARE = 1e-6  # of the sum of the weights: a smaller one is zero
ACTIVE_SETS = 5
FIRST_POWERS = range(4, 9)  # of 1/10: sums of weights to start with


@dataclass(frozen=True, eq=False)
class StationaryPoint:
    """A stationary point."""

    state: RidgeState
    active: Indices


class Corrector:
    """Solves the equations next to a guess.

    Parameters
    ----------
    system : RidgeSystem
    """

    def __init__(self, system: RidgeSystem) -> None:
        self.system = system

    def solve(
        self,
        near: CurvePoint,
        z: Vector,
        equations: Callable[[RidgeState, Vector], Vector],
        derivatives: Callable[[RidgeState], Matrix],
        farthest: float,
        tol: float = EXACT,
    ) -> tuple[RidgeState, Matrix] | None:
        """Newton's method with derivatives at the guess, which learn from steps (Broyden)."""
        J, size_before = None, math.inf
        move = before = np.zeros(0)
        for n_step in range(MOST_STEPS):
            try:
                state = self._look(near.active, z, near)
            except linalg.LinAlgError:
                return None
            F = equations(state, z)
            if not np.isfinite(F).all():
                return None
            if J is None:
                J = derivatives(state)
            else:
                J = J + np.outer(F - before - J @ move, move) / float(move @ move)
            if float(np.abs(F).max(initial=0.0)) <= self._close(state, near, tol):
                return state, J
            found = solved(J, -F)
            if found is None:
                return None
            move, before, size = found, F, float(np.linalg.norm(found))
            if (n_step == 0 and size > farthest) or size > 2.0 * size_before:
                return None
            z, size_before = z + move / near.metric, size
        return None

    def settled(self, weights: Vector, active: Indices, log_ridge: float) -> RidgeState | None:
        """The solution next to some weights of the active features, with the same sum."""
        clean = np.zeros_like(weights)
        clean[active] = weights[active]
        radius = float(clean.sum())
        try:
            state = self.system.look(clean, log_ridge)
        except linalg.LinAlgError:
            return None
        metric = np.full(len(active), 1.0 / (radius + FLOOR))
        if self.system.with_budget:
            metric = np.append(metric, 1.0)
        unit = self.system.unit_of_slopes(state, active)
        none = np.zeros(0)
        near = CurvePoint(state, active, unit, metric, none, none, 0.0, none, none)
        row = (np.arange(len(metric)) < len(active)) / (radius * metric)

        def equations(state: RidgeState, z: Vector) -> Vector:
            left = float(z[: len(active)].sum()) / radius - 1.0
            return np.append(self.system.residual(state, active, unit), left)

        def derivatives(state: RidgeState) -> Matrix:
            return np.vstack([self.system.jacobian(state, active, unit) / metric, row])

        found = self.solve(near, near.unknowns, equations, derivatives, 1.0)
        return None if found is None else found[0]

    def on_the_curve(self, weights: Vector) -> StationaryPoint | None:
        """The stationary point next to some weights, exactly, with the same sum of weights."""
        radius = float(weights.sum())
        active = np.flatnonzero(weights > LEAST_SHARE * radius)
        for _ in range(ACTIVE_SETS):
            clean = np.zeros_like(weights)
            clean[active] = weights[active]
            try:
                state = self.settled(weights, active, self.system.at_budget(clean).log_ridge)
            except (NoRidge, linalg.LinAlgError):
                return None
            if state is None:
                return None
            small = state.weights[active] <= 0.0
            ahead = state.slopes > (1.0 + 1e-7) * float(state.slopes[active[0]])
            ahead[active] = False
            if not small.any() and not ahead.any():
                return StationaryPoint(state, active)
            active = np.concatenate([active[~small], np.flatnonzero(ahead)])
            weights = np.maximum(state.weights, 0.0)
        return None

    def start(self) -> tuple[RidgeState, Indices]:
        """The first point of the path: one feature, or all that are as good, as in a design."""
        state, active = self.system.start()
        tied = self.system.first_features()
        if len(tied) == 1:
            return state, active
        if not self.system.with_budget:
            return state, tied
        for power in FIRST_POWERS:
            weights = np.zeros_like(state.weights)
            weights[tied] = 10.0**-power / len(tied)
            found = self.on_the_curve(weights)
            if found is not None:
                return found.state, found.active
        return state, active

    def _close(self, state: RidgeState, near: CurvePoint, tol: float) -> float:
        """A tolerance in units of the slopes at a state, but not below rounding errors."""
        share = min(1.0, self.system.unit_of_slopes(state, near.active) / near.unit)
        return max(tol * share, ROUNDING * len(state.a) / state.ridge)

    def _look(self, active: Indices, z: Vector, near: CurvePoint) -> RidgeState:
        weights = np.zeros_like(near.state.weights)
        weights[active] = z[: len(active)]
        log_ridge = float(z[-1]) if self.system.with_budget else near.state.log_ridge
        return self.system.look(weights, log_ridge)

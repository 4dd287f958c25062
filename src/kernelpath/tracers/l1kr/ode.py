r"""The L1KR curve as published: an ordinary differential equation in all unknowns.

Algorithm 1 of [li2010].  The unknowns are the coefficients :math:`\alpha`, the active weights and
:math:`\lambda`; the direction is the null vector of the derivatives of

.. math:: (H K + \lambda I) \alpha = y, \qquad \alpha^\top K \alpha = C, \qquad
          \alpha^\top \partial_k K \alpha = \eta \text{ for all active } k,

by a QR decomposition, and the Adams-Moulton method follows it from event to event, where Newton
steps, Eq. (10), bring it back to the curve.  `homotopy` follows the same curve with far fewer
unknowns; this one is the method of the paper, and an independent check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import integrate

from kernelpath.mkl.weighted_kernels.ard import Matrix, Vector
from kernelpath.tracers.l1kr.curve import End
from kernelpath.tracers.l1kr.equations import Indices, RidgeState, RidgeSystem

NEWTON_STEPS, CLOSE = 20, 1e-11
MOST_STEPS = 100_000
FIRST_STEP = 1e-4  # of the size of the unknowns
FAR = 1e9  # arc length that no curve has
STILL = 1e-9  # event functions that are as small at the start of a piece are those of its event


@dataclass(frozen=True, eq=False)
class ODEPoint:
    """A point of the curve; ``event`` is as in `curve.CurvePoint`."""

    state: RidgeState
    active: Indices
    event: tuple[str, int] | None = None


class ODECurve:
    """Traces the curve of a problem with a norm budget.

    Parameters
    ----------
    system : RidgeSystem
    rtol : float
        Relative tolerance of the integration.
    least_multiplier : float
        See `Homotopy`.
    least_ridge : float

    Attributes
    ----------
    n_jacobians : int
        Null vectors computed, and Newton steps.
    end : str
        Why the curve ended.
    """

    def __init__(
        self,
        system: RidgeSystem,
        *,
        rtol: float = 1e-5,
        least_multiplier: float = 1e-7,
        least_ridge: float = 2e-6,
    ) -> None:
        self.system, self.end, self.n_jacobians = system, End.NOT_YET, 0
        self._rtol, self._least_ridge = rtol, least_ridge
        self._least = least_multiplier * system.scale

    def trace(self, state: RidgeState, active: Indices) -> Iterator[ODEPoint]:
        """Points from a start that solves the equations; its last active weight grows."""
        yield ODEPoint(state, active, ("enter", int(active[-1])))
        z = np.concatenate([state.a, state.weights[active], [state.ridge]])
        direction = self._null_vector(z, active)
        place = len(state.a) + len(active) - 1
        direction *= math.copysign(1.0, direction[place])
        while True:
            found = None
            for found in self._piece(z, active, direction):
                yield found
                if self._is_over(found):
                    return
            if found is None or found.event is None:
                self.end = self.end or End.STUCK
                return
            z, active, direction = self._behind(found, active)

    def _is_over(self, found: ODEPoint) -> bool:
        state = found.state
        if state.ridge * float(state.slopes[found.active[0]]) <= self._least:
            self.end = End.WORTHLESS
        elif state.ridge <= self._least_ridge:
            self.end = End.SPENT
        return bool(self.end)

    # -- the differential equation -----------------------------------------------------------------

    def _piece(self, z: Vector, active: Indices, direction: Vector) -> Iterator[ODEPoint]:
        """Points up to the next event, which is the last one."""
        forward = math.copysign(1.0, float(self._null_vector(z, active) @ direction))

        def velocity(_: float, z: Vector) -> Vector:
            return forward * self._null_vector(z, active)

        solver = integrate.ode(velocity).set_integrator(
            "vode",
            method="adams",
            rtol=self._rtol,
            atol=1e-10,
            first_step=FIRST_STEP * float(np.linalg.norm(z)),
        )
        solver.set_initial_value(z, 0.0)
        before, values = z, self._event_values(z, active)
        for _ in range(MOST_STEPS):
            now = solver.integrate(FAR, step=True)
            if not np.isfinite(now).all() or now[-1] <= 0.0:
                return
            if self._slope(now, active) <= 0.0:  # beyond the end of the curve
                self.end = End.WORTHLESS
                return
            fresh = self._event_values(now, active)
            crossed = self._crossed(values, fresh, active)
            if crossed is not None:
                share, kind, feature = crossed
                guess = before + share * (now - before)
                event = self._corrected(guess, active, kind, feature)
                if event is None:
                    return
                yield ODEPoint(self._state(event, active), active, (kind, feature))
                return
            yield ODEPoint(self._state(now, active), active)
            before, values = now, fresh

    def _split(self, z: Vector, active: Indices) -> tuple[Vector, Vector, float]:
        n = self.system.kernel.n_rows
        weights = np.zeros(self.system.kernel.n_kernels)
        weights[active] = z[n:-1]
        return z[:n], weights, float(z[-1])

    def _state(self, z: Vector, active: Indices) -> RidgeState:
        _, weights, ridge = self._split(z, active)
        return self.system.look(weights, math.log(ridge))

    def _null_vector(self, z: Vector, active: Indices) -> Vector:
        """The direction of the curve.

        Its sign is such that the determinant of the derivatives with the vector as a last row does
        not change its own: that of ``R`` times that of ``Q``, a product of as many reflections as
        there are rows.  So the curve cannot be followed backwards.
        """
        J = self._derivatives(z, active, active)
        Q, R = np.linalg.qr(J.T, mode="complete")
        return np.asarray(Q[:, -1] * np.prod(np.sign(np.diag(R))))

    def _derivatives(self, z: Vector, active: Indices, rows: Indices) -> Matrix:
        """Derivatives of all equations; ``rows`` are the features whose slopes are to be equal."""
        self.n_jacobians += 1
        a, weights, ridge = self._split(z, active)
        point, n, p = self.system.kernel.at(weights), len(a), len(active)
        images = point.images(a, rows)
        K = point.values + 1.0
        J = np.zeros((n + len(rows), n + p + 1))
        J[:n, :n] = K - K.mean(axis=0)
        J[:n, :n].flat[:: n + 1] += ridge
        J[:n, n:-1] = images[:, :p] - images[:, :p].mean(axis=0)
        J[:n, -1] = a
        J[n, :n], J[n, n:-1] = 2.0 * K @ a, a @ images[:, :p]
        J[n + 1 :, :n] = 2.0 * (images[:, 1:] - images[:, :1]).T
        Q = point.curvature(a, rows)[:, :p]
        J[n + 1 :, n:-1] = Q[1:] - Q[0]
        return J

    def _residual(self, z: Vector, active: Indices, rows: Indices) -> Vector:
        a, weights, ridge = self._split(z, active)
        point = self.system.kernel.at(weights)
        Ka = (point.values + 1.0) @ a
        slopes = a @ point.images(a, rows)
        machine = Ka - Ka.mean() + ridge * a - self.system.y
        assert self.system.budget is not None
        return np.concatenate([machine, [a @ Ka - self.system.budget], slopes[1:] - slopes[0]])

    # -- events ------------------------------------------------------------------------------------

    def _slope(self, z: Vector, active: Indices) -> float:
        """Of the active features."""
        a, weights, _ = self._split(z, active)
        return float(self.system.kernel.at(weights).slopes(a)[active[0]])

    def _event_values(self, z: Vector, active: Indices) -> Vector:
        """Slacks of the features without a weight, and the weights of the others."""
        a, weights, _ = self._split(z, active)
        slopes = self.system.kernel.at(weights).slopes(a)
        values = 1.0 - slopes / slopes[active[0]]
        values[active] = weights[active] / max(float(weights.sum()), 1e-300)
        return values

    def _crossed(
        self, before: Vector, now: Vector, active: Indices
    ) -> tuple[float, str, int] | None:
        """The first event function that passed zero: share of the step, kind and feature."""
        below = np.flatnonzero((now < 0.0) & (before > STILL))
        if len(below) == 0:
            return None
        shares = before[below] / (before[below] - now[below])
        feature = int(below[np.argmin(shares)])
        return float(shares.min()), "leave" if feature in active else "enter", feature

    def _corrected(self, z: Vector, active: Indices, kind: str, feature: int) -> Vector | None:
        """Newton steps to the event, Eq. (10), with its own equation."""
        rows = np.append(active, feature) if kind == "enter" else active
        place = self.system.kernel.n_rows + int(np.flatnonzero(active == feature)[0]) if (
            kind == "leave"
        ) else -1  # fmt: skip
        for _ in range(NEWTON_STEPS):
            F = self._residual(z, active, rows)
            J = self._derivatives(z, active, rows)
            if kind == "leave":
                F = np.append(F, z[place])
                J = np.vstack([J, np.eye(len(z))[place]])
            move = np.linalg.solve(J, -F)
            z = z + move
            if float(np.abs(move).max()) <= CLOSE * float(np.abs(z).max()):
                return z
        return None

    def _behind(self, found: ODEPoint, active: Indices) -> tuple[Vector, Indices, Vector]:
        """State, active features and direction on the feasible side of an event."""
        assert found.event is not None
        (kind, feature), state = found.event, found.state
        n = len(state.a)
        active = np.append(active, feature) if kind == "enter" else active[active != feature]
        z = np.concatenate([state.a, state.weights[active], [state.ridge]])
        v = self._null_vector(z, active)
        if kind == "enter":
            return z, active, v * math.copysign(1.0, v[-2])
        rate = np.zeros_like(state.weights)
        rate[active] = v[n:-1]
        rates = state.point.along(rate).slopes(state.a, v[:n])
        falls = rates[active[0]] - rates[feature]
        return z, active, v * math.copysign(1.0, falls)

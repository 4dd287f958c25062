r"""Following a curve of solutions through its events, by arc length.

Predictor: the cubic through the last two points and their tangents.  Corrector: Newton steps on the
equations, orthogonal to the tangent.  A feature *enters* where its slope reaches that of the active
ones, and *leaves* where its weight reaches zero; both places are exact, solutions of the equations
with one more of them.  Behind an event the curve goes on into the feasible side: the entering
weight grows, or the slope of the feature that left falls behind (Lemma 2 of [li2010]).  The curve
may *turn* back in the sum of the weights; arc length does not notice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

import numpy as np

from kernelpath.mkl.weighted_kernels.ard import Matrix, Vector
from kernelpath.tracers.l1kr.corrector import EXACT, Corrector
from kernelpath.tracers.l1kr.curve_points import (
    BELOW,
    FLOOR,
    CurvePoint,
    Event,
    between,
    cosine,
    distance,
    first_event,
    is_among,
    next_event,
    null_vector,
    passes,
    predicted,
    slack_of,
    solved,
)
from kernelpath.tracers.l1kr.equations import LEAST_RIDGE, Indices, RidgeState, RidgeSystem

CLOSE = 1e-8  # of the equations at every point
LARGEST_VIOLATION = 1e-7  # of the conditions at a point of a path
NEAR_ITS_END = 3.0  # logarithm of the ridge to the least one
NEARLY = 0.99  # of the way: an event as near to the end of a step is the one there
ONWARD = 1e-2  # of the way to where an event was expected
FARTHEST = 0.3  # first correction, in the metric: a longer one means a bad prediction
BEND = 0.85  # cosine of the angle between two tangents
ASIDE = 0.4  # of a step: a longer correction may lead to another curve
BLUR = 1e-6  # in the metric: shorter ones may be rounding errors
CRAWL, MOST_CRAWLED = 1e-5, 300  # steps so short, one after the other, lead nowhere
FIRST_STEP, LONGEST, SHORTEST = 0.05, 1.0, 1e-9
AFTER, LONGEST_AFTER = 0.5, 0.2  # of the step that led to an event
LONGER, SHORTER = 2.0, 0.4
STRAIGHT, CROOKED = 1e-4, 0.1  # errors of a tangent that do no harm, and that need new derivatives
EVENTS, EVENTS_A_FEATURE = 500, 50  # at most
TURN_STEPS, TURN_TOL = 20, 1e-8


class End(StrEnum):
    """Why a curve ends where it does."""

    NOT_YET = ""
    WORTHLESS = "more of any weight is worth nothing"
    SPENT = "the ridge is next to zero"
    STUCK = "steps became too short"
    BLURRED = "rounding errors blur the path"
    ENDLESS = "the largest number of events"
    LARGEST = "the largest sum of weights"
    CROWDED = "the largest number of features"
    CLOSED = "the curve is closed"
    CIRCLES = "it came back to where it was before"
    INTERRUPTED = "it was interrupted"


class Homotopy(Corrector):
    """Traces one curve.

    Parameters
    ----------
    system : RidgeSystem
    least_multiplier : float
        The curve ends where the multiplier of the sum of the weights, relative to the squared norm
        of the target, is that small.
    least_ridge : float
        It ends where the ridge is that small; by default where rounding errors hide the path.
    largest : float
        It ends where the sum of the weights is that large.
    most_features, most_events : int
        By default all features, and 500 and 50 for each feature; turns count as events.

    Attributes
    ----------
    end : str
        Why the curve ended, once it has.
    """

    def __init__(
        self,
        system: RidgeSystem,
        *,
        least_multiplier: float = 1e-7,
        least_ridge: float | None = None,
        largest: float = math.inf,
        most_features: int | None = None,
        most_events: int | None = None,
    ) -> None:
        super().__init__(system)
        self.end = End.NOT_YET
        self._least = least_multiplier * system.scale
        blurred = LEAST_RIDGE * system.kernel.n_rows
        self._least_ridge = math.log(least_ridge or blurred) if system.with_budget else -math.inf
        self._largest = largest
        self._most_features = most_features or system.kernel.n_kernels
        self._most_events = most_events or EVENTS + EVENTS_A_FEATURE * system.kernel.n_kernels

    def trace(
        self, state: RidgeState, active: Indices, towards: float = 0.0
    ) -> Iterator[CurvePoint]:
        """Points from a start that solves the equations.

        Its last active weight grows; or, from a point in the middle of a curve, the sum of the
        weights grows or falls, by the sign of ``towards``.
        """
        here = self._place(state, None, active, growing=towards == 0.0, towards=towards)
        yield here if towards else replace(here, event=("enter", int(active[-1])))
        first, behind, step, crawled = here, None, FIRST_STEP, 0
        events: list[tuple[Event, Vector]] = []
        # At the end of a curve nothing is over for who walks back.
        while (here is first and towards < 0.0) or not self._is_over(here, len(events)):
            found = self._advance(here, behind, step)
            if found is None:
                self.end = End.STUCK
                return
            there, step = found
            crawled = crawled + 1 if step < CRAWL else 0
            self.end = End.STUCK if crawled > MOST_CRAWLED else self._astray(there)
            if self.end:
                return
            if towards and passes(here, there, first):
                self.end = End.CLOSED
                return
            turn = None
            if there.event is None and here.growth * there.growth < 0.0:
                turn = self._turn(here, there)
            place = there if turn is None else turn
            if place.event is not None:
                if is_among(place, events):
                    self.end = End.CIRCLES
                    return
                events.append((place.event, place.state.weights))
            if turn is not None:
                yield turn
            if len(there.active) > self._most_features:  # one more enters: up to here
                self.end = End.CROWDED
                yield replace(there, active=here.active, event=None)
                return
            yield there
            behind, here = (None if there.event else here), there

    def _is_over(self, here: CurvePoint, n_events: int) -> bool:
        state = here.state
        reasons = {
            End.WORTHLESS: state.multiplier <= self._least,
            End.SPENT: state.log_ridge <= self._least_ridge,
            End.LARGEST: state.radius >= self._largest,
            End.ENDLESS: n_events >= self._most_events,
        }
        self.end = next((reason for reason, true in reasons.items() if true), End.NOT_YET)
        return bool(self.end)

    def _astray(self, there: CurvePoint) -> End:
        """Why a point is not one of the path any more; nothing if it is."""
        state = there.state
        if state.log_ridge < self._least_ridge:
            return End.SPENT
        if float(state.weights.min()) < -BELOW * state.radius:
            return End.BLURRED
        if self.system.violation(state, there.active) > LARGEST_VIOLATION:
            near = state.log_ridge < self._least_ridge + NEAR_ITS_END
            return End.SPENT if near else End.BLURRED
        return End.NOT_YET

    # -- one step ----------------------------------------------------------------------------------

    def _advance(
        self, here: CurvePoint, behind: CurvePoint | None, step: float
    ) -> tuple[CurvePoint, float] | None:
        """The next place, at an event at the latest, and the length of the step after it."""
        found = self._foreseen(here, behind, step)
        if found is not None:
            return found, min(max(AFTER * step, 10 * SHORTEST), LONGEST_AFTER)
        while step > SHORTEST:
            there = self._stepped(here, behind, step)
            if there is None:
                step *= SHORTER
                continue
            length = distance(here, there)
            crossed = first_event(here, there, length)
            if crossed is None:
                longer = LONGER if cosine(here, there) > 0.97 else 1.0
                return there, min(longer * step, LONGEST)
            at, kind, feature = crossed
            found = self._event(here, there, at / length, kind, feature)
            if found is not None:
                return found, min(max(AFTER * step, 10 * SHORTEST), LONGEST_AFTER)
            step = min(SHORTER * step, 0.7 * at) if at > 0.0 else SHORTER * step
        return None

    def _stepped(
        self, here: CurvePoint, behind: CurvePoint | None, step: float
    ) -> CurvePoint | None:
        """Predict and correct; None where the prediction was too far off."""
        guess = predicted(here, behind, step)
        found = self._corrected(here, guess)
        if found is None or found[0].slopes[here.active[0]] <= 0.0:  # beyond the end of the curve
            return None
        there = self._place(*found, here.active, before=here)
        aside = float(np.linalg.norm((there.unknowns - guess) * here.metric))
        if cosine(here, there) < BEND or there.side != here.side or aside > max(ASIDE * step, BLUR):
            return None
        return there

    def _corrected(self, near: CurvePoint, z: Vector) -> tuple[RidgeState, Matrix] | None:
        """Solve the equations in the plane through a guess, orthogonal to a tangent.

        The derivatives are returned, too, in units of the metric.
        """
        unit, start = near.tangent * near.metric, z

        def equations(state: RidgeState, z: Vector) -> Vector:
            across = float(unit @ ((z - start) * near.metric))
            return np.append(self.system.residual(state, near.active, near.unit), across)

        def derivatives(state: RidgeState) -> Matrix:
            J = self.system.jacobian(state, near.active, near.unit)
            return np.vstack([J / near.metric, unit])

        found = self.solve(near, z, equations, derivatives, FARTHEST, CLOSE)
        return None if found is None else (found[0], found[1][:-1])

    # -- tangents ----------------------------------------------------------------------------------

    def _place(
        self,
        state: RidgeState,
        J: Matrix | None,
        active: Indices,
        *,
        before: CurvePoint | None = None,
        growing: bool = False,
        towards: float = 0.0,
        left: int | None = None,
        event: Event | None = None,
    ) -> CurvePoint:
        """Tangent at a solution: along the one before, or into the feasible side of an event.

        ``J`` are derivatives in units of the metric of the place before, exact or nearly so.
        """
        metric = np.full(len(active), 1.0 / (abs(state.radius) + FLOOR))
        if self.system.with_budget:
            metric = np.append(metric, 1.0)
        unit_of_slopes = self.system.unit_of_slopes(state, active)
        found = None
        if J is not None and before is not None:
            J = J * (before.metric / metric)
            J[: len(active) - 1] *= before.unit / unit_of_slopes
            found = self._nearly_tangent(state, active, unit_of_slopes, metric, J)
        if found is None:
            J = self.system.jacobian(state, active, unit_of_slopes) / metric
            unit = null_vector(J)
            slopes, _ = self.system.rates(state, active, unit_of_slopes, unit / metric)
        else:
            unit, slopes = found
        assert J is not None
        tangent = unit / metric
        slack, rate = slack_of(state, active, slopes, unit_of_slopes)
        if before is not None:
            forward = float((unit * (before.tangent * before.metric)).sum()) > 0.0
        elif growing:
            forward = tangent[len(active) - 1] > 0.0
        elif towards:
            forward = towards * float(tangent[: len(active)].sum()) > 0.0
        else:
            assert left is not None
            forward = rate[left] > 0.0
        if not forward:
            unit, tangent, rate = -unit, -tangent, -rate
        side = float(np.linalg.slogdet(np.vstack([J, unit]))[0])
        return CurvePoint(
            state, active, unit_of_slopes, metric, J, tangent, side, slack, rate, event
        )

    def _nearly_tangent(
        self, state: RidgeState, active: Indices, unit_of_slopes: float, metric: Vector, J: Matrix
    ) -> tuple[Vector, Vector] | None:
        """Tangent, in units of the metric, and rates of the slopes; None if ``J`` is too far off.

        Exact rates along a direction that is nearly the tangent make it the tangent.
        """
        unit = null_vector(J)
        slopes, left_over = self.system.rates(state, active, unit_of_slopes, unit / metric)
        if len(J) == 0:
            return unit, slopes
        move = solved(np.vstack([J, unit]), np.append(-left_over, 0.0))
        size = math.inf if move is None else float(np.linalg.norm(move))
        if move is None or size > CROOKED:
            return None
        if size > STRAIGHT:
            unit = (unit + move) / float(np.linalg.norm(unit + move))
            slopes, _ = self.system.rates(state, active, unit_of_slopes, unit / metric)
        return unit, slopes

    # -- events ------------------------------------------------------------------------------------

    def _foreseen(
        self, here: CurvePoint, behind: CurvePoint | None, step: float
    ) -> CurvePoint | None:
        """The next event, where one is expected within a step, without a place beyond it."""
        expected = next_event(here, behind)
        if expected is None or expected[0] > step:
            return None
        at, kind, feature = expected
        found = self._at_event(here, predicted(here, behind, at), kind, feature)
        if found is None:
            return None
        state, J = found
        there = self._place(state, J, here.active, before=here)
        if cosine(here, there) < BEND or there.side != here.side:
            return None
        length = distance(here, there)
        crossed = first_event(here, there, length)
        if crossed is not None and (crossed[2] != feature or crossed[0] < NEARLY * length):
            return None
        return self._behind_event(here, state, kind, feature)

    def _event(
        self, here: CurvePoint, there: CurvePoint, share: float, kind: str, feature: int
    ) -> CurvePoint | None:
        """The exact place of an event, from a guess on the way; None if it is not the first one."""
        beyond = there.J * (there.metric / here.metric)
        beyond[: len(here.active) - 1] *= there.unit / here.unit
        nearly = here.J + share * (beyond - here.J)
        found = self._at_event(here, between(here, there, share), kind, feature, nearly)
        return None if found is None else self._behind_event(here, found[0], kind, feature)

    def _at_event(
        self, here: CurvePoint, guess: Vector, kind: str, feature: int, J: Matrix | None = None
    ) -> tuple[RidgeState, Matrix] | None:
        """Solve the equations with that of an event; also returns the derivatives of the others."""
        active, top = here.active, here.active[0]
        place = int(np.flatnonzero(active == feature)[0]) if kind == "leave" else -1

        def equations(state: RidgeState, z: Vector) -> Vector:
            F = self.system.residual(state, active, here.unit)
            if kind == "leave":
                return np.append(F, z[place] * here.metric[0])
            return np.append(F, (state.slopes[feature] - state.slopes[top]) / here.unit)

        def derivatives(state: RidgeState) -> Matrix:
            rows = J
            if rows is None:
                rows = self.system.jacobian(state, active, here.unit) / here.metric
            if kind == "leave":
                return np.vstack([rows, np.eye(len(here.metric))[place]])
            row = self.system.slack_row(state, active, here.unit, feature)
            return np.vstack([rows, row / here.metric])

        found = self.solve(here, guess, equations, derivatives, 1.0)
        if found is None:
            return None
        z = np.append(found[0].weights[active], found[0].log_ridge)[: len(here.metric)]
        row = here.tangent * here.metric**2
        if float(row @ (z - here.unknowns)) <= ONWARD * float(row @ (guess - here.unknowns)):
            return None  # back at the event that this piece of the curve begins with
        return found[0], found[1][:-1]

    def _behind_event(
        self, here: CurvePoint, state: RidgeState, kind: str, feature: int
    ) -> CurvePoint | None:
        weights = state.weights.copy()
        if kind == "leave":
            weights[feature] = 0.0
            active = here.active[here.active != feature]
        else:
            active = np.append(here.active, feature)
        if len(active) == 0 or (weights[active] < -EXACT * max(state.radius, FLOOR)).any():
            return None
        state = replace(state, weights=np.maximum(weights, 0.0))  # of rounding errors
        ahead = (state.slopes - state.slopes[active[0]]) / here.unit > BELOW
        ahead[[*active, feature]] = False
        if ahead.any():
            return None
        event = (kind, feature)
        if kind == "leave":
            return self._place(state, None, active, left=feature, event=event)
        return self._place(state, None, active, growing=True, event=event)

    def _turn(self, here: CurvePoint, there: CurvePoint) -> CurvePoint | None:
        """Where the sum of the weights stops growing, or falling, between two places."""
        low, high, values = 0.0, 1.0, [here.growth, there.growth]
        found = None
        for _ in range(TURN_STEPS):
            share = low - values[0] * (high - low) / (values[1] - values[0])
            share = min(max(share, low + 0.05 * (high - low)), high - 0.05 * (high - low))
            solved = self._corrected(here, between(here, there, share))
            if solved is None:
                return found
            found = self._place(*solved, here.active, before=here, event=("turn", -1))
            if abs(found.growth) <= TURN_TOL * float(np.abs(found.tangent).sum()):
                return found
            if (found.growth > 0.0) == (values[0] > 0.0):
                low, values[0] = share, found.growth
            else:
                high, values[1] = share, found.growth
        return found

"""Points on a curve of solutions: cubics between them, and the first event on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.weighted_kernels.ard import Matrix, Vector
from kernelpath.tracers.l1kr.equations import Indices, RidgeState

FLOOR = 1e-6  # of the sum of the weights, in the metric
BELOW = 5e-8  # event functions: a value so little below zero is none
AGAIN = 1e-5  # of the sum of the weights: nearer events are the same
Event = tuple[str, int]  # its kind and its feature


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """A point of the curve and where it leads to.

    Attributes
    ----------
    state : RidgeState
    active : ndarray of int
        Features with a weight, in the order of their entry.
    unit : float
        Of slopes: that of the active features, unless it is next to zero.
    metric : ndarray
        Units of the unknowns: those of the weights are relative to their sum.
    J : ndarray
        Derivatives of the equations in these units, nearly.
    tangent : ndarray
        Rates of the unknowns, of length 1 in these units.
    side : float
        Sign of the determinant of derivatives and tangent: constant from one event to the next.
    slack, slack_rate : ndarray of shape (n_features,)
        How far the slope of each feature is behind the active ones, relative, and its rate.
    event : tuple of (str, int) or None
        What happened here, and to which feature; -1 for a turn.
    """

    state: RidgeState
    active: Indices
    unit: float
    metric: Vector
    J: Matrix
    tangent: Vector
    side: float
    slack: Vector
    slack_rate: Vector
    event: Event | None = None

    @property
    def unknowns(self) -> Vector:
        """Active weights, and the logarithm of the ridge where it is unknown."""
        weights = self.state.weights[self.active]
        return weights if len(self.metric) == len(weights) else np.append(
            weights, self.state.log_ridge
        )  # fmt: skip

    @property
    def growth(self) -> float:
        """Rate of the sum of the weights."""
        return float(self.tangent[: len(self.active)].sum())


def slack_of(
    state: RidgeState, active: Indices, rates: Vector, unit: float
) -> tuple[Vector, Vector]:
    """How far slopes are behind, and the rate of that; infinite for active features."""
    slack = (state.slopes[active[0]] - state.slopes) / unit
    rate = (rates[active[0]] - rates) / unit
    slack[active], rate[active] = np.inf, 0.0
    return slack, rate


def solved(J: Matrix, right: Vector) -> Vector | None:
    """Solution of linear equations; None where there is none."""
    try:
        with np.errstate(all="ignore"):
            move = np.linalg.solve(J, right)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(move, dtype=np.float64) if np.isfinite(move).all() else None


def null_vector(J: Matrix) -> Vector:
    """Of length 1, orthogonal to all rows; there is one more unknown than rows."""
    return np.linalg.qr(J.T, mode="complete")[0][:, -1] if len(J) else np.ones(1)


def distance(here: CurvePoint, there: CurvePoint) -> float:
    """Length of the chord, in units of the first place."""
    return float(np.linalg.norm((there.unknowns - here.unknowns) * here.metric))


def passes(here: CurvePoint, there: CurvePoint, goal: CurvePoint) -> bool:
    """Whether the way from one place to the next leads through a third, in its direction."""
    same = all(np.array_equal(np.sort(one.active), np.sort(goal.active)) for one in (here, there))
    if not same or here is goal:
        return False
    row, order = goal.tangent * goal.metric**2, np.argsort(np.argsort(goal.active))
    ends = []
    for one in (here, there):
        z = one.unknowns.copy()
        z[: len(order)] = z[: len(order)][np.argsort(one.active)][order]
        ends.append(z - goal.unknowns)
    behind, ahead = (float(row @ end) for end in ends)
    near = float(np.linalg.norm(ends[1] * goal.metric)) <= 1.5 * distance(here, there)
    return behind < 0.0 <= ahead and near


def is_among(place: CurvePoint, events: list[tuple[Event, Vector]]) -> bool:
    """Whether the same event happened before, at the same weights."""
    weights, close = place.state.weights, AGAIN * place.state.radius
    return any(
        event == place.event and float(np.abs(before - weights).max()) <= close
        for event, before in events
    )


def cosine(here: CurvePoint, there: CurvePoint) -> float:
    """Of the angle between the tangents."""
    left, right = here.tangent * here.metric, there.tangent * here.metric
    return float(left @ right) / float(np.linalg.norm(left) * np.linalg.norm(right))


def predicted(here: CurvePoint, behind: CurvePoint | None, step: float) -> Vector:
    """A step along the tangent, or along the cubic through the last two places."""
    if behind is None or len(behind.active) != len(here.active):
        return here.unknowns + step * here.tangent
    length = distance(behind, here)
    if not 0.0 < step < 4.0 * length:
        return here.unknowns + step * here.tangent
    return between(behind, here, 1.0 + step / length)


def between(here: CurvePoint, there: CurvePoint, share: float) -> Vector:
    """On the cubic through two places with their tangents; beyond them for shares above 1."""
    length = distance(here, there)
    ahead = there.tangent / float(np.linalg.norm(there.tangent * here.metric))
    return hermite(here.unknowns, length * here.tangent, there.unknowns, length * ahead, share)


def hermite(f0: Vector, g0: Vector, f1: Vector, g1: Vector, s: float | Vector) -> Vector:
    """Cubic with given values and slopes at 0 and 1."""
    change = f1 - f0
    return f0 + s * (g0 + s * (3.0 * change - 2.0 * g0 - g1 + s * (g0 + g1 - 2.0 * change)))


def next_event(here: CurvePoint, behind: CurvePoint | None) -> tuple[float, str, int] | None:
    """Where the next event is expected, by rates and their change: distance, kind, feature."""
    n, unit = len(here.active), max(here.state.radius, FLOOR)
    outside = np.flatnonzero(np.isfinite(here.slack))
    values = np.append(here.slack[outside], here.unknowns[:n] / unit)
    rates = np.append(here.slack_rate[outside], here.tangent[:n] / unit)
    bends = np.zeros_like(rates)
    if behind is not None:
        before = np.append(
            behind.slack_rate[outside] * behind.unit / here.unit, behind.tangent[:n] / unit
        )
        bends = (rates - before) / distance(behind, here)
    # values + rates s + bends s^2 / 2 = 0, the smaller positive root
    square = np.square(rates) - 2.0 * bends * values
    with np.errstate(all="ignore"):
        at = 2.0 * values / (np.sqrt(square) - rates)
    at[~((square > 0.0) & (values > BELOW) & (at > 0.0))] = np.inf
    i = int(np.argmin(at))
    if not np.isfinite(at[i]):
        return None
    if i < len(outside):
        return float(at[i]), "enter", int(outside[i])
    return float(at[i]), "leave", int(here.active[i - len(outside)])


def first_event(
    here: CurvePoint, there: CurvePoint, length: float
) -> tuple[float, str, int] | None:
    """Where the first event function passes zero between two places: distance, kind, feature."""
    speed = 1.0 / float(np.linalg.norm(there.tangent * here.metric))
    n = len(here.active)
    unit = max(here.state.radius, FLOOR)
    groups: list[tuple[str, NDArray[np.intp], Vector, Vector, Vector, Vector]] = []
    outside = np.flatnonzero(np.isfinite(here.slack))
    scale = there.unit / here.unit
    groups.append(
        ("enter", outside, here.slack[outside], length * here.slack_rate[outside],
         scale * there.slack[outside], length * speed * scale * there.slack_rate[outside])
    )  # fmt: skip
    groups.append(
        ("leave", here.active, here.unknowns[:n] / unit, length * here.tangent[:n] / unit,
         there.unknowns[:n] / unit, length * speed * there.tangent[:n] / unit)
    )  # fmt: skip
    best: tuple[float, str, int] | None = None
    for kind, features, f0, g0, f1, g1 in groups:
        for i in np.flatnonzero(_dips(f0, g0, f1, g1)).tolist():
            at = _first_root(f0[i], g0[i], f1[i], g1[i])
            if at is not None and (best is None or at * length < best[0]):
                best = (at * length, kind, int(features[i]))
    return best


def _dips(f0: Vector, g0: Vector, f1: Vector, g1: Vector) -> NDArray[np.bool_]:
    """Which cubics fall below zero somewhere between 0 and 1."""
    low = (f1 < -BELOW) | ((f1 < 0.0) & (g1 < 0.0))
    s = np.linspace(0.0, 1.0, 9)[1:-1]
    inside = np.min([hermite(f0, g0, f1, g1, one) for one in s], axis=0) < -BELOW
    return low | inside


def _first_root(f0: float, g0: float, f1: float, g1: float) -> float | None:
    """First zero of a cubic in (0, 1] from above; one that starts at zero is left out."""
    change = f1 - f0
    cubic = [g0 + g1 - 2.0 * change, 3.0 * change - 2.0 * g0 - g1, g0, f0]
    roots = np.roots(cubic)
    real = np.sort(roots[np.abs(roots.imag) < 1e-9].real)
    for root in real:
        if 1e-9 < root <= 1.0 + 1e-9:
            slope = (3.0 * cubic[0] * root + 2.0 * cubic[1]) * root + cubic[2]
            if slope < 0.0:
                return float(min(root, 1.0))
    return None

r"""Other branches of the L1KR path.

The curve from zero weights passes a stationary point at every sum of weights ``D``, but not always
the best one: the solutions of the equations have other components.  At a few ``D`` a local search
from several starts looks for a smaller loss; where it finds one, the curve through that point is
followed in both directions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize

from kernelpath.tracers.corrector import Corrector
from kernelpath.tracers.homotopy import CLOSED, Homotopy
from kernelpath.tracers.l1kr_path import L1KRPoint, L1KRTrace, light
from kernelpath.tracers.ridge_system import Places, RidgeState, RidgeSystem
from kernelpath.weighted.ard import Vector

LEAST_SHARE = 1e-6  # of the sum of the weights: a smaller one is zero
MOST_STEPS = 300
SMALLEST, LARGEST = 0.05, 0.8  # of the largest sum of weights: where to look
WORTH = 1e-5  # of the squared norm of the target: a gain that is more than rounding
ACTIVE_SETS = 5


@dataclass(frozen=True, eq=False)
class Found:
    """A stationary point of a local search."""

    state: RidgeState
    active: Places


def local_optimum(system: RidgeSystem, radius: float, start: Vector) -> tuple[Vector, float]:
    r"""Weights of a given sum with a locally smallest loss, and that loss, by L-BFGS-B.

    :math:`d = D q^2 / \|q\|^2` keeps sum and sign; the ridge follows from the norm budget.
    """
    near = None

    def objective(q: Vector) -> tuple[float, Vector]:
        nonlocal near
        square = float(q @ q)
        weights = radius * np.square(q) / square
        state = system.at_budget(weights, near)
        near = state.log_ridge
        if system.with_budget:
            value, slope = state.loss, -2.0 * state.ridge * state.slopes
        else:  # what the fixed ridge makes of the problem: ridge * y'a
            value, slope = state.ridge * float(system.y @ state.a), -state.ridge * state.slopes
        inner = 2.0 * q * radius / square
        gradient = inner * (slope - float(slope @ weights) / radius)
        return value / system.scale, gradient / system.scale

    q = np.sqrt(np.maximum(start, 1e-4 * float(start.max())))
    options = {"maxiter": MOST_STEPS, "ftol": 1e-10, "gtol": 1e-7}
    found = optimize.minimize(objective, q, jac=True, method="L-BFGS-B", options=options)
    weights = np.asarray(radius * np.square(found.x) / float(found.x @ found.x))
    return weights, float(found.fun) * system.scale


def on_the_curve(corrector: Corrector, weights: Vector) -> Found | None:
    """The stationary point next to some weights, exactly, with the same sum of weights."""
    system, radius = corrector.system, float(weights.sum())
    active = np.flatnonzero(weights > LEAST_SHARE * radius)
    for _ in range(ACTIVE_SETS):
        clean = np.zeros_like(weights)
        clean[active] = weights[active]
        state = corrector.settled(weights, active, system.at_budget(clean).log_ridge)
        if state is None:
            return None
        small = state.weights[active] <= 0.0
        ahead = state.slopes > (1.0 + 1e-7) * float(state.slopes[active[0]])
        ahead[active] = False
        if not small.any() and not ahead.any():
            return Found(state, active)
        active = np.concatenate([active[~small], np.flatnonzero(ahead)])
        weights = np.maximum(state.weights, 0.0)
    return None


@dataclass(frozen=True, eq=False)
class Branch(L1KRTrace):
    """A component of the solutions other than the path from zero weights.

    Its points go from the end with falling to the end with growing sums of weights.

    Attributes
    ----------
    radius : float
        Sum of the weights where it was found.
    loss, path_loss : float
        Its loss there, and the smallest one of the path.
    ends : tuple of str
        Why it ended, on both sides.
    """

    radius: float
    loss: float
    path_loss: float
    ends: tuple[str, str]

    @property
    def ended_early(self) -> bool:
        """Never: it is extra."""
        return False


def search_branches(
    system: RidgeSystem,
    trace: L1KRTrace,
    *,
    n_radii: int = 4,
    n_starts: int = 4,
    random_state: int = 0,
    tell: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Branch | None:
    """The branch with the largest gain over a path, or None where the path is nowhere worse.

    ``options`` are those of `Homotopy`.
    """
    rng, corrector = np.random.default_rng(random_state), Corrector(system)
    points = trace.points
    largest = max(point.radius for point in points)
    best: tuple[float, Found, float] | None = None
    radii = np.geomspace(SMALLEST * largest, LARGEST * largest, n_radii).tolist()
    for number, radius in enumerate(radii):
        if tell is not None:
            tell(number, len(radii))
        known = path_loss(corrector, points, radius)
        nearest = min(points, key=lambda one: abs(one.radius - radius))
        for start in _starts(radius, nearest.weights, rng, n_starts):
            found = _searched(corrector, radius, start, known - 0.5 * WORTH * system.scale)
            gain = -math.inf if found is None else known - found.state.loss
            if found is not None and gain > max(WORTH * system.scale, best[0] if best else 0.0):
                best = (gain, found, known)
    return None if best is None else _followed(system, *best[1:], **options)


def _searched(corrector: Corrector, radius: float, start: Vector, most: float) -> Found | None:
    """A stationary point from a start, if its loss is small enough to be looked at exactly."""
    system = corrector.system
    try:
        weights, loss = local_optimum(system, radius, start)
        return on_the_curve(corrector, weights) if loss < most or not system.with_budget else None
    except (ValueError, linalg.LinAlgError):  # no ridge is small enough, or large enough
        return None


def _followed(system: RidgeSystem, found: Found, known: float, **options: Any) -> Branch:
    """The curve through a stationary point, to both of its ends."""
    back, forth = Homotopy(system, **options), Homotopy(system, **options)

    def points(curve: Homotopy, towards: float) -> list[L1KRPoint]:
        places = curve.trace(found.state, found.active, towards)
        return [light(system, place.state, place.active, place.event) for place in places]

    after = points(forth, 1.0)
    before = [] if forth.end == CLOSED else points(back, -1.0)[:0:-1]
    ends = (back.end or forth.end, forth.end)
    end = CLOSED if forth.end == CLOSED else forth.end
    state = found.state
    both = [*before, *after]
    return Branch(both, end, system.n_jacobians, state.radius, state.loss, known, ends)


def path_loss(corrector: Corrector, points: list[L1KRPoint], radius: float) -> float:
    """Smallest loss of a path at a sum of weights, exactly: it may pass there several times."""
    losses = [math.inf]
    for here, there in itertools.pairwise(points):
        low, high = here.radius - radius, there.radius - radius
        if low * high > 0.0 or low == high:
            continue
        share = low / (low - high)
        weights = (1.0 - share) * here.weights + share * there.weights
        log_ridge = (1.0 - share) * math.log(here.ridge) + share * math.log(there.ridge)
        state = corrector.settled(weights, here.active, log_ridge)
        losses.append(min(here.loss, there.loss) if state is None else state.loss)
    return min(losses)


def _starts(radius: float, path: Vector, rng: np.random.Generator, n_random: int) -> list[Vector]:
    """Equal weights, those of the path, and random ones, of a given sum."""
    starts = [np.full(len(path), radius / len(path)), path * (radius / float(path.sum()))]
    for _ in range(n_random):
        some = rng.exponential(size=len(path)) ** 2
        starts.append(radius * some / float(some.sum()))
    return starts

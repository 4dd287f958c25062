r"""Other branches of the L1KR path.

The curve from zero weights passes a stationary point at every sum of weights ``D``, but not always
the best one: the solutions of the equations have other components.  At a few ``D`` a local search
from several starts looks for a smaller loss; where it finds one, the curve through that point is
followed in both directions.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from kernelpath.tracers.curve_places import Place
from kernelpath.tracers.homotopy import CLOSED, Homotopy
from kernelpath.tracers.ridge_system import Places, RidgeState, RidgeSystem
from kernelpath.weighted.ard import Vector

LEAST_SHARE = 1e-6  # of the sum of the weights: a smaller one is zero
MOST_STEPS = 300
SMALLEST, LARGEST = 0.05, 0.8  # of the largest sum of weights: where to look
WORTH = 1e-5  # of the squared norm of the target: a gain that is more than rounding


@dataclass(frozen=True, eq=False)
class Found:
    """A stationary point of a local search."""

    state: RidgeState
    active: Places


def local_optimum(system: RidgeSystem, radius: float, start: Vector) -> Vector:
    r"""Weights of a given sum with a locally smallest loss, by L-BFGS-B.

    :math:`d = D q^2 / \|q\|^2` keeps sum and sign; the ridge follows from the norm budget.
    """

    def objective(q: Vector) -> tuple[float, Vector]:
        square = float(q @ q)
        weights = radius * np.square(q) / square
        log_ridge = system.ridge_of_budget(weights) if system.with_budget else system.fixed
        assert log_ridge is not None
        state = system.look(weights, log_ridge)
        if system.with_budget:
            value, slope = state.loss, -2.0 * state.ridge * state.slopes
        else:  # what the fixed ridge makes of the problem: ridge * y'a
            value, slope = state.ridge * float(system.y @ state.a), -state.ridge * state.slopes
        inner = 2.0 * q * radius / square
        gradient = inner * (slope - float(slope @ weights) / radius)
        return value / system.scale, gradient / system.scale

    q = np.sqrt(np.maximum(start, 1e-4 * float(start.max())))
    options = {"maxiter": MOST_STEPS, "ftol": 1e-12, "gtol": 1e-9}
    found = optimize.minimize(objective, q, jac=True, method="L-BFGS-B", options=options)
    return radius * np.square(found.x) / float(found.x @ found.x)


def on_the_curve(curve: Homotopy, weights: Vector) -> Found | None:
    """The stationary point next to some weights, exactly, with the same sum of weights."""
    system, radius = curve.system, float(weights.sum())
    active = np.flatnonzero(weights > LEAST_SHARE * radius)
    for _ in range(5):
        log_ridge = system.fixed
        if log_ridge is None:
            clean = np.zeros_like(weights)
            clean[active] = weights[active]
            log_ridge = system.ridge_of_budget(clean)
        state = curve.settled(weights, active, log_ridge)
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
class Branch:
    """A component of the solutions other than the path from zero weights.

    Attributes
    ----------
    places : list of Place
        From the end with falling to the end with growing sums of weights, through the start.
    radius : float
        Sum of the weights where it was found.
    loss, path_loss : float
        Its loss there, and the smallest one of the path.
    ends : tuple of str
        Why it ended, on both sides.
    """

    places: list[Place]
    radius: float
    loss: float
    path_loss: float
    ends: tuple[str, str]


def search_branches(
    system: RidgeSystem,
    places: list[Place],
    *,
    n_radii: int = 4,
    n_starts: int = 4,
    random_state: int = 0,
    **options: Any,
) -> Branch | None:
    """The branch with the largest gain over a path, or None where the path is nowhere worse.

    ``options`` are those of `Homotopy`.
    """
    rng, curve = np.random.default_rng(random_state), Homotopy(system, **options)
    largest = max(place.state.radius for place in places)
    best: tuple[float, Found, float] | None = None
    for radius in np.geomspace(SMALLEST * largest, LARGEST * largest, n_radii).tolist():
        known = path_loss(curve, places, radius)
        nearest = min(places, key=lambda one: abs(one.state.radius - radius))
        for start in _starts(radius, nearest.state.weights, rng, n_starts):
            found = on_the_curve(curve, local_optimum(system, radius, start))
            gain = -math.inf if found is None else known - found.state.loss
            if (
                found is not None
                and gain > WORTH * system.scale
                and (best is None or gain > best[0])
            ):
                best = (gain, found, known)
    if best is None:
        return None
    _, found, known = best
    back, forth = Homotopy(system, **options), Homotopy(system, **options)
    after = list(forth.trace(found.state, found.active, 1.0))
    before: list[Place] = []
    if forth.end != CLOSED:
        before = list(back.trace(found.state, found.active, -1.0))[:0:-1]
    ends = (back.end or forth.end, forth.end)
    return Branch(before + after, found.state.radius, found.state.loss, known, ends)


def path_loss(curve: Homotopy, places: list[Place], radius: float) -> float:
    """Smallest loss of a path at a sum of weights, exactly: it may pass there several times."""
    losses = [math.inf]
    for here, there in itertools.pairwise(places):
        low, high = here.state.radius - radius, there.state.radius - radius
        if low * high > 0.0 or low == high:
            continue
        share = low / (low - high)
        weights = (1.0 - share) * here.state.weights + share * there.state.weights
        log_ridge = (1.0 - share) * here.state.log_ridge + share * there.state.log_ridge
        state = curve.settled(weights, here.active, log_ridge)
        losses.append(min(here.state.loss, there.state.loss) if state is None else state.loss)
    return min(losses)


def _starts(radius: float, path: Vector, rng: np.random.Generator, n_random: int) -> list[Vector]:
    """Equal weights, those of the path, and random ones, of a given sum."""
    starts = [np.full(len(path), radius / len(path)), path * (radius / float(path.sum()))]
    for _ in range(n_random):
        some = rng.exponential(size=len(path)) ** 2
        starts.append(radius * some / float(some.sum()))
    return starts

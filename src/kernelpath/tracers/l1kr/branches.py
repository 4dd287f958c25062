r"""Other branches of the L1KR path.

The curve from zero weights passes a stationary point at every sum of weights ``D``, but not always
the best one: the solutions of the equations have other components.  At a few ``D`` a local search
from several starts looks for a smaller loss; where it finds one, the curve through that point is
followed in both directions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize

from kernelpath.mkl.weighted_kernels.ard import Vector
from kernelpath.tracers.l1kr.corrector import Corrector, StationaryPoint
from kernelpath.tracers.l1kr.curve import LARGEST_VIOLATION, End, Homotopy
from kernelpath.tracers.l1kr.equations import LEAST_RIDGE, NEWTON_TOL, NoRidge, RidgeSystem
from kernelpath.tracers.l1kr.trace import L1KRPoint, L1KRTrace, light

RADII = 0.05 * 3.0 ** np.arange(5)  # of the largest sum of weights: where to look
NOTHING, USUAL = 1e-3, 1.0  # of the target: a path that explains less says no sum; then take this
FEATURES_A_START = 5  # so many features, one more random start
FEWEST, MOST = 2, 10  # random starts
SHAPES = (1.0, 0.3)  # of the gamma distribution of random weights, in turn: even, and uneven
ROUGH = {"maxiter": 40, "ftol": 1e-5, "gtol": 1e-5}
FINE = {"maxiter": 300, "ftol": 1e-10, "gtol": 1e-7}
REFINED, NEARLY = 2, 1.05  # of the rough searches: the best, if their loss is nearly that known
WORTH = 1e-5  # of the squared norm of the target: a gain that is more than rounding


def local_optimum(
    system: RidgeSystem, radius: float, start: Vector, options: dict[str, Any] = FINE
) -> tuple[Vector, float]:
    r"""Weights of a given sum with a locally smallest loss, and that loss, by L-BFGS-B.

    :math:`d = D q^2 / \|q\|^2` keeps sum and sign; the ridge follows from the norm budget.
    ``options`` are those of the method: when it stops.
    """
    near, tol = None, max(NEWTON_TOL, 0.1 * options["ftol"])

    def objective(q: Vector) -> tuple[float, Vector]:
        nonlocal near
        square = float(q @ q)
        weights = radius * np.square(q) / square
        state = system.at_budget(weights, near, tol)
        near = state.log_ridge
        if system.with_budget:
            value, slope = state.loss, -2.0 * state.ridge * state.slopes
        else:  # what the fixed ridge makes of the problem: ridge * y'a
            value, slope = state.ridge * float(system.y @ state.a), -state.ridge * state.slopes
        inner = 2.0 * q * radius / square
        gradient = inner * (slope - float(slope @ weights) / radius)
        return value / system.scale, gradient / system.scale

    q = np.sqrt(np.maximum(start, 1e-4 * float(start.max())))
    found = optimize.minimize(objective, q, jac=True, method="L-BFGS-B", options=options)
    weights = np.asarray(radius * np.square(found.x) / float(found.x @ found.x))
    return weights, float(found.fun) * system.scale


@dataclass(frozen=True, eq=False)
class Branch(L1KRTrace):
    """A component of the solutions other than the path from zero weights.

    Its points go from the end with falling to the end with growing sums of weights.

    Attributes
    ----------
    system : RidgeSystem
        Whose solutions they are.
    radius : float
        Sum of the weights where it was found.
    loss, path_loss : float
        Its loss there, and the smallest one of the path.
    ends : tuple of End
        Why it ended, on both sides.
    """

    system: RidgeSystem
    radius: float
    loss: float
    path_loss: float
    ends: tuple[End, End]

    @property
    def ended_early(self) -> bool:
        """Never: it is extra."""
        return False


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A stationary point that is better than the path, and its error of rows left out."""

    system: RidgeSystem
    found: StationaryPoint
    known: float
    error: float


def search_branches(
    runs: Sequence[tuple[RidgeSystem, L1KRTrace]],
    *,
    random_state: int = 0,
    tell: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Branch | None:
    """The branch of the best point that the paths of some systems miss; None if there is none.

    Points count that have a smaller loss than the path of their system at no smaller sum of
    weights; the best one has the smallest error of rows left out.  ``options`` are those of
    `Homotopy`.
    """
    rng = np.random.default_rng(random_state)
    best: _Candidate | None = None
    for number, (system, trace) in enumerate(runs):
        largest = max(point.radius for point in trace.points)
        if explains_nothing(system, trace):
            largest = max(largest, USUAL)
        for place, share in enumerate(RADII.tolist()):
            if tell is not None:
                tell(number * len(RADII) + place, len(runs) * len(RADII))
            for one in _candidates(system, trace, share * largest, rng):
                best = one if best is None or one.error < best.error else best
    return None if best is None else _followed(best, **options)


def explains_nothing(system: RidgeSystem, trace: L1KRTrace) -> bool:
    """Whether no point of a path has a smaller loss than the mean of the target."""
    return min(point.loss for point in trace.points) > (1.0 - NOTHING) * system.scale


def _candidates(
    system: RidgeSystem, trace: L1KRTrace, radius: float, rng: np.random.Generator
) -> Iterator[_Candidate]:
    """Better points of one sum of weights: many rough searches, and the best of them finely."""
    corrector = Corrector(system)
    known = path_loss(corrector, trace.points, radius)
    nearest = min(trace.points, key=lambda one: abs(one.radius - radius))
    starts = _starts(radius, nearest.weights, rng)
    rough = [one for start in starts if (one := _searched(system, radius, start, ROUGH))]
    for weights, loss in sorted(rough, key=lambda one: one[1])[:REFINED]:
        if loss > NEARLY * known:
            return
        fine = _searched(system, radius, weights, FINE)
        found = None if fine is None else corrector.on_the_curve(fine[0])
        if found is not None and _is_better(system, found, known):
            error = float(np.square(found.state.leave_one_out).mean())
            yield _Candidate(system, found, known, error)


def _is_better(system: RidgeSystem, found: StationaryPoint, known: float) -> bool:
    """Whether a point has a smaller loss, and is exact enough to say so."""
    blurred = system.with_budget and found.state.ridge < LEAST_RIDGE * system.kernel.n_rows
    exact = system.violation(found.state, found.active) <= LARGEST_VIOLATION
    return exact and not blurred and found.state.loss < known - WORTH * system.scale


def _searched(
    system: RidgeSystem, radius: float, start: Vector, options: dict[str, Any]
) -> tuple[Vector, float] | None:
    try:
        return local_optimum(system, radius, start, options)
    except (NoRidge, linalg.LinAlgError):
        return None


def _followed(best: _Candidate, **options: Any) -> Branch:
    """The curve through a stationary point, to both of its ends."""
    system, found = best.system, best.found
    back, forth = Homotopy(system, **options), Homotopy(system, **options)

    def points(curve: Homotopy, towards: float) -> list[L1KRPoint]:
        places = curve.trace(found.state, found.active, towards)
        return [light(system, place.state, place.active, place.event) for place in places]

    after = points(forth, 1.0)
    before = [] if forth.end == End.CLOSED else points(back, -1.0)[:0:-1]
    return Branch(
        points=[*before, *after],
        end=forth.end,
        n_jacobians=system.n_jacobians,
        system=system,
        radius=found.state.radius,
        loss=found.state.loss,
        path_loss=best.known,
        ends=(back.end or forth.end, forth.end),
    )


def path_loss(corrector: Corrector, points: list[L1KRPoint], radius: float) -> float:
    """Smallest loss of a path up to a sum of weights, exactly where it passes there."""
    losses = [point.loss for point in points if point.radius <= radius]
    for here, there in itertools.pairwise(points):
        low, high = here.radius - radius, there.radius - radius
        if low * high > 0.0 or low == high:
            continue
        share = low / (low - high)
        weights = (1.0 - share) * here.weights + share * there.weights
        log_ridge = (1.0 - share) * math.log(here.ridge) + share * math.log(there.ridge)
        state = corrector.settled(weights, here.active, log_ridge)
        losses.append(min(here.loss, there.loss) if state is None else state.loss)
    return min(losses, default=math.inf)


def _starts(radius: float, path: Vector, rng: np.random.Generator) -> list[Vector]:
    """Equal weights, those of the path, and random ones, of a given sum."""
    d = len(path)
    starts = [np.ones(d), path] if path.any() else [np.ones(d)]
    n_random = min(max(d // FEATURES_A_START, FEWEST), MOST)
    starts += [rng.gamma(SHAPES[i % len(SHAPES)], size=d) + 1e-9 for i in range(n_random)]
    return [radius * start / float(start.sum()) for start in starts]

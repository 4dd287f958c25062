"""The path of the group lasso over its strength, with a certified gap at every point.

Strengths fall on a logarithmic grid from the largest at which any group has a weight.  At each the
groups that have or may soon have weights are solved, warm; then the bounds of the others are
looked at, and those that would have a weight join, until the gap over all groups is closed.  Where
several features enter between two points, strengths between them are solved, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelpath.tracers.additive.problem import Array, Factors, GroupLasso
from kernelpath.tracers.additive.screening import STORED, Screening
from kernelpath.tracers.additive.working_set import WorkingSet

INNER = 0.5  # of the tolerance is for the groups of the working set
TIGHTER = 0.1
MOST_ROUNDS = 60  # of joining, at one strength
JOINING = 30  # groups at least that may join at once
POINTS = ("strengths", "values", "gaps", "kkt", "groups", "norms", "intercepts")
NOTHING = 1e-12  # a strength at which rounding errors enter
HALVINGS = 5  # of the ratio of two strengths between which sizes are skipped


@dataclass
class Traced:
    """Points of a path, from the largest strength downwards.

    Attributes
    ----------
    strengths, values, gaps, kkt : list of float
    groups : list of ndarray
        Groups with a weight, increasing.
    norms : list of ndarray
        Norms of their weights.
    intercepts : list of ndarray
    relevance : ndarray of shape (n_groups,)
        Norm of the product of each factor with the residuals of the intercept alone: the strength
        at which the group would have a weight if it were the only one.
    n_looked : int
        Groups that were looked at outside the working set, all times counted.
    """

    relevance: Array
    strengths: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    kkt: list[float] = field(default_factory=list)
    groups: list[NDArray[np.intp]] = field(default_factory=list)
    norms: list[Array] = field(default_factory=list)
    intercepts: list[Array] = field(default_factory=list)
    n_looked: int = 0

    def falling(self) -> Traced:
        """The same points by falling strength."""
        order = np.argsort([-strength for strength in self.strengths], kind="stable")
        for name in POINTS:
            values = getattr(self, name)
            setattr(self, name, [values[i] for i in order.tolist()])
        return self

    def order(self) -> NDArray[np.intp]:
        """All groups: by entry, then by norm there; those that never enter by relevance."""
        n = len(self.relevance)
        entered, norm = np.full(n, len(self.groups)), np.zeros(n)
        for i in range(len(self.groups))[::-1]:
            entered[self.groups[i]], norm[self.groups[i]] = i, self.norms[i]
        return np.lexsort((-self.relevance, -norm, entered))


class Tracer:
    """Traces a path; `run` returns its points.

    Parameters
    ----------
    problem : GroupLasso
    factors : Factors
    tol : float
        Gap at every point, relative to the objective.
    sizes : ndarray of shape (n_groups,), optional
        Features of each group; one each by default.
    stored : int
        Numbers of the factors that may be kept.
    """

    def __init__(
        self,
        problem: GroupLasso,
        factors: Factors,
        *,
        tol: float,
        sizes: NDArray[np.intp] | None = None,
        stored: int = STORED,
    ) -> None:
        self._tol, self._sizes = tol, sizes
        self._screening = Screening(factors, problem.start(), stored)
        self._own = WorkingSet(problem, factors)
        self._found = Traced(self._screening.bounds.copy())

    def run(
        self,
        strengths: NDArray[np.float64],
        max_features: int,
        progress: Callable[[float, float], None] = lambda done, total: None,
    ) -> Traced:
        """Trace the path for falling shares of the largest strength, until enough features.

        Parameters
        ----------
        strengths : ndarray
            The first one is 1.
        max_features : int
            The point at which so many have a weight is the last.
        progress : callable
            Called with points that are done and their number.
        """
        before = float(self._found.relevance.max(initial=0.0))
        size = self._record(before, 0.0)
        if before <= NOTHING:
            return self._found
        for i, strength in enumerate((before * strengths[1:]).tolist(), 1):
            now = self._point(strength, before)
            self._locate((before, size), (strength, now), HALVINGS, max_features)
            before, size = strength, now
            progress(i, len(strengths))
            if size >= max_features:
                break
        progress(len(strengths), len(strengths))
        self._found.n_looked = self._screening.n_looked
        return self._found.falling()

    def _locate(
        self, high: tuple[float, int], low: tuple[float, int], halvings: int, most: int
    ) -> None:
        """Solve between two strengths while sizes between theirs, below the most, are skipped."""
        if halvings == 0 or low[1] - high[1] <= 1 or high[1] >= most:
            return
        strength = float(np.sqrt(high[0] * low[0]))
        middle = strength, self._point(strength, high[0])
        self._locate(high, middle, halvings - 1, most)
        self._locate(middle, low, halvings - 1, most)

    def _point(self, strength: float, before: float) -> int:
        """Close the gap over all groups and write the point down; return its size."""
        own, screening = self._own, self._screening
        likely = 2.0 * strength - before  # the strong rule: a guess, which is checked below
        own.keep((own.norms > 0) | (own.products(own.rest) >= likely))
        outside = screening.bounds >= likely
        outside[own.groups] = False
        own.add(_largest(screening.bounds, np.flatnonzero(outside), _room(own)))
        inner = INNER * self._tol
        for _ in range(MOST_ROUNDS):
            solved = own.solve(strength, inner)
            above = screening.above(solved.theta, strength, own.groups)
            norms = np.concatenate([solved.products, screening.bounds[above]])
            gap = solved.value - own.problem.dual(solved.theta, norms, strength)
            if gap <= self._tol * solved.value:
                break
            if len(above):
                own.add(_largest(screening.bounds, above, _room(own)))
            elif not solved.closed:  # the gap is left as it is, and said
                break
            else:
                inner *= TIGHTER
        return self._record(strength, max(gap, 0.0) / solved.value if solved.value > 0 else 0.0)

    def _record(self, strength: float, gap: float) -> int:
        own, found = self._own, self._found
        norms = own.norms
        held = np.flatnonzero(norms > 0)
        order = held[np.argsort(own.groups[held])]
        found.strengths.append(strength)
        found.values.append(own.problem.primal(own.rest, norms, strength))
        found.gaps.append(gap)
        found.kkt.append(own.kkt(strength))
        found.groups.append(own.groups[order])
        found.norms.append(norms[order])
        found.intercepts.append(own.intercepts.copy())
        groups = found.groups[-1]
        return len(groups) if self._sizes is None else int(self._sizes[groups].sum())


def _room(own: WorkingSet) -> int:
    return max(JOINING, len(own.groups))


def _largest(norms: Array, groups: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Some groups with the largest norms, increasing."""
    if len(groups) > most:
        groups = np.sort(groups[np.argsort(-norms[groups], kind="stable")[:most]])
    return groups

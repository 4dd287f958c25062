"""From a Generalized lp-KTA problem to a :class:`FeaturePath` that knows every size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.errors import DataError, naming
from kernelpath.path.build import build_path
from kernelpath.path.feature_path import EventTable, FeaturePath, PathPoint, register_extension
from kernelpath.path.points import BEYOND, ON_PATH, nearest_sizes
from kernelpath.path.significance import AlignmentTest
from kernelpath.tracers.lp_kta.divergences import DIVERGENCES
from kernelpath.tracers.lp_kta.predictor_corrector import trace_predictor_corrector
from kernelpath.tracers.lp_kta.problem import PNormProblem, trace_exact
from kernelpath.tracers.lp_kta.units import Units
from kernelpath.utils.archive_forms import REAL, Form
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

ELIMINATE = EventTable.KINDS.index("eliminate")
LARGEST_LOG = 690.0
LARGEST_REFERENCE = 1e100  # far beyond any weight; the squares of larger ones are no numbers
SOLVERS = ("exact", "predictor_corrector")


def grid(p_start: float, p_stop: float, step: float) -> NDArray[np.float64]:
    """Values of ``p`` from ``p_start`` down to ``p_stop``, both included.

    Examples
    --------
    >>> grid(2.0, 1.0, 0.25)
    array([2.  , 1.75, 1.5 , 1.25, 1.  ])
    """
    count = max(int(np.ceil((p_start - p_stop) / step - 1e-9)), 1)
    # Rounding to 12 digits removes the drift of repeated subtraction: 1.3, not 1.2999999999999998.
    inner = np.round(p_start - step * np.arange(count), 12)
    return np.append(inner, p_stop)


def trace_path(
    problem: PNormProblem,
    parameters: NDArray[np.float64],
    *,
    units: Units | None = None,
    solver: str = "exact",
    predictor_order: int = 1,
    by_size: bool = False,
    feature_names: Any = None,
    provenance: dict[str, Any] | None = None,
    test: AlignmentTest | None = None,
) -> FeaturePath:
    """Trace the path of ``problem`` over a decreasing grid of ``p``.

    ``units`` says which columns the features of the problem are; one each by default.  With
    ``by_size`` only points of some number of features will be asked for: they lie at the ends of
    the grid or at juncture points, so that an exact path stores nothing else.
    """
    if not problem.bounded(float(parameters[-1])):
        unbounded = UserWarning(
            "Without a Bregman term (bregman_strength=0) the problem is unbounded at p = 1 for "
            "features whose alignment exceeds norm_strength; the path stops at "
            f"p = {parameters[-2]:g}.",
        )
        warn(naming(unbounded, "bregman_strength"))
        parameters = parameters[:-1]
    _check_range(problem, float(parameters[-1]))
    if by_size and solver == "exact":
        parameters = parameters[[0, -1]]
    if solver == "exact":
        traced = trace_exact(problem, parameters)
    else:
        traced = trace_predictor_corrector(problem, parameters, predictor_order)
    shape = (len(parameters), problem.n_features)
    for array in (traced.data, traced.indices, traced.indptr):
        array.setflags(write=False)  # handed over: the path need not copy them
    weights = sp.csr_array((traced.data, traced.indices, traced.indptr), shape=shape)
    sizes = np.diff(traced.indptr)
    events = _events(problem, parameters)
    if units is not None:
        weights, events = units.rows(weights), units.events(events)
    return build_path(
        method="lp-kta",
        parameter_name="p",
        parameters=parameters,
        weights=weights,
        values=traced.values,
        kkt=traced.kkt,
        gaps=[problem.elimination_gap(float(p), int(k)) for p, k in zip(parameters, sizes)],
        events=events,
        feature_names=feature_names,
        provenance=provenance,
        test=test,
        extension=LpKTAExtension(problem, float(parameters[0]), float(parameters[-1]), units),
    )


def _check_range(problem: PNormProblem, p: float) -> None:
    """Without a Bregman term ``(a / (lambda_2 p))^(1 / (p - 1))`` soon leaves every float."""
    if problem.bregman_strength > 0 or p == 1.0:
        return
    ratio = max(float(problem.scores.max()), 1e-300) / (problem.norm_strength * p)
    if np.log(ratio) / (p - 1.0) > LARGEST_LOG:
        raise DataError(
            f"At p = {p:g} the largest weight would be beyond the range of numbers; raise "
            "norm_strength, set a positive bregman_strength, or stop at a larger p_stop."
        )


def _events(problem: PNormProblem, parameters: NDArray[np.float64]) -> EventTable:
    """Juncture points inside the range of ``p``, in the order in which they are met."""
    junctures = problem.juncture()
    inside = np.flatnonzero((junctures < parameters[0]) & (junctures >= parameters[-1]))
    order = inside[np.lexsort((inside, -junctures[inside]))]
    # First grid point at or below the juncture: there the feature is gone.
    position = len(parameters) - np.searchsorted(parameters[::-1], junctures[order], side="right")
    return EventTable(
        np.full(len(order), ELIMINATE, dtype=np.uint8), order, junctures[order], position
    )


@register_extension
@dataclass(frozen=True)
class LpKTAExtension:
    """Every size of an lp-KTA path, also between and beyond the grid points.

    Attributes
    ----------
    problem : PNormProblem
    p_start, p_stop : float
        Range of the path.
    units : Units or None
        Which columns the features of the problem are; one each without.
    """

    problem: PNormProblem
    p_start: float
    p_stop: float
    units: Units | None = None
    kind = "lp-kta"
    #: What the arrays of a saved one must be.
    FORMS: ClassVar[dict[str, Form]] = {
        "alignments": Form(REAL, ("columns",)),
        "usable": Form("b1", ("columns",)),
        "reference": Form(REAL, ("1|columns",), low=0, high=LARGEST_REFERENCE),
        "unit": Form("i8", ("columns",), low=0, optional=True),
        "kept": Form("b1", ("columns",), optional=True),
        "costs": Form(REAL, ("columns",), low=0, infinite=True, optional=True),
    }

    @property
    def n_usable(self) -> int:
        """Number of columns that can be selected: those not constant, and those always in."""
        return self.problem.n_selectable if self.units is None else int(self.sizes[-1])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Numbers of columns that a point can have, from those always in to all."""
        problem, units = self.problem, self.units
        counts = np.arange(problem.n_selectable + 1)
        if units is not None:
            own = units.constraints.unit_sizes[problem.ranking[: problem.n_selectable]]
            counts = np.concatenate([[0], np.cumsum(own)])
        return counts[problem.n_kept :]

    def order(self) -> NDArray[np.intp]:
        """Columns that can be selected, by decreasing score: the order in which they enter."""
        ranked = self.problem.ranking[: self.problem.n_selectable]
        return ranked if self.units is None else self.units.constraints.columns(ranked)

    def at(self, path: FeaturePath, k: int) -> PathPoint:
        """Return the point with exactly ``k`` columns."""
        place = int(np.searchsorted(self.sizes, k))
        if place == len(self.sizes) or self.sizes[place] != k:
            raise DataError(
                f"no point has exactly {counted(k, 'feature')}, since some are always in "
                f"or go together; {nearest_sizes(self.sizes, k)}"
            )
        return self._at(path, k, self.problem.n_kept + place)

    def _at(self, path: FeaturePath, n_columns: int, k: int) -> PathPoint:
        """Return the point with exactly ``k`` features of the problem."""
        problem = self.problem
        ranked = problem.ranked_scores
        most, least = problem.support_sizes(np.array([self.p_start, self.p_stop])).tolist()
        tied = problem.n_kept < k < problem.n_selectable and ranked[k - 1] == ranked[k]
        origin = ON_PATH if least <= k <= most else BEYOND
        if k > most:
            p = self.p_start
            note = f"beyond the path: elimination tolerance lowered at p = {p:g}"
        elif k < least:
            p = self.p_stop
            note = f"beyond the path: elimination tolerance raised at p = {p:g}"
        else:
            p, note = self._juncture(k)
        if tied:
            note = "; ".join(filter(None, [note, self._tie_note(k)]))
        stored = np.flatnonzero((path.parameters == p) & (path.n_selected == n_columns))
        if len(stored) and not tied:
            return path[int(stored[0])]
        # The lemma speaks of the path's own tolerance, and of features that differ.
        gap = None if origin == BEYOND or tied else problem.elimination_gap(p, k)
        features = np.sort(problem.ranking[:k])
        return self._point(path, p, features, gap=gap, note=note, origin=origin)

    def _juncture(self, k: int) -> tuple[float, str]:
        """Largest ``p`` in the range at which exactly the ``k`` best features are left."""
        if k == self.problem.n_selectable:
            return self.p_start, ""
        juncture = float(self.problem.juncture(self.problem.ranked_scores[k : k + 1])[0])
        if juncture >= self.p_start:
            return self.p_start, ""
        p = max(juncture, self.p_stop)
        return p, f"juncture point p = {p:.12g}"

    def _tie_note(self, k: int) -> str:
        ranked = self.problem.ranked_scores
        tied = int(np.sum(ranked[self.problem.n_kept :] == ranked[k - 1]))
        return f"cuts through {tied} equal alignments, ties broken by column order"

    def _point(
        self, path: FeaturePath, p: float, features: NDArray[np.intp], **more: Any
    ) -> PathPoint:
        problem, units = self.problem, self.units
        values = problem.weights(p, features)
        weights = np.zeros(problem.n_features)
        weights[features] = values
        support = np.zeros(problem.n_features, dtype=bool)
        support[features] = True
        if units is not None:
            unit = units.constraints.unit
            weights, support = weights[unit] * units.shares, support[unit]
        return PathPoint(
            position=-1,
            parameter=p,
            weights=weights,
            support=support,
            value=problem.objective(p, features, values),
            kkt=problem.residual(p, features, values),
            feature_names=path._names,
            **more,
        )

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]] | None:
        """Return JSON-able settings and arrays; None for a divergence of the user's own."""
        problem = self.problem
        if type(problem.divergence) is not DIVERGENCES.get(problem.divergence.name):
            return None
        meta = {
            "bregman_strength": problem.bregman_strength,
            "norm_strength": problem.norm_strength,
            "divergence": problem.divergence.name,
            "elimination_tol": problem.elimination_tol,
            "p_start": self.p_start,
            "p_stop": self.p_stop,
        }
        names = ("alignments", "usable", "reference")
        arrays = {name: getattr(problem, name) for name in names}
        if self.units is not None:
            arrays = self.units.to_arrays()
        reference = arrays["reference"]
        if np.all(reference == reference[:1]):
            arrays["reference"] = reference[:1]
        return meta, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, NDArray]) -> LpKTAExtension:
        """Build the extension again from what ``to_state`` gave."""
        _check_meta(meta)
        ends = float(meta["p_start"]), float(meta["p_stop"])
        names = ("bregman_strength", "norm_strength", "elimination_tol")
        settings: dict[str, Any] = {name: float(meta[name]) for name in names}
        settings["divergence"] = DIVERGENCES[meta["divergence"]]()
        if "unit" in arrays:
            units = Units.from_arrays(arrays)
            return cls(units.problem(**settings), *ends, units)
        alignments = arrays["alignments"]
        reference = np.broadcast_to(arrays["reference"], alignments.shape)
        problem = PNormProblem(
            alignments=alignments, usable=arrays["usable"], reference=reference, **settings
        )
        return cls(problem, *ends)


def _check_meta(meta: dict[str, Any]) -> None:
    """Refuse saved settings that no path can have."""
    numbers = ("bregman_strength", "norm_strength", "elimination_tol", "p_stop", "p_start")
    for name in numbers:
        value = meta[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
            raise ValueError(f"{name} is {value!r}")
    if not (meta["elimination_tol"] > 0 and 1 <= meta["p_stop"] <= meta["p_start"]):
        raise ValueError("the range of p or the tolerance is none that a path has")

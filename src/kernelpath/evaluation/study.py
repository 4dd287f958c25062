"""Everything that all folds of one cross-validation share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import explained_variance_score, r2_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.utils import _safe_indexing

from kernelpath.errors import DataError, naming
from kernelpath.evaluation.plain_scores import plain_score
from kernelpath.predictors.base import MEMORY_LIMIT, HeldOutOutputs, Predictor, TrainingRows
from kernelpath.predictors.models import ConstantModel
from kernelpath.predictors.svm import Task
from kernelpath.tables.any_target import SURVIVAL
from kernelpath.tables.constraints import Constraints
from kernelpath.tables.missing import Imputer, LeftOut, imputed
from kernelpath.tables.rows import DistinctRows, distinct, one_by_group, told_apart
from kernelpath.tables.survival import survival_target
from kernelpath.tables.table import Table
from kernelpath.tracers.any_selector import ChoicesBySize, trace
from kernelpath.utils.units import in_units, size_exponent

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
ROWS_PER_FOLD = 5  # distinct rows in an inner fold, for copies to be kept together
FREE_OF_UNITS = (r2_score, explained_variance_score)


@dataclass(frozen=True)
class Copies:
    """Rows of a table that are the same, target included.

    Attributes
    ----------
    group : ndarray of shape (n_rows,)
        Number of the distinct row; the order of the numbers depends on content alone.
    kept_together : bool
        Whether inner folds keep copies of a row together.  They do where rows were measured: a
        copy in the rows to learn from would tell the target of the one held out.  They do not in
        a table of a few categories, where the same row is rightly met again.
    """

    group: NDArray[np.intp]
    kept_together: bool

    @classmethod
    def of(cls, X: Any, y: NDArray, weighted: bool) -> Copies:
        """Find them."""
        known = distinct(X, y, None)
        alone = len(known.first) == X.shape[0] and not weighted
        return cls(known.group, not alone and told_apart(X[known.first]))


@dataclass(frozen=True)
class Study:
    """A table, a target, a selector, the predictors to compare and the measure.

    Attributes
    ----------
    y : ndarray or Outputs
        One value for each row, several, or events and times.
    metadata : dict
        Per step ("selector", "predictor", "scorer"), arrays over the rows to pass on.
    numbers_only : bool
        Whether the selector gets the table as numbers (baselines) or as the user gave it.
    routed : bool
        Whether scikit-learn's metadata routing says who gets what; then ``sample_weight`` goes
        by itself only to the machines of this package.
    unit : int
        Scores are computed from a target in units of ``2**unit``; see `unit_of_scores`.
    copies : Copies or None
        Which rows are the same; None where nobody asks.
    weigh_scores : bool
        Whether held-out rows count in scores by their weight.
    constraints : Constraints or None
        What every choice obeys.
    reach : Constraints or None
        The same where what does not fit into the budget is out of reach.
    obeys : bool
        Whether the selector sees to that itself; else its ranking is put in order.
    constrained_by : dict
        The constraints as the user gave them.
    imputes : bool
        Whether predictors get rows that are filled in by what the rows to learn from say.
    left_out : LeftOut
        Rows that were given and are not there.
    variants : tuple
        The selector with other settings, one of which is chosen inside every training part.
    compared : bool
        Whether the selector is one of them, and inner scores are wanted to compare it.
    """

    rows: Table
    y: Any
    task: Task
    selector: Any
    predictors: Sequence[Predictor]
    scorer: Any
    sizes: NDArray[np.int64]
    sample_weight: NDArray[np.float64] | None = None
    groups: Any = None
    inner_cv: Any = 3
    memory_limit: int = MEMORY_LIMIT
    seed: int = 0
    metadata: dict[str, dict[str, Any]] = field(default_factory=dict)
    numbers_only: bool = False
    routed: bool = False
    unit: int = 0
    copies: Copies | None = None
    weigh_scores: bool = False
    constraints: Constraints | None = None
    reach: Constraints | None = None
    obeys: bool = True
    constrained_by: dict[str, Any] = field(default_factory=dict)
    imputes: bool = False
    left_out: LeftOut = field(default_factory=LeftOut)
    variants: tuple[Any, ...] = ()
    compared: bool = False

    def trace(
        self, rows: NDArray[np.intp], taken: Table | None = None, *, report: bool = False
    ) -> ChoicesBySize:
        """Trace the path from some rows, and only from those; ``taken`` are they, if at hand.

        With ``report`` it is the path that the user gets, and the selector may warn; else what is
        chosen at every size is all that is asked for.
        """
        taken = self.rows.take(rows) if taken is None else taken
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        X: Any = taken.given
        if self.numbers_only:
            X = imputed(taken).values
        elif getattr(self.selector, "reads_tables", False):
            X = replace(taken, hashed=len(rows) == self.rows.n_rows)
        offered = None if self.routed else weight
        params = self._metadata("selector", rows)
        if self.groups is not None and getattr(self.selector, "takes_groups", False):
            params = {"groups": _safe_indexing(self.groups, rows)} | params
        y = self._target_to_trace(rows, weight)
        traced = trace(self.selector, X, y, offered, params, report=report, by_size=not report)
        return traced if self.reach is None or self.obeys else traced.under(self.reach)

    def _target_to_trace(self, rows: NDArray[np.intp], weight: NDArray | None) -> Any:
        """The target as the selector takes it: survival times by the residuals of these rows."""
        y = self.y[rows]
        if getattr(self.selector, "takes_joint_targets", False):
            return y
        survival = self.task.kind == SURVIVAL
        return survival_target(y, sample_weight=weight) if survival else np.asarray(y)

    def part(
        self,
        rows: NDArray[np.intp],
        quick: bool = False,
        tracing: Callable[[NDArray[np.intp], Table], ChoicesBySize] | None = None,
    ) -> TrainingRows:
        """Rows to learn from, with the path traced from them alone, or known by ``tracing``."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        taken = self.rows.take(rows)
        traced = (self.trace if tracing is None else tracing)(rows, taken)
        filled = Imputer.fit(taken).apply(taken) if self.imputes else taken
        y = np.asarray(self.y[rows])
        return TrainingRows(
            filled, y, self._scored_task(), traced, weight, self.memory_limit,
            fit_params=self._metadata("predictor", rows), routed=self.routed, quick=quick,
            distinct=self._distinct(rows),
        )  # fmt: skip

    def held_out(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> Table:
        """Rows to judge on, as models of the rows to learn from take them."""
        taken = self.rows.take(test)
        return Imputer.fit(self.rows.take(train)).apply(taken) if self.imputes else taken

    def _distinct(self, rows: NDArray[np.intp]) -> DistinctRows | None:
        """Copies among some rows as one; None if there are none, and all weigh the same."""
        if self.copies is None:
            return None
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return one_by_group(self.copies.group[rows], weight)

    def _scored_task(self) -> Task:
        """The task without calibration, where the measure does not look at probabilities."""
        wanted = getattr(self.scorer, "_response_method", "predict_proba")
        names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        if {"predict", "decision_function"} & set(names):
            return replace(self.task, probability=False)
        return self.task

    def score(self, bound: Any, rows: NDArray[np.intp], X: Any) -> float:
        """Score a fitted model on held-out rows."""
        if isinstance(bound, HeldOutOutputs):
            bound.judged_on = X
        y = np.asarray(self.y[rows])
        if self.unit:
            y, bound = in_units(y, self.unit), bound.in_units(self.unit)
        params = self._score_params(rows)
        known = None if params else plain_score(self.scorer, bound, y)
        if known is not None:
            return known
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # a NaN is reported by name
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")  # rare ones
            return float(self.scorer(bound, X, y, **params))

    def score_of_nothing(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> float:
        """Score of the best prediction without any feature."""
        nothing = ChoicesBySize(self.rows.shape[1], order=np.zeros(0, np.intp))
        weight = None if self.sample_weight is None else self.sample_weight[train]
        y = np.asarray(self.y[train])
        part = TrainingRows(self.rows.take(train), y, self.task, nothing, weight)
        rows = self.rows.take(test)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a correlation with a constant, and the like
            return self.score(ConstantModel.fit(part).outputs(rows), test, rows.given)

    def _score_params(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        given = self._metadata("scorer", rows)
        if self.weigh_scores and self.sample_weight is not None:
            given["sample_weight"] = self.sample_weight[rows]
        return given

    def _metadata(self, step: str, rows: NDArray[np.intp]) -> dict[str, Any]:
        given = self.metadata.get(step, {})
        return {name: _safe_indexing(value, rows) for name, value in given.items()}

    def inner_splits(self, rows: NDArray[np.intp]) -> list[Split]:
        """Splits of a training part, as positions in the whole table."""
        y = self.y[rows]
        groups = None if self.groups is None else np.asarray(self.groups)[rows]
        splitter = self.inner_cv
        if isinstance(splitter, int | np.integer):
            apart = None if groups is not None else self._apart(rows, int(splitter))
            if apart is not None:
                return apart
            n_groups = 0 if groups is None else len(np.unique(groups))
            if n_groups == 1:  # nothing to keep together
                groups = None
            elif n_groups:  # fewer folds rather than none
                splitter = min(int(splitter), n_groups)
            splitter = make_splitter(
                int(splitter), y, self.task.kind, grouped=groups is not None, seed=self.seed
            )
        parts = splitter.split(np.zeros(len(rows)), y, groups)
        return [(rows[train], rows[test]) for train, test in parts]

    def _apart(self, rows: NDArray[np.intp], n_folds: int) -> list[Split] | None:
        """Splits that keep copies of a row together and depend on content alone, if wanted."""
        one = self._distinct(rows)
        if one is None or self.copies is None or not self.copies.kept_together:
            return None
        if len(one.first) < ROWS_PER_FOLD * n_folds:
            return None
        y = self.y[rows[one.first]]
        splitter = make_splitter(n_folds, y, self.task.kind, grouped=False, seed=self.seed)
        tests = [np.isin(one.group, test) for _, test in splitter.split(np.zeros(len(y)), y)]
        return [(rows[~test], rows[test]) for test in tests]


def unit_of_scores(y: NDArray, scorer: Any, own: bool) -> int:
    """Exponent of the unit in which a continuous target is scored: 0 unless it is huge or tiny.

    Only scores that are free of units can be computed in another one, and only the machines of
    this package predict such targets: anything else is refused.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> unit_of_scores(np.array([1.0, 2.0]), get_scorer("r2"), own=True)
    0
    """
    size = np.abs(y.astype(np.float64)).max(initial=0.0)
    unit = int(size_exponent(size))
    if unit == 0 or (own and getattr(scorer, "_score_func", None) in FREE_OF_UNITS):
        return unit
    what = "this scoring" if own else "the predictor"
    way = "take scoring='r2'" if own else "take predictor='auto'"
    error = DataError(
        f"The target y has values of about {size:.0e}, too {'large' if unit > 0 else 'small'} for "
        f"{what}: their squares are not in the range of numbers. Give y in another unit, or {way}."
    )
    raise naming(error, "scoring")


def make_splitter(n_folds: int, y: NDArray, kind: str, *, grouped: bool, seed: int) -> Any:
    """Shuffled folds: stratified for classes, whole groups together where there are groups."""
    if grouped:
        if kind == "classification":
            return StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        return GroupKFold(n_folds)
    if kind == "classification":
        smallest = int(np.unique(y, return_counts=True)[1].min())
        if smallest >= 2:  # fewer folds rather than a training part without the class
            return StratifiedKFold(min(n_folds, smallest), shuffle=True, random_state=seed)
    return KFold(min(n_folds, len(y)), shuffle=True, random_state=seed)


def inner_of(cv: Any, inner_cv: Any) -> Any:
    """The inner splitter: as asked for, or of the kind of the outer one where order matters."""
    if inner_cv is not None:
        return inner_cv
    return TimeSeriesSplit(3) if isinstance(cv, TimeSeriesSplit) else 3

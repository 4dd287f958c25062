"""Columns that alone tell nearly everything: mostly, they are not known before the outcome.

The first few columns of the path are suspects if the curve rises at once.  So are categories of
many values, which a ranking by plain alignments puts late: the more values, the fewer rows share
one.
Each is scored on the folds of the path by a model of that column alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import get_scorer_names

from kernelpath.errors import DataError, LeakWarning
from kernelpath.evaluation.cross_validation import CrossValidation
from kernelpath.evaluation.references import (
    MOST_ROWS,
    UNSERVED,
    ReferenceScore,
    on_columns,
    usable_columns,
)
from kernelpath.evaluation.scores import PathScores, score_text
from kernelpath.evaluation.splits import fewer_rows
from kernelpath.evaluation.study import Study
from kernelpath.evaluation.work_plan import WorkMeter
from kernelpath.predictors.choice import MOST_KERNEL_ROWS
from kernelpath.predictors.trees import BoostingPredictor
from kernelpath.predictors.weighted_kernel import WeightedKernelSVM
from kernelpath.tables.table import take_columns
from kernelpath.utils.warn import warn
from kernelpath.utils.words import listed

PERFECT, EVERYTHING, TOGETHER = "perfect", "everything", "together"
N_SUSPECTS = 3  # first columns of the path that are looked at
NEAR = 0.01  # of the way from chance to a perfect score, or to the best one
SUSPICIOUS = 0.03  # the same, for the curve at as many features as there are suspects
FIRST_LOOK = 0.1  # the same, for the first fold of a suspect
FEWEST_ROWS = 30  # for any of this to mean something
ALL_BUT = 0.001  # of the way to a perfect score: what two or three columns may miss of it
FEWEST_FOR_SEVERAL = 200  # rows, for that to mean something
MANY_VALUES = 8  # of a category that is a suspect wherever the path has it
HARDLY = 0.1  # of the way to a perfect score: a best one that is hardly above chance
WITHOUT_PERFECT = ("positive_likelihood_ratio",)


@dataclass(frozen=True)
class Leak:
    """A column that alone reaches nearly everything, or the first of two or three that do.

    Attributes
    ----------
    column : int
    name : str
    score : float
        Mean over the folds, with this column alone, or with the others.
    best : float
        Best mean of the curve.
    kind : {"perfect", "everything", "together"}
        Within one part in a hundred of a perfect score, or of what the best size gains over chance;
        or, with others, within one part in a thousand of a perfect score, for numbers only.
    others : tuple of str
        Names of the other columns.

    Examples
    --------
    >>> print(str(Leak(2, "earnings", 0.998, 0.999, "perfect"))[:56])
    Column 'earnings' alone reaches 0.998, nearly perfect: c
    """

    column: int
    name: str
    score: float
    best: float
    kind: str
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "others", tuple(map(str, self.others)))  # a file has a list
        if self.kind not in (PERFECT, EVERYTHING, TOGETHER):
            raise ValueError(f"a leak cannot be {str(self.kind)[:40]!r}")

    def __str__(self) -> str:
        name, alone = repr(self.name[:60]), score_text(self.score)
        if self.kind == TOGETHER:
            names = listed([name, *(repr(other[:60]) for other in self.others)])
            return (
                f"Columns {names} together reach {alone}, nearly perfect: check whether they are "
                "known before the outcome, and leave them out if they are not."
            )
        if self.kind == PERFECT:
            return (
                f"Column {name} alone reaches {alone}, nearly perfect: check whether it is known "
                "before the outcome, and leave it out if it is not."
            )
        return (
            f"Nearly everything that the model knows comes from column {name}, which alone reaches "
            f"{alone} (the best size {score_text(self.best)}); make sure that it is known before "
            "the outcome."
        )

    def to_state(self) -> dict[str, Any]:
        """What JSON can hold."""
        return asdict(self)


def perfect_score(scoring: str) -> float:
    """Largest score of a measure; NaN if it has none, or is not one of scikit-learn's.

    Examples
    --------
    >>> perfect_score("accuracy"), perfect_score("neg_mean_squared_error"), perfect_score("mine")
    (1.0, 0.0, nan)
    """
    if scoring not in get_scorer_names() or scoring in WITHOUT_PERFECT:
        return float("nan")
    return 0.0 if scoring.startswith("neg_") else 1.0


@dataclass(frozen=True)
class Landmarks:
    """Chance, the best score and a perfect one: what a score is measured by."""

    chance: float
    best: float
    perfect: float

    @classmethod
    def of(
        cls, scores: PathScores, references: Mapping[str, ReferenceScore] | None = None
    ) -> Landmarks:
        """Those of a curve, perhaps with plain models beside it."""
        beside = (references or {}).values()
        known = [float(scores.mean[scores.best()]), *(one.mean for one in beside)]
        return cls(scores.chance_mean, max(known), perfect_score(scores.scoring))

    def tell(self, se: float) -> bool:
        """Whether the best score is clearly above chance."""
        gain = self.best - self.chance
        far = np.isnan(self.perfect) or gain > HARDLY * (self.perfect - self.chance)
        return bool(gain > 2 * (0.0 if np.isnan(se) else se) and far)

    def near_perfect(self, score: float, near: float = NEAR) -> bool:
        """Whether a score is nearly perfect."""
        return bool(self.perfect - score <= near * (self.perfect - self.chance))

    def near_best(self, score: float, near: float = NEAR) -> bool:
        """Whether a score gains nearly as much over chance as the best one."""
        return bool(score - self.chance >= (1 - near) * (self.best - self.chance))

    def as_good(self, score: float, se: float) -> bool:
        """Whether a score is within one standard error of the best, and not much below it."""
        return self.near_best(score, FIRST_LOOK) and score >= self.best - se

    def kind(self, score: float) -> str:
        """What a column alone with this score is, or ""."""
        if self.near_perfect(score):
            return PERFECT
        return EVERYTHING if self.near_best(score) else ""


def find_leaks(
    run: CrossValidation, scores: PathScores, references: Mapping[str, ReferenceScore]
) -> tuple[Leak, ...]:
    """Columns that alone reach nearly everything, the heaviest first.

    None are named in a table of one column or of few rows, nor where the best score is hardly
    above chance.
    """
    study, curve, marks = run.study, Landmarks.of(scores), Landmarks.of(scores, references)
    usable = usable_columns(study)
    if len(usable) < 2 or study.rows.n_rows < FEWEST_ROWS:
        return ()
    if np.isnan(marks.chance) or not marks.tell(float(scores.se[scores.best()])):
        return ()
    few = int(np.searchsorted(scores.n_features, N_SUSPECTS))
    early = float(scores.mean[: few + 1].max())
    suspicious = curve.near_best(early, SUSPICIOUS) or curve.near_perfect(early, SUSPICIOUS)
    suspicious = suspicious or curve.near_perfect(marks.best, SUSPICIOUS)
    order = [int(j) for j in run.path.entry_order() if j in usable]
    first = order[:N_SUSPECTS] if suspicious else []
    many = [j for j in order if j not in first and _has_many_values(study, j)]
    found = []
    se = float(scores.se[scores.best()])
    for column in first + many[:N_SUSPECTS]:
        alone = max(_alone(run, column, marks), _first_of_curve(scores, column))
        kind = marks.kind(alone)
        if not kind and column in many and curve.as_good(alone, se):
            kind = EVERYTHING
        if kind:
            name = str(run.path.feature_names[column])
            found.append(Leak(column, name, alone, curve.best, kind))
    return tuple(found or (_together(run, scores, curve) if suspicious else ()))


def _has_many_values(study: Study, column: int) -> bool:
    """Whether a column is a category of many values."""
    if not study.rows.categorical[column]:
        return False
    codes = take_columns(study.rows.values, np.array([column]))
    dense = codes.toarray() if sparse.issparse(codes) else codes
    return len(np.unique(dense[~np.isnan(dense)])) > MANY_VALUES


def _together(run: CrossValidation, scores: PathScores, curve: Landmarks) -> list[Leak]:
    """The fewest columns, up to three, that make up a target of numbers.

    Classes may well be told apart without an error by two honest columns.
    """
    if run.study.task.classes is not None:
        return []
    for k in range(2, N_SUSPECTS + 1):
        place = np.flatnonzero(scores.n_features == k)
        if len(place) == 0 or run.study.rows.n_rows < FEWEST_FOR_SEVERAL:
            continue
        score = float(scores.mean[place[0]])
        columns = _same_in_every_fold(scores, int(place[0]))
        if len(columns) > 1 and curve.near_perfect(score, ALL_BUT):
            order = [int(j) for j in run.path.entry_order() if j in columns]
            first, *others = (str(run.path.feature_names[j]) for j in order)
            return [Leak(order[0], first, score, curve.best, TOGETHER, tuple(others))]
    return []


def _alone(run: CrossValidation, column: int, marks: Landmarks) -> float:
    """Mean score of a model of one column; of the first fold only, if that is not near."""
    labels = None if run.study.task.classes is None else run.study.y
    splits = fewer_rows(run.splits, labels, MOST_ROWS, run.study.seed)
    predictor: Any = BoostingPredictor(8, random_state=run.study.seed)
    if run.study.rows.categorical[column] and run.study.rows.n_rows <= MOST_KERNEL_ROWS:
        predictor = WeightedKernelSVM(C=10.0)  # trees put rare values together
    study = on_columns(run.study, np.array([column]), predictor)
    meter = WorkMeter(len(splits))
    try:
        (first,) = run.plain_scores("one column", study, splits[:1], meter)
        if not (marks.near_best(first, FIRST_LOOK) or marks.near_perfect(first, FIRST_LOOK)):
            return first
        return float(np.mean(run.plain_scores("one column", study, splits, meter)))
    except UNSERVED:
        return -np.inf


def _first_of_curve(scores: PathScores, column: int) -> float:
    """Score of the curve at one feature, if every fold chose this column."""
    try:
        place = scores.position(1)
    except DataError:
        return -np.inf
    same = _same_in_every_fold(scores, place) == [column]
    return float(scores.mean[place]) if same else -np.inf


def _same_in_every_fold(scores: PathScores, place: int) -> list[int]:
    """Columns of a size, if all folds chose the same ones; else none."""
    chosen = [sorted(support.csr[[place]].indices.tolist()) for support in scores.supports]
    return chosen[0] if chosen and all(one == chosen[0] for one in chosen) else []


def warn_of_leaks(leaks: Sequence[Leak]) -> None:
    """Warn of columns that are nearly perfect."""
    for one in leaks:
        if one.kind in (PERFECT, TOGETHER):
            warn(str(one), LeakWarning)

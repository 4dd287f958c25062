"""One fold: trace, tune, fit at every size, score on the rows held out; resumable by size."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.errors import DataError, naming
from kernelpath.evaluation.measures import another_measure
from kernelpath.evaluation.study import Split, Study
from kernelpath.evaluation.tuning import InnerScores, Step, TunedChoice, tune
from kernelpath.path.points import Supports
from kernelpath.predictors.base import TrainingRows
from kernelpath.predictors.models import ConstantModel
from kernelpath.tables.any_target import IN_WORDS, JOINT
from kernelpath.tables.table import Table
from kernelpath.tracers.any_selector import ChoicesBySize


@dataclass
class FoldResult:
    """What is known about one fold; scores are NaN until they are known.

    Attributes
    ----------
    n_columns : int
    scores, parameters : ndarray of shape (n_sizes,)
    columns : list over sizes of ndarray or None
        Chosen columns.
    chosen : list over sizes of str
        Name of the predictor.
    chance : float
    tuned : dict from size to TunedChoice, or None before tuning
    inner : InnerScores
        What tuning has found out so far; of no use after it.
    """

    n_columns: int
    scores: NDArray[np.float64]
    parameters: NDArray[np.float64]
    columns: list[NDArray[np.intp] | None]
    chosen: list[str]
    chance: float = float("nan")
    tuned: dict[int, TunedChoice] | None = field(default=None)
    inner: InnerScores = field(default_factory=InnerScores)

    @classmethod
    def empty(cls, n_columns: int, n_sizes: int) -> FoldResult:
        """Nothing known yet."""
        unknown = np.full(n_sizes, np.nan)
        return cls(n_columns, unknown, unknown.copy(), [None] * n_sizes, [""] * n_sizes)

    @property
    def complete(self) -> bool:
        """Whether every size has its score."""
        return not np.isnan(self.scores).any()

    def supports(self) -> Supports:
        """Chosen columns of all sizes."""
        known = [np.zeros(0, np.intp) if c is None else c for c in self.columns]
        indptr = np.concatenate([[0], np.cumsum([len(c) for c in known])])
        indices = np.concatenate(known)
        shape = (len(known), self.n_columns)
        return Supports(sparse.csr_array((np.ones(len(indices), bool), indices, indptr), shape))


def evaluate_fold(
    study: Study,
    number: int,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    result: FoldResult | None = None,
    step: Step | None = None,
    keep: Callable[[FoldResult], None] | None = None,
    tracing: Any = None,
) -> FoldResult:
    """Score every size of one fold that has no score yet.

    Parameters
    ----------
    study : Study
    number : int
        Number of the fold, for messages.
    train, test : ndarray
        Rows to learn from and rows to judge on.
    result : FoldResult, optional
        What an earlier run found out; changed in place.
    step : callable, optional
        Called with the number of models just fitted.
    keep : callable, optional
        Called with the result whenever something was added to it.
    tracing : Tracer, optional
        Remembers the paths of this fold and of its inner folds until they are finished.
    """
    if result is None:
        result = FoldResult.empty(study.rows.shape[1], len(study.sizes))
    if result.complete:
        return result
    part = study.part(train, tracing=tracing)
    judge = _Judge(study, number, part, study.held_out(train, test), test, result)
    result.chance = judge.chance()
    tuned = tune_once(study, train, result, step, keep, tracing)
    judge.score_constants()
    for _ in judge.score_models(tuned):
        if step is not None:
            step(1)
        _tell(keep, result)
    if tracing is not None:
        tracing.forget(train)
    return result


class _Judge:
    """Scores models of one fold on the rows held out, and writes the scores into the result."""

    def __init__(
        self,
        study: Study,
        number: int,
        part: TrainingRows,
        held_out: Table,
        test: NDArray[np.intp],
        result: FoldResult,
    ) -> None:
        self.study, self.number, self.part, self.test = study, number, part, test
        self.held_out, self.result = held_out, result
        self._places = {int(k): i for i, k in enumerate(study.sizes)}

    def chance(self) -> float:
        """Score without any feature; NaN where the measure does not allow a constant."""
        try:
            return _constant_score(self.study, self.part, self.test, self.held_out)
        except (ValueError, AttributeError, TypeError):
            return float("nan")

    def score_constants(self) -> None:
        """Score the sizes at which there is nothing to choose: a constant predicts."""
        for k in self._places:
            if self._without_score(k) and self.part.traced.nearest(k) == 0:
                model = ConstantModel.fit(self.part)
                self._record(k, model.name, model.outputs(self.held_out))

    def score_models(self, tuned: dict[int, TunedChoice]) -> Iterator[int]:
        """Fit and score the other sizes that have no score yet; yields each when it has one."""
        for i, predictor in enumerate(self.study.predictors):
            requests = self._requests(tuned, i)
            if not any(settings for _, settings in requests):
                continue
            for one in predictor.models(self.part, requests, self.held_out):
                self._record(one.size, predictor.name, one.outputs)
                yield one.size

    def _requests(self, tuned: dict[int, TunedChoice], i: int) -> list[tuple[int, list[Any]]]:
        """Sizes of one predictor with the settings to fit.

        A size with its score stays in the list: see the requests of the inner folds.
        """
        live = [k for k in self._places if self.part.traced.nearest(k) > 0]
        own = [k for k in live if tuned[k].predictor == i]
        return [(k, [tuned[k].setting] if self._without_score(k) else []) for k in own]

    def _without_score(self, k: int) -> bool:
        return bool(np.isnan(self.result.scores[self._places[k]]))

    def _record(self, k: int, name: str, outputs: Any) -> None:
        """Write down one size; the score last, since it says that the rest is there."""
        score = self.study.score(outputs, self.test, self.held_out.given)
        score = _checked(score, self.number, k)
        place, point = self._places[k], self.part.traced.at(k)
        self.result.columns[place] = point.columns
        self.result.parameters[place] = point.parameter
        self.result.chosen[place] = name
        self.result.scores[place] = score


def tune_once(
    study: Study,
    rows: NDArray[np.intp],
    result: FoldResult,
    step: Step | None = None,
    keep: Callable[[FoldResult], None] | None = None,
    tracing: Any = None,
) -> dict[int, TunedChoice]:
    """Choose predictor and settings for every size, unless that was done before."""
    if result.tuned is None:
        tell = None if keep is None else (lambda: keep(result))
        result.tuned = tune(study, rows, result.inner, step, tell, tracing)
        result.inner = InnerScores()
        _tell(keep, result)
    return result.tuned


def _tell(keep: Callable[[FoldResult], None] | None, result: FoldResult) -> None:
    if keep is not None:
        keep(result)


def _constant_score(study: Study, part: TrainingRows, test: NDArray[np.intp], rows: Table) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a correlation with a constant, and the like
        return study.score(ConstantModel.fit(part).outputs(rows), test, rows.given)


def check_scoring_works(study: Study, splits: Sequence[Split], scoring: str) -> None:
    """Refuse a measure that does not fit the task, by predictions without any feature."""
    joint = study.task.kind in JOINT
    if joint and getattr(study.scorer, "_response_method", None) != "predict":
        return  # no prediction without features is known to be one of the user's
    try:
        _blind_score(study, splits[0])
    except (ValueError, AttributeError, TypeError) as error:
        way = another_measure(scoring, study.task.classes)
        words = _target_words(study)
        what = words if joint else f"this {study.task.kind} with {words}"
        if way:
            text = f"scoring={scoring!r} does not work for {what}; {way}."
            raise naming(DataError(text), "scoring") from error
        raise DataError(f"The scoring does not work for {what}: {error}") from error
    for number, (train, test) in enumerate(splits):
        absent = [] if study.task.classes is None else _absent(study.y, test)
        if absent and not _defined(study, (train, test)):
            raise DataError(
                f"The scoring is not defined in fold {number}, whose test rows lack the class "
                f"{absent[0]!r}; use fewer folds or another scoring, such as 'accuracy'."
            )


def _absent(y: NDArray, rows: NDArray[np.intp]) -> list[Any]:
    """Classes that some rows lack."""
    return sorted(set(y.tolist()) - set(y[rows].tolist()), key=str)


def _defined(study: Study, split: Split) -> bool:
    try:
        return bool(np.isfinite(_blind_score(study, split)))
    except ValueError:
        return False


def _blind_score(study: Study, split: Split) -> float:
    train, test = split
    nothing = ChoicesBySize(study.rows.shape[1], order=np.zeros(0, np.intp))
    part = TrainingRows(study.rows.take(train), np.asarray(study.y[train]), study.task, nothing)
    return _constant_score(study, part, test, study.rows.take(test))


def _target_words(study: Study) -> str:
    if study.task.kind in JOINT:
        return IN_WORDS[study.task.kind]
    if study.task.classes is None:
        return "a continuous target"
    return f"the classes {study.task.classes[:5].tolist()}"


def _checked(score: Any, number: int, k: int) -> float:
    if np.isfinite(score):
        return score
    raise DataError(
        f"The score of fold {number} at size {k} is {score}. Either the rows held out do not allow "
        "this measure, for example because they hold one class only (use fewer folds, a stratified "
        "splitter or another scoring), or a scoring function of your own returned it."
    )

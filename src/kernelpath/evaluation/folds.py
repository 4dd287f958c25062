"""One fold: trace, tune, fit at every size, score on the rows held out; resumable by size."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.evaluation.study import Split, Study
from kernelpath.evaluation.tuning import InnerScores, Step, TunedChoice, tune
from kernelpath.path.points import Supports
from kernelpath.predictors.base import TrainingRows
from kernelpath.predictors.models import constant_model
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
    held_out = study.rows.take(test)
    result.chance = _chance(study, part, test, held_out)
    tuned = tune_once(study, train, result, step, keep, tracing)
    positions = {int(k): i for i, k in enumerate(study.sizes)}
    todo = [int(k) for k, score in zip(study.sizes, result.scores) if np.isnan(score)]
    for k in [k for k in todo if part.traced.nearest(k) == 0]:  # nothing to choose: constant
        bound, model = constant_model(part, held_out)
        score = _checked(study.score(bound, test, held_out.given), number, k)
        _record(result, positions[k], part, k, model.name, score)
        todo.remove(k)
    live = [int(k) for k in study.sizes if part.traced.nearest(k) > 0]
    for i, predictor in enumerate(study.predictors):
        # A size with its score stays in the list: see the requests of the inner folds.
        own = [k for k in live if tuned[k].predictor == i]
        requests = [(k, [tuned[k].setting] if k in todo else []) for k in own]
        if not any(settings for _, settings in requests):
            continue
        for k, _, bound, _ in predictor.models(part, requests, held_out):
            score = _checked(study.score(bound, test, held_out.given), number, k)
            _record(result, positions[k], part, k, predictor.name, score)
            if step is not None:
                step(1)
            _tell(keep, result)
    if tracing is not None:
        tracing.forget(train)
    return result


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


def _record(
    result: FoldResult, place: int, part: TrainingRows, k: int, name: str, score: float
) -> None:
    """Write down one size; the score last, since it says that the rest is there."""
    point = part.traced.at(k)
    result.columns[place] = point.columns
    result.parameters[place] = point.parameter
    result.chosen[place] = name
    result.scores[place] = score


def _chance(study: Study, part: TrainingRows, test: NDArray[np.intp], rows: Table) -> float:
    """Score without any feature; NaN where the measure does not allow a constant."""
    try:
        return _constant_score(study, part, test, rows)
    except (ValueError, AttributeError, TypeError):
        return float("nan")


def _constant_score(study: Study, part: TrainingRows, test: NDArray[np.intp], rows: Table) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a correlation with a constant, and the like
        return study.score(constant_model(part, rows)[0], test, rows.given)


def check_scoring_works(study: Study, splits: Sequence[Split]) -> None:
    """Refuse a measure that does not fit the task, by predictions without any feature."""
    try:
        _blind_score(study, splits[0])
    except (ValueError, AttributeError, TypeError) as error:
        raise DataError(
            f"The scoring does not work for this {study.task.kind} with "
            f"{_target_words(study)}: {error}"
        ) from error
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
    part = TrainingRows(study.rows.take(train), study.y[train], study.task, nothing)
    return _constant_score(study, part, test, study.rows.take(test))


def _target_words(study: Study) -> str:
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

"""Choosing predictor and settings inside a training part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.evaluation.scores import TIE
from kernelpath.evaluation.splits import sampled_rows
from kernelpath.evaluation.study import Study
from kernelpath.predictors.base import fitted_together
from kernelpath.tables.any_target import row_codes

NEAR = 0.1  # of the gain of the best over chance: candidates beyond are not tried again
TUNING_GROWTH = 2.0  # ratio of the sizes at which settings are compared
LAST_GROWTH = 1.4  # ratio from which the last size is one of them
TUNING_ROWS = 5000  # rows at most on which settings are compared
Step = Callable[[int], None]


@dataclass(frozen=True)
class TunedChoice:
    """A predictor (by position), its settings, and the inner score that chose them."""

    predictor: int
    setting: dict[str, Any]
    score: float


def tuning_sizes(sizes: NDArray[np.int64], n_rows: int) -> list[int]:
    """Sizes at which settings are compared; the others take over from the nearest.

    Beyond as many features as rows there is one of them at most: settings hardly change there.

    Examples
    --------
    >>> tuning_sizes(np.arange(1, 31), n_rows=100), tuning_sizes(np.arange(1, 31), n_rows=15)
    ([1, 2, 4, 8, 16, 30], [1, 2, 4, 8, 16])
    """
    wanted: list[int] = []
    for size in sizes.tolist():
        if not wanted or size >= TUNING_GROWTH * wanted[-1]:
            wanted.append(size)
        if wanted[-1] >= n_rows:
            return wanted
    if sizes[-1] >= LAST_GROWTH * wanted[-1]:
        wanted.append(int(sizes[-1]))
    return wanted


def n_candidates(study: Study) -> int:
    """Number of pairs of predictor and settings."""
    return sum(len(predictor.settings(study.rows.n_rows)) for predictor in study.predictors)


def n_tuning_fits(study: Study, n_inner: int) -> int:
    """Number of models fitted to choose settings for one training part."""
    candidates = n_candidates(study)
    return (
        0
        if candidates < 2 and not study.compared
        else n_inner * candidates * len(tuning_sizes(study.sizes, study.rows.n_rows))
    )


@dataclass
class InnerScores:
    """Scores of all candidates in the inner folds of one training part, as far as they are known.

    Attributes
    ----------
    scores : ndarray of shape (n_inner, n_sizes, n_candidates)
        NaN also where a fold does not allow the measure.
    known : ndarray of bool of that shape
        What need not be fitted again.
    """

    scores: NDArray[np.float64] = field(default_factory=lambda: np.full((0, 0, 0), np.nan))
    known: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0, 0), bool))

    def begin(self, shape: tuple[int, int, int]) -> None:
        """Make room, unless there is."""
        if self.scores.shape != shape or self.known.shape != shape:
            self.scores, self.known = np.full(shape, np.nan), np.zeros(shape, bool)


def tune(
    study: Study,
    rows: NDArray[np.intp],
    inner: InnerScores,
    step: Step | None = None,
    keep: Callable[[], None] | None = None,
    tracing: Any = None,
) -> dict[int, TunedChoice]:
    """Best predictor and settings for every size, from the given rows alone.

    The path is traced again in every inner fold: features chosen with the help of the inner test
    rows would make every setting look good.  Beyond 5,000 rows a sample decides.

    Parameters
    ----------
    study : Study
    rows : ndarray
    inner : InnerScores
        What an earlier run found out; changed in place.
    step : callable, optional
        Called with the number of models just fitted.
    keep : callable, optional
        Called whenever something was added to ``inner``.
    tracing : Tracer, optional
        Remembers the paths of inner folds that are not finished.
    """
    candidates = _candidates(study, len(rows))
    if len(candidates) == 1 and not study.compared:
        only = TunedChoice(candidates[0][0], candidates[0][1], float("nan"))
        return {int(k): only for k in study.sizes}
    sizes = tuning_sizes(study.sizes, study.rows.n_rows)
    rows = _sample(study, rows)
    splits = study.inner_splits(rows)
    inner.begin((len(splits), len(sizes), len(candidates)))
    live = np.ones((len(sizes), len(candidates)), dtype=bool)
    for number, (train, test) in enumerate(splits):
        if number == 1:
            chance = _chance(study, *splits[0])
        if number > 0:
            live &= still_worth(inner.scores[:number].mean(axis=0), chance, NEAR / number)
        if not inner.known[number].all():
            place = _InnerFold(inner.scores[number], inner.known[number], live, sizes, candidates)
            place.known[~live] = True
            if step is not None:
                step(int((~live).sum()))
            _score_inner(study, train, test, place, step, keep, tracing)
            inner.known[number] = True
            _tell(keep)
            if tracing is not None:
                tracing.forget(train)
    inner.scores[1:, ~live] = np.nan
    return _best(study, inner.scores, sizes, candidates)


def still_worth(
    scores: NDArray[np.float64], chance: float, near: float = NEAR
) -> NDArray[np.bool_]:
    """Candidates near the best at a size or one beside it, by the scores of some inner folds.

    Near is a tenth of what the best gains over predictions without features, and after two folds
    half of that.  Others are not fitted at that size in the other folds.

    Examples
    --------
    >>> still_worth(np.array([[0.80, 0.79, 0.60], [0.90, 0.70, 0.80]]), chance=0.5)
    array([[ True,  True, False],
           [ True,  True, False]])
    """
    known = np.where(np.isfinite(scores), scores, -np.inf)
    best = known.max(axis=1, keepdims=True)
    if not np.isfinite(best).all() or not np.isfinite(chance):
        return np.ones(scores.shape, dtype=bool)
    margin = np.maximum(near * (best - chance), 0.0)
    worth = known >= best - margin
    blind = best[:, 0] <= chance  # nothing is known to be better than anything
    worth[blind] = np.isfinite(scores[blind])
    beside = worth.copy()
    beside[1:] |= worth[:-1]
    beside[:-1] |= worth[1:]
    return beside


def _chance(study: Study, train: NDArray[np.intp], test: NDArray[np.intp]) -> float:
    """Score of one inner fold without any feature; NaN where the measure does not allow that."""
    try:
        return study.score_of_nothing(train, test)
    except (ValueError, AttributeError, TypeError):
        return float("nan")


def _candidates(study: Study, n_rows: int) -> list[tuple[int, dict[str, Any]]]:
    """Pairs of predictor, by position, and settings."""
    return [
        (i, setting)
        for i, predictor in enumerate(study.predictors)
        for setting in predictor.settings(n_rows)
    ]


def _best(
    study: Study,
    scores: NDArray[np.float64],
    sizes: list[int],
    candidates: list[tuple[int, dict[str, Any]]],
) -> dict[int, TunedChoice]:
    """Candidate with the best mean at the nearest size that was tried, for every size."""
    known = np.isfinite(scores)
    known &= known.sum(axis=0) == known.sum(axis=0).max(axis=1, keepdims=True)  # in all folds
    mean = np.where(known, scores, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    mean[~known.any(axis=0)] = -np.inf  # never scored: the first candidate serves
    top = mean.max(axis=1, keepdims=True)
    slack = TIE * np.abs(np.where(np.isfinite(top), top, 0.0))
    best = (mean >= top - slack).argmax(axis=1)  # the first of those that rounding tells apart
    chosen = {
        k: TunedChoice(candidates[b][0], candidates[b][1], float(mean[i, b]))
        for i, (k, b) in enumerate(zip(sizes, best))
    }
    logs = np.log(sizes)
    return {
        int(k): chosen[sizes[int(np.abs(logs - np.log(k)).argmin())]] for k in study.sizes.tolist()
    }


def _sample(study: Study, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows to compare settings on: all, or a sample with the same shares of the classes."""
    labels = None if study.task.classes is None else study.task.codes(study.y[rows])
    return sampled_rows(rows, labels, TUNING_ROWS, np.random.default_rng(study.seed))


@dataclass(frozen=True)
class _InnerFold:
    """Where the scores of one inner fold are written down."""

    scores: NDArray[np.float64]  # of shape (n_sizes, n_candidates); both are views
    known: NDArray[np.bool_]
    live: NDArray[np.bool_]  # of that shape: what earlier folds left in the race
    sizes: list[int]
    candidates: list[tuple[int, dict[str, Any]]]

    def requests(self, predictor: int, sizes: list[int]) -> list[tuple[int, list[dict[str, Any]]]]:
        """Settings to fit at every size, all of those that are fitted together; none where known.

        A size where all are known stays in the list: what a predictor prepares for all sizes at
        once is then the same, to the last bit, as in a run that was never interrupted.
        """
        wanted = []
        for k in sizes:
            place = self.sizes.index(k)
            known, live = self.known[place], self.live[place]
            own = [
                (setting, known[j])
                for j, (i, setting) in enumerate(self.candidates)
                if i == predictor and live[j]
            ]
            if not own:
                continue
            open_ones = {fitted_together(setting) for setting, done in own if not done}
            wanted.append((k, [s for s, _ in own if fitted_together(s) in open_ones]))
        return wanted


def _score_inner(
    study: Study,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    fold: _InnerFold,
    step: Step | None,
    keep: Callable[[], None] | None,
    tracing: Any,
) -> None:
    """Scores of all candidates at all tuning sizes in one inner fold."""
    if len(np.unique(row_codes(study.y[train]))) < 2:  # nothing to learn: the other folds decide
        return
    part = study.part(train, quick=True, tracing=tracing)
    held_out = study.held_out(train, test)
    sizes = [k for k in fold.sizes if part.traced.nearest(k) > 0]
    for i, predictor in enumerate(study.predictors):
        requests = fold.requests(i, sizes)
        if not any(settings for _, settings in requests):
            continue
        for one in predictor.models(part, requests, held_out):
            place = fold.sizes.index(one.size), fold.candidates.index((i, one.setting))
            fold.scores[place] = _score_or_nan(study, one.outputs, test, held_out.given)
            fold.known[place] = True
            if step is not None:
                step(1)
            _tell(keep)


def _tell(keep: Callable[[], None] | None) -> None:
    if keep is not None:
        keep()


def _score_or_nan(study: Study, outputs: Any, rows: NDArray[np.intp], X: Any) -> float:
    """An inner fold may lack a class that the measure needs; the others decide then."""
    try:
        return study.score(outputs, rows, X)
    except ValueError:
        return float("nan")

"""Choosing predictor and settings inside a training part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.evaluation.study import Study

TUNING_GROWTH = 1.5  # ratio of the sizes at which settings are compared
TUNING_ROWS = 5000  # rows at most on which settings are compared
Step = Callable[[int], None]


@dataclass(frozen=True)
class Choice:
    """A predictor (by position), its settings, and the inner score that chose them."""

    predictor: int
    setting: dict[str, Any]
    score: float


def tuning_sizes(sizes: NDArray[np.int64]) -> list[int]:
    """Sizes at which settings are compared; those between take over from the nearest.

    Examples
    --------
    >>> tuning_sizes(np.arange(1, 31))
    [1, 2, 3, 5, 8, 12, 18, 27, 30]
    """
    wanted: list[int] = []
    for size in sizes.tolist():
        if not wanted or size >= TUNING_GROWTH * wanted[-1]:
            wanted.append(size)
    if sizes[-1] not in wanted:
        wanted.append(int(sizes[-1]))
    return wanted


def n_candidates(study: Study) -> int:
    """Number of pairs of predictor and settings."""
    return sum(len(predictor.settings(study.rows.n_rows)) for predictor in study.predictors)


def n_tuning_fits(study: Study, n_inner: int) -> int:
    """Number of models fitted to choose settings for one training part."""
    candidates = n_candidates(study)
    return 0 if candidates < 2 else n_inner * candidates * len(tuning_sizes(study.sizes))


def tune(study: Study, rows: NDArray[np.intp], step: Step | None = None) -> dict[int, Choice]:
    """Best predictor and settings for every size, from the given rows alone.

    The path is traced again in every inner fold: features chosen with the help of the inner test
    rows would make every setting look good.  Beyond 5,000 rows a sample decides.
    """
    candidates = [
        (i, setting)
        for i, predictor in enumerate(study.predictors)
        for setting in predictor.settings(len(rows))
    ]
    if len(candidates) == 1:
        only = Choice(candidates[0][0], candidates[0][1], float("nan"))
        return {int(k): only for k in study.sizes}
    sizes = tuning_sizes(study.sizes)
    rows = _sample(study, rows)
    scores = np.array(
        [
            _inner_scores(study, train, test, sizes, candidates, step)
            for train, test in study.inner_splits(rows)
        ]
    )
    known = np.isfinite(scores)
    mean = np.where(known, scores, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    mean[~known.any(axis=0)] = -np.inf  # never scored: the first candidate serves
    best = mean.argmax(axis=1)
    chosen = {
        k: Choice(candidates[b][0], candidates[b][1], float(mean[i, b]))
        for i, (k, b) in enumerate(zip(sizes, best))
    }
    logs = np.log(sizes)
    return {
        int(k): chosen[sizes[int(np.abs(logs - np.log(k)).argmin())]] for k in study.sizes.tolist()
    }


def _sample(study: Study, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows to compare settings on: all, or a sample with the same shares of the classes."""
    if len(rows) <= TUNING_ROWS:
        return rows
    rng = np.random.default_rng(study.seed)
    if study.task.classes is None:
        return np.sort(rng.choice(rows, TUNING_ROWS, replace=False))
    labels = study.task.codes(study.y[rows])
    taken = []
    for code in np.unique(labels):
        own = rows[labels == code]
        count = max(min(len(own), 10), round(TUNING_ROWS * len(own) / len(rows)))
        taken.append(rng.choice(own, count, replace=False))
    return np.sort(np.concatenate(taken))


def _inner_scores(
    study: Study,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    sizes: list[int],
    candidates: list[tuple[int, dict[str, Any]]],
    step: Step | None,
) -> NDArray[np.float64]:
    """Scores of all candidates at all tuning sizes in one inner fold."""
    scores = np.full((len(sizes), len(candidates)), np.nan)
    if study.task.classes is not None and len(np.unique(study.y[train])) < 2:
        return scores
    part = study.part(train, quick=True)
    held_out = study.rows.take(test)
    live = [k for k in sizes if part.traced.nearest(k) > 0]
    for i, predictor in enumerate(study.predictors):
        own = [setting for j, setting in candidates if j == i]
        requests = [(k, own) for k in live]
        for k, setting, bound, _ in predictor.models(part, requests, held_out):
            place = sizes.index(k), candidates.index((i, setting))
            scores[place] = _score_or_nan(study, bound, test, held_out.X)
            if step is not None:
                step(1)
    return scores


def _score_or_nan(study: Study, bound: Any, rows: NDArray[np.intp], X: Any) -> float:
    """An inner fold may lack a class that the measure needs; the others decide then."""
    try:
        return study.score(bound, rows, X)
    except ValueError:
        return float("nan")

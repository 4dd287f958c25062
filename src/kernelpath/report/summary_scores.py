"""The sections of a summary that come from a cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelpath.evaluation.operating_point import choose
from kernelpath.evaluation.scores import PathScores
from kernelpath.report.rounding import number, numbers, plain

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV

MOST_TRACKED = 60  # features whose stability is shown
SETTINGS = ("predictor", "cv", "inner_cv", "scoring", "rule", "budget", "tolerance", "random_state")


def cv_section(model: PathCV) -> dict[str, Any]:
    """Folds, measure, rule, and the points that rules pick."""
    scores, point = model.scores_, model.operating_point_
    nested = getattr(model, "nested_score_", None)
    return {
        "n_folds": int(scores.n_folds),
        "scoring": scores.scoring,
        "chance": number(scores.chance_mean),
        "rule": point.rule,
        "best": _size_score(scores, int(scores.best())),
        "one_se": _size_score(scores, int(choose(scores, "one_se"))),
        "chosen": {
            "n_features": int(point.n_features),
            "score": number(point.score),
            "se": number(point.se),
            "predictor": point.predictor,
            "settings": {str(name): plain(value) for name, value in point.settings.items()},
        },
        "nested": None
        if nested is None
        else {
            "score": number(nested.mean),
            "se": number(nested.se),
            "n_features": [int(k) for k in nested.n_features],
        },
    }


def _size_score(scores: PathScores, place: int) -> dict[str, Any]:
    return {
        "n_features": int(scores.n_features[place]),
        "score": number(scores.mean[place]),
        "se": number(scores.se[place]),
    }


def add_to_sizes(sizes: list[dict[str, Any]], features: list[int], model: PathCV) -> None:
    """Scores of every size, and how often the folds choose its features."""
    scores, frequency = model.scores_, model.stability_.frequency
    for i, size in enumerate(sizes):
        size["score"], size["se"] = number(scores.mean[i]), number(scores.se[i])
        size["per_fold"] = numbers(scores.per_fold[:, i])
        if scores.predictors is not None:
            size["predictors"] = sorted({str(row[i]) for row in scores.predictors if row[i]})
        row = frequency[[i]].toarray()[0]
        size["frequency"] = numbers((row[features[place]] for place in size["features"]), 3)


def baselines_section(model: PathCV) -> list[dict[str, Any]]:
    """Curves of the other rankings."""
    return [
        {
            "name": name,
            "n_features": own.n_features.tolist(),
            "score": numbers(own.mean),
            "se": numbers(own.se),
        }
        for name, own in getattr(model, "baseline_scores_", {}).items()
    ]


def stability_section(model: PathCV, place: Callable[[int], int]) -> dict[str, Any]:
    """Stability index, and the features that folds choose most often."""
    stability = model.stability_
    frequency = stability.frequency.tocsc()
    total = np.asarray(frequency.sum(axis=0)).ravel()
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0][:MOST_TRACKED]
    return {
        "n_features": stability.n_features.tolist(),
        "index": numbers(stability.index, 4),
        "low": numbers(stability.interval[:, 0], 4),
        "high": numbers(stability.interval[:, 1], 4),
        "rows": [
            {"feature": place(i), "frequency": numbers(column, 3)}
            for i, column in zip(order, frequency[:, order].toarray().T)
        ],
    }


def settings_section(model: PathCV, selector: dict[str, Any]) -> dict[str, Any]:
    """Settings of the cross-validation and, with a prefix, of the selector."""
    own = {name: plain(getattr(model, name)) for name in SETTINGS}
    return own | {f"selector: {name}": value for name, value in selector.items()}

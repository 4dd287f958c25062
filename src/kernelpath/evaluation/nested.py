"""The honest score of a whole procedure, the choice of the number of features included."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelpath.errors import MissingValuesWarning, ReadingWarning
from kernelpath.evaluation.checkpoint import FoldStore, fold_key, work_key
from kernelpath.evaluation.cross_validation import CrossValidation
from kernelpath.evaluation.scores import OverFolds, score_text
from kernelpath.evaluation.study import Study
from kernelpath.evaluation.work_plan import WorkMeter
from kernelpath.path.points import frozen_vector
from kernelpath.utils.archive_forms import REAL, Form, Forms
from kernelpath.utils.progress import Update, begin, passed_on
from kernelpath.utils.words import counted


@dataclass(frozen=True, eq=False, repr=False)
class NestedScore(OverFolds):
    """Score of an outer loop in which everything is repeated; frozen, compares by content.

    Parameters
    ----------
    per_fold : array of shape (n_folds,)
        Score of the whole procedure on the rows held out.
    n_features : array of shape (n_folds,)
        Number of features that was chosen in the fold.
    scoring : str
        Name of the measure.

    Examples
    --------
    >>> NestedScore([0.8, 0.9, 0.85], [4, 5, 4], scoring="accuracy")
    NestedScore(accuracy 0.850 +- 0.029 over 3 folds, 4 to 5 features)
    """

    per_fold: Any
    n_features: Any
    scoring: str = "score"

    def __post_init__(self) -> None:
        per_fold = frozen_vector(self.per_fold, float, "per_fold")
        sizes = frozen_vector(self.n_features, np.int64, "n_features", len(per_fold))
        self._set(per_fold=per_fold, n_features=sizes, scoring=str(self.scoring))

    def __repr__(self) -> str:
        low, high = int(self.n_features.min()), int(self.n_features.max())
        sizes = f"{low} to {high} features"
        if low == high:
            sizes = counted(int(low), "feature")
        text, folds = score_text(self.mean, self.se), counted(len(self.per_fold), "fold")
        return f"NestedScore({self.scoring} {text} over {folds}, {sizes})"


Procedure = Callable[..., Any]
"""Fits the whole procedure to other rows: (selector, store, X, y, **metadata) -> estimator."""


def nested_score(
    run: CrossValidation, procedure: Procedure, asked: tuple, verbose: int
) -> NestedScore:
    """Run the whole procedure on the training rows of every fold, and score on its test rows.

    ``asked`` is what the choice of a size depends on besides the folds.
    """
    study, store = run.study, run.store
    scores, sizes = [], []
    n_folds = len(run.splits)
    outer, update = WorkMeter(n_folds, verbose), begin("outer loop")
    for number, (train, test) in enumerate(run.splits):
        left = outer.left(time.monotonic()) if number else ""
        run.meter.say(f"PathCV: outer loop, fold {number + 1} of {n_folds}{left}")
        fold = fold_key(study, run.fingerprint, (train, test))
        key = work_key("outer", fold, *asked, study.inner_cv)
        found = _outcome(store, key)
        if found is not None:
            scores.append(found[0])
            sizes.append(int(found[1]))
            outer.done += 1
            continue
        params = {name: np.asarray(value)[train] for name, value in _shared(study).items()}
        share = _counted_from(update, number, n_folds)
        traces, models = dict(store.traces), dict(store.models)
        with passed_on("cross-validation", share):
            given = study.rows.take(train).given
            fitted = procedure(
                run.chooser or study.selector, store, given, study.y[train], **params
            )
            with warnings.catch_warnings():
                # Rows that are held out are new only to the outer loop.
                warnings.simplefilter("ignore", ReadingWarning)
                warnings.simplefilter("ignore", MissingValuesWarning)
                scores.append(study.score(fitted, test, study.rows.take(test).given))
        store.traces, store.models = traces, models  # those of the fold are of no more use
        sizes.append(fitted.operating_point_.n_features)
        _keep_outcome(store, key, scores[-1], sizes[-1])
        outer.done += 1
    return NestedScore(scores, sizes, scoring=run.scoring)


def _outcome(store: FoldStore, key: str) -> tuple[float, float] | None:
    """Score and size of a fold of the outer loop, if an earlier run found them."""
    if key in store.outcomes:
        return store.outcomes[key]
    form = Form(REAL, (2,))
    return store.read(
        key,
        "outer",
        lambda header, label: Forms({"outcome": form}),
        lambda _, a: tuple(a["outcome"]),
    )


def _keep_outcome(store: FoldStore, key: str, score: float, size: int) -> None:
    store.outcomes[key] = (score, float(size))
    store.write(key, "outer", {}, {"outcome": np.array([score, float(size)])})


def _counted_from(update: Update, number: int, n_folds: int) -> Update:
    """Work within one fold as a share of all of them."""
    return lambda done, total: update(number + done / total, n_folds)


def _shared(study: Study) -> dict[str, Any]:
    """Groups, weights and metadata, one value for every row."""
    given = {"groups": study.groups, "sample_weight": study.sample_weight}
    for step in study.metadata.values():
        given.update(step)
    return {name: value for name, value in given.items() if value is not None}

"""The usual measures without ceremony, for the thousands of small models that tuning compares.

scikit-learn's scorers check target and predictions anew each time, which takes longer than a small
model.  Here both are known to be sound; whatever is out of the ordinary is left to the scorer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score, roc_auc_score

from kernelpath.predictors.base import HeldOutClassifier, HeldOutOutputs, HeldOutRegressor


def plain_score(scorer: Any, outputs: Any, y: NDArray) -> float | None:
    """Score of outputs for rows with the target ``y``; None if the scorer has to say it.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> from kernelpath.predictors.base import HeldOutRegressor
    >>> y = np.array([1.0, 2.0, 3.0])
    >>> plain_score(get_scorer("r2"), HeldOutRegressor({"predict": y}), y)
    1.0
    """
    known = {HeldOutClassifier: OF_CLASSES, HeldOutRegressor: OF_NUMBERS}.get(type(outputs), {})
    measure = known.get(getattr(scorer, "_score_func", None))
    if measure is None or len(y) < 2 or y.ndim > 1:  # the measures here are of one column
        return None
    if getattr(scorer, "_kwargs", True) or getattr(scorer, "_sign", 0) != 1:
        return None
    return measure(outputs, y)


def _accuracy(outputs: HeldOutOutputs, y: NDArray) -> float:
    return float(np.mean(outputs.outputs["predict"] == y))


def _balanced_accuracy(outputs: HeldOutOutputs, y: NDArray) -> float:
    classes, codes = np.unique(y, return_inverse=True)
    right = np.bincount(codes, outputs.outputs["predict"] == y, minlength=len(classes))
    return float(np.mean(right / np.bincount(codes)))


def _r2(outputs: HeldOutOutputs, y: NDArray) -> float | None:
    spread = np.square(y - y.mean()).sum()
    if not spread > 0:
        return None
    return float(1.0 - np.square(y - outputs.outputs["predict"]).sum() / spread)


def _roc_auc(outputs: Any, y: NDArray) -> float | None:
    decision, classes = outputs.outputs.get("decision_function"), outputs.classes
    if decision is None or decision.ndim != 1 or len(classes) != 2:
        return None
    up, down = y == classes[1], y == classes[0]
    n_up, n_down = np.count_nonzero(up), np.count_nonzero(down)
    if n_up == 0 or n_down == 0 or n_up + n_down < len(y):
        return None
    won = rankdata(decision)[up].sum() - 0.5 * n_up * (n_up + 1)
    return float(won / (n_up * n_down))


Measure = Callable[[HeldOutOutputs, NDArray], float | None]
OF_CLASSES: dict[Any, Measure] = {
    accuracy_score: _accuracy,
    balanced_accuracy_score: _balanced_accuracy,
    roc_auc_score: _roc_auc,
}
OF_NUMBERS: dict[Any, Measure] = {r2_score: _r2}

"""Whether anything was found: scores held against those of a model without any feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelpath.evaluation.scores import PathScores
from kernelpath.report.form import number
from kernelpath.utils.words import counted

BEST_ERRORS = 2.0
"""Standard errors by which the best of several sizes has to be above chance."""
ROUNDING = 1e-9  # relative, of differences of scores


def gain_section(scores: PathScores, n_features: int) -> dict[str, Any] | None:
    r"""How far the chosen and the best size are above the score without features; None if unknown.

    Differences are paired by fold, :math:`d_i = s_i - c_i` over the :math:`k` folds that know the
    score :math:`c_i` of a constant, and their standard error is the plain one,
    :math:`s_d / \sqrt{k}`.  Something is ``found`` if the chosen size is above by more than one of
    them, or the best by more than two: the largest of several means is optimistic, and so a chosen
    size that is the best of several needs two as well.  With one fold the sign decides.

    Examples
    --------
    >>> scores = PathScores([1, 5], [[0.52, 0.6], [0.5, 0.56], [0.45, 0.46]], chance=[0.5] * 3)
    >>> gain_section(scores, 1)["found"]  # the best is 0.04 ± 0.042 above
    False
    """
    known = scores.finished & ~np.isnan(scores.chance)
    if not known.any():
        return None
    chosen, best = scores.position(n_features), int(scores.best())
    (gain, error), (most, its_error) = (_difference(scores, known, i) for i in (chosen, best))
    alone = chosen != best or len(scores.n_features) == 1
    found = _exceeds(gain, error, 1.0 if alone else BEST_ERRORS)
    return {
        "chosen": number(gain),
        "chosen_se": number(error),
        "best": number(most),
        "best_se": number(its_error),
        "found": found or _exceeds(most, its_error, BEST_ERRORS),
    }


def _difference(scores: PathScores, known: np.ndarray, place: int) -> tuple[float, float]:
    """Mean of the paired differences, and its standard error; NaN with one fold."""
    with np.errstate(over="ignore", invalid="ignore"):  # R squared may be any negative number
        gain = scores.per_fold[known, place] - scores.chance[known]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        return float(gain.mean()), float(error)


def _exceeds(gain: float, error: float, times: float) -> bool:
    """Whether a difference is beyond so many errors, up to rounding."""
    return gain > (0.0 if np.isnan(error) else (1.0 + ROUNDING) * times * error)


def says_nothing_found(summary: Mapping[str, Any]) -> bool:
    """Whether a summary knows that no size is above chance; see `gain_section`."""
    cv = summary["cv"] or {}
    gain = cv.get("gain")
    return gain is not None and not gain["found"] and cv["chance"] is not None


def nothing_words(summary: Mapping[str, Any], total: int, measure: str) -> str:
    """The sentence that nothing was found, or "".

    Examples
    --------
    >>> cv = {"chance": 0.5, "best": {"score": 0.52}, "gain": {"found": False}, "scoring": "r2"}
    >>> nothing_words({"cv": cv | {"scoring": "accuracy"}}, 9, "accuracy")
    'No number of features is clearly better than chance (0.500).'
    >>> nothing_words({"cv": cv | {"chance": -0.0001}}, 1, "R2")
    'The one feature is not clearly better than the mean of the target (R2 0.000).'
    """
    if not says_nothing_found(summary):
        return ""
    cv = summary["cv"]
    score, chance = cv["best"]["score"], round(cv["chance"], 3) + 0.0  # no negative zero
    better = "better" if score is None or score <= cv["chance"] else "clearly better"
    task = (summary.get("data") or {}).get("task")
    numbers = task == "regression" or (task is None and cv["scoring"] == "r2")
    than = f"chance ({chance:.3f})"
    if numbers:
        than = f"the mean of the target ({measure} {chance:.3f})"
    sizes, few = summary.get("sizes", ()), "No number of features is"
    if total == 1:
        few = "The one feature is not"
    elif len(sizes) == 1:
        k = sizes[0]["n_features"]
        few = f"{counted(k, 'feature')} {'is' if k == 1 else 'are'} not"
    return f"{few} {better} than {than}."

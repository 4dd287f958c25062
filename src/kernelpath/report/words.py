"""The result in words: the headline of a summary, and what a reader should know of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelpath.report.summary_lines import turns
from kernelpath.utils.provenance import ANOTHER_BRANCH

BRANCH_WORDS = (
    "The path is another branch than the one that starts at no weights: a search beside that one "
    "found it, and it predicts rows left out better. It need not lead to few features."
)


def headline(summary: dict[str, Any]) -> str:
    """One sentence that says the result, and a second if another ranking does better."""
    cv = summary["cv"]
    if cv is None:
        return " ".join([_path_words(summary), *_turn_words(summary)])
    return " ".join([_score_sentence(cv, summary["n_features"]), *_better_baseline(summary)])


def _path_words(summary: dict[str, Any]) -> str:
    """How many features the points of the path select."""
    total, sizes = summary["n_features"], summary["points"]["n_selected"]
    low, high = min(sizes, default=0), max(sizes, default=0)
    if high == 0:
        ranked = "; features can only be ranked" if summary["sizes"] else ""
        return f"No feature is selected along the path{ranked}."
    if total == 1:
        end = "is selected" if low == high else "is selected on a part of the path"
        return f"The one feature {end}."
    if low == high:
        return f"{high:,} of {total:,} features {'is' if high == 1 else 'are'} selected."
    first, last = (f"{size:,}" if size else "none" for size in (sizes[0], sizes[-1]))
    if {sizes[0], sizes[-1]} == {low, high}:
        return f"The path leads from {first} to {last} of {total:,} features."
    span = f"{low:,} to {high:,}" if low else f"up to {high:,}"
    return f"The points of the path select {span} of {total:,} features, the last {last}."


def _turn_words(summary: dict[str, Any]) -> list[str]:
    """How often the parameter turns back, if it does."""
    count = len(turns([np.nan if v is None else v for v in summary["points"]["parameter"]]))
    if count == 0:
        return []
    times = {1: "once", 2: "twice"}.get(count, f"{count:,} times")
    return [f"On the way the {summary['parameter_name']} turns {times}."]


def _score_sentence(cv: dict[str, Any], total: int) -> str:
    best, chosen = cv["best"], cv["chosen"]
    few = "The one feature" if total == 1 else f"{best['n_features']:,} of {total:,} features"
    reach = f"{few} {_reach(best)} {score_words(best)} ({cv['scoring']})"
    if chosen["n_features"] == best["n_features"]:
        return f"{reach}."
    if cv["rule"] == "one_se" and chosen["n_features"] == cv["one_se"]["n_features"]:
        return f"{reach}; {chosen['n_features']:,} {_reach(chosen)} it within one standard error."
    count = "one" if chosen["n_features"] == 1 else f"{chosen['n_features']:,}"
    return f"{reach}; the chosen {count} {_reach(chosen)} {score_words(chosen)}."


def _reach(one: dict[str, Any]) -> str:
    return "reaches" if one["n_features"] == 1 else "reach"


def _better_baseline(summary: dict[str, Any]) -> list[str]:
    """The baseline with the best score of all, if that can be told from the path's own."""
    own = summary["cv"]["best"]["score"]
    found = [
        (score, -k, one["name"])
        for one in summary["baselines"]
        for k, score in zip(one["n_features"], one["score"])
        if score is not None
    ]
    if own is None or not found:
        return []
    score, k, name = max(found)
    # Only a difference that the written digits show.
    return [f"{name} reaches {score:.3f} with {-k:,}."] if round(score, 3) > round(own, 3) else []


def score_words(one: dict[str, Any]) -> str:
    """Score and, if it is known, standard error, as "0.912 ± 0.010".

    Examples
    --------
    >>> score_words({"score": 0.9123, "se": None})
    '0.912'
    """
    if one["score"] is None:
        return "no score"
    if one["se"] is None:
        return f"{one['score']:.3f}"
    return f"{one['score']:.3f} \N{PLUS-MINUS SIGN} {one['se']:.3f}"


# -- notices --------------------------------------------------------------------------------------


def remarks(summary: dict[str, Any]) -> list[dict[str, str]]:
    """Notices about the result: nothing is selected, another branch, nothing above chance."""
    found = []
    if not any(summary["points"]["n_selected"]):
        found.append({"kind": "empty_path", "text": _empty_words(summary)})
    if summary.get("branch") == ANOTHER_BRANCH:
        found.append({"kind": "branch", "text": BRANCH_WORDS})
    cv = summary["cv"]
    scores = () if cv is None else (cv["best"]["score"], cv["chance"])
    if scores and None not in scores and scores[0] <= scores[1]:
        text = f"No size scores above chance ({scores[1]:.3f})."
        found.append({"kind": "chance", "text": text})
    return found


def _empty_words(summary: dict[str, Any]) -> str:
    """Why no point of the path selects a feature, and what can be done."""
    settings = summary["settings"]
    norm, limit = (
        settings.get(name, settings.get(f"selector: {name}"))
        for name in ("norm_strength", "elimination_tol")
    )
    why, remedy = "", "a weaker penalty"
    if norm == "noise":
        why = ': none is above the chance level of the norm strength "noise"'
    elif isinstance(norm, int | float) and limit is not None:
        why = f": with a norm strength of {norm:g} no weight exceeds {limit:g}"
    if norm is not None:
        remedy = "a smaller norm strength"
    text = f"No point of the path selects a feature{why}."
    if not summary["sizes"]:
        return f"{text} Try {remedy}."
    return (
        f"{text} The lists show the order in which features would come; they are ranked, not "
        f"selected. Try {remedy}, or choose a number of features."
    )


# -- stability ------------------------------------------------------------------------------------


def stability_words(summary: dict[str, Any]) -> str:
    """What the curve of the stability index cannot show: one size, or none, and why it stops."""
    section, total = summary["stability"], summary["n_features"]
    pairs = list(zip(section["n_features"], section["index"]))
    told = [i for i, (_, index) in enumerate(pairs) if index is not None]
    missing = [k for k, index in pairs if index is None]
    if not told:
        return f"There is no index: {_why_undefined(summary, missing)}."
    parts = []
    if len(told) == 1:
        low, high = section["low"][told[0]], section["high"][told[0]]
        span = "" if None in (low, high) else f", from {low:.2f} to {high:.2f}"
        size, index = pairs[told[0]]
        parts.append(f"The index is known at {_features(size)} only: {index:.2f}{span}.")
    if missing == [total]:
        parts.append(f"At all {total:,} features there is no index: every fold chooses all.")
    elif missing:
        few = _features(missing[0]) if len(missing) == 1 else f"{len(missing):,} sizes"
        parts.append(f"At {few} there is no index: {_why_undefined(summary, missing)}.")
    return " ".join(parts)


def _why_undefined(summary: dict[str, Any], missing: list[int]) -> str:
    if summary["cv"] is not None and summary["cv"]["n_folds"] < 2:
        return "a single fold has no other to agree with"
    if summary["n_features"] == 1:
        return "every fold chooses the one feature"
    if all(k >= summary["n_features"] for k in missing):
        return "every fold chooses all features"
    return "every fold chooses all features, or none"


def _features(count: int) -> str:
    return f"{count:,} feature{'' if count == 1 else 's'}"

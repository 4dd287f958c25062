"""The result in words: the headline of a summary, and what a reader should know of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from kernelpath.report.chance import nothing_words, says_nothing_found
from kernelpath.report.summary_lines import turns
from kernelpath.tables.missing import LeftOut
from kernelpath.utils.provenance import ANOTHER_BRANCH
from kernelpath.utils.words import counted, listed

LEVEL = 0.1  # false discovery rate that is spoken of
BRANCH_WORDS = (
    "The path is another branch than the one that starts at no weights: a search beside that one "
    "found it, and it predicts rows left out better. It need not lead to few features."
)


TOGETHER = ("joint", "l1kr", "gmkl-product", "hkl", "bahsic")
"""Methods whose kernels are of several features at once."""
KERNEL_OF_GMKL = ("kernel", "selector: kernel")
MEASURES = {
    "r2": "R2",
    "f1": "F1",
    "roc_auc": "ROC AUC",
    "matthews_corrcoef": "Matthews correlation",
}
"""Measures whose names are no words."""
SAME = 0.95
"""Alignment of the kernels of two features from which they are said to say nearly the same."""
MOST_NAMED = 5


def measure_words(scoring: str) -> str:
    """What scikit-learn's name of a measure says.

    Examples
    --------
    >>> measure_words("r2"), measure_words("balanced_accuracy"), measure_words("roc_auc_ovr")
    ('R2', 'balanced accuracy', 'ROC AUC, ovr')
    >>> measure_words("neg_mean_absolute_error")
    'negative mean absolute error'
    """
    if scoring in MEASURES:
        return MEASURES[scoring]
    first = next((one for one in MEASURES if scoring.startswith(f"{one}_")), None)
    if first is not None:
        return f"{MEASURES[first]}, {scoring[len(first) + 1 :].replace('_', ' ')}"
    words = scoring.replace("_", " ")
    return f"negative {words[4:]}" if words.startswith("neg ") else words


def acts_together(summary: Mapping[str, Any]) -> bool:
    """Whether the method sees features that act only together, which no test of one column does.

    Examples
    --------
    >>> acts_together({"method": "joint"}), acts_together({"method": "lp-kta"})
    (True, False)
    >>> acts_together({"method": "gmkl", "settings": {"kernel": "product"}})
    True
    """
    if summary["method"] == "gmkl":
        settings = summary.get("settings", {})
        return any("product" in str(settings.get(name, "")).lower() for name in KERNEL_OF_GMKL)
    return summary["method"] in TOGETHER


def compared_words(summary: Mapping[str, Any]) -> str:
    """Which features views and the map of similarities show: heaviest ones need weights.

    Examples
    --------
    >>> sizes = [{"weights": [1.0, 1.0]}]
    >>> compared_words({"sizes": sizes, "cv": {}}), compared_words({"sizes": sizes, "cv": None})
    ('chosen', 'first')
    """
    if weighs(summary):
        return "heaviest"
    return "first" if summary["cv"] is None else "chosen"


def weighs(summary: Mapping[str, Any]) -> bool:
    """Whether the method gives its features weights that differ."""
    return len({weight for one in summary["sizes"] for weight in one["weights"]}) != 1


def ranks(summary: Mapping[str, Any]) -> bool:
    """Whether features have an order: by weight, or since each size keeps those before it."""
    return weighs(summary) or summary["entries"]["nested"]


def n_usable(summary: Mapping[str, Any]) -> int:
    """Columns that can be selected: neither constant nor naming rows, as far as that is known."""
    data = summary.get("data")
    if data is None:
        return summary["n_features"]
    return data["n_features"] - data.get("n_constant", 0) - data.get("n_identifiers", 0)


def feature_words(data: Mapping[str, Any]) -> str:
    """How many features there are, and which columns are none.

    Examples
    --------
    >>> feature_words({"n_features": 8, "n_constant": 2, "n_identifiers": 1})
    '5 features (1 identifier and 2 constant columns left out)'
    """
    named, constant = data.get("n_identifiers", 0), data.get("n_constant", 0)
    found = counted(data["n_features"] - named - constant, "feature")
    parts = [counted(named, "identifier")] if named else []
    parts += [counted(constant, "constant column")] if constant else []
    return f"{found} ({listed(parts)} left out)" if parts else found


def row_words(data: Mapping[str, Any]) -> str:
    """How many rows there are, and which were left out.

    Examples
    --------
    >>> row_words({"n_rows": 108, "rows_left_out": {"no_target": 7, "missing": 5, "no_weight": 0}})
    '108 rows (7 without a target and 5 with missing values left out)'
    """
    left_out, found = LeftOut(**data.get("rows_left_out", {})), counted(data["n_rows"], "row")
    return f"{found} ({left_out.words()} left out)" if left_out else found


def headline(summary: dict[str, Any]) -> str:
    """The result in a sentence: the model that one gets first; then what does better, if anything.

    That is another ranking, or a plain model of all features by more than one standard error of
    the difference.  Where no size is above chance, that comes before all; see `gain_section`.
    """
    cv = summary["cv"]
    if cv is None:
        return " ".join([_path_words(summary), *_turn_words(summary)])
    total = n_usable(summary)
    nothing = nothing_words(summary, total, measure_words(cv["scoring"]))
    return " ".join(
        [
            *([nothing] if nothing else []),
            _score_sentence(summary, total),
            *_better_baseline(summary),
            *_better_reference(summary),
        ]
    )


def _path_words(summary: dict[str, Any]) -> str:
    """How many features the points of the path select."""
    total, sizes = n_usable(summary), summary["points"]["n_selected"]
    low, high = min(sizes, default=0), max(sizes, default=0)
    if high == 0:
        ranked = "; features can only be ranked" if summary["sizes"] else ""
        return f"No feature is selected along the path{ranked}."
    if total == 1:
        end = "is selected" if low == high else "is selected on a part of the path"
        return f"The one feature {end}."
    if low == high:
        return f"{high:,} of {counted(total, 'feature')} {'is' if high == 1 else 'are'} selected."
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


def _score_sentence(summary: dict[str, Any], total: int) -> str:
    cv = summary["cv"]
    best, chosen = cv["best"], cv["chosen"]
    few = "The one feature" if total == 1 else _features(chosen["n_features"])
    reach = f"{few} {_reach(chosen)} {score_words(chosen)} ({measure_words(cv['scoring'])})"
    if chosen["n_features"] == best["n_features"] or best["score"] is None:
        return f"{reach}."
    top = f"{reach}; the best, {_features(best['n_features'])}, {best['score']:.3f}"
    return (
        f"{top}, beyond the budget." if _beyond_budget(summary, best["n_features"]) else f"{top}."
    )


def _beyond_budget(summary: dict[str, Any], k: int) -> bool:
    """Whether a size has more features, or costs more, than the budget allows."""
    budget = summary.get("settings", {}).get("budget")
    if budget is None:
        return False
    rows: list[dict[str, Any]] = summary["sizes"]
    row = next((one for one in rows if one["n_features"] == k), {})
    spent = row.get("cost", row.get("cost_in_folds", k))
    return spent is not None and spent > budget


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


def _better_reference(summary: dict[str, Any]) -> list[str]:
    """The best plain model of all features, if it is more than one standard error above.

    One that is no better than chance is nothing to be told of.
    """
    chance = summary["cv"].get("chance")
    doubt = says_nothing_found(summary)  # then what is near chance is no better than that
    above = [
        one
        for one in summary.get("references", ())
        if one["above"] and (chance is None or one["score"] - doubt * (one["se"] or 0.0) > chance)
    ]
    if not above:
        return []
    best = max(above, key=lambda one: one["score"])
    count, chosen, top = best["n_features"], *(summary["cv"][name] for name in ("chosen", "best"))
    of = "the one feature" if count == 1 else f"all {count:,} features"
    few = chosen["n_features"]
    named = few != top["n_features"]  # then the sentence before spoke of two sizes
    than = f" than {'that one' if few == 1 else f'those {few:,}'}" if named else ""
    by = difference_words(best["difference"], best["difference_se"])
    text = f"{best['label']} on {of} is better{than}: {best['score']:.3f}"
    return [f"{text}, by {by} on the same folds."]


def difference_words(gain: float, error: float | None) -> str:
    """A paired difference and its standard error, with a digit more where it is small.

    Examples
    --------
    >>> difference_words(0.0062, 0.0021), difference_words(0.0002, 0.00004)
    ('0.006 ± 0.002', '0.0002 ± 0.0000')
    """
    digits = 3 if abs(gain) >= 0.0005 else 4
    given = "" if error is None else f" \N{PLUS-MINUS SIGN} {error:.{digits}f}"
    return f"{gain:.{digits}f}{given}"


def reference_words(summary: dict[str, Any]) -> str:
    """Plain models of all features in one line, or "" if there are none.

    Examples
    --------
    >>> one = {"label": "Boosting", "n_features": 19, "score": 0.6123, "se": 0.05, "note": ""}
    >>> reference_words({"references": [one]})
    'All 19 features: boosting 0.612 ± 0.050.'
    """
    given = summary.get("references", ())
    count = next((one["n_features"] for one in given if one["n_features"]), None)
    if count is None:
        return ""
    few = "The one feature" if count == 1 else f"All {count:,} features"
    return f"{few}: {', '.join(map(_reference_part, given))}."


def _reference_part(one: dict[str, Any]) -> str:
    label = f"{one['label'][0].lower()}{one['label'][1:]}"
    score = "" if one["score"] is None else f" {score_words(one)}"
    return f"{label}{score}" + (f" ({one['note']})" if one["note"] else "")


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
    """Notices about the result: columns that tell all, nothing selected, nothing above chance."""
    found = []
    if not any(summary["points"]["n_selected"]):
        found.append({"kind": "empty_path", "text": _empty_words(summary)})
    if summary.get("branch") == ANOTHER_BRANCH:
        found.append({"kind": "branch", "text": BRANCH_WORDS})
    cv = summary["cv"]
    scores = () if cv is None else (cv["best"]["score"], cv["chance"])
    said = says_nothing_found(summary)  # by the headline
    if scores and None not in scores and scores[0] <= scores[1] and not said:
        text = f"No size scores above chance ({scores[1]:.3f})."
        found.append({"kind": "chance", "text": text})
    if cv is not None and (text := redundancy_words(summary)):
        found.append({"kind": "redundancy", "text": text})
    return found


def n_classes(summary: Mapping[str, Any]) -> int:
    """How many classes the target has, as far as that is known; 0 for one of numbers."""
    return len(((summary.get("data") or {}).get("target") or {}).get("classes", ()))


def redundancy_words(summary: dict[str, Any]) -> str:
    """Which of the chosen features say nearly the same, or "".

    Examples
    --------
    >>> features = [{"name": name} for name in ("runs", "hits", "age")]
    >>> similarity = [[1.0, 0.97, 0.2], [0.97, 1.0, 0.1], [0.2, 0.1, 1.0]]
    >>> section = {"features": [0, 1, 2], "similarity": similarity}
    >>> redundancy_words({"features": features, "redundancy": section, "method": "lp-kta"})
    'runs and hits say nearly the same; NMMKL (--method nmmkl) avoids copies.'
    """
    section = summary.get("redundancy")
    if section is None or summary["method"] in ("nmmkl", "additive"):
        return ""
    near = np.array(section["similarity"], dtype=float) >= SAME
    n_groups, group = connected_components(csr_array(near), directed=False)
    sizes = np.bincount(group, minlength=n_groups)
    if sizes.max(initial=0) < 2:
        return ""
    places = np.array(section["features"])[group == sizes.argmax()]
    names = [str(summary["features"][i]["name"])[:40] for i in places]
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{listed} say nearly the same; NMMKL (--method nmmkl) avoids copies."


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
        few = _features(missing[0]) if len(missing) == 1 else counted(len(missing), "size")
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
    return counted(count, "feature")


def rate_words(n: int, level: float) -> str:
    """How many features are discoveries.

    Examples
    --------
    >>> rate_words(37, 0.1), rate_words(0, 0.05)
    ('37 features at a false discovery rate of 0.1', 'no feature at a false discovery rate of 0.05')
    """
    return f"{counted(n, 'feature') if n else 'no feature'} at a false discovery rate of {level:g}"

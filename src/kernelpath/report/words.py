"""The result in words: one sentence from a summary."""

from __future__ import annotations

from typing import Any


def headline(summary: dict[str, Any]) -> str:
    """One sentence that says the result."""
    total = f"{summary['n_features']:,}"
    cv = summary["cv"]
    if cv is None:
        sizes = summary["points"]["n_selected"]
        low, high = min(sizes), max(sizes)
        if low == high:
            return f"{high:,} of {total} features are selected."
        return f"The path leads from {high:,} to {low:,} of {total} features."
    best, chosen = cv["best"], cv["chosen"]
    reach = f"{best['n_features']:,} of {total} features reach {score_words(best)}"
    if chosen["n_features"] == best["n_features"]:
        return f"{reach} ({cv['scoring']})."
    verb = "reaches" if chosen["n_features"] == 1 else "reach"
    if cv["rule"] == "one_se":
        return (
            f"{reach} ({cv['scoring']}); {chosen['n_features']:,} {verb} it within one standard "
            "error."
        )
    text = f"the chosen {chosen['n_features']:,} {verb} {score_words(chosen)}"
    return f"{reach} ({cv['scoring']}); {text}."


def score_words(one: dict[str, Any]) -> str:
    """Score and standard error, as "0.912 ± 0.010"."""
    if one["score"] is None:
        return "no score"
    return f"{one['score']:.3f} \N{PLUS-MINUS SIGN} {one['se'] or 0.0:.3f}"

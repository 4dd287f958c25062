"""A small card for notebooks: the headline, a curve and the heaviest features."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from kernelpath.path.feature_path import FeaturePath
from kernelpath.report.words import measure_words, ranks, score_words
from kernelpath.utils.words import counted

WIDTH, HEIGHT, MARGIN = 320, 90, 8
MOST_ROWS, LONGEST = 8, 60
BLUE = "#0072B2"
STYLE = "font-family: system-ui, sans-serif; font-size: 13px; max-width: 46em; padding: 2px 0"


def card(summary: dict[str, Any]) -> str:
    """HTML without scripts, for a cell of a notebook; names are shown as text.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=100, n_features=5, random_state=0)
    >>> html = card(kp.LpKTASelector().fit(data.X, data.y).path_.summary())
    >>> "of 5 features" in html, "<script" in html
    (True, False)
    """
    parts = [f"<p style='margin: 2px 0 6px'><b>{escape(summary['headline'])}</b></p>"]
    parts += [
        f"<p style='margin: 2px 0'>{escape(notice['text'])}</p>" for notice in summary["notices"]
    ]
    parts.append(_curve(summary))
    parts.append(_table(summary))
    return f"<div style='{STYLE}'>{''.join(parts)}</div>"


def path_card(path: FeaturePath) -> str:
    """Card of a path, from the few sizes that it shows."""
    from kernelpath.report.summary import sizes_of, summarize_path

    sizes = sizes_of(path)
    return card(summarize_path(path, sizes=[k for k in sizes if k <= MOST_ROWS] or sizes[:1]))


def _curve(summary: dict[str, Any]) -> str:
    """Score against size, or number of features along the path."""
    if summary["cv"] is not None:
        known = [one for one in summary["sizes"] if one["score"] is not None]
        x = [np.log(one["n_features"]) for one in known]
        y = [one["score"] for one in known]
        label = f"{measure_words(summary['cv']['scoring'])} against number of features (log scale)"
    else:
        x = list(range(len(summary["points"]["n_selected"])))
        y = [np.log1p(size) for size in summary["points"]["n_selected"]]
        label = "number of features along the path (log scale)"
    if len(x) < 2:
        return ""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(_scaled(x, WIDTH), _flipped(y)))
    return (
        f"<svg width='{WIDTH}' height='{HEIGHT}' role='img' aria-label='{escape(label)}'>"
        f"<title>{escape(label)}</title><polyline points='{points}' fill='none' "
        f"stroke='{BLUE}' stroke-width='2'/></svg>"
        f"<div style='opacity: 0.7; margin-bottom: 4px'>{escape(label)}</div>"
    )


def _scaled(values: list[float], room: float) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    spread = np.ptp(array) or 1.0
    return MARGIN + (array - array.min()) / spread * (room - 2 * MARGIN)


def _flipped(values: list[float]) -> np.ndarray:
    return HEIGHT - _scaled(values, HEIGHT)


def _table(summary: dict[str, Any]) -> str:
    """Features of the chosen size, or of the largest that is still short."""
    sizes = summary["sizes"]
    if not sizes:
        return "<p>No feature is selected anywhere on the path.</p>"
    if summary["cv"] is not None:
        wanted = summary["cv"]["chosen"]["n_features"]
        size = next(one for one in sizes if one["n_features"] == wanted)
        few = counted(wanted, "feature")
        words = f"{few}: {score_words(summary['cv']['chosen'])}"
    else:
        size = [one for one in sizes if one["n_features"] <= MOST_ROWS][-1:] or sizes[:1]
        size = size[0]
        count = size["n_features"]
        words = "the heaviest feature" if count == 1 else f"the heaviest {count:,}"
        if not ranks(summary):
            words = f"{counted(count, 'feature')}, chosen together"
    names = summary["features"]
    rows = "".join(
        f"<tr><td style='text-align: left'><bdi>{escape(_short(names[place]['name']))}</bdi></td>"
        f"<td style='text-align: right'>{'' if weight is None else f'{weight:.4g}'}</td></tr>"
        for place, weight in list(zip(size["features"], size["weights"]))[:MOST_ROWS]
    )
    left = size["n_features"] - min(MOST_ROWS, len(size["features"]))
    more = f"<tr><td colspan='2'>and {left:,} more</td></tr>" if left > 0 else ""
    return (
        f"<table><caption style='text-align: left'>{escape(words)}</caption><thead><tr>"
        "<th scope='col' style='text-align: left'>feature</th><th scope='col'>weight</th></tr>"
        f"</thead><tbody>{rows}{more}</tbody></table>"
    )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"

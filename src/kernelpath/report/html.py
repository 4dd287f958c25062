"""The report as one HTML page that needs nothing else: no network, no server, no other file.

The page is drawn in the browser from the summary, which it carries as JSON; what matters most is
also there without scripts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

import jinja2
from markupsafe import Markup

from kernelpath.path.significance import shown_p
from kernelpath.report.form import refuse_other_dicts
from kernelpath.report.plain_text import visible
from kernelpath.report.words import (
    acts_together,
    compared_words,
    feature_words,
    measure_words,
    n_classes,
    n_usable,
    ranks,
    rate_words,
    reference_words,
    row_words,
    stability_words,
    weighs,
)
from kernelpath.utils.atomic import replacing
from kernelpath.utils.progress import working
from kernelpath.utils.words import counted

SCRIPTS = (
    "base.js",
    "scales.js",
    "axes.js",
    "places.js",
    "table.js",
    "curve.js",
    "lines.js",
    "volcano.js",
    "maps.js",
    "views.js",
    "main.js",
)
"""In the order in which they are read; together they are one script."""
ROWS_WITHOUT_SCRIPTS = 50
PREFERRED_SIZE = 10
"""Size that is shown first when no cross-validation has chosen one."""
MOST_CLASSES = 20
RULES = {"one_se": "one standard error", "fdr": "false discovery rate"}
LONGEST_NAME = 80
LONG_WORD = 12
SIGNS = "_/.:-"
"""After which a long word may go on in the next line."""
GRAVE = ("leak", "repeated_id")
"""Kinds of notices that come first, and alone."""
ALIKE = 0.2
"""Similarity below which two features have too little in common for a map."""


@working("page")
def render_html(
    summary: Any,
    *,
    title: str | None = None,
    command: str | None = None,
    files: Mapping[str, str] | None = None,
    method: str | None = None,
) -> str:
    """Draw a summary as a self-contained HTML page.

    The page loads nothing and sends nothing: style, scripts and data are inside.  Names are
    always shown as text, whatever they contain.

    Parameters
    ----------
    summary : dict, PathCV, Comparison or FeaturePath
        What `summarize_path` or `summarize_cv` returns, or what has such a summary.
    title : str, optional
        Name of the page.
    command : str, optional
        Command line that made the results; shown under "How to load this in Python".
    files : dict of str to str, optional
        Files that were written beside the page, as ``{"path": "path.kpath", "model":
        "model.kpmodel"}``; other keys are listed with their names.
    method : str, optional
        What the page calls the method.  Default: its name in the summary.

    Returns
    -------
    str
        The page; it can be written as UTF-8.

    Examples
    --------
    >>> import kernelpath as kp
    >>> from kernelpath.report.summary import summarize_path
    >>> data = kp.datasets.make_wide(n_samples=60, n_features=20, random_state=0)
    >>> path = kp.LpKTASelector().fit(data.X, data.y).path_
    >>> page = render_html(summarize_path(path), title="Twenty features")
    >>> page.startswith("<!doctype html>"), "<title>Twenty features</title>" in page
    (True, True)
    """
    summary = _summary_of(summary)
    script = _script()
    shown = first_size(summary)
    return _template().render(
        s=summary,
        title=title or "kernelpath report",
        headline=first_sentence(summary["headline"]),
        notices=_notices(summary),
        command=command,
        files=dict(files or {}),
        policy=_policy(script),
        style=_asset("page.css"),
        script=script,
        data=summary_json(summary),
        start=shown,
        size=None if shown is None else summary["sizes"][shown],
        most_rows=ROWS_WITHOUT_SCRIPTS,
        most_classes=MOST_CLASSES,
        facts=_facts(summary, method or summary["method"]),
        real=_real(summary),
        classes=n_classes(summary),
        measure=None if summary["cv"] is None else measure_words(summary["cv"]["scoring"]),
        references=reference_words(dict(summary)),
        selects=any(summary["points"]["n_selected"]),
        varies=_varies(summary["points"]),
        weighted=weighs(summary),
        ranked=ranks(summary),
        kinds={view["kind"] for view in summary["views"]},
        usable=n_usable(summary),
        alike=_alike(summary),
        agreement=_agreement(summary),
        bounded=any(v is not None for v in summary["points"]["gap"]),
        certified=any(v is not None for name in ("kkt", "gap") for v in summary["points"][name]),
    )


def save_html(
    summary: Any,
    file: str | os.PathLike[str],
    *,
    title: str | None = None,
    command: str | None = None,
    files: Mapping[str, str] | None = None,
    method: str | None = None,
) -> None:
    """Write the page of a summary to a file, wholly or not at all; see `render_html`.

    Parameters
    ----------
    summary : dict, PathCV, Comparison or FeaturePath
        What `summarize_path` or `summarize_cv` returns, or what has such a summary.
    file : str or path
        File to write; its directory must exist.
    title, command, files, method
        As for `render_html`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import kernelpath as kp
    >>> from kernelpath.report.summary import summarize_path
    >>> data = kp.datasets.make_wide(n_samples=60, n_features=20, random_state=0)
    >>> path = kp.LpKTASelector().fit(data.X, data.y).path_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_html(summarize_path(path), pathlib.Path(folder, "report.html"))
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['report.html']
    """
    page = render_html(summary, title=title, command=command, files=files, method=method)
    with replacing(file) as handle:
        handle.write(page.encode("utf-8"))


def _summary_of(given: Any) -> Mapping[str, Any]:
    """A summary as it is, or that of a model or a path."""
    if not isinstance(given, Mapping) and callable(getattr(given, "summary", None)):
        given = given.summary()
    if not isinstance(given, Mapping):
        raise TypeError(
            "a page is made from a summary, such as path.summary(X, y), or from a fitted PathCV, "
            f"got {type(given).__name__}"
        )
    refuse_other_dicts(given)
    return given


def summary_json(summary: Mapping[str, Any]) -> str:
    r"""JSON that can stand inside a script element: only ASCII, and no ``<``, ``>`` or ``&``.

    Examples
    --------
    >>> summary_json({"name": "</script> & \u00e9t\u00e9"})
    '{"name":"\\u003c/script\\u003e \\u0026 \\u00e9t\\u00e9"}'
    """
    text = json.dumps(summary, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def first_size(summary: Mapping[str, Any]) -> int | None:
    """Position of the size that the page shows first: the chosen one, or one of about ten.

    Examples
    --------
    >>> sizes = [{"n_features": k} for k in (2, 9, 12)]
    >>> first_size({"sizes": sizes, "cv": None})
    1
    >>> first_size({"sizes": sizes, "cv": {"chosen": {"n_features": 12}}})
    2
    """
    sizes = [one["n_features"] for one in summary["sizes"]]
    if not sizes:
        return None
    wanted = PREFERRED_SIZE if summary["cv"] is None else summary["cv"]["chosen"]["n_features"]
    return min(range(len(sizes)), key=lambda i: abs(sizes[i] - wanted))


def first_sentence(text: str) -> tuple[str, str]:
    """The first sentence, and the others.

    Examples
    --------
    >>> first_sentence("2 of 9 features reach 0.9. forest reaches 0.95 with 3.")
    ('2 of 9 features reach 0.9.', 'forest reaches 0.95 with 3.')
    """
    first, stop, rest = text.partition(". ")
    return (first + stop.rstrip(), rest)


def shown_name(name: object, longest: int = LONGEST_NAME) -> str:
    r"""Name as one line that UTF-8 can hold, cut if it is long.

    Examples
    --------
    >>> shown_name("two\nlines"), shown_name("abcdef", longest=4), shown_name(" ")
    ('two lines', 'abc…', '(no name)')
    """
    text = str(name).encode("utf-8", "replace").decode("utf-8")
    text = " ".join(visible(text).split())
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return text or "(no name)"


def breakable(text: str) -> Markup:
    """Text, escaped, whose long words may go on in the next line after a sign or before a capital.

    Examples
    --------
    >>> str(breakable("'YearsInCurrentRole' & HTTPServer_load_1.50000"))
    '&#39;Years<wbr>In<wbr>Current<wbr>Role&#39; &amp; HTTP<wbr>Server_<wbr>load_<wbr>1.50000'
    """
    parts = [
        Markup("<wbr>").join(_syllables(word)) if len(word) > LONG_WORD else word
        for word in re.split(r"(\s+)", _encodable(text))
    ]
    return Markup("").join(parts)


def _syllables(word: str) -> list[str]:
    """Parts of a word between which a line may end; as ``breakable`` of the script has them."""
    ends = [
        i
        for i in range(1, len(word))
        if (word[i - 1] in SIGNS and word[i] not in SIGNS and not _in_number(word, i))
        or (word[i - 1].islower() and word[i].isupper())
        or (word[i - 1].isupper() and word[i].isupper() and word[i + 1 : i + 2].islower())
    ]
    return [word[i:j] for i, j in pairwise([0, *ends, len(word)])]


def _in_number(word: str, i: int) -> bool:
    return i > 1 and word[i - 1] in ".:" and word[i - 2].isdigit() and word[i].isdigit()


def _facts(summary: Mapping[str, Any], method: str) -> list[str]:
    """What was measured, in a few words each."""
    data, cv = summary["data"], summary["cv"]
    facts = [feature_words(summary if data is None else data)]
    if data is not None:
        facts.insert(0, row_words(data))
        classes = data["target"].get("classes")
        kinds = f", {counted(len(classes), 'class', 'classes')}" if classes else ""
        facts.append(f"{data['task']}{kinds}")
    facts.append(f"method {method}")
    if summary.get("test") is not None:
        rate = rate_words(summary["test"]["n_discoveries"], summary["test"]["level"])
        facts.append(f"{rate}, tested one by one" if acts_together(summary) else rate)
    if cv is not None:
        facts += [
            counted(cv["n_folds"], "fold"),
            f"measured by {measure_words(cv['scoring'])}",
            f"size chosen by the rule “{RULES.get(cv['rule'], _words(cv['rule']))}”",
        ]
        if cv["chosen"].get("cost") is not None:
            facts.append(f"the chosen features cost {cv['chosen']['cost']:,g}")
        nested = cv["nested"]
        if nested is not None and nested["score"] is not None:
            facts.append(
                f"whole procedure, choice of size included (nested): {_score(nested['score'])} "
                f"± {_score(nested['se'])}"
            )
    return facts


def _real(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """Rows of the features that are least by chance, and what is said of them."""
    section = summary.get("test")
    if section is None:
        return None
    rows = zip(*(section[name] for name in ("features", "log10_p", "q_value", "width")))
    n, chosen = section["n_discoveries"], section["n_chosen"]
    size = None if summary["cv"] is None else summary["cv"]["chosen"]["n_features"]
    both = ""
    together = acts_together(summary)
    if chosen is not None and size is not None and not together:
        both = _both_words(size, chosen)
    return {
        "words": rate_words(n, section["level"]),
        "both": both if n else "",
        "together": together,
        "rows": [
            (place, _probability(10.0**p), _probability(q), "" if w is None else f"{w:g}")
            for place, p, q, w in rows
        ],
        "wide": any(w is not None for w in section["width"]),
        "more": max(n - len(section["features"]), 0),
    }


def _both_words(size: int, chosen: int) -> str:
    """How many of the chosen features are discoveries.

    Examples
    --------
    >>> _both_words(1, 1), _both_words(5, 0)
    ('The chosen feature is among them.', 'Of the 5 chosen features, none is among them.')
    """
    if size == 1:
        return f"The chosen feature is {'' if chosen else 'not '}among them."
    few = f"{chosen:,} {'is' if chosen == 1 else 'are'}" if chosen else "none is"
    return f"Of the {counted(size, 'chosen feature')}, {few} among them."


def _probability(value: float) -> str:
    words = shown_p(math.log(value) if value > 0 else -math.inf)
    return words.replace("e-", "e\N{MINUS SIGN}").replace(" ", "\N{NO-BREAK SPACE}")


def _agreement(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is said of the stability index, whether it has a curve, and folds differ at all."""
    if summary["stability"] is None:
        return None
    section, words = summary["stability"], stability_words(dict(summary))
    told = [value for value in section["index"] if value is not None]
    alike = len(told) > 1 and min(told) == 1
    shares = (share for row in section["rows"] for share in row["frequency"])
    return {
        "drawn": len(told) > 1 and not alike,
        "words": f"Every fold chooses the same ones at every size. {words}" if alike else words,
        "differs": any(share is not None and 0 < share < 1 for share in shares),
    }


def _notices(summary: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Notices under their headings, those first that put the whole result in doubt."""
    found: dict[str, list[str]] = {"Check this first": [], "Please note": []}
    for notice in summary["notices"]:
        heading = "Check this first" if notice["kind"] in GRAVE else "Please note"
        found[heading].append(notice["text"])
    return [(heading, texts) for heading, texts in found.items() if texts]


def _varies(points: Mapping[str, Any]) -> bool:
    """Whether the number of features changes along the path, and is not its parameter itself."""
    return len(set(points["n_selected"])) > 1 and points["n_selected"] != points["parameter"]


def _alike(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """Whether any two features are alike enough for a map, and what is said if not."""
    section = summary["redundancy"]
    if section is None:
        return None
    which = compared_words(summary)
    rows = section["similarity"]
    pairs = [v for i, row in enumerate(rows) for v in row[:i] if v is not None]
    most = max(pairs, default=0.0)
    size = None if which != "chosen" else summary["cv"]["chosen"]["n_features"]
    few = f"{len(rows)} of the {size:,}" if size and size > len(rows) else f"The {len(rows)}"
    words = (
        f"{few} {which} features have little in common: no two of their kernels are "
        f"more alike than {most:.2f}, where 1 means that two say the same."
    )
    return {"drawn": most >= ALIKE, "words": words, "which": which}


def _words(name: str) -> str:
    return str(name).replace("_", " ")


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _joined(text: str) -> str:
    """A sentence in which a score and its error are not parted by the end of a line."""
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def _score(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def _weight(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _python(value: object) -> str:
    """A Python literal with double quotes, in ASCII."""
    return json.dumps(str(value))


def _encodable(value: Any) -> Any:
    """Half a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    if type(value) is not str:
        return value
    return visible(value.encode("utf-8", "replace").decode("utf-8"))


def _asset(name: str) -> str:
    return resources.files("kernelpath.report").joinpath("page", name).read_text("utf-8")


@cache
def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in SCRIPTS) + "})();\n"


def _policy(script: str) -> str:
    """Content security policy: nothing is loaded, and only our own script runs."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def _template() -> Any:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_encodable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": shown_name,
        "words": _words,
        "score": _score,
        "weight": _weight,
        "python": _python,
        "counted": counted,
        "capitalized": _capitalized,
        "joined": _joined,
        "breakable": breakable,
    }
    return environment.from_string(_asset("page.html.jinja"))

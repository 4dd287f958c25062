"""The tables that commands print: sizes, scores, discoveries, methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from rich.table import Table as RichTable
from rich.text import Text

from kernelpath.catalogue import METHODS
from kernelpath.cli.console import output_console, safe
from kernelpath.path.feature_path import FeaturePath
from kernelpath.path.points import BEYOND
from kernelpath.report.words import measure_words

ROUND = frozenset(m * 10**e for e in range(7) for m in (1, 2, 5))
SAME_AS_SIZE = ("budget", "n_features")  # parameters that are a number of features
MOST_DISCOVERIES = 15  # rows of their table
ALL_UP_TO = 10  # smaller sizes all have a row
Columns = dict[str, tuple[int, list[str]]]  # least width and cells, by the name of the column


def _new_table() -> RichTable:
    return RichTable(box=None, pad_edge=False, header_style="bold")


def _add_names(table: RichTable, console: Any, *others: int) -> None:
    """A column of names that is cut so that the others, of these widths, stay whole."""
    room = console.width - sum(others) - 2 * len(others)
    table.add_column("heaviest features", overflow="ellipsis", no_wrap=True, max_width=max(room, 8))


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"


# -- a path ----------------------------------------------------------------------------------------


def summary_sizes(path: FeaturePath) -> list[int]:
    """Round sizes from the largest support down to one feature, as far as the path has them."""
    largest = int(path.n_selected.max())
    ends = {largest, int(path.n_selected[-1])}
    if path.extension is None:
        return sorted((ROUND & set(path.n_selected.tolist()) | ends) - {0}, reverse=True)
    known = np.intersect1d(path.sizes, list(ROUND)).tolist()
    return sorted({s for s in known if s < largest} | ends - {0}, reverse=True)


def path_rows(
    path: FeaturePath, more_sizes: Iterable[int] = (), n_names: int = 5
) -> list[dict[str, Any]]:
    """Rows of the table, as plain values: one per round size and per size asked for."""
    rows = []
    parameter = "p" if path.parameter_name == "p" else "parameter"
    for size in sorted({*summary_sizes(path), *more_sizes} - {0}, reverse=True):
        point = path.at(n_features=size)
        rows.append(
            {
                "n_features": size,
                parameter: point.parameter,
                "kkt": _known(point.kkt),
                "gap": _known(point.gap),
                "note": point.note,
                "origin": point.origin,
                "top": list(point.names[:n_names]),
            }
        )
    return rows


def _known(value: float | None) -> float | None:
    return None if value is None or value != value else value


def print_path(rows: list[dict[str, Any]], parameter: str = "p", verbose: bool = False) -> None:
    """Print the compact table of a path; with ``verbose`` its parameter and certificates too.

    Columns that would be empty are left out.
    """
    console, table = output_console(), _new_table()
    columns = {"features": (9, [f"{row['n_features']:,}" for row in rows])}
    if verbose:
        columns |= _parameter_column(rows, parameter)
        columns |= _certificate_columns(rows, always=parameter == "p")
    # Numbers keep their width in a narrow terminal; only the names are cut.
    for name, (width, _) in columns.items():
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    _add_names(table, console, *(max(width, len(name)) for name, (width, _) in columns.items()))
    names = [Text(", ".join(safe(name, 24) for name in row["top"])) for row in rows]
    for row_cells in zip(*(cells for _, cells in columns.values()), names):
        table.add_row(*row_cells)
    console.print(table)
    if verbose and any(map(_is_beyond, rows)):
        note = "* beyond the ends of the path, by another elimination tolerance at that p"
        console.print(Text(note, style="dim"))


def _is_beyond(row: dict[str, Any]) -> bool:
    return row["origin"] == BEYOND


def _parameter_column(rows: list[dict[str, Any]], parameter: str) -> Columns:
    if parameter == "p":
        return {"p": (7, [f"{row['p']:.4f}" + (" ", "*")[_is_beyond(row)] for row in rows])}
    if parameter in SAME_AS_SIZE:
        return {}
    return {parameter: (7, [f"{row['parameter']:.4g}" for row in rows])}


def _certificate_columns(rows: list[dict[str, Any]], always: bool) -> Columns:
    """KKT residual and gap; ``always`` even where no row has one."""
    columns: Columns = {}
    for name, key, digits, width in (("KKT", "kkt", 0, 5), ("gap", "gap", 1, 7)):
        values = [row[key] for row in rows]
        if always or any(value is not None for value in values):
            cells = ["" if value is None else f"{value:.{digits}e}" for value in values]
            columns[name] = (width, cells)
    return columns


# -- scores ----------------------------------------------------------------------------------------


def shown_sizes(sizes: list[int], always: Iterable[int] = ()) -> list[int]:
    """Sizes with a row of their own: small ones, round ones, the last and those asked for.

    Examples
    --------
    >>> shown_sizes([1, 2, 11, 12, 13, 20, 23], always=[13])
    [1, 2, 13, 20, 23]
    >>> shown_sizes([1, 2, 11, 20])  # a single one is not hidden
    [1, 2, 11, 20]
    """
    wanted = ROUND | set(always) | set(sizes[-1:])
    shown = [k for k in sizes if k <= ALL_UP_TO or k in wanted]
    # A line that says that one row is missing would take as much room as that row.
    return sizes if len(sizes) - len(shown) == 1 else shown


def print_scores(summary: dict[str, Any]) -> None:
    """Print the score of every shown size, with the chosen and the best one marked."""
    cv = summary["cv"]
    marks = {cv["best"]["n_features"]: ["best"]}
    marks.setdefault(cv["chosen"]["n_features"], []).append(f"chosen ({cv['rule']})")
    rows = {size["n_features"]: size for size in summary["sizes"]}
    console, table = output_console(), _new_table()
    shown = shown_sizes(sorted(rows), marks)
    measure = safe(measure_words(cv["scoring"]), 30)
    said = {k: ", ".join(marks.get(k, [])) for k in shown}
    numbers = {"features": 9, measure: max(len(measure), 7), "se": 6}
    costly = all("cost" in row for row in rows.values())
    if costly:
        numbers["cost"] = 7
    widths = (*numbers.values(), max(map(len, said.values())))
    for name, width in numbers.items():
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    table.add_column("", no_wrap=True, min_width=widths[-1])
    _add_names(table, console, *widths)
    for k in shown:
        row = rows[k]
        names = [summary["features"][i]["name"] for i in row["features"][:5]]
        table.add_row(
            f"{k:,}",
            _number(row["score"]),
            _number(row["se"]),
            *([f"{row['cost']:,g}"] if costly else []),
            said[k],
            Text(", ".join(safe(name, 24) for name in names)),
            style="bold" if k == cv["chosen"]["n_features"] else "",
        )
    console.print(table)
    if len(shown) < len(rows):
        note = f"{len(shown)} of the {len(rows)} sizes that were scored"
        console.print(Text(note, style="dim"))


def baseline_lines(summary: dict[str, Any]) -> list[str]:
    """Best score of every baseline, one line each."""
    lines = []
    for own in summary["baselines"]:
        known = [place for place, score in enumerate(own["score"]) if score is not None]
        if known:
            best = max(known, key=lambda place: own["score"][place])
            size, score = own["n_features"][best], own["score"][best]
            lines.append(f"{safe(own['name'])}: best {_number(score)} at {size:,}.")
    return lines


def print_comparison(comparison: dict[str, Any]) -> None:
    """Print one row per size and one column per method, then the best and the one-SE sizes."""
    methods = comparison["methods"]
    scores = [dict(zip(m["n_features"], m["score"])) for m in methods]
    marked = {m[name]["n_features"] for m in methods for name in ("best", "one_se")}
    sizes = sorted({k for own in scores for k in own})
    table = _new_table()
    table.add_column("features", justify="right", no_wrap=True, min_width=9)
    for method in methods:
        table.add_column(method["name"], justify="right", no_wrap=True, min_width=10)
    for k in shown_sizes(sizes, marked):
        table.add_row(f"{k:,}", *(_number(own.get(k)) for own in scores))
    table.add_section()
    for label, name in (("best", "best"), ("one se", "one_se")):
        table.add_row(label, *(_at(method[name]) for method in methods), style="bold")
    output_console().print(table)


def _at(one: dict[str, Any]) -> str:
    return f"{_number(one['score'])} at {one['n_features']:,}"


# -- a test ----------------------------------------------------------------------------------------


def print_discoveries(rows: list[dict[str, Any]], scale: str = "std", adjusted: str = "q") -> None:
    """Print the first discoveries of a test, one per row; a column that would be empty is not."""
    shown = rows if len(rows) <= MOST_DISCOVERIES + 1 else rows[:MOST_DISCOVERIES]
    columns: Columns = {
        "alignment": (9, [f"{row['alignment']:.2f}" for row in shown]),
        "p": (7, [_probability(row["p_value"]) for row in shown]),
        adjusted: (7, [_probability(row["q_value"]) for row in shown]),
    }
    if any(row["width"] is not None for row in shown):
        columns["width"] = (6, [width_words(row["width"], scale) for row in shown])
    console, table = output_console(), _new_table()
    room = console.width - sum(width + 2 for width, _ in columns.values())
    table.add_column("feature", overflow="ellipsis", no_wrap=True, max_width=max(room, 8))
    for name, (width, _) in columns.items():
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    names = [Text(safe(row["name"])) for row in shown]
    for name, *cells in zip(names, *(cells for _, cells in columns.values())):
        table.add_row(name, *cells)
    console.print(table)
    if len(shown) < len(rows):
        console.print(f"and {len(rows) - len(shown):,} more")


def _probability(value: float) -> str:
    from kernelpath.path.significance import shown_p

    return shown_p(float(np.log(value)) if value > 0 else -np.inf)


def width_words(width: float | None, scale: str = "std") -> str:
    """A width in units of the scale of a column.

    Examples
    --------
    >>> width_words(1.0), width_words(0.25), width_words(1.0, "median"), width_words(None)
    ('std', 'std/4', 'median', '')
    """
    if width is None:
        return ""
    unit = "std" if scale == "multi" else scale
    part = round(1 / width, 6)
    if width == 1:
        return unit
    return f"{unit}/{part:.0f}" if part == int(part) else f"{width:g} {unit}"


# -- methods ---------------------------------------------------------------------------------------


def print_methods() -> None:
    """Print the methods, one per row."""
    table = _new_table()
    for name in ("method", "kind", "what it measures", "guide"):
        table.add_column(name, no_wrap=name != "what it measures")
    for entry in METHODS.values():
        line = f"{entry.line} (pip install {entry.needs})" if entry.needs else entry.line
        table.add_row(entry.name, entry.kind, line, f"{entry.guide}.md")
    output_console().print(table)

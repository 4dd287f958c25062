"""One run of the command line: table in, path out, with words for what is wrong with a table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from kernelpath.catalogue import FIRST_BUDGETS, METHODS, Method, budgets
from kernelpath.cli.console import in_option_words, safe
from kernelpath.cli.files import write_csv, write_frame
from kernelpath.cli.printing import path_rows
from kernelpath.cli.record import Record, write_page, write_record
from kernelpath.errors import DataError
from kernelpath.path.feature_path import FeaturePath, PathPoint
from kernelpath.tables.read import LoadedTable
from kernelpath.tables.table import column_list, columns_not_finite, named_columns
from kernelpath.tables.targets import infer_task


@dataclass(frozen=True)
class Run:
    """What a run found."""

    path: FeaturePath
    point: PathPoint
    alignments: np.ndarray | None  # of a method that knows them
    seconds: float
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Everything that ``--json`` prints."""
        provenance = self.path.provenance
        keys = selected_header(self)
        selected = [dict(zip(keys, row)) for row in selected_rows(self)]
        return {
            "method": self.path.method,
            "task": provenance["task"],
            "n_samples": provenance["data"]["n_samples"],
            "n_features": provenance["data"]["n_features"],
            "n_constant": provenance.get("n_constant"),
            "seconds": round(self.seconds, 3),
            "notes": self.notes,
            "points": path_rows(self.path, [self.point.n_selected]),
            "selected": selected,
        }

    def summary(self, X: Any, y: Any) -> dict[str, Any]:
        """Summary that the page is drawn from."""
        from kernelpath.report.summary import summarize_path

        return summarize_path(self.path, X, y, task=self.path.provenance["task"])


# -- fitting ---------------------------------------------------------------------------------------


def run_selector(selector: Any, X: Any, y: Any, names: list[str] | None, size: int | None) -> Run:
    """Fit, collecting warnings as notes; choose the point of a size, or the method's own."""
    start = time.perf_counter()
    given = None if hasattr(X, "columns") else names
    with collected_warnings() as notes:
        path = _traced(selector, X, y, given)
    check_size(path, size)
    point = _own_point(selector, path) if size is None else path.at(n_features=size)
    if size is None and 0 < path.n_selected[0] == path.n_selected[-1]:
        notes.append("No feature leaves along the path; choose a size with --n-features.")
    if point.n_selected == 0:
        notes.append("No feature is selected anywhere: lower --norm-strength or give --n-features.")
    alignments = getattr(selector, "alignments_", None)
    return Run(path, point, alignments, time.perf_counter() - start, notes)


def _traced(selector: Any, X: Any, y: Any, names: list[str] | None) -> FeaturePath:
    if not hasattr(selector, "fit"):
        from kernelpath.estimators.rankers import ranked_path

        return ranked_path(selector, X, y, names)
    return selector.fit(X if names is None else named_columns(X, names), y).path_


def _own_point(selector: Any, path: FeaturePath) -> PathPoint:
    """Point that a method chooses itself; of the others a small one."""
    if hasattr(selector, "position_"):  # smallest error of rows left out
        return path[selector.position_]
    if path.extension is not None:
        return selector._choose_point(path, None)
    sizes = np.unique(path.n_selected)
    return path.at(n_features=int(sizes[sizes <= max(FIRST_BUDGETS, sizes[0])][-1]))


def run_table(
    method: Method,
    settings: dict[str, Any],
    table: LoadedTable,
    *,
    task: str,
    kernel: str,
    size: int | None,
) -> Run:
    """Fit to a table from a file; what is wrong with it is said in words of the command line."""
    kind = check_table(method, kernel, table, task)
    sizes = budgets(method, len(table.feature_names))
    if method.kind == "choice":  # a problem for each: no more than are asked for
        most = min(max(FIRST_BUDGETS, size or 0), len(table.feature_names))
        sizes = [*range(1, min(FIRST_BUDGETS, most) + 1), *([most] if most > FIRST_BUDGETS else [])]
    selector = method.selector(kind, sizes, **settings)
    with naming_bad_columns(table):
        run = run_selector(selector, table.X, table.y, table.feature_names, size)
    run.notes[:0] = list(table.notes)
    run.notes.extend(category_notes(table))
    return run


def check_table(method: Method, kernel: str, table: LoadedTable, task: str) -> str:
    """Refuse a table that the method cannot use, before any work; return the task."""
    refuse_methods([method.name], table, task, "take another --method")
    check_text(table, kernel, method.name if method.refuses_text() else "")
    # A path of lp-KTA says the task that was asked for.
    return task if method.name == "lp-kta" else infer_task(table.y, task)


def refuse_methods(names: list[str], table: LoadedTable, task: str, instead: str) -> None:
    """Refuse a table whose target or rows one of the methods cannot use."""
    kind = infer_task(table.y, task)
    n_classes = len(np.unique(table.y)) if kind == "classification" else 0
    target = "the target" if table.target_name is None else repr(table.target_name)
    for name in names:
        why = METHODS[name].why_not(kind, n_classes, len(table.y), target)
        if why is not None:
            raise DataError(f"{table.source}: {why[0]}; {instead}, or {why[1]}")


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Give a list that holds what was warned of, in words of the command line, at the end."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    texts = [in_option_words(str(w.message)) for w in caught if issubclass(w.category, UserWarning)]
    notes.extend(dict.fromkeys(texts))  # folds warn of the same thing again


def check_size(path: FeaturePath, size: float | None) -> None:
    """Refuse more features than can be selected."""
    usable = path.extension.n_usable if path.extension else path.n_features
    if size is not None and size > usable:
        raise DataError(f"--n-features {size} is too many: only {usable} features can be selected")


# -- what is wrong with a table --------------------------------------------------------------------


def check_text(table: LoadedTable, kernel: Any, numeric: str = "") -> None:
    """Refuse text columns for kernels, or a method, of numbers, and say what to do."""
    if not table.text_columns or (kernel in ("auto", "delta") and not numeric):
        return
    spoilt = _spoilt_numbers(table)
    if spoilt:
        raise DataError(f"{table.source}: {spoilt}; correct the file or use --drop")
    if numeric:
        raise DataError(
            f"{table.source}: {columns_hold(table.text_columns, 'text')}, and {numeric} takes "
            "numbers; leave columns out with --drop, or encode them as numbers"
        )
    raise DataError(
        f"{table.source}: {columns_hold(table.text_columns, 'text')}; add --kernel auto to use "
        "text as categories, leave columns out with --drop, or encode them as numbers"
    )


@contextmanager
def naming_bad_columns(table: LoadedTable) -> Iterator[None]:
    """Name the columns with missing values if those may be why a fit was refused."""
    try:
        yield
    except DataError:
        bad = [table.feature_names[j] for j in np.flatnonzero(_not_finite(table.X))]
        if not bad:
            raise
        raise DataError(
            f"{table.source}: {columns_hold(bad, 'missing (NaN) or infinite values')}; fill them "
            "in, remove those rows, or leave columns out with --drop"
        ) from None


def category_notes(table: LoadedTable) -> list[str]:
    """Say that a column of numbers was used as categories because of some text in it."""
    spoilt = _spoilt_numbers(table)
    return [f"{spoilt}; it was used as categories"] if spoilt else []


def _spoilt_numbers(table: LoadedTable) -> str:
    """Describe the first text column that is mostly numbers, or return ""."""
    for name in table.text_columns:
        text = table.X[name].dropna().astype(str)
        comma = text.str.fullmatch(r"[+-]?\d+,\d+")
        number = pd.to_numeric(text, errors="coerce").notna()
        if (comma | number).mean() < 0.5:
            continue
        if comma.any():
            value = text[comma].iloc[0]
            return f"column {name!r} has numbers with a comma such as {value!r}; write a point"
        value = text[~number].iloc[0]
        return f"column {name!r} is mostly numbers but holds text such as {value[:40]!r}"
    return ""


def columns_hold(names: list[str], content: str, limit: int = 5) -> str:
    """Say which columns hold what."""
    one = len(names) == 1
    return f"{quoted_columns(names, limit)} {'holds' if one else 'hold'} {content}"


def quoted(texts: list[str]) -> str:
    """Texts in quotes, printable.

    Examples
    --------
    >>> quoted(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(repr(safe(text, 40)) for text in texts)


def quoted_columns(names: list[str], limit: int = 5) -> str:
    """Name some columns.

    Examples
    --------
    >>> quoted_columns(["a", "b", "c"], limit=2)
    "columns 'a', 'b' and 1 more"
    """
    return column_list(np.arange(len(names)), names, limit)


def _not_finite(X: Any) -> np.ndarray:
    """Mask of the columns with NaN, infinity or missing text; only run after a refusal."""
    if sparse.issparse(X) or isinstance(X, np.ndarray):
        return np.isin(np.arange(X.shape[1]), columns_not_finite(X))
    infinite = X.select_dtypes("number").isin([np.inf, -np.inf]).any()
    return (X.isna().any() | infinite.reindex(X.columns, fill_value=False)).to_numpy()


# -- files -----------------------------------------------------------------------------------------


def selected_header(run: Run) -> list[str]:
    """Names of the values of a row of `selected_rows`."""
    more = [] if run.alignments is None else ["alignment"]
    return ["name", "weight", *more, "column"]


def selected_rows(run: Run) -> list[tuple]:
    """Name, weight, alignment where it is known, and column of the features, heaviest first."""
    point = run.point
    columns = point.support.nonzero()[0]
    order = columns[(-point.weights[columns]).argsort(kind="stable")]
    names = run.path.feature_names
    return [
        (
            str(names[i]),
            float(point.weights[i]),
            *([] if run.alignments is None else [float(run.alignments[i])]),
            int(i),
        )
        for i in order
    ]


def write_run(run: Run, record: Record, summary: dict[str, Any], folder: Path) -> list[str]:
    """Write the files of a path without scores; return why some were left out."""
    run.path.save(folder / "path.kpath")
    write_frame(folder / "path.csv", run.path.to_frame())
    rows = [(rank, *row) for rank, row in enumerate(selected_rows(run), start=1)]
    write_csv(folder / "selected.csv", ["rank", *selected_header(run)], rows)
    skipped = save_path_picture(run.path, folder)
    skipped += write_page(summary, record, folder)
    write_record(record, folder)
    return skipped


def save_path_picture(path: FeaturePath, folder: Path) -> list[str]:
    """Draw the path, if there is something to draw with."""
    try:
        from kernelpath.report.displays.path import save_plot

        save_plot(path, folder / "path.png")
    except ImportError as error:
        return [str(error)]
    return []

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

from kernelpath.cli.console import in_option_words, safe
from kernelpath.cli.files import write_csv, write_frame
from kernelpath.cli.printing import path_rows
from kernelpath.cli.record import Record, write_page, write_record
from kernelpath.errors import DataError
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.path.feature_path import FeaturePath, PathPoint
from kernelpath.tables.read import LoadedTable
from kernelpath.tables.table import column_list, columns_not_finite, named_columns


@dataclass(frozen=True)
class Run:
    """What a run found."""

    path: FeaturePath
    point: PathPoint
    selector: LpKTASelector
    seconds: float
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Everything that ``--json`` prints."""
        provenance = self.path.provenance
        selected = [
            {"name": name, "weight": weight, "alignment": alignment, "column": column}
            for name, weight, alignment, column in selected_rows(self)
        ]
        return {
            "method": self.path.method,
            "task": provenance["task"],
            "n_samples": provenance["data"]["n_samples"],
            "n_features": provenance["data"]["n_features"],
            "n_constant": provenance["n_constant"],
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


def run_selector(selector: LpKTASelector, X: Any, y: Any, names: list[str] | None) -> Run:
    """Fit, collecting warnings as notes."""
    start = time.perf_counter()
    size = selector.n_features_to_select
    # Chosen after the fit, from the path: only then is it known how many features are usable.
    selector.set_params(n_features_to_select=None)
    if names is not None and not hasattr(X, "columns"):
        X = named_columns(X, names)
    with collected_warnings() as notes:
        selector.fit(X, y)
    path = selector.path_
    check_size(path, size)
    point = selector._choose_point(path, size)
    if size is None and 0 < path.n_selected[0] == path.n_selected[-1]:
        notes.append("No feature leaves along the path; choose a size with --n-features.")
    if point.n_selected == 0:
        notes.append("No feature is selected anywhere: lower --norm-strength or give --n-features.")
    return Run(path, point, selector, time.perf_counter() - start, notes)


def run_table(selector: LpKTASelector, table: LoadedTable) -> Run:
    """Fit to a table from a file; what is wrong with it is said in words of the command line."""
    check_text(table, selector.kernel)
    with naming_bad_columns(table):
        run = run_selector(selector, table.X, table.y, table.feature_names)
    run.notes[:0] = list(table.notes)
    run.notes.extend(category_notes(table))
    return run


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


def check_text(table: LoadedTable, kernel: Any) -> None:
    """Refuse text columns for kernels of numbers, and say what to do."""
    if not table.text_columns or kernel in ("auto", "delta"):
        return
    spoilt = _spoilt_numbers(table)
    if spoilt:
        raise DataError(f"{table.source}: {spoilt}; correct the file or use --drop")
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


def selected_rows(run: Run) -> list[tuple[str, float, float, int]]:
    """Name, weight, alignment and column of the chosen features, heaviest first."""
    point = run.point
    columns = point.support.nonzero()[0]
    order = columns[(-point.weights[columns]).argsort(kind="stable")]
    names = run.path.feature_names
    alignments = run.selector.alignments_
    return [(str(names[i]), float(point.weights[i]), float(alignments[i]), int(i)) for i in order]


def write_run(run: Run, record: Record, summary: dict[str, Any], folder: Path) -> list[str]:
    """Write the files of a path without scores; return why some were left out."""
    run.path.save(folder / "path.kpath")
    write_frame(folder / "path.csv", run.path.to_frame())
    rows = [(rank, *row) for rank, row in enumerate(selected_rows(run), start=1)]
    write_csv(folder / "selected.csv", ["rank", "name", "weight", "alignment", "column"], rows)
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

"""One run of the command line: table in, path out, files written together or not at all."""

from __future__ import annotations

import csv
import errno
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from kernelpath.atomic import check_writable
from kernelpath.cli.console import in_option_words, path_rows
from kernelpath.errors import DataError
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.path import FeaturePath, PathPoint
from kernelpath.tables import Table

FILES = ("path.kpath", "path.csv", "selected.csv", "path.png")
Progress = Callable[[int, int], None]


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


def run_selector(
    selector: LpKTASelector, X: Any, y: Any, names: list[str] | None, progress: Progress
) -> Run:
    """Fit, collecting warnings as notes."""
    start = time.perf_counter()
    size = selector.n_features_to_select
    # Chosen after the fit, from the path: only then is it known how many features are usable.
    selector.set_params(n_features_to_select=None)
    selector._progress = progress
    if names is not None and not hasattr(X, "columns"):
        selector._column_names = np.asarray(names, dtype=object)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        selector.fit(X, y)
    path = selector.path_
    usable = path.extension.n_usable if path.extension else path.n_features
    if size is not None and size > usable:
        raise DataError(f"--n-features {size} is too many: only {usable} features can be selected")
    point = selector._choose_point(path, size)
    notes = [in_option_words(str(w.message)) for w in caught if issubclass(w.category, UserWarning)]
    if size is None and 0 < path.n_selected[0] == path.n_selected[-1]:
        notes.append("No feature leaves along the path; choose a size with --n-features.")
    if point.n_selected == 0:
        notes.append("No feature is selected anywhere: lower --norm-strength or give --n-features.")
    return Run(path, point, selector, time.perf_counter() - start, notes)


def run_table(selector: LpKTASelector, table: Table, progress: Progress) -> Run:
    """Fit to a table from a file; what is wrong with it is said in words of the command line."""
    if table.text_columns and selector.kernel not in ("auto", "delta"):
        spoilt = _spoilt_numbers(table)
        if spoilt:
            raise DataError(f"{table.source}: {spoilt}; correct the file or use --drop")
        raise DataError(
            f"{table.source}: {_columns(table.text_columns, 'text')}; add --kernel auto to use "
            "text as categories, leave columns out with --drop, or encode them as numbers"
        )
    try:
        run = run_selector(selector, table.X, table.y, table.feature_names, progress)
    except DataError:
        bad = [table.feature_names[j] for j in np.flatnonzero(_not_finite(table.X))]
        if not bad:
            raise
        raise DataError(
            f"{table.source}: {_columns(bad, 'missing (NaN) or infinite values')}; fill them in, "
            "remove those rows, or leave columns out with --drop"
        ) from None
    run.notes[:0] = list(table.notes)
    spoilt = _spoilt_numbers(table)
    if spoilt:
        run.notes.append(f"{spoilt}; it was used as categories")
    return run


def _spoilt_numbers(table: Table) -> str:
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


def _columns(names: list[str], content: str, limit: int = 5) -> str:
    """Say which columns hold what."""
    shown = ", ".join(repr(name if len(name) < 60 else name[:56] + "...") for name in names[:limit])
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    one = len(names) == 1
    return f"{'column' if one else 'columns'} {shown}{more} {'holds' if one else 'hold'} {content}"


def _not_finite(X: Any) -> np.ndarray:
    """Mask of the columns with NaN, infinity or missing text; only run after a refusal."""
    if sparse.issparse(X):
        X = X.tocsc()
        bad = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))[~np.isfinite(X.data)]
        return np.bincount(bad, minlength=X.shape[1]) > 0
    if isinstance(X, np.ndarray):
        return np.logical_not(np.isfinite(X).all(axis=0))
    infinite = X.select_dtypes("number").isin([np.inf, -np.inf]).any()
    return (X.isna().any() | infinite.reindex(X.columns, fill_value=False)).to_numpy()


def selected_rows(run: Run) -> list[tuple[str, float, float, int]]:
    """Name, weight, alignment and column of the chosen features, heaviest first."""
    point = run.point
    columns = point.support.nonzero()[0]
    order = columns[(-point.weights[columns]).argsort(kind="stable")]
    names = run.path.feature_names
    alignments = run.selector.alignments_
    return [(str(names[i]), float(point.weights[i]), float(alignments[i]), int(i)) for i in order]


@contextmanager
def output_folder(directory: Path | None) -> Iterator[None]:
    """Prove at once that a folder can be written to; after a failure, take away what was made."""
    if directory is None:
        yield
        return
    made = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    try:
        check_writable(directory)
        yield
    except BaseException:
        for folder in made:
            with suppress(OSError):  # not empty: somebody else uses it
                folder.rmdir()
        raise


def write_run(run: Run, directory: str | os.PathLike[str]) -> tuple[list[Path], list[str]]:
    """Write all files of a run, or, after any exception, leave those of an earlier one.

    Returns the files and the reasons for those left out.
    """
    out = check_writable(directory)
    stage = Path(tempfile.mkdtemp(prefix=".kernelpath-", dir=out))
    try:
        skipped = _write_files(run, stage)
        return _move_together(stage, out), skipped
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "no space left; free some or choose another directory"
        raise DataError(f"{out}: cannot be written: {reason}") from error
    except DataError as error:
        raise DataError(str(error).replace(str(stage), str(out))) from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _write_files(run: Run, folder: Path) -> list[str]:
    run.path.save(folder / "path.kpath")
    run.path.to_frame().to_csv(folder / "path.csv", index=False)
    with open(folder / "selected.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["rank", "name", "weight", "alignment", "column"])
        for rank, row in enumerate(selected_rows(run), start=1):
            writer.writerow([rank, *row])
    try:
        from kernelpath.report.displays import save_plot

        save_plot(run.path, folder / "path.png")
    except ImportError as error:
        return [str(error)]
    return []


def _move_together(stage: Path, out: Path) -> list[Path]:
    """Move the files to their place; an exception half-way brings the earlier ones back."""
    earlier = stage / "earlier"
    earlier.mkdir()
    kept = [name for name in FILES if (out / name).exists()]
    for name in kept:
        try:  # a second name costs no space; some file systems have none
            os.link(out / name, earlier / name)
        except OSError:
            shutil.copy2(out / name, earlier / name)
    written = [name for name in FILES if (stage / name).exists()]
    try:
        for name in written:
            os.replace(stage / name, out / name)
        for name in set(kept) - set(written):
            (out / name).unlink()  # a picture of an earlier run would contradict the new path
    except BaseException:
        for name in FILES:
            if name in kept:
                os.replace(earlier / name, out / name)
            else:
                (out / name).unlink(missing_ok=True)
        raise
    return [out / name for name in written]

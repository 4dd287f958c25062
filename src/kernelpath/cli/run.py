"""One run of the command line: table in, path out, files written together or not at all."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelpath.atomic import check_writable
from kernelpath.cli.console import path_rows
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.path import FeaturePath, PathPoint

FILES = ("path.kpath", "path.csv", "selected.csv", "path.png")


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
            "points": path_rows(self.path),
            "selected": selected,
        }


def run_selector(
    selector: LpKTASelector, X: Any, y: Any, names: list[str] | None, progress: Any
) -> Run:
    """Fit, collecting warnings as notes."""
    start = time.perf_counter()
    selector._progress = progress
    if names is not None and not hasattr(X, "columns"):
        selector._column_names = np.asarray(names, dtype=object)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        selector.fit(X, y)
    path = selector.path_
    point = selector._choose_point(path, selector.n_features_to_select)
    notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    return Run(path, point, selector, time.perf_counter() - start, notes)


def selected_rows(run: Run) -> list[tuple[str, float, float, int]]:
    """Name, weight, alignment and column of the chosen features, heaviest first."""
    point = run.point
    columns = point.support.nonzero()[0]
    order = columns[(-point.weights[columns]).argsort(kind="stable")]
    names = run.path.feature_names
    alignments = run.selector.alignments_
    return [(str(names[i]), float(point.weights[i]), float(alignments[i]), int(i)) for i in order]


def write_run(run: Run, directory: str | os.PathLike[str]) -> tuple[list[Path], list[str]]:
    """Write all files of a run; each name appears complete or not at all.

    Returns the files and the reasons for those left out.
    """
    out = check_writable(directory)
    stage = Path(tempfile.mkdtemp(prefix=".kernelpath-", dir=out))
    skipped = []
    try:
        run.path.save(stage / "path.kpath")
        run.path.to_frame().to_csv(stage / "path.csv", index=False)
        with open(stage / "selected.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["rank", "name", "weight", "alignment", "column"])
            for rank, row in enumerate(selected_rows(run), start=1):
                writer.writerow([rank, *row])
        try:
            from kernelpath.report.displays import save_plot

            save_plot(run.path, stage / "path.png")
        except ImportError as error:
            skipped.append(str(error))
        written = []
        for name in FILES:
            if (stage / name).exists():
                os.replace(stage / name, out / name)
                written.append(out / name)
        return written, skipped
    finally:
        shutil.rmtree(stage, ignore_errors=True)

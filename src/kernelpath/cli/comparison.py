"""``kernelpath compare`` after its options: from a table to the files of a comparison."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelpath.catalogue import METHODS
from kernelpath.cli.cv import check_sizes, save_score_picture, split_groups, write_scores
from kernelpath.cli.files import write_json
from kernelpath.cli.record import Record, write_page, write_record
from kernelpath.cli.run import (
    category_notes,
    check_text,
    collected_warnings,
    naming_bad_columns,
    refuse_methods,
)
from kernelpath.cli.settings import CVSettings
from kernelpath.comparison import Comparison, compare
from kernelpath.tables.read import LoadedTable


@dataclass(frozen=True)
class ComparisonRun:
    """What a comparison found, and what is to be said about it."""

    found: Comparison
    seconds: float
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return self.found.as_dict(self.notes) | {"seconds": round(self.seconds, 3)}


def run_comparison(
    wanted: list[str], table: LoadedTable, settings: CVSettings, memory: Path | None
) -> ComparisonRun:
    """Score the methods of a table from a file."""
    start = time.perf_counter()
    refuse_methods(wanted, table, settings.task, "leave it out of --methods")
    table, groups = split_groups(table, settings.groups)
    check_sizes(table, settings.sizes)
    numeric = [name for name in wanted if METHODS[name].refuses_text(compared=True)]
    check_text(table, settings.kernel, numeric[0] if numeric else "")
    arguments = settings.arguments()
    shared = ("cv", "predictor", "scoring", "n_features", "n_jobs", "random_state", "verbose")
    with collected_warnings() as notes, naming_bad_columns(table):
        found = compare(
            table.X,
            table.y,
            wanted,
            kernel=settings.kernel,
            task=settings.task,
            groups=groups,
            memory=None if memory is None else str(memory),
            feature_names=table.feature_names,
            **{name: arguments[name] for name in shared},
        )
    found.model.memory = None  # the hidden folder of this run
    said = [*table.notes, *notes, *category_notes(table)]
    return ComparisonRun(found, time.perf_counter() - start, said)


def write_comparison(run: ComparisonRun, record: Record, folder: Path) -> list[str]:
    """Write the files of a comparison; return why some were left out."""
    found = run.found
    write_scores(folder / "comparison.csv", found.scores)
    write_json(folder / "comparison.json", run.as_dict())
    skipped = save_score_picture(found.model, folder / "comparison.png")
    skipped += write_page(found.summary(), record, folder, "comparison.html")
    write_record(record, folder)
    return list(dict.fromkeys(skipped))

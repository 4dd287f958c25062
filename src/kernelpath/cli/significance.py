"""``kernelpath test``: which features say more about the target than chance."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from kernelpath.cli import options as opt
from kernelpath.cli import significance_options as own
from kernelpath.cli.console import (
    OutputOptions,
    friendly_errors,
    print_json,
    say_files,
    say_notes,
)
from kernelpath.cli.invocation import apply_config, table_settings
from kernelpath.cli.manifest import TEST_FILES
from kernelpath.cli.run_files import Record, refuse_overwriting, write_csv, write_json, write_record
from kernelpath.cli.run_folder import output_folder, refuse_folder, write_together
from kernelpath.kernels import KERNELS
from kernelpath.utils.progress import begin

if TYPE_CHECKING:
    from kernelpath.path.significance import AlignmentTest
    from kernelpath.tables.read import LoadedTable

FORMAT, VERSION = "kernelpath-test", 1
NULL = (
    "The null is: this column alone says nothing about the target; followers of a relevant column "
    "count too."
)
BY_NAME = {
    "bh": "Benjamini and Hochberg",
    "by": "Benjamini and Yekutieli",
    "e-bh": "e-BH",
    "max": "the best of all features by chance",
}
FAMILY = 1000  # permutations for the family-wise error rate
HEADER = (
    "rank", "name", "alignment", "z", "p_value", "log10_p", "q_value", "width", "discovery",
    "column",
)  # fmt: skip


def significance_command(
    context: typer.Context,
    data: opt.DataArgument,
    target: opt.TargetOption = None,
    level: own.LevelOption = 0.1,
    adjust: own.AdjustOption = own.DEFAULT_ADJUSTMENT,
    task: opt.TaskOption = opt.Task.auto,
    drop: opt.DropOption = None,
    missing: opt.MissingOption = opt.DEFAULT_MISSING,
    keep_identifiers: opt.IdentifiersOption = False,
    max_columns: opt.MaxColumnsOption = None,
    out: opt.OutOption = None,
    overwrite: opt.OverwriteOption = False,
    kernel: opt.KernelOption = opt.DEFAULT_KERNEL,
    bandwidth: own.WidthsOption = own.Widths.multi,
    permutations: own.PermutationsOption = 0,
    seed: own.PermutationSeedOption = 0,
    jobs: own.ThreadsOption = None,
    config: opt.ConfigOption = None,
    as_json: opt.JsonOption = False,
    quiet: opt.QuietOption = False,
) -> None:
    """Test every feature for a relation to the target, linear or not.

    A feature gets a p-value, how often chance alone would align it with the target as well, and a
    q-value, the smallest false discovery rate at which it is a discovery. Its kernel has several
    widths, wide ones for slow effects and narrow ones for waves, and the p-value pays for their
    choice. The table that is printed gives the discoveries, the least likely by chance first.

    The null is: this column alone says nothing about the target. Copies and followers of a
    relevant column are discoveries too.

    Example: `kernelpath test genes.parquet --target outcome --level 0.05 --out tested/`
    """
    given = apply_config(context)
    settings = _settings(given)
    output = OutputOptions(out, None, as_json, given["quiet"], False, overwrite)
    with friendly_errors():
        results = [] if out is None else [out / name for name in TEST_FILES]
        refuse_overwriting(results, [data, config])
        refuse_folder(out, TEST_FILES, overwrite)
        read = {"target": target, "drop": drop or [], "max_columns": max_columns}
        _run(context, data, read, settings, output)


@dataclass(frozen=True)
class Settings:
    """What is asked for."""

    level: float
    adjust: str
    task: str
    kernel: str
    bandwidth: str
    permutations: int
    seed: int
    jobs: int
    missing: str
    identifiers: str

    def permuted(self) -> dict[str, Any]:
        """Permutations of either kind."""
        if self.adjust == "max":
            return {"family_permutations": self.permutations or FAMILY}
        return {"permutations": self.permutations}

    def of_table(self) -> dict[str, Any]:
        """What decides whether a table can be used."""
        return {name: getattr(self, name) for name in ("kernel", "task", "missing", "identifiers")}


def _settings(given: dict[str, Any]) -> Settings:
    """Settings of the options; those without effect are refused."""
    kernel, bandwidth = str(given["kernel"]), str(given["bandwidth"])
    known = KERNELS.get(kernel)  # none for auto
    if known is not None and known.scale_free and bandwidth != own.Widths.multi:
        raise typer.BadParameter(
            f"has no effect with --kernel {kernel}, which has no width; leave it out",
            param_hint="'--bandwidth'",
        )
    if given["seed"] and not given["permutations"] and str(given["adjust"]) != "max":
        raise typer.BadParameter(
            "has no effect without --permutations; add --permutations 10000 or leave it out",
            param_hint="'--seed'",
        )
    return Settings(
        level=given["level"],
        adjust=str(given["adjust"]),
        task=str(given["task"]),
        kernel=kernel,
        bandwidth=bandwidth,
        permutations=given["permutations"],
        seed=given["seed"],
        jobs=given["jobs"] or -1,
        **table_settings(given),
    )


# -- testing ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TestRun:
    """What a test found, and what is to be said about it."""

    test: AlignmentTest
    settings: Settings
    task: str
    counts: dict[str, Any]
    seconds: float
    notes: list[str]
    fingerprint: str | None

    @property
    def shape(self) -> str:
        """Rows, features and task in words."""
        from kernelpath.report.words import feature_words, row_words

        return f"{row_words(self.counts)}, {feature_words(self.counts)}, {self.task}"

    @property
    def found(self) -> list[int]:
        """Columns that are discoveries, the least likely by chance first."""
        return self.test.discoveries(self.settings.level, self.settings.adjust).tolist()

    @property
    def headline(self) -> str:
        """The result in a sentence."""
        from kernelpath.path.significance import RATES, shown_p
        from kernelpath.utils.words import counted

        rate = f"a {RATES[self.settings.adjust]} of {self.settings.level:g}"
        n = len(self.found)
        by = BY_NAME[self.settings.adjust]
        if n == 0:
            least = shown_p(float(self.test.log_p.min()))
            return f"No feature at {rate} ({by}); the least p is {least}."
        return f"{counted(n, 'feature')} at {rate} ({by})."

    def rows(self, columns: Sequence[int]) -> list[dict[str, Any]]:
        """What is known of some features, as plain values."""
        test, found, names = self.test, set(self.found), self.test.feature_names
        p_value, q_value = test.p_value, test.adjusted(self.settings.adjust)
        return [
            {
                "rank": rank,
                "name": str(names[j]),
                "alignment": float(test.alignment[j]),
                "z": float(test.z[j]),
                "p_value": float(p_value[j]),
                "log10_p": float(test.log_p[j] / np.log(10.0)) + 0.0,
                "q_value": float(q_value[j]),
                "width": None if np.isnan(test.width[j]) else float(test.width[j]),
                "discovery": int(j in found),
                "column": j,
            }
            for rank, j in enumerate(columns, start=1)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        asked = ("level", "adjust", "kernel", "bandwidth", "permutations")
        odd = ("rows_left_out", "n_features", "n_identifiers", "n_constant")
        discoveries = self.rows(self.found)
        for row in discoveries:
            del row["discovery"]
        return {
            "format": FORMAT,
            "version": VERSION,
            "task": self.task,
            "n_samples": self.counts["n_rows"],
            **{name: self.counts[name] for name in odd},
            **{name: getattr(self.settings, name) for name in asked},
            "headline": self.headline,
            "null": NULL,
            "n_discoveries": len(discoveries),
            "discoveries": discoveries,
            "seconds": round(self.seconds, 3),
            "notes": self.notes,
        }


def run_test(table: LoadedTable, settings: Settings) -> TestRun:
    """Test the columns of a table from a file."""
    from kernelpath.alignment.null_moments import FEWEST_ROWS
    from kernelpath.cli.obstacles import (
        as_table,
        category_notes,
        check_table,
        naming_bad_columns,
    )
    from kernelpath.cli.run import collected_warnings
    from kernelpath.errors import DataError
    from kernelpath.inference.significance import alignment_test
    from kernelpath.report.summary_data import describe_counts
    from kernelpath.tables.reading import training_table
    from kernelpath.tables.targets import infer_task, say_how_it_is_read
    from kernelpath.utils.words import counted

    start = time.perf_counter()
    check_table(table, [], **settings.of_table())
    task = infer_task(table.y, settings.task, judged=True)
    with naming_bad_columns(table), collected_warnings() as notes:
        say_how_it_is_read(table.y, settings.task)
        read = as_table(table, settings.identifiers)
        columns, y, left_out = training_table(read, table.y, settings.missing)
        if len(y) < FEWEST_ROWS:
            rows = counted(len(y), "row")
            raise DataError(f"{table.source}: {rows}; a test needs at least {FEWEST_ROWS}")
        test = alignment_test(
            columns,
            y,
            kernel=settings.kernel,
            bandwidth=settings.bandwidth,
            n_jobs=settings.jobs,
            task=task,
            **settings.permuted(),
            level=settings.level,
            random_state=settings.seed,
        )
    counts = describe_counts(columns, table.left_out + left_out)
    said = [*table.notes, *notes, *category_notes(table, settings.identifiers)]
    seconds = time.perf_counter() - start
    return TestRun(test, settings, task, counts, seconds, said, columns.fingerprint(y))


def _run(
    context: typer.Context,
    data: Path,
    read: dict[str, Any],
    settings: Settings,
    output: OutputOptions,
) -> None:
    from kernelpath.tables.read import read_table

    with output_folder(output.out), output.progress():
        begin(f"reading {data.name}")
        table = read_table(data, **read)
        run = run_test(table, settings)
        begin("writing")
        written = _write(run, Record.of(context, data.name, table.target_name), output)
    _tell(run, written, output)


# -- results ---------------------------------------------------------------------------------------


def _write(run: TestRun, record: Record, output: OutputOptions) -> list[Path]:
    if output.out is None:
        return []
    record.seconds = run.seconds
    record.data["fingerprint"] = run.fingerprint
    written, skipped = write_together(
        output.out, TEST_FILES, lambda folder: write_test(run, record, folder), output.overwrite
    )
    run.notes.extend(skipped)
    return written


def write_test(run: TestRun, record: Record, folder: Path) -> list[str]:
    """Write the files of a test; return why some were left out."""
    order = np.argsort(run.test.log_p, kind="stable").tolist()
    rows = run.rows(order)
    write_csv(folder / "test.csv", HEADER, ([row[name] for name in HEADER] for row in rows))
    write_json(folder / "test.json", run.as_dict())
    skipped = _save_pictures(run, folder)
    write_record(record, folder)
    return skipped


def _save_pictures(run: TestRun, folder: Path) -> list[str]:
    """Draw the test, if there is something to draw with."""
    from kernelpath.report.displays.significance import (
        KINDS,
        SignificanceDisplay,
        save_significance,
    )

    settings = run.settings
    try:
        for kind in KINDS:
            display = SignificanceDisplay.from_test(
                run.test, kind=kind, level=settings.level, method=settings.adjust
            )
            save_significance(display, folder / f"{kind}.png")
    except ImportError as error:
        return [str(error)]
    return []


def _tell(run: TestRun, written: list[Path], output: OutputOptions) -> None:
    from kernelpath.cli.printing import print_discoveries

    if output.as_json:
        print_json(run.as_dict(), written)
        return
    if not output.quiet:
        typer.echo(f"{run.shape}: {run.seconds:.1f} s\n")
        if run.found:
            adjusted = "adj. p" if run.settings.adjust == "max" else "q"
            print_discoveries(run.rows(run.found), run.settings.bandwidth, adjusted)
            typer.echo()
        typer.echo(run.headline)
        typer.echo(NULL)
    say_notes(run.notes)
    say_files(written, output, what="test")

"""``kernelpath compare``: several methods on the same folds with the same predictor."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelpath.catalogue import METHODS
from kernelpath.cli import options as opt
from kernelpath.cli.console import (
    OutputOptions,
    check_quiet,
    friendly_errors,
    print_json,
    say_files,
    say_notes,
)
from kernelpath.cli.invocation import CVSettings, apply_config, parse_names, shared_settings
from kernelpath.cli.manifest import COMPARISON_FILES
from kernelpath.cli.run_files import (
    Record,
    refuse_overwriting,
    write_json,
    write_page,
    write_record,
)
from kernelpath.cli.run_folder import refuse_folder, resuming, write_together
from kernelpath.utils.progress import begin
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    from kernelpath.comparison import Comparison
    from kernelpath.tables.missing import LeftOut
    from kernelpath.tables.read import LoadedTable


def compare_command(
    context: typer.Context,
    data: opt.DataArgument,
    target: opt.TargetOption = None,
    methods: opt.MethodsOption = "lp-kta,f-test,forest",
    cv: Annotated[int, typer.Option("--cv", min=2, metavar="FOLDS", help="Folds.")] = 5,
    task: opt.TaskOption = opt.Task.auto,
    drop: opt.DropOption = None,
    missing: opt.MissingOption = opt.DEFAULT_MISSING,
    keep_identifiers: opt.IdentifiersOption = False,
    max_columns: opt.MaxColumnsOption = None,
    out: opt.OutOption = None,
    overwrite: opt.OverwriteOption = False,
    predictor: opt.PredictorOption = None,
    scoring: opt.ScoringOption = None,
    class_weight: opt.ClassWeightOption = None,
    groups: opt.GroupsOption = None,
    sizes: opt.SizesOption = None,
    seed: opt.SeedOption = 0,
    kernel: opt.KernelOption = opt.DEFAULT_KERNEL,
    jobs: opt.JobsOption = None,
    config: opt.ConfigOption = None,
    as_json: opt.JsonOption = False,
    quiet: opt.QuietOption = False,
    verbose: opt.VerboseOption = False,
) -> None:
    """Score several methods on the same folds.

    Every method ranks or traces the features again in every fold, and the same predictor is
    fitted to its choice at every size. The table gives the score by size and method, the best of
    each, and the fewest features within one standard error of it.

    Example: `kernelpath compare genes.csv --target outcome --methods lp-kta,f-test --out cmp/`
    """
    given = apply_config(context)
    check_quiet(given)
    wanted = parse_names(methods, "--methods", METHODS)
    if not wanted:
        raise typer.BadParameter(f"name some of {', '.join(METHODS)}", param_hint="'--methods'")
    settings = CVSettings(**shared_settings(given))
    output = OutputOptions(out, None, as_json, given["quiet"], given["verbose"], overwrite)
    with friendly_errors():
        results = [] if out is None else [out / name for name in COMPARISON_FILES]
        refuse_overwriting(results, [data, config])
        refuse_folder(out, COMPARISON_FILES, overwrite)
        read = {"target": target, "drop": drop or [], "max_columns": max_columns}
        _run(context, data, read, wanted, settings, output)


def _run(
    context: typer.Context,
    data: Path,
    read: dict[str, Any],
    wanted: list[str],
    settings: CVSettings,
    output: OutputOptions,
) -> None:
    from kernelpath.tables.read import read_table

    with resuming(output.out) as memory, output.progress():
        begin(f"reading {data.name}")
        table = read_table(data, **read)
        run = run_comparison(wanted, table, settings, memory)
        begin("writing")
        written = _write(run, Record.of(context, data.name, table.target_name), output)
    _tell(run, written, output)


@dataclass(frozen=True)
class ComparisonRun:
    """What a comparison found, and what is to be said about it."""

    found: Comparison
    seconds: float
    notes: list[str]
    left_out: LeftOut

    @property
    def shape(self) -> str:
        """Rows, features and task in words."""
        from kernelpath.report.summary import ever_selected
        from kernelpath.report.summary_data import describe_counts
        from kernelpath.report.words import feature_words, row_words

        model = self.found.model
        study = model._run.study
        rows = study.left_out + self.left_out
        counts = describe_counts(study.rows, rows, ever_selected(model.path_))
        return f"{row_words(counts)}, {feature_words(counts)}, {model.task_}"

    def summary(self) -> dict[str, Any]:
        """Everything that the page shows."""
        from kernelpath.report.summary import summarize_cv

        return summarize_cv(self.found.model, self.left_out) | {"method": self.found.first}

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return self.found.as_dict(self.notes) | {"seconds": round(self.seconds, 3)}


def run_comparison(
    wanted: list[str], table: LoadedTable, settings: CVSettings, memory: Path | None
) -> ComparisonRun:
    """Score the methods of a table from a file."""
    from kernelpath.cli.obstacles import category_notes, check_table, naming_bad_columns
    from kernelpath.cli.run import check_sizes, collected_warnings, split_groups
    from kernelpath.comparison import compare

    start = time.perf_counter()
    table, groups = split_groups(table, settings.groups)
    check_sizes(table, settings.sizes)
    check_table(table, [METHODS[name] for name in wanted], **settings.of_table(), compared=True)
    arguments = settings.arguments()
    shared = ("cv", "predictor", "scoring", "n_features", "n_jobs", "random_state", "verbose",
              "missing", "identifiers", "class_weight")  # fmt: skip
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
    said = [*table.notes, *notes, *category_notes(table, settings.identifiers)]
    return ComparisonRun(found, time.perf_counter() - start, said, table.left_out)


def _write(run: ComparisonRun, record: Record, output: OutputOptions) -> list[Path]:
    if output.out is None:
        return []
    record.seconds = run.seconds
    record.data["fingerprint"] = run.found.model.fingerprint_
    written, skipped = write_together(
        output.out,
        COMPARISON_FILES,
        lambda folder: write_comparison(run, record, folder),
        output.overwrite,
    )
    run.notes.extend(skipped)
    return written


def write_comparison(run: ComparisonRun, record: Record, folder: Path) -> list[str]:
    """Write the files of a comparison; return why some were left out."""
    from kernelpath.cli.run import save_score_picture, write_scores

    found = run.found
    write_scores(folder / "comparison.csv", found.scores)
    write_json(folder / "comparison.json", run.as_dict())
    skipped = save_score_picture(found.model, folder / "comparison.png")
    skipped += write_page(run.summary(), record, folder, "comparison.html")
    write_record(record, folder)
    return list(dict.fromkeys(skipped))


def _tell(run: ComparisonRun, written: list[Path], output: OutputOptions) -> None:
    from kernelpath.cli.printing import print_comparison

    if output.as_json:
        print_json(run.as_dict(), written)
        return
    if not output.quiet:
        plan = run.found.model.plan_
        typer.echo(
            f"{run.shape}; {run.found.model.scores_.scoring} in "
            f"{counted(plan.n_folds, 'fold')}, {run.seconds:.1f} s\n"
        )
        print_comparison(run.as_dict())
        typer.echo()
    say_notes(run.notes)
    say_files(written, output, what="comparison")

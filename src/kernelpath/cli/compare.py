"""``kernelpath compare``: several methods on the same folds with the same predictor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelpath.catalogue import METHODS
from kernelpath.cli import options as opt
from kernelpath.cli.config import settle
from kernelpath.cli.console import friendly_errors, say_notes
from kernelpath.cli.files import refuse_overwriting
from kernelpath.cli.folders import refuse_folder, write_together
from kernelpath.cli.manifest import COMPARISON_FILES
from kernelpath.cli.output import Output, check_voice, print_json, say_files
from kernelpath.cli.resume import resuming
from kernelpath.cli.settings import CVSettings, shared_settings
from kernelpath.utils.progress import begin

if TYPE_CHECKING:
    from kernelpath.cli.comparison import ComparisonRun
    from kernelpath.cli.record import Record


def compare_command(
    context: typer.Context,
    data: opt.DataArgument,
    target: opt.TargetOption = None,
    methods: opt.MethodsOption = "lp-kta,f-test,forest",
    cv: Annotated[int, typer.Option("--cv", min=2, metavar="FOLDS", help="Folds.")] = 5,
    task: opt.TaskOption = opt.Task.auto,
    drop: opt.DropOption = None,
    max_columns: opt.MaxColumnsOption = None,
    out: opt.OutOption = None,
    overwrite: opt.OverwriteOption = False,
    predictor: opt.PredictorOption = None,
    scoring: opt.ScoringOption = None,
    groups: opt.GroupsOption = None,
    sizes: opt.SizesOption = None,
    seed: opt.SeedOption = 0,
    kernel: opt.KernelOption = opt.Kernel.rbf,
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
    given = settle(context)
    check_voice(given)
    wanted = opt.parse_names(methods, "--methods", METHODS)
    if not wanted:
        raise typer.BadParameter(f"name some of {', '.join(METHODS)}", param_hint="'--methods'")
    settings = CVSettings(**shared_settings(given))
    output = Output(out, None, as_json, given["quiet"], given["verbose"], overwrite)
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
    output: Output,
) -> None:
    from kernelpath.cli.comparison import run_comparison
    from kernelpath.cli.record import Record
    from kernelpath.tables.read import read_table

    with resuming(output.out) as memory, output.progress():
        begin(f"reading {data.name}")
        table = read_table(data, **read)
        run = run_comparison(wanted, table, settings, memory)
        begin("writing")
        written = _write(run, Record.of(context, data.name, table.target_name), output)
    _tell(run, written, output)


def _write(run: ComparisonRun, record: Record, output: Output) -> list[Path]:
    from kernelpath.cli.comparison import write_comparison

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


def _tell(run: ComparisonRun, written: list[Path], output: Output) -> None:
    from kernelpath.cli.printing import print_comparison

    if output.as_json:
        print_json(run.as_dict(), written)
        return
    if not output.quiet:
        plan = run.found.model.plan_
        typer.echo(
            f"{plan.n_rows:,} rows, {plan.n_columns:,} features, {run.found.model.task_}; "
            f"{run.found.model.scores_.scoring} in {plan.n_folds} folds, {run.seconds:.1f} s\n"
        )
        print_comparison(run.as_dict())
        typer.echo()
    say_notes(run.notes)
    say_files(written, output, what="comparison")

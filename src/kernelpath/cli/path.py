"""``kernelpath path``: the path of a table, and with ``--cv`` its scores and a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kernelpath.cli import options as opt
from kernelpath.cli.config import settle
from kernelpath.cli.console import friendly_errors, say_notes
from kernelpath.cli.files import refuse_overwriting
from kernelpath.cli.folders import output_folder, refuse_folder, write_together
from kernelpath.cli.manifest import MODEL, PAGE, RUN_FILES, refuse_lone, refuse_removing
from kernelpath.cli.output import Output, check_voice, print_json, say_files
from kernelpath.cli.record import page_place
from kernelpath.cli.resume import resuming
from kernelpath.cli.settings import CVSettings, cv_settings, method_settings
from kernelpath.utils.progress import begin

if TYPE_CHECKING:
    from kernelpath.catalogue import Method
    from kernelpath.cli.cv import CVRun
    from kernelpath.cli.record import Record
    from kernelpath.cli.run import Run


def path_command(
    context: typer.Context,
    data: opt.DataArgument,
    target: opt.TargetOption = None,
    method: opt.MethodOption = "lp-kta",
    task: opt.TaskOption = opt.Task.auto,
    drop: opt.DropOption = None,
    max_columns: opt.MaxColumnsOption = None,
    n_features: opt.SizeOption = None,
    cv: opt.FoldsOption = None,
    out: opt.OutOption = None,
    report: opt.ReportOption = None,
    overwrite: opt.OverwriteOption = False,
    jobs: opt.JobsOption = None,
    config: opt.ConfigOption = None,
    as_json: opt.JsonOption = False,
    quiet: opt.QuietOption = False,
    verbose: opt.VerboseOption = False,
    rule: opt.RuleOption = None,
    budget: opt.BudgetOption = None,
    tolerance: opt.ToleranceOption = None,
    predictor: opt.PredictorOption = None,
    scoring: opt.ScoringOption = None,
    baselines: opt.BaselinesOption = None,
    nested: opt.NestedOption = False,
    groups: opt.GroupsOption = None,
    sizes: opt.SizesOption = None,
    proba: opt.ProbaOption = False,
    seed: opt.SeedOption = 0,
    kernel: opt.KernelOption = opt.Kernel.rbf,
    bandwidth: opt.BandwidthOption = opt.Bandwidth.std,
    norm_strength: opt.NormOption = "auto",
    bregman_strength: opt.BregmanOption = "auto",
    elimination_tol: opt.EliminationOption = 1e-3,
    C: opt.CostOption = None,
) -> None:
    """Trace the feature path of a table.

    Every column but the target is a feature. Columns are taken raw: kernel widths adapt to each,
    so nothing needs scaling. The table that is printed gives, for round numbers of features, the
    norm exponent p, how optimal the point is (KKT residual, and gap: what elimination cost),
    and the heaviest features. Other methods than lp-kta have other parameters, or none.

    With --cv the path is traced again in every fold, every size is scored on rows held out, and
    a model is kept at the number of features that a rule picks. A run that was killed goes on
    when it is started again with the same --out.

    Example: `kernelpath path genes.parquet --target outcome --cv 5 --out run/`

    Ten features, text columns included:
    `kernelpath path people.csv -t income --kernel auto -k 10 -o run/`
    """
    given = settle(context)
    check_voice(given)
    output = Output(out, report, as_json, given["quiet"], given["verbose"], overwrite)
    traced = method_settings(given)
    settings = cv_settings(given)
    with friendly_errors():
        place = page_place(report, out)
        results = [] if out is None else [out / name for name in RUN_FILES]
        refuse_overwriting([place, *results], [data, config])
        refuse_lone(place, PAGE, overwrite)
        refuse_folder(out, RUN_FILES, overwrite)
        read = {"target": target, "drop": drop or [], "max_columns": max_columns}
        if settings is None:
            refuse_removing(out, MODEL, "a run without --cv")
            _run_path(context, data, read, n_features, traced, output)
        else:
            _run_scored(context, data, read, n_features, traced, settings, output)


def _load(method: Method, settings: dict[str, Any]) -> None:
    """Import what a method needs: later, a progress bar would stand still meanwhile."""
    method.selector(method.tasks[0], **settings)


def _run_path(
    context: typer.Context,
    data: Path,
    read: dict[str, Any],
    n_features: int | None,
    traced: tuple[Method, dict[str, Any]],
    output: Output,
) -> None:
    from kernelpath.cli.record import Record
    from kernelpath.cli.run import run_table
    from kernelpath.tables.read import read_table

    _load(*traced)
    with output_folder(output.out):
        with output.progress():
            begin(f"reading {data.name}")
            table = read_table(data, **read)
            task, kernel = (str(context.params[name]) for name in ("task", "kernel"))
            run = run_table(*traced, table, task=task, kernel=kernel, size=n_features)
            record = Record.of(context, data.name, table.target_name)
            begin("writing")
            done = write_path(run, record, table.X, table.y, output)
        tell_path(run, done, output)


def write_path(run: Run, record: Record, X: Any, y: Any, output: Output) -> list[Path]:
    """Write what was asked for; the reasons for files left out become notes."""
    from kernelpath.cli.record import write_page_alone
    from kernelpath.cli.run import write_run

    record.seconds = run.seconds
    record.data["fingerprint"] = run.path.provenance["data"].get("fingerprint")
    place = page_place(output.report, output.out)
    if output.out is None and place is None:
        return []
    summary = run.summary(X, y)
    written: list[Path] = []
    if output.out is not None:
        written, skipped = write_together(
            output.out,
            RUN_FILES,
            lambda folder: write_run(run, record, summary, folder),
            output.overwrite,
        )
        run.notes.extend(skipped)
    if place is not None:
        write_page_alone(place, output.overwrite, summary, title=record.title, command=record.line)
        written.append(place)
    return written


def tell_path(
    run: Run,
    written: list[Path],
    output: Output,
    headline: str = "",
    more: dict[str, Any] | None = None,
) -> None:
    """Say what was found."""
    from kernelpath.cli.printing import path_rows, print_path

    if output.as_json:
        print_json(run.as_dict() | (more or {}), written)
        return
    chosen = run.point.n_selected
    if not output.quiet:
        data = run.path.provenance["data"]
        typer.echo(
            f"{data['n_samples']:,} rows, {data['n_features']:,} features, "
            f"{run.path.provenance['task']}: whole path in {run.seconds:.1f} s\n"
        )
        if rows := path_rows(run.path, [chosen]):
            print_path(rows, run.path.parameter_name)
            typer.echo()
    if headline:
        typer.echo(headline)
    say_notes(run.notes)
    say_files(written, output, chosen)


def _run_scored(
    context: typer.Context,
    data: Path,
    read: dict[str, Any],
    n_features: int | None,
    traced: tuple[Method, dict[str, Any]],
    settings: CVSettings,
    output: Output,
) -> None:
    from kernelpath.cli.cv import run_cv
    from kernelpath.cli.record import Record
    from kernelpath.tables.read import read_table

    _load(*traced)
    with resuming(output.out) as memory, output.progress():
        begin(f"reading {data.name}")
        table = read_table(data, **read)
        run = run_cv(*traced, table, settings, n_features, memory)
        record = Record.of(context, data.name, table.target_name)
        begin("writing")
        written = write_scored(run, record, output)
    tell_scored(run, written, output)


def write_scored(run: CVRun, record: Record, output: Output) -> list[Path]:
    """Write what was asked for."""
    from kernelpath.cli.cv import write_cv
    from kernelpath.cli.record import write_page_alone

    record.seconds = run.seconds
    record.data["fingerprint"] = run.model.fingerprint_
    written: list[Path] = []
    if output.out is not None:
        written, skipped = write_together(
            output.out, RUN_FILES, lambda folder: write_cv(run, record, folder), output.overwrite
        )
        run.notes.extend(skipped)
    place = page_place(output.report, output.out)
    if place is not None:
        write_page_alone(
            place, output.overwrite, run.summary, title=record.title, command=record.line
        )
        written.append(place)
    return written


def tell_scored(run: CVRun, written: list[Path], output: Output) -> None:
    """Say what was found."""
    from kernelpath.cli.printing import baseline_lines, print_scores

    if output.as_json:
        print_json(run.as_dict(), written)
        return
    if not output.quiet:
        plan = run.model.plan_
        typer.echo(
            f"{plan.n_rows:,} rows, {plan.n_columns:,} features, {run.model.task_}: "
            f"{plan.n_folds} folds x {plan.n_sizes} sizes in {run.seconds:.1f} s\n"
        )
        print_scores(run.summary)
        typer.echo()
        typer.echo(run.summary["headline"])
        nested = run.summary["cv"]["nested"]
        if nested is not None:
            from kernelpath.report.words import score_words

            typer.echo(f"The whole procedure, the choice included: {score_words(nested)}.")
        for line in baseline_lines(run.summary):
            typer.echo(line)
    say_notes(run.notes)
    say_files(written, output, run.size)

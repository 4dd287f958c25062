"""``kernelpath path``: the path of a table, and with ``--cv`` its scores and a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kernelpath.cli import options as opt
from kernelpath.cli import significance_options as sig
from kernelpath.cli.console import (
    OutputOptions,
    check_quiet,
    friendly_errors,
    print_json,
    safe,
    say_files,
    say_notes,
)
from kernelpath.cli.constraints import constraint_settings
from kernelpath.cli.invocation import (
    CVSettings,
    apply_config,
    cv_settings,
    method_settings,
    table_settings,
)
from kernelpath.cli.manifest import MODEL, PAGE, RUN_FILES, refuse_lone, refuse_removing
from kernelpath.cli.run_files import Record, page_place, refuse_overwriting, write_page_alone
from kernelpath.cli.run_folder import output_folder, refuse_folder, resuming, write_together
from kernelpath.utils.progress import begin
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    from kernelpath.catalogue import Method
    from kernelpath.cli.run import Run, Scored

SAID_FIRST = ("leak", "repeated_id", "one_feature", "redundancy", "chance")
"""Kinds of notices that stand beside the result."""


def path_command(
    context: typer.Context,
    data: opt.DataArgument,
    target: opt.TargetOption = None,
    method: opt.MethodOption = "lp-kta",
    task: opt.TaskOption = opt.Task.auto,
    drop: opt.DropOption = None,
    missing: opt.MissingOption = opt.DEFAULT_MISSING,
    keep_identifiers: opt.IdentifiersOption = False,
    max_columns: opt.MaxColumnsOption = None,
    must_include: opt.MustIncludeOption = None,
    feature_group: opt.FeatureGroupOption = None,
    costs: opt.CostsOption = None,
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
    level: sig.RuleLevelOption = None,
    predictor: opt.PredictorOption = None,
    scoring: opt.ScoringOption = None,
    class_weight: opt.ClassWeightOption = None,
    baselines: opt.BaselinesOption = None,
    nested: opt.NestedOption = False,
    groups: opt.GroupsOption = None,
    sizes: opt.SizesOption = None,
    max_train_rows: opt.MaxTrainRowsOption = None,
    proba: opt.ProbaOption = False,
    seed: opt.SeedOption = 0,
    kernel: opt.KernelOption = opt.DEFAULT_KERNEL,
    bandwidth: opt.BandwidthOption = opt.Bandwidth.auto,
    statistic: sig.StatisticOption = sig.Statistic.auto,
    norm_strength: opt.NormOption = "auto",
    bregman_strength: opt.BregmanOption = "auto",
    elimination_tol: opt.EliminationOption = 1e-3,
    C: opt.CostOption = None,
) -> None:
    """Trace the feature path of a table.

    Every column but the target is a feature. Columns are taken raw: kernel widths adapt to each,
    so nothing needs scaling; text, dates and missing values are welcome. The table that is printed
    gives, for round numbers of features, the heaviest ones; with --verbose also where they lie on
    the path and how optimal the point is (for lp-kta the norm exponent p, the KKT residual, and
    gap: what elimination cost).

    With --cv the path is traced again in every fold, every size is scored on rows held out, and
    a model is kept at the number of features that a rule picks. A run that was killed goes on
    when it is started again with the same --out.

    Example: `kernelpath path genes.parquet --target outcome --cv 5 --out run/`

    Ten features, missing values filled in:
    `kernelpath path people.csv -t income --missing impute -k 10 -o run/`
    """
    given = apply_config(context)
    check_quiet(given)
    output = OutputOptions(out, report, as_json, given["quiet"], given["verbose"], overwrite)
    traced = method_settings(given)
    settings = cv_settings(given)
    with friendly_errors():
        place = page_place(report, out)
        results = [] if out is None else [out / name for name in RUN_FILES]
        refuse_overwriting([place, *results], [data, config])
        refuse_lone(place, PAGE, overwrite)
        refuse_folder(out, RUN_FILES, overwrite)
        read = {"target": target, "drop": drop or [], "max_columns": max_columns}
        constraints = constraint_settings(given)
        if settings is None:
            refuse_removing(out, MODEL, "a run without --cv")
            traced = (traced[0], traced[1] | constraints)
        else:
            settings = replace(settings, constraints=constraints)
        _run(context, data, read, n_features, traced, settings, output)


def _run(
    context: typer.Context,
    data: Path,
    read: dict[str, Any],
    size: int | None,
    traced: tuple[Method, dict[str, Any]],
    settings: CVSettings | None,
    output: OutputOptions,
) -> None:
    from kernelpath.cli.run import score_table, trace_table
    from kernelpath.tables.read import read_table

    _load(*traced)
    place = output_folder(output.out) if settings is None else resuming(output.out)
    with place as memory, output.progress():
        begin(f"reading {data.name}")
        table = read_table(data, **read)
        if settings is None:
            task, kernel = (str(context.params[name]) for name in ("task", "kernel"))
            options = table_settings(context.params)
            run = trace_table(*traced, table, task=task, kernel=kernel, size=size, **options)
        else:
            run = score_table(*traced, table, settings, size, memory)
        record = Record.of(context, data.name, table.target_name)
        begin("writing")
        written = write(run, record, table.X, table.y, output)
    tell(run, written, output)


def _load(method: Method, settings: dict[str, Any]) -> None:
    """Import what a method needs: later, a progress bar would stand still meanwhile."""
    method.selector(method.tasks[0], **settings)


def write(run: Run, record: Record, X: Any, y: Any, output: OutputOptions) -> list[Path]:
    """Write what was asked for; the reasons for files left out become notes."""
    from kernelpath.cli.run import write_run
    from kernelpath.report.summary import summarize_path

    place = page_place(output.report, output.out)
    if output.out is None and place is None:
        return []
    record.seconds = run.seconds
    record.data["fingerprint"] = run.fingerprint
    if run.scored is None:
        summary = summarize_path(run.path, X, y, task=run.task, test=run.test, **run.reading)
        summary |= {"method": run.method}
    else:
        summary = run.scored.summary
    written: list[Path] = []
    if output.out is not None:
        written, skipped = write_together(
            output.out,
            RUN_FILES,
            lambda folder: write_run(run, summary, record, folder),
            output.overwrite,
        )
        run.notes.extend(skipped)
    if place is not None:
        write_page_alone(place, output.overwrite, summary, **record.page(summary))
        written.append(place)
    return written


def tell(
    run: Run,
    written: list[Path],
    output: OutputOptions,
    headline: str = "",
    more: dict[str, Any] | None = None,
) -> None:
    """Say what was found."""
    from kernelpath.report.real import discovery_words
    from kernelpath.report.words import acts_together

    if output.as_json:
        print_json(run.as_dict() | (more or {}), written)
        return
    said: list[str] = []
    if not output.quiet:
        if run.scored is None:
            _tell_path(run, output.verbose)
        else:
            said = _tell_scores(run.scored, run.shape, run.seconds)
        if words := discovery_words(run.test):
            alone = ", tested one by one; features that act only together are not seen so"
            end = alone if acts_together({"method": run.method}) else ""
            typer.echo(f"{words[0].upper()}{words[1:]}{end}.")
    if headline:
        typer.echo(headline)
    say_notes([note for note in run.notes if note not in said])
    say_files(written, output, run.size)


def _tell_path(run: Run, verbose: bool) -> None:
    from kernelpath.cli.printing import path_rows, print_path

    typer.echo(f"{run.shape}: whole path in {run.seconds:.1f} s\n")
    if rows := path_rows(run.path, [run.size]):
        print_path(rows, run.path.parameter_name, verbose)
        typer.echo()


def _tell_scores(scored: Scored, shape: str, seconds: float) -> list[str]:
    """Print the result first, then the table; return the notices that were said with it."""
    from kernelpath.cli.printing import baseline_lines, print_scores
    from kernelpath.report.words import reference_words, score_words

    plan, summary = scored.model.plan_, scored.summary
    folds, sizes = counted(plan.n_folds, "fold"), counted(plan.n_sizes, "size")
    typer.echo(f"{shape}: {folds} x {sizes} in {seconds:.1f} s\n")
    typer.echo(summary["headline"])
    if plain := reference_words(summary):
        typer.echo(plain)
    said = [one["text"] for one in summary["notices"] if one["kind"] in SAID_FIRST]
    for text in said:
        typer.echo(safe(text, 400))
    typer.echo()
    print_scores(summary)
    typer.echo()
    nested = summary["cv"]["nested"]
    if nested is not None:
        typer.echo(f"The whole procedure, the choice included: {score_words(nested)}.")
    for line in baseline_lines(summary):
        typer.echo(line)
    return said

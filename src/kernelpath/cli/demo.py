"""``kernelpath demo``: the main job on a table with known answers."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelpath.cli.console import OutputOptions, friendly_errors
from kernelpath.cli.manifest import MODEL, RUN_FILES, refuse_removing
from kernelpath.cli.options import JobsOption, JsonOption, OutOption, OverwriteOption, SeedOption
from kernelpath.cli.path import tell, write
from kernelpath.cli.run_files import Record
from kernelpath.cli.run_folder import output_folder, refuse_folder
from kernelpath.utils.progress import begin


def demo_command(
    context: typer.Context,
    out: OutOption = None,
    rows: Annotated[int, typer.Option(min=20, help="Rows of the simulated table.")] = 1000,
    features: Annotated[int, typer.Option(min=20, help="Columns of it.")] = 20_000,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Make a wide table with known relevant features and trace its path.

    The relevant features act through bands, bumps, waves and steps, which have next to no linear
    correlation with the target. The demo says how many of them the path ranks first.

    Example: `kernelpath demo --rows 500 --features 5000 --out run/`
    """
    output = OutputOptions(out, as_json=as_json, overwrite=overwrite)
    with friendly_errors():
        refuse_folder(out, RUN_FILES, overwrite)
        refuse_removing(out, MODEL, "a demo")
        _run_demo(context, output, rows, features, seed, jobs)


def _run_demo(
    context: typer.Context,
    output: OutputOptions,
    rows: int,
    features: int,
    seed: int,
    jobs: int | None,
) -> None:
    from kernelpath.cli.run import trace
    from kernelpath.datasets import make_wide
    from kernelpath.estimators.lp_kta import LpKTASelector

    with output_folder(output.out), output.progress():
        begin("simulating")
        problem = make_wide(rows, features, random_state=seed)
        count = len(problem.relevant)
        selector = LpKTASelector(n_jobs=jobs or -1)
        run = trace("lp-kta", selector, problem.X, problem.y, problem.feature_names, count)
        begin("writing")
        record = Record.of(context, "simulated table", "y")
        written = write(run, record, problem.X, problem.y, output)
    first = set(run.path.entry_order()[:count].tolist())
    found = len(first & set(problem.relevant.tolist()))
    headline = f"{found} of the {count} relevant features are the first {count} of the path."
    tell(run, written, output, headline, {"n_relevant": count, "n_relevant_first": found})

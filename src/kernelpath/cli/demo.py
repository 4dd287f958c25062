"""``kernelpath demo``: the main job on a real table, and on one with known answers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelpath.cli.console import OutputOptions, friendly_errors, print_json, safe
from kernelpath.cli.invocation import CVSettings
from kernelpath.cli.manifest import MODEL, PAGE, RUN_FILES, refuse_removing
from kernelpath.cli.options import JobsOption, JsonOption, OutOption, OverwriteOption, SeedOption
from kernelpath.cli.path import tell, write
from kernelpath.cli.run_files import Record
from kernelpath.cli.run_folder import output_folder, refuse_folder
from kernelpath.utils.progress import begin

if TYPE_CHECKING:
    from kernelpath.cli.run import Run
    from kernelpath.tables.read import LoadedTable

YOURS = "kernelpath path FILE --target COLUMN --cv 5 --out run"


class Part(StrEnum):
    """Tables of the demo, by the names of their folders."""

    wine = "wine"
    wide = "wide"


ABOUT = {
    Part.wine: "A real table: wines of three cultivars, with 13 measurements each (scikit-learn).",
    Part.wide: "A wide table: few of its columns are relevant, and most of these not linearly.",
}


def demo_command(
    context: typer.Context,
    out: OutOption = None,
    only: Annotated[Part | None, typer.Option(help="One of the two tables alone.")] = None,
    rows: Annotated[int, typer.Option(min=20, help="Rows of the simulated table.")] = 1000,
    features: Annotated[int, typer.Option(min=20, help="Columns of it.")] = 20_000,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Score the path of a real table, then trace that of a wide simulated one.

    The real table ships with scikit-learn: 178 wines of three cultivars, 13 measurements each.
    Every number of features is scored in five folds, beside the ranking of a random forest and
    plain models of all columns.

    In the simulated table the relevant features act through bands, bumps, waves and steps, which
    have next to no linear correlation with the target. The demo says how many of them the path
    ranks first.

    With --out DIR the folders DIR/wine and DIR/wide hold what `kernelpath path` writes for a table:
    report.html is the page to open first, accuracy.png or path.png its main picture, selected.csv
    the chosen features, and the .kpath and .kpmodel files are what Python loads.

    Example: `kernelpath demo --rows 500 --features 5000 --out demo-run`
    """
    parts = [Part(only)] if only else list(Part)
    outputs = {
        part: OutputOptions(out and out / part.value, as_json=as_json, overwrite=overwrite)
        for part in parts
    }
    with friendly_errors():
        for part, output in outputs.items():
            refuse_folder(output.out, RUN_FILES, overwrite)
            if part is Part.wide:
                refuse_removing(output.out, MODEL, "a demo")
        told: dict[str, Any] = {}
        files: list[Path] = []
        for part, output in outputs.items():
            record = Record.of(context, part.value)
            headline, more = "", dict[str, int]()
            if part is Part.wine:
                run, written = _score_wine(record, output, seed, jobs)
            else:
                run, written, headline, more = _trace_wide(
                    record, output, rows, features, seed, jobs
                )
            files += written
            told[part.value] = run.as_dict() | more
            if not as_json:
                typer.echo(ABOUT[part])
                tell(run, written, output, headline)
                typer.echo()
        if as_json:
            print_json(told, files)
        else:
            _say_how_to_go_on([output.out for output in outputs.values() if output.out])


def _score_wine(
    record: Record, output: OutputOptions, seed: int, jobs: int | None
) -> tuple[Run, list[Path]]:
    from kernelpath.catalogue import METHODS
    from kernelpath.cli.run import score_table

    with output_folder(output.out), output.progress():
        begin("reading")
        table = wine()
        record.data["target"] = table.target_name
        settings = CVSettings(5, baselines=["forest"], seed=seed, jobs=jobs)
        run = score_table(METHODS["lp-kta"], {}, table, settings, None, None)
        begin("writing")
        return run, write(run, record, table.X, table.y, output)


def wine() -> LoadedTable:
    """The table of wines, with names for its classes.

    Examples
    --------
    >>> table = wine()
    >>> table.X.shape, sorted(set(table.y.tolist()))
    ((178, 13), ['cultivar 1', 'cultivar 2', 'cultivar 3'])
    """
    import numpy as np
    from sklearn.datasets import load_wine

    from kernelpath.tables.read import LoadedTable

    data = load_wine(as_frame=True)
    return LoadedTable(
        X=data.data,
        y=np.array([f"cultivar {code + 1}" for code in data.target]),
        feature_names=list(data.data.columns),
        target_name="cultivar",
        dropped=(),
        n_rows=len(data.data),
        source="wine",
        text_columns=[],
        notes=(),
    )


def _trace_wide(
    record: Record, output: OutputOptions, rows: int, features: int, seed: int, jobs: int | None
) -> tuple[Run, list[Path], str, dict[str, int]]:
    from kernelpath.cli.run import trace
    from kernelpath.datasets import make_wide
    from kernelpath.estimators.lp_kta import LpKTASelector

    with output_folder(output.out), output.progress():
        begin("simulating")
        problem = make_wide(rows, features, random_state=seed)
        record.data["target"] = "y"
        count = len(problem.relevant)
        selector = LpKTASelector(n_jobs=jobs or -1)
        run = trace("lp-kta", selector, problem.X, problem.y, problem.feature_names, count)
        begin("writing")
        written = write(run, record, problem.X, problem.y, output)
    first = set(run.path.entry_order()[:count].tolist())
    found = len(first & set(problem.relevant.tolist()))
    headline = f"{found} of the {count} relevant features are the first {count} of the path."
    return run, written, headline, {"n_relevant": count, "n_relevant_first": found}


def _say_how_to_go_on(folders: list[Path]) -> None:
    if folders:
        pages = " and ".join(safe(folder / PAGE, 400) for folder in folders)
        typer.echo(f"Open {pages} in a browser.")
    typer.echo(f"The same for a table of yours: {YOURS}")

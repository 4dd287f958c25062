"""The command line: ``kernelpath path`` and ``kernelpath demo``."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelpath._version import __version__

if TYPE_CHECKING:
    from kernelpath.cli.run import Run

app = typer.Typer(
    name="kernelpath",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    # Markdown, unlike the default, joins the lines of a paragraph and wraps it anew.
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Which columns of a wide table say something about its target? Trace the whole path of "
    "answers, from one feature to all of them, with non-linear effects counted.\n\n"
    "Example: `kernelpath path genes.parquet --target outcome --out run/`",
    epilog="Exit codes: 0 done, 1 the data or a file is at fault, 2 wrong usage, 130 interrupted.",
)


class Method(StrEnum):
    """Methods with a path."""

    lp_kta = "lp-kta"


class Task(StrEnum):
    """What the target is."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class Kernel(StrEnum):
    """Kernel of each feature."""

    rbf = "rbf"
    linear = "linear"
    polynomial = "polynomial"
    laplace = "laplace"
    delta = "delta"
    auto = "auto"


class Bandwidth(StrEnum):
    """Scale of a column."""

    std = "std"
    median = "median"


OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="DIR", show_default=False,
        help="Write path.kpath, path.csv, selected.csv and path.png here.",
    ),
]  # fmt: skip
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, no table.")]
SizeOption = Annotated[
    int | None,
    typer.Option(
        "--n-features", "-k", min=1, show_default=False,
        help="Number of features to write to selected.csv. Default: the sparsest point.",
    ),
]  # fmt: skip


def _strength(words: tuple[str, ...]) -> Any:
    def parse(value: str) -> float | str:
        if value in words:
            return value
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            raise typer.BadParameter(f"{value!r} is neither a number >= 0 nor {' or '.join(words)}")
        return number

    return parse


def _jobs(value: int) -> int:
    if value == 0:
        raise typer.BadParameter("0 threads cannot work; give 1 or more, or -1 for all cores")
    return value


JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", callback=_jobs, help="Threads; -1 uses all cores.")
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernelpath {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hold the options of the program itself."""


@app.command("path", no_args_is_help=True)
def path_command(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            readable=False,  # what cannot be read is said in one line, with exit code 1
            show_default=False,
            help="CSV or TSV (also .gz), Parquet, Arrow/Feather, NPZ or svmlight file.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COL",
            show_default=False,
            help="Column to predict. NPZ and svmlight files bring their own.",
        ),
    ] = None,
    method: Annotated[Method, typer.Option(help="Method that traces the path.")] = Method.lp_kta,
    task: Annotated[
        Task, typer.Option(help="Whether the target is a class or a number.")
    ] = Task.auto,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="COL",
            show_default=False,
            help="Column to leave out; may be repeated.",
        ),
    ] = None,
    kernel: Annotated[
        Kernel,
        typer.Option(help="Kernel of each feature; auto: delta for text columns, rbf otherwise."),
    ] = Kernel.rbf,
    bandwidth: Annotated[
        Bandwidth,
        typer.Option(help="Kernel width: standard deviation, or median distance (slower)."),
    ] = Bandwidth.std,
    norm_strength: Annotated[
        str,
        typer.Option(
            callback=lambda v: _strength(("auto", "noise"))(v),
            metavar="NUMBER|auto|noise",
            help="Weight of the sparsity term; noise: only features above chance stay at p = 1.",
        ),
    ] = "auto",
    bregman_strength: Annotated[
        str,
        typer.Option(
            callback=lambda v: _strength(("auto",))(v),
            metavar="NUMBER|auto",
            help="Weight of the smoothing term.",
        ),
    ] = "auto",
    elimination_tol: Annotated[
        float, typer.Option(help="A feature is selected if its weight exceeds this; below 1/e.")
    ] = 1e-3,
    n_features: SizeOption = None,
    out: OutOption = None,
    jobs: JobsOption = -1,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
) -> None:
    """Trace the feature path of a table.

    Every column but the target is a feature. Columns are taken raw: kernel widths adapt to each,
    so nothing needs scaling. The table that is printed gives, for round numbers of features, the
    norm exponent p, how optimal the point is (KKT residual, and bound on what elimination cost),
    and the heaviest features.

    Example: `kernelpath path genes.parquet --target outcome --out run/`

    Ten features, text columns included:
    `kernelpath path people.csv -t income --kernel auto -k 10 -o run/`
    """
    from kernelpath.cli.console import friendly_errors

    if not 0 < elimination_tol < 0.36787944117144233:
        raise typer.BadParameter(
            "must lie between 0 and 1/e = 0.3679", param_hint="'--elimination-tol'"
        )
    if norm_strength == bregman_strength == 0:
        raise typer.BadParameter(
            "both are 0, so nothing bounds the weights; make one positive",
            param_hint="'--norm-strength', '--bregman-strength'",
        )
    settings = {
        "kernel": kernel.value,
        "bandwidth": bandwidth.value,
        "task": task.value,
        "norm_strength": norm_strength,
        "bregman_strength": bregman_strength,
        "elimination_tol": elimination_tol,
        "n_features_to_select": n_features,
        "n_jobs": jobs,
    }
    with friendly_errors():
        _run_path(data, target, drop or [], settings, out, as_json, quiet)


def _run_path(
    data: Path,
    target: str | None,
    drop: list[str],
    settings: dict[str, Any],
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from kernelpath.cli.console import progress_bar
    from kernelpath.cli.run import output_folder, run_table
    from kernelpath.estimators.lp_kta import LpKTASelector
    from kernelpath.tables import read_table

    with output_folder(out):
        with progress_bar(not (quiet or as_json)) as begin:
            begin(f"reading {data.name}")
            table = read_table(data, target=target, drop=drop)
            run = run_table(LpKTASelector(**settings), table, begin("alignments"))
        _finish(run, out, as_json, quiet)


def _finish(
    run: Run,
    out: Path | None,
    as_json: bool,
    quiet: bool = False,
    headline: str = "",
    more: dict[str, Any] | None = None,
) -> None:
    """Write the files, then say what was found."""
    from kernelpath.cli.console import path_rows, print_path, safe
    from kernelpath.cli.run import write_run

    written: list[Path] = []
    if out is not None:
        written, skipped = write_run(run, out)
        run.notes.extend(skipped)
    if as_json:
        result = run.as_dict() | (more or {}) | {"files": [str(file) for file in written]}
        typer.echo(json.dumps(result, ensure_ascii=True, allow_nan=False))
        return
    chosen = run.point.n_selected
    if not quiet:
        data = run.path.provenance["data"]
        typer.echo(
            f"{data['n_samples']:,} rows, {data['n_features']:,} features, "
            f"{run.path.provenance['task']}: whole path in {run.seconds:.1f} s\n"
        )
        if rows := path_rows(run.path, [chosen]):
            print_path(rows)
            typer.echo()
    if headline:
        typer.echo(headline)
    for note in run.notes:
        typer.echo(f"note: {safe(note, 400)}", err=True)
    if written:
        size = f"{chosen:,} feature{'s' * (chosen != 1)}"
        names = ", ".join(file.name for file in written)
        names = names.replace("selected.csv", f"selected.csv ({size})")
        typer.echo(f"Wrote {names} to {safe(out, 400)}")
    elif not quiet:
        typer.echo("Nothing was written; add --out DIR to keep the path.")


@app.command("demo")
def demo_command(
    out: OutOption = None,
    rows: Annotated[int, typer.Option(min=20, help="Rows of the simulated table.")] = 1000,
    features: Annotated[int, typer.Option(min=20, help="Columns of it.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    jobs: JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Make a wide table with known relevant features and trace its path.

    The relevant features act through bands, bumps, waves and steps, which have next to no linear
    correlation with the target. The demo says how many of them the path ranks first.

    Example: `kernelpath demo --rows 500 --features 5000 --out run/`
    """
    from kernelpath.cli.console import friendly_errors

    with friendly_errors():
        _run_demo(out, rows, features, seed, jobs, as_json)


def _run_demo(
    out: Path | None, rows: int, features: int, seed: int, jobs: int, as_json: bool
) -> None:
    from kernelpath.cli.console import progress_bar
    from kernelpath.cli.run import output_folder, run_selector
    from kernelpath.datasets import make_wide
    from kernelpath.estimators.lp_kta import LpKTASelector

    with output_folder(out):
        with progress_bar(not as_json) as begin:
            begin("simulating")
            problem = make_wide(rows, features, random_state=seed)
            count = len(problem.relevant)
            selector = LpKTASelector(n_features_to_select=count, n_jobs=jobs)
            run = run_selector(
                selector, problem.X, problem.y, problem.feature_names, begin("alignments")
            )
        first = set(run.path.entry_order()[:count].tolist())
        found = len(first & set(problem.relevant.tolist()))
        headline = f"{found} of the {count} relevant features are the first {count} of the path."
        more = {"n_relevant": count, "n_relevant_first": found}
        _finish(run, out, as_json, headline=headline, more=more)


def main() -> None:
    """Entry point of the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal without UTF-8 shows a question mark instead of a traceback.
            stream.reconfigure(errors="replace")
    app()

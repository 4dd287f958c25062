"""``kernelpath report``: the page again, from the results of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kernelpath.cli.console import friendly_errors, safe
from kernelpath.cli.options import OverwriteOption
from kernelpath.utils.progress import begin, progress_bar

REWRITTEN = ("report.html", "run.json")
NEEDED = ("summary.json", "path.kpath", "model.kpmodel")  # what the page shows, and how to load it

RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        readable=False,
        show_default=False,
        help="Run folder, or a summary.json, .kpath or .kpmodel file.",
    ),
]


def report_command(
    run: RunArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            show_default=False,
            help="File to write. Default: report.html in the run folder, or beside the file.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write the page of a run again.

    A run folder holds everything that the page shows. The page of a single .kpath or .kpmodel
    file is without the views of the data, which such a file does not hold.

    Example: `kernelpath report run/ --out page.html`
    """
    with friendly_errors():
        from kernelpath.cli.files import refuse_overwriting
        from kernelpath.cli.folders import finish_moves, reading
        from kernelpath.cli.manifest import (
            PAGE,
            RUN_FILES,
            Manifest,
            is_in,
            refuse_in_the_way,
            refuse_lone,
        )
        from kernelpath.cli.record import write_page_again, write_page_alone

        others = [run / name for name in RUN_FILES if name != PAGE]
        refuse_overwriting([out], [run, *others])
        place = out or (run / PAGE if run.is_dir() else run.with_suffix(".html"))
        if run.is_dir():
            finish_moves(run)
        # The page of a run folder is one of its files: run.json has its hash, and gets a new one.
        again = place.name == PAGE and is_in(place, run) and Manifest.of(run).has_hashes
        if again:
            refuse_in_the_way(run, REWRITTEN, overwrite)
        else:
            refuse_lone(place, PAGE, overwrite)
        with progress_bar(patience=0):
            begin(f"reading {run.name}")
            with reading(run):
                summary, details = _read(run)
            begin("writing")
            if again:
                write_page_again(run, overwrite, summary, **details)
            else:
                write_page_alone(place, overwrite, summary, **details)
        typer.echo(f"Wrote {safe(place, 400)}")


def _read(run: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Summary, and details of the page."""
    from kernelpath.cli.manifest import Manifest, refuse_mismatch
    from kernelpath.cli.record import KEYS
    from kernelpath.cli.summary_file import read_summary
    from kernelpath.errors import PathFileError

    if run.is_dir():
        if not (run / "summary.json").exists():
            if Manifest.of(run).content:
                raise PathFileError(
                    f"{run}: summary.json is missing; run kernelpath path again with --overwrite"
                )
            raise PathFileError(
                f"{run}: holds no summary.json, so it is not a run folder; name one that "
                "kernelpath path --out wrote"
            )
        summary = read_summary(run / "summary.json")
        refuse_mismatch(run, NEEDED)
        files = [name for name in _recorded(run).get("files", []) if _is_file_in(run, name)]
        details = {"title": _title(run), "command": _recorded(run).get("command")}
        details["files"] = {KEYS.get(name, name): name for name in files}
        return summary, details
    if not run.exists():
        raise PathFileError(f"{run}: no such file or folder: check the name")
    if run.suffix == ".kpath":
        from kernelpath.path.feature_path import load_path
        from kernelpath.report.summary import summarize_path

        return summarize_path(load_path(run)), _beside(run, "path")
    if run.suffix == ".kpmodel":
        from kernelpath.estimators.model_file import load_model
        from kernelpath.report.summary import summarize_cv

        return summarize_cv(load_model(run)), _beside(run, "model")
    return read_summary(run), {"title": run.stem}


def _beside(run: Path, key: str) -> dict[str, Any]:
    return {"title": run.stem, "files": {key: run.name}}


def _is_file_in(run: Path, name: Any) -> bool:
    return isinstance(name, str) and Path(name).name == name and (run / name).is_file()


def _recorded(run: Path) -> dict[str, Any]:
    """What run.json says, if it is there; the page can do without."""
    from kernelpath.cli.summary_file import read_json

    if not (run / "run.json").exists():
        return {}
    content = read_json(run / "run.json")
    if not isinstance(content, dict) or not isinstance(content.get("files", []), list | dict):
        return {}
    return content if isinstance(content.get("command"), str | None) else {}


def _title(run: Path) -> str:
    data = _recorded(run).get("data")
    if isinstance(data, dict) and data.get("file"):
        return f"{data['file']}: {data['target']}" if data.get("target") else str(data["file"])
    return run.resolve().name

"""``kernelpath report``: the page again, from the results of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kernelpath.cli.console import friendly_errors, safe
from kernelpath.progress import begin, progress_bar

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
) -> None:
    """Write the page of a run again.

    A run folder holds everything that the page shows. The page of a single .kpath or .kpmodel
    file is without the views of the data, which such a file does not hold.

    Example: `kernelpath report run/ --out page.html`
    """
    with friendly_errors():
        from kernelpath.cli.files import RUN_FILES, refuse_overwriting
        from kernelpath.cli.record import write_page_alone

        others = [run / name for name in RUN_FILES if name != "report.html"]
        refuse_overwriting([out], [run, *others])
        with progress_bar(patience=0):
            begin(f"reading {run.name}")
            summary, details, place = _read(run)
            begin("writing")
            write_page_alone(out or place, summary, **details)
        typer.echo(f"Wrote {safe(out or place, 400)}")


def _read(run: Path) -> tuple[dict[str, Any], dict[str, Any], Path]:
    """Summary, details of the page, and where it goes unless asked otherwise."""
    from kernelpath.cli.record import KEYS
    from kernelpath.cli.summary_file import read_summary
    from kernelpath.errors import PathFileError

    if run.is_dir():
        if not (run / "summary.json").exists():
            raise PathFileError(
                f"{run}: holds no summary.json, so it is not a run folder; name one that "
                "kernelpath path --out wrote"
            )
        summary = read_summary(run / "summary.json")
        files = [name for name in _recorded(run).get("files", []) if _is_file_in(run, name)]
        details = {"title": _title(run), "command": _recorded(run).get("command")}
        details["files"] = {KEYS.get(name, name): name for name in files}
        return summary, details, run / "report.html"
    place = run.with_suffix(".html")
    if not run.exists():
        raise PathFileError(f"{run}: no such file or folder: check the name")
    if run.suffix == ".kpath":
        from kernelpath.path import load_path
        from kernelpath.report.summary import summarize_path

        return summarize_path(load_path(run)), _beside(run, "path"), place
    if run.suffix == ".kpmodel":
        from kernelpath.estimators.path_cv_file import load_model
        from kernelpath.report.summary import summarize_cv

        return summarize_cv(load_model(run)), _beside(run, "model"), place
    return read_summary(run), {"title": run.stem}, place


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
    if not isinstance(content, dict) or not isinstance(content.get("files", []), list):
        return {}
    return content if isinstance(content.get("command"), str | None) else {}


def _title(run: Path) -> str:
    data = _recorded(run).get("data")
    if isinstance(data, dict) and data.get("file"):
        return f"{data['file']}: {data['target']}" if data.get("target") else str(data["file"])
    return run.resolve().name

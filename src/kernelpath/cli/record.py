"""What every run writes about itself: the summary, the page drawn from it, and how it was made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from kernelpath.cli.command import argv, command_line, options_in_force
from kernelpath.cli.files import write_alone, write_json
from kernelpath.cli.folders import write_together
from kernelpath.cli.manifest import (
    FORMAT,
    PAGE,
    RECORD,
    RUN_FILES,
    VERSION,
    Manifest,
    describe,
    is_in,
    sealed,
)
from kernelpath.errors import DataError
from kernelpath.utils.provenance import versions

KEYS = {"path.kpath": "path", "model.kpmodel": "model"}  # as the page calls these files


@dataclass
class Record:
    """How results came about."""

    command: list[str]
    options: dict[str, Any]
    data: dict[str, Any]
    seconds: float = 0.0

    @classmethod
    def of(cls, context: typer.Context, file: str, target: str | None = None) -> Record:
        """Start a record of the command that is running."""
        data = {"file": file, "target": target, "fingerprint": None}
        return cls(argv(context), options_in_force(context), data)

    @property
    def line(self) -> str:
        """The command as a line for the shell."""
        return command_line(self.command)

    @property
    def title(self) -> str:
        """Title of the page."""
        file, target = self.data["file"], self.data["target"]
        return f"{file}: {target}" if target else str(file)

    def as_dict(self, files: dict[str, Any]) -> dict[str, Any]:
        """Content of run.json."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "command": self.line,
            "argv": self.command,
            "options": self.options,
            "data": self.data,
            "seconds": round(self.seconds, 3),
            "versions": versions(),
            "files": files,
        }


def write_record(record: Record, folder: Path) -> None:
    """Write run.json, last of all: it has the hashes of the others."""
    files = {file.name: describe(file) for file in sorted(folder.iterdir())}
    write_json(folder / RECORD, sealed(record.as_dict(files)))


def write_page(
    summary: dict[str, Any], record: Record, folder: Path, name: str = "report.html"
) -> list[str]:
    """Write summary.json and the page; return why a file was left out."""
    if name == "report.html":
        write_json(folder / "summary.json", summary)
    files = {KEYS.get(p.name, p.name): p.name for p in sorted(folder.iterdir())}
    try:
        page = render(summary, title=record.title, command=record.line, files=files)
    except ImportError as error:
        return [str(error)]
    (folder / name).write_bytes(page)
    return []


def render(summary: dict[str, Any], **details: Any) -> bytes:
    """Draw the page."""
    from kernelpath.report.html import render_html

    return render_html(summary, **details).encode("utf-8")


def page_place(report: str | None, out: Path | None) -> Path | None:
    """File that ``--report`` asks for beside the one in the run folder.

    Examples
    --------
    >>> page_place("", Path("run")) is None, str(page_place("", None))
    (True, 'report.html')
    >>> page_place("run/report.html", Path("run")) is None
    True
    """
    if report is None or (report == "" and out is not None):
        return None
    place = Path(report or PAGE)
    if out is None or not is_in(place, out) or place.name not in RUN_FILES:
        return place
    if place.name == PAGE:
        return None
    raise DataError(f"{place}: is a file of the run itself; name another for --report")


def write_page_again(run: Path, overwrite: bool, summary: dict[str, Any], **details: Any) -> None:
    """Write the page of a run folder anew, and its hash to run.json."""
    try:
        page = render(summary, **details)
    except ImportError as error:
        raise DataError(str(error)) from None

    def write(folder: Path) -> list[str]:
        (folder / PAGE).write_bytes(page)
        content = Manifest.of(run).content
        content["files"] = content["files"] | {PAGE: describe(folder / PAGE)}
        write_json(folder / RECORD, sealed(content))
        return []

    write_together(run, (PAGE, RECORD), write, overwrite)


def write_page_alone(file: Path, overwrite: bool, summary: dict[str, Any], **details: Any) -> None:
    """Write the page to a file that was asked for."""
    try:
        page = render(summary, **details)
    except ImportError as error:
        raise DataError(str(error)) from None
    write_alone(file, page, PAGE, overwrite)

"""The files of a run: tables that no spreadsheet executes, the page, and run.json last of all."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from kernelpath.catalogue import label
from kernelpath.cli.invocation import argv, command_line, options_in_force
from kernelpath.cli.manifest import (
    FORMAT,
    PAGE,
    RECORD,
    RUN_FILES,
    VERSION,
    Manifest,
    describe,
    is_in,
    refuse_lone,
    sealed,
)
from kernelpath.cli.run_folder import write_together
from kernelpath.errors import DataError
from kernelpath.report.plain_text import visible
from kernelpath.utils.atomic import check_writable, replacing

KEYS = {"path.kpath": "path", "model.kpmodel": "model"}  # as the page calls these files
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HARMLESS = re.compile(r"[-+](\d+\.?\d*([eE][-+]?\d+)?)?")  # a sign, or a number as text


# -- how it was made -------------------------------------------------------------------------------


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

    def page(self, summary: dict[str, Any]) -> dict[str, str]:
        """What the page says of the command."""
        method = label(summary["method"])
        return {"title": self.title, "command": self.line, "method": method}

    def as_dict(self, files: dict[str, Any]) -> dict[str, Any]:
        """Content of run.json."""
        from kernelpath.utils.provenance import versions

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


# -- tables and JSON -------------------------------------------------------------------------------


def cell(value: Any) -> Any:
    r"""Value of a CSV cell; text that a spreadsheet would take for a formula gets an apostrophe.

    Control characters but tab and newline are written out, as ``\x1b``.

    Examples
    --------
    >>> cell("=1+1"), cell("gene"), cell(-0.5), cell("-"), cell("-1")
    ("'=1+1", 'gene', -0.5, '-', '-1')
    """
    if not isinstance(value, str):
        return value
    if not value.startswith(_FORMULA) or _HARMLESS.fullmatch(value):
        return visible(value)
    return f"'{visible(value)}"


def write_csv(file: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table of numbers and guarded text; None is an empty cell."""
    with open(file, "w", newline="", encoding="utf-8", errors="surrogatepass") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow([cell(name) for name in header])
        writer.writerows([cell(value) for value in row] for row in rows)


def write_frame(file: Path, frame: Any) -> None:
    """Write a dataframe so; NaN is an empty cell."""
    columns = [frame[name].tolist() for name in frame.columns]
    rows = ([None if v != v else v for v in row] for row in zip(*columns))
    write_csv(file, [str(name) for name in frame.columns], rows)


def write_json(file: Path, value: Any) -> None:
    """Write JSON that every language reads."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, indent=1)
    file.write_text(text + "\n", encoding="utf-8")


# -- the page --------------------------------------------------------------------------------------


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


def write_page(
    summary: dict[str, Any], record: Record, folder: Path, name: str = "report.html"
) -> list[str]:
    """Write summary.json and the page; return why a file was left out."""
    if name == "report.html":
        write_json(folder / "summary.json", summary)
    files = {KEYS.get(p.name, p.name): p.name for p in sorted(folder.iterdir())}
    try:
        page = render(summary, files=files, **record.page(summary))
    except ImportError as error:
        return [str(error)]
    (folder / name).write_bytes(page)
    return []


def render(summary: dict[str, Any], **details: Any) -> bytes:
    """Draw the page."""
    from kernelpath.report.html import render_html

    return render_html(summary, **details).encode("utf-8")


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


# -- single files ----------------------------------------------------------------------------------


def write_alone(file: Path, content: bytes, kind: str, overwrite: bool) -> None:
    """Write one file outside of a folder of results, whole or not at all; see `refuse_lone`."""
    check_writable(file.parent)
    refuse_lone(file, kind, overwrite)
    with replacing(file, follow=False) as handle:
        handle.write(content)


def refuse_overwriting(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse to write a result over a file that it is made from."""
    given = [file for file in inputs if file is not None and file.exists()]
    for file in outputs:
        if file is not None and file.exists():
            for other in given:
                if file.samefile(other):
                    raise DataError(f"{other}: is read, so it cannot be written; name another file")

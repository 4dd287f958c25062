"""Single files of results: cells that no spreadsheet executes, and what is never written over."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kernelpath.cli.manifest import refuse_lone
from kernelpath.errors import DataError
from kernelpath.report.plain_text import visible
from kernelpath.utils.atomic import check_writable, replacing

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HARMLESS = re.compile(r"[-+](\d+\.?\d*([eE][-+]?\d+)?)?")  # a sign, or a number as text


# -- single files ----------------------------------------------------------------------------------


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

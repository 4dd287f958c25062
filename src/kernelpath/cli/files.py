"""Folders of results: written together or not at all, with cells that no spreadsheet executes."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kernelpath.atomic import check_writable, replacing
from kernelpath.errors import DataError

RUN_FILES = (
    "path.kpath", "path.csv", "selected.csv", "scores.csv", "model.kpmodel", "summary.json",
    "report.html", "path.png", "accuracy.png", "run.json",
)  # fmt: skip
COMPARISON_FILES = (
    "comparison.csv", "comparison.json", "comparison.html", "comparison.png", "run.json",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HARMLESS = re.compile(r"[-+](\d+\.?\d*([eE][-+]?\d+)?)?")  # a sign, or a number as text


# -- single files ----------------------------------------------------------------------------------


def cell(value: Any) -> Any:
    """Value of a CSV cell; text that a spreadsheet would take for a formula gets an apostrophe.

    Examples
    --------
    >>> cell("=1+1"), cell("gene"), cell(-0.5), cell("-"), cell("-1")
    ("'=1+1", 'gene', -0.5, '-', '-1')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA) or _HARMLESS.fullmatch(value):
        return value
    return f"'{value}"


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


def write_alone(file: Path, content: bytes) -> None:
    """Write one file outside of a folder of results, whole or not at all."""
    check_writable(file.parent)
    if file.is_dir():
        raise DataError(f"{file}: cannot be written: is a directory; name a file")
    with replacing(file) as handle:
        handle.write(content)


def refuse_overwriting(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse to write a result over a file that it is made from."""
    given = [file for file in inputs if file is not None and file.exists()]
    for file in outputs:
        if file is not None and file.exists():
            for other in given:
                if file.samefile(other):
                    raise DataError(f"{other}: is read, so it cannot be written; name another file")


def refuse_removing(directory: Path | None, name: str, reason: str) -> None:
    """Refuse to take away a file of an earlier run that the new one does not make again."""
    if directory is not None and (directory / name).exists():
        raise DataError(
            f"{directory}: holds the {name} of an earlier run, which {reason} would remove; name "
            "another folder, or remove that file first"
        )


# -- folders ---------------------------------------------------------------------------------------


@contextmanager
def output_folder(directory: Path | None) -> Iterator[None]:
    """Prove at once that a folder can be written to; after a failure, take away what was made."""
    if directory is None:
        yield
        return
    made = missing_folders(directory)
    try:
        check_writable(directory)
        yield
    except BaseException:
        remove_empty(made)
        raise


def missing_folders(directory: Path) -> list[Path]:
    """Folders that are not there yet, the innermost first."""
    return [folder for folder in (directory, *directory.parents) if not folder.exists()]


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders that hold nothing."""
    for folder in folders:
        with suppress(OSError):  # not empty: somebody else uses it
            folder.rmdir()


def write_together(
    directory: str | os.PathLike[str],
    names: Sequence[str],
    write: Callable[[Path], list[str]],
) -> tuple[list[Path], list[str]]:
    """Write all files of a run, or, after any exception, leave those of an earlier one.

    Parameters
    ----------
    directory : path
        A folder that is not there yet appears with all its files in one step.
    names : sequence of str
        Files that the run may write; those of an earlier run that it did not are removed.
    write : callable
        Writes into the folder that it is given, and returns why files were left out.

    Returns
    -------
    files : list of Path
    reasons : list of str
    """
    out = Path(directory)
    new = not out.exists()
    base = check_writable(out.absolute().parent if new else out)
    stage = Path(tempfile.mkdtemp(prefix=".kernelpath-", dir=base))
    inside = stage / "run"
    try:
        inside.mkdir()  # unlike the temporary folder around it, others may read it
        skipped = write(inside)
        if not new:
            return _move_together(inside, out, names), skipped
        os.replace(inside, out)
        return [out / name for name in names if (out / name).exists()], skipped
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "no space left; free some or choose another directory"
        raise DataError(f"{out}: cannot be written: {reason}") from error
    except DataError as error:
        raise DataError(str(error).replace(str(inside), str(out))) from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _move_together(stage: Path, out: Path, names: Sequence[str]) -> list[Path]:
    """Move the files to their place; an exception half-way brings the earlier ones back."""
    earlier = stage / "earlier"
    earlier.mkdir()
    kept = [name for name in names if (out / name).exists()]
    for name in kept:
        try:  # a second name costs no space; some file systems have none
            os.link(out / name, earlier / name)
        except OSError:
            shutil.copy2(out / name, earlier / name)
    written = [name for name in names if (stage / name).exists()]
    try:
        for name in written:
            os.replace(stage / name, out / name)
        for name in set(kept) - set(written):
            (out / name).unlink()  # a picture of an earlier run would contradict the new path
    except BaseException:
        for name in names:
            if name in kept:
                os.replace(earlier / name, out / name)
            else:
                (out / name).unlink(missing_ok=True)
        raise
    return [out / name for name in written]

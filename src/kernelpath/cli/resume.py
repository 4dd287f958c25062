"""A hidden folder beside the results, from which a run that was killed goes on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelpath.atomic import check_writable
from kernelpath.cli.console import Interrupted
from kernelpath.cli.files import missing_folders, remove_empty
from kernelpath.cli.start import HALF_WRITTEN
from kernelpath.errors import DataError

FOLDS = "folds"


def resume_folder(out: Path) -> Path:
    """Where finished folds wait for the end of the run.

    Examples
    --------
    >>> resume_folder(Path("results/run")).as_posix().endswith("results/.run.resume")
    True
    """
    whole = out.absolute()
    if whole.name in ("", "..") or out.name == "":
        whole = out.resolve()
    return whole.parent / f".{whole.name}.resume"


@contextmanager
def resuming(out: Path | None) -> Iterator[Path | None]:
    """Give the folder for finished folds; it is removed when all went well.

    An interrupt, a kill or a full disk leaves it for the next run of the same command; data that
    cannot be used leave nothing.
    """
    if out is None:
        with _saying_what_is_kept(None):
            yield None
        return
    folder = resume_folder(out)
    known = folder.exists()
    made = missing_folders(folder)
    try:
        if out.exists():
            check_writable(out)
        check_writable(folder / FOLDS)
    except DataError as error:
        remove_empty(made)
        raise DataError(str(error).replace(str(folder / FOLDS), str(out))) from error
    try:
        with _saying_what_is_kept(folder):
            yield folder / FOLDS
    except DataError as error:
        if not known and "cannot be written" not in str(error):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    else:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        if not any(folder.glob(f"{FOLDS}/*")):
            shutil.rmtree(folder, ignore_errors=True)
        remove_empty(made)


@contextmanager
def _saying_what_is_kept(folder: Path | None) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise Interrupted(_kept(folder, interrupt)) from None


def _kept(folder: Path | None, interrupt: KeyboardInterrupt) -> str:
    if folder is None:
        return f"{HALF_WRITTEN}, and nothing is kept; with --out DIR the same command can go on"
    if not any(folder.glob(f"{FOLDS}/*")):
        return HALF_WRITTEN
    notes = " ".join(getattr(interrupt, "__notes__", []))
    done = re.search(r"\d+ of \d+ folds", notes)
    what = f"{done[0]} finished" if done else "what was finished is kept"
    return f"{HALF_WRITTEN}; {what}, and the same command goes on from there"

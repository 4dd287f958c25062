"""A hidden folder beside the results, from which a run that was killed goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelpath.cli.console import Interrupted, unmasked_interrupts
from kernelpath.cli.folders import NotWritten, missing_folders, remove_empty
from kernelpath.cli.start import HALF_WRITTEN
from kernelpath.errors import DataError
from kernelpath.utils.atomic import check_writable, close, hold, lock, open_folder, sweep

FOLDS = "folds"
FOLD_FILES = "fold-*.kpfold"
GOES_ON = "the same command goes on from there"
KEPT = f"what was finished is kept, and {GOES_ON}"
_FOLD = re.compile(r"fold-[0-9a-f]{32}\.kpfold")


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
    """Give the folder for finished folds; they are removed when all went well.

    An interrupt, a kill or a full disk leaves them for the next run of the same command; data that
    cannot be used leave nothing.  Files that are no folds stay in any case.
    """
    if out is None:
        with _saying_what_is_kept(None):
            yield None
        return
    folder = resume_folder(out)
    made = missing_folders(folder)
    descriptor = _taken(out, folder, made)
    known = has_folds(folder)
    try:
        with _saying_what_is_kept(folder):
            yield folder / FOLDS
    except NotWritten as error:
        raise DataError(f"{error}; {KEPT}" if has_folds(folder) else str(error)) from error
    except DataError:
        if not known:
            _remove_folds(folder)
        raise
    else:
        _remove_folds(folder)
    finally:
        remove_empty([folder / FOLDS, folder, *made])
        close(descriptor)


def _taken(out: Path, folder: Path, made: list[Path]) -> int | None:
    """Make the folder and take its lock, so that no other run works for the same results."""
    for place in (folder, folder / FOLDS):
        if place.is_symlink():
            raise DataError(f"{place}: is a symbolic link; remove it, or name another --out")
    while True:
        try:
            if out.exists():
                check_writable(out)
            check_writable(folder / FOLDS)
            descriptor = open_folder(folder)
        except DataError as error:
            remove_empty(made)
            raise DataError(str(error).replace(str(folder / FOLDS), str(out))) from error
        except FileNotFoundError:  # removed by a run that ended just now
            continue
        if lock(descriptor, wait=False) is False:
            close(descriptor)
            raise DataError(
                f"{out}: another run is at work for this folder; wait for its end, or name another "
                "folder with --out"
            )
        if hold(descriptor, folder):
            sweep(folder / FOLDS)
            return descriptor
        close(descriptor)


def has_folds(folder: Path) -> bool:
    """Whether there is work to go on from."""
    return any(folder.glob(f"{FOLDS}/{FOLD_FILES}"))


def _remove_folds(folder: Path) -> None:
    """Remove the files of folds, and the folders if nothing else is in them."""
    for file in folder.glob(f"{FOLDS}/{FOLD_FILES}"):
        if _FOLD.fullmatch(file.name) and not file.is_dir():
            with suppress(OSError):
                file.unlink()
    remove_empty([folder / FOLDS, folder])


@contextmanager
def _saying_what_is_kept(folder: Path | None) -> Iterator[None]:
    try:
        with unmasked_interrupts():
            yield
    except KeyboardInterrupt as interrupt:
        raise Interrupted(_kept(folder, interrupt)) from None


def _kept(folder: Path | None, interrupt: KeyboardInterrupt) -> str:
    if folder is None:
        return f"{HALF_WRITTEN}, and nothing is kept; with --out DIR the same command can go on"
    if not has_folds(folder):
        return HALF_WRITTEN
    notes = " ".join(getattr(interrupt, "__notes__", []))
    done = re.search(r"\d+ of \d+ folds", notes)
    what = f"{done[0]} finished, and {GOES_ON}" if done else KEPT
    return f"{HALF_WRITTEN}; {what}"

"""Folders of results: a run appears wholly or not at all, whatever ends it.

A new folder appears by one renaming.  Into a folder that is there, files move one by one, and a
journal in a hidden folder (``.kernelpath-*.stage/move.json``) says beforehand what moves, with the
hash of every new and every earlier file.  An exception on the way brings the earlier files back.
After a kill the next command that opens the folder finishes the move, or takes it back if the
kill came while it was taken back; a kill in the middle of that changes nothing.

While folds are computed, the finished ones wait in a hidden folder beside the results
(``.run.resume``), from which a run that was killed goes on.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kernelpath.cli.console import Interrupted, unmasked_interrupts
from kernelpath.cli.manifest import (
    KNOWN,
    MODEL,
    Manifest,
    describe,
    refuse_in_the_way,
    refuse_other_command,
    refuse_removing,
    some,
)
from kernelpath.cli.start import HALF_WRITTEN
from kernelpath.errors import DataError, cannot_write, finished_folds
from kernelpath.utils.atomic import (
    UNFINISHED,
    check_writable,
    close,
    hold,
    lock,
    locked,
    open_folder,
    refuse_dangling,
    replacing,
    staging,
    sweep,
    sync_directory,
)

FORMAT, VERSION = "kernelpath-move", 1
STAGES = ".kernelpath-*.stage"
FOLDS = "folds"
FOLD_FILES = "fold-*.kpfold"
GOES_ON = "the same command goes on from there"
KEPT = f"what was finished is kept, and {GOES_ON}"
_FOLD = re.compile(r"fold-[0-9a-f]{32}\.kpfold")


class NotWritten(DataError):
    """The results cannot be written where they should go; what was computed is worth keeping."""


# -- before the work -------------------------------------------------------------------------------


def refuse_folder(out: Path | None, names: Sequence[str], overwrite: bool = False) -> None:
    """Refuse, before any work, a folder in which a run would touch what is not its own."""
    if out is None:
        return
    refuse_dangling(out)
    if not out.is_dir():
        return
    finish_moves(out)
    refuse_other_command(out, names)
    refuse_in_the_way(out, names, overwrite)


@contextmanager
def output_folder(directory: Path | None) -> Iterator[None]:
    """Prove at once that a folder can be written to; after a failure, take away what was made.

    A folder that is not there yet is left to the end, when it appears with all its files.
    """
    if directory is None:
        yield
        return
    made = missing_folders(directory)
    place = directory if os.path.lexists(directory) else directory.absolute().parent
    try:
        try:
            check_writable(place)
        except DataError as error:
            raise cannot_write(directory, error.reason or str(error)) from error
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


# -- writing ---------------------------------------------------------------------------------------


def write_together(
    directory: str | os.PathLike[str],
    names: Sequence[str],
    write: Callable[[Path], list[str]],
    overwrite: bool = False,
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
    overwrite : bool
        Whether files of our kind may be replaced though no run.json vouches for them.

    Returns
    -------
    files : list of Path
    reasons : list of str
    """
    out = Path(directory)
    new = not out.exists()
    with _in_words(out):
        base = check_writable(out.absolute().parent if new else out)
        sweep(base)
        with staging(base) as stage:
            inside = stage / "run"
            inside.mkdir()
            skipped = write(inside)
            _bring_to_disk(inside)
            if not (new and _appears(inside, out)):
                _move_in(inside, out, names, overwrite)
        return [out / name for name in names if (out / name).exists()], skipped


@contextmanager
def _in_words(out: Path) -> Iterator[None]:
    """Name the folder of the user in messages, not the hidden ones; what was found is kept."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "no space left; free some or choose another directory"
        raise NotWritten(f"{out}: cannot be written: {reason}") from error
    except DataError as error:
        raise NotWritten(str(error)) from error


def _bring_to_disk(folder: Path) -> None:
    """A file that takes the place of another must be whole even if the power fails."""
    for file in folder.iterdir():
        with open(file, "rb+") as handle:
            os.fsync(handle.fileno())
    sync_directory(folder)


def _appears(inside: Path, out: Path) -> bool:
    """Make a new folder appear in one step; False if another process made it meanwhile."""
    try:
        os.replace(inside, out)
    except OSError:
        if out.is_dir():
            return False
        raise
    sync_directory(out.absolute().parent)
    return True


def _move_in(inside: Path, out: Path, names: Sequence[str], overwrite: bool) -> None:
    """Move files into a folder that is there; its lock keeps others from doing so meanwhile."""
    with staging(out) as stage:
        os.replace(inside, stage / "run")
        with locked(out):
            _finish_moves(out)
            refuse_in_the_way(out, names, overwrite)  # hours may have passed since the first look
            if MODEL in names and not (stage / "run" / MODEL).exists():
                refuse_removing(out, MODEL, "a run without --cv")  # of a run that ended meanwhile
            try:
                _plan(stage, out, names)
                _Move(stage, out).finish()
            except BaseException:
                if (stage / UNFINISHED).exists():  # without it nothing has moved, or all
                    _Move(stage, out).undo()
                raise


class _Move:
    """Files on their way from a stage to a folder, as the journal in the stage has them."""

    def __init__(self, stage: Path, out: Path) -> None:
        self.out, self.files, self.earlier = out, stage / "run", stage / "earlier"
        self.journal = stage / UNFINISHED
        journal = _journal(self.journal, out)
        self.new, self.old = journal["new"], journal["earlier"]

    def finish(self) -> None:
        """Bring all new files to their place; what is done already is not done again."""
        for name in self.new:
            if (self.files / name).exists():
                os.replace(self.files / name, self.out / name)
        for name in self.old:
            if name not in self.new:  # a picture of an earlier run would contradict the new path
                (self.out / name).unlink(missing_ok=True)
        self._end()

    def undo(self) -> None:
        """Bring all earlier files back."""
        for name in self.new | self.old:
            if name not in self.old:
                (self.out / name).unlink(missing_ok=True)
            elif (self.earlier / name).exists():
                os.replace(self.earlier / name, self.out / name)
        self._end()

    def _end(self) -> None:
        sync_directory(self.out)
        self.journal.unlink(missing_ok=True)

    def complete(self, hashes: dict[str, Any], waiting: Path) -> bool:
        """Whether all these files are in their place or wait for it."""
        return all(
            known in (describe(waiting / name), describe(self.out / name))
            for name, known in hashes.items()
        )

    def changed(self) -> list[str]:
        """Files of the folder that neither run wrote."""
        runs = (self.new, self.old)
        return [
            name
            for name in self.new | self.old
            if os.path.lexists(self.out / name)
            and describe(self.out / name) not in [run[name] for run in runs if name in run]
        ]


def _plan(stage: Path, out: Path, names: Sequence[str]) -> None:
    """Write the journal: from here on a kill is followed by the rest of the move."""
    known = Manifest.of(out).files
    written = [name for name in names if (stage / "run" / name).exists()]
    kept = [name for name in names if (out / name).exists() and (name in written or name in known)]
    (stage / "earlier").mkdir()
    for name in kept:
        try:  # a second name costs no space; some file systems have none
            os.link(out / name, stage / "earlier" / name)
        except OSError:
            shutil.copy2(out / name, stage / "earlier" / name)
    journal = {
        "format": FORMAT,
        "version": VERSION,
        "new": {name: describe(stage / "run" / name) for name in written},
        "earlier": {name: describe(out / name) for name in kept},
    }
    for folder in (stage / "run", stage / "earlier", stage, out):
        sync_directory(folder)
    with replacing(stage / UNFINISHED) as handle:
        handle.write(json.dumps(journal, indent=1).encode())


# -- after a kill ----------------------------------------------------------------------------------


def finish_moves(out: Path) -> None:
    """Finish what a run that was killed in its last step left undone, and clear up after it.

    Parameters
    ----------
    out : Path
        A folder that is there; without write access it is only looked at.
    """
    if any(out.glob(f"{STAGES}/{UNFINISHED}")):
        try:
            with locked(out):
                _finish_moves(out)
        except OSError as error:
            raise DataError(
                f"{out}: a run into it was killed in its last step, and the rest of it cannot be "
                f"done ({error.strerror or error}); open it once with write access"
            ) from error
    sweep(out)


def _finish_moves(out: Path) -> None:
    """Do so under the lock of the folder, which a living run holds while it moves."""
    for file in sorted(out.glob(f"{STAGES}/{UNFINISHED}")):
        move = _Move(file.parent, out)
        killed = f"{out}: a run into it was killed in its last step"
        changed = move.changed()
        if changed:
            raise DataError(
                f"{killed}, and {some(changed)} changed since; move {_it(changed)} away, and start "
                "again"
            )
        if move.complete(move.new, move.files):
            move.finish()
        elif move.complete(move.old, move.earlier):
            move.undo()
        else:
            raise DataError(
                f"{killed}, and files of it are missing; remove {file.parent.name} there, and run "
                "the command again"
            )
        shutil.rmtree(file.parent, ignore_errors=True)


def _journal(file: Path, out: Path) -> dict[str, Any]:
    try:
        journal = json.loads(file.read_text(encoding="utf-8"))
        known = {*journal["new"], *journal["earlier"]} <= KNOWN
        if known and (journal["format"], journal["version"]) == (FORMAT, VERSION):
            return dict(journal)
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise DataError(
        f"{out}: the journal {file.parent.name}/{file.name} there cannot be read; remove it, and "
        "run the command again"
    )


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


@contextmanager
def reading(run: Path) -> Iterator[None]:
    """Keep a run folder from changing while it is read; any other place is left alone."""
    if not run.is_dir():
        yield
        return
    finish_moves(run)
    with locked(run, shared=True):
        yield


# -- while folds are computed ----------------------------------------------------------------------


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
            raise cannot_write(out, error.reason or str(error)) from error
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
    folds = finished_folds(interrupt)
    what = KEPT if folds is None else f"{folds.done} of {folds.total} folds finished, and {GOES_ON}"
    return f"{HALF_WRITTEN}; {what}"

"""Writing files so that a reader, or a crash, never meets half of one.

The content goes to a temporary file in the same directory, which then takes the place of the
target in one step. What the content is does not matter here.

A process that is killed leaves its temporary files and folders; the next one removes them. Those of
the living are known by a lock, which the system takes from a process in the moment of its death.
Where there are no locks (Windows, some network file systems), nothing is removed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from kernelpath.errors import DataError, cannot_write

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_FULL = {errno.ENOSPC, errno.EDQUOT}
_OURS = re.compile(r"\.kernelpath-[0-9a-f]{16}\.(tmp|stage)")
UNFINISHED = "move.json"  # a stage with this file is needed still: see `sweep`


# -- files -----------------------------------------------------------------------------------------


@contextmanager
def replacing(target: str | os.PathLike[str], follow: bool = True) -> Iterator[BinaryIO]:
    r"""Open a temporary file that takes the place of `target` when the block ends well.

    After any exception, a keyboard interrupt included, the temporary file is removed and `target`
    is as it was before. A replaced file keeps its access rights, and a symbolic link its place.
    What a process that was killed left in the directory is removed on the way.

    Parameters
    ----------
    target : str or path
        File to write; its directory must exist (see `check_writable`).
    follow : bool
        If False, a symbolic link is replaced itself and the file that it points to stays as it is:
        for folders that others may write to.

    Yields
    ------
    file object
        Open for writing and reading bytes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.txt")
    ...     with replacing(file) as handle:
    ...         _ = handle.write(b"alpha\n")
    ...     file.read_bytes(), len(list(file.parent.iterdir()))
    (b'alpha\n', 1)
    """
    target = Path(os.path.realpath(target) if follow else target)
    _sweep_once(target.parent.absolute())
    temporary, handle = _new_file(target.parent)
    try:
        with handle:
            yield handle
            handle.flush()
            # The content must be on disk before its name: a crash must not leave an empty file.
            os.fsync(handle.fileno())
            if not target.is_symlink() and target.exists():
                shutil.copymode(target, temporary)
            if fcntl is None:
                handle.close()  # Windows moves no open file; elsewhere its lock is needed still
            os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_directory(target.parent)


def _new_file(folder: Path) -> tuple[Path, BinaryIO]:
    while True:
        temporary = _temporary_name(folder)
        # "x" respects the umask, which tempfile does not: others may read the result.
        handle = open(temporary, "x+b")  # noqa: SIM115
        if hold(handle.fileno(), temporary):
            return temporary, handle
        handle.close()


def check_writable(directory: str | os.PathLike[str]) -> Path:
    """Create a directory, with its parents, and prove that a file can be written to it.

    Meant for the beginning of a long run: better refused at once than after an hour.

    Parameters
    ----------
    directory : str or path
        Directory for results.

    Returns
    -------
    Path
        The directory.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = check_writable(pathlib.Path(folder, "results", "run"))
    ...     run.is_dir(), list(run.iterdir())
    (True, [])
    """
    folder = Path(directory)
    probe = _temporary_name(folder)
    refuse_dangling(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with open(probe, "xb") as handle:
                handle.write(b"\0" * 4096)  # an empty file may fit on a full disk
                handle.flush()
                os.fsync(handle.fileno())
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(directory, error) from error
    return folder


def refuse_dangling(path: Path) -> None:
    """Refuse a place that a symbolic link says is elsewhere, where there is nothing."""
    for place in (path, *path.parents):
        if place.is_symlink() and not place.exists():
            raise cannot_write(
                path,
                f"{place} is a link to {os.readlink(place)}, which is not there; create it or "
                "choose another name",
            )


def _temporary_name(directory: Path, ending: str = "tmp") -> Path:
    return directory / f".kernelpath-{secrets.token_hex(8)}.{ending}"


def sync_directory(directory: Path) -> None:
    """Bring the names in a directory to the disk."""
    # Best effort: Windows and some network file systems cannot do it.
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- what the dead leave ---------------------------------------------------------------------------


@contextmanager
def staging(directory: Path) -> Iterator[Path]:
    """Make a hidden folder for files that are not yet in their place; it is removed at the end.

    Parameters
    ----------
    directory : Path
        Where to make it.

    Yields
    ------
    Path
        The folder. A file `UNFINISHED` in it keeps it from being removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with staging(Path(folder)) as stage:
    ...         _ = (stage / "draft.txt").write_text("alpha")
    ...         sweep(Path(folder))  # of the dead only
    ...         stage.parent == Path(folder), (stage / "draft.txt").exists(), stage.exists()
    ...     list(Path(folder).iterdir())
    (True, True, True)
    []
    """
    while True:
        stage = _temporary_name(directory, "stage")
        stage.mkdir()
        descriptor = open_folder(stage)
        if hold(descriptor, stage):
            break
        close(descriptor)
    try:
        yield stage
    finally:
        if not (stage / UNFINISHED).exists():
            shutil.rmtree(stage, ignore_errors=True)
        close(descriptor)


def sweep(directory: Path) -> None:
    """Remove the temporary files and folders of processes that are no more.

    Parameters
    ----------
    directory : Path
        Where to look; a stage that holds `UNFINISHED` stays.
    """
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in [e for e in entries if _OURS.fullmatch(e.name) and not e.is_symlink()]:
            with suppress(OSError):  # gone, or of another user
                _remove_if_dead(Path(entry.path))


def _remove_if_dead(left: Path) -> None:
    descriptor = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not lock(descriptor, wait=False):
            return
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISREG(kind):
            left.unlink()
        elif stat.S_ISDIR(kind) and not (left / UNFINISHED).exists():
            shutil.rmtree(left, ignore_errors=True)
    finally:
        os.close(descriptor)


@cache
def _sweep_once(directory: Path) -> None:
    """Sweep, but not for each of many files: the process itself leaves nothing while it lives."""
    sweep(directory)


def open_folder(directory: Path) -> int | None:
    """Open a folder, to lock it; None where there are no locks."""
    return None if fcntl is None else os.open(directory, os.O_RDONLY)


def close(descriptor: int | None) -> None:
    """Close what `open_folder` opened."""
    if descriptor is not None:
        os.close(descriptor)


def hold(descriptor: int | None, path: Path) -> bool:
    """Mark a file or folder as that of a living process; False if another removed it meanwhile."""
    if descriptor is None:
        return True
    lock(descriptor)
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    return False


def lock(descriptor: int | None, shared: bool = False, wait: bool = True) -> bool | None:
    """Lock an open file or folder until it is closed or the process ends.

    Returns
    -------
    bool or None
        True if it is locked now, False if another holds it, None where there are no locks.
    """
    if fcntl is None or descriptor is None:
        return None
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, how if wait else how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def locked(directory: Path, shared: bool = False) -> Iterator[None]:
    """Wait for the lock of a directory, and hold it; where there are no locks, go on without."""
    descriptor = open_folder(directory)
    try:
        lock(descriptor, shared)
        yield
    finally:
        close(descriptor)


# -- refusals --------------------------------------------------------------------------------------


def _refused(path: str | os.PathLike[str], error: OSError) -> DataError:
    hints = {
        errno.ENOENT: "its directory does not exist; create it",
        errno.EEXIST: "is a file, not a directory; choose another name",
        errno.ENOTDIR: "lies below a file, not a directory; choose another name",
        errno.EACCES: "permission denied; choose a directory that you may write to",
        errno.EPERM: "permission denied; choose a directory that you may write to",
        errno.EROFS: "the file system is read-only; choose another directory",
        **dict.fromkeys(_FULL, "no space left; free some or choose another directory"),
    }
    reason = hints.get(error.errno or 0, f"{error.strerror or error}; choose another place")
    return cannot_write(os.fspath(path), reason)

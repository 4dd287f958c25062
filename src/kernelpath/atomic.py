"""Writing files so that a reader, or a crash, never meets half of one.

The content goes to a temporary file in the same directory, which then takes the place of the
target in one step. What the content is does not matter here.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kernelpath.errors import DataError

_FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def replacing(target: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    r"""Open a temporary file that takes the place of `target` when the block ends well.

    After any exception, a keyboard interrupt included, the temporary file is removed and `target`
    is as it was before. A replaced file keeps its access rights, and a symbolic link its place.

    Parameters
    ----------
    target : str or path
        File to write; its directory must exist (see `check_writable`).

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
    target = Path(os.path.realpath(target))
    temporary = _temporary_name(target.parent)
    try:
        # "x" respects the umask, which tempfile does not: others may read the result.
        with open(temporary, "x+b") as handle:
            yield handle
            handle.flush()
            # The content must be on disk before its name: a crash must not leave an empty file.
            os.fsync(handle.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


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


def _temporary_name(directory: Path) -> Path:
    return directory / f".kernelpath-{secrets.token_hex(8)}.tmp"


def _sync_directory(directory: Path) -> None:
    # Best effort: Windows and some network file systems cannot do it.
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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
    return DataError(" ".join(f"{os.fspath(path)}: cannot be written: {reason}".split()))

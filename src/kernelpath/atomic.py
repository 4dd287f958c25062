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
from typing import IO, Any

from kernelpath.errors import DataError

_FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    r"""Open a temporary file that replaces `path` when the block ends without an exception.

    After any exception, a keyboard interrupt included, the temporary file is removed and `path`
    is as it was before. A replaced file keeps its access rights, and a symbolic link its place.

    Parameters
    ----------
    path : str or path
        File to write; its directory must exist (see `check_writable`).
    mode : {"wb", "w"}
        Bytes, or UTF-8 text whose line ends are written as given.

    Yields
    ------
    file object
        Open for writing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.txt")
    ...     with atomic_write(file, "w") as handle:
    ...         _ = handle.write("alpha\n")
    ...     file.read_text(), len(list(file.parent.iterdir()))
    ('alpha\n', 1)
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"mode must be 'wb' or 'w', not {mode!r}")
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"{path}: is a directory; name a file to write")
    temporary = _temporary_name(target.parent)
    text: dict[str, Any] = {} if mode == "wb" else {"encoding": "utf-8", "newline": ""}
    try:
        # "x" respects the umask, which tempfile does not: others may read the result.
        handle = open(temporary, mode.replace("w", "x"), **text)  # noqa: SIM115
    except OSError as error:
        raise _refused(path, error) from error
    written = False
    try:
        with handle:
            yield handle
            written = True
            handle.flush()
            # The content must be on disk before its name: a crash must not leave an empty file.
            os.fsync(handle.fileno())
        with suppress(OSError):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        # Other errors of the caller's own block are the caller's.
        if isinstance(error, OSError) and (written or error.errno in _FULL):
            raise _refused(path, error) from error
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

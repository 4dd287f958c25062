"""Sealed files of arrays and a JSON header, read without running code: never pickle.

A file is a zip of ``arrays.npz``, a header such as ``path.json``, and ``SHA256``. The members are
stored as they are; the arrays are compressed inside ``arrays.npz``. Integrity is checked from the
outside in: the comment of the zip is the SHA-256 of every byte before it, ``SHA256`` holds that of
the header, and the header holds size and SHA-256 of ``arrays.npz`` and of each array. Equal
content gives equal bytes. What the arrays mean is not known here.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from kernelpath.errors import PathFileError
from kernelpath.utils.archive_forms import Forms, checked_count
from kernelpath.utils.atomic import replacing

File = str | os.PathLike | BinaryIO
# From a header and what messages call the file.
FormsOf = Callable[[dict[str, Any], str], Forms]
Arrays = dict[str, np.ndarray]

_NAMED = "names_the_file"  # mark of an error that says what was not saved where
_SEAL_LENGTH = 64  # hexadecimal SHA-256, as the comment of the zip
_CHUNK_BYTES = 2**24
# No small file takes much memory: arrays of more than 16 MB are at most 100 times as large as the
# file.  The writer leaves arrays uncompressed where that would not hold.
_FREE_BYTES = 2**24
_MOST_INFLATED = 100
#: Columns that a path or a table may have, unless more are asked for.
MAX_COLUMNS = 5_000_000

# What reading a file made up on purpose can raise; an accident is caught earlier, by the seal.
_DAMAGE = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError),
    *(EOFError, OSError, struct.error, zlib.error, zipfile.BadZipFile),
)


# -- the kinds of files, and the words that messages use for them ---------------------------------


@dataclass(frozen=True)
class ArchiveKind:
    """What tells one kind of file from another, and the words that messages use for it."""

    format: str  # its name, in the header
    version: int  # that is written; older ones are read, newer ones refused
    header_name: str  # member that holds the header; no two kinds share it
    noun: str  # what is saved, as in "is not a saved path"
    writer: str  # what the user calls to write such a file
    reader: str  # and to read it
    remedy: str  # what to do about a damaged file


PATH = ArchiveKind(
    format="kernelpath-path",
    version=1,
    header_name="path.json",
    noun="path",
    writer="FeaturePath.save",
    reader="kernelpath.load_path",
    remedy="use another copy of the file, or trace the path again",
)
MODEL = ArchiveKind(
    format="kernelpath-model",
    version=2,
    header_name="model.json",
    noun="model",
    writer="PathCV.save",
    reader="kernelpath.load_model",
    remedy="use another copy of the file, or fit the model again",
)

FOLD = ArchiveKind(
    format="kernelpath-fold",
    version=2,
    header_name="fold.json",
    noun="fold",
    writer="PathCV(memory=...)",
    reader="PathCV(memory=...)",
    remedy="delete it; the fold will be computed again",
)

#: All kinds: here, so that every reader can name the right one for a file of another kind.
KINDS = (PATH, MODEL, FOLD)


# -- writing ---------------------------------------------------------------------------------------


def write_archive(
    kind: ArchiveKind,
    file: File,
    header: dict[str, Any],
    arrays: Arrays,
    forms: FormsOf | None = None,
) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    kind : ArchiveKind
    file : str, path-like or writable binary file
        A named file is written beside its place and moved there when complete, so a file that
        was there before stays untouched if anything goes wrong.
    header : dict
        What JSON can hold, under any key but "format", "format_version", "arrays", "arrays_npz".
    arrays : dict of str to array
        Of anything but Python objects; written in this order.
    forms : callable, optional
        What :func:`read_archive` will be given: what it would refuse is not written.

    Raises
    ------
    OSError
        If the file cannot be written; the message names it.
    ValueError
        If the arrays are not of these forms.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_archive(MODEL, file, {"method": "demo"}, {"weights": np.array([0.5, 0.25])})
    >>> header, arrays, _ = read_archive(MODEL, io.BytesIO(file.getvalue()))
    >>> header["method"], arrays["weights"]
    ('demo', array([0.5 , 0.25]))
    """
    if forms is not None:
        try:
            forms(header | {"arrays": arrays}, f"the {kind.noun}").check(arrays)
        except ValueError as error:
            raise ValueError(f"the {kind.noun} cannot be saved: {error}") from None
    if not isinstance(file, str | os.PathLike):
        with tempfile.SpooledTemporaryFile(max_size=4 * _CHUNK_BYTES) as buffer:
            _write(kind, buffer, header, arrays)
            buffer.seek(0)
            shutil.copyfileobj(buffer, file, _CHUNK_BYTES)
        return
    with saving(kind, file):
        follow = kind is not FOLD  # in a folder of folds, a link may be the trap of somebody else
        target = Path(os.path.realpath(file)) if follow else Path(file)  # a link keeps its place
        if follow and target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with open(target, "wb") as device:  # a pipe or device must not be replaced
                write_archive(kind, device, header, arrays)
            return
        with replacing(target, follow=follow) as temporary:
            _write(kind, temporary, header, arrays)


@contextmanager
def saving(kind: ArchiveKind, file: File) -> Iterator[None]:
    """Let an OSError of the block, also while the parts are made, say what was not saved where."""
    problem = f"cannot save the {kind.noun}"
    try:
        yield
    except OSError as error:
        if not isinstance(file, str | os.PathLike) or _NAMED in vars(error):
            raise  # nothing to name, or named by an inner block
        named = OSError(f"{problem} to {str(file)!r}: {error}")
        if error.errno is not None:
            named = OSError(error.errno, f"{problem} ({error.strerror})", str(file))
        vars(named)[_NAMED] = True
        raise named from error


def _write(kind: ArchiveKind, file: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """Write the outer zip to a seekable file, then its seal."""
    if taken := {"format", "format_version", "arrays", "arrays_npz"} & header.keys():
        raise ValueError(f"keys of the header that are not free: {sorted(taken)}")
    full = {"format": kind.format, "format_version": kind.version, **header}
    if not _is_plausible(_write_zip(kind, file, full, arrays, zipfile.ZIP_DEFLATED), arrays):
        file.seek(0)
        file.truncate()
        _write_zip(kind, file, full, arrays, zipfile.ZIP_STORED)
    _seal(file)


def _is_plausible(n_bytes: int, arrays: Arrays) -> bool:
    """Whether a file of this size may hold the arrays."""
    return sum(array.nbytes for array in arrays.values()) <= _most_bytes(n_bytes)


def _most_bytes(n_bytes: int) -> int:
    """Size of all arrays, at most, in a file of this size."""
    return max(_FREE_BYTES, _MOST_INFLATED * n_bytes)


def _write_zip(
    kind: ArchiveKind, file: Any, full: dict[str, Any], arrays: Arrays, compression: int
) -> int:
    """Write all members; return the number of bytes."""
    with zipfile.ZipFile(file, "w") as outer:
        with _member(outer, "arrays.npz", zipfile.ZIP_STORED) as stream:
            npz = _HashedWriter(stream)
            full["arrays"] = _write_npz(arrays, npz, compression)
            full["arrays_npz"] = npz.summary()
        text = json.dumps(full, indent=1).encode("ascii")
        checksum = f"{hashlib.sha256(text).hexdigest()}  {kind.header_name}\n".encode()
        for name, data in ((kind.header_name, text), ("SHA256", checksum)):
            with _member(outer, name, zipfile.ZIP_STORED) as stream:
                stream.write(data)
        outer.comment = b"0" * _SEAL_LENGTH
    return file.seek(0, os.SEEK_END)


def _seal(file: Any) -> None:
    """Put the hash of all bytes before it in the place of the comment."""
    remaining = file.seek(0, os.SEEK_END) - _SEAL_LENGTH
    file.seek(0)
    digest = hashlib.sha256()
    while remaining:
        chunk = file.read(min(remaining, _CHUNK_BYTES))
        digest.update(chunk)
        remaining -= len(chunk)
    file.seek(-_SEAL_LENGTH, os.SEEK_END)
    file.write(digest.hexdigest().encode())


def _member(archive: zipfile.ZipFile, name: str, compression: int) -> Any:
    """Member opened for writing, with nothing in its header that depends on time or machine."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = compression
    info._compresslevel = 1  # type: ignore[attr-defined]  # no public name before Python 3.13
    info.create_system = 3
    info.external_attr = 0o600 << 16
    return archive.open(info, "w", force_zip64=True)


class _HashedWriter:
    """Pass bytes on to a stream, keeping their hash and number."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.digest, self.size = stream, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        self.digest.update(data)
        self.size += len(data)
        return self.stream.write(data)

    def flush(self) -> None:
        self.stream.flush()

    def summary(self) -> dict[str, Any]:
        return {"bytes": self.size, "sha256": self.digest.hexdigest()}


def _write_npz(
    arrays: Arrays, file: Any, compression: int = zipfile.ZIP_DEFLATED
) -> dict[str, dict]:
    """Write what ``np.savez`` would, with fixed headers and a hash of every member."""
    summaries = {}
    with zipfile.ZipFile(file, "w") as npz:
        for name, array in arrays.items():
            if array.dtype.hasobject:
                raise TypeError(f"array {name!r} holds Python objects and cannot be saved")
            with _member(npz, f"{name}.npy", compression) as stream:
                npy = _HashedWriter(stream)
                array = np.asarray(array, order="C")
                meta = np.lib.format.header_data_from_array_1_0(array)
                np.lib.format.write_array_header_1_0(npy, meta)
                flat = array.reshape(-1).view(np.uint8) if array.size else array.reshape(-1)
                for start in range(0, len(flat), _CHUNK_BYTES):
                    npy.write(flat[start : start + _CHUNK_BYTES].data)
            summaries[name] = npy.summary()
    return summaries


# -- reading ---------------------------------------------------------------------------------------


def read_archive(
    kind: ArchiveKind, file: File, forms: FormsOf | None = None
) -> tuple[dict[str, Any], Arrays, str]:
    """Read what :func:`write_archive` wrote, refusing a file with any byte changed.

    Parameters
    ----------
    kind : ArchiveKind
    file : str, path-like or readable binary file
    forms : callable, optional
        From the header, what the arrays must be; types and shapes are checked before an array is
        unpacked.

    Returns
    -------
    header : dict
        As given to the writer, with "format", "format_version" and the checksums of the arrays.
    arrays : dict of str to read-only array
    label : str
        What messages call the file; for :func:`building`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    PathFileError
        If the file is truncated, altered, of a newer format, or of another kind.
    """
    content, label = _content(kind, file)
    if not content.startswith(b"PK"):
        what = f"is not a saved {kind.noun}" if content else "is empty"
        raise PathFileError(f"{label} {what}: kernelpath reads files written by {kind.writer}")
    with building(kind, label):
        with zipfile.ZipFile(io.BytesIO(content)) as outer:
            if kind.header_name not in (names := outer.namelist()):
                # Of a file cut off, the end of the inner archive is taken for that of the outer.
                _refuse_foreign(kind, label, names, is_cut=content[30:40] == b"arrays.npz")
            header = _read_header(kind, outer, label)
            if not _seal_holds(content):
                raise ValueError("a byte differs from what was written")
            n_bytes = len(content)
            del content  # as large as the arrays
            stored = _read_member(outer, _stored(outer, "arrays.npz"), header["arrays_npz"])
        with zipfile.ZipFile(io.BytesIO(stored)) as npz:
            due = None if forms is None else forms(header, label)
            arrays = _read_npz(npz, header, n_bytes, due)
    return header, arrays, label


def _read_npz(
    npz: zipfile.ZipFile, header: dict[str, Any], n_bytes: int, due: Forms | None
) -> Arrays:
    """Arrays of the declared names, sizes, forms and checksums."""
    declared = {f"{name}.npy": entry for name, entry in header["arrays"].items()}
    if sorted(npz.namelist()) != sorted(declared):
        raise ValueError("the arrays are not the declared ones")
    total = sum(checked_count(entry, "bytes") for entry in declared.values())
    if total > _most_bytes(n_bytes):
        raise ValueError(f"{total:,} bytes of arrays are declared in a file of {n_bytes:,}")
    if due is not None:
        due.check_names(header["arrays"])
    return {
        name: _read_npy(npz, npz.getinfo(f"{name}.npy"), entry, name, due)
        for name, entry in header["arrays"].items()
    }


@contextmanager
def building(kind: ArchiveKind, label: str) -> Iterator[None]:
    """Report what goes wrong with the parts of a file inside the block as damage to that file.

    Examples
    --------
    >>> with building(PATH, "'a.kpath'"):
    ...     raise ValueError("a weight is negative")
    Traceback (most recent call last):
        ...
    kernelpath.errors.PathFileError: 'a.kpath' is truncated, damaged or altered (a weight is
    negative): use another copy of the file, or trace the path again
    """
    try:
        yield
    except PathFileError:
        raise
    except _DAMAGE as error:
        problem = f"truncated, damaged or altered ({str(error) or type(error).__name__})"
        raise PathFileError(f"{label} is {problem}: {kind.remedy}") from error


def _content(kind: ArchiveKind, file: File) -> tuple[bytes, str]:
    if not isinstance(file, str | os.PathLike):
        return file.read(), "the file"
    try:
        with open(file, "rb") as stream:
            start = stream.read(4)
            # A large file of another kind is refused before it is read.
            content = start + stream.read() if start[:2] == b"PK" else start
    except FileNotFoundError as error:
        missing = f"there is no saved {kind.noun} here"
        raise FileNotFoundError(error.errno, missing, str(file)) from None
    return content, repr(os.fspath(file))


def _seal_holds(content: bytes) -> bool:
    end = content[-22 - _SEAL_LENGTH : -_SEAL_LENGTH]  # end record of a zip, without its comment
    if not end.startswith(b"PK\x05\x06") or end[-2:] != _SEAL_LENGTH.to_bytes(2, "little"):
        return False
    digest = hashlib.sha256(memoryview(content)[:-_SEAL_LENGTH]).hexdigest()
    return content[-_SEAL_LENGTH:] == digest.encode()


def _refuse_foreign(kind: ArchiveKind, label: str, names: list[str], is_cut: bool) -> NoReturn:
    """Say what a zip without the right header is."""
    for other in KINDS:
        if other.header_name in names:
            what = f"is a saved {other.noun}, not a saved {kind.noun}"
            raise PathFileError(f"{label} {what}: read it with {other.reader}")
    if is_cut:
        raise ValueError("its end is missing")
    what = f"is a zip file, but not a saved {kind.noun}"
    raise PathFileError(f"{label} {what}: it has no {kind.header_name}")


def _read_header(kind: ArchiveKind, outer: zipfile.ZipFile, label: str) -> dict[str, Any]:
    """Contents of the header, once it is clear that it is whole and of a format known here."""
    own = kind.header_name
    text = outer.read(_stored(outer, own))
    digest = hashlib.sha256(text).hexdigest().encode()
    if outer.read(_stored(outer, "SHA256")).split()[:1] != [digest]:
        raise ValueError(f"{own} does not match its checksum")
    header = json.loads(text)
    if (written := header["format"]) != kind.format:
        raise PathFileError(f"{label} is not a saved {kind.noun}: its format is {written!r}")
    version = header["format_version"]
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"format version {version!r}")
    if version > kind.version:
        newer = f"written by a newer kernelpath (format {version})"
        raise PathFileError(f"{label} was {newer}; this one reads up to {kind.version}: upgrade")
    if (names := sorted(outer.namelist())) != (expected := sorted(["arrays.npz", own, "SHA256"])):
        raise ValueError(f"its members are {names}, not {expected}")
    return header


def _stored(outer: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Member of the outer zip; stored, so that it cannot be larger than the file."""
    info = outer.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"{name} is compressed")
    return info


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, declared: dict) -> bytes:
    """Bytes of a member, if it has the declared size and hash; never more than that size."""
    if info.file_size != declared["bytes"]:
        raise ValueError(f"{info.filename} has {info.file_size} bytes, not {declared['bytes']}")
    with archive.open(info) as stream:
        data = stream.read(declared["bytes"])
    if hashlib.sha256(data).hexdigest() != declared["sha256"]:
        raise ValueError(f"{info.filename} does not match its checksum")
    return data


def _read_npy(
    npz: zipfile.ZipFile, info: zipfile.ZipInfo, declared: dict, name: str, due: Forms | None
) -> np.ndarray:
    """Read-only array of a member; its type and shape are known before it is unpacked."""
    if info.file_size != declared["bytes"]:
        raise ValueError(f"{info.filename} has {info.file_size} bytes, not {declared['bytes']}")
    with npz.open(info) as stream:
        head = stream.read(10)
        head += stream.read(int.from_bytes(head[8:10], "little"))
        dtype, shape = _parse_head(head)
        if len(head) + math.prod(shape) * dtype.itemsize != info.file_size:
            raise ValueError(f"{name} has not the size of its shape {shape}")
        if due is not None:
            due.check_head(name, dtype, shape)
        data = stream.read(info.file_size - len(head))
    digest = hashlib.sha256(head)
    digest.update(data)
    if digest.hexdigest() != declared["sha256"]:
        raise ValueError(f"{info.filename} does not match its checksum")
    array = np.frombuffer(data, dtype).reshape(shape)
    if not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
        array.setflags(write=False)
    if due is not None:
        due.check_values(name, array)
    return array


def _parse_head(head: bytes) -> tuple[np.dtype, tuple[int, ...]]:
    """Type and shape of an .npy file; cannot run code."""
    stream = io.BytesIO(head)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("unknown version of an array")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if fortran or dtype.hasobject or dtype.names or min(shape, default=0) < 0:
        raise ValueError("an array is of a kind that is never written")
    return dtype, shape


# -- names -----------------------------------------------------------------------------------------


def encode_names(names: Sequence[str] | np.ndarray, prefix: str = "names") -> Arrays:
    """Turn names, of any characters, into two arrays without Python objects.

    ``{prefix}_text`` holds them end to end as UTF-8, encoded all at once, and
    ``{prefix}_lengths`` their numbers of characters.

    Examples
    --------
    >>> decode_names(encode_names(["size", "", "höhe"]))
    ['size', '', 'höhe']
    """
    text = "".join(names).encode("utf-8", "surrogatepass")
    lengths = np.fromiter(map(len, names), np.int64, len(names))
    return {f"{prefix}_text": np.frombuffer(text, np.uint8), f"{prefix}_lengths": lengths}


def decode_names(arrays: Arrays, prefix: str = "names") -> list[str]:
    """Names from the arrays of :func:`encode_names`; a ValueError if they do not fit."""
    text = arrays[f"{prefix}_text"].tobytes().decode("utf-8", "surrogatepass")
    lengths = arrays[f"{prefix}_lengths"]
    ends = np.cumsum(lengths)
    if lengths.min(initial=0) < 0 or lengths.sum() != len(text):
        raise ValueError(f"the {prefix} do not fit their lengths")
    return [text[i:j] for i, j in zip((ends - lengths).tolist(), ends.tolist())]


class NotSaved:
    """Stands for a setting that the file of a model does not hold; kept for its ``repr``."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<not saved: {self.text}>"

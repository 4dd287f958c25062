"""Save a path to one file and load it again: a zip of ``arrays.npz`` and ``path.json``, no pickle.

The members of the outer zip are stored as they are; the arrays are compressed inside
``arrays.npz``. Integrity is checked from the outside in: the comment of the zip is the SHA-256 of
every byte before it, ``SHA256`` holds that of ``path.json``, and ``path.json`` holds size and
SHA-256 of ``arrays.npz`` and of each array. Equal paths give equal bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from kernelpath.atomic import replacing
from kernelpath.errors import PathFileError
from kernelpath.path import EXTENSIONS, EventTable, FeaturePath

FORMAT = "kernelpath-path"
FORMAT_VERSION = 1

#: Modules that register an extension when imported; path.py must not import them.
EXTENSION_MODULES = {"lp-kta": "kernelpath.tracers.lp_kta_path"}

_MEMBERS = ("arrays.npz", "path.json", "SHA256")
_SEAL_LENGTH = 64  # hexadecimal SHA-256, as the comment of the zip
_CHUNK_BYTES = 2**24
_REMEDY = "use another copy of the file, or trace the path again"

# What reading a file made up on purpose can raise; an accident is caught earlier, by the seal.
_DAMAGE = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError),
    *(EOFError, OSError, struct.error, zlib.error, zipfile.BadZipFile),
)


def save_path(path: FeaturePath, file: str | os.PathLike | BinaryIO) -> None:
    """Write a path, whole or not at all.

    Parameters
    ----------
    path : FeaturePath
    file : str, path-like or writable binary file
        A named file is written beside its place and moved there when complete, so a file that
        was there before stays untouched if anything goes wrong. An extension that cannot be
        saved (a divergence defined by the user) is left out: the stored points remain.

    Raises
    ------
    OSError
        If the file cannot be written; the message names it.
    """
    if not isinstance(file, str | os.PathLike):
        with tempfile.SpooledTemporaryFile(max_size=4 * _CHUNK_BYTES) as buffer:
            _write(path, buffer)
            buffer.seek(0)
            shutil.copyfileobj(buffer, file, _CHUNK_BYTES)
        return
    try:
        target = Path(os.path.realpath(file))  # a link keeps pointing to the file
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with open(target, "wb") as device:  # a pipe or device must not be replaced
                save_path(path, device)
            return
        with replacing(target) as temporary:
            _write(path, temporary)
    except OSError as error:
        if error.errno is None:
            raise OSError(f"cannot save the path to {str(file)!r}: {error}") from error
        raise OSError(error.errno, f"cannot save the path ({error.strerror})", str(file)) from error


def _write(path: FeaturePath, file: Any) -> None:
    """Write the outer zip to a seekable file, then its seal."""
    arrays = _path_arrays(path)
    state = None if path.extension is None else path.extension.to_state()
    extension = None
    if path.extension is not None and state is not None:
        extension = {"kind": path.extension.kind, "meta": state[0]}
        arrays |= {f"extension.{name}": np.asarray(array) for name, array in state[1].items()}
    header: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "method": path.method,
        "parameter_name": path.parameter_name,
        "n_points": len(path),
        "n_features": path.n_features,
        "provenance": path.provenance,
        "extension": extension,
    }
    with zipfile.ZipFile(file, "w") as outer:
        with _member(outer, "arrays.npz", zipfile.ZIP_STORED) as stream:
            npz = _HashedWriter(stream)
            header["arrays"] = _write_npz(arrays, npz)
            header["arrays_npz"] = npz.summary()
        text = json.dumps(header, indent=1).encode("ascii")
        with _member(outer, "path.json", zipfile.ZIP_STORED) as stream:
            stream.write(text)
        with _member(outer, "SHA256", zipfile.ZIP_STORED) as stream:
            stream.write(f"{hashlib.sha256(text).hexdigest()}  path.json\n".encode())
        outer.comment = b"0" * _SEAL_LENGTH
    _seal(file)


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


def _write_npz(arrays: dict[str, np.ndarray], file: Any) -> dict[str, dict]:
    """Write what ``np.savez`` would, with fixed headers and a hash of every member."""
    summaries = {}
    with zipfile.ZipFile(file, "w") as npz:
        for name, array in arrays.items():
            if array.dtype.hasobject:
                raise TypeError(f"array {name!r} holds Python objects and cannot be saved")
            with _member(npz, f"{name}.npy", zipfile.ZIP_DEFLATED) as stream:
                npy = _HashedWriter(stream)
                array = np.asarray(array, order="C")
                meta = np.lib.format.header_data_from_array_1_0(array)
                np.lib.format.write_array_header_1_0(npy, meta)
                flat = array.reshape(-1).view(np.uint8) if array.size else array.reshape(-1)
                for start in range(0, len(flat), _CHUNK_BYTES):
                    npy.write(flat[start : start + _CHUNK_BYTES].data)
            summaries[name] = npy.summary()
    return summaries


def _path_arrays(path: FeaturePath) -> dict[str, np.ndarray]:
    weights, supports, events = path.weights, path.supports.tocsr(), path.events
    arrays = {name: getattr(path, name) for name in ("parameters", "values", "kkt", "gaps")}
    arrays["weights_data"] = weights.data
    arrays["weights_indptr"] = weights.indptr
    # Differences of the column indices: mostly small numbers, which compress well.
    arrays["weights_steps"] = np.diff(weights.indices, prepend=np.int32(0))
    if supports.indices is not weights.indices:  # else the path shares them, and so does the file
        arrays["supports_indptr"] = supports.indptr
        arrays["supports_steps"] = np.diff(supports.indices, prepend=np.int32(0))
    arrays |= {f"event_{name}": getattr(events, name) for name in EventTable.COLUMNS}
    if path._names is not None:
        # Names end to end, with lengths in characters: one encode and decode for all of them.
        text = "".join(path._names).encode("utf-8", "surrogatepass")
        arrays["names_text"] = np.frombuffer(text, np.uint8)
        arrays["names_lengths"] = np.fromiter(map(len, path._names), np.int64, path.n_features)
    return arrays


def load_path(file: str | os.PathLike | BinaryIO) -> FeaturePath:
    """Read a path that :func:`save_path` wrote, refusing a file with any byte changed.

    Parameters
    ----------
    file : str, path-like or readable binary file

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    PathFileError
        If the file is truncated, altered, of a newer format, or not a saved path at all.

    Examples
    --------
    >>> import io
    >>> weights = np.array([[0.5, 0.2], [0.6, 0.0]])
    >>> path = FeaturePath(method="demo", parameter_name="p", parameters=[2, 1], weights=weights,
    ...     supports=weights > 0, values=[-1, -2], kkt=[0, 0], gaps=[0, 0])
    >>> file = io.BytesIO()
    >>> save_path(path, file)
    >>> load_path(io.BytesIO(file.getvalue())) == path
    True
    """
    if not isinstance(file, str | os.PathLike):
        return _read(file.read(), "the file")
    try:
        with open(file, "rb") as stream:
            start = stream.read(4)
            # A large file of another kind is refused before it is read.
            content = start + stream.read() if start[:2] == b"PK" else start
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, "there is no saved path here", str(file)) from None
    return _read(content, repr(os.fspath(file)))


def _read(content: bytes, label: str) -> FeaturePath:
    if not content.startswith(b"PK"):
        what = "is not a saved path" if content else "is empty"
        raise PathFileError(f"{label} {what}: kernelpath reads files written by FeaturePath.save")
    sealed = _seal_holds(content)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as outer:
            if content[30:40] == b"arrays.npz" and "path.json" not in outer.namelist():
                # Cut off, so that the end of the inner archive was taken for that of the outer.
                raise ValueError("its end is missing")
            header = _read_header(outer, label)
            if not sealed:
                raise ValueError("a byte differs from what was written")
            del content  # as large as the arrays
            stored = _read_member(outer, _stored(outer, "arrays.npz"), header["arrays_npz"])
        with zipfile.ZipFile(io.BytesIO(stored)) as npz:
            declared = {f"{name}.npy": entry for name, entry in header["arrays"].items()}
            if sorted(npz.namelist()) != sorted(declared):
                raise ValueError("the arrays are not the declared ones")
            arrays = {
                name.removesuffix(".npy"): _parse_npy(_read_member(npz, npz.getinfo(name), entry))
                for name, entry in declared.items()
            }
        return _build(header, arrays, label)
    except PathFileError:
        raise
    except _DAMAGE as error:
        problem = f"truncated, damaged or altered ({str(error) or type(error).__name__})"
        raise PathFileError(f"{label} is {problem}: {_REMEDY}") from error


def _seal_holds(content: bytes) -> bool:
    end = content[-22 - _SEAL_LENGTH : -_SEAL_LENGTH]  # end record of a zip, without its comment
    if not end.startswith(b"PK\x05\x06") or end[-2:] != _SEAL_LENGTH.to_bytes(2, "little"):
        return False
    digest = hashlib.sha256(memoryview(content)[:-_SEAL_LENGTH]).hexdigest()
    return content[-_SEAL_LENGTH:] == digest.encode()


def _read_header(outer: zipfile.ZipFile, label: str) -> dict[str, Any]:
    """Contents of path.json, once it is clear that they are whole and of a format known here."""
    if "path.json" not in (names := outer.namelist()):
        raise PathFileError(f"{label} is a zip file, but not a saved path: it has no path.json")
    text = outer.read(_stored(outer, "path.json"))
    digest = hashlib.sha256(text).hexdigest().encode()
    if outer.read(_stored(outer, "SHA256")).split()[:1] != [digest]:
        raise ValueError("path.json does not match its checksum")
    header = json.loads(text)
    if header["format"] != FORMAT:
        raise PathFileError(f"{label} is not a saved path: its format is {header['format']!r}")
    version = header["format_version"]
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"format version {version!r}")
    if version > FORMAT_VERSION:
        written = f"written by a newer kernelpath (format {version})"
        raise PathFileError(
            f"{label} was {written}; this one reads up to {FORMAT_VERSION}: upgrade"
        )
    if sorted(names) != sorted(_MEMBERS):
        raise ValueError(f"its members are {sorted(names)}, not {sorted(_MEMBERS)}")
    return header


def _stored(outer: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Member of the outer zip; stored, so that it cannot be larger than the file."""
    info = outer.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"{name} is compressed")
    return info


def _read_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, declared: dict[str, Any]
) -> bytes:
    """Bytes of a member, if it has the declared size and hash; never more than that size."""
    if info.file_size != declared["bytes"]:
        raise ValueError(f"{info.filename} has {info.file_size} bytes, not {declared['bytes']}")
    with archive.open(info) as stream:
        data = stream.read(declared["bytes"])
    if hashlib.sha256(data).hexdigest() != declared["sha256"]:
        raise ValueError(f"{info.filename} does not match its checksum")
    return data


def _parse_npy(data: bytes) -> np.ndarray:
    """Read-only array over the bytes of an .npy file; cannot run code, does not copy."""
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("unknown version of an array")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if fortran or dtype.hasobject:
        raise ValueError("an array is of a kind that is never written")
    return np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape)


def _build(header: dict[str, Any], arrays: dict[str, np.ndarray], label: str) -> FeaturePath:
    """Path from checked parts; the constructor checks that they fit together."""
    shape = (header["n_points"], header["n_features"])
    indices, indptr = _indices(arrays["weights_steps"], shape[1]), arrays["weights_indptr"]
    weights = sparse.csr_array((arrays["weights_data"], indices, indptr), shape=shape)
    if "supports_indptr" in arrays:
        indices, indptr = _indices(arrays["supports_steps"], shape[1]), arrays["supports_indptr"]
    pattern = sparse.csr_array((np.ones(len(indices), bool), indices, indptr), shape=shape)
    return FeaturePath(
        method=header["method"],
        parameter_name=header["parameter_name"],
        **{name: arrays[name] for name in ("parameters", "values", "kkt", "gaps")},
        weights=weights,
        supports=pattern,
        events=EventTable(*(arrays[f"event_{name}"] for name in EventTable.COLUMNS)),
        feature_names=_split_names(arrays) if "names_text" in arrays else None,
        provenance=header["provenance"],
        extension=_read_extension(header["extension"], arrays, label),
    )


def _split_names(arrays: dict[str, np.ndarray]) -> list[str]:
    text = arrays["names_text"].tobytes().decode("utf-8", "surrogatepass")
    lengths = arrays["names_lengths"]
    ends = np.cumsum(lengths)
    if lengths.min(initial=0) < 0 or lengths.sum() != len(text):
        raise ValueError("the feature names do not fit their lengths")
    return [text[i:j] for i, j in zip((ends - lengths).tolist(), ends.tolist())]


def _indices(steps: np.ndarray, n_features: int) -> np.ndarray:
    indices = np.cumsum(steps, dtype=np.int64)
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
        raise ValueError("a column index is out of range")
    indices = indices.astype(steps.dtype, copy=False)
    indices.setflags(write=False)
    return indices


def _read_extension(saved: dict | None, arrays: dict[str, np.ndarray], label: str) -> Any:
    if saved is None:
        return None
    kind = saved["kind"]
    if kind not in EXTENSIONS and kind in EXTENSION_MODULES:
        import_module(EXTENSION_MODULES[kind])
    if kind not in EXTENSIONS:
        remedy = "import the package that defines it first"
        raise PathFileError(f"{label} needs the extension {kind!r}, unknown here: {remedy}")
    prefix = "extension."
    own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    return EXTENSIONS[kind].from_state(saved["meta"], own)

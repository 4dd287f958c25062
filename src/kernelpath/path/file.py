"""Save a path to one file and load it again: which header and which arrays a path consists of.

The file itself, with its checksums and its refusals, is that of :mod:`kernelpath.utils.archive`.
Equal paths give equal bytes.
"""

from __future__ import annotations

import math
import os
from functools import partial
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from kernelpath.errors import PathFileError
from kernelpath.path.feature_path import EXTENSIONS, EventTable, FeaturePath
from kernelpath.path.significance import AlignmentTest
from kernelpath.utils.archive import (
    MAX_COLUMNS,
    PATH,
    building,
    decode_names,
    encode_names,
    read_archive,
    saving,
    write_archive,
)
from kernelpath.utils.archive_forms import (
    ANY,
    REAL,
    WHOLE,
    Form,
    Forms,
    checked_count,
    checked_text,
    name_forms,
    named,
)
from kernelpath.utils.progress import working

#: Modules that register an extension when imported; path.py must not import them.
EXTENSION_MODULES = {
    "lp-kta": "kernelpath.tracers.lp_kta.trace",
    "additive": "kernelpath.tracers.additive.path",
    "joint": "kernelpath.tracers.joint.path",
}
TURN = EventTable.KINDS.index("turn")

#: Values, residuals and gaps are NaN where a method has none.
FORMS = {
    "parameters": Form(REAL, ("points",), infinite=True),
    "values": Form(REAL, ("points",), nan=True, infinite=True),
    "kkt": Form(REAL, ("points",), low=0, nan=True, infinite=True),
    "gaps": Form(REAL, ("points",), low=0, nan=True, infinite=True),
    "weights_data": Form(REAL, ("weights",), low=0),
    "weights_indptr": Form(WHOLE, ("points + 1",), low=0),
    "weights_steps": Form(WHOLE, ("weights",)),
    "supports_indptr": Form(WHOLE, ("points + 1",), low=0, optional=True),
    "supports_steps": Form(WHOLE, ("supports",), optional=True),
    "event_kinds": Form("u1", ("events",), high=len(EventTable.KINDS) - 1),
    "event_features": Form("i8", ("events",), low=-1),
    "event_parameters": Form(REAL, ("events",), infinite=True),
    "event_positions": Form("i8", ("events",), low=0),
    **name_forms("columns", optional=True),
    "test_alignment": Form(REAL, ("columns",), low=0, optional=True),
    "test_z": Form(REAL, ("columns",), nan=True, optional=True),
    "test_log_p": Form(REAL, ("columns",), high=0, optional=True),
    "test_width": Form(REAL, ("columns",), low=0, nan=True, optional=True),
    "test_gamma": Form(REAL, ("columns",), low=0, infinite=True, optional=True),
}


@working("writing")
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
    with saving(PATH, file):
        write_archive(PATH, file, *_parts(path), path_forms)


def _parts(path: FeaturePath) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays."""
    arrays = _path_arrays(path)
    state = None if path.extension is None else path.extension.to_state()
    extension = None
    if path.extension is not None and state is not None:
        extension = {"kind": path.extension.kind, "meta": state[0]}
        arrays |= {f"extension.{name}": np.asarray(array) for name, array in state[1].items()}
    header = {
        "method": path.method,
        "parameter_name": path.parameter_name,
        "n_points": len(path),
        "n_features": path.n_features,
        "provenance": path.provenance,
        "extension": extension,
    }
    return header, arrays


def _path_arrays(path: FeaturePath) -> dict[str, np.ndarray]:
    weights, supports, events = path.weights, path.supports.tocsr(), path.events
    arrays = {name: getattr(path, name) for name in ("parameters", "values", "kkt", "gaps")}
    arrays["weights_data"] = weights.data
    arrays["weights_indptr"] = weights.indptr
    arrays["weights_steps"] = _steps(weights.indices)
    if supports.indices is not weights.indices:  # else the path shares them, and so does the file
        arrays["supports_indptr"] = supports.indptr
        arrays["supports_steps"] = _steps(supports.indices)
    arrays |= {f"event_{name}": getattr(events, name) for name in EventTable.COLUMNS}
    if path._names is not None:
        arrays |= encode_names(path._names)
    if path.test is not None:
        arrays |= {f"test_{name}": getattr(path.test, name) for name in AlignmentTest.COLUMNS}
    return arrays


def path_forms(header: dict[str, Any], label: str, max_columns: float = math.inf) -> Forms:
    """What the arrays of a path must be."""
    checked_text(header, "method", "parameter_name")
    points = checked_count(header, "n_points", low=1)
    features = checked_count(header, "n_features")
    if features > max_columns:
        hint = "if that is right, load it with a larger max_columns"
        raise PathFileError(f"{label} is a path over {features:,} columns: {hint}")
    if not isinstance(header["provenance"], dict):
        raise ValueError("provenance is not given by names")
    forms = dict(FORMS)
    if (saved := header["extension"]) is not None:
        own = getattr(_extension(saved), "FORMS", None)
        unknown = [name for name in header["arrays"] if name.startswith("extension.")]
        forms |= (
            dict.fromkeys(unknown, Form(ANY, None)) if own is None else named("extension.", own)
        )
    return Forms(forms, {"points": points, "points + 1": points + 1, "columns": features})


@working("reading")
def load_path(file: str | os.PathLike | BinaryIO, *, max_columns: int = MAX_COLUMNS) -> FeaturePath:
    """Read a path that :func:`save_path` wrote, refusing a file with any byte changed.

    Parameters
    ----------
    file : str, path-like or readable binary file
    max_columns : int
        Most columns that the table of the path may have: a small file may declare any number, and
        every point of the path is a vector of that length.

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
    header, arrays, label = read_archive(PATH, file, partial(path_forms, max_columns=max_columns))
    with building(PATH, label):
        return _build(header, arrays, label)


def _build(header: dict[str, Any], arrays: dict[str, np.ndarray], label: str) -> FeaturePath:
    """Path from checked parts; the constructor checks that they fit together."""
    if np.any((arrays["event_features"] < 0) & (arrays["event_kinds"] != TURN)):
        raise ValueError("an event of no feature is not a turn")
    shape = (header["n_points"], header["n_features"])
    indices = _indices(arrays["weights_steps"], shape[1])
    indptr = arrays["weights_indptr"]
    weights = sparse.csr_array((arrays["weights_data"], indices, indptr), shape=shape)
    if "supports_indptr" in arrays:
        indices = _indices(arrays["supports_steps"], shape[1])
        indptr = arrays["supports_indptr"]
    pattern = sparse.csr_array((np.ones(len(indices), bool), indices, indptr), shape=shape)
    names = decode_names(arrays) if "names_text" in arrays else None
    test = None
    if "test_log_p" in arrays:
        columns = {name: arrays[f"test_{name}"] for name in AlignmentTest.COLUMNS}
        test = AlignmentTest(**columns, names=names)
    return FeaturePath(
        method=header["method"],
        parameter_name=header["parameter_name"],
        **{name: arrays[name] for name in ("parameters", "values", "kkt", "gaps")},
        weights=weights,
        supports=pattern,
        events=EventTable(*(arrays[f"event_{name}"] for name in EventTable.COLUMNS)),
        feature_names=names,
        test=test,
        provenance=header["provenance"],
        extension=_read_extension(header["extension"], arrays, label),
    )


def _steps(indices: np.ndarray) -> np.ndarray:
    """Differences of the column indices: mostly small numbers, which compress well."""
    return np.diff(indices, prepend=np.int32(0))


def _indices(steps: np.ndarray, n_features: int) -> np.ndarray:
    """Column indices from their differences, read-only."""
    indices = np.cumsum(steps, dtype=np.int64)
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
        raise ValueError("a column index is out of range")
    indices = indices.astype(steps.dtype, copy=False)
    indices.setflags(write=False)
    return indices


def _extension(saved: dict) -> Any:
    """Class of a saved extension, None if it is not known."""
    kind = saved["kind"]
    if kind not in EXTENSIONS and kind in EXTENSION_MODULES:
        import_module(EXTENSION_MODULES[kind])
    return EXTENSIONS.get(kind)


def _read_extension(saved: dict | None, arrays: dict[str, np.ndarray], label: str) -> Any:
    if saved is None:
        return None
    known = _extension(saved)
    if known is None:
        what = f"{label} needs the extension {saved['kind']!r}, unknown here"
        raise PathFileError(f"{what}: import the package that defines it first")
    prefix = "extension."
    own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    return known.from_state(saved["meta"], own)

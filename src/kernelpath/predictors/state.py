"""Fitted models as arrays and JSON, and back: what all kinds of them share.

A class says by :func:`saved_as` that files can hold it.  It has ``to_state()``, which gives
settings and arrays, ``forms(meta, n_columns)``, what those arrays must be, and
``from_state(meta, arrays, task)``, which refuses with a ValueError what does not fit together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from kernelpath.utils.archive_forms import WHOLE, Form

if TYPE_CHECKING:
    from kernelpath.predictors.svm import SVMHead, Task

Arrays = dict[str, np.ndarray]
State = tuple[dict[str, Any], Arrays]
TABLE = "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1"  # rows are kept as they were given
SAVED: dict[str, Any] = {}


def saved_as(kind: str) -> Callable[[Any], Any]:
    """Class decorator: files call such a model by this name."""

    def register(cls: Any) -> Any:
        SAVED[kind] = cls
        return cls

    return register


def model_state(model: Any) -> tuple[str, dict[str, Any], Arrays]:
    """Kind, settings and arrays of a model."""
    for kind, cls in SAVED.items():
        if type(model) is cls:
            return kind, *model.to_state()
    kind = type(getattr(model, "estimator", model)).__name__
    raise ValueError(
        f"a model of the type {kind} cannot be saved without pickle; use "
        "a predictor by name, such as 'auto', or save it with joblib or skops"
    )


def model_forms(kind: str, meta: dict[str, Any], n_columns: int) -> dict[str, Form]:
    """What the arrays of a model must be; a ValueError for a kind that is not known."""
    if kind not in SAVED:
        raise ValueError(f"the kind of machine {str(kind)[:40]!r} is unknown")
    return SAVED[kind].forms(meta, n_columns)


def model_from(kind: str, meta: dict[str, Any], arrays: Arrays, task: Task) -> Any:
    """Model from its state, its arrays of the right forms; a ValueError if they do not fit."""
    return SAVED[kind].from_state(meta, arrays, task)


def head_arrays(head: SVMHead | None) -> Arrays:
    """Arrays of the decision part of a model; none where it serves a map."""
    return {} if head is None else head.to_arrays()


def of_columns(forms: dict[str, Form], n_columns: int) -> dict[str, Form]:
    """The same forms, where columns are those of a table."""
    return forms | {"columns": replace(forms["columns"], high=n_columns - 1)}


def check_outputs(
    meta: dict[str, Any], classes: np.ndarray, task: Task, names: tuple[str, ...]
) -> int:
    """Number of outputs of a model: 1 for numbers and two classes; a ValueError if it is none."""
    if meta.get("name") not in names:
        raise ValueError(f"the name of the model is {str(meta.get('name'))[:40]!r}")
    known = 0 if task.classes is None else len(task.classes)
    if known == 0:
        if len(classes):
            raise ValueError("a model of numbers has classes")
        return 1
    if len(classes) < 2 or len(np.unique(classes)) != len(classes) or classes.max() >= known:
        raise ValueError("the classes of the model are not those of the file")
    return 1 if len(classes) == 2 else len(classes)


# -- matrices --------------------------------------------------------------------------------------


def pack_matrix(name: str, matrix: Any) -> Arrays:
    """Arrays of a dense or sparse matrix."""
    if not sparse.issparse(matrix):
        return {name: np.asarray(matrix)}
    rows = sparse.csr_array(matrix)
    return {
        f"{name}.data": rows.data,
        f"{name}.indices": rows.indices,
        f"{name}.indptr": rows.indptr,
        f"{name}.shape": np.array(rows.shape),
    }


def unpack_matrix(name: str, arrays: Arrays) -> Any:
    """Dense or sparse matrix from its arrays; a ValueError if they do not fit."""
    if name in arrays:
        return arrays[name]
    parts = tuple(arrays[f"{name}.{part}"].copy() for part in ("data", "indices", "indptr"))
    matrix = sparse.csr_array(parts, shape=tuple(arrays[f"{name}.shape"].tolist()))
    matrix.check_format(full_check=True)
    return matrix


def matrix_forms(name: str, rows: str, columns: str) -> dict[str, Form]:
    """What the arrays of a matrix must be."""
    own = f"{name} entries"
    return {
        name: Form(TABLE, (rows, columns), optional=True),
        f"{name}.data": Form(TABLE, (own,), optional=True),
        f"{name}.indices": Form(WHOLE, (own,), low=0, optional=True),
        f"{name}.indptr": Form(WHOLE, (f"{rows} + 1",), low=0, optional=True),
        f"{name}.shape": Form(WHOLE, (2,), low=0, optional=True),
    }


def support_values(arrays: Arrays) -> Any:
    """Rows of a machine; a ValueError if they do not fit its columns and coefficients."""
    values = unpack_matrix("support_values", arrays)
    stored = values.data if sparse.issparse(values) else values
    if stored.dtype.kind == "f" and not np.isfinite(stored).all():
        raise ValueError("the rows of the machine hold NaN or infinity")
    n_rows = arrays["dual_coef"].shape[1] if "dual_coef" in arrays else values.shape[0]
    if values.shape != (n_rows, len(arrays["columns"])):
        raise ValueError("the rows of the machine do not fit its columns and coefficients")
    return values

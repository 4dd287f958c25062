"""What there is to say about a table before anything is selected: counts, classes, warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.tables.table import Table
from kernelpath.utils.compiled import compiled
from kernelpath.utils.units import in_units, size_exponent

RARE_CLASS = 0.1
"""A class with a smaller share of the rows makes accuracy say little."""
FEW_ROWS = 50
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)


def describe_data(table: Table, y: NDArray, task: str) -> dict[str, Any]:
    """Size, target and odd columns of a table, as plain numbers and text."""
    n_rows, n_columns = table.shape
    constant = constant_columns(table)
    held = np.delete(constant, table.identifiers)  # those are left out, whatever they hold
    return {
        "n_rows": n_rows,
        "n_features": n_columns,
        "sparse": bool(sp.issparse(table.values)),
        "n_categorical": int(np.count_nonzero(table.categorical)),
        "n_constant": int(held.sum()),
        "n_duplicates": int(n_duplicates(table.values, constant)),
        "task": task,
        "target": _describe_target(y, task),
    }


def _describe_target(y: NDArray, task: str) -> dict[str, Any]:
    if task == "regression":
        values = np.asarray(y, dtype=np.float64)
        unit = int(size_exponent(np.abs(values).max()))
        return {
            "mean": float(values.mean()),
            "std": float(in_units(in_units(values, unit).std(), -unit)),
            "min": float(values.min()),
            "max": float(values.max()),
        }
    labels, counts = np.unique(y, return_counts=True)
    return {
        "classes": [
            {"label": str(label), "count": int(count)} for label, count in zip(labels, counts)
        ]
    }


def notices(data: dict[str, Any]) -> list[dict[str, str]]:
    """Sentences about what a reader of the results should know of the data."""
    found = []
    if data["n_constant"]:
        found.append(("constant", _columns(data["n_constant"], "constant and cannot be selected")))
    if data["n_duplicates"]:
        text = _columns(
            data["n_duplicates"],
            "an exact copy of an earlier one; copies share the credit, and which of them comes "
            "first means nothing",
            "exact copies of earlier ones; copies share the credit, and which of them comes first "
            "means nothing",
        )
        found.append(("duplicates", text))
    classes = data["target"].get("classes")
    if classes:
        smallest = min(classes, key=lambda one: one["count"])
        share = smallest["count"] / data["n_rows"]
        if share < RARE_CLASS:
            found.append(
                (
                    "imbalance",
                    f"Only {smallest['count']:,} of {data['n_rows']:,} rows "
                    f"({100 * share:.1f} %) {'is' if smallest['count'] == 1 else 'are'} of the "
                    f"class {smallest['label']!r}: accuracy says little here; prefer balanced "
                    "accuracy or the area under the ROC curve.",
                )
            )
    if data["n_rows"] < FEW_ROWS:
        few = "1 row is" if data["n_rows"] == 1 else f"{data['n_rows']} rows are"
        text = f"{few} few: scores and rankings vary a lot by chance."
        found.append(("few_rows", text))
    return [{"kind": kind, "text": text} for kind, text in found]


def identifier_notices(table: Table) -> list[dict[str, str]]:
    """Which columns were left out because they name rows."""
    if len(table.identifiers) == 0:
        return []
    label, one = table.label(table.identifiers), len(table.identifiers) == 1
    text = f"{label[0].upper()}{label[1:]} {'names' if one else 'name'} rows and "
    text += "is left out." if one else "are left out."
    return [{"kind": "identifiers", "text": text}]


def _columns(count: int, one: str, many: str | None = None) -> str:
    if count == 1:
        return f"1 column is {one}."
    return f"{count:,} columns are {many or one}."


def constant_columns(table: Table) -> NDArray[np.bool_]:
    """Columns with one value only."""
    values = table.values
    if not sp.issparse(values):
        nothing = np.isnan(values).all(axis=0) if values.dtype.kind == "f" else False
        return np.asarray((values.max(axis=0) == values.min(axis=0)) | nothing)
    columns = values.tocsc()
    high, low = (np.asarray(f(axis=0).todense()).ravel() for f in (columns.max, columns.min))
    return high == low


# -- columns that equal an earlier one: hashed in one pass, then compared --------------------------


@compiled(inline="always")
def _stirred(state, bits):
    state = (state ^ bits) * MULTIPLIER
    return state ^ (state >> SHIFT)


@compiled()
def _hash_rows(rows, states):
    """Stir some rows into the state of each column."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            # Adding 0.0 turns -0.0 into 0.0: the two are equal.
            states[j] = _stirred(states[j], np.float64(rows[i, j] + 0.0).view(np.uint64))


@compiled()
def _hash_entries(indptr, indices, data, states):
    """Stir row and value of the non-zeros of each column into its state."""
    for j in range(indptr.shape[0] - 1):
        for k in range(indptr[j], indptr[j + 1]):
            if data[k] != 0.0:
                state = _stirred(states[j], np.uint64(indices[k]))
                states[j] = _stirred(state, np.float64(data[k]).view(np.uint64))


def n_duplicates(values: Any, skip: NDArray[np.bool_]) -> int:
    """Count the columns that repeat an earlier one; those in ``skip`` are not looked at.

    Examples
    --------
    >>> table = np.array([[1.0, 2.0, 1.0], [0.0, 5.0, 0.0]])
    >>> n_duplicates(table, np.zeros(3, dtype=bool))
    1
    """
    states = np.zeros(values.shape[1], dtype=np.uint64)
    if sp.issparse(values):
        columns = values.tocsc()
        if not columns.has_canonical_format:
            columns = columns.copy()
            columns.sum_duplicates()
        _hash_entries(columns.indptr, columns.indices, columns.data.astype(np.float64), states)
    else:
        columns = values
        step = max(1, 2**20 // max(1, values.shape[1]))
        for start in range(0, values.shape[0], step):
            block = np.ascontiguousarray(values[start : start + step], dtype=np.float64)
            _hash_rows(block, states)
    kept = np.flatnonzero(~skip)
    _, first, place = np.unique(states[kept], return_index=True, return_inverse=True)
    earlier = kept[first[place]]
    suspects = np.flatnonzero(earlier != kept)
    return sum(_equal(columns, int(kept[i]), int(earlier[i])) for i in suspects)


def _equal(values: Any, one: int, other: int) -> bool:
    if not sp.issparse(values):
        known = values.dtype.kind == "f"
        return bool(np.array_equal(values[:, one], values[:, other], equal_nan=known))
    mine, theirs = (slice(values.indptr[i], values.indptr[i + 1]) for i in (one, other))
    return all(
        np.array_equal(array[mine][values.data[mine] != 0], array[theirs][values.data[theirs] != 0])
        for array in (values.indices, values.data)
    )

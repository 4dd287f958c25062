"""What there is to say about a table before anything is selected: counts, classes, warnings."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.tables.constant import constant_columns
from kernelpath.tables.missing import LeftOut
from kernelpath.tables.repeated import repeated_ids
from kernelpath.tables.table import Table
from kernelpath.utils.units import in_units, size_exponent
from kernelpath.utils.words import counted

RARE_CLASS = 0.1
"""A class with a smaller share of the rows makes accuracy say little."""
FEW_ROWS = 50
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)


def describe_data(
    table: Table,
    y: NDArray,
    task: str,
    left_out: LeftOut | None = None,
    in_use: NDArray[np.bool_] | None = None,
) -> dict[str, Any]:
    """Size, target and odd columns of a table, as plain numbers and text.

    ``left_out`` are rows that are not in the table, and ``in_use`` columns that are selected
    somewhere, also where they tell nothing.
    """
    constant = constant_columns(table)
    return {
        **describe_counts(table, left_out, in_use, constant),
        "sparse": bool(sp.issparse(table.values)),
        "n_categorical": int(np.count_nonzero(table.categorical)),
        "n_duplicates": int(n_duplicates(table.values, constant)),
        "task": task,
        "target": _describe_target(y, task),
    }


def describe_counts(
    table: Table,
    left_out: LeftOut | None = None,
    in_use: NDArray[np.bool_] | None = None,
    constant: NDArray[np.bool_] | None = None,
) -> dict[str, Any]:
    """Rows and columns of a table, and how many are left out for which reason."""
    n_rows, n_columns = table.shape
    names_rows = np.isin(np.arange(n_columns), table.identifiers)
    nothing = constant_columns(table) if constant is None else constant
    used = np.zeros(n_columns, dtype=bool) if in_use is None else in_use
    return {
        "n_rows": n_rows,
        "rows_left_out": asdict(left_out or LeftOut()),
        "n_features": n_columns,
        "n_identifiers": int(np.count_nonzero(names_rows & ~used)),
        "n_constant": int(np.count_nonzero(nothing & ~names_rows & ~used)),
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


def notices(data: dict[str, Any], scoring: str | None = None) -> list[dict[str, str]]:
    """Sentences about what a reader of the results should know of the data.

    ``scoring`` is the measure of the scores, if there are any.
    """
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
        if smallest["count"] < RARE_CLASS * data["n_rows"]:
            found.append(("imbalance", _rare_words(smallest, data["n_rows"], scoring)))
    if data["n_rows"] < FEW_ROWS:
        few = counted(data["n_rows"], "row")
        text = f"{few} {_are(data['n_rows'])} few: scores and rankings vary a lot by chance."
        found.append(("few_rows", text))
    return [{"kind": kind, "text": text} for kind, text in found]


def _rare_words(smallest: dict[str, Any], n_rows: int, scoring: str | None) -> str:
    """How rare a class is; and what to think of accuracy, unless another measure was taken."""
    count, label = smallest["count"], smallest["label"]
    share = f"Only {count:,} of {n_rows:,} rows ({100 * count / n_rows:.1f} %)"
    text = f"{share} {_are(count)} of the class {label!r}"
    if scoring not in (None, "accuracy"):
        return f"{text}."
    return (
        f"{text}: accuracy says little here; prefer balanced accuracy or the area under the ROC "
        "curve."
    )


def identifier_notices(table: Table, in_use: NDArray[np.bool_]) -> list[dict[str, str]]:
    """Which columns were left out because they name rows."""
    columns = table.identifiers[~in_use[table.identifiers]]
    if len(columns) == 0:
        return []
    label, one = table.label(columns), len(columns) == 1
    text = f"{label[0].upper()}{label[1:]} {'names' if one else 'name'} rows and "
    text += "is left out." if one else "are left out."
    return [{"kind": "identifiers", "text": text}]


def repeated_notices(model: Any) -> list[dict[str, str]]:
    """What is said of ids that repeat, where no groups were given."""
    run = vars(model).get("_run")
    said = [] if run is None or run.study.groups is not None else repeated_ids(run.study.rows)
    return [{"kind": "repeated_id", "text": text} for text in said]


def _columns(count: int, one: str, many: str | None = None) -> str:
    return f"{counted(count, 'column')} {_are(count)} {one if count == 1 else many or one}."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


# -- columns that equal an earlier one: hashed in one pass, then compared --------------------------


def _keys(first: int, last: int) -> NDArray[np.uint64]:
    """Odd numbers, one for each row, that look like random ones."""
    state = (np.arange(first, last, dtype=np.uint64) + np.uint64(1)) * MULTIPLIER
    return (state ^ (state >> SHIFT)) * MULTIPLIER | np.uint64(1)


def _stirred(values: NDArray[np.float64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bits of numbers, mixed with the keys of their rows; to be summed."""
    # Adding 0.0 turns -0.0 into 0.0: the two are equal.
    bits = (values + 0.0).view(np.uint64)
    bits ^= bits >> SHIFT
    bits *= keys
    bits ^= bits >> SHIFT
    return bits


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
        stored = columns.data != 0
        data = columns.data[stored].astype(np.float64)
        bits = _stirred(data, _keys(0, values.shape[0])[columns.indices[stored]])
        ends = np.concatenate([[0], np.cumsum(stored)])[columns.indptr]
        sums = np.concatenate([[np.uint64(0)], np.cumsum(bits, dtype=np.uint64)])
        states[:] = sums[ends[1:]] - sums[ends[:-1]]
    else:
        columns = values
        step = max(1, 2**20 // max(1, values.shape[1]))
        for start in range(0, values.shape[0], step):
            block = np.ascontiguousarray(values[start : start + step], dtype=np.float64)
            states += _stirred(block, _keys(start, start + len(block))[:, None]).sum(axis=0)
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

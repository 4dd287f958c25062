"""What there is to say about a table before anything is selected: counts, classes, warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.report.summary_duplicates import n_duplicates
from kernelpath.tables.table import Table
from kernelpath.utils.units import in_units, size_exponent

RARE_CLASS = 0.1
"""A class with a smaller share of the rows makes accuracy say little."""
FEW_ROWS = 50


def describe_data(table: Table, y: NDArray, task: str) -> dict[str, Any]:
    """Size, target and odd columns of a table, as plain numbers and text."""
    n_rows, n_columns = table.shape
    constant = constant_columns(table)
    return {
        "n_rows": n_rows,
        "n_features": n_columns,
        "sparse": bool(sp.issparse(table.values)),
        "n_categorical": int(np.count_nonzero(table.categorical)),
        "n_constant": int(constant.sum()),
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


def _columns(count: int, one: str, many: str | None = None) -> str:
    if count == 1:
        return f"1 column is {one}."
    return f"{count:,} columns are {many or one}."


def constant_columns(table: Table) -> NDArray[np.bool_]:
    """Columns with one value only."""
    values = table.values
    if not sp.issparse(values):
        return np.asarray(values.max(axis=0) == values.min(axis=0))
    columns = values.tocsc()
    high, low = (np.asarray(f(axis=0).todense()).ravel() for f in (columns.max, columns.min))
    return high == low

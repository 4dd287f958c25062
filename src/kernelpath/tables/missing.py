"""What becomes of missing values: four ways, and one word for each.

``"kernel"``
    They stay NaN; kernels of one feature treat them as a category of their own, other methods
    impute them.
``"impute"``
    The median of a column of numbers, the most frequent value of a category, both of the rows
    of ``fit``.
``"drop"``
    Rows with a missing value are left out.
``"error"``
    Refused, with the names of the columns.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.errors import DataError, MissingValuesWarning, naming, not_one_of
from kernelpath.tables import MISSING
from kernelpath.tables.table import (
    Table,
    check_finite,
    columns_with_holes,
    refuse_infinite_columns,
)
from kernelpath.tables.targets import check_weight_shape, plain_weight, refuse_one_target
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted, listed

DROPPED = " (missing='drop')"


@dataclass(frozen=True)
class Imputer:
    """What stands for a missing value in each column; NaN where nothing was observed.

    Examples
    --------
    >>> table = Table(np.array([[1.0, 2.0], [np.nan, 2.0], [5.0, 0.0]]), None, np.array([0, 1]) > 0)
    >>> imputer = Imputer.fit(table)
    >>> imputer.apply(table).values[:, 0].tolist()
    [1.0, 3.0, 5.0]
    """

    fill: NDArray[np.float64]

    @classmethod
    def fit(cls, table: Table) -> Imputer:
        """Median of numbers, most frequent code of categories; of all columns, for new rows."""
        values = table.values
        fill = np.zeros(table.shape[1])
        whole = ~(columns_with_holes(values) | table.categorical)
        if not sparse.issparse(values) and whole.any():
            fill[whole] = np.median(values[:, whole], axis=0)
        else:
            whole[:] = False
        for j in np.flatnonzero(~whole).tolist():
            column = values[:, [j]].toarray().ravel() if sparse.issparse(values) else values[:, j]
            column = np.asarray(column, dtype=np.float64)
            seen = column[~np.isnan(column)]
            if len(seen) == 0:
                fill[j] = 0.0  # nothing observed: a constant column
            elif table.categorical[j]:
                known, count = np.unique(seen, return_counts=True)
                fill[j] = known[count.argmax()]
            else:
                fill[j] = np.median(seen)
        return cls(fill)

    def apply(self, table: Table) -> Table:
        """The table without missing values; itself if there are none."""
        holes = columns_with_holes(table.values)
        if not holes.any():
            return table
        if sparse.issparse(table.values):
            values = table.values.tocsc().astype(np.float64, copy=True)
            missing = np.isnan(values.data)
            column = np.repeat(np.arange(values.shape[1]), np.diff(values.indptr))
            values.data[missing] = self.fill[column[missing]]
        else:
            values = np.where(np.isnan(table.values), self.fill, table.values)
        return replace(table, values=values)


def imputed(table: Table) -> Table:
    """A table whose missing values are filled in by what its own rows say; mostly itself."""
    if not columns_with_holes(table.values).any():
        return table
    return Imputer.fit(table).apply(table)


def check_missing(missing: Any) -> str:
    """The way, or say which there are."""
    if not isinstance(missing, str) or missing not in MISSING:
        raise not_one_of("missing", missing, MISSING)
    return missing


@dataclass(frozen=True)
class LeftOut:
    """How many rows were left out, and why.

    Examples
    --------
    >>> left_out = LeftOut(no_target=7) + LeftOut(missing=1)
    >>> left_out.words()
    '7 without a target and 1 with missing values'
    >>> LeftOut(alone=2).words(noun=True)
    '2 rows that are the only ones of their class'
    """

    no_target: int = 0
    missing: int = 0
    no_weight: int = 0
    alone: int = 0

    def __add__(self, other: LeftOut) -> LeftOut:
        return LeftOut(*(a + b for a, b in zip(astuple(self), astuple(other))))

    def __bool__(self) -> bool:
        return any(astuple(self))

    def words(self, noun: bool = False, why: str = "") -> str:
        """Counts and reasons; ``noun`` says that they are rows, and ``why`` what dropped some."""
        reasons = (
            "without a target", f"with missing values{why}", "of weight 0",
            "that is the only one of its class" if self.alone == 1
            else "that are the only ones of their class",
        )  # fmt: skip
        counts = [(count, what) for count, what in zip(astuple(self), reasons) if count]
        return listed([f"{counted(n, 'row') if noun else f'{n:,}'} {what}" for n, what in counts])


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Which rows are kept, and how many are not."""

    rows: NDArray[np.intp]
    left_out: LeftOut


def kept_rows(table: Table, y: NDArray, missing: str) -> KeptRows | None:
    """Rows with a target and, where the others are dropped, without missing values; None for all.

    Rows that leave one class or value are refused.
    """
    absent = missing_targets(y)
    holes = np.zeros(table.n_rows, dtype=bool)
    if missing == "drop":
        holes = _rows_with_holes(table) & ~absent
    if not (absent.any() or holes.any()):
        return None
    kept = np.flatnonzero(~(absent | holes))
    if len(kept) == 0:
        what = "a missing value" if holes.any() else "no target"
        error = DataError(
            f"All {counted(table.n_rows, 'row')} have {what}; nothing is left"
            + ("; choose missing='kernel' or missing='impute'." if holes.any() else ".")
        )
        raise naming(error, "missing")
    left_out = LeftOut(int(absent.sum()), int(holes.sum()))
    way = "choose missing='kernel' or missing='impute'" if holes.any() else "give rows of another"
    are = "is" if absent.sum() + holes.sum() == 1 else "are"
    refuse_one_target(y, kept, f"{left_out.words(noun=True, why=DROPPED)} {are}", way)
    return KeptRows(kept, left_out)


def rows_to_keep(table: Table, y: NDArray, missing: str) -> KeptRows | None:
    """The same; what is left out is said in one sentence."""
    kept = kept_rows(table, y, missing)
    if kept is not None:
        parts = kept.left_out.words(noun=True, why=DROPPED)
        text = f"Left out: {parts}, of {table.n_rows:,}."
        warn(naming(MissingValuesWarning(text), "missing"))
    return kept


def with_targets(table: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Table, target and weights of the rows that have a target; mostly all of them."""
    if not isinstance(table, Table) or len(y) != table.n_rows:
        return table, y, sample_weight
    kept = rows_to_keep(table, y, "kernel")
    if kept is None:
        return table, y, sample_weight
    weights = weights_of(sample_weight, kept.rows, table.n_rows)
    return table.take(kept.rows), np.asarray(y)[kept.rows], weights


def weights_of(sample_weight: Any, kept: NDArray[np.intp], n_rows: int) -> Any:
    """Weights of the rows that are kept, of one weight for each; one number stays one number."""
    if sample_weight is None or np.ndim(sample_weight) == 0:
        return sample_weight
    weights = np.asarray(plain_weight(sample_weight))
    check_weight_shape(weights, n_rows)
    return weights[kept]


def refuse_unusable(table: Table, missing: str) -> None:
    """Refuse infinity, and missing values where they are an error."""
    if missing == "error":
        check_finite(table)
    else:
        refuse_infinite_columns(table)


def without_holes(table: Table, missing: str) -> Table:
    """The table as a method of kernels takes it: filled in, refused, or as it is."""
    refuse_unusable(table, missing)
    return imputed(table) if missing == "impute" else table


def missing_targets(y: NDArray) -> NDArray[np.bool_]:
    """Rows without a target.

    Examples
    --------
    >>> missing_targets(np.array(["a", None], dtype=object)).tolist()
    [False, True]
    """
    import pandas as pd

    values = np.asarray(y)
    if values.dtype.names:  # survival times
        fields = [np.asarray(pd.isna(values[name]), dtype=bool) for name in values.dtype.names]
        return np.any(fields, axis=0)
    found = np.asarray(pd.isna(values), dtype=bool)
    return np.asarray(found.any(axis=tuple(range(1, found.ndim))), dtype=bool)


def _rows_with_holes(table: Table) -> NDArray[np.bool_]:
    values = table.values
    found = np.zeros(values.shape[0], dtype=bool)
    if sparse.issparse(values):
        entries = values.tocoo()
        found[np.asarray(entries.row)[np.isnan(entries.data)]] = True
    elif values.dtype.kind == "f":
        found |= np.isnan(values).any(axis=1)
    return found

"""Chosen columns as a matrix for linear models and trees: imputed, coded, scaled.

Everything is learned from the training rows.  A number that is missing stands at the median, with a
column of its own that says so; a category becomes one column per frequent value, and a missing one
is a value like others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.tables.table import Table, columns_with_holes, take_columns
from kernelpath.utils.archive_forms import REAL, WHOLE, Form

MOST_VALUES = 30  # of a category that have a column of their own
FEWEST_ROWS = 5  # with a value, for it to have one
NUMBER, VALUE, HOLE = 0, 1, 2


@dataclass(frozen=True)
class Design:
    """How columns of a table become columns of a matrix.

    Attributes
    ----------
    columns : ndarray of shape (n_used,)
        Columns of the table.
    source : ndarray of shape (n_out,)
        For each column of the matrix, which of ``columns`` it comes from.
    kind : ndarray of shape (n_out,)
        Number, one value of a category, or whether it is missing.
    value : ndarray of shape (n_out,)
        The median, which stands for what is missing, or the code of the value.
    mean, scale : ndarray of shape (n_out,)
        What is subtracted from a column, and what it is multiplied with.

    Examples
    --------
    >>> table = Table(np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0]]), None, np.array([0, 1]) > 0)
    >>> design = Design.fit(table, np.array([0, 1]), scaled=False)
    >>> design.apply(table).tolist()
    [[1.0, 0.0, 0.0], [3.0, 0.0, 1.0], [2.0, 1.0, 1.0]]
    """

    columns: NDArray[np.intp]
    source: NDArray[np.intp]
    kind: NDArray[np.int64]
    value: NDArray[np.float64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    FORMS: ClassVar[dict[str, Form]] = {
        "columns": Form(WHOLE, ("used",), low=0),
        "source": Form(WHOLE, ("out",), low=0),
        "kind": Form(WHOLE, ("out",), low=NUMBER, high=HOLE),
        "value": Form(REAL, ("out",)),
        "mean": Form(REAL, ("out",)),
        "scale": Form(REAL, ("out",), low=0),
    }

    def to_arrays(self) -> dict[str, NDArray]:
        """Everything it consists of."""
        return {name: getattr(self, name) for name in self.FORMS}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Design:
        """Build it again; a ValueError if the arrays do not fit."""
        if len(arrays["source"]) and arrays["source"].max() >= len(arrays["columns"]):
            raise ValueError("a column of the model comes from a column that it does not use")
        return cls(**{name: arrays[name] for name in cls.FORMS})

    @classmethod
    def fit(
        cls,
        rows: Table,
        columns: NDArray[np.intp],
        weight: NDArray[np.float64] | None = None,
        scaled: bool = True,
    ) -> Design:
        """Learn medians, values and scales of some columns."""
        values = take_columns(rows.values, columns)
        plain = cls._plain(rows, columns, values)
        return plain._scaled(plain._matrix(values), weight)[0] if scaled else plain

    @classmethod
    def fitted(
        cls, rows: Table, columns: NDArray[np.intp], weight: NDArray[np.float64] | None = None
    ) -> tuple[Design, Any]:
        """Learn them, and the scaled matrix of the rows they were learned from."""
        values = take_columns(rows.values, columns)
        plain = cls._plain(rows, columns, values)
        return plain._scaled(plain._matrix(values), weight)

    @classmethod
    def _plain(cls, rows: Table, columns: NDArray[np.intp], values: Any) -> Design:
        holes = columns_with_holes(values)
        middles = _medians(values, holes, ~rows.categorical[columns])
        found: list[tuple[int, int, float]] = []
        for i in range(len(columns)):
            if rows.categorical[columns[i]]:
                found += [(i, VALUE, value) for value in _frequent(_column(values, i))]
                continue
            middle = middles[i]  # new rows may have holes where these have none
            if np.isnan(middle):
                continue  # nothing observed
            found.append((i, NUMBER, middle))
            if holes[i]:
                found.append((i, HOLE, 0.0))
        parts = list(zip(*found)) if found else [(), (), ()]
        n_out = len(found)
        return cls(
            columns, np.array(parts[0], np.intp), np.array(parts[1], np.int64),
            np.array(parts[2], np.float64), np.zeros(n_out), np.ones(n_out),
        )  # fmt: skip

    def _scaled(self, X: Any, weight: NDArray[np.float64] | None) -> tuple[Design, Any]:
        """With mean 0 and variance 1 in a matrix, which becomes that; sparse is only scaled."""
        share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
        mean = np.asarray(share @ X).ravel()
        if sparse.issparse(X):
            variance = np.asarray(share @ X.multiply(X)).ravel() - mean**2
            offset = np.zeros_like(mean)
        else:
            X -= mean
            variance, offset = share @ np.square(X), mean
        with np.errstate(divide="ignore"):
            scale = np.where(variance > 1e-30 * offset**2, 1.0 / np.sqrt(variance), 0.0)
        design = Design(self.columns, self.source, self.kind, self.value, offset, scale)
        if sparse.issparse(X):
            return design, (X @ sparse.diags_array(scale, format="csc")).tocsr()
        X *= scale
        return design, X

    def apply(self, rows: Table, holes: bool = False) -> Any:
        """The matrix of some rows; with ``holes`` missing numbers stay NaN, as trees take them."""
        X = self._matrix(take_columns(rows.values, self.columns), holes)
        if sparse.issparse(X):
            return (X @ sparse.diags_array(self.scale, format="csc")).tocsr()
        X -= self.mean
        X *= self.scale
        return X

    def _matrix(self, values: Any, holes: bool = False) -> Any:
        """The matrix before it is scaled, of the values of the columns."""
        number, one, hole = (self.kind == kind for kind in (NUMBER, VALUE, HOLE))
        if sparse.issparse(values) and number.all():
            X = values.tocsc()[:, self.source].astype(np.float64)
            if not holes and np.isnan(X.data).any():
                owner = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
                X.data = np.where(np.isnan(X.data), self.value[owner], X.data)
            return X
        if sparse.issparse(values):
            values = values.toarray()
        if number.all():
            whole = len(self.source) == values.shape[1]
            X = np.array(values if whole else values[:, self.source], dtype=np.float64, order="C")
        else:
            X = np.empty((values.shape[0], len(self.source)))
            X[:, number] = values[:, self.source[number]]
            coded = values[:, self.source[one]]
            X[:, one] = np.where(np.isnan(coded), -1.0, coded) == self.value[one]
            X[:, hole] = np.isnan(values[:, self.source[hole]])
        with np.errstate(over="ignore"):
            any_hole = np.isnan(X.sum())
        if any_hole and not holes:
            missing = np.isnan(X)
            X[missing] = np.broadcast_to(self.value, X.shape)[missing]
        return X


def _column(values: Any, i: int) -> NDArray[np.float64]:
    column = values[:, [i]].toarray() if sparse.issparse(values) else values[:, i]
    return np.asarray(column, dtype=np.float64).ravel()


def _medians(
    values: Any, holes: NDArray[np.bool_], number: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Median of each column of numbers, NaN where nothing is observed."""
    found = np.zeros(values.shape[1])
    single = number & holes
    if sparse.issparse(values):  # where more than half of the entries are 0, so is the median
        single |= number & (2 * np.diff(values.tocsc().indptr) >= values.shape[0])
    elif (whole := number & ~holes).any():
        ordered = np.sort(values[:, whole], axis=0)  # several times as fast as np.median
        low, high = (len(ordered) - 1) // 2, len(ordered) // 2
        found[whole] = ordered[[low, high]].mean(axis=0)
    for i in np.flatnonzero(single).tolist():
        seen = _column(values, i)
        found[i] = np.nan if np.isnan(seen).all() else np.nanmedian(seen)
    return found


def _frequent(codes: NDArray[np.float64]) -> list[float]:
    """Codes with a column of their own, the most frequent first; -1 is a missing value.

    With two values one column says it all.
    """
    known, count = np.unique(np.where(np.isnan(codes), -1.0, codes), return_counts=True)
    if len(known) == 2:
        return [float(known[1])]
    order = np.argsort(-count, kind="stable")[:MOST_VALUES]
    return [float(known[i]) for i in order if count[i] >= min(FEWEST_ROWS, count.max())]


@dataclass(frozen=True)
class Filling:
    """Chosen columns without missing values, and columns that say where they were missing.

    Attributes
    ----------
    columns : ndarray
        Column of the table that each one comes from; one with an indicator stands there twice.
    fill : ndarray
        What stands for a missing value: the median, or the code -1 of a category.
    indicator : ndarray of bool
        Columns that are 1 where the value is missing and 0 elsewhere.

    Examples
    --------
    >>> table = Table(np.array([[1.0], [3.0], [np.nan]]), None, np.array([False]))
    >>> filling = Filling.fit(table, np.array([0]))
    >>> filling.apply(table).values.tolist(), filling.apply(table).categorical.tolist()
    ([[1.0, 0.0], [3.0, 0.0], [2.0, 1.0]], [False, True])
    """

    columns: NDArray[np.intp]
    fill: NDArray[np.float64]
    indicator: NDArray[np.bool_]

    @classmethod
    def fit(cls, rows: Table, columns: NDArray[np.intp]) -> Filling:
        """Learn from training rows; sparse tables have no indicators."""
        values = take_columns(rows.values, columns)
        holes = np.flatnonzero(columns_with_holes(values))
        number = ~rows.categorical[columns]  # a missing category is a category
        middles = np.nan_to_num(_medians(values, columns_with_holes(values), number))
        fill = np.where(number, middles, -1.0)
        told = [] if sparse.issparse(values) else holes[number[holes]].tolist()  # have indicators
        return cls(
            np.concatenate([columns, columns[told]]).astype(np.intp),
            np.concatenate([fill, np.zeros(len(told))]),
            np.arange(len(columns) + len(told)) >= len(columns),
        )

    def take(self, which: NDArray[np.intp]) -> Filling:
        """Some of the columns."""
        return Filling(self.columns[which], self.fill[which], self.indicator[which])

    def of(self, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Which ones come from some columns of the table."""
        return np.flatnonzero(np.isin(self.columns, columns))

    def apply(self, rows: Table) -> Table:
        """The chosen columns of some rows; indicators are categories."""
        values = take_columns(rows.values, self.columns)
        if sparse.issparse(values):
            if np.isnan(values.data).any():
                values = values.tocsc().astype(np.float64, copy=True)
                owner = np.repeat(np.arange(values.shape[1]), np.diff(values.indptr))
                values.data = np.where(np.isnan(values.data), self.fill[owner], values.data)
            return Table(values, None, rows.categorical[self.columns])
        if values.dtype.kind == "f" and np.isnan(values).any():
            missing = np.isnan(values)
            filled = np.where(missing, self.fill, values)
            values = np.where(self.indicator, missing, filled)
        elif self.indicator.any():
            values = np.where(self.indicator, 0.0, values)
        return Table(values, None, rows.categorical[self.columns] | self.indicator)

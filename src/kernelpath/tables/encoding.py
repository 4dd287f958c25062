"""The same table twice: how its columns are read is learned once, and applied to new rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError
from kernelpath.tables.kinds import ColumnReading, Kind
from kernelpath.tables.table import (
    Table,
    array_as_frame,
    as_column_table,
    frame_as_table,
    holds_text,
    is_frame,
    plain_table,
)
from kernelpath.utils.words import counted


@dataclass(frozen=True)
class TableEncoder:
    """What is needed to read new rows as the training rows were read.

    Attributes
    ----------
    n_columns : int
    names : ndarray of str or None
    readings : dict of int to ColumnReading
        How columns that are not of a type of numbers are read.
    exponents : ndarray of int or None
        Columns are read in units of ``2**exponents``; None for those of the user.
    fill : ndarray or None
        What stands for a missing value in each column; None where they stay NaN.
    holes : ndarray of bool or None
        Columns with missing values in fit; None where that is not known.

    Examples
    --------
    >>> import pandas as pd
    >>> train = pd.DataFrame({"age": [31, 45, 28], "town": ["Bonn", "Ulm", "Bonn"]})
    >>> encoder, table = TableEncoder.fit(train)
    >>> encoder.encode(pd.DataFrame({"age": [50, 60], "town": ["Ulm", "Rom"]}))
    array([[50.,  1.],
           [60.,  2.]])
    """

    n_columns: int
    names: NDArray | None = None
    readings: dict[int, ColumnReading] = field(default_factory=dict)
    exponents: NDArray[np.int64] | None = None
    fill: NDArray[np.float64] | None = None
    holes: NDArray[np.bool_] | None = None

    @classmethod
    def fit(cls, X: Any) -> tuple[TableEncoder, Table]:
        """Learn how to read, and return the columns as numbers."""
        table = as_column_table(X)
        return cls.of(replace(table, given=X)), table

    @classmethod
    def of(cls, table: Table) -> TableEncoder:
        """How the columns of a table were read."""
        names = table.names if is_frame(table.given) else None  # new rows of an array have none
        return cls(table.shape[1], names, table.readings, table.exponents)

    @property
    def categories(self) -> dict[int, list]:
        """Values of each column of categories, in the order of their codes."""
        return {
            j: list(one.categories or ())
            for j, one in self.readings.items()
            if one.kind is Kind.CATEGORY
        }

    def kind(self, column: int) -> Kind:
        """What a column held in fit."""
        known = self.readings.get(column)
        return Kind.NUMBER if known is None else known.kind

    def table(self, X: Any) -> Table:
        """New rows as numbers, in the units of the user."""
        X = plain_table(X)
        if getattr(X, "ndim", 2) == 2 and X.shape[1] != self.n_columns:
            raise DataError(
                f"X has {counted(X.shape[1], 'feature')}, but {counted(self.n_columns, 'feature')} "
                "were seen in fit."
            )
        if is_frame(X):
            return frame_as_table(X, self.readings)
        if self.readings and self.names is not None:
            raise DataError(
                "The model was fitted on a dataframe with text columns; give a dataframe."
            )
        if isinstance(X, np.ndarray) and (self.readings or holds_text(X)):
            return replace(frame_as_table(array_as_frame(X), self.readings), names=None)
        return as_column_table(X)

    def encode(self, X: Any) -> Any:
        """Columns of new rows as numbers; a category not seen before gets a code of its own."""
        return self.table(X).values

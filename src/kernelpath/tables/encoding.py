"""The same table twice: categories and columns learned once, applied to new rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.tables.table import Table, as_column_table, as_pandas, is_frame, plain_table


@dataclass(frozen=True)
class TableEncoder:
    """What is needed to read new rows as the training rows were read.

    Attributes
    ----------
    n_columns : int
    names : ndarray of str or None
    categories : dict
        Values of each categorical column, in the order of their codes.
    exponents : ndarray of int or None
        Columns are read in units of ``2**exponents``; None for those of the user.

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
    categories: dict[int, list] = field(default_factory=dict)
    exponents: NDArray[np.int64] | None = None

    @classmethod
    def fit(cls, X: Any) -> tuple[TableEncoder, Table]:
        """Learn categories, and return the columns as numbers."""
        frame = as_pandas(X) if is_frame(X) else None
        table = as_column_table(X if frame is None else frame)
        return cls.of(replace(table, given=frame)), table

    @classmethod
    def of(cls, table: Table) -> TableEncoder:
        """Learn the categories of a table from its rows as they were given."""
        columns = np.flatnonzero(table.categorical).tolist()
        categories = {j: table.given.iloc[:, j].dropna().unique().tolist() for j in columns}
        return cls(table.shape[1], table.names, categories, table.exponents)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Mask of the categorical columns."""
        mask = np.zeros(self.n_columns, dtype=bool)
        mask[list(self.categories)] = True
        return mask

    def table(self, X: Any) -> Table:
        """New rows as numbers, in the units of the user."""
        return Table(self.encode(X), self.names, self.categorical)

    def encode(self, X: Any) -> Any:
        """Columns of new rows as numbers; a category not seen before gets a code of its own."""
        X = plain_table(X)
        if getattr(X, "ndim", 2) == 2 and X.shape[1] != self.n_columns:
            raise DataError(
                f"X has {X.shape[1]} features, but {self.n_columns} features were seen in fit."
            )
        if not self.categories:
            return as_column_table(X).values
        if not is_frame(X):
            raise DataError(
                "The model was fitted on a dataframe with text columns; give a dataframe."
            )
        return self._encode_frame(as_pandas(X))

    def _encode_frame(self, frame: Any) -> NDArray[np.float64]:
        import pandas as pd

        values = np.empty(frame.shape, dtype=np.float64, order="F")
        numeric = np.flatnonzero(~self.categorical)
        if len(numeric):
            part = as_column_table(frame.iloc[:, numeric])
            if part.categorical.any():
                label = part.label(np.flatnonzero(part.categorical))
                raise DataError(f"X holds text in {label}, which held numbers in fit.")
            dense = part.values.toarray() if sparse.issparse(part.values) else part.values
            values[:, numeric] = dense
        for column, known in self.categories.items():
            given = frame.iloc[:, column]
            if given.isna().any():
                raise DataError(f"Column {str(frame.columns[column])!r} has missing values.")
            if all(isinstance(value, str) for value in known) and _is_number(given):
                raise DataError(
                    f"X holds numbers in column {str(frame.columns[column])!r}, which held text in "
                    "fit."
                )
            codes = pd.Index(known, dtype=object).get_indexer(given.astype(object))
            values[:, column] = np.where(codes < 0, len(known), codes)
        return values


def _is_number(column: Any) -> bool:
    from pandas.api.types import is_numeric_dtype

    return bool(is_numeric_dtype(column.dtype))

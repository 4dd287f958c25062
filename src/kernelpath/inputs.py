"""Tables as users have them, turned into columns of numbers with names.

NumPy arrays, memory maps and SciPy sparse matrices pass through without a copy; pandas and polars
frames lose their names to ``ColumnTable.names`` and their text columns become category codes.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.errors import DataError

UNITS = {"kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


@dataclass(frozen=True)
class ColumnTable:
    """Numeric columns, their names if they have any, and which ones are categories."""

    values: Any
    names: NDArray | None
    categorical: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape

    def label(self, columns: NDArray[np.intp], limit: int = 5) -> str:
        """Name some columns in a message."""
        if self.names is None:
            shown = [str(int(c)) for c in columns[:limit]]
        else:
            shown = [repr(str(self.names[c])) for c in columns[:limit]]
        more = f" and {len(columns) - limit} more" if len(columns) > limit else ""
        return ("column " if len(columns) == 1 else "columns ") + ", ".join(shown) + more

    def sentence(self, columns: NDArray[np.intp], one: str, many: str) -> str:
        """Begin a sentence about some columns with the right form of its verb."""
        label = self.label(columns)
        return f"C{label[1:]} {one if len(columns) == 1 else many}"


def is_frame(X: Any) -> bool:
    """Tell a dataframe (pandas, polars, Arrow) from an array."""
    return hasattr(X, "to_pandas") or (hasattr(X, "iloc") and hasattr(X, "dtypes"))


def as_pandas(X: Any) -> Any:
    """Return a pandas frame; polars and Arrow tables convert themselves."""
    return X.to_pandas() if hasattr(X, "to_pandas") else X


def as_column_table(X: Any) -> ColumnTable:
    """Turn any supported table into numeric columns.

    Examples
    --------
    >>> import pandas as pd
    >>> table = as_column_table(pd.DataFrame({"age": [31, 45], "town": ["Bonn", "Ulm"]}))
    >>> table.categorical.tolist(), table.values[:, 1].tolist()
    ([False, True], [0.0, 1.0])
    """
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise DataError("X is a masked array with missing values; fill them, as with X.filled().")
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise DataError("X is a lazy table; call .collect() first.")
    if getattr(X, "ndim", 2) != 2:
        raise DataError(f"X must be two-dimensional (2D), got {X.ndim} dimensions.")
    if is_frame(X):
        return _from_frame(as_pandas(X))
    from sklearn.utils import check_array

    values = check_array(X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False)
    if not sp.issparse(values) and values.dtype.kind not in "fiub":
        values = values.astype(np.float64)
    return ColumnTable(values, None, np.zeros(values.shape[1], dtype=bool))


def _from_frame(frame: Any) -> ColumnTable:
    import pandas as pd

    kinds = frame.dtypes
    categorical = np.zeros(frame.shape[1], dtype=bool)
    other = np.zeros(frame.shape[1], dtype=bool)
    dtypes = kinds.to_numpy()
    for dtype in set(dtypes):  # few distinct types, however many columns
        where = np.array([d == dtype for d in dtypes])
        if isinstance(dtype, pd.CategoricalDtype) or any(
            is_kind(dtype)
            for is_kind in (pd.api.types.is_object_dtype, pd.api.types.is_string_dtype)
        ):
            categorical |= where
        elif not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
            other |= where
    names = np.array([str(name) for name in frame.columns], dtype=object)
    if not frame.columns.is_unique:
        twice = str(frame.columns[frame.columns.duplicated()][0])
        raise DataError(f"Column names must differ; more than one is called {twice!r}.")
    table = ColumnTable(frame, names, categorical)
    if other.any():
        kind = str(dtypes[np.flatnonzero(other)[0]])
        subject = table.sentence(np.flatnonzero(other), "holds", "hold")
        raise DataError(f"{subject} values of the type {kind}; convert to numbers or drop.")
    if len(dtypes) and all(isinstance(d, pd.SparseDtype) for d in dtypes):
        return ColumnTable(frame.sparse.to_coo().tocsc(), names, categorical)
    if not categorical.any():
        values = _numeric(frame)
        return ColumnTable(values, names, categorical)
    values = np.empty(frame.shape, dtype=np.float64, order="F")
    if not categorical.all():
        values[:, ~categorical] = _numeric(frame.loc[:, ~categorical])
    for column in np.flatnonzero(categorical):
        if _holds_numbers(frame.iloc[:, column]):  # numbers stored as Python objects
            values[:, column] = frame.iloc[:, column].to_numpy(dtype=np.float64, na_value=np.nan)
            categorical[column] = False
            continue
        codes, _ = pd.factorize(frame.iloc[:, column], sort=False)
        values[:, column] = np.where(codes < 0, np.nan, codes)
    return ColumnTable(values, names, categorical)


def _holds_numbers(column: Any) -> bool:
    import pandas as pd

    if not pd.api.types.is_object_dtype(column.dtype):
        return False
    kinds = ("floating", "integer", "mixed-integer-float", "decimal", "boolean")
    return pd.api.types.infer_dtype(column, skipna=True) in kinds


def _numeric(frame: Any) -> NDArray:
    values = frame.to_numpy()
    if values.dtype.kind not in "fiub":  # nullable or mixed types
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def bytes_of(limit: Any, least: int = 2**20) -> int:
    """Bytes from a number or a text such as "2GB".

    Examples
    --------
    >>> bytes_of("512MB"), bytes_of(1e9)
    (536870912, 1000000000)
    """
    if isinstance(limit, str):
        text = limit.strip().lower().replace(" ", "")
        unit = text[-2:]
        try:
            value = float(text[:-2]) * UNITS[unit]
        except (KeyError, ValueError):
            raise ValueError(
                f"memory_limit must be bytes or text as '2GB', got {limit!r}"
            ) from None
    elif isinstance(limit, numbers.Real) and not isinstance(limit, bool):
        value = float(limit)
    else:
        raise ValueError(f"memory_limit must be bytes or text as '2GB', got {limit!r}")
    if not value >= least:
        wanted = "1 MB" if least == 2**20 else f"{least:,} bytes"
        raise ValueError(f"memory_limit must be at least {wanted}, got {limit!r}")
    return int(value)

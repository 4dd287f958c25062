"""Tables as users have them, turned into columns of numbers with names.

NumPy arrays, memory maps and SciPy sparse matrices pass through without a copy; pandas and polars
frames lose their names to ``Table.names`` and their text columns become category codes.
Cells under a mask, dates and what is missing are never numbers: `plain_array` sees to that for
whatever users bring as arrays.
"""

from __future__ import annotations

import datetime
import numbers
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.errors import DataError, naming
from kernelpath.tables.kinds import (
    NUMBERS,
    ColumnReading,
    Kind,
    days_of,
    is_identifier,
    may_name_rows,
    numbers_again,
    stray_text,
    whole_with_holes,
)
from kernelpath.utils.provenance import fingerprint
from kernelpath.utils.units import FAR, exponents_of, in_units, sizes_of

DATES = ("m", "M")  # kinds of NumPy's types for durations and dates
NO_NUMBERS = (
    datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64, complex,
    np.complexfloating,
)  # fmt: skip
UNITS = {"kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


@dataclass(frozen=True)
class Table:
    """Columns of numbers, their names if they have any, and which ones are categories.

    Attributes
    ----------
    values : ndarray or sparse matrix
    names : ndarray or None
    categorical : ndarray of bool
    exponents : ndarray of int or None
        The values are in units of ``2**exponents``; None for those of the user.
    given : dataframe, ndarray, sparse matrix or None
        The same rows as the user gave them, for estimators that are not of this package.
    readings : dict of int to ColumnReading
        How columns that are not of a type of numbers were read.
    hashed : bool
        Whether a path says which data it came from; one of a training part, which lives as long
        as its fold, does not.
    """

    values: Any
    names: NDArray | None
    categorical: NDArray[np.bool_]
    exponents: NDArray[np.int64] | None = None
    given: Any = None
    readings: dict[int, ColumnReading] = field(default_factory=dict)
    hashed: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[0]

    def take(self, which: NDArray[np.intp]) -> Table:
        """The table of some rows."""
        from sklearn.utils import _safe_indexing

        values = self.values
        part = values.tocsr()[which] if sp.issparse(values) else _rows(values, which)
        given = part
        if self.given is not values:  # else both go on sharing their memory
            given = None if self.given is None else _safe_indexing(self.given, which)
        return replace(self, values=part, given=given)

    def fingerprint(self, y: Any) -> str | None:
        """Hash of the values and of the target, for the provenance of a path."""
        return fingerprint(self.values, y) if self.hashed else None

    def within_reach(self) -> Table:
        """The same table with huge and tiny columns in other units; mostly itself.

        Examples
        --------
        >>> table = as_column_table([[1.0, 2e-300], [3.0, 1e-300]]).within_reach()
        >>> table.exponents.tolist(), table.in_own_units().values[0].tolist()
        ([0, -695], [1.0, 2e-300])
        """
        exponents = exponents_of(self.values)
        if not exponents.any():
            return self
        values = in_units(self.values, exponents)
        known = 0 if self.exponents is None else self.exponents
        return replace(self, values=values, exponents=exponents + known)

    def in_own_units(self) -> Table:
        """The values as the user gave them."""
        if self.exponents is None:
            return self
        return replace(self, values=in_units(self.values, -self.exponents), exponents=None)

    @property
    def identifiers(self) -> NDArray[np.intp]:
        """Columns that name rows: they count as constant."""
        found = [j for j, one in self.readings.items() if one.kind is Kind.IDENTIFIER]
        return np.array(found, dtype=np.intp)

    def without_identifiers(self, but: NDArray[np.intp] | None = None) -> Table:
        """The table with columns that name rows, ``but`` some, read as constant; mostly itself."""
        if sp.issparse(self.values) or (self.names is None and not self.readings):
            return self
        kept = set() if but is None else set(but.tolist())
        names = [""] * self.shape[1] if self.names is None else self.names.tolist()
        found = [
            j
            for j, name in enumerate(names)
            if j not in kept
            and (name or j in self.readings)  # numbers of an array are not judged
            and may_name_rows(self.values[:3, j])
            and is_identifier(name, self.values[:, j], self.kind(j))
        ]
        if not found:
            return self
        for j in found:
            self._refuse_stray_text(j)
        values = self.values.astype(np.float64, copy=True)
        own = {j: ColumnReading(Kind.IDENTIFIER, None, _counts(values[:, j])) for j in found}
        values[:, found] = 0.0
        categorical = self.categorical.copy()
        categorical[found] = False
        return replace(self, values=values, categorical=categorical, readings=self.readings | own)

    def _refuse_stray_text(self, column: int) -> None:
        """Refuse measurements that are read as text, and would be left out, for a slip."""
        reading = self.readings.get(column)
        stray = stray_text(reading.categories) if reading and reading.categories else None
        if stray is not None:
            raise DataError(
                f"{self.label(np.array([column]))} is mostly numbers but holds text such as "
                f"{stray[:40]!r}; correct it, or leave the cell empty if the value is missing."
            )

    def kind(self, column: int) -> Kind:
        """What a column holds."""
        known = self.readings.get(column)
        return Kind.NUMBER if known is None else known.kind

    def of_columns(self, columns: NDArray[np.intp], values: Any) -> Table:
        """The table of some columns, whose values are at hand."""
        return Table(
            values,
            None if self.names is None else self.names[columns],
            self.categorical[columns],
            None if self.exponents is None else self.exponents[columns],
            readings={
                i: self.readings[j] for i, j in enumerate(columns.tolist()) if j in self.readings
            },
        )

    def in_units_of(self, exponents: NDArray[np.int64] | None) -> Table:
        """New rows in the units of the rows of fit; values too far from those are refused."""
        table = self
        if exponents is not None:
            with np.errstate(over="ignore"):
                table = replace(self, values=in_units(self.values, exponents), exponents=exponents)
        far = sizes_of(table.values) > 2.0**FAR
        columns = np.flatnonzero(far & np.isfinite(sizes_of(self.values)))  # inf is another matter
        if len(columns):
            raise DataError(
                f"{self.sentence(columns, 'has', 'have')} values too far from those of fit, by a "
                "factor of more than 1e90; correct them, or leave those rows out."
            )
        return table

    def label(self, columns: NDArray[np.intp], limit: int = 5) -> str:
        """Name some columns in a message."""
        return column_list(columns, self.names, limit)

    def sentence(self, columns: NDArray[np.intp], one: str, many: str) -> str:
        """Begin a sentence about some columns with the right form of its verb."""
        label = self.label(columns)
        return f"C{label[1:]} {one if len(columns) == 1 else many}"


def _counts(values: NDArray[np.float64]) -> tuple[int, int]:
    """Distinct values of a column, and rows that have one."""
    seen = values[~np.isnan(values)]
    return len(np.unique(seen)), len(seen)


def take_columns(values: Any, columns: NDArray[np.intp]) -> Any:
    """Some columns of an array or sparse matrix."""
    if sp.issparse(values):
        return values.tocsc()[:, columns]
    every = len(columns) == values.shape[1] and np.array_equal(columns, np.arange(len(columns)))
    return values if every else values[:, columns]


def quoted_name(name: Any) -> str:
    """A name in quotes, cut where it is long; a number as it is.

    Examples
    --------
    >>> quoted_name("age"), len(quoted_name("a" * 1000))
    ("'age'", 61)
    """
    if isinstance(name, numbers.Integral):
        return str(name)
    text = str(name)
    return repr(text if len(text) < 60 else text[:56] + "...")


def column_list(
    columns: NDArray[np.intp],
    names: Any = None,
    limit: int = 5,
    remarks: Mapping[int, str] | None = None,
) -> str:
    """Name some columns in a message: by name, or by number where there are no names.

    ``remarks`` on some of them stand behind their names.

    Examples
    --------
    >>> column_list(np.array([0, 2]), ["age", "town", "income"]), column_list(np.arange(7), limit=2)
    ("columns 'age', 'income'", 'columns 0, 1 and 5 more')
    """
    first = columns[:limit].tolist()
    shown = [str(c) if names is None else quoted_name(names[c]) for c in first]
    shown = [name + (remarks or {}).get(c, "") for c, name in zip(first, shown)]
    more = f" and {len(columns) - limit:,} more" if len(columns) > limit else ""
    return ("column " if len(columns) == 1 else "columns ") + ", ".join(shown) + more


def columns_not_finite(values: Any, but_nan: bool = False) -> NDArray[np.intp]:
    """Columns of an array or sparse matrix that hold NaN or infinity; or infinity alone.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [np.inf, 3.0]])
    >>> columns_not_finite(X), columns_not_finite(X, but_nan=True)
    (array([0, 1]), array([0]))
    """
    data = values.data if sp.issparse(values) else values
    with np.errstate(over="ignore", invalid="ignore"):
        if data.dtype.kind not in "fc" or np.isfinite(data.sum()):  # mostly: one pass, no copy
            return np.zeros(0, dtype=np.intp)
    wrong = np.isinf if but_nan else (lambda x: ~np.isfinite(x))
    if sp.issparse(values):
        entries = values.tocoo()
        return np.unique(np.asarray(entries.col)[wrong(entries.data)]).astype(np.intp)
    return np.flatnonzero(wrong(values).any(axis=0))


def columns_with_holes(values: Any, columns: NDArray[np.intp] | None = None) -> NDArray[np.bool_]:
    """Which columns, of all or of some, hold NaN.

    Examples
    --------
    >>> columns_with_holes(np.array([[1.0, np.nan], [2.0, 3.0]]))
    array([False,  True])
    """
    if values.dtype.kind != "f":
        return np.zeros(values.shape[1] if columns is None else len(columns), dtype=bool)
    part = values if columns is None else take_columns(values, columns)
    if sp.issparse(part):
        entries = part.tocoo()
        found = np.zeros(part.shape[1], dtype=bool)
        found[np.asarray(entries.col)[np.isnan(entries.data)]] = True
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.isnan(part.sum(axis=0))  # also inf - inf; mostly no column
    some = np.flatnonzero(found)
    found[some] = np.isnan(part[:, some]).any(axis=0)
    return found


def refuse_infinite_columns(table: Table, columns: NDArray[np.intp] | None = None) -> None:
    """Refuse infinity, with the names of the columns; NaN is another matter."""
    part = table.values if columns is None else take_columns(table.values, columns)
    bad = columns_not_finite(part, but_nan=True)
    if len(bad):
        bad = bad if columns is None else columns[bad]
        raise DataError(
            f"Input X contains infinity in {table.label(bad)}. Correct it, or write NaN where a "
            "value is missing."
        )


def check_finite(table: Table, columns: NDArray[np.intp] | None = None) -> None:
    """Refuse NaN and infinity, with the names of the columns; or look at some columns only."""
    if columns is None:
        bad = columns_not_finite(table.values)
    else:
        bad = columns[columns_not_finite(table.values[:, columns])]
    if len(bad):
        infinite = columns_not_finite(take_columns(table.values, bad), but_nan=True)
        what, way = "NaN", "Choose missing='kernel', or fill or drop them"
        if len(infinite):
            what, way = "NaN or inf", "Correct infinite values, and choose missing='kernel'"
        error = DataError(f"Input X contains {what} in {table.label(bad)}. {way}.")
        raise naming(error, "missing")


def refuse_text(table: Table, way: str) -> None:
    """Refuse columns that hold text; ``way`` says what to do about it."""
    if table.categorical.any():
        columns = np.flatnonzero(table.categorical)
        raise DataError(f"{table.sentence(columns, 'holds', 'hold')} text; {way}.")


def named_columns(values: Any, names: Sequence[str]) -> Table:
    """Numbers of an array or sparse matrix with names for its columns, none of them categories."""
    return Table(values, np.asarray(names, dtype=object), np.zeros(values.shape[1], dtype=bool))


def is_frame(X: Any) -> bool:
    """Tell a dataframe (pandas, polars, Arrow) from an array."""
    return hasattr(X, "to_pandas") or (hasattr(X, "iloc") and hasattr(X, "dtypes"))


def as_pandas(X: Any) -> Any:
    """Return a pandas frame; polars and Arrow tables convert themselves."""
    return X.to_pandas() if hasattr(X, "to_pandas") else X


def as_column_table(X: Any) -> Table:
    """Turn any supported table into numeric columns.

    Examples
    --------
    >>> import pandas as pd
    >>> table = as_column_table(pd.DataFrame({"age": [31, 45], "town": ["Bonn", "Ulm"]}))
    >>> table.categorical.tolist(), table.values[:, 1].tolist()
    ([False, True], [0.0, 1.0])
    """
    X = plain_table(X)
    if getattr(X, "ndim", 2) != 2:
        raise DataError(f"X must be two-dimensional (2D), got {X.ndim} dimensions.")
    if is_frame(X):
        return frame_as_table(X)
    if holds_text(X):
        return replace(frame_as_table(array_as_frame(X)), names=None)
    from sklearn.utils import check_array

    with naming_text():
        values = check_array(
            X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False
        )
        if not sp.issparse(values) and values.dtype.kind not in "fiub":
            values = values.astype(np.float64)
    return Table(values, None, np.zeros(values.shape[1], dtype=bool))


def holds_text(X: Any) -> bool:
    """Whether a NumPy array holds text beside, or instead of, numbers: a table as frames are.

    Examples
    --------
    >>> holds_text(np.array([[1, "Ulm"]], dtype=object)), holds_text(np.array([[1, 2.5]]))
    (True, False)
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OU":
        return False
    return X.dtype.kind == "U" or any(isinstance(cell, str) for cell in X.ravel().tolist())


def array_as_frame(X: NDArray) -> Any:
    """Columns of an array with text, each with the type of what it holds."""
    import pandas as pd

    return pd.DataFrame(X.astype(object)).infer_objects()


def plain_array(values: Any, name: str = "X") -> Any:
    """Return what was given, if its cells are what they seem; masked cells and dates are refused.

    Frames and sparse matrices pass, and masked arrays in which nothing is masked.  ``name`` is
    what the user calls it.

    Examples
    --------
    >>> plain_array(np.ma.masked_array([1.0, 2.0], mask=[False, True]), "y")
    Traceback (most recent call last):
    kernelpath.errors.DataError: y is a masked array with missing values; fill them, as with
    y.filled().
    """
    if isinstance(values, str) and name == "y":
        own = quoted_name(values)
        raise DataError(
            f"y is the name {own}; give the column itself, y=df[{own}], and X without it."
        )
    values = unmasked(values, name)
    values = whole_with_holes(values) if name == "y" else values
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "") in DATES:
        raise DataError(f"{name} holds values of the type {dtype}; convert to numbers or drop.")
    if sp.issparse(values) and values.format in ("csr", "csc") and not values.has_canonical_format:
        values = values.copy()  # SciPy sums entries up in place, even to find a maximum
        values.sum_duplicates()
    return values


def unmasked(values: Any, name: str) -> Any:
    """Return what was given without its mask, if nothing is masked."""
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise DataError(
            f"{name} is a masked array with missing values; fill them, as with {name}.filled()."
        )
    return np.ma.getdata(values) if isinstance(values, np.ma.MaskedArray) else values


def plain_table(X: Any) -> Any:
    """Rows of numbers as users may bring them, also in lists or held as objects; text stays.

    What is missing becomes NaN: masked cells, None, NaT, pandas' NA.  Dates become days.

    Examples
    --------
    >>> plain_table(np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]])).tolist()
    [[1.0, nan]]
    """
    _refuse_no_table(X)
    if isinstance(X, list | tuple):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # a masked cell becomes NaN
                rows = [without_mask(row) for row in X]
                X = np.asarray(rows)
        except ValueError:
            return X  # rows of several lengths; scikit-learn says so
    X = without_mask(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in DATES:
        return days_of(X)
    X = plain_array(X)
    if not isinstance(X, np.ndarray) or X.dtype.kind != "O":
        return X
    cells = X.ravel().tolist()
    if holds_text(X):
        return X
    wrong = [cell for cell in cells if isinstance(cell, NO_NUMBERS) and not is_missing(cell)]
    if wrong:
        kind = type(wrong[0]).__name__
        raise DataError(
            f"X holds values of the type {kind}; convert to numbers or drop, or give a pandas "
            "DataFrame, whose columns may hold dates."
        )
    missing = np.array([is_missing(cell) for cell in cells], dtype=bool).reshape(X.shape)
    return np.where(missing, np.nan, X) if missing.any() else X


def _refuse_no_table(X: Any) -> None:
    """Refuse what is no table, with the way to make it one."""
    if isinstance(X, str | os.PathLike):
        raise DataError(
            f"X is the name {quoted_name(os.fspath(X))}, not a table; read it first, as with "
            "pandas.read_csv."
        )
    if isinstance(X, dict) and not sp.issparse(X):  # some of those are
        raise DataError("X is a dict; give pandas.DataFrame(X).")
    if X is None:
        raise DataError("X is None; give a table.")
    if hasattr(X, "collect") and not isinstance(getattr(X, "shape", None), tuple):
        raise DataError("X is a lazy table; call .collect() first.")


def without_mask(values: Any) -> Any:
    """An array whose masked cells are NaN, or what was given."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return np.ma.getdata(values)
    if values.dtype.kind in DATES:
        return np.where(np.ma.getmaskarray(values), np.array("NaT", values.dtype), values.data)
    if values.dtype.kind == "O":
        cells = np.ma.getdata(values).copy()
        cells[np.ma.getmaskarray(values)] = None
        return cells
    numbers = np.asarray(np.ma.getdata(values), dtype=np.float64)
    return np.where(np.ma.getmaskarray(values), np.nan, numbers)


@contextmanager
def naming_text() -> Iterator[None]:
    """Say in words that an array which should be numbers holds text."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("could not convert string to float"):
            raise
        text = str(error).rpartition(": ")[2]
        raise DataError(
            f"X holds text, such as {text}; encode it as numbers, or give a pandas DataFrame, "
            "whose messages name the columns."
        ) from error


def refuse_infinite(values: Any) -> Any:
    """Return predictions of new rows, or kernel values that lead to them, if all are numbers."""
    if sp.issparse(values):
        entries = values.tocoo()
        rows = entries.row[~np.isfinite(entries.data)]
    else:
        rows = np.flatnonzero(~np.isfinite(values).reshape(values.shape[0], -1).all(axis=1))
    if len(rows):
        row = int(rows.min())
        raise DataError(
            f"The prediction of row {row} is not in the range of numbers: the values of that row "
            "are too far from those of fit. Correct them, or leave the row out."
        )
    return values


def canonical(X: Any) -> Any:
    """A sparse matrix without stored zeros and twofold entries; that of the user stays as it is.

    Examples
    --------
    >>> X = sp.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), (1, 2))
    >>> canonical(X).nnz, X.nnz
    (1, 2)
    """
    if X.has_canonical_format and X.data.all():
        return X
    own = X.copy()  # SciPy shares arrays between matrices, and works in place
    own.sum_duplicates()
    own.eliminate_zeros()
    return own


def _rows(values: NDArray, which: NDArray[np.intp]) -> NDArray:
    """Some rows; of columns stored one after the other, column by column, which is faster."""
    if values.flags.f_contiguous and not values.flags.c_contiguous:
        return values.T.take(which, axis=1).T
    return values[which]


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas' NA, whose comparison has no truth value.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("NaN")
    (True, True, False)
    """
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def frame_as_table(frame: Any, readings: dict[int, ColumnReading] | None = None) -> Table:
    """Columns of a frame as numbers; read anew, or as they were read before."""
    import pandas as pd

    frame = as_pandas(frame)

    names = np.array([str(name) for name in frame.columns], dtype=object)
    if not frame.columns.is_unique:
        twice = str(frame.columns[frame.columns.duplicated()][0])
        raise DataError(f"Column names must differ; more than one is called {twice!r}.")
    other = _no_numbers(frame, names)
    if readings is not None:
        other[list(readings)] = True
    nothing = np.zeros(len(other), dtype=bool)
    if len(other) and all(isinstance(d, pd.SparseDtype) for d in frame.dtypes):
        return Table(frame.sparse.to_coo().tocsc(), names, nothing)
    if not other.any():
        return Table(_numeric(frame), names, nothing)
    values = np.empty(frame.shape, dtype=np.float64, order="F")
    if not other.all():
        values[:, ~other] = _numeric(frame.loc[:, ~other])
    learned: dict[int, ColumnReading] = {}
    for j in np.flatnonzero(other).tolist():
        learned[j], values[:, j] = _read_column(frame.iloc[:, j], j, readings)
    categorical = nothing
    categorical[[j for j, one in learned.items() if one.kind is Kind.CATEGORY]] = True
    return Table(values, names, categorical, readings=learned)


def _no_numbers(frame: Any, names: NDArray) -> NDArray[np.bool_]:
    """Columns that are not of a type of numbers; complex ones are refused."""
    import pandas as pd

    dtypes = frame.dtypes.to_numpy()
    other = np.zeros(len(dtypes), dtype=bool)
    for dtype in set(dtypes):  # few distinct types, however many columns
        number = pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
        if not number or isinstance(dtype, pd.CategoricalDtype):
            other |= np.array([d == dtype for d in dtypes])
        elif pd.api.types.is_complex_dtype(dtype):
            first = np.flatnonzero([d == dtype for d in dtypes])
            subject = Table(frame, names, other).sentence(first, "holds", "hold")
            raise DataError(f"{subject} values of the type {dtype}; convert to numbers or drop.")
    return other


def _read_column(
    column: Any, place: int, readings: dict[int, ColumnReading] | None
) -> tuple[ColumnReading, NDArray[np.float64]]:
    """A column as numbers, and how it was read; new rows as those of fit were."""
    if readings is None:
        return ColumnReading.learn(column)
    known = readings.get(place, ColumnReading(Kind.NUMBER))
    if known.kind in NUMBERS:
        return numbers_again(column, known.kind, known.unit)
    return known, known.read(column)


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

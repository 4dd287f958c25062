"""What a column of a frame holds, and how it becomes numbers.

Numbers and booleans stay what they are, nullable ones with NaN.  Text and categories become codes,
for the kernel of categories; ordered categories their place in the order; dates and
durations days; text that is all numbers, or all dates, what it says, also with a decimal comma,
thousands apart, a percent sign, that of a currency, or one unit for all.  A column whose values are
names of rows, not measurements, is an identifier: text with more distinct values than half of the
rows, and row numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError
from kernelpath.tables.written_units import common_unit, without_unit

MISSING_TEXTS = (
    "", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-nan", "NaT", "null", "NULL",
    "None",
)  # fmt: skip
"""Texts that mean a missing value, in files and frames."""
MARKS = ("?", ".", "-")
"""The same among numbers and dates; elsewhere they may be labels."""
DAY = np.timedelta64(1, "D")
FEWEST_NAMES = 20  # values up to which a text column is never an identifier
SHARE_OF_NAMES = 0.5  # distinct values per row above which a text column is an identifier
SHARE_OF_NUMBERS = 0.9  # the same for whole numbers, if they are called an id
MOSTLY = 0.9  # share of numbers from which text among them is a slip
CALLED_ID = re.compile(
    r"((?i:(.*[\W_])?(id|index|key|uuid|guid|rownames?|row_?number|no|nr)|unnamed.*))$|.*[a-z]I[dD]$"
)
CALLED_TIME = re.compile(
    r"(?i).*(year|month|week|day|date|time|hour|minute|second|age|quarter|period)"
)
ISO_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?$")
DOTTED_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(\d{4}|\d{2})([T ].*)?$")
SIGNS = re.compile(r"^([+-]?)\s*[$€£¥]\s*(?=\d)|(?<=\d)\s*[%$€£¥]$")  # of a currency or percent
GAP = r"[\s'’]"  # between thousands, beside commas or points
WITH_POINT = re.compile(
    rf"[+-]?([1-9]\d{{0,2}}((,\d{{3}})+|({GAP}\d{{3}})+)(\.\d+)?|\d+\.?\d*|\.\d+)"
)
WITH_COMMA = re.compile(
    rf"[+-]?([1-9]\d{{0,2}}((\.\d{{3}})+|({GAP}\d{{3}})+)(,\d+)?|\d+(,\d+)?|,\d+)"
)
LOCAL_DATE = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-](\d{4}|\d{2})([T ].*)?$")


class Kind(StrEnum):
    """What a column holds."""

    NUMBER = "number"
    POINT = "number as written with a decimal point"
    COMMA = "number as written with a decimal comma"
    CATEGORY = "category"
    ORDERED = "ordered category"
    DATE = "date"
    DAY_FIRST = "date with the day first"
    MONTH_FIRST = "date with the month first"
    DURATION = "duration"
    IDENTIFIER = "identifier"


DATES = (Kind.DATE, Kind.DAY_FIRST, Kind.MONTH_FIRST)
WRITTEN = (Kind.POINT, Kind.COMMA)
NUMBERS = (Kind.NUMBER, *WRITTEN)
CODED = (Kind.CATEGORY, Kind.ORDERED)
"""Kinds whose values have codes."""
HELD = {**dict.fromkeys(DATES, "dates"), Kind.DURATION: "durations"}


class OtherUnitError(DataError):
    """New rows have their numbers in another unit than those of fit."""


@dataclass(frozen=True)
class ColumnReading:
    """How one column becomes numbers: learned from the rows of ``fit``, used for new ones.

    Attributes
    ----------
    kind : Kind
    categories : list or None
        Values by their codes.
    counts : tuple of int or None
        Of an identifier: distinct values, and rows that have one.
    unit : str
        That stands with every number of a column of text, such as kg.

    Examples
    --------
    >>> import pandas as pd
    >>> reading, codes = ColumnReading.learn(pd.Series(["Bonn", "Ulm", None, "Bonn"]))
    >>> reading.kind.value, codes.tolist()
    ('category', [0.0, 1.0, nan, 0.0])
    >>> reading.read(pd.Series(["Ulm", "Rom"])).tolist()
    [1.0, 2.0]
    """

    kind: Kind
    categories: list | None = None
    counts: tuple[int, int] | None = None
    unit: str = ""

    @classmethod
    def learn(cls, column: Any) -> tuple[ColumnReading, NDArray[np.float64]]:
        """Look at a column that is not of a type of numbers, and read it."""
        import pandas as pd

        column = _without_arrow(column)
        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            return cls._of_categories(column)
        if _is_date(dtype):
            return cls(Kind.DATE), _days(column)
        if pd.api.types.is_timedelta64_dtype(dtype):
            return cls(Kind.DURATION), _days(column)
        known = without_missing_texts(column)
        found = _from_objects(known) or _from_objects(without_missing_texts(column, MARKS))
        if found is not None:
            return found
        values = known.dropna()
        try:
            categories = _labels(values)
        except TypeError:
            kind = type(values.iloc[0]).__name__
            raise DataError(
                f"Column {str(column.name)!r} holds values of the type {kind}; split it into "
                "columns of numbers or text, or drop it."
            ) from None
        reading = cls(Kind.CATEGORY, categories)
        return reading, reading.read(known)

    @classmethod
    def _of_categories(cls, column: Any) -> tuple[ColumnReading, NDArray[np.float64]]:
        if column.cat.ordered:
            reading = cls(Kind.ORDERED, _labels(column.cat.categories))
        else:  # in the order of their first row, whatever the type says of absent ones
            reading = cls(Kind.CATEGORY, _labels(column.dropna().unique()))
        return reading, reading.read(column)

    def read(self, column: Any) -> NDArray[np.float64]:
        """A column as numbers; NaN where it is missing, a code of its own for a new category."""
        import pandas as pd

        name = str(column.name)
        if self.kind is Kind.IDENTIFIER:
            return np.zeros(len(column))
        column = _without_arrow(column)
        if self.kind in (*DATES, Kind.DURATION):
            return self._read_times(column, name)
        if self.kind in NUMBERS:
            return numbers_again(column, self.kind, self.unit)[1]
        assert self.categories is not None
        known = column if isinstance(column.dtype, pd.CategoricalDtype) else None
        values = (without_missing_texts(column) if known is None else known).astype(object)
        numbers = pd.api.types.is_numeric_dtype(column.dtype) and column.notna().any()
        text = self.categories and all(isinstance(value, str) for value in self.categories)
        if numbers and text:
            raise DataError(f"X holds numbers in column {name!r}, which held text in fit.")
        if pd.api.types.infer_dtype(values, skipna=True) != "string":
            values = values.map(_label, na_action="ignore").astype(object)
        codes = pd.Index(self.categories, dtype=object).get_indexer(values)
        new = float("nan") if self.kind is Kind.ORDERED else float(len(self.categories))
        result = np.where(codes < 0, new, codes).astype(np.float64)
        result[values.isna().to_numpy()] = np.nan
        return result

    def _read_times(self, column: Any, name: str) -> NDArray[np.float64]:
        import pandas as pd

        if column.dtype.kind in "mM" or hasattr(column, "dt"):
            return _days(column)
        known = without_missing_texts(column, MARKS)
        if known.isna().all():
            return np.full(len(column), np.nan)
        text = pd.api.types.infer_dtype(known, skipna=True) == "string"
        if text and self.kind in DATES:
            days = _days_of_text(known, self.kind)
            if not np.isnan(days[known.notna().to_numpy()]).any():
                return days
        found = None if text else _from_objects(known)
        if found is not None and (found[0].kind in DATES) == (self.kind in DATES):
            return found[1]
        what = "dates" if self.kind in DATES else "durations"
        raise DataError(f"Column {name!r} held {what} in fit; give them again.")


def numbers_again(
    column: Any, kind: Kind = Kind.NUMBER, unit: str = ""
) -> tuple[ColumnReading, NDArray[np.float64]]:
    """A column of new rows that held numbers in fit, and how it is read.

    Text is read as it was in fit or, where that fails, as it says itself; another unit than that
    of fit is refused.

    Examples
    --------
    >>> import pandas as pd
    >>> reading, values = numbers_again(pd.Series(["1,8", "2", None]))
    >>> reading.kind.value, values.tolist()
    ('number as written with a decimal comma', [1.8, 2.0, nan])
    """
    import pandas as pd

    column = _without_arrow(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    plain = pd.api.types.is_numeric_dtype(column.dtype)
    if plain and not pd.api.types.is_complex_dtype(column.dtype):
        return ColumnReading(Kind.NUMBER), column.to_numpy(dtype=np.float64, na_value=np.nan)
    held = "text"
    known = without_missing_texts(column, MARKS)
    written = pd.api.types.infer_dtype(known, skipna=True)
    if written == "string" and kind in WRITTEN:
        numbers = numbers_as_written(without_unit(known, unit), kind)
        if numbers[known.notna()].notna().all():
            return ColumnReading(kind, unit=unit), numbers.to_numpy(dtype=np.float64)
    if written.startswith("mixed"):  # numbers beside text that is numbers
        numbers = pd.to_numeric(known, errors="coerce")
        if numbers[known.notna()].notna().all():
            return ColumnReading(Kind.NUMBER), numbers.to_numpy(dtype=np.float64)
    elif not plain:
        reading, values = ColumnReading.learn(known)
        if reading.unit not in ("", unit):
            name, fitted = str(column.name), f" in {unit}" if unit else ""
            raise OtherUnitError(
                f"X holds numbers in {reading.unit} in column {name!r}, which held numbers{fitted} "
                "in fit; convert them."
            )
        if reading.kind in NUMBERS:
            return reading, values
        held = HELD.get(reading.kind, held)
    raise DataError(f"X holds {held} in column {str(column.name)!r}, which held numbers in fit.")


def _labels(values: Any) -> list:
    """Distinct values, as `_label` tells them apart; a TypeError for what cannot be told apart."""
    return [*dict.fromkeys(map(_label, dict.fromkeys(values.tolist())))]


def _label(value: Any) -> Any:
    """A category as files can hold it: text, a number, a truth value; of others their text.

    Examples
    --------
    >>> import pandas as pd
    >>> _label(pd.Interval(0, 1)), _label(np.int64(3)), _label("Ulm")
    ('(0, 1]', 3, 'Ulm')
    """
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, str | int | float | bool) else str(value)


def _without_arrow(column: Any) -> Any:
    """A column whose cells pandas keeps as Arrow does, as pandas has them otherwise."""
    import pandas as pd

    if not isinstance(column.dtype, pd.ArrowDtype):
        return column
    import pyarrow as pa

    plain = pa.array(column).to_pandas()
    plain.index, plain.name = column.index, column.name
    return plain


def without_missing_texts(column: Any, marks: tuple[str, ...] = ()) -> Any:
    """A column in which the texts that mean a missing value are missing."""
    if column.dtype.kind in "fiub":
        return column
    return column.mask(column.isin((*MISSING_TEXTS, *marks)))


def whole_with_holes(values: Any) -> Any:
    """A column of nullable integers as objects, if values are missing: NumPy makes fractions of it.

    Examples
    --------
    >>> import pandas as pd
    >>> whole_with_holes(pd.Series([1, None], dtype="Int64")).tolist()
    [1, None]
    """
    if hasattr(values, "columns") and len(values.columns) == 1 and hasattr(values, "iloc"):
        column = whole_with_holes(values.iloc[:, 0])
        return column[:, None] if isinstance(column, np.ndarray) else values
    dtype = getattr(values, "dtype", None)
    nullable = re.match("u?int", str(dtype).lower()) and not isinstance(dtype, np.dtype)
    if not nullable or not hasattr(values, "to_list"):
        return values
    import pandas as pd

    cells = np.array(values.to_list(), dtype=object)
    missing = pd.isna(cells)
    if missing.any():
        cells[missing] = None
        return cells
    return values


def _is_date(dtype: Any) -> bool:
    import pandas as pd

    return pd.api.types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype)


def _days(column: Any) -> NDArray[np.float64]:
    """Dates as days since 1970, durations as days; NaN for NaT."""
    import pandas as pd

    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.start_time
    if getattr(column.dt, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return days_of(column.to_numpy(dtype=f"{column.dtype.kind}8[us]"))


def days_of(values: NDArray) -> NDArray[np.float64]:
    """Dates as days since 1970, durations as days.

    Examples
    --------
    >>> days_of(np.array(["1970-01-02", "NaT"], dtype="M8[s]")).tolist()
    [1.0, nan]
    """
    start = np.datetime64(0, "D") if values.dtype.kind == "M" else np.timedelta64(0, "D")
    return (values - start) / DAY


def _from_objects(column: Any) -> tuple[ColumnReading, NDArray[np.float64]] | None:
    """Numbers, dates and durations that stand as objects or as text; None for other things."""
    import pandas as pd

    values = column.dropna()
    if len(values) == 0:
        return ColumnReading(Kind.NUMBER), np.full(len(column), np.nan)
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in ("floating", "integer", "mixed-integer-float", "decimal", "boolean"):
        return ColumnReading(Kind.NUMBER), column.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind in ("date", "datetime", "datetime64"):
        return ColumnReading(Kind.DATE), _days(pd.to_datetime(column, errors="coerce", utc=True))
    if kind in ("timedelta", "timedelta64"):
        return ColumnReading(Kind.DURATION), _days(pd.to_timedelta(column))
    if kind == "time":
        seconds = [np.nan if pd.isna(t) else _seconds(t) for t in column]
        return ColumnReading(Kind.DURATION), np.array(seconds) / 86400.0
    if kind != "string":
        return None
    first = values.iloc[:100]
    if pd.to_numeric(first, errors="coerce").notna().all():
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers[values.index].notna().all():
            return ColumnReading(Kind.NUMBER), numbers.to_numpy(dtype=np.float64)
    form = _number_form(first)
    if form is not None:
        numbers = numbers_as_written(column, form)
        if numbers[values.index].notna().all():
            return ColumnReading(form), numbers.to_numpy(dtype=np.float64)
    unit = "" if CALLED_ID.match(str(column.name)) else common_unit(values)
    plain = without_unit(column, unit)
    form = _number_form(plain.dropna()) if unit else None
    if form is not None:
        numbers = numbers_as_written(plain, form)
        if numbers[values.index].notna().all():
            return ColumnReading(form, unit=unit), numbers.to_numpy(dtype=np.float64)
    kind_of_date = _date_form(column, first)
    if kind_of_date is not None:
        days = _days_of_text(column, kind_of_date)
        if not np.isnan(days[column.notna().to_numpy()]).any():
            return ColumnReading(kind_of_date), days
    return None


def _number_form(first: Any) -> Kind | None:
    """How text tells numbers that are not plain ones, if its first values are numbers.

    "1,234" may be either; with both in reach commas stand between thousands, since decimals would
    not be three in all rows.
    """
    percent = first.str.endswith("%")
    if percent.any() and not percent.all():
        return None
    plain = _without_signs(first)
    if plain.str.fullmatch(WITH_POINT).all():
        return Kind.POINT
    if plain.str.fullmatch(WITH_COMMA).all() and plain.str.contains(",", regex=False).any():
        return Kind.COMMA
    return None


def _without_signs(text: Any) -> Any:
    return text.str.strip().str.replace(SIGNS, lambda found: found.group(1) or "", regex=True)


def numbers_as_written(text: Any, kind: Kind) -> Any:
    """Numbers from text with thousands apart, decimal commas or signs; NaN where it is none.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers_as_written(pd.Series(["3,5", "1.250,5", "x"]), Kind.COMMA).tolist()
    [3.5, 1250.5, nan]
    >>> numbers_as_written(pd.Series(["$1,250.5", "12 %"]), Kind.POINT).tolist()
    [1250.5, 12.0]
    """
    import pandas as pd

    plain = _without_signs(text)
    form, between, point = (WITH_POINT, ",", ".") if kind is Kind.POINT else (WITH_COMMA, ".", ",")
    plain = plain.where(plain.str.fullmatch(form).eq(True))
    for sign, other in ((rf"{GAP}|{re.escape(between)}", ""), (re.escape(point), ".")):
        plain = plain.str.replace(sign, other, regex=True)
    return pd.to_numeric(plain, errors="coerce").astype(np.float64)


def _date_form(column: Any, first: Any) -> Kind | None:
    """How text tells dates, if its first values are dates: dots put the day first, slashes may."""
    import pandas as pd

    if first.str.fullmatch(ISO_DATE).all():
        return Kind.DATE
    if not first.str.fullmatch(LOCAL_DATE).all():
        return None
    number = pd.to_numeric(column.str.extract(r"^(\d+)", expand=False), errors="coerce")
    dotted = first.str.fullmatch(DOTTED_DATE).all()
    return Kind.DAY_FIRST if dotted or (number > 12).any() else Kind.MONTH_FIRST


def _days_of_text(column: Any, kind: Kind) -> NDArray[np.float64]:
    """Text as days since 1970; NaN where it is no date, or contradicts how it was read before.

    A date that begins with the year is read so, and one with dots has the day first, whatever the
    others are.  Of those with slashes or dashes the kind decides or, where it does not, a first
    number above 12.
    """
    import pandas as pd

    days = np.full(len(column), np.nan)
    iso = column.str.fullmatch(ISO_DATE, na=False).to_numpy(dtype=bool)
    dotted = column.str.fullmatch(DOTTED_DATE, na=False).to_numpy(dtype=bool)
    local = column.notna().to_numpy() & ~iso & ~dotted
    numbers = column[local].str.extract(r"^(\d+)\D(\d+)\D").astype(np.float64)
    first, second = numbers[0].to_numpy(), numbers[1].to_numpy()
    day_first = kind is Kind.DAY_FIRST or (kind is Kind.DATE and bool((first > 12).any()))
    for which, swapped in ((iso, False), (dotted, True), (local, day_first)):
        if which.any():
            days[which] = _days(
                pd.to_datetime(
                    column[which], errors="coerce", utc=True, format="mixed", dayfirst=swapped
                )
            )
    month = second if day_first else first
    days[np.flatnonzero(local)[month > 12]] = np.nan  # pandas would exchange the two
    return days


def _seconds(time: Any) -> float:
    return time.hour * 3600 + time.minute * 60 + time.second + time.microsecond * 1e-6


def is_identifier(name: str, values: NDArray[np.float64], kind: Kind) -> bool:
    """Whether a column names its rows instead of measuring something.

    Text is judged by the number of its values, whole numbers by their name, and if they
    count the rows from the first to the last; numbers with decimals and dates never are.

    Examples
    --------
    >>> is_identifier("passenger_id", np.arange(100.0), Kind.NUMBER)
    True
    >>> is_identifier("age", np.arange(100.0) % 50, Kind.NUMBER)
    False
    """
    seen = values[~np.isnan(values)]
    if kind is Kind.CATEGORY:
        n_values = len(np.unique(seen))
        return n_values > max(FEWEST_NAMES, SHARE_OF_NAMES * len(seen))
    whole = bool(np.all(np.isfinite(seen)) and np.all(seen == np.floor(seen)))
    if kind is not Kind.NUMBER or len(seen) <= FEWEST_NAMES or not whole:
        return False
    if CALLED_TIME.match(name):
        return False
    if len(seen) == len(values) and np.all(np.diff(values) == 1.0):
        return True
    return bool(CALLED_ID.match(name)) and len(np.unique(seen)) > SHARE_OF_NUMBERS * len(seen)


def stray_text(categories: list) -> str | None:
    """A text among values that are mostly numbers; None where they are not.

    Examples
    --------
    >>> stray_text([*range(30), "low"]), stray_text(["low", "high"])
    ('low', None)
    """
    import pandas as pd

    number = pd.to_numeric(pd.Series(categories, dtype=object), errors="coerce").notna()
    if number.mean() < MOSTLY:
        return None
    return str(categories[int(number.argmin())])


def may_name_rows(first: NDArray) -> bool:
    """Whether the first values of a column are whole numbers, as codes and counts are.

    Examples
    --------
    >>> may_name_rows(np.array([1.0, 2.0])), may_name_rows(np.array([0.3, 2.0]))
    (True, False)
    """
    if first.dtype.kind != "f":
        return first.dtype.kind in "iu"
    known = first[np.isfinite(first)]
    return bool(np.all(known == np.floor(known)))

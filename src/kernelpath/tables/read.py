"""Reading one table file into features, target and names, for the command line.

Whether missing values or text columns are welcome is decided later, by the kernels; what is
refused here could not be used by any of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelpath.errors import DataError, nearest
from kernelpath.tables.formats import (
    MAX_COLUMNS,
    Matrix,
    check_names,
    index_columns,
    naming_file,
    plain_frame,
    quote,
    read_file,
)
from kernelpath.tables.kinds import ColumnReading, Kind
from kernelpath.tables.missing import LeftOut
from kernelpath.tables.targets import MOST_GAPPED_LABELS, refuse_one_target
from kernelpath.utils.words import counted


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A table as read from the file `source`.

    Attributes
    ----------
    X : DataFrame, ndarray or CSR matrix of shape (n_rows, n_features)
        The features. Numeric columns may hold NaN; text columns are left as they are.
    y : ndarray of shape (n_rows,)
        The target, without missing values; `target_name` is its name.
    feature_names, text_columns : list of str
        Names of all columns of `X` (``x0``, ``x1``, ... where the file has none), and of those
        that hold text or categories.
    dropped, notes : tuple of str
        Columns left out by request or as a row index; what was done unasked, as sentences.
    left_out : LeftOut
        Rows of the file that are not here.
    """

    X: Any
    y: np.ndarray
    feature_names: list[str]
    target_name: str
    dropped: tuple[str, ...]
    n_rows: int
    source: str
    text_columns: list[str]
    notes: tuple[str, ...]
    left_out: LeftOut = field(default_factory=LeftOut)


def read_table(
    file: str | os.PathLike[str],
    *,
    target: str | None = None,
    drop: str | Iterable[str] = (),
    label_first: bool = False,
    max_columns: int | None = None,
) -> LoadedTable:
    r"""Read a table file; the format follows from the ending of its name.

    Parameters
    ----------
    file : str or path
        CSV, TSV, Parquet (also a directory of Parquet files), Feather, Arrow, NPZ or svmlight.
    target : str, optional
        Column to predict. NPZ and svmlight files bring their own, ``"y"``.
    drop : str or iterable of str
        Columns to leave out.
    label_first : bool
        Without `target`, take the first column of a CSV, Parquet or Arrow table as the target.
    max_columns : int, optional
        Most columns to accept, since a few bytes can declare any number. Default: 5,000,000, and
        of a sparse table 100 for each byte of its file, or 100,000.

    Returns
    -------
    LoadedTable
        Or a `DataError`, in one line: what is wrong with the file or the names, and what to do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "plants.csv")
    ...     _ = file.write_text("height,colour,alive\n1.5,red,yes\nNA,blue,no\n")
    ...     table = read_table(file, target="alive")
    >>> table.feature_names, table.text_columns, table.y.tolist()
    (['height', 'colour'], ['colour'], ['yes', 'no'])
    """
    source, unwanted = os.fspath(file), dict.fromkeys([drop] if isinstance(drop, str) else drop)
    with naming_file(source):
        held = read_file(source, max_columns)
        if isinstance(held, Matrix):
            return _from_matrix(held, target, unwanted, source)
        return _from_arrow(held, target, unwanted, label_first, source)


def read_columns(
    file: str | os.PathLike[str],
    wanted: Sequence[str],
    order: Sequence[str],
    max_columns: int | None = None,
) -> tuple[dict[str, Any], int]:
    """Read some columns of a table file, and nothing else of it: no target is needed.

    Parameters
    ----------
    file : str or path
        In any of the formats of `read_table`.
    wanted : sequence of str
        Columns to find by name.
    order : sequence of str
        All columns of the table that a model was fitted on: what the columns of a matrix without
        names are called.
    max_columns : int, optional
        Most columns to accept. Default: as in `read_table`, or those of that table.

    Returns
    -------
    columns : dict of name to Series or ndarray
    n_rows : int
    """
    with naming_file(file):
        enough = max(MAX_COLUMNS, len(order)) if max_columns is None else max_columns
        held = read_file(file, enough)
        if isinstance(held, Matrix):
            return _columns_of(held, wanted, list(order)), held.X.shape[0]
        table, _ = index_columns(held)
        _check_there(wanted, table.column_names)
        if not wanted:
            return {}, table.num_rows
        frame, _ = plain_frame(table.select(list(wanted)))
        return {name: frame[name] for name in wanted}, len(frame)


def _columns_of(held: Matrix, wanted: Sequence[str], order: list[str]) -> dict[str, Any]:
    X, names = held.X.tocsc() if hasattr(held.X, "tocsc") else held.X, held.names
    width = X.shape[1]
    if held.cut_short:
        if width > len(order):
            raise DataError(
                f"has {counted(width, 'column')}, but the model was fitted on {len(order)}: give a "
                "file with the same columns"
            )
        X.resize((X.shape[0], len(order)))
        names = order
    elif names is None:  # by place, if that can be meant
        names = order if width == len(order) else [f"x{j}" for j in range(width)]
    _check_there(wanted, names)
    places = {name: j for j, name in enumerate(names)}
    return {name: _dense(X[:, [places[name]]]).ravel() for name in wanted}


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def _check_there(wanted: Sequence[str], names: Sequence[str]) -> None:
    known = set(names)
    if missing := [name for name in wanted if name not in known]:
        what = "column" if len(missing) == 1 else "columns"
        verb = "is" if len(missing) == 1 else "are"
        near = nearest(missing[0], names)
        hint = f"; did you mean {quote(*near)}?" if near else ""
        raise DataError(
            f"{what} {quote(*missing)} {verb} missing, which the model needs: add the columns, or "
            f"check their names{hint}"
        )


def to_target(values: Any, *, name: str = "y") -> np.ndarray:
    """Turn a target column into an array that scikit-learn accepts.

    Parameters
    ----------
    values : Series, array or sequence of shape (n_rows,)
        Numbers, booleans, text or categories.
    name : str
        How messages call the column.

    Returns
    -------
    ndarray of shape (n_rows,)
        int64, float64 or bool; text as an object array of str.

    Examples
    --------
    >>> to_target(["b", "a"])
    array(['b', 'a'], dtype=object)
    """
    import pandas as pd

    series, label = pd.Series(values), f"target {quote(name)}"
    if missing := int(series.isna().sum()):
        rows = counted(len(series), "row")
        raise DataError(f"{label} is missing in {missing:,} of {rows}: leave such rows out")
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype)
    kind = pd.api.types.infer_dtype(series, skipna=False)
    if kind in ("boolean", "integer", "string"):
        dtype = {"boolean": bool, "integer": np.int64, "string": object}[kind]
        return series.to_numpy(dtype=dtype, copy=True)
    if kind in ("floating", "mixed-integer-float", "decimal"):
        numbers = series.to_numpy(dtype=np.float64, copy=True)
        if not np.isfinite(numbers).all():
            raise DataError(f"{label} holds infinite values: remove or repair those rows")
        return numbers
    raise DataError(f"{label} holds {kind} values: convert it to numbers or to text labels")


def _unknown(name: str, names: Sequence[str]) -> DataError:
    same = [known for known in names if known.strip().casefold() == name.strip().casefold()]
    near = nearest(name, names, n=5)
    if same:
        hint = f"there is {quote(*same)}; upper case, lower case and spaces count"
    elif all(re.fullmatch(r"\s*[-+]?\d*\.?\d+([eE][-+]?\d+)?\s*", known) for known in names):
        hint = "the first line holds numbers, not names; add a header line"
    elif near:
        hint = f"did you mean {quote(*near)}?"
    else:
        hint = f"choose among the {counted(len(names), 'column')} {quote(*names)}"
    return DataError(f"no column {quote(name)}: {hint}")


def _one_by_one(unwanted: dict[str, None], names: Sequence[str]) -> dict[str, None]:
    """Names to be dropped; a text that is none may be several of them, with commas.

    Examples
    --------
    >>> list(_one_by_one({"age, sex": None, "a,b": None}, ["age", "sex", "a,b"]))
    ['age', 'sex', 'a,b']
    """
    found: dict[str, None] = {}
    for name in unwanted:
        parts = [part.strip() for part in name.split(",")]
        several = name not in names and all(part in names for part in parts)
        found |= dict.fromkeys(parts if several else [name])
    return found


def _kept(names: list[str], unwanted: dict[str, None], n_rows: int) -> list[int]:
    if strange := [name for name in unwanted if name not in names]:
        raise _unknown(strange[0], names)
    if not (kept := [j for j, name in enumerate(names) if name not in unwanted]):
        raise DataError("no feature column is left: the table needs one besides the target")
    if n_rows < 2:
        raise DataError(f"holds {counted(n_rows, 'row')}: at least 2 are needed")
    return kept


def _from_matrix(
    held: Matrix, target: str | None, unwanted: dict[str, None], source: str
) -> LoadedTable:
    X, labels, names = held.X, held.y, held.names
    if labels is None:
        raise DataError("holds no array 'y': save the target under that name")
    if target not in (None, "y"):
        hint = "a file of this type brings its own target, 'y'; name that or none"
        raise DataError(f"column {quote(target)} cannot be the target: {hint}")
    notes = held.notes
    if not names:
        notes = (*notes, "The file names no features: they are called x0, x1, ...")
    names = names or [f"x{j}" for j in range(X.shape[1])]
    check_names(names)
    unwanted = _one_by_one(unwanted, names)
    if labels.size != X.shape[0]:
        rows, held_labels = counted(X.shape[0], "row"), counted(labels.size, "label")
        raise DataError(f"X has {rows}, but y {held_labels}: save arrays that agree")
    kept = _kept(names, unwanted, X.shape[0])
    X = X[:, kept] if unwanted else X
    # Integers would overflow in differences and squares.
    X = X.astype(np.result_type(X.dtype, np.float32) if X.dtype.kind == "f" else np.float64)
    names = [names[j] for j in kept]
    labels, kept_rows, more = _with_target(labels.ravel(), "y")
    left_out = LeftOut(0 if kept_rows is None else X.shape[0] - len(kept_rows))
    X = X if kept_rows is None else X[kept_rows]
    y = to_target(labels)
    notes = (*notes, *more)
    return LoadedTable(X, y, names, "y", tuple(unwanted), X.shape[0], source, [], notes, left_out)


def _with_target(values: Any, name: str) -> tuple[Any, np.ndarray | None, tuple[str, ...]]:
    """Targets that are there, their rows (None for all), and sentences about what was done."""
    import pandas as pd

    values, said = _as_quantity(values, name)
    missing = np.asarray(pd.isna(values))
    if not missing.any():
        return values, None, said
    if missing.all():
        raise DataError(f"target {quote(name)} is missing in every row: nothing is left")
    kept, count = np.flatnonzero(~missing), int(missing.sum())
    are = "is" if count == 1 else "are"
    why = f"{LeftOut(no_target=count).words(noun=True)} {are}"
    refuse_one_target(np.asarray(values, dtype=object), kept, why, "give rows of another")
    have, were = ("has", "was") if count == 1 else ("have", "were")
    note = f"{count:,} of {len(missing):,} rows {have} no target and {were} left out."
    return values[~missing], kept, (*said, note)


def _as_quantity(values: Any, name: str) -> tuple[Any, tuple[str, ...]]:
    """Text that is all numbers but for how they are written, as numbers; labels stay labels."""
    import pandas as pd

    if pd.api.types.infer_dtype(values, skipna=True) != "string":
        return values, ()
    text = pd.Series(values)
    reading, numbers = ColumnReading.learn(text)
    plain = pd.to_numeric(text.dropna(), errors="coerce").notna().all()
    if reading.kind not in (Kind.NUMBER, Kind.POINT, Kind.COMMA) or plain:
        return values, ()
    if reading.unit and len(np.unique(numbers[~np.isnan(numbers)])) <= MOST_GAPPED_LABELS:
        return values, ()  # such as 4G and 5G
    example = text[text.notna() & pd.to_numeric(text, errors="coerce").isna()].iloc[0]
    return pd.Series(numbers), (
        f"Target {quote(name)} holds text such as {quote(example)} and was read as numbers.",
    )


def _from_arrow(
    table: Any, target: str | None, unwanted: dict[str, None], label_first: bool, source: str
) -> LoadedTable:
    table, index = index_columns(table)
    names = table.column_names
    columns = [name for name in names if name not in index]
    if target is None and not (label_first and columns):
        few = quote(*columns[:4], *columns[4:][-2:], limit=6)
        raise DataError(f"no target was named: use --target with a column, such as {few}")
    target = columns[0] if target is None else target
    if target not in names:
        raise _unknown(target, columns)
    unwanted = _one_by_one(unwanted, names)
    if target in unwanted:
        raise DataError(f"column {quote(target)} is both the target and to be dropped: choose one")
    index = [name for name in index if name != target]
    notes = tuple(f"Column {quote(name)} is a row index and was left out." for name in index)
    dropped = unwanted | dict.fromkeys(index)
    features = [name for name in names if name != target]
    kept = [features[j] for j in _kept(features, dropped, table.num_rows)]
    found = table.column(target).to_pandas(integer_object_nulls=True)  # else floats
    labels, kept_rows, more = _with_target(found, target)
    left_out = LeftOut(0 if kept_rows is None else table.num_rows - len(kept_rows))
    table = table if kept_rows is None else table.take(kept_rows)
    y = to_target(labels, name=target)
    X, text = plain_frame(table.select(kept))
    n_rows, notes = table.num_rows, (*notes, *more)
    return LoadedTable(X, y, kept, target, tuple(dropped), n_rows, source, text, notes, left_out)

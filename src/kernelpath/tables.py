"""Reading one table file into features, target and names, for the command line.

Whether missing values or text columns are welcome is decided later, by the kernels; what is
refused here could not be used by any of them.
"""

from __future__ import annotations

import csv
import difflib
import io
import itertools
import lzma
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelpath.errors import DataError

_TEXT, _SVM = (".csv", ".tsv", ".txt"), (".svm", ".libsvm", ".svmlight")
_TEXT_CODECS, _SVM_CODECS = (".gz", ".bz2", ".xz", ".zst"), (".gz", ".bz2")
_ARROW = (".parquet", ".pq", ".feather", ".arrow", ".ipc")
_SUPPORTED = f"{', '.join(_TEXT)} (also {', '.join(_TEXT_CODECS)}), {', '.join(_ARROW)}, .npz, "
_SUPPORTED += f"{', '.join(_SVM)} (also {', '.join(_SVM_CODECS)})"
_NPZ_ARRAYS = {"X", "y", "feature_names", "data", "indices", "indptr", "shape", "format"}
_MISSING = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None"]
_BLOCK = 1 << 30  # Arrow's 1 MB holds only five rows of 20,000 columns: ten times slower


@dataclass(frozen=True, eq=False)
class Table:
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


def read_table(
    file: str | os.PathLike[str],
    *,
    target: str | None = None,
    drop: str | Iterable[str] = (),
    label_first: bool = False,
) -> Table:
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

    Returns
    -------
    Table
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
    source = os.fspath(file)
    path, unwanted = Path(source), dict.fromkeys([drop] if isinstance(drop, str) else drop)
    try:
        ending, codec = _ending(path)
        if ending in _SVM or ending == ".npz":
            with _reading():
                matrix = _read_matrix(path, ending)
            return _from_matrix(matrix, target, unwanted, source)
        with _reading():
            table = _read_csv(path, ending, codec) if ending in _TEXT else _read_arrow(path)
        return _from_arrow(table, target, unwanted, label_first, source)
    except DataError as error:
        raise DataError(_one_line(f"{source}: {error}")) from error.__cause__


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

    series, label = pd.Series(values), f"target {_quote(name)}"
    if missing := int(series.isna().sum()):
        raise DataError(f"{label} is missing in {missing} of {len(series)} rows: remove those rows")
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


def _quote(*names: str, limit: int = 5) -> str:
    texts = [repr(name if len(name) < 60 else name[:56] + "...") for name in names[:limit]]
    return ", ".join(texts + ["..."] * (len(names) > limit))


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


@contextmanager
def _reading() -> Iterator[None]:
    """Turn whatever a reader raises on a damaged file into a DataError."""
    try:
        yield
    except (DataError, MemoryError):
        raise
    except PermissionError as error:
        raise DataError("permission denied: check the access rights") from error
    except UnicodeDecodeError as error:
        raise DataError("the text is not UTF-8: save the file in that encoding") from error
    except Exception as error:  # zlib, zipfile, csv, Arrow, NumPy, ... each has its own kinds
        hint = "damaged, cut short or not of the type that its ending says; write it again"
        if "allow_pickle" in str(error):
            hint = "pickled objects are never loaded; save plain arrays, and names as text"
        raise DataError(f"cannot be read ({_one_line(str(error))[:120]}): {hint}") from error


def _unknown(name: str, names: Sequence[str]) -> DataError:
    same = [known for known in names if known.strip().casefold() == name.strip().casefold()]
    near = difflib.get_close_matches(name, names[:30_000], n=5)  # slow for very many names
    if same:
        hint = f"there is {_quote(*same)}; upper case, lower case and spaces count"
    elif all(re.fullmatch(r"\s*[-+]?\d*\.?\d+([eE][-+]?\d+)?\s*", known) for known in names):
        hint = "the first line holds numbers, not names; add a header line"
    elif near:
        hint = f"did you mean {_quote(*near)}?"
    else:
        hint = f"choose among the {len(names)} columns {_quote(*names)}"
    return DataError(f"no column {_quote(name)}: {hint}")


def _check_names(names: Sequence[str]) -> None:
    if blank := [j + 1 for j, name in enumerate(names) if j and not name.strip()]:
        raise DataError(f"column {blank[0]} has no name: name it, or remove it from every line")
    if doubles := [name for name, count in Counter(names).items() if count > 1]:
        hint = "rename them, or add a header line if there is none"
        raise DataError(f"column names occur more than once, {_quote(*doubles, limit=3)}: {hint}")


def _ending(path: Path) -> tuple[str, str]:
    """Return the ending and that of the compression; refuse what cannot be a table."""
    if not path.exists():
        raise DataError("no such file: check the name and the folder")
    if path.is_dir():
        files = [file for file in path.rglob("*") if file.is_file() and file.name[0] not in "._"]
        if files and all(file.suffix.lower() in (".parquet", ".pq") for file in files):
            return ".parquet", ""
        raise DataError("is a directory, and not one of Parquet files only: name a table file")
    before, last = ["", "", *(ending.lower() for ending in path.suffixes)][-2:]
    plain = last in (*_TEXT, *_SVM, *_ARROW, ".npz")
    codecs = _TEXT_CODECS if before in _TEXT else _SVM_CODECS if before in _SVM else ()
    if not plain and last not in codecs:
        raise DataError(f"unknown ending {_quote(last)}: use {_SUPPORTED}")
    if path.stat().st_size == 0:
        raise DataError("the file is empty: write the table again")
    return (last, "") if plain else (before, last)


def _read_matrix(path: Path, ending: str) -> tuple[Any, np.ndarray, list[str] | None]:
    from scipy import sparse

    if ending in _SVM:
        from sklearn.datasets import load_svmlight_file

        return *load_svmlight_file(path), None
    # Opened here, not by NumPy, so that a damaged archive leaves no open handle.
    with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as archive:
        held = {key: archive[key] for key in archive.files if key in _NPZ_ARRAYS}
    if "y" not in held:
        raise DataError("holds no array 'y': save the target under that name")
    if "X" in held:
        X = held["X"]
    elif "format" in held:  # scipy.sparse.save_npz, with y added
        X = sparse.load_npz(path).tocsr()
    elif held.keys() >= {"data", "indices", "indptr", "shape"}:
        fields = (held["data"], held["indices"], held["indptr"])
        X = sparse.csr_matrix(fields, shape=tuple(int(size) for size in held["shape"]))
    else:
        raise DataError("holds no features: save an array X, or data, indices, indptr and shape")
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(f"X is {X.ndim}-d of type {X.dtype}: save a numeric matrix")
    if sparse.issparse(X):
        X.check_format(full_check=True)  # a wrong index would be read outside the arrays later
    names = held.get("feature_names")
    return X, held["y"], None if names is None else np.ravel(names).astype(str).tolist()


def _read_arrow(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    if path.is_dir():
        return parquet.read_table(path)
    with pa.OSFile(str(path)) as file:
        if path.suffix.lower() in (".parquet", ".pq"):
            # Unlike read_table, ParquetFile opens a file with equal names, to be reported.
            return parquet.ParquetFile(file).read()
        try:
            table = ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            file.seek(0)
            table = ipc.open_stream(file).read_all()
    table.validate(full=True)
    return table


def _read_csv(path: Path, ending: str, codec: str) -> Any:
    """Read delimited text by Arrow, which is strict about rows; by pandas if Arrow gives up."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    compression = None if codec in ("", ".xz") else "detect"  # Arrow knows all but xz
    with pa.input_stream(str(path), compression=compression) as stream:
        content = lzma.decompress(stream.read()) if codec == ".xz" else stream.read()
    first = re.sub(rb'"[^"]*"', b"", content[: 1 << 20].lstrip().partition(b"\n")[0]).decode()
    usual = {".csv": ",", ".tsv": "\t"}.get(ending, "")
    # A .csv without a comma in its header comes from a program that writes semicolons or tabs.
    separator = usual if usual and usual in first else max(",\t;", key=first.count)
    header = next(_rows(content, separator), (0, []))[1]
    if not header:
        raise DataError("the file is empty: write the table again")
    _check_names(header)
    parse = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(null_values=_MISSING, strings_can_be_null=True)
    read = arrow_csv.ReadOptions(block_size=_BLOCK)
    try:
        table = arrow_csv.read_csv(pa.BufferReader(content), read, parse, convert)
    except pa.ArrowInvalid:
        for line, row in _rows(content, separator):
            if len(row) != len(header):
                sizes = f"line {line} has {len(row)} fields where the header has {len(header)}"
                raise DataError(f"{sizes}: repair that line, or write the file again") from None
        strict: dict[str, Any] = {"na_values": _MISSING, "keep_default_na": False}
        strict |= {"index_col": False, "low_memory": False}
        frame = pd.read_csv(io.BytesIO(content), sep=separator, **strict)
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    return table.rename_columns(header)


def _rows(content: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and fields, without blank lines."""
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=separator)
    yield from ((reader.line_num, row) for row in reader if row)


def _kept(names: list[str], unwanted: dict[str, None], n_rows: int) -> list[int]:
    if strange := [name for name in unwanted if name not in names]:
        raise _unknown(strange[0], names)
    if not (kept := [j for j, name in enumerate(names) if name not in unwanted]):
        raise DataError("no feature column is left: the table needs one besides the target")
    if n_rows < 2:
        raise DataError(f"holds {n_rows} row(s): at least 2 are needed")
    return kept


def _from_matrix(
    matrix: tuple, target: str | None, unwanted: dict[str, None], source: str
) -> Table:
    X, labels, names = matrix
    if target not in (None, "y"):
        hint = "a file of this type brings its own target, 'y'; name that or none"
        raise DataError(f"column {_quote(target)} cannot be the target: {hint}")
    notes = () if names else ("The file names no features: they are called x0, x1, ...",)
    names = names or [f"x{j}" for j in range(X.shape[1])]
    _check_names(names)
    if len(names) != X.shape[1] or labels.size != X.shape[0]:
        sizes = f"{len(names)} feature names and {labels.size} labels"
        raise DataError(f"X has shape {X.shape} but there are {sizes}: save arrays that agree")
    kept = _kept(names, unwanted, X.shape[0])
    X = X[:, kept] if unwanted else X
    # Integers would overflow in differences and squares.
    X = X.astype(np.result_type(X.dtype, np.float32) if X.dtype.kind == "f" else np.float64)
    names = [names[j] for j in kept]
    y = to_target(labels.ravel())
    return Table(X, y, names, "y", tuple(unwanted), X.shape[0], source, [], notes)


def _from_arrow(
    table: Any, target: str | None, unwanted: dict[str, None], label_first: bool, source: str
) -> Table:
    table, index = _index_columns(table)
    names = table.column_names
    columns = [name for name in names if name not in index]
    if target is None and not (label_first and columns):
        few = _quote(*columns[:4], *columns[4:][-2:], limit=6)
        raise DataError(f"no target was named: use --target with a column, such as {few}")
    target = columns[0] if target is None else target
    if target not in names:
        raise _unknown(target, columns)
    if target in unwanted:
        raise DataError(f"column {_quote(target)} is both the target and to be dropped: choose one")
    index = [name for name in index if name != target]
    notes = tuple(f"Column {_quote(name)} is a row index and was left out." for name in index)
    dropped = unwanted | dict.fromkeys(index)
    features = [name for name in names if name != target]
    kept = [features[j] for j in _kept(features, dropped, table.num_rows)]
    y = to_target(table.column(target).to_pandas(), name=target)
    X, text = _plain(table.select(kept))
    return Table(X, y, kept, target, tuple(dropped), table.num_rows, source, text, notes)


def _index_columns(table: Any) -> tuple[Any, list[str]]:
    """Name a first column without name as pandas does; list the columns that are a row index."""
    names = table.column_names
    if names and not names[0]:
        names[0] = "Unnamed: 0.1" if "Unnamed: 0" in names else "Unnamed: 0"
        table = table.rename_columns(names)
    _check_names(names)
    index = [*itertools.takewhile(lambda name: re.match(r"Unnamed: \d", name), names)]
    with _reading():
        stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return table, index + [name for name in stored if name in names and name not in index]


def _plain(table: Any) -> tuple[Any, list[str]]:
    """Convert to a frame with NumPy numbers, text and categories only; name the latter two."""
    import pyarrow as pa
    from pyarrow import types

    columns, text = [], []
    for name, kind, column in zip(table.column_names, table.schema.types, table.columns):
        if types.is_boolean(kind):
            column = column.cast(pa.int8())
        elif types.is_null(kind) or types.is_decimal(kind) or types.is_float16(kind):
            column = column.cast(pa.float64())
        elif types.is_temporal(kind):
            hint = "drop it, or convert it to a number, such as days since the first date"
            raise DataError(f"column {_quote(name)} holds dates or times: {hint}")
        elif types.is_dictionary(kind) or "string" in str(kind):
            text.append(name)
        elif not (types.is_integer(kind) or types.is_floating(kind)):
            hint = "save the text as UTF-8" if "binary" in str(kind) else "split it into numbers"
            raise DataError(f"column {_quote(name)} is of type {kind}: {hint}, or drop the column")
        columns.append(column)
    return pa.table(columns, names=table.column_names).to_pandas(ignore_metadata=True), text

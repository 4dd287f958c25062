"""Table files of all kinds, read strictly: what is damaged is refused in words, never guessed."""

from __future__ import annotations

import csv
import io
import itertools
import lzma
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
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
class Matrix:
    """A matrix from a file, with its target and names if the file has any.

    With ``cut_short`` columns at the end that are zero in all rows are not in the file.
    """

    X: Any
    y: np.ndarray | None
    names: list[str] | None
    cut_short: bool = False


@contextmanager
def naming_file(file: str | os.PathLike[str]) -> Iterator[None]:
    """Begin what is wrong with a file with its name, all in one line."""
    try:
        yield
    except DataError as error:
        text = one_line(f"{os.fspath(file)}: {error}")
        raise DataError(text) from error.__cause__


def read_file(file: str | os.PathLike[str]) -> Any:
    """Read a `Matrix` or an Arrow table; the format follows from the ending of the name."""
    path = Path(file)
    ending, codec = _ending(path)
    with _reading():
        if ending in _SVM or ending == ".npz":
            return _read_matrix(path, ending)
        return _read_csv(path, ending, codec) if ending in _TEXT else _read_arrow(path)


def quote(*names: str, limit: int = 5) -> str:
    """Names in quotes, the first few of them."""
    texts = [repr(name if len(name) < 60 else name[:56] + "...") for name in names[:limit]]
    return ", ".join(texts + ["..."] * (len(names) > limit))


def one_line(text: str) -> str:
    """Text that can be printed in one line."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def check_names(names: Sequence[str]) -> None:
    """Refuse columns without a name, or with the name of another."""
    if blank := [j + 1 for j, name in enumerate(names) if j and not name.strip()]:
        raise DataError(f"column {blank[0]} has no name: name it, or remove it from every line")
    if doubles := [name for name, count in Counter(names).items() if count > 1]:
        hint = "rename them, or add a header line if there is none"
        raise DataError(f"column names occur more than once, {quote(*doubles, limit=3)}: {hint}")


def index_columns(table: Any) -> tuple[Any, list[str]]:
    """Name a first column without name as pandas does; list the columns that are a row index."""
    names = table.column_names
    if names and not names[0]:
        names[0] = "Unnamed: 0.1" if "Unnamed: 0" in names else "Unnamed: 0"
        table = table.rename_columns(names)
    check_names(names)
    index = [*itertools.takewhile(lambda name: re.match(r"Unnamed: \d", name), names)]
    with _reading():
        stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return table, index + [name for name in stored if name in names and name not in index]


def plain_frame(table: Any) -> tuple[Any, list[str]]:
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
            raise DataError(f"column {quote(name)} holds dates or times: {hint}")
        elif types.is_dictionary(kind) or "string" in str(kind):
            text.append(name)
        elif not (types.is_integer(kind) or types.is_floating(kind)):
            hint = "save the text as UTF-8" if "binary" in str(kind) else "split it into numbers"
            raise DataError(f"column {quote(name)} is of type {kind}: {hint}, or drop the column")
        columns.append(column)
    return pa.table(columns, names=table.column_names).to_pandas(ignore_metadata=True), text


# -- formats --------------------------------------------------------------------------------------


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
        raise DataError(f"cannot be read ({one_line(str(error))[:120]}): {hint}") from error


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
        raise DataError(f"unknown ending {quote(last)}: use {_SUPPORTED}")
    if path.stat().st_size == 0:
        raise DataError("the file is empty: write the table again")
    return (last, "") if plain else (before, last)


def _read_matrix(path: Path, ending: str) -> Matrix:
    from scipy import sparse

    if ending in _SVM:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(path)
        return Matrix(X, y, None, cut_short=True)
    # Opened here, not by NumPy, so that a damaged archive leaves no open handle.
    with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as archive:
        held = {key: archive[key] for key in archive.files if key in _NPZ_ARRAYS}
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
    known = None if names is None else np.ravel(names).astype(str).tolist()
    if known is not None and len(known) != X.shape[1]:
        raise DataError(
            f"X has {X.shape[1]} columns, but there are {len(known)} feature names: save arrays "
            "that agree"
        )
    return Matrix(X, held.get("y"), known)


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
    check_names(header)
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

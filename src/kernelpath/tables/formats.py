"""Table files of all kinds, read strictly: what is damaged is refused in words, never guessed."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import itertools
import lzma
import math
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelpath.errors import DataError
from kernelpath.tables.kinds import MISSING_TEXTS
from kernelpath.tables.table import quoted_name
from kernelpath.utils.words import counted

_TEXT, _SVM = (".csv", ".tsv", ".txt"), (".svm", ".libsvm", ".svmlight")
_TEXT_CODECS, _SVM_CODECS = (".gz", ".bz2", ".xz", ".zst"), (".gz", ".bz2")
_ARROW = (".parquet", ".pq", ".feather", ".arrow", ".ipc")
_SUPPORTED = f"{', '.join(_TEXT)} (also {', '.join(_TEXT_CODECS)}), {', '.join(_ARROW)}, .npz, "
_SUPPORTED += f"{', '.join(_SVM)} (also {', '.join(_SVM_CODECS)})"
_SHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_OTHER_TABLES = (
    ".json", ".jsonl", ".ndjson", ".xml", ".html", ".orc", ".h5", ".hdf5", ".hdf", ".pkl",
    ".pickle", ".dta", ".sas7bdat", ".xpt", ".db", ".sqlite",
)  # fmt: skip
"""What pandas reads and this package does not."""
_NPZ_ARRAYS = {"X", "y", "feature_names", "data", "indices", "indptr", "shape", "format"}
MAX_COLUMNS = 5_000_000
# No small file takes much memory: what it says about itself is compared with its size first.
_FREE_COLUMNS, _COLUMNS_PER_BYTE = 100_000, 100  # of a sparse table, unless more are asked for
_FREE_BYTES, _MOST_INFLATED = 1 << 25, 200  # of unpacked text and arrays
_FREE_CELLS, _CELLS_PER_BYTE = 1 << 24, 100  # of Parquet, which packs equal values very well
_PARTS = ("row", "col", "offsets", "blocksize", "_is_array")  # of other sparse formats
_BLOCK = 1 << 30  # Arrow's 1 MB holds only five rows of 20,000 columns: ten times slower


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix from a file, with its target and names if the file has any.

    With ``cut_short`` columns at the end that are zero in all rows are not in the file; ``notes``
    are remarks about the file, as sentences.
    """

    X: Any
    y: np.ndarray | None
    names: list[str] | None
    cut_short: bool = False
    notes: tuple[str, ...] = ()


@contextmanager
def naming_file(file: str | os.PathLike[str]) -> Iterator[None]:
    """Begin what is wrong with a file with its name, all in one line."""
    try:
        yield
    except DataError as error:
        text = one_line(f"{os.fspath(file)}: {error}")
        raise DataError(text) from error.__cause__


def read_file(file: str | os.PathLike[str], max_columns: int | None = None) -> Any:
    """Read a `Matrix` or an Arrow table; the format follows from the ending of the name.

    Parameters
    ----------
    file : str or path
    max_columns : int, optional
        Most columns to accept. Default: 5,000,000, and of a sparse table 100 for each byte of its
        file, or 100,000.
    """
    path = Path(file)
    ending, codec = _ending(path)
    with _reading():
        if ending in _SVM:
            return _read_svmlight(path, codec, max_columns)
        if ending == ".npz":
            return _read_npz(path, max_columns)
        if ending in _TEXT:
            return _read_csv(path, ending, codec, max_columns)
        return _read_arrow(path, max_columns)


def quote(*names: str, limit: int = 5) -> str:
    """Names in quotes, the first few of them."""
    texts = [quoted_name(name) for name in names[:limit]]
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
            pass  # dates and times count as days
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
        raise DataError(f"unknown ending {quote(last)}: {_way_of(last, before)}")
    if path.stat().st_size == 0:
        raise DataError("the file is empty: write the table again")
    return (last, "") if plain else (before, last)


def _way_of(ending: str, before: str) -> str:
    """What to do about a file of another type."""
    if {ending, before} & {*_SHEETS, *_OTHER_TABLES}:
        what = "sheet" if ending in _SHEETS else "table"
        return (
            f"save the {what} as CSV, or read it with pandas and give the frame to kp.PathCV; "
            f"files may be {_SUPPORTED}"
        )
    return f"use {_SUPPORTED}"


def _check_width(n_columns: int, max_columns: int | None, n_bytes: int | None = None) -> None:
    """Refuse more columns than expected, before any of them is named."""
    limit = MAX_COLUMNS if max_columns is None else max_columns
    small = ""
    if max_columns is None and n_bytes is not None:
        limit = min(limit, max(_FREE_COLUMNS, _COLUMNS_PER_BYTE * n_bytes))
        small = f" in {n_bytes:,} bytes"
    if n_columns > limit:
        hint = f"repair the file, or allow so many with --max-columns {n_columns}"
        raise DataError(f"has {n_columns:,} columns{small}, more than {limit:,}: {hint}")


def _check_unpacked(n_bytes: int, path: Path, what: str, hint: str) -> None:
    """Refuse content that is implausibly larger than its file, before there is room for it."""
    size = path.stat().st_size
    if n_bytes > max(_FREE_BYTES, _MOST_INFLATED * size):
        held = f"a file of {size:,} bytes holds {what} of {n_bytes:,} bytes or more"
        raise DataError(f"{held}, which is not plausible: {hint}")


def _unpacked(stream: Any, path: Path) -> bytes:
    """Read packed text, and no more of it than is plausible."""
    parts, n_bytes = [], 0
    while part := stream.read(1 << 20):  # at once, the readers would ask for twice the memory
        parts.append(part)
        n_bytes += len(part)
        _check_unpacked(n_bytes, path, "text", "if it is right, unpack the file first")
    return b"".join(parts)


def _read_svmlight(path: Path, codec: str, max_columns: int | None) -> Matrix:
    from sklearn.datasets import load_svmlight_file

    source: Any = path
    if codec:
        with (gzip.open if codec == ".gz" else bz2.open)(path, "rb") as stream:
            source = io.BytesIO(_unpacked(stream, path))
    X, y = load_svmlight_file(source)
    _check_width(X.shape[1], max_columns, path.stat().st_size)
    notes = () if codec else _cut_notes(path, X)
    return Matrix(X, y, None, cut_short=True, notes=notes)


def _cut_notes(path: Path, X: Any) -> tuple[str, ...]:
    """Say that the last line looks cut off: it has no end, and fewer entries than all others."""
    with open(path, "rb") as handle:
        handle.seek(-1, os.SEEK_END)
        if handle.read(1) in b"\r\n":
            return ()
    entries = np.diff(X.indptr)
    if len(entries) < 2 or entries[-1] >= entries[:-1].min():
        return ()
    return (
        f"The last line has no end and only {entries[-1]} entries, where every other row has at "
        f"least {entries[:-1].min()}: the file may be cut short.",
    )


def _check_members(path: Path, handle: Any) -> None:
    """Refuse arrays whose declared shapes do not fit what is there, before they are unpacked."""
    total = 0
    with zipfile.ZipFile(handle) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name not in _NPZ_ARRAYS and name not in _PARTS:
                continue
            with archive.open(info) as stream:
                version = np.lib.format.read_magic(stream)
                read = np.lib.format.read_array_header_1_0
                if version != (1, 0):
                    read = np.lib.format.read_array_header_2_0
                shape, _, dtype = read(stream)
                if dtype.hasobject:
                    raise ValueError("allow_pickle")
                held = stream.tell() + math.prod(shape) * dtype.itemsize
            if held != info.file_size:
                raise DataError(
                    f"array {quote(name)} has {info.file_size:,} bytes, but its shape {shape} "
                    f"needs {held:,}: write the file again"
                )
            total += held
    hint = "if it is right, save it with np.savez, uncompressed, or as a sparse matrix"
    _check_unpacked(total, path, "arrays", hint)


def _read_npz(path: Path, max_columns: int | None) -> Matrix:
    from scipy import sparse

    n_bytes = path.stat().st_size
    # Opened here, not by NumPy, so that a damaged archive leaves no open handle.
    with open(path, "rb") as handle:
        _check_members(path, handle)
        handle.seek(0)
        with np.load(handle, allow_pickle=False) as archive:
            held = {key: archive[key] for key in archive.files if key in _NPZ_ARRAYS}
    if "shape" in held and "X" not in held:
        _check_sparse_shape(held, max_columns, n_bytes)
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
    _check_width(X.shape[1], max_columns)
    if sparse.issparse(X):
        X.check_format(full_check=True)  # a wrong index would be read outside the arrays later
    names = held.get("feature_names")
    known = None if names is None else np.ravel(names).astype(str).tolist()
    if known is not None and len(known) != X.shape[1]:
        raise DataError(
            f"X has {counted(X.shape[1], 'column')}, but {counted(len(known), 'feature name')}: "
            "save arrays that agree"
        )
    return Matrix(X, held.get("y"), known)


def _check_sparse_shape(held: dict[str, np.ndarray], max_columns: int | None, n_bytes: int) -> None:
    """Refuse a shape of a sparse matrix that no part of the file speaks for."""
    shape = held["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
        raise DataError(f"shape is {shape.tolist()}: save the numbers of rows and columns")
    n_rows, n_columns = map(int, shape)
    _check_width(n_columns, max_columns, n_bytes)
    if "y" in held and held["y"].size != n_rows:
        raise DataError(
            f"X has {counted(n_rows, 'row')}, but y {counted(held['y'].size, 'label')}: save "
            "arrays that agree"
        )
    if 8 * n_rows > max(_FREE_BYTES, _MOST_INFLATED * n_bytes):
        raise DataError(f"has {n_rows:,} rows in {n_bytes:,} bytes: write the file again")


def _check_cells(n_rows: int, n_columns: int, n_bytes: int) -> None:
    """Refuse a table of more cells than its file can plausibly hold."""
    if n_rows * n_columns > max(_FREE_CELLS, _CELLS_PER_BYTE * n_bytes):
        cells = f"{n_rows:,} rows of {n_columns:,} columns in {n_bytes:,} bytes"
        raise DataError(f"has {cells}, which is not plausible: save it as CSV, if it is right")


def _read_arrow(path: Path, max_columns: int | None) -> Any:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        for file in files:
            if file.name[0] not in "._":
                with pa.OSFile(str(file)) as handle:
                    _open_parquet(handle, file, max_columns)
        return parquet.read_table(path)
    with pa.OSFile(str(path)) as file:
        if path.suffix.lower() in (".parquet", ".pq"):
            # Unlike read_table, ParquetFile opens a file with equal names, to be reported.
            return _open_parquet(file, path, max_columns).read()
        try:
            reader = ipc.open_file(file)
        except pa.ArrowInvalid:
            file.seek(0)
            reader = ipc.open_stream(file)
        _check_width(len(reader.schema), max_columns)
        try:
            table = reader.read_all()
        except MemoryError:
            if path.stat().st_size > _FREE_BYTES:  # a large table, and perhaps a right one
                raise
            raise DataError("declares more than memory holds: damaged; write it again") from None
    table.validate(full=True)
    return table


def _open_parquet(file: Any, path: Path, max_columns: int | None) -> Any:
    """Open a file whose declared numbers of rows and columns are plausible."""
    from pyarrow import parquet

    opened = parquet.ParquetFile(file)
    about = opened.metadata
    _check_width(about.num_columns, max_columns)
    _check_cells(about.num_rows, about.num_columns, path.stat().st_size)
    return opened


def _read_csv(path: Path, ending: str, codec: str, max_columns: int | None) -> Any:
    """Read delimited text by Arrow, which is strict about rows; by pandas if Arrow gives up."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if codec == ".xz":  # which Arrow does not know
        with lzma.open(path, "rb") as stream:
            content = _unpacked(stream, path)
    else:
        with pa.input_stream(str(path), compression="detect" if codec else None) as stream:
            content = _unpacked(stream, path) if codec else stream.read()
    first = re.sub(rb'"[^"]*"', b"", content[: 1 << 20].lstrip().partition(b"\n")[0]).decode()
    usual = {".csv": ",", ".tsv": "\t"}.get(ending, "")
    # A .csv without a comma in its header comes from a program that writes semicolons or tabs.
    separator = usual if usual and usual in first else max(",\t;", key=first.count)
    header = next(_rows(content, separator), (0, []))[1]
    if not header:
        raise DataError("the file is empty: write the table again")
    _check_width(len(header), max_columns)
    ended = len(header) > 2 and not header[-1].strip()  # every line may end in a separator
    check_names(header[:-1] if ended else header)
    parse = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(null_values=list(MISSING_TEXTS), strings_can_be_null=True)
    read = arrow_csv.ReadOptions(block_size=_BLOCK)
    try:
        table = arrow_csv.read_csv(pa.BufferReader(content), read, parse, convert)
    except pa.ArrowInvalid:
        for line, row in _rows(content, separator):
            if len(row) != len(header):
                sizes = f"line {line} has {len(row)} fields where the header has {len(header)}"
                raise DataError(f"{sizes}: repair that line, or write the file again") from None
        strict: dict[str, Any] = {"na_values": list(MISSING_TEXTS), "keep_default_na": False}
        strict |= {"index_col": False, "low_memory": False}
        frame = pd.read_csv(io.BytesIO(content), sep=separator, **strict)
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    if ended and table.column(len(header) - 1).null_count == table.num_rows:
        return table.remove_column(len(header) - 1).rename_columns(header[:-1])
    check_names(header)
    return table.rename_columns(header)


def _rows(content: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and fields, without blank lines."""
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=separator)
    yield from ((reader.line_num, row) for row in reader if row)

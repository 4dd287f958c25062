"""Every file format gives the same table."""

import bz2
import gzip
import lzma
import time
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc, parquet
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.tables import formats as table_files
from kernelpath.tables.kinds import Kind
from kernelpath.tables.read import read_table
from kernelpath.tables.table import as_column_table
from table_examples import CSV, refused, write_file, zstd


@pytest.fixture
def write(tmp_path):
    return partial(write_file, tmp_path)


@pytest.fixture
def frame():
    text = pd.Series(["red", "blue", None], dtype="str")
    return pd.DataFrame(
        {"a": [1, 2, 3], "b": [0.5, np.nan, 2.5], "colour": text, "y": ["yes", "no", "yes"]}
    )


def assert_usual(table):
    assert table.feature_names == ["a", "b", "colour"] == list(table.X.columns)
    assert table.text_columns == ["colour"]
    assert table.y.tolist() == ["yes", "no", "yes"]
    assert table.y.dtype == object
    assert table.X["a"].dtype == np.int64
    np.testing.assert_array_equal(table.X["b"], [0.5, np.nan, 2.5])
    assert table.X["colour"].isna().tolist() == [False, False, True]
    assert (table.target_name, table.n_rows, table.dropped, table.notes) == ("y", 3, (), ())


# Text


@pytest.mark.parametrize(
    ("name", "separator"),
    [
        ("t.csv", ","),
        ("T.CSV", ","),
        ("t.csv", ";"),
        ("t.tsv", "\t"),
        ("t.txt", ","),
        ("t.txt", "\t"),
        ("my.old.table.csv", ","),
    ],
)
def test_delimited_text(write, name, separator):
    file = write(name, CSV.replace(",", separator))
    table = read_table(str(file), target="y")
    assert_usual(table)
    assert table.source == str(file)


@pytest.mark.parametrize(
    ("codec", "compress"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", zstd)],
)
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_compressed_text(write, ending, codec, compress):
    content = CSV if ending == "csv" else CSV.replace(",", "\t")
    assert_usual(read_table(write(f"t.{ending}.{codec}", compress(content.encode())), target="y"))


@pytest.mark.parametrize("prefix", ["\ufeff", "\n\n", "\r\n"])
def test_byte_order_mark_blank_lines_and_windows_line_ends(write, prefix):
    assert_usual(read_table(write("t.csv", prefix + CSV.replace("\n", "\r\n")), target="y"))


def test_quoted_names_and_values(write):
    file = write("t.csv", '"a, b","c\nd",y\n1,"x, ""z""",0\n2,"two\nlines",1\n')
    table = read_table(file, target="y")
    assert table.feature_names == ["a, b", "c\nd"]
    assert table.X["c\nd"].tolist() == ['x, "z"', "two\nlines"]


def test_missing_marks_booleans_and_empty_columns(write):
    file = write("t.csv", "a,b,c,d,y\nNA,true,,x,0\n1,false,,NULL,1\nNaN,true,,None,0\n")
    X = read_table(file, target="y").X
    np.testing.assert_array_equal(X["a"], [np.nan, 1, np.nan])
    assert X["b"].tolist() == [1, 0, 1]
    assert pd.api.types.is_integer_dtype(X["b"])
    assert X["c"].isna().all()
    assert X["c"].dtype == np.float64
    assert X["d"].isna().tolist() == [False, True, True]


def test_booleans_with_gaps_are_numbers(write):
    X = read_table(write("t.csv", "b,y\ntrue,0\n,1\nfalse,0\n"), target="y").X
    np.testing.assert_array_equal(X["b"], [1.0, np.nan, 0.0])


def test_pandas_takes_over_where_arrow_gives_up(write, monkeypatch):
    rows = [f"{i},{i + 0.1!r},t{i},{i % 2}" for i in range(50)]
    rows[45] = "0.30000000000000004,NA,None,1"
    file = write("t.csv", ",c,b,y\n" + "\n".join(rows) + "\n")
    first = read_table(file, target="y")

    def give_up(*args, **kwargs):
        raise pa.ArrowInvalid("straddling object straddles two block boundaries")

    monkeypatch.setattr("pyarrow.csv.read_csv", give_up)
    second = read_table(file, target="y")
    pd.testing.assert_frame_equal(second.X, first.X, rtol=1e-15)
    assert second.text_columns == first.text_columns == ["b"]
    assert second.notes == first.notes
    short = write("s.csv", file.read_text() + "1,2\n")
    refused(short, "line 52 has 2 fields where the header has 4")


def test_types_may_change_late_and_blocks_may_be_small(write, monkeypatch):
    rows = [f"{i},{i % 2}" for i in range(200)]
    rows[190] = "0.5,1"
    file = write("t.csv", "a,y\n" + "\n".join(rows))
    monkeypatch.setattr(table_files, "_BLOCK", 64)
    X = read_table(file, target="y").X
    assert X["a"].dtype == np.float64
    assert X["a"][190] == 0.5


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, width=64), min_size=3, max_size=3),
        min_size=2,
        max_size=6,
    )
)
def test_numbers_survive_to_the_last_digit(tmp_path_factory, rows):
    file = tmp_path_factory.mktemp("digits") / "t.csv"
    lines = [",".join([*map(repr, row), str(i)]) for i, row in enumerate(rows)]
    file.write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    X = read_table(file, target="y").X
    np.testing.assert_array_equal(X.to_numpy(dtype=float), np.array(rows))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_wide_table_is_fast(tmp_path, ending):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(60, 20_000)).round(4)).rename(columns=lambda j: f"f{j}")
    wide["y"] = rng.integers(0, 2, 60)
    file = tmp_path / f"wide.{ending}"
    (wide.to_csv if ending == "csv" else wide.to_parquet)(file, index=False)
    began = time.process_time()
    table = read_table(file, target="y", drop=["f7"])
    assert time.process_time() - began < 10  # 0.5 s when measured; a slow engine needs minutes
    expected = wide.drop(columns=["y", "f7"])
    assert table.X.columns.equals(expected.columns)
    np.testing.assert_array_equal(table.X.to_numpy(), expected.to_numpy())


# Row indices


def test_an_index_written_by_pandas_is_no_feature(tmp_path, frame):
    file = tmp_path / "t.csv"
    frame.to_csv(file)
    table = read_table(file, target="y")
    assert table.feature_names == ["a", "b", "colour"]
    assert table.dropped == ("Unnamed: 0",)
    assert len(table.notes) == 1
    assert "'Unnamed: 0' is a row index" in table.notes[0]
    pd.read_csv(file).to_csv(file)
    again = read_table(file, target="y", drop="Unnamed: 0")
    assert again.feature_names == ["a", "b", "colour"]
    assert again.dropped == ("Unnamed: 0", "Unnamed: 0.1")


def test_an_index_in_parquet_is_no_feature_but_may_be_the_target(tmp_path, frame):
    file = tmp_path / "t.parquet"
    frame.set_index(pd.Index([5, 9, 7], name="patient")).to_parquet(file)
    table = read_table(file, target="y")
    assert table.feature_names == ["a", "b", "colour"]
    assert table.dropped == ("patient",)
    by_index = read_table(file, target="patient")
    assert by_index.y.tolist() == [5, 9, 7]
    assert by_index.dropped == by_index.notes == ()


def test_a_later_column_without_name_is_refused(write):
    refused(write("t.csv", "a,,y\n1,2,0\n1,2,1\n"), "column 2 has no name")


# Parquet and Arrow


@pytest.mark.parametrize("engine", ["pandas", "polars"])
@pytest.mark.parametrize("ending", ["parquet", "pq", "feather", "arrow", "ipc"])
def test_arrow_formats(tmp_path, frame, ending, engine):
    file = tmp_path / f"t.{ending}"
    if engine == "pandas":
        (frame.to_parquet if ending in ("parquet", "pq") else frame.to_feather)(file)
    else:
        data = pl.from_arrow(pa.Table.from_pandas(frame))
        (data.write_parquet if ending in ("parquet", "pq") else data.write_ipc)(file)
    assert_usual(read_table(file, target="y"))


def test_arrow_stream_and_directory(tmp_path, frame):
    arrow = pa.Table.from_pandas(frame)
    with ipc.new_stream(tmp_path / "t.arrow", arrow.schema) as stream:
        stream.write_table(arrow)
    assert_usual(read_table(tmp_path / "t.arrow", target="y"))
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, part in enumerate([frame[:1], frame[1:]]):
        part.to_parquet(folder / f"part-{i}.parquet", index=False)
    assert_usual(read_table(folder, target="y"))


def test_types_become_plain(tmp_path):
    columns = {
        "small": pa.array([1, None, 3], pa.uint8()),
        "flag": pa.array([True, False, True]),
        "price": pa.array([1, 2, 3]).cast(pa.decimal128(30, 2)),
        "half": pa.array(np.array([1, 2, 3], dtype=np.float16)),
        "none": pa.nulls(3),
        "group": pa.array(["u", "v", "u"]).dictionary_encode(),
        "y": pa.array([True, False, True]),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", target="y")
    assert table.text_columns == ["group"]
    assert isinstance(table.X["group"].dtype, pd.CategoricalDtype)
    numbers = table.X.drop(columns="group")
    assert all(isinstance(dtype, np.dtype) for dtype in numbers.dtypes)
    expected = [[1, 1, 1, 1, np.nan], [np.nan, 0, 2, 2, np.nan], [3, 1, 3, 3, np.nan]]
    np.testing.assert_array_equal(numbers.to_numpy(dtype=float), expected)
    assert table.y.dtype == bool


def test_pandas_nullable_types_become_plain(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": [1.5, None], "y": [0, 1]}).convert_dtypes()
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", target="y")
    assert table.X.dtypes.tolist() == [np.dtype("int64"), np.dtype("float64")]
    assert table.y.dtype == np.int64


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        pd.to_timedelta([1, 2], unit="D"),
        [pd.Timestamp("2020-01-01").date()] * 2,
    ],
)
def test_dates_are_kept_and_no_target(tmp_path, values):
    file = tmp_path / "t.parquet"
    frame = pd.DataFrame({"when": values, "a": [1, 2], "y": [0, 1]})
    frame.to_parquet(file)
    table = read_table(file, target="y")
    assert table.feature_names == ["when", "a"]
    assert table.text_columns == []
    found, expected = (as_column_table(one) for one in (table.X, frame[["when", "a"]]))
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.kind(0) is expected.kind(0)
    assert found.kind(0) in (Kind.DATE, Kind.DURATION)
    refused(file, "target 'when' holds .* convert", target="when")
    table = read_table(file, target="y", drop=["when"])
    assert table.feature_names == ["a"]
    assert table.dropped == ("when",)


def test_dates_in_text_are_kept_and_nested_columns_refused(write, tmp_path):
    table = read_table(write("t.csv", "d,a,y\n1970-01-02,1,0\n1970-02-01,2,1\n,3,1\n"), target="y")
    read = as_column_table(table.X)
    assert read.kind(0) is Kind.DATE
    np.testing.assert_array_equal(read.values, [[1, 1], [31, 2], [np.nan, 3]])
    nested = pa.table({"l": [[1], [2]], "y": [0, 1]})
    parquet.write_table(nested, tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "column 'l' is of type list")


# NPZ and svmlight


def test_dense_npz(tmp_path):
    X = np.arange(12, dtype=np.uint8).reshape(4, 3)
    np.savez(tmp_path / "t.npz", X=X, y=[1, -1, 1, -1], feature_names=["u", "y", "w"])
    for target in (None, "y"):
        table = read_table(tmp_path / "t.npz", target=target, drop="u")
        assert table.feature_names == ["y", "w"]
        assert table.X.dtype == np.float64
        np.testing.assert_array_equal(table.X, X[:, 1:])
        assert table.y.tolist() == [1, -1, 1, -1]
        assert (table.target_name, table.dropped, table.text_columns) == ("y", ("u",), [])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_npz_keeps_floating_precision(tmp_path, dtype):
    np.savez(tmp_path / "t.npz", X=np.ones((2, 2), dtype), y=[0.5, 1.5])
    table = read_table(tmp_path / "t.npz")
    assert table.X.dtype == max(np.dtype(dtype), np.dtype(np.float32))
    assert table.feature_names == ["x0", "x1"]
    assert "x0, x1" in table.notes[0]
    assert table.y.dtype == np.float64


@pytest.mark.parametrize("layout", ["own", "csr", "csc", "coo"])
def test_sparse_npz(tmp_path, layout):
    file = tmp_path / "t.npz"
    X = sparse.random(6, 9, density=0.4, format="csr", random_state=0)
    y = np.array(list("ababab"))
    if layout == "own":
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    else:
        sparse.save_npz(file, X.asformat(layout))
        with np.load(file) as saved:
            parts = dict(saved)
    np.savez_compressed(file, y=y, **parts)
    table = read_table(file, target="y", drop=["x2"])
    assert sparse.issparse(table.X)
    assert table.X.format == "csr"
    np.testing.assert_array_equal(table.X.toarray(), np.delete(X.toarray(), 2, axis=1))
    assert table.y.tolist() == list("ababab")
    assert "x2" not in table.feature_names


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": np.eye(3)}, "no array 'y'"),
        ({"y": np.ones(3)}, "holds no features"),
        ({"X": np.ones(3), "y": np.ones(3)}, "1-d"),
        ({"X": np.full((3, 2), "a"), "y": np.ones(3)}, "numeric matrix"),
        ({"X": np.eye(3), "y": np.ones(4)}, "4 labels"),
        ({"X": np.eye(3), "y": np.ones(3), "feature_names": ["a", "b"]}, "2 feature names"),
        ({"X": np.eye(2), "y": [0, 1], "feature_names": ["a", "a"]}, "more than once, 'a'"),
        ({"X": np.eye(3), "y": [np.nan] * 3}, "target 'y' is missing in every row"),
        ({"X": np.eye(3), "y": [1, np.inf, 2]}, "infinite"),
        ({"X": np.eye(3), "y": np.array([None, "a", 1], dtype=object)}, "pickled"),
        ({"X": np.eye(2, dtype=object), "y": [0, 1]}, "pickled"),
        ({"X": np.ones((1, 3)), "y": [1]}, "1 row"),
        ({"X": np.ones((3, 0)), "y": [1, 2, 3]}, "no feature column"),
        (
            {"data": [1.0], "indices": [7], "indptr": [0, 1, 1], "shape": [2, 3], "y": [0, 1]},
            "cannot be read",
        ),
    ],
)
def test_bad_npz(tmp_path, arrays, words):
    np.savez(tmp_path / "t.npz", **arrays)
    refused(tmp_path / "t.npz", words)


def test_rows_of_npz_without_a_target_are_left_out(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    X[1, 2] = np.nan
    np.savez(tmp_path / "t.npz", X=X, y=[1, 2, np.nan, 4.5])
    table = read_table(tmp_path / "t.npz")
    np.testing.assert_array_equal(table.X, X[[0, 1, 3]])
    assert table.y.tolist() == [1, 2, 4.5]
    assert table.n_rows == 3
    assert table.notes[-1] == "1 of 4 rows has no target and was left out."


@pytest.mark.parametrize("compress", [None, gzip.compress, bz2.compress])
@pytest.mark.parametrize("ending", ["svm", "libsvm", "svmlight"])
def test_svmlight(write, ending, compress):
    content = b"+1 1:0.5 3:2\n-1 2:1\n+1 3:-4\n"
    codec = {None: "", gzip.compress: ".gz", bz2.compress: ".bz2"}[compress]
    file = write(f"t.{ending}{codec}", compress(content) if compress else content)
    table = read_table(file)
    np.testing.assert_array_equal(table.X.toarray(), [[0.5, 0, 2], [0, 1, 0], [0, 0, -4]])
    assert table.feature_names == ["x0", "x1", "x2"]
    assert table.y.tolist() == [1, -1, 1]
    refused(file, "'label' cannot be the target: .*'y'", target="label")
    refused(file, "no column 'x9'", drop="x9")


def test_several_columns_to_leave_out_with_commas(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('a,b,"c,d",y\n1,2,3,0\n4,5,6,1\n')
    assert read_table(file, target="y", drop="a, b").feature_names == ["c,d"]
    assert read_table(file, target="y", drop=["c,d", "a"]).feature_names == ["b"]
    with pytest.raises(DataError, match="no column 'a,e'"):
        read_table(file, target="y", drop="a,e")
    with pytest.raises(DataError, match="'y' is both the target"):
        read_table(file, target="y", drop="a,y")

"""Every broken file, name and target gives one clear line."""

import bz2
import gzip
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from kernelpath.errors import DataError
from kernelpath.tables.read import read_table, to_target
from table_examples import CSV, refused, write_file, zstd


@pytest.fixture
def write(tmp_path):
    return partial(write_file, tmp_path)


# Refusals


def test_files_that_are_no_table(tmp_path, write):
    refused(tmp_path / "none.csv", "no such file")
    refused(tmp_path, "is a directory")
    refused(write("t.csv", ""), "is empty")
    refused(write("blank.csv", "\n\n"), "is empty")
    refused(write("t.csv.gz", gzip.compress(b"")), "is empty")
    for name in ("t.xlsx", "t", "t.gz", "t.parquet.gz", "t.svm.xz", ".csv"):
        message = refused(write(name, "x"), "unknown ending")
        assert all(ending in message for ending in (".csv", ".parquet", ".npz", ".svmlight"))


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow", "t.npz", "t.svm"])
@pytest.mark.parametrize("content", [b"not what it says\n", b"\x00" * 500, b"PAR1\x00\x00PAR1"])
def test_wrong_content(write, name, content):
    refused(write(name, content), "cannot be read .*(write it again|never loaded)")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.npz", "t.csv.gz", "t.csv.xz"])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.97])
def test_cut_files(tmp_path, name, share):
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 4)), columns=list("abcy"))
    file = tmp_path / name
    if name == "t.npz":
        np.savez(file, X=data[["a", "b"]].to_numpy(), y=data["y"].to_numpy())
    else:
        kind = name.split(".")[1]
        getattr(data, f"to_{kind}")(file)
    assert read_table(file, target="y").n_rows == 300
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    refused(file, "cannot be read")


def test_cut_zst_and_svmlight(write):
    text = "".join(f"{i},{i * 7919 % 1013},{i % 2}\n" for i in range(500))
    for codec, compress in (
        ("csv.zst", zstd),
        ("svm.gz", gzip.compress),
        ("csv.bz2", bz2.compress),
    ):
        packed = compress(("a,b,y\n" + text).encode())
        refused(write(f"t.{codec}", packed[:-20]), "cannot be read")


def test_damaged_bytes_in_an_archive(tmp_path):
    file = tmp_path / "t.npz"
    np.savez(file, X=np.zeros((50, 4)), y=np.arange(50))
    content = bytearray(file.read_bytes())
    content[400] ^= 0xFF
    file.write_bytes(content)
    refused(file, "cannot be read")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b,y\n1,2,0\n1,2\n1,2,1\n", "line 3 has 2 fields where the header has 3"),
        ("a,b,y\n1,2,0\n\n1,2,1,9\n", "line 4 has 4 fields where the header has 3"),
        ('a,b,y\n1,"2,0\n1,2,1\n', "fields where the header has 3"),
        ("a,b,y\n1,2,0\n", "holds 1 row"),
        ("a,b,y\n", "holds 0 row"),
        ("y\n1\n2\n", "no feature column"),
        ("a,a,b,b,c,c,d,d,y\n" + "1,2,3,4,5,6,7,8,9\n" * 2, "more than once, 'a', 'b', 'c', ..."),
        ("1,1,2\n3,4,5\n3,4,5\n", "more than once, '1': .*header line"),
        ("1.5,-2,3e4\n3,4,5\n3,4,5\n", "no column 'y': the first line holds numbers"),
        ("a,y\n1,\n2,NA\n", "target 'y' is missing in every row: nothing is left"),
        (b"a,y\n\xe9,0\nb,1\n", "UTF-8"),
        (b"\xe9,y\n1,0\n2,1\n", "UTF-8"),
        ("a,y\n1,0\n2,1\n".encode("utf-16"), "UTF-8"),
    ],
)
def test_bad_text(write, content, words):
    refused(write("t.csv", content), words)


def test_rows_of_text_without_a_target_are_left_out(write):
    table = read_table(write("t.csv", "a,y\n1,0\n2,\n3,NA\n4,1\n"), target="y")
    whole = read_table(write("w.csv", "a,y\n1,0\n4,1\n"), target="y")
    assert table.n_rows == 2
    np.testing.assert_array_equal(table.X.to_numpy(), whole.X.to_numpy())
    np.testing.assert_array_equal(table.y, whole.y)
    assert table.notes == (*whole.notes, "2 of 4 rows have no target and were left out.")


def test_equal_names_in_compressed_text_and_parquet(write, tmp_path):
    refused(write("t.csv.gz", gzip.compress(b"a,a,y\n1,2,0\n1,2,1\n")), "more than once, 'a'")
    double = pa.table([[1, 2], [3, 4], [0, 1]], names=["a", "a", "y"])
    parquet.write_table(double, tmp_path / "t.parquet")
    feather.write_feather(double, tmp_path / "t.feather")
    refused(tmp_path / "t.parquet", "more than once, 'a'")
    refused(tmp_path / "t.feather", "more than once, 'a'")


def test_unknown_names_come_with_advice(write):
    names = ["Outcome", *(f"marker_{i}" for i in range(40))]
    rows = [",".join(str(i) for i in range(len(names)))] * 2
    file = write("t.csv", "\n".join([",".join(names), *rows]))
    refused(file, "no column 'outcome': there is 'Outcome'; upper case", target="outcome")
    refused(file, "did you mean 'Outcome'", target="Outcom")
    message = refused(file, "did you mean", target="marker_444")
    assert 2 < message.count("'marker_") <= 6
    refused(file, "choose among the 41 columns 'Outcome', .*, \\.\\.\\.", target="zzz")
    refused(file, "no column 'marker_1x': did you mean", target="Outcome", drop=["marker_1x"])
    refused(file, "both the target and to be dropped", target="Outcome", drop="Outcome")
    refused(file, "no target was named: use --target .* such as 'Outcome'", target=None)
    refused(file, "no feature column", target="Outcome", drop=names[1:])


def test_hostile_names_stay_on_one_short_line(write):
    file = write("t.csv", '"a\n\x1b[31m","' + "b" * 5000 + '"\n1,2\n3,4\n')
    message = refused(file, "no column", target="c\nd")
    assert "\x1b" not in message


def test_npz_has_no_other_target(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(2), y=[0, 1], feature_names=["a", "b"])
    refused(tmp_path / "t.npz", "'a' cannot be the target: .*'y'", target="a")


def test_permission_denied(write, monkeypatch):
    def deny(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pa, "input_stream", deny)
    refused(write("t.csv", CSV), "permission denied")


def test_label_first(write):
    file = write("t.csv", ",y,a\n0,1,5\n1,0,6\n")
    table = read_table(file, label_first=True)
    assert (table.target_name, table.feature_names) == ("y", ["a"])
    assert read_table(file, target="a", label_first=True).target_name == "a"


def test_the_table_is_frozen(write):
    table = read_table(write("t.csv", CSV), target="y")
    with pytest.raises(AttributeError):
        table.y = None


# Targets


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a"], np.array(["b", "a"], dtype=object)),
        (np.array(["b", "a"]), np.array(["b", "a"], dtype=object)),
        (pd.Series(["b", "a"], dtype="category"), np.array(["b", "a"], dtype=object)),
        (pd.Series([3, 1], dtype="category"), np.array([3, 1])),
        (pd.Series([3, 1], dtype="Int64"), np.array([3, 1])),
        (np.array([3, 1], dtype=np.int8), np.array([3, 1])),
        ([True, False], np.array([True, False])),
        (pd.Series([True, False], dtype="boolean"), np.array([True, False])),
        (np.array([0.5, 1.5], dtype=np.float32), np.array([0.5, 1.5])),
        (pd.Series([1, 0.5], dtype=object), np.array([1, 0.5])),
    ],
)
def test_to_target(values, expected):
    result = to_target(values)
    assert result.dtype == expected.dtype
    assert result.tolist() == expected.tolist()


def test_to_target_copies_and_refuses():
    values = np.array([1.0, 2.0])
    to_target(values)[0] = 9
    assert values[0] == 1
    for bad, words in [
        ([1.0, None], "target 'z' is missing in 1 of 2 rows"),
        (pd.Series(["a", None], dtype="category"), "missing"),
        ([1, "a"], "mixed"),
        ([1 + 2j, 1], "convert it to numbers"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "datetime"),
    ]:
        with pytest.raises(DataError, match=words):
            to_target(bad, name="z")

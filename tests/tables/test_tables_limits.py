"""Tables that declare more than they can hold, and files cut inside their last line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.sparse as sp

from kernelpath.errors import DataError
from kernelpath.tables.read import read_columns, read_table


def _refused(file, *words, **options):
    with pytest.raises(DataError) as caught:
        read_table(file, **options)
    text = str(caught.value)
    assert "\n" not in text
    for word in (file.name, *words):
        assert word in text


def test_a_huge_index_is_refused_before_columns_are_named(tmp_path):
    file = tmp_path / "big.svm"
    file.write_text("1 2000000000:2\n0 1:3\n")
    _refused(file, "2,000,000,000 columns in 21 bytes", "--max-columns 2000000000")


def test_so_many_columns_as_are_asked_for_are_read(tmp_path):
    file = tmp_path / "wide.svm"
    file.write_text("1 200000:2\n0 1:3\n")
    _refused(file, "200,000 columns in 17 bytes, more than 100,000", "--max-columns 200000")
    table = read_table(file, max_columns=200_000)
    assert table.X.shape == (2, 200_000)
    _refused(file, "more than 199,999", max_columns=199_999)
    file.write_text("1 100000:2\n0 1:3\n")
    assert read_table(file).X.shape == (2, 100_000)


def test_a_limit_holds_for_every_format(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.random((4, 6)), np.array([0, 1, 0, 1])
    import pandas as pd

    frame = pd.DataFrame(X).rename(columns=str).assign(y=y)
    files = {name: tmp_path / f"t{name}" for name in
             (".csv", ".parquet", ".feather", ".npz", ".tsv.gz")}  # fmt: skip
    frame.to_csv(files[".csv"], index=False)
    frame.to_csv(files[".tsv.gz"], index=False, sep="\t")
    frame.to_parquet(files[".parquet"])
    frame.to_feather(files[".feather"])
    np.savez(files[".npz"], X=X, y=y)
    for name, file in files.items():
        options = {} if name == ".npz" else {"target": "y"}
        assert read_table(file, **options).X.shape == (4, 6)
        _refused(file, "columns, more than 3", "--max-columns", max_columns=3, **options)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia", "bsr"])
def test_sparse_files_of_every_format_are_read(tmp_path, format):
    X = sp.random(9, 5, density=0.5, format=format, random_state=0)
    plain, file = tmp_path / "plain.npz", tmp_path / "t.npz"
    sp.save_npz(plain, X)
    with np.load(plain) as stored:
        np.savez(file, y=np.arange(9), **dict(stored))
    np.testing.assert_array_equal(read_table(file).X.toarray(), X.toarray())


def test_a_declared_shape_that_is_not_there_is_refused(tmp_path):
    file = tmp_path / "t.npz"
    parts = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2, 2])}
    np.savez(file, y=np.array([0, 1, 0]), shape=np.array([3, 2**40]), **parts)
    _refused(file, "1,099,511,627,776 columns")
    np.savez(file, y=np.array([0, 1, 0]), shape=np.array([2**40, 3]), **parts)
    _refused(file, "1,099,511,627,776 rows, but y 3 labels")
    np.savez(file, y=np.array([0, 1, 0]), shape=np.array([3, -3]), **parts)
    _refused(file, "shape is [3, -3]")


def test_packed_text_is_read_up_to_what_is_plausible(tmp_path):
    file = tmp_path / "t.csv.gz"
    with gzip.open(file, "wb") as stream:
        stream.write(b"a,y\n" + b"0,0\n1,1\n" * 100_000)  # 800 kB in 1 kB: packed well, but small
    assert read_table(file, target="y").n_rows == 200_000
    with gzip.open(file, "wb") as stream:
        stream.write(b"a,y\n")
        for _ in range(45):
            stream.write(b"0,0\n" * 200_000)
    _refused(file, "not plausible", "unpack the file first", target="y")


def test_a_model_says_how_many_columns_new_rows_may_have(tmp_path):
    """Three rows of a wide table are a small file with a large index."""
    file = tmp_path / "rows.svm"
    file.write_text("0 300000:2\n")
    names = [f"x{j}" for j in range(300_000)]
    columns, n_rows = read_columns(file, ["x299999"], names)
    assert (n_rows, columns["x299999"].tolist()) == (1, [2.0])
    with pytest.raises(DataError, match="more than 1,000"):
        read_columns(file, ["x1"], names, max_columns=1000)


LINES = ["1 1:0.25 2:0.5 3:1.25", "0 1:0.75 2:0.125 3:2.5", "1 1:0.5 2:0.375 3:0.5"]


def test_a_last_line_that_looks_cut_is_said(tmp_path):
    file = tmp_path / "t.svm"
    for text, cut in (
        ("\n".join(LINES) + "\n", False),
        ("\n".join(LINES), False),  # valid, and whole as far as one can see
        ("\n".join(LINES)[: -len(" 3:0.5")], True),
        ("\n".join(LINES)[: -len(" 3:0.5")] + "\n", False),  # a row with an empty column
        ("\n".join(LINES[:2]) + "\n1", True),
    ):
        file.write_text(text)
        notes = [note for note in read_table(file).notes if "cut short" in note]
        assert bool(notes) == cut
    assert "The last line has no end and only 0 entries" in notes[0]

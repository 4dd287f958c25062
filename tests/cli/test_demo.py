"""The demo: a real table with its scores, then a wide one with known answers."""

from __future__ import annotations

import json
import re

import pytest

import kernelpath as kp
from cli.helpers import FILES, SCORED, done, run, run_program

SMALL = ["--rows", 200, "--features", 300]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The folder of the demo, and what it printed; tests only read it."""
    out = tmp_path_factory.mktemp("demo") / "demo-run"
    return out, done("demo", *SMALL, "--out", out).stdout


@pytest.mark.slow
def test_both_tables_and_how_to_go_on(shown):
    out, text = shown
    assert sorted(p.name for p in out.iterdir()) == ["wide", "wine"]
    assert sorted(p.name for p in (out / "wine").iterdir()) == SCORED
    assert sorted(p.name for p in (out / "wide").iterdir()) == FILES
    summary = json.loads((out / "wine" / "summary.json").read_text("utf-8"))
    headline = summary["headline"]
    assert text.index(headline) < text.index("relevant features are the first")
    assert [one["name"] for one in summary["baselines"]] == ["forest"]
    assert [one["name"] for one in summary["references"]] == ["logistic", "boosting"]
    for name in ("wine", "wide"):
        assert str(out / name / "report.html") in text.splitlines()[-2]
    assert text.splitlines()[-1].endswith("kernelpath path FILE --target COLUMN --cv 5 --out run")
    model = kp.load_model(out / "wine" / "model.kpmodel")
    assert model.classes_.tolist() == ["cultivar 1", "cultivar 2", "cultivar 3"]


@pytest.mark.slow
def test_few_measurements_of_the_wines_do_as_well_as_all(shown):
    """What the demo is to show; the words follow from the numbers, these from the table."""
    told = json.loads((shown[0] / "wine" / "summary.json").read_text("utf-8"))
    score = {size["n_features"]: size["score"] for size in told["sizes"]}
    chosen = told["cv"]["chosen"]
    assert chosen["n_features"] <= 8
    assert chosen["score"] >= score[13] - 0.005
    forest = dict(zip(told["baselines"][0]["n_features"], told["baselines"][0]["score"]))
    assert score[1] > forest[1]
    assert score[2] > forest[2]


def test_one_table_alone(tmp_path):
    result = done("demo", "--only", "wide", *SMALL, "--out", tmp_path)
    said = re.search(r"(\d+) of the (\d+) relevant features are the first \2 of", result.stdout)
    found, relevant = map(int, said.groups())
    assert relevant >= found >= relevant - 3
    assert [p.name for p in tmp_path.iterdir()] == ["wide"]
    assert kp.load_path(tmp_path / "wide" / "path.kpath").n_features == 300
    told = json.loads(done("demo", "--only", "wide", *SMALL, "--json").stdout)
    assert sorted(told) == ["files", "wide"]
    assert (told["wide"]["n_relevant"], told["wide"]["n_relevant_first"]) == (relevant, found)
    assert len(told["wide"]["selected"]) == relevant
    other = done("demo", "--only", "wide", *SMALL, "--json", "--seed", 1).stdout
    assert json.loads(other)["wide"]["selected"] != told["wide"]["selected"]


def test_nothing_is_begun_if_one_of_the_folders_is_not_free(tmp_path, monkeypatch):
    def reached():
        raise AssertionError("the work has begun")

    monkeypatch.setattr("kernelpath.cli.demo.wine", reached)
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide" / "path.csv").write_text("mine")
    result = run("demo", *SMALL, "--out", tmp_path)
    assert result.exit_code == 1
    assert "path.csv is in the way" in result.output


def test_the_demo_as_a_program():
    result = run_program("demo", "--only", "wide", *SMALL, "-j", 1)
    assert result.returncode == 0
    assert result.stderr == ""
    assert "relevant features are the first" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("The same for a table of yours: ")

"""Columns that must be in, that go together and that cost something, on the command line."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from cli.helpers import FOLDS, assert_refused, done, make_frame, run, save_csv
from kernelpath.cli.constraints import listed, read_costs

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "constraints.md"
QUICK = ["--cv", "3", "--predictor", "logistic"]


@pytest.fixture
def table(tmp_path):
    frame = make_frame()
    return save_csv(tmp_path, frame.rename(columns={"g6": "lab_a", "g7": "lab_b"}))


def test_a_path_with_columns_always_in_and_together(table, tmp_path):
    words = ["--must-include", "g0,g5", "--feature-group", "lab_*", "--feature-group", "g1,g2"]
    done("path", table, "-t", "outcome", *words, "--out", tmp_path / "run", "-k", 3)
    path = kp.load_path(tmp_path / "run" / "path.kpath")
    selected = pd.read_csv(tmp_path / "run" / "selected.csv")
    assert {"g0", "g5"} < set(selected["name"])
    assert len(selected) == 3
    assert path.sizes[0] == 2
    supports = path.supports.toarray()
    assert (supports[:, 1] == supports[:, 2]).all()
    assert (supports[:, 6] == supports[:, 7]).all()


@pytest.mark.parametrize("method", ["gmkl", "nmmkl", "gmkl-product"])
def test_other_methods_with_a_path(table, method):
    words = ["path", table, "-t", "outcome", "--method", method, "--must-include", "g0", "--json"]
    found = json.loads(done(*words).stdout)
    assert "g0" in {one["name"] for one in found["selected"]}


def test_scores_by_cost(table, tmp_path):
    words = ["--costs", "g3=5,lab_*=2.5", "--budget", "3.5", "--baselines", "f_test"]
    out = tmp_path / "run"
    printed = done("path", table, "-t", "outcome", *QUICK, *words, "--out", out).stdout
    assert "cost" in printed
    selected = pd.read_csv(out / "selected.csv")
    assert 0 < selected["cost"].sum() <= 3.5
    assert "g3" not in set(selected["name"])  # out of reach
    scores = pd.read_csv(out / "scores.csv")
    assert scores.columns[:3].tolist() == ["method", "n_features", "cost"]
    assert (scores["cost"] >= scores["n_features"]).all()
    summary = json.loads((out / "summary.json").read_text())
    assert summary["cv"]["chosen"]["cost"] == selected["cost"].sum()
    assert all(size["cost"] > 0 and size["cost_in_folds"] > 0 for size in summary["sizes"])
    assert "the chosen features cost" in (out / "report.html").read_text()
    assert summary["settings"]["costs"] == str({"g3": 5.0, "lab_*": 2.5})
    model = kp.load_model(out / "model.kpmodel")
    assert model.operating_point_.cost <= 3.5
    done("report", out, "--out", tmp_path / "again.html")


def test_costs_in_a_file(table, tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text("name,cost\ng3,5\n\ng1,0\n")
    assert read_costs(str(file)) == {"g3": 5.0, "g1": 0.0}
    words = ["path", table, "-t", "outcome", *FOLDS, "--costs", file, "--json"]
    sizes = json.loads(done(*words).stdout)["sizes"]
    assert [size["cost"] <= 9 for size in sizes] == [True] * 3
    for content, said in (("", "holds no costs"), ("g1,2\ng1,3\n", "has two costs"),
                          ("g1,2\ng2\n", "no name and a cost")):  # fmt: skip
        file.write_text(content)
        assert_refused(run(*words), "costs.csv", said)
    assert_refused(run(*words[:-2], tmp_path / "none.csv"), "none.csv")


def test_rankings_obey_with_folds(table):
    words = ["path", table, "-t", "outcome", "--method", "f-test", "--must-include", "g5", "--json"]
    found = json.loads(done(*words, *QUICK).stdout)
    assert "g5" in {one["name"] for one in found["selected"]}
    result = run(*words)
    assert result.exit_code == 2
    assert "without --cv; add --cv 5" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--must-include", "g9"], "--must-include names the column 'g9'"),
        (["--feature-group", "x_*"], "--feature-group names the pattern 'x_*'"),
        (["--feature-group", "g0,g1", "--feature-group", "g1,g2"], "'g1' in two groups"),
        (["--costs", "g0=-1"], "--costs must be numbers"),
        (
            [*QUICK, "--costs", "g0=2", "--budget", "0.5"],
            "--budget 0.5, but the cheapest",
        ),
        (["--feature-group", "g0,g1,g2,g3,g4,g5", "-k", "3"], "nearest"),
        ([*QUICK, "--feature-group", "g0,g1,g2,g3,g4,g5", "-k", "3"], "nearest"),
    ],
)
def test_what_is_wrong_with_the_table_is_said_in_one_line(table, words, said):
    assert_refused(run("path", table, "-t", "outcome", *words), said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*QUICK, "--budget", "2.5"], "is no number of features; add --costs"),
        ([*QUICK, "--budget", "0"], "is no number of features"),
        ([*QUICK, "--budget", "many"], "neither a number of features nor a cost"),
        (["--costs", "g0"], "neither a file such as costs.csv nor costs"),
        (["--costs", "g0=cheap"], "neither a file"),
        (["--method", "l1kr", "--must-include", "g0"], "no effect with --method l1kr"),
        (["--method", "gmkl", "--costs", "g0=1"], "no effect with --method gmkl"),
        ([*QUICK, "--method", "gmkl-product", "--feature-group", "g0,g1"], "no effect with"),
    ],
)
def test_wrong_usage(table, words, said):
    result = run("path", table, "-t", "outcome", *words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_commands_of_the_guide_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["age", "town_north", "town_south", "blood_a", "blood_b", "scan"]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 6)), columns=names)
    frame.assign(sick=np.arange(40) % 2).to_csv("patients.csv", index=False)
    Path("prices.csv").write_text("name,cost\nscan,500\nblood_*,10\n", encoding="utf-8")
    (block,) = re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), flags=re.S)
    for line in block.splitlines():
        words = shlex.split(line.removeprefix("$ kernelpath "))
        done(*words, "--predictor", "logistic", "--overwrite")
    assert "scan" not in set(pd.read_csv("run/selected.csv")["name"])


def test_names_with_commas():
    assert listed('a,"b, c"') == ["a", "b, c"]
    assert read_costs('"b, c=2",a=3') == {"b, c": 2.0, "a": 3.0}

"""``kernelpath compare`` and ``kernelpath methods``, configuration files and completion."""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from cli.helpers import FOLDS, PROGRAM, assert_refused, done, run, save_csv
from kernelpath import catalogue
from kernelpath.catalogue import MOST_BUDGETS
from kernelpath.cli import manifest, run_files
from kernelpath.cli.invocation import with_empty_value
from kernelpath.estimators.rankers import BudgetChoices, entry_on_path
from kernelpath.evaluation.operating_point import RULES
from kernelpath.kernels import KERNELS
from kernelpath.tracers.any_selector import BASELINES, size_grid

ROOT = kp.__path__[0]


@pytest.fixture(scope="module")
def compared(tmp_path_factory, table):
    out = tmp_path_factory.mktemp("runs") / "comparison"
    result = done("compare", table, "-t", "outcome", *FOLDS, "--methods",
                  "f-test,lp-kta,mutual_info", "-o", out)  # fmt: skip
    return out, result.stdout


def test_comparison_files(compared, frame):
    out = compared[0]
    assert sorted(p.name for p in out.iterdir()) == sorted(manifest.COMPARISON_FILES)
    found = json.loads((out / "comparison.json").read_text())
    assert [m["name"] for m in found["methods"]] == ["f-test", "lp-kta", "mutual-info"]
    model = kp.PathCV(
        cv=3,
        n_features=[1, 2, 4],
        predictor="weighted_kernel",
        baselines=("f_test",),
        references=False,
    ).fit(frame.drop(columns="outcome"), frame["outcome"].to_numpy())
    np.testing.assert_allclose(found["methods"][1]["score"], model.scores_.mean)
    expected = model.baseline_scores_["f_test"]
    np.testing.assert_allclose(found["methods"][0]["score"], expected.mean)
    assert found["methods"][1]["one_se"]["n_features"] == model.choose("one_se").n_features
    rows = pd.read_csv(out / "comparison.csv")
    assert list(rows.groupby("method", sort=False).size()) == [3, 3, 3]
    page = (out / "comparison.html").read_text(encoding="utf-8")
    assert "mutual-info" in page
    assert json.loads((out / "run.json").read_text())["argv"][1] == "compare"


def test_comparison_table(compared):
    lines = [line.split() for line in compared[1].splitlines()]
    assert lines[2] == ["features", "f-test", "lp-kta", "mutual-info"]
    assert [line[0] for line in lines[3:6]] == ["1", "2", "4"]
    assert lines[6][0] == "best"
    assert lines[7][:2] == ["one", "se"]
    assert "at" in lines[7]


def test_comparison_without_our_own_method(tmp_path, frame):
    town = np.where(np.arange(60) % 3, frame["outcome"], "other")
    file = save_csv(tmp_path, frame.assign(town=town))
    text = done("compare", file, "-t", "outcome", *FOLDS, "--methods", "f-test,mutual-info",
                "--kernel", "auto", "--json").stdout  # fmt: skip
    found = json.loads(text)
    assert [m["name"] for m in found["methods"]] == ["f-test", "mutual-info"]
    assert found["files"] == []


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_entry_on_a_path(task):
    data = kp.datasets.make_ring(n_samples=80, n_features=5, random_state=0)
    twin = data.X[:, data.relevant[:1]]
    y = data.y if task == "classification" else np.square(data.X[:, data.relevant]).sum(axis=1)
    scores = entry_on_path(np.column_stack([data.X, np.ones(80), twin]), y, task)
    first = sorted(np.argsort(-scores)[:2].tolist())
    assert first[0] in data.relevant or first[1] in data.relevant
    assert scores[5] == 0.0  # constant
    assert sorted(scores[scores > 0].tolist()) == list(range(1, (scores > 0).sum() + 1))


def test_gmkl_in_a_comparison(table):
    text = done("compare", table, "-t", "outcome", *FOLDS, "--methods", "gmkl", "--json").stdout
    assert [m["name"] for m in json.loads(text)["methods"]] == ["gmkl"]


def scores_of(text):
    return {one["name"]: one for one in json.loads(text)["methods"]}


def test_nmmkl_chooses_anew_for_every_size(tmp_path):
    """Its best two do not contain its best one: a ranking could not score both."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(400) % 2 == 0, 1.0, -1.0)
    e, f, g = rng.normal(size=(3, 400))
    X = np.column_stack([1.1 * y + e, 1.1 * y - e + 0.4 * f, 1.55 * y + g])
    path = BudgetChoices([1, 2], "linear", "classification").fit(X, y).path_
    assert [point.names for point in path] == [("x2",), ("x0", "x1")]
    frame = pd.DataFrame(X, columns=["left", "right", "best"])
    file = save_csv(tmp_path, frame.assign(outcome=np.where(y > 0, "sick", "well")))
    out = tmp_path / "out"
    done("compare", file, "-t", "outcome", "--cv", "3", "--predictor", "weighted_kernel", "--sizes",
         "1,2", "--kernel", "linear", "--methods", "nmmkl,f-test", "-o", out)  # fmt: skip
    found = scores_of((out / "comparison.json").read_text())
    assert found["nmmkl"]["score"][1] > found["f-test"]["score"][1] + 0.02
    assert "nmmkl" in (out / "comparison.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("methods", ["nmmkl", "lp-kta,nmmkl", "nmmkl,f-test"])
@pytest.mark.parametrize("target", ["two", "three", "number"])
def test_nmmkl_in_a_comparison(tmp_path, frame, methods, target):
    level = np.abs(frame["g3"])
    frame = frame.assign(
        outcome={
            "two": frame["outcome"],
            "three": np.array(["low", "mid", "high"])[np.digitize(level, [0.4, 1.0])],
            "number": level,
        }[target],
        town=np.where(np.arange(60) % 3, "Ulm", "Bonn"),
        flat=1.0,
        still="same",
    )
    file = save_csv(tmp_path, frame)
    result = done("compare", file, "-t", "outcome", *FOLDS, "--cv", "2", "--methods", methods,
                  "--kernel", "auto", "--json")  # fmt: skip
    found = scores_of(result.stdout)
    assert list(found) == methods.split(",")
    chance = json.loads(result.stdout)["chance"]
    assert found["nmmkl"]["n_features"] == [1, 2, 4]
    assert found["nmmkl"]["score"][0] > chance + 0.2
    notes = " ".join(json.loads(result.stdout)["notes"])
    assert "flat" in notes
    assert "twins" not in notes
    assert "n_features_to_select" not in notes


@pytest.mark.slow
def test_sizes_with_nmmkl_end_early_in_wide_tables(tmp_path, frame):
    wide = np.random.default_rng(1).normal(size=(60, 80))
    wide[:, 7] = frame["g3"]
    table = pd.DataFrame(wide).add_prefix("w").assign(outcome=frame["outcome"])
    result = done("compare", save_csv(tmp_path, table), "-t", "outcome", "--cv", "2", "--predictor",
                  "forest", "--methods", "f-test,nmmkl", "--json")  # fmt: skip
    for one in scores_of(result.stdout).values():
        assert one["n_features"] == size_grid(MOST_BUDGETS).tolist()
    assert "sizes end at 60 features; --sizes" in " ".join(json.loads(result.stdout)["notes"])


def test_budgets_beyond_the_columns_that_vary():
    """A fold may have fewer usable columns than the table: the largest budget is cut."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(40, 3)), np.ones(40)])
    with pytest.warns(UserWarning, match="constant") as caught:
        path = BudgetChoices([1, 2, 4], "rbf", "regression").fit(X, X[:, 0] ** 2).path_
    assert len(caught) == 1
    assert path.n_selected.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ("lp-kta,l1k", ["did you mean", "'l1kr'"]),
        ("lp-kt", ["did you mean", "'lp-kta'"]),
        (",", ["name some of lp-kta"]),
    ],
)
def test_unknown_methods(table, methods, words):
    result = run("compare", table, "-t", "outcome", "--methods", methods)
    assert result.exit_code == 2
    said = " ".join(result.stderr.replace("│", " ").split())
    for word in ["--methods", *words]:
        assert word in said


def test_compare_refuses_as_path_does(tmp_path, table):
    out = tmp_path / "new" / "cmp"
    result = run("compare", table, "-t", "outcom", *FOLDS, "-o", out)
    assert_refused(result, "did you mean 'outcome'")
    assert not out.parent.exists()
    assert_refused(run("compare", table, "-t", "outcome", "--sizes", "99"), "--sizes 99")


def test_methods():
    text = done("methods").stdout
    listed = json.loads(done("methods", "--json").stdout)
    assert [entry["name"] for entry in listed] == list(catalogue.METHODS)
    for entry in listed:
        assert entry["name"] in text
        assert entry["line"][:20] in text


def test_names_are_those_of_the_package():
    from pathlib import Path

    from kernelpath.cli.options import Kernel, Predictor, Rule
    from kernelpath.predictors.choice import OWN_PREDICTORS

    assert set(catalogue.BASELINES) == set(BASELINES)
    assert [kernel.value for kernel in Kernel] == [*KERNELS, "auto"]
    assert {rule.value for rule in Rule} == set(RULES)
    assert {p.value for p in Predictor} == {"auto", *OWN_PREDICTORS}
    guide = Path(__file__).parents[2] / "docs" / "guide"
    for entry in catalogue.METHODS.values():
        assert (guide / f"{entry.guide}.md").exists()


# -- configuration ---------------------------------------------------------------------------------


def options_of(tmp_path, table, text, *more):
    (tmp_path / "run.toml").write_text(text)
    out = tmp_path / "run"
    done("path", table, "--config", tmp_path / "run.toml", "-o", out, *more)
    return json.loads((out / "run.json").read_text())["options"]


def test_options_from_a_file(tmp_path, table):
    text = 'target = "outcome"\nn_features = 2\nelimination-tol = 1e-2\n'
    text += 'drop = ["g0", "g1"]\nquiet = true\n'
    found = options_of(tmp_path, table, text)
    assert (found["target"], found["n-features"], found["drop"]) == ("outcome", 2, ["g0", "g1"])
    assert (found["elimination-tol"], found["quiet"]) == (0.01, True)
    found = options_of(tmp_path, table, text, "-k", "3", "--drop", "g2")
    assert (found["n-features"], found["drop"]) == (3, ["g2"])  # the command line wins


def test_the_command_line_wins_where_both_contradict_each_other(tmp_path, table):
    text = 'target = "outcome"\ncv = 2\nsizes = [1]\npredictor = "joint_rbf"\n'
    more = "quiet = true\nnested = true\ntolerance = 0.5\nbudget = 1\n"
    found = options_of(tmp_path, table, text + more, "--verbose", "--no-nested", "--rule", "best")
    assert (found["quiet"], found["verbose"], found["nested"]) == (False, True, False)
    assert (found["rule"], found["budget"]) == ("best", 1)
    found = options_of(tmp_path, table, text + 'rule = "best"\n', "--tolerance", "0.5")
    assert (found["rule"], found["tolerance"]) == ("tolerance", 0.5)
    # a byte order mark, as some editors write it
    found = options_of(tmp_path, table, "\ufeff" + text, "--budget", "1")
    assert (found["rule"], found["budget"]) == ("one_se", 1)
    assert (found["scoring"], found["task"]) == ("accuracy", "classification")


def test_lists_and_rules_from_a_file(tmp_path, table):
    text = 'target = "outcome"\ncv = 2\nsizes = [1, 2]\nrule = "best"\npredictor = "joint_rbf"\n'
    found = options_of(tmp_path, table, text)
    assert (found["cv"], found["sizes"], found["rule"]) == (2, "1,2", "best")
    assert len(pd.read_csv(tmp_path / "run" / "scores.csv")) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("targetx = 'y'", ["targetx", "did you mean 'target'"]),
        ("target = ", ["is not TOML"]),
        ("quiet = 1", ["quiet is a switch"]),
        ("cv = true", ["cv takes a value"]),
        ("cv = 'many'", ["run.toml", "cv:"]),
        ("rule = 'knee'", ["run.toml", "rule:"]),
        ("sizes = 1.5\ncv = 0", ["run.toml", "cv:"]),
        ("a = " + "[" * 50_000, ["run.toml", "nested too deeply"]),
        ("seed = " + "9" * 5_000, ["run.toml", "cannot be read"]),
        ("out = nan", ["run.toml", "out must be the name", "in quotes", "got nan"]),
        ("out = 0x10", ["run.toml", "out must be the name", "got 16"]),
        ("report = -1", ["run.toml", "report must be the name", "got -1"]),
        ("report = ['a']", ["run.toml", "report must be the name"]),
        ("n-features = 2\nn_features = 3", ["twice"]),
        ("[path]\ncv = 3", ["each key must be one of"]),
        ("sizes = [[1]]", ["text or numbers only"]),
        ("config = 'x'", ["each key must be one of"]),
    ],
)
def test_bad_files(tmp_path, table, text, words):
    (tmp_path / "run.toml").write_text(text)
    result = run("path", table, "-t", "outcome", "--config", tmp_path / "run.toml")
    assert result.exit_code == 2
    assert result.stdout == ""
    said = "".join(result.stderr.replace("│", " ").split())
    for word in words:
        assert word.replace(" ", "") in said


def test_missing_configuration(tmp_path, table):
    result = run("path", table, "--config", tmp_path / "none.toml")
    assert result.exit_code == 2
    assert "no such file" in " ".join(result.stderr.replace("│", " ").split())


# -- completion ------------------------------------------------------------------------------------


def completions(line):
    words = line.split(" ")
    environment = os.environ | {
        "_KERNELPATH_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    result = subprocess.run(
        [str(PROGRAM)], env=environment, capture_output=True, text=True, timeout=60
    )
    return result.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kernelpath pr", ["predict"]),
        ("kernelpath path t.csv --rule o", ["one_se"]),
        ("kernelpath path t.csv --predictor j", ["joint_rbf"]),
        (
            "kernelpath compare t.csv --methods lp-kta,fo",
            ["lp-kta,forest", "lp-kta,forward-stepwise"],
        ),
        ("kernelpath path t.csv --scoring roc", ["roc_auc"]),
    ],
)
def test_completion(line, expected):
    assert completions(line) == expected


def test_completion_can_be_installed():
    text = done("--help").stdout
    assert "--install-completion" in text
    assert "--show-completion" in text


# -- small things ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "parsed"),
    [
        (["--report"], ["--report="]),
        (["--report", "-q"], ["--report=", "-q"]),
        (["--report", "a"], ["--report", "a"]),
        (["--report=a"], ["--report=a"]),
        (["--", "--report"], ["--", "--report"]),
    ],
)
def test_an_option_that_may_stand_alone(args, parsed):
    assert with_empty_value(args) == parsed


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=a", "'=a"),
        ("\ta", "'\ta"),
        ("\ra", "'\\x0da"),
        ("a=b", "a=b"),
        (-1.5, -1.5),
        (None, None),
    ],
)
def test_cells(value, written):
    assert run_files.cell(value) == written

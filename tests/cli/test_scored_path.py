"""``kernelpath path --cv``: scores, the choice, the model and the files of such a run."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from cli.helpers import FOLDS, SCORED, assert_refused, done, make_frame, run, save_csv
from kernelpath.cli import run as run_module
from kernelpath.cli.report import read_summary


@pytest.fixture(scope="module")
def reference(frame):
    """The same cross-validation in Python."""
    model = kp.PathCV(
        cv=3,
        n_features=[1, 2, 4],
        predictor="weighted_kernel",
        random_state=0,
        probability=True,
        references=False,
    )
    return model.fit(frame.drop(columns="outcome"), frame["outcome"].to_numpy())


def test_files_agree_with_python(scored, frame, reference):
    assert sorted(p.name for p in scored.iterdir()) == SCORED
    scores = pd.read_csv(scored / "scores.csv")
    assert list(scores.columns) == [
        "method",
        "n_features",
        "mean",
        "se",
        *map("fold_{}".format, range(3)),
    ]
    np.testing.assert_allclose(scores["mean"], reference.scores_.mean)
    np.testing.assert_allclose(scores["se"], reference.scores_.se)
    assert set(scores["method"]) == {"lp-kta"}
    summary = read_summary(scored / "summary.json")
    assert summary["cv"]["chosen"]["n_features"] == reference.operating_point_.n_features
    model = kp.load_model(scored / "model.kpmodel")
    X = frame.drop(columns="outcome")
    assert (model.predict(X) == reference.predict(X)).all()
    assert (model.predict(X, n_features=2) == reference.predict(X, n_features=2)).all()
    assert kp.load_path(scored / "path.kpath") == reference.path_
    for name in ("path.png", "accuracy.png"):
        assert (scored / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_selected_has_the_share_of_the_folds(scored, reference):
    selected = pd.read_csv(scored / "selected.csv")
    assert list(selected.columns) == [
        "rank",
        "name",
        "weight",
        "share_of_folds",
        "p_value",
        "q_value",
        "column",
    ]
    assert tuple(selected["name"]) == reference.path_.at(n_features=2).names
    shares = reference.stability_.of(2).set_index("name")["frequency"]
    assert selected["share_of_folds"].tolist() == shares[selected["name"]].tolist()


def test_the_record_repeats_the_command(scored, table):
    record = json.loads((scored / "run.json").read_text())
    assert record["argv"][:3] == ["kernelpath", "path", str(table)]
    assert record["command"].startswith(f"kernelpath path {table} -t outcome --cv 3")
    assert (record["options"]["cv"], record["options"]["sizes"]) == (3, "1,2,4")
    assert record["options"]["predictor"] == "weighted_kernel"
    assert record["data"]["file"] == table.name
    assert len(record["data"]["fingerprint"]) == 64
    assert record["seconds"] > 0
    assert record["versions"]["kernelpath"] == kp.__version__
    assert sorted([*record["files"], "run.json"]) == SCORED


def test_the_page_has_headline_and_command(scored, table):
    page = (scored / "report.html").read_text(encoding="utf-8")
    assert "<!doctype html>" in page
    assert f"{table.name}: outcome" in page
    assert "kernelpath path" in page
    assert "model.kpmodel" in page


def test_table_marks_chosen_and_best(tmp_path, table, reference):
    result = done("path", table, "-t", "outcome", *FOLDS)
    lines = result.stdout.splitlines()
    assert " ± " in lines[2]  # the headline comes first, then plain models of all features
    assert lines[3].startswith("All 8 features: logistic regression 0.")
    start = lines.index("", 3) + 2
    rows = {line.split()[0]: line for line in lines[start : start + 3]}
    point = reference.operating_point_
    assert f"{point.score:.3f}" in rows[str(point.n_features)]
    assert "chosen (one_se)" in rows[str(point.n_features)]
    best = reference.choose("best").n_features
    assert "best" in rows[str(best)]
    assert sum("best" in row for row in rows.values()) == 1
    assert lines[-1] == "Nothing was written; add --out DIR to keep the path."


def test_a_leak_is_said_once_beside_the_result(tmp_path, frame):
    file = save_csv(tmp_path, frame.assign(bill=(frame["outcome"] == frame["outcome"][0]) * 7.5))
    result = done("path", file, "-t", "outcome", *FOLDS)
    said = [line for line in result.stdout.splitlines() if "'bill' alone reaches 1.000" in line]
    assert len(said) == 1
    assert "'bill'" not in result.stderr
    quiet = done("path", file, "-t", "outcome", *FOLDS, "--quiet")
    assert "note: Column 'bill' alone reaches 1.000" in quiet.stderr


def test_json_of_scores(table, reference):
    text = done("path", table, "-t", "outcome", *FOLDS, "--json").stdout
    assert len(text.splitlines()) == 1
    found = json.loads(text)
    assert [size["n_features"] for size in found["sizes"]] == [1, 2, 4]
    assert found["chosen"]["n_features"] == reference.operating_point_.n_features
    assert found["selected"][0]["name"] == "g3"
    assert 0 <= found["selected"][0]["share_of_folds"] <= 1
    assert [one["name"] for one in found["references"]] == ["logistic", "boosting"]
    assert found["files"] == []


def chosen(*arguments):
    return json.loads(done("path", *arguments, "--json").stdout)["chosen"]["n_features"]


def test_a_budget_alone_bounds_the_rule_that_is_in_force(table, reference):
    found = json.loads(done("path", table, "-t", "outcome", *FOLDS, "--budget", 2, "--json").stdout)
    point = reference.choose(budget=2)
    assert (found["rule"], found["chosen"]["n_features"]) == ("one_se", point.n_features)


def test_rules(table, reference):
    base = [table, "-t", "outcome", *FOLDS]
    assert chosen(*base, "--budget", 1) == 1
    assert chosen(*base, "--tolerance", 1) == 1
    assert chosen(*base, "--rule", "best") == reference.choose("best").n_features
    assert chosen(*base, "--rule", "stable") == reference.choose("stable").n_features
    for rule in ("one_se", "best", "tolerance"):  # a budget bounds every rule
        most = reference.choose(rule, budget=2).n_features
        assert chosen(*base, "--rule", rule, "--budget", 2) == most <= 2
    assert chosen(*base, "--tolerance", 0, "--budget", 1) == 1


def test_baselines_and_nested(tmp_path, table):
    out = tmp_path / "run"
    result = done(
        "path", table, "-t", "outcome", "--cv", 2, "--sizes", "1,2", "--predictor",
        "weighted_kernel", "--baselines", "f-test", "--nested", "-o", out,
    )  # fmt: skip
    assert "The whole procedure, the choice included: 0." in result.stdout
    scores = pd.read_csv(out / "scores.csv")
    assert list(scores["method"]) == ["lp-kta", "lp-kta", "f_test", "f_test"]
    summary = json.loads((out / "summary.json").read_text())
    assert [b["name"] for b in summary["baselines"]] == ["f_test"]
    assert summary["cv"]["nested"]["score"] is not None


def test_baselines_by_the_names_of_the_catalogue(tmp_path, frame, table):
    base = ["-t", "outcome", *FOLDS, "--json", "--baselines"]
    found = json.loads(done("path", table, *base, "SVM_LW,nmmkl").stdout)
    assert [own["name"] for own in found["baselines"]] == ["svm-lw", "nmmkl"]
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    settings = {"cv": 3, "n_features": [1, 2, 4], "predictor": "weighted_kernel"}
    model = kp.PathCV(baselines=["svm-lw", "nmmkl"], **settings, references=False).fit(X, y)
    for own in found["baselines"]:
        assert own["score"] == pytest.approx(model.baseline_scores_[own["name"]].mean, abs=1e-4)
    result = run("path", table, *base, "svr-lw")
    assert_refused(result, "svr-lw takes numbers", "leave it out of --baselines", "--task regr")


def test_groups_stay_together_and_are_no_feature(tmp_path, frame, monkeypatch):
    file = save_csv(tmp_path, frame.assign(patient=np.repeat([f"p{i}" for i in range(20)], 3)))
    seen = {}
    fit = run_module.PathCV.fit

    def watch(self, X, y, groups=None):
        seen["groups"] = groups
        model = fit(self, X, y, groups=groups)
        seen["splits"] = model._run.splits
        return model

    monkeypatch.setattr(run_module.PathCV, "fit", watch)
    found = json.loads(
        done("path", file, "-t", "outcome", "--groups", "patient", *FOLDS, "--json").stdout
    )
    assert found["n_features"] == 8
    for train, test in seen["splits"]:
        assert not set(seen["groups"][train]) & set(seen["groups"][test])
    result = run("path", file, "-t", "outcome", "--groups", "patent", *FOLDS)
    assert_refused(result, "--groups", "did you mean 'patient'")
    result = run("path", file, "-t", "outcome", "--groups", "outcome", *FOLDS)
    assert_refused(result, "both the target and --groups")


def test_names_of_a_matrix_are_kept(tmp_path, frame):
    X = frame.drop(columns="outcome")
    names = np.array([f"gene {j}" for j in range(8)])
    np.savez(tmp_path / "t.npz", X=X, y=frame["outcome"].to_numpy(str), feature_names=names)
    out = tmp_path / "run"
    done("path", tmp_path / "t.npz", *FOLDS, "-o", out)
    assert pd.read_csv(out / "selected.csv")["name"][0] == "gene 3"
    assert kp.load_path(out / "path.kpath").feature_names.tolist() == names.tolist()
    renamed = frame.rename(columns={f"g{j}": f"gene {j}" for j in range(8)})
    new = save_csv(tmp_path, renamed, "new.csv")
    expected = kp.load_model(out / "model.kpmodel").predict(X.to_numpy())
    shown = done("predict", out, new).stdout.splitlines()[1:]
    assert shown == expected.tolist()


def test_text_columns_and_regression(tmp_path, frame):
    town = np.where(np.arange(60) % 3, frame["outcome"], "other")
    number = (10 * frame["g5"] ** 2).round(2)
    file = save_csv(tmp_path, frame.drop(columns="outcome").assign(town=town, y=number))
    numbers = run("path", file, "-t", "y", *FOLDS, "--kernel", "rbf")
    assert_refused(numbers, "column 'town' holds text")
    found = json.loads(done("path", file, "-t", "y", *FOLDS, "--json").stdout)
    assert (found["task"], found["scoring"]) == ("regression", "r2")


def test_spreadsheet_formulas_are_text(tmp_path, frame):
    named = frame.rename(columns={"g3": "=1+1", "g0": "+x", "g1": "-y", "g2": "@z"})
    file = save_csv(tmp_path, named)
    out = tmp_path / "run"
    done("path", file, "-t", "outcome", "-k", 8, "-o", out)
    names = pd.read_csv(out / "selected.csv")["name"].tolist()
    assert names[0] == "'=1+1"
    assert {"'+x", "'-y", "'@z", "g4"} < set(names)
    assert pd.read_csv(out / "path.csv")["top_features"].str.startswith("'=1+1").all()
    # the other files keep the names as they are
    assert "=1+1" in kp.load_path(out / "path.kpath").feature_names


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rule", "best"], ["--rule", "without --cv"]),
        (["--sizes", "1,2"], ["--sizes", "without --cv"]),
        (["--nested"], ["--nested", "without --cv"]),
        (["--tolerance", "0"], ["--tolerance", "without --cv"]),
        ([*FOLDS, "--cv", "1"], ["--cv"]),
        ([*FOLDS, "--rule", "budget"], ["--rule", "--budget"]),
        ([*FOLDS, "--rule", "best", "--tolerance", "1"], ["--tolerance", "no effect"]),
        ([*FOLDS, "--rule", "knee"], ["--rule", "one_se"]),
        ([*FOLDS, "--predictor", "trees"], ["--predictor"]),
        ([*FOLDS, "--scoring", "accuracy1"], ["--scoring", "did you mean", "'accuracy'"]),
        ([*FOLDS, "--baselines", "f_tst"], ["--baselines", "did you mean", "'f_test'"]),
        ([*FOLDS, "--baselines", "forest,lp_kta"], ["--baselines", "lp-kta is the method of"]),
        ([*FOLDS, "--sizes", "1,x"], ["--sizes"]),
        ([*FOLDS, "--sizes", "0,1"], ["--sizes"]),
        (["--quiet", "--verbose"], ["contradict"]),
    ],
)
def test_wrong_usage(tmp_path, table, options, words):
    result = run("path", table, "-t", "outcome", *options, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert result.stdout == ""
    said = " ".join(result.stderr.replace("│", " ").split())
    for word in words:
        assert word in said
    assert list(tmp_path.iterdir()) == []


def test_refused_data_leave_nothing(tmp_path, frame):
    rare = frame.assign(outcome=["rare", *["often"] * (len(frame) - 1)])
    out = tmp_path / "new" / "run"
    file = save_csv(tmp_path, rare)
    result = run("path", file, "-t", "outcome", *FOLDS, "-o", out)
    assert_refused(result, "'rare' has 1 row", "--cv 3")
    result = run("path", file, "-t", "outcome", "--cv", 3, "--sizes", "9", "-o", out)
    assert_refused(result, "--sizes 9 is too many", "8 features")
    result = run("path", file, "-t", "outcome", *FOLDS, "-k", 9, "-o", out)
    assert_refused(result, "--n-features 9 is too many")
    result = run("path", file, "-t", "outcome", *FOLDS, "--scoring", "neg_log_loss", "-o", out)
    assert_refused(result, "--proba")
    broken = save_csv(tmp_path, frame.assign(g2=np.where(frame.index == 3, np.inf, frame["g2"])))
    result = run("path", broken, "-t", "outcome", *FOLDS, "-o", out)
    assert_refused(result, "column 'g2' holds infinite values")
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_a_run_without_scores_does_not_remove_a_model(tmp_path, table, scored):
    for file in scored.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    result = run("path", table, "-t", "outcome", "-o", tmp_path)
    assert_refused(result, "model.kpmodel", "another folder")
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    (tmp_path / "model.kpmodel").unlink()
    done("path", table, "-t", "outcome", "-o", tmp_path)  # scores would contradict the new path
    assert not {"scores.csv", "model.kpmodel", "accuracy.png"} & {
        p.name for p in tmp_path.iterdir()
    }


def test_report_option(tmp_path, table, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = done("path", table, "-t", "outcome", "--report")
    assert result.stdout.endswith("Wrote report.html\n")
    done("path", table, "-t", "outcome", "--report", "deep/page.html", "-q")
    assert (tmp_path / "report.html").read_bytes().startswith(b"<!doctype html>")
    assert (tmp_path / "deep" / "page.html").exists()
    out = tmp_path / "run"
    done("path", table, "-t", "outcome", "--report", "-o", out)  # in the run folder anyway
    assert (out / "report.html").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "report.html", "run"]


def test_without_jinja2_all_but_the_page_is_written(tmp_path, table, monkeypatch):
    def missing(*args, **options):
        raise ImportError("Pages need jinja2, which is not installed")

    monkeypatch.setattr("kernelpath.report.html.render_html", missing)
    result = done("path", table, "-t", "outcome", "-o", tmp_path / "run")
    assert "note: Pages need jinja2" in result.stderr
    assert not (tmp_path / "run" / "report.html").exists()
    assert (tmp_path / "run" / "summary.json").exists()
    result = run("path", table, "-t", "outcome", "--report", tmp_path / "page.html")
    assert_refused(result, "Pages need jinja2")


def test_verbose_says_the_plan(table, capfd):
    # PathCV writes to the real stderr stream of the process that runs it
    result = done("path", table, "-t", "outcome", *FOLDS, "--verbose")
    said = result.stderr + capfd.readouterr().err
    assert "3 folds x 3 sizes" in said
    assert "models" in said


def test_small_frames_are_enough(tmp_path):
    file = save_csv(tmp_path, make_frame(20, 4))
    done("path", file, "-t", "outcome", "--cv", 2, "--predictor", "joint_rbf", "--quiet")

"""``kernelpath path --method``: the same files for every method, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from baseline_examples import draw_less
from cli.helpers import FILES, SCORED, assert_refused, done, run, save_csv
from kernelpath.catalogue import CLASSES, METHODS, makers
from kernelpath.estimators import rankers
from kernelpath.tracers import any_selector

FEW = ["--cv", "2", "--sizes", "1,2"]
OWN = [name for name, entry in METHODS.items() if not entry.needs]
FOR_CLASSES = [name for name in OWN if CLASSES in METHODS[name].tasks]
FOR_NUMBERS = [name for name in OWN if name not in FOR_CLASSES]


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch):
    draw_less(monkeypatch)


@pytest.fixture(scope="module")
def small(tmp_path_factory, frame):
    """Few columns, from 0 on: every method takes them and traces them in a moment."""
    folder = tmp_path_factory.mktemp("small")
    table = frame[["g2", "g3", "g5"]].assign(g9=frame["g3"].abs()).head(40)
    return save_csv(folder, (table - table.min()).assign(outcome=frame["outcome"]))


@pytest.fixture(scope="module")
def doses(tmp_path_factory, frame):
    folder = tmp_path_factory.mktemp("doses")
    table = frame[["g2", "g3", "g5"]].assign(dose=2 * frame["g3"] + frame["g5"])
    return save_csv(folder, table.head(40))


@pytest.mark.parametrize("name", FOR_CLASSES)
def test_files_without_folds(tmp_path, small, name):
    out = tmp_path / "run"
    result = done("path", small, "-t", "outcome", "--method", name, "-o", out)
    assert sorted(p.name for p in out.iterdir()) == sorted(FILES)
    path = kp.load_path(out / "path.kpath")
    assert path.feature_names.tolist() == ["g2", "g3", "g5", "g9"]
    rows = pd.read_csv(out / "selected.csv")
    assert ("alignment" in rows) == (name == "lp-kta")
    assert len(rows) >= 1
    assert "features" in result.stdout
    assert json.loads((out / "run.json").read_text())["options"]["method"] == name
    assert json.loads((out / "summary.json").read_text())["method"] == name
    assert f"method {METHODS[name].label}" in (out / "report.html").read_text()
    done("report", out)
    assert f"method {METHODS[name].label}" in (out / "report.html").read_text()


@pytest.fixture
def coarse(monkeypatch):
    """Fewer trees of a forest, fewer points of a path, and one budget."""
    monkeypatch.setattr(any_selector, "N_TREES", 20)
    monkeypatch.setattr(makers, "N_STRENGTHS", 12)
    monkeypatch.setattr(rankers, "L1KR_BUDGETS", (0.3,))


SOONER = ("gmkl", "fisher", "f-test")


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SOONER else pytest.mark.slow) for name in FOR_CLASSES],
)
def test_files_with_folds(tmp_path, small, name):
    check_scored(tmp_path, small, "outcome", name)


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("name", [*FOR_NUMBERS, "gmkl-product", "mutual-info"])
def test_numbers(tmp_path, doses, name):
    check_scored(tmp_path, doses, "dose", name)


def check_scored(tmp_path, file, target, name):
    out = tmp_path / "run"
    predictor = "auto" if name in ("f-test", "mutual-info") else "joint_rbf"
    done("path", file, "-t", target, "--method", name, *FEW, "--predictor", predictor, "-o", out)
    assert sorted(p.name for p in out.iterdir()) == SCORED
    chosen = pd.read_csv(out / "selected.csv")
    model = kp.load_model(out / "model.kpmodel")
    assert sorted(chosen["name"]) == sorted(model.operating_point_.feature_names)
    frame = pd.read_csv(file)
    said = done("predict", out, file).stdout.split()[1:]
    expected = model.predict(frame.drop(columns=target)).astype(str).tolist()
    if target == "outcome":
        assert said == expected
    else:
        np.testing.assert_allclose(np.array(said, float), np.array(expected, float), rtol=1e-6)
    done("report", out)
    # A model refits: it knows its selector.
    frame = frame.iloc[:30]
    model.set_params(n_features=[1], references=False).fit(
        frame.drop(columns=target), frame[target]
    )


def test_the_same_scores_as_in_a_comparison(small):
    own = json.loads(
        done("path", small, "-t", "outcome", "--method", "f-test", *FEW, "--json").stdout
    )
    both = json.loads(
        done("compare", small, "-t", "outcome", "--methods", "f-test", *FEW, "--json").stdout
    )
    assert [size["score"] for size in own["sizes"]] == pytest.approx(
        both["methods"][0]["score"], abs=1e-6
    )


def test_settings_reach_the_selector(tmp_path, small):
    for name, given, held in [
        ("nmmkl", ["--C", "0.1", "--kernel", "linear"], {"C": 0.1, "kernel": "linear"}),
        ("gmkl", ["--C", "2"], {"C": 2.0, "base_kernel": "auto"}),
        ("svm-lw", ["--C", "3"], {"C": 3.0}),
        ("forest", ["--seed", "4"], {"seed": 4}),
    ]:
        out = tmp_path / name
        done("path", small, "-t", "outcome", "--method", name, *given, "-o", out)
        parameters = kp.load_path(out / "path.kpath").provenance["parameters"]
        assert held.items() <= parameters.items()


def test_sizes_without_folds(small):
    def found(*more):
        text = done("path", small, "-t", "outcome", *more, "--json").stdout
        return json.loads(text)

    ranked = found("--method", "fisher", "-k", "2")
    assert [row["n_features"] for row in ranked["points"]] == [4, 2, 1]
    assert (len(ranked["selected"]), ranked["points"][0]["kkt"]) == (2, None)
    assert ranked["points"][0]["parameter"] == 4
    chosen = found("--method", "nmmkl")
    assert len(chosen["selected"]) == 4
    assert chosen["points"][0]["gap"] is not None


def test_a_size_that_a_path_lacks(monkeypatch, small):
    result = run("path", small, "-t", "outcome", "--method", "l1kr", "-k", "99")
    assert_refused(result, "--n-features 99 is too many")
    monkeypatch.setattr(makers, "N_STRENGTHS", 2)
    result = run("path", small, "-t", "outcome", "--method", "gmkl", "-k", "1")
    assert_refused(result, "no point has exactly 1 feature", "the nearest larger size")


def test_sizes_that_some_folds_lack_are_named(monkeypatch, small):
    monkeypatch.setattr(makers, "N_STRENGTHS", 2)
    text = done(
        "path", small, "-t", "outcome", "--method", "gmkl", *FEW, "-k", "1", "--json"
    ).stdout
    notes = " ".join(json.loads(text)["notes"])
    assert "gmkl does not have all sizes in every fold: at 1, 2 some folds" in notes
    assert json.loads(text)["selected"] == []  # the next smaller size is none


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("l1kr", "two classes, and 'outcome' has 3; take another --method"),
        ("forward-stepwise", "two classes, and 'outcome' has 3"),
        ("svr-lw", "svr-lw takes numbers, and 'outcome' holds classes"),
    ],
)
@pytest.mark.parametrize("more", [[], FEW])
def test_targets_that_are_refused(tmp_path, frame, name, words, more):
    three = frame.assign(outcome=np.array(["a", "b", "c"])[np.arange(60) % 3])
    out = tmp_path / "out"
    file = save_csv(tmp_path, three)
    assert_refused(run("path", file, "-t", "outcome", "--method", name, *more, "-o", out), words)
    assert not out.exists()


def test_negative_counts_are_refused(tmp_path, frame):
    file = save_csv(tmp_path, frame[["g2", "g3", "outcome"]])
    for more in ([], FEW):
        result = run("path", file, "-t", "outcome", "--method", "chi-square", *more)
        assert_refused(result, "columns 'g2', 'g3' hold some; leave such columns out")


def test_numbers_are_refused_by_methods_for_classes(doses):
    result = run("path", doses, "-t", "dose", "--method", "svm-lw")
    assert_refused(
        result, "svm-lw takes classes, and 'dose' holds numbers", "--task classification"
    )


def test_text(tmp_path, frame):
    file = save_csv(tmp_path, frame[["g2", "g3", "outcome"]].assign(town=frame["outcome"] + "!"))
    for name in ("fisher", "l1kr", "gmkl-product"):
        result = run("path", file, "-t", "outcome", "--method", name)
        assert_refused(result, "column 'town' holds text", f"{name} takes numbers")
    for name in ("f-test", "gmkl", "nmmkl"):
        text = done("path", file, "-t", "outcome", "--method", name, "-k", "1", "--json").stdout
        assert [one["name"] for one in json.loads(text)["selected"]] == ["town"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "gmkl", "--norm-strength", "3"], "'--norm-strength': has no effect"),
        (["--method", "nmmkl", "--bandwidth", "median"], "--method nmmkl; leave it out"),
        (["--method", "fisher", "--kernel", "linear"], "'--kernel': has no effect"),
        (["--method", "f-test", "--kernel", "linear"], "'--kernel': has no effect"),
        (["--method", "l1kr", "--C", "1"], "'--C': has no effect"),
        (["--C", "1"], "has no effect with --method lp-kta"),
        (["--method", "gmkl", "--C", "0"], "must lie between 1e-08 and 1e+08"),
        (["--method", "nmmkl", "--jobs", "2"], "'--jobs': has no effect"),
        (["--method", "fisher", "--seed", "2"], "has no effect without --cv"),
        (["--method", "l1kr", "--predictor", "weighted_kernel", "--cv", "2"], "take joint_rbf"),
        (["--method", "fischer"], "did you mean 'fisher'?"),
    ],
)
def test_options_that_are_refused(small, options, words):
    result = run("path", small, "-t", "outcome", *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in " ".join(result.stderr.replace("│", " ").split())


def test_method_from_a_file(tmp_path, small):
    (tmp_path / "run.toml").write_text('target = "outcome"\nmethod = "svm_lw"\nC = 0.5\n')
    out = tmp_path / "run"
    done("path", small, "--config", tmp_path / "run.toml", "-o", out)
    options = json.loads((out / "run.json").read_text())["options"]
    assert (options["method"], options["C"]) == ("svm-lw", 0.5)


def test_many_columns(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 600))
    np.savez(tmp_path / "wide.npz", X=X, y=(X[:, 5] > 0).astype(int))
    text = done("path", tmp_path / "wide.npz", "--method", "fisher", "--json").stdout
    assert json.loads(text)["selected"][0]["column"] == 5
    assert len(json.loads(text)["selected"]) == 10

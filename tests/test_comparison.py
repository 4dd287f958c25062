"""kp.compare: the same folds and predictor for all, names and selectors, the paired test."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression

import kernelpath as kp
from kernelpath.comparison import corrected_test, named_methods
from kernelpath.report.form import schema

ONE = kp.JointRBFSVM(gamma=1.0, C=10.0)  # nothing to tune
FEW = {"cv": 4, "n_features": [1, 2, 4], "predictor": ONE}


@pytest.fixture(scope="module")
def data():
    return kp.datasets.make_ring(n_samples=120, n_features=6, random_state=0)


@pytest.fixture(scope="module")
def found(data):
    return kp.compare(data.X, data.y, ["f-test", "lp-kta", "forest"], **FEW)


def test_scores_are_those_of_path_cv(data, found):
    assert list(found.scores) == ["f-test", "lp-kta", "forest"]
    model = kp.PathCV(
        kp.LpKTASelector(), baselines=("f_test", "forest"), references=False, **FEW
    ).fit(data.X, data.y)
    assert found.scores["lp-kta"] == model.scores_
    assert found.scores["f-test"] == model.baseline_scores_["f_test"]
    assert found.scores["forest"] == model.baseline_scores_["forest"]
    assert found.first == "lp-kta"
    assert "best of each: f-test" in repr(found)


def test_frame(found):
    frame = found.to_frame()
    assert frame.columns.tolist()[:4] == ["method", "n_features", "mean", "se"]
    assert frame.shape == (9, 4 + 4)
    np.testing.assert_array_equal(
        frame.loc[frame["method"] == "lp-kta", "mean"], found.scores["lp-kta"].mean
    )


def test_methods_as_selectors_and_by_name_of_your_own(data):
    methods = {
        "theirs": f_classif,
        "ours": kp.LpKTASelector(kernel="linear"),
        "named": "mutual_info",
        "fisher": kp.baselines.Fisher("all"),
    }
    tuned = FEW | {"cv": 2, "predictor": "joint_rbf"}
    found = kp.compare(data.X, data.y, methods, **tuned)
    assert list(found.scores) == list(methods)
    assert found.first == "ours"
    assert found.summary()["method"] == "ours"
    assert found.scores["theirs"] == kp.compare(data.X, data.y, "f-test", **tuned).scores["f-test"]


def test_names():
    assert list(named_methods(["gmkl", "gmkl", "l1kr"])) == ["gmkl", "l1kr"]
    assert list(named_methods(f_classif)) == ["f_classif"]
    with pytest.raises(ValueError, match="did you mean 'lp-kta'"):
        named_methods(["lp-kt"])
    with pytest.raises(ValueError, match="methods is empty"):
        named_methods([])
    with pytest.raises(TypeError, match="an object of it"):
        named_methods([kp.LpKTASelector])


def test_settings_reach_path_cv(data):
    found = kp.compare(
        data.X, data.y, ["f-test"], cv=3, n_features=2, predictor=LogisticRegression(),
        scoring="roc_auc", random_state=np.random.RandomState(7), feature_names=list("abcdef"),
        groups=np.arange(120) // 2,
    )  # fmt: skip
    scores = found.scores["f-test"]
    assert (scores.scoring, scores.n_folds, scores.n_features.tolist()) == ("roc_auc", 3, [2])
    assert set(found.model.operating_point_.feature_names) <= set("abcdef")


@pytest.mark.parametrize("names", [["gmkl-product", "svm-lw"], ["l1-svm", "r2w2"]])
def test_numbers_of_a_regression_and_classes(data, names):
    found = kp.compare(data.X, data.y, names, **FEW | {"cv": 2})
    assert list(found.scores) == names


# -- refusals --------------------------------------------------------------------------------------


def test_tables_are_refused_before_any_work(data, monkeypatch):
    monkeypatch.setattr(kp.PathCV, "fit", lambda *args, **more: pytest.fail("work was done"))
    three = np.arange(120) % 3
    with pytest.raises(kp.DataError, match=r"l1kr takes .* two classes, and y has 3; leave it out"):
        kp.compare(data.X, three, ["lp-kta", "l1kr"])
    with pytest.raises(kp.DataError, match="lasso-lw takes numbers, and y holds classes"):
        kp.compare(data.X, data.y, ["lp-kta", "lasso-lw"])
    frame = pd.DataFrame(data.X).add_prefix("x").assign(town=np.where(three, "Ulm", "Bonn"))
    with pytest.raises(kp.DataError, match=r"'town'.* text, and fisher takes numbers"):
        kp.compare(frame, data.y, ["lp-kta", "fisher"], kernel="auto")
    inside = {"inside": kp.L1KRClassifier(), "f": "f-test"}
    with pytest.raises(ValueError, match=r"weights of inside .* predictor='joint_rbf'"):
        kp.compare(data.X, data.y, inside)


def test_text_counts_as_codes_in_rankings(data):
    town = np.where(data.y == data.y[0], "Ulm", "Bonn")
    frame = pd.DataFrame(data.X).add_prefix("x").assign(town=town)
    found = kp.compare(frame, data.y, ["f-test", "nmmkl"], kernel="auto", **FEW)
    assert found.scores["f-test"].mean[0] == 1.0


def test_wide_tables_are_warned_of():
    X = np.random.default_rng(0).normal(size=(40, 70))
    y = X[:, 3] > 0
    with pytest.warns(UserWarning, match="sizes end at 60 features; n_features names others"):
        found = kp.compare(
            X, y, {"nmmkl": "nmmkl", "f": "f-test"}, cv=2, predictor=LogisticRegression()
        )
    assert found.scores["f"].n_features[-1] == 60


# -- the test --------------------------------------------------------------------------------------


def test_differences_by_hand(found):
    table = found.differences("f-test", n_features=2)
    assert table["method"].tolist() == ["lp-kta", "forest"]
    own = found.scores["lp-kta"].per_fold[:, 1] - found.scores["f-test"].per_fold[:, 1]
    se = np.sqrt((1 / 4 + 30 / 90) * own.var(ddof=1))
    row = table.iloc[0]
    assert row["difference"] == pytest.approx(own.mean())
    assert row["se"] == pytest.approx(se)
    assert (row["df"], row["n_features"]) == (3, 2)
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(own.mean() / se), 3))


def test_differences_of_the_mean_and_of_each_size(found):
    mean, each = found.differences(), found.differences(n_features="each")
    assert mean["against"].unique().tolist() == ["f-test"]
    assert mean["n_features"].isna().all()
    assert each["n_features"].tolist() == [1, 2, 4, 1, 2, 4]
    np.testing.assert_allclose(
        each.groupby("method", sort=False)["difference"].mean(), mean["difference"], atol=1e-12
    )
    turned = found.differences("lp-kta").set_index("method").loc["f-test"]
    assert turned["difference"] == pytest.approx(-mean["difference"].iloc[0])
    assert turned["p_value"] == pytest.approx(mean["p_value"].iloc[0])


def test_differences_that_cannot_be(found):
    with pytest.raises(ValueError, match="did you mean 'f-test'"):
        found.differences("ftest")
    with pytest.raises(kp.DataError, match="3 features were not scored"):
        found.differences(n_features=3)
    with pytest.raises(ValueError, match="did you mean 'each'"):
        found.differences(n_features="eac")


@pytest.mark.parametrize(
    ("differences", "p"), [([0.0, 0.0], 1.0), ([0.1, 0.1], 0.0), ([0.1, np.nan], np.nan)]
)
def test_differences_without_spread(differences, p):
    found = corrected_test(differences, 0.5)
    assert found["p_value"] == pytest.approx(p, nan_ok=True)


def test_the_corrected_test_holds_its_level():
    """Differences of folds that share rows: the plain test would be wrong twice as often."""
    rng = np.random.default_rng(0)
    k, ratio, n = 5, 1 / 4, 2000
    # Correlation rho = n_test / (n_train + n_test), which the correction assumes.
    common = np.sqrt(0.2) * rng.normal(size=(n, 1))
    drawn = common + np.sqrt(0.8) * rng.normal(size=(n, k))
    corrected = np.mean([corrected_test(row, ratio)["p_value"] < 0.05 for row in drawn])
    plain = np.mean([corrected_test(row, 0.0)["p_value"] < 0.05 for row in drawn])
    assert 0.03 < corrected < 0.07
    assert plain > 0.12


# -- outputs ---------------------------------------------------------------------------------------


def test_summary_picture_and_page(found, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("matplotlib").use("Agg")
    summary = found.summary()
    jsonschema.validate(summary, schema())
    assert [one["name"] for one in summary["baselines"]] == ["f-test", "forest"]
    labels = [text.get_text() for text in found.plot().texts]
    assert any("lp-kta" in text for text in labels)
    found.save_html(tmp_path / "page.html", title="Three methods")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>Three methods</title>" in page
    assert "forest" in page


def test_as_dict(found):
    plain = found.as_dict(["a note"])
    assert plain["notes"] == ["a note"]
    assert [one["name"] for one in plain["methods"]] == list(found.scores)
    assert plain["n_folds"] == 4

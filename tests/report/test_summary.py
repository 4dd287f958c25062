"""The summary that every report is drawn from: its form, its numbers, its words."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from jsonschema import Draft202012Validator
from sklearn.feature_selection import f_classif

import kernelpath as kp
from kernelpath.inputs import as_column_table
from kernelpath.report.facts import describe_data, notices
from kernelpath.report.summary import schema, summarize_path
from kernelpath.report.views import feature_views, kernel_curve, redundancy
from kernelpath.report.words import headline

HOSTILE = ["<script>alert(1)</script>", '"quoted"', "=1+1", "\U0001f600", "\u202eright", "x" * 300]


def valid(summary):
    """A summary that fits the schema and survives JSON."""
    Draft202012Validator(schema()).validate(summary)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    return summary


@pytest.fixture(scope="module")
def ring():
    return kp.datasets.make_ring(n_samples=120, n_features=8, random_state=0)


@pytest.fixture(scope="module")
def model(ring):
    names = [*HOSTILE, "a", "b"]
    frame = pd.DataFrame(ring.X, columns=names)
    options = {"cv": 3, "n_features": [1, 2, 3, 5, 8], "baselines": ("f_test",)}
    return kp.PathCV(predictor="joint_rbf", **options).fit(frame, ring.y)


def test_the_schema_is_one():
    Draft202012Validator.check_schema(schema())


def test_path_alone(ring):
    path = kp.LpKTASelector().fit(ring.X, ring.y).path_
    summary = valid(path.summary())
    assert summary["kind"] == "path"
    assert summary["cv"] is summary["data"] is summary["redundancy"] is None
    assert summary["points"]["n_selected"] == path.n_selected.tolist()
    np.testing.assert_allclose(summary["points"]["parameter"], path.parameters, rtol=1e-6)
    for size in summary["sizes"]:
        point = path.at(n_features=size["n_features"])
        names = [summary["features"][place]["name"] for place in size["features"]]
        assert tuple(names) == point.names
        columns = [summary["features"][place]["index"] for place in size["features"]]
        np.testing.assert_allclose(size["weights"], point.weights[columns], rtol=1e-6)
    low, high = path.n_selected.min(), path.n_selected.max()
    assert summary["headline"] == f"The path leads from {high} to {low} of 8 features."


def test_path_with_its_data(ring):
    path = kp.LpKTASelector().fit(ring.X, ring.y).path_
    summary = valid(path.summary(ring.X, ring.y))
    assert summary["data"]["n_rows"] == 120
    assert len(summary["views"]) == 8
    similarity = np.array(summary["redundancy"]["similarity"])
    np.testing.assert_allclose(similarity, similarity.T)
    np.testing.assert_array_equal(np.diag(similarity), 1.0)
    with pytest.raises(ValueError, match="7 columns, but the path 8"):
        path.summary(ring.X[:, :7], ring.y)
    with pytest.raises(ValueError, match="needs the target"):
        path.summary(ring.X)


def test_cross_validation(model):
    summary = valid(model.summary())
    scores, point = model.scores_, model.operating_point_
    assert [size["n_features"] for size in summary["sizes"]] == scores.n_features.tolist()
    np.testing.assert_allclose([s["score"] for s in summary["sizes"]], scores.mean, rtol=1e-6)
    np.testing.assert_allclose([s["se"] for s in summary["sizes"]], scores.se, rtol=1e-6)
    assert summary["cv"]["chosen"]["n_features"] == point.n_features
    (baseline,) = summary["baselines"]
    np.testing.assert_allclose(baseline["score"], model.baseline_scores_["f_test"].mean, rtol=1e-6)
    for i, size in enumerate(summary["sizes"]):
        columns = [summary["features"][place]["index"] for place in size["features"]]
        row = model.stability_.frequency[[i]].toarray()[0]
        np.testing.assert_allclose(size["frequency"], row[columns], atol=1e-3)
    assert {one["name"] for one in summary["features"]} == {*HOSTILE, "a", "b"}


def test_a_loaded_model_has_no_data(model):
    file = io.BytesIO()
    model.save(file)
    summary = valid(kp.load_model(io.BytesIO(file.getvalue())).summary())
    assert summary["data"] is None
    assert summary["views"] == []
    assert summary["sizes"] == model.summary()["sizes"]


def test_a_ranking(ring):
    model = kp.PathCV(f_classif, cv=2, n_features=[1, 3], predictor="joint_rbf")
    summary = valid(model.fit(ring.X, ring.y).summary())
    assert [len(size["features"]) for size in summary["sizes"]] == [1, 3]


def test_a_path_without_features():
    nothing = kp.FeaturePath(
        method="none", parameter_name="p", parameters=[1], weights=np.zeros((1, 4)),
        supports=np.zeros((1, 4), dtype=bool), values=[0], kkt=[0], gaps=[np.nan],
    )  # fmt: skip
    summary = valid(nothing.summary())
    assert summary["sizes"] == []
    assert summary["headline"] == "0 of 4 features are selected."
    assert "No feature is selected" in nothing._repr_html_()


def test_many_features_are_thinned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3000))
    path = kp.LpKTASelector().fit(X, rng.integers(0, 2, 60)).path_
    summary = valid(path.summary())
    assert max(len(size["features"]) for size in summary["sizes"]) == 200
    largest = summary["sizes"][-1]
    assert largest["n_hidden"] == largest["n_features"] - 200
    assert len(summary["weights"]["named"]) == 8
    assert len(summary["weights"]["others"]) <= 120
    assert len(summary["junctures"]["parameter"]) <= 600
    assert len(json.dumps(summary)) < 1_000_000


# -- data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_facts_and_notices(make):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(200, 6)).astype(float)
    X[:, 1] = X[:, 0]
    X[:, 3] = 0.0
    X[:, 5] = X[:, 4] * 1.0
    y = np.where(np.arange(200) < 8, "rare", "common")
    data = describe_data(as_column_table(make(X)), y, "classification")
    assert (data["n_constant"], data["n_duplicates"]) == (1, 2)
    assert data["target"]["classes"] == [
        {"label": "common", "count": 192},
        {"label": "rare", "count": 8},
    ]
    told = {notice["kind"]: notice["text"] for notice in notices(data)}
    assert told["constant"] == "1 column is constant and cannot be selected."
    assert told["duplicates"].startswith("2 columns are exact copies")
    assert "8 of 200 rows (4.0 %) are of the class 'rare'" in told["imbalance"]


def test_negative_zeros_are_zeros():
    X = np.array([[0.0, -0.0, 1.0], [1.0, 1.0, 0.0], [2.0, 2.0, 2.0]])
    assert describe_data(as_column_table(X), np.arange(3.0), "regression")["n_duplicates"] == 1


def test_no_notices_where_all_is_well():
    X = np.random.default_rng(0).normal(size=(80, 3))
    assert notices(describe_data(as_column_table(X), X[:, 0], "regression")) == []


# -- views -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [np.sin, np.square, np.abs])
def test_the_curve_follows_the_target(shape):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 800)
    grid = np.linspace(-1.8, 1.8, 9)
    curve = kernel_curve(x, (shape(x) + 0.1 * rng.normal(size=800))[:, None], grid)[:, 0]
    assert np.abs(curve - shape(grid)).max() < 0.15  # abs has a kink


def test_the_curve_of_noise_is_flat():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    curve = kernel_curve(x, rng.normal(size=(600, 1)), np.linspace(-1, 1, 5))
    assert np.abs(curve).max() < 0.35


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "linear", "polynomial"])
def test_curves_of_other_kernels(kernel):
    x = np.random.default_rng(0).normal(size=300) + 1e6
    curve = kernel_curve(x, (x - 1e6)[:, None], np.array([1e6 - 1, 1e6 + 1]), {"kernel": kernel})
    np.testing.assert_allclose(curve.ravel(), [-1, 1], atol=0.1)


def test_views_of_classes_and_categories():
    rng = np.random.default_rng(0)
    town = rng.choice(["Bonn", "Ulm", "<b>"], size=300)
    frame = pd.DataFrame({"age": rng.normal(size=300), "town": town})
    y = np.where(town == "Ulm", "yes", "no")
    path = kp.LpKTASelector(kernel="auto").fit(frame, y).path_
    summary = valid(summarize_path(path, frame, y))
    views = {summary["features"][v["feature"]]["name"]: v for v in summary["views"]}
    means = dict(zip(views["town"]["categories"], views["town"]["means"][0]))
    assert means == {"Bonn": 0.0, "Ulm": 1.0, "<b>": 0.0}
    assert views["age"]["kind"] == "numeric"
    assert views["age"]["classes"] == ["yes"]


def test_views_of_many_classes_and_constant_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), np.zeros(400)])
    y = rng.integers(0, 9, 400)
    first, second = feature_views(as_column_table(X), y, "classification", [0, 1])
    assert len(first["classes"]) == len(first["curves"]) == 6
    assert np.isfinite(second["curves"]).all()


def test_redundancy_of_copies_and_strangers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    X = np.column_stack([x, 2 * x + 1, rng.normal(size=500)])
    similarity = redundancy(as_column_table(X), [0, 1, 2])
    assert similarity[0, 1] > 0.999
    assert similarity[0, 2] < 0.1
    sparse = redundancy(as_column_table(sp.csr_matrix(np.abs(X) > 1)), [0, 2])
    assert sparse.shape == (2, 2)


# -- words and notebooks ---------------------------------------------------------------------------


def test_headlines():
    base = {"n_features": 20_000, "points": {"n_selected": [5]}}
    cv = {
        "scoring": "accuracy",
        "rule": "one_se",
        "best": {"n_features": 23, "score": 0.912, "se": 0.01},
        "chosen": {"n_features": 11, "score": 0.905, "se": 0.01},
    }
    assert headline(base | {"cv": cv}) == (
        "23 of 20,000 features reach 0.912 ± 0.010 (accuracy); 11 reach it within one standard "
        "error."
    )
    other = cv | {"rule": "budget"}
    assert headline(base | {"cv": other}).endswith("the chosen 11 reach 0.905 ± 0.010.")
    assert headline(base | {"cv": cv | {"chosen": cv["best"]}}).endswith("± 0.010 (accuracy).")
    assert headline(base | {"cv": None}) == "5 of 20,000 features are selected."


def test_notebooks_show_names_as_text(model, ring):
    for html in (model.path_._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "alert(1)</script>" not in html
        assert "features" in html
    assert "The path leads" not in kp.LpKTASelector()._repr_mimebundle_()["text/html"]
    fitted = kp.LpKTASelector().fit(ring.X, ring.y)
    assert "The path leads" in fitted._repr_mimebundle_()["text/html"]
    assert "The path leads" in fitted._repr_html_()

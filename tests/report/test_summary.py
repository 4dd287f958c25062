"""The summary that every report is drawn from: its form, its numbers, its words."""

from __future__ import annotations

import copy
import io
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from jsonschema import Draft202012Validator
from sklearn.feature_selection import f_classif

import kernelpath as kp
from kernelpath.errors import ReadingWarning
from kernelpath.evaluation.scores import PathScores
from kernelpath.report.chance import gain_section
from kernelpath.report.form import schema
from kernelpath.report.html import render_html
from kernelpath.report.summary import summarize_path
from kernelpath.report.summary_data import describe_data, notices
from kernelpath.report.summary_views import feature_views, kernel_curve, redundancy
from kernelpath.report.words import (
    headline,
    redundancy_words,
    reference_words,
    remarks,
    stability_words,
)
from kernelpath.tables.table import as_column_table

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
    model = kp.PathCV(f_classif, cv=2, n_features=[1, 3], predictor="joint_rbf", references=False)
    summary = valid(model.fit(ring.X, ring.y).summary())
    assert [len(size["features"]) for size in summary["sizes"]] == [1, 3]


def test_a_path_without_features():
    nothing = kp.FeaturePath(
        method="none", parameter_name="p", parameters=[1], weights=np.zeros((1, 4)),
        supports=np.zeros((1, 4), dtype=bool), values=[0], kkt=[0], gaps=[np.nan],
    )  # fmt: skip
    summary = valid(nothing.summary())
    assert summary["sizes"] == []
    assert summary["headline"] == "No feature is selected along the path."
    (notice,) = summary["notices"]
    assert notice["kind"] == "empty_path"
    assert notice["text"] == "No point of the path selects a feature. Try a weaker penalty."
    assert "No feature is selected" in nothing._repr_html_()


def test_a_path_that_only_ranks(ring):
    path = kp.LpKTASelector(norm_strength=1e9).fit(ring.X, ring.y).path_
    summary = valid(path.summary(ring.X, ring.y))
    headline = "No feature is selected along the path; features can only be ranked."
    assert summary["headline"] == headline
    assert [size["n_features"] for size in summary["sizes"]] == list(range(1, 9))
    (notice,) = summary["notices"]
    assert notice["kind"] == "empty_path"
    assert "norm strength of 1e+09 no weight exceeds 0.001." in notice["text"]
    assert "Try a smaller norm strength, or choose a number of features." in notice["text"]
    assert max(summary["sizes"][-1]["weights"]) < 0.001


def test_nothing_above_chance_is_said(ring):
    rng = np.random.default_rng(3)
    model = kp.PathCV(cv=3, n_features=[1, 2, 8], predictor="joint_rbf", references=False)
    summary = valid(model.fit(ring.X, rng.permutation(ring.y)).summary())
    for score, kinds in ((0.4, ["chance"]), (0.6, [])):
        changed = copy.deepcopy(summary)
        changed["cv"] |= {
            "gain": None,
            "chance": 0.5,
            "best": {"n_features": 2, "score": score, "se": None},
        }
        assert [one["kind"] for one in remarks(changed)] == kinds
    changed["cv"]["chance"] = 0.6
    assert remarks(changed)[0]["text"] == "No size scores above chance (0.600)."
    assert not summary["cv"]["gain"]["found"]
    first, rest = summary["headline"].split(". ", 1)
    assert first.startswith("No number of features is ")
    assert first.endswith("better than chance (0.525)")
    assert " reach" in rest
    assert "chance" not in [one["kind"] for one in summary["notices"]]  # it is said already


def test_found_is_what_paired_differences_say():
    """Folds of very different chance: paired, all are above it by nearly the same."""
    chance = np.array([0.3, 0.6, 0.9])
    clear = np.column_stack([chance + np.array([0.02, 0.03, 0.02]), chance])
    scores = PathScores([1, 5], clear, chance=chance)
    section = gain_section(scores, 1)
    assert section["found"]
    assert section["chosen"] == pytest.approx(0.07 / 3)
    assert section["chosen_se"] == pytest.approx(np.std([2, 3, 2], ddof=1) / 100 / np.sqrt(3))
    assert not gain_section(PathScores([1], chance[:, None], chance=chance), 1)["found"]
    # 0.02 ± 0.0115 above: enough for a size, not for the best of two, enough for a lone one.
    weak = chance + np.array([0.0, 0.02, 0.04])
    for sizes, others, k, found in (
        ([1, 5], [chance + 0.5 * (weak - chance)], 1, True),
        ([1, 5], [chance - 0.1], 5, False),
        ([5], [], 5, True),
    ):
        scores = PathScores(sizes, np.column_stack([*others, weak]), chance=chance)
        assert gain_section(scores, k)["found"] is found
    assert gain_section(PathScores([1], [[0.6]], chance=[0.5]), 1)["found"]
    assert gain_section(PathScores([1], [[0.6]]), 1) is None


def test_of_many_classes_the_largest_are_shown_and_counted():
    """Of equally large ones the first by name, with numbers in names as numbers."""
    X = np.random.default_rng(0).normal(size=(190, 3))
    names = np.array([f"c{i}" for i in range(15)])
    y = np.append(np.repeat(names, 12), ["c14"] * 10)
    summary = valid(kp.LpKTASelector().fit(X, y).path_.summary(X, y))
    expected = ["c0", "c1", "c2", "c3", "c4", "c14"]
    assert summary["views"][0]["classes"] == expected
    assert "each of 6 of 15 classes, no other of which is larger," in render_html(summary)
    shown = kp.ViewsDisplay.from_summary(summary)
    assert shown.n_classes == 15
    figure = shown.plot().ravel()[0].figure
    assert figure.get_suptitle().endswith("6 of 15 classes")


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
    y = np.where(np.arange(200) < 1, "rare", "common")
    told = notices(describe_data(as_column_table(make(X)), y, "classification"))
    assert "1 of 200 rows (0.5 %) is of the class 'rare'" in told[-1]["text"]


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


def test_no_curve_where_there_are_no_rows():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(1, 8, 200), np.full(80, 24.0)])
    y = np.where(x < 10, 20 + 2 * x, 10) + rng.normal(size=280)
    (view,) = feature_views(as_column_table(x[:, None]), y, "regression", [0])
    grid, curve = np.array(view["grid"]), np.array(view["curves"][0])
    gap = (grid > x[x < 10].max()) & (grid < 24)
    assert gap.sum() > 20
    assert np.isnan(curve[gap]).all()
    assert np.isfinite(curve[~gap]).all()
    assert grid[np.isfinite(curve)][-1] == 24
    assert np.abs(curve[-1] - 10) < 1


@pytest.mark.parametrize("n_levels", [2, 3, 4, 5])
def test_a_feature_of_few_values_has_a_point_at_each(n_levels):
    rng = np.random.default_rng(0)
    x = rng.integers(0, n_levels, 300) / 3.0
    (view,) = feature_views(as_column_table(x[:, None]), x + 0.1, "regression", [0])
    told = np.isfinite(view["curves"][0])
    np.testing.assert_array_equal(np.array(view["grid"])[told], np.unique(x))
    assert not np.any(told[1:] & told[:-1])
    values = np.array(view["curves"][0])[told]
    np.testing.assert_allclose(values, np.unique(x) + 0.1, atol=0.05)


def test_the_curve_stays_in_the_range_of_the_target():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 1, 60), [1.19, 1.38]])
    y = np.minimum(50.0, 80 * x**3)
    (view,) = feature_views(as_column_table(x[:, None]), y, "regression", [0])
    assert np.nanmax(view["curves"]) <= y.max()
    assert np.nanmin(view["curves"]) >= y.min()


def test_a_curve_does_not_stand_on_three_rows():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 1, 300), [1.6, 1.7, 1.75]])
    y = np.concatenate([rng.normal(size=300), [9.0, 9.5, 10.0]])
    (view,) = feature_views(as_column_table(x[:, None]), y, "regression", [0])
    grid, told = np.array(view["grid"]), np.isfinite(view["curves"][0])
    assert told[grid <= 1.0].all()
    assert not told[grid > 1.2].any()
    few = np.linspace(0, 1, 12)  # of few rows all are needed
    (view,) = feature_views(as_column_table(few[:, None]), few, "regression", [0])
    assert np.isfinite(view["curves"]).all()


def test_categories_stand_by_name_or_in_their_own_order_with_missing_last():
    rng = np.random.default_rng(0)
    n = 200
    levels = ["low", "mid", "high"]
    frame = pd.DataFrame(
        {
            "room": rng.choice(["room 10", "room 9", "Attic", None], n, p=[0.5, 0.2, 0.1, 0.2]),
            "dose": pd.Categorical(rng.choice(levels, n), levels, ordered=True),
            "day": pd.Timestamp("2020-02-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
        }
    )
    y = frame["dose"].cat.codes + rng.normal(size=n)
    with pytest.warns(ReadingWarning, match="Dates count as days"):
        path = kp.LpKTASelector(kernel="auto").fit(frame, y).path_
    summary = valid(summarize_path(path, frame, y))
    views = {summary["features"][v["feature"]]["name"]: v for v in summary["views"]}
    assert views["room"]["categories"] == ["Attic", "room 9", "room 10", "missing"]
    assert sum(views["room"]["counts"]) == n
    assert views["dose"]["categories"] == levels
    low, mid, high = views["dose"]["means"][0]
    assert low < mid < high
    assert views["day"]["dates"]
    assert views["day"]["grid"][0] > 18_000  # days since 1970


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
    points = {"parameter": [1.0], "n_selected": [5]}
    base = {"n_features": 20_000, "points": points, "sizes": [], "baselines": []}
    cv = {
        "scoring": "accuracy",
        "rule": "one_se",
        "best": {"n_features": 23, "score": 0.912, "se": 0.01},
        "one_se": {"n_features": 11, "score": 0.905, "se": 0.01},
        "chosen": {"n_features": 11, "score": 0.905, "se": 0.01},
    }
    assert headline(base | {"cv": cv}) == (
        "11 features reach 0.905 ± 0.010 (accuracy); the best, 23 features, 0.912."
    )
    assert headline(base | {"cv": cv | {"chosen": cv["best"]}}).endswith("± 0.010 (accuracy).")
    rare = cv | {"scoring": "balanced_accuracy"}
    assert "(balanced accuracy)" in headline(base | {"cv": rare})
    assert headline(base | {"cv": None}) == "5 of 20,000 features are selected."


@pytest.mark.parametrize(
    ("total", "sizes", "words"),
    [
        (5, [5, 1], "The path leads from 5 to 1 of 5 features."),
        (5, [5, 0], "The path leads from 5 to none of 5 features."),
        (5, [0, 1, 4], "The path leads from none to 4 of 5 features."),
        (5, [1, 4, 2], "The points of the path select 1 to 4 of 5 features, the last 2."),
        (5, [0, 4, 2], "The points of the path select up to 4 of 5 features, the last 2."),
        (5, [1, 1], "1 of 5 features is selected."),
        (5, [2, 2], "2 of 5 features are selected."),
        (5, [0, 0], "No feature is selected along the path."),
        (1, [1], "The one feature is selected."),
        (1, [1, 0], "The one feature is selected on a part of the path."),
        (1, [0], "No feature is selected along the path."),
    ],
)
def test_headlines_of_none_one_and_many(total, sizes, words):
    points = {"parameter": list(range(len(sizes))), "n_selected": sizes}
    assert headline({"n_features": total, "points": points, "sizes": [], "cv": None}) == words


def test_scores_of_one_feature():
    base = {"n_features": 5, "baselines": []}
    one = {"n_features": 1, "score": 0.9, "se": None}
    many = {"n_features": 3, "score": 0.95, "se": 0.01}
    cv = {"scoring": "r2", "rule": "best", "best": one, "one_se": one, "chosen": one}
    assert headline(base | {"cv": cv}) == "1 feature reaches 0.900 (R2)."
    assert headline(base | {"cv": cv, "n_features": 1}) == "The one feature reaches 0.900 (R2)."
    chosen = cv | {"best": many, "rule": "budget"}
    assert headline(base | {"cv": chosen}) == (
        "1 feature reaches 0.900 (R2); the best, 3 features, 0.950."
    )
    said = headline(base | {"cv": chosen, "references": [REFERENCE | {"score": 0.97}]})
    assert "is better than that one: 0.970, by 0.050 ± 0.010" in said  # of two sizes spoken of
    bounded = base | {"cv": chosen, "settings": {"budget": 2}, "sizes": []}
    assert headline(bounded).endswith("the best, 3 features, 0.950, beyond the budget.")
    costs = bounded | {"sizes": [{"n_features": 3, "cost": 1.5}]}
    assert headline(costs).endswith("the best, 3 features, 0.950.")
    unknown = cv | {"best": many | {"score": None}}
    assert headline(base | {"cv": unknown}) == "1 feature reaches 0.900 (R2)."


def test_a_better_baseline_is_in_the_headline():
    best = {"n_features": 4, "score": 0.55, "se": 0.01}
    cv = {"scoring": "accuracy", "rule": "best", "best": best, "chosen": best}
    base = {"n_features": 9, "cv": cv}
    own = "4 features reach 0.550 ± 0.010 (accuracy)."
    other = {"name": "f_test", "n_features": [1, 3, 5], "score": [None, 0.562, 0.562]}
    forest = {"name": "forest", "n_features": [1], "score": [0.56]}
    said = headline(base | {"baselines": [forest, other]})
    assert said == f"{own} f_test reaches 0.562 with 3."
    for score in (0.5501, 0.55, 0.5, None):  # not by what the written digits show
        equal = {"name": "f_test", "n_features": [3], "score": [score]}
        assert headline(base | {"baselines": [equal]}) == own


REFERENCE = {
    "name": "boosting", "label": "Boosting", "n_features": 9, "score": 0.612, "se": 0.02,
    "difference": 0.05, "difference_se": 0.01, "above": True, "note": "",
}  # fmt: skip


def test_a_better_reference_is_in_the_headline():
    best = {"n_features": 4, "score": 0.55, "se": 0.01}
    base = {"n_features": 9, "baselines": []}
    base["cv"] = {"scoring": "r2", "rule": "best", "best": best, "chosen": best}
    own = "4 features reach 0.550 ± 0.010 (R2)."
    assert headline(base) == own  # a summary of before
    ridge = REFERENCE | {"label": "Ridge regression", "score": 0.6}
    assert headline(base | {"references": [ridge, REFERENCE]}) == (
        f"{own} Boosting on all 9 features is better: 0.612, by 0.050 ± 0.010 on the same folds."
    )
    doubt = {"chance": 0.6, "gain": {"found": False}}  # 0.612 ± 0.020 is near 0.600
    nothing = {"cv": base["cv"] | doubt, "references": [REFERENCE]}
    assert headline(base | nothing).endswith(own)
    near = REFERENCE | {"above": False}
    assert headline(base | {"references": [near]}) == own
    by_chance = base | {"cv": base["cv"] | {"chance": 0.7}, "references": [REFERENCE]}
    assert headline(by_chance) == own
    assert reference_words({"references": [ridge, near]}) == (
        "All 9 features: ridge regression 0.600 ± 0.020, boosting 0.612 ± 0.020."
    )


def test_references_that_were_left_out_are_told_with_the_others():
    absent = dict.fromkeys(("n_features", "score", "se")) | {"label": "Boosting", "note": "why"}
    assert reference_words({"references": [absent]}) == ""
    assert reference_words({"references": [REFERENCE | {"label": "Ridge"}, absent]}) == (
        "All 9 features: ridge 0.612 ± 0.020, boosting (why)."
    )
    assert reference_words({"references": [REFERENCE | {"n_features": 1}]}).startswith("The one")


def test_a_reference_is_above_by_more_than_its_paired_standard_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = kp.PathCV(predictor="logistic", cv=3, n_features=[1]).fit(X, y)
    ridge, boosting = model.summary()["references"]
    for one in (ridge, boosting):
        folds = model.reference_scores_[one["name"]].per_fold - model.scores_.per_fold[:, 0]
        assert one["difference"] == pytest.approx(folds.mean(), rel=1e-6)
        assert one["above"] == (folds.mean() > folds.std(ddof=1) / np.sqrt(3))
    assert boosting["above"]
    said = model.summary()["headline"]
    assert said.startswith("1 feature is not better than chance (0.547). 1 feature reaches 0.520")
    assert "Boosting on all 4 features is better: 0.9" in said


def test_chosen_features_that_say_the_same_are_named():
    rng = np.random.default_rng(0)
    one = rng.normal(size=120)
    X = np.column_stack([one, one + 1e-3 * rng.normal(size=120), rng.normal(size=120)])
    model = kp.PathCV(cv=2, predictor="logistic", n_features=[3], references=False)
    summary = model.fit(X, one + rng.normal(size=120)).summary()
    (notice,) = (one for one in summary["notices"] if one["kind"] == "redundancy")
    assert notice["text"] == "x1 and x0 say nearly the same; NMMKL (--method nmmkl) avoids copies."
    assert redundancy_words(summary | {"method": "nmmkl"}) == ""


def test_many_features_that_say_the_same_are_counted():
    features = [{"name": f"f{i}"} for i in range(8)]
    section = {"features": list(range(8)), "similarity": np.ones((8, 8)).tolist()}
    text = redundancy_words({"features": features, "redundancy": section, "method": "lp-kta"})
    assert text.startswith("f0, f1, f2, f3 and 4 more say nearly the same")


@pytest.mark.parametrize(
    ("sizes", "index", "total", "words"),
    [
        ([1, 2, 4], [0.5, 0.6, None], 4, "At all 4 features there is no index: every fold cho"),
        ([1, 2], [0.5, 0.6], 4, ""),
        ([1], [None], 1, "There is no index: every fold chooses the one feature."),
        ([4], [None], 4, "There is no index: every fold chooses all features."),
        ([2], [0.5], 4, "The index is known at 2 features only: 0.50, from 0.10 to 0.90."),
        ([1, 4], [0.5, None], 4, "The index is known at 1 feature only: 0.50, from 0.10 to 0.90."),
        ([1, 2, 3], [None, 0.5, 0.5], 4, "At 1 feature there is no index: every fold chooses all"),
        ([1, 2, 3, 4], [None, 0.5, 0.5, None], 4, "At 2 sizes there is no index"),
    ],
)
def test_words_for_the_stability_index(sizes, index, total, words):
    rest = {"low": [0.1] * len(sizes), "high": [0.9] * len(sizes)}
    section = {"n_features": sizes, "index": index, **rest}
    found = stability_words({"n_features": total, "stability": section, "cv": {"n_folds": 3}})
    assert found.startswith(words)
    assert bool(found) == bool(words)
    alone = {"n_features": [1], "index": [None], "low": [None], "high": [None]}
    found = stability_words({"n_features": 9, "stability": alone, "cv": {"n_folds": 1}})
    assert found == "There is no index: a single fold has no other to agree with."


def test_notebooks_show_names_as_text(model, ring):
    for html in (model.path_._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "alert(1)</script>" not in html
        assert "features" in html
    assert "The path leads" not in kp.LpKTASelector()._repr_mimebundle_()["text/html"]
    fitted = kp.LpKTASelector().fit(ring.X, ring.y)
    assert "The path leads" in fitted._repr_mimebundle_()["text/html"]
    assert "The path leads" in fitted._repr_html_()


def test_rows_at_the_ends_of_a_view_stay_on_its_axis():
    """Rows and axis are rounded alike: rows at the largest of three values were lost before."""
    values = np.array([0.7629869784055223, 0.9509366370053822, 1.1388862956052421])
    x = np.repeat(values, 40)
    noise = np.random.default_rng(0).normal(size=120)
    table, y = np.column_stack([x, noise]), (x == values[1]).astype(int)
    view = summarize_path(kp.LpKTASelector().fit(table, y).path_, table, y)["views"][0]
    low, high = view["grid"][0], view["grid"][-1]
    assert all(low <= value <= high for value in view["points"]["x"])
    assert sum(value == high for value in view["points"]["x"]) > 20


# -- what was left out -----------------------------------------------------------------------------


def odd_table(n=90):
    """A table with an identifier, two constant columns, holes and missing targets."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=n), "site": "A", "dose": 1.0})
    frame["patient_id"] = np.arange(n) + 500
    frame.loc[:3, "z"] = np.nan
    y = pd.Series(np.where(x > 0, "yes", "no"), dtype=object)
    y[4:6] = None
    return frame, y


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_and_columns_that_are_left_out_are_counted_and_shown():
    frame, y = odd_table()
    weight = np.ones(len(y))
    weight[10:13] = 0.0
    model = kp.PathCV(cv=2, predictor="logistic", missing="drop", n_features=[1, 2])
    summary = valid(model.fit(frame, y, sample_weight=weight).summary())
    data = summary["data"]
    assert data["rows_left_out"] == {"no_target": 2, "missing": 4, "no_weight": 3, "alone": 0}
    assert (data["n_rows"], data["n_identifiers"], data["n_constant"]) == (81, 1, 2)
    page = kp.render_html(summary)
    words = "81 rows (2 without a target, 4 with missing values and 3 of weight 0 left out)"
    assert f"<span>{words}</span>" in page
    assert "<span>2 features (1 identifier and 2 constant columns left out)</span>" in page
    assert {one["n_features"] for one in summary["references"]} == {2}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_summary_of_a_path_is_of_the_rows_it_was_traced_on():
    frame, y = odd_table()
    path = kp.LpKTASelector(missing="drop").fit(frame, y).path_
    summary = valid(path.summary(frame, y))
    assert summary["data"]["rows_left_out"] == {
        "no_target": 2,
        "missing": 4,
        "no_weight": 0,
        "alone": 0,
    }
    assert summary["data"]["n_rows"] == path.provenance["data"]["n_samples"] == 84
    assert summary["headline"].endswith("of 2 features.")


def test_older_summaries_without_these_counts_are_valid_and_shown(model):
    summary = copy.deepcopy(model.summary())
    for name in ("rows_left_out", "n_identifiers"):
        del summary["data"][name]
    page = kp.render_html(valid(summary))
    assert "<span>120 rows</span><span>8 features</span>" in page


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_columns_that_are_brought_in_are_not_said_to_be_left_out():
    frame, y = odd_table()
    told = {"feature_groups": [["x", "patient_id", "dose"]]}
    summary = (
        kp.PathCV(cv=2, predictor="logistic", references=False, **told).fit(frame, y).summary()
    )
    said = {one["kind"]: one["text"] for one in summary["notices"]}
    assert "identifiers" not in said
    assert said["constant"] == "1 column is constant and cannot be selected."
    assert (summary["data"]["n_identifiers"], summary["data"]["n_constant"]) == (0, 1)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("scoring", "said"), [(None, False), ("accuracy", True), ("f1", False)])
def test_only_of_accuracy_it_is_said_that_it_says_little(scoring, said):
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(110), np.ones(10)].astype(int)
    X = rng.normal(size=(120, 2)) + y[:, None]
    model = kp.PathCV(cv=2, predictor="logistic", references=False, scoring=scoring).fit(X, y)
    for summary, told in ((model.summary(), said), (model.path_.summary(X, y), True)):
        (text,) = [one["text"] for one in summary["notices"] if one["kind"] == "imbalance"]
        assert text.startswith("Only 10 of 120 rows (8.3 %) are of the class '1'")
        assert ("accuracy says little" in text) == told

"""Columns that must be in, that go together and that cost something, in every fold."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelpath as kp
from kernelpath.errors import settings_named
from kernelpath.evaluation.traces import trace_state, traced_from
from kernelpath.tables.constraints import Constraints
from kernelpath.tables.table import as_column_table
from kernelpath.tracers.any_selector import trace

RNG = np.random.default_rng(3)
N, D = 90, 8
LABELS = np.repeat(["no", "yes"], N // 2)
X = RNG.normal(size=(N, D)) + np.linspace(1.5, 0.0, D) * (LABELS == "yes")[:, None]
NAMES = ["age", "lab_a", "lab_b", "town_x", "town_y", "town_z", "noise", "flag"]
FRAME = pd.DataFrame(X, columns=NAMES)
GROUPS = {"lab": ["lab_a", "lab_b"], "town": "town_*"}
QUICK = {"cv": 3, "predictor": "logistic", "random_state": 0, "references": False}


def holds(model, must, groups):
    """Whether every choice in every fold, and on all rows, obeys the constraints."""
    names = list(model.feature_names_in_)
    chosen = [mask for fold in model.scores_.supports for mask in fold]
    chosen += [model.path_.at(int(k)).support for k in model.scores_.n_features]
    for mask in chosen:
        assert all(mask[names.index(name)] for name in must)
        for group in groups:
            assert len({bool(mask[names.index(name)]) for name in group}) == 1
    return True


@pytest.mark.parametrize(
    "selector",
    [
        None,
        kp.LpKTASelector(norm_strength="noise"),
        f_classif,
        RandomForestClassifier(n_estimators=20, random_state=0),
        RFE(LogisticRegression(), n_features_to_select=1),
        kp.baselines.Fisher("all"),
        kp.GMKLClassifier(strengths=10),
        kp.NMMKLSelector("all"),
        make_pipeline(StandardScaler(), kp.LpKTASelector()),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_every_choice_obeys(selector):
    model = kp.PathCV(selector, must_include=["noise"], feature_groups=GROUPS, **QUICK)
    model.fit(FRAME, LABELS)
    assert holds(model, ["noise"], [["lab_a", "lab_b"], ["town_x", "town_y", "town_z"]])
    assert model.operating_point_.support[NAMES.index("noise")]
    assert model.predict(FRAME).shape == (N,)


@pytest.mark.parametrize("selector", [None, f_classif, kp.NMMKLSelector([2, 3])])
def test_a_column_that_is_constant_in_a_fold_stays_in(selector):
    frame = FRAME.copy()
    frame["flag"] = 0.0
    frame.loc[0, "flag"] = 1.0  # held out in one fold, which trains without it
    model = kp.PathCV(
        selector, must_include="flag", feature_groups=[["noise", "age"]], cv=3, random_state=0,
        n_features=None if isinstance(selector, kp.NMMKLSelector) else [1, 3],
        predictor="weighted_kernel" if selector is None else "auto",
    ).fit(frame, LABELS)  # fmt: skip
    assert holds(model, ["flag"], [["noise", "age"]])
    assert set(model.predict(frame)) <= {"no", "yes"}


def test_the_smallest_choice_may_be_a_column_that_says_nothing():
    frame = FRAME.assign(flag=1.0)
    with pytest.warns(kp.errors.ConstantColumnWarning):
        model = kp.PathCV(must_include="flag", cv=3, n_features=[1, 2]).fit(frame, LABELS)
    assert model.path_.at(n_features=1).names == ("flag",)
    assert model.predict(frame, n_features=1).shape == (N,)
    assert model.scores_.mean[0] < model.scores_.mean[1]


def test_constraints_in_the_selector_do_the_same():
    options = {"must_include": [6], "feature_groups": GROUPS, "costs": {"age": 3.0}}
    inside = kp.PathCV(kp.LpKTASelector(**options), **QUICK).fit(FRAME, LABELS)
    outside = kp.PathCV(**options, **QUICK).fit(FRAME, LABELS)
    assert inside.scores_ == outside.scores_
    assert inside.path_ == outside.path_
    assert inside.operating_point_ == outside.operating_point_


def test_sparse_tables_and_positions():
    model = kp.PathCV(must_include=[7], feature_groups=[[0, 6]], costs=np.arange(D), **QUICK)
    model.fit(sparse.csr_array(X), LABELS)
    assert all(mask[7] for fold in model.scores_.supports for mask in fold)
    assert model.operating_point_.cost == np.arange(D)[model.operating_point_.support].sum()


def test_identifiers_and_text_that_must_be_in():
    frame = FRAME.assign(code=[f"c{i}" for i in RNG.permutation(N)], town=np.tile(["a", "b"], 45))
    with pytest.warns(UserWarning, match="identifiers"):
        left_out = kp.PathCV(**QUICK, n_features=[9]).fit(frame, LABELS)
    assert not left_out.operating_point_.support[8]
    model = kp.PathCV(must_include=["code", "town"], **QUICK | {"predictor": "auto"})
    model.fit(frame, LABELS)
    assert holds(model, ["code", "town"], [])
    assert model.predict(frame.iloc[:3]).shape == (3,)


def test_sizes_between_are_said_and_taken_as_smaller_ones():
    model = kp.PathCV(n_features=[1, 2, 4], must_include=["age", "flag"], **QUICK)
    with pytest.warns(UserWarning, match="exactly 1 features.*; 2 are taken"):
        model.fit(FRAME, LABELS)
    assert model.scores_.n_features.tolist() == [2, 4]


# -- refusals --------------------------------------------------------------------------------------


def test_a_selector_that_cannot_be_told_is_refused():
    model = kp.PathCV(kp.L1KRClassifier(), must_include=["age"], **QUICK)
    with pytest.raises(kp.DataError, match="L1KRClassifier has no must_include") as caught:
        model.fit(FRAME, LABELS)
    assert settings_named(caught.value) == ("must_include",)
    model = kp.PathCV(baselines={"l1kr": kp.L1KRClassifier()}, feature_groups=GROUPS, **QUICK)
    with pytest.raises(kp.DataError, match="L1KRClassifier has no feature_groups"):
        model.fit(FRAME, LABELS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"must_include": ["ages"]}, "names the column 'ages', .*did you mean 'age'"),
        ({"must_include": ["lab*", "x*"]}, r"names the pattern 'x\*', which no column has"),
        ({"must_include": [99]}, "positions from 0 to 7"),
        ({"must_include": [True, False]}, "a mask for must_include needs 8 values, got 2"),
        ({"must_include": 1.5}, "needs names or positions"),
        ({"feature_groups": [["age", "flag"], ["flag"]]}, "'flag' in two groups"),
        ({"feature_groups": ["a", "b"]}, "one label for each of the 8 columns"),
        ({"costs": {"age": -1}}, "costs must be numbers from 0 .* got -1 for 'age'"),
        ({"costs": {"age": float("nan")}}, "costs must be numbers"),
        ({"costs": {"aeg": 1}}, "costs names the column 'aeg'.*did you mean 'age'"),
        ({"costs": [1.0, 2.0]}, "one number for each of the 8 columns, got 2"),
        ({"costs": "age=3"}, "got a text"),
        ({"costs": {"age": 3}, "budget": -1}, "budget must be a cost"),
        ({"costs": {"age": 3}, "budget": 0.25}, "budget=0.25, but the cheapest feature costs 1"),
        ({"costs": {"age": 3}, "must_include": "age", "budget": 2}, "columns that must be in cost"),
        (
            {"costs": {"age": np.inf}, "must_include": ["age"]},
            "'age' must be in and is out",
        ),
        ({"budget": 2.5}, "budget must be a positive integer"),
    ],
)
def test_bad_constraints_are_refused(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        kp.PathCV(**options, **QUICK).fit(FRAME, LABELS)


def test_a_setting_in_two_places_is_refused():
    model = kp.PathCV(kp.LpKTASelector(must_include=[1]), must_include=[1], **QUICK)
    with pytest.raises(ValueError, match="set in PathCV and in its selector"):
        model.fit(FRAME, LABELS)


# -- costs -----------------------------------------------------------------------------------------


def test_costs_are_counted_and_a_budget_is_kept():
    costs = {"age": 6.0, "lab_*": 2.5, "noise": 0.0}
    model = kp.PathCV(costs=costs, budget=5.0, rule="best", **QUICK).fit(FRAME, LABELS)
    paid = np.array([6.0, 2.5, 2.5, 1, 1, 1, 0, 1])
    scores = model.scores_
    for i, k in enumerate(scores.n_features):
        assert scores.full_costs[i] == paid[model.path_.at(int(k)).support].sum()
        in_folds = [paid[fold[i]].sum() for fold in scores.supports]
        assert scores.costs_per_fold[:, i].tolist() == in_folds
        assert scores.costs[i] == pytest.approx(np.mean(in_folds))
    point = model.operating_point_
    assert point.cost == paid[point.support].sum() <= 5.0
    able = scores.full_costs <= 5.0
    assert point.score == scores.mean[able].max()
    assert "cost" in repr(point)
    frame = scores.to_frame()
    assert frame.columns[:3].tolist() == ["n_features", "cost", "full_cost"]
    assert model.choose("one_se", budget=2.0).cost <= 2.0
    assert model.choose("best", budget=1e6).score >= point.score
    assert model.path_.sizes[-1] == D - 1  # age alone costs more than the budget


@pytest.mark.parametrize("selector", [None, f_classif, kp.GMKLClassifier(strengths=10)])
def test_what_does_not_fit_into_the_budget_is_out_of_reach(selector):
    model = kp.PathCV(
        selector, costs={"age": 4.0, "town_*": 2.0}, must_include=["lab_a"], budget=4.5,
        feature_groups=[["town_x", "town_y"]], rule="best", **QUICK,
    )  # fmt: skip
    if selector is not None and hasattr(selector, "fit"):  # which does not know what costs are
        with pytest.warns(UserWarning, match="only counted"):
            model.fit(FRAME, LABELS)
    else:
        model.fit(FRAME, LABELS)
        beyond = [NAMES.index(name) for name in ("age", "town_x", "town_y")]
        assert not any(mask[beyond].any() for fold in model.scores_.supports for mask in fold)
    assert 1 <= model.operating_point_.cost <= 4.5
    assert np.isfinite(model.scores_.costs_per_fold).all()


def test_rankings_are_by_score_per_cost():
    def rank(table, y):
        return np.arange(D, 0.0, -1.0)

    def worst(table, y):
        return -np.arange(D, dtype=float)

    model = kp.PathCV(rank, costs={"age": 100.0, "lab_a": 2.0}, n_features=[1, D], **QUICK)
    model.fit(FRAME, LABELS)
    assert model.path_.at(n_features=1).names == ("lab_b",)
    with pytest.warns(UserWarning, match="by worst does not depend on costs") as caught:
        kp.PathCV(worst, costs={"age": 9.0}, n_features=[1, D], **QUICK).fit(FRAME, LABELS)
    assert settings_named(caught[0].message) == ("costs",)


def test_baselines_obey_and_have_costs():
    model = kp.PathCV(
        baselines=["f_test", "fisher"], must_include=["noise"], costs={"age": 2.0}, **QUICK
    ).fit(FRAME, LABELS)
    for scores in model.baseline_scores_.values():
        assert scores.full_costs is None
        assert scores.costs.shape == scores.n_features.shape
        assert all(mask[6] for fold in scores.supports for mask in fold)


def test_a_nested_score_obeys_too():
    options = {"must_include": ["noise"], "costs": {"age": 2.0}, "budget": 4.0}
    model = kp.PathCV(**options, nested=True, n_features=[1, 3], **QUICK).fit(FRAME, LABELS)
    assert np.isfinite(model.nested_score_.mean)


# -- files -----------------------------------------------------------------------------------------


def test_a_saved_model_knows_costs_and_constraints():
    options = {"must_include": ["noise"], "feature_groups": GROUPS, "costs": {"age": 2.0}}
    options["budget"] = 8.5
    model = kp.PathCV(**options, **QUICK).fit(FRAME, LABELS)
    file = io.BytesIO()
    model.save(file)
    again = kp.load_model(io.BytesIO(file.getvalue()))
    assert {name: getattr(again, name) for name in options} == options
    assert again.scores_ == model.scores_
    assert again.operating_point_ == model.operating_point_
    assert again.path_.sizes.tolist() == model.path_.sizes.tolist()
    assert again.choose(budget=5.0) == model.choose(budget=5.0)
    assert (again.predict(FRAME) == model.predict(FRAME)).all()


def test_a_kept_ranking_comes_back_with_its_sizes():
    constraints = Constraints.read(as_column_table(X), must_include=[7], feature_groups=[[0, 1, 2]])
    traced = trace(f_classif, X, LABELS).under(constraints)
    again = traced_from(trace_state(traced, f_classif), f_classif, D)
    assert again.sizes.tolist() == traced.sizes.tolist() == [1, 4, 5, 6, 7, 8]
    assert all((again.at(k).columns == traced.at(k).columns).all() for k in traced.sizes)
    broken = trace_state(traced, f_classif) | {"ends": np.array([3, 2])}
    with pytest.raises(ValueError, match="none that it can have"):
        traced_from(broken, f_classif, D)


# -- what is said ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda **own: kp.LpKTASelector(n_features_to_select=3, **own),
        lambda **own: kp.GMKLClassifier(strengths=4, **own),
        lambda **own: kp.NMMKLSelector(n_features_to_select="all", kernel="auto", **own),
        lambda **own: kp.PathCV(cv=2, predictor="logistic", references=False, **own),
    ],
)
def test_nothing_that_is_brought_in_is_said_to_be_left_out(make):
    odd = FRAME.assign(patient_id=np.arange(N) + 1000, site=1.0, dose=2.0)
    told = {"feature_groups": [["age", "patient_id", "dose"]]}
    with pytest.warns(UserWarning, match=".") as caught:
        own = make(**told).fit(odd, LABELS)
    support = own.path_.at(n_features=int(own.path_.sizes[-1])).support
    assert {"patient_id", "dose"} <= set(odd.columns[support])
    said = " ".join(str(one.message) for one in caught)
    assert "Left out" not in said
    assert "come in only with their group (identifiers='keep' counts them): column 'pati" in said
    assert "Column 'site' is constant and will never be selected; column 'dose' is" in said
    with pytest.warns(UserWarning, match=".") as caught:
        make(must_include=["dose"]).fit(odd, LABELS)
    said = " ".join(str(one.message) for one in caught)
    assert "Left out as identifiers" in said
    assert "Column 'site' is constant and will never" in said

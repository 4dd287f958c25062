"""Anything that ranks features can be traced: estimators, pipelines and functions."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, RandomForestRegressor
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_classif,
    f_regression,
    mutual_info_classif,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import kernelpath as kp
from evaluation.helpers import curve, path_cv, ring, three_classes
from kernelpath.tracers.any_selector import check_selector, describe, size_grid, trace


def linear(n=80, d=6, seed=100):
    """Columns 4, 1, 5 matter, in this order, linearly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (3 * X[:, 4] + 1.5 * X[:, 1] + 0.7 * X[:, 5] > 0).astype(int)


X, Y = linear()


def _local(X, y):
    return f_classif(X, y)


class Weighted(BaseEstimator):
    """Takes weights and keeps them as scores of the columns."""

    def fit(self, X, y, sample_weight=None):
        self.scores_ = np.ones(X.shape[1]) if sample_weight is None else sample_weight[: X.shape[1]]
        return self


RANKERS = {
    "SelectKBest": SelectKBest(k=1),
    "SelectPercentile": SelectPercentile(mutual_info_classif),
    "RFE": RFE(LogisticRegression(), n_features_to_select=1),
    "RFE half": RFE(LogisticRegression()),
    "SelectFromModel": SelectFromModel(LogisticRegression()),
    "forest": ExtraTreesClassifier(30, random_state=0),
    "coef": LogisticRegression(),
    "LinearSVC": LinearSVC(random_state=0),
    "pipeline": make_pipeline(StandardScaler(), SelectKBest(k=2)),
    "pipeline of a model": make_pipeline(StandardScaler(), LogisticRegression()),
    "tuple": f_classif,
    "function": _local,
    "lambda": lambda X, y: f_classif(X, y)[0],
    "partial": functools.partial(mutual_info_classif, random_state=0),
    "alignments": kp.alignments,
    "lp-KTA": kp.LpKTASelector(step=0.1),
    "pipeline of lp-KTA": make_pipeline(StandardScaler(), kp.LpKTASelector(step=0.1)),
}


@pytest.mark.parametrize("name", RANKERS)
def test_everything_that_ranks_finds_the_columns(name):
    traced = trace(RANKERS[name], X, Y)
    assert traced.n_columns == 6
    assert traced.sizes.tolist() == [1, 2, 3, 4, 5, 6]
    assert traced.at(1).columns.tolist() == [4]
    assert traced.at(2).columns.tolist() == [1, 4]
    model = path_cv(RANKERS[name], n_features=[1, 2, 4]).fit(X, Y)
    assert [s.toarray()[0].nonzero()[0].tolist() for s in model.scores_.supports] == [[4], [4]]
    assert model.scores_.n_used.tolist() == [[1, 2, 4]] * 2
    assert model.path_.at(n_features=2).support.nonzero()[0].tolist() == [1, 4]
    assert model.operating_point_.support.sum() == model.operating_point_.n_features


def test_importances_of_several_classes_are_joined():
    X3, y3 = three_classes()
    assert trace(LogisticRegression(), X3, y3).at(1).columns.tolist() == [2]
    coef = LogisticRegression().fit(X3, y3).coef_
    expected = np.argsort(-np.linalg.norm(coef, axis=0))
    assert trace(LogisticRegression(), X3, y3).order.tolist() == expected.tolist()


def test_regression_rankings():
    Xr = curve()[0]
    y = 2 * Xr[:, 3] - Xr[:, 0]
    for ranker in (f_regression, LinearRegression(), RandomForestRegressor(20, random_state=0)):
        model = path_cv(ranker, n_features=2).fit(Xr, y)
        assert model.task_ == "regression"
        assert model.get_support(indices=True).tolist() == [0, 3]


def test_order_among_equal_scores_is_that_of_the_table():
    traced = trace(lambda X, y: [1, 2, 2, 1, 2, 0], X, Y)
    assert traced.order.tolist() == [1, 2, 4, 0, 3, 5]
    assert traced.at(4).columns.tolist() == [0, 1, 2, 4]


def test_infinite_scores_rank_first_and_last():
    traced = trace(lambda X, y: [0.0, np.inf, -np.inf, 3.0, 1.0, -1.0], X, Y)
    assert traced.order.tolist() == [1, 3, 4, 0, 5, 2]
    model = path_cv(_infinite, n_features=[1, 3]).fit(X, Y)
    assert np.isfinite(model.path_.weights.data).all()


def _infinite(X, y):
    return [0.0, np.inf, 2.0, 3.0, 1.0, 0.5]


def test_columns_without_score_are_never_chosen():
    scores = [np.nan, 3.0, np.nan, 1.0, 2.0, np.nan]
    traced = trace(lambda X, y: scores, X, Y)
    assert traced.order.tolist() == [1, 4, 3]
    assert traced.sizes.tolist() == [1, 2, 3]
    assert traced.at(6).columns.tolist() == [1, 3, 4]
    with pytest.warns(UserWarning, match="only 3 columns can be selected"):
        model = path_cv(_three_scores, n_features=[2, 5, 6]).fit(X, Y)
    assert model.scores_.n_features.tolist() == [2, 3]
    assert model.scores_.n_used.tolist() == [[2, 3], [2, 3]]
    point = model.choose(lambda scores: 3)
    assert point.n_features == point.support.sum() == len(point.feature_names) == 3


def _three_scores(X, y):
    return [np.nan, 3.0, np.nan, 1.0, 2.0, np.nan]


def test_constant_columns_of_a_fold_do_not_warn():
    table = X.copy()
    table[:, 2] = 0.0
    table[0, 2] = 1.0  # constant where row 0 is held out
    for ranker in (f_classif, SelectKBest(k=1), kp.LpKTASelector()):
        model = path_cv(ranker, n_features=[1, 6]).fit(table, Y)
        assert model.scores_.n_used.min() >= 1
    table[:, 2] = 0.0
    with pytest.warns(UserWarning, match="constant"):  # in the whole table: said once
        model = path_cv(f_classif, n_features=[1, 6]).fit(table, Y)
    assert model.scores_.n_used[:, 1].max() == 5
    with pytest.warns(UserWarning, match="Column 2 is constant and will never be selected") as told:
        path_cv(kp.LpKTASelector(), n_features=[1]).fit(table, Y)
    assert len(told) == 1


def test_rfe_with_many_features_of_rank_one_orders_them_by_the_last_model():
    """RFE keeps half by default, all of rank 1; the first of the table are not the best."""
    traced = trace(RFE(LogisticRegression()), X, Y)
    assert set(traced.order[:3].tolist()) == {4, 1, 5}
    assert traced.order[0] == 4
    whole = trace(RFE(LogisticRegression(), n_features_to_select=1), X, Y)
    assert whole.order.tolist() == traced.order.tolist()


def test_sample_weight_reaches_a_selector_that_takes_it():
    weight = np.arange(1.0, len(X) + 1)
    assert trace(Weighted(), X, Y, weight).order[0] == 5
    assert trace(Weighted(), X, Y).order[0] == 0
    assert trace(SelectKBest(k=2), X, Y, weight).order[0] == 4


def test_the_selector_itself_stays_unfitted():
    selector = SelectKBest(k=1)
    path_cv(selector).fit(X, Y)
    assert not hasattr(selector, "scores_")


def test_weights_of_a_path_and_of_a_ranking():
    path = path_cv(kp.LpKTASelector(), n_features=3).fit(X, Y)
    point = path.operating_point_
    np.testing.assert_array_equal(point.weights, path.path_.at(n_features=3).weights)
    assert point.parameter == path.path_.at(n_features=3).parameter
    ranked = path_cv(f_classif, n_features=[2, 3]).fit(X, Y)
    assert np.isnan(ranked.operating_point_.parameter)
    chosen = ranked.operating_point_.support
    np.testing.assert_allclose(ranked.operating_point_.weights[chosen], f_classif(X, Y)[0][chosen])
    assert ranked.operating_point_.feature_names[0] == "x4"
    signed = path_cv(RFE(LogisticRegression(), n_features_to_select=1), n_features=2).fit(X, Y)
    assert signed.operating_point_.weights[signed.get_support()].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("ranker", "error", "words"),
    [
        (SequentialFeatureSelector(GaussianNB(), n_features_to_select=1, cv=2), TypeError,
         "does not say how it ranks"),
        (VarianceThreshold(), TypeError, "one size, not a path"),
        (lambda X, y: np.ones(3), kp.DataError, "3 scores for 6 columns"),
        (lambda X, y: np.full(6, np.nan), kp.DataError, "all NaN"),
        (make_pipeline(PCA(2), LogisticRegression()), kp.DataError, "2 scores for 6 columns"),
        (make_pipeline(PCA(2), kp.LpKTASelector()), kp.DataError, "6 columns"),
    ],
)  # fmt: skip
def test_what_cannot_rank_is_refused(ranker, error, words):
    with pytest.raises(error, match=words):
        trace(ranker, X, Y)


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (SelectKBest, "the class SelectKBest"),
        ("f_classif", "selector must be"),
        (3, "selector must be"),
        ([1, 2], "selector must be"),
    ],
)
def test_what_is_no_selector_is_refused(selector, words):
    with pytest.raises(TypeError, match=words):
        check_selector(selector)
    with pytest.raises(TypeError, match=words):
        path_cv(selector).fit(X, Y)


def test_names_of_selectors():
    assert describe(SelectKBest()) == "SelectKBest"
    assert describe(RANKERS["pipeline"]) == "SelectKBest"
    assert describe(RANKERS["partial"]) == "mutual_info_classif"
    assert path_cv(f_classif).fit(X, Y).path_.method == "f_classif"


@pytest.mark.parametrize(("d", "expected"), [(1, [1]), (3, [1, 2, 3]), (30, list(range(1, 31)))])
def test_grid_of_few_columns(d, expected):
    assert size_grid(d).tolist() == expected


@pytest.mark.parametrize("d", [31, 37, 38, 100, 1000, 123456])
def test_grid_of_many_columns(d):
    grid = size_grid(d)
    assert grid[:30].tolist() == list(range(1, 31))
    assert grid[-1] == d
    assert (np.diff(grid) > 0).all()
    assert (grid[30:] <= 1.25 * grid[29:-1] + 1).all()
    assert len(grid) < 80


def test_baselines():
    X2, y2 = ring()
    own = {"mine": f_classif, "kta": kp.LpKTASelector(step=0.1)}
    model = path_cv(baselines=("f_test", "forest")).fit(X2, y2)
    assert list(model.baseline_scores_) == ["f_test", "forest"]
    f_test = path_cv(f_classif).fit(X2, y2).scores_
    np.testing.assert_array_equal(model.baseline_scores_["f_test"].per_fold, f_test.per_fold)
    other = path_cv(baselines=own).fit(X2, y2).baseline_scores_
    np.testing.assert_array_equal(other["mine"].per_fold, f_test.per_fold)
    np.testing.assert_array_equal(other["kta"].per_fold, model.scores_.per_fold)
    for bad in (("mutual",), {"a": "b"}, "mutual"):
        with pytest.raises(ValueError, match="'f-test', 'forest'"):
            path_cv(baselines=bad).fit(X2, y2)
    with pytest.raises(TypeError, match="selector must be"):
        path_cv(baselines={"a": 3}).fit(X2, y2)


@pytest.mark.parametrize(
    "selector",
    [
        kp.LpKTASelector(),
        kp.LpKTASelector(step=0.3, divergence="kl"),
        kp.LpKTASelector(norm_strength=3.0, p_start=1.9, p_stop=1.1),
        kp.LpKTASelector(feature_groups=[["x0", "x3"]], must_include=["x2"]),
        kp.LpKTASelector(solver="predictor_corrector", step=0.1),
        make_pipeline(StandardScaler(), kp.LpKTASelector()),
    ],
)
def test_a_path_that_stores_its_ends_alone_is_the_same_at_every_size(selector):
    table = np.column_stack([X, X[:, 4] ** 2, np.ones(len(X))])
    whole, ends = trace(selector, table, Y), trace(selector, table, Y, by_size=True)
    assert len(ends.path) <= len(whole.path)
    assert ends.sizes.tolist() == whole.sizes.tolist()
    assert ends.path.entry_order().tolist() == whole.path.entry_order().tolist()
    for k in whole.sizes:
        one, other = whole.at(k), ends.at(k)
        assert one.columns.tolist() == other.columns.tolist()
        assert one.parameter == pytest.approx(other.parameter, nan_ok=True)
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)


def test_a_path_stores_its_ends_alone_where_only_sizes_are_asked_for():
    assert len(trace(kp.LpKTASelector(), X, Y, by_size=True).path) == 2
    assert len(trace(kp.LpKTASelector(), X, Y).path) == 101

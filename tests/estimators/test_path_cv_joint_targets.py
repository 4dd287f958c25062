"""PathCV with several columns and survival times, by a predictor and a measure of the user."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer, r2_score
from sklearn.model_selection import KFold
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsRegressor

import kernelpath as kp
from kernelpath.errors import ConstantColumnWarning, DataError, MissingValuesWarning

RNG = np.random.default_rng(7)
N = 120
X = RNG.normal(size=(N, 6))
Y = np.column_stack([X[:, 1], 100 * X[:, 4]]) + 0.2 * RNG.normal(size=(N, 2))
LABELS = (np.column_stack([X[:, 0], X[:, 5]]) > 0).astype(int)
TIME = np.round(RNG.exponential(size=N) * np.exp(-2 * X[:, 3]), 2)
EVENT = RNG.random(N) < 0.7
SURVIVAL = np.array(list(zip(EVENT, TIME)), dtype=[("event", bool), ("time", float)])
SIZES = [1, 2, 4]


def _cv(predictor, scoring, **settings):
    return kp.PathCV(
        predictor=predictor, scoring=scoring, **({"cv": 3, "n_features": SIZES} | settings)
    )


class RiskRegression(BaseEstimator):
    """Ridge regression on the residuals; it must get events and times as they are."""

    def fit(self, X, y):
        assert y.dtype == SURVIVAL.dtype
        self.model_ = Ridge().fit(X, kp.survival_target(y))
        return self

    def predict(self, X):
        return self.model_.predict(X)


def concordance(model, X, y):
    """Share of the comparable pairs in which the earlier event has the larger risk."""
    risk, right, pairs = model.predict(X), 0.0, 0
    for i in np.flatnonzero(y["event"]):
        later = y["time"] > y["time"][i]
        right += np.sum(risk[i] > risk[later]) + 0.5 * np.sum(risk[i] == risk[later])
        pairs += np.sum(later)
    return right / pairs


def _by_hand(y, fit, score):
    """Scores of every fold and size, from the p-values of its training rows alone."""
    per_fold = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        order = np.argsort(kp.alignment_test(X[train], y[train]).log_p, kind="stable")
        scores = []
        for k in SIZES:
            columns = np.sort(order[:k])
            model = fit().fit(X[train][:, columns], y[train])
            scores.append(score(model, X[test][:, columns], y[test]))
        per_fold.append(scores)
    return np.array(per_fold)


def test_scores_are_those_of_plain_folds():
    model = _cv(LinearRegression(), "r2").fit(X, Y)
    expected = _by_hand(Y, LinearRegression, lambda m, X, y: r2_score(y, m.predict(X)))
    np.testing.assert_allclose(model.scores_.per_fold, expected, rtol=1e-10)
    assert model.task_ == "outputs"
    assert model.operating_point_.n_features == 2
    assert model.predict(X[:5]).shape == (5, 2)
    own = model.model_.estimator.predict(X[:, [1, 4]])
    assert model.score(X, Y) == pytest.approx(r2_score(Y, own))


def test_chance_is_the_mean_of_every_column():
    model = _cv(LinearRegression(), "r2").fit(X, Y)
    expected = [
        r2_score(Y[test], np.tile(Y[train].mean(axis=0), (len(test), 1)))
        for train, test in KFold(3, shuffle=True, random_state=0).split(X)
    ]
    np.testing.assert_allclose(model.scores_.chance, expected)


def test_labels_by_a_classifier():
    classifier = MultiOutputClassifier(LogisticRegression())
    model = _cv(classifier, "accuracy").fit(X, LABELS)

    def fit():
        return MultiOutputClassifier(LogisticRegression())

    expected = _by_hand(LABELS, fit, lambda m, X, y: accuracy_score(y, m.predict(X)))
    np.testing.assert_allclose(model.scores_.per_fold, expected)
    assert [one.tolist() for one in model.classes_] == [[0, 1], [0, 1]]
    assert len(model.predict_proba(X[:3])) == 2
    assert model.score(X, LABELS) > 0.8


def test_survival_times_reach_the_predictor_and_the_measure_as_they_are():
    model = _cv(RiskRegression(), concordance).fit(X, SURVIVAL)
    expected = _by_hand(SURVIVAL, RiskRegression, concordance)
    np.testing.assert_allclose(model.scores_.per_fold, expected, rtol=1e-10)
    assert model.task_ == "survival"
    assert model.operating_point_.feature_names == ("x3",)
    np.testing.assert_allclose(model.scores_.chance, 0.5)
    assert model.score(X, SURVIVAL) > 0.7


@pytest.mark.parametrize(
    "selector", [kp.L1KRRegressor(), kp.baselines.CARS(), lambda X, y: np.abs(X.T @ y)]
)
def test_other_selectors_get_the_residuals(selector):
    model = _cv(RiskRegression(), concordance, baselines=["f_test"]).set_params(selector=selector)
    model.fit(X, SURVIVAL)
    assert model.operating_point_.feature_names == ("x3",)
    assert model.baseline_scores_["f_test"].mean[0] > 0.7


def test_residuals_are_those_of_the_rows_to_learn_from():
    seen = []

    def rank(X, y):
        seen.append(y)
        return np.abs(X.T @ y)

    _cv(RiskRegression(), concordance).set_params(selector=rank).fit(X, SURVIVAL)
    train = next(iter(KFold(3, shuffle=True, random_state=0).split(X)))[0]
    np.testing.assert_array_equal(seen[0], kp.survival_target(SURVIVAL))
    np.testing.assert_array_equal(seen[1], kp.survival_target(SURVIVAL[train]))


def test_tasks_are_those_of_all_rows():
    counts = np.r_[np.arange(12), np.zeros(N - 12, int)]  # 12 values: a quantity; few in a fold
    y = np.column_stack([Y[:, 0], counts])
    seen = []

    class Watched(kp.LpKTASelector):
        def _align(self, table, y, *args):
            seen.append(y.tasks)
            return super()._align(table, y, *args)

    _cv(LinearRegression(), "r2").set_params(selector=Watched()).fit(X, y)
    assert set(seen) == {("regression", "regression")}


def test_nested_and_settings_of_the_selector():
    model = _cv(
        LinearRegression(), "r2", nested=True, selector_grid={"norm_strength": [0.1, 1.0]}
    ).fit(X, Y)
    assert model.nested_score_.mean > 0.8
    assert model.selector_settings_["norm_strength"] in (0.1, 1.0)


def test_rows_weights_and_groups():
    y, groups = Y.copy(), np.arange(N) // 4
    y[:5, 1] = np.nan
    with pytest.warns(MissingValuesWarning, match="5 rows without a target"):
        model = _cv(LinearRegression(), "r2").fit(X, y, groups=groups)
    assert model.scores_.mean[1] > 0.8
    weight = RNG.integers(0, 3, N)
    weighted = _cv(LinearRegression(), "r2", cv=KFold(3)).fit(X, Y, sample_weight=weight)
    kept = weight > 0
    again = _cv(LinearRegression(), "r2", cv=KFold(3))
    again.fit(X[kept], Y[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(weighted.scores_.per_fold, again.scores_.per_fold)


def test_resuming_depends_on_every_column(tmp_path):
    first = _cv(LinearRegression(), "r2", memory=tmp_path).fit(X, Y)
    np.testing.assert_array_equal(
        _cv(LinearRegression(), "r2", memory=tmp_path).fit(X, Y).scores_.per_fold,
        first.scores_.per_fold,
    )
    other = np.column_stack([Y[:, 0], -(Y[:, 1] ** 2)])
    found = _cv(LinearRegression(), "r2", memory=tmp_path).fit(X, other).scores_
    assert not np.allclose(found.per_fold, first.scores_.per_fold)


def test_a_constant_column_goes_to_the_predictor_only():
    y = pd.DataFrame({"a": Y[:, 0], "b": Y[:, 1], "same": 2.0})
    with pytest.warns(ConstantColumnWarning, match="Column 'same' of y") as caught:
        model = _cv(LinearRegression(), "neg_mean_squared_error").fit(X, y)
    assert len(caught) == 1
    assert model.predict(X[:2]).shape == (2, 3)


def test_pages_and_files(tmp_path):
    model = _cv(KNeighborsRegressor(), "r2").fit(X, Y)
    assert model.summary()["cv"] is not None
    model.save_html(tmp_path / "page.html")
    with pytest.raises(ValueError, match="cannot be saved without pickle"):
        model.save(tmp_path / "model.kpmodel")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"predictor": "auto"}, "predictor= and scoring="),
        ({"predictor": "ridge"}, "predictor= and scoring="),
        ({"scoring": None}, "predictor= and scoring="),
        ({"baselines": ["f_test"]}, "f_test takes one column"),
        ({"baselines": ["hsic-lasso"]}, "hsic-lasso takes one column"),
        ({"references": ["logistic"]}, "models of one column"),
        ({"class_weight": "balanced"}, "class_weight is for"),
        ({"scoring": "accuracy"}, "does not work for several columns"),
        ({"selector": kp.L1KRRegressor()}, "y must be one-dimensional"),
    ],
)
def test_settings_for_one_column_are_refused(settings, words):
    model = _cv(LinearRegression(), "r2").set_params(**settings)
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)


def test_a_part_without_events_is_named():
    y = SURVIVAL.copy()
    y["event"] = np.arange(N) < 4
    splits = [(np.arange(60, 120), np.arange(60)), (np.arange(60), np.arange(60, 120))]
    with pytest.raises(DataError, match="training rows of fold 0: No row has the event"):
        _cv(RiskRegression(), concordance, cv=splits).fit(X, y)


def test_measures_of_the_predictions_alone():
    def within(y, found):
        return float(np.mean(np.abs(y["time"] - found) < 1e6))

    model = _cv(RiskRegression(), make_scorer(within)).fit(X, SURVIVAL)
    assert model.scores_.mean.tolist() == [1.0, 1.0, 1.0]


def test_tags_are_those_of_the_predictor_once_there_is_a_measure():
    tags = [
        model.__sklearn_tags__().target_tags.multi_output
        for model in (
            _cv(KNeighborsRegressor(), "r2"),
            _cv(KNeighborsRegressor(), None),
            _cv(LogisticRegression(), "accuracy"),
            kp.PathCV(),
            kp.LpKTASelector(),
            kp.L1KRRegressor(),
        )
    ]
    assert tags == [True, False, False, False, True, False]

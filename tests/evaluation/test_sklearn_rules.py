"""PathCV as a scikit-learn estimator: its checks, clones, pipelines, searches and metadata."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelpath as kp
from evaluation.helpers import JOINT, WEIGHTED, curve, path_cv, ring, same_scores, three_classes

X, Y = ring()
NAMES = [f"gene {j}" for j in range(6)]
FRAME = pd.DataFrame(X, columns=NAMES)
COARSE = kp.LpKTASelector(step=0.5)


def expected_failures(estimator):
    """Checks that cannot hold, each with its reason."""
    failures = {"check_fit2d_1feature": "a table of one column has no point with 2 features"}
    if estimator.predictor not in (JOINT, WEIGHTED):
        failures["check_class_weight_classifiers"] = (
            "class_weight is refused: it is the predictor's"
        )
    return failures


@parametrize_with_checks(
    [
        path_cv(COARSE, predictor=JOINT),
        path_cv(COARSE, predictor=WEIGHTED),
        path_cv(COARSE, predictor=LogisticRegression()),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- parameters, copies ---------------------------------------------------------------------------


def test_clone_and_parameters():
    model = path_cv(kp.LpKTASelector(step=0.2), rule="best", cv=3)
    twin = clone(model)
    assert twin.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert twin.get_params()["selector__step"] == 0.2
    assert twin.predictor == JOINT
    assert not hasattr(clone(model.fit(X, Y)), "scores_")
    model.set_params(selector__step=0.5, predictor="auto")
    assert model.selector.step == 0.5
    for method in ("predict", "transform", "decision_function", "plot", "get_support"):
        with pytest.raises(NotFittedError):
            getattr(twin, method)(*([] if method in ("plot", "get_support") else [X]))
    with pytest.raises(NotFittedError):
        twin.score(X, Y)
    with pytest.raises(NotFittedError):
        twin.save("nowhere.kpmodel")


def test_fit_does_not_change_parameters_or_data():
    selector, table, target = kp.LpKTASelector(), X.copy(), Y.copy()
    for array in (table, target):
        array.setflags(write=False)
    model = path_cv(selector)
    before = {name: id(value) for name, value in model.get_params(deep=False).items()}
    model.fit(table, target)
    assert {name: id(value) for name, value in model.get_params(deep=False).items()} == before
    assert not hasattr(selector, "path_")


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED, GaussianNB()])
def test_pickle(predictor):
    model = path_cv(predictor=predictor).fit(FRAME, Y)
    model.predict(FRAME, n_features=3)
    content = pickle.dumps(model)
    again = pickle.loads(content)
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    np.testing.assert_array_equal(
        again.predict(FRAME, n_features=3), model.predict(FRAME, n_features=3)
    )
    assert again.operating_point_ == model.operating_point_
    with pytest.raises(kp.DataError, match="4 features"):
        again.predict(FRAME, n_features=4)
    assert again.fit(FRAME, Y).operating_point_ == model.operating_point_


def test_training_rows_are_not_pickled():
    wide = np.random.default_rng(0).normal(size=(80, 2000))
    model = path_cv(f_classif, predictor=GaussianNB()).fit(wide, Y)
    assert len(pickle.dumps(model)) < wide.nbytes / 4


def test_task_tags():
    assert not is_classifier(path_cv())
    assert is_classifier(path_cv(task="classification"))
    assert is_regressor(path_cv(task="regression"))
    assert is_classifier(path_cv(predictor=GaussianNB()))
    assert is_regressor(path_cv(predictor=Ridge()))
    assert is_classifier(path_cv().fit(X, Y))
    assert is_regressor(path_cv().fit(*curve()))


# -- frames and pipelines -------------------------------------------------------------------------


def test_names_and_set_output():
    model = path_cv(n_features=2).set_output(transform="pandas").fit(FRAME, Y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.get_feature_names_out().tolist() == ["gene 1", "gene 3"]
    frame = model.transform(FRAME)
    pd.testing.assert_frame_equal(frame, FRAME[["gene 1", "gene 3"]])
    assert set(model.operating_point_.feature_names) == {"gene 1", "gene 3"}
    polars = path_cv(n_features=2).set_output(transform="polars").fit(pl.from_pandas(FRAME), Y)
    assert polars.transform(pl.from_pandas(FRAME)).columns == ["gene 1", "gene 3"]
    np.testing.assert_array_equal(model.predict(FRAME[NAMES[::-1]]), model.predict(FRAME))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME.drop(columns="gene 1"))
    with pytest.raises(ValueError, match="5 features"):
        path_cv().fit(X, Y).predict(X[:, :5])


def test_frames_and_arrays_give_the_same():
    plain = path_cv().fit(X, Y)
    for table in (FRAME, pl.from_pandas(FRAME), np.asfortranarray(X), X.tolist()):
        model = path_cv().fit(table, Y)
        same_scores(model.scores_, plain.scores_)
        np.testing.assert_array_equal(model.predict(table), plain.predict(X))
    index = FRAME.set_index(np.arange(len(X))[::-1] * 7)
    by_index = path_cv(predictor=GaussianNB()).fit(index, pd.Series(Y, index=index.index))
    same_scores(by_index.scores_, path_cv(predictor=GaussianNB()).fit(X, Y).scores_)


def test_an_estimator_gets_frames_with_names():
    class Names(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            assert X.columns.tolist() == sorted(X.columns)
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            assert X.columns.tolist() == sorted(X.columns)
            return np.full(len(X), self.classes_[0])

    assert path_cv(predictor=Names()).fit(FRAME, Y).predict(FRAME).tolist() == [0] * len(X)


def test_pipeline_step_and_last_step():
    selecting = make_pipeline(StandardScaler(), path_cv(n_features=2), GaussianNB())
    assert selecting.fit(X, Y)[:-1].transform(X).shape == (len(X), 2)
    predicting = make_pipeline(StandardScaler(), path_cv(n_features=2))
    assert accuracy_score(Y, predicting.fit(X, Y).predict(X)) > 0.9


def test_grid_search_and_cross_val_score():
    search = GridSearchCV(
        path_cv(task="classification"),
        {"rule": ["best", "one_se"], "selector": [kp.LpKTASelector(), SelectKBest(k=1)]},
        cv=2,
    ).fit(X, Y)
    assert isinstance(search.best_estimator_.selector, kp.LpKTASelector)
    deep = GridSearchCV(path_cv(kp.LpKTASelector()), {"selector__step": [0.1, 0.5]}, cv=2)
    assert deep.fit(X, Y).best_score_ > 0.7
    names = np.array(["no", "yes"])[Y]
    scores = cross_val_score(path_cv(task="classification"), X, names, cv=3, scoring="roc_auc")
    assert scores.mean() > 0.8


# -- repeatable -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_jobs_give_what_one_gives():
    options = {"predictor": "auto", "inner_cv": 2, "baselines": ("f_test",), "references": True}
    one, two = (path_cv(n_jobs=n, **options).fit(X, Y) for n in (1, 2))
    same_scores(one.scores_, two.scores_)
    same_scores(one.baseline_scores_["f_test"], two.baseline_scores_["f_test"])
    assert one.reference_scores_ == two.reference_scores_
    assert list(one.reference_scores_) == ["logistic", "boosting"]
    np.testing.assert_array_equal(one.scores_.parameters, two.scores_.parameters)
    assert one.operating_point_ == two.operating_point_
    assert one.plan_ == two.plan_


def test_seeds():
    same_scores(path_cv().fit(X, Y).scores_, path_cv(random_state=0).fit(X, Y).scores_)
    first, again = (path_cv(random_state=7).fit(X, Y).scores_ for _ in range(2))
    same_scores(first, again)
    other = path_cv(random_state=8).fit(X, Y).scores_
    assert not np.array_equal(first.per_fold, other.per_fold)
    one, two = (path_cv(random_state=np.random.RandomState(3)).fit(X, Y).scores_ for _ in range(2))
    same_scores(one, two)
    model = path_cv().fit(X, Y)
    before = model.scores_
    same_scores(model.fit(X, Y).scores_, before)


# -- metadata routing -----------------------------------------------------------------------------


class Weighted(SelectKBest):
    """Keeps the weights it was given, in a list of the class: PathCV clones it."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Weighted.seen.append(sample_weight)
        return super().fit(X, y)


WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, len(X))


@pytest.fixture
def _seen():
    Weighted.seen.clear()
    yield
    Weighted.seen.clear()


@pytest.mark.usefixtures("_seen")
def test_without_routing_weights_go_to_whoever_takes_them():
    path_cv(Weighted(k=1), predictor=LogisticRegression()).fit(X, Y, sample_weight=WEIGHT)
    assert all(weight is not None for weight in Weighted.seen)
    assert sorted(len(weight) for weight in Weighted.seen) == [40, 40, 80]
    with pytest.raises(TypeError, match="enable_metadata_routing"):
        path_cv().fit(X, Y, price=WEIGHT)


@pytest.mark.usefixtures("_seen")
@pytest.mark.parametrize("wanted", [True, False])
def test_routing_to_the_selector(wanted):
    with sklearn.config_context(enable_metadata_routing=True):
        selector = Weighted(k=1).set_fit_request(sample_weight=wanted)
        predictor = GaussianNB().set_fit_request(sample_weight=False)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=not wanted)
        model = path_cv(selector, predictor=predictor, scoring=scorer)
        model.fit(X, Y, sample_weight=WEIGHT)
    assert [weight is not None for weight in Weighted.seen] == [wanted] * 3


@pytest.mark.usefixtures("_seen")
@pytest.mark.parametrize("to_scorer", [True, False])
def test_routing_to_scorer_or_predictor(to_scorer):
    with sklearn.config_context(enable_metadata_routing=True):
        selector = Weighted(k=1).set_fit_request(sample_weight=False)
        predictor = GaussianNB().set_fit_request(sample_weight=not to_scorer)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=to_scorer)
        model = path_cv(selector, predictor=predictor, scoring=scorer)
        model.fit(X, Y, sample_weight=WEIGHT)
    assert Weighted.seen == [None] * 3
    for fold, (train, test) in enumerate(model._run.splits):
        column = np.flatnonzero(model.scores_.supports[fold].toarray()[0])
        in_fit, in_score = (None, WEIGHT[test]) if to_scorer else (WEIGHT[train], None)
        fitted = GaussianNB().fit(X[train][:, column], Y[train], sample_weight=in_fit)
        outcome = fitted.predict(X[test][:, column])
        expected = accuracy_score(Y[test], outcome, sample_weight=in_score)
        assert model.scores_.per_fold[fold, 0] == pytest.approx(expected)


def test_routing_groups_to_the_splitter():
    groups = np.arange(len(X)) // 10
    with sklearn.config_context(enable_metadata_routing=True):
        routed = path_cv(cv=GroupKFold(2)).fit(X, Y, groups=groups)
        own = path_cv(cv=2).fit(X, Y, groups=groups)
    plain = path_cv(cv=GroupKFold(2)).fit(X, Y, groups=groups)
    same_scores(routed.scores_, plain.scores_)
    for train, test in own._run.splits:
        assert not set(groups[train]) & set(groups[test])


def test_routing_refuses_what_nobody_asked_for():
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(TypeError, match="price"):
            path_cv().fit(X, Y, price=WEIGHT)
        with pytest.raises(ValueError, match="not explicitly set"):
            path_cv(predictor=LogisticRegression()).fit(X, Y, sample_weight=WEIGHT)


def test_routing_with_the_default_scoring_needs_no_request_for_it():
    """The user did not give the scorer, so cannot have said what it takes."""
    with sklearn.config_context(enable_metadata_routing=True):
        selector = kp.LpKTASelector().set_fit_request(sample_weight=True)
        model = path_cv(selector).fit(X, Y, sample_weight=WEIGHT)
    blind = path_cv(selector, scoring=lambda e, X, y: accuracy_score(y, e.predict(X)))
    with pytest.warns(UserWarning, match="every held-out row counts once"):
        blind.fit(X, Y, sample_weight=WEIGHT)
    same_scores(model.scores_, blind.scores_)


def test_routing_inside_a_search():
    groups = np.arange(len(X)) // 10
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            path_cv(cv=GroupKFold(2), task="classification"), {"rule": ["best", "one_se"]}, cv=2
        )
        search.fit(X, Y, groups=groups)
    for train, test in search.best_estimator_._run.splits:
        assert not set(groups[train]) & set(groups[test])


def test_multiclass_scorers():
    X3, y3 = three_classes()
    model = path_cv(scoring="roc_auc_ovr", probability=True).fit(X3, y3)
    assert model.scores_.mean.max() > 0.85
    assert model.score(X3, y3) > 0.85

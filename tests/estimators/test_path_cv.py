"""What PathCV finds, chooses and leaves behind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer, r2_score
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import kernelpath as kp
from evaluation.helpers import JOINT, WEIGHTED, curve, path_cv, ring, same_scores, three_classes
from kernelpath.utils.progress import passed_on

X, Y = ring()


def test_the_relevant_features_are_found():
    X, y = ring(200, 8)
    model = kp.PathCV(cv=3, n_features=[1, 2, 4, 8], inner_cv=2, references=False).fit(X, y)
    point = model.operating_point_
    assert point.n_features == 2
    assert set(point.feature_names) == {"x1", "x3"}
    assert point.score > 0.85
    assert model.scores_.mean[0] < point.score
    assert model.predict(X).shape == (200,)
    np.testing.assert_array_equal(model.transform(X), X[:, [1, 3]])
    assert point.predictor == model.model_.name
    assert point.predictor in ("joint_rbf", "weighted_kernel")
    assert {name for row in model.scores_.predictors for name in row} <= {
        "joint_rbf",
        "weighted_kernel",
    }
    assert model.stability_.core(n_features=2) == ("x1", "x3")
    assert model.stability_.index[1] == 1.0
    assert model.scores_.chance_mean == pytest.approx(max(y.mean(), 1 - y.mean()), abs=0.01)


def test_scores_are_those_of_the_folds():
    model = path_cv(f_classif, predictor=LogisticRegression(), cv=3).fit(X, Y)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
    for fold, (train, test) in enumerate(splits):
        order = np.argsort(-f_classif(X[train], Y[train])[0], kind="stable")
        for place, k in enumerate([1, 2]):
            columns = np.sort(order[:k])
            fitted = LogisticRegression().fit(X[train][:, columns], Y[train])
            expected = fitted.score(X[test][:, columns], Y[test])
            assert model.scores_.per_fold[fold, place] == expected
            chosen = model.scores_.supports[fold].toarray()[place]
            assert np.flatnonzero(chosen).tolist() == columns.tolist()
        dummy = DummyClassifier().fit(X[train], Y[train]).score(X[test], Y[test])
        assert model.scores_.chance[fold] == dummy
    np.testing.assert_allclose(model.scores_.mean, model.scores_.per_fold.mean(axis=0))


CVS = {
    "number": (3, None),
    "StratifiedKFold": (StratifiedKFold(2), None),
    "ShuffleSplit": (ShuffleSplit(2, test_size=0.4, random_state=1), None),
    "repeated": (RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0), None),
    "predefined": (PredefinedSplit(np.arange(80) % 2), None),
    "GroupKFold": (GroupKFold(2), np.arange(80) // 8),
    "LeaveOneGroupOut": (LeaveOneGroupOut(), np.arange(80) % 3),
    "text groups": (2, np.array(["a", "b", "c", "d"])[np.arange(80) % 4]),
    "time": (TimeSeriesSplit(2), None),
    "list": ([(np.arange(50), np.arange(50, 80)), (np.arange(30, 80), np.arange(30))], None),
    "masks": ([(np.arange(80) < 50, np.arange(80) >= 50)] * 2, None),
    "generator": (((a, b) for a, b in StratifiedKFold(2).split(X, Y)), None),
}


@pytest.mark.parametrize("name", CVS)
def test_any_splitter(name):
    cv, groups = CVS[name]
    model = path_cv(cv=cv).fit(X, Y, groups=groups)
    n_folds = {"number": 3, "repeated": 4, "LeaveOneGroupOut": 3}.get(name, 2)
    assert model.scores_.n_folds == n_folds
    assert np.isfinite(model.scores_.per_fold).all()


@pytest.mark.parametrize("n_groups", [2, 3, 4])
@pytest.mark.parametrize("problem", [ring, curve])
def test_few_groups_are_enough_for_tuning(n_groups, problem):
    table, y = problem()
    model = path_cv(predictor=kp.JointRBFSVM(gamma=(1.0,))).fit(
        table, y, groups=np.arange(len(y)) % n_groups
    )
    assert np.isfinite(model.scores_.per_fold).all()


SCORERS = {
    "accuracy": "accuracy",
    "roc_auc": "roc_auc",
    "balanced": make_scorer(balanced_accuracy_score),
    "function": lambda estimator, X, y: accuracy_score(y, estimator.predict(X)),
    "default": None,
}


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED, GaussianNB()])
@pytest.mark.parametrize("name", SCORERS)
def test_any_scorer(name, predictor):
    model = path_cv(predictor=predictor, scoring=SCORERS[name]).fit(X, Y)
    assert model.scores_.mean.max() > 0.6
    assert 0.5 < model.score(X, Y) <= 1.0
    if name in ("default", "function"):
        assert model.score(X, Y) == accuracy_score(Y, model.predict(X))
        plain = path_cv(predictor=predictor, scoring="accuracy").fit(X, Y)
        np.testing.assert_array_equal(model.scores_.per_fold, plain.scores_.per_fold)


def test_regression():
    table, y = curve()
    for predictor in (JOINT, WEIGHTED):
        model = path_cv(predictor=predictor, cv=3).fit(table, y)
        assert model.task_ == "regression"
        assert model.scores_.scoring == "r2"
        assert model.score(table, y) == r2_score(y, model.predict(table))
        assert model.score(table, y) > 0.5
        assert not hasattr(model, "classes_")
        shifted = path_cv(predictor=predictor, cv=3).fit(table, 1e6 + 1e3 * y)
        np.testing.assert_allclose(shifted.scores_.per_fold, model.scores_.per_fold, atol=1e-3)
    error = path_cv(scoring="neg_mean_absolute_error").fit(table, y)
    assert (error.scores_.per_fold < 0).all()


def test_a_measure_undefined_for_a_constant_is_fine():
    table, y = curve()
    model = path_cv(scoring=make_scorer(_rank_correlation)).fit(table, y)
    assert np.isnan(model.scores_.chance).all()
    assert model.scores_.mean.max() > 0.5


def _rank_correlation(y, predicted):
    return spearmanr(y, predicted).statistic


def test_string_labels_and_many_classes():
    table, y = three_classes()
    model = path_cv(cv=3).fit(table, y)
    assert model.classes_.tolist() == ["low", "mid", "top"]
    assert set(model.predict(table)) == {"low", "mid", "top"}
    assert model.decision_function(table).shape == (len(y), 3)
    assert model.scores_.mean[0] > 0.7
    codes = path_cv(cv=3).fit(table, np.searchsorted(model.classes_, y))
    same_scores(codes.scores_, model.scores_)
    whole = np.digitize(table[:, 2], [-0.5, 0.5])
    assert path_cv(task="regression").fit(table, whole).task_ == "regression"


def test_class_imbalance():
    rng = np.random.default_rng(5)
    table = rng.normal(size=(150, 4))
    y = (table[:, 0] + 0.8 * rng.normal(size=150) > 1.6).astype(int)
    assert y.mean() < 0.2
    options = {"scoring": "balanced_accuracy", "n_features": [1, 2], "cv": 3}
    plain = path_cv(class_weight=None, **options).fit(table, y)
    balanced = path_cv(**options).fit(table, y)  # what the measure asks for
    assert balanced.scores_.mean.max() > plain.scores_.mean.max() + 0.03
    assert balanced.predict(table).mean() > plain.predict(table).mean()


# -- rules ----------------------------------------------------------------------------------------


def test_rules():
    table, y = ring(120, 6)
    options = {"n_features": [1, 2, 4, 6], "cv": 4}
    scores = path_cv(**options).fit(table, y).scores_

    def chosen(**rule):
        model = path_cv(**options, **rule).fit(table, y)
        point = model.operating_point_
        same_scores(model.scores_, scores)
        assert (point.score, point.se) == scores.at(point.n_features)
        assert model.get_support().sum() == point.n_features
        return point.n_features

    best = int(scores.n_features[scores.mean.argmax()])
    assert chosen(rule="best") == best
    floor = scores.mean.max() - scores.se[scores.mean.argmax()]
    assert chosen(rule="one_se") == scores.n_features[scores.mean >= floor][0]
    assert chosen(rule="budget", budget=1) == 1
    assert chosen(rule="budget", budget=3) in (1, 2)
    assert chosen(rule="tolerance", tolerance=1.0) == 1
    assert chosen(rule="tolerance", tolerance=0.0) == best
    assert chosen(rule=lambda scores: scores.n_features[-1]) == 6


def test_one_fold():
    with pytest.warns(UserWarning, match="needs at least two folds"):
        model = path_cv(cv=ShuffleSplit(1, random_state=0)).fit(X, Y)
    assert np.isnan(model.scores_.se).all()
    assert np.isnan(model.operating_point_.se)


# -- sizes ----------------------------------------------------------------------------------------


def test_default_sizes():
    model = kp.PathCV(f_classif, predictor=GaussianNB(), cv=2, references=False).fit(X, Y)
    assert model.scores_.n_features.tolist() == [1, 2, 3, 4, 5, 6]
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(80, 60))])
    model = kp.PathCV(f_classif, predictor=GaussianNB(), cv=2, references=False).fit(wide, Y)
    assert model.scores_.n_features.tolist() == [*range(1, 31), 38, 47, 59, 66]


def test_any_size_can_be_asked_for_later():
    model = path_cv(rule="best").fit(X, Y)
    for k in (1, 3, 6):
        alone = path_cv(n_features=k).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X, n_features=k), alone.predict(X))
        chosen = model.path_.at(n_features=k).support
        np.testing.assert_array_equal(X[:, chosen], alone.transform(X))
        np.testing.assert_array_equal(
            model.decision_function(X, n_features=k), alone.decision_function(X)
        )
    k = model.operating_point_.n_features
    np.testing.assert_array_equal(model.predict(X, n_features=k), model.predict(X))


# -- predictors of others -------------------------------------------------------------------------


def test_pipeline_as_predictor():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = path_cv(f_classif, predictor=pipeline).fit(X, Y)
    assert model.operating_point_.predictor == "LogisticRegression"
    columns = model.get_support(indices=True)
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:, columns], Y)
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X[:, columns]))
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X[:, columns]))
    np.testing.assert_array_equal(
        model.decision_function(X), fitted.decision_function(X[:, columns])
    )
    assert not hasattr(pipeline[-1], "coef_")
    assert not hasattr(path_cv(predictor=GaussianNB()).fit(X, Y), "decision_function")


def test_auto_says_what_it_took():
    """Additive effects suit the weighted kernel, an interaction needs the joint one."""
    rng = np.random.default_rng(7)
    table = rng.normal(size=(120, 3))
    product = (table[:, 0] * table[:, 1] > 0).astype(int)
    model = path_cv(lambda X, y: [3, 2, 1], predictor="auto", n_features=2, inner_cv=2)
    model.fit(table, product)
    assert model.operating_point_.predictor == "joint_rbf"
    assert set(np.ravel(model.scores_.predictors)) == {"joint_rbf"}
    assert set(model.operating_point_.settings) == {"gamma", "C"}
    assert model.score(table, product) > 0.9


# -- work -----------------------------------------------------------------------------------------


def test_plan_and_progress(capsys):
    seen = []
    model = path_cv(predictor="joint_rbf", inner_cv=2, verbose=1, baselines=("f_test",))
    with passed_on("cross-validation", lambda done, total: seen.append((done, total))):
        model.fit(X, Y)
    plan = model.plan_
    assert (plan.n_folds, plan.n_sizes, plan.n_candidates, plan.n_paths) == (2, 2, 9, 2)
    assert plan.n_fits == 2 * 2 * 2
    assert plan.n_tuning_fits == 2 * 2 * 2 * 9 * 2
    done = [count for count, _ in seen]
    assert done == sorted(done)
    assert done[-1] == plan.total == seen[0][1]
    said = capsys.readouterr().err
    assert said.startswith(str(plan))
    assert "100 %" in said
    assert "OperatingPoint" in said
    path_cv().fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_nested_score():
    model = path_cv(nested=True, cv=3).fit(X, Y)
    splits = model._run.splits
    for fold, (train, test) in enumerate(splits):
        inner = path_cv(cv=3).fit(X[train], Y[train])
        assert model.nested_score_.per_fold[fold] == inner.score(X[test], Y[test])
        assert model.nested_score_.n_features[fold] == inner.operating_point_.n_features
    assert not hasattr(path_cv().fit(X, Y), "nested_score_")
    groups = np.arange(len(X)) // 5
    grouped = path_cv(nested=True, predictor=GaussianNB()).fit(X, Y, groups=groups)
    assert len(grouped.nested_score_.per_fold) == 2


def test_second_fit_forgets_the_first():
    model = path_cv(nested=True, baselines=("f_test",)).fit(X, Y)
    model.set_params(nested=False, baselines=()).fit(*curve())
    assert not hasattr(model, "nested_score_")
    assert not hasattr(model, "classes_")
    assert model.baseline_scores_ == {}
    assert model.task_ == "regression"


def test_plot():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model = path_cv().fit(X, Y)
    n_lines = len(model.plot().figure.axes[0].lines) if hasattr(model.plot(), "figure") else 0
    more = model.plot(baselines=("f_test",))
    assert len(more.figure.axes[0].lines) > n_lines > 0
    assert list(model.baseline_scores_) == ["f_test"]
    plain = path_cv(f_classif).fit(X, Y).scores_
    np.testing.assert_array_equal(model.baseline_scores_["f_test"].per_fold, plain.per_fold)
    plt.close("all")


def test_a_scorer_that_predicts_other_rows_is_not_given_wrong_answers():
    """The outputs are those of the held-out rows; for others there is nothing but an error."""

    def half(estimator, X, y):
        return accuracy_score(y[::2], estimator.predict(X[::2]))

    with pytest.raises(kp.DataError, match="other rows than those held out"):
        path_cv(scoring=half).fit(X, Y)

    def backwards(estimator, X, y):
        return accuracy_score(y[::-1], estimator.predict(X[::-1]))

    with pytest.raises(kp.DataError, match="other rows than those held out"):
        path_cv(scoring=backwards).fit(X, Y)
    copied = path_cv(scoring=lambda e, X, y: accuracy_score(y, e.predict(X.copy()))).fit(X, Y)
    np.testing.assert_array_equal(copied.scores_.per_fold, path_cv().fit(X, Y).scores_.per_fold)


def test_a_budget_alone_bounds_the_own_rule_and_a_tolerance_implies_its_rule():
    model = path_cv(rule="one_se").fit(X, Y)
    for budget in (1, 3):
        point = model.choose(budget=budget)
        assert point == model.choose("one_se", budget=budget)
        assert (point.rule, point.n_features <= budget) == ("one_se", True)
    point = model.choose(tolerance=1.0)
    assert (point.rule, point.n_features) == ("tolerance", int(model.scores_.n_features[0]))
    with pytest.raises(ValueError, match="budget=1 has no effect on a rule that is a function"):
        model.choose(lambda scores: 1, budget=1)


def test_a_budget_bounds_every_rule():
    bounded = path_cv(rule="one_se", budget=1).fit(X, Y)
    assert (bounded.operating_point_.n_features, bounded.operating_point_.rule) == (1, "one_se")
    free = path_cv().fit(X, Y)
    assert bounded.choose("best").n_features == free.choose("best").n_features  # another rule
    with pytest.raises(kp.DataError, match="smallest size to score has 2"):
        path_cv(rule="best", budget=1, n_features=[2, 3]).fit(X, Y)


def test_one_value_is_a_grid_of_one():
    one = path_cv(predictor=kp.JointRBFSVM(gamma=1, C=10)).fit(X, Y)
    same = path_cv(predictor=kp.JointRBFSVM(gamma=(1.0,), C=(10.0,))).fit(X, Y)
    assert one.scores_ == same.scores_
    assert one.plan_.n_tuning_fits == 0


def test_time_left_is_stated_once_there_is_a_basis(capsys):
    from kernelpath.evaluation.work_plan import WorkMeter

    meter = WorkMeter(1000, verbose=2)
    meter._told = -1e9  # as if nothing had been said for long
    meter.add(1)
    assert "left" not in capsys.readouterr().err
    meter._told = -1e9
    meter.add(199)
    assert "200 of 1,000 models (20 %), 0 s left" in capsys.readouterr().err
    meter.skip(100)
    assert "100 models known from an earlier run" in capsys.readouterr().err


def test_baselines_on_given_axes_are_in_a_legend():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    model = path_cv(baselines={"$a$": "f_test"}).fit(X, Y)
    figure, axes = plt.subplots(1, 2)
    model.plot(axes[0])
    figure.canvas.draw()
    texts = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert len(texts) == 2
    inside = axes[0].get_window_extent()
    assert axes[0].get_legend().get_window_extent().x1 <= inside.x1
    plt.close(figure)


def test_what_is_missing_for_probabilities_is_said():
    model = path_cv().fit(X, Y)
    with pytest.raises(AttributeError, match=r"probability=True.* or predictor='logistic'"):
        model.predict_proba(X)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="target is continuous"):
        _ = path_cv().fit(X, X[:, 0]).predict_proba
    with pytest.raises(AttributeError, match="the predictor LinearSVC has no predict_proba"):
        _ = path_cv(predictor=LinearSVC()).fit(X, Y).predict_proba
    assert path_cv(predictor="logistic").fit(X, Y).predict_proba(X).shape == (len(X), 2)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = model.nonsense
    with pytest.raises(NotFittedError):
        _ = path_cv().sizes_with_model


def test_a_model_writes_its_page(tmp_path):
    model = path_cv().fit(X, Y)
    model.save_html(tmp_path / "page.html", title="Mine")
    kp.save_html(model, tmp_path / "same.html", title="Mine")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<title>Mine</title>" in page
    assert page == (tmp_path / "same.html").read_text("utf-8")
    kp.save_html(model.path_, tmp_path / "path.html")
    assert (tmp_path / "path.html").exists()
    with pytest.raises(TypeError, match="or from a fitted PathCV"):
        kp.save_html(3, tmp_path / "none.html")

"""Nothing of the rows held out reaches what is learned from the others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB

import kernelpath as kp
from evaluation.helpers import JOINT, LOG, WEIGHTED, Spy, SpyNB, curve, numbered, path_cv, ring

SIZES = [1, 2, 5, 20, 60]


@pytest.fixture(autouse=True)
def _empty_log():
    LOG.clear()
    yield
    LOG.clear()


def _noise(n=80, d=300, seed=0):
    """A wide table without any relation to balanced labels."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.permutation(np.arange(n) % 2)


def _class_gap(X, y):
    """A ranking function: distance of the class means."""
    return np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))


SELECTORS = {
    "lp-kta": kp.LpKTASelector(step=0.1),
    "SelectKBest": SelectKBest(f_classif, k=5),
    "function": _class_gap,
    "coef": LogisticRegression(),
}
PREDICTORS = {
    "joint_rbf": JOINT,
    "tuned": kp.JointRBFSVM(gamma=(1.0,), C=(10.0, 0.1)),
    "weighted_kernel": WEIGHTED,
    "bayes": GaussianNB(),
}
PAIRS = [
    ("lp-kta", "tuned"),
    ("lp-kta", "weighted_kernel"),
    ("SelectKBest", "joint_rbf"),
    ("SelectKBest", "bayes"),
    ("function", "bayes"),
    ("function", "weighted_kernel"),
    ("coef", "bayes"),
]


def _within_two_errors(runs, n_rows=80, chance=0.5):
    """Mean over tables within two standard errors, binomial, of a single run.

    The mean is known twice as well, so no seed is lucky or unlucky.
    """
    mean = np.mean([scores.mean for scores in runs], axis=0)
    error = np.sqrt(chance * (1 - chance) / n_rows)
    assert (np.abs(mean - chance) <= 2 * error).all(), (mean, error)


@pytest.mark.parametrize(("selector", "predictor"), PAIRS)
def test_pure_noise_scores_chance_at_every_size(selector, predictor):
    options = {"selector": SELECTORS[selector], "predictor": PREDICTORS[predictor]}
    options |= {"n_features": SIZES, "cv": 3, "inner_cv": 2 if predictor == "tuned" else None}
    _within_two_errors([path_cv(**options).fit(*_noise(seed=s)).scores_ for s in range(5)])


def test_pure_noise_over_many_tables_within_two_standard_errors_of_chance_at_every_size():
    """The spread of one table is not that of its folds, which share rows: so over tables."""
    sizes = [1, 2, 5, 20, 100]
    means = []
    for seed in range(16):
        X, y = _noise(n=200, d=100, seed=seed)
        model = path_cv(kp.LpKTASelector(step=0.1), predictor=JOINT, cv=5, n_features=sizes)
        means.append(model.fit(X, y).scores_.mean)
    means = np.array(means)
    se = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    assert (np.abs(means.mean(axis=0) - 0.5) <= 2 * se).all()
    assert se.max() < 0.02  # so that a leak of a few points would be seen


def test_pure_noise_with_all_defaults():
    options = {"predictor": "auto", "n_features": [1, 20], "inner_cv": 2}
    runs = [path_cv(**options).fit(*_noise(60, 60, s)).scores_ for s in range(4)]
    _within_two_errors(runs, n_rows=60)


def test_this_noise_would_betray_a_leak():
    """The negative control: features chosen once from all rows, then the same check."""
    leaky = []
    for seed in range(6):
        X, y = _noise(seed=seed)
        best = np.argsort(-f_classif(X, y)[0])[:20]
        model = path_cv(f_classif, n_features=[5, 20], predictor=GaussianNB(), cv=3)
        leaky.append(model.fit(X[:, best], y).scores_)
    with pytest.raises(AssertionError):
        _within_two_errors(leaky)


def test_pure_noise_regression_and_nested():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(80, 200)), rng.normal(size=80)
    scores = path_cv(n_features=[1, 5, 50], cv=4).fit(X, y).scores_
    assert (scores.mean < 0.05).all()


def test_nested_score_of_pure_noise_is_chance_where_the_best_of_the_curve_is_not():
    X, y = _noise(60, 200)
    rng = np.random.default_rng(8)
    options = {"n_features": [1, 2, 3, 5, 9, 15, 30], "cv": 3, "predictor": GaussianNB()}
    best, nested = [], []
    for _ in range(5):
        model = path_cv(_class_gap, rule="best", nested=True, **options).fit(X, rng.permutation(y))
        best.append(model.operating_point_.score)
        nested.append(model.nested_score_.mean)
    assert abs(np.mean(nested) - 0.5) <= 2 * np.sqrt(0.25 / len(y))
    assert np.mean(best) > np.mean(nested)


# -- rows that were seen ---------------------------------------------------------------------------

CVS = {
    "number": (3, None),
    "shuffled": (ShuffleSplit(2, test_size=0.3, random_state=0), None),
    "groups": (GroupKFold(3), np.arange(60) // 5),
    "number and groups": (3, np.arange(60) // 5),
    "time": (TimeSeriesSplit(3), None),
    "list": ([(np.arange(0, 40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))], None),
}


def _splits(model):
    return [(set(train.tolist()), set(test.tolist())) for train, test in model._run.splits]


@pytest.mark.parametrize("name", CVS)
def test_selector_sees_only_training_rows(name):
    X, y = numbered()
    cv, groups = CVS[name]
    model = path_cv(Spy(), cv=cv, predictor=GaussianNB()).fit(X, y, groups=groups)
    seen = [set(rows.tolist()) for _, rows, _ in LOG]
    assert seen[0] == set(range(60))  # the path of all rows, for path_ and the final model
    assert [rows for rows in seen if len(rows) < 60] == [train for train, _ in _splits(model)]
    for kind, rows, labels in LOG:
        assert kind == "trace"
        np.testing.assert_array_equal(labels, y[rows])


@pytest.mark.parametrize("name", CVS)
def test_tuning_sees_only_training_rows(name):
    """Inner folds lie inside one outer training part, and their test rows are not traced."""
    X, y = numbered()
    cv, groups = CVS[name]
    inner_cv = TimeSeriesSplit(2) if name == "time" else 2
    predictor = kp.JointRBFSVM(C=(1.0, 10.0), gamma=(1.0,))
    path_cv(Spy(), cv=cv, predictor=predictor, inner_cv=inner_cv).fit(X, y, groups=groups)
    model = path_cv(Spy(), cv=cv, predictor=GaussianNB()).fit(X, y, groups=groups)
    outer = _splits(model)
    del LOG[-(1 + len(outer)) :]  # of the second fit
    seen = [set(rows.tolist()) for _, rows, _ in LOG]
    position = 1
    for train, test in outer:
        assert seen[position] == train
        inner = seen[position + 1 : position + 3]
        for rows in inner:
            assert rows < train
            assert not rows & test
        position += 1 + len(inner)
        assert name != "time" or max(map(max, inner)) < max(train)
    if groups is not None:
        for rows in seen:
            whole = {g for g in groups if set(np.flatnonzero(groups == g).tolist()) <= rows}
            assert {groups[i] for i in rows} == whole


@pytest.mark.parametrize("predictor", ["auto", GaussianNB()], ids=["auto", "bayes"])
def test_changing_the_test_rows_changes_nothing_that_was_learned(predictor):
    X, y = ring(60)
    split = next(StratifiedKFold(3).split(X, y))
    inner = 2 if predictor == "auto" else None
    options = {"predictor": predictor, "cv": [split], "rule": "best", "inner_cv": inner}
    honest = path_cv(**options).fit(X, y)
    changed = X.copy()
    changed[split[1]] = np.random.default_rng(0).normal(50, 1000, changed[split[1]].shape)
    broken = path_cv(**options).fit(changed, y)
    np.testing.assert_array_equal(
        honest.scores_.supports[0].toarray(), broken.scores_.supports[0].toarray()
    )
    assert honest.scores_.predictors == broken.scores_.predictors
    np.testing.assert_array_equal(honest.scores_.parameters, broken.scores_.parameters)
    store = [_learned(model) for model in (honest, broken)]
    assert store[0] == store[1]
    assert not np.array_equal(honest.scores_.per_fold, broken.scores_.per_fold)


def _learned(model):
    """Settings and inner scores of the fold, computed again from the setup of the fit."""
    from kernelpath.evaluation.folds import evaluate_fold

    setup = model._run
    result = evaluate_fold(setup.study, 0, *setup.splits[0])
    return {k: (c.predictor, c.setting, str(c.score)) for k, c in result.tuned.items()}


def test_labels_of_the_test_rows_are_not_seen():
    X, y = ring(60)
    split = next(StratifiedKFold(3).split(X, y))
    flipped = y.copy()
    flipped[split[1]] = 1 - flipped[split[1]]
    options = {"cv": [split], "rule": "best"}
    honest, broken = (path_cv(**options).fit(X, labels) for labels in (y, flipped))
    np.testing.assert_allclose(honest.scores_.per_fold + broken.scores_.per_fold, 1.0)


def test_scale_of_a_regression_target_is_that_of_the_training_rows():
    X, y = curve(60)
    split = next(KFold(3).split(X))
    moved = y.copy()
    moved[split[1]] = 1e3 * moved[split[1]] + 5
    options = {"cv": [split], "rule": "best", "scoring": _first_prediction}
    honest, broken = (path_cv(**options).fit(X, target) for target in (y, moved))
    np.testing.assert_array_equal(honest.scores_.per_fold, broken.scores_.per_fold)


def _first_prediction(estimator, X, y):
    return estimator.predict(X)[0]


def test_categories_of_the_test_rows_do_not_matter():
    X, y = ring(60)
    split = next(StratifiedKFold(3).split(X, y))
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(town=np.array(["u", "v"])[y])
    other = frame.copy()
    other.loc[split[1], "town"] = "elsewhere"
    selector = kp.LpKTASelector(kernel="auto")
    options = {"cv": [split], "rule": "best", "n_features": [1, 3]}
    honest, broken = (path_cv(selector, **options).fit(table, y) for table in (frame, other))
    np.testing.assert_array_equal(
        honest.scores_.supports[0].toarray(), broken.scores_.supports[0].toarray()
    )
    np.testing.assert_array_equal(honest.scores_.parameters, broken.scores_.parameters)


def test_nested_repeats_everything_inside_the_training_rows():
    X, y = numbered()
    model = path_cv(Spy(), cv=3, predictor=SpyNB(), nested=True).fit(X, y)
    seen = [set(rows.tolist()) for kind, rows, _ in LOG if kind == "trace"]
    outer = _splits(model)
    assert len(seen) == (1 + 3) + 3 * (1 + 3)
    for i, (train, test) in enumerate(outer):
        for rows in seen[4 + 4 * i : 8 + 4 * i]:
            assert rows <= train
            assert not rows & test
    assert len(model.nested_score_.per_fold) == 3

"""Few rows, rare classes, odd labels and weights that nobody sees: what PathCV says about them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest

import kernelpath as kp
from evaluation.helpers import JOINT, ring
from kernelpath.errors import MissingValuesWarning, RareClassWarning

X, Y = ring(40, 4)
VALUES = X[:, 0] + 0.25
LABELS = np.where(Y == 1, "yes", "no")
ONE = kp.WeightedKernelSVM(C=1.0)


@pytest.mark.parametrize(
    ("n", "cv", "words"),
    [
        (3, 2, "1 training and 2 test rows.*give more rows"),
        (4, 5, "4 rows; give at most cv=4"),
        (4, 2, "2 training rows.*one row in the inner folds.*WeightedKernelSVM"),
        (4, 3, "one test row.*scoring='r2'.*give cv=2,"),
        (5, 5, "one test row.*scoring='r2'.*give cv=2,"),
        (5, 2, "2 training rows.*one row in the inner folds"),
        (9, 5, "one test row.*give cv=4 or less"),
    ],
)
def test_few_rows_of_numbers(n, cv, words):
    with pytest.raises(kp.DataError, match=words):
        kp.PathCV(cv=cv, references=False).fit(X[:n], VALUES[:n])


def test_rows_that_are_the_only_ones_of_their_class_are_left_out():
    y = LABELS.astype(object)
    y[3], y[8] = "hutt", "rodian"
    model = kp.PathCV(cv=4, predictor="logistic", n_features=[1, 2])
    with pytest.warns(UserWarning, match="2 rows, each the only one of its class .'hutt' and 'rod"):
        model.fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    kept = np.delete(np.arange(40), [3, 8])
    alone = clone(model).fit(X[kept], y[kept])
    assert model.scores_ == alone.scores_
    data = model.summary()["data"]
    assert (data["n_rows"], data["rows_left_out"]["alone"]) == (38, 2)


def test_the_ways_out_lead_somewhere():
    kp.PathCV(cv=2, predictor=ONE, references=False).fit(X[:4], VALUES[:4])
    scoring = "neg_mean_absolute_error"
    kp.PathCV(cv=5, predictor=ONE, scoring=scoring, n_features=[1], references=False).fit(
        X[:5], VALUES[:5]
    )
    kp.PathCV(cv=4, n_features=[1, 2], references=False).fit(X[:9], VALUES[:9])


@pytest.mark.parametrize(
    ("y", "cv", "words"),
    [
        (np.arange(4) % 2, 2, "one row in the inner folds"),
        (np.array([0, 1, 0]), 2, "Class '1' has 1 row.*drop rare classes"),
        (np.arange(5) % 2, 4, "Class '1' has 2 rows, fewer than cv=4 folds; merge or drop"),
    ],
)
def test_few_rows_of_classes(y, cv, words):
    with pytest.raises(kp.DataError, match=words):
        kp.PathCV(cv=cv, references=False).fit(X[: len(y)], y)


def test_a_class_with_fewer_rows_than_folds():
    y = np.where(np.arange(40) < 3, "rare", np.where(LABELS[0] == LABELS, "a", "b"))
    fewer = "'rare' has 3 rows, fewer than cv=5 folds: some"
    rare = "'rare' has 7.5 % of the rows: scores are balanced accuracy"
    with (
        pytest.warns(RareClassWarning, match=rare),
        pytest.warns(UserWarning, match=fewer) as told,
    ):
        model = kp.PathCV(cv=5, n_features=[1, 2], references=False).fit(X[:40], y)
    assert [one.filename for one in told if "fewer than" in str(one.message)] == [__file__]
    assert model.scores_.n_folds == 5
    assert model.classes_.tolist() == ["a", "b", "rare"]
    with pytest.warns(UserWarning, match=fewer) as told:
        kp.PathCV(cv=5, n_features=[1, 2], predictor=ONE, scoring="accuracy", references=False).fit(
            X[:40], y
        )
    assert not any(issubclass(one.category, RareClassWarning) for one in told)
    numbers = np.where(np.arange(40) < 3, 7, LABELS[0] == LABELS)
    with (
        pytest.warns(RareClassWarning, match="balanced accuracy"),
        pytest.warns(UserWarning, match="cv=3, or merge or drop.*set task='regression'"),
        pytest.warns(UserWarning, match="3 different whole numbers and is taken for classes"),
    ):
        kp.PathCV(cv=5, n_features=[1], predictor=ONE, references=False).fit(X[:40], numbers)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (np.arange(40) // 14, "only 3 groups; give cv=3, or leave groups out"),
        (np.zeros(40), "only 1 group; leave groups out"),
        (LABELS, "only 2 groups; give cv=2"),
    ],
)
def test_fewer_groups_than_folds(groups, words):
    with pytest.raises(kp.DataError, match=words):
        kp.PathCV(cv=5, references=False).fit(X, LABELS, groups=groups)


# -- labels ---------------------------------------------------------------------------------------

ESTIMATORS = [
    kp.LpKTASelector(),
    kp.PathCV(cv=2, predictor=JOINT, n_features=[1], references=False),
    kp.AdditivePathSelector(1),
    kp.GMKLClassifier(),
    kp.NMMKLSelector(1),
    kp.L1KRClassifier(norm_budget=0.1, search_branches=False),
    kp.baselines.Fisher(),
]
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)


@every_estimator
@pytest.mark.parametrize(
    "labels",
    [
        LABELS.astype("S"),
        np.array([label.encode() for label in LABELS], dtype=object),
        np.array([label.encode() if label == "no" else label for label in LABELS], dtype=object),
    ],
    ids=["bytes", "objects", "mixed"],
)
def test_bytes(model, labels):
    with pytest.raises(kp.DataError, match="bytes; make them text"):
        model.fit(X, labels)


@every_estimator
@pytest.mark.parametrize("first", [np.nan, None])
def test_a_missing_label_in_front(model, first):
    labels = np.array([first, *LABELS[1:]], dtype=object)
    with pytest.warns(MissingValuesWarning, match="1 row without a target, of 40") as told:
        fitted = clone(model).fit(X, labels)
    assert [one.filename for one in told] == [__file__]
    rest = clone(model).fit(X[1:], LABELS[1:])
    np.testing.assert_array_equal(fitted.get_support(), rest.get_support())
    if hasattr(fitted, "weights_"):
        np.testing.assert_array_equal(fitted.weights_, rest.weights_)
    if hasattr(fitted, "predict"):
        np.testing.assert_array_equal(fitted.predict(X), rest.predict(X))


@every_estimator
def test_numbers_among_text(model):
    mixed = np.array([1 if label == "no" else label for label in LABELS], dtype=object)
    with pytest.raises(kp.DataError, match="mixes numbers and text"):
        model.fit(X, mixed)


@every_estimator
@pytest.mark.parametrize("labels", [LABELS, LABELS.astype(object), Y == 1, (Y == 1).astype(object)])
def test_labels_that_do(model, labels):
    fitted = model.fit(X, labels)
    if hasattr(fitted, "predict"):
        assert set(fitted.predict(X).tolist()) <= set(labels.tolist())


# -- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("baselines", "named"),
    [
        (["f_test"], ["f_test"]),
        (["f_test", "forest"], ["f_test", "forest"]),
        ({"best": SelectKBest(k=1), "own": kp.LpKTASelector(step=0.5)}, ["SelectKBest"]),
        ({"kernels": kp.GMKLClassifier(strengths=3)}, []),
        ({"fisher": kp.baselines.Fisher()}, ["Fisher"]),
    ],
    ids=str,
)
def test_baselines_that_see_no_weights_are_named(baselines, named):
    model = kp.PathCV(cv=2, predictor=ONE, n_features=[1], baselines=baselines, references=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, Y, sample_weight=np.ones(len(Y)))
    said = [str(one.message) for one in told if "takes no sample_weight" in str(one.message)]
    assert said == [
        f"The baseline {name} takes no sample_weight and is fitted without it." for name in named
    ]
    assert all(one.filename == __file__ for one in told if "sample_weight" in str(one.message))


def test_baselines_of_a_picture_are_named():
    model = kp.PathCV(cv=2, predictor=ONE, n_features=[1], references=False).fit(
        X, Y, sample_weight=np.ones(len(Y))
    )
    with pytest.warns(UserWarning, match="The baseline f_test takes no sample_weight"):
        model.plot(baselines=["f_test"])


def test_without_weights_nothing_is_said():
    kp.PathCV(cv=2, predictor=ONE, n_features=[1], baselines=["f_test"], references=False).fit(X, Y)

"""The usual measures without ceremony are those of scikit-learn's scorers."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer, make_scorer, r2_score

from kernelpath.evaluation.plain_scores import plain_score
from kernelpath.predictors.base import HeldOutClassifier, HeldOutRegressor

pytestmark = pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
RNG = np.random.default_rng(0)
LABELS = (np.array([0, 1]), np.array(["no", "yes"], dtype=object), np.array([1, 2, 5]))


def classifier(classes, y, decision=None):
    wrong = RNG.random(len(y)) < 0.3
    guess = np.where(wrong, RNG.choice(classes, len(y)), y)
    outputs = {"predict": guess, "decision_function": decision, "predict_proba": None}
    return HeldOutClassifier(outputs, classes)


@pytest.mark.parametrize("classes", LABELS)
@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy"])
def test_labels_are_counted_as_the_scorer_counts_them(name, classes):
    for n in (2, 7, 60):
        y = RNG.choice(classes, n)
        y[:1] = classes[0]
        outputs = classifier(classes, y)
        expected = get_scorer(name)(outputs, np.zeros((n, 1)), y)
        assert plain_score(get_scorer(name), outputs, y) == pytest.approx(expected, abs=1e-14)


def test_a_class_that_is_only_guessed_does_not_count():
    y = np.array([0, 0, 1])
    outputs = HeldOutClassifier({"predict": np.array([0, 2, 1])}, np.array([0, 1, 2]))
    expected = get_scorer("balanced_accuracy")(outputs, np.zeros((3, 1)), y)
    assert plain_score(get_scorer("balanced_accuracy"), outputs, y) == expected == 0.75


@pytest.mark.parametrize("classes", LABELS[:2])
def test_the_order_of_rows_is_judged_as_the_scorer_judges_it(classes):
    y = np.repeat(classes, 20)
    decision = np.round(RNG.normal(size=40) + 0.5 * (y == classes[1]), 1)  # with ties
    outputs = classifier(classes, y, decision)
    expected = get_scorer("roc_auc")(outputs, np.zeros((40, 1)), y)
    assert plain_score(get_scorer("roc_auc"), outputs, y) == pytest.approx(expected, abs=1e-14)


def test_numbers_are_judged_as_the_scorer_judges_them():
    y = 1e6 + RNG.normal(size=50)
    outputs = HeldOutRegressor({"predict": y + 0.1 * RNG.normal(size=50)})
    expected = get_scorer("r2")(outputs, np.zeros((50, 1)), y)
    assert plain_score(get_scorer("r2"), outputs, y) == pytest.approx(expected, abs=1e-14)


def test_what_is_out_of_the_ordinary_is_left_to_the_scorer():
    y, ones = np.array([1.0, 2.0]), np.ones(4)
    exact = HeldOutRegressor({"predict": y})
    assert plain_score(get_scorer("neg_mean_squared_error"), exact, y) is None
    assert plain_score(make_scorer(r2_score, force_finite=False), exact, y) is None
    assert plain_score(make_scorer(r2_score, greater_is_better=False), exact, y) is None
    assert plain_score(lambda estimator, X, y: 1.0, exact, y) is None
    assert plain_score(get_scorer("r2"), HeldOutRegressor({"predict": ones}), ones) is None
    assert plain_score(get_scorer("r2"), object(), y) is None
    assert plain_score(get_scorer("accuracy"), exact, y) is None  # numbers are not classes
    one_class = classifier(np.array([0, 1]), np.zeros(4, int), ones)
    assert plain_score(get_scorer("roc_auc"), one_class, np.zeros(4, int)) is None
    blind = classifier(np.array([0, 1]), np.array([0, 1]))
    assert plain_score(get_scorer("roc_auc"), blind, np.array([0, 1])) is None

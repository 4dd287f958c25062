"""Bad input is refused with a sentence, before the long work starts where that is possible."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, LeaveOneOut
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import kernelpath as kp
from evaluation.helpers import LOG, Spy, curve, numbered, path_cv, ring, three_classes, traces
from kernelpath.errors import MissingValuesWarning

X, Y = numbered()
WORDS = np.array(["no", "yes"])[Y]


@pytest.fixture(autouse=True)
def _empty_log():
    LOG.clear()
    yield
    LOG.clear()


def _refused(words, error=ValueError, table=X, target=Y, before=True, fit=None, **options):
    """Refused with the words, and before anything was fitted."""
    with pytest.raises(error, match=words) as caught:
        path_cv(options.pop("selector", Spy()), **options).fit(table, target, **(fit or {}))
    assert len(str(caught.value)) < 600
    if before:
        assert LOG == []


def _rare(n):
    y = np.array(["no", "yes "])[Y]
    y[:n] = "rare"
    return y


ONE_CLASS_FOLD = [(np.flatnonzero(Y == 1), np.flatnonzero(Y == 0))]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cv": ONE_CLASS_FOLD}, "fold 0 lack the class 0"),
        ({"cv": KFold(2), "target": np.arange(60) // 30}, "lack the class 0.* Use stratified"),
        ({"cv": 40, "target": _rare(3)}, r"Class 'rare' has 3 rows, fewer than cv=40.*use cv=3"),
        (
            {"cv": 5, "target": _rare(3), "scoring": "roc_auc_ovr", "probability": True},
            "not defined in fold ., whose test rows lack the class 'rare'; use fewer folds",
        ),
        ({"cv": 2, "target": np.repeat(["no", "rare"], [59, 1])}, "has 1 row,.*merge or drop"),
        ({"target": np.where(Y, 0.5, 1.5)}, "Unknown label type"),
        ({"cv": 61}, "61 folds, but there are 60 rows"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": 0}, "at least 2 folds"),
        ({"cv": -3}, "at least 2 folds"),
        ({"cv": "five"}, "Expected `cv` as an integer|Expected cv as an integer"),
        ({"cv": 2.5}, "Expected `cv` as an integer|Expected cv as an integer"),
        ({"cv": []}, "no folds"),
        ({"cv": [(np.arange(30), np.arange(0))]}, "30 training and 0 test rows"),
        ({"cv": [([0], [1])]}, "1 training"),
        ({"cv": [(np.arange(30), np.arange(30, 61))]}, "row 60, but there are 60 rows"),
        ({"cv": [(np.arange(30), np.arange(-3, 0))]}, "cannot be split|row"),
        ({"cv": [(np.arange(30) / 2, np.arange(30, 60))]}, "row numbers or a mask"),
        ({"cv": GroupKFold(2)}, r"GroupKFold needs groups: call fit\(X, y, groups"),
        ({"cv": LeaveOneGroupOut()}, "LeaveOneGroupOut needs groups"),
        ({"cv": 3, "fit": {"groups": np.arange(60) % 2}}, "only 2 groups"),
        ({"cv": 3, "fit": {"groups": np.arange(59)}}, "groups has 59 values"),
        ({"cv": GroupKFold(3), "fit": {"groups": np.zeros(60)}}, "cannot be split into folds"),
        ({"cv": 3, "nested": True, "target": _rare(2)}, "nested=True: in the training rows"),
        ({"cv": [(np.arange(40), np.arange(40, 60))], "nested": True}, "not splits"),
    ],
)
def test_folds(options, words):
    _refused(words, **options)


@pytest.mark.parametrize(
    ("n_features", "words"),
    [
        (8, "between 1 and 7 columns, got 8"),
        ([1, 2, 100], "between 1 and 7"),
        (0, "between 1 and 7"),
        ([-1, 2], "between 1 and 7"),
        ([], "empty"),
        (2.0, "whole numbers"),
        ([1, 2.5], "whole numbers"),
        (True, "whole numbers"),
        ("all", "whole numbers"),
        ([[1, 2], [3, 4]], "whole numbers"),
        (np.nan, "whole numbers"),
    ],
)
def test_sizes(n_features, words):
    _refused(words, n_features=n_features)


@pytest.mark.parametrize("n_features", [np.int64(2), np.array([2, 1, 2]), range(1, 3), (1,)])
def test_sizes_of_any_integer_type_are_fine(n_features):
    model = path_cv(f_classif, n_features=n_features, predictor=GaussianNB()).fit(X, Y)
    expected = np.unique(np.atleast_1d(list(np.atleast_1d(n_features))))
    assert model.scores_.n_features.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"predictor": "svm"}, ValueError, "'auto', 'weighted_kernel', 'joint_rbf'"),
        ({"predictor": GaussianNB}, TypeError, "the class GaussianNB"),
        ({"predictor": StandardScaler()}, TypeError, "has no predict"),
        ({"predictor": 3}, TypeError, "has no fit"),
        ({"predictor": None}, TypeError, "has no fit"),
        ({"predictor": LinearSVC(), "scoring": "neg_log_loss"}, ValueError, "LinearSVC does not"),
        ({"predictor": RidgeClassifier(), "scoring": "neg_brier_score"}, ValueError,
         "predict_proba, which the predictor RidgeClassifier"),
        ({"scoring": "neg_log_loss"}, ValueError, "probability=True"),
        ({"predictor": LinearRegression(), "target": WORDS}, ValueError, "text"),
        ({"predictor": LogisticRegression(), "target": X[:, 1]}, ValueError, "fractions"),
        ({"predictor": GaussianNB(), "class_weight": "balanced"}, ValueError, "in the predictor"),
        ({"predictor": kp.JointRBFSVM(C=())}, ValueError, "C must be a positive number or several"),
        ({"predictor": kp.JointRBFSVM(C=-10)}, ValueError, "C must be a positive number"),
        ({"predictor": kp.JointRBFSVM(gamma=(0.0,))}, ValueError, "gamma must be"),
        ({"predictor": kp.WeightedKernelSVM(C=(-1,))}, ValueError, "C must be"),
        ({"predictor": kp.WeightedKernelSVM(C=("a",))}, ValueError, "C must be"),
    ],
)  # fmt: skip
def test_predictors(options, error, words):
    _refused(words, error, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring": "no_such_measure"}, "no_such_measure"),
        ({"scoring": "f1_makro"}, "did you mean 'f1_macro'"),
        ({"predictor": "joint_rfb"}, "did you mean 'joint_rbf'"),
        ({"baselines": ("forrest",)}, "did you mean 'forest'"),
        ({"scoring": ["accuracy", "roc_auc"]}, "several measures"),
        ({"scoring": 3}, "scoring must be"),
        ({"scoring": "roc_auc", "target": curve(60)[1]}, "does not work for this regression"),
        ({"scoring": "accuracy", "target": curve(60)[1]}, "does not work for this regression"),
        (
            {"scoring": "f1", "target": WORDS},
            r"classes \['no', 'yes'\]; name the class to be found 1",
        ),
        ({"scoring": "f1", "target": three_classes(60)[1]}, "scoring='f1_macro'"),
        ({"scoring": "r2", "target": WORDS}, "does not work for this classification"),
        ({"rule": "bets"}, "did you mean 'best'"),
        ({"rule": "budget"}, "needs a budget"),
        ({"rule": "budget", "budget": 0}, "positive integer"),
        ({"rule": "tolerance", "tolerance": -1}, "at least 0"),
        ({"rule": "tolerance", "tolerance": None}, "needs a tolerance"),
        ({"task": "ranking"}, "'auto', 'classification', 'regression'"),
        ({"class_weight": {"a": 1}}, "does not hold"),
        ({"class_weight": "heavy"}, "'balanced' or a dict"),
        ({"class_weight": {0: 1}, "target": curve(60)[1]}, "needs classes"),
        ({"class_weight": "balanced", "target": curve(60)[1]}, "needs classes"),
        ({"memory_limit": "2 apples"}, "memory_limit"),
        ({"memory_limit": "GB"}, "memory_limit"),
        ({"memory_limit": 10}, "at least 1 MB"),
        ({"memory_limit": None}, "memory_limit"),
        ({"inner_cv": 1, "predictor": "joint_rbf"}, "inner_cv must be at least 2"),
        ({"inner_cv": "abc", "predictor": "joint_rbf"}, "inner_cv must be"),
        ({"inner_cv": True, "predictor": "joint_rbf"}, "inner_cv must be"),
        ({"inner_cv": LeaveOneGroupOut(), "predictor": "joint_rbf"}, "inner folds.*groups"),
    ],
)
def test_settings(options, words):
    _refused(words, **options)


def test_budget_below_the_smallest_size():
    _refused("budget=1", rule="budget", budget=1, n_features=[2, 3], before=False)
    assert traces() <= 1


def _with(value, place=(3, 2)):
    table = X.copy()
    table[place] = value
    return table


@pytest.mark.parametrize(
    ("table", "target", "words"),
    [
        (_with(-np.inf), Y, "infinity in column 2"),
        (sp.csr_matrix(_with(np.inf)), Y, "infinity in column 2"),
        (pd.DataFrame(_with(np.inf), columns=list("abcdefg"))[[*"cdefg"]], Y, "column 'c'"),
        (X, np.where(np.arange(60) == 4, np.inf, 1.0 * Y), "NaN or inf in 1 row;"),
        (X, np.full(60, np.nan), "All 60 rows have no target"),
        (X, np.zeros(60), "one class only"),
        (X, np.array(["a"] * 60), "one class only"),
        (X, Y[:59], "60 rows, but y has 59|inconsistent"),
        (X[:1], Y[:1], "1 sample|minimum of 2|at least"),
        (X, None, "target y is None"),
        (X, np.column_stack([Y, Y]), "several columns: give a predictor and a scoring"),
        (X[:, 0], Y, "2D array"),
        (X[:, :0], Y, "0 feature"),
    ],
)
def test_data(table, target, words):
    _refused(words, table=table, target=target)


def test_constant_continuous_target():
    _refused("constant", target=np.ones(60), task="regression")
    y = curve(60)[1]
    y[:40] = 1.0
    split = [(np.arange(40), np.arange(40, 60))]
    _refused("constant in the training rows of fold 0", target=y, cv=split)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.ones(59), "sample_weight has shape"),
        (-np.ones(60), "not negative"),
        (np.full(60, np.nan), "finite"),
        (np.zeros(60), "fewer than 2 rows"),
        ((Y == 0).astype(float), "rows of weight 0 are left out"),
        (["a"] * 60, "must be numbers"),
    ],
)
def test_sample_weight(weight, words):
    _refused(words, fit={"sample_weight": weight})


def test_text_without_a_kernel_for_it():
    frame = pd.DataFrame(X[:, 1:], columns=list("abcdef")).assign(town=WORDS)
    _refused(r"'town'.*kernel='auto'", selector=kp.LpKTASelector(kernel="rbf"), table=frame)


def test_a_score_that_is_not_a_number():
    """One class in the rows held out: no area under the curve."""
    split = [(np.arange(40), np.flatnonzero(Y[40:] == 1) + 40)]
    _refused("not defined in fold 0, whose test rows lack the class 0", cv=split,
             scoring="roc_auc", predictor=GaussianNB())  # fmt: skip
    _refused("is inf", scoring=lambda e, X, y: np.inf, before=False)


def test_a_measure_of_one_row():
    with pytest.raises(kp.DataError, match=r"one test row, but scoring='r2'.* cv=10 or less"):
        path_cv(cv=LeaveOneOut(), scoring="r2", task="regression").fit(*curve(20))


def test_wrong_answers_of_a_rule():
    for rule, error, words in (
        (lambda scores: 7, kp.DataError, "7 features were not scored"),
        (lambda scores: "two", TypeError, "must return a number of features"),
        (lambda scores: None, TypeError, "must return a number of features"),
    ):
        _refused(words, error, rule=rule, predictor=GaussianNB(), before=False)


def test_unwritable_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    _refused("cannot be written", memory=file / "below", before=False)


def test_new_rows():
    table, y = ring()
    for predictor in (kp.JointRBFSVM(C=(1.0,), gamma=(1.0,)), kp.WeightedKernelSVM(C=(1.0,))):
        model = path_cv(predictor=predictor).fit(table, y)
        with pytest.raises(ValueError, match="infinity in columns 0, 1"):
            model.predict(np.full((2, 6), np.inf))
        with pytest.warns(MissingValuesWarning, match="missing in columns 1, 3, where fit had all"):
            assert len(model.predict(np.full((2, 6), np.nan))) == 2
        with pytest.raises(ValueError, match="features"):
            model.predict(table[:, :3])
        for k, error in ((0, kp.DataError), (7, kp.DataError), (2.0, TypeError), (True, TypeError)):
            with pytest.raises(error, match="n_features must"):
                model.predict(table, n_features=k)


def test_new_rows_of_a_frame():
    table, y = ring()
    frame = pd.DataFrame(table, columns=list("abcdef")).assign(town=np.array(["u", "v"])[y])
    model = path_cv(kp.LpKTASelector(kernel="auto")).fit(frame, y)
    with (
        pytest.raises(kp.DataError, match="give a dataframe"),
        pytest.warns(UserWarning, match="feature names"),
    ):
        model.predict(np.column_stack([table, y]))
    with pytest.warns(MissingValuesWarning, match="missing in column 'town'"):
        assert len(model.predict(frame.assign(town=None))) == len(frame)
    with pytest.raises(kp.DataError, match="text in column 'a'"):
        model.predict(frame.assign(a="x"))


@pytest.mark.parametrize(
    ("scoring", "instead"),
    [
        ("roc_auc", "roc_auc_ovr"), ("f1", "f1_macro"), ("precision", "precision_macro"),
        ("recall", "recall_macro"), ("jaccard", "jaccard_macro"),
    ],
)  # fmt: skip
def test_measures_of_two_classes_name_those_of_several(scoring, instead):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = kp.PathCV(cv=3, n_features=[1], predictor="logistic", references=False, scoring=scoring)
    words = rf"scoring='{scoring}' does not work .* with three classes or more give scoring='(\w+)'"
    with pytest.raises(kp.DataError, match=words) as error:
        model.fit(X, y)
    assert f"'{instead}'" in str(error.value)
    model.set_params(scoring=instead).fit(X, y)
    assert np.isfinite(model.scores_.mean).all()


@pytest.mark.parametrize("scoring", ["average_precision", "f1", "precision", "neg_brier_score"])
def test_measures_of_one_class_say_how_to_name_it(scoring):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = kp.PathCV(cv=3, n_features=[1], predictor="logistic", references=False, scoring=scoring)
    with pytest.raises(kp.DataError, match="name the class to be found 1 and the other 0, or give"):
        model.fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    model.fit(X, (X[:, 0] > 0).astype(int))
    assert np.isfinite(model.scores_.mean).all()

"""The machines of the package against scikit-learn's, on kernels computed the slow way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import kernelpath as kp
from evaluation.helpers import JOINT, WEIGHTED, counts, curve, path_cv, ring, three_classes
from kernelpath.errors import ReadingWarning
from kernelpath.estimators import _path_cv_checks
from kernelpath.path_kernels import KernelBank
from kernelpath.predictors import base
from kernelpath.predictors.choice import OWN_PREDICTORS
from kernelpath.predictors.svm import Task, fit_svm
from kernelpath.tables.rows import distinct
from kernelpath.tables.table import as_column_table
from reference.path_cv import JointRBF, WeightedKernel, candidates_of, path_cv_scores

NEW = np.random.default_rng(90).normal(size=(25, 6)) * 1.5
PROBLEMS = {"two": ring, "three": three_classes, "curve": curve}
TASKS = {"two": "classification", "three": "classification", "curve": "regression"}


def _twin(model, X, y, class_weight=None, sample_weight=None):
    """The slow machine on the columns and with the weights of the operating point."""
    point = model.operating_point_
    columns, task = np.flatnonzero(point.support), model.task_
    if point.predictor == "joint_rbf":
        twin = JointRBF(
            point.settings["C"], point.settings["gamma"], len(columns), task, class_weight
        )
    else:
        test = model.path_.test
        widths = None if test is None else test.width[columns]
        C, weights = point.settings["C"], point.weights[columns]
        twin = WeightedKernel(C, weights, task, class_weight, widths)
    return twin.fit(X[:, columns], y, sample_weight), columns


def _agree(model, twin, columns, new, atol=1e-5):
    np.testing.assert_array_equal(
        model.predict(new).dtype.kind, np.asarray(twin.predict(new[:, columns])).dtype.kind
    )
    if model.task_ == "regression":
        np.testing.assert_allclose(model.predict(new), twin.predict(new[:, columns]), atol=atol)
        return
    np.testing.assert_array_equal(model.predict(new), twin.predict(new[:, columns]))
    decision = twin.decision_function(new[:, columns])
    assert np.abs(decision).max() > 0.1
    np.testing.assert_allclose(model.decision_function(new), decision, atol=atol)


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_refitted_machine_is_that_of_scikit_learn(problem, predictor):
    X, y = PROBLEMS[problem]()
    model = path_cv(predictor=predictor, n_features=3).fit(X, y)
    assert model.task_ == TASKS[problem]
    assert model.operating_point_.predictor == predictor.name
    _agree(model, *_twin(model, X, y), NEW)


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("class_weight", ["balanced", {"low": 5.0, "mid": 1.0, "top": 0.2}])
def test_class_weight(predictor, class_weight):
    X, y = three_classes()
    keep = (y != "top") | (np.arange(len(y)) % 3 == 0)
    X, y = X[keep], y[keep]
    model = path_cv(
        predictor=predictor, class_weight=class_weight, n_features=2, scoring="accuracy"
    ).fit(X, y)
    _agree(model, *_twin(model, X, y, class_weight=class_weight), NEW)
    plain = path_cv(predictor=predictor, n_features=2, class_weight=None, scoring="accuracy")
    plain.fit(X, y)
    assert np.abs(model.decision_function(NEW) - plain.decision_function(NEW)).max() > 1e-3


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_sample_weight(problem, predictor):
    X, y = PROBLEMS[problem]()
    weight = np.random.default_rng(91).uniform(0.2, 3.0, len(X))
    model = path_cv(predictor=predictor, n_features=2).fit(X, y, sample_weight=weight)
    order = distinct(X, y, None).first  # in which weighted rows are seen
    _agree(model, *_twin(model, X[order], y[order], sample_weight=weight[order]), NEW)


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_rows_of_weight_zero_are_absent(problem, predictor):
    X, y = PROBLEMS[problem]()
    weight = np.where(np.arange(len(X)) % 4 == 1, 0.0, 1.0)
    there = weight > 0
    whole = path_cv(predictor=predictor, n_features=2).fit(X, y, sample_weight=weight)
    part = path_cv(predictor=predictor, n_features=2).fit(X[there], y[there])
    np.testing.assert_array_equal(whole.get_support(), part.get_support())
    out = "predict" if problem == "curve" else "decision_function"
    np.testing.assert_allclose(getattr(whole, out)(NEW), getattr(part, out)(NEW), atol=1e-3)


def test_weighted_kernel_without_weights_uses_alignments():
    X, y = ring()
    model = path_cv(_variance_rank, predictor=WEIGHTED, n_features=3).fit(X, y)
    columns = model.get_support(indices=True)
    weights = kp.alignments(X[:, columns], y)
    twin = WeightedKernel(10.0, weights).fit(X[:, columns], y)
    _agree(model, twin, columns, NEW)


def _variance_rank(X, y):
    return np.asarray(X).var(axis=0)


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_sparse_is_dense(predictor, kind):
    X, y = counts()
    dense = path_cv(predictor=predictor).fit(X, y)
    model = path_cv(predictor=predictor).fit(kind(X), y)
    np.testing.assert_array_equal(model.scores_.per_fold, dense.scores_.per_fold)
    new = counts(seed=92)[0]
    expected = dense.decision_function(new)
    # Rows that are the same on the chosen columns are ties, which rounding decides.
    np.testing.assert_allclose(model.decision_function(kind(new)), expected, atol=1e-3)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-3)
    np.testing.assert_allclose(dense.decision_function(kind(new)), expected, atol=1e-6)


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, bool])
def test_narrow_types_do_not_overflow(predictor, dtype):
    X, y = counts()
    X = np.minimum(X, 5) * (1 if dtype is bool else 50)
    X = X.astype(dtype)
    expected = path_cv(predictor=predictor).fit(X.astype(float), y).decision_function(X[:20])
    for table in (X, sp.csr_matrix(X)):
        model = path_cv(predictor=predictor).fit(table, y)
        np.testing.assert_allclose(model.decision_function(table[:20]), expected, atol=1e-5)


def test_raw_units_do_not_matter():
    X, y = ring()
    factor, shift = 10.0 ** np.arange(-3, 3), 7.0 * 10.0 ** np.arange(-3, 3)
    for predictor in (JOINT, WEIGHTED):
        plain = path_cv(predictor=predictor).fit(X, y)
        raw = path_cv(predictor=predictor).fit(X * factor + shift, y)
        np.testing.assert_array_equal(raw.scores_.per_fold, plain.scores_.per_fold)
        np.testing.assert_allclose(
            raw.decision_function(NEW * factor + shift), plain.decision_function(NEW), atol=1e-6
        )


def test_a_column_constant_in_training_is_left_out():
    X, y = ring()
    X[:, 3] = 2.0
    for predictor in (JOINT, WEIGHTED):
        model = path_cv(_prefers_3, predictor=predictor, n_features=2).fit(X, y)
        assert model.get_support(indices=True).tolist() == [1, 3]
        new = NEW.copy()
        before = model.decision_function(new)
        new[:, 3] = 1e6
        np.testing.assert_array_equal(model.decision_function(new), before)


def _prefers_3(X, y):
    return np.isin(np.arange(X.shape[1]), [1, 3]).astype(float)


def test_text_columns():
    """A delta distance is half a squared distance of one-hot columns, scaled as documented."""
    rng = np.random.default_rng(93)
    n = 100
    town = np.array(["Ulm", "Bonn", "Kiel"])[rng.integers(0, 3, n)]
    size = rng.normal(size=n)
    y = np.where((town == "Ulm") ^ (size > 0), "yes", "no")
    frame = pd.DataFrame({"noise": rng.normal(size=n), "town": town, "size": size})
    selector = kp.LpKTASelector(kernel="auto")
    model = path_cv(selector, n_features=3).fit(frame, y)
    shares = np.unique(town, return_counts=True)[1] / n
    per_level = np.sqrt(1.0 / (1.0 - np.sum(shares**2)))
    encoder = OneHotEncoder(sparse_output=False).fit(frame[["town"]])
    scaler = StandardScaler().fit(frame[["noise", "size"]])

    def columns(table):
        levels = per_level * encoder.transform(table[["town"]])
        return np.hstack([scaler.transform(table[["noise", "size"]]), levels])

    twin = SVC(C=10.0, gamma=1.0 / 3, tol=1e-8).fit(columns(frame), y)
    new = frame.iloc[::-1].assign(size=0.3)
    np.testing.assert_allclose(
        model.decision_function(new), twin.decision_function(columns(new)), atol=1e-5
    )
    weighted = path_cv(selector, predictor=WEIGHTED, n_features=[2, 3]).fit(frame, y)
    assert "town" in weighted.operating_point_.feature_names
    unseen = new.assign(town="Rom")
    for one in (model, weighted):
        with pytest.warns(ReadingWarning, match="not seen"):
            assert set(one.predict(unseen)) <= {"yes", "no"}
        flipped = one.decision_function(new.assign(town="Ulm")) - one.decision_function(new)
        assert np.abs(flipped).max() > 1e-3


@pytest.mark.parametrize("category", [True, False])
def test_text_as_any_type(category):
    X, y = ring(60)
    town = np.array(["a", "b"])[y]
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(town=town)
    if category:
        frame["town"] = frame["town"].astype("category")
    model = path_cv(kp.LpKTASelector(kernel="auto"), n_features=1).fit(frame, y)
    assert model.operating_point_.feature_names == ("town",)
    assert accuracy_score(y, model.predict(frame)) == 1.0


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("problem", ["two", "three"])
def test_calibrated_probabilities(problem, predictor):
    X, y = PROBLEMS[problem](n=150)
    model = path_cv(predictor=predictor, probability=True, n_features=2).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (len(X), len(model.classes_))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba > 0).all()
    # Calibrated on rows held out: the mean is that of the classes, and it is not overconfident.
    shares = np.array([np.mean(y == label) for label in model.classes_])
    np.testing.assert_allclose(proba.mean(axis=0), shares, atol=0.1)
    if problem == "two":
        order = np.argsort(model.decision_function(X))
        assert (np.diff(proba[order, 1]) >= 0).all()
    assert np.mean(model.classes_[proba.argmax(axis=1)] == y) > shares.max() + 0.1


def test_without_calibration_there_is_no_predict_proba():
    X, y = ring()
    model = path_cv().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert hasattr(model, "decision_function")
    target = path_cv().fit(*curve())
    assert not hasattr(target, "decision_function")
    assert not hasattr(target, "predict_proba")


def test_many_new_rows_are_predicted_in_blocks(monkeypatch):
    X, y = three_classes()
    model = path_cv().fit(X, y)
    expected = model.decision_function(NEW)
    monkeypatch.setattr("kernelpath.predictors.models.BLOCK_CELLS", 100)
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-12)


# -- the whole procedure --------------------------------------------------------------------------


def _unit_weights(X, y, a, columns):
    """Weights of a ranking: alignments of the chosen features."""
    return a[columns]


@pytest.mark.parametrize("names", [["joint_rbf"], ["weighted_kernel", "joint_rbf"]])
@pytest.mark.parametrize("problem", ["two", "curve"])
def test_whole_procedure_equals_plain_loops(names, problem, monkeypatch):
    X, y = PROBLEMS[problem](n=48, d=4)
    sizes = [1, 2, 4]
    task = TASKS[problem]
    expected, picks = path_cv_scores(
        X, y, sizes, names, n_folds=2, task=task, weigh=_unit_weights
    )  # fmt: skip
    own = tuple(OWN_PREDICTORS[name]() for name in names)
    monkeypatch.setattr(_path_cv_checks, "resolve_predictors", lambda *_: own)
    predictor = "auto" if len(names) == 2 else names[0]
    model = kp.PathCV(
        kp.alignments, predictor=predictor, cv=2, n_features=sizes, references=False
    ).fit(X, y)
    # Accuracies are equal; in a continuous score the search's single precision may show.
    tol = 1e-9 if task == "classification" else 2e-5
    np.testing.assert_allclose(model.scores_.per_fold, expected, rtol=0, atol=tol)
    names_chosen = tuple(tuple(name for name, _ in row) for row in picks)
    assert names_chosen == model.scores_.predictors
    assert len({str(pick) for row in picks for pick in row}) > 1


def test_grids_of_the_twin_are_those_of_the_package():
    for predictor in (kp.JointRBFSVM(), kp.WeightedKernelSVM()):
        assert predictor.settings(50) == candidates_of(predictor.name)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_single_precision_is_within_the_tolerance_of_the_solver(C):
    X, y = PROBLEMS["two"](n=120, d=6)
    bank = KernelBank.fit(as_column_table(X), y)
    task = Task("classification", np.unique(y))
    decisions = []
    for precision in ("double", "single"):
        (kernel,) = bank.combine(np.full((1, 6), 20.0), precision=precision)
        head = fit_svm(kernel.train, task.codes(y), task, C=C)
        decisions.append(head.decision(kernel.train[:, head.support]))
    assert np.abs(decisions[0] - decisions[1]).max() <= 2e-3


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
def test_many_rows_of_a_sparse_table(predictor, monkeypatch):
    """Beyond the rows of a kernel matrix maps take its place, sparse ones for sparse rows."""
    monkeypatch.setattr(base, "LARGE_ROWS", 20)
    X, y = counts()
    model = path_cv(predictor=predictor).fit(sp.csr_array(X), y)
    dense = path_cv(predictor=predictor).fit(X, y)
    expected = dense.decision_function(X)
    # Sparse rows are not centred, which the penalty of the intercept notices.
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), expected, atol=0.02)
    assert np.mean(model.predict(sp.csr_array(X)) == y) > 0.7

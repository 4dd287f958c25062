"""Models as files: everything comes back, nothing is pickled, damage is refused."""

from __future__ import annotations

import io
import pickle
import zipfile
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import f_classif
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.naive_bayes import GaussianNB

import kernelpath as kp
from evaluation.helpers import JOINT, WEIGHTED, counts, curve, path_cv, ring, three_classes
from kernelpath.errors import ReadingWarning

X, Y = ring()
HOSTILE = ["", "a/b", "..", "naïve \U0001f600", "line\nbreak", "model 2/weights"]


@contextmanager
def _no_pickle():
    """Reading and writing must not touch pickle."""

    def refuse(*args, **kwargs):
        raise AssertionError("pickle was used")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("loads", "load", "dumps", "dump", "Pickler", "Unpickler"):
            patch.setattr(pickle, name, refuse)
        yield


def _bytes(model, **options):
    for k in options.get("n_features", ()):
        if k <= model.n_features_in_:
            model.predict(X, n_features=k)  # fitted before, since libraries may pickle in a fit
    buffer = io.BytesIO()
    with _no_pickle():
        model.save(buffer, **options)
    return buffer.getvalue()


def _round_trip(model, **options):
    content = _bytes(model, **options)
    with _no_pickle():
        return kp.load_model(io.BytesIO(content))


def _same(a, b, table):
    for name in ("predict", "decision_function", "predict_proba"):
        assert hasattr(a, name) == hasattr(b, name)
        if hasattr(a, name):
            one, other = getattr(a, name)(table), getattr(b, name)(table)
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
    one, other = a.transform(table), b.transform(table)
    if sp.issparse(one):
        one, other = one.toarray(), other.toarray()
    np.testing.assert_array_equal(one, other)
    assert a.scores_ == b.scores_
    assert a.operating_point_ == b.operating_point_
    assert a.stability_ == b.stability_
    assert a.path_ == b.path_
    assert a.get_feature_names_out().tolist() == b.get_feature_names_out().tolist()
    assert a.task_ == b.task_
    assert a.n_features_in_ == b.n_features_in_


LABELS = {
    "int": Y,
    "text": np.array(["no", "yes, \u00fc"])[Y],
    "bool": Y.astype(bool),
    "float": Y * 2.0,
    "negative": 2 * Y - 1,
    "int8": Y.astype(np.int8),
}


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("labels", LABELS)
def test_classes_of_any_type(labels, predictor):
    model = path_cv(predictor=predictor).fit(X, LABELS[labels])
    again = _round_trip(model)
    _same(model, again, X)
    np.testing.assert_array_equal(again.classes_, model.classes_)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.score(X, LABELS[labels]) == model.score(X, LABELS[labels])


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED, "auto"])
@pytest.mark.parametrize("problem", [three_classes, curve])
def test_more_classes_and_regression(problem, predictor):
    table, y = problem(60)
    model = path_cv(predictor=predictor, inner_cv=2 if predictor == "auto" else None).fit(table, y)
    again = _round_trip(model)
    _same(model, again, table)
    assert again.score(table, y) == model.score(table, y)


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
def test_calibrated(predictor):
    for table, y in (ring(), three_classes()):
        model = path_cv(predictor=predictor, probability=True, n_features=2).fit(table, y)
        _same(model, _round_trip(model), table)


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array])
def test_sparse_support_vectors(kind, predictor):
    table, y = counts()
    model = path_cv(predictor=predictor).fit(kind(table), y)
    again = _round_trip(model)
    _same(model, again, kind(table))
    np.testing.assert_allclose(again.decision_function(table), model.decision_function(table))


@pytest.mark.parametrize("predictor", [JOINT, WEIGHTED], ids=lambda p: p.name)
def test_hostile_names_and_categories(predictor):
    frame = pd.DataFrame(X, columns=HOSTILE)
    frame["town"] = np.array(["Ulm", "\u00d6rebro", ""])[np.arange(len(X)) % 3]
    frame.loc[Y == 1, "town"] = "zwei"
    selector = kp.LpKTASelector(kernel="auto")
    model = path_cv(selector, predictor=predictor, n_features=[1, 3]).fit(frame, Y)
    assert "town" in model.operating_point_.feature_names
    again = _round_trip(model)
    _same(model, again, frame)
    assert again.feature_names_in_.tolist() == [*HOSTILE, "town"]
    unseen = frame.assign(town="Rom")
    with pytest.warns(ReadingWarning, match="not seen: column 'town' in"):
        np.testing.assert_array_equal(again.predict(unseen), model.predict(unseen))


def test_categories_of_numbers_and_truth_values():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["code"] = pd.Categorical(np.arange(len(X)) % 3 + 10 * Y)
    frame["flag"] = pd.Categorical(Y.astype(bool))
    model = path_cv(kp.LpKTASelector(kernel="auto"), n_features=[2, 8]).fit(frame, Y)
    _same(model, _round_trip(model), frame)


CATEGORIES = {
    "intervals": lambda x: pd.cut(x, 6),
    "intervals without order": lambda x: pd.cut(x, 6).cat.as_unordered(),
    "periods": lambda x: pd.to_datetime(x.rank(), unit="D").dt.to_period("M").astype("category"),
    "dates": lambda x: pd.to_datetime((3 * x).round(), unit="D").astype("category"),
    "numbers of NumPy": lambda x: pd.Categorical(list(np.array(x.round(), dtype=object))),
    "tuples": lambda x: pd.Series([(round(one), "a") for one in x], dtype=object),
    "numbers beside text": lambda x: x.round().map(lambda one: "low" if one < 0 else np.int64(one)),
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_of_any_type(kind, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["kind"] = CATEGORIES[kind](pd.Series(X[:, 0] + 3 * Y))
    model = path_cv(kp.LpKTASelector(kernel="auto"), n_features=[1, 7], must_include=["kind"])
    model.fit(frame, Y)
    again = _round_trip(model)
    _same(model, again, frame)
    model.path_.save(tmp_path / "path.kpath")
    assert kp.load_path(tmp_path / "path.kpath") == model.path_
    text = frame.assign(kind=frame["kind"].map(str).astype(object))  # as a CSV file has it
    if all(isinstance(one, str) for one in model._encoder.readings[6].categories):
        np.testing.assert_array_equal(again.predict(text), model.predict(frame))


def test_other_sizes():
    model = path_cv(rule="best").fit(X, Y)
    k = model.operating_point_.n_features
    again = _round_trip(model, n_features=[3, 5])
    for size in (k, 3, 5):
        np.testing.assert_array_equal(
            again.decision_function(X, n_features=size), model.decision_function(X, n_features=size)
        )
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    with pytest.raises(kp.DataError, match=r"4 features here, only .*3, 5.*n_features=4"):
        again.predict(X, n_features=4)
    with pytest.raises(kp.DataError, match="between 1 and 6"):
        model.save(io.BytesIO(), n_features=9)


def test_parameters_come_back():
    model = path_cv(
        kp.LpKTASelector(step=0.2, n_features_to_select=np.int64(2), divergence="kl"),
        predictor=kp.JointRBFSVM(gamma=(2.0,), C=(3,)),
        cv=3,
        rule="tolerance",
        tolerance=np.float64(0.05),
        n_features=list(np.arange(1, 4)),
        random_state=np.int64(4),
        scoring="balanced_accuracy",
    ).fit(X, Y)
    again = _round_trip(model)
    assert again.selector.get_params()["step"] == 0.2
    assert again.selector.divergence == "kl"
    assert again.predictor == kp.JointRBFSVM(gamma=(2.0,), C=(3.0,))
    assert (again.cv, again.rule, again.tolerance, again.random_state) == (3, "tolerance", 0.05, 4)
    assert again.n_features == [1, 2, 3]
    assert again.fit(X, Y).operating_point_ == model.operating_point_


def test_nested_score_and_baselines_come_back():
    options = {"nested": True, "baselines": {"f/test": f_classif}}
    model = path_cv(**options).fit(X, Y)
    again = _round_trip(model)
    assert again.nested_score_ == model.nested_score_
    assert again.baseline_scores_ == model.baseline_scores_
    assert list(again.baseline_scores_) == ["f/test"]


def test_a_scoring_function_is_not_replaced_by_another():
    model = path_cv(scoring=make_scorer(balanced_accuracy_score)).fit(X, Y)
    again = _round_trip(model)
    assert again.scores_.scoring == "balanced_accuracy_score"
    with pytest.raises(kp.DataError, match="does not hold its scoring"):
        again.score(X, Y)


def test_ranking_selector():
    model = path_cv(f_classif).fit(X, Y)
    _same(model, _round_trip(model), X)


def test_saving_twice_gives_the_same_bytes(tmp_path):
    model = path_cv().fit(X, Y)
    assert _bytes(model) == _bytes(model)
    file = tmp_path / "m.kpmodel"
    model.save(file)
    assert file.read_bytes() == _bytes(model)
    again = kp.load_model(str(file))
    assert _bytes(again) == _bytes(model)
    _same(model, again, X)


def test_only_support_rows_and_chosen_columns_are_kept():
    for predictor in (JOINT, WEIGHTED):
        machine = _round_trip(path_cv(predictor=predictor, n_features=2).fit(X, Y)).model_.machine
        n_support = machine.head.dual_coef.shape[1]
        assert machine.support_values.shape == (n_support, 2)
        assert n_support < len(X)


# -- refused --------------------------------------------------------------------------------------


def test_an_estimator_cannot_be_saved_without_pickle(tmp_path):
    model = path_cv(predictor=GaussianNB()).fit(X, Y)
    file = tmp_path / "m.kpmodel"
    with pytest.raises(ValueError, match="without pickle; use a predictor by name, such as 'auto'"):
        model.save(file)
    assert not list(tmp_path.iterdir())


CONTENT = _bytes(path_cv().fit(X, Y))


@pytest.mark.parametrize("share", np.linspace(0.02, 0.999, 25))
def test_a_changed_byte_is_refused(share):
    place = int(share * len(CONTENT))
    damaged = CONTENT[:place] + bytes([CONTENT[place] ^ 0x10]) + CONTENT[place + 1 :]
    with pytest.raises(kp.PathFileError):
        kp.load_model(io.BytesIO(damaged))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(share):
    with pytest.raises(kp.PathFileError):
        kp.load_model(io.BytesIO(CONTENT[: int(share * len(CONTENT))]))


def test_foreign_files(tmp_path):
    buffer = io.BytesIO()
    kp.LpKTASelector().fit(X, Y).path_.save(buffer)
    with pytest.raises(kp.PathFileError, match=r"saved path, not a saved model.*load_path"):
        kp.load_model(io.BytesIO(buffer.getvalue()))
    with pytest.raises(kp.PathFileError, match=r"saved model, not a saved path.*load_model"):
        kp.load_path(io.BytesIO(CONTENT))
    with pytest.raises(kp.PathFileError, match="not a saved model"):
        kp.load_model(io.BytesIO(b"\x80\x04\x95 a pickle"))
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.txt", "b")
    with pytest.raises(kp.PathFileError, match="a zip file, but not a saved model"):
        kp.load_model(io.BytesIO(other.getvalue()))
    with pytest.raises(FileNotFoundError, match="no saved model"):
        kp.load_model(tmp_path / "missing.kpmodel")


def test_a_loaded_model_can_be_asked_for_other_rules():
    model = path_cv(rule="best").fit(X, Y)
    again = _round_trip(model)
    assert again.choose() == model.choose()
    smallest = again.choose(budget=1)
    assert (smallest.n_features, smallest.rule, smallest.predictor) == (1, "best", "")
    assert smallest.feature_names == model.choose(budget=1).feature_names


def test_an_estimator_is_named_when_it_cannot_be_saved():
    from sklearn.naive_bayes import GaussianNB

    with pytest.raises(ValueError, match="GaussianNB cannot be saved without pickle"):
        path_cv(predictor=GaussianNB()).fit(X, Y).save(io.BytesIO())


class _Three(BaseEstimator):
    """A path of one point: the first three columns."""

    def fit(self, X, y):
        weights = np.zeros((1, X.shape[1]))
        weights[0, :3] = 1.0
        self.path_ = kp.FeaturePath(
            method="three", parameter_name="", parameters=[1], weights=weights,
            supports=weights > 0, values=[0], kkt=[0], gaps=[0],
        )  # fmt: skip
        return self


@pytest.mark.parametrize(
    "target",
    [np.where(Y.min() < Y, "yes", "no"), three_classes(len(Y))[1], curve(len(Y))[1]],
    ids=["two", "three", "continuous"],
)
def test_a_model_without_features(target):
    model = kp.PathCV(_Three(), cv=2, predictor=WEIGHTED, references=False).fit(X, target)
    again = _round_trip(model, n_features=[2])  # a path without this size: no feature at all
    predicted = again.predict(X, n_features=2)
    np.testing.assert_array_equal(predicted, model.predict(X, n_features=2))
    _same(model, again, X)
    if model.task_ == "regression":
        np.testing.assert_allclose(predicted, target.mean())
    else:
        labels, count = np.unique(target, return_counts=True)
        assert set(predicted) == {labels[count.argmax()]}


def test_truth_values_held_as_objects():
    model = path_cv(predictor=WEIGHTED).fit(X, (Y.max() == Y).astype(object))
    assert model.classes_.tolist() == [False, True]
    assert _round_trip(model).predict(X).dtype == bool

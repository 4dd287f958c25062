"""An interrupt at any model: the rest is computed, nothing twice, and every bit is the same."""

from __future__ import annotations

import contextlib
import io
import json
import os

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import GaussianNB

import kernelpath as kp
from evaluation.helpers import (
    LOG,
    STOP,
    Spy,
    SpyNB,
    fits,
    numbered,
    path_cv,
    ring,
    same_scores,
    traces,
)
from hardening.forged import forged, members
from kernelpath.evaluation import checkpoint
from kernelpath.evaluation.checkpoint import FoldStore
from kernelpath.utils.archive import FOLD

X, Y = ring(60)
SIZES = [1, 2, 3, 4]


class Counting:
    """A scorer that counts its calls and stops at one of them; hashes alike all the while."""

    calls = 0
    stop_at = None

    def __call__(self, estimator, X, y):
        Counting.calls += 1
        if Counting.calls == Counting.stop_at:
            raise KeyboardInterrupt
        return float(np.mean(estimator.predict(X) == y))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """Everything is written when it is known, quick traces too."""
    monkeypatch.setattr(checkpoint, "SHARE_OF_WORK", 0.0)
    monkeypatch.setattr(checkpoint, "SECONDS_WORTH", 0.0)
    LOG.clear()
    Counting.calls, Counting.stop_at = 0, None
    yield
    Counting.stop_at = None
    LOG.clear()


def _model(**options):
    return path_cv(
        options.pop("selector", None),
        **{
            "predictor": "auto",
            "n_features": SIZES,
            "scoring": Counting(),
            "inner_cv": 2,
            **options,
        },
    )


def _calls(model, stop_at=None):
    """Fit, or be interrupted; return the number of scores."""
    Counting.calls, Counting.stop_at = 0, stop_at
    if stop_at is None:
        model.fit(X, Y)
    else:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
    Counting.stop_at = None
    return Counting.calls


def _same(one, other):
    same_scores(one.scores_, other.scores_)
    np.testing.assert_array_equal(one.scores_.parameters, other.scores_.parameters)
    np.testing.assert_array_equal(one.scores_.chance, other.scores_.chance)
    assert one.operating_point_ == other.operating_point_
    assert one.path_ == other.path_
    assert getattr(one, "nested_score_", None) == getattr(other, "nested_score_", None)
    assert {k: c.settings for k, c in one._models.items()} == {
        k: c.settings for k, c in other._models.items()
    }
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


SELECTORS = {"lp-kta": None, "gmkl": kp.GMKLClassifier(strengths=4)}
TOGETHER = 4  # costs of errors that are fitted together, and so scored again at most
PER_RUN = 1 + 2 + 2  # scores that are no models: a check, and chance in every fold


@pytest.mark.parametrize("where", ["memory", "folder"])
@pytest.mark.parametrize("name", SELECTORS)
def test_interrupted_while_settings_are_compared(tmp_path, name, where):
    whole = _model(selector=SELECTORS[name])
    n_calls = _calls(whole)
    assert n_calls >= 40
    rng = np.random.default_rng(0)
    for number, stop_at in enumerate(
        rng.integers(3, n_calls, 6 if where == "memory" else 3).tolist()
    ):
        memory = None if where == "memory" else tmp_path / str(number)
        model = _model(selector=SELECTORS[name], memory=memory)
        done = _calls(model, stop_at)
        if memory is not None:  # as in a new process
            model = _model(selector=SELECTORS[name], memory=memory)
        again = _calls(model)
        assert done + again <= n_calls + TOGETHER + PER_RUN
        _same(model, whole)


def test_interrupted_again_and_again(tmp_path):
    whole = _model(nested=True, baselines=["f_test"])
    n_calls = _calls(whole)
    model, total, runs = None, 0, 0
    while model is None or not hasattr(model, "nested_score_"):
        model = _model(nested=True, baselines=["f_test"], memory=tmp_path)
        runs += 1
        Counting.calls, Counting.stop_at = 0, 150
        with contextlib.suppress(KeyboardInterrupt):
            model.fit(X, Y)
        total += Counting.calls
    Counting.stop_at = None
    _same(model, whole)
    assert runs >= n_calls // 150
    # Every run scores what is no model in each of the folds under way, and the nested loop's too.
    assert total <= n_calls + runs * (TOGETHER + 2 * PER_RUN)


def test_nothing_is_traced_or_fitted_twice(tmp_path, monkeypatch):
    table, y = numbered()
    options = {"predictor": SpyNB(), "cv": 3, "n_features": [1, 2, 4]}
    whole = path_cv(Spy(), **options).fit(table, y)
    n_fits, n_traces = fits(), traces()
    for stop_at in range(1, n_fits):
        LOG.clear()
        folder = tmp_path / str(stop_at)
        monkeypatch.setitem(STOP, "fit", lambda stop_at=stop_at: fits() + 1 > stop_at)
        with pytest.raises(KeyboardInterrupt):
            path_cv(Spy(), memory=folder, **options).fit(table, y)
        monkeypatch.delitem(STOP, "fit")
        assert fits() == stop_at
        model = path_cv(Spy(), memory=folder, **options).fit(table, y)
        assert fits() == n_fits
        assert traces() == n_traces
        same_scores(model.scores_, whole.scores_)
        assert model.operating_point_ == whole.operating_point_
        left = [json.loads(members(f.read_bytes(), FOLD)[0])["what"] for f in folder.iterdir()]
        assert sorted(left) == ["fold"] * 3 + ["trace"]  # the path of all rows


def test_a_path_that_was_read_says_what_was_said(tmp_path):
    table = np.column_stack([X, np.ones(len(X))])
    said = []
    for _ in range(2):
        with pytest.warns(UserWarning, match="constant") as caught:
            path_cv(memory=tmp_path).fit(table, Y)
        said.append([str(one.message) for one in caught])
    assert said[0] == said[1]


class _Kernel(BaseEstimator):
    """A selector of the user's own that sets its kernel in ``fit``: its path is traced again."""

    def fit(self, X, y):
        fitted = kp.LpKTASelector().fit(X, y)
        LOG.append(("trace",))
        self.path_, self.kernel = fitted.path_, "laplace"
        return self


def test_what_cannot_be_read_again_is_traced_again(tmp_path):
    results = [path_cv(_Kernel(), memory=tmp_path).fit(X, Y) for _ in range(2)]
    assert traces() == 3 + 1
    same_scores(results[0].scores_, results[1].scores_)


# -- whose a file is -------------------------------------------------------------------------------


def _folds(folder):
    return sorted(f for f in folder.glob("*.kpfold") if b'"what": "fold"' in f.read_bytes())


def _spied(folder):
    LOG.clear()
    table, y = numbered()
    options = {"predictor": SpyNB(), "cv": 3, "n_features": [1, 2, 4], "memory": folder}
    return path_cv(Spy(), **options).fit(table, y)


def test_a_fold_under_the_name_of_another_is_computed_again(tmp_path):
    whole = _spied(tmp_path)
    files = _folds(tmp_path)
    assert len(files) == 3
    contents = [file.read_bytes() for file in files]
    for i in range(3):
        for j in range(3):
            files[i].write_bytes(contents[j])
            again = _spied(tmp_path)
            assert fits() == (1 if i == j else 3 + 1)
            same_scores(again.scores_, whole.scores_)
            assert files[i].read_bytes() == contents[i]


def _replace(name, value):
    return {"arrays": {name: value}}


FORGED = {
    "scores of NaN": _replace("scores", np.full(3, np.nan)),
    "infinite scores": _replace("scores", np.full(3, np.inf)),
    "too few scores": _replace("scores", np.ones(2)),
    "text": _replace("scores", np.array(["a", "b", "c"])),
    "columns out of range": _replace("columns", np.full(7, 900)),
    "negative columns": _replace("columns", np.full(7, -1)),
    "equal columns": _replace("columns", np.full(7, 5)),
    "too few columns": _replace("columns", np.arange(3)),
    "no columns": {"arrays": {"columns": np.zeros(0, np.int64), "indptr": np.zeros(4, np.int64)}},
    "pointers": _replace("indptr", np.array([0, 3, 1, 7])),
    "far pointers": _replace("indptr", np.array([0, 1, 3, 10**12])),
    "more columns than the size": _replace("indptr", np.array([0, 3, 4, 7])),
    "a matrix": _replace("parameters", np.ones((3, 1))),
    "another key": {"change": lambda h: h.update(key="0" * 32)},
    "another kind": {"change": lambda h: h.update(what="trace")},
    "another predictor": {"change": lambda h: h.update(chosen=["joint_rbf"] * 3)},
    "no predictor": {"change": lambda h: h.update(chosen=[""] * 3)},
    "few predictors": {"change": lambda h: h.update(chosen=["SpyNB"])},
    "no tuple": {"change": lambda h: h.update(chosen=3)},
    "another table": {"change": lambda h: h.update(n_columns=5)},
    "settings of others": {
        "change": lambda h: h.update(tuned=[[1, 4, {}], [2, 0, {}], [4, 0, {}]])
    },
    "unknown settings": {"change": lambda h: h.update(tuned=[[k, 0, {"C": 1}] for k in (1, 2, 4)])},
    "settings of other sizes": {"change": lambda h: h.update(tuned=[[1, 0, {}]])},
    "a number for settings": {"change": lambda h: h.update(tuned=7)},
    "nothing": {"change": lambda h: h.clear() or h.update(format=FOLD.format, format_version=2)},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_fold_that_does_not_fit_counts_as_nothing(tmp_path, name):
    whole = _spied(tmp_path)
    first = _folds(tmp_path)[0]
    content = first.read_bytes()
    first.write_bytes(forged(FOLD, content, **FORGED[name]))
    again = _spied(tmp_path)
    assert fits() == 3 + 1
    same_scores(again.scores_, whole.scores_)
    assert first.read_bytes() == content


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    _spied(tmp_path)
    first = _folds(tmp_path)[0]
    first.unlink()
    first.mkdir()
    with pytest.raises(kp.DataError, match=rf"{first.name} is a folder.*remove it, or choose"):
        _spied(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_link_is_not_written_through(tmp_path):
    whole = _spied(tmp_path / "memory")
    first = _folds(tmp_path / "memory")[0]
    first.unlink()
    other = tmp_path / "precious.txt"
    other.write_text("mine")
    first.symlink_to(other)
    same_scores(_spied(tmp_path / "memory").scores_, whole.scores_)
    assert other.read_text() == "mine"
    assert not first.is_symlink()


def test_scores_wait_no_longer_than_writing_takes(tmp_path, monkeypatch):
    """Writing takes a twentieth of the time; what waits is written in the end."""
    monkeypatch.undo()
    now, written = [0.0], []
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    store = FoldStore(tmp_path)

    def write(*args):
        written.append(now[0])
        now[0] += 0.5 if len(written) < 4 else 0.01

    monkeypatch.setattr(store, "write", write)
    result = checkpoint.FoldResult.empty(3, 2)
    for tick in range(200):
        now[0] = max(now[0], tick / 4)
        store.put("a", result)
    assert np.diff(written[:4]).min() > 5.0
    assert np.diff(written[4:]).max() < 0.6
    store.put("a", result, force=True)
    assert written[-1] == now[0] - 0.01


def test_models_of_other_predictors_are_resumed_too(tmp_path):
    whole = path_cv(predictor=GaussianNB(), n_features=SIZES, baselines=["f_test"]).fit(X, Y)
    model = path_cv(predictor=GaussianNB(), n_features=SIZES, baselines=["f_test"], memory=tmp_path)
    for _ in range(2):
        model.fit(X, Y)
        same_scores(model.scores_, whole.scores_)
        same_scores(model.baseline_scores_["f_test"], whole.baseline_scores_["f_test"])
    buffer = io.BytesIO()
    model.path_.save(buffer)
    assert kp.load_path(io.BytesIO(buffer.getvalue())) == whole.path_

"""L1KR among the tools of scikit-learn and of this package."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelpath as kp
from kernelpath.estimators import l1kr
from kernelpath.tracers.l1kr import trace as l1kr_path

X, Y = make_friedman1(100, 7, noise=0.5, random_state=0)
QUICK = {"norm_budget": 0.1, "search_branches": False}
FIXED = {"kernel": "polynomial", "norm_budget": None, "search_branches": False}
XOR = kp.datasets.make_xor(200, 8, order=2, random_state=0)


@parametrize_with_checks(
    [kp.L1KRRegressor(max_features=3, **QUICK), kp.L1KRClassifier(ridge=1.0, **FIXED)]
)
def test_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their tables are of a kind that deserves warnings
        check(estimator)


# -- tables and files -----------------------------------------------------------------------------


def test_names_sparse_tables_and_pickles():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(7)])
    model = kp.L1KRRegressor(**QUICK).fit(frame, Y)
    assert model.path_.feature_names.tolist() == frame.columns.tolist()
    assert model.get_feature_names_out().tolist() == frame.columns[model.support_].tolist()
    plain = kp.L1KRRegressor(**QUICK).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(plain.predict(X), model.predict(frame), rtol=1e-10)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
    assert not hasattr(clone(model), "path_")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"gene 0": "other"}))


def test_a_path_that_is_saved(tmp_path):
    path = kp.L1KRRegressor(**QUICK).fit(X, Y).path_
    path.save(tmp_path / "one.kpath")
    assert kp.load_path(tmp_path / "one.kpath") == path
    assert path.provenance["branch"] == "from zero weights"
    assert path.provenance["chosen"] == {"chosen norm_budget": pytest.approx(0.1)}
    assert path.summary()["settings"]["chosen norm_budget"] == pytest.approx(0.1)
    entered = [event for event in path.events if event.kind == "enter"]
    assert all(path[event.position].support[event.feature] for event in entered)


def test_huge_and_tiny_units():
    plain = kp.L1KRRegressor(**QUICK).fit(X, Y)
    scaled = kp.L1KRRegressor(**QUICK).fit(X * [1e150, 1e-150, 1, 1, 1, 1e9, 1], Y * 1e-160)
    np.testing.assert_allclose(scaled.weights_, plain.weights_, rtol=1e-6, atol=1e-9)
    predicted = scaled.predict(X * [1e150, 1e-150, 1, 1, 1, 1e9, 1])
    np.testing.assert_allclose(predicted * 1e160, plain.predict(X), rtol=1e-6)


@pytest.mark.parametrize("noise", [1e-6, 1e-4, 1e-3, 1e-2])
def test_columns_that_are_nearly_the_same(noise):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(60, 4))
    Z = np.column_stack([Z, -3.0 * Z[:, 0] + noise * rng.normal(size=60)])
    target = Z[:, 0] * Z[:, 1] + 0.3 * rng.normal(size=60)
    model = kp.L1KRRegressor(norm_budget=3.0, search_branches=False).fit(Z, target)
    assert [tie.tolist() for tie in model.ties_] == ([[0, 4]] if noise <= 1e-4 else [])
    assert model.path_.kkt.max() <= 1e-7
    assert model.path_.weights.min() >= 0.0


def test_text_in_new_rows():
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    model = kp.L1KRRegressor(**QUICK).fit(frame, Y)
    with pytest.raises(kp.DataError, match="'a' holds text"):
        model.predict(frame.assign(a="x"))


# -- other tools ----------------------------------------------------------------------------------


def test_a_screen_before_it():
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=(100, 300))])
    model = make_pipeline(kp.LpKTASelector(10), kp.L1KRRegressor(max_features=6, **QUICK))
    model.fit(wide, Y)
    assert model[-1].path_.n_selected.max() <= 6
    assert model.score(wide, Y) > 0.6


def test_grids_and_folds():
    grid = GridSearchCV(kp.L1KRRegressor(search_branches=False), {"norm_budget": [1e-3, 0.3]}, cv=2)
    assert grid.fit(X, Y).best_params_ == {"norm_budget": 0.3}
    search = kp.PathCV(kp.L1KRRegressor(**QUICK), cv=2, n_features=[1, 3, 5], references=False).fit(
        X, Y
    )
    assert search.operating_point_.score > 0.5
    with pytest.raises(ValueError, match="inside one kernel"):
        kp.PathCV(kp.L1KRRegressor(**QUICK), predictor="weighted_kernel", cv=2).fit(X, Y)


def test_two_classes_and_more():
    model = kp.L1KRClassifier(norm_budget=0.3, search_branches=False)
    labels = np.where(XOR.y > 0, "yes", "no")
    model.fit(XOR.X, labels)
    assert set(np.argsort(-model.weights_)[:2].tolist()) == set(XOR.relevant.tolist())
    assert model.score(XOR.X, labels) > 0.9
    decided = model.decision_function(XOR.X) > 0
    np.testing.assert_array_equal(model.predict(XOR.X), model.classes_[decided.astype(int)])
    three = np.digitize(X[:, 3], [0.33, 0.66])
    with pytest.raises(kp.DataError, match="OneVsRestClassifier"):
        kp.L1KRClassifier(**QUICK).fit(X, three)
    assert OneVsRestClassifier(kp.L1KRClassifier(**QUICK)).fit(X, three).score(X, three) > 0.7


# -- branches, ends -------------------------------------------------------------------------------


def test_the_better_branch_predicts():
    """In 30 columns the path from zero weights misses a parabola that another branch has."""
    wide, target = make_friedman1(150, 30, noise=1.0, random_state=3)
    main = kp.L1KRRegressor(norm_budget=0.3, search_branches=False).fit(wide, target)
    both = kp.L1KRRegressor(norm_budget=0.3).fit(wide, target)
    assert both.branch_ == "another branch"
    assert len(both.paths_) == 2
    assert both.paths_[0] == main.path_ or len(both.paths_[0]) == len(main.path_)
    assert both.leave_one_out_.min() < 0.9 * main.leave_one_out_.min()
    assert both.path_.provenance["branch"] == "another branch"
    assert both.path_.kkt.max() <= 1e-7
    again = kp.L1KRRegressor(norm_budget=0.3).fit(wide, target)
    np.testing.assert_array_equal(again.weights_, both.weights_)


def test_an_interrupt_keeps_what_was_found(monkeypatch):
    seen, light = [], l1kr_path.light

    def interrupted(*args):
        seen.append(1)
        if len(seen) == 20:
            raise KeyboardInterrupt
        return light(*args)

    monkeypatch.setattr(l1kr_path, "light", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = kp.L1KRRegressor().fit(X, Y)
    assert len(model.path_) == 19
    assert np.isfinite(model.predict(X)).all()


def test_an_interrupt_of_the_search_keeps_the_path(monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(l1kr, "search_branches", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted in the search for other branches"):
        model = kp.L1KRRegressor(norm_budget=0.1).fit(X, Y)
    assert model.branch_ == "from zero weights"
    assert model.interrupted_


@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupt_between_budgets_is_stated(monkeypatch, begun):
    real, seen = l1kr_path.light, []

    def interrupted(system, *args):
        seen.append(system)
        last = len({id(one) for one in seen}) == 3
        if last and (not begun or seen.count(system) > 5):
            raise KeyboardInterrupt
        return real(system, *args)

    monkeypatch.setattr(l1kr_path, "light", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted in path 3 of 6") as caught:
        model = kp.L1KRRegressor().fit(X, Y)
    assert caught[0].filename == __file__
    assert model.interrupted_
    assert model.norm_budget_ in (0.01, 0.03, 0.1)


def test_an_interrupt_of_cross_validation_is_one(monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(l1kr, "search_branches", interrupted)
    warnings.simplefilter("ignore", ConvergenceWarning)  # pytest puts the filters back
    search = kp.PathCV(kp.L1KRRegressor(norm_budget=0.1), cv=3)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)


def test_a_budget_that_is_no_start_does_not_spoil_the_others():
    model = kp.L1KRRegressor(norm_budget=[0.1, 1e100], search_branches=False).fit(X, Y)
    assert model.norm_budget_ == pytest.approx(0.1)


@pytest.mark.parametrize("position", [1000, -1, 1.5, True, "last"])
def test_points_that_are_not_there(position):
    model = kp.L1KRRegressor(**QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="position must be a whole number"):
        model.predict(X, position=position)

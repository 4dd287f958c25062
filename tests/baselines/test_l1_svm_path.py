"""The path of the 1-norm machine against linear programs, at corners and between them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelpath as kp
from baseline_examples import LABELS, THREE, VALUES, D, N, X, Z
from kernelpath.baselines import L1SVMPath
from kernelpath.baselines import _svm_path as solver
from kernelpath.baselines._svm_path import SVMPath
from kernelpath.errors import FewerFeaturesWarning
from reference.l1_paths import l1_svm_loss


def standard(A):
    return (A - A.mean(axis=0)) / A.std(axis=0)


def table_of(kind, n, d, seed, shift=0.3):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d))
    label = np.where(A[:, 0] - A[:, -1] + rng.normal(size=n) > shift, 1.0, -1.0)
    label[:2] = 1.0, -1.0
    if kind == "rounded":
        A = np.round(A)
    elif kind == "binary":
        A = (A > 0).astype(float)
    elif kind == "copies":
        A = np.column_stack([A, A[:, 0], -A[:, -1], A[:, :2].sum(axis=1)])
    elif kind == "rows twice":  # and once with the other label
        A, label = np.vstack([A, A, A]), np.concatenate([label, label, -label])
    A = A[:, A.min(axis=0) < A.max(axis=0)]
    return standard(A), label


KINDS = ("plain", "rounded", "binary", "copies", "rows twice")


def check(A, label, n_points=9):
    corners = SVMPath(A, label, A.shape[1]).run()
    budgets, losses = (np.array([getattr(c, n) for c in corners]) for n in ("budget", "loss"))
    assert (np.diff(budgets) > 0).all()
    assert budgets[0] == 0.0
    assert max(c.gap for c in corners) < 1e-9
    assert max(c.kkt for c in corners) < 1e-8
    for budget in np.linspace(0.0, 1.1 * budgets[-1], n_points):
        found = np.interp(budget, budgets, losses)
        assert found == pytest.approx(l1_svm_loss(A, label, budget), abs=1e-6)
    return corners


@pytest.mark.parametrize(("n", "d"), [(40, 5), (20, 60)])
@pytest.mark.parametrize("shift", [0.0, 1.0, -1.2])
@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_those_of_linear_programs(kind, shift, n, d):
    check(*table_of(kind, n, d, 1, shift))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(4, 25), st.integers(1, 30), st.sampled_from(KINDS),
    st.floats(-1.5, 1.5),
)  # fmt: skip
def test_any_table(seed, n, d, kind, shift):
    A, label = table_of(kind, n, d, seed, shift)
    if A.shape[1]:
        check(A, label, 4)


def test_points_are_what_they_say():
    model = L1SVMPath().fit(X, LABELS)
    path, coefs = model.path_, model.coefs_.toarray()
    scores = model.intercepts_ + Z @ coefs.T
    np.testing.assert_allclose(
        np.maximum(1.0 - LABELS[:, None] * scores, 0.0).sum(axis=0), path.values, atol=1e-9
    )
    np.testing.assert_allclose(np.abs(coefs).sum(axis=1), path.parameters, atol=1e-12)
    np.testing.assert_array_equal(path.weights.toarray(), np.abs(coefs))
    # The strength is the slope of the loss, and that of the machine with a cost of the norm.
    slopes = -np.diff(path.values) / np.diff(path.parameters)
    np.testing.assert_allclose(model.strengths_[:-1], slopes, rtol=1e-6)
    assert (np.diff(model.strengths_) < 0).all()
    strength = np.sqrt(model.strengths_[3] * model.strengths_[4])
    plain = kp.baselines.L1SVM("all", C=1.0 / strength, loss="hinge").fit(X, LABELS)
    np.testing.assert_allclose(plain.scores_, np.abs(coefs[4]), atol=1e-7)


def test_a_loss_between_corners_is_no_smaller():
    """The gap would see it, if a corner were left out."""
    corners = SVMPath(Z, LABELS, D).run()
    a, b = corners[2], corners[5]
    middle = (a.budget + b.budget) / 2
    assert (a.loss + b.loss) / 2 > l1_svm_loss(Z, LABELS, middle) + 1e-6


def test_a_toy_by_hand():
    """By hand: each row within its margin lowers the slope by what it has of the feature."""
    A = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    corners = SVMPath(A, np.sign(A[:, 0]), 1).run()
    found = [(c.budget, c.loss, c.strength) for c in corners]
    budgets = [budget for budget, _, _ in found]
    np.testing.assert_allclose(found[:2], [(0.0, 4.0, 6.0), (0.5, 1.0, 2.0)])
    losses = [max(4 - 6 * budget, 2 - 2 * budget) for budget in budgets]
    np.testing.assert_allclose([loss for _, loss, _ in found], losses, atol=1e-12)
    assert budgets[-1] == pytest.approx(1.0)


def test_events_are_where_weights_leave_zero():
    model = L1SVMPath().fit(X, LABELS)
    path = model.path_
    held = np.zeros(D, dtype=bool)
    for i in range(len(path)):
        for event in [one for one in path.events if one.position == i]:
            assert held[event.feature] == (event.kind == "leave")
            assert event.parameter == path.parameters[i - (event.kind == "enter")]
            held[event.feature] = event.kind == "enter"
        np.testing.assert_array_equal(held, path.supports[i])


def test_features_may_leave():
    A, label = table_of("plain", 60, 12, 5)
    path = L1SVMPath().fit(A, label).path_
    assert "leave" in {one.kind for one in path.events}
    assert not path.is_nested
    assert path.at(n_features=3).n_selected == 3
    same = np.flatnonzero(path.n_selected == 3)
    assert path.at(n_features=3).position == same[-1]


def test_the_path_ends_where_it_has_enough():
    every, few = L1SVMPath().fit(X, LABELS), L1SVMPath(max_features=3).fit(X, LABELS)
    n = len(few.path_)
    assert few.path_.n_selected.max() == 3
    assert every.path_.n_selected[n] > 3
    np.testing.assert_allclose(few.path_.parameters, every.path_.parameters[:n])


def test_the_selected_point():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(D)])
    model = L1SVMPath(2).fit(frame, np.where(LABELS > 0, "sick", "well"))
    assert model.support_.sum() == model.path_[model.position_].n_selected == 2
    np.testing.assert_array_equal(model.weights_ != 0, model.support_)
    assert set(model.get_feature_names_out()) == set(model.path_.at(n_features=2).names)
    assert model.transform(frame).shape == (N, 2)
    # Signs are those of the second class.
    flipped = L1SVMPath(2).fit(X, np.where(LABELS > 0, "a", "b"))
    np.testing.assert_allclose(np.abs(flipped.weights_), np.abs(model.weights_), atol=1e-9)


def test_a_size_that_the_path_has_not():
    A = np.column_stack([LABELS + 0.1 * Z[:, 0], Z[:, 1]])
    path = L1SVMPath().fit(A, LABELS).path_
    assert 2 not in path.n_selected
    with pytest.warns(FewerFeaturesWarning, match="exactly 2 features; the one with 1"):
        assert L1SVMPath(2).fit(A, LABELS).support_.tolist() == [True, False]


def test_order_and_units_of_columns_do_not_matter():
    shuffled = np.random.default_rng(4).permutation(D)
    here = L1SVMPath(4).fit(X, LABELS)
    there = L1SVMPath(4).fit(3.0 * X[:, shuffled] - 7.0, LABELS)
    np.testing.assert_allclose(
        here.coefs_.toarray()[:, shuffled], there.coefs_.toarray(), atol=1e-9
    )


def test_wide_tables_take_no_time():
    A, label = table_of("plain", 60, 2000, 0)
    corners = SVMPath(A, label, 2000).run()
    assert max(c.gap for c in corners) < 1e-9
    assert corners[-1].loss < 1e-9


def test_what_is_refused():
    with pytest.raises(kp.DataError, match="for two classes, but y has 3 classes; keep the rows"):
        L1SVMPath().fit(X, THREE)
    with pytest.raises(kp.DataError, match="is for classes, but y holds continuous numbers"):
        L1SVMPath().fit(X, VALUES)
    with pytest.raises(kp.DataError, match="one class only"):
        L1SVMPath().fit(X, np.ones(N))
    with pytest.raises(ValueError, match="max_features must be a whole number from 1 on, got 0"):
        L1SVMPath(max_features=0).fit(X, LABELS)
    with pytest.raises(ValueError, match="n_features_to_select must be"):
        L1SVMPath("all").fit(X, LABELS)
    with pytest.warns(UserWarning, match="Column 0 is constant"):
        model = L1SVMPath().fit(np.column_stack([np.ones(N), X]), LABELS)
    assert not model.support_[0]
    assert model.coefs_[:, [0]].nnz == 0


def test_rounding_errors_that_outweigh_the_columns_are_said(monkeypatch):
    monkeypatch.setattr(solver, "PATIENCE", -1000)
    with pytest.raises(RuntimeError, match="does not get on"):
        SVMPath(*table_of("binary", 40, 30, 0, 0.8), 30).run()


def test_by_name_and_in_folds():
    entry = kp.methods().loc["l1-svm-path"]
    assert (entry["kind"], entry["most_classes"]) == ("path", 2)
    model = kp.PathCV(
        L1SVMPath(max_features=6), cv=3, predictor="logistic", n_features=[1, 3], references=False
    ).fit(X, LABELS)
    assert model.scores_.mean.max() > 0.6

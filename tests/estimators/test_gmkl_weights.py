"""Weights of rows in GMKL: a row of weight 2 is there twice, and one of weight 0 is not there.

The slow twin is a fit on repeated rows.  Equal rows would be taken together, so that the twin's
rows are moved by rounding errors: it has as many rows as the weights say.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kernelpath as kp
from kernelpath.estimators import _gmkl_kernels
from kernelpath.mkl.losses import EpsilonInsensitive, HuberHinge
from kernelpath.mkl.weighted_kernels.views import GaussianViews
from kernelpath.tables.rows import as_given, distinct, mean_of, shares_of, spread_of

RNG = np.random.default_rng(0)
N = 40
UNITS, MIDDLE = np.array([1.0, 10.0, 0.1, 1.0]), np.array([0.0, 5.0, 0.0, 100.0])
X = RNG.normal(size=(N, 4)) * UNITS + MIDDLE
NEW = RNG.normal(size=(20, 4)) * UNITS + MIDDLE
TWO = np.where(np.square((X - MIDDLE) / UNITS)[:, :2].sum(axis=1) > 1.3, "out", "in")
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
WAVE = np.cos(2 * X[:, 0]) + 0.1 * RNG.normal(size=N)
WEIGHT = RNG.integers(0, 4, N).astype(float)
REPEATED = RNG.permutation(np.repeat(np.arange(N), WEIGHT.astype(int)))
TIGHT = 1e-8

CASES = {
    "two classes": (kp.GMKLClassifier(tol=TIGHT), TWO),
    "three classes": (kp.GMKLClassifier(tol=TIGHT), THREE),
    "numbers": (kp.GMKLRegressor(tol=TIGHT), WAVE),
    "without epsilon": (kp.GMKLRegressor(tol=TIGHT, epsilon=0.0), WAVE),
    "product": (kp.GMKLClassifier("product", tol=1e-7), TWO),
    "product as it is": (kp.GMKLClassifier("product", tol=1e-7, standardize=False), TWO),
    "polynomial": (kp.GMKLRegressor("polynomial", tol=TIGHT), WAVE),
    "polynomials": (kp.GMKLClassifier(tol=TIGHT, base_kernel="polynomial"), TWO),
    "bandwidths": (kp.GMKLClassifier(tol=TIGHT, base_kernel="bandwidths"), TWO),
    "three widths": (kp.GMKLClassifier(tol=TIGHT, base_kernel="multi"), TWO),
    "high rank": (kp.GMKLClassifier(tol=TIGHT, base_kernel=kp.Laplace()), TWO),
    "uniform": (kp.GMKLClassifier(tol=TIGHT, weights="uniform"), TWO),
    "centred alignment": (kp.GMKLClassifier(tol=TIGHT, weights="centered_kta"), TWO),
    "path": (kp.GMKLClassifier(tol=TIGHT, strengths=3), TWO),
    "lp norm": (kp.GMKLClassifier(tol=TIGHT, regularizer=kp.Lp(1.5, 0.5)), TWO),
}  # fmt: skip
every_case = pytest.mark.parametrize("case", CASES)


def outcome(model):
    decided = getattr(model, "decision_function", model.predict)
    return decided(NEW)


def apart(rows):
    """Rows that are no longer equal, but for rounding."""
    noise = np.random.default_rng(1).normal(size=(len(rows), X.shape[1]))
    return X[rows] * (1.0 + 1e-13 * noise)


def close(first, second):
    size = first.weights_.max()
    to = 2e-5 if first.kernel == "sum" else 1e-3  # products are solved to a looser tolerance
    np.testing.assert_allclose(first.weights_, second.weights_, atol=to * size)
    np.testing.assert_allclose(outcome(first), outcome(second), atol=10 * to)
    assert first.objective_ == pytest.approx(second.objective_, rel=1e-6)


@every_case
def test_a_weight_is_a_repeated_row(case):
    model, y = CASES[case]
    weighted = model.fit(X, y, sample_weight=WEIGHT)
    weights, values = weighted.weights_, outcome(weighted)
    assert weighted.dual_coef_.shape[1] == N
    assert not weighted.dual_coef_[:, WEIGHT == 0].any()
    twin = type(model)(**model.get_params()).fit(apart(REPEATED), y[REPEATED])
    assert twin._bound.kernel.n_rows == len(REPEATED)  # nothing was taken together
    close(weighted, twin)
    exact = type(model)(**model.get_params()).fit(X[REPEATED], y[REPEATED])
    np.testing.assert_allclose(exact.weights_, weights, rtol=1e-12)
    np.testing.assert_allclose(outcome(exact), values, rtol=1e-9, atol=1e-12)


@every_case
def test_a_row_without_weight_is_not_there(case):
    model, y = CASES[case]
    plain = outcome(model.fit(X, y, sample_weight=WEIGHT))
    blown, other = X.copy(), y.copy()
    blown[WEIGHT == 0] *= 1000.0
    other[WEIGHT == 0] = y[WEIGHT == 0][::-1]
    np.testing.assert_array_equal(outcome(model.fit(blown, other, sample_weight=WEIGHT)), plain)
    left = WEIGHT > 0
    fitted = model.fit(X[left], y[left], sample_weight=WEIGHT[left])
    np.testing.assert_allclose(outcome(fitted), plain, rtol=1e-12)


def test_given_matrices():
    def gram(rows, more):
        return [np.multiply.outer(rows[:, j], more[:, j]) + (j == 1) for j in range(3)]

    Z = (X - MIDDLE) / UNITS
    y = Z[:, 0] + 0.7 * Z[:, 1] - 0.4 * Z[:, 2] + 0.1 * WAVE
    model = kp.GMKLRegressor("precomputed", C=10.0, tol=TIGHT)
    weighted = model.fit(gram(Z, Z), y, sample_weight=WEIGHT)
    weights, values = weighted.weights_, weighted.predict(gram(NEW, Z))
    twin = kp.GMKLRegressor("precomputed", C=10.0, tol=TIGHT)
    twin.fit(gram(Z[REPEATED], Z[REPEATED]), y[REPEATED])
    np.testing.assert_allclose(twin.weights_, weights, atol=1e-5 * weights.max())
    np.testing.assert_allclose(twin.predict(gram(NEW, Z[REPEATED])), values, atol=1e-4)
    blown = Z.copy()
    blown[WEIGHT == 0] *= 1000.0
    again = model.fit(gram(blown, blown), y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(again.predict(gram(NEW, blown)), values)


def test_kernels_that_are_computed_when_needed(monkeypatch):
    model = kp.GMKLClassifier(tol=1e-6, base_kernel="bandwidths")
    held = outcome(model.fit(X, TWO, sample_weight=WEIGHT))
    monkeypatch.setattr(_gmkl_kernels, "MOST_FACTOR_BYTES", 0)
    views = model.fit(X, TWO, sample_weight=WEIGHT)
    assert isinstance(views._bound.kernel, GaussianViews)
    np.testing.assert_allclose(outcome(views), held, atol=1e-3)


def test_landmarks_say_what_they_leave_out():
    """Of the rows as often as their weights say."""
    model = kp.GMKLClassifier(base_kernel=kp.Laplace(), nystrom=6)
    weighted = model.fit(X, TWO, sample_weight=WEIGHT).trace_left_out_
    assert weighted.min() > 0.01
    again = kp.GMKLClassifier(base_kernel=kp.Laplace(), nystrom=6).fit(X[REPEATED], TWO[REPEATED])
    np.testing.assert_allclose(again.trace_left_out_, weighted, rtol=1e-12)
    plain = model.fit(X[WEIGHT > 0], TWO[WEIGHT > 0]).trace_left_out_
    assert np.abs(plain - weighted).max() > 1e-4


def test_sparse_tables():
    model = kp.GMKLClassifier(tol=TIGHT)
    table = np.where(RNG.random(X.shape) < 0.5, X, 0.0)
    dense = outcome(model.fit(table, TWO, sample_weight=WEIGHT))
    found = outcome(model.fit(sparse.csr_array(table), TWO, sample_weight=WEIGHT))
    np.testing.assert_allclose(found, dense, atol=1e-4)
    twin = model.fit(sparse.csc_array(table[REPEATED]), TWO[REPEATED])
    np.testing.assert_allclose(outcome(twin), found, rtol=1e-9)


def test_a_class_without_weight_is_not_there():
    weight = np.where(THREE == 1, 0.0, 1.0)
    model = kp.GMKLClassifier().fit(X, THREE, sample_weight=weight)
    assert model.classes_.tolist() == [0, 2]
    selector = kp.LpKTASelector().fit(X, THREE, sample_weight=weight)
    left = kp.LpKTASelector().fit(X[THREE != 1], THREE[THREE != 1])
    np.testing.assert_allclose(selector.alignments_, left.alignments_, rtol=1e-12)


@pytest.mark.parametrize("loss", ["least_squares", "squared_hinge", "huber_hinge"])
def test_losses_without_weights(loss):
    model = kp.GMKLClassifier(loss=loss)
    with pytest.raises(ValueError, match="no sample weights other than 0 and 1"):
        model.fit(X, TWO, sample_weight=WEIGHT)
    left = WEIGHT > 0
    found = outcome(model.fit(X, TWO, sample_weight=left.astype(float)))
    np.testing.assert_allclose(outcome(model.fit(X[left], TWO[left])), found, rtol=1e-9)


@pytest.mark.parametrize("loss", [HuberHinge(1.0, 0.1), EpsilonInsensitive(1.0, 0.1, ridge=0.1)])
def test_squares_in_a_loss_refuse_weights(loss):
    with pytest.raises(ValueError, match="takes no sample weights"):
        loss.dual(np.array([1.0, -1.0]), np.array([1.0, 2.0]))


# -- means and rows -------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_means_and_spreads_are_those_of_repeated_rows(offset):
    table = np.where(RNG.random(X.shape) < 0.5, X, 0.0) + offset
    shares = shares_of(WEIGHT)
    some = table[REPEATED]
    for form in (np.asarray, sparse.csr_array, sparse.csc_array):
        np.testing.assert_allclose(mean_of(form(table), shares), some.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(spread_of(form(table), shares), some.std(axis=0), rtol=1e-8)
        np.testing.assert_allclose(spread_of(form(table)), table.std(axis=0), rtol=1e-8)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_rows_that_are_one(form):
    table = np.array([[0.0, 1.0], [2.0, 0.0], [-0.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
    y = np.array(["a", "a", "a", "b", "a"])
    weight = np.array([1.0, 2.0, 3.0, 4.0, 0.0])
    rows = distinct(form(table), y, weight)
    assert len(rows.first) == 3
    assert rows.group[0] == rows.group[2]
    assert rows.group[4] == -1
    assert sorted(rows.weight.tolist()) == [2.0, 4.0, 4.0]
    spread = rows.spread(np.array([[4.0, 4.0, 4.0]]))
    assert spread[0, [0, 2]].tolist() == [1.0, 3.0]
    np.testing.assert_allclose(rows.gather(spread), 4.0)
    apart_ = distinct(form(table), y, None, merge=False)
    assert len(apart_.first) == 5
    assert apart_.weight is None
    order = np.array([3, 1, 4, 0, 2])
    again = distinct(form(table[order]), y[order], weight[order])
    np.testing.assert_array_equal(table[rows.first], table[order][again.first])
    assert as_given(5, weight).first.tolist() == [0, 1, 2, 3]

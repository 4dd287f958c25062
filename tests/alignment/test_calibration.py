"""P-values of columns: exact counts, symmetries, size under chance, and hard columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelpath as kp
from alignment.chance_helpers import MULTI, calibrated, chance, shape_table
from alignment.helpers import TASKS, make_target
from kernelpath.alignment import columns as sources
from kernelpath.alignment.calibration import GRID_ERROR, repeated
from kernelpath.tables.targets import encode_target
from reference.chance import (
    cauchy,
    enumerated_p,
    feature_matrix,
    pearson_p,
    scale_of,
    standardised,
    target_matrix,
    two_valued_p,
)

N = 60
SEEDS = st.integers(0, 10_000)


def _close(found, expected, tolerance=1e-6):
    """The same p-values, in logs."""
    np.testing.assert_allclose(found.log_p, expected.log_p, rtol=tolerance, atol=tolerance)


# -- p-values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_p_values_are_those_of_the_twin(task):
    rng = np.random.default_rng(0)
    X = shape_table(N, rng)
    y, name = make_target(task, N, rng)
    result, z, skewness = chance(X, y, task=name)
    p = pearson_p(z, skewness)
    np.testing.assert_allclose(np.exp(result.log_p_by_width), p, rtol=1e-7)
    np.testing.assert_allclose(np.exp(result.log_p), [cauchy(row) for row in p], rtol=1e-7)
    best = p.argmin(axis=1)
    np.testing.assert_array_equal(result.width, np.array(MULTI)[best])
    np.testing.assert_array_equal(result.z, z[np.arange(len(z)), best])
    np.testing.assert_array_equal(result.scores, -result.log_p)


@pytest.mark.parametrize("task", TASKS)
def test_alignments_are_those_at_the_chosen_width(task):
    rng = np.random.default_rng(1)
    X = shape_table(N, rng)
    y, name = make_target(task, N, rng)
    found = calibrated(X, y, task=name)
    expected = [
        kp.alignments(X[:, [j]], y, task=name, gamma=found.gamma[j])[0] for j in range(X.shape[1])
    ]
    error = np.abs(found.values - expected) / np.maximum(expected, 1.0)
    assert error.max() < GRID_ERROR
    assert np.all(error <= found.bounds)
    scale = np.array([float(scale_of(x)) for x in X.T])
    np.testing.assert_allclose(found.gamma, 0.5 / (found.width * scale) ** 2, rtol=1e-10)
    several = kp.alignments(X, y, task=name, bandwidth="multi")
    np.testing.assert_allclose(several, expected, rtol=1e-8)


def test_one_width_is_the_alignment_of_always():
    rng = np.random.default_rng(2)
    X, y = shape_table(N, rng), rng.integers(0, 2, N)
    np.testing.assert_array_equal(kp.alignments(X, y, bandwidth=(1.0,)), kp.alignments(X, y))


def test_a_wave_is_found_at_a_narrow_width():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 40))
    y = np.sin(4 * X[:, 7]) + 0.3 * rng.normal(size=300) > 0
    found = calibrated(X, y)
    assert found.log_p.argmin() == 7
    assert found.width[7] == 0.25
    assert kp.alignments(X, y).argmax() != 7


# -- two values and two classes -------------------------------------------------------------------


def _two_valued(rng):
    """Columns of two values, some of them missing instead, and which rows have the second."""
    second = rng.random((N, 4)) < [0.5, 0.2, 0.05, 0.4]
    second[:2] = [[True], [False]]
    X = np.where(second, 3.5, -1.0)
    X[:, 2:] = np.where(second[:, 2:], np.nan, 7.0)
    return X, second


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "delta"])
@pytest.mark.parametrize("share", [2, 5])
def test_two_values_and_two_classes_have_exact_p_values(kernel, share):
    rng = np.random.default_rng(share)
    X, second = _two_valued(rng)
    y = np.where(rng.permutation(np.arange(N) % share == 0), "yes", "no")
    expected = [two_valued_p(column, y) for column in second.T]
    for table in (X, np.asfortranarray(X), sp.csr_array(X)):
        found = calibrated(table, y, kernel=kernel)
        np.testing.assert_allclose(np.exp(found.log_p_by_width[:, 0]), expected, rtol=1e-9)
    if kernel != "delta":
        several = [cauchy(np.full(3, p)) if p < 0.99 else p for p in expected]
        np.testing.assert_allclose(np.exp(found.log_p), several, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "polynomial", kp.Polynomial(2, 0.5)])
def test_two_values_under_kernels_of_products(kernel):
    rng = np.random.default_rng(6)
    X, second = _two_valued(rng)
    y = rng.permutation(np.arange(N) % 3 == 0)
    expected = [two_valued_p(column, y) for column in second.T[:2]]
    np.testing.assert_allclose(np.exp(calibrated(X[:, :2], y, kernel=kernel).log_p), expected)


def test_two_values_against_all_permutations():
    x = np.array([0, 0, 1, 1, 1, 0, 0, 0.0])
    y = np.array([0, 1, 1, 1, 1, 0, 0, 0])
    found = np.exp(calibrated(x[:, None], y, bandwidth="std").log_p[0])
    assert found == pytest.approx(enumerated_p(x, y, lambda a, b: np.corrcoef(a, b)[0, 1] ** 2))


def test_whole_weights_count_rows_of_two_valued_columns():
    rng = np.random.default_rng(7)
    x, y, counts = rng.integers(0, 2, 40), rng.integers(0, 2, 40), rng.integers(1, 4, 40)
    found = calibrated(x[:, None], y, sample_weight=counts, bandwidth="std")
    expected = two_valued_p(np.repeat(x, counts), np.repeat(y, counts))
    assert np.exp(found.log_p[0]) == pytest.approx(expected, rel=1e-9)


def test_text_of_two_words_is_a_column_of_two_values():
    rng = np.random.default_rng(8)
    y, second = rng.integers(0, 2, N), rng.random(N) < 0.3
    table = pd.DataFrame({"x": rng.normal(size=N), "town": np.where(second, "Ulm", "Bonn")})
    found = calibrated(table, y, kernel="auto")
    assert np.exp(found.log_p[1]) == pytest.approx(two_valued_p(second, y), rel=1e-9)
    assert np.isnan(found.width[1])
    assert np.isnan(found.log_p_by_width[1]).tolist() == [False, True, True]


# -- what must not change them --------------------------------------------------------------------


def _problem(seed, task="binary"):
    rng = np.random.default_rng(seed)
    X = shape_table(N, rng)
    y, name = make_target(task, N, rng)
    return X, y, name, rng


@settings(max_examples=12, deadline=None, derandomize=True)
@given(SEEDS, st.sampled_from(TASKS))
def test_order_of_the_rows(seed, task):
    X, y, name, rng = _problem(seed, task)
    rows = rng.permutation(N)
    _close(calibrated(X[rows], y[rows], task=name), calibrated(X, y, task=name))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(SEEDS, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.booleans())
def test_shifts_and_units_of_columns(seed, shift, unit, mirrored):
    """The grid begins elsewhere, so that digits beyond its accuracy change."""
    X, y, _, _ = _problem(seed)
    moved = (X[:, :-1] * (-unit if mirrored else unit)) + shift * unit
    plain = calibrated(X[:, :-1], y)
    _close(calibrated(moved, y), plain, 1e-3)
    _close(calibrated(moved, y, method="exact"), calibrated(X[:, :-1], y, method="exact"))


@settings(max_examples=8, deadline=None, derandomize=True)
@given(SEEDS, st.sampled_from(["binary", "multiclass"]))
def test_names_of_the_classes(seed, task):
    X, y, name, rng = _problem(seed, task)
    names = np.array(["d", "b", "a", "c"])[rng.permutation(4)]
    _close(calibrated(X, names[y]), calibrated(X, y, task=name))


@settings(max_examples=6, deadline=None, derandomize=True)
@given(SEEDS, st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_units_of_a_number_to_be_explained(seed, unit, shift):
    X, y, name, _ = _problem(seed, "regression")
    _close(calibrated(X, shift - unit * y, task=name), calibrated(X, y, task=name))


@pytest.mark.slow  # without compiled loops
@pytest.mark.parametrize("wrap", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("task", TASKS)
def test_columns_do_not_see_each_other(wrap, task, monkeypatch):
    """Order, number and threads of the columns leave every bit; blocks are small."""
    X, y, name, rng = _problem(9, task)
    X = np.round(np.tile(X, 4) * rng.uniform(0.5, 2.0, 4 * X.shape[1]), 2)
    X[:, 5] = 1.0
    X[0, 7] = np.nan
    whole = calibrated(wrap(X), y, task=name, n_jobs=1)
    order = rng.permutation(X.shape[1])
    monkeypatch.setattr(sources, "DENSE_BLOCK", (300, 300))
    monkeypatch.setattr(sources, "SPARSE_BLOCK", 200)
    monkeypatch.setattr(sources, "TILE_SIZE", 200)
    blocks = [calibrated(wrap(X), y, task=name, n_jobs=n) for n in (1, 2, 3)]
    shuffled = calibrated(wrap(X[:, order]), y, task=name)
    alone = [calibrated(wrap(X[:, [j]]), y, task=name) for j in range(X.shape[1])]
    for field in ("log_p", "z", "width", "values", "log_p_by_width", "gamma", "constant"):
        expected = getattr(whole, field)
        for found in blocks:
            np.testing.assert_array_equal(getattr(found, field), expected)
        np.testing.assert_array_equal(getattr(shuffled, field), expected[order])
        one_by_one = np.concatenate([getattr(found, field) for found in alone])
        np.testing.assert_array_equal(one_by_one, expected)


def test_containers_agree():
    X, y, _, rng = _problem(10)
    X = np.where(rng.random(X.shape) < 0.4, 0.0, np.round(X, 2))
    expected = calibrated(X, y)
    for table in (np.asfortranarray(X), sp.csr_array(X), sp.csc_array(X), pd.DataFrame(X)):
        _close(calibrated(table, y), expected, 1e-4)


# -- weights of rows ------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None, derandomize=True)
@given(SEEDS, st.sampled_from(TASKS), st.sampled_from(["rbf", "laplace", "polynomial", "delta"]))
def test_whole_weights_are_repeated_rows(seed, task, kernel):
    X, y, name, rng = _problem(seed, task)
    counts = rng.integers(0, 4, N)
    weighted = calibrated(X, y, task=name, kernel=kernel, sample_weight=counts)
    again = calibrated(np.repeat(X, counts, axis=0), np.repeat(y, counts), task=name, kernel=kernel)
    _close(weighted, again, 1e-4)
    one_by_one = {"task": name, "kernel": kernel, "method": "exact"}
    weighted = calibrated(X, y, sample_weight=counts, **one_by_one)
    again = calibrated(np.repeat(X, counts, axis=0), np.repeat(y, counts), **one_by_one)
    _close(weighted, again)


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_other_weights_stand_for_the_rows_they_are_worth(task):
    X, y, name, rng = _problem(11, task)
    X = X[:, :3]
    w = rng.uniform(0.3, 2.0, N)
    worth = w * w.sum() / (w @ w)
    _, z, skewness = chance(X, y, task=name, sample_weight=w, bandwidth="std", method="exact")
    Y = (np.where(y == np.unique(y)[1], 1.0, -1.0) if task == "binary" else y)[:, None]
    B = _weighted_centre(Y @ Y.T, w)
    for j, x in enumerate(X.T):
        mean = w @ x / w.sum()
        gamma = 0.5 / (w @ (x - mean) ** 2 / w.sum())
        A = _weighted_centre(np.exp(-gamma * np.subtract.outer(x, x) ** 2), w)
        expected = standardised(A, B, worth)
        np.testing.assert_allclose([z[j, 0], skewness[j, 0]], expected, rtol=1e-7)
    assert repeated(encode_target(y, task=name, sample_weight=w)).total_weight < N
    _close(calibrated(X, y, task=name, sample_weight=5 * w), calibrated(X, y, sample_weight=w))
    same = calibrated(X, y, task=name, sample_weight=np.full(N, 0.3))
    _close(same, calibrated(X, y, task=name), 1e-4)


def _weighted_centre(K, w):
    H = np.eye(len(w)) - np.outer(np.ones(len(w)), w) / w.sum()
    return H @ K @ H.T


# -- chance ---------------------------------------------------------------------------------------


@pytest.mark.slow  # without compiled loops
@pytest.mark.parametrize("target", ["two", "unequal", "three", "numbers"])
def test_null_columns_have_even_p_values(target):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(N, 4000))
    y = {
        "two": np.arange(N) % 2,
        "unequal": (np.arange(N) % 5 == 0).astype(int),
        "three": np.arange(N) % 3,
        "numbers": rng.normal(size=N),
    }[target]
    found = calibrated(X, y)
    for log_p in (found.log_p, *found.log_p_by_width.T):
        p = np.exp(log_p)
        assert 0.85 < np.mean(p <= 0.05) / 0.05 < 1.15
        assert 0.9 < np.mean(p <= 0.3) / 0.3 < 1.1
        assert 0.9 < np.mean(-log_p) < 1.1


def test_p_values_against_drawn_permutations():
    rng = np.random.default_rng(13)
    x = rng.lognormal(0.0, 1.0, N)
    y = rng.permutation(np.arange(N) % 3 == 0)
    y[np.argsort(x)[:14]] = False
    A = feature_matrix(x, "rbf", 0.5 / scale_of(x) ** 2).astype(float)
    B = target_matrix(y, "classification").astype(float)
    q = np.array([np.sum(A * B[np.ix_(p, p)]) for p in (rng.permutation(N) for _ in range(8000))])
    p = np.mean(q >= np.sum(A * B))
    assert 0.005 < p < 0.1
    found = np.exp(calibrated(x[:, None], y, bandwidth="std").log_p[0])
    assert found == pytest.approx(p, rel=0.1 + 4 / np.sqrt(8000 * p))


# -- hard columns ---------------------------------------------------------------------------------


def test_one_odd_row_and_two_equal_classes_say_nothing():
    X = np.zeros((40, 3))
    X[[3, 5, 7], [0, 1, 2]] = [1.0, 1e9, -1e-9]
    y = np.arange(40) % 2
    for kernel in ("rbf", "laplace", "linear", "delta", "polynomial"):
        found = calibrated(X, y, kernel=kernel)
        np.testing.assert_allclose(found.log_p, 0.0, atol=1e-9)
        assert np.isfinite(found.z).all()
    jittered = X[:, :1] + 1e-9 * np.random.default_rng(0).normal(size=(40, 1))
    assert calibrated(jittered, y).log_p[0] == 0.0


@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("values", [(0.1, 0.7), (0.1, 0.8), (-1.0, 1.0), (1.0 / 3.0, 5.1)])
def test_a_kernel_that_is_constant_on_a_column_says_nothing(values, method):
    """An even power of two values, equally often."""
    x = np.tile(values, 20)[:, None]
    y = np.arange(40) % 4 < 2
    y[:20] = x[:20, 0] == values[0]
    found = calibrated(x, y, kernel=kp.Polynomial(2, 0.0), method=method)
    assert found.log_p[0] == 0.0


@pytest.mark.slow  # without compiled loops
@pytest.mark.parametrize("classes", [2, 3, 0])
def test_more_rows_than_integers_can_count(classes):
    """20,000 rows: products of six of them are beyond 64 bits."""
    n = 25_000
    rng = np.random.default_rng(14)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 2, n), rng.poisson(1.0, n)])
    y = rng.integers(0, classes, n) if classes else rng.normal(size=n)
    X[:, 2] += 0.1 * y
    log_p = calibrated(X, y).log_p
    assert np.isfinite(log_p).all()
    assert log_p[2] < -15.0
    assert np.exp(np.delete(log_p, 2)).min() > 1e-3


@pytest.mark.slow  # without compiled loops
def test_strong_columns_keep_their_order():
    """Far below what a number holds."""
    rng = np.random.default_rng(15)
    n = 6000
    y = np.arange(n) % 2
    X = np.column_stack([y + s * rng.normal(size=n) for s in (0.1, 0.3, 0.6, 1.0, 2.0)])
    log_p = calibrated(X, y).log_p
    assert np.all(np.isfinite(log_p))
    assert log_p[0] < -1500.0
    assert np.all(np.diff(log_p) > 0.0)


def test_constant_columns_are_certain():
    rng = np.random.default_rng(16)
    X = np.column_stack([np.full(N, 3.0), rng.normal(size=N), np.full(N, np.nan)])
    found = calibrated(X, rng.integers(0, 2, N))
    assert found.constant.tolist() == [True, False, True]
    assert found.log_p[[0, 2]].tolist() == [0.0, 0.0]
    assert found.values[[0, 2]].tolist() == [0.0, 0.0]
    assert found.log_p[1] < 0.0


@pytest.mark.parametrize("gamma", [1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_widths_of_the_user(gamma):
    rng = np.random.default_rng(17)
    X, y = rng.normal(size=(N, 3)), rng.integers(0, 2, N)
    found, z, _ = chance(X, y, bandwidth="std", gamma=gamma)
    B = target_matrix(y, "classification")
    expected = [standardised(feature_matrix(x, "rbf", gamma), B)[0] for x in X.T]
    np.testing.assert_allclose(z[:, 0], expected, atol=1e-3)
    assert np.isfinite(found.log_p).all()
    np.testing.assert_array_equal(found.gamma, gamma)

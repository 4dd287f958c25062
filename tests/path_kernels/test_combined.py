"""Every kernel, layout and weighting against the dense twin."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpath.path_kernels import Combined
from kernelpath.path_kernels import sparse_columns as scatter
from kernelpath.path_kernels import split as parts
from path_kernels.helpers import KERNELS, LAYOUTS, assert_matches, error, fit, make_table

N, N_NEW = 30, 5


def _problem(seed=0, n_points=3):
    rng = np.random.default_rng(seed)
    X = make_table(N + N_NEW, rng)
    weights = rng.random((n_points, X.shape[1])) * (rng.random((n_points, X.shape[1])) < 0.7)
    weights[0, :3] = 0.5
    return X[:N], X[N:], weights


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_kernel_and_layout(kernel, layout):
    X, X_new, weights = _problem()
    bank = fit(LAYOUTS[layout](X), kernel=kernel)
    for new in (X_new, LAYOUTS[layout](X_new)):
        points = list(bank.combine(weights, new))
        assert len(points) == len(weights)
        for combined, w in zip(points, weights):
            assert isinstance(combined, Combined)
            assert_matches(combined, X, X_new, bank, w)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_single_precision(kernel, layout):
    X, X_new, weights = _problem(1, n_points=7)
    bank = fit(LAYOUTS[layout](X), kernel=kernel)
    points = bank.combine(weights, X_new, precision="single")
    for combined, w in zip(points, weights, strict=True):
        assert combined.train.dtype == combined.new.dtype == np.float64
        np.testing.assert_array_equal(combined.train, combined.train.T)
        assert_matches(combined, X, X_new, bank, w, tol=1e-6)


@pytest.mark.parametrize("gamma", [1e-30, 1e-15, 1e-6, 1e3])
def test_single_precision_in_any_units(gamma):
    X, X_new, weights = _problem(2, n_points=6)
    weights *= 10.0 ** np.array([-200.0, -60, -20, 0, 60, 200])[:, None]
    bank = fit(X, gamma=gamma)
    double = bank.combine(weights, X_new)
    for one, two in zip(double, bank.combine(weights, X_new, precision="single"), strict=True):
        assert error(two.train, one.train) <= 1e-6
        assert error(two.new, one.new) <= 1e-6
        assert error(two.column_means, one.column_means) <= 1e-6


def test_unknown_precision():
    X, _, weights = _problem(3)
    with pytest.raises(ValueError, match="precision must be 'double' or 'single', got 'half'"):
        fit(X).combine(weights, precision="half")


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sample_weights_are_repeated_rows(kernel, layout):
    X, X_new, weights = _problem(1)
    counts = np.random.default_rng(2).integers(0, 4, N)
    bank = fit(LAYOUTS[layout](X), kernel=kernel, sample_weight=counts)
    repeated = fit(LAYOUTS[layout](np.repeat(X, counts, axis=0)), kernel=kernel)
    np.testing.assert_allclose(bank.traces, repeated.traces, rtol=1e-9)
    np.testing.assert_allclose(bank.row_weight, counts / counts.sum())
    literal = repeated.combine(weights, X_new)
    for one, other, w in zip(bank.combine(weights, X_new), literal, weights):
        assert_matches(one, X, X_new, bank, w, counts)
        assert error(np.repeat(one.new, counts, axis=1), other.new) <= 1e-9
        again = np.repeat(np.repeat(one.train, counts, axis=0), counts, axis=1)
        assert error(again, other.train) <= 1e-9


@pytest.mark.parametrize("layout", ["dense", "csc"])
def test_centred_semidefinite_and_of_the_right_trace(layout):
    X, _, weights = _problem(3)
    bank = fit(LAYOUTS[layout](X))
    for combined, w in zip(bank.combine(weights), weights):
        K = combined.train
        assert combined.new is None
        assert K.flags.c_contiguous
        assert K.dtype == np.float64
        np.testing.assert_array_equal(K, K.T)
        total = w[~bank.constant].sum()
        np.testing.assert_allclose(np.trace(K), total, rtol=1e-9)
        assert np.abs(K.sum(axis=0)).max() <= 1e-13 * N * total
        assert np.linalg.eigvalsh(K).min() >= -1e-13 * total


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_blocks_of_points_change_nothing(layout, monkeypatch):
    X, X_new, weights = _problem(4, n_points=9)
    bank = fit(LAYOUTS[layout](X))
    whole = list(bank.combine(weights, X_new))
    blocks = [list(bank.combine(weights, X_new, memory_limit=limit)) for limit in (1, 20_000)]
    monkeypatch.setattr(parts, "FEWEST_POINTS", 2)
    blocks.append(list(bank.combine(weights, X_new)))
    for some in blocks:
        for one, other in zip(whole, some, strict=True):
            assert error(one.train, other.train) <= 1e-13
            assert error(one.new, other.new) <= 1e-13
            assert error(one.column_means, other.column_means) <= 1e-13


def test_arrays_belong_to_the_caller():
    X, X_new, weights = _problem(5)
    bank = fit(X)
    clean = [c.train.copy() for c in bank.combine(weights, X_new)]
    kept = []
    for combined in bank.combine(weights, X_new):
        combined.train[:] = -1.0
        combined.new[:] = -1.0
        kept.append(combined)
    assert all(np.all(c.train == -1.0) and np.all(c.new == -1.0) for c in kept)
    for one, combined in zip(clean, bank.combine(weights)):
        np.testing.assert_array_equal(one, combined.train)


def test_weights_dense_sparse_or_one_row():
    X, X_new, weights = _problem(6)
    bank = fit(X)
    from_dense = list(bank.combine(weights, X_new))
    for other in (sp.csr_matrix(weights), sp.coo_matrix(weights), sp.csr_array(weights)):
        for one, two in zip(from_dense, bank.combine(other, X_new), strict=True):
            np.testing.assert_array_equal(one.train, two.train)
            np.testing.assert_array_equal(one.new, two.new)
    (single,) = bank.combine(weights[1], X_new)
    assert error(single.train, from_dense[1].train) <= 1e-14


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_points_without_weights_are_zero(layout):
    X, X_new, weights = _problem(7)
    weights[1] = 0.0
    weights[2] = np.where(np.arange(X.shape[1]) == 4, 1.0, 0.0)  # the constant column
    bank = fit(LAYOUTS[layout](X))
    _, none, constant = bank.combine(weights, X_new)
    for combined in (none, constant):
        assert not combined.train.any()
        assert not combined.new.any()
        assert not combined.column_means.any()
    (alone,) = bank.combine(np.zeros((1, X.shape[1])))
    assert not alone.train.any()


def test_no_points_and_no_new_rows():
    X, X_new, _ = _problem(8)
    bank = fit(X)
    assert list(bank.combine(np.zeros((0, X.shape[1])))) == []
    (empty,) = bank.combine(np.ones((1, X.shape[1])), X_new[:0])
    assert empty.new.shape == (0, N)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders(dtype, order):
    rng = np.random.default_rng(9)
    X = rng.integers(0, 7, (N, 4)).astype(dtype, order=order)
    bank = fit(X)
    weights = np.array([0.5, 0.0, 1.0, 0.25])
    (combined,) = bank.combine(weights, X[:3])
    assert_matches(combined, X.astype(float), X[:3].astype(float), bank, weights)


@pytest.mark.parametrize("room", [0, 2**20])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sparse_columns_with_many_values(kernel, room, monkeypatch):
    """Pairs of values stored, or evaluated again where they do not fit."""
    monkeypatch.setattr(scatter, "FEW_VALUES", 2)
    rng = np.random.default_rng(10)
    X = sp.random(60, 6, density=0.15, random_state=3, data_rvs=rng.standard_normal).toarray()
    weights = rng.random((2, 6))
    bank = fit(sp.csr_matrix(X[:50]), kernel=kernel)
    combined = bank.combine(weights, sp.csr_matrix(X[50:]), memory_limit=4 * room)
    for one, w in zip(combined, weights):
        assert_matches(one, X[:50], X[50:], bank, w)


def test_take_keeps_the_kernels_of_the_columns():
    X, X_new, weights = _problem(11)
    for layout in LAYOUTS.values():
        bank = fit(layout(X), kernel="polynomial")
        columns = [7, 0, 5]
        part = bank.take(columns)
        rest = np.zeros_like(weights)
        rest[:, columns] = weights[:, columns]
        pairs = zip(part.combine(weights[:, columns], X_new[:, columns]), bank.combine(rest, X_new))
        for one, other in pairs:
            assert error(one.train, other.train) <= 1e-13
            assert error(one.new, other.new) <= 1e-13
    mask = np.arange(X.shape[1]) < 2
    np.testing.assert_array_equal(fit(X).take(mask).gamma, fit(X).gamma[:2])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_random_small_tables(data):
    n, n_new, n_columns = (data.draw(st.integers(*b)) for b in ((3, 12), (1, 4), (1, 5)))
    # Not the pure even power: a balanced two-valued column has no kernel there but rounding.
    kernel = data.draw(st.sampled_from(KERNELS[:-1]))
    layout = data.draw(st.sampled_from(list(LAYOUTS.values())))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    levels = data.draw(st.sampled_from([2, 3, 50]))
    X = rng.integers(-levels, levels, (n + n_new, n_columns)) * rng.choice([0.1, 1.0, 30.0])
    X = X * (rng.random(X.shape) < data.draw(st.sampled_from([0.1, 0.5, 1.0])))
    weights = rng.random((2, n_columns)) * (rng.random((2, n_columns)) < 0.8)
    counts = rng.integers(0, 3, n) if data.draw(st.booleans()) else None
    if counts is not None:
        counts[:2] = 1
    bank = fit(layout(X[:n]), kernel=kernel, sample_weight=counts)
    for combined, w in zip(bank.combine(weights, layout(X[n:])), weights):
        assert_matches(combined, X[:n], X[n:], bank, w, counts, tol=1e-11)

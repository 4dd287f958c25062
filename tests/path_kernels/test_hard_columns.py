"""Columns on which a careless formula loses its digits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kernelpath.kernels import Laplace
from path_kernels.helpers import KERNELS, LAYOUTS, assert_matches, error, fit
from reference import combine as reference

N = 30


def _columns(seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(N + 4, 3))


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_huge_offsets(kernel, layout):
    rng, X = _columns(1)
    X = X + np.array([1e9, -1e6, 0.0])
    bank = fit(LAYOUTS[layout](X[:N]), kernel=kernel)
    weights = rng.random(3)
    (combined,) = bank.combine(weights, LAYOUTS[layout](X[N:]))
    assert_matches(combined, X[:N], X[N:], bank, weights)
    assert np.abs(np.trace(combined.train) / weights.sum() - 1) <= 1e-6


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
@pytest.mark.parametrize("gamma", [1e-12, 1e-8, 1e-5, 1e-2, 1e2, 1e6])
def test_wide_and_narrow_kernels(kernel, gamma, layout):
    rng, X = _columns(2)
    X[:, 1] *= rng.random(N + 4) < 0.15
    X[:, 2] = rng.integers(0, 2, N + 4)
    bank = fit(LAYOUTS[layout](X[:N]), kernel=kernel, gamma=gamma)
    weights = np.array([0.2, 0.5, 0.3])
    (combined,) = bank.combine(weights, LAYOUTS[layout](X[N:]))
    assert_matches(combined, X[:N], X[N:], bank, weights)


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_new_rows_with_a_third_value(kernel, layout):
    rng, X = _columns(3)
    X[:, 0] = rng.integers(0, 2, N + 4)
    X[:, 1] = (rng.random(N + 4) < 0.15).astype(float)
    X[0, 1] = 1.0
    X[N, 0], X[N + 1, 1], X[N + 2, 1] = 2.5, -3.0, 7.0
    bank = fit(LAYOUTS[layout](X[:N]), kernel=kernel)
    weights = np.array([0.4, 0.4, 0.2])
    (combined,) = bank.combine(weights, LAYOUTS[layout](X[N:]))
    assert_matches(combined, X[:N], X[N:], bank, weights)
    (alone,) = bank.combine(weights)
    assert error(alone.train, combined.train) <= 1e-13


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_stored_zeros_duplicates_and_unsorted_indices(kernel):
    rng, X = _columns(4)
    X[:, :2] *= rng.random((N + 4, 2)) < 0.15
    X[:3, :2] = rng.normal(size=(3, 2))
    row, column = np.indices(X.shape).reshape(2, -1)
    order = rng.permutation(np.concatenate([np.arange(X.size)] * 2))
    half = sp.coo_matrix((0.5 * X[row, column][order], (row[order], column[order])), X.shape)
    messy = half.tocsr(copy=True)  # every entry twice, zeros stored
    data, indices = messy.data.copy(), messy.indices.copy()
    messy = sp.csr_matrix((data, indices, messy.indptr), X.shape)
    before = messy.copy()
    weights = rng.random(3)
    bank = fit(messy[:N], kernel=kernel)
    (combined,) = bank.combine(weights, messy[N:])
    assert_matches(combined, X[:N], X[N:], bank, weights)
    np.testing.assert_array_equal(messy.data, before.data)


def test_dense_columns_in_sparse_tables():
    """A year beside indicators: 0 is far away, and a polynomial must not be shifted to it."""
    rng, X = _columns(5)
    X[:, 0] = 1990 + rng.integers(0, 30, N + 4)
    X[:, 1] = 4 + rng.integers(0, 2, N + 4)  # two values, neither of them 0
    for kernel in KERNELS:
        bank = fit(sp.csr_matrix(X[:N]), kernel=kernel)
        (combined,) = bank.combine(np.array([0.5, 0.3, 0.2]), X[N:])
        assert_matches(combined, X[:N], X[N:], bank, [0.5, 0.3, 0.2])


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_rows_of_weight_zero_may_lie_anywhere(layout):
    rng, X = _columns(6)
    counts = np.ones(N)
    counts[3] = 0.0
    X[3] = (50.0, -80.0, 1e4)
    X[:, 2] = np.where(np.arange(N + 4) == 3, 1e4, np.arange(N + 4) % 2)
    bank = fit(LAYOUTS[layout](X[:N]), sample_weight=counts)
    weights = rng.random(3)
    (combined,) = bank.combine(weights, LAYOUTS[layout](X[N:]))
    assert_matches(combined, X[:N], X[N:], bank, weights, counts)
    keep = np.flatnonzero(counts)
    (without,) = fit(LAYOUTS[layout](X[keep])).combine(weights)
    assert error(combined.train[np.ix_(keep, keep)], without.train) <= 1e-9


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_traces_are_those_of_the_definition(kernel):
    rng, X = _columns(7)
    X[:, 1] = rng.integers(0, 2, N + 4)
    counts = rng.integers(1, 4, N).astype(float)
    for sample_weight in (None, counts, 0.3 * counts):
        for layout in ("dense", "fortran", "csr"):
            bank = fit(LAYOUTS[layout](X[:N]), kernel=kernel, sample_weight=sample_weight)
            row_weight = np.ones(N) if sample_weight is None else sample_weight
            for i in range(3):
                parameters = (bank.kernels[0], bank.gamma[i], bank.center[i], row_weight)
                expected = reference.trace(X[:N, i], *parameters)
                np.testing.assert_allclose(bank.traces[i], expected, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_long_columns_take_the_fast_lane(kernel):
    """More rows than are summed pair by pair: also those traces are right."""
    rng = np.random.default_rng(8)
    X = np.column_stack([rng.normal(size=90), rng.integers(0, 2, 90), rng.exponential(size=90)])
    for layout in ("dense", "fortran"):
        bank = fit(LAYOUTS[layout](X), kernel=kernel)
        for i in range(3):
            parameters = (bank.kernels[0], bank.gamma[i], bank.center[i], np.ones(90))
            expected = reference.trace(X[:, i], *parameters)
            np.testing.assert_allclose(bank.traces[i], expected, rtol=1e-8)


def test_alignment_is_the_quotient_with_the_trace():
    _, X = _columns(9)
    y = np.where(np.arange(N) % 3 == 0, 1.0, -1.0)
    for kernel in ("rbf", Laplace()):
        bank = fit(X[:N], y=y, kernel=kernel)
        for i in range(3):
            weights = np.eye(3)[i]
            (combined,) = bank.combine(weights)
            np.testing.assert_allclose(y @ combined.train @ y, bank.alignments[i], rtol=1e-7)
    assert not fit(X[:N]).alignments.any()

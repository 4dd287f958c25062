"""Kernels between new rows and support vectors, and the mistakes that are refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kernelpath.errors import DataError
from kernelpath.path_kernels import cross, cross_kernel
from path_kernels.helpers import KERNELS, LAYOUTS, error, fit, make_table
from reference import combine as reference

N, N_NEW = 30, 7


def _problem(layout="dense", kernel="rbf", seed=0):
    rng = np.random.default_rng(seed)
    X = make_table(N + N_NEW, rng)
    bank = fit(LAYOUTS[layout](X[:N]), kernel=kernel)
    return X, bank, rng.random(X.shape[1])


def _cross(bank, values, new, factors, **options):
    parameters = (bank.kernels, bank.which, bank.gamma, bank.center)
    return cross_kernel(values, new, *parameters, factors, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_form_is_the_promised_one(kernel, layout):
    X, bank, weights = _problem(layout, kernel)
    factors = bank.point_weights(weights)
    expected = reference.cross(X[:N], X[N:], bank, factors, sparse=layout.startswith("cs"))
    for new in (X[N:], sp.csr_matrix(X[N:])):
        assert error(_cross(bank, bank.values, new, factors), expected) <= 1e-12


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_centring_by_hand_gives_the_combined_kernel(kernel, layout):
    """What a model does: some training rows, with the column means of all."""
    X, bank, weights = _problem(layout, kernel, 1)
    (combined,) = bank.combine(weights, X[N:])
    factors = bank.point_weights(weights)
    own = _cross(bank, bank.values, X[:N], factors)
    assert np.abs(own.mean(axis=0) - combined.column_means).max() <= 1e-12 * np.abs(own).max()
    rows = np.array([1, 4, 9, 20])
    dual = np.array([0.5, -1.0, 0.75, -0.25])  # sums to 0
    values = bank.values[rows] if layout != "csc" else bank.values.tocsr()[rows]
    decision = _cross(bank, values, X[N:], factors) @ dual - combined.column_means[rows] @ dual
    expected = combined.new[:, rows] @ dual
    scale = np.abs(combined.train).max()
    assert np.abs(decision - expected).max() <= 1e-12 * scale


def test_blocks_of_rows_and_columns_change_nothing(monkeypatch):
    X, bank, weights = _problem(seed=2)
    factors = bank.point_weights(weights)
    whole = _cross(bank, X[:N], X[N:], factors)
    monkeypatch.setattr(cross, "BLOCK_VALUES", 130)
    many = np.repeat(X[N:], 30, axis=0)
    for new in (many, sp.csc_matrix(many)):
        blocks = _cross(bank, X[:N], new, factors)
        assert error(blocks, np.repeat(whole, 30, axis=0)) <= 1e-14
    table = sp.csr_matrix(X[:N])
    whole = _cross(bank, table, X[N:], factors)
    assert error(_cross(bank, table, many, factors), np.repeat(whole, 30, axis=0)) <= 1e-14


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_out_is_overwritten(layout):
    X, bank, weights = _problem(layout, seed=3)
    factors = bank.point_weights(weights)
    out = np.full((N_NEW, N), np.nan)
    result = _cross(bank, bank.values, X[N:], factors, out=out)
    assert result is out
    np.testing.assert_array_equal(out, _cross(bank, bank.values, X[N:], factors))
    for wrong in (out.T, np.asfortranarray(out), out.astype(np.float32)):
        with pytest.raises(ValueError, match="C-contiguous float64"):
            _cross(bank, bank.values, X[N:], factors, out=wrong)
    none = _cross(bank, bank.values, X[N:], np.zeros_like(factors))
    assert not none.any()


def test_point_weights_divide_by_the_trace():
    X, bank, weights = _problem(seed=4)
    result = bank.point_weights(weights)
    assert result[4] == 0.0
    rest = np.arange(X.shape[1]) != 4
    np.testing.assert_allclose(result[rest] * bank.traces[rest], weights[rest])
    np.testing.assert_array_equal(bank.point_weights([weights, 0 * weights])[0], result)
    np.testing.assert_array_equal(bank.point_weights(sp.csr_matrix(weights))[0], result)


# -- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_new_rows_with_other_columns(layout):
    X, bank, weights = _problem(layout)
    for new in (X[:, :3], LAYOUTS[layout](X[:, :3]), X[0]):
        with pytest.raises(DataError, match="8 columns"):
            bank.combine(weights, new)
    with pytest.raises(DataError, match="8 columns"):
        _cross(bank, bank.values, X[:, :3], weights)


@pytest.mark.parametrize("layout", ["dense", "csr", "csc"])
def test_infinity_in_new_rows(layout):
    X, bank, weights = _problem(layout)
    new = X[N:].copy()
    new[0, 2] = new[1, 7] = np.inf
    new[0, 0] = np.nan
    with pytest.raises(DataError, match=r"contain infinity in columns 2, 7\."):
        bank.combine(weights, LAYOUTS[layout](new))
    with pytest.raises(DataError, match=r"column 7\."):
        bank.take([0, 7]).combine(weights[[0, 7]], LAYOUTS[layout](new[:, [0, 7]]))
    unused = weights.copy()
    unused[[2, 7]] = 0.0
    (combined,) = bank.combine(unused, LAYOUTS[layout](new))  # columns without weight are not read
    assert np.isfinite(combined.new).all()


@pytest.mark.parametrize("layout", ["dense", "csr", "csc"])
@pytest.mark.parametrize("kernel", ["rbf", "laplace", "delta"])
def test_missing_values_in_new_rows_are_like_no_value_of_fit(layout, kernel):
    X, bank, weights = _problem(layout, kernel)
    new, far = X[N:].copy(), X[N:].copy()
    new[0, 2] = new[1, 7] = np.nan
    far[0, 2] = far[1, 7] = 1e9  # so far that the kernel is 0
    (found,) = bank.combine(weights, LAYOUTS[layout](new))
    (expected,) = bank.combine(weights, LAYOUTS[layout](far))
    assert error(found.new, expected.new) <= 1e-12
    np.testing.assert_array_equal(found.train, expected.train)


def test_weights_that_make_no_kernel():
    _, bank, weights = _problem()
    for wrong in (-weights, np.where(weights > 0.5, np.nan, weights)):
        with pytest.raises(DataError, match="not negative"):
            bank.combine(wrong)
    with pytest.raises(DataError, match="weights for 3 of 8 columns"):
        bank.combine(weights[:3])


def test_missing_values_in_a_row_of_weight_zero():
    X, _, weights = _problem()
    counts = np.ones(N)
    counts[5] = 0.0
    X[5, 3] = np.nan
    rest = np.arange(N) != 5
    for layout in ("dense", "csr"):
        bank = fit(LAYOUTS[layout](X[:N]), sample_weight=counts)
        without = fit(LAYOUTS[layout](X[:N][rest]))
        np.testing.assert_allclose(bank.gamma, without.gamma, rtol=1e-12)
        (found,) = bank.combine(weights, LAYOUTS[layout](X[N:]))
        (expected,) = without.combine(weights, LAYOUTS[layout](X[N:]))
        assert error(found.train[np.ix_(rest, rest)], expected.train) <= 1e-9
        assert error(found.new[:, rest], expected.new) <= 1e-9

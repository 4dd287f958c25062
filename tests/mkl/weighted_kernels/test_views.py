"""Gaussian kernels that are computed when needed: against whole matrices and against factors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kernelpath as kp
from kernelpath.estimators import _gmkl_kernels
from kernelpath.mkl.weighted_kernels._view_loops import BLOCK
from kernelpath.mkl.weighted_kernels.base import SumKernel
from kernelpath.mkl.weighted_kernels.columns import SumOfColumnKernels
from kernelpath.mkl.weighted_kernels.published import BANDWIDTHS, simple_mkl_parts
from kernelpath.mkl.weighted_kernels.views import GaussianViews

RNG = np.random.default_rng(0)
N = 24
X = RNG.normal(size=(N, 4)) * [1.0, 100.0, 0.01, 1.0] + [0.0, 1e4, 5.0, 0.0]
X[:, 3] = RNG.integers(0, 3, size=N)
NEW = X[:5] + RNG.normal(size=(5, 4)) * [0.3, 30.0, 0.003, 0.0]
LADDERS = {
    "doubled": [2.0, 1.0, 0.5],
    "by the root of two": [1.0, 2.0**0.5, 2.0],
    "any": [0.7, 3.1, 1.3],
    "far apart": [0.01, 100.0],
    "the same twice": [1.0, 1.0],
}
DIGITS = {np.float32: 2e-6, np.float64: 1e-10}  # of the largest number of an answer


def whole(view, width, new=None):
    """Centred kernel of mean diagonal 1 in plain loops, for new rows against the old ones."""
    n, sigma = len(view), view.std()

    def gram(a, b):
        return np.array(
            [[np.exp(-((s - t) ** 2) / (2 * (width * sigma) ** 2)) for t in b] for s in a]
        )

    K, H = gram(view, view), np.eye(n) - 1.0 / n
    scale = n / np.trace(H @ K @ H)
    return scale * H @ K @ H if new is None else scale * (gram(new, view) - K.mean(axis=0)) @ H


def all_of(table, widths):
    return [whole(table[:, j], w) for j in range(table.shape[1]) for w in widths]


def close(found, expected, dtype):
    expected = np.asarray(expected)
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=DIGITS[dtype] * size)


@pytest.mark.parametrize("dtype", DIGITS)
@pytest.mark.parametrize("name", LADDERS)
def test_against_whole_matrices(name, dtype):
    widths = LADDERS[name]
    kernel, grams = GaussianViews(X, widths, dtype=dtype), all_of(X, widths)
    assert isinstance(kernel, SumKernel)
    assert kernel.n_kernels == len(grams)
    U = RNG.normal(size=(N, 2))
    U[N // 2 :] = 0.0
    U[: N // 2] -= U[: N // 2].mean(axis=0)
    close(kernel.quad(U), [np.trace(U.T @ K @ U) for K in grams], dtype)
    close(kernel.quad(U[:, 0]), [U[:, 0] @ K @ U[:, 0] for K in grams], dtype)
    weights = RNG.uniform(size=len(grams))
    weights[1] = 0.0
    total = sum(w * K for w, K in zip(weights, grams))
    close(kernel.gram(weights), total, dtype)
    parts = np.array([len(grams) - 1, 0])
    close(kernel.times(parts, U[:, 1]), np.column_stack([grams[k] @ U[:, 1] for k in parts]), dtype)
    close(kernel.restrict(parts).gram(weights[:2]), weights[0] * grams[-1] + weights[1] * grams[0],
          dtype)  # fmt: skip
    fresh = [whole(X[:, j], w, NEW[:, j]) for j in range(4) for w in widths]
    expected = sum(w * K for w, K in zip(weights, fresh)) @ U
    close(kernel.cross_times(weights, NEW, U), expected, dtype)
    close(kernel.cross_times(weights, X, U), total @ U, dtype)


def test_the_same_kernels_as_those_of_factors():
    factors = SumOfColumnKernels(X, simple_mkl_parts(X, degrees=(), together=False))
    kernel = GaussianViews(X, dtype=np.float64)
    np.testing.assert_array_equal(kernel.widths, BANDWIDTHS)
    u = RNG.normal(size=N)
    np.testing.assert_allclose(kernel.quad(u), factors.quad(u), rtol=1e-5)
    weights = RNG.uniform(size=kernel.n_kernels)
    np.testing.assert_allclose(kernel.gram(weights), factors.gram(weights), atol=1e-6)
    u -= u.mean()
    np.testing.assert_allclose(
        kernel.cross_times(weights, NEW, u), factors.cross_times(weights, NEW, u), atol=1e-5
    )


def test_more_pairs_than_a_block():
    rows = RNG.normal(size=(72, 2))
    assert BLOCK < 72 * 71 // 2
    kernel, grams = GaussianViews(rows, [2.0, 0.5]), all_of(rows, [2.0, 0.5])
    u = RNG.normal(size=72)
    close(kernel.quad(u), [u @ K @ u for K in grams], np.float32)
    close(kernel.gram(np.ones(4)), sum(grams), np.float32)
    u -= u.mean()
    close(kernel.cross_times(np.ones(4), rows, u)[:, 0], sum(grams) @ u, np.float32)


def test_wide_kernels_keep_their_digits():
    """In single precision ``1 - k`` would have three of them."""
    view = RNG.normal(size=(N, 1))
    u = view[:, 0] - view.mean()
    found = GaussianViews(view, [64.0]).quad(u)
    np.testing.assert_allclose(found, u @ whole(view[:, 0], 64.0) @ u, rtol=1e-5)


def test_bounds_rest_on_exact_numbers():
    kernel, u = GaussianViews(X), RNG.normal(size=N)
    exact = kernel.restrict(np.arange(kernel.n_kernels)).quad(u - u.mean())
    found = kernel.quad(u - u.mean())
    assert found.max() == pytest.approx(exact.max(), rel=1e-10)
    assert np.abs(found - exact).max() > 1e-10 * exact.max()  # the others need not be


def test_scales_of_dual_vectors_do_not_matter():
    kernel, u = GaussianViews(X, [1.0]), RNG.normal(size=N)
    for scale in (1e-30, 1e30):
        np.testing.assert_allclose(kernel.quad(scale * u), scale**2 * kernel.quad(u), rtol=1e-6)
    np.testing.assert_allclose(kernel.quad(u + 7.0), kernel.quad(u), rtol=1e-3)
    np.testing.assert_array_equal(kernel.quad(np.zeros(N)), 0.0)


def test_projections():
    P = RNG.normal(size=(4, 6)) / X.std(axis=0)[:, None] * (RNG.uniform(size=(4, 6)) < 0.5)
    P[0] += P.sum(axis=0) == 0
    one = GaussianViews(X, [1.0, 0.3], projection=sparse.csr_array(P), dtype=np.float64)
    other = GaussianViews(X @ P, [1.0, 0.3], dtype=np.float64)
    weights, u = RNG.uniform(size=12), RNG.normal(size=N)
    np.testing.assert_allclose(one.quad(u), other.quad(u), rtol=1e-8)
    u -= u.mean()
    np.testing.assert_allclose(
        one.cross_times(weights, NEW, u), other.cross_times(weights, NEW @ P, u), atol=1e-8
    )


@pytest.mark.parametrize("form", [sparse.csr_array, np.float32, np.asfortranarray], ids=repr)
def test_tables_of_all_kinds(form):
    table = np.where(RNG.uniform(size=X.shape) < 0.5, 0.0, X / X.std(axis=0))
    plain, other = GaussianViews(table), GaussianViews(form(table))
    u = RNG.normal(size=N)
    np.testing.assert_allclose(other.quad(u), plain.quad(u), rtol=1e-3)
    weights = RNG.uniform(size=40)
    u -= u.mean()
    np.testing.assert_allclose(
        other.cross_times(weights, form(table[:4]), u), plain.cross_times(weights, table[:4], u),
        rtol=1e-3,
    )  # fmt: skip


def test_constant_columns_explain_nothing():
    table = np.column_stack([X[:, 0], np.full(N, 0.1)])
    kernel = GaussianViews(table, [1.0, 2.0])
    np.testing.assert_array_equal(kernel.constant, [False, False, True, True])
    np.testing.assert_array_equal(kernel.quad(RNG.normal(size=N))[2:], 0.0)
    np.testing.assert_array_equal(kernel.gram(np.array([0.0, 0.0, 1.0, 1.0])), 0.0)
    np.testing.assert_array_equal(kernel.restrict(np.array([3])).gram(np.ones(1)), 0.0)


def test_what_is_refused():
    with pytest.raises(ValueError, match="widths must be positive"):
        GaussianViews(X, [1.0, 0.0])
    with pytest.raises(kp.DataError, match="no kernel"):
        GaussianViews(X, [])


# -- in the estimators -----------------------------------------------------------------------------

DATA = kp.datasets.make_ring(n_samples=80, n_features=6, random_state=0)


@pytest.mark.parametrize("base_kernel", ["rbf", "multi", "bandwidths"])
def test_estimators_choose_by_memory(base_kernel, monkeypatch):
    model = kp.GMKLClassifier(base_kernel=base_kernel, tol=1e-5)
    factors = model.fit(DATA.X, DATA.y).decision_function(DATA.X)
    assert isinstance(model._bound.kernel, SumOfColumnKernels)
    assert len(model.weights_) == 6 * {"rbf": 1, "multi": 3, "bandwidths": 10}[base_kernel]
    importances = model.feature_importances_
    monkeypatch.setattr(_gmkl_kernels, "MOST_FACTOR_BYTES", 1000)
    tiles = model.fit(DATA.X, DATA.y).decision_function(DATA.X)
    assert isinstance(model._bound.kernel, GaussianViews)
    assert model.gap_ <= 1e-5
    np.testing.assert_allclose(tiles, factors, atol=0.02)
    np.testing.assert_allclose(model.feature_importances_, importances, atol=0.02)


@pytest.mark.filterwarnings("ignore:No kernel has a weight")
def test_other_kernels_stay_factors(monkeypatch):
    monkeypatch.setattr(_gmkl_kernels, "MOST_FACTOR_BYTES", 1000)
    for base_kernel in ("linear", "simple_mkl"):
        model = kp.GMKLClassifier(base_kernel=base_kernel, tol=0.1).fit(DATA.X, DATA.y)
        assert isinstance(model._bound.kernel, SumOfColumnKernels)


def test_memory_is_judged_by_the_data():
    """Two values make a rank of one, whatever the number of rows."""
    smooth, binary = RNG.normal(size=(2000, 40)), RNG.integers(0, 2, size=(2000, 40)) * 1.0
    few, many = (_gmkl_kernels._factor_bytes(table, (1.0,)) for table in (binary, smooth))
    assert many > 4 * few > 0

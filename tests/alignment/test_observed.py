"""Columns with missing values: the kernel of the observed rows, and one category for the rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelpath.alignment.api import align_table
from kernelpath.errors import DataError
from kernelpath.kernels.feature import resolve_kernel
from kernelpath.path_kernels.bank import KernelBank
from kernelpath.path_kernels.cross import cross_kernel
from kernelpath.path_kernels.explicit import ExplicitMap
from kernelpath.tables.table import Table, as_column_table

KERNELS = ("rbf", "laplace", "delta")


def table_with_holes(n, kernel, seed=0):
    """Five columns: holes, few holes, none, one value and holes, nothing but holes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    if kernel == "delta":
        X = rng.integers(0, 4, size=(n, 5)).astype(float)
    signal = X[:, 0] + rng.normal(size=n)
    y = (signal > np.median(signal)).astype(int)
    X[rng.random(n) < 0.3, 0] = np.nan
    X[0, 1] = np.nan
    X[:, 3] = np.where(rng.random(n) < 0.2 + 0.5 * y, np.nan, 7.0)
    X[:, 4] = np.nan
    return X, y


def gram_by_definition(x, kernel, weight):
    """Kernel of the observed rows, bordered by ones for two missing values."""
    seen = ~np.isnan(x)
    K = np.zeros((len(x), len(x)))
    if seen.any():
        mean = np.average(x[seen], weights=weight[seen])
        scale = np.sqrt(np.average((x[seen] - mean) ** 2, weights=weight[seen])) or 1.0
        one = resolve_kernel(kernel)
        centred = x[seen] - mean
        K[np.ix_(seen, seen)] = one.gram(centred, centred, float(one.gamma(scale)))
    K[np.ix_(~seen, ~seen)] = 1.0
    return K


def centred(K, weight):
    share = weight / weight.sum()
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), share)
    return H @ K @ H.T


def alignment_by_definition(x, y, kernel, weight):
    K = centred(gram_by_definition(x, kernel, weight), weight)
    v = np.where(y == 1, 1.0, -1.0)
    v = weight * (v - np.average(v, weights=weight))
    trace = weight @ np.diag(K)
    return v @ K @ v / trace if trace > 1e-12 else 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [8, 40, 700])
def test_alignments_are_those_of_the_definition(n, kernel, weighted):
    X, y = table_with_holes(n, kernel)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 3.0, n) if weighted else np.ones(n)
    given = weight if weighted else None
    result, _ = align_table(as_column_table(X), y, kernel=kernel, sample_weight=given)
    want = [alignment_by_definition(X[:, j], y, kernel, weight) for j in range(5)]
    np.testing.assert_allclose(result.values, want, atol=1e-9)
    assert result.constant.tolist() == [False, False, False, False, True]


def test_missing_or_not_may_be_all_that_a_column_says():
    X, y = table_with_holes(300, "rbf")
    result, _ = align_table(as_column_table(X), y, kernel="rbf")
    indicator, _ = align_table(as_column_table(np.isnan(X[:, [3]]).astype(float)), y)
    assert result.values[3] == pytest.approx(indicator.values[0], rel=1e-12)
    assert result.values[3] > 5 * result.values[1]


@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_columns_with_stored_nan(kernel):
    S = sparse.random(200, 6, 0.4, random_state=0, format="csc")
    S.data = np.round(3 * S.data)
    S.data[::5] = np.nan
    y = np.arange(200) % 2
    thin, _ = align_table(as_column_table(S), y, kernel=kernel)
    full, _ = align_table(as_column_table(S.toarray()), y, kernel=kernel)
    np.testing.assert_allclose(thin.values, full.values, atol=1e-9)
    np.testing.assert_allclose(thin.gamma, full.gamma, rtol=1e-12)


def test_median_width_is_that_of_the_observed_values():
    X, y = table_with_holes(60, "rbf")
    seen = X[~np.isnan(X[:, 0]), 0]
    result, _ = align_table(as_column_table(X[:, [0]]), y, kernel="rbf", bandwidth="median")
    gaps = np.abs(np.subtract.outer(seen, seen))[np.triu_indices(len(seen), 1)]
    assert result.gamma[0] == pytest.approx(0.5 / np.median(gaps) ** 2, rel=0.05)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csc_matrix])
def test_combined_kernels_are_those_of_the_definition(kernel, layout):
    n = 60
    X, y = table_with_holes(n, kernel)
    X = X[:, :4]
    bank = KernelBank.fit(as_column_table(layout(X)), y, kernel=kernel)
    weights = np.array([0.5, 1.0, 0.25, 2.0])
    ones = np.ones(n)
    want = np.zeros((n, n))
    for j in range(4):
        K = centred(gram_by_definition(X[:, j], kernel, ones), ones)
        want += weights[j] * K / np.trace(K)
    (got,) = bank.combine(weights[None])
    np.testing.assert_allclose(got.train, want, atol=1e-9)
    assert np.linalg.eigvalsh(got.train).min() > -1e-9
    (again,) = bank.combine(weights[None], layout(X))  # the same rows as new ones
    np.testing.assert_allclose(again.new, want, atol=1e-9)
    raw = bank.point_weights(weights)
    cross = cross_kernel(
        bank.values, layout(X), bank.kernels, bank.which, bank.gamma, bank.center, raw
    )
    np.testing.assert_allclose(centred(cross, ones), want, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_explicit_maps_know_what_is_missing(kernel):
    X, y = table_with_holes(200, kernel)
    bank = KernelBank.fit(as_column_table(X[:, [0, 3]]), y, kernel=kernel)
    weights = np.array([1.0, 1.0])
    phi = ExplicitMap.fit(bank, weights, n_components=15).transform(X[:, [0, 3]])
    phi = phi - phi.mean(axis=0)
    (exact,) = bank.combine(weights[None])
    error = np.linalg.norm(phi @ phi.T - exact.train) / np.linalg.norm(exact.train)
    assert error < (0.05 if kernel == "laplace" else 1e-3)


def test_new_rows_may_miss_what_no_training_row_missed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 1)), np.arange(50) % 2
    bank = KernelBank.fit(as_column_table(X), y, kernel="rbf")
    (got,) = bank.combine(np.ones((1, 1)), np.array([[np.nan]]))
    K = gram_by_definition(np.append(X[:, 0], np.nan), "rbf", np.append(np.ones(50), 1e-300))
    means = K[:50, :50].mean(axis=1)
    want = (K[50, :50] - means - K[50, :50].mean() + means.mean()) / np.trace(
        centred(K[:50, :50], np.ones(50))
    )
    np.testing.assert_allclose(got.new[0], want, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_kernels_without_a_category_put_missing_values_at_the_mean(kernel):
    X, y = table_with_holes(80, "rbf")
    filled = np.where(np.isnan(X[:, [0]]), np.nanmean(X[:, 0]), X[:, [0]])
    gamma = 1.0 / np.nanvar(X[:, 0])
    with_holes, _ = align_table(as_column_table(X[:, [0]]), y, kernel=kernel)
    by_hand, _ = align_table(as_column_table(filled), y, kernel=kernel, gamma=gamma)
    assert with_holes.values[0] == pytest.approx(by_hand.values[0], rel=1e-9)


def test_huge_columns_with_holes():
    X, y = table_with_holes(100, "rbf")
    table = as_column_table(X[:, :3] * np.array([1e-200, 1.0, 1e200]))
    got, _ = align_table(table, y, kernel="rbf")
    want, _ = align_table(as_column_table(X[:, :3]), y, kernel="rbf")
    np.testing.assert_allclose(got.values, want.values, rtol=1e-9)


def test_infinity_is_refused_by_name():
    X, y = table_with_holes(30, "rbf")
    X[3, 2] = np.inf
    named = Table(X, np.array(list("abcde"), dtype=object), np.zeros(5, bool))
    with pytest.raises(DataError, match="infinity in column 'c'"):
        align_table(named, y, kernel="rbf")


def test_holes_in_columns_of_several_kernels():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=50), rng.integers(0, 3, 50), rng.normal(size=50)])
    X[::5, 0] = X[1::5, 1] = np.nan
    y = np.arange(50) % 2
    mixed, _ = align_table(Table(X, None, np.array([False, True, False])), y, kernel="auto")
    for j, kernel in enumerate(("rbf", "delta", "rbf")):
        want = alignment_by_definition(X[:, j], y, kernel, np.ones(50))
        assert mixed.values[j] == pytest.approx(want, abs=1e-9)

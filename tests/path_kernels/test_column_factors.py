"""Factors of columns against whole kernel matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kernelpath as kp
from kernelpath.path_kernels import _factor_loops
from kernelpath.path_kernels.bank import KernelBank
from kernelpath.path_kernels.column_factors import ColumnFactors
from kernelpath.tables.constraints import Constraints
from kernelpath.tables.table import as_column_table


class Cauchy(kp.FeatureKernel):
    def gamma(self, sigma):
        return 1 / np.square(sigma)

    def half_squared_distance(self, x, z, gamma):
        squares = gamma * np.square(np.subtract(x, z))
        return squares / (1 + squares)


def kernel_of(bank, j, gamma=None):
    """The centred kernel of a column with the roots of the shares of the rows, of trace 1."""
    share = bank.row_weight
    n = bank.values.shape[0]
    share = np.full(n, 1 / n) if share is None else share
    one = bank.take([j])
    x = one.values.toarray() if sparse.issparse(one.values) else np.asarray(one.values)
    kernels = one.column_kernels(np.array([0]))
    points = kernels.standardise(np.array(x, dtype=float).T.copy())
    d = kernels.distances(points, (0, n), (0, n))[0]
    H = np.eye(n) - np.outer(np.ones(n), share)
    K = -H @ d @ H.T * np.sqrt(np.outer(share, share))
    return K / np.trace(K)


def check(bank, rtol, **options):
    factors = ColumnFactors.of(bank, **options)
    rows, ptr = factors.rows(np.arange(bank.n_columns))
    for j in range(bank.n_columns):
        own = rows[ptr[j] : ptr[j + 1]]
        K = kernel_of(bank, j)
        assert np.square(own).sum() == pytest.approx(1.0)
        assert np.linalg.norm(own.T @ own - K) < rtol * np.linalg.norm(K)
        np.testing.assert_allclose(own @ factors.root, 0.0, atol=1e-12)
    return factors


@pytest.mark.parametrize(
    ("kernel", "rtol"),
    [("rbf", 0.03), ("linear", 1e-12), ("polynomial", 1e-12), ("laplace", 0.5), (Cauchy(), 0.2)],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_factors_are_those_of_the_kernels(kernel, rtol, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * [1, 10, 1e-3, 1, 1] + [0, 0, 0, 50, 0]
    weight = rng.integers(1, 4, 60).astype(float) if weighted else None
    bank = KernelBank.fit(as_column_table(X), kernel=kernel, sample_weight=weight)
    check(bank, rtol)
    check(bank, 0.02, n_components=50)


def test_few_values_and_categories_are_exact():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "binary": (rng.random(50) < 0.1).astype(float),
            "few": rng.integers(0, 7, 50).astype(float),
            "text": rng.choice(list("abcdefghijk"), 50),
        }
    )
    check(KernelBank.fit(as_column_table(frame), kernel="auto"), 1e-7)


def test_missing_values_are_one_more_value():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 5, (50, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    check(KernelBank.fit(as_column_table(X)), 1e-7)
    X = rng.normal(size=(50, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    check(KernelBank.fit(as_column_table(X)), 0.05)


def test_sparse_columns_have_the_same_factors():
    rng = np.random.default_rng(3)
    X = sparse.random_array((40, 6), density=0.3, rng=rng).toarray()
    every = np.arange(6)
    rows = [
        ColumnFactors.of(KernelBank.fit(as_column_table(A))).rows(every)[0]
        for A in (X, sparse.csr_array(X))
    ]
    np.testing.assert_allclose(*rows, atol=1e-9)


def test_several_widths_are_the_mean_of_their_kernels():
    X = np.random.default_rng(4).normal(size=(30, 3))
    bank = KernelBank.fit(as_column_table(X))
    wide = ColumnFactors.of(bank)
    narrow = ColumnFactors.of(bank, [4 * bank.gamma])
    partly = 4 * bank.gamma
    partly[1] = np.nan
    both = ColumnFactors.of(bank, [bank.gamma, partly])
    rows, ptr = both.rows(np.arange(3))
    assert np.diff(ptr).tolist() == [12, 6, 12]
    for j, parts in enumerate(([wide, narrow], [wide], [wide, narrow])):
        own = rows[ptr[j] : ptr[j + 1]]
        each = [one.rows(np.array([j]))[0] for one in parts]
        K = sum(F.T @ F for F in each) / len(each)
        np.testing.assert_allclose(own.T @ own, K, atol=1e-12)


def test_groups_are_the_mean_of_their_columns():
    X = np.random.default_rng(5).normal(size=(30, 4))
    X[:, 3] = 1.0
    table = as_column_table(X)
    bank = KernelBank.fit(table)
    units = Constraints.read(table, feature_groups=[[0, 2, 3]])
    rows, ptr = ColumnFactors.of(bank, units=units).rows(np.arange(2))
    single, at = ColumnFactors.of(bank).rows(np.arange(4))
    K = [single[a:b].T @ single[a:b] for a, b in itertools.pairwise(at)]
    np.testing.assert_allclose(rows[: ptr[1]].T @ rows[: ptr[1]], (K[0] + K[2]) / 2, atol=1e-12)
    np.testing.assert_allclose(rows[ptr[1] :].T @ rows[ptr[1] :], K[1], atol=1e-12)


def test_factors_of_some_columns_are_those_of_all(monkeypatch):
    X = np.random.default_rng(6).normal(size=(20, 9))
    factors = ColumnFactors.of(KernelBank.fit(as_column_table(X)))
    whole, ptr = factors.rows(np.arange(9))
    monkeypatch.setattr("kernelpath.path_kernels.column_factors.MADE", 300)
    some, _ = factors.rows(np.array([7, 2]))
    np.testing.assert_array_equal(some[:6], whole[ptr[7] : ptr[8]])
    np.testing.assert_array_equal(some[6:], whole[ptr[2] : ptr[3]])


def test_landmarks():
    values = np.array([[3.0, 1.0, 2.0, 1.0], [5.0, 9.0, 9.0, 5.0], [1.0, 2.0, 3.0, 4.0]])
    out = np.empty((3, 3))
    _factor_loops.landmarks(values, np.array([np.inf, 9.0, np.inf]), out)
    assert sorted(out[0]) == [1.0, 2.0, 3.0]
    assert set(out[1]) == {5.0, 9.0}
    assert {1.0, 4.0} < set(out[2])
    skewed = np.append(np.linspace(0, 1, 100), 1000.0)[None]
    out = np.empty((1, 7))
    _factor_loops.landmarks(skewed, np.array([np.inf]), out)
    assert out.max() == 1000.0
    assert np.sum(np.unique(out) <= 1.0) >= 3

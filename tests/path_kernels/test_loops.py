"""The compiled pieces by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpath.kernels import Polynomial, resolve_kernel
from kernelpath.path_kernels import _dense_loops, _sparse_loops
from kernelpath.path_kernels.columns import ColumnKernels
from kernelpath.path_kernels.dense import TILE_COLUMNS, TILE_ROWS, lower_tiles, n_pairs
from kernelpath.path_kernels.exact_maps import two_valued
from path_kernels.helpers import KERNELS
from reference.combine import gram, half_squared_distance

LONG = np.longdouble


def _distances(x, z, kernel, gamma, dtype=np.float64, scale=1.0):
    arrays = ColumnKernels.of([kernel], np.zeros(1, dtype=np.intp), np.array([gamma]), np.zeros(1))
    values = arrays.standardise(np.concatenate([x, z])[None].astype(float))
    out = np.empty((1, len(x) * len(z)), dtype=dtype)
    m = len(x)
    arrays.fill(values, (0, 1), np.array([scale]), (0, m), (m, m + len(z)), out)
    return out.reshape(m, len(z))


def test_the_exponential_to_the_last_digits():
    rng = np.random.default_rng(0)
    t = np.concatenate([10.0 ** rng.uniform(-18, 2.9, 300), [0.0, 0.34, 0.35, 1.0, 708, 800, 1e9]])
    got = _distances(np.zeros(1), t, resolve_kernel("laplace"), 1.0)[0]
    expected = -np.expm1(-t.astype(LONG))
    relative = np.abs(got - expected) / np.where(expected > 0, expected, 1)
    assert float(relative.max()) <= 1e-15


def test_the_exponential_in_single_precision():
    rng = np.random.default_rng(0)
    t = np.concatenate([10.0 ** rng.uniform(-18, 2.9, 300), [0.0, 0.34, 0.35, 1.0, 87, 800, 1e9]])
    got = _distances(np.zeros(1), t, resolve_kernel("laplace"), 1.0, np.float32, 3.0)[0]
    expected = -3 * np.expm1(-t)
    relative = np.abs(got - expected) / np.where(expected > 0, expected, 1)
    assert got.dtype == np.float32
    assert float(relative.max()) <= 4e-7


@pytest.mark.parametrize("kernel", [resolve_kernel(k) for k in KERNELS], ids=str)
def test_distances_of_every_kernel(kernel):
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=6), np.append(rng.normal(size=9), 0.0)
    z[3] = x[2]
    for gamma in (1e-9, 0.7, 40.0):
        got = _distances(x, z, kernel, gamma)
        if isinstance(kernel, Polynomial):
            expected = -gram(x, z, kernel, gamma, 0.0)
        else:
            expected = half_squared_distance(x, z, kernel, gamma, 0.0)
            assert got[2, 3] == 0.0
        assert np.abs(got - expected).max() <= 1e-14 * np.abs(expected).max()
        single = _distances(x, z, kernel, gamma, np.float32, 1e9)
        assert np.abs(single - 1e9 * expected).max() <= 4e-7 * np.abs(1e9 * expected).max()


@pytest.mark.parametrize("kernel", [resolve_kernel(k) for k in KERNELS], ids=str)
def test_the_shifted_kernel(kernel):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(size=8), [1e-3, 300.0, -300.0, 2.0, 2.0]])
    for gamma in (1e-9, 0.7, 40.0):
        arrays = ColumnKernels.of(
            [kernel], np.zeros(1, dtype=np.intp), np.array([gamma]), np.array([0.25])
        )
        values = arrays.standardise(x[None].copy())[0]
        zero = np.zeros(1)
        d = half_squared_distance(x, x, kernel, gamma, 0.25)
        own = half_squared_distance(x, zero, kernel, gamma, 0.25)
        expected = own + own.T - d
        ((_, formula, settings),) = arrays.runs(np.arange(1))
        shifted = _sparse_loops.tilde(formula)
        for i in range(len(x)):
            for j in range(len(x)):
                got = shifted(
                    values[i], values[j], gamma, arrays.zero[0], arrays.factors[0], settings
                )
                scale = np.sqrt(expected[i, i] * expected[j, j])
                # The last term is for the reference, whose three distances cancel.
                assert abs(got - expected[i, j]) <= 1e-13 * scale + 1e-18 * expected.max()


def test_tiles_cover_every_pair_once():
    for n_train, n_rows in ((1, 1), (TILE_ROWS + 1, TILE_ROWS + 3), (TILE_COLUMNS + 5, 150)):
        for only_new in (False, True):
            count = np.zeros((n_rows, n_train), dtype=int)
            tiles = lower_tiles(n_train, n_rows, only_new)
            before = 0
            for row, last, column, end, offset in tiles:
                assert offset == before
                count[row:last, column:end] += 1
                before += (last - row) * (end - column)
            assert n_pairs(tiles) == before
            wanted = np.tri(n_rows, n_train, dtype=bool)
            if only_new:
                wanted[:n_train] = False
                assert not count[:n_train].any()
            assert np.all(count[wanted] == 1)
            assert count.max(initial=0) <= 1


def test_centring_a_triangle():
    rng = np.random.default_rng(3)
    K = rng.normal(size=(40, 40))
    K = K + K.T
    weight = rng.random(40)
    weight /= weight.sum()
    lower, means = np.tril(K), np.empty(40)
    _dense_loops.triangle_means(lower, weight, means)
    np.testing.assert_allclose(means, weight @ K, atol=1e-14)
    _dense_loops.centre_triangle(lower, means, float(weight @ means))
    H = np.eye(40) - np.outer(np.ones(40), weight)
    np.testing.assert_allclose(lower, H @ K @ H.T, atol=1e-13)
    new = rng.normal(size=(3, 40))
    expected = (new - weight @ K) @ H.T
    _dense_loops.centre_rows(new, weight, means, float(weight @ means))
    np.testing.assert_allclose(new, expected, atol=1e-13)


def test_two_values():
    rows = np.zeros((4, 100))
    rows[0, 80:] = 1.0
    rows[1, 80:] = np.linspace(1.0, 2.0, 20)
    rows[3] = np.arange(100)
    np.testing.assert_array_equal(two_valued(rows), [True, False, True, False])
    assert two_valued(rows[:, :0]).tolist() == [False] * 4

"""Weighted kernels: one suite for all of them, and one more for sums."""

from __future__ import annotations

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.mkl.grams import Gram
from kernelpath.mkl.weighted_kernels import products
from kernelpath.mkl.weighted_kernels.base import SumKernel, WeightedKernel
from kernelpath.mkl.weighted_kernels.precomputed import check_grams, factor_of, factored
from kernelpath.mkl.weighted_kernels.products import ARDPolynomial, ProductRBF
from kernelpath.mkl.weighted_kernels.storage import Concatenated, FactorKernels, PackedKernels

RNG = np.random.default_rng(0)
N = 17
X = RNG.normal(size=(N, 5))
FACTORS = [RNG.normal(size=(N, rank)) for rank in (1, 3, 2, 17, 1, 4)]
GRAMS = [factor @ factor.T for factor in FACTORS]
SUMS = {
    "packed": PackedKernels.of(GRAMS),
    "factors": FactorKernels.of(FACTORS),
    "mixed": Concatenated(*factored(GRAMS)),
    "mixed, shuffled": Concatenated(
        [FactorKernels.of(FACTORS[:3]), PackedKernels.of(GRAMS[3:])],
        [np.array([4, 0, 2]), np.array([5, 1, 3])],
    ),
    "one": FactorKernels.of(FACTORS[:1]),
}
ORDERS = {"mixed, shuffled": [1, 4, 2, 5, 0, 3]}
OTHERS = {
    "product": ProductRBF(X),
    "polynomial": ARDPolynomial(X, degree=3, coef0=0.5),
    "linear": ARDPolynomial(X, degree=1, coef0=0.0),
}
ALL = SUMS | OTHERS


def grams_of(name):
    """Matrices of the parts of a sum, in its order."""
    order = ORDERS.get(name, range(SUMS[name].n_kernels))
    return [GRAMS[k] for k in order]


def some_weights(kernel, seed=1):
    return np.random.default_rng(seed).uniform(0.05, 0.6, size=kernel.n_kernels)


@pytest.mark.parametrize("name", ALL)
def test_the_matrix_is_symmetric_and_positive(name):
    kernel = ALL[name]
    assert isinstance(kernel, WeightedKernel)
    assert kernel.n_rows == N
    assert kernel.nbytes > 0
    for weights in (some_weights(kernel), np.zeros(kernel.n_kernels), np.eye(kernel.n_kernels)[0]):
        K = kernel.gram(weights)
        np.testing.assert_allclose(K, K.T, rtol=1e-13, atol=0)
        assert np.linalg.eigvalsh(K)[0] > -1e-10 * max(np.trace(K), 1.0)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("name", ALL)
def test_derivatives_by_differences(name, n_outputs):
    kernel, h = ALL[name], 1e-6
    U = RNG.normal(size=(N, n_outputs))
    U[:4] = 0.0  # rows without a dual coefficient are left out
    weights = some_weights(kernel)

    def quad(d):
        return float(np.einsum("io,ij,jo->", U, kernel.gram(d), U))

    steps = np.eye(kernel.n_kernels) * h
    expected = [(quad(weights + s) - quad(weights - s)) / (2 * h) for s in steps]
    found = kernel.grad_quad(weights, U)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(found).max())
    if n_outputs == 1:
        np.testing.assert_allclose(kernel.grad_quad(weights, U[:, 0]), found)


@pytest.mark.parametrize("name", OTHERS)
def test_formulas_in_loops(name):
    kernel = OTHERS[name]
    weights = some_weights(kernel)
    weights[1] = 0.0
    expected = np.empty((N, N))
    for i in range(N):
        for j in range(N):
            if name == "product":
                expected[i, j] = np.exp(-np.sum(weights * (X[i] - X[j]) ** 2))
            else:
                degree, constant = (3, 0.5) if name == "polynomial" else (1, 0.0)
                expected[i, j] = (constant + np.sum(weights * X[i] * X[j])) ** degree
    np.testing.assert_allclose(kernel.gram(weights), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.cross(weights, X[:5]), expected[:5], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tile", [4, 1000])
@pytest.mark.parametrize("name", OTHERS)
def test_tiles_and_rows_of_single_precision(name, tile, monkeypatch):
    monkeypatch.setattr(products, "TILE", tile)
    kernel, weights, every = OTHERS[name], some_weights(OTHERS[name]), np.arange(N)
    K = kernel.gram(weights)
    large = kernel.large_gram(weights)
    assert isinstance(large, Gram)
    np.testing.assert_allclose(large.block(every, every), K, rtol=1e-6, atol=1e-6)
    assert large.trace() == pytest.approx(np.trace(K), rel=1e-6)
    U = RNG.normal(size=(N, 2))
    crossed = kernel.cross_times(weights, X[:7], U)
    np.testing.assert_allclose(crossed, kernel.cross(weights, X[:7]) @ U, rtol=1e-10)
    slow = kernel.grad_quad(weights, U)
    monkeypatch.setattr(products, "MANY_PAIRED", 3)
    np.testing.assert_allclose(kernel.grad_quad(weights, U), slow, rtol=1e-5)
    expected = np.zeros(kernel.n_kernels)
    if name == "product":
        for i in range(N):
            for j in range(N):
                expected -= (U[i] @ U[j]) * K[i, j] * np.square(X[i] - X[j])
        np.testing.assert_allclose(slow, expected, rtol=1e-9)


@pytest.mark.parametrize("name", SUMS)
def test_sums_against_whole_matrices(name):
    kernel, grams = SUMS[name], grams_of(name)
    assert isinstance(kernel, SumKernel)
    assert kernel.is_sum
    weights = RNG.normal(size=kernel.n_kernels)  # differences of weights have any sign
    expected = sum(w * gram for w, gram in zip(weights, grams))
    np.testing.assert_allclose(kernel.gram(weights), expected, atol=1e-8)
    U = RNG.normal(size=(N, 2))
    quad = [np.trace(U.T @ gram @ U) for gram in grams]
    np.testing.assert_allclose(kernel.quad(U), quad, rtol=1e-8)
    parts = np.array([5, 0, 3]) if kernel.n_kernels > 5 else np.array([0])
    images = np.column_stack([grams[k] @ U[:, 0] for k in parts])
    np.testing.assert_allclose(kernel.times(parts, U[:, 0]), images, rtol=1e-7, atol=1e-7)
    every = kernel.images(parts, U)
    np.testing.assert_allclose(every[:, 0], images, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(every[:, 1], kernel.times(parts, U[:, 1]), rtol=1e-7, atol=1e-7)
    few = kernel.restrict(parts)
    assert few.n_kernels == len(parts)
    np.testing.assert_allclose(few.quad(U), np.array(quad)[parts], rtol=1e-8)
    ones = np.arange(1.0, len(parts) + 1)
    expected = sum(w * grams[k] for w, k in zip(ones, parts))
    np.testing.assert_allclose(few.gram(ones), expected, atol=1e-8)


def test_sparse_weights_use_their_parts_only():
    weights = np.array([0.0, 2.0, 0.0, 0.0, 0.5, 0.0])
    for name in ("packed", "factors", "mixed"):
        expected = 2.0 * GRAMS[1] + 0.5 * GRAMS[4]
        np.testing.assert_allclose(SUMS[name].gram(weights), expected, atol=1e-8)
        np.testing.assert_array_equal(SUMS[name].gram(np.zeros(6)), np.zeros((N, N)))


def test_low_ranks_are_found():
    assert [factor_of(gram).shape[1] for gram in GRAMS] == [1, 3, 2, 17, 1, 4]
    assert factor_of(np.zeros((4, 4))).shape == (4, 0)
    empty = FactorKernels.of([np.zeros((3, 0)), np.ones((3, 1)), np.zeros((3, 0))])
    np.testing.assert_array_equal(empty.quad(np.ones(3)), [0.0, 9.0, 0.0])
    np.testing.assert_array_equal(empty.times(np.array([0, 1]), np.ones(3))[:, 0], np.zeros(3))
    wide = Concatenated(
        *factored([np.exp(-(np.subtract.outer(x, x) ** 2) / 8) for x in RNG.normal(size=(3, 60))])
    )
    assert wide.nbytes < 3 * 60 * 15 * 8  # a Gaussian kernel of one feature has a low rank


@pytest.mark.parametrize(
    ("grams", "words"),
    [
        ([], "no kernel matrix"),
        ([np.ones((2, 3))], r"matrix 0 has the shape \(2, 3\)"),
        ([np.eye(2), np.eye(3)], r"matrix 1 has the shape \(3, 3\)"),
        ([np.eye(2), np.array([[1.0, np.nan], [np.nan, 1.0]])], "matrix 1 holds NaN"),
        ([np.array([[1.0, 0.5], [0.4, 1.0]])], "matrix 0 is not symmetric"),
        ([np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])], "matrix 1 is not positive semidefinite"),
    ],
)
def test_matrices_that_are_no_kernels(grams, words):
    with pytest.raises(kp.DataError, match=words):
        factored(check_grams(grams))


def test_one_matrix_is_a_list_of_one():
    assert len(check_grams(np.eye(3))) == 1
    with pytest.raises(ValueError, match="degree"):
        ARDPolynomial(X, degree=0)


# -- kernels of another class ----------------------------------------------------------------------


class Plain:
    """A sum with no more than its methods."""

    def __init__(self, held, is_sum=True):
        self.held, self.is_sum = held, is_sum
        self.n_rows, self.n_kernels = held.n_rows, held.n_kernels

    def gram(self, weights):
        return self.held.gram(weights)

    def grad_quad(self, weights, U):
        return self.held.grad_quad(weights, U)

    def quad(self, U):
        return self.held.quad(U)

    def times(self, parts, u):
        return self.held.times(parts, u)

    def restrict(self, parts):
        return Plain(self.held.restrict(parts))


class Knowing(Plain):
    """A sum that knows all that solvers can make use of."""

    weight_unit, rank = 3.0, 7

    def large_gram(self, weights):
        return self.held.large_gram(weights)

    def images(self, parts, U):
        return -self.held.images(parts, U)

    def as_factors(self):
        return self.held.as_factors()


def test_a_sum_of_another_class_keeps_its_methods():
    held = SUMS["factors"]
    own, weights, U = Plain(held), some_weights(held), RNG.normal(size=(N, 2))
    known = WeightedKernel.of(own)
    assert isinstance(known, SumKernel)
    assert known.given is own
    assert WeightedKernel.of(known) is known
    np.testing.assert_array_equal(known.large_gram(weights), held.gram(weights))
    np.testing.assert_array_equal(known.grad_quad(weights, U), held.quad(U))
    parts = np.array([2, 0])
    np.testing.assert_allclose(known.images(parts, U), held.images(parts, U), atol=1e-12)
    np.testing.assert_array_equal(known.restrict(parts).quad(U), held.restrict(parts).quad(U))
    assert (known.weight_unit, known.rank, known.as_factors()) == (1.0, np.inf, None)
    assert held.given is held


def test_what_a_kernel_of_another_class_knows_is_used():
    held = SUMS["factors"]
    known = WeightedKernel.of(Knowing(held))
    weights, U = some_weights(held), RNG.normal(size=(N, 2))
    assert (known.weight_unit, known.rank, known.as_factors()) == (3.0, 7, held.as_factors())
    assert type(known.large_gram(weights)) is type(held.large_gram(weights))
    parts = np.array([2, 0])
    np.testing.assert_array_equal(known.images(parts, U), -held.images(parts, U))
    np.testing.assert_array_equal(known.images(parts, U[:, :1])[:, 0], held.times(parts, U[:, 0]))
    other = WeightedKernel.of(Plain(ALL["product"], is_sum=False))
    assert not isinstance(other, SumKernel)
    assert not other.is_sum

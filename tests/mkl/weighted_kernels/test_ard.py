"""Kernels with weights inside: every derivative against differences of the one before."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpath.mkl.weighted_kernels.ard import ARDGaussian, ARDNormalizedPolynomial

N, D = 25, 6
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
A = RNG.normal(size=N)
A -= A.mean()
WEIGHTS = np.array([0.3, 0.0, 0.05, 0.2, 0.0, 0.1])
PARTS = np.array([0, 2, 3, 1])
KERNELS = {
    "gaussian": ARDGaussian(X),
    "polynomial, 2": ARDNormalizedPolynomial(X, 2),
    "polynomial, 3": ARDNormalizedPolynomial(X, 3),
    "polynomial, 1": ARDNormalizedPolynomial(X, 1),
}
STEP = 1e-5


def slow_values(name, weights, left, right):
    values = np.empty((len(left), len(right)))
    for i, x in enumerate(left):
        for j, z in enumerate(right):
            if name == "gaussian":
                values[i, j] = np.exp(-np.sum(weights * (x - z) ** 2))
            else:
                degree = int(name[-1])
                values[i, j] = (np.sum(weights * x * z) / (1 + weights.sum()) + 1) ** degree
    return values


def difference(function, k, weights=WEIGHTS):
    up, down = weights.copy(), weights.copy()
    up[k] += STEP
    down[k] -= STEP  # a weight below zero does no harm here
    return (function(up) - function(down)) / (2 * STEP)


@pytest.mark.parametrize("name", KERNELS)
def test_values(name):
    kernel = KERNELS[name]
    values = slow_values(name, WEIGHTS, X, X)
    np.testing.assert_allclose(kernel.at(WEIGHTS).values + 1.0, values, atol=1e-12)
    new = RNG.normal(size=(4, D))
    expected = slow_values(name, WEIGHTS, new, X)
    np.testing.assert_allclose(kernel.cross(WEIGHTS, new) + 1.0, expected, atol=1e-12)
    H = np.eye(N) - 1.0 / N
    lower = kernel.at(WEIGHTS).centred(0.5, np.empty((N, N)))
    expected = H @ values @ H + 0.5 * np.eye(N)
    np.testing.assert_allclose(np.tril(lower), np.tril(expected), atol=1e-12)


def test_small_weights_keep_their_digits():
    tiny = 1e-12 * np.ones(D)
    values = KERNELS["gaussian"].at(tiny).values
    expected = -1e-12 * np.square(X[:, None] - X[None]).sum(axis=2)
    np.testing.assert_allclose(values, expected, rtol=1e-3, atol=1e-14)


@pytest.mark.parametrize("name", KERNELS)
def test_first_derivatives(name):
    kernel = KERNELS[name]
    point = kernel.at(WEIGHTS)
    slopes = point.slopes(A)
    images = point.images(A, PARTS)
    for place, k in enumerate(PARTS.tolist()):
        dK = difference(lambda w: kernel.at(w).values, k)
        assert slopes[k] == pytest.approx(A @ dK @ A, rel=1e-6, abs=1e-7)
        np.testing.assert_allclose(images[:, place], dK @ A, atol=1e-7)


@pytest.mark.parametrize("name", KERNELS)
def test_second_derivatives(name):
    kernel = KERNELS[name]
    Q = kernel.at(WEIGHTS).curvature(A, PARTS)
    np.testing.assert_allclose(Q, Q.T, atol=1e-10)
    for place, k in enumerate(PARTS.tolist()):
        expected = difference(lambda w: kernel.at(w).slopes(A), k)[PARTS]
        np.testing.assert_allclose(Q[place], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_rates_along_a_direction(name):
    kernel = KERNELS[name]
    rate = np.array([0.2, 0.0, -0.4, 0.1, 0.0, 0.3])
    a_rate = RNG.normal(size=N)
    found = kernel.at(WEIGHTS).along(rate).slopes(A, a_rate)
    ahead = kernel.at(WEIGHTS + STEP * rate).slopes(A + STEP * a_rate)
    behind = kernel.at(WEIGHTS - STEP * rate).slopes(A - STEP * a_rate)
    np.testing.assert_allclose(found, (ahead - behind) / (2 * STEP), rtol=1e-5, atol=1e-6)

"""Tail probabilities, against scipy, sums of masses and long arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import hypergeom, pearson3

from kernelpath.alignment.tails import (
    LEAST_KNOWN,
    MOST_LIKELY,
    cauchy_combination,
    log_gamma_tail,
    log_hypergeometric,
    log_pearson_tail,
)
from reference.chance import cauchy, count_p

Z = np.array([-1.5, -0.5, 0.0, 0.3, 1.0, 2.0, 4.0, 8.0])


# -- Pearson's law --------------------------------------------------------------------------------


@pytest.mark.parametrize("skewness", [0.01, 0.3, 1.0, 2.0, 2.8, 6.0])
def test_positive_skewness_is_that_of_scipy(skewness):
    with np.errstate(divide="ignore"):
        expected = pearson3.logsf(Z, skewness)
    np.testing.assert_allclose(log_pearson_tail(Z, skewness), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("skewness", [-0.01, -0.3, -1.0, -2.0])
def test_negative_skewness_is_that_of_scipy_where_it_is_known(skewness):
    with np.errstate(divide="ignore"):
        expected = pearson3.logsf(Z, skewness)
    known = expected > np.log(LEAST_KNOWN)
    assert known.sum() >= 4
    np.testing.assert_allclose(
        log_pearson_tail(Z[known], skewness), expected[known], rtol=1e-7, atol=1e-12
    )


def test_without_skewness_it_is_the_normal_tail():
    z = np.array([-3.0, 0.0, 3.0, 50.0])
    for skewness in (0.0, 5e-5, -9e-4):
        np.testing.assert_array_equal(log_pearson_tail(z, skewness), log_ndtr(-z))
    for skewness in (1.1e-4, -9e-4, -1.1e-3):  # hardly a step where the other law begins
        np.testing.assert_allclose(
            log_pearson_tail(Z, skewness), log_ndtr(-Z), rtol=3e-3, atol=2e-4
        )


@pytest.mark.parametrize("skewness", [-2.0, -0.5, -0.01, 0.0, 0.01, 0.5, 1.0, 2.8, 8.0])
def test_a_larger_statistic_is_never_more_likely(skewness):
    z = np.concatenate([np.linspace(-3.0, 12.0, 3001), np.geomspace(12.1, 1e6, 400)])
    log_p = log_pearson_tail(z, skewness)
    assert np.all(np.diff(log_p) <= 1e-12 * np.maximum(1.0, np.abs(log_p[1:])))
    assert np.all(log_p <= 0.0)
    assert np.all(np.isfinite(log_p))


@pytest.mark.parametrize("skewness", [0.3, 1.0, 2.5])
def test_no_step_where_numbers_underflow(skewness):
    """From the library to the continued fraction, near log p = -668."""
    root = 2.0 / skewness
    z = np.linspace(600.0, 900.0, 3000) / root
    log_p = log_pearson_tail(z, skewness)
    assert log_p[0] > -667.0 > -669.0 > log_p[-1]
    steps = np.diff(log_p)
    np.testing.assert_allclose(steps[1:], steps[:-1], rtol=1e-4)


@pytest.mark.parametrize("skewness", [0.5, 1.0, 2.0])
def test_far_out_against_the_integral(skewness):
    """The integral of the density, divided by the density at its lower end."""
    shape = 4.0 / skewness**2
    for x in (800.0, 3000.0, 1e5):
        inner, _ = quad(lambda t, x=x: np.exp(-t + (shape - 1.0) * np.log1p(t / x)), 0.0, 80.0)
        log_gamma = float(np.log(np.arange(1, int(shape))).sum())  # shapes 16, 4 and 1
        expected = -x + (shape - 1.0) * np.log(x) + np.log(inner) - log_gamma
        found = log_gamma_tail(np.array([shape]), np.array([x]))[0]
        assert found == pytest.approx(expected, rel=1e-10)


def test_against_long_arithmetic():
    mpmath = pytest.importorskip("mpmath")
    for skewness, z in ((0.7, 3.0), (1.5, 30.0), (2.2, 900.0)):
        shape = 4 / mpmath.mpf(skewness) ** 2
        tail = mpmath.gammainc(shape, shape + z * mpmath.sqrt(shape), regularized=True)
        assert log_pearson_tail(z, skewness) == pytest.approx(float(mpmath.log(tail)), rel=1e-10)


def test_below_its_lower_end_everything_is_certain():
    assert log_pearson_tail(np.array([-5.0]), np.array([1.0]))[0] == 0.0


# -- several p-values -----------------------------------------------------------------------------


def test_cauchy_rule_is_the_plain_formula():
    rng = np.random.default_rng(0)
    p = rng.random((200, 3)) ** rng.integers(1, 9, (200, 1))
    found = np.exp(cauchy_combination(np.log(p)))
    np.testing.assert_allclose(found, [cauchy(row) for row in p], rtol=1e-8)


def test_cauchy_rule_is_a_probability_and_grows_with_each():
    rng = np.random.default_rng(1)
    log_p = -rng.exponential(size=(500, 4)) * rng.choice([1e-6, 0.1, 1.0, 30.0, 900.0], (500, 1))
    log_p[::7, 1] = 0.0
    combined = cauchy_combination(log_p)
    assert np.all(combined <= 0.0)
    assert np.all(np.isfinite(combined))
    for k in range(4):
        less = log_p.copy()
        less[:, k] -= 0.01
        assert np.all(cauchy_combination(less) <= combined + 1e-12)


def test_certain_p_values_stay_finite():
    assert cauchy_combination(np.zeros((1, 3)))[0] == 0.0
    assert cauchy_combination(np.array([[0.0, -np.log(1e3)]]))[0] < 0.0
    one = cauchy_combination(np.array([[0.0, np.log(1e-3), np.log(1e-3)]]))
    assert np.exp(one[0]) == pytest.approx(cauchy(np.array([1.0, 1e-3, 1e-3])), rel=1e-12)
    near = np.log(np.full((1, 3), MOST_LIKELY))
    np.testing.assert_allclose(cauchy_combination(near + 1e-9), near[:, 0], atol=1e-8)
    np.testing.assert_allclose(cauchy_combination(near - 1e-9), near[:, 0], atol=1e-8)


def test_cauchy_rule_has_no_step_far_out():
    log_p = np.linspace(-19.9, -20.1, 101)
    for others in ([-0.5, -0.001], [-3.0, -19.0]):
        rows = np.column_stack([log_p, *(np.full(101, v) for v in others)])
        steps = np.diff(cauchy_combination(rows))
        np.testing.assert_allclose(steps[1:], steps[:-1], rtol=2e-3)


def test_one_width_alone_and_none():
    one = np.array([[-3.0, np.nan, np.nan], [-900.0, np.nan, np.nan], [0.0, np.nan, np.nan]])
    np.testing.assert_array_equal(cauchy_combination(one), [-3.0, -900.0, 0.0])
    assert cauchy_combination(np.full((1, 2), np.nan))[0] == 0.0
    two = cauchy_combination(np.array([[-3.0, -2.0, np.nan]]))
    assert np.exp(two[0]) == pytest.approx(cauchy(np.exp([-3.0, -2.0])), rel=1e-12)


# -- counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "positive"), [(12, 6), (12, 5), (30, 3), (61, 40), (200, 1)])
def test_counts_against_sums_of_masses(n, positive):
    for chosen in {1, 2, n // 3, n // 2, n - 1}:
        k = np.arange(max(0, chosen + positive - n), min(chosen, positive) + 1)
        gap = np.abs(k - chosen * positive / n)
        found = np.exp(log_hypergeometric(n, positive, np.full(len(k), float(chosen)), gap))
        np.testing.assert_allclose(found, [count_p(n, positive, chosen, s) for s in k], rtol=1e-9)
        mass = hypergeom(n, positive, chosen).pmf(k)
        one_sided = [mass[gap >= g - 1e-9].sum() for g in gap]
        np.testing.assert_allclose(found, one_sided, rtol=1e-9)


def test_counts_of_which_no_number_holds_the_probability():
    found = log_hypergeometric(20_000, 10_000, np.array([10_000.0]), np.array([5_000.0]))
    # One table of all: 1 / C(20000, 10000), twice.
    assert found[0] == pytest.approx(np.log(2.0) - 13_857.55, abs=0.5)


def test_a_count_at_its_mean_is_certain():
    assert log_hypergeometric(40, 20, np.array([10.0, 1.0]), np.array([0.0, 0.5])).tolist() == (
        pytest.approx([0.0, 0.0], abs=1e-12)
    )

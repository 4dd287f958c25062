"""Bounds of stability selection against those that the R package stabs prints, and plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelpath.inference.bounds import ASSUMPTIONS, expected_false, largest_tail

# stabs 0.7 prints these for 100 columns, cutoff 0.6 and 50 pairs, by the number chosen.
NONE = [0.05, 0.2, 0.45, 0.8, 1.25, 1.8, 2.45, 3.2, 4.05, 5.0]
UNIMODAL = [
    0.02631579, 0.1052632, 0.2368421, 0.4210526, 0.6578947, 0.9473684, 1.289474, 1.684211, 2.131579,
    2.631579,
]  # fmt: skip
R_CONCAVE = [
    0.006971364, 0.03342845, 0.08691176, 0.1637231, 0.2605329, 0.3820466, 0.5295188, 0.7042719,
    0.9077127, 1.141338,
]  # fmt: skip


@pytest.mark.parametrize(
    ("assumption", "printed"), [*zip(ASSUMPTIONS, (NONE, UNIMODAL, R_CONCAVE))]
)
def test_bounds_are_those_of_stabs(assumption, printed):
    found = [expected_false(q, 100, 0.6, 50, assumption) for q in range(1, 11)]
    assert found == pytest.approx(printed, rel=3e-5 if assumption != "r-concave" else 4e-3)
    assert (np.array(found) >= np.array(printed) * (1 - 3e-5)).all()  # its search stops early


@pytest.mark.parametrize(
    ("q", "cutoff", "printed"),
    [(6, 0.6, 0.174), (7, 0.6, 0.248), (7, 0.62, 0.196), (7, 0.61, 0.219)],
)
def test_r_concave_bounds_of_200_columns(q, cutoff, printed):
    assert round(expected_false(q, 200, cutoff, 50, "r-concave"), 3) == printed


def test_unimodal_bound_at_the_other_thresholds_of_stabs():
    # The smallest multiple of 1/100 that bounds the number by 0.2, and what is bounded at 0.96.
    grid = [k / 100 for k in range(52, 101)]
    assert next(t for t in grid if expected_false(7, 200, t, 50) < 0.2) == 0.81
    sizes = range(1, 20)
    assert max(q for q in sizes if expected_false(q, 200, 0.6, 50) <= 0.2) == 3
    assert expected_false(3, 10, 0.96, 50) == pytest.approx(0.176, abs=5e-4)


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_bounds_rise_with_the_size_and_fall_with_the_threshold(assumption):
    sizes = [expected_false(q, 60, 0.7, 10, assumption) for q in range(1, 61)]
    assert (np.diff(sizes) >= -1e-9).all()
    assert max(sizes) <= 60
    thresholds = [expected_false(4, 60, t, 10, assumption) for t in np.linspace(0.55, 1, 10)]
    assert (np.diff(thresholds) <= 1e-9).all()


def test_a_threshold_between_two_shares_counts_as_the_larger():
    assert expected_false(3, 50, 0.71, 5) == expected_false(3, 50, 0.8, 5)
    assert expected_false(3, 50, 0.7, 5) > expected_false(3, 50, 0.71, 5)


def test_without_the_conditions_of_the_unimodal_bound_the_other_one_counts():
    for q, d, threshold, n_pairs in ((35, 60, 0.7, 50), (3, 60, 1.0, 1), (3, 60, 0.51, 50)):
        plain = expected_false(q, d, threshold, n_pairs, "none")
        assert expected_false(q, d, threshold, n_pairs, "unimodal") == plain
    assert expected_false(34, 60, 0.9, 50) < expected_false(34, 60, 0.9, 50, "none")


def test_the_constant_is_a_tail_of_unimodal_distributions():
    """No mixture of a point at 0 and a uniform distribution has a larger tail than the bound.

    Markov's inequality, for pairs, turns a share of the halves into one of the pairs.
    """
    B, theta = 20, 0.05
    for tau in (0.6, 0.75, 0.9, 1.0):
        pairs = math.ceil(B * (2 * tau - 1) - 1e-9)
        largest = 0.0
        for k in range(1, B + 1):  # uniform on 0..k, or 1..k, with as much at 0 as the mean wants
            share = min(1.0, theta**2 * B / (k / 2))
            largest = max(largest, share * max(0, k - pairs + 1) / (k + 1))
        assert largest * 100 <= expected_false(5, 100, tau, B) * (1 + 1e-9)


def slow_tail(mean, count, n, r, steps=3000):
    """Every shift on a fine grid and every last step, in plain loops."""
    best = 0.0
    for k in range(n):
        for log_shift in np.linspace(math.log(1e-3), math.log(1e5), steps):
            a = math.exp(log_shift)
            weights = [(a + i) ** (1 / r) for i in range(k + 1)]
            rest = mean * n * sum(weights) - sum(i * w for i, w in enumerate(weights))
            last = rest / (k + 1 - mean * n)  # mass at k + 1 that brings the mean up
            if not 0 <= last <= (a + k + 1) ** (1 / r):
                continue
            whole = sum(weights) + last
            tail = sum(w for i, w in enumerate([*weights, last]) if i >= count) / whole
            best = max(best, tail)
    return best


@pytest.mark.parametrize(
    ("mean", "count", "r"), [(0.12, 6, -0.5), (0.12, 8, -0.25), (0.17, 7, -0.25)]
)
def test_largest_tail_is_that_of_plain_loops(mean, count, r):
    slow = slow_tail(mean, count, 10, r)
    assert 0 < slow < 1
    assert slow <= largest_tail(mean, count, 10, r) <= 1.011 * slow  # the grid misses the top


def test_tails_of_tiny_means_are_found():
    """One of a million columns: the fall from 0 is steep."""
    found = expected_false(1, 1_000_000, 0.75, 50, "r-concave")
    assert 0 < found < expected_false(1, 1_000_000, 0.75, 50, "unimodal")

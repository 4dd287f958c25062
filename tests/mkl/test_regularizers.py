"""One suite over all regularizers of weights, then what is special to each of them."""

from __future__ import annotations

import dataclasses
import math
import pickle

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kernelpath.mkl.regularizers import L1, ElasticNet, Lp, MixedNorm, NoRegularizer, Regularizer
from reference import projections as twin

N = 6
GROUPS = (3, 1, 3, 1, 1, 8)


def _power(p, strength):
    return lambda d: strength / p * cp.sum(cp.power(d, p))


def _elastic(strength, ratio):
    return lambda d: strength * (ratio * cp.sum(d) + (1 - ratio) / 2 * cp.sum_squares(d))


def _mixed(p, q, strength):
    members = [[k for k in range(N) if GROUPS[k] == label] for label in set(GROUPS)]
    return lambda d: strength / p * sum(cp.power(cp.pnorm(d[m], q), p) for m in members)


# A new regularizer is one line: the object, and its penalty for cvxpy.
REGULARIZERS = {
    "none": (NoRegularizer(), lambda d: 0.0),
    "l1": (L1(1.5), lambda d: 1.5 * cp.sum(d)),
    "lp 1": (Lp(1, 0.7), _power(1, 0.7)),
    "lp 1.5": (Lp(1.5, 2.0), _power(1.5, 2.0)),
    "lp 2": (Lp(2), _power(2, 1.0)),
    "lp 3": (Lp(3, 0.4), _power(3, 0.4)),
    "elastic net": (ElasticNet(1.5), _elastic(1.5, 0.5)),
    "elastic net, l1": (ElasticNet(0.8, 1.0), _elastic(0.8, 1.0)),
    "elastic net, ridge": (ElasticNet(0.8, 0), _elastic(0.8, 0)),
    "mixed 1 2": (MixedNorm(GROUPS, strength=1.3), _mixed(1, 2, 1.3)),
    "mixed 1 1.5": (MixedNorm(GROUPS, 1, 1.5), _mixed(1, 1.5, 1.0)),
    "mixed 1 1": (MixedNorm(GROUPS, 1, 1, 2.0), _mixed(1, 1, 2.0)),
    "mixed 2 1": (MixedNorm(GROUPS, 2, 1, 0.5), _mixed(2, 1, 0.5)),
    "mixed 1.5 3": (MixedNorm(GROUPS, 1.5, 3, 2.0), _mixed(1.5, 3, 2.0)),
    "mixed 3 2": (MixedNorm(GROUPS, 3, 2), _mixed(3, 2, 1.0)),
}


def _with(capability):
    return pytest.mark.parametrize(
        "name", [name for name, (r, _) in REGULARIZERS.items() if hasattr(r, capability)]
    )


every_regularizer = pytest.mark.parametrize("name", REGULARIZERS)
quick = settings(max_examples=20, deadline=None, derandomize=True)
positive = arrays(np.float64, N, elements=st.floats(0.01, 20))
signed = arrays(np.float64, N, elements=st.one_of(st.just(0.0), st.floats(-5, 5)))


def _random(seed, low=0.2, high=3.0):
    return np.random.default_rng(seed).uniform(low, high, N)


def _permuted(r, order):
    if not hasattr(r, "groups"):
        return r
    return dataclasses.replace(r, groups=[r.groups[k] for k in order])


# -- every regularizer ----------------------------------------------------------------------------


@every_regularizer
def test_protocol_and_value_semantics(name):
    r, _ = REGULARIZERS[name]
    assert isinstance(r, Regularizer)
    assert pickle.loads(pickle.dumps(r)) == r
    assert len({r, dataclasses.replace(r)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        r.strength = 2.0


@every_regularizer
def test_value_matches_cvxpy(name):
    r, penalty = REGULARIZERS[name]
    for d in (_random(0), np.zeros(N), np.array([0, 1, 2, 0, 0, 0.5])):
        assert isinstance(r.value(d), float)
        assert r.value(d) == pytest.approx(twin.penalty_value(d, penalty), rel=1e-12)


@every_regularizer
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_match_finite_differences(name, seed):
    r, _ = REGULARIZERS[name]
    d = _random(seed)
    gradient, curvature = r.gradient(d), r.hess_diag(d)
    for k, step in enumerate(1e-5 * np.eye(N)):
        slope = (r.value(d + step) - r.value(d - step)) / 2e-5
        bend = (r.gradient(d + step)[k] - r.gradient(d - step)[k]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-7, abs=1e-8)
        assert curvature[k] == pytest.approx(bend, rel=1e-6, abs=1e-7)


@every_regularizer
@pytest.mark.parametrize("base", [np.zeros(N), np.array([2.0, 0.0, 0.0, 1.0, 0.0, 0.0])])
def test_derivatives_at_zero_are_those_from_the_right(name, base):
    r, _ = REGULARIZERS[name]
    gradient, curvature = r.gradient(base), r.hess_diag(base)
    assert np.isfinite(gradient).all()
    for k in np.flatnonzero(base == 0):
        tiny = 1e-9 * np.eye(N)[k]
        assert gradient[k] == pytest.approx((r.value(base + tiny) - r.value(base)) / 1e-9, abs=1e-4)
        bend = (r.gradient(base + tiny)[k] - gradient[k]) / 1e-9
        if math.isinf(curvature[k]):
            assert bend > 1e3
        else:
            assert curvature[k] == pytest.approx(bend, abs=1e-6)


@_with("conjugate")
@given(d=positive, g=signed)
@quick
def test_fenchel_young(name, d, g):
    r, _ = REGULARIZERS[name]
    scale = 1.0 + r.value(d) + np.abs(g).max() * d.sum()
    assert r.value(d) + r.conjugate(g) >= g @ d - 1e-12 * scale
    tight = r.gradient(d)
    assert r.value(d) + r.conjugate(tight) == pytest.approx(tight @ d, rel=1e-10)


@_with("conjugate")
@pytest.mark.parametrize("g", [[0.5, -1, 0.3, 0.2, 0.4, 0.1], [3, 1, -2, 4, 0, 1], [-1] * N])
def test_conjugate_matches_cvxpy(name, g):
    r, penalty = REGULARIZERS[name]
    g = np.array(g, dtype=np.float64)
    assert r.conjugate(g) == pytest.approx(twin.conjugate(g, penalty), rel=1e-5, abs=1e-6)


@_with("domain_scale")
@given(g=signed)
@quick
def test_domain_scale_is_where_the_conjugate_ends(name, g):
    r, _ = REGULARIZERS[name]
    scale = r.domain_scale(g)
    assert scale >= 0
    if math.isinf(scale):
        assert r.conjugate(1e6 * g) < math.inf
    else:
        assert r.conjugate(scale * g) < math.inf
        assert r.conjugate(max(1.001 * scale, 1e-3) * g) == math.inf


@_with("closed_form")
def test_closed_form_matches_scipy(name):
    r, penalty = REGULARIZERS[name]
    squares = _random(4)
    np.testing.assert_allclose(
        r.closed_form(squares), twin.closed_form(squares, penalty), rtol=1e-4
    )


@_with("closed_form")
@given(decades=arrays(np.float64, N, elements=st.floats(-12, 12)), seed=st.integers(0, 99))
@quick
def test_closed_form_is_stationary_and_beats_its_neighbours(name, decades, seed):
    r, _ = REGULARIZERS[name]
    squares = 10.0**decades
    d = r.closed_form(squares)
    assert d.min() > 0
    np.testing.assert_allclose(squares / (2 * d**2), r.gradient(d), rtol=1e-10)

    def objective(d):
        return np.sum(squares / (2 * d)) + r.value(d)

    for factor in (1e-3, 0.1, 1.0):
        other = d * np.exp(factor * np.random.default_rng(seed).normal(size=N))
        assert objective(d) <= objective(other) * (1 + 1e-12)


@_with("closed_form")
def test_closed_form_is_zero_where_the_norm_is(name):
    r, _ = REGULARIZERS[name]
    squares = np.array([2.0, 0.0, 0.5, 0.0, 0.0, 0.0])  # one whole group, parts of others
    d = r.closed_form(squares)
    np.testing.assert_array_equal(d > 0, squares > 0)
    tiny = r.closed_form(np.maximum(squares, 1e-30))
    np.testing.assert_allclose(tiny, d, atol=1e-5, rtol=1e-5)
    np.testing.assert_array_equal(r.closed_form(np.zeros(N)), np.zeros(N))


@_with("with_strength")
def test_strength_is_a_factor(name):
    r, _ = REGULARIZERS[name]
    d, before = _random(1), r.strength
    double = r.with_strength(2 * before)
    assert type(double) is type(r)
    assert (r.strength, double.strength) == (before, 2 * before)
    assert double.value(d) == pytest.approx(2 * r.value(d), rel=1e-14)
    assert double.with_strength(before) == r


@every_regularizer
@given(d=positive, order=st.permutations(range(N)))
@quick
def test_kernels_may_come_in_any_order(name, d, order):
    r, _ = REGULARIZERS[name]
    moved = _permuted(r, order)
    assert moved.value(d[order]) == pytest.approx(r.value(d), rel=1e-13)
    for method in ("gradient", "hess_diag", "closed_form"):
        if hasattr(r, method):
            expected = getattr(r, method)(d)[order]
            np.testing.assert_allclose(getattr(moved, method)(d[order]), expected, rtol=1e-11)
    assert moved.conjugate(d[order]) == pytest.approx(r.conjugate(d), rel=1e-11)


EXTREMES = [0.0, 5e-324, 1e-300, 1e-160, 1e-12, 1.0, 1e12, 1e160, 1e300, 1.7e308]


@every_regularizer
@given(d=arrays(np.float64, N, elements=st.sampled_from(EXTREMES)))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_nan_and_no_warning_at_extremes(name, d):
    """Warnings are errors in the settings of pytest."""
    r, _ = REGULARIZERS[name]
    kept = d.copy()
    assert r.value(d) >= 0
    assert (r.gradient(d) >= 0).all()
    assert (r.hess_diag(d) >= 0).all()
    assert r.conjugate(d) >= 0
    assert r.conjugate(-d) == 0
    assert r.domain_scale(d) >= 0
    assert r.domain_scale(-d) == math.inf
    if hasattr(r, "closed_form"):
        assert np.isfinite(r.closed_form(d)).all()
        np.testing.assert_array_equal(r.closed_form(d) > 0, d > 0)
    np.testing.assert_array_equal(d, kept)


@every_regularizer
def test_bad_vectors_are_refused(name):
    r, _ = REGULARIZERS[name]
    for method in ("value", "gradient", "hess_diag"):
        with pytest.raises(ValueError, match="weights must not be negative, got -1; project"):
            getattr(r, method)([-1.0] * N)
        with pytest.raises(ValueError, match="finite numbers, got NaN"):
            getattr(r, method)([math.nan] * N)
        with pytest.raises(ValueError, match="one number for each kernel"):
            getattr(r, method)(np.ones((N, 1)))
    if hasattr(r, "closed_form"):
        with pytest.raises(ValueError, match="squared_norms must not be negative"):
            r.closed_form([-1.0] * N)


# -- each regularizer -----------------------------------------------------------------------------

SAME = [
    (L1(0.7), Lp(1, 0.7)),
    (L1(0.7), ElasticNet(0.7, 1.0)),
    (L1(0.7), MixedNorm(GROUPS, 1, 1, 0.7)),
    (Lp(2, 0.7), ElasticNet(0.7, 0.0)),
    (Lp(3, 0.7), MixedNorm(GROUPS, 3, 3, 0.7)),
    (Lp(1.5, 0.7), MixedNorm(range(N), 1.5, 4, 0.7)),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_names_of_one_function_agree(one, other):
    for seed in range(3):
        d = _random(seed)
        assert one.value(d) == pytest.approx(other.value(d), rel=1e-13)
        assert one.conjugate(0.1 * d) == pytest.approx(other.conjugate(0.1 * d), rel=1e-12)
        assert one.domain_scale(d) == pytest.approx(other.domain_scale(d), rel=1e-13)
        for method in ("gradient", "hess_diag", "closed_form"):
            ours, theirs = getattr(one, method)(d), getattr(other, method)(d)
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_second_derivatives_at_zero():
    assert Lp(1.5).hess_diag([0.0]).tolist() == [math.inf]
    assert Lp(2, 3.0).hess_diag([0.0]).tolist() == [3.0]
    assert Lp(2.5).hess_diag([0.0]).tolist() == [0.0]
    assert L1().hess_diag([0.0]).tolist() == [0.0]
    mixed = MixedNorm([0, 0, 1, 1], 1, 1.5)
    assert mixed.hess_diag([1.0, 0.0, 0.0, 0.0])[1:].tolist() == [math.inf, 0.0, 0.0]


def test_gradient_of_an_empty_group():
    d = [0.0, 0.0, 1.0]
    assert MixedNorm([0, 0, 1], 1, 2, 3.0).gradient(d).tolist() == [3, 3, 3]
    assert MixedNorm([0, 0, 1], 1.5, 2, 3.0).gradient(d).tolist() == [0, 0, 3]


def test_conjugate_of_a_group_norm_is_the_dual_ball():
    r = MixedNorm([0, 0, 1], 1, 2, strength=5.0)
    assert r.conjugate([3.0, 4.0, 5.0]) == 0.0
    assert r.conjugate([3.0, 4.001, 0.0]) == math.inf
    assert r.conjugate([-30.0, 4.0, 0.0]) == 0.0
    assert r.domain_scale([6.0, 8.0, -90.0]) == pytest.approx(0.5)


def test_closed_form_of_kloft():
    """The update of lp-norm MKL: weights as the norms to the power ``2 / (p + 1)``."""
    norms = np.array([1.0, 2.0, 5.0])
    d = Lp(1.5, 0.3).closed_form(norms**2)
    np.testing.assert_allclose(d / d[0], norms ** (2 / 2.5), rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: L1(0.0), r"strength must be > 0, got 0.0; for none use NoRegularizer\(\)"),
        (lambda: L1(-1), "strength must be > 0"),
        (lambda: Lp(2, math.nan), "strength must be > 0, got nan"),
        (lambda: L1().with_strength(math.inf), "strength must be > 0, got inf"),
        (lambda: Lp(0.9), "p must be finite and >= 1, got 0.9; below 1 is not convex"),
        (lambda: Lp(math.inf), "p must be finite"),
        (lambda: MixedNorm([0], 0.5), "p must be finite and >= 1"),
        (lambda: MixedNorm([0], q=math.nan), "q must be finite and >= 1"),
        (lambda: ElasticNet(1.0, 1.5), "l1_ratio must be from 0 .* to 1 .*, got 1.5"),
        (lambda: MixedNorm([0.5, 1.0]), "groups must be one integer for each kernel"),
        (lambda: MixedNorm([[0, 1]]), "groups must be one integer"),
        (lambda: MixedNorm([0, 1]).value([1.0]), "labels for 2 kernels, got 1 numbers"),
        (lambda: MixedNorm([0, 1]).conjugate(np.ones(3)), "labels for 2 kernels, got 3"),
    ],
)
def test_mistakes_say_what_to_do(make, message):
    with pytest.raises(ValueError, match=message):
        make()

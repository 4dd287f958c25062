"""One suite over all feasible sets, then what is special to each of them."""

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

from kernelpath.mkl.feasible_sets import (
    Box,
    Budget,
    CappedSimplex,
    FeasibleSet,
    LpBall,
    NonNegative,
    Simplex,
)
from reference import projections as twin

N = 6
LOW = np.array([0.0, 0.5, 0.0, 1.0, 0.0, 0.25])
HIGH = np.array([1.0, 0.5, 3.0, 2.0, 0.1, 4.0])

# A new set is one line: the set, and its constraints for cvxpy.
SETS = {
    "nonnegative": (NonNegative(), lambda d: [d >= 0]),
    "simplex": (Simplex(), lambda d: [d >= 0, cp.sum(d) == 1]),
    "simplex 3": (Simplex(3.0), lambda d: [d >= 0, cp.sum(d) == 3]),
    "capped": (CappedSimplex(2), lambda d: [d >= 0, d <= 1, cp.sum(d) == 2]),
    "capped 2.5": (CappedSimplex(2.5, 0.7), lambda d: [d >= 0, d <= 0.7, cp.sum(d) == 2.5]),
    "box": (Box(), lambda d: [d >= 0, d <= 1]),
    "box of arrays": (Box(LOW, HIGH), lambda d: [d >= LOW, d <= HIGH]),
    "half box": (Box(0.5, math.inf), lambda d: [d >= 0.5]),
    "l1 ball": (LpBall(1, 2.0), lambda d: [d >= 0, cp.sum(d) <= 2]),
    "l1.5 ball": (LpBall(1.5), lambda d: [d >= 0, cp.pnorm(d, 1.5) <= 1]),
    "l2 ball": (LpBall(2, 0.5), lambda d: [d >= 0, cp.norm(d) <= 0.5]),
    "l3 ball": (LpBall(3, 2.0), lambda d: [d >= 0, cp.pnorm(d, 3) <= 2]),
    "linf ball": (LpBall(math.inf, 0.8), lambda d: [d >= 0, d <= 0.8]),
}
BOUNDED = [name for name, (set_, _) in SETS.items() if set_.bounded]
ANY_SIZE = [name for name in SETS if name != "box of arrays"]

every_set = pytest.mark.parametrize("name", SETS)
quick = settings(max_examples=20, deadline=None, derandomize=True)
# Ties and zeros are where projections go wrong.
number = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.floats(-20, 20))
vectors = arrays(np.float64, N, elements=number)


def _random(seed, size=N, scale=2.0):
    return np.random.default_rng(seed).normal(scale=scale, size=size)


# -- every set ------------------------------------------------------------------------------------


@every_set
def test_protocol_and_value_semantics(name):
    set_, _ = SETS[name]
    assert isinstance(set_, FeasibleSet)
    assert pickle.loads(pickle.dumps(set_)) == set_
    assert len({set_, dataclasses.replace(set_)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        set_.radius = 2.0


@every_set
@pytest.mark.parametrize("seed", range(3))
def test_projection_matches_cvxpy(name, seed):
    set_, constraints = SETS[name]
    x = _random(seed)
    np.testing.assert_allclose(set_.project(x), twin.project(x, constraints), atol=2e-5)


@every_set
@given(x=vectors, other=vectors)
@quick
def test_projection_is_feasible_nearest_and_not_expansive(name, x, other):
    set_, constraints = SETS[name]
    d, z = set_.project(x), set_.project(other)
    assert d.dtype == np.float64
    assert d.min() >= 0
    assert twin.violation(d, constraints) <= 1e-12
    np.testing.assert_allclose(set_.project(d), d, rtol=1e-12, atol=1e-14)
    scale = 1.0 + np.abs(x).max()
    assert (x - d) @ (z - d) <= 1e-12 * scale**2
    assert (x - d) @ (set_.start(N) - d) <= 1e-12 * scale**2
    assert np.linalg.norm(d - z) <= np.linalg.norm(x - other) * (1 + 1e-12) + 1e-13


@pytest.mark.parametrize("name", ANY_SIZE)
@given(x=vectors, order=st.permutations(range(N)))
@quick
def test_projection_follows_permutations(name, x, order):
    set_, _ = SETS[name]
    expected = set_.project(x)[order]
    np.testing.assert_allclose(set_.project(x[order]), expected, rtol=1e-13, atol=1e-15)


@every_set
def test_input_is_left_alone(name):
    set_, _ = SETS[name]
    x = _random(5)
    kept = x.copy()
    x.flags.writeable = False
    result = set_.project(x)
    result[0] = 7.0  # the answer belongs to the caller
    set_.support(-np.abs(x))
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(set_.project(list(x)), set_.project(x))
    inside = set_.start(N)
    assert not np.shares_memory(set_.project(inside), inside)


@every_set
@pytest.mark.parametrize("seed", range(3))
def test_support_function_matches_cvxpy(name, seed):
    set_, constraints = SETS[name]
    g = _random(seed)
    assert set_.support(g) == pytest.approx(twin.support(g, constraints), rel=1e-5, abs=1e-6)
    g = -np.abs(g)
    assert set_.support(g) == pytest.approx(twin.support(g, constraints), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", BOUNDED)
@given(g=vectors)
@quick
def test_linear_minimiser_is_feasible_and_attains_the_support(name, g):
    set_, constraints = SETS[name]
    d = set_.minimize_linear(g)
    assert twin.violation(d, constraints) <= 1e-12
    assert g @ d == pytest.approx(-set_.support(-g), rel=1e-12, abs=1e-12)
    assert g @ d <= g @ set_.start(N) + 1e-12


@pytest.mark.parametrize("name", [name for name in SETS if name not in BOUNDED])
def test_unbounded_sets_refuse_linear_functions(name):
    set_, _ = SETS[name]
    with pytest.raises(TypeError, match="not bounded; minimize_linear needs"):
        set_.minimize_linear(np.ones(N))
    assert set_.support(np.eye(N)[1]) == math.inf


@every_set
def test_start_is_feasible_and_positive(name):
    set_, constraints = SETS[name]
    d = set_.start(N)
    assert d.shape == (N,)
    assert d.min() > 0
    assert twin.violation(d, constraints) <= 1e-12


@pytest.fixture(scope="module")
def million():
    rng = np.random.default_rng(0)
    n = 10**6
    return {
        "decades": 10 ** rng.uniform(-12, 12, n) * rng.choice([-1, 1], n),
        "normal": rng.normal(size=n),
        "far": 1e6 + rng.uniform(size=n),
    }


@pytest.mark.parametrize(
    ("name", "spread"),
    [
        *((name, "decades") for name in ANY_SIZE),
        *((name, spread) for name in ("simplex 3", "capped 2.5") for spread in ("normal", "far")),
    ],
)
def test_a_million_weights(name, spread, million):
    set_, constraints = SETS[name]
    d = set_.project(million[spread])
    assert d.min() >= 0
    assert twin.violation(d, constraints) <= 1e-12


@every_set
def test_bad_vectors_are_refused(name):
    set_, _ = SETS[name]
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite numbers"):
            set_.project([bad] * N)
    for bad in (np.ones((N, 1)), 1.0, []):
        with pytest.raises(ValueError, match="one number for each weight"):
            set_.project(bad)


# -- each set -------------------------------------------------------------------------------------


def _hard_vectors():
    rng = np.random.default_rng(3)
    yield 10 ** rng.uniform(-12, 12, 12)
    yield 1e12 + rng.integers(0, 5, 12) / 4
    yield -1e12 - 10 ** rng.uniform(-12, 12, 12)
    yield np.full(12, 1e12)
    yield np.r_[1e12, np.full(11, 1e-12)]
    yield np.r_[1.0, np.full(11, 1e-3)]
    yield np.zeros(12)
    yield 10 ** rng.uniform(-12, -9, 12)


@pytest.mark.parametrize("x", list(_hard_vectors()))
@pytest.mark.parametrize("total", [1e-12, 1.0, 3.0, 7.5, 1e9])
@pytest.mark.parametrize("share", [1 / 12, 0.1, 0.3, 1.0])
def test_projections_with_a_total_are_exact(x, total, share):
    cap = total * share
    # Twelve twelfths of the total may be less than it by rounding: an empty set, if exact.
    exact = twin.capped_simplex(x, total, min(cap * (1 + 1e-15), total))
    d = CappedSimplex(total, cap).project(x)
    np.testing.assert_allclose(d, exact, rtol=0, atol=1e-14 * total)
    if share == 1.0:
        np.testing.assert_array_equal(d, Simplex(total).project(x))
        np.testing.assert_array_equal(d, CappedSimplex(total, math.inf).project(x))


@given(x=arrays(np.float64, st.integers(1, 9), elements=number), share=st.floats(0.01, 1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_capped_simplex_matches_fractions(x, share):
    total = share * len(x)
    d = CappedSimplex(total).project(x)
    exact = twin.capped_simplex(x, total, 1.0)
    np.testing.assert_allclose(d, exact, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("p", [1.05, 1.3, 1.5, 1.9, 2.5, 4, 12])
@pytest.mark.parametrize("radius", [0.01, 1.0, 40.0])
def test_lp_projection_matches_nested_roots(p, radius):
    for x in (_random(1, 8, 5.0), np.geomspace(1e-6, 1e3, 8)):
        expected = twin.lp_ball(x / radius, p, 1.0) * radius
        found = LpBall(p, radius).project(x)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * radius)


@pytest.mark.parametrize("p", [1.001, 1.1, 1.5, 3, 50])
@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
def test_lp_projection_is_stationary_over_many_decades(p, radius):
    x = np.r_[10 ** np.random.default_rng(0).uniform(-12, 12, 500), 0.0, -1.0]
    d, y = LpBall(p, radius).project(x) / radius, np.maximum(x, 0.0) / radius
    assert np.sum(d**p) == pytest.approx(1.0, rel=1e-12)
    multiplier = d @ (y - d)
    seen = d > 1e-200  # smaller weights may be 0 by underflow
    residual = d + multiplier * d ** (p - 1.0) - y
    assert np.max(np.abs(residual[seen]) / y[seen]) <= 1e-11


def test_lp_balls_meet_the_other_sets():
    x = np.abs(_random(2)) + 0.5
    np.testing.assert_array_equal(LpBall(1, 2.0).project(x), Simplex(2.0).project(x))
    np.testing.assert_array_equal(LpBall(math.inf, 0.7).project(x), Box(0, 0.7).project(x))
    near_two = LpBall(2 + 1e-9).project(x)
    np.testing.assert_allclose(near_two, LpBall(2).project(x), rtol=1e-8)
    small = x / 100
    np.testing.assert_array_equal(LpBall(1.5).project(small), small)


def test_ties_go_to_the_lowest_index():
    g = np.array([2.0, -1.0, 3.0, -1.0, -1.0])
    assert Simplex(2.0).minimize_linear(g).tolist() == [0, 2, 0, 0, 0]
    assert CappedSimplex(1.5).minimize_linear(g).tolist() == [0, 1, 0, 0.5, 0]
    assert LpBall(1).minimize_linear(g).tolist() == [0, 1, 0, 0, 0]
    assert LpBall(1).minimize_linear(np.zeros(2)).tolist() == [0, 0]
    assert Box(1, 2).minimize_linear([0.0, -1.0]).tolist() == [1, 2]


def test_whole_numbers_of_caps_leave_no_speck():
    """0.7 * 3 is below 2.1 in floating point."""
    d = CappedSimplex(2.1, 0.7).minimize_linear(np.arange(5.0))
    assert d.tolist() == [0.7, 0.7, 0.7, 0, 0]
    assert CappedSimplex(2.1, 0.7).project(np.arange(3.0)) == pytest.approx(0.7)
    np.testing.assert_array_equal(CappedSimplex(3).project([9.0, 8.0, 7.0, 0.0]), [1, 1, 1, 0])


def test_sets_of_one_point():
    x = np.array([3.0, -1.0])
    for set_ in (Simplex(0.0), CappedSimplex(0), LpBall(1, 0.0), LpBall(1.5, 0.0), Box(0, 0)):
        assert set_.project(x).tolist() == [0, 0]
        assert set_.minimize_linear(x).tolist() == [0, 0]
        assert set_.support(x) == 0.0
    assert CappedSimplex(2).project(x).tolist() == [1, 1]


def test_huge_entries_do_not_overflow():
    x = np.array([1.7e308, -1.7e308, 1.0])
    assert Simplex().project(x).tolist() == [1, 0, 0]
    assert CappedSimplex(1.5).project(x).tolist() == [1, 0, 0.5]
    assert LpBall(2).project(x).tolist() == [1, 0, pytest.approx(0)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Simplex(-1.0), "radius must be a finite number >= 0, got -1.0"),
        (lambda: Simplex(math.nan), "radius must be .* got nan; give the sum"),
        (lambda: Simplex(math.inf), "radius must be a finite"),
        (lambda: CappedSimplex(-2), "total must be a finite number >= 0"),
        (lambda: CappedSimplex(2, 0.0), "cap must be > 0, got 0.0; give the largest weight"),
        (lambda: CappedSimplex(2, math.nan), "cap must be > 0"),
        (lambda: CappedSimplex(3.5).project(np.ones(3)), "3 weights up to 1 cannot sum to 3.5"),
        (lambda: CappedSimplex(3.5).start(3), "lower total, raise cap or bring more kernels"),
        (lambda: CappedSimplex(3.5).minimize_linear(np.ones(3)), "cannot sum"),
        (lambda: Box(-1, 1), "0 <= low <= high with a finite low, got low=-1"),
        (lambda: Box(2, 1), "0 <= low <= high"),
        (lambda: Box(0, math.nan), "0 <= low <= high"),
        (lambda: Box(math.inf, math.inf), "finite low"),
        (lambda: Box([0, 1], [1, 2, 3]), "vectors of one length"),
        (lambda: Box([0, 1], 2).project(np.ones(3)), "bounds are for 2 weights, got 3"),
        (lambda: LpBall(0.5), "p must be a number >= 1, got 0.5"),
        (lambda: LpBall(math.nan), "p must be a number >= 1"),
        (lambda: LpBall(2, -1), "radius must be a finite number >= 0, got -1; give the largest"),
    ],
)
def test_mistakes_say_what_to_do(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_boxes_copy_their_bounds():
    low = np.zeros(2)
    box = Box(low, 1)
    low[0] = 0.5
    assert box == Box([0, 0], 1.0)
    assert box.project([-1.0, 2.0]).tolist() == [0, 1]
    assert Box(0, [1.0, math.inf]).start(2).tolist() == [0.5, 1.0]


# -- what faster solvers can make use of ----------------------------------------------------------


@every_set
def test_a_set_of_some_weights_projects_these(name):
    """With all others at zero; no set that may do without some weights cares for their number."""
    set_, _ = SETS[name]
    some = np.array([0, 2, 4, 5])
    part = set_.restrict(some)
    inside = part.project(_random(1, size=4))
    if set_.bounds_each_weight:
        whole = np.zeros(N)
        whole[some] = _random(1, size=4)
        np.testing.assert_allclose(inside, set_.project(whole)[some])
    else:
        whole = np.zeros(N)
        whole[some] = inside
        np.testing.assert_allclose(set_.project(whole), whole, atol=1e-12)


@every_set
def test_cap_and_total_are_the_set(name):
    set_, _ = SETS[name]
    known = set_.cap_and_total(N)
    if known is not None:
        cap, total = known
        d = set_.project(_random(2))
        assert d.max() <= cap + 1e-12
        assert total < 0 or d.sum() == pytest.approx(total)
    assert set_.non_negative_only == (known == (math.inf, -1.0))


def test_too_few_weights_for_a_total():
    assert CappedSimplex(2.5, 0.7).fewest == 4
    assert CappedSimplex(2.5, 0.7).cap_and_total(3) is None
    assert Budget(2.5, (1,)).fewest == 3
    assert [Simplex().fewest, NonNegative().fewest] == [0, 0]


def test_which_sets_are_budgets():
    assert CappedSimplex(2).budget == Budget(2, (1,)).budget == 2.0
    assert CappedSimplex(2, 0.5).budget is Simplex(2.0).budget is Box().budget is None


class Ball:
    """A set of a user's own, of no class of the package."""

    bounded = True
    fixed = (1,)

    def start(self, n):
        return np.zeros(n)

    def project(self, x):
        return LpBall(2).project(x)

    def support(self, g):
        return LpBall(2).support(g)


class Restrictable(Ball):
    def restrict(self, some):
        return Box(0.0, np.arange(N)[some])


def test_a_set_of_another_class_keeps_its_methods():
    own = Ball()
    known = FeasibleSet.of(own)
    assert known.given is own
    assert FeasibleSet.of(known) is known
    assert known.project([3.0, 4.0]).tolist() == [0.6, 0.8]
    assert known.support([3.0, 4.0]) == 5.0
    assert (known.bounded, known.fixed, known.start(2).tolist()) == (True, (1,), [0, 0])
    assert known.restrict(np.array([0])) is known
    assert known.cap_and_total(2) is known.budget is None
    assert FeasibleSet.of(Restrictable()).restrict(np.array([2, 5])) == Box(0.0, [2, 5])
    set_ = Simplex()
    assert FeasibleSet.of(set_) is set_ is set_.given

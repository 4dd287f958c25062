"""The L1KR curve: derivatives of its equations, its points, its events and its ends."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from kernelpath.mkl.weighted_kernels.ard import ARDGaussian, ARDNormalizedPolynomial
from kernelpath.tracers.l1kr import curve as homotopy
from kernelpath.tracers.l1kr.branches import local_optimum, path_loss, search_branches
from kernelpath.tracers.l1kr.corrector import Corrector
from kernelpath.tracers.l1kr.curve import End, Homotopy
from kernelpath.tracers.l1kr.equations import RidgeSystem
from kernelpath.tracers.l1kr.ode import ODECurve
from kernelpath.tracers.l1kr.trace import trace_l1kr
from reference.l1kr import kkt

KERNELS = {"gaussian": ARDGaussian, "polynomial": ARDNormalizedPolynomial}


def friedman(n, d, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, d))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = y + 10 * X[:, 3] + 5 * X[:, 4]
    if noise:
        y = y + np.sqrt(y.var() / noise) * rng.normal(size=n)
    return (X - X.mean(axis=0)) / X.std(axis=0), y - y.mean()


def system_of(n=60, d=8, kind="gaussian", budget=1.0, ridge=None, seed=0, noise=10.0):
    X, y = friedman(n, d, seed, noise)
    return RidgeSystem(KERNELS[kind](X), y, budget, ridge)


def traced(system, **options):
    curve = Homotopy(system, **options)
    return list(curve.trace(*system.start())), curve.end


# -- equations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("ridge", [None, 0.3])
def test_derivatives_of_the_equations(kind, ridge):
    system = system_of(kind=kind, budget=None if ridge else 1.0, ridge=ridge)
    weights = np.array([0.1, 0.0, 0.2, 0.05, 0.0, 0.0, 0.3, 0.0])
    active, u = np.array([2, 0, 3, 6]), np.log(0.3)
    state, step = system.look(weights, u), 1e-6
    unit = state.slopes[2]
    J = system.jacobian(state, active, unit)
    extended = system.slack_row(state, active, unit, 4)

    def moved(i, sign):
        w, v = weights.copy(), u
        if i < 4:
            w[active[i]] += sign * step
        else:
            v += sign * step
        return system.look(w, v)

    for i in range(J.shape[1]):
        up, down = moved(i, 1.0), moved(i, -1.0)
        expected = system.residual(up, active, unit) - system.residual(down, active, unit)
        np.testing.assert_allclose(J[:, i], expected / (2 * step), rtol=1e-4, atol=1e-5)
        behind = [(one.slopes[4] - one.slopes[2]) / unit for one in (up, down)]
        row = (behind[0] - behind[1]) / (2 * step)
        assert extended[i] == pytest.approx(row, rel=1e-4, abs=1e-5)
    direction = np.array([0.3, -0.2, 0.1, 0.5, 0.7])[: J.shape[1]]
    slopes, equations = system.rates(state, active, unit, direction)
    np.testing.assert_allclose(equations, J @ direction, rtol=1e-7, atol=1e-9)
    w, v = weights.copy(), u
    w[active] += step * direction[:4]
    v += step * direction[4] if ridge is None else 0.0
    ahead = system.look(w, v).slopes
    np.testing.assert_allclose(slopes, (ahead - state.slopes) / step, rtol=1e-3, atol=1e-2 * unit)


def test_leave_one_out_in_closed_form():
    system = system_of(n=30)
    state = system.look(np.full(8, 0.1), np.log(0.5))
    X, y = system.kernel.X, system.y
    for i in (0, 7, 29):
        rest = np.delete(np.arange(30), i)
        other = RidgeSystem(ARDGaussian(X[rest]), y[rest], None, 0.5)
        fitted = other.look(state.weights, np.log(0.5))
        K = other.kernel.cross(state.weights, X)
        residual = y[rest] - K[rest] @ fitted.a - 0.5 * fitted.a
        prediction = K[i] @ fitted.a + residual.mean()
        assert state.leave_one_out[i] == pytest.approx(y[i] - prediction, rel=1e-8)


# -- the curve ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("budget", [0.05, 1.0, 10.0])
def test_every_point_is_optimal(kind, budget):
    system = system_of(kind=kind, budget=budget)
    places, end = traced(system)
    assert end in ("more of any weight is worth nothing", "the ridge is next to zero")
    assert len(places) > 20
    for place in places:
        state = place.state
        if state.ridge < 1e-5:  # beyond, the dense solution has no digits to compare
            continue
        assert state.weights.min() >= 0.0
        assert set(np.flatnonzero(state.weights)) <= set(place.active.tolist())
        found = kkt(
            system.kernel.X, system.y, state.weights, state.ridge, kind, budget * system.scale
        )
        assert max(found) <= 1e-7


def test_a_fixed_ridge():
    system = system_of(budget=None, ridge=0.5)
    places, end = traced(system)
    assert end == "more of any weight is worth nothing"
    for place in places[1:]:
        equal, behind, _ = kkt(system.kernel.X, system.y, place.state.weights, 0.5)
        assert max(equal, behind) <= 1e-7


def test_the_turn_of_the_paper():
    """Figure 3: noise enters, the third feature kicks in, the path turns back and noise leaves."""
    places, _ = traced(system_of(n=200, d=10, noise=0.0))
    events = [place.event for place in places if place.event is not None]
    kinds = [kind for kind, _ in events]
    assert kinds.count("turn") == 2
    turn = kinds.index("turn")
    before = [feature for kind, feature in events[:turn] if kind == "enter"]
    assert before.index(2) > before.index(5)
    left = [feature for kind, feature in events[turn:] if kind == "leave"]
    assert left
    assert min(left) >= 5
    radius = np.array([place.state.radius for place in places])
    assert (np.diff(radius) < 0).any()


def test_events_are_consistent():
    places, _ = traced(system_of(n=100, d=10, budget=100.0, noise=0.0))
    active = []
    for place in places:
        if place.event is not None and place.event[0] == "enter":
            assert place.event[1] not in active
            active.append(place.event[1])
        elif place.event is not None and place.event[0] == "leave":
            active.remove(place.event[1])
        assert active == place.active.tolist()


def test_never_backwards():
    """Events do not come back in mirror order: the curve is not run through twice."""
    for seed in range(3):
        places, _ = traced(system_of(n=100, d=10, budget=100.0, seed=seed))
        seen = [(place.event, place.state.radius) for place in places if place.event]
        for i, ((kind, feature), radius) in enumerate(seen):
            other = {"enter": "leave", "leave": "enter"}.get(kind)
            for (kind_before, feature_before), before in seen[:i]:
                if (kind_before, feature_before) == (other, feature):
                    assert abs(radius - before) > 1e-6 * radius


def test_limits():
    system = system_of()
    places, end = traced(system, most_features=3)
    assert end == "the largest number of features"
    assert np.count_nonzero(places[-1].state.weights) == 3  # a fourth is about to enter
    places, end = traced(system, largest=0.01)
    assert end == "the largest sum of weights"
    assert places[-1].state.radius >= 0.01


# -- the published method -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KERNELS)
def test_the_differential_equation_meets_the_same_events(kind):
    fast, slow = system_of(n=80, d=7, kind=kind), system_of(n=80, d=7, kind=kind)
    places, _ = traced(fast)
    curve = ODECurve(slow, rtol=1e-5)
    expected = [(p.event, p.state.radius) for p in curve.trace(*slow.start()) if p.event]
    found = [(p.event, p.state.radius) for p in places if p.event and p.event[0] != "turn"]
    assert [event for event, _ in found] == [event for event, _ in expected]
    np.testing.assert_allclose([r for _, r in found], [r for _, r in expected], rtol=1e-6)
    assert fast.n_jacobians < 0.5 * curve.n_jacobians


# -- other branches -------------------------------------------------------------------------------


def test_a_local_search_finds_the_path():
    system = system_of(n=50, d=6, budget=0.3, seed=1)
    trace, corrector = trace_l1kr(system), Corrector(system)
    radius = 0.3 * max(point.radius for point in trace.points)
    known = path_loss(corrector, trace.points, radius)
    weights, _ = local_optimum(system, radius, np.full(6, radius / 6))
    found = corrector.on_the_curve(weights)
    assert found is not None
    assert found.state.radius == pytest.approx(radius)
    assert found.state.loss == pytest.approx(known, rel=1e-6)
    assert search_branches([(system, trace)]) is None


def test_a_branch_that_is_better_and_closed():
    """A circle of stationary points beside the path, with a smaller loss on part of it."""
    system = system_of(n=50, d=6, budget=0.3)
    branch = search_branches([(system, trace_l1kr(system))])
    assert branch is not None
    assert branch.loss < branch.path_loss - 1e-3 * system.scale
    assert branch.ends == (End.CLOSED, End.CLOSED)
    turns = [point.radius for point in branch.points if point.event == ("turn", -1)]
    assert len(turns) == 2
    for point in branch.points:
        budget = 0.3 * system.scale
        found = kkt(system.kernel.X, system.y, point.weights, point.ridge, budget=budget)
        assert max(found) <= 1e-7


def test_from_the_middle_in_both_directions():
    system = system_of(n=50, d=6, budget=0.3)
    places, end = traced(system)
    middle = next(place for place in places[len(places) // 2 :] if place.event is None)
    forth = Homotopy(system)
    ahead = list(forth.trace(middle.state, middle.active, np.sign(middle.growth)))
    assert forth.end == end
    assert ahead[-1].state.radius == pytest.approx(places[-1].state.radius, rel=1e-4)
    back = Homotopy(system, most_events=50)
    first = list(back.trace(middle.state, middle.active, -np.sign(middle.growth)))
    assert first[-1].state.radius < 0.01 * middle.state.radius


# -- other curves nearby --------------------------------------------------------------------------


def near_another_curve():
    """Friedman's function where a closed curve comes close to the path, near D = 0.007."""
    X, y = make_friedman1(250, 15, noise=1.0, random_state=0)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    return RidgeSystem(ARDGaussian(X), y, 4.0)


def events_of(system, **options):
    places, end = traced(system, **options)
    return [(one.event, one.state.radius) for one in places if one.event is not None], end


@pytest.mark.parametrize("longest", [1.0, 0.5])
def test_long_corrections_do_not_lead_to_another_curve(monkeypatch, longest):
    monkeypatch.setattr(homotopy, "LONGEST", longest)
    events, _ = events_of(near_another_curve(), most_events=26)
    turns = [radius for event, radius in events if event[0] == "turn"]
    np.testing.assert_allclose(turns, [0.083185, 0.002346], rtol=1e-3)


def test_who_gets_on_a_closed_curve_walks_it_once(monkeypatch):
    monkeypatch.setattr(homotopy, "LONGEST", 0.8)  # from 0.55 to 1 on any machine
    monkeypatch.setattr(homotopy, "ASIDE", np.inf)
    events, end = events_of(near_another_curve())
    assert end == End.CIRCLES
    assert len(events) < 40


def test_steps_that_lead_nowhere_come_to_an_end(monkeypatch):
    monkeypatch.setattr(homotopy, "LONGEST", 1e-7)
    monkeypatch.setattr(homotopy, "FIRST_STEP", 1e-7)
    places, end = traced(system_of())
    assert end == homotopy.End.STUCK
    assert len(places) < 400


# -- designs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "ridge"), [(0.3, None), (None, 0.1)])
def test_features_that_are_as_good_start_together(budget, ridge):
    design = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    y = design[:, 0] + design[:, 1]
    trace = trace_l1kr(RidgeSystem(ARDGaussian(design), y, budget, ridge))
    assert len(trace.points) > 10
    assert sorted(trace.points[0].active.tolist()) == [0, 1]
    assert trace.points[-1].loss < 0.1 * float(y @ y)
    for point in trace.points:
        assert point.weights[0] == pytest.approx(point.weights[1], rel=1e-6)
        assert point.residual < 1e-7


def test_an_effect_in_combination_only_is_on_another_branch():
    design = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    system = RidgeSystem(ARDGaussian(design), design[:, 0] * design[:, 1], None, 0.1)
    trace = trace_l1kr(system)
    assert trace.points[-1].loss == pytest.approx(system.scale)
    branch = search_branches([(system, trace)])
    best = branch.points[branch.best]
    assert best.loss < 0.1 * system.scale
    assert set(np.flatnonzero(best.weights).tolist()) == {0, 1}

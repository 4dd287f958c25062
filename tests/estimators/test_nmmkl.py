"""NMMKL: the relaxation against the QCQP of the paper, certificates, rounding, the examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.kernels import RBF
from kernelpath.mkl.feasible_sets import Budget, CappedSimplex
from kernelpath.mkl.losses import HuberHinge
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import NoRegularizer
from kernelpath.mkl.svm.dual import solve_dual
from kernelpath.mkl.weighted_kernels.columns import SumOfColumnKernels, one_per_column
from kernelpath.mkl.weighted_kernels.grouped import GroupedKernels
from kernelpath.mkl.weighted_kernels.precomputed import factor_of
from kernelpath.tracers.nmmkl import published_bound, trace_budgets
from nmmkl_examples import LABELS, LOSSES, RNG, D, N, X, linear, problem_of, standardized, toy
from reference.budgets import qcqp

# -- the set --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fixed", [(), (3,), (0, 5)])
def test_the_set_of_a_budget(fixed):
    budget = Budget(3.0, fixed)
    for _ in range(20):
        point, other = RNG.normal(size=8), budget.project(RNG.uniform(size=8))
        near = budget.project(point)
        assert near.sum() == pytest.approx(3.0)
        assert near.min() >= 0
        assert near.max() <= 1 + 1e-12
        assert (near[list(fixed)] == 1.0).all()
        assert (point - near) @ (other - near) <= 1e-9  # the nearest point of a convex set
        best = budget.minimize_linear(point)
        assert point @ best <= point @ other + 1e-9
        assert budget.support(-point) == pytest.approx(-(point @ best))
    assert budget.start(8).sum() == pytest.approx(3.0)
    if not fixed:
        np.testing.assert_allclose(near, CappedSimplex(3.0).project(point))


def test_no_room_for_the_fixed_ones():
    with pytest.raises(ValueError, match="no room for 2"):
        Budget(1.0, (0, 1))


def test_groups_are_means_of_kernels():
    groups = np.array([0, 0, 1, 2, 2, 2, 1, 3, 3, 3, 3, 0])
    kernel, grouped = linear(X), GroupedKernels(linear(X), groups)
    U, d = RNG.normal(size=(N, 2)), RNG.uniform(size=4)
    grams = [kernel.gram(np.eye(D)[k]) for k in range(D)]
    means = [np.mean([grams[k] for k in np.flatnonzero(groups == g)], axis=0) for g in range(4)]
    np.testing.assert_allclose(grouped.gram(d), np.tensordot(d, means, 1), atol=1e-10)
    np.testing.assert_allclose(grouped.quad(U), [np.trace(U.T @ K @ U) for K in means])
    parts = np.array([2, 0])
    expected = np.column_stack([means[2] @ U[:, 0], means[0] @ U[:, 0]])
    np.testing.assert_allclose(grouped.times(parts, U[:, 0]), expected, atol=1e-10)
    few = grouped.restrict(parts)
    np.testing.assert_allclose(few.gram(np.array([1.0, 2.0])), means[2] + 2 * means[0], atol=1e-10)


# -- the relaxation -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "solver"), [*((loss, "newton") for loss in LOSSES), ("classes", "spg")]
)
@pytest.mark.parametrize("m", [1, 4, 11])
def test_the_relaxation_is_the_qcqp_of_the_paper(loss, m, solver):
    problem = problem_of(loss)
    value, _, lam = qcqp([x[:, None] for x in standardized(X).T], LOSSES[loss], m)
    tol = 1e-6 if solver == "newton" else 1e-5
    (point,) = trace_budgets(problem, [m], rounding="weights", solver=solver, tol=tol)
    assert point.relaxed.objective == pytest.approx(value, rel=2 * tol)
    assert point.relaxed.lower <= value * (1 + 1e-7)
    assert point.marginal_value == pytest.approx(0.5 * lam, rel=0.05, abs=1e-4 * value)


@pytest.mark.parametrize("loss", ["classes", "numbers, ridge"])
def test_kernels_that_are_not_linear(loss):
    """The paper's open problem, with factors in the place of columns."""
    kernel = SumOfColumnKernels(X, one_per_column(X, RBF()))
    factors = [factor_of(kernel.gram(np.eye(D)[k])) for k in range(D)]
    value, *_ = qcqp(factors, LOSSES[loss], 3)
    (point,) = trace_budgets(problem_of(loss, kernel), [3], rounding="weights", tol=1e-6)
    assert point.relaxed.objective == pytest.approx(value, rel=2e-6)


def test_fixed_features_in_the_relaxation():
    problem = problem_of("classes")
    factors = [x[:, None] for x in standardized(X).T]
    value, *_ = qcqp(factors, LOSSES["classes"], 4, fixed=(7, 9))
    (point,) = trace_budgets(problem, [4], fixed=(7, 9), tol=1e-6)
    assert point.relaxed.objective == pytest.approx(value, rel=2e-6)
    assert (point.relaxed.weights[[7, 9]] == 1.0).all()
    assert {7, 9} <= set(point.choice.members.tolist())


def test_all_features_are_the_plain_machine():
    problem = problem_of("classes")
    (point,) = trace_budgets(problem, [D], tol=1e-8)
    plain = solve_dual(linear(X).gram(np.ones(D)), LOSSES["classes"], tol=1e-9)
    assert point.objective == pytest.approx(plain.primal, rel=1e-6)
    assert point.ratio == pytest.approx(1.0, abs=1e-6)
    assert published_bound(problem, point.relaxed) == 1.0


def test_one_feature_is_the_squared_l1_norm():
    """With m = 1 the relaxation is a machine with half the squared l1 norm of w."""
    import cvxpy as cp

    Z, dual = standardized(X), LOSSES["classes"]
    w, b = cp.Variable(D), cp.Variable()
    slack = cp.pos(1 - cp.multiply(LABELS, Z @ w + b))
    # Quadratic up to ridge * C and linear beyond: the Huber function of the slack.
    loss = cp.sum(cp.huber(slack, 0.1)) / (2 * 0.1)
    value = cp.Problem(cp.Minimize(0.5 * cp.square(cp.norm1(w)) + loss)).solve(solver="CLARABEL")
    (point,) = trace_budgets(Problem(linear(X), (dual,), NoRegularizer()), [1], tol=1e-7)
    assert point.relaxed.objective == pytest.approx(value, rel=1e-5)


def test_the_optimum_is_convex_and_decreasing_in_the_budget():
    points = list(trace_budgets(problem_of("classes"), range(1, D + 1), tol=1e-7))
    values = np.array([one.relaxed.objective for one in points])
    slopes = np.diff(values)
    assert (slopes <= 1e-6).all()
    assert (np.diff(slopes) >= -1e-5).all()
    marginal = np.array([one.marginal_value for one in points])
    # The multiplier is minus the slope, which lies between the differences on both sides.
    assert (marginal[:-1] >= -slopes - 1e-4).all()
    assert (marginal[1:] <= -slopes + 1e-4).all()


# -- certificates and rounding --------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["classes", "classes, small ridge", "numbers, ridge"])
def test_certificates_hold_against_every_choice(loss):
    problem = problem_of(loss)
    gram = problem.kernel.gram
    for rounding in ("weights", "swap"):
        for point in trace_budgets(problem, [1, 2, 3], rounding=rounding, tol=1e-6):
            best = min(
                solve_dual(gram(np.isin(np.arange(D), S).astype(float)), LOSSES[loss]).primal
                for S in itertools.combinations(range(D), point.budget)
            )
            assert point.relaxed.lower <= best * (1 + 1e-3)
            assert point.objective <= point.ratio * best * (1 + 1e-3)
            assert point.ratio <= published_bound(problem, point.relaxed) * (1 + 1e-5)
            if rounding == "swap":
                assert point.objective <= 1.05 * best


@pytest.mark.parametrize("loss", LOSSES)
def test_exchanges_are_never_worse(loss):
    found = {
        rule: [one.objective for one in trace_budgets(problem_of(loss), range(1, D), rounding=rule)]
        for rule in ("swap", "weights")
    }
    assert (np.array(found["swap"]) <= np.array(found["weights"]) * (1 + 1e-5)).all()


def test_without_a_ridge_the_published_bound_says_nothing():
    problem = problem_of("numbers")
    (point,) = trace_budgets(problem, [2])
    assert published_bound(problem, point.relaxed) == np.inf
    assert np.isfinite(point.ratio)


# -- the paper's examples -------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.003, 0.1])
def test_the_best_two_without_the_best_one(C):
    rng = np.random.default_rng(1)
    for _ in range(5):
        path = kp.NMMKLSelector([1, 2], C=C).fit(*toy(rng)).path_
        assert path[0].names == ("x2",)
        assert path[1].names == ("x0", "x1")
        assert not path.is_nested
        moves = [(one.kind, one.name) for one in path.events if one.position == 1]
        assert sorted(moves) == [("enter", "x0"), ("enter", "x1"), ("leave", "x2")]


def additive(rng, n=100):
    """Eq. (22): the sixth feature is the first one plus a constant, the seventh a product."""
    Z = rng.normal(size=(n, 12))
    Z[:, 5] = Z[:, 0] + 1.0
    Z[:, 6] = Z[:, 1] * Z[:, 2]
    return Z, Z[:, :4] @ [1.0, 2.0, 3.0, 4.0] + np.exp(Z[:, 4])


def chosen(Z, y, budgets, **settings):
    path = kp.NMMKLSelector(budgets, ridge=1.0, rounding="paper", **settings).fit(Z, y).path_
    return [set(np.flatnonzero(path[i].support).tolist()) for i in range(len(budgets))]


def test_the_published_algorithms_on_the_toy():
    rng = np.random.default_rng(11)
    for _ in range(30):
        assert chosen(*toy(rng), [1, 2], C=0.003) == [{2}, {0, 1}]


@pytest.mark.parametrize("C", [0.03, 0.3])
@pytest.mark.filterwarnings("ignore:Some selected columns")
def test_the_published_algorithms_on_the_regression_example(C):
    rng = np.random.default_rng(12)
    for _ in range(20):
        five, six = chosen(*additive(rng), [5, 6], C=C, task="regression")
        assert five - {0, 5} == {1, 2, 3, 4}
        assert six == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
def test_quadratic_forms_of_an_interior_point_method_rank_as_weights_do(tol):
    rng = np.random.default_rng(13)
    for _ in range(10):
        Z, y = toy(rng)
        dual, forms = HuberHinge(0.003, 1.0).dual(y), standardized(Z)
        for m, best in ((1, {2}), (2, {0, 1})):
            _, u, _ = qcqp([z[:, None] for z in forms.T], dual, m, tol=tol)
            tau = np.square(forms.T @ u)
            assert set(np.argsort(-tau)[:m].tolist()) == best


@pytest.mark.parametrize("rounding", ["weights", "swap"])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.filterwarnings("ignore:Some selected columns")
def test_the_regression_example(ridge, rounding):
    rng = np.random.default_rng(2)
    for _ in range(4):
        selector = kp.NMMKLSelector([5, 6], ridge=ridge, task="regression", rounding=rounding)
        path = selector.fit(*additive(rng)).path_
        five, six = (set(np.flatnonzero(path[i].support).tolist()) for i in (0, 1))
        assert five - {0, 5} == {1, 2, 3, 4}  # and one of two that no target can tell apart
        assert [tie.tolist() for tie in selector.ties_] == [[0, 5]]
        assert six == {0, 1, 2, 3, 4, 5}  # a copy, and no feature of chance

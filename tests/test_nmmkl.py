"""NMMKL: the relaxation against the QCQP of the paper, certificates, rounding, the examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import kernelpath as kp
from kernelpath.budget_set import Budget
from kernelpath.feasible_sets import CappedSimplex
from kernelpath.fits.losses import EpsilonInsensitive, HuberHinge
from kernelpath.fits.svm import solve_dual
from kernelpath.kernels import RBF
from kernelpath.problem import Problem
from kernelpath.solvers.choice import solve
from kernelpath.tracers.budgets import published_bound, trace_budgets
from kernelpath.weight_norms import NoRegularizer
from kernelpath.weighted.grouped import GroupedKernels
from kernelpath.weighted.matrices import factor_of
from kernelpath.weighted.parts import SumOfParts, one_per_column
from kernelpath.weighted.stacks import FactorKernels
from reference.budgets import qcqp

RNG = np.random.default_rng(0)
N, D = 60, 12
X = RNG.normal(size=(N, D))
LABELS = np.where(X[:, 0] + X[:, 1] - X[:, 2] + 0.7 * RNG.normal(size=N) > 0, 1.0, -1.0)
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * RNG.normal(size=N)
LOSSES = {
    "classes": HuberHinge(1.0, 0.1).dual(LABELS),
    "classes, small ridge": HuberHinge(0.3, 1e-3).dual(LABELS),
    "numbers": EpsilonInsensitive(1.0, 0.1).dual(NUMBERS),
    "numbers, ridge": EpsilonInsensitive(2.0, 0.1, 0.1).dual(NUMBERS),
}


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def linear(X):
    return FactorKernels(np.ascontiguousarray(standardized(X).T), np.arange(X.shape[1] + 1))


def problem_of(loss, kernel=None):
    return Problem(linear(X) if kernel is None else kernel, (LOSSES[loss],), NoRegularizer())


def toy(rng, n=400):
    """Figure 1: Z is the best feature, X and Y are the best two."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    e, f, g = rng.normal(size=(3, n))
    return np.column_stack([1.1 * y + e, 1.1 * y - e + 0.4 * f, 1.55 * y + g]), y


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
    kernel = SumOfParts(X, one_per_column(X, RBF()))
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
    for rounding in ("paper", "weights", "swap"):
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
        for rule in ("swap", "weights", "paper")
    }
    assert (np.array(found["swap"]) <= np.array(found["weights"]) * (1 + 1e-5)).all()
    # Worse than the published rule only where that takes a feature of chance.
    assert (np.array(found["swap"]) <= np.array(found["paper"]) * 1.01).all()


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


# -- the selector ---------------------------------------------------------------------------------


def test_a_selector_like_any_other():
    selector = kp.NMMKLSelector(3).fit(X, LABELS)
    assert selector.transform(X).shape == (N, 3)
    assert selector.support_.sum() == 3
    assert selector.ratio_ <= selector.bound_ * (1 + 1e-4)
    assert selector.gap_ <= 1e-4
    assert selector.relaxed_weights_.sum() == pytest.approx(3.0)
    assert clone(selector).get_params() == selector.get_params()
    pipeline = make_pipeline(kp.NMMKLSelector(4), SVC()).fit(X, LABELS)
    assert pipeline.score(X, LABELS) > 0.8


def test_text_labels_several_classes_and_sparse_tables():
    from scipy import sparse

    y = np.array(["a", "b", "c"])[np.digitize(X[:, 4], [-0.5, 0.5])]
    selector = kp.NMMKLSelector(1, kernel="rbf").fit(X, y)
    assert selector.get_support(indices=True).tolist() == [4]
    assert selector.classes_.tolist() == ["a", "b", "c"]
    thin = np.where(np.abs(X) > 1, X, 0.0)
    dense = kp.NMMKLSelector(3).fit(thin, LABELS)
    again = kp.NMMKLSelector(3).fit(sparse.csr_array(thin), LABELS)
    np.testing.assert_array_equal(dense.support_, again.support_)


def test_groups_count_once_and_fixed_columns_are_in():
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(D)])
    groups = [j // 3 for j in range(D)]
    selector = kp.NMMKLSelector(2, groups=groups, must_include=["g10"]).fit(frame, LABELS)
    chosen = selector.get_support(indices=True)
    assert len(chosen) == 6
    assert set(chosen.tolist()) >= {9, 10, 11}
    assert {j // 3 for j in chosen.tolist()} == {0, 3}


def test_constant_columns_are_never_chosen():
    Z = np.column_stack([np.ones(N), X[:, :3]])
    with pytest.warns(UserWarning, match="Column 0 is constant"):
        selector = kp.NMMKLSelector(3).fit(Z, LABELS)
    assert selector.get_support(indices=True).tolist() == [1, 2, 3]
    with pytest.warns(UserWarning, match="only 3 features|constant") as caught:
        selector = kp.NMMKLSelector(4).fit(Z, LABELS)
    assert any("only 3 features to choose from" in str(one.message) for one in caught)
    assert all(one.filename == __file__ for one in caught)
    assert selector.support_.sum() == 3


def test_ties_are_stated():
    Z = np.column_stack([X, -2.0 * X[:, 0]])
    with pytest.warns(UserWarning, match="twins that explain exactly as much: 'x0', 'x12'"):
        selector = kp.NMMKLSelector(3).fit(Z, LABELS)
    assert [tie.tolist() for tie in selector.ties_] == [[0, 12]]


def test_cross_validation_of_budgets():
    selector = kp.NMMKLSelector([1, 2, 3, 5])
    model = kp.PathCV(selector, cv=3).fit(X, LABELS)
    assert model.operating_point_.n_features in (1, 2, 3, 5)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_features_to_select": 0}, kp.DataError, "at least 1"),
        ({"n_features_to_select": 13}, kp.DataError, "at most 12"),
        ({"n_features_to_select": 2.5}, ValueError, "whole number"),
        ({"n_features_to_select": []}, ValueError, "whole number"),
        ({"n_features_to_select": "al"}, ValueError, "did you mean 'all'"),
        ({"n_features_to_select": 1, "must_include": [0, 1]}, kp.DataError, "no room for the 2"),
        ({"must_include": ["a"]}, kp.DataError, "'a', which X does not have"),
        ({"must_include": [12]}, kp.DataError, "positions from 0 to 11"),
        ({"C": 0.0}, ValueError, "C must be a number that is positive"),
        ({"ridge": -1.0}, ValueError, "ridge must be a number that is at least 0"),
        ({"rounding": "swp"}, ValueError, "did you mean 'swap'"),
        ({"solver": "alternation"}, ValueError, "solver must be one of"),
        ({"kernel": "simple_mkl"}, ValueError, "kernels of several columns"),
        ({"groups": [0, 1]}, kp.DataError, "one label for each of the 12 columns"),
    ],
)
def test_bad_settings(options, error, words):
    with pytest.raises(error, match=words):
        kp.NMMKLSelector(**({"n_features_to_select": 3} | options)).fit(X, LABELS)


def test_one_class():
    with pytest.raises(kp.DataError, match="one class only"):
        kp.NMMKLSelector(2, task="classification").fit(X, np.ones(N))


def test_solve_with_a_working_set():
    problem = Problem(linear(X), (LOSSES["classes"],), NoRegularizer(), CappedSimplex(3.0))
    every, few = solve(problem, "newton", tol=1e-5), solve(problem, "working_set", tol=1e-5)
    assert few.objective == pytest.approx(every.objective, rel=2e-5)


# -- what users trip over -------------------------------------------------------------------------


def test_text_columns_and_kernels_by_other_names():
    import pandas as pd

    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(LABELS > 0, "yes", "no")})
    selector = kp.NMMKLSelector(1, kernel="delta").fit(frame, LABELS)
    assert selector.get_feature_names_out().tolist() == ["b"]
    with pytest.raises(kp.DataError, match="use kernel='auto'"):
        kp.NMMKLSelector(1, kernel="rbf").fit(frame, LABELS)
    with pytest.raises(ValueError, match="kernel must be one of"):
        kp.NMMKLSelector(1, kernel="rbff").fit(X, LABELS)


def test_numpy_numbers_are_numbers_in_the_record():
    path = kp.NMMKLSelector(np.int64(2)).fit(X, LABELS).path_
    assert path.provenance["parameters"]["n_features_to_select"] == 2


def test_a_weighted_kernel_for_several_bandwidths():
    selector = kp.NMMKLSelector([1, 2], kernel="bandwidths")
    model = kp.PathCV(selector, cv=2, predictor="weighted_kernel").fit(X[:, :4], LABELS)
    assert model.operating_point_.n_features in (1, 2)


@pytest.mark.parametrize("solver", ["primal", "clarabel"])
def test_other_solvers_choose_the_same(solver):
    path = kp.NMMKLSelector([1, 3, 5]).fit(X, LABELS).path_
    other = kp.NMMKLSelector([1, 3, 5], solver=solver).fit(X, LABELS).path_
    np.testing.assert_array_equal(path.supports.toarray(), other.supports.toarray())


@pytest.mark.parametrize("solver", ["auto", "working_set", "newton"])
def test_fixed_columns_in_wide_tables(solver):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 2100))
    y = np.where(Z[:, 0] + Z[:, 1] + 0.5 * rng.normal(size=40) > 0, 1, 0)
    selector = kp.NMMKLSelector(4, must_include=[5, 2000], solver=solver).fit(Z, y)
    assert (selector.relaxed_weights_[[5, 2000]] == 1.0).all()
    assert selector.support_[[5, 2000]].all()
    assert selector.relaxed_weights_.sum() == pytest.approx(4.0)
    exact = kp.NMMKLSelector(4, must_include=[5, 2000], solver="clarabel").fit(Z, y)
    lower = [one.objective_ / one.ratio_ for one in (selector, exact)]
    assert lower[0] == pytest.approx(lower[1], rel=3e-4)


def test_a_budget_that_is_all_fixed():
    for options in (
        {"must_include": [0, 1, 2, 3]},
        {"groups": [0, 1, 0, 0], "must_include": [0, 1]},
    ):
        selector = kp.NMMKLSelector("all", **options).fit(X[:, :4], LABELS)
        assert selector.support_.all()
        assert selector.ratio_ == pytest.approx(1.0, abs=1e-4)


def test_copies_that_are_both_selected_are_stated():
    Z = X[:, :6].copy()
    Z[:, 1] = Z[:, 0]
    y = np.where(Z[:, 0] + 0.1 * X[:, 11] > 0, 1, 0)
    with pytest.warns(UserWarning, match="copies of each other: 'x0', 'x1'"):
        kp.NMMKLSelector(2, rounding="weights").fit(Z, y)


@pytest.mark.parametrize("unit", [1e-165, 1e160, 1.0])
def test_units_of_the_target_do_not_matter(unit):
    y = X[:, 3] + 0.1 * X[:, 11]
    assert kp.NMMKLSelector(1).fit(X, y * unit).get_support(indices=True).tolist() == [3]


def test_an_epsilon_that_explains_everything():
    with pytest.warns(UserWarning, match="Lower epsilon"):
        kp.NMMKLSelector(1, epsilon=100.0).fit(X, X[:, 0])


def test_the_ratio_is_exact_where_the_bound_is_one():
    y = np.argsort(np.argsort(X[:, 0])) * 3 // N
    selector = kp.NMMKLSelector(D, C=70.0, ridge=0.0, kernel="laplace").fit(X, y)
    assert selector.ratio_ <= selector.bound_ + 2e-4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"tol": 1e-15}, "tol must be at least 1e-10"),
        ({"ridge": 1e300}, "ridge must be at most"),
        ({"n_features_to_select": [1, [2, 3]]}, "must be a whole number, several of them"),
        ({"groups": [[1], [2]] + [3] * (D - 2)}, "names or numbers as labels"),
        ({"groups": [float("nan")] * D}, "a label that is missing"),
        ({"must_include": ["x99"]}, "'x99', which X does not have"),
    ],
)
def test_more_bad_settings(options, words):
    with pytest.raises((ValueError, kp.DataError), match=words):
        kp.NMMKLSelector(**({"n_features_to_select": 2} | options)).fit(X, LABELS)


def test_ways_to_name_fixed_columns():
    for given in (3, "x3", [3], np.array([3]), ["x3", 3], np.arange(D) == 3):
        assert kp.NMMKLSelector(2, must_include=given).fit(X, LABELS).support_[3]
    Z = X.copy()
    Z[:, 1] = 5.0
    with (
        pytest.warns(UserWarning, match="constant"),
        pytest.raises(kp.DataError, match="constant and cannot be selected"),
    ):
        kp.NMMKLSelector(2, groups=[j // 2 for j in range(D)], must_include=[1]).fit(Z, LABELS)


def test_a_ridge_next_to_nothing():
    selector = kp.NMMKLSelector([1, 2], ridge=1e-15).fit(X, LABELS)
    assert selector.bound_ >= selector.ratio_ * (1 - 1e-4)

"""Solvers of a relaxed budget: an interior point method, and one without kernel matrices."""

from __future__ import annotations

import builtins
import itertools
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from kernelpath.kernels import RBF
from kernelpath.mkl.feasible_sets import Budget, CappedSimplex, NonNegative
from kernelpath.mkl.losses import EpsilonInsensitive, HuberHinge, LeastSquares
from kernelpath.mkl.problem import PointSolver, Problem
from kernelpath.mkl.regularizers import L1, NoRegularizer
from kernelpath.mkl.solvers._model_loops import minimize_model
from kernelpath.mkl.solvers.base import CONVERGED, MissingCapability
from kernelpath.mkl.solvers.choice import choose_solver, solve
from kernelpath.mkl.solvers.proximal import best_bias, level_weights
from kernelpath.mkl.weighted_kernels.columns import SumOfColumnKernels, one_per_column
from kernelpath.mkl.weighted_kernels.grouped import GroupedKernels
from kernelpath.mkl.weighted_kernels.storage import FactorKernels, PackedKernels
from kernelpath.tracers.nmmkl_rounding import predicted_changes
from reference.budgets import qcqp


def table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    target = X[:, 0] + np.abs(X[:, 1]) - X[:, 2] * 0.7 + 0.5 * rng.normal(size=n)
    return X, target - np.median(target)


def linear(X):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return FactorKernels(np.ascontiguousarray(Z.T), np.arange(X.shape[1] + 1))


def rbf(X):
    return SumOfColumnKernels(X, one_per_column(X, RBF()))


def duals_of(kind, target):
    if kind == "classes":
        return (HuberHinge(1.0, 0.1).dual(np.sign(target)),)
    if kind == "numbers":
        return (EpsilonInsensitive(1.0, 0.1).dual(target),)
    if kind == "numbers, ridge":
        return (EpsilonInsensitive(2.0, 0.1, 0.2).dual(target),)
    three = np.digitize(target, [-0.5, 0.5])
    return tuple(HuberHinge(1.0, 0.3).dual(np.where(three == k, 1.0, -1.0)) for k in range(3))


def budget_problem(n, d, kind="classes", kernel=linear, m=3, fixed=()):
    X, target = table(n, d)
    feasible = Budget(float(m), fixed) if fixed else CappedSimplex(float(m))
    return Problem(kernel(X), duals_of(kind, target), NoRegularizer(), feasible)


# -- the interior point method --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classes", "numbers", "numbers, ridge"])
@pytest.mark.parametrize("fixed", [(), (4, 6)])
def test_the_cone_program_is_that_of_cvxpy(kind, fixed):
    problem = budget_problem(40, 10, kind, m=4, fixed=fixed)
    factors, starts = problem.kernel.as_factors()
    parts = [factors[a:b].T for a, b in itertools.pairwise(starts)]
    value, *_ = qcqp(parts, problem.duals[0], 4, fixed)
    found = solve(problem, "clarabel", tol=1e-7)
    assert found.status == CONVERGED
    assert found.objective == pytest.approx(value, rel=1e-6)
    assert found.lower <= value * (1 + 1e-8)


@pytest.mark.parametrize("kernel", [linear, rbf])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize(("n", "d"), [(80, 30), (60, 200), (40, 2000)])
def test_the_default_is_the_cone_program(n, d, kind, kernel):
    problem = budget_problem(n, d, kind, kernel, m=5)
    exact, found = solve(problem, "clarabel", tol=1e-8), solve(problem, tol=1e-6)
    assert exact.gap <= 1e-7
    assert found.status == CONVERGED
    assert found.objective == pytest.approx(exact.objective, rel=1.1e-6)
    assert found.lower <= exact.objective * (1 + 1e-7)


def test_several_classes_by_the_cone_program():
    problem = budget_problem(50, 8, "three", m=2)
    exact, found = solve(problem, "clarabel", tol=1e-7), solve(problem, "newton", tol=1e-6)
    assert found.objective == pytest.approx(exact.objective, rel=2e-6)
    np.testing.assert_allclose(exact.weights, found.weights, atol=0.02)


def test_without_clarabel_the_message_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "clarabel":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"kernelpath\[exact\]"):
        solve(budget_problem(20, 5), "clarabel")


# -- without kernel matrices ----------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 3, 9])
@pytest.mark.parametrize("kind", ["classes", "numbers, ridge", "three"])
@pytest.mark.parametrize("kernel", [linear, rbf])
def test_the_norm_of_a_budget_is_its_relaxation(kernel, kind, m):
    problem = budget_problem(60, 12, kind, kernel, m)
    found, newton = solve(problem, "primal", tol=1e-6), solve(problem, "newton", tol=1e-7)
    assert found.status == CONVERGED
    assert found.n_svm == 0
    assert found.objective == pytest.approx(newton.objective, rel=2e-6)
    assert found.lower <= newton.objective * (1 + 1e-9)
    # Its point is one of the problem: machines with these weights are as good as it says.
    at = PointSolver(problem)(found.weights, 1e-8)
    assert at.value <= found.objective * (1 + 1e-9)
    again = solve(
        problem, "primal", found.weights, tol=1e-6, duals=tuple(one.u for one in found.at.solutions)
    )
    assert again.n_iter < found.n_iter or found.n_iter == 10


def test_groups_and_fixed_features_without_kernel_matrices():
    X, target = table(60, 12)
    kernel = GroupedKernels(linear(X), np.array([3, 0, 0, 1, 2, 2, 1, 3, 4, 5, 5, 5]))
    factors, starts = kernel.as_factors()
    d = np.random.default_rng(1).uniform(size=6)
    scaled = factors * np.repeat(d, np.diff(starts))[:, None]
    np.testing.assert_allclose(factors.T @ scaled, kernel.gram(d), atol=1e-10)
    problem = Problem(kernel, duals_of("classes", target), NoRegularizer(), Budget(3.0, (4,)))
    found, newton = solve(problem, "primal", tol=1e-6), solve(problem, "newton", tol=1e-6)
    assert found.objective == pytest.approx(newton.objective, rel=2e-6)
    assert found.weights[4] == 1.0


def test_what_the_primal_route_needs():
    problem = budget_problem(30, 6, "numbers")
    with pytest.raises(MissingCapability, match="a loss with a ridge"):
        solve(problem, "primal")
    problem = replace(budget_problem(30, 6), feasible=NonNegative(), regularizer=L1())
    with pytest.raises(MissingCapability, match="a budget of weights up to 1"):
        solve(problem, "primal")
    matrices = PackedKernels.of([np.eye(30), np.ones((30, 30))])
    with pytest.raises(MissingCapability, match="kernels held as factors"):
        solve(replace(budget_problem(30, 3, m=1), kernel=matrices), "primal")


def test_tall_budgets_go_without_kernel_matrices():
    assert choose_solver(budget_problem(900, 20)) == "primal"
    assert choose_solver(budget_problem(900, 20, "numbers")) == "newton"
    assert choose_solver(budget_problem(100, 20)) == "newton"


@pytest.mark.parametrize("shift", [0.0, 0.2, 3.0])
def test_weights_of_the_norm(shift):
    """The weights minimise ``sum_k w_k^2 / (p_k + shift)`` on a budget."""
    rng = np.random.default_rng(3)
    for total in (1.0, 2.5, 7.0):
        size, p = np.abs(rng.normal(size=8)), np.empty(8)
        level_weights(size, shift, total, p)
        assert p.sum() == pytest.approx(total)
        assert p.min() >= 0
        assert p.max() <= 1
        q = cp.Variable(8)
        cost = cp.sum(cp.multiply(size**2, cp.inv_pos(q + shift)))
        value = cp.Problem(cp.Minimize(cost), [q >= 0, q <= 1, cp.sum(q) == total]).solve()
        used = p + shift > 0
        assert float((size[used] ** 2 / (p + shift)[used]).sum()) == pytest.approx(value, rel=1e-5)


def test_weights_where_few_parts_are_not_zero():
    p = np.empty(4)
    level_weights(np.array([0.0, 2.0, 0.0, 0.0]), 0.1, 2.5, p)
    np.testing.assert_allclose(p, [0.5, 1.0, 0.5, 0.5])


@pytest.mark.parametrize("kind", ["classes", "numbers, ridge"])
def test_the_best_bias(kind):
    _, target = table(50, 3)
    (dual,) = duals_of(kind, target)
    scores = np.random.default_rng(0).normal(size=50)
    for start in (0.0, 50.0, -50.0):
        bias, u = best_bias(dual, scores, start)
        assert u.sum() == pytest.approx(0.0, abs=1e-10)
        near = [dual.loss(scores + bias + step) for step in (-1e-4, 0.0, 1e-4)]
        assert near[1] <= min(near) + 1e-10


# -- exchanges and models -------------------------------------------------------------------------


def test_predictions_of_exchanges_are_exact_where_no_row_changes():
    X, target = table(40, 8)
    problem = Problem(linear(X), (LeastSquares(2.0).dual(target),), NoRegularizer())
    evaluate = PointSolver(problem)
    inside, outside = np.array([0, 3, 5]), np.array([1, 2, 7])
    at = evaluate(np.isin(np.arange(8), inside).astype(float), 1e-9)
    change = predicted_changes(problem, at, inside, outside)
    for i, leaves in enumerate(inside):
        for j, enters in enumerate(outside):
            members = [enters if k == leaves else k for k in inside]
            after = evaluate(np.isin(np.arange(8), members).astype(float), 1e-9)
            assert change[i, j] == pytest.approx(after.value - at.value, rel=1e-6)


def test_predictions_of_exchanges_for_any_kernel_have_the_right_order():
    X, target = table(80, 8)
    problem = Problem(rbf(X), duals_of("classes", target), NoRegularizer())
    evaluate = PointSolver(problem)
    at = evaluate(np.isin(np.arange(8), [3, 5]).astype(float), 1e-6)
    change = predicted_changes(problem, at, np.array([3, 5]), np.array([0, 1, 2, 4, 6, 7]))
    best = np.unravel_index(int(change.argmin()), change.shape)[1]
    assert best in (0, 1, 2)  # those with an effect


@pytest.mark.parametrize(("cap", "total"), [(np.inf, -1.0), (1.0, 4.0), (2.0, 2.0)])
@pytest.mark.parametrize("rank", [5, 30])
def test_the_minimum_of_a_quadratic_model(rank, cap, total):
    rng = np.random.default_rng(rank)
    n = 25
    Z, g0, curve = rng.normal(size=(rank, n)), rng.normal(size=n), np.full(n, 1e-3)
    start = np.full(n, max(total, 1.0) / n)
    d = cp.Variable(n)
    cost = g0 @ (d - start) + 0.5 * cp.sum_squares(Z @ (d - start))
    cost += 0.5e-3 * cp.sum_squares(d - start)
    bounds = [d >= 0] + ([d <= cap] if np.isfinite(cap) else [])
    bounds += [cp.sum(d) == total] if total >= 0 else []
    value = cp.Problem(cp.Minimize(cost), bounds).solve(solver="CLARABEL")
    for H in (Z.T @ Z, np.zeros((0, 0))):
        point, g = start.copy(), g0.copy()
        minimize_model(H, Z, curve, g, point, 0.1, cap, total, 2000, 1e-12)
        move = point - start
        found = g0 @ move + 0.5 * np.square(Z @ move).sum() + 0.5e-3 * np.square(move).sum()
        assert found == pytest.approx(value, rel=1e-6, abs=1e-8)
        np.testing.assert_allclose(g, g0 + Z.T @ (Z @ move) + curve * move, atol=1e-8)

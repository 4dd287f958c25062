"""The routes without a kernel matrix: every solver arrives where it arrives with arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelpath.kernels import RBF
from kernelpath.mkl.feasible_sets import NonNegative, Simplex
from kernelpath.mkl.grams import Gram, LowRank
from kernelpath.mkl.losses import EpsilonInsensitive, Hinge, HuberHinge, LeastSquares, SquaredHinge
from kernelpath.mkl.problem import PointSolver, Problem, lower_bound
from kernelpath.mkl.regularizers import L1, ElasticNet, Lp, NoRegularizer
from kernelpath.mkl.solvers import curvature
from kernelpath.mkl.solvers.base import DualBound
from kernelpath.mkl.solvers.choice import SOLVERS, choose_solver, solve
from kernelpath.mkl.weighted_kernels.columns import SumOfColumnKernels, one_per_column
from kernelpath.mkl.weighted_kernels.products import ARDPolynomial, ProductRBF
from kernelpath.mkl.weighted_kernels.storage import Concatenated, FactorKernels, PackedKernels

N, M = 120, 8
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, M))
LABELS = np.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RNG.normal(size=N) > 0, 1.0, -1.0)
NUMBERS = X[:, 0] ** 2 + X[:, 2] + 0.1 * RNG.normal(size=N)
FACTORS = [np.column_stack([x, np.square(x) - 1.0]) for x in X.T]
SUM = FactorKernels.of([phi / np.sqrt(np.square(phi).sum() / N) for phi in FACTORS])
LOSSES = {
    "hinge": (Hinge(2.0), LABELS),
    "squared hinge": (SquaredHinge(1.0), LABELS),
    "huber hinge": (HuberHinge(2.0, 0.1), LABELS),
    "insensitive": (EpsilonInsensitive(2.0, 0.1), NUMBERS),
    "least squares": (LeastSquares(1.0), NUMBERS),
}
COSTS = {
    "l1": (L1(2.0), NonNegative()),
    "l1.5": (Lp(1.5, 2.0), NonNegative()),
    "elastic net": (ElasticNet(2.0, 0.5), NonNegative()),
    "simplex": (NoRegularizer(), Simplex(1.0)),
}
SOLVES = [
    ("spg", "l1"), ("pgd", "simplex"), ("alternation", "l1"),
    ("alternation", "l1.5"), ("newton", "l1"), ("newton", "elastic net"), ("newton", "simplex"),
    ("working_set", "l1"),
]  # fmt: skip


def problem_of(loss="squared hinge", cost="l1", kernel=SUM):
    own, y = LOSSES[loss]
    return Problem(kernel, (own.dual(y),), *COSTS[cost])


@pytest.fixture
def many_rows(monkeypatch):
    monkeypatch.setattr("kernelpath.mkl.problem.MANY_ROWS", 50)
    monkeypatch.setattr("kernelpath.mkl.svm.blocks.BLOCK", 40)


@pytest.mark.parametrize(("solver", "cost"), SOLVES)
def test_solvers_of_sums(solver, cost, monkeypatch):
    problem, tol = problem_of(cost=cost), 1e-4 if solver != "pgd" else 1e-2
    expected = SOLVERS[solver](problem, tol=tol)
    monkeypatch.setattr("kernelpath.mkl.problem.MANY_ROWS", 50)
    assert isinstance(problem.gram(expected.weights), LowRank)
    found = SOLVERS[solver](problem, tol=tol)
    assert found.status == expected.status == "converged"
    assert found.gap <= tol
    assert found.objective == pytest.approx(expected.objective, rel=2 * tol)
    assert found.lower <= expected.objective * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses(loss, many_rows, monkeypatch):
    problem = problem_of(loss)
    found = solve(problem, tol=1e-3)
    monkeypatch.setattr("kernelpath.mkl.problem.MANY_ROWS", 1000)
    expected = solve(problem, tol=1e-3)
    assert found.status == expected.status == "converged"
    assert found.objective == pytest.approx(expected.objective, rel=2e-3)


@pytest.mark.parametrize("kernel", [ProductRBF(X), ARDPolynomial(X, 2, 1.0)], ids=["rbf", "poly"])
def test_kernels_that_are_no_sums(kernel, monkeypatch):
    problem = problem_of("hinge", "l1", kernel)
    expected = solve(problem, tol=1e-3)
    monkeypatch.setattr("kernelpath.mkl.problem.MANY_ROWS", 50)
    assert isinstance(problem.gram(expected.weights), Gram)
    found = solve(problem, tol=1e-3)
    assert found.objective == pytest.approx(expected.objective, rel=5e-3)
    again = PointSolver(problem)(expected.weights, 1e-6)
    assert again.upper == pytest.approx(expected.objective, rel=1e-4)


def test_a_kernel_without_a_large_form_stays_an_array(many_rows):
    class Plain:
        n_rows, n_kernels, is_sum = N, M, True
        gram = staticmethod(SUM.gram)

    assert isinstance(problem_of(kernel=Plain()).gram(np.ones(M)), np.ndarray)


def test_kinks_and_few_directions_take_the_closed_form(many_rows):
    assert SUM.rank < 0.5 * N
    assert choose_solver(problem_of("hinge")) == "alternation"
    assert choose_solver(problem_of("squared hinge")) == "newton"
    assert choose_solver(problem_of("hinge", "simplex")) == "newton"


def test_kinks_and_very_many_rows_take_the_closed_form(monkeypatch):
    full = PackedKernels.of([phi @ phi.T for phi in FACTORS])
    assert choose_solver(problem_of("hinge", kernel=full)) == "newton"
    monkeypatch.setattr("kernelpath.mkl.solvers.choice.MOST_ROWS", N - 1)
    assert choose_solver(problem_of("hinge", kernel=full)) == "alternation"


def test_the_closed_form_leaves_out_what_does_not_pay(many_rows):
    problem = replace(problem_of("hinge", "l1"), regularizer=L1(30.0))
    found = solve(problem, tol=1e-3)
    gain = 0.5 * SUM.quad(found.at.U)
    assert found.gap <= 1e-3
    assert (gain < 0.8 * 30.0).any()
    np.testing.assert_array_equal(found.weights[gain < 0.8 * 30.0], 0.0)
    assert found.weights.any()


def test_a_kernel_that_lost_its_weight_can_get_it_back():
    start = np.full(M, 1e-3)
    start[[0, 2]] = 0.0
    found = SOLVERS["alternation"](problem_of(), start, tol=1e-4)
    assert found.status == "converged"
    assert found.weights[2] > 0


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_curvature_by_a_factor(ridge, monkeypatch):
    weights = RNG.uniform(0.1, 1.0, size=M)
    rows = np.flatnonzero(RNG.uniform(size=N) < 0.7)
    images = SUM.times(np.arange(M), RNG.normal(size=N))[rows]
    gram = SUM.large_gram(weights)
    Z = curvature.curvature_root(SUM.gram(weights), rows, ridge, images)
    same = curvature.curvature_root(gram, rows, ridge, images)
    monkeypatch.setattr(curvature, "MANY_BETWEEN", 10)
    short = curvature.curvature_root(gram, rows, ridge, images)
    assert short.shape == (M, M)
    for root in (same, short):
        np.testing.assert_allclose(root.T @ root, Z.T @ Z, rtol=1e-6, atol=1e-8)


def test_mixtures_of_dual_vectors_are_bounds():
    problem = problem_of("hinge")
    optimum = solve(problem, tol=1e-6)
    evaluate, bound = PointSolver(problem), DualBound(problem)
    best = -np.inf
    for seed in range(12):  # the weights of the optimum, disturbed
        noise = np.random.default_rng(seed).uniform(0.9, 1.1, size=M)
        at = evaluate(optimum.weights * noise, 1e-6)
        quad = SUM.quad(at.U)
        best = max(best, lower_bound(problem, at, quad))
        bound.mix(at, quad)
        bound.add(at, quad)
    assert bound.value <= optimum.objective
    assert bound.value > best + 0.2 * (optimum.objective - best)


def test_factors_of_several_families_are_put_together():
    both = Concatenated(
        [SUM.restrict(np.arange(3)), SUM.restrict(np.arange(3, M))],
        [np.arange(M - 3, M), np.arange(M - 3)],
    )
    weights = RNG.uniform(size=M)
    every = np.arange(N)
    gram = both.large_gram(weights)
    assert isinstance(gram, LowRank)
    np.testing.assert_allclose(gram.block(every, every), both.gram(weights), atol=1e-10)
    assert both.large_gram(np.zeros(M)).trace() == 0.0
    wide = FactorKernels.of([RNG.normal(size=(N, 70))])
    assert isinstance(wide.large_gram(np.ones(1)), np.ndarray)  # no fewer numbers than the matrix


def test_several_least_squares_targets(monkeypatch):
    """Newton steps with one decomposition for all targets are those with one for each."""
    from kernelpath.mkl.solvers import newton as steps
    from kernelpath.mkl.svm import dual as module

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    kernel = SumOfColumnKernels(X, one_per_column(X, RBF()))
    Y = np.column_stack([np.sin(X[:, j]) + 0.2 * rng.normal(size=60) for j in (0, 0, 3)])
    problem = Problem(kernel, tuple(LeastSquares(2.0).dual(y) for y in Y.T), L1(1.0))
    together = steps.newton(problem, tol=1e-6)
    for one in (module, steps):
        monkeypatch.setattr(one, "share_a_system", lambda duals: False)
    alone = steps.newton(problem, tol=1e-6)
    np.testing.assert_allclose(together.weights, alone.weights, atol=1e-8)
    assert (together.n_svm, together.n_iter) == (alone.n_svm, alone.n_iter)

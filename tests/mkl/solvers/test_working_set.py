"""Rounds over few kernels, steps of the model, and losses that are rounded off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelpath.mkl.feasible_sets import Box, CappedSimplex, NonNegative, Simplex
from kernelpath.mkl.losses import EpsilonInsensitive, Hinge, SquaredHinge
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import L1, NoRegularizer
from kernelpath.mkl.solvers import newton as newton_module
from kernelpath.mkl.solvers._model_loops import _fill, minimize_model
from kernelpath.mkl.solvers.alternation import alternate
from kernelpath.mkl.solvers.choice import solve
from kernelpath.mkl.solvers.newton import _minimize_model, _RoundedOff, newton
from kernelpath.mkl.solvers.spg import spg
from kernelpath.mkl.solvers.working_set import working_set
from kernelpath.mkl.svm.dual import solve_dual
from kernelpath.mkl.weighted_kernels.columns import SumOfColumnKernels
from kernelpath.mkl.weighted_kernels.published import simple_mkl_parts
from kernelpath.mkl.weighted_kernels.storage import FactorKernels
from kernelpath.mkl.weighted_kernels.views import GaussianViews

RNG = np.random.default_rng(0)
N, M = 40, 300
X = RNG.normal(size=(N, M))
LABELS = np.where(X[:, 0] + X[:, 1] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
COLUMNS = FactorKernels(
    np.ascontiguousarray((X / np.sqrt(np.square(X).mean(axis=0))).T), np.arange(M + 1)
)
NOTHING = NoRegularizer()
COSTS = {
    "l1, strong": (L1(10.0), NonNegative()),
    "l1, weak": (L1(2.0), NonNegative()),
    "simplex": (NOTHING, Simplex(1.0)),
    "capped": (NOTHING, CappedSimplex(5.0)),
}


HINGE = Hinge(1.0)


def problem_of(cost, loss=HINGE, kernel=COLUMNS, y=LABELS):
    return Problem(kernel, (loss.dual(y),), *cost)


@pytest.mark.parametrize("name", COSTS)
def test_kernels_of_rank_one_and_a_loss_with_kinks(name):
    """Few kernels leave the matrix singular; that must not cost hundreds of machines."""
    problem = problem_of(COSTS[name])
    few, every = working_set(problem), newton(problem)
    # Which of many optimal dual vectors a machine ends at is a matter of rounding, and so are the
    # steps; the last digits may be left to other solvers.
    assert max(few.gap, every.gap) <= 2e-2
    assert few.objective == pytest.approx(every.objective, rel=2e-3)
    assert max(few.n_svm, every.n_svm) < 400
    found = solve(problem)
    assert found.status == "converged"
    assert found.gap <= 1e-3


def test_a_round_is_no_more_exact_than_the_gap():
    asked = []

    def spy(problem, *args, tol, **more):
        asked.append(tol)
        return newton(problem, *args, tol=tol, **more)

    found = working_set(problem_of(COSTS["l1, weak"], SquaredHinge(1.0)), tol=1e-5, over=spy)
    gaps = [(h["objective"] - max(h["lower"], 0.0)) / h["objective"] for h in found.history]
    assert found.gap <= 1e-5
    assert asked[0] > 1e-2
    assert asked[1] > 1e-4
    assert all(tol <= max(0.5e-5, 0.11 * gap) for tol, gap in zip(asked[1:], gaps))
    assert asked == sorted(asked, reverse=True)


def test_more_weights_are_needed_than_a_round_adds(monkeypatch):
    monkeypatch.setattr("kernelpath.mkl.solvers.working_set.FIRST", 5)
    problem = problem_of((NOTHING, CappedSimplex(40.0)), SquaredHinge(1.0))
    found = working_set(problem, tol=1e-3)
    assert found.gap <= 1e-3
    assert found.weights.sum() == pytest.approx(40.0)


def test_bounds_for_each_weight():
    high = np.where(np.arange(M) < 2, 0.01, 1.0)
    problem = problem_of((L1(2.0), Box(0.0, high)), SquaredHinge(1.0))
    found = working_set(problem, tol=1e-3)
    assert found.status == "converged"
    np.testing.assert_allclose(found.weights[:2], 0.01)
    assert (found.weights <= high).all()


def test_kernels_computed_when_needed():
    """The same optimum as Newton steps on all factors, from views in single precision."""
    rows = X[:, :15]
    parts = simple_mkl_parts(rows, degrees=(), together=False)
    cost = (L1(0.5), NonNegative())
    tiles = working_set(problem_of(cost, kernel=GaussianViews(rows)), tol=1e-5)
    factors = newton(problem_of(cost, kernel=SumOfColumnKernels(rows, parts)), tol=1e-5)
    assert max(tiles.gap, factors.gap) <= 1e-5
    assert tiles.objective == pytest.approx(factors.objective, rel=2e-5)


# -- steps of the model ----------------------------------------------------------------------------

SETS = {
    "not negative": (NonNegative(), np.inf, -1.0),
    "simplex": (Simplex(2.0), 2.0, 2.0),
    "capped": (CappedSimplex(3.5), 1.0, 3.5),
    "full": (CappedSimplex(12.0), 1.0, 12.0),
    "nothing": (Simplex(0.0), 0.0, 0.0),
}


@pytest.mark.parametrize("name", SETS)
def test_compiled_projection(name):
    feasible, cap, total = SETS[name]
    for scale in (1e-6, 1.0, 1e6):
        for x in (scale * RNG.normal(size=12), np.full(12, scale), np.round(RNG.normal(size=12))):
            out = np.empty(12)
            _fill(x, cap, total, out)
            np.testing.assert_allclose(out, feasible.project(x), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("by_root", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_compiled_model(name, by_root, monkeypatch):
    feasible, cap, total = SETS[name]
    Z, g = RNG.normal(size=(8, 12)), RNG.normal(size=12)
    curve, base = np.full(12, 0.1), feasible.project(RNG.uniform(size=12))
    H = np.zeros((0, 0)) if by_root else Z.T @ Z
    point, slope = base.copy(), g.copy()
    minimize_model(H, Z, curve, slope, point, 0.1, cap, total, 5000, 1e-14)
    np.testing.assert_allclose(slope, g + (Z.T @ Z + 0.1 * np.eye(12)) @ (point - base), atol=1e-8)
    # Optimal: a projected gradient step leads back.
    np.testing.assert_allclose(feasible.project(point - slope), point, atol=1e-5)
    monkeypatch.setattr(newton_module, "MODEL_TOL", 1e-14)
    plain = _minimize_model(feasible, H, Z, curve, g, base, 0.1)
    np.testing.assert_allclose(point, plain, atol=1e-5)


# -- rounded losses --------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Hinge(1.0), EpsilonInsensitive(1.0, 0.1)], ids=repr)
def test_bounds_of_rounded_losses_are_those_of_the_true_ones(loss):
    y = LABELS if isinstance(loss, Hinge) else X[:, 0] / 2
    problem = problem_of((L1(1.0), NonNegative()), loss, y=y)
    weights = np.where(np.arange(M) < 5, 0.1, 0.0)
    K = problem.kernel.gram(weights)
    exact = solve_dual(K, problem.duals[0], tol=1e-9)
    evaluate = _RoundedOff(problem, True, None, 0.1)
    assert evaluate.duals[0].ridge > 0.0
    at, before = evaluate(weights, 1e-6, K), np.inf
    for _ in range(4):
        one = at.solutions[0]
        assert at.value - at.cost <= exact.dual * (1 + 1e-9)
        assert at.upper - at.cost >= exact.primal * (1 - 1e-9)
        true = 0.5 * one.u @ K @ one.u + problem.duals[0].loss(one.scores)
        assert one.primal == pytest.approx(true)
        assert at.upper - at.value < before
        before = at.upper - at.value
        at = evaluate.tighter(at, K)
    assert before < 1e-2 * at.upper


def test_losses_with_a_ridge_stay_as_they_are():
    problem = problem_of(COSTS["l1, weak"], SquaredHinge(1.0))
    evaluate = _RoundedOff(problem, True, None, 1e-2)
    assert evaluate.duals[0] is problem.duals[0]


def test_results_do_not_depend_on_the_rounding(monkeypatch):
    problem = problem_of(COSTS["l1, weak"])
    rounded = newton(problem, tol=1e-4)
    monkeypatch.setattr(newton_module, "_rounded", lambda dual, precision, u: replace(dual))
    plain = newton(problem, tol=1e-4)
    assert max(rounded.gap, plain.gap) <= 1e-4
    assert rounded.objective == pytest.approx(plain.objective, rel=2e-4)


class _Prices:
    """A cost of its own for every weight; only with ``restrict`` it can be asked for a few."""

    def __init__(self, prices):
        self.prices = prices

    def value(self, d):
        return float(self.prices @ d)

    def gradient(self, d):
        return self.prices + np.zeros(len(d))

    def hess_diag(self, d):
        return np.zeros(len(d))

    def conjugate(self, g):
        return 0.0 if (g <= self.prices * (1 + 1e-12)).all() else np.inf

    def domain_scale(self, g):
        return 1.0 / max((g / self.prices).max(), 1e-300)


class _Restrictable(_Prices):
    def restrict(self, parts):
        return _Restrictable(self.prices[parts])


def test_regularizers_with_a_price_for_each_kernel(monkeypatch):
    from kernelpath.mkl.solvers import choice

    prices = np.random.default_rng(0).uniform(2.0, 8.0, size=M)
    monkeypatch.setattr(choice, "MANY", 100)
    plain = Problem(COLUMNS, (HINGE.dual(LABELS),), _Prices(prices))
    assert choice.choose_solver(plain) == "newton"
    with pytest.raises(TypeError, match="a cost of each weight by itself"):
        working_set(plain)
    other = Problem(COLUMNS, (HINGE.dual(LABELS),), _Restrictable(prices))
    assert choice.choose_solver(other) == "working_set"
    found, expected = choice.solve(other, tol=1e-6), choice.solve(plain, tol=1e-6)
    assert found.status == "converged"
    assert found.objective == pytest.approx(expected.objective, rel=1e-5)


@pytest.mark.parametrize("over", [newton, alternate, spg], ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", ["l1, strong", "l1, weak"])
def test_any_solver_can_solve_the_rounds(over, name):
    problem = problem_of(COSTS[name], SquaredHinge(1.0))
    every = newton(problem, tol=1e-5)
    found = working_set(problem, over=over, tol=1e-3)
    assert found.status == "converged"
    assert found.gap <= 1e-3
    assert found.objective == pytest.approx(every.objective, rel=1.1e-3)
    again = working_set(problem, found.weights, over=over, tol=1e-3)
    assert again.gap <= 1e-3
    if over is not alternate:  # which grows a weight that was zero from next to nothing
        assert again.n_svm <= found.n_svm

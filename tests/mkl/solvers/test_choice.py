"""Working sets over many kernels, and which solver is taken for what."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpath.mkl.feasible_sets import Box, CappedSimplex, NonNegative, Simplex
from kernelpath.mkl.losses import Hinge, LeastSquares, SquaredHinge
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import L1, ElasticNet, Lp, MixedNorm, NoRegularizer
from kernelpath.mkl.solvers.base import MissingCapability
from kernelpath.mkl.solvers.choice import SOLVERS, choose_solver, solve
from kernelpath.mkl.solvers.newton import newton
from kernelpath.mkl.solvers.working_set import working_set
from kernelpath.mkl.weighted_kernels.products import ProductRBF
from kernelpath.mkl.weighted_kernels.storage import FactorKernels

RNG = np.random.default_rng(0)
N, M = 50, 400
X = RNG.normal(size=(N, M))
MANY = FactorKernels(
    np.ascontiguousarray(X.T / np.sqrt(np.square(X).mean(axis=0))[:, None]), np.arange(M + 1)
)
FEW = MANY.restrict(np.arange(10))
LABELS = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
NOTHING, SQUARED = NoRegularizer(), SquaredHinge(1.0)
COSTS = {
    "l1": (L1(2.0), NonNegative()),
    "elastic net": (ElasticNet(2.0, 0.9), NonNegative()),
    "simplex": (NOTHING, Simplex(1.0)),
    "capped": (NOTHING, CappedSimplex(5.0)),
}


def problem_of(cost, kernel=MANY, loss=SQUARED, y=LABELS):
    return Problem(kernel, (loss.dual(y),), *cost)


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("loss", [SquaredHinge(1.0), LeastSquares(1.0)], ids=repr)
def test_the_same_as_on_all_kernels(name, loss):
    y = LABELS if isinstance(loss, SquaredHinge) else X[:, 0] - X[:, 2]
    problem = problem_of(COSTS[name], loss=loss, y=y)
    few = working_set(problem, tol=1e-5)
    every = newton(problem, tol=1e-5)
    assert few.status == every.status == "converged"
    assert few.gap <= 1e-5
    assert few.objective == pytest.approx(every.objective, rel=2e-5)
    assert few.lower <= every.objective * (1 + 1e-9)
    assert few.weights.shape == (M,)


def test_it_goes_on_from_a_start():
    problem = problem_of(COSTS["l1"])
    best = working_set(problem, tol=1e-6)
    again = working_set(problem, best.weights, tol=1e-4)
    assert again.n_iter == 1
    assert again.n_svm < best.n_svm
    short = working_set(problem, tol=1e-12, max_iter=1)
    assert short.status == "iteration limit"


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        (problem_of(COSTS["l1"], FEW), "newton"),
        (problem_of(COSTS["simplex"], FEW), "newton"),
        (problem_of((Lp(1.5), NonNegative()), FEW), "alternation"),
        (problem_of((Lp(1.5), Box()), FEW), "spg"),
        (problem_of((MixedNorm(np.arange(10) % 2), NonNegative()), FEW), "alternation"),
        (problem_of(COSTS["l1"], ProductRBF(X[:, :5])), "spg"),
    ],
)
def test_what_auto_means(problem, name):
    assert choose_solver(problem) == name
    found = solve(problem, tol=1e-2)
    assert found.objective == pytest.approx(SOLVERS[name](problem, tol=1e-2).objective)


def test_the_empty_model_where_it_is_optimal():
    for loss, y in ((SQUARED, LABELS), (LeastSquares(1.0), X[:, 0])):
        found = solve(problem_of((L1(1e5), NonNegative()), FEW, loss, y), tol=1e-6)
        np.testing.assert_array_equal(found.weights, 0.0)
        assert found.gap <= 1e-6
        slow = SOLVERS["spg"](problem_of((L1(1e5), NonNegative()), FEW, loss, y), tol=1e-6)
        assert found.objective == pytest.approx(slow.objective, rel=1e-5)
        assert solve(problem_of((L1(1e-3), NonNegative()), FEW, loss, y)).weights.any()


def test_many_kernels_get_a_working_set(monkeypatch):
    problem = problem_of(COSTS["l1"])
    assert choose_solver(problem) == "newton"
    monkeypatch.setattr("kernelpath.mkl.solvers.choice.MANY", 300)
    assert choose_solver(problem) == "working_set"


def test_what_is_refused():
    with pytest.raises(ValueError, match="solver must be one of 'auto', 'spg'"):
        solve(problem_of(COSTS["l1"], FEW), "sgp")
    with pytest.raises(MissingCapability, match="a cost of each weight by itself"):
        working_set(problem_of((MixedNorm(np.arange(10) % 2), NonNegative()), FEW))


def test_nothing_is_better_than_a_poor_optimum():
    """A product with a high price: every optimum with weights costs more than the empty model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    problem = Problem(ProductRBF(X), (Hinge(1.0).dual(y),), L1(1e4))
    start = np.full(3, 5.0)
    poor = SOLVERS["spg"](problem, start, max_iter=1)
    found = solve(problem, "auto", start, max_iter=1)
    assert poor.objective > 2 * min((y > 0).sum(), (y < 0).sum())
    assert not found.weights.any()
    assert found.status == "converged"
    assert found.objective == pytest.approx(2 * min((y > 0).sum(), (y < 0).sum()))

"""Generalised multiple kernel learning: every solver against one convex program, and its proofs."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from kernelpath.mkl.feasible_sets import Box, CappedSimplex, LpBall, NonNegative, Simplex
from kernelpath.mkl.losses import EpsilonInsensitive, Hinge, HuberHinge, LeastSquares, SquaredHinge
from kernelpath.mkl.problem import ANY_WEIGHTS, PointSolver, Problem, lower_bound, stationarity
from kernelpath.mkl.regularizers import L1, ElasticNet, Lp, MixedNorm, NoRegularizer
from kernelpath.mkl.solvers.alternation import alternate
from kernelpath.mkl.solvers.base import MissingCapability
from kernelpath.mkl.solvers.choice import solve
from kernelpath.mkl.solvers.newton import newton
from kernelpath.mkl.solvers.spg import pgd, spg
from kernelpath.mkl.weighted_kernels.products import ProductRBF
from kernelpath.mkl.weighted_kernels.storage import FactorKernels
from reference.saddles import mkl_value

N, M = 40, 8
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, M))
LABELS = np.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.2 * RNG.normal(size=N) > 0, 1.0, -1.0)
NUMBERS = X[:, 0] ** 2 + X[:, 2] + 0.1 * RNG.normal(size=N)
CLASSES = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])


def factors():
    """Factors of quadratic and linear kernels of each feature, centred, of mean diagonal 1."""
    made = [np.column_stack([x, x**2]) for x in X.T] + [x[:, None] for x in X.T]
    made = [phi - phi.mean(axis=0) for phi in made]
    return [phi / np.sqrt(np.square(phi).sum() / N) for phi in made]


FACTORS = factors()
KERNEL = FactorKernels.of(FACTORS)
GROUPS = np.arange(2 * M) % M
LOSSES = [
    Hinge(2.0), SquaredHinge(1.0), HuberHinge(2.0, 0.1), EpsilonInsensitive(2.0, 0.1),
    LeastSquares(1.0),
]  # fmt: skip


def groups_of(d):
    return [d[np.flatnonzero(g == GROUPS)] for g in range(M)]


# Cost of the weights and their set, each with the same in words of cvxpy.
COSTS = {
    "l1": (L1(0.5), NonNegative(), lambda d: 0.5 * cp.sum(d), lambda d: []),
    "l1.33": (
        Lp(1.33, 0.5), NonNegative(), lambda d: 0.5 / 1.33 * cp.sum(cp.power(d, 1.33)),
        lambda d: [],
    ),
    "l2": (Lp(2.0, 0.5), NonNegative(), lambda d: 0.25 * cp.sum_squares(d), lambda d: []),
    "elastic net": (
        ElasticNet(0.5, 0.3), NonNegative(),
        lambda d: 0.15 * cp.sum(d) + 0.175 * cp.sum_squares(d), lambda d: [],
    ),
    "mixed 1": (
        MixedNorm(GROUPS, 1.0, 2.0, 0.5), NonNegative(),
        lambda d: 0.5 * sum(cp.norm(part) for part in groups_of(d)), lambda d: [],
    ),
    "mixed 1.5": (
        MixedNorm(GROUPS, 1.5, 2.0, 0.5), NonNegative(),
        lambda d: 0.5 / 1.5 * sum(cp.power(cp.norm(part), 1.5) for part in groups_of(d)),
        lambda d: [],
    ),
    "simplex": (NoRegularizer(), Simplex(2.0), lambda d: 0, lambda d: [cp.sum(d) == 2]),
    "capped": (
        NoRegularizer(), CappedSimplex(3.0), lambda d: 0, lambda d: [cp.sum(d) == 3, d <= 1]
    ),
    "box": (NoRegularizer(), Box(0.0, 0.4), lambda d: 0, lambda d: [d <= 0.4]),
    "l2 ball": (NoRegularizer(), LpBall(2.0, 1.5), lambda d: 0, lambda d: [cp.norm(d) <= 1.5]),
    "l1 in a box": (L1(0.2), Box(0.0, 0.4), lambda d: 0.2 * cp.sum(d), lambda d: [d <= 0.4]),
    "l2 in a ball": (
        Lp(2.0, 0.3), LpBall(2.0, 1.5), lambda d: 0.15 * cp.sum_squares(d),
        lambda d: [cp.norm(d) <= 1.5],
    ),
}  # fmt: skip
SPARSE = L1(0.5)
SOLVERS = {"spg": spg, "pgd": pgd, "alternation": alternate, "newton": newton}


def targets(loss):
    """Target that a loss is for."""
    return NUMBERS if isinstance(loss, EpsilonInsensitive | LeastSquares) else LABELS


def problem_of(loss, regularizer=SPARSE, feasible=ANY_WEIGHTS, kernel=KERNEL, outputs=None):
    outputs = [targets(loss)] if outputs is None else outputs
    return Problem(kernel, tuple(loss.dual(y) for y in outputs), regularizer, feasible)


def applies(solver, regularizer, feasible):
    """Whether a solver is made for this cost."""
    if solver == "alternation":  # it works for l1, too, but slowly
        return isinstance(feasible, NonNegative) and not isinstance(regularizer, L1)
    if solver == "newton":
        bent = isinstance(regularizer, Lp) and regularizer.p < 2
        return not bent and not isinstance(regularizer, MixedNorm)
    return not (isinstance(regularizer, MixedNorm) and regularizer.p == 1)


CASES = [
    (solver, loss, name)
    for solver in ("spg", "alternation", "newton")
    for loss in LOSSES
    for name in COSTS
    if applies(solver, *COSTS[name][:2])
]


@pytest.mark.parametrize(("solver", "loss", "name"), CASES, ids=str)
def test_the_optimum_of_a_sum(solver, loss, name):
    regularizer, feasible, cost, inside = COSTS[name]
    tol = 5e-7 if solver == "newton" else 1e-4
    found = SOLVERS[solver](problem_of(loss, regularizer, feasible), tol=tol, max_iter=20_000)
    optimum = mkl_value(FACTORS, loss, [targets(loss)], cost, inside)
    assert found.status == "converged"
    assert found.gap <= tol
    slack = 1e-6 * abs(optimum)
    assert found.lower <= optimum + slack
    assert optimum - slack <= found.objective <= optimum * (1 + tol) + slack
    np.testing.assert_allclose(feasible.project(found.weights), found.weights, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("name", COSTS)
def test_the_default_is_exact_to_one_part_in_a_million(loss, name):
    regularizer, feasible, cost, inside = COSTS[name]
    found = solve(problem_of(loss, regularizer, feasible), tol=1e-6, max_iter=20_000)
    optimum = mkl_value(FACTORS, loss, [targets(loss)], cost, inside)
    assert found.status == "converged"
    assert found.objective == pytest.approx(optimum, rel=1.1e-6)  # cvxpy's own error


@pytest.mark.parametrize("solver", ["spg", "newton"])
@pytest.mark.parametrize("loss", [Hinge(2.0), LeastSquares(1.0)], ids=repr)
def test_several_outputs_share_the_weights(solver, loss):
    outputs = [np.where(k == CLASSES, 1.0, -1.0) for k in range(3)]
    found = SOLVERS[solver](problem_of(loss, outputs=outputs), tol=1e-5, max_iter=20_000)
    optimum = mkl_value(FACTORS, loss, outputs, *COSTS["l1"][2:])
    assert found.objective == pytest.approx(optimum, rel=2e-5)
    assert len(found.at.solutions) == 3


@pytest.mark.parametrize("loss", [Hinge(2.0), EpsilonInsensitive(2.0, 0.1)], ids=repr)
def test_the_baseline_gets_there_too(loss):
    found = pgd(problem_of(loss, Lp(2.0, 0.5)), tol=1e-3, max_iter=5000)
    assert found.status == "converged"
    assert found.objective == pytest.approx(
        mkl_value(FACTORS, loss, [targets(loss)], *COSTS["l2"][2:]), rel=1e-3
    )


@pytest.mark.parametrize("kernel", [KERNEL, ProductRBF(X)], ids=["sum", "product"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gradient_by_differences(kernel, loss):
    problem = problem_of(loss, ElasticNet(0.5, 0.5), kernel=kernel)
    evaluate = PointSolver(problem)
    weights = np.random.default_rng(1).uniform(0.1, 0.5, size=kernel.n_kernels)
    gradient = evaluate.gradient(evaluate(weights, 1e-12))
    h = 1e-5
    for k in range(0, kernel.n_kernels, 3):
        step = h * np.eye(kernel.n_kernels)[k]
        rise = evaluate(weights + step, 1e-12).value - evaluate(weights - step, 1e-12).value
        assert rise / (2 * h) == pytest.approx(gradient[k], rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", COSTS)
def test_bounds_hold_everywhere(name):
    """At points far from the optimum, and with loose machines, both bounds must be true."""
    regularizer, feasible, _, _ = COSTS[name]
    loss = Hinge(2.0)
    problem = problem_of(loss, regularizer, feasible)
    solver = alternate if isinstance(regularizer, MixedNorm) else spg
    best = solver(problem, tol=1e-5, max_iter=20_000)
    rng = np.random.default_rng(0)
    evaluate = PointSolver(problem, warm=False)
    for tol in (1.0, 0.1, 1e-6):
        weights = feasible.project(rng.uniform(0, 1, size=2 * M))
        at = evaluate(weights, tol)
        quad = KERNEL.quad(at.U)
        assert lower_bound(problem, at, quad) <= best.objective * (1 + 1e-9)
        assert at.upper >= best.lower * (1 - 1e-9)
        assert at.value <= at.upper + 1e-9
    lowers = [one["lower"] for one in best.history]
    assert lowers == sorted(lowers)


def test_products_reach_a_stationary_point():
    loss = Hinge(5.0)
    problem = problem_of(loss, L1(0.5), kernel=ProductRBF(X))
    found = spg(problem, tol=1e-6, max_iter=5000)
    assert found.status == "converged"
    assert found.gap is None  # not convex: no claim of optimality
    assert found.residual <= 1e-6
    evaluate = PointSolver(problem)
    gradient = evaluate.gradient(evaluate(found.weights, 1e-10))
    positive = found.weights > 1e-6
    scale = np.abs(gradient).max() + 1.0
    assert np.abs(gradient[positive]).max() < 1e-2 * scale
    assert gradient[~positive].min() > -1e-2 * scale
    assert found.objective < evaluate(np.full(M, 1 / M), 1e-6).upper


def test_units_do_not_matter():
    """The same problem with kernels in other units: the same weights in the other units."""
    loss, unit = Hinge(2.0), 1e4
    scaled = FactorKernels.of([factor * np.sqrt(unit) for factor in FACTORS])
    for solver in (spg, newton):
        one = solver(problem_of(loss, L1(0.5)), tol=1e-5, max_iter=5000)
        other = solver(problem_of(loss, L1(0.5 * unit), kernel=scaled), tol=1e-5, max_iter=5000)
        assert other.objective == pytest.approx(one.objective, rel=2e-5)
        assert other.n_svm <= 3 * one.n_svm
    moves = stationarity(problem_of(loss), np.ones(4), np.zeros(4), 1.0)
    assert moves == 0.0


def test_warm_starts_save_steps():
    problem = problem_of(Hinge(2.0), L1(0.5))
    warm, cold = (spg(problem, tol=1e-4, max_iter=5000, warm=w) for w in (True, False))
    assert warm.objective == pytest.approx(cold.objective, rel=1e-3)
    assert 1.5 * warm.n_steps / warm.n_svm < cold.n_steps / cold.n_svm


@pytest.mark.parametrize(
    ("solver", "problem", "words"),
    [
        (alternate, problem_of(Hinge(), kernel=ProductRBF(X)), "a sum of kernels"),
        (alternate, problem_of(Hinge(), NoRegularizer(), Simplex()), "a closed form update"),
        (newton, problem_of(Hinge(), kernel=ProductRBF(X)), "a sum of kernels"),
        (newton, problem_of(Hinge(), Lp(1.5)), "a finite second derivative at zero"),
    ],
)
def test_what_a_solver_cannot_do_is_said_before_any_work(solver, problem, words):
    with pytest.raises(MissingCapability, match=words):
        solver(problem)


def test_limits_and_starts():
    problem = problem_of(Hinge(2.0))
    short = spg(problem, tol=1e-9, max_iter=3)
    assert (short.status, short.n_iter) == ("iteration limit", 3)
    assert short.gap > 1e-9
    best = newton(problem, tol=1e-8)
    again = newton(problem, best.weights, tol=1e-6)
    assert again.n_svm <= 4
    assert spg(problem, best.weights, tol=1e-4).n_svm < spg(problem, tol=1e-4).n_svm


def test_strong_regularisation_leaves_nothing():
    problem = problem_of(Hinge(2.0), L1(1e6))
    for solver in (spg, newton):
        found = solver(problem, tol=1e-6)
        assert found.gap <= 1e-6
        assert found.weights.max() < 1e-6

"""Solvers as their authors published them: the same optimum, their own rules, and what is told."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import numpy as np
import pytest

import kernelpath as kp
from kernelpath.mkl.convergence import ConvergenceHistory
from kernelpath.mkl.losses import EpsilonInsensitive, Hinge, LeastSquares, SquaredHinge
from kernelpath.mkl.problem import PointSolver, Problem
from kernelpath.mkl.solvers import published, simplex
from kernelpath.mkl.solvers.base import MissingCapability
from kernelpath.mkl.solvers.choice import SOLVERS, _together, solve
from mkl.solvers.test_gmkl import COSTS, FACTORS, KERNEL, LABELS, problem_of, targets
from reference.saddles import mkl_value

ON_A_SIMPLEX = ("simple_mkl", "silp", "hessian_mkl")
PUBLISHED = ("spg_published", "spg_classical")
LOSSES = [Hinge(2.0), SquaredHinge(1.0), EpsilonInsensitive(2.0, 0.1), LeastSquares(1.0)]
SIMPLEX = COSTS["simplex"]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("solver", ON_A_SIMPLEX)
def test_the_optimum_on_a_simplex(solver, loss):
    problem = problem_of(loss, *SIMPLEX[:2])
    found = SOLVERS[solver](problem, tol=1e-4, max_iter=20_000)
    optimum = mkl_value(FACTORS, loss, [targets(loss)], *SIMPLEX[2:])
    slack = 1e-6 * abs(optimum)
    assert found.status == "converged"
    assert found.lower <= optimum + slack
    assert optimum - slack <= found.objective <= optimum * (1 + 1e-4) + slack
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(2.0)


@pytest.mark.parametrize("name", ["l1", "l2", "simplex"])
@pytest.mark.parametrize("solver", PUBLISHED)
def test_the_optimum_by_the_published_algorithm(solver, name):
    regularizer, feasible, cost, inside = COSTS[name]
    loss = Hinge(2.0)
    found = SOLVERS[solver](problem_of(loss, regularizer, feasible), tol=1e-3, max_iter=20_000)
    optimum = mkl_value(FACTORS, loss, [targets(loss)], cost, inside)
    assert found.status == "converged"
    assert optimum * (1 - 1e-6) <= found.objective <= optimum + 2e-3  # the gap is absolute


def test_the_line_searches_are_not_the_same():
    runs = {name: SOLVERS[name](problem_of(Hinge(50.0)), tol=1e-3) for name in PUBLISHED}
    counts = {name: run.n_svm for name, run in runs.items()}
    assert len(set(counts.values())) == 2
    values = [run.objective for run in runs.values()]
    assert values[0] == pytest.approx(values[1], rel=1e-4)


def test_the_average_of_objectives():
    """Eq. (11) and (12), by hand."""
    reference = published._Average(10.0)
    reference.add(8.0, actual=2.0, predicted=2.0)  # as predicted: the memory is 1 already
    assert reference.value == pytest.approx((10.0 + 8.0) / 2)
    reference.add(9.0, actual=-1.0, predicted=1.0)  # badly predicted: 0.975
    q = 0.975 * 2 + 1
    assert reference.value == pytest.approx((0.975 * 2 * 9.0 + 9.0) / q)
    largest = published._Largest(10.0)
    for value in range(10):
        largest.add(float(value), 0.0, 0.0)
    assert largest.value == 10.0
    largest.add(0.0, 0.0, 0.0)
    assert largest.value == 9.0


@pytest.mark.parametrize(
    ("u", "v", "length", "wanted"),
    [
        (2.0, 0.0, 1.0, 1e-1), (0.5, 9.0, 1.0, 1e-2), (0.05, 9.0, 1.0, 1e-3),
        (np.inf, 6.0, 1.0, 1e-1), (np.inf, 2.0, 1.0, 1e-2), (np.inf, 0.5, 1.0, 1e-3),
        (2.0, 0.0, 1e-9, 1e-2),
    ],
)  # fmt: skip
def test_precisions_of_the_machines(u, v, length, wanted):
    assert published._precision(1e-1, u, v, length) == pytest.approx(wanted)
    assert published._precision(1e-6, u, v, 1.0) == 1e-6  # it never falls back
    assert published._precision(1e-5, u, v, 1e-9) == 1e-5  # the tightest


def test_spectral_steps_have_limits():
    s = np.array([1.0, 0.0])
    assert published._spectral_step(s, np.array([-1.0, 0.0])) == 10.0
    assert published._spectral_step(s, np.array([1e-3, 0.0])) == 10.0
    assert published._spectral_step(s, np.array([4.0, 0.0])) == 0.25


def test_planes_lie_below_the_objective():
    """What SILP collects bounds the objective everywhere."""
    problem = problem_of(Hinge(2.0), *SIMPLEX[:2])
    evaluate, rng = PointSolver(problem), np.random.default_rng(0)
    points = [2.0 * rng.dirichlet(np.full(len(FACTORS), 0.3)) for _ in range(6)]
    seen = [evaluate(d, 1e-8) for d in points]
    slopes = [problem.gradient(at.weights, KERNEL.grad_quad(at.weights, at.U)) for at in seen]
    for at, slope in zip(seen, slopes):
        height = at.value - slope @ at.weights
        for other in seen:
            assert height + slope @ other.weights <= other.upper + 1e-9
    planes = np.array(slopes)
    heights = np.array([at.value - s @ at.weights for at, s in zip(seen, slopes)])
    weights, lowest = simplex._program(planes, heights, 2.0)
    assert weights.sum() == pytest.approx(2.0)
    assert lowest == pytest.approx((planes @ weights + heights).max())
    assert lowest <= min(at.upper for at in seen)


def test_reduced_gradients_keep_the_sum_and_the_signs():
    weights = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
    gradient = np.array([-1.0, -3.0, 1.0, 2.0, -4.0])
    direction = simplex._reduced(weights, gradient, 0)
    assert direction.sum() == pytest.approx(0.0)
    assert gradient @ direction < 0
    assert direction[3] == 0.0
    assert direction[4] > 0
    length, emptied = simplex._longest(weights, direction)
    moved = simplex._stepped(weights, length, direction, emptied)
    assert moved[emptied] == 0.0
    assert moved.min() >= 0


@pytest.mark.parametrize("name", ["l1", "capped", "box"])
@pytest.mark.parametrize("solver", ON_A_SIMPLEX)
def test_other_problems_are_refused(solver, name):
    with pytest.raises(MissingCapability, match=r"fixed sum.*kp.Simplex.*solver='auto'"):
        solve(problem_of(Hinge(2.0), *COSTS[name][:2]), solver)


@pytest.mark.parametrize("solver", ["auto", *PUBLISHED, *ON_A_SIMPLEX])
def test_the_history_of_an_estimator(solver):
    X = np.random.default_rng(1).normal(size=(60, 5))
    y = X[:, 0] * X[:, 1] > 0
    model = kp.GMKLClassifier.preset("simple_mkl", solver=solver, base_kernel="rbf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=kp.errors.ConstantColumnWarning)
        history = model.fit(X, y).history_
    frame = history.to_frame()
    assert len(history) == len(frame) >= 1
    assert history.objective.min() >= model.objective_ * (1 - 1e-9)
    assert (np.diff(history.lower) >= 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    assert (np.diff(history.n_svm) >= 0).all()
    assert history.gap[-1] <= 1e-3 or model.gap_ <= 1e-3
    assert "iteration" in repr(history)


def test_a_history_is_drawn():
    X = np.random.default_rng(1).normal(size=(60, 5))
    sums = kp.GMKLClassifier(solver="spg").fit(X, X[:, 0] > 0).history_
    products = kp.GMKLClassifier("product").fit(X, X[:, 0] > 0).history_
    for history, words in ((sums, "above the optimum"), (products, "without a certificate")):
        for x in ("seconds", "n_svm", "iteration"):
            ax = history.plot(x)
            assert words in " ".join(text.get_text() for text in ax.texts)
            lines = [line for line in ax.get_lines() if len(line.get_xdata()) == len(history)]
            assert len(lines) == (2 if history is sums else 1)
            mpl.pyplot.close(ax.figure)
    assert not kp.ConvergenceDisplay.from_history(ConvergenceHistory.of([])).known
    assert np.isinf(products.gap).all()
    with pytest.raises(ValueError, match="'seconds', 'n_svm', 'iteration'"):
        sums.plot("time")


def test_the_work_of_two_runs_in_a_row_adds_up():
    """A default that falls back on another solver tells of the work of both."""
    problem = Problem(KERNEL, (Hinge(2.0).dual(LABELS),), *COSTS["l2"][:2])
    first = SOLVERS["spg"](problem, tol=1e-9, max_iter=3)
    second = SOLVERS["newton"](problem, first.weights, tol=1e-6)
    found = _together(first, second, 1e-6)
    assert len(found.history) == len(first.history) + len(second.history)
    for name in ("n_svm", "n_steps", "seconds"):
        values = [one[name] for one in found.history]
        assert values == sorted(values)
        assert values[-1] == first.history[-1][name] + second.history[-1][name]
    assert second.history[0]["n_svm"] < first.history[-1]["n_svm"]  # else nothing is shown

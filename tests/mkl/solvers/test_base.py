"""Where solvers start: near the best equal weights, whatever the units."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpath.mkl.feasible_sets import Simplex
from kernelpath.mkl.losses import Hinge, LeastSquares
from kernelpath.mkl.problem import PointSolver, Problem
from kernelpath.mkl.regularizers import L1, ElasticNet, Lp, NoRegularizer
from kernelpath.mkl.solvers.base import natural_start
from kernelpath.mkl.svm.dual import solve_dual
from kernelpath.mkl.weighted_kernels.storage import FactorKernels

N, M = 500, 6
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, M))
LABELS = np.where(X[:, 0] + X[:, 1] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
NUMBERS = X[:, 0] - X[:, 1] + 0.1 * RNG.normal(size=N)


def problem_of(loss, y, regularizer, unit=1.0):
    return Problem(FactorKernels(unit * X.T, np.arange(M + 1)), (loss.dual(y),), regularizer)


CASES = {
    "hinge, l1": (Hinge(1.0), LABELS, L1(3.0)),
    "hinge, l1.5": (Hinge(10.0), LABELS, Lp(1.5, 2.0)),
    "least squares, elastic net": (LeastSquares(1.0), NUMBERS, ElasticNet(2.0, 0.5)),
}


@pytest.mark.parametrize("case", CASES)
def test_no_other_scale_is_much_better(case):
    problem = problem_of(*CASES[case])
    start = natural_start(problem, None)
    assert np.ptp(start) == 0.0
    evaluate = PointSolver(problem, warm=False)
    others = [evaluate(t * start, 1e-6).upper for t in np.geomspace(1e-4, 1e4, 33)]
    assert evaluate(start, 1e-6).upper <= 1.3 * min(others)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_units_of_the_kernels_do_not_matter(unit):
    # An l1 norm in the same units: the same problem.
    here = problem_of(*CASES["hinge, l1"][:2], L1(3.0))
    there = problem_of(*CASES["hinge, l1"][:2], L1(3.0 * unit**2), unit)
    ratio = natural_start(there, None) * unit**2 / natural_start(here, None)
    np.testing.assert_allclose(ratio, 1.0, rtol=1e-3)


def test_a_given_start_is_made_feasible_and_sets_have_their_own():
    problem = problem_of(*CASES["hinge, l1"])
    assert natural_start(problem, np.array([1.0, -2.0, 0, 0, 0, 3])).tolist() == [1, 0, 0, 0, 0, 3]
    simplex = Problem(problem.kernel, problem.duals, NoRegularizer(), Simplex(2.0))
    np.testing.assert_allclose(natural_start(simplex, None), 2.0 / M)


def test_rows_that_stand_for_all_cost_as_much():
    dual = Hinge(2.0).dual(LABELS)
    half = dual.sample(np.arange(0, N, 2))
    assert half.loss(np.zeros(N // 2)) == pytest.approx(dual.loss(np.zeros(N)))
    ridge = LeastSquares(3.0).dual(np.tile(NUMBERS[:50], 2))
    some = ridge.sample(np.arange(50))
    K = X[:50] @ X[:50].T
    both = np.tile(K, (2, 2))
    whole, part = solve_dual(both, ridge), solve_dual(K, some)
    np.testing.assert_allclose(part.scores, whole.scores[:50], atol=1e-8)
    assert part.primal == pytest.approx(whole.primal)

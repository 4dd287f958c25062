"""Dual problems of all losses: against interior points, libsvm, and their own certificates."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from kernelpath.mkl.losses import EpsilonInsensitive, Hinge, HuberHinge, LeastSquares, SquaredHinge
from kernelpath.mkl.svm.dual import solve_dual

CLASSIFICATION = [Hinge(0.3), Hinge(20.0), SquaredHinge(3.0), HuberHinge(2.0, 0.2)]
REGRESSION = [
    EpsilonInsensitive(0.3, 0.1), EpsilonInsensitive(20.0, 0.2), EpsilonInsensitive(5.0, 0.0),
    EpsilonInsensitive(2.0, 0.1, ridge=0.3), LeastSquares(2.0),
]  # fmt: skip
LOSSES = CLASSIFICATION + REGRESSION


def table(loss, n=60, seed=0):
    """Kernel matrix and target for a loss."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    signal = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    y = np.where(signal > 0.2, 1.0, -1.0) if loss in CLASSIFICATION else signal
    return rbf_kernel(X, gamma=0.2), y


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_primal_and_dual_meet_at_the_value_of_interior_points(loss):
    saddles = pytest.importorskip("reference.saddles", reason="needs cvxpy")
    K, y = table(loss)
    problem = loss.dual(y)
    found = solve_dual(K, problem, tol=1e-9)
    assert found.dual == pytest.approx(saddles.dual_value(K, problem), rel=1e-6)
    assert found.primal == pytest.approx(saddles.primal_value(K, loss, y), rel=1e-6)
    assert found.gap < 1e-6


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("tol", [1.0, 1e-2, 1e-5])
def test_bounds_hold_at_any_tolerance(loss, tol):
    K, y = table(loss)
    problem = loss.dual(y)
    exact = solve_dual(K, problem, tol=1e-10).dual
    loose = solve_dual(K, problem, tol=tol)
    slack = 1e-9 * abs(exact)
    assert loose.dual <= exact + slack
    assert loose.primal >= exact - slack
    assert abs(loose.u.sum()) < 1e-9
    assert (loose.u >= problem.low).all()
    assert (loose.u <= problem.high).all()
    np.testing.assert_allclose(loose.scores, K @ loose.u + loose.bias, atol=1e-8)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_libsvm_agrees(C):
    K, y = table(CLASSIFICATION[0], n=120)
    found = solve_dual(K, Hinge(C).dual(y), tol=1e-8)
    machine = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    # libsvm keeps kernel values in single precision.
    np.testing.assert_allclose(found.scores, machine.decision_function(K), atol=1e-6 * C + 1e-5)
    K, y = table(REGRESSION[0], n=120)
    found = solve_dual(K, EpsilonInsensitive(C, 0.1).dual(y), tol=1e-8)
    machine = SVR(C=C, epsilon=0.1, kernel="precomputed", tol=1e-8).fit(K, y)
    np.testing.assert_allclose(found.scores, machine.predict(K), atol=1e-6 * C + 1e-5)


def test_weights_of_rows_are_repeated_rows():
    K, y = table(CLASSIFICATION[0], n=40)
    weight = np.arange(40) % 3
    rows = np.repeat(np.arange(40), weight)
    one = solve_dual(K, Hinge(2.0).dual(y, weight), tol=1e-9)
    many = solve_dual(K[np.ix_(rows, rows)], Hinge(2.0).dual(y[rows]), tol=1e-9)
    assert one.dual == pytest.approx(many.dual, rel=1e-8)
    with pytest.raises(ValueError, match="SquaredHinge takes no sample weights"):
        SquaredHinge().dual(y, weight)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_start_saves_steps_and_changes_nothing(loss):
    K, y = table(loss, n=150)
    problem = loss.dual(y)
    cold = solve_dual(K, problem, tol=1e-6)
    again = solve_dual(K, problem, tol=1e-6, start=cold.u)
    assert again.n_steps == 0
    near = solve_dual(1.05 * K, problem, tol=1e-6, start=cold.u)
    far = solve_dual(1.05 * K, problem, tol=1e-6)
    assert near.dual == pytest.approx(far.dual, rel=1e-5)
    assert near.n_steps <= far.n_steps


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_any_start_is_made_feasible(loss):
    K, y = table(loss, n=30)
    problem = loss.dual(y)
    for start in (np.full(30, 5.0), np.full(30, -5.0), np.random.default_rng(0).normal(size=30)):
        kept = start.copy()
        found = solve_dual(K, problem, tol=1e-7, start=start)
        assert found.dual == pytest.approx(solve_dual(K, problem, tol=1e-7).dual, rel=1e-5)
        np.testing.assert_array_equal(start, kept)


def test_steps_can_be_limited():
    K, y = table(CLASSIFICATION[0])
    problem = Hinge(10.0).dual(y)
    few = solve_dual(K, problem, tol=1e-9, max_steps=5)
    assert few.n_steps == 5
    assert few.gap > 1e-3
    assert few.dual < solve_dual(K, problem, tol=1e-9).dual


def test_single_precision_and_a_zero_kernel():
    K, y = table(CLASSIFICATION[0])
    problem = Hinge(1.0).dual(y)
    exact, rough = (solve_dual(k, problem, tol=1e-5) for k in (K, K.astype(np.float32)))
    assert rough.dual == pytest.approx(exact.dual, rel=1e-5)
    n_few = min((y > 0).sum(), (y < 0).sum())
    nothing = solve_dual(np.zeros_like(K), problem, tol=1e-9)
    assert nothing.dual == pytest.approx(2.0 * n_few)  # the bias alone
    assert nothing.gap < 1e-12

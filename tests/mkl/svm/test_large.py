"""Kernel matrices that are not arrays: the same machines as with arrays, for every loss."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpath.mkl.grams import CachedRows, Gram, LowRank, block, low_rank_inverse
from kernelpath.mkl.losses import EpsilonInsensitive, Hinge, HuberHinge, LeastSquares
from kernelpath.mkl.svm import blocks
from kernelpath.mkl.svm._smo import smo
from kernelpath.mkl.svm.blocks import slopes
from kernelpath.mkl.svm.dual import solve_dual, solve_systems, solve_without_kernel
from kernelpath.mkl.svm.smooth import solve_smooth
from mkl.svm.test_dual import CLASSIFICATION, LOSSES

N = 150
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 10))
SIGNAL = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RNG.normal(size=N)
FACTOR = np.vstack([X.T, np.square(X).T - 1.0])
SCALE = RNG.uniform(0.0, 0.3, size=len(FACTOR))
SCALE[3] = 0.0


def low_rank():
    return FACTOR.T @ (FACTOR * SCALE[:, None]), LowRank(FACTOR, SCALE)


def cached(n_kept=N):
    """A Gaussian kernel of single precision; both see the same numbers."""
    distance = np.square(X[:, None, :] - X[None, :, :]).sum(axis=-1)
    K = np.exp(-0.1 * distance).astype(np.float32)
    return K.astype(np.float64), CachedRows(N, lambda rows: K[rows], float(N), 4 * N * n_kept)


MAKERS = {"low rank": low_rank, "cached": cached, "small cache": lambda: cached(20)}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 50)
    monkeypatch.setattr("kernelpath.mkl.grams.TILE_ROWS", 16)


def target(loss):
    return np.where(SIGNAL > 0.2, 1.0, -1.0) if loss in CLASSIFICATION else SIGNAL


@pytest.mark.parametrize("name", MAKERS)
def test_parts_of_the_matrix(name):
    K, gram = MAKERS[name]()
    assert isinstance(gram, Gram)
    rows, columns = np.array([5, 100, 7]), np.arange(0, N, 3)
    np.testing.assert_allclose(gram.block(rows, columns), K[np.ix_(rows, columns)], atol=1e-12)
    np.testing.assert_allclose(block(gram, rows, rows), block(K, rows, rows), atol=1e-12)
    assert gram.trace() == pytest.approx(np.trace(K), rel=1e-6)
    u = RNG.normal(size=len(columns))
    u[4] = 0.0
    np.testing.assert_allclose(gram.times(u, columns), K[:, columns] @ u, atol=1e-10)
    every = RNG.normal(size=N)
    np.testing.assert_allclose(gram.times(every, np.arange(N)), K @ every, atol=1e-10)


def test_rows_are_computed_once_while_there_is_room():
    K, gram = cached()
    for _ in range(3):
        gram.block(np.array([3, 4, 3]), np.arange(N))
        gram.times(np.ones(2), np.array([4, 9]))
    assert gram.n_computed == 3
    K, gram = cached(20)
    for first in range(0, N, 10):  # more rows than there is room for
        some = np.arange(first, min(first + 10, N))
        np.testing.assert_array_equal(gram.block(some, np.arange(N)), K[some])
    assert gram.n_computed == N
    last = np.arange(N - 10, N)
    gram.block(last, last)
    assert gram.n_computed == N  # the latest are still there
    gram.block(np.arange(5), np.arange(5))
    assert gram.n_computed == N + 5  # the oldest are not


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("name", MAKERS)
def test_the_same_machine_as_with_an_array(name, loss):
    K, gram = MAKERS[name]()
    problem = loss.dual(target(loss))
    exact, found = (solve_dual(one, problem, tol=1e-8) for one in (K, gram))
    assert found.dual == pytest.approx(exact.dual, rel=1e-9)
    assert found.primal == pytest.approx(exact.primal, rel=1e-7)
    np.testing.assert_allclose(found.scores, exact.scores, atol=1e-5)
    np.testing.assert_allclose(found.scores, K @ found.u + found.bias, atol=1e-9)
    assert abs(found.u.sum()) < 1e-9
    assert (found.u >= problem.low).all()
    assert (found.u <= problem.high).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_tolerance_holds_for_all_rows(loss):
    K, gram = low_rank()
    problem = loss.dual(target(loss))
    found = solve_dual(gram, problem, tol=1e-3)
    up, down = slopes(problem, found.u, K @ found.u)
    assert down.max() - up.min() <= 1e-3 * (1 + 1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_start_saves_steps_and_changes_nothing(loss):
    _, gram = low_rank()
    near = LowRank(FACTOR, 1.05 * SCALE)
    problem = loss.dual(target(loss))
    cold = solve_dual(gram, problem, tol=1e-6)
    kept = cold.u.copy()
    assert solve_dual(gram, problem, tol=1e-6, start=cold.u).n_steps <= 1
    warm, anew = (solve_dual(near, problem, tol=1e-6, start=u) for u in (cold.u, None))
    assert warm.dual == pytest.approx(anew.dual, rel=1e-6)
    assert warm.n_steps <= anew.n_steps + 5
    np.testing.assert_array_equal(cold.u, kept)


def test_steps_can_be_limited():
    _, gram = low_rank()
    problem = LOSSES[1].dual(target(LOSSES[1]))
    few = solve_dual(gram, problem, tol=1e-9, max_steps=5)
    assert few.n_steps == 5
    assert few.gap > 1e-3


@pytest.mark.parametrize("balance", [-0.5, 0.0, 0.7])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_without_a_kernel(loss, balance):
    y = np.where(SIGNAL - balance > 0, 1.0, -1.0) if loss in CLASSIFICATION else SIGNAL + balance
    problem = loss.dual(y)
    found = solve_without_kernel(problem)
    slow = solve_dual(np.zeros((N, N)), problem, tol=1e-10)
    assert found.dual == pytest.approx(slow.dual, rel=1e-9)
    assert found.primal == pytest.approx(slow.primal, rel=1e-9)
    assert found.gap < 1e-12
    assert abs(found.u.sum()) < 1e-9
    nothing = solve_dual(LowRank(np.zeros((0, N)), np.zeros(0)), problem, tol=1e-9)
    assert nothing.dual == pytest.approx(slow.dual, rel=1e-8)


def test_without_a_kernel_rows_that_are_alike_are_treated_alike():
    y = np.where(np.arange(N) < N // 4, 1.0, -1.0)
    u = solve_without_kernel(CLASSIFICATION[0].dual(y)).u
    assert np.ptp(u[y > 0]) == 0.0
    assert np.ptp(u[y < 0]) < 1e-12


@pytest.mark.parametrize("loss", [one for one in LOSSES if getattr(one, "ridge", 0) > 0], ids=repr)
def test_smooth_losses_on_the_factor(loss):
    K, gram = low_rank()
    problem = loss.dual(target(loss))
    u, _ = solve_smooth(gram, problem, 1e-10, np.zeros(N), 0.0)
    exact = solve_dual(K, problem, tol=1e-10)
    np.testing.assert_allclose(u, exact.u, atol=1e-6)
    assert abs(u.sum()) < 1e-6


def test_the_inverse_by_a_factor():
    K, gram = low_rank()
    B = RNG.normal(size=(N, 2))
    for invert in (gram.inverse(0.3), low_rank_inverse(FACTOR * np.sqrt(SCALE)[:, None], 0.3)):
        np.testing.assert_allclose(invert(B), np.linalg.solve(K + 0.3 * np.eye(N), B), atol=1e-9)
    assert cached()[1].inverse(1.0) is None


# -- rows between their bounds ---------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Hinge(5.0), EpsilonInsensitive(5.0, 0.1), HuberHinge(5.0, 0.01)])
def test_free_rows_are_solved_together(loss):
    """A kernel of rank five leaves many rows alike: pairs crawl, all free rows together do not."""
    rng = np.random.default_rng(3)
    F = rng.normal(size=(5, 120)) * np.array([[30.0], [10.0], [3.0], [1.0], [0.1]])
    y = np.sign(F[3] + 0.5 * rng.normal(size=120))
    K, problem = F.T @ F, loss.dual(y)
    u, gradient = np.zeros(120), -problem.linear.copy()
    pairs, _, _ = smo(K, problem.linear, problem.low, problem.high, float(problem.kink),
                      float(problem.ridge), 1e-8, 100_000, u, gradient)  # fmt: skip
    found = solve_dual(K, problem, tol=1e-8)
    assert found.gap < 1e-8
    assert found.n_steps < 0.5 * pairs
    assert abs(found.u.sum()) < 1e-9
    assert (found.u >= problem.low).all()
    assert (found.u <= problem.high).all()
    assert found.dual >= problem.value(u, K @ u) - 1e-6 * abs(found.dual)


def test_several_targets_share_a_decomposition():
    rng = np.random.default_rng(5)
    F, Y = rng.normal(size=(10, 60)), rng.normal(size=(60, 4))
    problems = [LeastSquares(2.0).dual(y) for y in Y.T]
    together = solve_systems(F.T @ F, problems)
    for one, problem in zip(together, problems):
        alone = solve_dual(F.T @ F, problem)
        np.testing.assert_allclose(one.u, alone.u, atol=1e-10)
        assert one.gap < 1e-10
        system = F.T @ F @ one.u + 0.5 * one.u + one.bias
        np.testing.assert_allclose(system, problem.linear, atol=1e-9)

"""The path of the group lasso against cvxpy, its certificates, and what screening may leave out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernelpath.path_kernels.bank import KernelBank
from kernelpath.path_kernels.column_factors import ColumnFactors
from kernelpath.tables.table import as_column_table
from kernelpath.tracers.additive import _loops
from kernelpath.tracers.additive import screening as screening_module
from kernelpath.tracers.additive.problem import GroupLasso
from kernelpath.tracers.additive.screening import Screening, norms_of, spectral_bounds
from kernelpath.tracers.additive.trace import Tracer
from kernelpath.tracers.additive.working_set import WorkingSet
from reference.group_lasso import residuals, solve, violation

GRID = np.geomspace(1.0, 0.02, 12)


def problem_of(kind, n=40, d=8, ridge=0.0, seed=0, weighted=False):
    """Factors of some columns, and a target of one kind or of both."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    number = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    bank = KernelBank.fit(as_column_table(X), number, sample_weight=weight)
    factors = ColumnFactors.of(bank)
    classes = [np.where(number > cut, 1.0, -1.0) for cut in (0.2, 1.5, 2.5)]
    number = (number - number.mean()) / number.std()
    target, hinge = {
        "two classes": (classes[:1], [True]),
        "classes": (classes, [True] * 3),
        "numbers": ([number], [False]),
        "both": ([number / np.sqrt(2), classes[1] / np.sqrt(2)], [False, True]),
    }[kind]
    root = factors.root
    return GroupLasso(root * np.array(target), np.array(hinge), root, ridge), factors


def dense(problem, factors):
    rows, ptr = factors.rows(np.arange(factors.n_groups))
    each = [rows[a:b].T for a, b in itertools.pairwise(ptr)]
    return each, problem.target.T, problem.hinge, problem.root


KINDS = ("two classes", "classes", "numbers", "both")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("kind", KINDS)
def test_points_are_those_of_cvxpy(kind, ridge, weighted):
    problem, factors = problem_of(kind, ridge=ridge, weighted=weighted)
    found = Tracer(problem, factors, tol=1e-9).run(GRID, 99)
    assert max(found.gaps) <= 1e-9
    given = dense(problem, factors)
    for i in range(1, len(found.strengths), 5):
        value, norms, _ = solve(*given, found.strengths[i], ridge)
        assert found.values[i] == pytest.approx(value, rel=1e-6)
        mine = np.zeros(len(norms))
        mine[found.groups[i]] = found.norms[i]
        np.testing.assert_allclose(mine, norms, atol=1e-3)
        clear = (norms > 1e-3) | (norms < 1e-5)
        assert ((mine > 0) == (norms > 1e-4))[clear].all()


@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_zero_is_a_subgradient(kind, ridge):
    problem, factors = problem_of(kind, ridge=ridge, seed=3)
    given, target, hinge, root = dense(problem, factors)
    own = WorkingSet(problem, factors)
    own.add(np.arange(factors.n_groups))
    top = max(np.linalg.norm(G.T @ problem.start().T) for G in given)
    for strength in top * np.array([0.5, 0.1]):
        own.solve(strength, 1e-12)
        weights = [
            np.linalg.lstsq(G, (own._rows[a:b].T @ own.weights[a:b]), rcond=None)[0]
            for G, a, b in zip(given, own._ptr[:-1], own._ptr[1:])
        ]
        output = root[:, None] * own.intercepts + sum(G @ W for G, W in zip(given, weights))
        rest = residuals(target, output, hinge)
        np.testing.assert_allclose(rest, own.rest.T, atol=1e-9)
        turned = [own._rows[a:b].T for a, b in zip(own._ptr[:-1], own._ptr[1:])]
        parts = [own.weights[a:b] for a, b in zip(own._ptr[:-1], own._ptr[1:])]
        assert violation(turned, parts, rest, strength, ridge) < 1e-4 * strength
        assert own.kkt(strength) < 1e-4
        assert np.abs(root @ rest).max() < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_strength(kind):
    """Just above it nothing has a weight, just below it something has."""
    problem, factors = problem_of(kind)
    given = dense(problem, factors)
    top = float(Tracer(problem, factors, tol=1e-9).run(GRID[:1], 99).strengths[0])
    _, above, _ = solve(*given, 1.001 * top)
    _, below, _ = solve(*given, 0.99 * top)
    assert above.max() < 1e-4
    assert below.max() > 5e-4
    alone = [np.linalg.norm(G.T @ problem.start().T) for G in given[0]]
    assert top == pytest.approx(max(alone), rel=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_gaps_are_proved_by_all_groups(ridge):
    """The bound of every point is that of a dual point that all factors allow."""
    problem, factors = problem_of("two classes", d=300, ridge=ridge)
    found = Tracer(problem, factors, tol=1e-6).run(GRID, 30)
    assert max(found.gaps) <= 1e-6
    assert found.n_looked < 0.8 * len(found.strengths) * 300
    every = np.arange(300)
    for i in range(0, len(found.strengths), 7):
        strength = found.strengths[i]
        own = WorkingSet(problem, factors)
        own.add(every)
        solved = own.solve(strength, 1e-8)
        assert found.values[i] == pytest.approx(solved.value, rel=1e-6)
        assert found.values[i] * (1 - found.gaps[i]) <= solved.value * (1 + 1e-12)


def test_bounds_are_bounds():
    problem, factors = problem_of("classes", d=50)
    rows, ptr = factors.rows(np.arange(50))
    rng = np.random.default_rng(0)
    first = problem.start()
    screening = Screening(factors, first)
    singular = [np.linalg.norm(rows[a:b], 2) for a, b in itertools.pairwise(ptr)]
    assert (spectral_bounds(rows, ptr) >= np.array(singular) * (1 - 1e-12)).all()
    for size in (0.01, 0.1, 1.0):
        theta = first + size * rng.normal(size=first.shape) / 10
        exact = norms_of(rows, theta, ptr)
        level = float(np.median(exact))
        above = screening.above(theta, level, np.array([3]))
        assert above.tolist() == [k for k in np.flatnonzero(exact > level).tolist() if k != 3]
        np.testing.assert_allclose(screening.bounds[above], exact[above], rtol=1e-12)


def test_the_same_with_factors_kept_or_made_again(monkeypatch):
    problem, factors = problem_of("two classes", d=200)
    kept = Tracer(problem, factors, tol=1e-8).run(GRID, 30)
    monkeypatch.setattr(screening_module, "BLOCK", 5000)
    again = Tracer(problem, factors, tol=1e-8, stored=20_000).run(GRID, 30)
    np.testing.assert_allclose(kept.values, again.values, rtol=1e-8)
    for mine, other in zip(kept.groups, again.groups):
        assert mine.tolist() == other.tolist()


def test_sizes_between_points_are_located():
    problem, factors = problem_of("numbers", n=80, d=60)
    coarse = np.array([1.0, 0.2, 0.1])
    found = Tracer(problem, factors, tol=1e-8).run(coarse, 60)
    sizes = [len(groups) for groups in found.groups]
    assert len(sizes) > 10
    assert found.strengths == sorted(found.strengths, reverse=True)
    assert {0, 1, 2, 3} <= set(sizes)
    fine = Tracer(problem, factors, tol=1e-8).run(np.geomspace(1.0, 0.1, 300), 60)
    n = min(5, len(fine.groups[-1]))
    assert found.order()[:n].tolist() == fine.order()[:n].tolist()


def test_the_path_ends_with_enough():
    problem, factors = problem_of("two classes", n=60, d=100)
    found = Tracer(problem, factors, tol=1e-6).run(np.geomspace(1.0, 0.001, 100), 7)
    sizes = [len(groups) for groups in found.groups]
    assert sizes[-1] >= 7
    assert max(sizes[:-1]) < sizes[-1]


# -- the parts of a step -------------------------------------------------------------------------


def test_the_norm_of_a_step_solves_its_equation():
    norm_of_step = getattr(_loops.norm_of_step, "py_func", _loops.norm_of_step)
    rng = np.random.default_rng(1)
    for _ in range(50):
        m, v = rng.exponential(size=6) ** 3, rng.normal(size=6)
        strength = 0.9 * rng.random() * np.linalg.norm(v)
        t = norm_of_step(v**2, m, strength, 0.3)
        w = v * t / ((m + 0.3) * t + strength)
        assert np.linalg.norm(w) == pytest.approx(t, rel=1e-12)
    assert norm_of_step(np.array([4.0]), np.array([1.0]), 0.5, 0.0) == pytest.approx(1.5)


def test_intercepts_end_where_the_residuals_have_no_sum():
    rng = np.random.default_rng(2)
    root = np.sqrt(rng.dirichlet(np.ones(50)))
    target = root * np.where(rng.random((3, 50)) < 0.3, 1.0, -1.0)
    hinge = np.array([True, True, False])
    for size in (0.1, 3.0, 100.0):
        output = size * root * rng.normal(size=(3, 50))
        rest, before = np.empty_like(output), output.copy()
        shifts = _loops.set_intercepts(root, hinge, target, output, rest)
        np.testing.assert_allclose(output, before + np.outer(shifts, root), atol=1e-12 * size)
        assert np.abs(rest @ root).max() < 1e-12 * size


def test_balanced_points_are_feasible():
    problem, factors = problem_of("both")
    rng = np.random.default_rng(0)
    rest = problem.start() * rng.random(problem.target.shape)
    theta = problem.balanced(rest)
    assert np.abs(theta @ problem.root).max() < 1e-15
    assert (theta * problem.target)[problem.hinge].min() >= 0
    strength = 0.1
    _, _, output = solve(*dense(problem, factors), strength)
    rows, ptr = factors.rows(np.arange(factors.n_groups))
    best = problem.primal(residuals(problem.target.T, output, problem.hinge).T, np.zeros(1), 1.0)
    assert problem.dual(theta, norms_of(rows, theta, ptr), strength) < best + 10.0


def test_no_relevance_at_all():
    """Columns that no target depends on: the first strength may be tiny, and nothing breaks."""
    problem, factors = problem_of("numbers", d=2)
    null = GroupLasso(np.zeros_like(problem.target), problem.hinge, problem.root)
    found = Tracer(null, factors, tol=1e-6).run(GRID, 5)
    assert max(len(groups) for groups in found.groups) == 0
    assert max(found.gaps) == 0.0

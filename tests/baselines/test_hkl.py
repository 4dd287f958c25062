"""HKL against the whole lattice as one cone program, and as an estimator."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier

import kernelpath as kp
from kernelpath.baselines import HKL, hkl
from kernelpath.baselines._hkl_lattice import GaussianLattice, PolynomialLattice, parents, sources
from kernelpath.baselines._hkl_solver import ActiveSet, Hull
from reference import hkl as slow

RNG = np.random.default_rng(0)
BETA, ROOT = 2.0, 0.1


def standard(A):
    return (A - A.mean(axis=0)) / A.std(axis=0)


def table(n, d, seed=0):
    """Two features with an interaction, one with a bend, and others."""
    rng = np.random.default_rng(seed)
    Z = standard(rng.normal(size=(n, d)))
    y = Z[:, 0] + Z[:, 1] + 2.0 * Z[:, 0] * Z[:, 1] + Z[:, 2] ** 2 + 0.3 * rng.normal(size=n)
    return Z, standard(y)


def lattices(Z, kind):
    """The lattice, and the same by loops."""
    if kind == "gaussian":
        return GaussianLattice(Z, 1.0), [slow.gaussian_levels(z) for z in Z.T]
    return PolynomialLattice(Z, 2), [slow.polynomial_levels(z, 2) for z in Z.T]


def path_of(lattice, y, strengths, beta=BETA, root=ROOT, tol=1e-9, most=300):
    active = ActiveSet(Hull(lattice, y, beta, root), tol, most, most)
    return [active.solve(strength) for strength in strengths]


# -- the lattice ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gaussian", "polynomial"])
def test_kernels_by_loops(kind):
    Z, _ = table(15, 3)
    lattice, levels = lattices(Z, kind)
    for node, K in slow.all_kernels(levels).items():
        if not any(node):
            continue
        own = lattice.kernel(node)
        np.testing.assert_allclose(np.outer(own, own) if own.ndim == 1 else own, K, atol=1e-10)
        np.testing.assert_allclose(lattice.cross([node], [2.0], Z), 2.0 * K, atol=1e-10)
        stack = lattice.stack()
        stack.append(own)
        np.testing.assert_allclose(stack.combined(np.array([3.0])), 3.0 * K, atol=1e-10)


def test_sources_are_the_least_nodes_outside():
    nodes = [(1, 0, 0), (0, 1, 0), (2, 0, 0)]
    assert sources(nodes, 3, 2) == [(0, 0, 1), (0, 2, 0), (1, 1, 0)]
    assert sources(nodes, 3, 1) == [(0, 0, 1), (1, 1, 0)]
    assert sources([], 2, 1) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("kind", ["gaussian", "polynomial"])
def test_sums_over_descendants_by_loops(kind, monkeypatch):
    """Also over blocks of rows, and where a factor of the product is exactly 0."""
    Z, _ = table(12, 3)
    lattice, levels = lattices(Z, kind)
    if kind == "gaussian":
        lattice._matrices[1][2, 4] = lattice._matrices[1][4, 2] = -((1.0 + BETA) ** 2)
        levels[1][1] = lattice._matrices[1]
    kernels = slow.all_kernels(levels)
    dual = standard(RNG.normal(size=12))
    nodes = [node for node in kernels if any(node)]
    for block in (2**23, 50):
        monkeypatch.setattr("kernelpath.baselines._hkl_lattice.BLOCK", block)
        found = lattice.with_descendants(nodes, dual, BETA)
        expected = [slow.sum_over_descendants(kernels, t, dual, BETA, ROOT) for t in nodes]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        own = [dual @ kernels[t] @ dual / BETA ** (2 * sum(t)) for t in nodes]
        np.testing.assert_allclose(lattice.own(nodes, dual, BETA), own, rtol=1e-9, atol=1e-10)


# -- the whole lattice as one problem -------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "n", "d", "beta", "root"),
    [
        ("gaussian", 16, 4, 2.0, 0.1),
        ("gaussian", 14, 3, 1.0, 1.0),
        ("gaussian", 14, 3, 1.5, 0.0),
        ("gaussian", 8, 6, 1.2, 0.1),
        ("polynomial", 20, 3, 2.0, 0.1),
        ("polynomial", 20, 3, 1.0, 1.0),
        ("polynomial", 16, 4, 1.5, 0.0),
    ],
)
def test_the_optimum_over_all_kernels(kind, n, d, beta, root):
    Z, y = table(n, d, seed=n)
    lattice, levels = lattices(Z, kind)
    kernels = slow.all_kernels(levels)
    strengths = [0.5, 0.03, 0.002]
    for strength, point in zip(strengths, path_of(lattice, y, strengths, beta, root)):
        value, norms = slow.optimum(kernels, y, strength, beta, root)
        assert point.value == pytest.approx(value, abs=1e-8)
        assert point.value - point.gap <= value + 1e-9
        largest = max(norms.values())
        chosen = {v for v, norm in norms.items() if any(v) and norm > 3e-6 * largest}
        assert set(point.nodes) == chosen


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["gaussian", "polynomial"]), st.booleans())
def test_properties_of_a_path(seed, kind, few):
    Z, y = table(10 if few else 30, 5, seed)
    lattice, _ = lattices(Z, kind)
    strengths = np.geomspace(1.0, 1e-3, 6)
    points = path_of(lattice, y, strengths, tol=1e-4)
    for point in points:
        for node in point.nodes:
            assert all(one in point.nodes or not any(one) for one in parents(node))
        assert (point.zeta > 0).all()
        assert 0 <= point.gap <= 1e-4 * point.value
    values = np.array([point.value for point in points])
    losses = [np.mean((len(y) * p.strength * p.dual) ** 2) / 2 for p in points]
    assert (np.diff(values) < 0).all()
    assert (np.diff(losses) < 1e-6).all()
    # The optimum is concave in the strength, as the least of linear functions.
    slopes = np.diff(values) / np.diff(strengths)
    assert (np.diff(slopes) > -1e-3).all()


@pytest.mark.parametrize("kind", ["gaussian", "polynomial"])
def test_the_bound_is_one_for_all_kernels(kind):
    """The conditions bound the dual norm over the whole lattice, also far from the optimum."""
    Z, y = table(12, 3, seed=4)
    lattice, levels = lattices(Z, kind)
    kernels = slow.all_kernels(levels)
    hull = Hull(lattice, y, BETA, ROOT)
    rng, tight = np.random.default_rng(1), []
    for _ in range(3):
        x = rng.dirichlet(np.ones(len(hull.nodes)))
        state = hull.at(x, 0.05 * len(y))
        outside = hull.sources([])
        bound = max(
            state.loads.max(), lattice.with_descendants(outside, state.dual, BETA).max(initial=0.0)
        )
        norm = slow.squared_dual_norm(kernels, state.dual, BETA, ROOT)
        assert bound >= norm * (1 - 1e-6)
        tight.append(bound / norm)
        for node in {outside[0], outside[-1]}:
            hull.add(node)
    assert min(tight) < 3.0


def test_slopes_and_curvature_by_differences():
    Z, y = table(15, 3, seed=2)
    hull = Hull(GaussianLattice(Z, 1.0), y, BETA, ROOT)
    for node in [(1, 0, 0), (0, 1, 0), (1, 1, 0)]:
        hull.add(node)
    x, ridge, step = np.array([0.4, 0.3, 0.2, 0.1]), 0.6, 1e-5

    def slopes(x):
        return -0.5 * ridge / len(y) * hull.at(x, ridge).loads

    for j in range(4):
        move = step * np.eye(4)[j]
        change = hull.at(x + move, ridge).value - hull.at(x - move, ridge).value
        assert slopes(x)[j] == pytest.approx(change / (2 * step), rel=1e-5)
    H = np.array([(slopes(x + step * e) - slopes(x - step * e)) / (2 * step) for e in np.eye(4)])
    barrier = 1e-3
    matrix = np.zeros((5, 5))
    matrix[:4, :4] = x[:, None] * H * x + barrier * np.eye(4)
    matrix[4, :4] = matrix[:4, 4] = x
    expected = np.linalg.solve(matrix, np.append(barrier - x * slopes(x), 0.0))[:4]
    np.testing.assert_allclose(hull.newton(hull.at(x, ridge), ridge, barrier), expected, rtol=1e-4)


def test_rows_left_out_by_leaving_them_out():
    Z, y = table(14, 3, seed=3)
    lattice = GaussianLattice(Z, 1.0)
    (point,) = path_of(lattice, y, [0.01])
    K = lattice.cross(point.nodes, point.zeta, Z)
    for i in range(14):
        rest = np.delete(np.arange(14), i)
        A = np.zeros((14, 14))
        A[:13, :13] = K[np.ix_(rest, rest)] + 14 * 0.01 * np.eye(13)
        A[13, :13] = A[:13, 13] = 1.0
        found = np.linalg.solve(A, np.append(y[rest], 0.0))
        assert point.errors[i] == pytest.approx(y[i] - K[i, rest] @ found[:13] - found[13])


# -- as an estimator ------------------------------------------------------------------------------

N, D = 80, 6
X = np.random.default_rng(5).normal(size=(N, D)) * np.geomspace(0.1, 10.0, D) + 3.0
U = standard(X)
VALUES = 30.0 + 5.0 * (U[:, 1] + U[:, 4] + 2.0 * U[:, 1] * U[:, 4])
LABELS = np.where(U[:, 1] * U[:, 4] + 0.5 * U[:, 1] > 0, "yes", "no")


def test_what_a_fit_leaves(tmp_path):
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(D)])
    model = HKL().fit(frame, VALUES)
    path = model.path_
    assert path.method == "hkl"
    assert len(path) == len(model.leave_one_out_) == len(model.n_kernels_)
    assert (path.gaps <= 1e-3 * path.values).all()
    assert (np.diff(path.parameters) < 0).all()
    assert (model.n_explored_ >= model.n_kernels_).all()
    assert set(path.at(n_features=2).names) == {"gene 1", "gene 4"}
    np.testing.assert_allclose(path[0].weights[path[0].support].max(), 1.0, atol=0.6)
    table = model.kernels()
    assert {"gene 1", "gene 4", "gene 1 gene 4"} <= set(table.kernel)
    assert table.weight.sum() == pytest.approx(1.0)
    held = table.kernel.str.contains("gene 4")
    assert model.weights_[4] == pytest.approx(table.weight[held].sum())
    path.save(tmp_path / "path.kpath")
    assert kp.load_path(tmp_path / "path.kpath") == path
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert clone(model).get_params() == model.get_params()
    assert model.transform(frame).shape == (N, model.support_.sum())


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_predictions(kernel):
    model = HKL(lattice=kernel).fit(X[:60], VALUES[:60])
    error = np.mean((model.predict(X[60:]) - VALUES[60:]) ** 2)
    assert error < 0.2 * VALUES.var()
    assert model.score(X[60:], VALUES[60:]) == pytest.approx(1 - error / VALUES[60:].var())
    residual = VALUES[:60] - model.predict(X[:60])
    expected = model._unit * 60 * model.path_[model.position_].parameter
    np.testing.assert_allclose(
        residual, expected * model._points[model.position_].dual, atol=1e-8 * VALUES.std()
    )
    np.testing.assert_array_equal(
        model.predict(X[60:]), model.predict(X[60:], position=model.position_)
    )
    assert np.isfinite(model.predict(X[:2] * 1e3)).all()


def test_two_classes():
    model = HKL().fit(X, LABELS)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, LABELS) == np.mean(model.predict(X) == LABELS) > 0.9
    assert model.support_[[1, 4]].all()
    other = HKL().fit(X, LABELS == "no")
    np.testing.assert_allclose(other.decision_function(X), -model.decision_function(X), atol=1e-6)
    assert not hasattr(model.fit(X, VALUES), "classes_")


def test_three_classes_one_by_one():
    y = np.array(["a", "b", "c"])[np.digitize(U[:, 1], [-0.5, 0.5])]
    model = OneVsRestClassifier(HKL(strengths=10)).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.8


def test_order_and_units_do_not_matter():
    shuffled = np.random.default_rng(1).permutation(D)
    here, there = HKL().fit(X, VALUES), HKL().fit(100 - 3 * X[:, shuffled], 1e3 * VALUES - 7)
    np.testing.assert_allclose(here.weights_[shuffled], there.weights_, atol=1e-6)
    np.testing.assert_array_equal(
        here.path_.supports.toarray()[:, shuffled], there.path_.supports.toarray()
    )
    np.testing.assert_allclose(1e6 * here.leave_one_out_, there.leave_one_out_, rtol=1e-5)
    np.testing.assert_array_equal(
        HKL().fit(sparse.csr_array(X), VALUES).path_.weights.toarray(),
        here.path_.weights.toarray(),
    )


def test_columns_that_tell_nothing_or_the_same():
    A = np.column_stack([np.full(N, 3.0), X, -2.0 * X[:, 1]])
    with pytest.warns(UserWarning, match="Column 0 is constant"):
        model = HKL().fit(A, VALUES)
    np.testing.assert_allclose(model.weights_[1:-1], HKL().fit(X, VALUES).weights_)
    assert model.weights_[[0, -1]].tolist() == [0.0, 0.0]
    assert [one.tolist() for one in model.ties_] == [[2, 7]]
    few = np.where(X > 3.0, 1.0, 0.0)  # two values have one polynomial
    names = HKL(lattice="polynomial").fit(few, VALUES).kernels(24).kernel
    assert not names.str.contains("^", regex=False).any()


def test_missing_values_stand_at_the_median():
    A = X.copy()
    A[::7, 2] = np.nan
    filled = np.where(np.isnan(A), np.nanmedian(A, axis=0), A)
    model, expected = HKL(strengths=8).fit(A, VALUES), HKL(strengths=8).fit(filled, VALUES)
    np.testing.assert_array_equal(model.predict(A), expected.predict(filled))


def test_where_the_path_ends():
    few = HKL(2).fit(X, VALUES)
    assert few.end_ == "features"
    assert few.path_.n_selected.max() == 2
    whole = HKL().fit(X, VALUES)
    np.testing.assert_allclose(few.path_.values, whole.path_.values[: len(few.path_)])
    assert whole.end_ == "strengths"
    full = HKL(max_kernels=8, beta=1.0).fit(X, VALUES)
    assert full.end_ == "kernels"
    assert len(full.path_) < 25
    two = HKL([1, 2], strengths=[1e-5, 0.1, 0.01]).fit(X, VALUES)
    assert two.path_.parameters.tolist() == [0.1, 0.01]
    with pytest.warns(kp.errors.FewerFeaturesWarning, match="more than the 1 asked for"):
        HKL(1, strengths=[1e-3]).fit(X, VALUES)
    with pytest.raises(kp.DataError, match="more than 3 kernels for the first point"):
        HKL(max_kernels=3).fit(X, VALUES)


def test_a_default_for_more_columns():
    assert HKL()._beta(10) == HKL()._beta(13) == 2.0
    for d in (14, 32, 500):
        assert (1 + (1 + HKL()._beta(d)) ** -2) ** d == pytest.approx(4.0)
    assert HKL(beta=3).fit(X, VALUES).beta_ == 3.0


def test_an_interaction_with_weak_parts():
    """Main effects alone explain hardly anything; the product, chosen after them, does."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(150, 8))
    y = A[:, 2] * A[:, 6] + 0.2 * A[:, 2] + 0.2 * rng.normal(size=150)
    model = HKL(lattice="polynomial", beta=2.0, strengths=10).fit(A, y)
    assert set(model.path_.at(n_features=2).names) == {"x2", "x6"}
    assert "x2 x6" in set(model.kernels().kernel)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (HKL(lattice="rbf"), "lattice must be one of"),
        (HKL(sigma=0.0), "sigma must be a number from 0.01 to 100"),
        (HKL(lattice="polynomial", sigma=2.0), "sigma=2.0 has no effect"),
        (HKL(degree=2), "degree=2 has no effect with lattice='gaussian'"),
        (HKL(lattice="polynomial", degree=0), "degree must be"),
        (HKL(beta=0.5), "beta must be"),
        (HKL(beta="aut"), "did you mean 'auto'"),
        (HKL(root_weight=-1.0), "root_weight must be"),
        (HKL(strengths=0), "strengths must be"),
        (HKL(strengths=[]), "strengths must be a whole number or several numbers"),
        (HKL(strengths=[0.1, -1.0]), "strengths must be"),
        (HKL(max_kernels=0), "max_kernels must be"),
        (HKL(tol=0.5), "tol must be"),
        (HKL(task="numbers"), "task must be one of"),
        (HKL(0), "n_features_to_select must be at least 1"),
        (HKL(D + 1), f"at most {D}, the number of columns"),
        (HKL("al"), "did you mean 'all'"),
    ],
)
def test_bad_settings(model, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        model.fit(X, VALUES)


def test_tables_that_are_refused(monkeypatch):
    with pytest.raises(kp.DataError, match="two classes, but y has 3 classes; keep the rows"):
        HKL(task="classification").fit(X, np.arange(N) % 3)
    with pytest.raises(kp.DataError, match="but y has 4 classes"):
        HKL().fit(X, np.array(["a", "b", "c", "d"])[np.arange(N) % 4])
    with pytest.raises(kp.DataError, match="one class only"):
        HKL().fit(X, np.repeat("a", N))
    with pytest.raises(kp.DataError, match="constant"):
        HKL(task="regression").fit(X, np.ones(N))
    with pytest.raises(kp.DataError, match="at least 3 rows"):
        HKL().fit(X[:2], [0.5, 1.7])
    with pytest.raises(kp.DataError, match="at most 1,000 rows, and there are 1,001; draw"):
        HKL().fit(np.ones((1001, 2)), np.ones(1001))
    monkeypatch.setattr(hkl, "MOST_NUMBERS", 5 * N * N)
    with pytest.raises(kp.DataError, match="at most 5 columns with 80 rows, and there are 6"):
        HKL().fit(X, VALUES)
    assert kp.methods().loc["hkl", "most_rows"] == hkl.MOST_ROWS

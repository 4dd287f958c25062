"""CenteredKTA against a dense program, the rule of GMKL, and cvxpy; Uniform."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.svm import SVC

import kernelpath as kp
from baseline_examples import LABELS, STANDARD, THREE, VALUES, D, N, X, Z, against_the_rest
from kernelpath.baselines import CenteredKTA, Uniform
from kernelpath.baselines.centered_kta import GaussianProducts, best_aligned
from reference import hsic as slow

TARGETS = {"two": LABELS, "three": THREE, "numbers": VALUES}


def kernels(kernel):
    """Centred kernel matrices of trace 1."""
    H = np.eye(N) - 1.0 / N
    plain = [np.outer(z, z) if kernel == "linear" else slow.gaussian(z) for z in Z.T]
    return [H @ K @ H / np.trace(H @ K @ H) for K in plain]


def target_kernel(y):
    columns = [STANDARD] if y is VALUES else [LABELS] if y is LABELS else against_the_rest(y)
    return sum(np.outer(c - c.mean(), c - c.mean()) for c in columns)


def dense(kernel, y):
    """M and a of all kernels, and the weights by non-negative least squares."""
    each, L = kernels(kernel), target_kernel(y)
    M = np.array([[np.sum(K * other) for other in each] for K in each])
    a = np.array([np.sum(K * L) for K in each])
    root = np.linalg.cholesky(M + 1e-15 * np.trace(M) * np.eye(D)).T
    v = nnls(root, np.linalg.solve(root.T, a))[0]
    return M, a, v / v.sum()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("kind", TARGETS)
def test_weights_by_non_negative_least_squares(kind, kernel):
    y = TARGETS[kind]
    M, a, expected = dense(kernel, y)
    found = CenteredKTA("all", kernel).fit(X, y)
    np.testing.assert_allclose(found.scores_, expected, atol=1e-6)
    assert found.kkt_ < 1e-9
    L = target_kernel(y)
    alignment = a @ expected / np.sqrt(expected @ M @ expected) / np.linalg.norm(L)
    assert found.alignment_ == pytest.approx(alignment, rel=1e-7)
    assert 1 <= np.count_nonzero(found.scores_) < D
    # The certificate by the matrices: slopes of weights are 0, of the others not positive.
    left = a - M @ expected * (a @ expected) / (expected @ M @ expected)
    held = found.scores_ > 0
    assert np.abs(left[held]).max() < 1e-6 * a.max()
    assert left[~held].max() < 1e-6 * a.max()


def test_no_other_weights_are_better_aligned():
    each, L = kernels("rbf"), target_kernel(VALUES)
    found = CenteredKTA("all").fit(X, VALUES)

    def alignment(v):
        K = sum(weight * one for weight, one in zip(v, each))
        return np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)

    assert alignment(found.scores_) == pytest.approx(found.alignment_, rel=1e-7)
    rng = np.random.default_rng(0)
    others = [*np.eye(D), *rng.dirichlet(np.full(D, 0.3), size=100),
              *np.abs(found.scores_ + 0.01 * rng.normal(size=(100, D)))]  # fmt: skip
    assert max(map(alignment, others)) <= found.alignment_ + 1e-12
    v = cp.Variable(D, nonneg=True)
    M, a, _ = dense("rbf", VALUES)
    scale = np.abs(M).max()
    problem = cp.quad_form(v, cp.psd_wrap(M / scale)) - 2 * v @ (a / a.max())
    cp.Problem(cp.Minimize(problem)).solve(solver="CLARABEL")
    np.testing.assert_allclose(found.scores_, v.value / v.value.sum(), atol=1e-5)


@pytest.mark.parametrize("y", [LABELS, THREE], ids=["two", "three"])
def test_as_the_rule_of_gmkl(y):
    """The preset of GMKL has the eigenvectors of the whole matrix, and kernels of another size."""
    model = kp.GMKLClassifier.preset("centered_kta").fit(Z, y)
    found = CenteredKTA("all").fit(X, y).scores_
    assert set(np.flatnonzero(model.weights_ > 1e-6)) == set(np.flatnonzero(found > 1e-6))


@given(st.integers(0, 2**31), st.integers(1, 12))
def test_the_program_of_random_factors(seed, n_kernels):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_kernels, 20, 2))
    each = [F @ F.T / np.linalg.norm(F @ F.T) for F in factors]
    M = np.array([[np.sum(K * other) for other in each] for K in each])
    y = rng.normal(size=20)
    a = np.sort([y @ K @ y for K in each])[::-1]
    each_sorted = sorted(range(n_kernels), key=lambda k: -(y @ each[k] @ y))
    M = M[np.ix_(each_sorted, each_sorted)]
    found = best_aligned(a, lambda k, start, stop: M[k, start:stop])
    v = np.zeros(n_kernels)
    v[found.columns] = found.weights
    left = a - M @ v
    assert (v >= 0).all()
    assert left.max() <= 1e-9 * a[0]
    assert np.abs(left[v > 0]).max() <= 1e-9 * a[0]
    np.testing.assert_allclose(found.left, left, atol=1e-9 * a[0])


@pytest.mark.parametrize("together", [1, 2, 4, 100])
def test_rows_that_are_made_together(together, monkeypatch):
    order = np.random.default_rng(0).permutation(D)
    G, _ = slow.problem(Z, slow.same_class(LABELS))
    monkeypatch.setattr("kernelpath.baselines.centered_kta.STRETCH", 3)
    for stored in (0, 10**9):
        monkeypatch.setattr("kernelpath.baselines.centered_kta.STORED", stored)
        products = GaussianProducts(Z, order, together)
        for k, start, stop in ((0, 0, 3), (2, 3, 5), (4, 0, 5), (1, 2, 9), (8, 0, 9), (5, 4, 4)):
            expected = G[np.ix_(order, order)][k, start:stop]
            np.testing.assert_allclose(products(k, start, stop), expected, atol=1e-7)


def test_copies_share_nothing():
    """A copy has no weight, and is ranked after what has one."""
    A = np.column_stack([X, X[:, 5], 3.0 * X[:, 1] - 1.0])
    for kernel in ("rbf", "linear"):
        here, there = CenteredKTA("all", kernel).fit(X, VALUES), CenteredKTA("all", kernel)
        there.fit(A, VALUES)
        np.testing.assert_allclose(there.alignment_, here.alignment_, rtol=1e-8)
        np.testing.assert_allclose(there.scores_[[5, 1]] + there.scores_[[9, 10]],
                                   here.scores_[[5, 1]], atol=1e-6)  # fmt: skip


# -- uniform --------------------------------------------------------------------------------------


def test_one_point_of_all_columns():
    for y in TARGETS.values():
        path = Uniform().fit(X, y).path_
        assert path.n_selected.tolist() == [D]
        np.testing.assert_array_equal(path[0].weights, np.full(D, 1.0 / D))


def test_the_machine_on_the_uniform_sum():
    """What PathCV fits is the machine on the sum of all kernels: as with equal weights of GMKL."""
    model = kp.PathCV(Uniform(), predictor=kp.WeightedKernelSVM(C=1.0), cv=3, references=False).fit(
        X, LABELS
    )
    assert model.scores_.n_features.tolist() == [D]
    K = sum(kernels("rbf"))
    K = K / np.mean(np.diag(K))
    twin = SVC(C=1.0, kernel="precomputed", tol=1e-6).fit(K, LABELS).decision_function(K)
    np.testing.assert_allclose(model.decision_function(X), twin, atol=1e-2)


def test_budgets_go_by_column():
    selector = Uniform([2, 5]).fit(X, LABELS)
    assert [point.names for point in selector.path_] == [
        ("x0", "x1"), ("x0", "x1", "x2", "x3", "x4"),
    ]  # fmt: skip

"""Sums of kernels of columns: against whole matrices, for old rows and new ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kernelpath as kp
from kernelpath.kernels.feature import RBF, Delta, Laplace, Linear, Polynomial
from kernelpath.mkl.weighted_kernels import columns as parts_module
from kernelpath.mkl.weighted_kernels.base import SumKernel
from kernelpath.mkl.weighted_kernels.columns import ColumnKernel, SumOfColumnKernels, one_per_column
from kernelpath.mkl.weighted_kernels.published import simple_mkl_parts

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0] + [0.0, 1e4, 5.0, 0.0, 0.0]
X[:, 3] = RNG.integers(0, 4, size=N)
X[:, 4] = 7.0
KINDS = {
    "rbf": ColumnKernel(RBF(), (0,), 0.5),
    "wide rbf": ColumnKernel(RBF(), (1,), 1e-5),
    "narrow rbf": ColumnKernel(RBF(), (0,), 5e3),
    "laplace": ColumnKernel(Laplace(), (1,), 0.1),
    "delta": ColumnKernel(Delta(), (3,), 1.0),
    "linear": ColumnKernel(Linear(), (2,), 100.0),
    "cubic": ColumnKernel(Polynomial(degree=3), (0,), 1.0),
    "rbf of all": ColumnKernel(RBF(), (0, 1, 2), 0.01),
    "quadratic of all": ColumnKernel(Polynomial(degree=2), (0, 2), 1.0),
}


def centred(part, rows=X, new=None):
    """Kernel between rows (and new ones), from its formula, centred and scaled by all rows."""
    middle = rows.mean(axis=0)
    n = len(rows)

    def raw(A, B):
        K = np.empty((len(A), len(B)))
        for i, a in enumerate(A[:, part.columns] - middle[list(part.columns)]):
            for j, b in enumerate(B[:, part.columns] - middle[list(part.columns)]):
                name = part.kernel.name
                if name == "rbf":
                    K[i, j] = np.exp(-part.gamma * np.sum((a - b) ** 2))
                elif name == "laplace":
                    K[i, j] = np.exp(-part.gamma * np.abs(a - b).sum())
                elif name == "delta":
                    K[i, j] = float(a[0] == b[0])
                else:
                    K[i, j] = (part.kernel.coef0 + part.gamma * a @ b) ** part.kernel.degree
        return K

    K = raw(rows, rows)
    H = np.eye(n) - 1.0 / n
    scale = n / np.trace(H @ K @ H)
    if new is None:
        return scale * H @ K @ H
    return scale * (raw(new, rows) - K.mean(axis=0)) @ H


@pytest.mark.parametrize("name", KINDS)
def test_one_part(name):
    part = KINDS[name]
    kernel = SumOfColumnKernels(X, [part])
    expected = centred(part)
    assert isinstance(kernel, SumKernel)
    found = kernel.gram(np.ones(1))
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert found.trace() == pytest.approx(N)
    U = RNG.normal(size=(N, 2))
    U -= U.mean(axis=0)
    np.testing.assert_allclose(kernel.quad(U), np.trace(U.T @ expected @ U), rtol=1e-7)
    np.testing.assert_allclose(kernel.times(np.array([0]), U[:, 0])[:, 0], expected @ U[:, 0],
                               atol=1e-6)  # fmt: skip
    new = X[:7] + RNG.normal(size=(7, 5)) * [0.3, 3.0, 0.03, 0.0, 0.0]
    expected_new = centred(part, new=new) @ U
    np.testing.assert_allclose(
        kernel.cross_times(np.full(1, 2.0), new, U), 2.0 * expected_new, atol=1e-6
    )


def test_many_parts_together():
    kernel = SumOfColumnKernels(X, list(KINDS.values()))
    weights = RNG.uniform(0, 1, size=len(KINDS))
    weights[2] = 0.0
    whole = sum(w * centred(part) for w, part in zip(weights, KINDS.values()))
    np.testing.assert_allclose(kernel.gram(weights), whole, atol=1e-6)
    u = RNG.normal(size=N)
    u -= u.mean()
    np.testing.assert_allclose(kernel.cross_times(weights, X, u)[:, 0], whole @ u, atol=1e-5)
    few = kernel.restrict(np.array([7, 0]))
    np.testing.assert_allclose(
        few.gram(np.ones(2)), centred(KINDS["rbf of all"]) + centred(KINDS["rbf"]), atol=1e-7
    )


def test_constant_columns_explain_nothing():
    everything = simple_mkl_parts(X, together=False)
    kernel = SumOfColumnKernels(X, everything)
    np.testing.assert_array_equal(
        np.flatnonzero(kernel.constant),
        [k for k, part in enumerate(everything) if part.columns == (4,)],
    )
    u = RNG.normal(size=N)
    quad = kernel.quad(u - u.mean())
    np.testing.assert_array_equal(quad[kernel.constant], 0.0)
    assert (quad[~kernel.constant] > 0).all()
    alone = SumOfColumnKernels(X, [ColumnKernel(RBF(), (4, 4), 1.0)])  # as a matrix
    assert alone.constant.all()
    np.testing.assert_array_equal(alone.gram(np.ones(1)), 0.0)


def test_ranks_do_not_grow_with_the_rows():
    rows = RNG.normal(size=(3000, 2))
    few, many = (
        SumOfColumnKernels(some, one_per_column(some, RBF())).nbytes / len(some)
        for some in (rows[:300], rows)
    )
    assert many < 2 * few


def test_categories_get_their_own_kernel():
    made = one_per_column(X, RBF(), categorical=np.array([False, False, False, True, False]))
    assert [part.kernel.name for part in made] == ["rbf", "rbf", "rbf", "delta", "rbf"]
    assert made[1].gamma == pytest.approx(0.5 / X[:, 1].var())


def test_recipe_of_the_paper():
    made = simple_mkl_parts(X)
    assert len(made) == 13 * 6
    assert [part.kernel.name for part in made[:13]] == ["rbf"] * 10 + ["polynomial"] * 3
    assert made[-1].columns == (0, 1, 2, 3, 4)
    assert SumOfColumnKernels(X, made).n_kernels == 78


def test_what_is_refused(monkeypatch):
    with pytest.raises(kp.DataError, match="no kernel to combine"):
        SumOfColumnKernels(X, [])
    with pytest.raises(ValueError, match="takes one column"):
        SumOfColumnKernels(X, [ColumnKernel(Laplace(), (0, 1), 1.0)])
    monkeypatch.setattr(parts_module, "MOST_DENSE_ROWS", 50)
    with pytest.raises(kp.DataError, match="column 1 has a high rank"):
        SumOfColumnKernels(X, [KINDS["laplace"]])
    with pytest.raises(kp.DataError, match="3 columns has a high rank"):
        SumOfColumnKernels(X, [KINDS["rbf of all"]])


@pytest.mark.parametrize("kernel", [RBF(), Laplace(), Delta(), Linear()], ids=lambda k: k.name)
def test_two_values_have_rank_one(kernel):
    rows = np.where(RNG.uniform(size=(N, 1)) < 0.2, 1.0, -3.0)
    part = ColumnKernel(kernel, (0,), 0.7)
    one = SumOfColumnKernels(rows, [part])
    assert one.nbytes == N * 8
    np.testing.assert_allclose(one.gram(np.ones(1)), centred(part, rows), atol=1e-9)
    u = RNG.normal(size=N)
    u -= u.mean()
    new = np.array([[1.0], [-3.0], [0.5]])
    if kernel.name != "delta":  # new values have a place
        expected = centred(part, rows, new) @ u
        np.testing.assert_allclose(one.cross_times(np.ones(1), new[:2], u)[:, 0], expected[:2],
                                   atol=1e-8)  # fmt: skip


@pytest.mark.parametrize("name", ["laplace", "rbf of all", "quadratic of all", "narrow rbf"])
def test_landmarks(name, monkeypatch):
    monkeypatch.setattr(parts_module, "MOST_DENSE_ROWS", 50)  # no matrix is made
    part, every = KINDS[name], centred(KINDS[name])
    lost = []
    for n_landmarks in (5, 20, N):
        rough = SumOfColumnKernels(X, [part], nystrom=n_landmarks)
        K = rough.gram(np.ones(1))
        assert np.linalg.matrix_rank(K, tol=1e-8) <= n_landmarks
        assert K.trace() == pytest.approx(N)
        lost.append(rough.left_out[0])
    np.testing.assert_allclose(K, every, atol=1e-6)  # all rows as landmarks: nothing is lost
    assert 1 >= lost[0] >= lost[1] >= lost[2] == 0.0
    assert lost[0] > 0.0
    u = RNG.normal(size=N)
    u -= u.mean()
    rough = SumOfColumnKernels(X, [part], nystrom=20)
    again = rough.cross_times(np.ones(1), X, u)[:, 0]
    np.testing.assert_allclose(again, rough.gram(np.ones(1)) @ u, atol=1e-6)


def test_landmarks_are_those_of_the_formula():
    part, n_landmarks = KINDS["laplace"], 8
    rough = SumOfColumnKernels(X, [part], nystrom=n_landmarks)
    points = rough._maps[0].points
    x = X[:, [1]] - X[:, 1].mean()
    K, inner = part.gram(x, points), part.gram(points, points)
    whole = K @ np.linalg.solve(inner, K.T)
    assert rough.left_out[0] == pytest.approx(1.0 - np.trace(whole) / N)
    H = np.eye(N) - 1.0 / N
    whole = H @ whole @ H
    np.testing.assert_allclose(rough.gram(np.ones(1)), whole * N / np.trace(whole), atol=1e-8)


def test_landmarks_only_where_they_are_needed():
    with_limit = SumOfColumnKernels(X, [KINDS["rbf"], KINDS["linear"]], nystrom=N)
    np.testing.assert_array_equal(with_limit.left_out, 0.0)
    for bad in (0, 2.5):
        with pytest.raises(ValueError, match="nystrom must be"):
            SumOfColumnKernels(X, [KINDS["rbf"]], nystrom=bad)


def test_sparse_tables_give_the_same():
    rows = np.where(RNG.uniform(size=(40, 6)) < 0.3, RNG.normal(size=(40, 6)), 0.0)
    some = [
        *one_per_column(rows, RBF()),
        ColumnKernel(RBF(), (0, 1), 1.0),
        ColumnKernel(Laplace(), (2,), 1.0),
    ]
    dense, thin = SumOfColumnKernels(rows, some), SumOfColumnKernels(sparse.csr_array(rows), some)
    weights = RNG.uniform(size=len(some))
    np.testing.assert_allclose(thin.gram(weights), dense.gram(weights), atol=1e-12)
    u = RNG.normal(size=40)
    u -= u.mean()
    new = sparse.csr_array(rows[:5])
    expected = dense.cross_times(weights, rows[:5], u)
    np.testing.assert_allclose(thin.cross_times(weights, new, u), expected, atol=1e-12)

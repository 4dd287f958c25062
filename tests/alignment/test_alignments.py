"""Every kernel, target, container and method against the dense twin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

import kernelpath as kp
from alignment.helpers import KERNELS, TASKS, make_table, make_target
from kernelpath.alignment import align_table
from kernelpath.alignment import columns as sources
from kernelpath.tables.table import as_column_table
from reference.alignment import align, median_distance, worst_error

N = 45


def _memmap(X, tmp_path):
    file = np.memmap(tmp_path / "X.dat", dtype=np.float64, mode="w+", shape=X.shape)
    file[:] = X
    file.flush()
    return np.memmap(tmp_path / "X.dat", dtype=np.float64, mode="r", shape=X.shape)


def _with_explicit_zeros(X):
    """Half of the zeros stored, indices not sorted."""
    stored = (X != 0) | (np.indices(X.shape).sum(axis=0) % 2 == 0)
    columns, rows = np.nonzero(stored.T)
    matrix = sp.csc_matrix((X[rows, columns], (rows, columns)), shape=X.shape)
    for j in range(X.shape[1]):
        span = slice(matrix.indptr[j], matrix.indptr[j + 1])
        matrix.indices[span] = matrix.indices[span][::-1].copy()
        matrix.data[span] = matrix.data[span][::-1].copy()
    matrix.has_sorted_indices = False
    matrix.has_canonical_format = False
    return matrix


def _with_duplicates(X):
    """Every entry stored as two halves."""
    coo = sp.coo_matrix(X)
    both = (np.tile(coo.data / 2, 2), (np.tile(coo.row, 2), np.tile(coo.col, 2)))
    csr = sp.csr_matrix(both, shape=X.shape)
    return sp.csr_matrix((csr.data, csr.indices, csr.indptr), shape=X.shape)


CONTAINERS = {
    "C": lambda X, _: np.ascontiguousarray(X),
    "F": lambda X, _: np.asfortranarray(X),
    "strided": lambda X, _: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda X, _: X[::-1].copy()[::-1],
    "float32 C": lambda X, _: X.astype(np.float32),
    "float32 F": lambda X, _: np.asfortranarray(X, dtype=np.float32),
    "float16": lambda X, _: X.astype(np.float16),
    "longdouble": lambda X, _: X.astype(np.longdouble),
    "int64 C": lambda X, _: X.astype(np.int64),
    "int32 F": lambda X, _: np.asfortranarray(X, dtype=np.int32),
    "int16": lambda X, _: X.astype(np.int16),
    "big endian": lambda X, _: X.astype(">f8"),
    "read-only": lambda X, _: np.lib.stride_tricks.as_strided(X, writeable=False),
    "list": lambda X, _: X.tolist(),
    "object": lambda X, _: X.astype(object),
    "memmap": _memmap,
    "csr": lambda X, _: sp.csr_matrix(X),
    "csc": lambda X, _: sp.csc_matrix(X),
    "csr_array": lambda X, _: sp.csr_array(X),
    "csc float32": lambda X, _: sp.csc_array(X.astype(np.float32)),
    "csr int": lambda X, _: sp.csr_array(X.astype(np.int64)),
    "coo": lambda X, _: sp.coo_array(X),
    "explicit zeros": lambda X, _: _with_explicit_zeros(X),
    "duplicates": lambda X, _: _with_duplicates(X),
    "pandas": lambda X, _: pd.DataFrame(X),
    "pandas mixed": lambda X, _: pd.DataFrame(X).astype({0: "int64", 1: "bool", 4: "float32"}),
    "pandas nullable": lambda X, _: pd.DataFrame(X).astype({0: "Int64", 1: "boolean"}),
    "pandas sparse": lambda X, _: pd.DataFrame.sparse.from_spmatrix(sp.csc_matrix(X)),
    "polars": lambda X, _: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]),
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", ["auto", "fast", "exact"])
def test_every_kernel_and_target_against_the_twin(kernel, task, method):
    rng = np.random.default_rng(1)
    X = np.column_stack([make_table(N, rng), rng.normal(size=(N, 2)), rng.lognormal(0, 1, N)])
    y, name = make_target(task, N, rng)
    found = kp.alignments(X, y, kernel=kernel, method=method)
    assert worst_error(found, align(X, y, kernel, name)) < 1e-8
    assert found[2] == 0.0  # the constant column


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_container(kernel, container, tmp_path):
    rng = np.random.default_rng(2)
    X = make_table(N, rng)
    y, name = make_target("binary", N, rng)
    expected = align(X, y, kernel, name)
    found = kp.alignments(CONTAINERS[container](X, tmp_path), y, kernel=kernel)
    assert worst_error(found, expected) < 1e-8
    assert found.dtype == np.float64
    assert found.shape == (X.shape[1],)


@pytest.mark.parametrize("container", ["C", "F", "float32 C", "int32 F", "csr", "csc", "polars"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("weighted", [False, True])
def test_containers_with_every_target_and_weights(container, task, weighted, tmp_path):
    rng = np.random.default_rng(3)
    X = make_table(N, rng)
    y, name = make_target(task, N, rng)
    counts = rng.integers(0, 3, N) if weighted else None
    found = kp.alignments(CONTAINERS[container](X, tmp_path), y, sample_weight=counts)
    assert worst_error(found, align(X, y, "rbf", name, counts=counts)) < 1e-8


def test_boolean_table_has_the_closed_form_for_every_kernel():
    rng = np.random.default_rng(4)
    X = rng.random((N, 6)) < 0.3
    y = np.where(rng.random(N) < 0.4, 1, -1)
    centred = y - y.mean()
    ones = X.sum(axis=0)
    expected = N * (centred @ X) ** 2 / (ones * (N - ones))
    for table in (X, X.astype(np.uint8), sp.csc_array(X), sp.csr_array(X), np.asfortranarray(X)):
        for kernel in ("rbf", "linear", "laplace", "delta", "polynomial"):
            found = kp.alignments(table, y, kernel=kernel)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_linear_kernel_is_the_squared_correlation():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 4))
    y = X[:, 0] + rng.normal(size=N)
    r = np.array([np.corrcoef(x, y)[0, 1] for x in X.T])
    np.testing.assert_allclose(kp.alignments(X, y, kernel="linear"), N * r**2, rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("coef0", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("method", ["exact", "fast"])
def test_polynomial_degrees(degree, coef0, method):
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=N) * 3 + 7, rng.exponential(size=N)])
    y, name = make_target("multiclass", N, rng)
    expected = align(X, y, "polynomial", name, degree=degree, coef0=coef0)
    found = kp.alignments(X, y, kernel=kp.Polynomial(degree, coef0), method=method)
    assert worst_error(found, expected) < 1e-8


def test_even_power_of_a_balanced_two_valued_column_carries_nothing():
    x = np.tile([0.1, 0.7], 20)
    y = np.arange(40) % 3 == 0
    for method in ("exact", "fast", "auto"):
        found = kp.alignments(x[:, None], y, kernel=kp.Polynomial(2, 0.0), method=method)
        assert abs(found[0]) < 1e-8


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "polynomial"])
def test_gamma_scalar_and_array(kernel):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, 4))
    y, name = make_target("binary", N, rng)
    gammas = np.array([0.01, 0.3, 2.0, 40.0])
    for gamma in (0.7, np.float32(0.5), gammas, gammas.tolist()):
        found = kp.alignments(X, y, kernel=kernel, gamma=gamma)
        assert worst_error(found, align(X, y, kernel, name, gamma=gamma)) < 1e-8


@pytest.mark.parametrize("n", [40, 41, 42, 43])  # even and odd numbers of pairs
@pytest.mark.parametrize("kernel", ["rbf", "laplace", "polynomial"])
def test_median_bandwidth(n, kernel):
    rng = np.random.default_rng(n)
    columns = [
        rng.normal(size=n),
        np.round(rng.normal(size=n), 1),
        rng.standard_cauchy(n),
        rng.poisson(0.1, n),  # most pairs equal: the spread serves
        1e9 + rng.normal(size=n),
        rng.normal(size=n) * 1e-90,
    ]
    X = np.column_stack(columns).astype(float)
    y, name = make_target("binary", n, rng)
    for x in X.T:
        assert float(median_distance(x)) == pytest.approx(np.median(pdist(x[:, None])), rel=1e-14)
    expected = align(X, y, kernel, name, bandwidth="median")
    for table in (X, np.asfortranarray(X), sp.csc_array(X)):
        found = kp.alignments(table, y, kernel=kernel, bandwidth="median")
        assert worst_error(found, expected) < 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_median_bandwidth_with_weights(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=N), np.round(rng.normal(size=N), 1)])
    y, name = make_target("binary", N, rng)
    counts = rng.integers(0, 4, N)
    expected = align(X, y, "rbf", name, bandwidth="median", counts=counts)
    for table in (X, sp.csr_array(X)):
        found = kp.alignments(table, y, bandwidth="median", sample_weight=counts)
        assert worst_error(found, expected) < 1e-8


def test_scale_of_the_weights_does_not_change_the_std_bandwidth_ranking():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(N, 5))
    y, _ = make_target("binary", N, rng)
    weights = rng.uniform(0.5, 2, N)
    plain = kp.alignments(X, y, sample_weight=weights)
    np.testing.assert_allclose(kp.alignments(X, y, sample_weight=8 * weights), 8 * plain, rtol=1e-9)


def test_auto_kernel_takes_delta_for_text():
    rng = np.random.default_rng(9)
    x = rng.normal(size=N)
    town = rng.choice(["Ulm", "Bonn", "Kiel"], N)
    y, name = make_target("multiclass", N, rng)
    codes = np.unique(town, return_inverse=True)[1].astype(float)
    expected = np.concatenate(
        [align(codes[:, None], y, "delta", name), align(x[:, None], y, "rbf", name)]
    )
    frames = [
        pd.DataFrame({"town": town, "x": x}),
        pd.DataFrame({"town": town.astype(object), "x": x}),
        pd.DataFrame({"town": pd.Categorical(town), "x": x}),
        pd.DataFrame({"town": pd.Series(town, dtype="string"), "x": x}),
        pl.DataFrame({"town": town, "x": x}),
        pl.DataFrame({"town": town, "x": x}).with_columns(pl.col("town").cast(pl.Categorical)),
    ]
    for frame in frames:
        assert worst_error(kp.alignments(frame, y, kernel="auto"), expected) < 1e-8
    only_text = frames[0][["town"]]
    for kernel in ("auto", "delta"):
        assert worst_error(kp.alignments(only_text, y, kernel=kernel), expected[:1]) < 1e-8
    only_numbers = frames[0][["x"]]
    assert worst_error(kp.alignments(only_numbers, y, kernel="auto"), expected[1:]) < 1e-8
    array = kp.alignments(x[:, None], y, kernel="auto")
    assert worst_error(array, expected[1:]) < 1e-8


@pytest.mark.parametrize("n_columns", [1, 30])
def test_progress_reaches_the_end(n_columns, monkeypatch):
    monkeypatch.setattr(sources, "DENSE_BLOCK", (64, 64))
    rng = np.random.default_rng(10)
    X = np.asfortranarray(rng.normal(size=(N, n_columns)))
    y, _ = make_target("binary", N, rng)
    for n_jobs in (1, 2):
        calls = []
        kp.alignments(X, y, n_jobs=n_jobs, progress=lambda *call: calls.append(call))  # noqa: B023
        assert calls[-1] == (n_columns, n_columns)
        assert len(calls) == -(-n_columns // 8)  # tasks of a feature-major table
        assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_progress_counts_all_columns_of_a_mixed_table():
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    frame["town"] = rng.choice(["Ulm", "Bonn"], N)
    y, _ = make_target("binary", N, rng)
    calls = []
    kp.alignments(frame, y, kernel="auto", progress=lambda *call: calls.append(call))
    assert calls[-1] == (4, 4)
    assert all(total == 4 for _, total in calls)


@pytest.mark.parametrize("container", ["C", "F", "int64 C", "csr", "csc", "explicit zeros"])
def test_bounds_and_constants_of_align_table(container, tmp_path):
    rng = np.random.default_rng(12)
    X = make_table(N, rng)
    y, name = make_target("binary", N, rng)
    table = as_column_table(CONTAINERS[container](X, tmp_path))
    result, target = align_table(table, y, method="fast")
    assert result.constant.tolist() == [False, False, True, False, False]
    assert target.task == name
    error = np.abs(result.values - align(X, y, "rbf", name))
    assert np.all(error <= result.bounds + 1e-12 * np.maximum(result.values, 1))
    assert np.all(result.bounds <= 1e-8 * np.maximum(result.values, 1))

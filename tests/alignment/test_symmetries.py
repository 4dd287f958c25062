"""What must not change the alignments: order, threads, units, layout, and the caller's arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import kernelpath as kp
from alignment.helpers import KERNELS, TASKS, make_table, make_target
from kernelpath.alignment import columns as sources
from kernelpath.alignment import contraction as contract
from reference.alignment import align, worst_error

N = 48


def _problem(task="binary", seed=30):
    rng = np.random.default_rng(seed)
    X = np.column_stack([make_table(N, rng), rng.normal(size=(N, 3)), rng.lognormal(0, 2, N)])
    y, name = make_target(task, N, rng)
    return X, y, name, rng


# -- sample weights ---------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", ["auto", "fast", "exact"])
def test_integer_weights_are_repeated_rows(kernel, task, method):
    X, y, name, rng = _problem(task)
    counts = rng.integers(1, 4, N)
    found = kp.alignments(X, y, kernel=kernel, method=method, sample_weight=counts)
    assert worst_error(found, align(X, y, kernel, name, counts=counts)) < 1e-8
    repeated = kp.alignments(np.repeat(X, counts, axis=0), np.repeat(y, counts), kernel=kernel)
    assert worst_error(found, repeated) < 1e-8
    sparse = kp.alignments(sp.csr_array(X), y, kernel=kernel, sample_weight=counts)
    assert worst_error(sparse, repeated) < 1e-8


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_row_of_weight_zero_is_absent(kernel, task):
    X, y, _, rng = _problem(task)
    weights = rng.uniform(0.5, 2.0, N)
    weights[rng.permutation(N)[:9]] = 0.0
    spoiled = X.copy()
    spoiled[weights == 0] = np.nan  # absent rows may hold anything
    kept = weights > 0
    expected = kp.alignments(X[kept], y[kept], kernel=kernel, sample_weight=weights[kept])
    for table in (X, spoiled, np.asfortranarray(X), sp.csr_array(X), sp.csc_array(X)):
        found = kp.alignments(table, y, kernel=kernel, sample_weight=weights)
        assert worst_error(found, expected) < 1e-8


def test_a_class_of_weight_zero_is_absent():
    X, _, _, rng = _problem()
    y = np.array(["a", "b", "c"])[rng.permutation(np.arange(N) % 3)]
    found = kp.alignments(X, y, sample_weight=(y != "c") * 1.0)
    np.testing.assert_allclose(found, kp.alignments(X[y != "c"], y[y != "c"]), rtol=1e-10)


def test_equal_weights_are_no_weights():
    X, y, _, _ = _problem()
    plain = kp.alignments(X, y)
    np.testing.assert_allclose(kp.alignments(X, y, sample_weight=np.ones(N)), plain, rtol=1e-9)
    np.testing.assert_allclose(kp.alignments(X, y, sample_weight=1.0), plain, rtol=1e-9)


def test_fractional_weights_against_the_definition():
    """``tr(Y'KY) / tr(K)`` with the weighted centring ``H = I - 1 w' / W``."""
    X, y, _, rng = _problem()
    w = rng.uniform(0.1, 3.0, N)
    x = X[:, 6]
    mean = w @ x / w.sum()
    K = np.exp(-(np.subtract.outer(x, x) ** 2) / (2 * (w @ (x - mean) ** 2 / w.sum())))
    H = np.eye(N) - np.outer(np.ones(N), w) / w.sum()
    K = H @ K @ H.T
    v = np.where(y == 1, 1.0, -1.0)
    v = v - w @ v / w.sum()
    expected = (w * v) @ K @ (w * v) / np.sum(w * np.diag(K))
    found = kp.alignments(X[:, 6:7], y, sample_weight=w)
    assert found[0] == pytest.approx(expected, rel=1e-10)


def test_normalised_weights_keep_the_median_bandwidth():
    """Weights that sum to 1 must not silently turn the median into the standard deviation."""
    X, y, _, _ = _problem()
    plain = kp.alignments(X, y, bandwidth="median")
    found = kp.alignments(X, y, bandwidth="median", sample_weight=np.full(N, 1 / N))
    np.testing.assert_allclose(found * N, plain, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1e4, 1e30, 1e100])
def test_scale_of_the_weights_is_a_factor(scale):
    X, y, _, rng = _problem()
    weights = rng.uniform(0.5, 2.0, N)
    plain = kp.alignments(X, y, sample_weight=weights)
    for table in (X, sp.csc_array(X)):
        scaled = kp.alignments(table, y, sample_weight=scale * weights)
        np.testing.assert_allclose(scaled, scale * plain, rtol=1e-8, atol=1e-8)


# -- order, threads, units --------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sp.csc_array])
def test_permuted_columns_permute_the_alignments(kernel, layout):
    X, y, _, rng = _problem()
    order = rng.permutation(X.shape[1])
    plain = kp.alignments(layout(X), y, kernel=kernel)
    permuted = kp.alignments(layout(X[:, order]), y, kernel=kernel)
    np.testing.assert_allclose(permuted, plain[order], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("task", TASKS)
def test_permuted_rows_leave_the_alignments(kernel, task):
    X, y, _, rng = _problem(task)
    order = rng.permutation(N)
    plain = kp.alignments(X, y, kernel=kernel)
    for table in (X[order], np.asfortranarray(X[order]), sp.csr_array(X[order])):
        again = kp.alignments(table, y[order], kernel=kernel)
        scale = 1e-8 if sp.issparse(table) else 1e-12
        np.testing.assert_allclose(again, plain, rtol=scale, atol=scale)


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "linear", "polynomial"])
@pytest.mark.parametrize("bandwidth", ["std", "median"])
def test_units_of_a_column_do_not_matter(kernel, bandwidth):
    X, y, _, _ = _problem()
    plain = kp.alignments(X, y, kernel=kernel, bandwidth=bandwidth)
    for scale, shift in ((1e-50, 0.0), (2.0**40, 0.0), (3.0, -11.0), (0.25, 1e4)):
        again = kp.alignments(scale * X + shift, y, kernel=kernel, bandwidth=bandwidth)
        np.testing.assert_allclose(again, plain, rtol=1e-8, atol=1e-8)
    mirrored = kp.alignments(-X, y, kernel=kernel, bandwidth=bandwidth)
    np.testing.assert_allclose(mirrored, plain, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-3, 8), (0.25, 0.5), (7, 2)])
def test_names_of_two_classes_do_not_matter(labels):
    X, y, _, _ = _problem()
    plain = kp.alignments(X, y)
    renamed = np.array(labels)[y]
    for target in (renamed, renamed.tolist(), pd.Series(renamed), renamed[:, None]):
        np.testing.assert_allclose(kp.alignments(X, target), plain, rtol=1e-12)
    categorical = pd.Series(renamed).astype("category")
    np.testing.assert_allclose(kp.alignments(X, categorical), plain, rtol=1e-12)


def test_order_of_many_classes_does_not_matter():
    X, y, _, rng = _problem("multiclass")
    names = np.array(["d", "a", "c", "b"])[rng.permutation(4)]
    np.testing.assert_allclose(kp.alignments(X, names[y]), kp.alignments(X, y), rtol=1e-11)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("bandwidth", ["std", "median"])
def test_threads_give_the_same_bits(layout, task, bandwidth, monkeypatch):
    monkeypatch.setattr(sources, "DENSE_BLOCK", (64, 64))
    monkeypatch.setattr(sources, "SPARSE_BLOCK", 200)
    X, y, _, rng = _problem(task)
    table = layout(np.column_stack([X, rng.normal(size=(N, 8)), rng.poisson(1, (N, 8))]))
    one = kp.alignments(table, y, n_jobs=1, bandwidth=bandwidth)
    for n_jobs in (2, 4):
        more = kp.alignments(table, y, n_jobs=n_jobs, bandwidth=bandwidth)
        assert one.tobytes() == more.tobytes()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_the_progress_callback_gets_out(n_jobs, monkeypatch):
    monkeypatch.setattr(sources, "DENSE_BLOCK", (64, 64))
    _, y, _, rng = _problem()

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kp.alignments(rng.normal(size=(N, 40)), y, n_jobs=n_jobs, progress=stop)


@pytest.mark.slow
def test_threads_give_the_same_bits_with_tasks_of_real_size():
    rng = np.random.default_rng(31)
    X = rng.normal(size=(1100, 1200))
    y = rng.integers(0, 2, 1100)
    assert len(list(sources.DenseColumns(X).slices())) > 4
    for table in (X, np.asfortranarray(X)):
        one = kp.alignments(table, y, n_jobs=1)
        assert one.tobytes() == kp.alignments(table, y, n_jobs=4).tobytes()


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_task_and_tile_sizes_only_move_rounding(layout, monkeypatch):
    X, y, _, rng = _problem()
    X = np.column_stack([X, rng.normal(size=(N, 12))])
    plain = kp.alignments(layout(X), y)
    for module in (contract, sources):
        monkeypatch.setattr(module, "TILE_SIZE", 100)
    monkeypatch.setattr(contract, "ROW_CHUNK", 7)
    monkeypatch.setattr(sources, "DENSE_BLOCK", (64, 64))
    monkeypatch.setattr(sources, "SPARSE_BLOCK", 100)
    np.testing.assert_allclose(kp.alignments(layout(X), y), plain, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("length", [5.0, 40.0, 1000.0])
def test_sparse_columns_with_many_values_take_the_fast_algorithms(task, length, monkeypatch):
    monkeypatch.setattr(contract, "FEW_POINTS", 2)
    rng = np.random.default_rng(33)
    X = rng.normal(size=(N, 4)) * (rng.random((N, 4)) < 0.7)
    y, name = make_target(task, N, rng)
    gamma = 0.5 * (length / np.ptp(X, axis=0)) ** 2
    expected = align(X, y, "rbf", name, gamma=gamma)
    assert worst_error(kp.alignments(sp.csc_array(X), y, gamma=gamma), expected) < 1e-8


def test_c_and_fortran_order_agree():
    X, y, _, _ = _problem()
    np.testing.assert_allclose(
        kp.alignments(X, y), kp.alignments(np.asfortranarray(X), y), rtol=1e-11, atol=1e-12
    )


# -- side effects -----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bandwidth", ["std", "median"])
def test_callers_arrays_stay_as_they_are(kernel, bandwidth):
    X, y, _, rng = _problem()
    weights = rng.integers(0, 3, N).astype(float)
    gamma = np.full(X.shape[1], 0.5)
    unsorted = sp.csr_array(X)
    unsorted.indices[: unsorted.indptr[1]] = unsorted.indices[: unsorted.indptr[1]][::-1].copy()
    unsorted.data[: unsorted.indptr[1]] = unsorted.data[: unsorted.indptr[1]][::-1].copy()
    unsorted.has_sorted_indices = False
    tables = [X, np.asfortranarray(X), sp.csr_array(X), sp.csc_array(X), unsorted, pd.DataFrame(X)]
    for table in tables:
        before = [table.copy(), y.copy(), weights.copy(), gamma.copy()]
        arrays = [y, weights, gamma]
        arrays += [table.data, table.indices, table.indptr] if sp.issparse(table) else []
        arrays += [table] if isinstance(table, np.ndarray) else []
        raw = [a.tobytes() for a in arrays]
        kp.alignments(table, y, kernel=kernel, bandwidth=bandwidth, sample_weight=weights)
        kp.alignments(table, y, kernel=kernel, gamma=gamma)
        assert [a.tobytes() for a in arrays] == raw
        if isinstance(table, pd.DataFrame):
            pd.testing.assert_frame_equal(table, before[0])


@pytest.mark.parametrize("method", ["auto", "fast", "exact"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_is_never_made_dense(method, weighted, monkeypatch):
    X, y, name, rng = _problem()
    counts = rng.integers(0, 3, N) if weighted else None
    expected = align(X, y, "rbf", name, counts=counts)
    tables = [make(X) for make in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array)]
    tables.append(pd.DataFrame.sparse.from_spmatrix(sp.csc_matrix(X)))

    def refuse(*_, **__):
        raise AssertionError("a sparse table was made dense")

    for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array, sp.coo_matrix):
        for attribute in ("toarray", "todense", "__array__"):
            monkeypatch.setattr(kind, attribute, refuse, raising=False)
    monkeypatch.setattr(sp.coo_array, "toarray", refuse)
    for table in tables:
        for bandwidth in ("std", "median"):
            found = kp.alignments(
                table, y, method=method, bandwidth=bandwidth, sample_weight=counts
            )
            if bandwidth == "std":
                assert worst_error(found, expected) < 1e-8


def test_memory_of_a_wide_sparse_table_stays_small():
    """100 000 columns of 2000 rows would need 1.6 GB dense."""
    rng = np.random.default_rng(32)
    X = sp.random_array((2000, 100_000), density=1e-5, format="csc", rng=rng)
    y = rng.integers(0, 2, 2000)
    found = kp.alignments(X, y)
    empty = np.diff(X.indptr) == 0
    assert np.all(found[empty] == 0)
    assert np.all(found[~empty] > 0)

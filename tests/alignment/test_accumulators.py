"""The mergeable passes: any number of chunks, in any order, gives what one chunk gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpath.alignment.accumulators import ChebyshevMoments, ColumnStatistics
from kernelpath.alignment.expansions import (
    chebyshev_table,
    grid_index,
    grid_length,
    stack_tables,
)
from kernelpath.tables.targets import encode_target
from reference.alignment import align, centred_column, std, worst_error

N = 60


def _table(seed=40):
    rng = np.random.default_rng(seed)
    columns = [
        rng.normal(size=N),
        rng.integers(0, 2, N) * 3.5,
        np.full(N, -2.25),
        1e9 + rng.normal(size=N),
        1e12 + rng.normal(size=N),
        -1e15 + 4 * rng.normal(size=N),
        rng.lognormal(0, 3, N),
        1e-100 * rng.normal(size=N),
        np.append(np.zeros(N - 1), 1.0),
        np.append(1.0, np.zeros(N - 1)),
        1.0 + np.spacing(1.0) * rng.integers(0, 5, N),
    ]
    return np.column_stack(columns)


X = _table()
TWO_VALUED = [False, True, True, False, False, False, False, False, True, True, False]
ORDERS = {"C": np.ascontiguousarray, "F": np.asfortranarray}


def _check(statistics, table, weights=None):
    """Against direct computation in extended precision."""
    rows = table if weights is None else np.repeat(table, weights, axis=0)
    np.testing.assert_array_equal(statistics.lo, rows.min(axis=0))
    np.testing.assert_array_equal(statistics.hi, rows.max(axis=0))
    spread = np.array([float(std(x)) for x in rows.T])
    np.testing.assert_allclose(statistics.std, spread, rtol=1e-11, atol=0)
    mean = np.array([float(x[0] - centred_column(x)[0]) for x in rows.T])
    slack = 1e-12 * spread + 2 * np.spacing(np.abs(mean))
    assert np.all(np.abs(statistics.mean - mean) <= slack)
    assert statistics.total_weight == len(rows)
    assert statistics.finite.all()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_chunk(order, dtype):
    table = X[:, [0, 1, 2, 6, 8]].astype(dtype)
    statistics = ColumnStatistics(table.shape[1])
    statistics.update(ORDERS[order](table))
    _check(statistics, table.astype(np.float64))


@pytest.mark.parametrize("order", ORDERS)
def test_one_chunk_with_huge_offsets(order):
    statistics = ColumnStatistics(X.shape[1])
    statistics.update(ORDERS[order](X))
    _check(statistics, X)
    assert statistics.two_valued.tolist() == TWO_VALUED


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n_chunks", [2, 3, 7, N])
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_in_any_number_and_order(order, n_chunks, weighted):
    rng = np.random.default_rng(n_chunks)
    weights = rng.integers(1, 4, N) if weighted else None
    parts = []
    for rows in np.array_split(rng.permutation(N), n_chunks):
        part = ColumnStatistics(X.shape[1])
        w = None if weights is None else weights[rows].astype(float)
        part.update(ORDERS[order](X[rows]), w)
        parts.append(part)
    forward, backward = ColumnStatistics(X.shape[1]), ColumnStatistics(X.shape[1])
    for part in parts:
        forward.merge(part)
    for part in parts[::-1]:
        backward.merge(part)
    for merged in (forward, backward):
        _check(merged, X, weights)
        assert merged.two_valued.tolist() == TWO_VALUED
    np.testing.assert_allclose(forward.std, backward.std, rtol=1e-12)


def test_tree_of_merges_and_a_stream_of_updates_agree():
    tree = [ColumnStatistics(X.shape[1]) for _ in range(8)]
    stream = ColumnStatistics(X.shape[1])
    for part, rows in zip(tree, np.array_split(np.arange(N), 8)):
        part.update(X[rows])
        stream.update(X[rows])
    while len(tree) > 1:
        for left, right in zip(tree[::2], tree[1::2]):
            left.merge(right)
        tree = tree[::2]
    _check(tree[0], X)
    _check(stream, X)


def test_empty_chunks_change_nothing():
    statistics = ColumnStatistics(X.shape[1])
    statistics.merge(ColumnStatistics(X.shape[1]))
    statistics.update(X[:0])
    statistics.update(X)
    statistics.merge(ColumnStatistics(X.shape[1]))
    _check(statistics, X)


def test_merging_leaves_the_other_as_it_was():
    one, other = ColumnStatistics(X.shape[1]), ColumnStatistics(X.shape[1])
    one.update(X[:20])
    other.update(X[20:])
    before = other.rows.copy()
    one.merge(other)
    one.update(X[:5])
    np.testing.assert_array_equal(other.rows, before)
    fresh = ColumnStatistics(X.shape[1])
    fresh.merge(other)
    fresh.update(X[:20])  # must not write into `other`
    np.testing.assert_array_equal(other.rows, before)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0, -3.0]), min_size=2, max_size=9),
    st.data(),
)
def test_two_valued_after_any_merging(values, data):
    x = np.array(values)[:, None]
    cut = data.draw(st.integers(1, len(values) - 1))
    left, right = ColumnStatistics(1), ColumnStatistics(1)
    left.update(x[:cut])
    right.update(x[cut:])
    left.merge(right)
    assert bool(left.two_valued[0]) == (len(set(values)) <= 2)
    assert (left.lo[0], left.hi[0]) == (min(values), max(values))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 1, N // 2, N - 1])
@pytest.mark.parametrize("order", ORDERS)
def test_bad_numbers_show_wherever_they_stand(bad, row, order):
    table = X[:, :4].copy()
    table[row, 1] = bad
    whole, merged = ColumnStatistics(4), ColumnStatistics(4)
    with np.errstate(invalid="ignore"):  # the loops run as plain Python without numba
        whole.update(ORDERS[order](table))
        for rows in np.array_split(np.arange(N), 5):
            part = ColumnStatistics(4)
            part.update(ORDERS[order](table[rows]))
            merged.merge(part)
    for statistics in (whole, merged):
        assert statistics.finite.tolist() == [True, False, True, True]


def test_rows_of_a_larger_table():
    statistics = ColumnStatistics(3)
    weights = np.arange(1.0, N + 1)
    for rows in (slice(0, 17), slice(17, 18), slice(18, N)):
        statistics.update_rows(X, rows, 5, weights)
    whole = ColumnStatistics(3)
    whole.update(np.ascontiguousarray(X[:, 5:8]), weights)
    np.testing.assert_allclose(statistics.std, whole.std, rtol=1e-10)
    np.testing.assert_array_equal(statistics.lo, whole.lo)
    assert statistics.total_weight == whole.total_weight == weights.sum()


# -- Chebyshev moments ------------------------------------------------------------------------


def _moments(x, n_groups, key=24):
    """Moments for columns ``x`` (n_rows, n_features) with the default width."""
    lo, hi = x.min(axis=0), x.max(axis=0)
    sigma = np.array([float(std(column)) for column in x.T])
    index = grid_index((hi - lo) / sigma)
    distinct, table = np.unique(index, return_inverse=True)
    stack = stack_tables([chebyshev_table(int(i), key) for i in distinct])
    center, scale = 0.5 * (lo + hi), 2.0 / (grid_length(index) * sigma)
    return ChebyshevMoments(center, scale, table, stack, n_groups)


def _by_class(moments, x, group):
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=moments.n_groups)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    moments.add_groups(np.ascontiguousarray(x.T), np.arange(x.shape[1]), order, starts)


def _continuous():
    rng = np.random.default_rng(41)
    return np.column_stack([rng.normal(size=(N, 3)), 1e9 + rng.normal(size=N)]), rng


def test_sums_are_chebyshev_polynomials():
    x, rng = _continuous()
    group = rng.integers(0, 3, N)
    moments = _moments(x, 3)
    _by_class(moments, x, group)
    u = (x - moments.center) * moments.scale
    assert np.abs(u).max() <= 1.0
    for feature in range(x.shape[1]):
        degree = moments.stack.degree[moments.table[feature]]
        for k in range(degree):
            terms = np.cos(k * np.arccos(u[:, feature]))
            direct = np.bincount(group, weights=terms, minlength=3)
            np.testing.assert_allclose(moments.sums[feature, :, k], direct, atol=1e-10)


@pytest.mark.parametrize("n_chunks", [2, 5, 11])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_moments_of_chunks_merge(n_chunks, n_classes):
    x, rng = _continuous()
    y = rng.permutation(np.arange(N) % n_classes)
    target = encode_target(y)
    combine = np.vstack([np.ones(n_classes), target.codes.T])
    whole = _moments(x, n_classes)
    _by_class(whole, x, target.group)
    parts = []
    for rows in np.array_split(rng.permutation(N), n_chunks):
        part = _moments(x, n_classes)
        _by_class(part, x[rows], target.group[rows])
        parts.append(part)
    merged = parts[-1]
    for part in parts[-2::-1]:
        merged.merge(part)
    top = whole.sums.shape[2] - 1  # the last entry is room for the loops
    np.testing.assert_allclose(merged.sums[..., :top], whole.sums[..., :top], atol=1e-11)
    expected = align(x, y)
    for moments in (whole, merged):
        numerator, trace, bound = moments.finish(
            combine, target.absolute_mass, target.total_weight
        ).T
        assert worst_error(numerator / trace, expected) < 1e-8
        assert np.all(np.abs(numerator / trace - expected) <= bound + 1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_moments_of_weighted_columns_merge(shared):
    x, rng = _continuous()
    y = rng.normal(size=N)
    target = encode_target(y)
    columns = np.ascontiguousarray(target.columns.T)
    d = x.shape[1]

    def add(moments, rows):
        values = np.ascontiguousarray(x[rows].T).reshape(-1)
        ptr = np.arange(d + 1, dtype=np.int64) * len(rows)
        part = np.ascontiguousarray(columns[:, rows])
        moments.add_columns(values, ptr, part if shared else np.tile(part, d), shared)

    whole, merged = _moments(x, 2), _moments(x, 2)
    add(whole, np.arange(N))
    for rows in np.array_split(rng.permutation(N), 4):
        part = _moments(x, 2)
        add(part, rows)
        merged.merge(part)
    expected = align(x, y, "rbf", "regression")
    for moments in (whole, merged):
        forms = moments.finish(np.eye(2), target.absolute_mass, target.total_weight)
        assert worst_error(forms[:, 0] / forms[:, 1], expected) < 1e-8

"""Null moments of rows in chunks: those of all rows at once, in any chunks and any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpath.alignment.accumulators import ColumnStatistics
from kernelpath.alignment.chunked_sums import GridSums
from kernelpath.alignment.null_moments import dense_sums
from kernelpath.errors import DataError

FACTORS = (1.0, 0.5, 0.25)
N = 400


def table():
    rng = np.random.default_rng(3)
    X = np.column_stack(
        [
            rng.normal(size=N), rng.lognormal(size=N), rng.standard_t(3, N),
            rng.integers(0, 5, N), rng.random(N) < 0.1, np.full(N, 2.0),
            rng.integers(0, 40, N), 1e6 + rng.normal(size=N),
        ]
    )  # fmt: skip
    codes = rng.integers(0, 3, N)
    y = np.stack([codes == k for k in range(3)]).astype(float)
    return X, np.vstack([np.ones(N), y - y.mean(axis=1, keepdims=True)])


X, COLUMNS = table()


def statistics(X):
    known = ColumnStatistics(X.shape[1])
    known.update(X)
    return known


def sums_of(parts, order=None, n=N, factors=FACTORS):
    known = statistics(X)
    found = []
    for part in parts:
        one = GridSums(known, known.std, factors, n, len(COLUMNS))
        one.update(X[part], COLUMNS[:, part])
        found.append(one)
    order = range(len(found)) if order is None else order
    whole = GridSums(known, known.std, factors, n, len(COLUMNS))
    for i in order:
        whole.merge(found[i])
    return whole.finish()


@pytest.fixture(scope="module")
def whole():
    return sums_of([np.arange(N)])


def test_they_are_those_of_dense_matrices(whole):
    H = np.eye(N) - 1.0 / N
    for j in (0, 1, 2, 3, 4, 6, 7):
        for w, factor in enumerate(FACTORS):
            x = X[:, j]
            A = H @ np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / (factor * x.std()) ** 2) @ H
            expected = np.asarray(dense_sums(A))
            scale = np.abs(expected)
            np.testing.assert_allclose(whole.sums[j, w], expected, atol=1e-4 * scale.max())
            forms = [v @ A @ v for v in COLUMNS[1:]]
            np.testing.assert_allclose(whole.forms[j, w], forms, rtol=1e-4)
    assert not whole.sums[5].any()  # constant
    assert whole.n_levels[[3, 4]].tolist() == [5, 2]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_chunks_in_any_order(whole, data):
    labels = np.array(data.draw(st.lists(st.integers(0, 5), min_size=N, max_size=N)))
    parts = [np.flatnonzero(labels == k) for k in range(6)]
    order = data.draw(st.permutations(range(6)))
    found = sums_of(parts, order)
    size = np.abs(whole.sums).max(axis=2, keepdims=True)
    np.testing.assert_allclose(found.sums, whole.sums, rtol=1e-9, atol=1e-11 * size.max())
    np.testing.assert_allclose(found.forms, whole.forms, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.n_levels, whole.n_levels)


def test_chunks_in_their_order_give_the_same_bits(whole):
    known = statistics(X)
    one = GridSums(known, known.std, FACTORS, N, len(COLUMNS))
    for rows in np.array_split(np.arange(N), 7):
        one.update(X[rows], COLUMNS[:, rows])
    one.update(X[:0], COLUMNS[:, :0])
    np.testing.assert_array_equal(one.finish().sums, whole.sums)
    np.testing.assert_array_equal(one.finish().forms, whole.forms)


def test_p_values_from_chunks_are_those_of_the_test():
    import kernelpath as kp
    from kernelpath.alignment.calibration import _Null
    from kernelpath.tables.targets import encode_target

    y = np.where(X[:, 0] ** 2 + 0.3 * X[:, 3] > 1.5, "in", "out")
    target = encode_target(y)
    columns = np.ascontiguousarray(target.columns.T)
    usable = [0, 1, 2, 3, 4, 6, 7]
    known = statistics(X[:, usable])
    parts = [np.arange(0, N, 2), np.arange(1, N, 2)]
    one, other = (GridSums(known, known.std, FACTORS, N, len(columns)) for _ in parts)
    for sums, rows in zip((one, other), parts):
        sums.update(X[np.ix_(rows, usable)], columns[:, rows])
    one.merge(other)
    log_p = _Null(target).p_values(one.finish(), np.zeros(len(usable), dtype=bool))
    expected = kp.alignment_test(X[:, usable], y).log_p
    np.testing.assert_allclose(log_p, expected, rtol=1e-4, atol=1e-4)


def test_a_far_value_needs_the_whole_column():
    far = X[:, :1].copy()
    far[0] = 1e9
    known = statistics(far)
    with pytest.raises(DataError, match="must be read as a whole"):
        GridSums(known, np.array([1.0]), FACTORS, N, 2)

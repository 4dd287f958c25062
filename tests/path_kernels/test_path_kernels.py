"""The public function, on paths and tables as users have them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import kernelpath as kp
from kernelpath.errors import DataError
from kernelpath.path_kernels import combined_kernels
from path_kernels.helpers import assert_matches, each_width, error, fit


@pytest.fixture(scope="module")
def ring():
    data = kp.datasets.make_ring(n_samples=60, n_features=6, random_state=0)
    path = kp.LpKTASelector(step=0.25).fit(data.X[:50], data.y[:50]).path_
    return data.X[:50], data.y[:50], data.X[50:], path


def test_all_points_and_some(ring):
    X, y, X_new, path = ring
    bank = fit(X, each_width=each_width(path))
    assert len(set(path.test.width)) > 1
    points = list(combined_kernels(path, X, y, X_new))
    assert len(points) == len(path)
    for combined, point in zip(points, path):
        assert_matches(combined, X, X_new, bank, point.weights)
    some = list(combined_kernels(path, X, X_new=X_new, positions=[0, -1]))
    for one, other in zip(some, (points[0], points[-1]), strict=True):
        assert error(one.train, other.train) <= 1e-9  # without a target, on fewer columns
    (last,) = combined_kernels(path, X, positions=-1)
    assert last.new is None
    assert error(last.train, points[-1].train) <= 1e-9


def test_options_reach_the_kernels(ring):
    X, y, X_new, path = ring
    gamma = np.linspace(0.1, 1.0, 6)
    counts = np.arange(50) % 3
    options = {"kernel": "laplace", "gamma": gamma, "sample_weight": counts}
    bank = fit(X, y=y, **options)
    first = next(iter(combined_kernels(path, X, y, X_new, memory_limit=1, **options)))
    assert_matches(first, X, X_new, bank, path[0].weights, counts, tol=1e-8)


def test_sparse_tables(ring):
    X, _, X_new, path = ring
    dense = combined_kernels(path, X, X_new=X_new)
    sparse = combined_kernels(path, sp.csr_matrix(X), X_new=sp.csc_matrix(X_new))
    for one, other in zip(dense, sparse):
        assert error(one.train, other.train) <= 1e-8


def test_frames_with_categories_are_read_alike():
    rng = np.random.default_rng(1)
    town = np.array(["Bonn", "Ulm", "Rom"])
    frame = pd.DataFrame({"age": rng.normal(size=40), "town": town[rng.integers(0, 3, 40)]})
    y = (frame["town"] == "Ulm").to_numpy()
    path = kp.LpKTASelector(kernel="auto", step=0.5).fit(frame[:30], y[:30]).path_
    new = frame[30:].iloc[::-1]  # another order of the categories
    point = next(iter(combined_kernels(path, frame[:30], X_new=new, kernel="auto")))
    codes = np.column_stack([frame["age"], pd.factorize(frame["town"])[0]]).astype(float)
    again = frame.assign(town=codes[:, 1])
    again = again[:30].assign(town=lambda f: f["town"].astype("category"))
    bank = fit(again, kernel="auto", each_width=each_width(path))
    assert_matches(point, codes[:30], codes[30:][::-1], bank, path[0].weights, tol=1e-8)


def test_a_path_without_features():
    weights = np.zeros((1, 3))
    path = kp.FeaturePath(
        method="demo", parameter_name="p", parameters=[1], weights=weights,
        supports=weights > 0, values=[0], kkt=[0], gaps=[0],
    )  # fmt: skip
    X = np.random.default_rng(0).normal(size=(10, 3))
    (point,) = combined_kernels(path, X, X_new=X[:2])
    assert not point.train.any()
    assert point.new.shape == (2, 10)


def test_another_table_is_refused(ring):
    X, _, X_new, path = ring
    with pytest.raises(DataError, match="X has 5 columns, but the path 6"):
        combined_kernels(path, X[:, :5])
    with pytest.raises(DataError, match="6 features"):
        combined_kernels(path, X, X_new=X_new[:, :5])
    hole = X_new.copy()
    hole[0, 3] = np.inf
    with pytest.raises(DataError, match="infinity in column 3"):
        combined_kernels(path, X, X_new=hole)


def test_missing_values_in_old_and_new_rows(ring):
    X, y, X_new, path = ring
    hole = X_new.copy()
    hole[0, 3] = np.nan
    pairs = zip(combined_kernels(path, X, X_new=hole), combined_kernels(path, X, X_new=X_new))
    for found, plain in pairs:
        np.testing.assert_array_equal(found.train, plain.train)
        np.testing.assert_allclose(found.new[1:], plain.new[1:], rtol=1e-9, atol=1e-15)
    both = X.copy()
    both[::7, 3] = np.nan
    path = kp.LpKTASelector(step=0.25).fit(both, y).path_
    for found in combined_kernels(path, both, X_new=both):
        assert error(found.new, found.train) <= 1e-9
    dense = combined_kernels(path, both, X_new=hole)
    sparse = combined_kernels(path, sp.csr_matrix(both), X_new=sp.csc_matrix(hole))
    for one, other in zip(dense, sparse, strict=True):
        assert error(one.train, other.train) <= 1e-8
        assert error(one.new, other.new) <= 1e-8


def test_columns_of_another_name_or_order(ring):
    X, y = pd.DataFrame(ring[0][:, :4], columns=list("abcd")), ring[1]
    path = kp.LpKTASelector().fit(X, y).path_
    wrong = X[["d", "c", "b", "a"]]
    with pytest.raises(DataError, match="X has the column 'd' where 'a' belongs"):
        kp.combined_kernels(path, wrong)
    with pytest.raises(DataError, match="X_new has the column 'd' where 'a' belongs"):
        kp.combined_kernels(path, X, X_new=wrong)
    (by_name,) = kp.combined_kernels(path, X, positions=0)
    (by_place,) = kp.combined_kernels(path, X.to_numpy(), positions=0)
    np.testing.assert_array_equal(by_name.train, by_place.train)


def test_the_kernel_is_that_of_the_path(ring):
    X, y, *_ = ring
    path = kp.LpKTASelector(kernel="laplace", bandwidth="median").fit(X, y).path_
    (own,) = kp.combined_kernels(path, X, positions=0)
    (given,) = kp.combined_kernels(path, X, positions=0, kernel="laplace", bandwidth="median")
    np.testing.assert_array_equal(own.train, given.train)
    (other,) = kp.combined_kernels(path, X, positions=0, kernel="rbf")
    assert np.abs(own.train - other.train).max() > 1e-4


def test_arguments_that_make_no_sense(ring):
    X, *_, path = ring
    for positions in (500, 1.5, [-200]):
        with pytest.raises(DataError, match="positions must be whole numbers"):
            kp.combined_kernels(path, X, positions=positions)
    assert list(kp.combined_kernels(path, X, positions=[])) == []
    with pytest.raises(TypeError, match="path must be a FeaturePath"):
        kp.combined_kernels(kp.LpKTASelector(), X)
    with pytest.raises(ValueError, match="memory_limit must be at least"):
        kp.combined_kernels(path, X, memory_limit=-5)
    (one,) = kp.combined_kernels(path, X, positions=0, memory_limit="1GB")
    assert one.train.shape == (len(X),) * 2

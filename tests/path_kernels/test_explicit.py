"""The explicit map against the combined kernel."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kernelpath.errors import DataError
from kernelpath.kernels import RBF, Laplace
from kernelpath.path_kernels.explicit import ExplicitMap
from path_kernels.helpers import KERNELS, LAYOUTS, error, fit, make_table


def _centred_product(phi, n):
    phi = phi.toarray() if sp.issparse(phi) else phi
    phi = phi - phi[:n].mean(axis=0)
    return phi[:n] @ phi[:n].T, phi[n:] @ phi[:n].T


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_exact_maps(kernel, layout):
    rng = np.random.default_rng(0)
    X = make_table(36, rng)
    radial = kernel in ("rbf", "laplace") or isinstance(kernel, RBF | Laplace)
    weights = rng.random(X.shape[1])
    if radial:  # exact for columns with few values only
        weights[[0, 3, 7]] = 0.0
    bank = fit(LAYOUTS[layout](X[:30]), kernel=kernel)
    explicit = ExplicitMap.fit(bank, weights)
    (exact,) = bank.combine(weights, X[30:])
    phi = explicit.transform(LAYOUTS[layout](X))
    assert sp.issparse(phi) == layout.startswith("cs")
    assert phi.shape == (36, explicit.n_out)
    train, new = _centred_product(phi, 30)
    assert error(train, exact.train) <= 1e-12
    if layout.startswith("cs") or kernel != "delta":
        assert error(new, exact.new) <= 1e-12


def test_gaussian_columns_to_three_digits():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(260, 4))
    bank = fit(X[:200])
    weights = np.array([0.1, 0.4, 0.3, 0.2])
    (exact,) = bank.combine(weights, X[200:])
    phi = ExplicitMap.fit(bank, weights, n_components=10).transform(X)
    train, new = _centred_product(phi, 200)
    assert np.linalg.norm(train - exact.train) <= 1e-3 * np.linalg.norm(exact.train)
    assert np.linalg.norm(new - exact.new) <= 1e-2 * np.linalg.norm(exact.new)
    finer = ExplicitMap.fit(bank, weights, n_components=20)
    train, _ = _centred_product(finer.transform(X), 200)
    assert np.linalg.norm(train - exact.train) <= 1e-6 * np.linalg.norm(exact.train)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_wide_kernels_keep_their_digits(layout):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    bank = fit(LAYOUTS[layout](X), gamma=1e-9)
    (exact,) = bank.combine([0.5, 0.5])
    phi = ExplicitMap.fit(bank, [0.5, 0.5]).transform(LAYOUTS[layout](X))
    train, _ = _centred_product(phi, 60)
    assert error(train, exact.train) <= 1e-6


def test_sparse_maps_are_sparse():
    X = sp.random(80, 20, density=0.05, format="csr", random_state=0)
    bank = fit(X)
    explicit = ExplicitMap.fit(bank, np.ones(20))
    phi = explicit.transform(X)
    assert phi.nnz <= 10 * X.nnz
    (exact,) = bank.combine(np.ones(20))
    assert error(_centred_product(phi, 80)[0], exact.train) <= 1e-9


def test_categories_not_seen_before():
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    for layout in ("dense", "csr"):
        explicit = ExplicitMap.fit(fit(LAYOUTS[layout](X), kernel="delta"), [1.0])
        phi = explicit.transform(LAYOUTS[layout](np.array([[5.0]])))
        if layout == "dense":
            assert not phi.any()
        assert np.isfinite(phi.sum())


def test_through_arrays_and_back():
    rng = np.random.default_rng(3)
    X = make_table(30, rng)
    for layout in LAYOUTS.values():
        for kernel in KERNELS:
            explicit = ExplicitMap.fit(fit(layout(X), kernel=kernel), rng.random(X.shape[1]))
            arrays = explicit.to_arrays()
            assert all(type(value) is np.ndarray for value in arrays.values())
            again = ExplicitMap.from_arrays(arrays)
            one, two = explicit.transform(layout(X)), again.transform(layout(X))
            difference = abs(one - two)
            assert difference.max() == 0.0


def test_few_rows_for_landmarks_and_blocks_of_rows(monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    bank = fit(X)
    explicit = ExplicitMap.fit(bank, [0.5, 0.5], max_rows=50)
    (exact,) = bank.combine([0.5, 0.5])
    whole = explicit.transform(X)
    train, _ = _centred_product(whole, 300)
    assert np.linalg.norm(train - exact.train) <= 0.02 * np.linalg.norm(exact.train)
    monkeypatch.setattr("kernelpath.path_kernels.explicit.ROW_BLOCK", 7)
    assert error(explicit.transform(X[:20]), whole[:20]) <= 1e-13


def test_no_weights_and_wrong_tables():
    X = make_table(30, np.random.default_rng(5))
    for layout in ("dense", "csr"):
        bank = fit(LAYOUTS[layout](X))
        none = ExplicitMap.fit(bank, np.zeros(X.shape[1]))
        assert none.transform(LAYOUTS[layout](X)).shape == (30, 0)
        explicit = ExplicitMap.fit(bank, np.ones(X.shape[1]))
        with pytest.raises(DataError, match="8 columns"):
            explicit.transform(X[:, :2])
        hole = X.copy()
        hole[0, 1] = np.inf
        with pytest.raises(DataError, match="infinity in column 1"):
            explicit.transform(LAYOUTS[layout](hole))
        hole[0, 1] = np.nan
        found, plain = (explicit.transform(LAYOUTS[layout](table)) for table in (hole, X))
        found, plain = (t.toarray() if sp.issparse(t) else t for t in (found, plain))
        np.testing.assert_array_equal(found[1:], plain[1:])
        assert np.isfinite(found).all()
        (combined,) = bank.combine(np.ones(X.shape[1]), LAYOUTS[layout](hole[:1]))
        mean = plain.mean(axis=0)
        assert error((found[:1] - mean) @ (plain - mean).T, combined.new) <= 1e-6
    with pytest.raises(ValueError, match="at least 1"):
        ExplicitMap.fit(bank, np.ones(X.shape[1]), n_components=0)

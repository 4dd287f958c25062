"""Small tables shared by the tests of the combined kernels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kernelpath.kernels import KERNELS as REGISTRY
from kernelpath.kernels import Polynomial
from kernelpath.path_kernels import KernelBank
from kernelpath.tables.table import as_column_table
from reference import combine as reference

KERNELS = (*REGISTRY, Polynomial(degree=2), Polynomial(degree=4, coef0=0.0))
LAYOUTS = {
    "dense": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
}


def make_table(n, rng):
    """Continuous, two-valued, few-valued, sparse, constant and negative sparse columns."""
    thin = np.where(rng.random(n) < 0.15, rng.normal(size=n), 0.0)
    counts = np.where(rng.random(n) < 0.15, rng.integers(1, 4, n), 0)
    ones = (rng.random(n) < 0.15).astype(float)
    thin[:2], counts[2:4], ones[4:6] = (1.5, -0.5), (2, 1), 1.0
    columns = [
        rng.normal(size=n),
        np.arange(n) % 3 == 0,
        rng.integers(0, 4, n),
        thin,
        np.full(n, 3.0),
        counts,
        ones,
        rng.exponential(size=n) + 2.0,
    ]
    return np.column_stack(columns).astype(float)


def each_width(path):
    """Width of every feature of a path in units of its scale; 1 for kernels without one."""
    return np.where(np.isnan(path.test.width), 1.0, path.test.width)


def fit(X, **options):
    """A bank of a table in any layout."""
    return KernelBank.fit(as_column_table(X), **options)


def error(actual, expected):
    """Largest difference in units of the largest entry."""
    expected = np.asarray(expected)
    scale = np.abs(expected).max(initial=0.0)
    return float(np.abs(actual - expected).max(initial=0.0) / (scale if scale > 0 else 1.0))


def assert_matches(combined, X, X_new, bank, weights, row_weight=None, tol=1e-12):
    """Compare one point with the reference."""
    K, K_new = reference.combine(X, X_new, bank, weights, row_weight)
    assert error(combined.train, K) <= tol
    if len(X_new):
        scale = max(np.abs(K_new).max(), np.abs(K).max())
        assert float(np.abs(combined.new - K_new).max() / (scale or 1.0)) <= tol

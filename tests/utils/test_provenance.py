"""Versions and fingerprints that are stored with a path."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelpath.utils import provenance


def test_versions_are_strings_and_import_nothing():
    found = provenance.versions()
    assert {"kernelpath", "python", "numpy", "scipy", "scikit-learn", "numba"} == set(found)
    assert found["numpy"] == np.__version__


def test_versions_of_a_missing_library(monkeypatch):
    monkeypatch.setattr(provenance, "_LIBRARIES", ("no-such-library",))
    assert provenance.versions()["no-such-library"] is None


def test_fingerprint_depends_on_content_only():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 7)), rng.integers(0, 2, 30)
    reference = provenance.fingerprint(X, y)
    assert len(reference) == 64
    assert provenance.fingerprint(np.asfortranarray(X), y) == reference
    assert provenance.fingerprint(np.repeat(X, 2, axis=0)[::2], y) == reference
    changed = X.copy()
    changed[29, 6] += 1e-12
    others = [(changed, y), (X.T, y), (X.reshape(7, 30), y), (X.astype(np.float32), y), (X, None)]
    others += [(X, 1 - y), (X, y.astype(str)), (X, y.astype(float)), (X[::-1], y)]
    assert reference not in {provenance.fingerprint(*other) for other in others}
    assert len({provenance.fingerprint(*other) for other in others}) == len(others)


def test_fingerprint_of_texts_does_not_depend_on_their_array_type():
    X, y = np.eye(3), ["ab", "c", "\ud83d"]
    reference = provenance.fingerprint(X, y)
    assert provenance.fingerprint(X, np.array(y, dtype=object)) == reference
    assert provenance.fingerprint(X, ["a", "bc", "\ud83d"]) != reference
    assert provenance.fingerprint(X.astype("datetime64[s]")) != provenance.fingerprint(X)
    assert provenance.fingerprint(np.zeros((0, 3)), []) != provenance.fingerprint(np.zeros((0, 2)))


@pytest.mark.parametrize("order", ["C", "F"])
def test_fingerprint_of_a_large_table_samples_rows(monkeypatch, order):
    monkeypatch.setattr(provenance, "WHOLE_BYTES", 10 * 80)
    monkeypatch.setattr(provenance, "_BLOCK_BYTES", 3 * 80)
    X = np.asarray(np.random.default_rng(1).normal(size=(100, 10)), order=order)
    reference = provenance.fingerprint(X)
    assert provenance.fingerprint(np.ascontiguousarray(X)) == reference
    seen = []
    for i in range(100):
        changed = X.copy(order="K")
        changed[i] += 1
        if provenance.fingerprint(changed) != reference:
            seen.append(i)
    assert len(seen) == 10
    assert (seen[0], seen[-1]) == (0, 99)


@pytest.mark.parametrize("layout", ["csr", "csc", "dok", "lil"])
def test_fingerprint_of_sparse_tables(layout, monkeypatch):
    X = sparse.random_array((40, 9), density=0.2, rng=np.random.default_rng(2)).asformat(layout)
    before = X.toarray()
    monkeypatch.setattr(type(X), "toarray", None)  # must not be made dense
    reference = provenance.fingerprint(X, np.arange(40))
    assert provenance.fingerprint(X * 1.5, np.arange(40)) != reference
    monkeypatch.undo()
    np.testing.assert_array_equal(X.toarray(), before)
    if layout == "csr":
        wide = X.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        assert provenance.fingerprint(wide, np.arange(40)) == reference

"""Where a path came from: versions of the libraries and a fingerprint of the data."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np
from scipy import sparse

from kernelpath._version import __version__

#: Curves of stationary points: the one that starts at no weights, and any other.
FROM_ZERO, ANOTHER_BRANCH = "from zero weights", "another branch"
#: Arrays up to this many bytes are hashed whole, larger ones by a sample of this size.
WHOLE_BYTES = 64 * 2**20
_BLOCK_BYTES = 2**20
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str | None]:
    """Versions of kernelpath, Python and the numerical libraries, without importing them.

    Returns
    -------
    dict
        Version by name; None for a library that is not installed.

    Examples
    --------
    >>> sorted(versions())
    ['kernelpath', 'numba', 'numpy', 'python', 'scikit-learn', 'scipy']
    """
    own = {"kernelpath": __version__, "python": platform.python_version()}
    return own | {name: _installed(name) for name in _LIBRARIES}


@cache
def _installed(name: str) -> str | None:
    """Version of a library; finding it takes milliseconds, which many small fits would feel."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def fingerprint(X: Any, y: Any = None) -> str:
    """Hash of the shape, type and content of a table and its target.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Never changed and never made dense. Up to 64 MB everything is hashed; beyond, evenly
        spaced rows that fill 64 MB, first and last included (for sparse matrices, evenly spaced
        entries of each array). A change elsewhere in such a table is not seen.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        Hashed whole.

    Returns
    -------
    str
        SHA-256 in hexadecimal. The same for C and Fortran order, and for any index type of a
        sparse matrix; strings and objects count as their ``str``.

    Examples
    --------
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> fingerprint(X, [0, 1, 1]) == fingerprint(np.asfortranarray(X), [0, 1, 1])
    True
    >>> fingerprint(X, [0, 1, 1]) == fingerprint(X, [0, 1, 0])
    False
    """
    digest = hashlib.sha256()
    if sparse.issparse(X):
        _hash_sparse(digest, X)
    else:
        _hash_array(digest, "X", np.asarray(X), WHOLE_BYTES)
    if y is not None:
        _hash_array(digest, "y", np.asarray(y), None)
    return digest.hexdigest()


def _hash_sparse(digest: Any, X: Any) -> None:
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    digest.update(f"{X.format} {X.shape}".encode())
    _hash_array(digest, "data", X.data, WHOLE_BYTES)
    # int64: SciPy picks the index type by size and history, which says nothing of the content
    _hash_array(digest, "indices", X.indices, WHOLE_BYTES, dtype=np.dtype(np.int64))
    _hash_array(digest, "indptr", X.indptr, WHOLE_BYTES, dtype=np.dtype(np.int64))


def _hash_array(
    digest: Any, name: str, array: np.ndarray, limit: int | None, dtype: np.dtype | None = None
) -> None:
    """Add an array; ``limit`` bytes of its rows at most, ``dtype`` in place of its own."""
    kind = dtype or array.dtype
    as_text = kind.kind not in "biufcmM"
    label = "text" if as_text else kind.str
    digest.update(f"{name} {array.shape} {label};".encode())
    if array.ndim == 0:
        array = array.reshape(1)
    for block in _row_blocks(array, limit):
        if as_text:
            for item in block.ravel().tolist():
                text = str(item).encode("utf-8", "surrogatepass")
                digest.update(f"{len(text)}:".encode() + text)
        else:
            digest.update(np.asarray(block, dtype=kind).tobytes())


def _row_blocks(array: np.ndarray, limit: int | None) -> Iterator[np.ndarray]:
    """Blocks of about a megabyte, so that neither order nor type costs a copy of the whole."""
    n_rows = len(array)
    row_bytes = max(1, array.nbytes // max(1, n_rows))
    step = max(1, _BLOCK_BYTES // row_bytes)
    if limit is None or array.nbytes <= limit:
        for start in range(0, n_rows, step):
            yield array[start : start + step]
        return
    n_taken = min(n_rows, max(2, limit // row_bytes))
    # Integer arithmetic: the rows must not depend on the rounding of the machine.
    rows = np.arange(n_taken) * (n_rows - 1) // (n_taken - 1) if n_taken > 1 else np.arange(n_rows)
    for start in range(0, n_taken, step):
        yield array[rows[start : start + step]]

"""Columns that equal an earlier one in every row: hashed in one pass, then compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.utils.compiled import compiled

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)


@compiled(inline="always")
def _stirred(state, bits):
    state = (state ^ bits) * MULTIPLIER
    return state ^ (state >> SHIFT)


@compiled()
def _hash_rows(rows, states):
    """Stir some rows into the state of each column."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            # Adding 0.0 turns -0.0 into 0.0: the two are equal.
            states[j] = _stirred(states[j], np.float64(rows[i, j] + 0.0).view(np.uint64))


@compiled()
def _hash_entries(indptr, indices, data, states):
    """Stir row and value of the non-zeros of each column into its state."""
    for j in range(indptr.shape[0] - 1):
        for k in range(indptr[j], indptr[j + 1]):
            if data[k] != 0.0:
                state = _stirred(states[j], np.uint64(indices[k]))
                states[j] = _stirred(state, np.float64(data[k]).view(np.uint64))


def n_duplicates(values: Any, skip: NDArray[np.bool_]) -> int:
    """Count the columns that repeat an earlier one; those in ``skip`` are not looked at.

    Examples
    --------
    >>> table = np.array([[1.0, 2.0, 1.0], [0.0, 5.0, 0.0]])
    >>> n_duplicates(table, np.zeros(3, dtype=bool))
    1
    """
    states = np.zeros(values.shape[1], dtype=np.uint64)
    if sp.issparse(values):
        columns = values.tocsc()
        if not columns.has_canonical_format:
            columns = columns.copy()
            columns.sum_duplicates()
        _hash_entries(columns.indptr, columns.indices, columns.data.astype(np.float64), states)
    else:
        columns = values
        step = max(1, 2**20 // max(1, values.shape[1]))
        for start in range(0, values.shape[0], step):
            block = np.ascontiguousarray(values[start : start + step], dtype=np.float64)
            _hash_rows(block, states)
    kept = np.flatnonzero(~skip)
    _, first, place = np.unique(states[kept], return_index=True, return_inverse=True)
    earlier = kept[first[place]]
    suspects = np.flatnonzero(earlier != kept)
    return sum(_equal(columns, int(kept[i]), int(earlier[i])) for i in suspects)


def _equal(values: Any, one: int, other: int) -> bool:
    if not sp.issparse(values):
        return bool(np.array_equal(values[:, one], values[:, other]))
    mine, theirs = (slice(values.indptr[i], values.indptr[i + 1]) for i in (one, other))
    return all(
        np.array_equal(array[mine][values.data[mine] != 0], array[theirs][values.data[theirs] != 0])
        for array in (values.indices, values.data)
    )

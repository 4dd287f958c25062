"""The combined kernel between new rows and training rows at one point, for predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from kernelpath.kernels.feature import FeatureKernel
from kernelpath.path_kernels.columns import ColumnKernels, check_new, matching, take_columns
from kernelpath.path_kernels.point_weights import PointWeights
from kernelpath.path_kernels.split import SplitColumns

BLOCK_VALUES = 4_000_000
"""Numbers of a block of temporaries: 32 MB."""


def cross_kernel(
    train_values: Any,
    new_values: Any,
    kernels: Sequence[FeatureKernel],
    which: NDArray[np.intp],
    gamma: ArrayLike,
    center: ArrayLike,
    weights: ArrayLike,
    *,
    out: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Combined kernel of new rows with training rows, not centred.

    Each kernel stands in a form that equals it up to ``f(x) + f(z)``, which centring removes:
    ``-d(x, z)`` where ``train_values`` is dense, ``d(x, 0) + d(0, z) - d(x, z)`` where sparse.
    Polynomial kernels of dense tables, and of sparse columns far from 0, stand as they are, less
    their constant; kernels of the user's own as ``-d`` in either table.

    Parameters
    ----------
    train_values, new_values : array or sparse matrix of shape (n_train or n_new, n_columns)
    kernels : sequence of FeatureKernel
    which : ndarray of shape (n_columns,)
        Index into ``kernels``.
    gamma, center, weights : array of shape (n_columns,)
        ``weights`` multiply the raw kernels: see :meth:`KernelBank.point_weights`.
    out : ndarray of shape (n_new, n_train), optional
        Overwritten with the result, C-contiguous.

    Returns
    -------
    ndarray of shape (n_new, n_train)
    """
    factor = np.asarray(weights, dtype=np.float64)
    used = np.flatnonzero(factor)
    part = ColumnKernels.of(
        kernels,
        np.asarray(which)[used],
        np.asarray(gamma, dtype=np.float64)[used],
        np.asarray(center, dtype=np.float64)[used],
    )
    new = check_new(new_values, len(factor), used, part)
    train = take_columns(train_values, used)
    n_train, n_new = train.shape[0], new.shape[0]
    if out is None:
        out = np.empty((n_new, n_train))
    elif out.shape != (n_new, n_train) or out.dtype != np.float64 or not out.flags.c_contiguous:
        raise ValueError(f"out must be a C-contiguous float64 array of shape {(n_new, n_train)}")
    out[:] = 0.0
    if sp.issparse(new):
        new = new.tocsr()  # to cut rows
    # Blocks of columns and rows, so that copies in float64 and partial results stay small.
    # Sparse tables are not copied; their few dense columns need no blocks of columns.
    thin = sp.issparse(train) and part.own is None
    width = len(used) if thin else BLOCK_VALUES // max(1, n_train)
    width = max(1, min(width, len(used)))
    height = max(64, BLOCK_VALUES // max(1, n_train, 0 if thin else width))
    for left in range(0, len(used), width):
        columns = np.arange(left, min(left + width, len(used)))
        whole = len(columns) == len(used)
        some = train if whole else take_columns(train, columns)
        for top in range(0, n_new, height):
            rows = slice(top, min(top + height, n_new))
            fresh = new[rows] if whole else take_columns(new[rows], columns)
            _add_block(
                some, matching(fresh, train), part.take(columns), factor[used[columns]], out[rows]
            )
    return out


def _add_block(
    train: Any,
    new: Any,
    kernels: ColumnKernels,
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    n_train = train.shape[0]
    parts = SplitColumns.split(
        train, new, kernels, PointWeights.of(weights, np.ones(len(weights))), only_new=True
    )
    store = parts.store(0, 1, np.float64)
    shift = parts.block(slice(0, 1), store).add(0, np.empty((0, n_train)), out)
    if shift is not None:
        out += shift[:n_train]
        out += shift[n_train:, None]

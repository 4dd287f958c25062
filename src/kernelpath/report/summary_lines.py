"""Which weights of a path are drawn as lines: those with a name, and a sample of the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.path.feature_path import FeaturePath

N_NAMED, N_OTHERS = 8, 120
SHARED = "sum of weights"
"""A parameter over which weights are drawn as shares of it: they grow with it in any case."""


class WeightLines(NamedTuple):
    """Columns of the weights that are drawn."""

    weights: sparse.csc_array
    named: NDArray[np.intp]
    others: NDArray[np.intp]
    n_hidden: int


def weight_lines(
    path: FeaturePath, n_named: int = N_NAMED, n_others: int = N_OTHERS
) -> WeightLines:
    """Name the features that enter first, and take every so-maniest of the rest.

    Where features come and go, entry says little: there the largest weights are named.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=60, n_features=4, random_state=0)
    >>> path = kp.LpKTASelector().fit(data.X, data.y).path_
    >>> weight_lines(path, n_named=3).others.shape
    (1,)
    """
    W = path.weights.tocsc()
    W.eliminate_zeros()  # a stored zero draws nothing
    order = path.entry_order()
    order = order[np.diff(W.indptr)[order] > 0]
    if W.nnz > 1 and np.ptp(W.data) == 0.0:  # a choice, which weighs nothing
        order = order[:0]
    elif len(order) and not path.is_nested:
        largest = W.max(axis=0).toarray().ravel()
        order = order[np.argsort(-largest[order], kind="stable")]
    first, rest = order[:n_named], order[n_named:]
    shown = rest
    if len(rest) > n_others:
        shown = rest[np.unique(np.geomspace(1, len(rest), n_others).astype(int) - 1)]
    return WeightLines(W, first, shown, len(rest) - len(shown))

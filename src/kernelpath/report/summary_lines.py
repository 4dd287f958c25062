"""What of a path is drawn: some weights as lines, the sizes at its junctures, and its turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kernelpath.path.feature_path import FeaturePath
from kernelpath.path.points import EventTable

N_NAMED, N_OTHERS = 8, 120
STEPS = {"enter": 1, "leave": -1, "eliminate": -1, "turn": 0}  # change of the size
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


def sizes_at_junctures(path: FeaturePath) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Parameters at which the size changes, in the order of the path, and the sizes from then on.

    What happens at one parameter happens at once: a feature that enters while another leaves is no
    change, and what has happened at the first point is part of its size.  Events need not tell
    everything; where they do not lead to the last size, there is nothing to show.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=60, n_features=4, random_state=0)
    >>> path = kp.GMKLClassifier(strengths=6).fit(data.X, data.y).path_
    >>> path.n_selected.tolist(), sizes_at_junctures(path)[1].tolist()
    ([0, 4, 4, 4, 4, 4], [4])
    """
    later = path.events.positions > 0
    steps = np.array([STEPS[kind] for kind in EventTable.KINDS], dtype=np.int64)
    sizes = path.n_selected[0] + np.cumsum(steps[path.events.kinds[later]])
    where = path.events.parameters[later]
    told = len(sizes) > 0 and sizes.min() >= 0 and sizes[-1] == path.n_selected[-1]
    if not told:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    last = np.flatnonzero(np.append(where[1:] != where[:-1], True))
    before = np.append(path.n_selected[0], sizes[last[:-1]])
    shown = last[sizes[last] != before]
    return where[shown], sizes[shown]


def turns(parameters: ArrayLike) -> NDArray[np.intp]:
    """Positions of the points at which a parameter that has grown falls, or the other way round.

    Examples
    --------
    >>> turns([1.0, 2.0, 3.0, 2.5, 2.0, 4.0])
    array([2, 4])
    >>> turns([2.0, 1.5, 1.5, 1.0])
    array([], dtype=int64)
    """
    values = np.asarray(parameters, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(values))
    steps = np.sign(np.diff(values[known]))
    moves = np.flatnonzero(steps)
    return known[moves[1:][steps[moves[1:]] != steps[moves[:-1]]]]

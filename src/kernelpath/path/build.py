"""How tracers assemble a path: rows of weights, supports, events, and what is not known as NaN."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.path.feature_path import FeaturePath
from kernelpath.path.points import EventTable, PathEvent

ENTER, LEAVE = EventTable.KINDS.index("enter"), EventTable.KINDS.index("leave")


def build_path(
    *,
    method: str,
    parameter_name: str,
    parameters: Any,
    weights: Any,
    supports: Any = None,
    values: Sequence[float] | NDArray | None = None,
    kkt: Sequence[float] | NDArray | None = None,
    gaps: Sequence[float | None] | NDArray | None = None,
    events: EventTable | Iterable[PathEvent] | None = None,
    **more: Any,
) -> FeaturePath:
    """Path from one row of weights for each point.

    Parameters
    ----------
    method, parameter_name, parameters :
        As for :class:`FeaturePath`.
    weights : array or CSR matrix of shape (n_points, n_features)
    supports : the same of truth values, optional
        Default: where a weight of an array is positive, or the stored entries of a CSR matrix.
    values, kkt, gaps : sequence of float, optional
        Default, and None for a single gap: not known.
    events : EventTable or iterable of PathEvent, optional
        Default: who enters and who leaves from point to point.
    **more
        Names, provenance and extension.

    Examples
    --------
    >>> path = build_path(method="demo", parameter_name="budget", parameters=[1, 2],
    ...     weights=[[0.0, 0.5, 0.0], [0.2, 0.0, 0.3]])
    >>> [(event.kind, event.name, event.position) for event in path.events]
    [('enter', 'x1', 0), ('enter', 'x0', 1), ('enter', 'x2', 1), ('leave', 'x1', 1)]
    """
    if supports is None:
        supports = weights if sparse.issparse(weights) else np.asarray(weights) > 0
    held = supports if sparse.issparse(supports) else sparse.csr_array(supports)
    unknown = np.full(held.shape[0], np.nan)
    return FeaturePath(
        method=method,
        parameter_name=parameter_name,
        parameters=parameters,
        weights=weights,
        supports=held,
        values=unknown if values is None else values,
        kkt=unknown if kkt is None else kkt,
        gaps=unknown if gaps is None else [np.nan if gap is None else gap for gap in gaps],
        events=events_between(held, parameters) if events is None else events,
        **more,
    )


def nested_rows(
    order: NDArray[np.intp], sizes: Sequence[int] | NDArray, weights: NDArray[np.float64]
) -> sparse.csr_array:
    """Rows of a ranking: for every size the first columns of ``order``, with their weights.

    Examples
    --------
    >>> nested_rows(np.array([2, 0, 1]), [1, 2], np.array([0.5, 0.1, 0.9])).toarray()
    array([[0. , 0. , 0.9],
           [0.5, 0. , 0.9]])
    """
    columns = np.concatenate([np.sort(order[:k]) for k in sizes])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return sparse.csr_array((weights[columns], columns, indptr), shape=(len(sizes), len(weights)))


def events_between(supports: sparse.csr_array, parameters: Any) -> EventTable:
    """Who enters and who leaves from point to point, each in the order of the columns."""
    kinds: list[NDArray] = []
    features: list[NDArray] = []
    positions: list[NDArray] = []
    before = np.zeros(0, dtype=np.intp)
    for position in range(supports.shape[0]):
        now = supports.indices[supports.indptr[position] : supports.indptr[position + 1]]
        for kind, moved in (
            (ENTER, np.setdiff1d(now, before, assume_unique=True)),
            (LEAVE, np.setdiff1d(before, now, assume_unique=True)),
        ):
            kinds.append(np.full(len(moved), kind))
            features.append(moved)
            positions.append(np.full(len(moved), position))
        before = now
    where = np.concatenate(positions)
    at = np.asarray(parameters, dtype=np.float64)[where]
    return EventTable(np.concatenate(kinds), np.concatenate(features), at, where)

"""The builder of paths: rows, supports and events as the constructor would get them by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kernelpath as kp
from kernelpath.path.build import build_path, events_between, nested_rows


def by_hand(held, parameters):
    """Who enters and who leaves, one column after the other."""
    found, before = [], np.zeros(held.shape[1], dtype=bool)
    for position, now in enumerate(held):
        found += [
            ("enter", j, parameters[position], position) for j in np.flatnonzero(now & ~before)
        ]
        found += [
            ("leave", j, parameters[position], position) for j in np.flatnonzero(before & ~now)
        ]
        before = now
    return found


@pytest.mark.parametrize("seed", range(5))
def test_events_between_points(seed):
    rng = np.random.default_rng(seed)
    held = rng.random((7, 9)) < 0.4
    held[3] = False
    parameters = rng.normal(size=7)
    table = events_between(sparse.csr_array(held), parameters)
    found = [(one.kind, one.feature, one.parameter, one.position) for one in table]
    assert found == by_hand(held, parameters)


def test_nothing_happens_on_a_path_of_nothing():
    path = build_path(method="m", parameter_name="p", parameters=[2, 1], weights=np.zeros((2, 3)))
    assert len(path.events) == 0
    assert path.n_selected.tolist() == [0, 0]


def test_dense_rows_select_what_has_a_weight_and_what_is_not_given_is_not_known():
    weights = np.array([[0.5, 0.0], [0.2, 0.3]])
    path = build_path(
        method="m", parameter_name="p", parameters=[1, 2], weights=weights, gaps=[None, 0.1]
    )
    assert path.supports.toarray().tolist() == (weights > 0).tolist()
    assert np.isnan(path.values).all()
    assert np.isnan(path.kkt).all()
    assert path[0].gap is None
    assert path[1].gap == 0.1


def test_a_selected_feature_may_have_no_weight():
    weights = np.array([[0.5, 0.0]])
    held = np.array([[True, True]])
    dense = build_path(
        method="m", parameter_name="p", parameters=[1], weights=weights, supports=held
    )
    stored = sparse.csr_array((np.array([0.5, 0.0]), np.array([0, 1]), np.array([0, 2])))
    assert dense.n_selected.tolist() == [2]
    assert build_path(
        method="m", parameter_name="p", parameters=[1], weights=stored
    ).n_selected.tolist() == [2]


def test_a_ranking_is_a_nested_path():
    order, scores = np.array([3, 0, 2]), np.array([0.5, 0.0, 0.2, 0.9])
    path = build_path(
        method="m",
        parameter_name="k",
        parameters=[1, 3],
        weights=nested_rows(order, [1, 3], scores),
    )
    by_mask = np.array([[0, 0, 0, 0.9], [0.5, 0, 0.2, 0.9]])
    assert path == kp.FeaturePath(
        method="m", parameter_name="k", parameters=[1, 3], weights=by_mask, supports=by_mask > 0,
        values=path.values, kkt=path.kkt, gaps=path.gaps, events=path.events,
    )  # fmt: skip
    assert path.is_nested
    assert [(one.kind, one.feature) for one in path.events] == [
        ("enter", 3), ("enter", 0), ("enter", 2),
    ]  # fmt: skip

"""Points, events and supports of a path."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelpath.path.feature_path import EventTable, PathEvent
from path_examples import WEIGHTS, make_path


def test_points_hold_the_rows():
    path = make_path()
    assert len(path) == 4
    assert path.n_features == 5
    np.testing.assert_array_equal(path.n_selected, [4, 3, 2, 1])
    for i, point in enumerate(path):
        assert point.position == i
        np.testing.assert_array_equal(point.weights, WEIGHTS[i])
        np.testing.assert_array_equal(point.support, WEIGHTS[i] > 0)
        assert point.support.dtype == bool
        assert point.n_selected == point.n_features == (WEIGHTS[i] > 0).sum()
        assert (point.parameter, point.value) == (path.parameters[i], path.values[i])
        assert point.gap == (None if i % 2 else 1e-9)
        assert point.note == ""
    assert path[-1] == path[3]
    assert path[np.int64(1)].position == 1
    assert [p.position for p in path[1:]] == [1, 2, 3]
    assert isinstance(path[::2], list)
    for i in (4, -5):
        with pytest.raises(IndexError):
            path[i]
    with pytest.raises(TypeError):
        path[1.0]


def test_names_by_decreasing_weight_then_column():
    path = make_path(feature_names=list("abcde"))
    assert path[0].names == ("a", "b", "c", "d")
    path = make_path(np.array([[0.1, 0.3, 0.3, 0.2]]), events=())
    assert path.at(n_features=4).names == ("x1", "x2", "x3", "x0")


def test_support_may_hold_zero_weights_and_leave_out_positive_ones():
    supports = sparse.csr_array(WEIGHTS > 0).tolil()
    supports[3, 4] = True
    supports[3, 0] = False
    path = make_path(supports=supports.tocsr())
    np.testing.assert_array_equal(path[3].support, [0, 0, 0, 0, 1])
    assert path[3].weights[0] == 0.9
    assert path[3].names == ("x4",)


def test_pattern_of_a_float_matrix_is_the_support_but_false_is_not():
    stored_zero = sparse.csr_array(([0.0, 2.0], ([0, 0], [1, 2])), shape=(1, 4))
    assert stored_zero.nnz == 2
    np.testing.assert_array_equal(
        make_path(np.ones((1, 4)), stored_zero, events=()).supports[0], [0, 1, 1, 0]
    )
    stored_false = sparse.csr_array(([False, True], ([0, 0], [1, 2])), shape=(1, 4))
    path = make_path(np.ones((1, 4)), stored_false, events=())
    np.testing.assert_array_equal(path.supports[0], [0, 0, 1, 0])
    assert stored_false.nnz == 2  # the caller's matrix is as it was


def test_unsorted_and_duplicate_entries_are_put_in_order():
    raw = sparse.csr_array(
        (np.array([3.0, 1.0, 0.5]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3)
    )
    path = make_path(raw, raw, events=())
    np.testing.assert_array_equal(path[0].weights, [1.0, 0.0, 3.5])
    assert path.n_selected[0] == 2
    np.testing.assert_array_equal(raw.indices, [2, 0, 2])


def test_supports_sequence():
    supports = make_path().supports
    assert supports.shape == (4, 5)
    assert len(supports) == len(list(supports)) == 4
    np.testing.assert_array_equal(np.asarray(supports), WEIGHTS > 0)
    np.testing.assert_array_equal(np.asarray(supports, dtype=float), WEIGHTS > 0)
    np.testing.assert_array_equal(supports.toarray(), supports.tocsr().toarray())
    np.testing.assert_array_equal(supports.indices(-2), [0, 1])
    np.testing.assert_array_equal(supports[1:3][1], WEIGHTS[2] > 0)
    assert supports.tocsr().dtype == bool
    with pytest.raises(IndexError):
        supports[4]


def test_events():
    path = make_path(feature_names=list("abcde"))
    assert list(path.events) == [
        PathEvent("eliminate", 3, "d", 1.7, 1),
        PathEvent("turn", -1, "", 1.2, 3),
    ]
    assert path.events[-1].kind == "turn"
    assert [event.name for event in make_path().events] == ["x3", ""]
    assert path.events[:1] == [path.events[0]]
    assert repr(path.events) == "EventTable(1 eliminate, 1 turn)"
    frame = path.events.to_frame()
    assert list(frame.columns) == ["kind", "feature", "name", "parameter", "position"]
    assert frame.to_dict("records")[0] == {
        **{"kind": "eliminate", "feature": 3, "name": "d", "parameter": 1.7, "position": 1}
    }
    assert len(make_path(events=()).events.to_frame()) == 0
    with pytest.raises(IndexError):
        path.events[2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [5], [1.0], [0]), "fit the shape"),
        (([0], [-2], [1.0], [0]), "fit the shape"),
        (([0], [1], [1.0], [4]), "fit the shape"),
        (([4], [1], [1.0], [0]), "kinds"),
        (([0, 1], [1], [1.0], [0]), "events.features"),
    ],
)
def test_events_that_do_not_fit_are_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        make_path(events=EventTable(*columns))


def test_unknown_kind_of_event_is_refused():
    with pytest.raises(ValueError, match="'vanish'"):
        PathEvent("vanish", 0, "x0", 1.0, 0)

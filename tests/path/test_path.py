"""FeaturePath: frozen, comparable, indexed by position and by size."""

from __future__ import annotations

import copy
import pickle
import sys
import types
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.path.feature_path import EventTable, PathPoint
from path_examples import WEIGHTS, Ranking, from_masks, make_path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": [1, 2]}, r"parameters must have shape \(4,\)"),
        ({"values": np.zeros((4, 1))}, "values must have shape"),
        ({"gaps": 0.0}, "gaps must have shape"),
        ({"supports": np.ones((4, 6), bool)}, "supports have shape"),
        ({"weights": np.ones(5)}, "n_points, n_features"),
        ({"weights": np.full((4, 5), np.nan)}, "weights must be finite"),
        ({"feature_names": ["a"]}, "feature_names must have shape"),
        ({"feature_names": [0, 1, 2, 3, 4]}, "must be strings"),
        ({"provenance": {"a": np.zeros(2)}}, "JSON-able"),
    ],
)
def test_wrong_arguments_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make_path(**changes)


def test_no_points_and_broken_csr_are_refused():
    with pytest.raises(ValueError, match="at least one point"):
        make_path(np.zeros((0, 3)), events=())
    broken = sparse.csr_array(WEIGHTS)
    broken.indices[0] = 99
    with pytest.raises(ValueError, match="valid CSR"):
        make_path(weights=broken)


def test_frozen():
    path = make_path()
    for name in ("method", "weights", "values", "feature_names", "anything"):
        with pytest.raises(FrozenInstanceError):
            setattr(path, name, 0)
    with pytest.raises(FrozenInstanceError):
        del path.method
    with pytest.raises(FrozenInstanceError):
        path[0].weights = 0
    for array in (
        *(path.parameters, path.values, path.kkt, path.gaps, path.n_selected, path.feature_names),
        *(path.weights.data, path.weights.indices, path.weights.indptr),
        *(path[0].weights, path[0].support, path.events.kinds, path.supports.indices(0)),
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    path.weights.data = np.zeros(10)  # a matrix taken from the path is not the path
    path.provenance["seed"] = 4
    assert path == make_path()


def test_the_arguments_stay_untouched_and_apart():
    weights, values = sparse.csr_array(WEIGHTS), np.zeros(4)
    path = make_path(weights=weights, supports=weights, values=values)
    weights.data[:] = 9
    values[:] = 9
    assert path.weights.data.max() < 1
    assert path.values.max() == 0


def test_read_only_arrays_are_taken_without_a_copy():
    values = np.zeros(4)
    values.setflags(write=False)
    assert np.shares_memory(make_path(values=values).values, values)


def test_equal_patterns_share_their_indices_also_through_pickle():
    for path in (make_path(), pickle.loads(pickle.dumps(make_path()))):
        assert path.weights.indices is path.supports.tocsr().indices


@pytest.mark.parametrize(
    "twin", [copy.deepcopy, copy.copy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_copies_are_equal_and_frozen(twin):
    path = make_path(feature_names=list("abcde"), extension=Ranking([2, 0, 1]))
    for thing in (path, path[1], path.events, path.supports):
        assert twin(thing) == thing
    other = twin(path)
    with pytest.raises(ValueError, match="read-only"):
        other.weights.data[0] = 1
    assert not other[0].weights.flags.writeable


@pytest.mark.parametrize(
    "changes",
    [
        {"values": [-1, -2, -3, -5]},
        {"gaps": [1e-9, np.nan, 1e-9, 0]},
        {"method": "other"},
        {"feature_names": list("abcde")},
        {"events": ()},
        {"extension": Ranking([0])},
        {"supports": np.ones((4, 5), bool)},
        {"weights": WEIGHTS / 2},
    ],
)
def test_different_paths_are_unequal(changes):
    assert make_path() == make_path()
    assert make_path(**changes) != make_path()
    assert make_path() != "path"


def test_settings_that_change_nothing_keep_paths_equal():
    assert make_path(provenance={"parameters": {"n_jobs": 2}}) == make_path(provenance={})


def test_at_finds_the_size_and_breaks_ties_by_value():
    masks = [[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 0]]
    path = from_masks(masks, values=[0.0, 3.0, 2.0, 2.0, 0.0])
    assert path.at(n_features=2).position == 2
    assert path.at(n_features=0).position == 4
    assert path.at(np.int32(1)).position == 0
    assert from_masks(masks, values=[0, np.nan, np.nan, 5, 0]).at(2).position == 3
    assert from_masks(masks, values=np.full(5, np.nan)).at(2).position == 1


def test_at_without_such_a_point_names_the_nearest():
    path = from_masks([[1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0]])
    with pytest.raises(DataError, match=r"exactly 3 .*smaller size is 1, .*larger size is 4"):
        path.at(n_features=3)
    with pytest.raises(DataError, match=r"none is smaller, .*larger size is 1"):
        path.at(n_features=0)
    with pytest.raises(DataError, match=r"smaller size is 4, none is larger"):
        path.at(n_features=6)


@pytest.mark.parametrize("extension", [None, Ranking([1, 0, 4, 2, 3])])
def test_at_refuses_what_is_no_size(extension):
    path = make_path(extension=extension)
    for k in (True, 2.0, "2", None, np.bool_(True)):
        with pytest.raises(TypeError, match="integer from 0 to 5"):
            path.at(n_features=k)
    for k in (-1, 6):
        with pytest.raises(DataError, match="integer from 0 to 5"):
            path.at(n_features=k)


def test_extension_answers_for_every_size():
    path = make_path(extension=Ranking([4, 0, 2]))
    for k in range(4):
        point = path.at(n_features=k)
        assert point.n_selected == k
        assert point.position == -1
    with pytest.raises(DataError, match="from 0 to 3"):
        path.at(n_features=4)
    np.testing.assert_array_equal(path.entry_order(), [4, 0, 2])


def slow_entry_order(path):
    """Twin in plain loops: smallest support, its weight, the column."""
    keys = []
    for j in range(path.n_features):
        holding = [p for p in path if p.support[j]]
        if holding:
            best = min(holding, key=lambda p: (p.n_selected, p.value, p.position))
            keys.append((best.n_selected, -best.weights[j], j))
    return [key[-1] for key in sorted(keys)]


def slow_is_nested(path):
    sets = [set(np.flatnonzero(p.support)) for p in path]
    pairs = list(pairwise(sets))
    return all(a <= b for a, b in pairs) or all(a >= b for a, b in pairs)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 5), st.booleans())
def test_entry_order_and_nesting_agree_with_plain_loops(seed, n_points, n_features, nested):
    rng = np.random.default_rng(seed)
    masks = rng.random((n_points, n_features)) < 0.5
    if nested:
        masks = np.logical_and.accumulate(masks)[:: rng.choice([-1, 1])]
    weights = rng.integers(0, 4, masks.shape) / 4
    path = make_path(weights, masks, events=(), values=rng.integers(0, 2, n_points))
    np.testing.assert_array_equal(path.entry_order(), slow_entry_order(path))
    assert path.is_nested is slow_is_nested(path)
    assert path.is_nested or not nested


def test_to_frame():
    pd = pytest.importorskip("pandas")
    weights = np.vstack([np.arange(1.0, 8), np.eye(7)[0]])
    path = make_path(weights, feature_names=list("abcdefg"), events=())
    frame = path.to_frame()
    assert isinstance(frame, pd.DataFrame)
    wanted = ["position", "p", "n_selected", "value", "kkt", "gap", "top_features"]
    assert list(frame.columns) == wanted
    assert list(frame["top_features"]) == ["g, f, e, d, c", "a"]
    assert list(frame["n_selected"]) == [7, 1]
    assert np.isnan(frame["gap"][1])
    frame.loc[0, "value"] = 5.0  # the frame is the caller's to change
    assert path.values[0] == -1
    ties = make_path(np.ones((1, 9)), events=()).to_frame()
    assert ties["top_features"][0] == "x0, x1, x2, x3, x4"


def test_plot_passes_on_to_displays(monkeypatch):
    seen = types.ModuleType("kernelpath.report.displays.path")
    seen.plot_path = lambda path, ax=None, **kwargs: (path, ax, kwargs)
    displays = types.ModuleType("kernelpath.report.displays")
    displays.path = seen
    monkeypatch.setitem(sys.modules, "kernelpath.report.displays", displays)
    monkeypatch.setitem(sys.modules, "kernelpath.report.displays.path", seen)
    path = make_path()
    assert path.plot(ax=3, color="k") == (path, 3, {"color": "k"})


def test_reprs():
    assert repr(make_path()) == (
        "FeaturePath(method='demo', 4 points, 4 to 1 of 5 features, p from 2 to 1)"
    )
    point = PathPoint(-1, 1.25, [0.5, 0], [True, False], -2, 1e-9, None, "beyond the end")
    assert repr(point) == (
        "PathPoint(position=-1, parameter=1.25, 1 of 2 features, value=-2, kkt=1e-09, "
        "note='beyond the end')"
    )
    assert "\n" not in repr(make_path().supports)


def test_a_million_features_stay_sparse_and_names_lazy():
    n_features, n_points = 1_000_000, 101
    weights = sparse.csr_array(
        (np.ones(n_points), np.arange(n_points) * 9000, np.arange(n_points + 1)),
        shape=(n_points, n_features),
    )
    columns = np.full(n_features, 2), np.arange(n_features), np.ones(n_features)
    events = EventTable(*columns, np.zeros(n_features))
    path = make_path(weights, weights, events=events)
    assert path[7].names == ("x63000",)
    assert path.events[-1].name == "x999999"
    assert path.to_frame()["top_features"][1] == "x9000"
    assert path._default_names is None  # nothing above made a million names
    assert path.feature_names[-1] == "x999999"
    assert path.feature_names is path.feature_names

"""Columns that must be in, that go together and that cost something: how they are named."""

import numpy as np
import pandas as pd
import pytest

from kernelpath.errors import DataError
from kernelpath.tables.constraints import (
    Constraints,
    columns_of,
    cost_of_columns,
    unit_of_columns,
)
from kernelpath.tables.table import as_column_table

NAMES = ["a*", "a1", "a2", "b", "<b>", "c"]
TABLE = as_column_table(pd.DataFrame(np.arange(12.0).reshape(2, 6), columns=NAMES))


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        (None, []), ([], []), ("b", [3]), (3, [3]), (np.int64(3), [3]), (["c", 0, "c"], [0, 5]),
        ("a*", [0]), ("a[12]*", [1, 2]), ("*b*", [3, 4]), (np.arange(6) == 2, [2]),
        (pd.Index(["b", "c"]), [3, 5]), ({"b"}, [3]), (np.array(["c"]), [5]), (range(2), [0, 1]),
    ],
)  # fmt: skip
def test_ways_to_name_columns(given, columns):
    """A name that looks like a pattern is that name first."""
    assert columns_of(given, TABLE).tolist() == columns


@pytest.mark.parametrize(
    ("groups", "units"),
    [
        (None, [0, 1, 2, 3, 4, 5]),
        ([["c", "a1"], [3, 4]], [0, 1, 2, 3, 3, 1]),
        ({"x": "*b*", "y": ("a1", "a2")}, [0, 1, 1, 2, 2, 3]),
        ("zyzyzx", None),
        (list("zyzyzx"), [0, 1, 0, 1, 0, 2]),
        (np.array([5, 5, 1, 1, 7, 7]), [0, 0, 1, 1, 2, 2]),
        ([["b"], ["b", "b"]], None),
        ([[]], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_ways_to_name_groups(groups, units):
    if units is None:
        with pytest.raises(DataError, match=r"one label for each|in two groups"):
            unit_of_columns(groups, TABLE)
    else:
        assert unit_of_columns(groups, TABLE).tolist() == units


@pytest.mark.parametrize(
    ("costs", "paid"),
    [
        ({}, [1, 1, 1, 1, 1, 1]),
        ({"a1": 7, "a[12]*": 2, "a*": 3, "c": np.inf}, [3, 7, 2, 1, 1, np.inf]),
        ({0: 4}, [4, 1, 1, 1, 1, 1]),
        (np.arange(6), [0, 1, 2, 3, 4, 5]),
        (pd.Series([1.5] * 6), [1.5] * 6),
    ],
)
def test_ways_to_name_costs(costs, paid):
    """The cost of a name has the last word over that of a pattern, wherever it stands."""
    assert cost_of_columns(costs, TABLE).tolist() == paid


@pytest.mark.parametrize("costs", [3, True, [[1] * 6], {"a1": "2"}, {"a1": True}, {"a1": 1e200}])
def test_costs_that_are_none(costs):
    with pytest.raises(DataError, match="costs must be"):
        cost_of_columns(costs, TABLE)


def slow_ranking(constraints, scores):
    """Units as lists, sorted by what the definition says."""
    units = [np.flatnonzero(constraints.unit == u).tolist() for u in range(constraints.n_units)]
    divide = constraints.costs is not None and not any(score < 0 for score in scores)
    keyed = []
    for place, unit in enumerate(units):
        known = [scores[j] for j in unit if not np.isnan(scores[j])]
        cost = 1.0 if constraints.costs is None else sum(constraints.costs[j] for j in unit)
        kept = bool(constraints.kept[unit[0]])
        if not kept and (not known or np.isinf(cost)):
            continue
        score = max(known, default=-np.inf)
        keyed.append((not kept, -score / cost if divide else -score, place, unit))
    return [unit for *_, unit in sorted(keyed)]


@pytest.mark.parametrize("seed", range(30))
def test_rankings_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=6) if seed % 2 else rng.integers(0, 4, 6).astype(float)
    scores[rng.random(6) < 0.2] = np.nan
    costs = None if seed % 3 == 0 else np.where(rng.random(6) < 0.1, np.inf, rng.integers(1, 5, 6))
    beyond = costs is not None and np.isinf(costs).any()
    must_include = None if beyond else [int(rng.integers(6))]
    own = Constraints.read(TABLE, must_include, rng.integers(0, 4, 6), costs)
    expected = slow_ranking(own, scores)
    order, ends = own.ranking(scores)
    assert order.tolist() == [j for unit in expected for j in unit]
    first = max(int(own.unit_kept.sum()), 1)
    sizes = np.cumsum([len(unit) for unit in expected])
    assert ends.tolist() == sizes[first - 1 :].tolist()


def test_within_a_budget():
    own = Constraints.read(TABLE, must_include=["b"], feature_groups=[["a1", "a2"]], costs={"b": 2})
    near = own.within(3.5)
    assert near.reachable.tolist() == [True, False, True, True, True]  # the pair costs two more
    assert own.within(4).reachable.all()
    assert own.within(None) is own
    with pytest.raises(DataError, match=r"budget=1.5, but the columns that must be in cost 2"):
        own.within(1.5)


def test_a_series_is_read_by_its_names():
    table = as_column_table(pd.DataFrame({"age": [1], "sex": [0], "bmi": [2]}))
    sorted_names = ["age", "bmi", "sex"]
    costs = pd.Series([1.0, 7.0, 3.0], sorted_names)
    assert Constraints.read(table, costs=costs).costs.tolist() == [1.0, 3.0, 7.0]
    assert columns_of(pd.Series([False, False, True], sorted_names), table).tolist() == [1]
    assert unit_of_columns(pd.Series(["a", "b", "a"], sorted_names), table).tolist() == [0, 0, 1]
    assert Constraints.read(table, costs=pd.Series({"sex": 9.0})).costs.tolist() == [1.0, 9.0, 1.0]
    with pytest.raises(DataError, match="index is not the names of all columns"):
        columns_of(pd.Series([True, False], ["age", "sex"]), table)

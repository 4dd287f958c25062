"""What every choice of columns has to obey: some are always in, some go together, some cost more.

The settings ``must_include``, ``feature_groups`` and ``costs`` mean the same wherever they are, and
are read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError, naming, nearest
from kernelpath.tables.table import Table, is_missing, quoted_name, unmasked
from kernelpath.utils import checks
from kernelpath.utils.words import counted

SETTINGS = ("must_include", "feature_groups", "costs")
LARGEST_COST = 1e100
PATTERN = "*"


@dataclass(frozen=True, eq=False)
class Constraints:
    """Columns that are always in, columns that go together, and what each of them costs.

    Columns that go in or out together are one unit; every other column is a unit by itself.

    Attributes
    ----------
    unit : ndarray of shape (n_columns,)
        Unit of each column, numbered from 0 in the order of the table.
    kept : ndarray of bool, shape (n_columns,)
        Columns that are in every choice: whole units.
    costs : ndarray of shape (n_columns,) or None
        Not negative, infinite where a column is out of reach; None where nobody asks.

    Examples
    --------
    >>> from kernelpath.tables.table import as_column_table
    >>> table = as_column_table(np.zeros((2, 4)))
    >>> one = Constraints.read(table, must_include=[3], feature_groups=[[0, 2]], costs={"x1": 5})
    >>> one.unit.tolist(), one.kept.tolist(), one.costs.tolist()
    ([0, 1, 0, 2], [False, False, False, True], [1.0, 5.0, 1.0, 1.0])
    >>> one.ranking(np.array([0.2, 4.0, 0.5, 0.1]))
    (array([3, 1, 0, 2]), array([1, 2, 4]))
    """

    unit: NDArray[np.intp]
    kept: NDArray[np.bool_]
    costs: NDArray[np.float64] | None = None

    @classmethod
    def read(
        cls, table: Table, must_include: Any = None, feature_groups: Any = None, costs: Any = None
    ) -> Constraints | None:
        """Constraints that settings name; None where there are none."""
        if must_include is None and feature_groups is None and costs is None:
            return None
        unit = unit_of_columns(feature_groups, table)
        kept = np.zeros(unit.max() + 1, dtype=bool)
        kept[unit[columns_of(must_include, table)]] = True
        own = cls(unit, kept[unit], None if costs is None else cost_of_columns(costs, table))
        beyond = np.flatnonzero(own.kept & ~own.reachable[unit])
        if len(beyond):
            verb = "must be in and is" if len(beyond) == 1 else "must be in and are"
            raise _wrong(f"{table.label(beyond).capitalize()} {verb} out of reach by costs.")
        return own

    def within(self, budget: float | None) -> Constraints:
        """The same where units that do not fit into a budget beside the kept are out of reach."""
        if self.costs is None or budget is None:
            return self
        kept = self.cost(np.flatnonzero(self.kept))
        total = np.bincount(self.unit, self.costs)
        beyond = ~self.unit_kept & (kept + total > budget)
        if kept > budget or (beyond.all() and not self.kept.any()):
            what, least = ("columns that must be in cost", kept)
            if not self.kept.any():
                what, least = ("cheapest feature costs", total.min())
            raise naming(DataError(f"budget={budget}, but the {what} {least:g}."), "budget")
        return replace(self, costs=np.where(beyond[self.unit], np.inf, self.costs))

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.unit_sizes)

    @property
    def is_free(self) -> bool:
        """Whether any choice is allowed, though it may cost something."""
        alone = self.n_units == len(self.unit)
        return alone and bool(self.reachable.all()) and not self.kept.any()

    @property
    def brought(self) -> NDArray[np.bool_]:
        """Columns that are in for another reason than what they tell: they must, or in a group."""
        return self.kept | (self.unit_sizes > 1)[self.unit]

    @cached_property
    def unit_sizes(self) -> NDArray[np.intp]:
        """Number of columns of each unit."""
        return np.bincount(self.unit)

    @cached_property
    def unit_kept(self) -> NDArray[np.bool_]:
        """Units that are in every choice."""
        return np.bincount(self.unit, self.kept) > 0

    @cached_property
    def members(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns of all units one after the other, and where each begins."""
        starts = np.concatenate([[0], np.cumsum(self.unit_sizes)])
        return np.argsort(self.unit, kind="stable"), starts

    def columns(self, units: NDArray[np.integer]) -> NDArray[np.intp]:
        """Columns of some units, unit by unit."""
        columns, starts = self.members
        sizes = self.unit_sizes[units]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return columns[np.repeat(starts[units], sizes) + within]

    @cached_property
    def relative_costs(self) -> NDArray[np.float64]:
        """What scores of units are divided by: costs in units of their mean, all 1 without any.

        A unit that costs nothing counts as the cheapest of the others here, one out of reach as
        the dearest.
        """
        if self.costs is None:
            return np.ones(self.n_units)
        total = np.bincount(self.unit, self.costs)
        positive = total[(total > 0) & np.isfinite(total)]
        if len(positive) == 0:
            return np.ones(self.n_units)
        total = np.where(np.isfinite(total), np.maximum(total, positive.min()), positive.max())
        return total / total[self.reachable].mean()

    @cached_property
    def reachable(self) -> NDArray[np.bool_]:
        """Units that a choice may hold: those that cost a number."""
        if self.costs is None:
            return np.ones(self.n_units, dtype=bool)
        return np.isfinite(np.bincount(self.unit, self.costs))

    def cost(self, columns: NDArray[np.integer]) -> float:
        """What some columns cost together; NaN without costs."""
        return float("nan") if self.costs is None else float(self.costs[columns].sum())

    def ranking(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns from best to worst, and the sizes at which no unit is cut.

        Units that are always in come first.  The score of a unit is the best of its columns, per
        unit of cost if no score is negative; one without a score (NaN) is not ranked.
        """
        best = np.full(self.n_units, -np.inf)
        np.fmax.at(best, self.unit, scores)
        if self.divides(scores):
            best = best / self.relative_costs
        order = np.lexsort((-best, ~self.unit_kept))
        ranked = self.unit_kept | (self.reachable & (best > -np.inf))
        order = order[ranked[order]]
        ends = np.cumsum(self.unit_sizes[order])
        return self.columns(order), ends[max(int(self.unit_kept.sum()) - 1, 0) :]

    def divides(self, scores: NDArray[np.float64]) -> bool:
        """Whether a ranking by these scores is one by score per unit of cost."""
        return self.costs is not None and not bool(np.any(scores < 0))


def constraints_of(estimator: Any, table: Table) -> Constraints | None:
    """Constraints of an estimator's settings; None where it has none."""
    return Constraints.read(table, **{n: getattr(estimator, n, None) for n in SETTINGS})


# -- columns ---------------------------------------------------------------------------------------


def columns_of(given: Any, table: Table, setting: str = "must_include") -> NDArray[np.intp]:
    """Columns by name, pattern, position, or mask; increasing.

    Examples
    --------
    >>> from kernelpath.tables.table import as_column_table
    >>> import pandas as pd
    >>> table = as_column_table(pd.DataFrame({"age": [1], "town_a": [0], "town_b": [1]}))
    >>> columns_of("town_*", table).tolist(), columns_of([True, False, False], table).tolist()
    ([1, 2], [0])
    """
    n, values = table.shape[1], _as_list(given, setting)
    if not values:
        return np.zeros(0, dtype=np.intp)
    if all(isinstance(value, bool | np.bool_) for value in values):
        if _named(given):
            values = _in_order(given, table, setting)
        if len(values) != n:
            raise _wrong(f"a mask for {setting} needs {counted(n, 'value')}, got {len(values)}.")
        return np.flatnonzero(values)
    names = _places(table) if any(isinstance(value, str) for value in values) else {}
    return np.unique(np.concatenate([_matching(value, names, n, setting) for value in values]))


def _as_list(given: Any, setting: str) -> list[Any]:
    """What was given, one or several, as a list."""
    if given is None:
        return []
    if isinstance(given, str) or checks.is_whole(given):
        return [given]
    try:
        return list(unmasked(given, setting))
    except TypeError:
        raise _wrong(f"{setting} needs names or positions of columns, got {given!r}.") from None


def _named(given: Any) -> bool:
    """Whether this is a Series of pandas whose index has names: what counts is not its order."""
    index: Any = getattr(given, "index", ())
    return hasattr(given, "to_dict") and all(isinstance(name, str) for name in index)


def _in_order(given: Any, table: Table, setting: str) -> list[Any]:
    """Values of such a Series in the order of the columns, each of which has one."""
    known, names = given.to_dict(), _places(table)
    if set(known) != set(names) or len(known) != len(given):
        raise _wrong(
            f"{setting} is a Series whose index is not the names of all columns, each once; give a "
            "list of columns, or one value for each."
        )
    return [known[name] for name in names]


def _places(table: Table) -> dict[str, int]:
    own = [f"x{j}" for j in range(table.shape[1])] if table.names is None else table.names
    return {str(name): j for j, name in enumerate(own)}


def _matching(one: Any, names: dict[str, int], n: int, setting: str) -> NDArray[np.intp]:
    """Columns that one entry names."""
    if isinstance(one, str):
        if one in names:
            return np.array([names[one]], dtype=np.intp)
        found = [j for name, j in names.items() if PATTERN in one and fnmatchcase(name, one)]
        if found:
            return np.array(found, dtype=np.intp)
        what = "pattern" if PATTERN in one else "column"
        verb = "which no column has" if PATTERN in one else "which X does not have"
        near = nearest(one, list(names))
        hint = f"; did you mean {quoted_name(near[0])}?" if near else "."
        raise _wrong(f"{setting} names the {what} {quoted_name(one)}, {verb}{hint}")
    if not checks.is_whole(one) or not 0 <= one < n:
        raise _wrong(f"{setting} needs names or positions from 0 to {n - 1}, got {one!r}.")
    return np.array([int(one)], dtype=np.intp)


def _wrong(text: str) -> DataError:
    return naming(DataError(text), *SETTINGS)


# -- groups ----------------------------------------------------------------------------------------


def unit_of_columns(groups: Any, table: Table, setting: str = "feature_groups") -> NDArray[np.intp]:
    """Unit of each column, from 0 on in the order of the table; every column alone by default.

    ``groups`` is a list of groups, each a list of columns; a dict of them by name; or one label
    for each column.  A column that is in no group is alone.
    """
    n = table.shape[1]
    if groups is None:
        return np.arange(n)
    if isinstance(groups, Mapping):
        return numbered(_labels(list(groups.values()), table, setting))
    if not isinstance(groups, str) and _nested(groups):
        return numbered(_labels(list(groups), table, setting))
    if _named(groups):
        groups = _in_order(groups, table, setting)
    labels = np.asarray(unmasked(groups, setting), dtype=object)
    if labels.shape != (n,):
        raise _wrong(
            f"{setting} must have one label for each of the {n} columns, got shape {labels.shape}; "
            "or give lists of columns."
        )
    for label in labels.tolist():
        if is_missing(label):
            raise _wrong(f"{setting} has a label that is missing; give every column one.")
    return numbered(labels.tolist(), setting)


def _nested(groups: Any) -> bool:
    """Whether these are groups, and not labels."""
    try:
        return all(isinstance(g, Iterable) and not isinstance(g, str | bytes) for g in groups)
    except TypeError:
        return False


def _labels(groups: list[Any], table: Table, setting: str) -> list[Any]:
    """A label for each column, from lists of columns."""
    labels: list[Any] = [(j,) for j in range(table.shape[1])]
    for number, group in enumerate(groups):
        for j in columns_of(group, table, setting).tolist():
            if labels[j] not in ((j,), number):
                raise _wrong(f"{setting} has {table.label(np.array([j]))} in two groups.")
            labels[j] = number
    return labels


def numbered(labels: list[Any], setting: str = "feature_groups") -> NDArray[np.intp]:
    """Labels as numbers in the order in which they are met.

    Examples
    --------
    >>> numbered(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    seen: dict[Any, int] = {}
    try:
        return np.array([seen.setdefault(label, len(seen)) for label in labels], dtype=np.intp)
    except TypeError as error:
        raise _wrong(f"{setting} needs names or numbers as labels: {error}.") from error


# -- costs -----------------------------------------------------------------------------------------


def cost_of_columns(costs: Any, table: Table) -> NDArray[np.float64]:
    """What each column costs: from a dict of names, 1 for others, or from one number for each.

    Examples
    --------
    >>> from kernelpath.tables.table import as_column_table
    >>> cost_of_columns({"x1": 2.5}, as_column_table(np.zeros((2, 3)))).tolist()
    [1.0, 2.5, 1.0]
    """
    n = table.shape[1]
    if _named(costs):
        costs = costs.to_dict()
    if isinstance(costs, Mapping):
        found = np.ones(n)
        names = _places(table)
        # Patterns first: the cost of a name itself has the last word.
        for key in sorted(costs, key=lambda key: key in names):
            found[_matching(key, names, n, "costs")] = _cost(costs[key], key)
        return found
    given = unmasked(costs, "costs")
    values = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if len(values) != n or isinstance(given, str):
        raise _wrong(
            f"costs must be a dict of names, or one number for each of the {n} columns, got "
            f"{'a text' if isinstance(given, str) else len(values)}."
        )
    return np.array([_cost(value, j) for j, value in enumerate(values)])


def _cost(value: Any, key: Any) -> float:
    if checks.is_number(value) and value == np.inf:
        return np.inf
    if not checks.is_finite(value) or not 0 <= float(value) <= LARGEST_COST:
        raise _wrong(
            f"costs must be numbers from 0 to {LARGEST_COST:g}, or infinite for a column out of "
            f"reach, got {value!r} for {quoted_name(key)}."
        )
    return float(value)

"""What a budget counts: columns, or groups of columns, and which of them must be in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError
from kernelpath.mkl.weighted_kernels.base import SumKernel
from kernelpath.tables.table import Table, is_missing, unmasked
from kernelpath.utils.checks import is_whole, one_of

DEFAULT_BUDGET = 10  # the largest of those that nobody asked for
ALL = "all"
SAME = 1e-10  # relative: quadratic forms as close as that are those of one kernel
N_PROBES = 3


def unit_of_columns(groups: Any, table: Table) -> NDArray[np.intp]:
    """Unit of each column, from 0 on in the order of the table; every column alone by default."""
    n = table.shape[1]
    if groups is None:
        return np.arange(n)
    labels = np.asarray(unmasked(groups, "groups"), dtype=object)
    if labels.shape != (n,):
        raise DataError(
            f"groups must have one label for each of the {n} columns, got shape {labels.shape}."
        )
    seen: dict[Any, int] = {}
    found = []
    for label in labels.tolist():
        if is_missing(label):
            raise DataError("groups has a label that is missing; give every column one.")
        try:
            found.append(seen.setdefault(label, len(seen)))
        except TypeError as error:
            raise DataError(f"groups needs names or numbers as labels, got {label!r}.") from error
    return np.array(found, dtype=np.intp)


def check_budgets(given: Any) -> None:
    """Refuse what is no budget, before there is a table: numbers of features, "all" or None."""
    if isinstance(given, str):
        one_of("n_features_to_select", given, [ALL], "a number or numbers")
    elif given is not None:
        budgets_of(given)


def budgets_of(given: Any) -> NDArray[np.intp]:
    """Numbers of features, one or several; anything else is refused."""
    given = unmasked(given, "n_features_to_select")
    try:
        values = np.atleast_1d(np.asarray(given))
    except ValueError:  # lists of several lengths
        values = np.zeros(0)
    if values.ndim > 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise ValueError(
            f"n_features_to_select must be a whole number, several of them, or 'all', got {given!r}"
        )
    return values.astype(np.intp)


def budgets_up_to(given: Any, most: int, least: int = 1) -> list[int] | None:
    """Budgets that are named by no number: "all", or None for those up to 10; else None.

    Examples
    --------
    >>> budgets_up_to(None, most=3), budgets_up_to("all", most=12, least=11), budgets_up_to(4, 9)
    ([1, 2, 3], [11, 12], None)
    """
    if given is None:
        most = min(most, max(DEFAULT_BUDGET, least))
    elif not isinstance(given, str):
        return None
    return list(range(least, most + 1))


def fixed_columns(must_include: Any, table: Table) -> NDArray[np.intp]:
    """Columns that must be in: by name, by position, or by a mask."""
    if must_include is None:
        return np.zeros(0, dtype=np.intp)
    one = isinstance(must_include, str) or is_whole(must_include)
    given = [must_include] if one else list(must_include)
    if given and all(isinstance(value, bool | np.bool_) for value in given):
        if len(given) != table.shape[1]:
            raise DataError(
                f"a mask for must_include needs {table.shape[1]} values, got {len(given)}."
            )
        return np.flatnonzero(given)
    return np.unique(np.array([_column(value, table) for value in given], dtype=np.intp))


def _column(one: Any, table: Table) -> int:
    if isinstance(one, np.integer):
        one = int(one)
    if isinstance(one, str):
        n = table.shape[1]
        own = [f"x{j}" for j in range(n)] if table.names is None else table.names
        names = [str(name) for name in own]
        if one not in names:
            raise DataError(f"must_include names the column {one!r}, which X does not have.")
        return names.index(one)
    if not isinstance(one, int) or not 0 <= one < table.shape[1]:
        raise DataError(
            f"must_include needs names or positions from 0 to {table.shape[1] - 1}, got {one!r}."
        )
    return one


def twins(kernel: SumKernel) -> list[NDArray[np.intp]]:
    """Kernels that are the same, as sets of at least two: no target can tell them apart.

    Equal quadratic forms of random vectors mean equal kernels.

    Examples
    --------
    >>> from kernelpath.mkl.weighted_kernels.storage import FactorKernels
    >>> x = np.array([1.0, -2.0, 1.0])
    >>> twins(FactorKernels(np.array([x, [0.0, 1.0, -1.0], -x]), np.arange(4)))
    [array([0, 2])]
    """
    rng = np.random.default_rng(0)
    probes = [rng.normal(size=(kernel.n_rows, 1)) for _ in range(N_PROBES)]
    forms = np.array([kernel.quad(probe) for probe in probes])
    order = np.lexsort(forms)
    size = np.abs(forms).max(axis=0)
    apart = np.abs(np.diff(forms[:, order], axis=1)) > SAME * size[order[1:]]
    runs = np.split(order, np.flatnonzero(apart.any(axis=0)) + 1)
    return [np.sort(run) for run in runs if len(run) > 1]

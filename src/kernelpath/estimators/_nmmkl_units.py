"""What a budget counts: columns, or groups of columns, and which of them must be in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError
from kernelpath.inputs import ColumnTable
from kernelpath.weighted.base import SumKernel

SAME = 1e-10  # relative: quadratic forms as close as that are those of one kernel
N_PROBES = 3


def unit_of_columns(groups: Any, table: ColumnTable) -> NDArray[np.intp]:
    """Unit of each column, from 0 on in the order of the table; every column alone by default."""
    n = table.shape[1]
    if groups is None:
        return np.arange(n)
    labels = np.asarray(groups, dtype=object)
    if labels.shape != (n,):
        raise DataError(
            f"groups must have one label for each of the {n} columns, got shape {labels.shape}."
        )
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(label, len(seen)) for label in labels.tolist()], dtype=np.intp)


def fixed_units(must_include: Any, table: ColumnTable, units: NDArray[np.intp]) -> tuple[int, ...]:
    """Units of the columns that must be in: by name, by position, or by a mask."""
    if must_include is None:
        return ()
    if isinstance(must_include, str):
        must_include = [must_include]
    given = np.asarray(must_include)
    if given.dtype == bool:
        if given.shape != (table.shape[1],):
            raise DataError(
                f"a mask for must_include needs {table.shape[1]} values, got shape {given.shape}."
            )
        given = np.flatnonzero(given)
    return tuple(sorted({int(units[_column(one, table)]) for one in given.tolist()}))


def _column(one: Any, table: ColumnTable) -> int:
    if isinstance(one, str):
        names = [] if table.names is None else [str(name) for name in table.names]
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
    >>> from kernelpath.weighted.stacks import FactorKernels
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

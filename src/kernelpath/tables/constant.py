"""Columns that tell nothing: which they are, and what is said of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.errors import ConstantColumnWarning, DataError
from kernelpath.tables.table import Table
from kernelpath.utils.warn import warn


def constant_columns(table: Table) -> NDArray[np.bool_]:
    """Columns with one value only."""
    values = table.values
    if not sp.issparse(values):
        nothing = np.isnan(values).all(axis=0) if values.dtype.kind == "f" else False
        return np.asarray((values.max(axis=0) == values.min(axis=0)) | nothing)
    columns = values.tocsc()
    high, low = (np.asarray(f(axis=0).todense()).ravel() for f in (columns.max, columns.min))
    return high == low


def report_constant(
    table: Table,
    constant: NDArray[np.bool_],
    what: str = "column",
    brought: NDArray[np.bool_] | None = None,
) -> None:
    """Warn once about columns, or ``what`` else there is, that carry no information.

    Those that are ``brought`` in, as they must be or with their group, may be selected all the
    same.
    """
    columns = np.flatnonzero(constant)
    if len(columns) and len(columns) == table.shape[1]:
        others = "constant, or names its rows" if len(table.identifiers) else "constant or empty"
        raise DataError(f"Every {what} is {others}; there is nothing to select.")
    columns = np.setdiff1d(columns, table.identifiers) if what == "column" else columns
    with_others = np.zeros(len(constant), dtype=bool) if brought is None else brought
    parts = []
    for some, fate in (
        (columns[~with_others[columns]], "constant and will never be selected"),
        (columns[with_others[columns]], "constant, and in only where required or with a group"),
    ):
        if len(some):
            verb = "is" if len(some) == 1 else "are"
            parts.append(f"{table.label(some).replace('column', what, 1)} {verb} {fate}")
    if parts:
        text = "; ".join(parts)
        warn(f"{text[0].upper()}{text[1:]}.", ConstantColumnWarning)

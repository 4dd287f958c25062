"""Columns that are called an id and whose values repeat: their rows may belong together.

Where rows of one patient, household or machine are in several folds, models are scored on what
they have seen.  The column stays a feature; what could be done is said.
"""

from __future__ import annotations

import shlex

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.errors import ReadingWarning
from kernelpath.tables.kinds import CALLED_ID, Kind, is_identifier
from kernelpath.tables.table import Table, quoted_name
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

MOST_SAID = 3
REPEATS = ".* repeats \\("
"""How a warning of such a column is known."""
FEWEST_VALUES = 3  # two values are a yes or no, whatever it is called


def repeats(name: str, values: NDArray[np.float64], kind: Kind) -> tuple[int, int] | None:
    """Different values of a column that is called an id, and its rows, if values repeat.

    Whole numbers and text are judged; None for other columns, and for identifiers.

    Examples
    --------
    >>> rows = np.arange(100.0)
    >>> repeats("id", rows // 4, Kind.NUMBER), repeats("id", rows, Kind.NUMBER)
    ((25, 100), None)
    """
    if kind not in (Kind.NUMBER, Kind.CATEGORY) or not CALLED_ID.match(name):
        return None
    seen = values[~np.isnan(values)]
    if not (np.isfinite(seen).all() and (seen == np.floor(seen)).all()):
        return None
    n_values = len(np.unique(seen))
    if not FEWEST_VALUES <= n_values < len(seen) or is_identifier(name, values, kind):
        return None
    return n_values, len(seen)


def repeated_ids(table: Table) -> list[str]:
    """A sentence for each of the first columns of a table that are called an id and repeat."""
    if table.names is None or sp.issparse(table.values):
        return []
    said = []
    for j, name in enumerate(table.names.tolist()):
        if not CALLED_ID.match(str(name)):
            continue
        values = table.in_own_units().values if table.exponents is not None else table.values
        found = repeats(str(name), np.asarray(values[:, j], dtype=np.float64), table.kind(j))
        if found is not None:
            said.append(_sentence(str(name), *found))
    return said[:MOST_SAID]


def _sentence(name: str, n_values: int, n_rows: int) -> str:
    own = shlex.quote(name)
    return (
        f"{quoted_name(name)} repeats ({counted(n_values, 'value')} in {counted(n_rows, 'row')}): "
        f"if rows with the same {name[:40]} belong together, give --groups {own} (groups=) so that "
        f"folds keep them together; --drop {own} leaves it out."
    )


def say_repeated_ids(table: Table) -> None:
    """Warn of ids that repeat, one warning each."""
    for text in repeated_ids(table):
        warn(text, ReadingWarning)

"""Columns for kernels with weights inside: those that vary and differ, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.tables.constant import report_constant
from kernelpath.tables.table import Table

FARTHEST = 1e75  # deviations from the mean of new rows: their squares are numbers
LEAST_ROWS = 5
MOST_BYTES = 4 * 2**30
MATRICES = 12  # of rows by rows, that a step holds at once
SAME = 2e-4  # root mean square difference of standardised columns that count as the same
WINDOW = 6.0  # standard deviations of products with a random vector


@dataclass(frozen=True, eq=False)
class Columns:
    """How to standardise the columns that vary, without copies of one another.

    Attributes
    ----------
    places : ndarray of int
        Which columns of the table.
    size, center, scale : ndarray
        ``(x / size - center) / scale`` has mean 0 and variance 1, for huge and tiny ``x``, too.
    ties : list of ndarray
        Columns that are nearly the same but for scale and shift; the first one is kept.
    """

    places: NDArray[np.intp]
    size: NDArray[np.float64]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    ties: list[NDArray[np.intp]]

    @classmethod
    def of(cls, table: Table) -> tuple[Columns, NDArray[np.float64]]:
        """Learn them from a table; also returns its columns, standardised."""
        values = as_dense(table.values)
        constant = values.min(axis=0) == values.max(axis=0)
        report_constant(table, constant)
        usable = np.flatnonzero(~constant)
        values = values[:, usable]
        size = np.abs(values).max(axis=0)
        values = values / size
        center, scale = values.mean(axis=0), values.std(axis=0)
        Z = (values - center) / scale
        first, ties = _first_of_copies(Z, usable)
        self = cls(usable[first], size[first], center[first], scale[first], ties)
        return self, np.ascontiguousarray(Z[:, first])

    def transform(self, values: Any, farthest: float = FARTHEST) -> NDArray[np.float64]:
        """Standardise the columns of other rows, up to so many deviations from the mean."""
        rows = as_dense(values)[:, self.places]
        return np.clip((rows / self.size - self.center) / self.scale, -farthest, farthest)


def _first_of_copies(
    Z: NDArray[np.float64], columns: NDArray[np.intp]
) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Positions of the first of columns that are nearly equal, up to sign, and sets of such ones.

    Columns that are nearly equal have nearly the same product with a random vector.
    """
    n, d = Z.shape
    products = np.random.default_rng(0).normal(size=n) @ Z / np.sqrt(n)
    order = np.argsort(np.abs(products), kind="stable")
    leader = np.arange(d)
    for place, k in enumerate(order.tolist()):
        for other in order[place + 1 :].tolist():
            if abs(products[other]) - abs(products[k]) > WINDOW * SAME:
                break
            sign = np.sign(products[k] * products[other])
            if float(np.square(Z[:, k] - sign * Z[:, other]).mean()) <= SAME**2:
                leader[leader == leader[other]] = leader[k]
    groups = [np.flatnonzero(leader == one) for one in np.unique(leader)]
    ties = [columns[group] for group in groups if len(group) > 1]
    ties.sort(key=lambda group: int(group[0]))
    return np.sort([int(group[0]) for group in groups]), ties


def as_dense(values: Any) -> NDArray[np.float64]:
    """Numbers of double precision, in an ordinary array."""
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)


def check_size(n: int, d: int) -> None:
    """Refuse tables whose matrices would not fit, before any work."""
    if n < LEAST_ROWS:
        raise DataError(f"L1KR needs at least {LEAST_ROWS} rows, got n_samples = {n}.")
    needed = 8.0 * (MATRICES * n * n + 6 * n * d)
    if needed > MOST_BYTES:
        what = "rows" if MATRICES * n > 6 * d else "columns, as by kp.LpKTASelector before it"
        raise DataError(
            f"A table of {n:,} rows and {d:,} columns would need {needed / 2**30:.0f} GB, more "
            f"than the {MOST_BYTES / 2**30:.0f} GB that L1KR takes; give it fewer {what}."
        )

"""Complementary halves of the rows: the same shares of the classes, whole groups together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError, naming
from kernelpath.evaluation.splits import check_group_length
from kernelpath.tables.missing import missing_targets
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

Halves = tuple[NDArray[np.intp], NDArray[np.intp]]
FEWEST_ROWS = 4
FEW_ROWS = 4  # of a class: with fewer, a half may learn from one
TRIES = 100  # to divide groups so that both halves hold every class


@dataclass(frozen=True)
class Halving:
    """How rows are divided at random into two disjoint halves.

    Attributes
    ----------
    stratum : ndarray of shape (n_units,)
        What is divided into equal shares: the class of each unit, or 0 for a quantity.
    unit : ndarray of shape (n_rows,)
        Which rows stay together: the row itself, or its group.
    y : ndarray of shape (n_rows,)
    classes : bool
        Whether the target is a class.

    Examples
    --------
    >>> halving = Halving.of(np.array([0, 0, 0, 0, 0, 1, 1, 1, 1]), True)
    >>> one, other = halving.pair(seed=0, number=0)
    >>> len(one), len(other), halving.y[one].sum(), halving.y[other].sum()
    (4, 4, np.int64(2), np.int64(2))
    """

    stratum: NDArray[np.intp]
    unit: NDArray[np.intp]
    y: NDArray
    classes: bool

    @classmethod
    def of(cls, y: NDArray, classes: bool, groups: Any = None) -> Halving:
        """See what is to be divided, or say why it cannot be."""
        if len(y) < FEWEST_ROWS:
            rows = counted(len(y), "row")
            raise DataError(f"{rows} cannot be divided into halves; give at least {FEWEST_ROWS}.")
        label = np.unique(y, return_inverse=True)[1] if classes else np.zeros(len(y), dtype=np.intp)
        if classes:
            _check_classes(y)
        if groups is None:
            return cls(label, np.arange(len(y)), y, classes)
        unit = _checked_groups(groups, len(y))
        counts = np.zeros((unit.max() + 1, label.max() + 1), dtype=np.int64)
        np.add.at(counts, (unit, label), 1)
        return cls(counts.argmax(axis=1), unit, y, classes)

    def pair(self, seed: int, number: int) -> Halves:
        """Rows of both halves, each increasing; the same for the same seed and number.

        A row, or group, that is left over stays out.
        """
        rng = np.random.default_rng([seed, number])
        for _ in range(TRIES):
            side = self._sides(rng)[self.unit]
            one, other = np.flatnonzero(side == 0), np.flatnonzero(side == 1)
            if self._usable(one) and self._usable(other):
                return one, other
        what = "lacks a class" if self.classes else "has one value of the target only"
        raise DataError(
            f"However the rows are divided, a half {what}; give more groups, or merge rare classes."
        )

    def _sides(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """0 or 1 for every unit, -1 for one that stays out."""
        side = np.full(len(self.stratum), -1)
        over = []
        for stratum in np.unique(self.stratum):
            own = rng.permutation(np.flatnonzero(self.stratum == stratum))
            half = len(own) // 2
            side[own[:half]], side[own[half : 2 * half]] = 0, 1
            over += own[2 * half :].tolist()
        rest = rng.permutation(over).astype(np.intp)  # one of every class with an odd number
        half = len(rest) // 2
        side[rest[:half]], side[rest[half : 2 * half]] = 0, 1
        return side

    def _usable(self, rows: NDArray[np.intp]) -> bool:
        known = len(np.unique(self.y[rows]))
        return known == len(np.unique(self.y)) if self.classes else known > 1


def _check_classes(y: NDArray) -> None:
    known, count = np.unique(y, return_counts=True)
    fewest = int(count.min())
    if fewest >= FEW_ROWS:
        return
    name = repr(str(known[count.argmin()]))
    if fewest < 2:
        error = DataError(
            f"Class {name} has one row, but both halves need one; merge rare classes, or leave it "
            "out. If y is a quantity and not a label, set task='regression'."
        )
        raise naming(error, "task")
    warn(f"Class {name} has {counted(fewest, 'row')}: some halves learn from one of them.")


def _checked_groups(groups: Any, n_rows: int) -> NDArray[np.intp]:
    """Number of the group of every row."""
    check_group_length(groups, n_rows)
    given = np.asarray(groups)
    if missing_targets(given).any():
        raise DataError("groups has missing values; give every row a group.")
    known, unit = np.unique(given, return_inverse=True)
    if len(known) < 2:
        raise DataError("All rows are of one group, which cannot be divided; leave groups out.")
    return unit.astype(np.intp)

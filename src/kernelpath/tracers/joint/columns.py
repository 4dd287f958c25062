"""Features as columns of a matrix in which the squared distance of two rows has the mean 2.

A number is one column.  A category has one column for each value, and a number with missing values
a second column, which says where: rows then are as far from those without a value as two rows are
on average.  All columns of a feature come and go together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpath.tables.content import by_content
from kernelpath.tables.standardize import as_dense
from kernelpath.tables.table import Table, take_columns

MOST_VALUES = 30  # of a category that have a column of their own; the others share one


@dataclass(frozen=True, eq=False)
class JointColumns:
    """Features of some rows.

    Attributes
    ----------
    Z : ndarray of shape (n_rows, n_columns)
    starts : ndarray of shape (n_features + 1,)
        Columns ``starts[j]`` to ``starts[j + 1]`` are feature ``j``.
    source : ndarray of shape (n_features,)
        Column of the table of each feature.

    Examples
    --------
    >>> table = Table(np.array([[1.0, 0.0], [3.0, 2.0], [np.nan, 1.0]]), None, np.array([0, 1]) > 0)
    >>> columns = JointColumns.of(table, np.array([0, 1]))
    >>> np.diff(columns.starts).tolist() in ([2, 3], [3, 2])
    True
    >>> bool(np.allclose([columns.distances([j]).mean() for j in (0, 1)], 2.0))
    True
    """

    Z: NDArray[np.float64]
    starts: NDArray[np.intp]
    source: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Table, columns: NDArray[np.intp]) -> JointColumns:
        """Learn features from columns that vary; what comes first is decided by what is in it.

        Columns that are constant in these rows are left out.
        """
        values = as_dense(take_columns(rows.values, columns))
        categorical = rows.categorical[columns]
        plain = ~(categorical | np.isnan(values).any(axis=0))
        parts = [_numbers(values[:, plain])]
        widths = np.zeros(len(columns), dtype=np.intp)
        widths[plain] = 1
        for i in np.flatnonzero(~plain).tolist():
            part = _category(values[:, i]) if categorical[i] else _with_holes(values[:, i])
            widths[i] = part.shape[1]
            parts.append(part)
        owner = np.concatenate(
            [np.flatnonzero(plain), np.repeat(np.arange(len(columns)), widths * ~plain)]
        )
        Z = np.concatenate(parts, axis=1)
        Z -= Z.mean(axis=0)
        spread = np.bincount(owner, np.square(Z).mean(axis=0), minlength=len(columns))
        live = spread > 0
        Z *= (1.0 / np.sqrt(np.where(live, spread, 1.0)))[owner]
        # The order of the features is one that no order of the table changes.
        direction = np.argsort(by_content(Z))
        first = np.full(len(columns), len(direction))
        np.minimum.at(first, owner, direction)
        order = np.argsort(first, kind="stable")
        order = order[live[order]]
        place = np.full(len(columns), -1)
        place[order] = np.arange(len(order))
        kept = np.flatnonzero(live[owner])
        kept = kept[np.lexsort((direction[kept], place[owner[kept]]))]
        starts = np.concatenate([[0], np.cumsum(widths[order])]).astype(np.intp)
        return cls(np.asfortranarray(Z[:, kept]), starts, columns[order])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.Z)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.source)

    def columns(self, features: NDArray[np.intp] | list[int]) -> NDArray[np.intp]:
        """Columns of some features, one after the other."""
        which = np.asarray(features, dtype=np.intp)
        if len(self.starts) == self.Z.shape[1] + 1:  # one each
            return which
        return np.concatenate(
            [np.zeros(0, np.intp), *(np.arange(self.starts[j], self.starts[j + 1]) for j in which)]
        ).astype(np.intp)

    def distances(self, features: NDArray[np.intp] | list[int]) -> NDArray[np.float64]:
        """Squared distances of all pairs of rows over some features."""
        Z = self.Z[:, self.columns(features)]
        if Z.shape[1] == 1:
            return np.square(np.subtract.outer(Z[:, 0], Z[:, 0]))
        squares = np.einsum("ij,ij->i", Z, Z)
        D = Z @ Z.T
        D *= -2.0
        D += squares[:, None]
        D += squares
        np.maximum(D, 0.0, out=D)
        np.fill_diagonal(D, 0.0)
        return D


def _numbers(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centred columns of range at most 1; huge values and huge offsets cost no digits."""
    size = np.abs(values).max(axis=0, initial=0.0)
    Z = values / np.where(size > 0, size, 1.0)
    Z -= Z[:1].copy()
    size = np.abs(Z).max(axis=0, initial=0.0)
    return Z / np.where(size > 0, size, 1.0)


def _with_holes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A standardised number, at its mean where it is missing, and whether it is missing."""
    missing = np.isnan(values)
    Z = np.zeros((len(values), 2))
    Z[:, 1] = missing
    if not missing.all():
        seen = _numbers(values[~missing, None])[:, 0]
        seen -= seen.mean()
        Z[~missing, 0] = seen / (seen.std() or 1.0)
    return Z


def _category(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """One column for each value; a missing one is a value like others."""
    known, inverse, count = np.unique(
        np.where(np.isnan(codes), -1.0, codes), return_inverse=True, return_counts=True
    )
    rank = np.empty(len(known), dtype=np.intp)
    rank[np.argsort(-count, kind="stable")] = np.arange(len(known))
    group = np.minimum(rank, MOST_VALUES)[inverse.ravel()]
    return np.eye(group.max() + 1)[group]

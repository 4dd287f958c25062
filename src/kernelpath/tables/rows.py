"""What the weights of rows mean for a table: means, spreads, and rows that are one.

A row of weight 2 is a row that is there twice, and one of weight 0 is not there.  ``shares`` are
weights that sum to 1; None stands for equal ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.tables.table import canonical

Shares = NDArray[np.float64] | None
DIGEST = 16  # bytes: no two rows of a table share one by chance
GLANCE = 50  # rows that most columns of a few categories fail on
LEADING = 4  # columns that rows are sorted by, so that the units of columns do not change the order


def shares_of(weight: NDArray[np.float64] | None) -> Shares:
    """Weights as shares of their sum, however large they are.

    Examples
    --------
    >>> shares_of(np.array([1.0, 3.0])).tolist(), shares_of(None)
    ([0.25, 0.75], None)
    """
    if weight is None:
        return None
    scaled = weight / weight.max()
    return scaled / scaled.sum()


def mean_of(X: Any, shares: Shares = None) -> NDArray[np.float64]:
    """Mean of every column of an array or sparse matrix; along the rows of a vector.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [5.0, 2.0]])
    >>> mean_of(X).tolist(), mean_of(X, np.array([0.75, 0.25])).tolist()
    ([3.0, 1.0], [2.0, 0.5])
    """
    if shares is None:
        return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    return np.asarray(shares @ X, dtype=np.float64).ravel()


def spread_of(X: Any, shares: Shares = None) -> NDArray[np.float64]:
    """Standard deviation of every column; a sparse matrix is not made dense for it.

    Examples
    --------
    >>> X = np.array([[0.0], [0.0], [4.0]])
    >>> weighted = spread_of(X, np.array([0.0, 0.5, 0.5]))
    >>> weighted.tolist(), np.allclose(spread_of(X), spread_of(sparse.csr_array(X)))
    ([2.0], True)
    """
    if not sparse.issparse(X):
        if shares is None:
            return np.asarray(X, dtype=np.float64).std(axis=0)
        return np.sqrt(shares @ np.square(X - mean_of(X, shares)))
    table = canonical(sparse.csc_array(X, dtype=np.float64))
    each = np.full(X.shape[0], 1.0 / X.shape[0]) if shares is None else shares
    mean = mean_of(table, each)
    # Two passes: a large common offset must not cost digits.
    column = np.repeat(np.arange(X.shape[1]), np.diff(table.indptr))
    own = each[table.indices]
    squares = np.bincount(column, own * np.square(table.data - mean[column]), minlength=X.shape[1])
    stored = np.bincount(column, own, minlength=X.shape[1])
    return np.sqrt(squares + np.maximum(1.0 - stored, 0.0) * np.square(mean))


# -- rows that are one -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Rows of a table that are to be looked at, in an order that only their content decides.

    Attributes
    ----------
    first : ndarray of shape (n_distinct,)
        A row for each distinct one.
    group : ndarray of shape (n_rows,)
        Distinct row that each row is; -1 for rows of weight 0.
    weight : ndarray of shape (n_distinct,) or None
        Sum of the weights of those that are one; None where each of them is 1.
    part : ndarray of shape (n_rows,)
        Weight of each row, relative to that sum.
    """

    first: NDArray[np.intp]
    group: NDArray[np.intp]
    weight: NDArray[np.float64] | None
    part: NDArray[np.float64]

    def spread(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients of distinct rows, as columns of a matrix, as those of all rows."""
        return coefficients[:, self.group] * self.part

    def gather(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of `spread`: sums over rows that are one."""
        here = np.flatnonzero(self.group >= 0)
        own, most = self.group[here], len(self.first)
        return np.array([np.bincount(own, row[here], most) for row in coefficients])


def as_given(n_rows: int, weight: NDArray[np.float64] | None) -> DistinctRows:
    """All rows with a weight, in the order in which they are.

    Examples
    --------
    >>> rows = as_given(3, np.array([2.0, 0.0, 1.0]))
    >>> rows.first.tolist(), rows.group.tolist(), rows.weight.tolist()
    ([0, 2], [0, -1, 1], [2.0, 1.0])
    """
    first = np.arange(n_rows) if weight is None else np.flatnonzero(weight > 0)
    return _grouped(first, np.arange(len(first)), n_rows, weight)


def distinct(
    X: Any, y: NDArray, weight: NDArray[np.float64] | None, merge: bool = True
) -> DistinctRows:
    """Rows of the same values and target as one, which weighs as much as they do together.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    merge : bool
        False where weights would not do: the same order, but every row for itself.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [1.0]]), np.array([0, 0, 0])
    >>> rows = distinct(X, y, np.array([1.0, 0.0, 3.0]))
    >>> len(rows.first), rows.weight.tolist(), rows.spread(np.array([[8.0]])).tolist()
    (1, [4.0], [[2.0, 0.0, 6.0]])
    """
    n_rows = X.shape[0]
    kept = np.arange(n_rows) if weight is None else np.flatnonzero(weight > 0)
    keys = _keys(X, y)[kept]
    order = _order(X[:, :LEADING][kept], keys)
    new = np.ones(len(kept), dtype=bool)
    if merge:
        new[1:] = keys[order[1:]] != keys[order[:-1]]
    group = np.empty(len(kept), dtype=np.intp)
    group[order] = np.cumsum(new) - 1
    return _grouped(kept, group, n_rows, weight)


def one_by_group(
    group: NDArray[np.intp], weight: NDArray[np.float64] | None
) -> DistinctRows | None:
    """Some rows of a table whose distinct rows are known, rows of one group as one.

    None where there is nothing to do: each row for itself, all of weight 1.

    Examples
    --------
    >>> rows = one_by_group(np.array([7, 3, 7]), None)
    >>> rows.first.tolist(), rows.group.tolist(), rows.weight.tolist()
    ([1, 0], [1, 0, 1], [1.0, 2.0])
    >>> one_by_group(np.array([7, 3, 5]), None) is None
    True
    """
    own = np.unique(group, return_inverse=True)[1].astype(np.intp)
    if own.max(initial=-1) + 1 == len(own) and (weight is None or np.all(weight == 1.0)):
        return None
    return _grouped(np.arange(len(own)), own, len(own), weight)


def told_apart(X: Any) -> bool:
    """Whether one column alone takes another value in every row: measured, not a few categories.

    Two rows of such a table that agree in all columns are copies, not two of the same kind.

    Examples
    --------
    >>> told_apart(np.array([[0, 1.5], [0, 2.5], [1, 3.5]]))
    True
    >>> told_apart(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    False
    """
    some = _dense(X[:GLANCE])
    hopeful = (np.diff(np.sort(some, axis=0), axis=0) != 0).all(axis=0)
    return any(
        len(np.unique(_dense(X[:, [j]]))) == X.shape[0] for j in np.flatnonzero(hopeful).tolist()
    )


def _dense(X: Any) -> NDArray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _grouped(
    kept: NDArray[np.intp], own: NDArray[np.intp], n_rows: int, weight: NDArray | None
) -> DistinctRows:
    group = np.full(n_rows, -1)
    group[kept] = own
    each = np.ones(n_rows) if weight is None else weight
    total = np.bincount(own, each[kept]).astype(np.float64)
    first = np.zeros(len(total), dtype=np.intp)
    first[own[::-1]] = kept[::-1]
    part = np.where(group >= 0, each / total[group], 0.0)
    return DistinctRows(first, group, None if (total == 1.0).all() else total, part)


def _keys(X: Any, y: NDArray) -> NDArray:
    """A digest of each row: equal where values and target are, and sortable; no copy of all."""
    numeric = y.dtype.kind in "biuf"
    labels = (
        [value.tobytes() for value in y.astype(np.float64) + 0.0]
        if numeric
        else [str(value).encode() for value in y]
    )
    if sparse.issparse(X):
        X = canonical(sparse.csr_array(X, dtype=np.float64))
    digests = [
        blake2b(label + b"," + _content(X, i), digest_size=DIGEST).digest()
        for i, label in enumerate(labels)
    ]
    return np.array(digests, dtype=f"V{DIGEST}")


def _order(leading: Any, keys: NDArray) -> NDArray[np.intp]:
    """Sort by the first columns, then by digest: rows with the same digest come together."""
    dense = _dense(leading)
    rank = np.empty(len(keys), dtype=np.intp)
    rank[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    return np.lexsort((rank, *dense.T[::-1]))


def _content(X: Any, i: int) -> bytes:
    if not sparse.issparse(X):
        return (np.asarray(X[i], dtype=np.float64) + 0.0).tobytes()  # -0 is 0
    own = slice(X.indptr[i], X.indptr[i + 1])
    return X.indices[own].astype(np.int64).tobytes() + X.data[own].tobytes()

"""Steps into which columns are cut before boosted trees are grown, where rows have weights.

scikit-learn cuts a column at its weighted quantiles, and looks for each of them in all rows.  Here
all are read off one sorted column; the trees are grown on the numbers of the steps, and are the
same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Bins:
    """Upper edges of the steps of some columns; the others have few values, and stay as they are.

    Attributes
    ----------
    edges : dict of int to ndarray
        Increasing, by column.

    Examples
    --------
    >>> X = np.arange(6.0)[:, None]
    >>> bins = Bins.fit(X, np.array([3.0, 1.0, 1.0, 1.0, 1.0, 1.0]), max_bins=2)
    >>> bins.edges[0].tolist(), bins.codes(X)[:, 0].tolist()
    ([1.5], [0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    """

    edges: dict[int, NDArray[np.float64]]

    @classmethod
    def fit(cls, X: NDArray[np.float64], weight: NDArray[np.float64], max_bins: int) -> Bins:
        """Cut columns at quantiles of equal weight."""
        shares = np.linspace(0.0, 1.0, max_bins + 1)[1:-1]
        found = {}
        for j in range(X.shape[1]):
            seen = ~np.isnan(X[:, j]) & (weight > 0)
            x, own = X[seen, j], weight[seen]
            if len(np.unique(x)) > max_bins:
                found[j] = np.unique(weighted_quantiles(x, own, shares))
        return cls(found)

    def codes(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers of the steps in place of values; what is missing stays so."""
        coded = X.copy()
        for j, edges in self.edges.items():
            numbers = np.searchsorted(edges, X[:, j]).astype(np.float64)
            coded[:, j] = np.where(np.isnan(X[:, j]), np.nan, numbers)
        return coded

    def thresholds(
        self, feature: NDArray[np.int64], threshold: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Thresholds of nodes in units of the columns: up to an edge is up to its step."""
        real = threshold.copy()
        for j, edges in self.edges.items():
            place = np.flatnonzero((feature == j) & (threshold < len(edges)))
            real[place] = edges[np.floor(threshold[place]).astype(np.intp)]
        return real


def weighted_quantiles(
    x: NDArray[np.float64], weight: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Smallest values with such shares of the weight up to them; the middle where one is met.

    Examples
    --------
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.ones(3), np.array([0.5, 2 / 3])).tolist()
    [2.0, 2.5]
    """
    order = np.argsort(x, kind="stable")
    x, below = x[order], np.cumsum(weight[order])
    wanted = shares * below[-1]
    rounding = 4.0 * np.finfo(np.float64).eps * below[-1]
    place = np.minimum(np.searchsorted(below, wanted - rounding), len(x) - 1)
    met = below[place] <= wanted + rounding
    return 0.5 * (x[place] + x[np.minimum(place + met, len(x) - 1)])

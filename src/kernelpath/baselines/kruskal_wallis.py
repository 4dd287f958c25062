"""KruskalWallis: every feature by itself, by the ranks of its values in the classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import Answer, BaselineSelector, Ranking, ranked
from kernelpath.baselines._discrete import sorted_blocks
from kernelpath.utils.compiled import compiled


class KruskalWallis(BaselineSelector):
    r"""Kruskal-Wallis: distance of the mean ranks of the classes [kruskal1952]_.

    .. math:: H = \frac{12}{n (n + 1)} \sum_k n_k \Big( \bar r_k - \frac{n + 1}{2} \Big)^2
              \Big/ \Big( 1 - \frac{\sum_t (t^3 - t)}{n^3 - n} \Big)

    with the mean rank :math:`\bar r_k` of class :math:`k` and groups of :math:`t` equal values.
    Any growing function of a feature has the same score; outliers count as the largest.  Every
    feature is judged by itself: copies of a good one are as good.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        The statistic H, with the correction for ties.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    References
    ----------
    .. [kruskal1952] Kruskal, Wallis. Use of ranks in one-criterion variance analysis. Journal of
       the American Statistical Association, 1952.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import kernelpath as kp
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> kp.baselines.KruskalWallis(2).fit(X, y).path_[0].names
    ('petal width (cm)', 'petal length (cm)')
    """

    METHOD: ClassVar[str] = "kruskal_wallis"
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_features_to_select: Any = None) -> None:
        self.n_features_to_select = n_features_to_select

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        return ranked(rank_statistics(Z, answer.codes))


def rank_statistics(Z: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """H of each column, none of them constant; classes are numbered from 0 on.

    Examples
    --------
    >>> Z = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> rank_statistics(Z, np.array([0, 0, 1, 1])).round(3).tolist()
    [2.4]
    """
    found, counts = np.empty(Z.shape[1]), np.bincount(codes)
    for which, values, order in sorted_blocks(Z):
        _rank_sums(values, order, codes, counts, found[which])
    return found


@compiled()
def _rank_sums(values, order, codes, counts, found):
    """Ranks are counted from their middle: sums of them are 0 where classes do not differ."""
    n = values.shape[1]
    sums = np.empty(counts.shape[0])
    for j in range(values.shape[0]):
        sums[:] = 0.0
        ties, start = 0.0, 0
        while start < n:
            value, end = values[j, order[j, start]], start + 1
            while end < n and values[j, order[j, end]] == value:
                end += 1
            for i in range(start, end):
                sums[codes[order[j, i]]] += 0.5 * (start + end - n)
            size = float(end - start)
            ties += size * size * size - size
            start = end
        between = 0.0
        for k in range(counts.shape[0]):
            between += sums[k] * sums[k] / counts[k]
        # 12 / (n (n + 1)) over 1 - ties / (n^3 - n)
        found[j] = 12.0 * between * (n - 1.0) / (float(n) * n * n - n - ties)

"""GiniIndex: every feature by itself, by its best cut in two."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import Answer, BaselineSelector, Ranking, ranked
from kernelpath.baselines._discrete import sorted_blocks
from kernelpath.utils.compiled import compiled


class GiniIndex(BaselineSelector):
    r"""Gini index: how much purer the classes are on both sides of the best cut [breiman1984]_.

    .. math:: G(S) - \min_t \Big( \frac{|S_{\le t}|}{|S|} G(S_{\le t})
              + \frac{|S_{> t}|}{|S|} G(S_{> t}) \Big), \qquad G(S) = 1 - \sum_k p_k(S)^2

    with the share :math:`p_k(S)` of class :math:`k` in the rows :math:`S`.  The Gini index of a
    feature is the minimum [zhao2010]_; the score is what it is below that of all rows, so that more
    is better.  Every feature is judged by itself: copies of a good one are as good.

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
        Decrease of the impurity, between 0 and 1.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    References
    ----------
    .. [breiman1984] Breiman, Friedman, Olshen, Stone. Classification and Regression Trees.
       Wadsworth, 1984.
    .. [zhao2010] Zhao, Morstatter, Sharma, Alelyani, Anand, Liu. Advancing feature selection
       research: ASU feature selection repository. Arizona State University, 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import kernelpath as kp
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> kp.baselines.GiniIndex(2).fit(X, y).path_[0].names
    ('proline', 'color_intensity')
    """

    METHOD: ClassVar[str] = "gini"
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_features_to_select: Any = None) -> None:
        self.n_features_to_select = n_features_to_select

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        return ranked(gini_decreases(Z, answer.codes))


def gini_decreases(Z: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Decrease of the impurity at the best cut of each column; classes are numbered from 0 on.

    Examples
    --------
    >>> gini_decreases(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])).tolist()
    [0.5]
    """
    found, counts = np.empty(Z.shape[1]), np.bincount(codes)
    for which, values, order in sorted_blocks(Z):
        _best_cuts(values, order, codes, counts, found[which])
    return found


@compiled()
def _best_cuts(values, order, codes, counts, found):
    """Sums of squared counts on both sides, from cut to cut; impurity is 1 less such a sum."""
    n, squares = values.shape[1], 0.0
    for k in range(counts.shape[0]):
        squares += float(counts[k]) * counts[k]
    left = np.empty_like(counts)
    for j in range(values.shape[0]):
        left[:] = 0
        below, above, best = 0.0, squares, squares / n
        value = values[j, order[j, 0]]
        for i in range(n - 1):
            k = codes[order[j, i]]
            below += 2 * left[k] + 1
            left[k] += 1
            above -= 2 * (counts[k] - left[k]) + 1
            following = values[j, order[j, i + 1]]
            if following != value:
                best = max(best, below / (i + 1) + above / (n - i - 1))
                value = following
        found[j] = (best - squares / n) / n

"""Fisher: every feature by itself, by the distance of the classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.tables.targets import TASKS
from kernelpath.utils.checks import one_of

LEAST_VARIANCE = 1e-12  # relative to all rows: a column without any within the classes


class Fisher(BaselineSelector):
    r"""Fisher score: distance of the class means relative to the spread within [bishop1995]_.

    .. math:: \frac{(\mu_+ - \mu_-)^2}{s_+^2 + s_-^2}, \qquad
              \frac{\sum_k n_k (\mu_k - \mu)^2}{\sum_k n_k s_k^2}

    The first is that of two classes, the second that of more.  For regression the score is the
    squared correlation.  Every feature is judged by itself: copies of a good one are as good.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    References
    ----------
    .. [bishop1995] Bishop. Neural Networks for Pattern Recognition. Oxford University Press, 1995.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import kernelpath as kp
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> kp.baselines.Fisher(2).fit(X, y).path_[0].names
    ('petal length (cm)', 'petal width (cm)')
    """

    METHOD: ClassVar[str] = "fisher"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_features_to_select: Any = None, *, task: str = "auto") -> None:
        self.n_features_to_select = n_features_to_select
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("task", self.task, TASKS)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        if answer.task == NUMBERS:
            return ranked(np.square(Z.T @ answer.values / len(Z)))
        return ranked(fisher_scores(Z, answer.codes))


def fisher_scores(Z: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Fisher score of standardised columns; classes are numbered from 0 on.

    Examples
    --------
    >>> fisher_scores(np.array([[-1.5], [-0.5], [0.5], [1.5]]), np.array([0, 0, 1, 1])).tolist()
    [8.0]
    """
    counts = np.bincount(codes)
    means = np.array([Z[codes == k].mean(axis=0) for k in range(len(counts))])
    variances = np.array([Z[codes == k].var(axis=0) for k in range(len(counts))])
    if len(counts) == 2:
        between, within = np.square(means[1] - means[0]), variances.sum(axis=0)
    else:
        between = counts @ np.square(means - Z.mean(axis=0))
        within = counts @ variances
    return between / np.maximum(within, LEAST_VARIANCE)

"""InformationGain: every feature by itself, by what its parts tell about the class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.baselines._discrete import (
    DISCRETIZATIONS,
    discretized,
    information,
    target_classes,
)
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks

IDLE = (
    checks.Idle(
        "n_bins", lambda own: own.discretization == "mdl", "with discretization='mdl'",
        "leave it out, or set discretization='quantile'",
    ),
)  # fmt: skip


class InformationGain(BaselineSelector):
    r"""Information gain: mutual information of the parts of a feature and the classes [quinlan]_.

    .. math:: I = \sum_{a, k} p_{ak} \log \frac{p_{ak}}{p_a p_k}

    with the shares :math:`p` of the rows in part :math:`a` of the feature and in class :math:`k`,
    in nats.  Every feature is judged by itself: copies of a good one are as good.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    discretization : {"mdl", "quantile"}
        How a column is cut.  ``"mdl"``: where the classes change, again and again, as long as that
        shortens the description of the classes [fayyad1993]_; a column without such a cut has score
        0, and such columns rank by the information in their best single cut.  ``"quantile"``: into
        parts of equal frequency, whatever the classes; equal values stay together.
    n_bins : int
        Parts of a column with ``"quantile"``.
    task : {"auto", "classification", "regression"}
        A target of numbers is cut into five parts of equal frequency, which are the classes.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        Mutual information in nats.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    More parts find more information, also in noise: about :math:`(b - 1)(c - 1) / 2n` for
    :math:`b` parts and :math:`c` classes.  Features with many values gain by that when cut by
    quantiles, and not by ``"mdl"``.

    References
    ----------
    .. [quinlan] Quinlan. Induction of decision trees. Machine Learning, 1986.
    .. [fayyad1993] Fayyad, Irani. Multi-interval discretization of continuous-valued attributes for
       classification learning. IJCAI, 1993.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import kernelpath as kp
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> kp.baselines.InformationGain(2).fit(X, y).path_[0].names
    ('petal width (cm)', 'petal length (cm)')
    """

    METHOD: ClassVar[str] = "information_gain"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        discretization: str = "mdl",
        n_bins: int = 10,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.discretization = discretization
        self.n_bins = n_bins
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.one_of("discretization", self.discretization, DISCRETIZATIONS)
        checks.whole("n_bins", self.n_bins, at_least=2)
        checks.refuse_idle(self, IDLE)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        classes = target_classes(answer)
        scores, gains = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
        for part in discretized(Z, classes, self.discretization, int(self.n_bins)):
            scores[part.which] = information(part.codes, classes)
            if part.gains is not None:
                gains[part.which] = part.gains
        return ranked(scores, then=gains)

"""L0Approximation: machines on columns that are scaled by the weights of the machine before."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import Answer, BaselineSelector, Ranking
from kernelpath.baselines._linear import joined, linear_machine
from kernelpath.mkl.losses import Hinge

VANISHED = 1e-6  # relative to the largest scale
SETTLED = 1e-4  # change of the scales, relative to the largest


class L0Approximation(BaselineSelector):
    r"""L0-appr: approximate the number of features by the sum of logarithms [weston2003]_.

    .. math:: \min_{v, b}\; \sum_j \log |v_j| + C \sum_i \max(0, 1 - y_i (v^\top x_i + b))

    From the scales :math:`z = 1`, a linear support vector machine with weights :math:`w` is fitted
    to the columns multiplied by :math:`z`, and :math:`z_j \leftarrow z_j |w_j|`.  Scales of useless
    features fall to zero at a growing speed.  Of several classes each is set against the rest with
    common scales, which are multiplied by the root of the sum of the squared weights.

    The scales do not depend on the budget: it says only when to stop.  So one run gives a
    choice for every budget.  A feature ranks by the machine after which it vanished, the later the
    better, then by its scale at that time; those that are left when nothing changes any more rank
    by their scales.  These choices are nested.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    C : float
        Cost of errors.
    max_iter : int
        Most machines that are fitted.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        Number of machines that a feature survived, plus a fraction by its scale.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    scales_ : ndarray of shape (n_features_usable,)
        Scales after the last machine.
    n_iter_ : int
        Number of machines.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    References
    ----------
    .. [weston2003] Weston, Elisseeff, Schölkopf, Tipping. Use of the zero-norm with linear models
       and kernel methods. Journal of Machine Learning Research, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kernelpath as kp
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = kp.baselines.L0Approximation(5).fit(X, y)
    >>> bool(selector.scales_.min() < 1e-6)
    True
    """

    METHOD: ClassVar[str] = "l0_approximation"
    POSITIVE: ClassVar[tuple[str, ...]] = ("C", "max_iter")

    def __init__(
        self, n_features_to_select: Any = None, C: float = 1.0, *, max_iter: int = 50
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.C = C
        self.max_iter = max_iter

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        d = Z.shape[1]
        losses = [Hinge(self.C).dual(label) for label in answer.labels.T]
        scales, survived, last = np.ones(d), np.zeros(d, dtype=np.intp), np.ones(d)
        alive = np.arange(d)
        self.n_iter_ = 0
        duals: list[Any] = [None] * len(losses)
        while self.n_iter_ < self.max_iter and len(alive) > budgets[0]:
            fits = [
                linear_machine(Z[:, alive] * scales[alive], loss, u)
                for loss, u in zip(losses, duals)
            ]
            duals = [u for _, u in fits]
            before = scales[alive]
            scales[alive] = before * joined([w for w, _ in fits])
            self.n_iter_ += 1
            last[alive] = scales[alive] / max(float(scales[alive].max()), 1e-300)
            stays = last[alive] > VANISHED
            survived[alive[stays]] = self.n_iter_
            change = np.abs(scales[alive] - before).max()
            if stays.all() and change <= SETTLED * before.max():
                break
            alive = alive[stays]
        self.scales_ = scales
        order = np.lexsort((-last, -survived))
        return Ranking(_with_fractions(survived, order), order)


def _with_fractions(survived: NDArray[np.intp], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Numbers of machines, plus a fraction in (0, 1) that keeps the order within each."""
    scores = survived.astype(np.float64)
    scores[order] += (len(order) - np.arange(len(order))) / (len(order) + 1.0)
    return scores

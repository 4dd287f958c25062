"""L1SVM: the support vector machine with the 1-norm of its weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from kernelpath.baselines._base import Answer, BaselineSelector, Ranking, ranked
from kernelpath.baselines._linear import joined, solve_program
from kernelpath.utils.checks import one_of

LOSSES = ("squared_hinge", "hinge")
TOL = 1e-5
MAX_ITER = 20_000


class L1SVM(BaselineSelector):
    r"""L1-SVM: the 1-norm in the place of the 2-norm, so that few weights are left [fung2004]_.

    .. math:: \min_{w, b}\; \|w\|_1 + C \sum_i \ell(y_i (w^\top x_i + b))

    A feature scores :math:`|w_j|`, of several classes (each against the rest) the root of the sum
    of squares.  Features without weight come after, by the slope of the loss in their weight: how
    near they are to getting one.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    C : float
        Cost of errors.
    loss : {"squared_hinge", "hinge"}
        The squared hinge is solved by liblinear, whose bias counts in the norm; the hinge, that of
        the papers, is a linear program.

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
    .. [fung2004] Fung, Mangasarian. A feature selection Newton method for support vector machine
       classification. Computational Optimization and Applications, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kernelpath as kp
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> kp.baselines.L1SVM(2, C=0.01).fit(X, y).path_[0].names
    ('worst radius', 'mean concave points')
    """

    METHOD: ClassVar[str] = "l1_svm"

    def __init__(
        self, n_features_to_select: Any = None, C: float = 1.0, *, loss: str = "squared_hinge"
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.C = C
        self.loss = loss

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("loss", self.loss, LOSSES)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        machine = self._squared if self.loss == "squared_hinge" else self._plain
        weights, slopes = zip(*(machine(Z, label) for label in answer.labels.T))
        return ranked(joined(list(weights)), then=joined(list(slopes)))

    def _squared(self, Z: NDArray, label: NDArray) -> tuple[NDArray, NDArray]:
        model = LinearSVC(
            penalty="l1", loss="squared_hinge", dual=False, C=self.C, tol=TOL, max_iter=MAX_ITER,
            random_state=0,
        ).fit(Z, label)  # fmt: skip
        slack = np.maximum(1.0 - label * model.decision_function(Z), 0.0)
        return model.coef_[0], 2.0 * self.C * (Z.T @ (label * slack))

    def _plain(self, Z: NDArray, label: NDArray) -> tuple[NDArray, NDArray]:
        n, d = Z.shape
        found = solve_program(Z, label, np.ones(d), np.full(n, self.C))
        return found.weights, found.slopes

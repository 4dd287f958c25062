"""SVMLW, SVRLW and LassoLW: the features of the largest weights of a linear model."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Lasso, LassoCV, lasso_path
from sklearn.model_selection import KFold

from kernelpath.baselines._base import (
    NUMBERS,
    Answer,
    BaselineSelector,
    Ranking,
    ranked,
)
from kernelpath.baselines._linear import joined, linear_machine
from kernelpath.mkl.losses import EpsilonInsensitive, Hinge
from kernelpath.utils import checks

TIGHT = 1e-8  # of the lasso at the chosen strength
DIGITS = 9  # of distances that are compared
FOLDS = 5
MAX_ITER = 20_000


class SVMLW(BaselineSelector):
    r"""SVM-LW: largest weights of a linear support vector machine [guyon2002]_.

    .. math:: \min_{w, b}\; \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i (w^\top x_i + b))

    A feature scores :math:`|w_j|`.  Of more than two classes each is set against the rest, and the
    score is the root of the sum of the squared weights.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    C : float
        Cost of errors.

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
    .. [guyon2002] Guyon, Weston, Barnhill, Vapnik. Gene selection for cancer classification using
       support vector machines. Machine Learning, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kernelpath as kp
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> kp.baselines.SVMLW(1).fit(X, y).path_[0].names
    ('worst concavity',)
    """

    METHOD: ClassVar[str] = "svm_lw"

    def __init__(self, n_features_to_select: Any = None, C: float = 1.0) -> None:
        self.n_features_to_select = n_features_to_select
        self.C = C

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        loss = Hinge(self.C)
        return ranked(joined([linear_machine(Z, loss.dual(y))[0] for y in answer.labels.T]))


class SVRLW(BaselineSelector):
    r"""SVR-LW: largest weights of linear support vector regression [smola2004]_.

    .. math:: \min_{w, b}\; \tfrac12 \|w\|^2
              + C \sum_i \max(0, |y_i - w^\top x_i - b| - \varepsilon)

    The target is standardised first; a feature scores :math:`|w_j|`.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    C : float
        Cost of errors.
    epsilon : float
        Errors up to this size, in standard deviations of the target, cost nothing.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_

    References
    ----------
    .. [smola2004] Smola, Schölkopf. A tutorial on support vector regression. Statistics and
       Computing, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kernelpath as kp
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> kp.baselines.SVRLW(1).fit(X, y).path_[0].names
    ('s5',)
    """

    METHOD: ClassVar[str] = "svr_lw"
    TASKS: ClassVar[tuple[str, ...]] = (NUMBERS,)

    def __init__(
        self, n_features_to_select: Any = None, C: float = 1.0, epsilon: float = 0.1
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.C = C
        self.epsilon = epsilon

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.real("epsilon", self.epsilon, at_least=0, must=checks.NOT_NEGATIVE)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        problem = EpsilonInsensitive(self.C, self.epsilon).dual(answer.values)
        return ranked(np.abs(linear_machine(Z, problem)[0]))


class LassoLW(BaselineSelector):
    r"""LASSO-LW: largest weights of the lasso [tibshirani1996]_.

    .. math:: \min_w\; \tfrac1{2n} \|y - X w\|^2 + \alpha \|w\|_1

    for a standardised target.  A feature scores :math:`|w_j|`.  Features without weight come after,
    in the order in which they would enter as alpha falls.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    alpha : float, optional
        Strength of the penalty.  None chooses it by cross-validation in five folds, the same ones
        each time, in whatever order rows and columns are.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    alpha_ : float
        The strength that was used.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_

    References
    ----------
    .. [tibshirani1996] Tibshirani. Regression shrinkage and selection via the lasso. Journal of
       the Royal Statistical Society, Series B, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kernelpath as kp
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> kp.baselines.LassoLW(3, alpha=0.1).fit(X, y).path_[0].names
    ('bmi', 's5', 'bp')
    """

    METHOD: ClassVar[str] = "lasso_lw"
    TASKS: ClassVar[tuple[str, ...]] = (NUMBERS,)
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_features_to_select: Any = None, alpha: float | None = None) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.alpha is not None:
            checks.real("alpha", self.alpha, above=0, must=checks.POSITIVE)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        y = answer.values
        if self.alpha is None:
            self.alpha_ = float(LassoCV(cv=_folds(Z, y), max_iter=MAX_ITER).fit(Z, y).alpha_)
        else:
            self.alpha_ = float(self.alpha)
        model = Lasso(self.alpha_, max_iter=MAX_ITER, tol=TIGHT).fit(Z, y)
        scores = np.abs(model.coef_)
        if np.count_nonzero(scores) >= budgets[-1]:
            return ranked(scores)
        return Ranking(scores, np.lexsort((*entry_keys(Z, y), -scores)))


def _folds(
    Z: NDArray[np.float64], y: NDArray[np.float64]
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Shuffled folds that only the content of the rows decides: target, then distance from 0."""
    order = np.lexsort((np.round(np.square(Z).sum(axis=1), DIGITS), y))
    folds = KFold(min(FOLDS, len(Z)), shuffle=True, random_state=0)
    return [(order[train], order[test]) for train, test in folds.split(Z)]


def entry_keys(
    Z: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Sorting keys of the order in which features enter the lasso, the more important one last.

    The position on a grid of 100 strengths, then the weight there; those that never enter are
    sorted by what they still have in common with the residual.
    """
    _, weights, _ = lasso_path(Z, y, max_iter=MAX_ITER)
    inside = weights != 0
    entered = inside.any(axis=1)
    position = np.where(entered, inside.argmax(axis=1), weights.shape[1])
    size = np.abs(weights[np.arange(len(weights)), np.minimum(position, weights.shape[1] - 1)])
    left = np.abs(Z.T @ (y - Z @ weights[:, -1]))
    return -np.where(entered, size, left), position

"""L1SVMPath: the whole path of the support vector machine with the 1-norm, exactly."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._own_path import Found, OwnPathBaseline
from kernelpath.baselines._svm_path import SVMPath


class L1SVMPath(OwnPathBaseline):
    r"""Path of the 1-norm support vector machine over the norm of its weights [zhu2003]_.

    .. math:: \min_{b_0, b}\; \sum_i \max(0, 1 - y_i (b_0 + x_i^\top b))
              \quad \text{subject to} \quad \|b\|_1 \le s

    for every budget `s`, from 0 to where the loss can fall no further.  The weights are linear in
    `s` between corners, at which a feature gets a weight or loses it, or a row comes to its margin
    or leaves it; ``path_`` holds all corners.  This is PF-l1-SVM of the lp-KTA paper: nothing has
    to be tuned, and features may leave again, so that the path need not be nested.

    Parameters
    ----------
    n_features_to_select : int, optional
        The point that is selected: the last one with so many features, or the next fewer that the
        path has.  Default: the end of the path.
    max_features : int, optional
        Where more features have a weight for the first time, the path ends.  Default: followed to
        its end.

    Attributes
    ----------
    path_ : FeaturePath
        One point for each corner; weights are the absolute ones, ``parameters`` the budgets `s`,
        ``values`` the losses.  ``gaps`` are proved by the multipliers of the rows and relative to
        the loss without features, ``kkt`` is the largest violation of the optimality conditions.
        Events are where a weight leaves or reaches 0.
    coefs_ : scipy.sparse.csr_array of shape (n_points, n_features)
        Weights of the standardised columns.
    intercepts_, strengths_ : ndarray of shape (n_points,)
        Bias, and the rate at which the loss falls from a corner on: the cost of a unit of the norm
        for which the corner is optimal, too.
    weights_ : ndarray of shape (n_features,)
        Weights at the point that is selected, whose place is ``position_``.
    support_ : ndarray of bool, shape (n_features,)
    position_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    The linear program is followed in the cost of the norm by the parametric simplex method.  Only
    the rows at their margin and the features with a weight take part in its equations, and their
    factors are updated, so that a corner takes about `n_samples n_features` operations at most.
    Rows or columns that are the same do not make it stop: ties are decided by a second right-hand
    side, as if each row were moved by its own infinitesimal amount.

    References
    ----------
    .. [zhu2003] Zhu, Rosset, Hastie, Tibshirani. 1-norm support vector machines. Advances in Neural
       Information Processing Systems, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kernelpath as kp
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> path = kp.baselines.L1SVMPath(max_features=5).fit(X, y).path_
    >>> path.at(n_features=2).names
    ('worst perimeter', 'mean concave points')
    >>> bool(path.gaps.max() < 1e-9)
    True
    """

    METHOD: ClassVar[str] = "l1_svm_path"
    PARAMETER: ClassVar[str] = "s"

    def __init__(
        self, n_features_to_select: int | None = None, *, max_features: int | None = None
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.max_features = max_features

    def _follow(self, Z: NDArray[np.float64], label: NDArray[np.float64], most: int) -> Found:
        corners = SVMPath(Z, label, most).run()
        self.intercepts_ = np.array([one.bias for one in corners])
        self.strengths_ = np.array([one.strength for one in corners])
        return Found(
            columns=[one.columns for one in corners],
            weights=[one.weights for one in corners],
            parameters=[one.budget for one in corners],
            values=[one.loss for one in corners],
            kkt=[one.kkt for one in corners],
            gaps=[one.gap for one in corners],
        )

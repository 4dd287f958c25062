"""L1KR: kernel ridge regression with feature weights inside the kernel, along their L1 path."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from kernelpath.errors import DataError
from kernelpath.estimators._l1kr import L1KRBase
from kernelpath.estimators._scored import ScoredClassifier, ScoredRegressor
from kernelpath.tables.targets import encode_target


class L1KRRegressor(ScoredRegressor, L1KRBase):
    r"""Kernel ridge regression with feature weights inside the kernel, along its L1 path [li2010]_.

    .. math:: \min_{\alpha, \alpha_0, d}\; \|y - K(d) \alpha - \alpha_0 1\|^2, \qquad
              \alpha^\top K(d) \alpha \le C,\; 1^\top d \le D,\; d \ge 0

    The weights are those of a Gaussian :math:`\exp(-\sum_k d_k (x_k - z_k)^2)`, or of a polynomial,
    so that effects of several features together count.  The problem is not convex; the path of its
    stationary points from :math:`D = 0` on is followed exactly, also where it turns back.

    Parameters
    ----------
    kernel : {"gaussian", "polynomial"}
        Of standardised columns.  The polynomial is
        :math:`(1 + \sum_k d_k x_k z_k / (1 + \sum_k d_k))^{degree}`.
    norm_budget : float, sequence of float, or "auto"
        ``C``, in units of the squared norm of the centred target.  Of several the one with the
        smallest error of rows left out is taken; "auto" stands for six from 0.01 to 4.
    ridge : float or sequence of float, optional
        Fix the multiplier of the norm, ``lambda``, instead of the norm itself; of several the best,
        as for ``norm_budget``.
    degree : int
        Of the polynomial.
    max_features : int, optional
        The path ends before one more feature than that gets a weight.  That is its beginning: a
        later point with as few features, as ``path_.at(n_features=3)`` of the whole path finds
        it, may be better.
    search_branches : bool
        Look for stationary points that the paths miss, by local searches from several starts; if
        one is better than its path, follow its branch in both directions, too, and keep the curve
        whose rows left out have the smaller error.  Not done with ``max_features``.
    solver : {"homotopy", "ode"}
        Arc length with a corrector, or the published differential equation, which is slower and
        has neither ``max_features`` nor ``ridge``.
    tol : float
        The path ends where more of the weights lowers the loss by no more than this, relative.
    random_state : int, RandomState or None
        Of the starts of the local searches.

    Attributes
    ----------
    path_ : FeaturePath
        All points of the curve that predicts; its parameter is the sum of the weights, which may
        fall, and ``path_.events`` says who enters, who leaves and where the path turns.
    paths_ : list of FeaturePath
        The path from zero weights, and the other branch where a better one was found.
    branch_ : str
        Which of them predicts: "from zero weights" or "another branch".
    position_ : int
        Point of the path that predicts: the smallest error of rows left out.
    weights_ : ndarray of shape (n_features,)
        Weights of standardised columns there.
    support_ : ndarray of bool, shape (n_features,)
    ridge_, norm_budget_ : float
        ``norm_budget_`` is None where the ridge is fixed.
    leave_one_out_ : ndarray of shape (n_points,)
        Mean squared errors of rows left out, in closed form, at every point of ``path_``.
    dual_coef_ : ndarray of shape (n_samples,)
    intercept_ : float
        Of ``sum_i dual_coef_[i] (k(x_i, x) - 1) + intercept_``, for standardised columns.
    end_ : str
        Why the path ended.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early.
    ties_ : list of ndarray
        Columns that are nearly the same but for scale and shift: the first one stands for all.
    n_iter_ : int
        Derivatives computed.
    n_features_in_, feature_names_in_

    References
    ----------
    .. [li2010] Li, Sminchisescu. The feature selection path in kernel methods. AISTATS, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 5))
    >>> model = kp.L1KRRegressor(norm_budget=0.3).fit(X, X[:, 0] * X[:, 1])
    >>> np.argsort(-model.weights_)[:2].tolist()
    [1, 0]

    Any other point of the path predicts, too:

    >>> few = model.path_.at(n_features=3)
    >>> model.predict(X[:4], position=few.position).shape
    (4,)
    """

    _task = "regression"

    def _numbers(self, y: NDArray) -> NDArray[np.float64]:
        encode_target(y, task="regression")  # refuses what is no number, and constants
        return y.astype(np.float64)

    def predict(self, X: Any, position: int | None = None) -> NDArray[np.float64]:
        """Predict with the machine of a point of the path.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        position : int, optional
            Another point of ``path_`` than ``position_``, as
            ``model.path_.at(n_features=3).position``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._values(X, position)


class L1KRClassifier(ScoredClassifier, L1KRBase):
    r"""Two classes by `L1KRRegressor` on targets of -1 and 1.

    The loss is that of least squares, and so is the error of rows left out that chooses the point.
    The decision value is the predicted number; above 0 it means the second class of ``classes_``.
    For more classes wrap it in ``sklearn.multiclass.OneVsRestClassifier``: a path for each class.

    Parameters
    ----------
    kernel, norm_budget, ridge, degree, max_features, search_branches, solver, tol, random_state
        As for `L1KRRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    path_, paths_, branch_, position_, weights_, support_, ridge_, norm_budget_, leave_one_out_
        As for `L1KRRegressor`.
    dual_coef_, intercept_, end_, interrupted_, ties_, n_iter_, n_features_in_, feature_names_in_
        As for `L1KRRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> y = np.where(X[:, 1] * X[:, 2] > 0, "same", "other")
    >>> model = kp.L1KRClassifier(norm_budget=0.3).fit(X, y)
    >>> sorted(np.argsort(-model.weights_)[:2].tolist()), bool(model.score(X, y) > 0.9)
    ([1, 2], True)
    """

    _task = "classification"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _numbers(self, y: NDArray) -> NDArray[np.float64]:
        check_classification_targets(y)
        target = encode_target(y, task="classification")
        assert target.classes is not None
        self.classes_ = target.classes
        if len(self.classes_) > 2:
            raise DataError(
                f"Only binary classification is supported: y has {len(self.classes_)} classes. "
                "Wrap L1KRClassifier in sklearn.multiclass.OneVsRestClassifier."
            )
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def decision_function(self, X: Any, position: int | None = None) -> NDArray[np.float64]:
        """The predicted number: about -1 for the first class, and 1 for the second.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        position : int, optional
            Another point of ``path_`` than ``position_``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._values(X, position)

    def predict(self, X: Any, position: int | None = None) -> NDArray:
        """The class of the sign of the decision value.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        position : int, optional
            Another point of ``path_`` than ``position_``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        second = self.decision_function(X, position) > 0.0
        return np.asarray(self.classes_[second.astype(np.intp)])

"""GMKLClassifier and GMKLRegressor: generalised multiple kernel learning as estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from kernelpath.estimators._gmkl import GMKLBase
from kernelpath.estimators._scored import ScoredClassifier, ScoredRegressor
from kernelpath.mkl.losses import EpsilonInsensitive, Hinge, Loss
from kernelpath.tables.rows import mean_of, shares_of, spread_of
from kernelpath.tables.table import refuse_infinite
from kernelpath.tables.targets import encode_target
from kernelpath.utils import checks
from kernelpath.utils.units import in_units, size_exponent


class GMKLClassifier(ScoredClassifier, GMKLBase):
    r"""Support vector machine that learns its kernel [jain2012]_.

    .. math:: \min_{d \in F}\; r(d) + \min_{w, b} \tfrac12 \|w\|^2
              + C \sum_i \max(0, 1 - y_i f_d(x_i))

    with one weight :math:`d_k` for each kernel.  Sums of kernels are convex, and the result carries
    a certified gap; products are not, and it carries a stationarity residual.

    Parameters
    ----------
    kernel : {"sum", "product", "polynomial", "precomputed"} or object with ``bind(X)``
        Weighted sum of one kernel per feature, product of one Gaussian per feature with the weights
        as widths, polynomial of the weighted inner product, or weighted sum of kernel matrices that
        take the place of ``X``.
    regularizer : Regularizer, optional
        Cost of the weights: ``kp.L1``, ``kp.Lp``, ``kp.ElasticNet``, ``kp.MixedNorm`` or your own.
        Default: l1; a unit of weight costs 0.3 of the loss of a model without features for sums,
        0.01 for products and polynomials, less if that leaves no feature.
    C : float
        Cost of errors.
    base_kernel : str or FeatureKernel
        Kernel of a feature in a sum; ``"auto"`` takes the delta kernel for text,
        ``"bandwidths"`` ten Gaussian kernels per feature, of 1/8 to 64 standard deviations, and
        ``"simple_mkl"`` these and three polynomial kernels per feature and on all.  Gaussian
        kernels of more columns than memory can hold as factors are computed when needed.
    feasible : FeasibleSet, optional
        Where weights may lie.  Default: anywhere not negative.
    loss : {"hinge", "squared_hinge", "huber_hinge", "least_squares"} or Loss, optional
        Another loss than the hinge, by name with cost ``C``; the Huber hinge is a square up to a
        slack of ``0.1 * C``, so that a large ``C`` changes nothing.
    solver : {"auto", "spg", "pgd", "newton", "alternation", "working_set"}
    tol : float
        Relative gap, or stationarity residual, to reach.
    max_iter : int, optional
    strengths : int or array, optional
        Trace a path over so many strengths, or these; ``path_`` holds it.
    exponents : int or array, optional
        Trace a path over the exponent ``p`` of the regularizer instead: so many from 2 to 1, or
        these.  The factor of the sum of powers stays the same.
    smallest_ratio : float, optional
        Smallest strength of such a path, relative to the largest.  Default: 1e-3 for sums, else
        1e-5.
    n_features_to_select : int, optional
        Point of the path to keep.  Default: the last one.
    n_init : int
        Starting points for kernels that are not sums; along a path each point starts from the last.
    standardize : bool
        Whether products and polynomials see standardised features, and given matrices are centred
        and scaled to a mean diagonal of 1.
    weights : {"learn", "uniform", "centered_kta"} or array
        Learn the weights with the machine, or set them: all equal, by the largest centred alignment
        with the target, or as given.  Then ``gap_`` is that of the machine alone.
    nystrom : int, optional
        Approximate kernels of a sum whose rank is higher by so many rows each (Nystrom), for tables
        with many rows; ``trace_left_out_`` says what that leaves out.  Default: no approximation.
    random_state : int, RandomState or None

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,)
    feature_importances_ : ndarray of shape (n_features,)
        Weights of the kernels of each feature, summed.
    support_ : ndarray of bool, shape (n_features,)
    dual_coef_ : ndarray of shape (n_outputs, n_samples)
    intercept_ : ndarray of shape (n_outputs,)
    objective_, gap_, residual_, n_svm_, n_iter_, status_
        Objective, gap (how far it is above its optimum at most, relative; None for products),
        stationarity residual, support vector machines, iterations, and how the solver ended.
    trace_left_out_ : ndarray of shape (n_kernels,)
        With ``nystrom``: share of the trace of each kernel that the approximation leaves out.
    path_ : FeaturePath
        With ``strengths`` or ``exponents``.
    classes_, n_features_in_, feature_names_in_

    References
    ----------
    .. [jain2012] Jain, Vishwanathan, Varma. SPG-GMKL: generalized multiple kernel learning with a
       million kernels. KDD 2012.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=100, n_features=6, random_state=0)
    >>> model = kp.GMKLClassifier().fit(data.X, data.y)
    >>> heaviest = model.feature_importances_.argsort()[-2:]
    >>> sorted(heaviest.tolist()) == sorted(data.relevant.tolist())
    True
    >>> model.gap_ < 1e-3
    True
    """

    def __init__(
        self,
        kernel: Any = "sum",
        regularizer: Any = None,
        C: float = 1.0,
        *,
        base_kernel: Any = "rbf",
        feasible: Any = None,
        loss: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        strengths: Any = None,
        exponents: Any = None,
        smallest_ratio: float | None = None,
        n_features_to_select: int | None = None,
        n_init: int = 1,
        standardize: bool = True,
        weights: Any = "learn",
        nystrom: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.regularizer = regularizer
        self.C = C
        self.base_kernel = base_kernel
        self.feasible = feasible
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.strengths = strengths
        self.exponents = exponents
        self.smallest_ratio = smallest_ratio
        self.n_features_to_select = n_features_to_select
        self.n_init = n_init
        self.standardize = standardize
        self.weights = weights
        self.nystrom = nystrom
        self.random_state = random_state

    _task = "classification"
    _losses = ("hinge", "squared_hinge", "huber_hinge", "least_squares")

    def _targets(self, y: NDArray, sample_weight: Any) -> list[NDArray[np.float64]]:
        check_classification_targets(y)
        target = encode_target(y, task="classification", sample_weight=sample_weight)
        assert target.classes is not None
        self.classes_: NDArray = target.classes
        codes = np.searchsorted(self.classes_, y)
        if len(self.classes_) == 2:
            return [np.where(codes == 1, 1.0, -1.0)]
        return [np.where(codes == k, 1.0, -1.0) for k in range(len(self.classes_))]

    def _default_loss(self) -> Loss:
        return Hinge(self.C)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Decision values: positive for the second of two classes, a column per class for more."""
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray:
        """Predict classes."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(np.intp)]
        return self.classes_[values.argmax(axis=1)]


class GMKLRegressor(ScoredRegressor, GMKLBase):
    r"""Support vector regression that learns its kernel; see :class:`GMKLClassifier`.

    The target is standardised inside, so that `C` and `epsilon` are in standard deviations.

    Parameters
    ----------
    kernel, regularizer, C, base_kernel, feasible, solver, tol, max_iter, strengths, exponents, \
smallest_ratio, n_features_to_select, n_init, standardize, weights, nystrom, random_state :
        As for the classifier.
    epsilon : float
        Errors up to this size, in standard deviations of the target, cost nothing.
    loss : {"epsilon_insensitive", "least_squares"} or Loss, optional
        Another loss than the eps-insensitive one, by name with cost ``C``.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> model = kp.GMKLRegressor(C=10.0).fit(X, np.cos(2 * X[:, 1]))
    >>> int(model.feature_importances_.argmax()), bool(model.score(X, np.cos(2 * X[:, 1])) > 0.9)
    (1, True)
    """

    def __init__(
        self,
        kernel: Any = "sum",
        regularizer: Any = None,
        C: float = 1.0,
        epsilon: float = 0.1,
        *,
        base_kernel: Any = "rbf",
        feasible: Any = None,
        loss: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        strengths: Any = None,
        exponents: Any = None,
        smallest_ratio: float | None = None,
        n_features_to_select: int | None = None,
        n_init: int = 1,
        standardize: bool = True,
        weights: Any = "learn",
        nystrom: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.regularizer = regularizer
        self.C = C
        self.epsilon = epsilon
        self.base_kernel = base_kernel
        self.feasible = feasible
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.strengths = strengths
        self.exponents = exponents
        self.smallest_ratio = smallest_ratio
        self.n_features_to_select = n_features_to_select
        self.n_init = n_init
        self.standardize = standardize
        self.weights = weights
        self.nystrom = nystrom
        self.random_state = random_state

    _task = "regression"
    _losses = ("epsilon_insensitive", "least_squares")

    def _targets(self, y: NDArray, sample_weight: Any) -> list[NDArray[np.float64]]:
        encode_target(
            y, task="regression", sample_weight=sample_weight
        )  # refuses what is no number
        y = y.astype(np.float64)
        self._unit = size_exponent(np.abs(y).max())
        y = in_units(y, self._unit)
        shares = shares_of(sample_weight)
        self._mean = float(mean_of(y, shares)[0])
        self._scale = float(spread_of(y[:, None], shares)[0]) or 1.0
        return [(y - self._mean) / self._scale]

    def _default_loss(self) -> Loss:
        checks.real("epsilon", self.epsilon, at_least=0, bools=True)
        return EpsilonInsensitive(self.C, self.epsilon)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target."""
        values = self._values(X)[:, 0] * self._scale + self._mean
        with np.errstate(over="ignore"):
            return refuse_infinite(in_units(values, -self._unit))

"""L1KRRegressor: the path of feature weights inside a kernel."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kernelpath.errors import DataError, not_one_of
from kernelpath.estimators._base import PathSelector, report_constant
from kernelpath.estimators._path_cv_setup import check_finite
from kernelpath.inputs import ColumnTable, as_column_table, as_pandas, is_frame
from kernelpath.path import EventTable, FeaturePath
from kernelpath.progress import begin, progress_bar
from kernelpath.targets import as_vector, encode_target
from kernelpath.tracers.l1kr_path import SOLVERS, L1KRTrace, trace_l1kr
from kernelpath.tracers.ridge_system import RidgeSystem
from kernelpath.weighted.ard import ARDGaussian, ARDKernel, ARDNormalizedPolynomial

METHOD = "l1kr"
KERNELS = ("gaussian", "polynomial")
AUTO = "auto"
BUDGETS = (0.01, 0.03, 0.1, 0.3, 1.0, 4.0)
LEAST_ROWS = 5
MOST_BYTES = 4 * 2**30
MATRICES = 8  # of rows by rows, that a step holds at once


class L1KRRegressor(RegressorMixin, PathSelector):
    r"""Kernel ridge regression with feature weights inside the kernel, along its L1 path [li2010]_.

    .. math:: \min_{\alpha, \alpha_0, d}\; \|y - K(d) \alpha - \alpha_0 1\|^2, \qquad
              \alpha^\top K(d) \alpha \le C,\; 1^\top d \le D,\; d \ge 0

    The weights are those of a Gaussian :math:`\exp(-\sum_k d_k (x_k - z_k)^2)`, or of a polynomial,
    so that effects of several features together count.  The problem is not convex; the path of its
    stationary points from :math:`D = 0` on is followed exactly, also where it turns back.

    Parameters
    ----------
    kernel : {"gaussian", "polynomial"}
    norm_budget : float, sequence of float, or "auto"
        ``C``, in units of the squared norm of the centred target.  Of several the one with the
        smallest error of rows left out is taken; "auto" stands for six from 0.01 to 4.
    ridge : float, optional
        Fix the multiplier of the norm instead of the norm itself.
    degree : int
        Of the polynomial.
    max_features : int, optional
        The path ends where so many features have a weight.
    solver : {"homotopy", "ode"}
        Arc length with a corrector, or the published differential equation, which is slower.
    tol : float
        The path ends where more of the weights lowers the loss by no more than this, relative.

    Attributes
    ----------
    path_ : FeaturePath
        All points; its parameter is the sum of the weights, which may fall, and ``path_.events``
        says who enters, who leaves and where the path turns.
    position_ : int
        Point of the path that predicts: the smallest error of rows left out.
    weights_ : ndarray of shape (n_features,)
        Weights of standardised columns there.
    support_ : ndarray of bool, shape (n_features,)
    ridge_, norm_budget_ : float
        ``norm_budget_`` is None where the ridge is fixed.
    leave_one_out_ : ndarray of shape (n_points,)
        Mean squared errors of rows left out, in closed form, at every point.
    dual_coef_ : ndarray of shape (n_samples,)
    intercept_ : float
    end_ : str
        Why the path ended.
    ties_ : list of ndarray
        Columns that are the same but for scale and shift: the first one stands for all of them.
    n_iter_ : int
        Derivatives computed.
    n_features_in_, feature_names_in_

    References
    ----------
    .. [li2010] Li, Sminchisescu. The feature selection path in kernel methods. AISTATS, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 5))
    >>> model = L1KRRegressor(norm_budget=0.3).fit(X, X[:, 0] * X[:, 1])
    >>> np.argsort(-model.weights_)[:2].tolist()
    [1, 0]
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        norm_budget: Any = AUTO,
        *,
        ridge: float | None = None,
        degree: int = 3,
        max_features: int | None = None,
        solver: str = "homotopy",
        tol: float = 1e-7,
    ) -> None:
        self.kernel = kernel
        self.norm_budget = norm_budget
        self.ridge = ridge
        self.degree = degree
        self.max_features = max_features
        self.solver = solver
        self.tol = tol

    def fit(self, X: Any, y: ArrayLike) -> L1KRRegressor:
        """Follow the path, and choose a point.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
            Numbers; made dense.
        y : array of shape (n_samples,)

        Returns
        -------
        L1KRRegressor
        """
        self._check_settings()
        table, y = self._check_table(X, y)
        check_finite(table)
        y = as_vector(y)
        if len(y) != table.shape[0]:
            raise DataError(f"X has {table.shape[0]} rows, but y has {len(y)} values.")
        if table.categorical.any():
            text = np.flatnonzero(table.categorical)
            raise DataError(f"{table.sentence(text, 'holds', 'hold')} text; encode it as numbers.")
        _check_size(*table.shape)
        target = encode_target(y, task="regression").columns[:, 1]
        columns = self._standardize(table)
        kernel = self._kernel(columns)
        with progress_bar():
            trace, budget = self._best(kernel, target)
        self._warn(trace)
        self._keep(trace, budget, kernel, table, y)
        return self

    def predict(self, X: Any, position: int | None = None) -> NDArray[np.float64]:
        """Predict with the machine of a point of the path.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        position : int, optional
            Another point than ``position_``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        point = self._trace.points[self.position_ if position is None else position]
        K = self._bound.cross(point.weights, self._new_rows(X))
        inside = self._bound.at(point.weights).values @ point.a
        residual = point.ridge * point.a
        intercept = float((self._target - inside - residual).mean())
        return self._mean + self._unit * (K @ point.a + intercept)

    # -- the table ---------------------------------------------------------------------------------

    def _standardize(self, table: ColumnTable) -> NDArray[np.float64]:
        """Columns that vary and differ, of mean 0 and variance 1; remembers how."""
        values = _dense(table.values)
        constant = values.min(axis=0) == values.max(axis=0)
        report_constant(table, constant, stacklevel=4)
        usable = np.flatnonzero(~constant)
        self._center = values[:, usable].mean(axis=0)
        self._scale = values[:, usable].std(axis=0)
        Z = (values[:, usable] - self._center) / self._scale
        first, self.ties_ = _first_of_copies(Z, usable)
        self._columns = usable[first]
        self._center, self._scale = self._center[first], self._scale[first]
        return np.ascontiguousarray(Z[:, first])

    def _new_rows(self, X: Any) -> NDArray[np.float64]:
        from sklearn.utils.validation import validate_data

        if is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=False)
            values = _dense(as_column_table(as_pandas(X)).values)
        else:
            values = _dense(
                validate_data(self, X, accept_sparse=("csr", "csc"), dtype="numeric", reset=False)
            )
        return (values[:, self._columns] - self._center) / self._scale

    # -- the path ----------------------------------------------------------------------------------

    def _kernel(self, Z: NDArray[np.float64]) -> ARDKernel:
        if self.kernel == "gaussian":
            return ARDGaussian(Z)
        return ARDNormalizedPolynomial(Z, int(self.degree))

    def _best(
        self, kernel: ARDKernel, target: NDArray[np.float64]
    ) -> tuple[L1KRTrace, float | None]:
        """The path of the norm budget whose rows left out have the smallest error."""
        if self.ridge is not None:
            return self._traced(RidgeSystem(kernel, target, None, float(self.ridge))), None
        given = BUDGETS if isinstance(self.norm_budget, str) else self.norm_budget
        found: list[tuple[float, L1KRTrace, float]] = []
        budgets = np.atleast_1d(np.asarray(given, dtype=np.float64)).tolist()
        update = begin("paths")
        for number, budget in enumerate(budgets):
            update(number, len(budgets))
            trace = self._traced(RidgeSystem(kernel, target, budget))
            found.append((trace.points[trace.best].leave_one_out, trace, budget))
        _, trace, budget = min(found, key=lambda one: one[0])
        return trace, budget

    def _traced(self, system: RidgeSystem) -> L1KRTrace:
        options: dict[str, Any] = {"least_multiplier": self.tol}
        if self.solver == "homotopy":
            options["most_features"] = self.max_features
        return trace_l1kr(system, solver=self.solver, **options)

    def _warn(self, trace: L1KRTrace) -> None:
        if not trace.ended_early:
            return
        words = {
            "the ridge is next to zero": "the norm budget is more than any machine needs, as rows "
            "with the same features have other targets. Lower norm_budget"
        }
        warnings.warn(
            f"The path ended early, after {len(trace.points)} points: "
            f"{words.get(trace.end, trace.end)}. What was found is kept.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _keep(
        self,
        trace: L1KRTrace,
        budget: float | None,
        kernel: ARDKernel,
        table: ColumnTable,
        y: NDArray,
    ) -> None:
        """Fitted attributes."""
        self._trace, self._bound = trace, kernel
        numbers_ = y.astype(np.float64)
        self._mean, self._unit = float(numbers_.mean()), float(numbers_.std())
        self._target = (numbers_ - self._mean) / self._unit
        self.leave_one_out_ = np.array([one.leave_one_out for one in trace.points])
        self.leave_one_out_ = self.leave_one_out_ * self._unit**2
        self.position_, self.end_ = trace.best, trace.end
        self.norm_budget_, self.n_iter_ = budget, max(trace.n_jacobians, 1)
        point = trace.points[self.position_]
        self.ridge_, self.dual_coef_ = point.ridge, point.a
        self.path_ = self._path(trace, table, y)
        self.weights_ = self.path_[self.position_].weights
        self.support_ = self.path_[self.position_].support

    def _path(self, trace: L1KRTrace, table: ColumnTable, y: NDArray) -> FeaturePath:
        weights = np.zeros((len(trace.points), table.shape[1]))
        weights[:, self._columns] = [point.weights for point in trace.points]
        parameters = np.array([point.radius for point in trace.points])
        rows = [
            (EventTable.KINDS.index(kind), -1 if feature < 0 else int(self._columns[feature]),
             parameters[i], i)
            for i, (kind, feature) in (
                (i, point.event) for i, point in enumerate(trace.points) if point.event
            )
        ]  # fmt: skip
        columns = [np.array(column) for column in zip(*rows)]
        return FeaturePath(
            method=METHOD,
            parameter_name="sum of weights",
            parameters=parameters,
            weights=sparse.csr_array(weights),
            supports=sparse.csr_array(weights > 0),
            values=[point.loss for point in trace.points],
            kkt=[point.residual for point in trace.points],
            gaps=np.full(len(trace.points), np.nan),
            events=EventTable(*columns),
            feature_names=table.names,
            provenance=self._describe(table, y, task="regression"),
        )

    # -- settings ----------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        if self.kernel not in KERNELS:
            raise not_one_of("kernel", self.kernel, KERNELS)
        if self.solver not in SOLVERS:
            raise not_one_of("solver", self.solver, SOLVERS)
        if self.ridge is not None and not (
            isinstance(self.norm_budget, str) or self.norm_budget is None
        ):
            raise ValueError("give norm_budget or ridge, not both")
        if isinstance(self.norm_budget, str) and self.norm_budget != AUTO:
            raise not_one_of("norm_budget", self.norm_budget, [AUTO], "a number or numbers")
        positive = {"ridge": self.ridge, "tol": self.tol}
        if self.norm_budget is not None and not isinstance(self.norm_budget, str):
            for value in np.atleast_1d(np.asarray(self.norm_budget, dtype=object)).tolist():
                positive["norm_budget"] = value
                _check_positive(positive)
        _check_positive(positive)
        for name, least in (("degree", 1), ("max_features", 1)):
            value = getattr(self, name)
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            if value is not None and not (whole and value >= least):
                raise ValueError(f"{name} must be a whole number from {least} on, got {value!r}")
        if self.solver == "ode" and self.ridge is not None:
            raise ValueError("solver='ode' needs a norm_budget; use solver='homotopy' with a ridge")


def _check_positive(values: dict[str, Any]) -> None:
    for name, value in values.items():
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if value is not None and not (number and np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive number, got {value!r}")


def _check_size(n: int, d: int) -> None:
    """Refuse tables whose matrices would not fit, before any work."""
    if n < LEAST_ROWS:
        raise DataError(f"L1KR needs at least {LEAST_ROWS} rows, got n_samples = {n}.")
    needed = 8.0 * (MATRICES * n * n + 4 * n * d)
    if needed > MOST_BYTES:
        raise DataError(
            f"A table of {n:,} rows and {d:,} columns would need {needed / 2**30:.0f} GB; take "
            "fewer rows, or fewer columns, as by kp.LpKTASelector in a pipeline before it."
        )


def _first_of_copies(
    Z: NDArray[np.float64], columns: NDArray[np.intp]
) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Positions of the first of equal columns, up to sign, and the sets of equal ones."""
    sign = np.sign(Z[np.argmax(np.abs(Z) > 1e-9, axis=0), np.arange(Z.shape[1])])
    keys = np.round(Z * sign, 9)
    _, first, which = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    which = np.asarray(which).ravel()
    ties = [np.sort(columns[which == k]) for k in np.flatnonzero(np.bincount(which) > 1)]
    return np.sort(first), ties


def _dense(values: Any) -> NDArray[np.float64]:
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)

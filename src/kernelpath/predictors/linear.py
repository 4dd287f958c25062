"""Logistic regression, or ridge regression, on the chosen columns: the cheap model to beat."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from kernelpath.predictors.base import (
    Candidate,
    Request,
    Setting,
    TrainingRows,
    checked_grid,
)
from kernelpath.predictors.design import Design
from kernelpath.predictors.plain import PlainModel, itself
from kernelpath.predictors.state import Arrays, State, check_outputs, of_columns, saved_as
from kernelpath.predictors.svm import Task, standardised
from kernelpath.tables.table import Table
from kernelpath.utils.archive_forms import REAL, WHOLE, Form

MOST_COEFFICIENTS = 300  # for a Newton step of all; beyond, a quasi-Newton method
MAX_ITER = 300
TOLERANCE = 1e-6  # of the mean slope
FLAT = 1e-12  # least curvature, of the weight of all rows
SHORTEST = 1e-6  # step, of a Newton step
DEPENDENT = 1e-12  # of the mean squared length of rows, added to each


FORMS = {
    **Design.FORMS,
    "coef": Form(REAL, ("outputs", "out")),
    "intercept": Form(REAL, ("outputs",)),
    "classes": Form(WHOLE, ("present",), low=0),
}


@saved_as("linear")
@dataclass(frozen=True)
class LinearModel(PlainModel):
    """Coefficients of the columns of a design.

    Attributes
    ----------
    design : Design
    coef : ndarray of shape (n_outputs, n_out)
        One row for two classes or numbers, one per class for more.
    intercept : ndarray of shape (n_outputs,)
    task : Task
    classes : ndarray of int
        Codes of the classes that the training rows hold; empty for numbers.
    """

    design: Design
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    task: Task
    classes: NDArray[np.intp]
    name: str = "logistic"

    def outputs(self, X: Any) -> NDArray[np.float64]:
        """Log odds or values."""
        return np.asarray(X @ self.coef.T) + self.intercept

    @classmethod
    def forms(cls, meta: dict[str, Any], n_columns: int) -> dict[str, Form]:
        """What the arrays of a saved one must be."""
        return of_columns(FORMS, n_columns)

    def to_state(self) -> State:
        """Settings and arrays of a file."""
        own = {"coef": self.coef, "intercept": self.intercept, "classes": self.classes}
        return {"name": self.name}, self.design.to_arrays() | own

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, task: Task) -> LinearModel:
        """Build the model again."""
        outputs = check_outputs(meta, arrays["classes"], task, ("logistic", "ridge"))
        if arrays["coef"].shape[0] != outputs:
            raise ValueError("the coefficients do not fit the classes")
        design = Design.from_arrays(arrays)
        own = (arrays["coef"], arrays["intercept"], task, arrays["classes"].astype(np.intp))
        return cls(design, *own, meta["name"])


@dataclass(frozen=True)
class LinearPredictor:
    r"""Logistic regression for classes, ridge regression for numbers.

    Parameters
    ----------
    C : float or sequence of float
        Values to choose from, inside the training part: the inverse strength of the penalty
        :math:`|w|^2 / 2` on the coefficients of standardised columns.

    Notes
    -----
    Categories have one column per frequent value; missing numbers stand at the median, with a
    column that says so.

    Examples
    --------
    >>> import kernelpath as kp
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = kp.PathCV(predictor="logistic", cv=3, n_features=[1, 5]).fit(X, y)
    >>> model.operating_point_.predictor
    'logistic'
    """

    C: float | Sequence[float] = (1.0, 0.1, 0.01, 10.0)
    name = "logistic"

    def settings(self, n_rows: int) -> list[Setting]:
        """Values of ``C``."""
        return [{"C": C} for C in checked_grid("C", self.C)]

    def models(
        self, part: TrainingRows, requests: Sequence[Request], new: Table | None
    ) -> Iterator[Candidate]:
        """Fit at every size; what the columns become is learned from the training rows."""
        for k, settings in requests:
            if not settings:
                continue
            design, X = Design.fitted(part.rows, part.traced.at(k).columns, part.sample_weight)
            values_of_C = [float(setting["C"]) for setting in settings]
            models = _fit(design, X, part, values_of_C)
            held_X = None if new is None else design.apply(new)
            for setting in settings:
                model = models[float(setting["C"])]
                held_out = None if held_X is None else model.held_out(held_X)
                yield Candidate(k, setting, held_out, partial(itself, model))


def _fit(
    design: Design, X: Any, part: TrainingRows, values_of_C: Sequence[float]
) -> dict[float, LinearModel]:
    """Models for several values of ``C``, by their values."""
    y, weight, task = part.codes, part.sample_weight, part.task
    if task.classes is None:
        return {C: _ridge(design, X, part, C) for C in values_of_C}
    classes = np.unique(y)
    dense = isinstance(X, np.ndarray) and min(X.shape) <= MOST_COEFFICIENTS
    if len(classes) == 2 and dense:
        each = task.row_weights(y, weight)
        found = logistic_coefficients(X, y == classes[1], each, values_of_C)
        return {
            C: LinearModel(design, coef[None, :-1], coef[-1:], task, classes)
            for C, coef in found.items()
        }
    return _multinomial(design, X, part, values_of_C)


def _ridge(design: Design, X: Any, part: TrainingRows, C: float) -> LinearModel:
    z, (mean, scale) = standardised(part.codes, part.sample_weight)
    ridge = Ridge(alpha=1.0 / C).fit(X, z, sample_weight=part.sample_weight)
    coef = np.atleast_2d(ridge.coef_) * scale
    intercept = np.atleast_1d(ridge.intercept_) * scale + mean
    return LinearModel(design, coef, intercept, part.task, np.zeros(0, np.intp), "ridge")


def _multinomial(
    design: Design, X: Any, part: TrainingRows, values_of_C: Sequence[float]
) -> dict[float, LinearModel]:
    """More than two classes, or too many columns for Newton steps of our own."""
    few = X.shape[1] * len(np.unique(part.codes)) <= MOST_COEFFICIENTS
    weight = part.task.row_weights(part.codes, part.sample_weight)
    machine = LogisticRegression(
        solver="newton-cholesky" if few and isinstance(X, np.ndarray) else "lbfgs",
        max_iter=MAX_ITER,
        warm_start=True,
    )
    found = {}
    for C in sorted(set(values_of_C)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # near separation: good enough
            machine.set_params(C=C).fit(X, part.codes, sample_weight=weight)
        classes = machine.classes_.astype(np.intp)
        coef, intercept = machine.coef_.copy(), machine.intercept_.copy()
        found[C] = LinearModel(design, coef, intercept, part.task, classes)
    return found


# -- two classes -----------------------------------------------------------------------------------


def logistic_coefficients(
    X: NDArray[np.float64],
    second: NDArray[np.bool_],
    weight: NDArray[np.float64],
    values_of_C: Sequence[float],
) -> dict[float, NDArray[np.float64]]:
    r"""Coefficients of logistic regression for several values of ``C``, the intercept last.

    Each minimises :math:`\sum_i c_i \log(1 + \exp(-s_i z_i)) + |w|^2 / (2C)` by Newton steps, from
    the solution of the next smaller ``C``.  With more columns than rows the coefficients are
    combinations of the rows, and the steps are taken among those.

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    >>> found = logistic_coefficients(X, X[:, 0] > 0, np.ones(4), [1.0])
    >>> found[1.0].round(3).tolist()
    [1.043, 0.0]
    """
    root = _root_of_products(X) if X.shape[1] > X.shape[0] else None
    A = np.column_stack([X if root is None else root, np.ones(len(X))])
    signs = np.where(second, 1.0, -1.0)
    coef, found = np.zeros(A.shape[1]), {}
    for C in sorted(set(values_of_C)):
        penalty = np.full(A.shape[1], 1.0 / C)
        penalty[-1] = 0.0
        coef = _newton(A, signs, weight, penalty, coef)
        found[C] = coef
        if root is not None:
            of_rows = linalg.solve_triangular(root, coef[:-1], trans="T", lower=True)
            found[C] = np.append(X.T @ of_rows, coef[-1])
    return found


def _root_of_products(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower triangle ``L`` with ``L L' = X X'``, but for what rounding makes of dependent rows.

    ``L c`` is ``X w`` where ``w = X' a`` and ``a`` solves ``L' a = c``, and ``|c| = |w|``.
    """
    products = X @ X.T
    products.flat[:: len(X) + 1] += DEPENDENT * (np.trace(products) / len(X) or 1.0)
    return linalg.cholesky(products, lower=True, overwrite_a=True, check_finite=False)


def _newton(
    A: NDArray[np.float64],
    signs: NDArray[np.float64],
    weight: NDArray[np.float64],
    penalty: NDArray[np.float64],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Coefficients from a start: Newton steps, halved until the objective falls."""
    coef, z = start, A @ start
    loss = weight @ np.logaddexp(0.0, -signs * z) + 0.5 * penalty @ np.square(coef)
    enough = TOLERANCE * weight.sum()
    for _ in range(MAX_ITER):
        wrong = expit(-signs * z)
        slope = penalty * coef - A.T @ (weight * signs * wrong)
        if np.abs(slope).max() <= enough:
            break
        bent = np.sqrt(weight * wrong * (1.0 - wrong))[:, None] * A
        curvature = bent.T @ bent  # of one matrix: half of the products
        curvature.flat[:: len(coef) + 1] += penalty + FLAT * weight.sum()
        root = linalg.cho_factor(curvature, overwrite_a=True, check_finite=False)
        move = linalg.cho_solve(root, -slope, check_finite=False)
        gain, ahead, length = slope @ move, A @ move, 1.0
        while length > SHORTEST:
            new, new_z = coef + length * move, z + length * ahead
            now = weight @ np.logaddexp(0.0, -signs * new_z) + 0.5 * penalty @ np.square(new)
            if now <= loss + 1e-4 * length * gain:
                break
            length *= 0.5
        else:  # rounding hides what is left to gain
            break
        coef, z, loss = new, new_z, now
    return coef

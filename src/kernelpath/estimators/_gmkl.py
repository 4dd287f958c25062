"""What the estimators of generalised multiple kernel learning share."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from kernelpath.encoding import TableEncoder
from kernelpath.errors import DataError
from kernelpath.estimators._base import PathSelector, report_constant
from kernelpath.estimators._gmkl_kernels import BoundKernel, bind_kernel
from kernelpath.estimators._path_cv_rows import check_training_rows
from kernelpath.estimators._path_cv_setup import check_finite
from kernelpath.feasible_sets import NonNegative
from kernelpath.fits.losses import Loss
from kernelpath.inputs import ColumnTable, as_pandas, is_frame
from kernelpath.problem import Problem
from kernelpath.progress import begin, progress_bar, working
from kernelpath.solvers.choice import solve
from kernelpath.solvers.state import CONVERGED, Solution
from kernelpath.targets import as_vector, check_sample_weight
from kernelpath.tracers.strengths import (
    feature_weights,
    largest_strength,
    path_of,
    strength_grid,
    trace,
)
from kernelpath.weight_norms import L1

DEFAULT_SHARE = 0.1  # of the strength at which all weights are zero
METHOD = "gmkl"


class GMKLBase(PathSelector):
    """What classifier and regressor share."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
        """Learn weights and machine, and with `strengths` the path.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Factors of the loss of each row; for hinge and eps-insensitive losses.  Widths, means
            and scales of the kernels are those of the rows, whatever their weight.

        Returns
        -------
        self
        """
        self._check_settings()
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        self._encoder, rows = check_training_rows(self, X)
        table = rows.table
        check_finite(table)
        y = as_vector(y if getattr(y, "ndim", 0) == 1 else column_or_1d(y, warn=True))
        if len(y) != table.shape[0]:
            raise DataError(f"X has {table.shape[0]} rows, but y has {len(y)} values.")
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, len(y))
        targets = self._targets(y, sample_weight)
        loss = self._loss()
        duals = tuple(loss.dual(target, sample_weight) for target in targets)
        feasible = NonNegative() if self.feasible is None else self.feasible
        with progress_bar():
            begin("kernels")
            self._bound = bind_kernel(self.kernel, self.base_kernel, self.standardize, table)
            report_constant(table, self._bound.constant)
            self._learn(Problem(self._bound.kernel, duals, L1(), feasible), table, y)
        return self

    def _learn(self, problem: Problem, table: ColumnTable, y: NDArray) -> None:
        if self.strengths is None:
            begin("weights")
            solution = self._solve(problem)
            self._keep(solution)
            return
        strengths = self._strengths(problem)
        update = begin("strengths")
        solutions = list(
            trace(
                problem,
                [self._regularizer(problem, strength) for strength in strengths],
                solver=self.solver,
                tell=lambda done: update(done, len(strengths)),
                **self._options(),
            )
        )
        n_features = table.shape[1]
        self.path_ = path_of(
            solutions,
            np.asarray(strengths),
            self._bound.features,
            n_features,
            method=METHOD,
            parameter_name="strength",
            feature_names=table.names,
            provenance=self._describe(table, y, task=self._task),
        )
        self._keep(solutions[self._position(self.n_features_to_select)])

    def _solve(self, problem: Problem) -> Solution:
        """Best of ``n_init`` runs; convex problems need one."""
        regularizer = self._regularizer(problem, None)
        problem = Problem(problem.kernel, problem.duals, regularizer, problem.feasible)
        found = solve(problem, self.solver, **self._options())
        rng = check_random_state(self.random_state)
        for _ in range(1, 1 if problem.is_convex else self.n_init):
            start = problem.feasible.start(problem.kernel.n_kernels)
            start = start * rng.uniform(0.0, 2.0, size=len(start))
            other = solve(problem, self.solver, start, **self._options())
            if other.objective < found.objective:
                found = other
        return found

    def _position(self, n_features: Any) -> int:
        """Place of the point to keep: the last, or the one with as many features as asked for."""
        if n_features is None:
            return len(self.path_) - 1
        sizes = self.path_.n_selected
        point = self._choose_point(self.path_, n_features)
        return int(np.flatnonzero(sizes == point.n_selected)[-1])

    def _keep(self, solution: Solution) -> None:
        """Fitted attributes of one solution."""
        if solution.status != CONVERGED:
            state = f"a stationarity residual of {solution.residual:.1e}"
            if solution.gap is not None:
                state = f"a certified gap of {solution.gap:.1e}"
            warnings.warn(
                f"The solver ended by {solution.status} with {state} where tol={self.tol:g} was "
                "asked for; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.weights_ = solution.weights
        self.feature_importances_ = feature_weights(
            solution.weights, self._bound.features, self.n_features_in_
        )
        self.support_ = self.feature_importances_ > 0
        self.dual_coef_ = solution.at.U.T
        self.intercept_ = np.array([one.bias for one in solution.at.solutions])
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.residual_ = solution.residual
        self.n_svm_, self.n_iter_ = solution.n_svm, solution.n_iter
        self.status_ = solution.status

    def _regularizer(self, problem: Problem, strength: float | None) -> Any:
        own = self.regularizer
        if strength is not None:
            return (L1() if own is None else own).with_strength(float(strength))
        if own is not None:
            return own
        largest = largest_strength(problem)
        return L1(DEFAULT_SHARE * largest if largest > 0 else 1.0)

    def _strengths(self, problem: Problem) -> NDArray[np.float64]:
        if np.ndim(self.strengths) == 0:
            largest = largest_strength(problem)
            return strength_grid(largest, int(self.strengths), self.smallest_ratio)
        given = np.asarray(self.strengths, dtype=np.float64)
        if given.ndim != 1 or len(given) == 0 or not (np.isfinite(given) & (given > 0)).all():
            raise ValueError(
                f"strengths must be a number of points or positive numbers, got {given}"
            )
        return np.sort(given)[::-1]

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"tol": self.tol}
        return options if self.max_iter is None else options | {"max_iter": self.max_iter}

    def _check_settings(self) -> None:
        for name in ("C", "tol", "smallest_ratio"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Real) or not 0 < float(value) < np.inf:
                raise ValueError(f"{name} must be a positive number, got {value!r}")
        if self.n_init < 1:
            raise ValueError(f"n_init must be at least 1, got {self.n_init!r}")
        if self.n_features_to_select is not None and self.strengths is None:
            raise ValueError("n_features_to_select has no effect without strengths; give both")
        count = self.strengths
        if np.ndim(count) == 0 and count is not None and not int(count) >= 2:
            raise ValueError(f"strengths must be at least 2 points, got {count!r}")

    @working("predictions")
    def _values(self, X: Any) -> NDArray[np.float64]:
        """Decision values of new rows, one column per output."""
        check_is_fitted(self, "weights_")
        table = _new_table(self, X)
        bound: BoundKernel = self._bound
        return bound.values(self.weights_, table.values, self.dual_coef_.T) + self.intercept_

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def _targets(self, y: NDArray, sample_weight: Any) -> list[NDArray[np.float64]]:
        raise NotImplementedError

    def _loss(self) -> Loss:
        raise NotImplementedError


def _new_table(estimator: Any, X: Any) -> ColumnTable:
    encoder: TableEncoder = estimator._encoder
    if is_frame(X):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        values = encoder.encode(as_pandas(X))
    else:
        checked = validate_data(
            estimator, X, reset=False, accept_sparse=("csr", "csc"), dtype="numeric",
            ensure_all_finite=False,
        )  # fmt: skip
        values = encoder.encode(checked)
    table = ColumnTable(values, encoder.names, encoder.categorical)
    check_finite(table)
    return table

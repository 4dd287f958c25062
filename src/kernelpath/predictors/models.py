"""Fitted models at one size, behind one face: predict, decide, give probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from kernelpath.predictors.base import (
    Candidate,
    HeldOutClassifier,
    HeldOutOutputs,
    HeldOutRegressor,
    Request,
    Setting,
    TrainingRows,
)
from kernelpath.predictors.svm import Task
from kernelpath.tables.any_target import JOINT, constant_target
from kernelpath.tables.table import Table, is_frame, refuse_infinite
from kernelpath.utils.progress import begin, progress_bar, working
from kernelpath.utils.sample_weights import weight_argument

RESPONSES = ("predict", "decision_function", "predict_proba", "predict_log_proba", "score")
BLOCK_CELLS = 2**23  # kernel values of new rows held at a time


@dataclass(frozen=True)
class KernelModel:
    """A kernel machine with the labels of its task."""

    machine: Any
    task: Task

    def __repr__(self) -> str:
        n_rows = self.machine.head.dual_coef.shape[1]
        return f"KernelModel({self.name!r}, {n_rows} coefficients)"

    def _over_blocks(self, rows: Table, output: str) -> NDArray:
        """Apply the head in blocks of rows, so that memory does not grow with them."""
        head = self.machine.head
        step = max(1, BLOCK_CELLS // max(1, head.dual_coef.shape[1]))
        parts = []
        with progress_bar():
            update = begin("predictions")
            update(0, rows.n_rows)
            for start in range(0, max(rows.n_rows, 1), step):
                block = rows.take(np.arange(start, min(start + step, rows.n_rows)))
                with np.errstate(over="ignore", invalid="ignore"):
                    K = refuse_infinite(self.machine.kernel(block))
                    parts.append(refuse_infinite(getattr(head, output)(K)))
                update(min(start + step, rows.n_rows), rows.n_rows)
        return np.concatenate(parts)

    def predict(self, rows: Table) -> NDArray:
        """Labels or values."""
        outcome = self._over_blocks(rows, "predict")
        return outcome if self.task.classes is None else self.task.classes[outcome]

    def decision(self, rows: Table) -> NDArray:
        """Decision values."""
        return self._over_blocks(rows, "decision")

    def proba(self, rows: Table) -> NDArray:
        """Calibrated probabilities."""
        return self._over_blocks(rows, "proba")

    @property
    def has_proba(self) -> bool:
        """Whether it was calibrated."""
        return self.machine.head.calibration is not None

    @property
    def name(self) -> str:
        """Name of the predictor."""
        return self.machine.name

    has_decision = True


# -- any scikit-learn estimator --------------------------------------------------------------------


@dataclass(frozen=True)
class EstimatorPredictor:
    """Any estimator, fitted on the chosen columns as the user gave them."""

    estimator: Any

    @property
    def name(self) -> str:
        """Name of the estimator, the last one in a pipeline."""
        last = self.estimator.steps[-1][1] if hasattr(self.estimator, "steps") else self.estimator
        return type(last).__name__

    def settings(self, n_rows: int) -> list[Setting]:
        """Nothing is tuned: give a ``GridSearchCV`` for that."""
        return [{}]

    def models(
        self, part: TrainingRows, requests: Sequence[Request], new: Table | None
    ) -> Iterator[Candidate]:
        """Fit a clone at every size."""
        for k, settings in requests:
            if not settings:
                continue
            columns = part.traced.at(k).columns
            fitted = clone(self.estimator)
            params = dict(part.fit_params or {})
            offered = part.sample_weight is not None and not part.routed
            argument = weight_argument(fitted)
            if offered and argument is not None:
                params.setdefault(argument, part.sample_weight)
            fitted.fit(columns_of(part.rows.given, columns), part.y, **params)
            build = partial(EstimatorModel, fitted, columns, self.name)
            outputs = None if new is None else _OnColumns(fitted, columns)
            for setting in settings:
                yield Candidate(k, setting, outputs, build)


@dataclass(frozen=True)
class EstimatorModel:
    """A fitted estimator and the columns it reads."""

    estimator: Any
    columns: NDArray[np.intp]
    name: str

    @working("predictions")
    def predict(self, rows: Table) -> NDArray:
        """Labels or values."""
        return self.estimator.predict(columns_of(rows.given, self.columns))

    @working("predictions")
    def decision(self, rows: Table) -> NDArray:
        """Decision values."""
        return self.estimator.decision_function(columns_of(rows.given, self.columns))

    @working("predictions")
    def proba(self, rows: Table) -> NDArray:
        """Probabilities."""
        return self.estimator.predict_proba(columns_of(rows.given, self.columns))

    @property
    def has_proba(self) -> bool:
        """Whether the estimator gives probabilities."""
        return hasattr(self.estimator, "predict_proba")

    @property
    def has_decision(self) -> bool:
        """Whether the estimator gives decision values."""
        return hasattr(self.estimator, "decision_function")


class _OnColumns:
    """An estimator that takes its own columns from whole rows; everything else passes through."""

    def __init__(self, estimator: Any, columns: NDArray[np.intp]) -> None:
        self._estimator, self._columns = estimator, columns

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__sklearn_tags__":
            raise AttributeError(name)
        value = getattr(self._estimator, name)
        if name not in RESPONSES:
            return value

        def on_columns(X: Any, *args: Any, **kw: Any) -> Any:
            return value(columns_of(X, self._columns), *args, **kw)

        on_columns.__name__ = name  # scikit-learn looks the method up again by its name
        return on_columns

    def __sklearn_tags__(self) -> Any:
        return self._estimator.__sklearn_tags__()


def columns_of(X: Any, columns: NDArray[np.intp]) -> Any:
    """Some columns of a frame, array or sparse matrix, in the order of the table."""
    if is_frame(X):
        return X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns.tolist()]
    return X.tocsc()[:, columns].tocsr() if sparse.issparse(X) else X[:, columns]


# -- no features -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConstantModel:
    """The prediction without features: shares of the classes, or one mean."""

    value: NDArray
    classes: NDArray | None
    name = "constant"
    has_proba = has_decision = True

    @classmethod
    def fit(cls, part: TrainingRows) -> ConstantModel:
        """The best prediction without any feature."""
        if part.task.kind in JOINT:
            return cls(constant_target(part.y, part.sample_weight), None)
        if part.task.classes is None:
            return cls(np.atleast_1d(np.average(part.y, weights=part.sample_weight)), None)
        classes, codes = np.unique(part.y, return_inverse=True)
        count = np.bincount(codes, weights=part.sample_weight)
        return cls(count / count.sum(), classes)

    def outputs(self, rows: Table) -> HeldOutOutputs:
        """What scorers call, for rows held out."""
        if self.classes is None:
            return HeldOutRegressor({"predict": self.predict(rows)})
        outputs = {
            "predict": self.predict(rows),
            "decision_function": self.decision(rows),
            "predict_proba": self.proba(rows),
        }
        return HeldOutClassifier(outputs, self.classes)

    def predict(self, rows: Table) -> NDArray:
        """The most frequent class, or the mean."""
        if self.value.ndim > 1:  # several columns
            return np.repeat(self.value, rows.n_rows, axis=0)
        if self.classes is None:
            return np.full(rows.n_rows, self.value[0])
        return np.repeat(self.classes[[self.value.argmax()]], rows.n_rows)

    def proba(self, rows: Table) -> NDArray:
        """Shares of the classes in training."""
        return np.tile(self.value, (rows.n_rows, 1))

    def decision(self, rows: Table) -> NDArray:
        """The same value for every row: log odds for two classes, log shares for more."""
        logs = np.log(np.maximum(self.proba(rows), 1e-300))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

"""Fitted models at one size, behind one face: predict, decide, give probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from kernelpath.errors import DataError
from kernelpath.predictors.base import (
    Fitted,
    HeldOutClassifier,
    HeldOutRegressor,
    Request,
    Setting,
    TrainingRows,
)
from kernelpath.predictors.libsvm import Task
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
    ) -> Iterator[Fitted]:
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
            model = EstimatorModel(fitted, columns, self.name)
            bound = None if new is None else model.bound(new)
            for setting in settings:
                yield k, setting, bound, model


@dataclass(frozen=True)
class EstimatorModel:
    """A fitted estimator and the columns it reads."""

    estimator: Any
    columns: NDArray[np.intp]
    name: str

    def machine(self) -> EstimatorModel:
        """Itself: nothing is left to make."""
        return self

    def bound(self, rows: Table) -> Any:
        """The estimator, for scorers that pass all columns."""
        return _OnColumns(self.estimator, self.columns)

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
        if name not in (
            "predict",
            "decision_function",
            "predict_proba",
            "predict_log_proba",
            "score",
        ):
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


def constant_model(part: TrainingRows, new: Table | None) -> tuple[Any, ConstantModel]:
    """The best prediction without any feature: the shares of the classes, or the mean."""
    classes = None
    if part.task.classes is None:
        value = np.atleast_1d(np.average(part.y, weights=part.sample_weight))
    else:
        classes, codes = np.unique(part.y, return_inverse=True)
        count = np.bincount(codes, weights=part.sample_weight)
        value = count / count.sum()
    model = ConstantModel(value, classes)
    if new is None:
        return None, model
    if classes is None:
        return HeldOutRegressor({"predict": model.predict(new)}), model
    outputs = {
        "predict": model.predict(new),
        "decision_function": model.decision(new),
        "predict_proba": model.proba(new),
    }
    return HeldOutClassifier(outputs, classes), model


@dataclass(frozen=True)
class ConstantModel:
    """The prediction without features: shares of the classes, or one mean."""

    value: NDArray[np.float64]
    classes: NDArray | None
    name = "constant"
    has_proba = has_decision = True

    def machine(self) -> ConstantModel:
        """Itself: nothing is left to make."""
        return self

    def predict(self, rows: Table) -> NDArray:
        """The most frequent class, or the mean."""
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


def check_estimator(predictor: Any) -> None:
    """Refuse what cannot be fitted or cannot predict, before any work is done."""
    if isinstance(predictor, type):
        raise TypeError(f"predictor is the class {predictor.__name__}; give an object of it")
    for method in ("fit", "predict"):
        if not hasattr(predictor, method):
            raise TypeError(
                "predictor must be 'auto', 'weighted_kernel', 'joint_rbf' or an estimator with "
                f"fit and predict; {predictor!r} has no {method}"
            )


def check_response(predictor: Any, scorer: Any, probability: bool, own: bool) -> None:
    """Refuse a scorer that needs a method which the predictor lacks."""
    wanted = getattr(scorer, "_response_method", None)
    if wanted is None or wanted == "default":
        return
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if own:
        has = {"predict", "decision_function"} | ({"predict_proba"} if probability else set())
        if not has.intersection(names):
            raise DataError(
                f"This scoring needs {' or '.join(names)}; set probability=True, which calibrates "
                "the machines."
            )
    elif not any(hasattr(predictor, name) for name in names):
        raise DataError(
            f"This scoring needs {' or '.join(names)}, which the predictor "
            f"{type(predictor).__name__} does not have; choose another scoring or predictor."
        )

"""What every predictor gets and gives: rows with choices at all sizes in, fitted models out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from kernelpath.errors import DataError
from kernelpath.predictors.svm import Task
from kernelpath.tables.rows import DistinctRows
from kernelpath.tables.table import Table
from kernelpath.tracers.any_selector import ChoicesBySize, SizedPoint
from kernelpath.utils.units import in_units

Setting = dict[str, Any]
LARGE_ROWS = 20_000  # more rows than this: explicit feature maps in place of kernel matrices
MEMORY_LIMIT = 2**30


@dataclass(frozen=True)
class TrainingRows:
    """Rows to learn from, and what the selector chose from them at every size."""

    rows: Table
    y: NDArray
    task: Task
    traced: ChoicesBySize
    sample_weight: NDArray[np.float64] | None = None
    memory_limit: int = MEMORY_LIMIT
    n_jobs: int | None = None
    fit_params: dict[str, Any] | None = None
    routed: bool = False
    quick: bool = False  # settings are only being compared
    distinct: DistinctRows | None = None  # copies of a row as one; None: each for itself

    @property
    def codes(self) -> NDArray:
        """Target as the machines see it."""
        return self.task.codes(self.y)

    @property
    def large(self) -> bool:
        """Whether a kernel matrix of all rows is out of the question."""
        return self.rows.n_rows > LARGE_ROWS


class Model(Protocol):
    """A fitted model at one size: it reads all columns and uses its own."""

    @property
    def name(self) -> str:
        """Name of the predictor."""

    def predict(self, rows: Table) -> NDArray:
        """Labels or values."""

    def decision(self, rows: Table) -> NDArray:
        """Decision values."""

    def proba(self, rows: Table) -> NDArray:
        """Probabilities."""


Request = tuple[int, Sequence[Setting]]


@dataclass(frozen=True)
class Candidate:
    """A model at one size with one setting: solved, judged, and made only if it is wanted.

    Attributes
    ----------
    size : int
        Number of features asked for.
    setting : dict
    outputs : estimator or None
        What scorers call, for the rows held out; None where there are none.
    build : callable
        Makes the model that reads new rows.
    """

    size: int
    setting: Setting
    outputs: Any
    build: Callable[[], Model]


class Predictor(Protocol):
    """A kind of model that can be fitted at every size."""

    name: str

    def settings(self, n_rows: int) -> list[Setting]:
        """Settings to choose from, the preferred one first where scores are equal."""

    def models(
        self, part: TrainingRows, requests: Sequence[Request], new: Table | None
    ) -> Iterator[Candidate]:
        """Fit at every requested size and setting; with ``new`` rows, judged on those.

        At a size without settings nothing is fitted, but the others come out as if it were.
        """


def fitted_together(setting: Setting) -> tuple:
    """What settings share that a predictor fits in one go: all but the cost of errors.

    Examples
    --------
    >>> fitted_together({"gamma": 0.5, "C": 10.0}) == fitted_together({"gamma": 0.5, "C": 1.0})
    True
    """
    return tuple((name, value) for name, value in setting.items() if name != "C")


def checked_grid(name: str, values: Any) -> tuple[float, ...]:
    """Values to choose from, or say what is wrong with them."""
    try:
        grid = tuple(float(value) for value in np.atleast_1d(values))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a positive number or several, got {values!r}") from None
    if not grid or not all(0 < value < np.inf for value in grid):
        raise ValueError(f"{name} must be a positive number or several, got {values!r}")
    return tuple(dict.fromkeys(grid))


def union_of(points: Sequence[SizedPoint]) -> NDArray[np.intp]:
    """Columns that any of the points uses, increasing."""
    if not points:
        return np.zeros(0, dtype=np.intp)
    return np.unique(np.concatenate([point.columns for point in points]))


# -- outputs for rows held out ---------------------------------------------------------------------


def _has(name: str) -> Any:
    return lambda self: self.outputs.get(name) is not None


class HeldOutOutputs(BaseEstimator):
    """Outputs for given rows, behind the methods that scorers call.

    ``judged_on`` are those rows; predictions of others are refused, there are none.
    """

    judged_on: Any = None

    def __init__(self, outputs: dict[str, Any]) -> None:
        self.outputs = outputs

    def _output(self, name: str, X: Any) -> NDArray:
        known = self.judged_on
        if known is not None and X is not known and not _same_rows(X, known):
            raise DataError(
                "The scoring asks for predictions of other rows than those held out; a scoring "
                "function must call the estimator with its X as it is."
            )
        return self.outputs[name]

    def fit(self, X: Any, y: Any = None) -> HeldOutOutputs:
        """Do nothing: the model is fitted already."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> NDArray:
        """Labels or values."""
        return self._output("predict", X)


class HeldOutRegressor(RegressorMixin, HeldOutOutputs):
    """Predictions of a regression for given rows."""

    def in_units(self, unit: int) -> HeldOutRegressor:
        """The same in units of ``2**unit``."""
        other = HeldOutRegressor({"predict": in_units(self.outputs["predict"], unit)})
        other.judged_on = self.judged_on
        return other


class HeldOutClassifier(ClassifierMixin, HeldOutOutputs):
    """Labels, decisions and probabilities of a classifier for given rows."""

    def __init__(self, outputs: dict[str, Any], classes: NDArray) -> None:
        super().__init__(outputs)
        self.classes = classes
        self.classes_ = classes

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray:
        """Decision values."""
        return self._output("decision_function", X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray:
        """Probabilities."""
        return self._output("predict_proba", X)


def _same_rows(X: Any, known: Any) -> bool:
    """Whether two tables, perhaps of different types, hold the same."""
    if sparse.issparse(X) and sparse.issparse(known):
        return X.shape == known.shape and (known != X).nnz == 0
    return np.array_equal(np.asarray(X), np.asarray(known))


def outputs_for(head: Any, K: NDArray[np.float64], task: Task) -> Any:
    """Outputs of an SVM for the rows of a kernel with its support rows."""
    if task.classes is None:
        return HeldOutRegressor({"predict": head.predict(K)})
    outputs = {
        "predict": task.classes[head.predict(K)],
        "decision_function": head.decision(K),
        "predict_proba": head.proba(K) if head.calibration is not None else None,
    }
    return HeldOutClassifier(outputs, task.classes[head.classes])

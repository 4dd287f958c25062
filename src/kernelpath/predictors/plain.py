"""Models that read a design, linear or trees: one matrix of outputs says all that they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from kernelpath.predictors.base import HeldOutClassifier, HeldOutRegressor
from kernelpath.predictors.design import Design
from kernelpath.predictors.svm import Task
from kernelpath.tables.table import Table


class PlainModel:
    """A model behind a design, with the labels of its task.

    Subclasses say what their outputs are: values, log odds of the second of two classes, or one
    column for each class.

    Attributes
    ----------
    design : Design
    task : Task
    classes : ndarray of int
        Codes of the classes that the training rows hold; empty for numbers.
    name : str
    """

    design: Design
    task: Task
    classes: NDArray[np.intp]
    name: str
    has_decision = True

    @property
    def has_proba(self) -> bool:
        """Whether there are classes."""
        return self.task.classes is not None

    def matrix(self, rows: Table) -> Any:
        """Rows as the design has them."""
        return self.design.apply(rows)

    def outputs(self, X: Any) -> NDArray[np.float64]:
        """What the model says of a matrix, (n_rows, n_outputs)."""
        raise NotImplementedError

    def predict(self, rows: Table) -> NDArray:
        """Labels or values."""
        return self.labels_of(self.outputs(self.matrix(rows)))

    def decision(self, rows: Table) -> NDArray[np.float64]:
        """Log odds; one column per class for more than two."""
        return self.decision_of(self.outputs(self.matrix(rows)))

    def proba(self, rows: Table) -> NDArray[np.float64]:
        """Probabilities of the classes."""
        return self.proba_of(self.outputs(self.matrix(rows)))

    def held_out(self, X: Any) -> HeldOutClassifier | HeldOutRegressor:
        """Everything that a measure may ask for, of the matrix of rows held out."""
        outputs = self.outputs(X)
        labels = self.labels_of(outputs)
        if self.task.classes is None:
            return HeldOutRegressor({"predict": labels})
        known = {
            "predict": labels,
            "decision_function": self.decision_of(outputs),
            "predict_proba": self.proba_of(outputs),
        }
        return HeldOutClassifier(known, self.task.classes[self.classes])

    def labels_of(self, outputs: NDArray[np.float64]) -> NDArray:
        """Labels, or values, by the outputs."""
        if self.task.classes is None:
            return outputs[:, 0]
        decision = self.decision_of(outputs)
        best = decision > 0 if decision.ndim == 1 else decision.argmax(axis=1)
        return self.task.classes[self.classes[best.astype(np.intp)]]

    def decision_of(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log odds by the outputs."""
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def proba_of(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities by the outputs."""
        if outputs.shape[1] > 1:
            return softmax(outputs, axis=1)
        up = expit(outputs[:, 0])
        return np.column_stack([1.0 - up, up])


def itself(model: PlainModel) -> PlainModel:
    """A model that needs no more work to be kept."""
    return model

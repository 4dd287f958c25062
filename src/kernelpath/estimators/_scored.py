"""Scores of predictions: accuracy and R squared, for targets of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score

from kernelpath.tables.targets import as_vector, plain_weight
from kernelpath.utils.units import in_units, size_exponent


class ScoredClassifier(ClassifierMixin):
    """A classifier whose ``score`` reads the target as ``fit`` does."""

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the rows whose class is predicted.

        Parameters
        ----------
        X : like in ``fit``
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return super().score(X, as_vector(y), plain_weight(sample_weight))


class ScoredRegressor(RegressorMixin):
    """A regressor whose ``score`` reads the target as ``fit`` does, however large it is."""

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Coefficient of determination.

        Parameters
        ----------
        X : like in ``fit``
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        target = as_vector(y)
        found = self.predict(X)
        if target.dtype.kind == "f":  # the score is free of units
            unit = size_exponent(np.abs(target).max())
            target, found = in_units(target, unit), in_units(found, unit)
        return float(r2_score(target, found, sample_weight=plain_weight(sample_weight)))

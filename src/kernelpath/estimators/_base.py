"""What all selectors share: checking a table, choosing a point, describing a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kernelpath.errors import DataError, FewerFeaturesWarning
from kernelpath.estimators._notebook import NotebookCard
from kernelpath.path.feature_path import FeaturePath, PathPoint
from kernelpath.tables.reading import read_training
from kernelpath.tables.table import (
    Table,
    plain_array,
    plain_table,
)
from kernelpath.utils.checks import is_number, is_whole
from kernelpath.utils.provenance import fingerprint, versions
from kernelpath.utils.warn import warn


class PlainSelector(SelectorMixin):
    """A selector that takes no masked cell and no date for a number."""

    def transform(self, X: Any) -> Any:
        """Keep the selected columns.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)

        Returns
        -------
        array, sparse matrix or dataframe of shape (n_samples, n_selected)
        """
        return super().transform(plain_table(X))


class PathSelector(NotebookCard, PlainSelector, BaseEstimator):
    """Base of the selectors: ``fit`` leaves ``path_``, ``support_`` and ``weights_``."""

    reads_tables = True  # fit takes a Table for X, too

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _check_table(self, X: Any, y: Any) -> tuple[Table, NDArray]:
        """Columns and target, with names and counts remembered as scikit-learn does."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, "
                "but the target y is None."
            )
        table = read_training(self, X)
        return table, column_or_1d(plain_array(y, "y"), warn=True)

    def _choose_point(self, path: FeaturePath, n_features: Any) -> PathPoint:
        """Return the point for ``n_features_to_select``: a count, a share, or None for the end."""
        usable = path.extension.n_usable if path.extension else path.n_features
        if n_features is None:
            return self._sparsest_point(path)
        if is_whole(n_features):
            count = int(n_features)
            if not 0 <= count <= path.n_features:
                raise DataError(
                    "n_features_to_select must be an integer from 0 to "
                    f"{path.n_features}, the number of columns, got {n_features}."
                )
            if count > usable:  # a column may be constant in one fold and not in another
                warn(
                    f"n_features_to_select={n_features}, but only {usable} of "
                    f"{path.n_features} columns are not constant; all {usable} are kept.",
                    FewerFeaturesWarning,
                )
            return path.at(n_features=min(count, usable))
        if is_number(n_features) and 0 < float(n_features) <= 1:
            return path.at(n_features=max(1, round(float(n_features) * usable)))
        raise ValueError(
            "n_features_to_select must be None, a whole number, or a share in (0, 1], "
            f"got {n_features!r}"
        )

    def _sparsest_point(self, path: FeaturePath) -> PathPoint:
        """Return the last point that selects anything."""
        filled = np.flatnonzero(path.n_selected > 0)
        return path[int(filled[-1]) if len(filled) else -1]

    def _describe(self, table: Table, y: NDArray, **more: Any) -> dict[str, Any]:
        """Provenance of a path: settings, versions and the data it came from."""
        parameters = {
            name: value if isinstance(value, str | int | float | bool | None) else _text(value)
            for name, value in (
                (name, value.item() if isinstance(value, np.generic) else value)
                for name, value in self.get_params(deep=False).items()
            )
        }
        n_samples, n_features = table.shape
        data = {
            "n_samples": int(n_samples),
            "n_features": int(n_features),
            "fingerprint": fingerprint(table.values, y),
        }
        estimator = type(self).__name__
        return {
            "estimator": estimator,
            "parameters": parameters,
            "versions": versions(),
            "data": data,
            **more,
        }


def _text(value: Any) -> str:
    """How an object calls itself; never like the name of a setting, such as "rbf"."""
    text = repr(value)
    return f"<{text}>" if text.isidentifier() else text

"""What all estimators share: reading, choosing a point, describing a fit, scores, notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kernelpath.errors import DataError, FewerFeaturesWarning, Obstacles
from kernelpath.path.feature_path import FeaturePath, PathPoint
from kernelpath.tables.any_target import encode_any, joint_target
from kernelpath.tables.missing import (
    check_missing,
    imputed,
    rows_to_keep,
    weights_of,
    without_holes,
)
from kernelpath.tables.reading import names_of_fit, read_training, with_all_columns
from kernelpath.tables.table import Table, as_pandas, is_frame, plain_table, unmasked
from kernelpath.tables.targets import as_vector, plain_target, plain_weight, refuse_joint
from kernelpath.utils.checks import is_number, is_whole, one_of
from kernelpath.utils.provenance import versions
from kernelpath.utils.units import in_units, size_exponent
from kernelpath.utils.warn import warn

FDR = 0.1  # false discovery rate of n_features_to_select="fdr"
DEFAULT_BUDGET = 10  # the largest of those that nobody asked for
ALL = "all"


class NotebookCard:
    """Adds the headline, a curve and the heaviest features to the diagram of an estimator."""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._card()
        return bundle

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._card()  # type: ignore[misc]

    def _card(self) -> str:
        from kernelpath.report.notebook import card, path_card

        if hasattr(self, "operating_point_"):
            return card(self.summary())  # type: ignore[attr-defined]
        return path_card(self.path_) if hasattr(self, "path_") else ""


class PlainSelector(SelectorMixin):
    """A selector for which masked cells are missing, and dates beside numbers stay dates."""

    def transform(self, X: Any) -> Any:
        """Keep the selected columns, as they are: text stays text, and NaN stays NaN.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
            A dataframe may have the selected columns alone, in any order, and others beside them.

        Returns
        -------
        array, sparse matrix or dataframe of shape (n_samples, n_selected)
        """
        needed = self.get_support(indices=True)
        given = with_all_columns(plain_table(X), names_of_fit(self), needed, fill=0.0)
        try:
            return super().transform(given)
        except (np.exceptions.DTypePromotionError, ValueError):
            if not is_frame(given):
                raise
            # Dates and text beside numbers have no common type.
            return super().transform(as_pandas(given).astype(object))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names of the selected columns; as text, where a dataframe has other names.

        Parameters
        ----------
        input_features : array of str, optional
            Names of all columns.  Default: those of ``fit``, or x0, x1, ... for an array.

        Returns
        -------
        ndarray of str
        """
        if input_features is None:
            input_features = names_of_fit(self)
        return super().get_feature_names_out(input_features)


class PathSelector(NotebookCard, PlainSelector, BaseEstimator):
    """Base of the selectors: ``fit`` leaves ``path_``, ``support_`` and ``weights_``."""

    reads_tables = True  # fit takes a Table for X, too
    takes_joint_targets = False  # y may have several columns, or be events and times
    is_ranking = False  # whether the path is one order of the features, cut at several sizes

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = self.takes_joint_targets
        return tags

    def _check_table(self, X: Any, y: Any) -> tuple[Table, NDArray]:
        """Columns without missing values and target; counts remembered as scikit-learn does."""
        table, y, _ = self._check_rows(X, y)
        return imputed(table), y

    def _check_rows(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Table, NDArray, Any]:
        """Columns, target and weights of the rows that have a target."""
        missing = check_missing(getattr(self, "missing", "kernel"))
        require_target(self, y)
        table = read_training(self, X)
        y = self._check_target(y)
        kept = rows_to_keep(table, y, missing) if len(y) == table.n_rows else None
        if kept is not None:
            sample_weight = weights_of(sample_weight, kept.rows, table.n_rows)
            table, y = table.take(kept.rows), y[kept.rows]
        found = Obstacles()
        with found.noting():
            table = without_holes(table, missing)
        with found.noting():
            self._check_kernel(table)
        if found.found:
            with found.noting():
                encode_any(y, task=getattr(self, "task", "auto"))
        found.refuse()
        return table, y, sample_weight

    def _check_target(self, y: Any) -> Any:
        """One column as a vector; several, or events and times, where they are taken."""
        joint = joint_target(y) if self.takes_joint_targets else None
        if joint is not None:
            return joint
        y = plain_target(y)
        refuse_joint(y)
        return column_or_1d(y, warn=True)

    def _check_kernel(self, table: Table) -> None:
        """Refuse columns that the kernel cannot take, where that is known before the fit."""

    def _choose_point(self, path: FeaturePath, n_features: Any) -> PathPoint:
        """Return the point for ``n_features_to_select``: a count, a share, or None for the end."""
        usable = path.extension.n_usable if path.extension else path.n_features
        sizes = path.sizes
        if n_features is None:
            return self._sparsest_point(path)
        if isinstance(n_features, str) and n_features == "fdr":
            return path.at(fdr=FDR)
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
            wanted = max(1, round(float(n_features) * usable))
            if path.extension is not None and wanted not in sizes:  # some columns go together
                wanted = int(sizes[np.abs(sizes - wanted).argmin()])
            return path.at(n_features=wanted)
        raise ValueError(
            "n_features_to_select must be None, a whole number, a share in (0, 1], or 'fdr', "
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
            "fingerprint": table.fingerprint(y),
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


def require_target(estimator: Any, y: Any) -> None:
    """Refuse to fit without a target, in the words of scikit-learn."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )


# -- budgets ---------------------------------------------------------------------------------------


def check_budgets(given: Any) -> None:
    """Refuse what is no budget, before there is a table: numbers of features, "all" or None."""
    if isinstance(given, str):
        one_of("n_features_to_select", given, [ALL], "a number or numbers")
    elif given is not None:
        budgets_of(given)


def budgets_of(given: Any) -> NDArray[np.intp]:
    """Numbers of features, one or several; anything else is refused."""
    given = unmasked(given, "n_features_to_select")
    try:
        values = np.atleast_1d(np.asarray(given))
    except ValueError:  # lists of several lengths
        values = np.zeros(0)
    if values.ndim > 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise ValueError(
            f"n_features_to_select must be a whole number, several of them, or 'all', got {given!r}"
        )
    return values.astype(np.intp)


def budgets_up_to(given: Any, most: int, least: int = 1) -> list[int] | None:
    """Budgets that are named by no number: "all", or None for those up to 10; else None.

    Examples
    --------
    >>> budgets_up_to(None, most=3), budgets_up_to("all", most=12, least=11), budgets_up_to(4, 9)
    ([1, 2, 3], [11, 12], None)
    """
    if given is None:
        most = min(most, max(DEFAULT_BUDGET, least))
    elif not isinstance(given, str):
        return None
    return list(range(least, most + 1))


# -- scores ----------------------------------------------------------------------------------------


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

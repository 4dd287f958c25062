"""Rows of a table for PathCV: as the user gave them, and as numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.utils.validation import validate_data

from kernelpath.encoding import TableEncoder
from kernelpath.estimators._arrays import check_numbers
from kernelpath.estimators._path_cv_setup import check_finite, is_own
from kernelpath.inputs import ColumnTable, as_pandas, is_frame
from kernelpath.predictors.base import Rows


def check_training_rows(estimator: Any, X: Any) -> tuple[TableEncoder, Rows]:
    """Rows of ``fit``; names and counts are remembered as scikit-learn does."""
    if is_frame(X):
        frame = as_pandas(X).copy(deep=False)  # columns added to X later are not ours
        encoder, table = TableEncoder.fit(frame)  # names what is wrong with the columns
        validate_data(estimator, X, skip_check_array=True)
        return _within_reach(encoder, frame, table)
    encoder, table = TableEncoder.fit(check_numbers(estimator, X, ensure_min_samples=2))
    names = getattr(estimator, "_column_names", None)  # set by the command line
    return _within_reach(encoder, table.values, replace(table, names=names))


def _within_reach(encoder: TableEncoder, X: Any, table: ColumnTable) -> tuple[TableEncoder, Rows]:
    """Numbers in units in which they can be computed with; new rows will be in the same ones."""
    table = table.within_reach()
    return replace(encoder, exponents=table.exponents), Rows(X, table)


def check_new_rows(estimator: Any, X: Any) -> Rows:
    """New rows, with the columns of ``fit``."""
    encoder = estimator._encoder
    if is_frame(X):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        frame = as_pandas(X)
        return Rows(frame, _checked(estimator, encoder.table(frame)))
    table = encoder.table(check_numbers(estimator, X, reset=False))
    return Rows(table.values, _checked(estimator, table))


def _checked(estimator: Any, table: ColumnTable) -> ColumnTable:
    """Refuse NaN where it would go unnoticed; other estimators say themselves what they take."""
    if not is_own(estimator.predictor):
        return table
    check_finite(table)
    return table.in_units_of(estimator._encoder.exponents)

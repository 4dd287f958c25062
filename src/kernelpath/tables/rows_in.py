"""Rows of a table for PathCV: as the user gave them, and as numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.utils.validation import validate_data

from kernelpath.tables.arrays import check_numbers
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.table import Rows, Table, as_pandas, check_finite, is_frame


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


def _within_reach(encoder: TableEncoder, X: Any, table: Table) -> tuple[TableEncoder, Rows]:
    """Numbers in units in which they can be computed with; new rows will be in the same ones."""
    table = table.within_reach()
    return replace(encoder, exponents=table.exponents), Rows(X, table)


def check_new_rows(estimator: Any, X: Any, as_given: bool = False) -> Rows:
    """New rows, with the columns of ``fit``; ``as_given`` for those who say what they take."""
    encoder = estimator._encoder
    if is_frame(X):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        frame = as_pandas(X)
        table = encoder.table(frame)
        return Rows(frame, table if as_given else _checked(encoder, table))
    table = encoder.table(check_numbers(estimator, X, reset=False))
    return Rows(table.values, table if as_given else _checked(encoder, table))


def _checked(encoder: TableEncoder, table: Table) -> Table:
    """Refuse NaN where it would go unnoticed, and use the units of the rows of fit."""
    check_finite(table)
    return table.in_units_of(encoder.exponents)

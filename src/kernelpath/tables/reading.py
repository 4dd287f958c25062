"""The pair of readers for whatever takes a table: the rows of ``fit``, and new ones.

Both leave names and counts with the estimator, as scikit-learn does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.utils.validation import column_or_1d, validate_data

from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.table import (
    Table,
    as_column_table,
    as_pandas,
    check_finite,
    is_frame,
    naming_text,
    plain_array,
    plain_table,
)


def read_training(estimator: Any, X: Any) -> Table:
    """Rows of ``fit``, in the units of the user; NaN may be among them.

    A :class:`Table` stands for its values, with names for the columns of an array.
    """
    if isinstance(X, Table):
        return replace(read_training(estimator, X.values), names=X.names)
    if is_frame(X):
        frame = as_pandas(X).copy(deep=False)  # columns added to X later are not ours
        table = as_column_table(frame)  # names what is wrong with the columns
        validate_data(estimator, X, skip_check_array=True)
        return replace(table, given=frame)
    table = as_column_table(_numbers(estimator, X, ensure_min_samples=2))
    return replace(table, given=table.values)


def read_new(estimator: Any, X: Any, encoder: TableEncoder | None = None) -> Table:
    """New rows, with the columns of ``fit``, in the units of the user.

    With an encoder text columns get the codes that they had in ``fit``.
    """
    if is_frame(X):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        given = as_pandas(X)
    else:
        given = _numbers(estimator, X, reset=False)
    table = as_column_table(given) if encoder is None else encoder.table(given)
    return replace(table, given=given if is_frame(given) else table.values)


def read_new_numbers(estimator: Any, X: Any, encoder: TableEncoder) -> Table:
    """New rows without NaN, in the units of the rows of ``fit``."""
    table = read_new(estimator, X, encoder)
    check_finite(table)
    return table.in_units_of(encoder.exponents)


def _numbers(estimator: Any, X: Any, **options: Any) -> Any:
    """Numbers of an array or sparse matrix, checked as scikit-learn does."""
    X = plain_table(X)
    with naming_text():
        return validate_data(
            estimator, X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False,
            **options,
        )  # fmt: skip


def one_column(y: Any) -> Any:
    """A target of one column as one vector, with scikit-learn's warning; others as they are."""
    return y if getattr(y, "ndim", 0) == 1 else column_or_1d(plain_array(y, "y"), warn=True)

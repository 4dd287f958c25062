"""Arrays that are no dataframes, checked as scikit-learn does."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import column_or_1d, validate_data

from kernelpath.tables.table import naming_text, plain_array, plain_table


def check_numbers(estimator: Any, X: Any, **options: Any) -> Any:
    """Numbers of an array or sparse matrix; NaN may be among them.

    ``options`` are those of `sklearn.utils.validation.validate_data`.
    """
    X = plain_table(X)
    with naming_text():
        return validate_data(
            estimator, X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False,
            **options,
        )  # fmt: skip


def one_column(y: Any) -> Any:
    """A target of one column as one vector, with scikit-learn's warning; others as they are."""
    return y if getattr(y, "ndim", 0) == 1 else column_or_1d(plain_array(y, "y"), warn=True)

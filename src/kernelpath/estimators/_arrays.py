"""Arrays that are no dataframes, checked as scikit-learn does, with words for those with text."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from kernelpath.errors import DataError


def check_numbers(estimator: Any, X: Any, **options: Any) -> Any:
    """Numbers of an array or sparse matrix; NaN may be among them.

    ``options`` are those of `sklearn.utils.validation.validate_data`.
    """
    try:
        return validate_data(
            estimator, X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False,
            **options,
        )  # fmt: skip
    except ValueError as error:
        if not str(error).startswith("could not convert string to float"):
            raise
        text = str(error).rpartition(": ")[2]
        raise DataError(
            f"X holds text, such as {text}; encode it as numbers, or give a pandas DataFrame, "
            "whose messages name the columns."
        ) from error

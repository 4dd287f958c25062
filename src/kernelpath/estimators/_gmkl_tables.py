"""What a GMKL estimator reads: tables of features, or kernel matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import validate_data

from kernelpath.encoding import TableEncoder
from kernelpath.errors import DataError
from kernelpath.estimators._arrays import check_numbers
from kernelpath.estimators._gmkl_kernels import BoundKernel, bind_kernel
from kernelpath.estimators._path_cv_rows import check_training_rows
from kernelpath.estimators._path_cv_setup import check_finite
from kernelpath.inputs import ColumnTable, as_pandas, is_frame
from kernelpath.weighted.given import GivenKernels

PRECOMPUTED = "precomputed"


class Reader(Protocol):
    """Turns what users give into what the kernels take.

    Attributes
    ----------
    unit : str
        What one of the things to select from is called.
    """

    unit: str

    def read(self, estimator: Any, X: Any) -> ColumnTable:
        """Check the training data; names and counts are remembered as scikit-learn does."""

    def bind(self, estimator: Any, table: ColumnTable) -> BoundKernel:
        """The weighted kernel of the training rows."""

    def read_new(self, estimator: Any, X: Any) -> Any:
        """Check new rows."""

    def transform(self, estimator: Any, X: Any) -> Any:
        """What is selected, or None if that is for scikit-learn to do."""


def reader_for(kernel: Any) -> Reader:
    """How an estimator with this kernel reads its data."""
    return MatrixReader() if isinstance(kernel, str) and kernel == PRECOMPUTED else TableReader()


class TableReader:
    """Rows of features."""

    unit = "column"
    _encoder: TableEncoder

    def read(self, estimator: Any, X: Any) -> ColumnTable:
        """Columns as numbers, all finite."""
        self._encoder, rows = check_training_rows(estimator, X)
        check_finite(rows.table)
        return rows.table

    def bind(self, estimator: Any, table: ColumnTable) -> BoundKernel:
        """The kernel that the settings describe."""
        return bind_kernel(
            estimator.kernel, estimator.base_kernel, estimator.standardize, table, estimator.nystrom
        )

    def read_new(self, estimator: Any, X: Any) -> Any:
        """Columns of new rows."""
        if is_frame(X):
            validate_data(estimator, X, reset=False, skip_check_array=True)
            X = as_pandas(X)
        else:
            X = check_numbers(estimator, X, reset=False)
        table = self._encoder.table(X)
        check_finite(table)
        return table.in_units_of(self._encoder.exponents).values

    def transform(self, estimator: Any, X: Any) -> Any:
        """Nothing special."""
        return None


class MatrixReader:
    """Kernel matrices of the rows, one for each weight."""

    unit = "matrix"
    _kernel: GivenKernels

    def read(self, estimator: Any, X: Any) -> ColumnTable:
        """Check the matrices; the columns of the table are their row means."""
        kernel = GivenKernels(X, standardize=bool(estimator.standardize))
        self._kernel = kernel
        if kernel.n_rows < 2:
            raise DataError(f"At least 2 rows are needed, got n_samples = {kernel.n_rows}.")
        estimator.n_features_in_ = kernel.n_kernels
        if kernel.names is not None:
            estimator.feature_names_in_ = kernel.names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        means = kernel.times(np.arange(kernel.n_kernels), np.arange(kernel.n_rows, dtype=float))
        return ColumnTable(means, kernel.names, np.zeros(kernel.n_kernels, dtype=bool))

    def bind(self, estimator: Any, table: ColumnTable) -> BoundKernel:
        """The sum of the matrices."""
        kernel = self._kernel
        return BoundKernel(kernel, np.arange(kernel.n_kernels), kernel.constant)

    def read_new(self, estimator: Any, X: Any) -> Any:
        """Matrices between new rows and those of training; the kernel checks them."""
        return X

    def transform(self, estimator: Any, X: Any) -> Any:
        """Matrices with a weight."""
        chosen = np.flatnonzero(estimator.support_)
        if isinstance(X, Mapping) and self._kernel.names is not None:
            return {name: X[name] for name in self._kernel.names[chosen]}
        return [X[k] for k in chosen]

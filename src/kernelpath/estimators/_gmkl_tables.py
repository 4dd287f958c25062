"""What a GMKL estimator reads: tables of features, or kernel matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.errors import DataError
from kernelpath.estimators._gmkl_kernels import TrainingKernel, training_kernel
from kernelpath.mkl.weighted_kernels.matrices import check_grams
from kernelpath.mkl.weighted_kernels.precomputed import GivenKernels, matrices_of, names_of
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.reading import read_new_numbers, read_training
from kernelpath.tables.rows import DistinctRows, as_given, distinct, shares_of
from kernelpath.tables.table import Table, check_finite

PRECOMPUTED = "precomputed"


class Reader(Protocol):
    """Turns what users give into what the kernels take.

    Attributes
    ----------
    unit : str
        What one of the things to select from is called.
    """

    unit: str

    def read(self, estimator: Any, X: Any) -> Table:
        """Check the training data; names and counts are remembered as scikit-learn does."""

    def rows(self, table: Table, y: NDArray, weight: NDArray | None, merge: bool) -> DistinctRows:
        """The training rows that count; ``merge`` says whether equal ones may become one."""

    def bind(self, estimator: Any, table: Table, rows: DistinctRows) -> TrainingKernel:
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

    def read(self, estimator: Any, X: Any) -> Table:
        """Columns as numbers, all finite."""
        table = read_training(estimator, X).within_reach()
        self._encoder = TableEncoder.of(table)
        check_finite(table)
        return table

    def rows(self, table: Table, y: NDArray, weight: NDArray | None, merge: bool) -> DistinctRows:
        """Rows in an order of their own, so that the order in which they came changes nothing."""
        return distinct(table.values, y, weight, merge)

    def bind(self, estimator: Any, table: Table, rows: DistinctRows) -> TrainingKernel:
        """The kernel that the settings describe."""
        values = table.values.tocsr() if sparse.issparse(table.values) else table.values
        own = replace(table, values=values[rows.first])
        return training_kernel(
            estimator.kernel, estimator.base_kernel, estimator.standardize, own, estimator.nystrom,
            shares=shares_of(rows.weight),
        )  # fmt: skip

    def read_new(self, estimator: Any, X: Any) -> Any:
        """Columns of new rows."""
        return read_new_numbers(estimator, X, self._encoder).values

    def transform(self, estimator: Any, X: Any) -> Any:
        """Nothing special."""
        return None


class MatrixReader:
    """Kernel matrices of the rows, one for each weight."""

    unit = "matrix"
    _kernel: GivenKernels
    _given: Any

    def read(self, estimator: Any, X: Any) -> Table:
        """Check the matrices; a column of the table sums up one of them."""
        names, matrices = names_of(X), check_grams(matrices_of(X))
        n = len(matrices[0])
        if n < 2:
            raise DataError(f"At least 2 rows are needed, got n_samples = {n}.")
        estimator.n_features_in_ = len(matrices)
        if names is not None:
            estimator.feature_names_in_ = names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        self._given = X
        sums = np.column_stack([K @ np.arange(n, dtype=float) for K in matrices])
        return Table(sums, names, np.zeros(len(matrices), dtype=bool))

    def rows(self, table: Table, y: NDArray, weight: NDArray | None, merge: bool) -> DistinctRows:
        """All rows with a weight: which are the same is not known."""
        return as_given(len(y), weight)

    def bind(self, estimator: Any, table: Table, rows: DistinctRows) -> TrainingKernel:
        """The sum of the matrices."""
        weight = None
        if len(rows.first) < len(rows.group) or rows.weight is not None:
            weight = np.zeros(len(rows.group))
            weight[rows.first] = 1.0 if rows.weight is None else rows.weight
        kernel = GivenKernels(self._given, standardize=bool(estimator.standardize), weight=weight)
        self._kernel = kernel
        del self._given
        return TrainingKernel(kernel, np.arange(kernel.n_kernels), kernel.constant)

    def read_new(self, estimator: Any, X: Any) -> Any:
        """Matrices between new rows and those of training; the kernel checks them."""
        return X

    def transform(self, estimator: Any, X: Any) -> Any:
        """Matrices with a weight."""
        chosen = np.flatnonzero(estimator.support_)
        if isinstance(X, Mapping) and self._kernel.names is not None:
            return {name: X[name] for name in self._kernel.names[chosen]}
        return [X[k] for k in chosen]

"""From what a GMKL estimator is given to its weighted kernel, and from new rows to its values.

A :class:`Reader` takes tables of features, or kernel matrices; :func:`training_kernel` makes the
kernel of a table that the settings describe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.alignment.api import SEVERAL_WIDTHS
from kernelpath.errors import DataError, not_one_of
from kernelpath.kernels import KERNELS as FEATURE_KERNELS
from kernelpath.kernels import RBF, Delta, FeatureKernel, resolve_kernel
from kernelpath.kernels.feature import WIDTH_POWERS
from kernelpath.mkl.weighted_kernels.base import WeightedKernel
from kernelpath.mkl.weighted_kernels.columns import SumOfColumnKernels, one_per_column
from kernelpath.mkl.weighted_kernels.grouped import GroupedKernels
from kernelpath.mkl.weighted_kernels.precomputed import (
    GivenKernels,
    check_grams,
    matrices_of,
    names_of,
)
from kernelpath.mkl.weighted_kernels.products import ARDPolynomial, ProductRBF
from kernelpath.mkl.weighted_kernels.published import BANDWIDTHS, simple_mkl_parts
from kernelpath.mkl.weighted_kernels.views import GaussianViews
from kernelpath.tables.constraints import Constraints, numbered
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.missing import Imputer
from kernelpath.tables.reading import (
    as_numbers_of_fit,
    read_new,
    read_training,
    say_new_holes,
)
from kernelpath.tables.rows import (
    DistinctRows,
    Shares,
    as_given,
    distinct,
    mean_of,
    shares_of,
    spread_of,
)
from kernelpath.tables.table import (
    Table,
    columns_with_holes,
    refuse_infinite_columns,
    refuse_text,
)
from kernelpath.utils.probes import probe_weighted
from kernelpath.utils.units import sizes_of

KERNELS = ("sum", "product", "polynomial")
PRECOMPUTED = "precomputed"
NAMES = (*KERNELS, PRECOMPUTED)
WIDTHS = {"multi": SEVERAL_WIDTHS, "bandwidths": BANDWIDTHS}  # in standard deviations
RECIPES: dict[str, Callable[..., list]] = {
    name: partial(simple_mkl_parts, bandwidths=widths, degrees=(), together=False)
    for name, widths in WIDTHS.items()
} | {"simple_mkl": simple_mkl_parts}
MOST_FACTOR_BYTES = 2**30  # beyond, kernels are computed anew in every pass over them
TRIAL_ROWS = 30  # on which a weighted kernel of the user's own is held against itself
SAMPLE = 16  # columns whose ranks tell how large the factors of all are


@dataclass(frozen=True, eq=False)
class TrainingKernel:
    """A weighted kernel on the training rows, and what belongs to which feature.

    Attributes
    ----------
    kernel : WeightedKernel
    features : ndarray of shape (n_kernels,)
        Feature of each kernel; -1 for kernels of several.  Features are columns, or units of
        columns that go together.
    constant : ndarray of bool, shape (n_features,)
    center, scale : ndarray of shape (n_features,) or None
        How the table was standardised.
    """

    kernel: WeightedKernel
    features: NDArray[np.intp]
    constant: NDArray[np.bool_]
    center: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None

    def without_constant(self) -> TrainingKernel:
        """The same where kernels of constant features belong to no feature: none is selected."""
        own = self.features
        still = (own >= 0) & self.constant[np.maximum(own, 0)]
        return replace(self, features=np.where(still, -1, own))

    def taken_together(self, constraints: Constraints) -> TrainingKernel:
        """The same with one kernel, a mean, for columns that go together; ``features`` are units.

        Kernels of a column that is alone stay what they are, as do those of no column.
        """
        own, unit = self.features, constraints.unit
        of_unit = np.where(own >= 0, unit[np.maximum(own, 0)], -1)
        several = (own >= 0) & (constraints.unit_sizes[of_unit] > 1)
        labels = np.where(several, of_unit, constraints.n_units + np.arange(len(own)))
        groups = numbered(labels.tolist())
        kernel, first = self.kernel, np.unique(groups, return_index=True)[1]
        if len(first) < len(groups):
            kernel = GroupedKernels(kernel, groups)
        return replace(self, kernel=kernel, features=of_unit[first])

    def standardized(self, values: Any) -> Any:
        """Rows in the units of the training rows."""
        if self.center is None or self.scale is None:
            return values
        return (_dense(values) - self.center) / self.scale

    def values(
        self, weights: NDArray[np.float64], rows: Any, U: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """``K(rows, training rows) U``."""
        return self.kernel.cross_times(weights, self.standardized(rows), U)  # type: ignore[attr-defined]


# -- readers ---------------------------------------------------------------------------------------


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
        table = read_training(estimator, X)
        refuse_infinite_columns(table)
        imputer, holes = Imputer.fit(table), columns_with_holes(table.values)
        table = imputer.apply(table).within_reach()
        self._encoder = replace(TableEncoder.of(table), fill=imputer.fill, holes=holes)
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
        table = read_new(estimator, X, self._encoder)
        say_new_holes(table, self._encoder.holes)
        return as_numbers_of_fit(table, self._encoder).values

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


# -- kernels of a table ----------------------------------------------------------------------------


def training_kernel(
    kernel: Any,
    base_kernel: Any,
    standardize: bool,
    table: Table,
    nystrom: int | None = None,
    parameter: str = "base_kernel",
    shares: Shares = None,
) -> TrainingKernel:
    """Bind the kernel that the parameters of an estimator describe to its training rows.

    ``parameter`` is the name that the estimator has for the kernel of a feature; ``shares`` are
    the weights of the rows in means, widths and traces.
    """
    n_features = table.shape[1]
    table = table.within_reach()
    constant = _constant(table.values)
    if isinstance(kernel, str) and kernel == "sum":
        if table.exponents is not None:
            _refuse_own_units(base_kernel, table)
        return TrainingKernel(*_sum(base_kernel, table, nystrom, parameter, shares), constant)
    _check_kernel(kernel, standardize, table)
    values = _dense(table.values).astype(np.float64)
    center = mean_of(values, shares) if standardize else np.zeros(n_features)
    scale = spread_of(values, shares) if standardize else np.ones(n_features)
    scale = np.where(constant | (scale == 0), 1.0, scale)
    X = (values - center) / scale
    if isinstance(kernel, str):
        family = ProductRBF if kernel == "product" else ARDPolynomial
        made: Any = family(X, shares=shares)
    else:
        some = X[np.unique(np.linspace(0, len(X) - 1, TRIAL_ROWS).astype(np.intp))]
        for rows in (some, X):  # tried on a few rows first
            made = kernel.bind(rows)
            _check_protocol(made, kernel, rows)
            if rows is some:
                probe_weighted(made, some)
    features = (
        np.arange(n_features) if made.n_kernels == n_features else np.full(made.n_kernels, -1)
    )
    return TrainingKernel(made, features, constant, center, scale)


def _check_kernel(kernel: Any, standardize: bool, table: Table) -> None:
    """Refuse what is no kernel of all features, and columns that it cannot take."""
    known = kernel in KERNELS if isinstance(kernel, str) else hasattr(kernel, "bind")
    if not known:
        raise not_one_of("kernel", kernel, NAMES, "an object with a method bind(X)")
    if table.categorical.any():
        raise DataError(
            f"kernel={kernel!r} takes numbers, but text is in "
            f"{table.label(np.flatnonzero(table.categorical))}; use kernel='sum' with "
            "base_kernel='auto', or encode it."
        )
    if table.exponents is not None and not standardize:
        raise _out_of_range(table, "standardize=True takes them")


def _sum(
    base_kernel: Any, table: Table, nystrom: int | None, parameter: str, shares: Shares
) -> tuple[Any, NDArray[np.intp]]:
    """Sum of kernels of columns and the feature of each: as factors, or too many for that."""
    widths = _widths(base_kernel, table, parameter)
    if nystrom is None and widths and _factor_bytes(table.values, widths) > MOST_FACTOR_BYTES:
        features = np.repeat(np.arange(table.shape[1]), len(widths))
        return GaussianViews(table.values, widths, shares=shares), features
    parts = _parts(base_kernel, table, shares)
    features = np.array([part.columns[0] if len(part.columns) == 1 else -1 for part in parts])
    return SumOfColumnKernels(table.values, parts, nystrom, shares), features


def _widths(base_kernel: Any, table: Table, parameter: str) -> tuple[float, ...] | None:
    """Widths in standard deviations where all kernels are Gaussian, else None."""
    known = (*FEATURE_KERNELS, "auto", *RECIPES)
    if not (isinstance(base_kernel, FeatureKernel) or base_kernel in known):
        raise not_one_of(parameter, base_kernel, known, "a FeatureKernel")
    if isinstance(base_kernel, str) and base_kernel in RECIPES:
        refuse_text(table, "encode it")
        return WIDTHS.get(base_kernel)
    auto = isinstance(base_kernel, str) and base_kernel == "auto"
    own = RBF() if auto else resolve_kernel(base_kernel)
    if not auto and own != Delta():
        refuse_text(table, f"use {parameter}='auto', or encode it")
    return (1.0,) if type(own) is RBF and not table.categorical.any() else None


def _factor_bytes(values: Any, widths: tuple[float, ...]) -> float:
    """Memory of the factors of all columns, judged by some of them: ranks depend on the data."""
    n, d = values.shape
    if 8.0 * n * n * d * len(widths) <= MOST_FACTOR_BYTES:
        return 0.0
    some = np.unique(np.linspace(0, d - 1, SAMPLE).astype(np.intp))
    X = _dense(values[:, some]).astype(np.float64)
    parts = simple_mkl_parts(X, bandwidths=widths, degrees=(), together=False)
    return SumOfColumnKernels(X, parts).nbytes * (d / len(some))


def _parts(base_kernel: Any, table: Table, shares: Shares) -> list:
    if isinstance(base_kernel, str) and base_kernel in RECIPES:
        return RECIPES[base_kernel](_dense(table.values).astype(np.float64), shares=shares)
    auto = isinstance(base_kernel, str) and base_kernel == "auto"
    own = RBF() if auto else resolve_kernel(base_kernel)
    return one_per_column(table.values, own, table.categorical, shares)


def _constant(values: Any) -> NDArray[np.bool_]:
    """Which columns are constant."""
    low, high = values.min(axis=0), values.max(axis=0)
    if sparse.issparse(values):
        low, high = np.asarray(low.todense()).ravel(), np.asarray(high.todense()).ravel()
    return np.asarray(low == high)


def _refuse_own_units(base_kernel: Any, table: Table) -> None:
    """Refuse kernels that compare columns, or whose formula is the user's, where units differ."""
    if isinstance(base_kernel, FeatureKernel) and type(base_kernel) not in WIDTH_POWERS:
        raise _out_of_range(table, "kernels of this package take them")
    if isinstance(base_kernel, str) and base_kernel == "simple_mkl":
        raise _out_of_range(table, "base_kernel='bandwidths' takes them")


def _out_of_range(table: Table, way: str) -> DataError:
    assert table.exponents is not None
    columns = np.flatnonzero(table.exponents)
    size = sizes_of(table.in_own_units().values)[columns[0]]
    return DataError(
        f"{table.sentence(columns, 'has', 'have')} values of about {size:.0e}, whose squares are "
        f"not in the range of numbers; give them in another unit ({way})."
    )


def _check_protocol(made: Any, kernel: Any, X: NDArray[np.float64]) -> None:
    missing = [
        name
        for name in ("n_kernels", "n_rows", "is_sum", "gram", "grad_quad", "cross_times")
        if not hasattr(made, name)
    ]
    if missing:
        raise TypeError(
            f"{type(kernel).__name__}.bind(X) returned {type(made).__name__}, which lacks "
            f"{', '.join(missing)}; see kernelpath.mkl.weighted_kernels.base.WeightedKernel"
        )


def _dense(values: Any) -> NDArray:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)

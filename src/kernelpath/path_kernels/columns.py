"""Columns of training and new rows, one under the other, ready for the compiled loops.

Everything here works on one *form* of a kernel, equal to the centred one up to ``f(x) + f(z)``.
For sparse tables it is ``d(x, 0) + d(0, z) - d(x, z)``, which vanishes where a value is 0.  For
dense ones it is ``-d``, but for polynomials, whose ``d`` of an outlier would drown its kernel, the
kernel of the centred column without its constant.  The form depends on the type of the training
table and the kernel parameters alone, not on the rows at hand, so that a model may mix kernels
computed on different occasions.  A kernel of the user's own stands as ``-d`` in any table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.errors import DataError
from kernelpath.kernels import FeatureKernel, codes, distance_block, formula_code
from kernelpath.path_kernels import _dense_loops as _distance_loops
from kernelpath.tables.table import canonical, column_list, columns_not_finite

SPARSE_DENSITY = 0.2
"""Columns of a sparse table with a larger share of non-zeros are treated as dense ones."""

FARTHEST_ZERO = 30.0
"""Where 0 is farther from the mean, in standard deviations, a polynomial cannot be shifted to it:
its powers would drown the differences between rows.  Such a column has no zeros to gain from."""


@dataclass(frozen=True)
class ColumnKernels:
    """Kernel of each column, as arrays.

    Attributes
    ----------
    codes, gamma, center : ndarray of shape (n_columns,)
    factors : ndarray of shape (n_columns, largest degree)
        Polynomial kernels: factors of the powers 1, 2, ... of the centred and scaled column.
    own : ndarray of object, shape (n_columns,), optional
        Kernels of the user's own, None where compiled loops know the kernel.
    """

    codes: NDArray[np.int64]
    gamma: NDArray[np.float64]
    center: NDArray[np.float64]
    factors: NDArray[np.float64]
    own: NDArray[np.object_] | None = None

    @classmethod
    def of(
        cls,
        kernels: Sequence[FeatureKernel],
        which: NDArray[np.intp],
        gamma: NDArray[np.float64],
        center: NDArray[np.float64],
    ) -> ColumnKernels:
        """Arrays for kernel ``kernels[which[i]]`` of column ``i``."""
        powers = [_power_factors(kernel) for kernel in kernels]
        factors = np.zeros((len(kernels), max(1, *(len(row) for row in powers), 1)))
        for row, values in zip(factors, powers):
            row[: len(values)] = values
        numbers = np.array([formula_code(kernel) for kernel in kernels], dtype=np.int64)
        own = None
        if (numbers[which] == codes.OWN).any():
            own = np.full(len(kernels), None, dtype=object)
            for i in np.flatnonzero(numbers == codes.OWN).tolist():
                own[i] = kernels[i]
            own = own[which]
        return cls(numbers[which], gamma, center, factors[which], own)

    def take(self, columns: NDArray[np.intp]) -> ColumnKernels:
        """Kernels of some columns."""
        own = None if self.own is None else self.own[columns]
        return ColumnKernels(
            self.codes[columns], self.gamma[columns], self.center[columns], self.factors[columns],
            own,
        )  # fmt: skip

    @property
    def polynomial(self) -> NDArray[np.bool_]:
        """Columns whose kernel needs the centred and scaled value."""
        return self.codes == codes.POLYNOMIAL

    @property
    def centred(self) -> NDArray[np.intp]:
        """Columns whose kernel is the user's own and gets the centred value."""
        return np.flatnonzero(self.codes == codes.OWN)

    @property
    def degree(self) -> NDArray[np.int64]:
        """Highest power of the kernel, 0 where it is not a polynomial."""
        powers = np.arange(1, self.factors.shape[1] + 1)
        return np.where(self.factors > 0, powers, 0).max(axis=1)

    def standardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Centre own columns, and scale polynomial ones too, of feature-major values, in place."""
        own = self.centred
        if len(own):
            values[own] -= self.center[own, None]
        which = np.flatnonzero(self.polynomial)
        if len(which) == len(values):
            values -= self.center[:, None]
            values *= np.sqrt(self.gamma)[:, None]
        elif len(which):
            scaled = values[which] - self.center[which, None]
            values[which] = scaled * np.sqrt(self.gamma[which])[:, None]
        return values

    def distances(
        self, values: NDArray[np.float64], rows: tuple[int, int], columns: tuple[int, int]
    ) -> NDArray[np.float64]:
        """``d`` of two ranges of rows of feature-major values, (n_columns, first, second)."""
        out = np.empty((len(values), (rows[1] - rows[0]) * (columns[1] - columns[0])))
        self.fill(values, (0, len(values)), np.ones(len(values)), rows, columns, out)
        return out.reshape(len(values), rows[1] - rows[0], -1)

    def fill(
        self,
        values: NDArray[np.float64],
        which: tuple[int, int],
        scale: NDArray[np.float64],
        rows: tuple[int, int],
        columns: tuple[int, int],
        out: NDArray[np.floating],
    ) -> None:
        """``scale d`` of a range of columns for all pairs of two ranges of rows, into ``out``."""
        first, last = which
        _distance_loops.distances(
            values, first, last, self.codes, self.gamma, self.factors, scale, rows, columns, out
        )
        if self.own is None:
            return
        for f in range(first, last):
            if self.own[f] is not None:
                x, z = values[f, slice(*rows)], values[f, slice(*columns)]
                d = distance_block(self.own[f], x, z, float(self.gamma[f]))
                out[f - first] = scale[f] * d.ravel()

    @property
    def zero(self) -> NDArray[np.float64]:
        """Where the raw value 0 goes."""
        return np.where(self.polynomial, -self.center * np.sqrt(self.gamma), 0.0)

    @property
    def shiftable(self) -> NDArray[np.bool_]:
        """Columns whose kernel, in a sparse table, is shifted to vanish at 0."""
        return ~(np.abs(self.zero) > FARTHEST_ZERO) & (self.codes != codes.OWN)


def _power_factors(kernel: FeatureKernel) -> list[float]:
    """``(c + t)^degree = constant + sum_b factor_b t^b``."""
    if formula_code(kernel) != codes.POLYNOMIAL:
        return []
    degree, coef0 = kernel.degree, kernel.coef0  # type: ignore[attr-defined]
    return [comb(degree, b) * coef0 ** (degree - b) for b in range(1, degree + 1)]


@dataclass(frozen=True)
class DenseColumns:
    """Feature-major columns of all rows, training rows first; polynomial ones standardised.

    Columns of a kernel of the user's own are centred.

    ``shifted`` marks those whose form is shifted to vanish at 0.
    """

    values: NDArray[np.float64]
    kernels: ColumnKernels
    n_train: int
    shifted: NDArray[np.bool_]

    def take(self, columns: NDArray[np.intp]) -> DenseColumns:
        """Return some of the columns."""
        return DenseColumns(
            self.values[columns], self.kernels.take(columns), self.n_train, self.shifted[columns]
        )


@dataclass(frozen=True)
class SparseColumns:
    """Stored non-zeros of all rows by column, training rows first; polynomial ones standardised.

    ``split`` is the number of training entries of each column.
    """

    ptr: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float64]
    split: NDArray[np.int64]
    kernels: ColumnKernels
    n_train: int


def matching(new: Any, train: Any) -> Any:
    """Return ``new`` as a sparse matrix if ``train`` is one, else as an array."""
    if sp.issparse(train):
        return new if sp.issparse(new) else sp.csc_matrix(np.asarray(new))
    return new.toarray() if sp.issparse(new) else np.asarray(new)


def take_columns(values: Any, columns: NDArray[np.intp]) -> Any:
    """Return some columns; sparse ones in CSC, where that is cheap."""
    if sp.issparse(values):
        return values.tocsc()[:, columns]
    return values[:, columns]


def dense_columns(
    train: Any, new: Any | None, kernels: ColumnKernels, *, from_sparse: bool
) -> DenseColumns:
    """Copy dense or sparse tables to feature-major float64."""
    n_train = train.shape[0]
    n_rows = n_train + (0 if new is None else new.shape[0])
    values = np.empty((train.shape[1], n_rows))
    for part, rows in ((train, slice(0, n_train)), (new, slice(n_train, n_rows))):
        if part is not None:
            values[:, rows] = part.T.toarray() if sp.issparse(part) else part.T
    shifted = kernels.shiftable & from_sparse
    return DenseColumns(kernels.standardise(values), kernels, n_train, shifted)


def sparse_columns(train: Any, new: Any | None, kernels: ColumnKernels) -> SparseColumns:
    """Stack sparse tables and keep true non-zeros only, sorted by row."""
    whole = canonical(sp.csc_matrix(train))
    n_train = whole.shape[0]
    split = np.diff(whole.indptr).astype(np.int64)
    if new is not None:
        whole = sp.vstack([whole, canonical(sp.csc_matrix(new))], format="csc")
        whole.sort_indices()
    values = np.array(whole.data, dtype=np.float64)
    column = np.repeat(np.arange(whole.shape[1]), np.diff(whole.indptr))
    scaled = np.flatnonzero(kernels.polynomial[column])
    if len(scaled):
        of = column[scaled]
        values[scaled] = (values[scaled] - kernels.center[of]) * np.sqrt(kernels.gamma[of])
    ptr, rows = whole.indptr.astype(np.int64), whole.indices.astype(np.uint32)
    return SparseColumns(ptr, rows, values, split, kernels, n_train)


def check_new(
    new: Any, n_columns: int, used: NDArray[np.intp], names: NDArray | None = None
) -> Any:
    """Return the used columns of new rows, or say what is wrong with them."""
    if not sp.issparse(new):
        new = np.asarray(new)
    if new.ndim != 2 or new.shape[1] != n_columns:
        raise DataError(
            f"The new rows have shape {new.shape}, but the kernels are of {n_columns} columns."
        )
    part = take_columns(new, used) if len(used) < n_columns else new
    data = part.data if sp.issparse(part) else part
    if data.dtype.kind not in "fiub":
        part = part.astype(np.float64)
    bad = columns_not_finite(part)
    if len(bad):
        raise DataError(f"The new rows contain NaN or inf in {column_list(used[bad], names)}.")
    return part

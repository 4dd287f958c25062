"""Columns of training and new rows, one under the other, ready for the compiled loops.

Everything here works on one *form* of a kernel, equal to the centred one up to ``f(x) + f(z)``.
For sparse tables it is ``d(x, 0) + d(0, z) - d(x, z)``, which vanishes where a value is 0.  For
dense ones it is ``-d``, but for polynomials, whose ``d`` of an outlier would drown its kernel, the
kernel of the centred column without its constant.  The form depends on the type of the training
table and the kernel parameters alone, not on the rows at hand, so that a model may mix kernels
computed on different occasions.  A kernel of the user's own stands as ``-d`` in any table, and
so does one of the package that looks at more than differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelpath.errors import DataError
from kernelpath.kernels import (
    FeatureKernel,
    codes,
    distance_block,
    formula_code,
    formula_settings,
)
from kernelpath.kernels._formulas import BY_CODE
from kernelpath.kernels.missing import far_values
from kernelpath.path_kernels import _dense_loops
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
        Others: the settings of the kernel, if it has any.
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
        given = [_factors(kernel) for kernel in kernels]
        factors = np.zeros((len(kernels), max(1, *(len(row) for row in given), 1)))
        for row, values in zip(factors, given):
            row[: len(values)] = values
        numbers = np.array([formula_code(kernel) for kernel in kernels], dtype=np.int64)
        own = None
        if (numbers[which] == codes.OWN).any():
            own = np.full(len(kernels), None, dtype=object)
            for i in np.flatnonzero(numbers == codes.OWN).tolist():
                own[i] = kernels[i]
            own = own[which]
        return cls(numbers[which], gamma, center, factors[which], own)

    def without_holes(self, values: Any) -> Any:
        """Rows, dense or sparse, in which a missing value is written as its far value."""
        data = values.data if sp.issparse(values) else values
        missing = np.isnan(data)
        if not missing.any():
            return values
        far = far_values(self.codes, self.gamma, self.center)
        if sp.issparse(values):
            filled = values.tocsc().astype(np.float64, copy=True)
            missing = np.isnan(filled.data)
            column = np.repeat(np.arange(filled.shape[1]), np.diff(filled.indptr))
            filled.data[missing] = far[column[missing]]
            return filled
        return np.where(missing, far, values)

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
        """Columns whose kernel gets the centred value: all but those of differences."""
        return np.flatnonzero(self._of(_takes_centred))

    @property
    def degree(self) -> NDArray[np.int64]:
        """Highest power of the kernel, 0 where it is not a polynomial."""
        powers = np.arange(1, self.factors.shape[1] + 1)
        return np.where((self.factors > 0) & self.polynomial[:, None], powers, 0).max(axis=1)

    def standardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Centre feature-major values that need it, and scale polynomial ones too, in place."""
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
        groups, formulas = self._formulas
        for group, (formula, settings) in enumerate(formulas):
            if formula is not None:
                _dense_loops.distances_of(formula, out.dtype == np.float32)(
                    values, first, last, groups, group, self.gamma, self.factors, settings, scale,
                    rows, columns, out,
                )  # fmt: skip
                continue
            for f in (first + np.flatnonzero(groups[first:last] == group)).tolist():
                x, z = values[f, slice(*rows)], values[f, slice(*columns)]
                own = self.own[f]  # type: ignore[index]  # it is there where a formula is not
                out[f - first] = scale[f] * distance_block(own, x, z, float(self.gamma[f])).ravel()

    def runs(
        self, columns: NDArray[np.integer]
    ) -> Iterator[tuple[NDArray[np.integer], type[FeatureKernel] | None, tuple[float, ...]]]:
        """Neighbours among some columns with one formula, which is None for a user's own."""
        groups, formulas = self._formulas
        if len(formulas) == 1 or len(columns) == 0:
            yield from ((columns, *formula) for formula in formulas if len(columns))
            return
        group = groups[columns]
        starts = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(columns)]
        for start, end in pairwise(starts):
            yield columns[start:end], *formulas[group[start]]

    @cached_property
    def _formulas(
        self,
    ) -> tuple[NDArray[np.intp], list[tuple[type[FeatureKernel] | None, tuple[float, ...]]]]:
        """Group of each column, and formula and settings of each group."""
        keys = np.column_stack([self.codes, self.factors])
        if len(keys) and (keys == keys[0]).all():
            return np.zeros(len(keys), dtype=np.intp), [_formula(keys[0])]
        distinct, groups = np.unique(keys, axis=0, return_inverse=True)
        return groups.ravel(), [_formula(key) for key in distinct]

    def _of(self, test: Callable[[int], bool]) -> NDArray[np.bool_]:
        """Columns whose formula has a property."""
        return np.isin(self.codes, [code for code in np.unique(self.codes).tolist() if test(code)])

    @property
    def zero(self) -> NDArray[np.float64]:
        """Where the raw value 0 goes."""
        return np.where(self.polynomial, -self.center * np.sqrt(self.gamma), 0.0)

    @property
    def shiftable(self) -> NDArray[np.bool_]:
        """Columns whose kernel, in a sparse table, is shifted to vanish at 0."""
        return ~(np.abs(self.zero) > FARTHEST_ZERO) & ~self._of(_takes_centred)


def _takes_centred(code: int) -> bool:
    """Whether a formula gets centred values; polynomials get them scaled as well."""
    return code != codes.POLYNOMIAL and (code == codes.OWN or not BY_CODE[code].of_differences)


def _formula(key: NDArray[np.float64]) -> tuple[type[FeatureKernel] | None, tuple[float, ...]]:
    """Class of the package and settings of a column, from its code and factors."""
    code = int(key[0])
    if code == codes.OWN:
        return None, ()
    known = BY_CODE[code]
    n_settings = 0 if code == codes.POLYNOMIAL else len(fields(known))
    return known, tuple(key[1 : 1 + n_settings].tolist())


def _factors(kernel: FeatureKernel) -> Sequence[float]:
    """``(c + t)^degree = constant + sum_b factor_b t^b``; the settings of another kernel."""
    if formula_code(kernel) != codes.POLYNOMIAL:
        return formula_settings(kernel)
    degree, coef0 = kernel.degree, kernel.coef0  # type: ignore[attr-defined]
    return [comb(degree, b) * coef0 ** (degree - b) for b in range(1, degree + 1)]


@dataclass(frozen=True)
class DenseColumns:
    """Feature-major columns of all rows, training rows first; polynomial ones standardised.

    Columns of a kernel that looks at more than differences are centred.

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
    new: Any,
    n_columns: int,
    used: NDArray[np.intp],
    kernels: ColumnKernels,
    names: NDArray | None = None,
) -> Any:
    """Return the used columns of new rows, or say what is wrong with them.

    ``kernels`` are those of the used columns; they say what stands for a missing value.
    """
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
    if len(bad) == 0:
        return part
    part = kernels.without_holes(part)
    bad = columns_not_finite(part)
    if len(bad):
        raise DataError(f"The new rows contain infinity in {column_list(used[bad], names)}.")
    return part

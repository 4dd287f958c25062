"""The eight sums of every column that its null moments need, for several widths at once.

Gaussian kernels take the grid of :mod:`kernelpath.alignment._grid_loops`; each other kernel has a
way of its own, and any kernel has the matrix of all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.alignment import _grid_loops, _null_loops
from kernelpath.alignment._null_loops import MOST_LEVELS
from kernelpath.alignment.columns import ColumnBlock, DenseBlock, RaggedColumns
from kernelpath.alignment.null_moments import BLOCK, NEGLIGIBLE, SUMS, low_rank_sums
from kernelpath.errors import DataError
from kernelpath.kernels import FeatureKernel, codes, distance_block, formula_code, kernel_diagonal
from kernelpath.tables.targets import Target

Array = NDArray[np.float64]
RESOLUTION, FINE, FINEST = 0.25, 0.1, 0.03
"""Spacings of the grid in units of the narrowest width; the statistics are right to about 1e-5."""
THIN = 0.2
"""Share of the largest trace below which nearly all rows are alike, and the grid is made finer:
what tells the others apart is then small beside what all share."""
LEFT_OUT = {RESOLUTION: 1e-9, FINE: 1e-9, FINEST: 1e-14}
"""Kernel values that are left out."""
TOLD = 1e-4
"""Variance in squared means that the finest grid can tell from none."""
FEW_POINTS = 400  # different values of a column, of which the matrix of pairs costs little
MOST_POINTS = 20_000  # different values of a column whose pairs are all taken
ROUNDING = 1e-12  # differences of powers, in units of these, that are none
LARGEST_GRID = 4_000_000  # grid points


@dataclass(frozen=True)
class WidthTables:
    """What a Gaussian is on the grid, for widths in units of a column's scale.

    Attributes
    ----------
    resolution : float
        Spacing of the finest grid, in units of the narrowest width.
    rates : ndarray of shape (n_widths,)
        Inverse squares of the widths, the narrowest width first.
    octave : ndarray of int
        How often the grid is made coarser by 2 before the width is taken.
    tables : ndarray of shape (n_widths, 5, longest)
    reach : ndarray of int, shape (n_widths, 5)
        Entries of each table.
    place : ndarray of int
        Where the widths stand in the order of the user.
    """

    resolution: float
    rates: Array
    octave: NDArray[np.int64]
    tables: Array
    reach: NDArray[np.int64]
    place: NDArray[np.intp]

    @property
    def for_loops(self) -> tuple[Any, ...]:
        """What the compiled loops take, with the zeros that the sums need on both sides."""
        return (
            self.rates / self.rates[0], self.octave, self.tables, self.reach,
            int(self.reach.max()) + 1, _grid_loops.FINER if self.resolution == RESOLUTION else 0,
            _grid_loops.SHARES, _grid_loops.FEW_SHARES, _grid_loops.MIDDLE,
        )  # fmt: skip

    @staticmethod
    @lru_cache(maxsize=16)
    def of(factors: tuple[float, ...], resolution: float = RESOLUTION) -> WidthTables:
        """Tables for some widths."""
        place = np.argsort(factors, kind="stable")
        widths = np.asarray(factors, dtype=np.float64)[place]
        octave = np.floor(np.log2(widths / widths[0]) + 1e-9).astype(np.int64)
        spacing = resolution * widths[0] * 2.0**octave / widths
        least = LEFT_OUT[resolution]
        found = [[_table(rate * s * s, shift, least) for rate, shift in FORMS] for s in spacing]
        reach = np.array([[len(table) for table in own] for own in found])
        padded = np.zeros((len(widths), len(FORMS), reach.max()))
        for w, own in enumerate(found):
            for i, table in enumerate(own):
                padded[w, i, : len(table)] = table
        return WidthTables(resolution, 1.0 / widths**2, octave, padded, reach, place)


FORMS = ((0.5, 0.0), (1.0, 0.0), (1.0, 0.5), (1.5, 0.0), (0.75, 0.0))
"""Rate and shift of the tables, in the order of ``_grid_loops``."""


def _table(rate: float, shift: float, least: float) -> Array:
    """``exp(-rate (j + shift)^2)`` down to ``least``."""
    last = math.ceil(math.sqrt(-math.log(least) / rate))
    return np.exp(-rate * (np.arange(last + 1) + shift) ** 2)


@dataclass(frozen=True)
class ColumnSums:
    """What one pass over some columns found.

    Attributes
    ----------
    sums : ndarray of shape (n_features, n_widths, 8)
    forms : ndarray of shape (n_features, n_widths, n_columns)
        ``v' K v`` of each centred target column.
    n_levels : ndarray of int, shape (n_features,)
        Number of different values, where they are few; a missing value is one, too.
    negligible : ndarray of shape (n_features,)
        Variance in squared means that cannot be told from none.
    """

    sums: Array
    forms: Array
    n_levels: NDArray[np.int64]
    negligible: Array

    @classmethod
    def empty(cls, n_features: int, n_widths: int, n_columns: int) -> ColumnSums:
        """Zeros, to be filled."""
        sums = np.zeros((n_features, n_widths, len(SUMS)))
        forms = np.zeros((n_features, n_widths, n_columns))
        levels = np.full(n_features, MOST_LEVELS + 1, dtype=np.int64)
        return cls(sums, forms, levels, np.full(n_features, NEGLIGIBLE))

    def of(self, features: slice) -> ColumnSums:
        """Those of some columns, not copied."""
        return ColumnSums(*(getattr(self, one.name)[features] for one in fields(self)))

    def take(self, features: slice, found: ColumnSums) -> None:
        """Write down what was found of some columns."""
        for one in fields(self):
            getattr(self, one.name)[features] = getattr(found, one.name)


class NullContraction:
    """Sums of columns for one target under one kernel, at several widths.

    Parameters
    ----------
    target : Target
    kernel : FeatureKernel
    factors : sequence of float
        Widths in units of the scale of a column; one for kernels without a width.
    exact : bool
        By the matrix of all pairs of values.
    """

    def __init__(
        self, target: Target, kernel: FeatureKernel, factors: Sequence[float], exact: bool = False
    ) -> None:
        self.target = target
        self.kernel = kernel
        self.code = formula_code(kernel)
        self.factors = tuple(float(f) for f in factors)
        self.exact = exact
        self.columns = np.ascontiguousarray(target.columns.T)
        self._grouped = target.group is not None and target.codes is not None
        if target.group is not None and target.codes is not None:
            self._group = np.ascontiguousarray(target.group, dtype=np.int64)
            self._every = np.arange(target.n_samples)
            self._combine = np.ascontiguousarray(
                np.vstack([np.ones(len(target.codes)), target.codes.T])
            )

    def run(self, block: ColumnBlock, gammas: Array, skip: NDArray[np.bool_]) -> ColumnSums:
        """Sums of the columns of a block, but those to ``skip``.

        ``gammas`` (n_widths, n_features) are their width parameters.
        """
        found = ColumnSums.empty(len(skip), len(self.factors), len(self.columns) - 1)
        wanted = np.flatnonzero(~skip)
        if self.code == codes.RBF and not self.exact:
            usual, fine = (WidthTables.of(self.factors, spacing) for spacing in (RESOLUTION, FINE))
            rest = self._on_grids(block, gammas, wanted, usual, found)
            trace = found.sums[:, np.argmax(self.factors), 0]
            thin = (trace < THIN * self.target.total_weight) & (found.n_levels > MOST_LEVELS)
            thin[rest] = False
            again = wanted[thin[wanted]]
            wanted = np.union1d(rest, self._on_grids(block, gammas, again, fine, found))
        if len(wanted):
            for part in block.parts(wanted):
                if len(part):
                    self._one_by_one(block, gammas, part, found)
        return found

    def refine(
        self, block: ColumnBlock, gammas: Array, which: NDArray[np.bool_], found: ColumnSums
    ) -> None:
        """Sums of some columns again, to more digits, if they come from a grid."""
        if self.code != codes.RBF or self.exact:
            return
        wanted = np.flatnonzero(which & (found.n_levels > MOST_LEVELS))
        if len(wanted) == 0:
            return
        for part in block.parts(wanted[block.n_points[wanted] <= FEW_POINTS]):
            if len(part):
                self._one_by_one(block, gammas, part, found)
        many = wanted[block.n_points[wanted] > FEW_POINTS]
        found.negligible[many] = TOLD
        self._on_grids(block, gammas, many, WidthTables.of(self.factors, FINEST), found)

    # -- Gaussian kernels --------------------------------------------------------------------------

    def _on_grids(
        self,
        block: ColumnBlock,
        gammas: Array,
        wanted: NDArray[np.intp],
        widths: WidthTables,
        found: ColumnSums,
    ) -> NDArray[np.intp]:
        """Sums by grids; returns the columns whose grid would be too large."""
        if len(wanted) == 0:
            return wanted
        statistics = block.statistics
        base = gammas[widths.place[0]]  # of the narrowest width
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            step = widths.resolution * np.sqrt(0.5 / base)
            size = (statistics.hi - statistics.lo) / step
        large = ~(size < min(LARGEST_GRID, 64 * self.target.n_samples + 4096))
        rest, wanted = wanted[large[wanted]], wanted[~large[wanted]]
        by_class = self._grouped and isinstance(block, DenseBlock)
        # Without copies there is nothing that must stay in cache.
        whole = by_class and isinstance(block, DenseBlock) and block.in_place
        for part in [wanted] if whole else block.parts(wanted):
            if len(part) == 0:
                continue
            if by_class:
                own, which = self._by_class(block, part, widths, base, step)
            else:
                own, which = self._by_column(block, part, widths, base, step)
            found.sums[part[:, None], widths.place] = own.sums[which]
            found.forms[part[:, None], widths.place] = own.forms[which]
            found.n_levels[part] = own.n_levels[which]
        return rest

    def _by_class(
        self, block: Any, part: NDArray[np.intp], widths: WidthTables, base: Array, step: Array
    ) -> tuple[ColumnSums, NDArray[np.intp]]:
        """Whole columns, rows by class; and where the features stand in the answer."""
        values, places, _ = block.rows(part, self._every)
        out = ColumnSums.empty(len(part), len(self.factors), len(self.columns) - 1)
        lo, hi = block.statistics.lo[part], block.statistics.hi[part]
        _grid_loops.sums_by_class(
            values, places, self._group, self._combine, lo, hi, base[part], step[part],
            *widths.for_loops, out.n_levels, out.sums, out.forms,
        )  # fmt: skip
        return out, np.arange(len(part))

    def _by_column(
        self, block: Any, part: NDArray[np.intp], widths: WidthTables, base: Array, step: Array
    ) -> tuple[ColumnSums, NDArray[np.intp]]:
        """Points with weights of their own."""
        statistics = block.statistics
        ragged, which, absent, *own = self._ragged(
            block, part, statistics.lo, statistics.hi, base, step
        )
        out = ColumnSums.empty(len(ragged.ptr) - 1, len(self.factors), len(self.columns) - 1)
        _grid_loops.sums_by_column(
            ragged.values, ragged.ptr, ragged.columns, ragged.shared, which, absent, *own,
            *widths.for_loops, out.n_levels, out.sums, out.forms,
        )  # fmt: skip
        out.n_levels[which] += absent[which, 0] > 0
        return out, which

    def _ragged(
        self, block: ColumnBlock, part: NDArray[np.intp], *per_feature: Array
    ) -> tuple[RaggedColumns, NDArray[np.intp], Array, *tuple[Array, ...]]:
        """Observed points, and the weights of the missing rows of each of their columns."""
        ragged, which = block.observed(part) if block.far else block.points(part)
        absent = np.zeros((len(ragged.ptr) - 1, len(self.columns)))
        if block.far:
            every, _ = block.points(part)
            more = np.flatnonzero(every.n_points > ragged.n_points)
            absent[more] = every.columns[:, every.ptr[more + 1] - 1].T
        return ragged, which, absent, *(block.per_point_block(v, part) for v in per_feature)

    # -- other kernels -----------------------------------------------------------------------------

    def _one_by_one(
        self, block: ColumnBlock, gammas: Array, part: NDArray[np.intp], found: ColumnSums
    ) -> None:
        ragged, which = block.points(part)
        origin, mean, _ = (block.per_point_block(v, part) for v in block.statistics.anchors)
        widths = block.per_point_block(gammas.T, part)
        sums_of = self._way()
        for place, f in zip(part.tolist(), which.tolist()):
            span = slice(ragged.ptr[f], ragged.ptr[f + 1])
            x = (ragged.values[span] - origin[f]) - mean[f]
            columns = ragged.columns if ragged.shared else ragged.columns[:, span]
            x, columns = _merged(x, columns)
            found.n_levels[place] = len(x)
            for w, gamma in enumerate(widths[f]):
                found.sums[place, w], found.forms[place, w] = sums_of(x, columns, float(gamma))

    def _way(self) -> Callable[[Array, Array, float], tuple[Array, Array]]:
        if self.code == codes.DELTA:
            return _delta_sums
        if not self.exact:
            if self.code == codes.POLYNOMIAL:
                return self._polynomial_sums
            if self.code == codes.LAPLACE:
                return _laplace_sums
        return self._pairwise_sums

    def _polynomial_sums(self, x: Array, columns: Array, gamma: float) -> tuple[Array, Array]:
        degree, coef0 = self.kernel.degree, self.kernel.coef0  # type: ignore[attr-defined]
        powers = np.arange(1, degree + 1)
        factors = np.array([math.comb(degree, k) * coef0 ** (degree - k) for k in powers])
        scaled = np.sqrt(gamma) * x
        return _mapped_sums(scaled[:, None] ** powers * np.sqrt(factors), columns)

    def _pairwise_sums(self, x: Array, columns: Array, gamma: float) -> tuple[Array, Array]:
        """By the matrix of ``-d``, which after centring is that of the kernel."""
        if len(x) > MOST_POINTS:
            self._refuse(len(x))
        K = distance_block(self.kernel, x, x, gamma)
        np.negative(K, out=K)
        if self.code == codes.POLYNOMIAL:
            largest = np.abs(kernel_diagonal(self.kernel, x, gamma)).max()
            K[np.abs(K) <= ROUNDING * largest] = 0.0
        weight = columns[0]
        n, mean = weight.sum(), K @ weight
        square, cubes, third = np.empty(len(x)), 0.0, 0.0
        height = max(1, BLOCK // len(x))
        for rows in (slice(start, start + height) for start in range(0, len(x), height)):
            part, own = K[rows], weight[rows]
            squares = part * part
            square[rows] = squares @ weight
            cubes += own @ (squares * part) @ weight
            third += np.sum(part * (own[:, None] * weight) * ((part * weight) @ K))
        forms = np.einsum("ki,ki->k", columns[1:] @ K, columns[1:])
        return _finished(
            weight, 0.0, mean / n, square, K @ (weight * mean) / n, cubes, third
        ), forms

    def _refuse(self, n_points: int) -> None:
        """Say which way leads on without the matrix of all pairs."""
        fast = self.code in (codes.RBF, codes.LAPLACE, codes.POLYNOMIAL)
        way = "use kernel='rbf'" if not fast else "give it a larger width"
        if fast and self.exact:
            way = "leave out method='exact'"
        raise DataError(
            f"A column has {n_points:,} different values, and what its alignment is by chance "
            "would take the matrix of all their pairs, which is possible for at most "
            f"{MOST_POINTS:,}; {way}."
        )


def _merged(x: Array, columns: Array) -> tuple[Array, Array]:
    """Different values in order, with the sums of their weights."""
    order = np.argsort(x, kind="stable")
    x = x[order]
    starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    return x[starts], np.add.reduceat(columns[:, order], starts, axis=1)


def _finished(
    weight: Array, own: float, mean: Array, square: Array, twice: Array, cubes: float, third: float
) -> Array:
    out = np.empty(len(SUMS))
    weight, mean, square, twice = (np.ascontiguousarray(v) for v in (weight, mean, square, twice))
    _null_loops.finished(
        weight, own, mean, square, twice, float(cubes), float(third), float(weight.sum()), out
    )
    return out


def _mapped_sums(features: Array, columns: Array) -> tuple[Array, Array]:
    """Sums of a kernel with few features of its own, ``features`` of shape (n_points, n)."""
    weight = columns[0]
    centred = features - weight @ features / weight.sum()
    # What is left of an even power of two values that differ in their sign is no difference.
    centred[:, np.abs(centred).max(axis=0) <= ROUNDING * np.abs(features).max(axis=0)] = 0.0
    return low_rank_sums(centred, weight), np.sum((columns[1:] @ centred) ** 2, axis=1)


def _delta_sums(x: Array, columns: Array, gamma: float) -> tuple[Array, Array]:
    """Different categories have nothing in common."""
    weight = columns[0]
    mean = weight / weight.sum()
    sums = _finished(weight, 1.0, mean, weight, weight * mean, weight @ weight, np.sum(weight**3))
    return sums, np.sum(columns[1:] ** 2, axis=1)


def _laplace_sums(x: Array, columns: Array, gamma: float) -> tuple[Array, Array]:
    """Sums of an exponential run along the sorted values."""
    weight = columns[0]
    n = weight.sum()

    def kernel_times(w: Array, power: int = 1) -> Array:
        out = np.empty(len(x))
        _null_loops.exponential_sums(x, w, power * gamma, out)
        return out

    mean = kernel_times(weight) / n
    forms = np.array([v @ kernel_times(v) for v in columns[1:]])
    sums = _finished(
        weight, 1.0, mean, kernel_times(weight, 2), kernel_times(weight * mean),
        weight @ kernel_times(weight, 3), _null_loops.exponential_triples(x, weight, 2 * gamma),
    )  # fmt: skip
    return sums, forms

"""Which algorithm contracts which column, and whether its answer is good enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpath.alignment import _narrow_loops, _point_loops
from kernelpath.alignment._fused import FusedPass
from kernelpath.alignment.accumulators import ChebyshevMoments
from kernelpath.alignment.columns import ROW_CHUNK, TILE_SIZE, ColumnBlock, DenseBlock
from kernelpath.alignment.expansions import (
    SHORTEST,
    chebyshev_table,
    exponential_sum,
    grid_index,
    grid_length,
    stack_tables,
    tolerance_key,
)
from kernelpath.alignment.own import own_pairwise
from kernelpath.kernels import (
    RBF,
    FeatureKernel,
    built_in_formula,
    codes,
    formula_code,
    formula_settings,
)
from kernelpath.tables.targets import Target

NONE, TWO_VALUED, PAIRWISE, CHEBYSHEV, FOURIER, SORTED = range(6)
FEW_ROWS = 32  # columns this short are cheapest pair by pair
FEW_POINTS = 64  # distinct values of a sparse column that are cheapest pair by pair
LONGEST_FOURIER = 400.0  # range / sigma above which sorting is cheaper
WINDOW_PAIRS = 60  # neighbours per point up to which summing a window beats the exponentials
FINEST_KEY = 32  # half decades of the finest Chebyshev tables
AGREEMENT = 0.1  # two evaluations must agree to this share of the tolerance


@dataclass(frozen=True)
class Widths:
    """Which columns are constant, and the width parameter of the others."""

    constant: NDArray[np.bool_]
    gamma: NDArray[np.float64]


class Contraction:
    """Contracts columns with one target under one kernel.

    Parameters
    ----------
    target : Target
    kernel : FeatureKernel
    method : {"auto", "fast", "exact"}
    tol : float
        Promised error: ``tol * max(alignment, 1)``.
    """

    def __init__(self, target: Target, kernel: FeatureKernel, method: str, tol: float) -> None:
        self.target = target
        self.kernel = kernel
        self.code = formula_code(kernel)
        self.method = method
        self.tol = tol
        self.columns = np.ascontiguousarray(target.columns.T)
        self.mass = target.absolute_mass
        self.total = target.total_weight
        self.grouped = target.group is not None
        # Kernel tolerance from which the bound of a feature without signal meets ``tol``.
        self._key = int(tolerance_key(np.array(tol / (2.4 * math.sqrt(self.total)))))
        if target.group is not None and target.codes is not None:
            self._combine = np.vstack([np.ones(len(target.codes)), target.codes.T])
            self._chunks = _class_sorted_chunks(target.group, len(target.codes), ROW_CHUNK)

    # -- one block -----------------------------------------------------------------------------

    def fused(self) -> FusedPass | None:
        """Return the pass that does all in one, if this target and kernel can use it."""
        usual = self.grouped and self.code == codes.RBF and self.method != "exact"
        usual = usual and type(self.kernel) is RBF  # a subclass may have another width
        n = self.target.n_samples
        if not usual or n <= FEW_ROWS or self.target.group is None:
            return None
        ((order, starts),) = _class_sorted_chunks(self.target.group, len(self._combine.T), n)
        return FusedPass(order, starts, self._combine, self.mass, self.tol, self._key)

    def align(
        self, block: ColumnBlock, widths: Widths, skip: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Alignments, error bounds and traces of the features of a block, but those to skip."""
        answers = np.zeros((3, len(widths.gamma)))
        if skip is not None and skip.all():
            return answers
        job = _Job(block, widths)
        plan = self._plan(job)
        if skip is not None:
            plan[skip] = NONE
        for algorithm in (TWO_VALUED, PAIRWISE, CHEBYSHEV, FOURIER, SORTED):
            which = np.flatnonzero(plan == algorithm)
            if len(which):
                answers[:, which] = self._certified(job, algorithm, which)
        return answers

    def _plan(self, job: _Job) -> NDArray[np.int64]:
        n_points = job.block.n_points
        plan = np.full(len(n_points), PAIRWISE)
        if self.code == codes.RBF and self.method != "exact":
            few = FEW_ROWS if self.method == "auto" else 2
            length = job.length
            # Short columns: the quadratic form of the moments costs more than the moments.
            longest = np.interp(n_points, [200, 2000], [14.0, 30.0])
            plan = np.where(length <= longest, CHEBYSHEV, FOURIER)
            plan[length > LONGEST_FOURIER] = SORTED
            if job.block.far:  # no expansion on the range holds all points
                plan[:] = SORTED
            plan[n_points <= (FEW_POINTS if job.block.merged else few)] = PAIRWISE
            if not job.block.merged:
                plan[job.block.statistics.two_valued] = TWO_VALUED
        plan[job.widths.constant | (n_points < 2)] = NONE
        return plan

    def _certified(self, job: _Job, algorithm: int, which: NDArray[np.intp]) -> NDArray[np.float64]:
        """Evaluate; where the bound fails, evaluate more finely; at last pair by pair."""
        answers = self._evaluate(job, algorithm, which, finer=False)
        values, bounds, _ = answers
        for finer in (True, False):
            allowed = self.tol * np.maximum(values, 1.0)
            redo = np.flatnonzero(~(bounds <= allowed))
            if len(redo) == 0:
                break
            again, bound, traces = self._evaluate(job, algorithm, which[redo], finer=finer)
            if finer:  # an independent second evaluation that agrees is evidence as well
                difference = np.abs(again - values[redo])
                agrees = difference <= AGREEMENT * self.tol * np.maximum(again, 1.0)
                # ... unless the finer evaluation was the same one.
                agrees &= bound < bounds[redo]
                bound = np.where(agrees, np.minimum(bound, self.tol), bound)
            answers[:, redo] = again, bound, traces
            algorithm = PAIRWISE
        return answers

    def _evaluate(
        self, job: _Job, algorithm: int, which: NDArray[np.intp], finer: bool
    ) -> NDArray[np.float64]:
        """Alignments, error bounds and traces."""
        if algorithm == CHEBYSHEV:
            forms = self._chebyshev(job, which, finer)
        else:
            forms = np.vstack(
                [self._points(job, algorithm, part, finer) for part in job.block.parts(which)]
            )
        answers = ratios(forms)
        if algorithm == TWO_VALUED:  # its forms leave out a common factor, the squared distance
            gap = job.block.statistics.hi[which] - job.block.statistics.lo[which]
            scaled = np.sqrt(job.widths.gamma[which]) * gap  # planned for RBF only
            answers[2] *= 2.0 * self.kernel.half_squared_distance(scaled, 0.0, 1.0)
        return answers

    # -- algorithms ---------------------------------------------------------------------------

    def _points(
        self, job: _Job, algorithm: int, features: NDArray[np.intp], finer: bool
    ) -> NDArray[np.float64]:
        """Run a column algorithm on some features of the job."""
        ragged, which = job.block.points(features)
        out = np.zeros((len(ragged.ptr) - 1, 3))
        args = (ragged.values, ragged.ptr, ragged.columns, ragged.shared, which)
        gamma, center, origin, mean, high = (
            job.block.per_point_block(values, features)
            for values in (job.widths.gamma, job.center, *job.block.statistics.anchors)
        )
        code, exact = self.code, self.method == "exact"
        known = built_in_formula(self.kernel)
        if known is None:
            own_pairwise(self.kernel, ragged, which, origin, mean, gamma, out)
        elif algorithm == TWO_VALUED:
            _point_loops.two_valued(*args, high, out)
        elif algorithm == FOURIER:
            reach = 8.8 if finer else min(math.sqrt(2 * math.log(100 * self.total / self.tol)), 8.6)
            sigma = np.sqrt(0.5 / gamma)
            _narrow_loops.fourier(*args, center, sigma, reach, self.mass, out)
        elif algorithm == SORTED:
            sums = exponential_sum(28 if finer else 24)
            _narrow_loops.gaussian_sorted(
                *args, np.sqrt(0.5 / gamma), sums.rates, sums.factors, sums.error, self.mass,
                WINDOW_PAIRS, out,
            )  # fmt: skip
        elif code == codes.LAPLACE and not exact:
            _point_loops.laplace_sorted(*args, gamma, out)
        elif code == codes.DELTA and not exact:
            _point_loops.delta_sorted(*args, out)
        elif code == codes.POLYNOMIAL and not exact:
            degree, coef0 = self.kernel.degree, self.kernel.coef0  # type: ignore[attr-defined]
            _point_loops.powers(*args, origin, mean, gamma, degree, coef0, out)
        else:
            settings = formula_settings(self.kernel)
            _point_loops.pairwise(known)(*args, origin, mean, gamma, settings, out)
        return out[which]

    def _chebyshev(self, job: _Job, which: NDArray[np.intp], finer: bool) -> NDArray[np.float64]:
        """Chebyshev moments of some features, in tiles that stay in cache."""
        index = grid_index(job.length[which])
        key = FINEST_KEY if finer else self._key
        distinct, table = np.unique(index, return_inverse=True)
        stack = stack_tables([chebyshev_table(int(i), key) for i in distinct])
        center = job.center[which]
        # Widen the interval to the grid length: u = 1 at length / grid length of the half range.
        length = np.maximum(job.length[which], SHORTEST)
        scale = length / (grid_length(index) * job.half_range[which])
        by_class = self.grouped and isinstance(job.block, DenseBlock)
        combine = self._combine if by_class else np.eye(len(self.columns))
        width = self._tile_width(job.block, len(which))
        forms = np.empty((len(which), 3))
        for start in range(0, len(which), width):
            part = slice(start, min(start + width, len(which)))
            moments = ChebyshevMoments(
                center[part], scale[part], table[part], stack, len(combine.T)
            )
            self._add_rows(moments, job.block, which[part])
            forms[part] = moments.finish(combine, self.mass, self.total)
        return forms

    def _tile_width(self, block: ColumnBlock, n_features: int) -> int:
        """Features at a time: as many as fit into cache, all where nothing is copied."""
        if not (self.grouped and isinstance(block, DenseBlock)):
            return max(4, TILE_SIZE // self.target.n_samples)
        if block.in_place:
            return n_features
        return max(4, TILE_SIZE // min(ROW_CHUNK, self.target.n_samples))

    def _add_rows(
        self, moments: ChebyshevMoments, block: ColumnBlock, which: NDArray[np.intp]
    ) -> None:
        """Second pass over the rows of a tile, per class where rows weigh the same."""
        if self.grouped and isinstance(block, DenseBlock):
            for order, starts in self._chunks:
                moments.add_groups(*block.rows(which, order), starts)
        else:
            ragged, chosen = block.points(which)
            ragged = ragged.take(chosen)
            moments.add_columns(ragged.values, ragged.ptr, ragged.columns, ragged.shared)

    def median_scale(self, block: ColumnBlock, wanted: NDArray[np.intp]) -> NDArray[np.float64]:
        """Median distance between rows, of the wanted columns of a block."""
        weights = self.columns[0]
        # Whole numbers are counts; other weights are taken relative to the smallest.
        unit = 1.0 if np.all(weights == np.floor(weights)) else float(weights.min())
        scales = [np.zeros(0)]
        for part in block.parts(wanted):
            ragged, which = block.observed(part)
            out = np.zeros(len(ragged.ptr) - 1)
            _point_loops.median_distance(
                ragged.values, ragged.ptr, ragged.columns[0], ragged.shared, which, unit, out
            )
            scales.append(out[which])
        return np.concatenate(scales)


def ratios(forms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Alignments, bounds and traces from numerator, trace and bound."""
    numerator, trace, bound = forms.T
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(trace > 0, np.maximum(numerator, 0.0) / trace, 0.0)
    bounds = np.where(trace > 0, bound, np.where(numerator == 0, 0.0, np.inf))
    return np.stack([values, bounds, np.maximum(trace, 0.0)])


@dataclass(frozen=True)
class _Job:
    """A block with the widths of its columns."""

    block: ColumnBlock
    widths: Widths

    @property
    def center(self) -> NDArray[np.float64]:
        """Middle of the range of each column."""
        statistics = self.block.statistics
        return 0.5 * statistics.lo + 0.5 * statistics.hi

    @property
    def half_range(self) -> NDArray[np.float64]:
        """Largest distance of a value from the middle; rounding makes the middle uneven."""
        statistics = self.block.statistics
        center = self.center
        return np.maximum(statistics.hi - center, center - statistics.lo)

    @property
    def length(self) -> NDArray[np.float64]:
        """Range of each column in units of its kernel width."""
        with np.errstate(under="ignore"):
            return 2.0 * self.half_range * np.sqrt(2.0 * self.widths.gamma)


def _class_sorted_chunks(
    group: NDArray[np.intp], n_groups: int, chunk: int
) -> list[tuple[NDArray[np.intp], NDArray[np.int64]]]:
    """Rows of each chunk sorted by class, and where the classes start."""
    chunks = []
    for start in range(0, len(group), chunk):
        part = group[start : start + chunk]
        order = np.argsort(part, kind="stable") + start
        counts = np.bincount(part, minlength=n_groups)
        chunks.append((order, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)))
    return chunks

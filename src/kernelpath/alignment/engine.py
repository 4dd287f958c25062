"""Alignments of all features of a table: plan, tiles, threads, and a second look where needed.

A block of neighbouring features is one job.  Jobs write to their own slice of the result and
share nothing else, so the result is the same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from kernelpath.alignment.accumulators import ColumnStatistics
from kernelpath.alignment.columns import ColumnBlock, TableColumns
from kernelpath.alignment.contraction import Contraction, Widths, ratios
from kernelpath.kernels.feature import FeatureKernel
from kernelpath.tables.targets import Target

Progress = Callable[[int, int], None]
SMALLEST_RANGE, LARGEST_VALUE = 1e-140, 1e140


class NonFiniteColumns(ValueError):
    """Some columns hold NaN, infinity or numbers whose squares are out of reach."""

    def __init__(self, columns: NDArray[np.intp]) -> None:
        super().__init__(f"{len(columns)} columns hold NaN, inf, or numbers too large or small")
        self.columns = columns


@dataclass(frozen=True)
class AlignmentResult:
    """Alignments with the bound on their error, and the columns that carry no information.

    ``traces`` holds the denominators ``sum_i w_i (H K H)_ii`` (0 for constant columns) and
    ``center`` the weighted means of the columns.
    """

    values: NDArray[np.float64]
    bounds: NDArray[np.float64]
    constant: NDArray[np.bool_]
    gamma: NDArray[np.float64]
    traces: NDArray[np.float64]
    center: NDArray[np.float64]

    @classmethod
    def empty(cls, n_features: int) -> AlignmentResult:
        """Zeros, to be filled part by part."""
        values, bounds, gamma, traces, center = np.zeros((5, n_features))
        return cls(values, bounds, np.zeros(n_features, dtype=bool), gamma, traces, center)


def compute(
    source: TableColumns,
    target: Target,
    kernel: FeatureKernel,
    *,
    bandwidth: str,
    gamma: NDArray[np.float64] | None,
    method: str,
    tol: float,
    n_jobs: int | None,
    each_width: NDArray[np.float64] | None = None,
    progress: Progress | None = None,
) -> AlignmentResult:
    """Alignment of every feature of ``source`` with ``target``.

    ``each_width`` is the width of each feature in units of its scale, if it is not 1 for all.
    """
    contractor = Contraction(target, kernel, method, tol)
    result = AlignmentResult.empty(source.n_features)
    in_place = source.feature_major
    usual = bandwidth == "std" and gamma is None and each_width is None
    fused = contractor.fused() if usual else None

    def work(features: slice, block: ColumnBlock, first: Any) -> None:
        given = None if gamma is None else gamma[features]
        factor = 1.0 if each_width is None else each_width[features]
        widths = _widths(block, contractor, bandwidth, given, factor)
        done = None if first is None else first[1]
        answers = contractor.align(block, widths, done)
        if first is not None:
            answers[:, done] = ratios(first[0][done])
        result.values[features], result.bounds[features], result.traces[features] = answers
        result.constant[features] = widths.constant
        result.gamma[features] = widths.gamma
        result.center[features] = block.statistics.mean

    def opened(features: slice) -> tuple[ColumnBlock, Any]:
        if fused is None or in_place is None:
            return source.open(features, contractor.columns), None
        statistics, forms, done = fused.run(in_place, features)
        return source.open(features, contractor.columns, statistics), (forms, done)

    over_columns(work, opened, source, n_jobs, progress)
    return result


def over_columns(
    work: Callable[[slice, ColumnBlock, Any], None],
    opened: Callable[[slice], tuple[ColumnBlock, Any]],
    source: TableColumns,
    n_jobs: int | None,
    progress: Progress | None,
) -> None:
    """Work through all slices of a table; NonFiniteColumns if some columns hold no numbers.

    ``opened`` gives the block of a slice, and what else ``work`` takes.
    """
    bad = np.zeros(source.n_features, dtype=bool)

    def one(features: slice) -> int:
        with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinity are found and said
            block, more = opened(features)
            bad[features] = _unusable(block.statistics)
            if not bad.any():  # else only look for further bad columns
                work(features, block, more)
        return features.stop - features.start

    _run(one, list(source.slices()), effective_n_jobs(n_jobs), source.n_features, progress)
    if bad.any():
        raise NonFiniteColumns(np.flatnonzero(bad))


def _run(
    work: Callable[[slice], int],
    slices: list[slice],
    n_threads: int,
    n_features: int,
    progress: Progress | None,
) -> None:
    """Work through the slices, in threads if there are several, and report after each."""
    done = 0
    if n_threads == 1 or len(slices) == 1:
        for features in slices:
            done += work(features)
            if progress is not None:
                progress(done, n_features)
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        for count in pool.map(work, slices):
            done += count
            if progress is not None:
                progress(done, n_features)
    finally:
        # After an error or an interrupt the tasks not yet begun are dropped.
        pool.shutdown(wait=True, cancel_futures=True)


def _unusable(statistics: ColumnStatistics) -> NDArray[np.bool_]:
    """Columns with NaN, infinity or numbers whose squares are out of reach."""
    lo, hi = statistics.lo, statistics.hi
    with np.errstate(invalid="ignore", over="ignore"):
        large = np.maximum(np.abs(lo), np.abs(hi)) > LARGEST_VALUE
        small = (lo < hi) & (hi - lo < SMALLEST_RANGE)
    return ~statistics.finite | large | small


def _widths(
    block: ColumnBlock,
    contractor: Contraction,
    bandwidth: str,
    gamma: NDArray[np.float64] | None,
    factor: NDArray[np.float64] | float,
) -> Widths:
    """Width parameter of each column, and which columns are constant."""
    if gamma is not None:
        return Widths(_constant(block.statistics), gamma)
    constant, scale = column_scales(block, contractor, bandwidth)
    return Widths(constant, contractor.kernel.gamma(factor * scale))


def _constant(statistics: ColumnStatistics) -> NDArray[np.bool_]:
    return statistics.hi - statistics.lo < SMALLEST_RANGE


def column_scales(
    block: ColumnBlock, contractor: Contraction, bandwidth: str
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which columns are constant, and the scale of the others that widths are made of."""
    statistics = block.statistics
    constant = _constant(statistics)
    scale = np.where(constant, 1.0, statistics.std)
    if bandwidth == "median" and not contractor.kernel.scale_free:
        wanted = np.flatnonzero(~constant)
        median = contractor.median_scale(block, wanted)
        # More than half of the pairs may be equal (sparse counts): the spread serves then.
        scale[wanted] = np.where(median > 0, median, scale[wanted])
    return constant, scale

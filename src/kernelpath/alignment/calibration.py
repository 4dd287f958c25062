r"""Alignments held against chance: standardised statistics and p-values, at one width or several.

A column gets a p-value at each of its widths, by Pearson's type III law with the exact mean,
variance and skewness of its statistic over all permutations of the target; columns of two values
and a target of two classes get the exact hypergeometric probability.  The Cauchy rule makes one
p-value of several.  The score of a column is :math:`-\ln p`, which is near 1 without relation to
the target, as the alignment itself is, and comparable between columns of any shape, kernel and
width.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpath.alignment.columns import ColumnBlock, TableColumns
from kernelpath.alignment.contraction import Contraction
from kernelpath.alignment.engine import (
    AlignmentResult,
    Progress,
    column_scales,
    over_columns,
)
from kernelpath.alignment.family import LeastByChance, Tested, account
from kernelpath.alignment.null_moments import (
    NullMoments,
    cancelled,
    permutation_moments,
    target_sums,
    whitening,
)
from kernelpath.alignment.null_sums import ColumnSums, NullContraction
from kernelpath.alignment.tails import cauchy_combination, log_hypergeometric, log_pearson_tail
from kernelpath.kernels import FeatureKernel, codes, formula_code
from kernelpath.tables.targets import Target

Array = NDArray[np.float64]
GRID_ERROR = 5e-5
"""What an alignment found on a grid may be off, in units of itself or 1."""

ALIKE = 1e-3  # share of the largest trace
JUDGED = 8192  # columns at a time


@dataclass(frozen=True)
class CalibratedResult(AlignmentResult):
    """Alignments at the width of each feature, and what they are by chance.

    Attributes
    ----------
    log_p : ndarray of shape (n_features,)
        Of all widths together; 0 for constant columns.
    z : ndarray of shape (n_features,)
        Standardised statistic at the width of the feature; NaN where no permutation of the target
        changes it, as in constant columns, which are not tested.
    width : ndarray of shape (n_features,)
        The width with the least p-value, in units of the scale; NaN for kernels without a width.
    log_p_by_width : ndarray of shape (n_features, n_widths)
        NaN where a kernel has one width only.
    """

    log_p: Array
    z: Array
    width: Array
    log_p_by_width: Array

    @classmethod
    def empty(cls, n_features: int, n_widths: int = 1) -> CalibratedResult:
        """Zeros, to be filled part by part."""
        values, bounds, gamma, traces, center, log_p, z = np.zeros((7, n_features))
        constant, width = np.zeros(n_features, dtype=bool), np.full(n_features, np.nan)
        by_width = np.full((n_features, n_widths), np.nan)
        return cls(values, bounds, constant, gamma, traces, center, log_p, z, width, by_width)

    @property
    def scores(self) -> Array:
        """``-ln p``: what features are ranked by."""
        return -self.log_p


def repeated(target: Target) -> Target:
    """The target with weights that count rows: whole numbers do, others as the rows they are worth.

    ``n`` rows with weights ``w`` are worth ``(sum w)^2 / sum w^2`` rows.
    """
    weight = target.columns[:, 0]
    if np.all(weight == np.floor(weight)):
        return target
    factor = weight.sum() / (weight @ weight)
    return replace(target, columns=target.columns * factor)


def calibrate(
    source: TableColumns,
    target: Target,
    kernel: FeatureKernel,
    *,
    bandwidth: str,
    factors: tuple[float, ...],
    gamma: NDArray[np.float64] | None,
    method: str,
    n_jobs: int | None,
    progress: Progress | None = None,
    by_chance: LeastByChance | None = None,
) -> CalibratedResult:
    """Statistics and p-values of every feature, at widths of ``factors`` times its scale.

    ``by_chance`` learns how small the least p-value is in permutations of the target.
    """
    target = repeated(target)
    own = factors if several_widths(kernel) else (1.0,)
    contraction = NullContraction(target, kernel, own, exact=method == "exact")
    scales = Contraction(target, kernel, "exact", 1e-8)  # which knows the median distance
    null = _Null(target)
    result = CalibratedResult.empty(source.n_features, len(factors))
    whole = ColumnSums.empty(source.n_features, len(own), len(contraction.columns) - 1)
    widths = np.empty((source.n_features, len(own)))
    blurred = np.zeros(source.n_features, dtype=bool)

    def work(features: slice, block: ColumnBlock, _: None) -> None:
        constant, scale = column_scales(block, scales, bandwidth)
        gammas = np.stack([kernel.gamma(f * scale) for f in own])
        if gamma is not None:
            gammas[:] = gamma[features]
        found = contraction.run(block, gammas, constant)
        blurred[features] = null.blurred(found) & ~constant
        contraction.refine(block, gammas, blurred[features], found)
        whole.take(features, found)
        widths[features] = gammas.T
        result.constant[features] = constant
        result.center[features] = block.statistics.mean

    def opened(features: slice) -> tuple[ColumnBlock, None]:
        return source.open(features, contraction.columns), None

    over_columns(work, opened, source, n_jobs, progress)
    for start in range(0, source.n_features, JUDGED):  # of a few columns it would take as long
        null.judge(whole, result, slice(start, start + JUDGED))
    best = result.log_p_by_width[:, : len(own)].argmin(axis=1)
    result.gamma[:] = widths[np.arange(len(best)), best]
    if len(own) > 1 or not kernel.scale_free:
        result.width[:] = np.where(result.constant, np.nan, np.asarray(own)[best])
    if formula_code(kernel) == codes.RBF and method != "exact":
        result.bounds[:] = GRID_ERROR * np.maximum(result.values, 1.0)
    if by_chance is not None:
        tested = Tested(whole, widths, result.constant, blurred)
        account(by_chance, source, contraction, null, tested, n_jobs)
    return result


def several_widths(kernel: FeatureKernel) -> bool:
    """Whether a kernel has a width of which several make sense: categories and powers have none."""
    return not kernel.scale_free and formula_code(kernel) != codes.POLYNOMIAL


def log_tails(z: Array, skewness: Array, wanted: NDArray[np.bool_]) -> Array:
    """Logarithms of the p-values of some columns; 0 for the others."""
    out = np.zeros(z.shape)
    out[wanted] = log_pearson_tail(z[wanted], skewness[wanted])
    return out


class _Null:
    """What chance makes of one target."""

    def __init__(self, target: Target) -> None:
        self.n = target.total_weight
        self.factors = whitening(target)
        self.sums = target_sums(target, self.factors)
        weight = target.columns[:, 0]
        two = (
            target.classes is not None and len(target.classes) == 2 and target.columns.shape[1] == 2
        )
        whole = bool(np.all(weight == np.floor(weight)))
        self.positive = float(weight[target.columns[:, 1] > 0].sum()) if two and whole else None
        if self.positive is not None:
            v = target.columns[:, 1] / weight
            self.gap = float(v.max() - v.min())  # of the codes of the two classes

    def blurred(self, found: ColumnSums) -> NDArray[np.bool_]:
        """Columns whose sums need more digits than a grid gives, at any width.

        So they do where a variance is a small difference, or a kernel so wide that all rows are
        nearly alike.
        """
        alike = found.sums[..., 0] < ALIKE * self.n
        return np.any(alike | cancelled(self.n, found.sums, self.sums), axis=1)

    def moments(self, found: ColumnSums) -> NullMoments:
        """Of each feature at each width."""
        return permutation_moments(self.n, found.sums, self.sums, found.negligible[:, None])

    def p_values(self, found: ColumnSums, constant: NDArray[np.bool_]) -> Array:
        """Logarithms of p-values of all widths together."""
        log_p, _, untested = self._by_width(found, constant)
        return _combined(log_p, untested)

    def judge(self, whole: ColumnSums, result: CalibratedResult, features: slice) -> None:
        """Write down what the sums of some columns say."""
        found = whole.of(features)
        log_p, z, untested = self._by_width(found, result.constant[features])
        result.log_p_by_width[features, : log_p.shape[1]] = log_p
        result.log_p[features] = _combined(log_p, untested)
        best, row = log_p.argmin(axis=1), np.arange(len(log_p))
        trace = found.sums[row, best, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = found.forms[row, best].sum(axis=1) / trace
        result.values[features] = np.where(trace > 0, np.maximum(values, 0.0), 0.0)
        result.z[features] = np.where(untested, np.nan, z[row, best])
        result.traces[features] = trace

    def _by_width(
        self, found: ColumnSums, constant: NDArray[np.bool_]
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """P-values and statistics at each width, and which columns are not tested."""
        moments = self.moments(found)
        z = moments.standardised(found.forms @ self.factors**2)
        two = np.zeros(len(z), dtype=bool)
        if self.positive is not None:
            two = (found.n_levels == 2) & ~constant & (found.sums[:, 0, 0] > 0)
        log_p = log_tails(z, moments.skewness, ~two)
        fixed = moments.variance <= 0  # no permutation changes it
        log_p[fixed] = 0.0
        untested = constant | (fixed.all(axis=1) & ~two)
        self._two_valued(found, np.flatnonzero(two), log_p)
        log_p[untested] = 0.0
        return log_p, z, untested

    def _two_valued(self, found: ColumnSums, two: NDArray[np.intp], log_p: Array) -> None:
        """The exact probability, for the columns of two values and a target of two classes."""
        if len(two) == 0:
            return
        assert self.positive is not None
        # The matrix is c z z' with the centred indicator z of one value: sum z^2 = n u.
        T, squares = found.sums[two, 0, 0], found.sums[two, 0, 3]
        u = 1.0 / (self.n * squares / T**2 + 3.0)
        chosen = np.round(self.n * (0.5 - np.sqrt(np.maximum(0.25 - u, 0.0))))
        share = chosen / self.n
        form = found.forms[two, 0, 0] / T * self.n * share * (1.0 - share)
        gap = np.sqrt(np.maximum(form, 0.0)) / self.gap
        log_p[two] = log_hypergeometric(self.n, self.positive, chosen, gap)[:, None]


def _combined(log_p: Array, untested: NDArray[np.bool_]) -> Array:
    """One p-value of all widths."""
    one = cauchy_combination(log_p) if log_p.shape[1] > 1 else log_p[:, 0]
    return np.where(untested, 0.0, one)

"""What lp-KTA ranks by, and at which widths, where the settings leave it open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.alignment.calibration import CalibratedResult
from kernelpath.alignment.engine import AlignmentResult
from kernelpath.alignment.null_moments import FEWEST_ROWS
from kernelpath.kernels import KERNELS, FeatureKernel, codes, formula_code
from kernelpath.tables.targets import check_sample_weight
from kernelpath.utils.checks import is_number

if TYPE_CHECKING:
    from kernelpath.estimators.lp_kta import LpKTASelector

AUTO = "auto"
ALIGNMENT, CALIBRATED = "alignment", "calibrated"
STATISTICS = (AUTO, ALIGNMENT, CALIBRATED)
ONE_WIDTH, SEVERAL = "std", "multi"
TOL = 1e-8  # of the alignments, where nothing else is asked for


class Ranking(NamedTuple):
    """A statistic, and the ``bandwidth`` that it is computed at."""

    statistic: str
    bandwidth: Any

    @property
    def calibrated(self) -> bool:
        """Whether features are ranked by p-values."""
        return self.statistic == CALIBRATED

    @property
    def tested(self) -> bool:
        """Whether every feature gets a p-value."""
        return self.calibrated or not _one_width(self.bandwidth)

    def scores(self, result: AlignmentResult) -> NDArray[np.float64]:
        """What stands for the alignments in the problem of the path."""
        if self.calibrated and isinstance(result, CalibratedResult):
            return result.scores
        return result.values

    def as_dict(self) -> dict[str, Any]:
        """Names and values as JSON holds them."""
        own = self.bandwidth
        return {"statistic": self.statistic, "bandwidth": own if isinstance(own, str) else str(own)}


def ranking_of(
    own: LpKTASelector, n_rows: int | None = None, sample_weight: ArrayLike | None = None
) -> Ranking:
    """What the settings come to for so many rows; without a number, for enough of them.

    P-values stand where nothing speaks against them.  They cannot be with fewer than 8 rows, and
    weights that are no whole numbers count no rows; strengths, a reference, an accuracy, one width
    or a formula of the user's own that were given speak of the alignment.

    Examples
    --------
    >>> import kernelpath as kp
    >>> ranking_of(kp.LpKTASelector())
    Ranking(statistic='calibrated', bandwidth='multi')
    >>> ranking_of(kp.LpKTASelector(norm_strength=0.1))
    Ranking(statistic='alignment', bandwidth='std')
    >>> ranking_of(kp.LpKTASelector(), n_rows=7)
    Ranking(statistic='alignment', bandwidth='std')
    """
    statistic = own.statistic
    if _is(statistic, AUTO):
        if _is(own.n_features_to_select, "fdr"):  # which counts p-values
            statistic = CALIBRATED
        elif _speaks_of_alignment(own):
            statistic = ALIGNMENT
        else:
            named = not _is(own.bandwidth, AUTO)  # several widths need p-values in any case
            possible = named or _enough_rows(n_rows, sample_weight)
            statistic = CALIBRATED if possible else ALIGNMENT
    return _with_widths(own, statistic)


def ranking_without_p_values(own: LpKTASelector) -> Ranking:
    """What the settings come to where no p-value says anything."""
    free = _is(own.statistic, AUTO) and not _is(own.n_features_to_select, "fdr")
    return _with_widths(own, ALIGNMENT) if free else ranking_of(own)


def _with_widths(own: LpKTASelector, statistic: str) -> Ranking:
    bandwidth = own.bandwidth
    if _is(bandwidth, AUTO):
        several = statistic == CALIBRATED and own.gamma is None
        bandwidth = SEVERAL if several else ONE_WIDTH
    return Ranking(statistic, bandwidth)


def widths_given(own: LpKTASelector) -> bool:
    """Whether no width is found for any column: all have one that was given, or the kernel none."""
    return own.gamma is not None or without_width(own)


def without_width(own: LpKTASelector) -> bool:
    """Whether the kernel of the settings has no width."""
    kernel = own.kernel
    if isinstance(kernel, str):
        return kernel in KERNELS and KERNELS[kernel].scale_free
    return getattr(kernel, "scale_free", False) and formula_code(kernel) != codes.OWN


def _is(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def _one_width(bandwidth: Any) -> bool:
    """Whether widths are left to no choice: those of a tuple are, even if it holds one."""
    return _is(bandwidth, ONE_WIDTH) or _is(bandwidth, "median")


def _own_formula(kernel: Any) -> bool:
    return isinstance(kernel, FeatureKernel) and formula_code(kernel) == codes.OWN


def _speaks_of_alignment(own: LpKTASelector) -> bool:
    """Whether something was set that is measured by the alignment, or its one width."""
    strengths = (own.bregman_strength, own.norm_strength)
    return (
        not all(_is(value, AUTO) for value in strengths)
        or own.reference is not None
        or not (is_number(own.tol) and float(own.tol) == TOL)
        or own.gamma is not None
        or _own_formula(own.kernel)  # of which nobody knows whether it has a width
        or _one_width(own.bandwidth)
    )


def _enough_rows(n_rows: int | None, sample_weight: ArrayLike | None) -> bool:
    """Whether the rows are so many, or weigh whole numbers that stand for so many."""
    if sample_weight is not None and n_rows is not None:
        weight = check_sample_weight(sample_weight, n_rows)
        return bool(np.all(weight == np.floor(weight)) and weight.sum() >= FEWEST_ROWS)
    return n_rows is None or n_rows >= FEWEST_ROWS

r"""Is a feature related to the target at all?  A p-value for each column, without a permutation.

The null hypothesis of a feature is that this column *alone* says nothing about the target: rows of
the target could be exchanged.  It is not a statement beside the other columns, so that a copy of a
relevant column, or a follower of it, counts as a discovery, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from kernelpath.alignment.api import align_table
from kernelpath.alignment.calibration import CalibratedResult
from kernelpath.alignment.family import LeastByChance
from kernelpath.errors import ConstantColumnWarning, DataError, not_one_of
from kernelpath.kernels.feature import FeatureKernel
from kernelpath.path.significance import AlignmentTest
from kernelpath.tables import IDENTIFIERS
from kernelpath.tables.reading import say_how_it_was_read
from kernelpath.tables.table import Table, as_column_table, take_columns
from kernelpath.utils import checks
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.warn import warn

Array = NDArray[np.float64]
NEAR = 10.0  # times the threshold, within which p-values are refined
EXCEEDANCES = 20  # after which a permutation p-value is known well enough


def alignment_test(
    X: Any,
    y: ArrayLike,
    *,
    kernel: str | FeatureKernel = "auto",
    bandwidth: str | Sequence[float] = "multi",
    gamma: ArrayLike | None = None,
    method: str = "auto",
    n_jobs: int | None = None,
    task: str = "auto",
    permutations: int = 0,
    family_permutations: int = 0,
    level: float = 0.1,
    random_state: Any = None,
    progress: Callable[[int, int], None] | None = None,
    sample_weight: None = None,
    identifiers: str = "drop",
) -> AlignmentTest:
    r"""Test every feature for a relation to the target, linear or not.

    The statistic is the alignment :math:`\operatorname{tr}(Y^\top H K_i H Y)` of each feature, held
    against its exact mean, variance and skewness over all permutations of the target (Pearson's
    type III law); a column of two values and a target of two classes have the exact hypergeometric
    probability.  With several widths the Cauchy rule combines their p-values, so that the choice of
    the width is paid for.  With more than two classes every class counts alike, however rare.

    Parameters
    ----------
    X, y, kernel, gamma, n_jobs, task
        As in :func:`kernelpath.alignments`; missing values are a category of their own.
    bandwidth : {"multi", "std", "median"} or tuple of float
        ``"multi"``, the default, is ``(1, 0.5, 0.25)`` standard deviations: wide kernels for slow
        effects, narrow ones for waves and bumps.
    method : {"auto", "exact"}
        ``"exact"`` takes the matrix of all pairs of values of each column.
    permutations : int
        Most permutations by which the p-values within a factor 10 of the threshold of ``level`` are
        made exact (Besag and Clifford: until 20 reach the statistic).  0: none.
    level : float
        False discovery rate whose threshold is meant.
    family_permutations : int
        Permutations of the target for all features together, of which each gives the least p-value
        by chance; then ``discoveries(0.05, "max")`` are features at a family-wise error rate. 1,000
        are enough for 0.05.  Null moments stay as they are and only statistics are summed again, so
        that a permutation takes about a fifth of the time of the test.  0: none.
    random_state : int, RandomState or None
        For permutations of either kind.
    sample_weight : None
        Refused: rows of different weight cannot be exchanged.
    identifiers : {"drop", "keep"}
        Whether columns of a dataframe that name its rows (text with a value of its own in most
        rows, row numbers, whole numbers called an id) are left out, with a warning: they are not
        tested, and p-values of the others are not adjusted for them.

    Returns
    -------
    AlignmentTest

    Notes
    -----
    Over null columns of ten shapes and 40 to 2,000 rows, p-values below 0.001 are 0.9 to 1.2 times
    as frequent as they should be, for a single shape up to 1.6 times, and those below 0.0001 up to
    1.7 times (benchmarks/significance.py).

    References
    ----------
    .. [kaziaoual1995] Kazi-Aoual, Hitier, Sabatier, Lebreton. Refined approximations to permutation
       tests for multivariate inference. Computational Statistics and Data Analysis 20, 1995.
    .. [liu2020] Liu, Xie. Cauchy combination test. JASA 115, 2020.
    .. [westfall1993] Westfall, Young. Resampling-Based Multiple Testing. Wiley, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 5))
    >>> y = np.sin(4 * X[:, 2]) + 0.5 * rng.normal(size=400) > 0       # a wave
    >>> test = kp.alignment_test(X, y)
    >>> test.discoveries(0.05).tolist(), float(test.width[2])
    ([2], 0.25)
    >>> test = kp.alignment_test(X, y, family_permutations=200, random_state=0)
    >>> test.discoveries(0.05, "max").tolist()
    [2]
    """
    if sample_weight is not None:
        raise DataError(
            "A test takes no sample_weight: rows of different weight cannot be exchanged. Leave it "
            "out, or repeat rows that stand for several."
        )
    if method not in ("auto", "exact"):
        raise not_one_of("method", method, ("auto", "exact"))
    checks.real("level", level, above=0, below=1)
    checks.whole("permutations", permutations, at_least=0)
    checks.whole("family_permutations", family_permutations, at_least=0)
    if permutations and family_permutations:
        raise ValueError(
            "permutations= makes single p-values exact and family_permutations= compares those of "
            "the formula with the best by chance; give only one of the two"
        )
    checks.one_of("identifiers", identifiers, IDENTIFIERS)
    table = X if isinstance(X, Table) else _read(X, identifiers)
    options: dict[str, Any] = {
        "kernel": kernel, "bandwidth": bandwidth, "gamma": gamma, "method": method,
        "n_jobs": n_jobs, "task": task, "calibrated": True,
    }  # fmt: skip
    by_chance = None
    if family_permutations:
        seed = int(check_random_state(random_state).randint(2**31))
        by_chance = LeastByChance(family_permutations, seed)
    with progress_bar():
        tell = progress or begin("alignments")
        result, _ = align_table(table, y, progress=tell, by_chance=by_chance, **options)
        assert isinstance(result, CalibratedResult)
        if result.constant.all():
            what = " or name rows" if len(table.identifiers) else ""
            raise DataError(f"All columns are constant{what}; there is nothing to test.")
        _report_untested(table, result)
        least = None if by_chance is None else by_chance.log_p
        test = AlignmentTest.of(result, table.names, least)
        if permutations:
            log_p = _refined(table, np.asarray(y), test, level, permutations, random_state, options)
            test = AlignmentTest.of(replace(result, log_p=log_p), table.names)
    return test


def _read(X: Any, identifiers: str) -> Table:
    """Columns to test; what was made of those that are no numbers is said, as by selectors."""
    table = as_column_table(X)
    if identifiers == "drop":
        table = table.without_identifiers()
    say_how_it_was_read(table)
    return table


def _report_untested(table: Table, result: CalibratedResult) -> None:
    """Name columns that say nothing, or nothing that a permutation of the target would change."""
    constant = np.isnan(result.z) & result.constant
    constant[table.identifiers] = False
    if constant.any():
        subject = table.sentence(np.flatnonzero(constant), "is", "are")
        warn(f"{subject} constant, and not tested.", ConstantColumnWarning)
    same = np.flatnonzero(np.isnan(result.z) & ~result.constant)
    if len(same):
        subject = table.sentence(same, "is", "are")
        warn(
            f"{subject} not tested: no permutation of the target changes the statistic by more "
            "than rounding, as where each value occurs once.",
            ConstantColumnWarning,
        )


def _refined(
    table: Table,
    y: NDArray,
    test: AlignmentTest,
    level: float,
    most: int,
    random_state: Any,
    options: dict[str, Any],
) -> Array:
    """P-values near the threshold by permutations, one after the other until they are known."""
    found = test.discoveries(level)
    n_tested = np.count_nonzero(~np.isnan(test.z))
    threshold = np.log(level * max(len(found), 1) / n_tested)
    enough = most * np.exp(threshold) >= EXCEEDANCES
    if not enough:
        warn(
            f"permutations={most} is too few to decide at the threshold, p = "
            f"{np.exp(threshold):.2g}: p-values that they do not settle stay as they are; "
            f"{EXCEEDANCES / np.exp(threshold):,.0f} would do.",
        )
    open_ones = np.flatnonzero(np.abs(test.log_p - threshold) < np.log(NEAR))
    log_p, rng = test.log_p.copy(), check_random_state(random_state)
    reached, made = np.zeros(len(log_p)), 0
    gamma = options["gamma"]
    update = begin("permutations")
    while len(open_ones) and made < most:
        part = table.of_columns(open_ones, take_columns(table.values, open_ones))
        own = gamma if gamma is None or np.ndim(gamma) == 0 else np.asarray(gamma)[open_ones]
        again, _ = align_table(part, rng.permutation(y), **options | {"gamma": own})
        assert isinstance(again, CalibratedResult)
        made += 1
        reached[open_ones] += again.log_p <= test.log_p[open_ones] + 1e-9
        done = open_ones[reached[open_ones] >= EXCEEDANCES]
        log_p[done] = np.log(EXCEEDANCES / made)
        open_ones = np.setdiff1d(open_ones, done)
        update(made, most)
    if enough:
        log_p[open_ones] = np.log((reached[open_ones] + 1.0) / (made + 1.0))
    return log_p

r"""Is a feature related to the target at all?  A p-value for each column, without a permutation.

The null hypothesis of a feature is that this column *alone* says nothing about the target: rows of
the target could be exchanged.  It is not a statement beside the other columns, so that a copy of a
relevant column, or a follower of it, counts as a discovery, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from kernelpath.alignment.api import align_table
from kernelpath.alignment.calibration import CalibratedResult
from kernelpath.errors import DataError, not_one_of
from kernelpath.kernels.feature import FeatureKernel
from kernelpath.tables.constant import report_constant
from kernelpath.tables.table import Table, as_column_table, take_columns
from kernelpath.utils import checks
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
ADJUSTMENTS = ("bh", "by", "e-bh")
NEAR = 10.0  # times the threshold, within which p-values are refined
EXCEEDANCES = 20  # after which a permutation p-value is known well enough
SMALLEST_SHOWN = 1e-10
"""P-values below are an order of the features, no longer probabilities."""


@dataclass(frozen=True, repr=False, eq=False)
class AlignmentTest:
    """How surprising the alignment of every feature is by chance.

    Attributes
    ----------
    alignment : ndarray of shape (n_features,)
        At the width of the feature.
    z : ndarray of shape (n_features,)
        Standardised by the exact mean and variance over all permutations of the target.
    log_p : ndarray of shape (n_features,)
        Natural logarithm of the p-value, corrected for the choice of the width; 0 for constant
        columns.
    width : ndarray of shape (n_features,)
        In units of the column's scale; NaN for kernels without a width.
    gamma : ndarray of shape (n_features,)
        The width parameter of the kernel that it stands for.
    feature_names : tuple of str

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_wide(n_samples=300, n_features=500, random_state=0)
    >>> test = kp.alignment_test(data.X, data.y)
    >>> found = test.discoveries(0.1)
    >>> len(found), sorted(set(found) - set(data.relevant.tolist()))
    (11, [])
    """

    alignment: Array
    z: Array
    log_p: Array
    width: Array
    gamma: Array
    feature_names: tuple[str, ...]

    def __post_init__(self) -> None:
        for field in fields(self)[:-1]:
            values = np.array(getattr(self, field.name), dtype=np.float64)
            values.setflags(write=False)
            object.__setattr__(self, field.name, values)

    @property
    def p_value(self) -> Array:
        """Probability of such an alignment by chance; below 1e-10 an order rather than that."""
        return np.exp(self.log_p)

    @property
    def q_value(self) -> Array:
        """Smallest false discovery rate at which the feature is one (Benjamini and Hochberg)."""
        return self.adjusted("bh")

    def adjusted(self, method: str = "bh") -> Array:
        """P-values adjusted for their number.

        Parameters
        ----------
        method : {"bh", "by", "e-bh"}
            Benjamini and Hochberg, for independent or positively dependent features; Benjamini and
            Yekutieli, for any dependence, larger by the sum of 1, 1/2, 1/3, ...; e-BH (Wang and
            Ramdas) of the e-values ``1 / (2 sqrt p)``, for any dependence.
        """
        if method not in ADJUSTMENTS:
            raise not_one_of("method", method, ADJUSTMENTS)
        m = len(self.log_p)
        order = np.argsort(self.log_p, kind="stable")
        rank = np.arange(1, m + 1)
        if method == "e-bh":
            adjusted = np.log(m / rank) + np.log(2.0) + 0.5 * self.log_p[order]
        else:
            adjusted = self.log_p[order] + np.log(m / rank)
            if method == "by":
                adjusted += np.log(np.sum(1.0 / rank))
        lowest = np.minimum.accumulate(adjusted[::-1])[::-1]
        out = np.empty(m)
        out[order] = np.exp(np.minimum(lowest, 0.0))
        return out

    def discoveries(self, level: float = 0.1, method: str = "bh") -> NDArray[np.intp]:
        """Features at a false discovery rate, the most surprising first."""
        checks.real("level", level, above=0, below=1)
        found = np.flatnonzero(self.adjusted(method) <= level)
        return found[np.argsort(self.log_p[found], kind="stable")]

    def to_frame(self) -> pd.DataFrame:
        """One row per feature: name, alignment, z, p_value, q_value, width."""
        import pandas as pd

        columns: dict[str, Any] = {"feature": pd.Series(self.feature_names, dtype=object)}
        names = ("alignment", "z", "p_value", "q_value", "width")
        return pd.DataFrame(columns | {name: np.array(getattr(self, name)) for name in names})

    def plot(
        self, kind: str = "volcano", *, level: float = 0.1, method: str = "bh", ax: Any = None
    ) -> Any:
        """Draw all features: ``"volcano"`` (alignment against p-value) or ``"qq"`` (by chance).

        Parameters
        ----------
        kind : {"volcano", "qq"}
        level : float
            False discovery rate of the discoveries.
        method : {"bh", "by", "e-bh"}
            As in :meth:`adjusted`.
        ax : matplotlib Axes, optional
            A new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from kernelpath.report.displays.significance import SignificanceDisplay

        return SignificanceDisplay.from_test(self, kind=kind, level=level, method=method).plot(ax)

    def __repr__(self) -> str:
        m = len(self.log_p)
        found = len(self.discoveries(0.1)) if m else 0
        least = shown_p(float(self.log_p.min())) if m else "none"
        what = f"{found} at a false discovery rate of 0.1"
        return f"AlignmentTest({counted(m, 'feature')}, {what}, least p {least})"

    @classmethod
    def of(cls, result: CalibratedResult, names: Sequence[str]) -> AlignmentTest:
        """What a calibrated pass over the columns found."""
        return cls(
            result.values, result.z, result.log_p, result.width,
            np.where(result.gamma > 0, result.gamma, 1.0), tuple(map(str, names)),
        )  # fmt: skip


def shown_p(log_p: float) -> str:
    """A p-value in words that promise no more than is known.

    Examples
    --------
    >>> shown_p(-30.0), shown_p(-3.0)
    ('< 1e-10', '0.05')
    """
    if log_p < np.log(SMALLEST_SHOWN):
        return f"< {SMALLEST_SHOWN:.0e}"
    return f"{np.exp(log_p):.2g}"


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
    level: float = 0.1,
    random_state: Any = None,
    progress: Callable[[int, int], None] | None = None,
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
    random_state : int, RandomState or None
        For ``permutations``.

    Returns
    -------
    AlignmentTest

    Notes
    -----
    P-values of single widths are within about 10 % of nominal down to 0.001; combined ones are at
    most about 1.5 times too eager at 0.001.  Sample weights are not taken: rows of different weight
    cannot be exchanged.

    References
    ----------
    .. [kaziaoual1995] Kazi-Aoual, Hitier, Sabatier, Lebreton. Refined approximations to permutation
       tests for multivariate inference. Computational Statistics and Data Analysis 20, 1995.
    .. [liu2020] Liu, Xie. Cauchy combination test. JASA 115, 2020.

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
    """
    if method not in ("auto", "exact"):
        raise not_one_of("method", method, ("auto", "exact"))
    checks.real("level", level, above=0, below=1)
    checks.whole("permutations", permutations, at_least=0)
    table = X if isinstance(X, Table) else as_column_table(X)
    options: dict[str, Any] = {
        "kernel": kernel, "bandwidth": bandwidth, "gamma": gamma, "method": method,
        "n_jobs": n_jobs, "task": task, "calibrated": True,
    }  # fmt: skip
    with progress_bar():
        result, _ = align_table(table, y, progress=progress or begin("alignments"), **options)
        assert isinstance(result, CalibratedResult)
        if result.constant.all():
            raise DataError("All columns are constant; there is nothing to test.")
        report_constant(table, result.constant)
        given, d = table.names, table.shape[1]
        names = [f"x{j}" for j in range(d)] if given is None else list(given)
        test = AlignmentTest.of(result, names)
        if permutations:
            log_p = _refined(table, np.asarray(y), test, level, permutations, random_state, options)
            test = AlignmentTest.of(replace(result, log_p=log_p), names)
    return test


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
    threshold = np.log(level * max(len(found), 1) / len(test.log_p))
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
    log_p[open_ones] = np.log((reached[open_ones] + 1.0) / (made + 1.0))
    return log_p

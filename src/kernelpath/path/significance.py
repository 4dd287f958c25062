"""The p-value of every feature that a path was traced from, and what follows from them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError, not_one_of
from kernelpath.path.points import Frozen, checked_names, frozen_vector, pick_names
from kernelpath.utils import checks
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from kernelpath.alignment.calibration import CalibratedResult

Array = NDArray[np.float64]
ADJUSTMENTS = ("bh", "by", "e-bh", "max")
RATES = {
    **dict.fromkeys(("bh", "by", "e-bh"), "false discovery rate"),
    "max": "family-wise error rate",
}
ALIKE = 1e-6  # logarithms of p-values that are the same: grids differ by rounding
SMALLEST_SHOWN = 1e-10
"""P-values below are an order of the features, no longer probabilities."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AlignmentTest(Frozen):
    """How surprising the alignment of every feature is by chance.

    Attributes
    ----------
    alignment : ndarray of shape (n_features,)
        At the width of the feature.
    z : ndarray of shape (n_features,)
        Standardised by the exact mean and variance over all permutations of the target; NaN where
        no permutation changes the statistic, as in constant columns, which are not tested.
    log_p : ndarray of shape (n_features,)
        Natural logarithm of the p-value, corrected for the choice of the width; 0 for constant
        columns.
    width : ndarray of shape (n_features,)
        In units of the column's scale; NaN for kernels without a width.
    gamma : ndarray of shape (n_features,)
        The width parameter of the kernel that it stands for.
    names : array of str or None
        Names of the columns; None means "x0", "x1", ...
    least_by_chance : ndarray of shape (n_permutations,) or None
        Natural logarithm of the least p-value of all columns, in each of some permutations of the
        target: what ``adjusted("max")`` goes by.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_wide(n_samples=300, n_features=500, random_state=0)
    >>> test = kp.alignment_test(data.X, data.y)
    >>> found = test.discoveries(0.1)
    >>> len(found), sorted(set(found) - set(data.relevant.tolist()))
    (11, [])
    """

    COLUMNS: ClassVar[tuple[str, ...]] = ("alignment", "z", "log_p", "width", "gamma")

    alignment: Array
    z: Array
    log_p: Array
    width: Array
    gamma: Array
    names: Any = None
    least_by_chance: Array | None = None

    def __post_init__(self) -> None:
        columns = {name: getattr(self, name) for name in self.COLUMNS}
        frozen = {name: frozen_vector(v, float, name) for name, v in columns.items()}
        if len({len(values) for values in frozen.values()}) > 1:
            raise ValueError("the columns of a test have different lengths")
        if self.least_by_chance is not None:
            least = frozen_vector(self.least_by_chance, float, "least_by_chance")
            frozen["least_by_chance"] = least
        self._set(**frozen, names=checked_names(self.names, len(frozen["log_p"])))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(pick_names(self.names, range(len(self.log_p))))

    def __len__(self) -> int:
        return len(self.log_p)

    @property
    def p_value(self) -> Array:
        """Probability of such an alignment by chance; below 1e-10 an order rather than that."""
        return np.exp(self.log_p)

    @property
    def q_value(self) -> Array:
        """Smallest false discovery rate at which the feature is one (Benjamini and Hochberg)."""
        return self.adjusted("bh")

    def adjusted(self, method: str = "bh") -> Array:
        """P-values adjusted for the number of features that are tested; 1 for the others.

        Parameters
        ----------
        method : {"bh", "by", "e-bh", "max"}
            Benjamini and Hochberg, for independent or positively dependent features; Benjamini and
            Yekutieli, for any dependence, larger by the sum of 1, 1/2, 1/3, ...; e-BH (Wang and
            Ramdas) of the e-values ``1 / (2 sqrt p)``, for any dependence.  ``"max"`` is another
            rate, the probability of *any* false discovery: how often the best of all features is as
            good in permutations of the target, whatever their dependence (Westfall and Young); it
            needs ``alignment_test(..., family_permutations=...)``.
        """
        if method not in ADJUSTMENTS:
            raise not_one_of("method", method, ADJUSTMENTS)
        if method == "max":
            return self._family_wise()
        tested = np.flatnonzero(~np.isnan(self.z))
        m = len(tested)
        order = tested[np.argsort(self.log_p[tested], kind="stable")]
        rank = np.arange(1, m + 1)
        if method == "e-bh":
            adjusted = np.log(m / rank) + np.log(2.0) + 0.5 * self.log_p[order]
        else:
            adjusted = self.log_p[order] + np.log(m / rank)
            if method == "by":
                adjusted += np.log(np.sum(1.0 / rank))
        lowest = np.minimum.accumulate(adjusted[::-1])[::-1]
        out = np.ones(len(self.log_p))
        out[order] = np.exp(np.minimum(lowest, 0.0))
        return out

    def _family_wise(self) -> Array:
        """How often the best of all features is as good by chance, the data counted as one draw."""
        if self.least_by_chance is None:
            raise DataError(
                "method='max' needs permutations of the target for all features together: "
                "kernelpath.alignment_test(X, y, family_permutations=1000)."
            )
        tested = ~np.isnan(self.z)
        least = np.sort(self.least_by_chance)
        as_good = np.searchsorted(least, self.log_p + ALIKE * (1 - self.log_p), side="right")
        return np.where(tested, (1.0 + as_good) / (1.0 + len(least)), 1.0)

    def discoveries(self, level: float = 0.1, method: str = "bh") -> NDArray[np.intp]:
        """Features at a false discovery rate, or family-wise error rate, most surprising first."""
        checks.real("level", level, above=0, below=1)
        if method == "max" and self.least_by_chance is not None:
            lowest = 1.0 / (1.0 + len(self.least_by_chance))
            if level < lowest:
                raise DataError(
                    f"{counted(len(self.least_by_chance), 'permutation')} of the target can tell "
                    f"no family-wise error rate below {lowest:.2g}, and level={level:g}; take at "
                    f"least {np.ceil(20 / level):,.0f}."
                )
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
        method : {"bh", "by", "e-bh", "max"}
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
    def of(
        cls, result: CalibratedResult, names: Any, least_by_chance: Array | None = None
    ) -> AlignmentTest:
        """What a calibrated pass over the columns found; constant columns have the width 1."""
        gamma = np.where(result.constant | ~(result.gamma > 0), 1.0, result.gamma)
        columns = (result.values, result.z, result.log_p, result.width, gamma)
        return cls(*columns, names, least_by_chance)


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

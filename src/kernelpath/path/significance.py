"""The p-value of every feature that a path was traced from, and what follows from them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import not_one_of
from kernelpath.path.points import Frozen, checked_names, frozen_vector, pick_names
from kernelpath.utils import checks
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from kernelpath.alignment.calibration import CalibratedResult

Array = NDArray[np.float64]
ADJUSTMENTS = ("bh", "by", "e-bh")
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

    def __post_init__(self) -> None:
        columns = {name: getattr(self, name) for name in self.COLUMNS}
        frozen = {name: frozen_vector(v, float, name) for name, v in columns.items()}
        if len({len(values) for values in frozen.values()}) > 1:
            raise ValueError("the columns of a test have different lengths")
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
        method : {"bh", "by", "e-bh"}
            Benjamini and Hochberg, for independent or positively dependent features; Benjamini and
            Yekutieli, for any dependence, larger by the sum of 1, 1/2, 1/3, ...; e-BH (Wang and
            Ramdas) of the e-values ``1 / (2 sqrt p)``, for any dependence.
        """
        if method not in ADJUSTMENTS:
            raise not_one_of("method", method, ADJUSTMENTS)
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
    def of(cls, result: CalibratedResult, names: Any) -> AlignmentTest:
        """What a calibrated pass over the columns found; constant columns have the width 1."""
        gamma = np.where(result.constant | ~(result.gamma > 0), 1.0, result.gamma)
        return cls(result.values, result.z, result.log_p, result.width, gamma, names)


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

"""ForwardStepwise: one feature after the other, by least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kernelpath.baselines._base import (
    CLASSES,
    NUMBERS,
    Answer,
    BaselineSelector,
    Ranking,
)
from kernelpath.errors import DataError
from kernelpath.utils import checks

DEPENDENT = 1e-10  # what is left of a squared norm that is but rounding


class ForwardStepwise(BaselineSelector):
    r"""Stepwise: the feature that lowers the squared error most, again and again [guyon2003]_.

    After :math:`k` features the next one is that of the largest partial

    .. math:: F = \frac{\mathrm{RSS}_k - \mathrm{RSS}_{k+1}}{\mathrm{RSS}_{k+1} / (n - k - 2)}

    of least squares with a bias.  Labels of two classes count as -1 and +1.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    significance : float, optional
        Stop when the F-test of the next feature has a larger p-value.  That test does not know that
        the feature is the best of many.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.  With a warning it ends early:
        where no feature is significant, or all of the target is explained, or no row is left to
        judge by; it may end with no feature at all.
    scores_ : ndarray of shape (n_features,)
        Share of the variance of the target that a feature explained when it came in.
    ranking_ : ndarray of int, shape (n_features,)
        1 came first; features that never came in share the last rank.
    f_values_, p_values_ : ndarray of shape (n_steps,)
        Of the features that came in, in that order.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    Columns are kept orthogonal to those that came in: `n_samples n_features` for each step.

    References
    ----------
    .. [guyon2003] Guyon, Elisseeff. An introduction to variable and feature selection. Journal of
       Machine Learning Research, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kernelpath as kp
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> kp.baselines.ForwardStepwise(3).fit(X, y).path_[0].names
    ('bmi', 's5', 'bp')
    """

    METHOD: ClassVar[str] = "forward_stepwise"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_features_to_select: Any = None, significance: float | None = None) -> None:
        self.n_features_to_select = n_features_to_select
        self.significance = significance

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.significance is not None:
            checks.real("significance", self.significance, above=0, must=checks.POSITIVE)
            checks.real("significance", self.significance, below=1, must="be below 1")

    def _task(self, y: NDArray) -> str:
        """Numbers are numbers, also those that could be classes; two labels are a contrast."""
        distinct = len(np.unique(y))
        if y.dtype.kind in "iuf" and distinct > 2:
            return NUMBERS
        if distinct > 2:
            raise DataError(
                f"ForwardStepwise is for a target of numbers or two classes, but y has {distinct} "
                "classes; take a method for several classes, such as SVMLW or Fisher."
            )
        return CLASSES

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        found = forward(Z, answer.values, budgets[-1], self.significance)
        scores = np.zeros(Z.shape[1])
        scores[found.order] = found.gains
        self.f_values_, self.p_values_ = found.f_values, found.p_values
        return Ranking(scores, found.order, found.why)


@dataclass(frozen=True, eq=False)
class Steps:
    """Features in the order in which they came in, with their tests, and why no more did."""

    order: NDArray[np.intp]
    gains: NDArray[np.float64]
    f_values: NDArray[np.float64]
    p_values: NDArray[np.float64]
    why: str


def forward(
    Z: NDArray[np.float64], y: NDArray[np.float64], most: int, significance: float | None = None
) -> Steps:
    """Forward selection of standardised columns by Gram-Schmidt.

    Examples
    --------
    >>> Z = np.array([[-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [1.0, -1.0]])
    >>> forward(Z - Z.mean(axis=0), np.array([-1.0, -1.0, 1.0, 1.0, 0.0]), 1).order.tolist()
    [0]
    """
    n, d = Z.shape
    Q, residual = Z.copy(order="F"), y.copy()
    at_first = np.einsum("ij,ij->j", Q, Q)
    total = float(y @ y)
    rss, free = total, np.ones(d, dtype=bool)
    steps: list[tuple[int, float, float, float]] = []
    why = ""
    while len(steps) < most:
        k = len(steps)
        left = np.einsum("ij,ij->j", Q, Q)
        free &= left > DEPENDENT * at_first
        if not free.any() or rss <= DEPENDENT * total or n - k - 2 < 1:
            why = "the other features or rows have nothing to add"
            break
        gains = np.where(free, np.square(Q.T @ residual) / np.where(free, left, 1.0), -1.0)
        best = int(np.argmax(gains))
        gain = min(float(gains[best]), rss)
        f_value = gain / max((rss - gain) / (n - k - 2), DEPENDENT * total / n)
        p_value = float(stats.f.sf(f_value, 1, n - k - 2))
        if significance is not None and p_value > significance:
            why = f"no other feature passes significance={significance:g}"
            break
        steps.append((best, gain / total, f_value, p_value))
        q = Q[:, best] / np.sqrt(left[best])
        residual -= q * (q @ residual)
        Q -= np.outer(q, q @ Q)
        rss, free[best] = float(residual @ residual), False
    order, shares, f_values, p_values = zip(*steps) if steps else ((), (), (), ())
    return Steps(
        np.array(order, dtype=np.intp), np.array(shares, dtype=np.float64),
        np.array(f_values, dtype=np.float64), np.array(p_values, dtype=np.float64), why,
    )  # fmt: skip

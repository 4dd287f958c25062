"""Do the folds choose the same features?  One index for every number of features.

The index is the one of [nogueira2018]: 1 when all folds choose the same features, 0 on average
when they choose at random. Everything here costs what the stored entries of the supports cost;
nothing of the size of a table of all columns is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelpath.errors import DataError
from kernelpath.evaluation.scores import PathScores, checked_integers
from kernelpath.path.points import (
    Frozen,
    checked_names,
    frozen_csr,
    frozen_vector,
    heaviest,
    nearest_sizes,
    pick_names,
)
from kernelpath.utils import checks
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Frozen):
    """How far the folds agree on the features, for every number of features.

    Made by :func:`stability_of`; frozen, compares by content.

    Parameters
    ----------
    n_features : array of shape (n_sizes,)
        Numbers of features.
    index : array of shape (n_sizes,)
        Stability index, at most 1; NaN where it is undefined: with fewer than two folds, or when
        no feature or every feature is chosen in all of them.
    interval : array of shape (n_sizes, 2)
        Approximate confidence interval of the index, NaN where that is.
    frequency : CSR matrix of shape (n_sizes, n_columns)
        Share of the folds that choose the feature at that size.
    n_folds : int
        Number of folds that were compared.
    level : float
        Confidence level of the interval.
    feature_names : sequence of str, optional
        Names of all columns; default "x0", "x1", ...

    Examples
    --------
    >>> chosen = [[[1, 0, 0, 0], [1, 1, 0, 0]], [[1, 0, 0, 0], [1, 0, 1, 0]]]
    >>> scores = PathScores([1, 2], [[0.7, 0.8], [0.7, 0.9]], np.array(chosen, dtype=bool))
    >>> stability = stability_of(scores)
    >>> stability
    Stability(2 sizes from 1 to 2 of 4 columns, 2 folds, index 0.00 to 1.00)
    >>> stability.core(n_features=2)
    ('x0',)
    """

    n_features: np.ndarray
    index: np.ndarray
    interval: np.ndarray
    frequency: Any
    n_folds: int
    level: float = 0.95
    feature_names: Any = None

    def __post_init__(self) -> None:
        sizes = checked_integers(self.n_features, "n_features")
        sizes = frozen_vector(sizes, np.int64, "n_features")
        interval = np.array(self.interval, dtype=float)
        if interval.shape != (len(sizes), 2):
            raise ValueError(f"interval must have shape ({len(sizes)}, 2), got {interval.shape}")
        interval.setflags(write=False)
        frequency = frozen_csr(self.frequency, "frequency", pattern=False)
        if frequency.shape[0] != len(sizes):
            raise ValueError(f"frequency must have {len(sizes)} rows, got {frequency.shape[0]}")
        self._set(n_features=sizes, interval=interval, frequency=frequency)
        self._set(index=frozen_vector(self.index, float, "index", len(sizes)))
        self._set(feature_names=checked_names(self.feature_names, frequency.shape[1]))

    def _ranked(self, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        """Chosen columns by decreasing frequency, ties by column order, and the frequencies."""
        checks.whole("n_features", n_features, must="be an integer", error=TypeError)
        found = np.flatnonzero(self.n_features == int(n_features))
        if len(found) == 0:
            near = nearest_sizes(self.n_features, int(n_features))
            raise DataError(f"there is no size of {counted(n_features, 'feature')}; {near}")
        start, stop = self.frequency.indptr[found[0] : found[0] + 2]
        features, shares = (a[start:stop] for a in (self.frequency.indices, self.frequency.data))
        order = heaviest(np.arange(len(features)), shares)
        return features[order].astype(np.int64), shares[order]

    def of(self, n_features: int) -> pd.DataFrame:
        """Features that any fold chooses at this size, most frequent first.

        Returns
        -------
        DataFrame
            With the columns feature (its column in the table), name and frequency.
        """
        import pandas as pd

        features, shares = self._ranked(n_features)
        # object: names that are not valid Unicode break the string type of pandas 3
        names = pd.Series(pick_names(self.feature_names, features.tolist()), dtype=object)
        return pd.DataFrame({"feature": features, "name": names, "frequency": shares}, copy=True)

    def core(self, n_features: int, share: float = 1.0) -> tuple[str, ...]:
        """Names of the features that at least this share of the folds chooses at this size."""
        checks.real("share", share, above=0, at_most=1, must="be above 0 and at most 1")
        features, shares = self._ranked(n_features)
        kept = features[shares >= float(share) - 1e-9]  # 2/3 of three folds are two of them
        return tuple(pick_names(self.feature_names, kept.tolist()))

    def to_frame(self) -> pd.DataFrame:
        """One row per size.

        Columns: n_features, index, lower, upper, n_chosen (features that any fold chooses) and
        n_core (features that every fold chooses).
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "n_features": self.n_features,
                "index": self.index,
                "lower": self.interval[:, 0],
                "upper": self.interval[:, 1],
                "n_chosen": np.diff(self.frequency.indptr).astype(np.int64),
                "n_core": _row_sums(self.frequency, self.frequency.data == 1).astype(np.int64),
            },
            copy=True,
        )

    def __repr__(self) -> str:
        sizes, known = self.n_features, self.index[~np.isnan(self.index)]
        count = f"{len(sizes)} size{'s' if len(sizes) > 1 else ''}"
        span = f"from {sizes[0]} to {sizes[-1]} of {self.frequency.shape[1]} columns"
        folds = f"{self.n_folds} fold{'s' if self.n_folds > 1 else ''}"
        index = f"{known.min():z.2f} to {known.max():z.2f}" if len(known) else "undefined"
        return f"Stability({count} {span}, {folds}, index {index})"


def stability_of(scores: PathScores, feature_names: Any = None, level: float = 0.95) -> Stability:
    r"""Stability of the chosen features over the finished folds, for every number of features.

    With :math:`M` folds, :math:`d` columns, :math:`p_f` the share of folds that choose feature
    :math:`f`, and :math:`\bar k` the mean number of chosen features,

    .. math:: \hat\Phi = 1 -
        \frac{\frac{M}{M-1} \frac1d \sum_f p_f (1 - p_f)}{\frac{\bar k}{d} (1 - \frac{\bar k}{d})}.

    Parameters
    ----------
    scores : PathScores
        Scores with supports.
    feature_names : sequence of str, optional
        Names of all columns.
    level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    Stability

    Raises
    ------
    DataError
        If the scores hold no supports or no finished fold.

    Notes
    -----
    The interval is the asymptotic one of [nogueira2018]_, with its upper end clipped to 1. It is
    derived for independent samples. Folds share most of their training rows, so their choices
    resemble each other more than those on fresh data would: both the index and the width of the
    interval are optimistic, to be read as approximate.

    Time and memory are proportional to the number of selected features over all folds and sizes.

    References
    ----------
    .. [nogueira2018] Nogueira, Sechidis, Brown. On the stability of feature selection
       algorithms. JMLR 18(174), 2018.

    Examples
    --------
    >>> same = np.array([[True, False, False], [True, True, False]])
    >>> scores = PathScores([1, 2], [[0.7, 0.8], [0.7, 0.9]], [same, same])
    >>> print(stability_of(scores).index)
    [1. 1.]
    """
    checks.real("level", level, above=0, below=1, must="be between 0 and 1")
    folds = [s.csr for s, done in zip(scores.supports, scores.finished) if done]
    if not folds:
        what = "no fold is finished" if scores.supports else "the scores hold no supports"
        raise DataError(f"stability needs the features chosen in every fold, but {what}")
    # The int type matters: a sum of boolean matrices is their union, not their count.
    counts = sum(csr.astype(np.int64) for csr in folds)
    frequency = counts.astype(float)
    frequency.data /= len(folds)
    index, width = _index_and_spread(folds, counts)
    width *= NormalDist().inv_cdf(0.5 + float(level) / 2)
    return Stability(
        n_features=scores.n_features,
        index=index,
        interval=np.column_stack([index - width, np.minimum(index + width, 1.0)]),
        frequency=frequency,
        n_folds=len(folds),
        level=float(level),
        feature_names=feature_names,
    )


def _index_and_spread(folds: list, counts: Any) -> tuple[np.ndarray, np.ndarray]:
    """Index at every size and the standard deviation of it, NaN where undefined."""
    M, (n_sizes, d) = len(folds), counts.shape
    total = _row_sums(counts, counts.data)  # of chosen features over all folds
    index, spread = np.full(n_sizes, np.nan), np.full(n_sizes, np.nan)
    defined = (total > 0) & (total < M * d) & (M > 1)
    if not defined.any():
        return index, spread
    mean_share = total[defined] / (M * d)  # kbar / d
    scale = mean_share * (1 - mean_share)
    # Whole numbers up to the division, so identical folds give exactly 1: Definition 4.
    variance = _row_sums(counts, counts.data * (M - counts.data))[defined] / (M * (M - 1) * d)
    phi = 1 - variance / scale
    # The variance behind Corollary 9 of [nogueira2018], from the part that every fold has in it.
    parts = np.empty((M, len(phi)))
    for i, own in enumerate(folds):
        share = np.diff(own.indptr)[defined] / d  # k_i / d
        agreement = np.asarray(counts.multiply(own).sum(axis=1)).ravel()[defined] / (M * d)
        middle = 2 * mean_share * share - share - mean_share + 1
        parts[i] = (agreement - share * mean_share + phi / 2 * middle) / scale
    index[defined] = phi
    spread[defined] = 2 / M * np.sqrt(np.square(parts - parts.mean(axis=0)).sum(axis=0))
    return index, spread


def _row_sums(matrix: Any, values: np.ndarray) -> np.ndarray:
    """Sum of the values of the stored entries of every row of a CSR matrix."""
    ends = np.concatenate([[0], np.cumsum(values)])
    return np.diff(ends[matrix.indptr])

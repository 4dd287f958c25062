"""BAHSIC: backward elimination of the features that the dependence on the target misses least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._bahsic_loops import add_distances, gains_without, pair_weights
from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.errors import DataError
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks
from kernelpath.utils.progress import begin

KERNELS = ("rbf", "linear")
FEWEST_ROWS = 4  # of the unbiased estimate
COLUMNS = 64  # between two looks at the clock
MOST_ROWS = 5000  # three numbers for each pair of rows: 300 MB


class BAHSIC(BaselineSelector):
    r"""BAHSIC: backward elimination by the dependence HSIC [song2012]_.

    .. math:: \mathrm{HSIC}(S) = \frac{1}{n (n - 3)} \Bigl[ \mathrm{tr}(K_S L)
              + \frac{1^\top K_S 1\; 1^\top L 1}{(n - 1)(n - 2)}
              - \frac{2}{n - 2} 1^\top K_S L 1 \Bigr]

    is the unbiased estimate of the dependence between the features in :math:`S` together and the
    target, with kernels :math:`K_S` and :math:`L` whose diagonals are set to 0.  In every round
    those features leave of which HSIC without the feature is largest.

    :math:`K_S` is :math:`\exp(-\|x - x'\|^2 / (2 d))` for the standardised features that are left,
    :math:`d` being their number: the width is set anew in every round to the root mean squared
    distance.  Or it is :math:`x^\top x'`: then every feature has its own part of HSIC, and all are
    ranked in one round.  :math:`L` is :math:`1/n_c` for two rows of a class with :math:`n_c` rows
    and 0 for others; of numbers it is their product.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    kernel : {"rbf", "linear"}
        The Gaussian kernel sees features that matter together only, and takes at most 5,000 rows.
    drop : float
        Share of the features that are left which leave in a round, at least one; below 1.
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        Share of the rounds that a feature survived; with the linear kernel its part of HSIC, 0 if
        that is negative.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best: it was left at the end; constant columns share the last rank.
    hsic_ : ndarray of shape (n_rounds,)
        HSIC of the features that were left at the beginning of each round.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    A round takes `n_samples^2` for each feature that is left, and all rounds together about
    ``1 / drop`` times as much as the first; memory is that of three kernel matrices in halves.
    Squared distances are kept, and those of columns that leave are taken away.  The linear kernel
    needs sums only.

    References
    ----------
    .. [song2012] Song, Smola, Gretton, Bedo, Borgwardt. Feature selection via dependence
       maximization. Journal of Machine Learning Research, 2012.

    Examples
    --------
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> y = X[:, 2] * X[:, 5] > 0  # neither matters by itself
    >>> sorted(kp.baselines.BAHSIC(2).fit(X, y).path_[0].names)
    ['x2', 'x5']
    """

    METHOD: ClassVar[str] = "bahsic"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ("drop",)

    def __init__(
        self,
        n_features_to_select: Any = None,
        kernel: str = "rbf",
        *,
        drop: float = 0.1,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.drop = drop
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("kernel", self.kernel, KERNELS)
        checks.one_of("task", self.task, TASKS)
        checks.real("drop", self.drop, below=1, must="be below 1")

    def _answer(self, y: NDArray) -> Answer:
        """Refuse rows that are too few or too many, before any work."""
        if len(y) < FEWEST_ROWS:
            raise DataError(f"BAHSIC needs at least {FEWEST_ROWS} rows, and there are {len(y)}.")
        if len(y) > MOST_ROWS and self.kernel == "rbf":
            raise DataError(
                f"BAHSIC with kernel='rbf' takes at most {MOST_ROWS:,} rows, and there are "
                f"{len(y):,}; draw some of the rows, or set kernel='linear'."
            )
        return super()._answer(y)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        target = TargetKernel.of(answer)
        if self.kernel == "linear":
            parts = target.linear_parts(Z)
            self.hsic_ = np.array([parts.sum()])
            return Ranking(np.maximum(parts, 0.0), ranked(parts).order)
        rounds = eliminate(Z, target, float(self.drop))
        self.hsic_ = np.array([one.hsic for one in rounds])
        scores = np.empty(Z.shape[1])
        for i, one in enumerate(rounds):
            scores[one.leaving] = (i + 1) / len(rounds)
        return Ranking(scores, np.concatenate([one.leaving for one in rounds])[::-1])


@dataclass(frozen=True, eq=False)
class TargetKernel:
    """Kernel of the target: ``factor_i factor_k`` for rows of one group, and 0 for others."""

    group: NDArray[np.intp]
    factor: NDArray[np.float64]

    @classmethod
    def of(cls, answer: Answer) -> TargetKernel:
        """Of classes, weighed by their sizes, or of numbers."""
        if answer.task == NUMBERS:
            return cls(np.zeros(len(answer.values), dtype=np.intp), answer.values)
        return cls(answer.codes, 1.0 / np.sqrt(np.bincount(answer.codes))[answer.codes])

    def coefficients(self) -> tuple[NDArray[np.float64], float]:
        """HSIC is the sum of ``K_ik (l_ik - own_i - own_k + shift)``, over ``n (n - 3)``."""
        n = len(self.factor)
        sums = np.bincount(self.group, weights=self.factor)[self.group]
        rows = self.factor * (sums - self.factor)
        return rows / (n - 2), float(rows.sum()) / ((n - 1) * (n - 2))

    def linear_parts(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """HSIC of the linear kernel of each column; that of several is the sum of theirs."""
        n = len(Z)
        own, shift = self.coefficients()
        total = Z.sum(axis=0)
        result = shift * np.square(total) - 2.0 * total * (own @ Z)
        for g in range(self.group.max() + 1):
            inside = self.group == g
            result += np.square(self.factor[inside] @ Z[inside])
        # Pairs of a row with itself do not count.
        result -= (np.square(self.factor) - 2.0 * own + shift) @ np.square(Z)
        return result / (n * (n - 3))


@dataclass(frozen=True, eq=False)
class Round:
    """HSIC at its beginning, and the columns that leave, the worst first."""

    hsic: float
    leaving: NDArray[np.intp]


def eliminate(Z: NDArray[np.float64], target: TargetKernel, drop: float) -> list[Round]:
    """Backward elimination with the Gaussian kernel; the last round is that of one column.

    Examples
    --------
    >>> Z = np.random.default_rng(0).normal(size=(50, 3))
    >>> target = TargetKernel((Z[:, 1] > 0).astype(np.intp), np.full(50, 0.2))
    >>> [one.leaving.tolist() for one in eliminate(Z, target, 0.1)][-1]
    [1]
    """
    n, d = Z.shape
    Z = np.asfortranarray(Z)
    own, shift = target.coefficients()
    weights = pair_weights(target.group, target.factor, own, shift)
    distances = np.zeros(len(weights))
    left, rounds = np.arange(d), list[Round]()
    count = begin("ranking")
    add_distances(Z, left, 1.0, distances)
    while len(left):
        gamma = 0.5 / len(left)
        terms = weights * np.exp(-gamma * np.maximum(distances, 0.0))
        hsic = 2.0 * float(terms.sum()) / (n * (n - 3))
        if len(left) == 1:
            return [*rounds, Round(hsic, left)]
        gains = np.empty(len(left))
        for start in range(0, len(left), COLUMNS):
            part = slice(start, start + COLUMNS)
            gains_without(Z, left[part], gamma, distances, weights, terms, gains[part])
            count(d - len(left) + drop * start, d)
        worst = np.lexsort((-left, -gains))[: max(1, int(drop * len(left)))]
        rounds.append(Round(hsic, left[worst]))
        left = np.delete(left, worst)
        if len(left) > len(worst):
            add_distances(Z, rounds[-1].leaving, -1.0, distances)
        else:
            distances[:] = 0.0
            add_distances(Z, left, 1.0, distances)
    return rounds

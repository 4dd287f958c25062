"""MRMR: one feature after the other, relevant for the target and unlike those before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking
from kernelpath.baselines._discrete import (
    DISCRETIZATIONS,
    discretized,
    information,
    information_with,
    sums_of_counts,
    target_classes,
)
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks
from kernelpath.utils.progress import begin

CRITERIA = ("mid", "miq", "fcd", "fcq")
LEAST_REDUNDANCY = 1e-3  # by which a quotient divides at least
LEAST_VARIANCE = 1e-12  # relative to all rows: a column without any within the classes
BY_CORRELATION = ("fcd", "fcq")
IDLE = (
    checks.Idle(
        "discretization", lambda own: own.criterion in BY_CORRELATION,
        "with criterion='fcd' and 'fcq', which cut no column",
    ),
    checks.Idle(
        "n_bins", lambda own: own.criterion in BY_CORRELATION,
        "with criterion='fcd' and 'fcq', which cut no column",
    ),
    checks.Idle(
        "n_bins", lambda own: own.discretization == "mdl", "with discretization='mdl'",
        "leave it out, or set discretization='quantile'",
    ),
)  # fmt: skip


class MRMR(BaselineSelector):
    r"""Minimum redundancy, maximum relevance: the next feature tells much that is new [peng2005]_.

    The first feature is that of the largest relevance :math:`r_j`, and after the features
    :math:`S` the next is that of the largest

    .. math:: r_j - \frac{1}{|S|} \sum_{s \in S} c_{js} \quad \text{or} \quad
              r_j \Big/ \frac{1}{|S|} \sum_{s \in S} c_{js}

    Relevance :math:`r_j` and redundancy :math:`c_{js}` are mutual information (with the target, of
    two features), or the F statistic and the absolute correlation [ding2005]_.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    criterion : {"mid", "miq", "fcd", "fcq"}
        Mutual information, difference or quotient; F statistic and correlation, difference or
        quotient [zhao2019]_.
    discretization : {"quantile", "mdl"}
        How columns are cut for mutual information, as for :class:`InformationGain`.
    n_bins : int
        Parts of a column with ``"quantile"``.
    task : {"auto", "classification", "regression"}
        For mutual information a target of numbers is cut into five parts of equal frequency.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        Relevance of every feature by itself, in nats or as an F statistic.
    ranking_ : ndarray of int, shape (n_features,)
        1 came first; features beyond the largest budget share the last rank, as constant columns.
    criteria_ : ndarray of shape (n_ranked,)
        What the features that came in had, in that order: relevance for the first, then the
        difference, which may be negative, or the quotient.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    Redundancies are summed up as features come in: `n_samples n_features` for each step, up to the
    largest budget.  Quotients divide by at least 0.001.

    References
    ----------
    .. [peng2005] Peng, Long, Ding. Feature selection based on mutual information: criteria of
       max-dependency, max-relevance, and min-redundancy. IEEE Transactions on Pattern Analysis and
       Machine Intelligence, 2005.
    .. [ding2005] Ding, Peng. Minimum redundancy feature selection from microarray gene expression
       data. Journal of Bioinformatics and Computational Biology, 2005.
    .. [zhao2019] Zhao, Anand, Wang. Maximum relevance and minimum redundancy feature selection
       methods for a marketing machine learning platform. IEEE DSAA, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import kernelpath as kp
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = kp.baselines.MRMR(2, criterion="fcq").fit(X, y)
    >>> model.path_[0].names
    ('flavanoids', 'color_intensity')
    """

    METHOD: ClassVar[str] = "mrmr"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    LEAST_ROWS: ClassVar[int] = 4

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        criterion: str = "mid",
        discretization: str = "quantile",
        n_bins: int = 5,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.criterion = criterion
        self.discretization = discretization
        self.n_bins = n_bins
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.one_of("criterion", self.criterion, CRITERIA)
        checks.one_of("discretization", self.discretization, DISCRETIZATIONS)
        checks.whole("n_bins", self.n_bins, at_least=2)
        checks.refuse_idle(self, IDLE)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        if self.criterion in BY_CORRELATION:
            relevance = f_statistics(Z, answer)
            redundancy = _correlations(Z)
        else:
            classes = target_classes(answer)
            parts = discretized(Z, classes, self.discretization, int(self.n_bins))
            codes = np.concatenate([part.codes for part in parts])
            relevance = information(codes, classes)
            redundancy = _informations(codes)
        found = greedy(
            relevance, redundancy, budgets[-1], quotient=self.criterion in ("miq", "fcq")
        )
        self.criteria_ = found.criteria
        return Ranking(relevance, found.order)


Redundancy = Callable[[int, NDArray[np.bool_]], NDArray[np.float64]]
"""Redundancy of all features that are free with one of them."""


@dataclass(frozen=True, eq=False)
class Entries:
    """Features in the order in which they came in, and what they had."""

    order: NDArray[np.intp]
    criteria: NDArray[np.float64]


def greedy(
    relevance: NDArray[np.float64], redundancy: Redundancy, most: int, *, quotient: bool
) -> Entries:
    """The feature of the largest difference or quotient, again and again.

    Examples
    --------
    >>> R = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> greedy(np.array([0.5, 0.4, 0.2]), lambda j, free: R[j], 2, quotient=False).order.tolist()
    [0, 2]
    """
    free, total = np.ones(len(relevance), dtype=np.bool_), np.zeros(len(relevance))
    order, criteria = np.zeros(most, dtype=np.intp), np.zeros(most)
    update, now = begin("ranking"), relevance
    for k in range(most):
        if k > 0:
            total += redundancy(int(order[k - 1]), free)
            mean = total / k
            now = relevance / np.maximum(mean, LEAST_REDUNDANCY) if quotient else relevance - mean
        order[k] = np.argmax(np.where(free, now, -np.inf))
        criteria[k], free[order[k]] = now[order[k]], False
        update(k + 1, most)
    return Entries(order, criteria)


def f_statistics(Z: NDArray[np.float64], answer: Answer) -> NDArray[np.float64]:
    """F statistic of standardised columns: of the class means, or of the correlation."""
    n = len(Z)
    if answer.task == NUMBERS:
        explained, freedom = np.square(Z.T @ answer.values / n), 1
    else:
        counts = np.bincount(answer.codes)
        means = np.array([Z[answer.codes == k].mean(axis=0) for k in range(len(counts))])
        explained, freedom = counts @ np.square(means) / n, len(counts) - 1
    left = np.maximum(1.0 - explained, LEAST_VARIANCE)
    return explained / freedom / (left / max(n - freedom - 1, 1))


def _correlations(Z: NDArray[np.float64]) -> Redundancy:
    return lambda one, free: np.abs(Z[:, one] @ Z) / len(Z)


def _informations(codes: NDArray[np.int32]) -> Redundancy:
    held = sums_of_counts(codes)
    return lambda one, free: information_with(codes, one, held, free)

"""ReliefF: features that differ between near rows of several classes, and not within a class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.baselines._relief_loops import class_differences, number_differences
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks
from kernelpath.utils.progress import begin

BLOCK = 16  # rows that are compared with all others at a time


class ReliefF(BaselineSelector):
    r"""ReliefF: a feature is good that tells near rows of several classes apart [kononenko1994]_.

    .. math:: W_j = \frac{1}{m} \sum_i \Big( \sum_{k \ne k_i} \frac{p_k}{1 - p_{k_i}}
              \overline{|x_{ij} - x_{lj}|}_{l \in M_k(i)} - \overline{|x_{ij} - x_{lj}|}_{l \in
              H(i)} \Big)

    :math:`H(i)` are the nearest rows of the class of row :math:`i`, :math:`M_k(i)` those of class
    :math:`k`, whose share of the rows is :math:`p_k`; columns are scaled to ranges of 1 and
    distances are sums of absolute differences of all columns.  For a target of numbers it is
    RReliefF [robnik2003]_: with the nearest of all rows,

    .. math:: W_j = \frac{N_{yj}}{N_y} - \frac{N_j - N_{yj}}{m - N_y}

    for the sums :math:`N` of mean differences in the target, in the feature, and of their products.
    Near rows are near in all columns, so that effects of several features together are seen; the
    more columns are noise, the less is near.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    n_neighbors : int
        Nearest rows of each class, or of all; fewer where a class has fewer.  Of rows that are as
        near as the last one each counts in part.
    n_rows : int, optional
        Compare so many rows, drawn at random, with all others.  Default, and where there are no
        more: all.
    task : {"auto", "classification", "regression"}
    random_state : int, Generator, RandomState or None
        Of the draw of rows.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    weights_ : ndarray of shape (n_features,)
        The :math:`W_j`, between -1 and 1; 0 for constant columns.
    scores_ : ndarray of shape (n_features,)
        The weights, 0 for negative ones.
    ranking_ : ndarray of int, shape (n_features,)
        By weights, also where these are negative; 1 is the best, and constant columns share the
        last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    Time grows with `n_rows n_samples n_features`; memory with the table.

    References
    ----------
    .. [kononenko1994] Kononenko. Estimating attributes: analysis and extensions of RELIEF. ECML,
       1994.
    .. [robnik2003] Robnik-Šikonja, Kononenko. Theoretical and empirical analysis of ReliefF and
       RReliefF. Machine Learning, 2003.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_xor(n_samples=300, n_features=8, random_state=0)
    >>> sorted(kp.baselines.ReliefF(3).fit(data.X, data.y).path_[0].names)
    ['x0', 'x2', 'x5']
    """

    METHOD: ClassVar[str] = "relieff"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    LEAST_ROWS: ClassVar[int] = 4

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        n_neighbors: int = 10,
        n_rows: int | None = None,
        task: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.n_rows = n_rows
        self.task = task
        self.random_state = random_state

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.whole("n_neighbors", self.n_neighbors, at_least=1)
        if self.n_rows is not None:
            checks.whole("n_rows", self.n_rows, at_least=1)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        rows = np.arange(len(Z))
        if self.n_rows is not None and self.n_rows < len(Z):
            rng = np.random.default_rng(checks.seed_of(self.random_state))
            rows = np.sort(rng.choice(len(Z), int(self.n_rows), replace=False))
        if answer.task == NUMBERS:
            weights = regression_weights(Z, answer.values, rows, int(self.n_neighbors))
        else:
            weights = class_weights(Z, answer.codes, rows, int(self.n_neighbors))
        found = ranked(np.maximum(weights, 0.0), then=weights)
        return replace(found, weights=weights)


def class_weights(
    Z: NDArray[np.float64], codes: NDArray[np.intp], rows: NDArray[np.intp], n_neighbors: int
) -> NDArray[np.float64]:
    """Weights of ReliefF; classes are numbered from 0 on.

    Examples
    --------
    >>> Z = np.array([[0.0, 0.0], [0.1, 1.0], [0.9, 0.0], [1.0, 1.0]])
    >>> class_weights(Z, np.array([0, 0, 1, 1]), np.arange(4), 1).round(2).tolist()
    [0.8, -1.0]
    """
    by_class = np.argsort(codes, kind="stable")  # rows of a class stand together
    X, place = unit_ranges(Z[by_class]), np.argsort(by_class)
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    weights = np.zeros(X.shape[1])
    update = begin("ranking")
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        class_differences(X, place[some], codes[some], ends, n_neighbors, weights)
        update(start + len(some), len(rows))
    return weights / len(rows)


def regression_weights(
    Z: NDArray[np.float64], y: NDArray[np.float64], rows: NDArray[np.intp], n_neighbors: int
) -> NDArray[np.float64]:
    """Weights of RReliefF.

    Examples
    --------
    >>> Z = np.array([[0.0, 0.0], [0.2, 1.0], [0.6, 0.0], [1.0, 1.0]])
    >>> regression_weights(Z, Z[:, 0], np.arange(4), 3).round(2).tolist()
    [0.29, -0.18]
    """
    X, target = unit_ranges(Z), unit_ranges(y[:, None])[:, 0]
    sums = np.zeros((2, X.shape[1]))  # of differences, and of their products with the target's
    of_target, update = 0.0, begin("ranking")
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        of_target += number_differences(X, target, some, n_neighbors, sums)
        update(start + len(some), len(rows))
    far, near = max(of_target, np.finfo(float).tiny), max(len(rows) - of_target, 1e-12)
    return sums[1] / far - (sums[0] - sums[1]) / near


def unit_ranges(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns from 0 to 1, row by row in memory."""
    low = Z.min(axis=0)
    return np.ascontiguousarray((Z - low) / (Z.max(axis=0) - low))

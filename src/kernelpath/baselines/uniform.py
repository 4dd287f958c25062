"""Uniform: every column weighs the same, the reference that a choice has to beat."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks


class Uniform(BaselineSelector):
    r"""The same weight :math:`1 / r` for all :math:`r` columns: no choice at all.

    It is the reference of the lp-KTA paper [jawanpuria2014]_: a machine on the sum of the kernels
    of all columns.  With ``predictor="weighted_kernel"`` :class:`PathCV` fits that machine.

    All columns are tied, so the default is one point with all of them.  Where budgets are given,
    as in a comparison, the first columns of the table are kept: ties go by column here as
    everywhere, and mean nothing.  Only the point of all columns is the reference.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on.  Default: all columns at once.
    task : {"auto", "classification", "regression"}
        What the target is; it changes no weight.

    Attributes
    ----------
    path_ : FeaturePath
        One point, or one for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        :math:`1 / r`; 0 for constant columns.
    ranking_ : ndarray of int, shape (n_features,)
        Their order in the table; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    References
    ----------
    .. [jawanpuria2014] Jawanpuria, Varma, Nath. On p-norm path following in multiple kernel
       learning for non-linear feature selection. ICML, 2014.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_additive(n_samples=100, n_features=8, random_state=0)
    >>> point = kp.baselines.Uniform().fit(data.X, data.y).path_[0]
    >>> len(point.names), point.weights.tolist() == [0.125] * 8
    (8, True)
    """

    METHOD: ClassVar[str] = "uniform"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_features_to_select: Any = None, *, task: str = "auto") -> None:
        self.n_features_to_select = n_features_to_select
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)

    def _budgets(self, n_usable: int) -> list[int]:
        return [n_usable] if self.n_features_to_select is None else super()._budgets(n_usable)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        return ranked(np.full(Z.shape[1], 1.0 / Z.shape[1]))

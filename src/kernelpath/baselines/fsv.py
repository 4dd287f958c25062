"""FSV: the number of features in the objective, by a concave function of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import Answer, BaselineSelector, Ranking, ranked
from kernelpath.baselines._linear import joined, solve_program
from kernelpath.utils import checks

MOST_STEPS = 100
TOL = 1e-9


class FSV(BaselineSelector):
    r"""Feature selection concave: a smooth count of the features in use [bradley1998]_.

    .. math:: \min_{w, b}\; (1 - \lambda) \Big( \frac1{n_+} \sum_{i \in +} \xi_i
              + \frac1{n_-} \sum_{i \in -} \xi_i \Big)
              + \lambda \sum_j \big(1 - e^{-\alpha |w_j|}\big)

    with the slacks :math:`\xi_i = \max(0, 1 - y_i (w^\top x_i + b))`.  The concave count is
    replaced by its tangent, which leaves a linear program; that is repeated at its solution until
    the objective no longer falls.  The result is a stationary point, not the optimum.  A feature
    scores :math:`|w_j|`, of several classes (each against the rest) the root of the sum of squares.
    Features without weight come after, by the slope of the loss in their weight.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    balance : float
        The paper's lambda, between 0 and 1: weight of the count against the errors.
    steepness : float
        The paper's alpha: how fast a weight counts as a whole feature.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    objectives_ : list of ndarray
        Objective after each linear program, for each machine; it never rises.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    One linear program in `n_samples + 2 n_features` variables for each step, of which there are
    few.  The first tangent is that at zero, the 1-norm.

    References
    ----------
    .. [bradley1998] Bradley, Mangasarian. Feature selection via concave minimization and support
       vector machines. ICML, 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import kernelpath as kp
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = kp.baselines.FSV(1).fit(X[50:], y[50:])
    >>> selector.path_[0].names
    ('petal width (cm)',)
    """

    METHOD: ClassVar[str] = "fsv"
    POSITIVE: ClassVar[tuple[str, ...]] = ("balance", "steepness")

    def __init__(
        self, n_features_to_select: Any = None, balance: float = 0.05, steepness: float = 5.0
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.balance = balance
        self.steepness = steepness

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.real("balance", self.balance, above=0, must=checks.POSITIVE)
        checks.real("balance", self.balance, below=1, must="be below 1")

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        found = [
            descend(Z, label, float(self.balance), float(self.steepness))
            for label in answer.labels.T
        ]
        self.objectives_ = [np.array(one.objectives) for one in found]
        return ranked(joined([one.weights for one in found]), joined([one.slopes for one in found]))


@dataclass(frozen=True, eq=False)
class Descent:
    """Where successive linear programs ended, and the objective after each."""

    weights: NDArray[np.float64]
    slopes: NDArray[np.float64]
    objectives: list[float]


def descend(
    Z: NDArray[np.float64], label: NDArray[np.float64], balance: float, steepness: float
) -> Descent:
    """Solve the linear programs of the tangents until the objective no longer falls."""
    share = np.where(label > 0, np.mean(label > 0), np.mean(label < 0)) * len(label)
    slack_costs = (1.0 - balance) / share
    weights = np.zeros(Z.shape[1])
    objectives: list[float] = []
    for _ in range(MOST_STEPS):
        costs = balance * steepness * np.exp(-steepness * np.abs(weights))
        found = solve_program(Z, label, costs, slack_costs)
        value = concave_objective(Z, label, found.weights, found.bias, balance, steepness)
        if objectives and value >= objectives[-1] - TOL:
            break
        objectives.append(value)
        weights, slopes = found.weights, found.slopes
    return Descent(weights, slopes, objectives)


def concave_objective(
    Z: NDArray[np.float64],
    label: NDArray[np.float64],
    weights: NDArray[np.float64],
    bias: float,
    balance: float,
    steepness: float,
) -> float:
    """Objective of FSV: errors of each class, and the smooth count of the features.

    Examples
    --------
    >>> Z, label = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    >>> concave_objective(Z, label, np.zeros(1), 0.0, 0.5, 5.0)
    1.0
    """
    slack = np.maximum(1.0 - label * (Z @ weights + bias), 0.0)
    errors = slack[label > 0].mean() + slack[label < 0].mean()
    count = np.sum(1.0 - np.exp(-steepness * np.abs(weights)))
    return float((1.0 - balance) * errors + balance * count)

"""MutualInformation: what single features tell of the target, by distances to neighbours."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.estimators.rankers import mutual_info
from kernelpath.tables.content import by_content
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks


class MutualInformation(BaselineSelector):
    r"""Mutual information with the target, estimated by nearest neighbours [ross2014]_.

    .. math:: I(X_j; Y) = \int \int p(x, y) \log \frac{p(x, y)}{p(x)\, p(y)} \, dx \, dy

    is 0 where a feature tells nothing of the target, whatever the form of the relation.  The
    densities are estimated by the distance to the k-th neighbour, of a target of numbers in both
    [kraskov2004]_.  No column is cut into parts, as :class:`InformationGain` does it.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    n_neighbors : int
        k; larger values give smoother estimates.
    random_state : int
        Of the tiny noise that keeps equal values apart.
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        In nats; estimates below 0 are 0.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    The estimate is scikit-learn's (``mutual_info_classif``, ``mutual_info_regression``).  The
    ranking ``"mutual-info"`` of :func:`kernelpath.compare` and of the command line is the same
    with three neighbours; it draws the noise in the order of the table, this class in an order
    that the content of the columns decides, so where values repeat the last digits may differ.

    References
    ----------
    .. [ross2014] Ross. Mutual information between discrete and continuous data sets. PLoS ONE,
       2014.
    .. [kraskov2004] Kraskov, Stögbauer, Grassberger. Estimating mutual information. Physical
       Review E, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> y = X[:, 4] ** 2 + 0.1 * X[:, 6]
    >>> kp.baselines.MutualInformation(1).fit(X, y).path_[0].names
    ('x4',)
    """

    METHOD: ClassVar[str] = "mutual_information"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    LEAST_ROWS: ClassVar[int] = 4

    def __init__(
        self,
        n_features_to_select: Any = None,
        n_neighbors: int = 3,
        *,
        random_state: Any = 0,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.whole("n_neighbors", self.n_neighbors, at_least=1)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        order = by_content(Z)
        y = answer.values if answer.task == NUMBERS else answer.codes
        seed, most = checks.seed_of(self.random_state), len(Z) - 1
        scores = np.empty(Z.shape[1])
        scores[order] = mutual_info(
            Z[:, order], y, answer.task, seed, n_neighbors=min(int(self.n_neighbors), most)
        )
        return ranked(scores)

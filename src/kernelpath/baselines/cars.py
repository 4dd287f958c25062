"""CARS: columns survive a competition by the coefficients of partial least squares."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.cross_decomposition import PLSRegression

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.tables.content import by_content
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks
from kernelpath.utils.progress import begin

FEWEST = 2  # columns that the last round of a run leaves
DIGITS = 12  # of coefficients that are compared


class CARS(BaselineSelector):
    r"""Competitive adaptive reweighted sampling [li2009]_, for spectra and other wide tables.

    A run begins with all :math:`p` columns.  In round :math:`i` of :math:`N` a partial least
    squares model is fitted to a random share of the rows, and columns leave in two steps: those of
    the smallest weights :math:`w_j = |b_j| / \sum_k |b_k|` of the regression coefficients :math:`b`
    until

    .. math:: p\, a\, e^{-k i}, \qquad a = (p/2)^{1/(N-1)}, \quad k = \frac{\ln (p/2)}{N - 1}

    are left, from all in the first round to two in the last; then as many are drawn with
    replacement, with probabilities :math:`w_j`, and those not drawn leave too.

    The paper keeps the columns of the round that predicts best.  Here features rank by how long
    they survive on average over several runs, so that there is a choice of every size; those that
    survive equally long rank by their mean weight in the first rounds.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    n_components : int
        Latent variables of the partial least squares; fewer where columns or rows are few.
    n_rounds : int
        N, the rounds of a run.
    n_runs : int
        Runs that are averaged.
    row_share : float
        Share of the rows, of every class, that a round learns from.
    random_state : int
    task : {"auto", "classification", "regression"}
        For classes the target is the labels, -1 and 1, one column for each of several classes
        (PLS-DA).

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        Share of the rounds that a feature survived, mean over the runs.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    The models are scikit-learn's (``PLSRegression``), the competition is the package's.  Columns
    take part in an order that their content decides: their order in the table changes nothing.

    References
    ----------
    .. [li2009] Li, Liang, Xu, Cao. Key wavelengths screening using competitive adaptive reweighted
       sampling method for multivariate calibration. Analytica Chimica Acta, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(80, 40))
    >>> y = X[:, 11] - 2.0 * X[:, 30]
    >>> sorted(kp.baselines.CARS(2).fit(X, y).path_[0].names)
    ['x11', 'x30']
    """

    METHOD: ClassVar[str] = "cars"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ("row_share",)
    LEAST_ROWS: ClassVar[int] = 4

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        n_components: int = 5,
        n_rounds: int = 50,
        n_runs: int = 10,
        row_share: float = 0.8,
        random_state: Any = 0,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_components = n_components
        self.n_rounds = n_rounds
        self.n_runs = n_runs
        self.row_share = row_share
        self.random_state = random_state
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.whole("n_components", self.n_components, at_least=1)
        checks.whole("n_rounds", self.n_rounds, at_least=2)
        checks.whole("n_runs", self.n_runs, at_least=1)
        checks.real("row_share", self.row_share, at_most=1, must="be at most 1")

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        order = by_content(Z)
        target = answer.values[:, None] if answer.task == NUMBERS else answer.labels
        groups = np.zeros(len(Z), dtype=np.intp) if answer.task == NUMBERS else answer.codes
        rng = np.random.default_rng(checks.seed_of(self.random_state))
        A, n_runs = np.ascontiguousarray(Z[:, order]), int(self.n_runs)
        survived, first = np.zeros(len(order)), np.zeros(len(order))
        update = begin("ranking")
        for run in range(n_runs):
            rounds, weights = self._run(A, target, groups, rng)
            survived += rounds
            first += weights
            update(run + 1, n_runs)
        scores, then = np.empty(len(order)), np.empty(len(order))
        scores[order] = survived / (n_runs * int(self.n_rounds))
        then[order] = np.round(first / n_runs, DIGITS)
        return ranked(scores, then=then)

    def _run(
        self,
        A: NDArray[np.float64],
        target: NDArray[np.float64],
        groups: NDArray[np.intp],
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rounds that each column survived, and the weights in the first."""
        n_rounds, left = int(self.n_rounds), np.arange(A.shape[1])
        survived, first = np.zeros(len(left)), np.zeros(len(left))
        for size in sizes_of_rounds(A.shape[1], n_rounds):
            rows = drawn_rows(groups, float(self.row_share), rng)
            weights = coefficient_weights(A[np.ix_(rows, left)], target[rows], self.n_components)
            if not survived.any():
                first = weights
            kept = np.argsort(-np.round(weights, DIGITS), kind="stable")[: min(size, len(left))]
            share = weights[kept] / weights[kept].sum()
            left = left[np.unique(kept[rng.choice(len(kept), size=len(kept), p=share)])]
            survived[left] += 1.0
        return survived, first


def sizes_of_rounds(n_columns: int, n_rounds: int) -> NDArray[np.intp]:
    """How many columns may be left after each round: all at first, two at the end.

    Examples
    --------
    >>> sizes_of_rounds(1000, 6).tolist()
    [1000, 289, 83, 24, 7, 2]
    """
    last = min(FEWEST, n_columns)
    return np.round(np.geomspace(n_columns, last, n_rounds)).astype(np.intp)


def drawn_rows(
    groups: NDArray[np.intp], share: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """A share of the rows of every group, at least one and, of a single group, two.

    Examples
    --------
    >>> drawn_rows(np.array([0, 0, 0, 0, 1]), 0.5, np.random.default_rng(0)).tolist()
    [2, 3, 4]
    """
    parts = []
    for g in range(int(groups.max()) + 1):
        inside = np.flatnonzero(groups == g)
        least = min(len(inside), 1 if groups.any() else 2)
        count = max(least, round(share * len(inside)))
        parts.append(np.sort(rng.choice(inside, count, replace=False)))
    return np.concatenate(parts)


def coefficient_weights(
    A: NDArray[np.float64], target: NDArray[np.float64], n_components: int
) -> NDArray[np.float64]:
    """Sizes of the coefficients of partial least squares, of several targets together; sum 1.

    Examples
    --------
    >>> A = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> coefficient_weights(A, 3.0 * A[:, :1] - A[:, 1:], 2).round(6).tolist()
    [0.75, 0.25]
    """
    target = target[:, np.ptp(target, axis=0) > 0]
    equal = np.full(A.shape[1], 1.0 / A.shape[1])
    if target.shape[1] == 0 or not np.ptp(A, axis=0).any():
        return equal  # the rows tell nothing
    most = max(1, min(int(n_components), A.shape[1], len(A) - 1))
    model = PLSRegression(most, scale=False)
    with warnings.catch_warnings(), config_context(assume_finite=True):
        warnings.simplefilter("ignore")  # the target is explained before the last component
        coefs = model.fit(A, target).coef_
    sizes = np.sqrt(np.square(np.atleast_2d(coefs)).sum(axis=0))
    return sizes / sizes.sum() if sizes.sum() > 0 else equal

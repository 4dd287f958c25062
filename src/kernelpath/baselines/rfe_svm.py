"""RFESVM: the features of the smallest weights leave, and the machine is fitted again."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking
from kernelpath.baselines._linear import SquaredMachine
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks
from kernelpath.utils.progress import begin

EPSILON = 0.1  # standard deviations of a target of numbers that cost nothing
TINY = float(np.finfo(np.float64).tiny)
SAME = 1e-9  # of the largest squared weight: rounding decides nothing


class RFESVM(BaselineSelector):
    r"""SVM-RFE: recursive elimination by the weights of a linear machine [guyon2002]_.

    A linear support vector machine is fitted to the features that are left; those of the smallest
    :math:`w_j^2` leave, and it is fitted again.  Unlike :class:`SVMLW`, which fits once, it sees
    what a feature is worth when others that stood for it are gone.

    .. math:: \min_{w, b}\; \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i (w^\top x_i + b))^2

    Of several classes each is set against the rest, and the squared weights of the machines are
    added.  Of numbers the machine is support vector regression, whose errors count, squared, beyond
    0.1 standard deviations.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    C : float
        Cost of errors.
    drop : float
        Share of the features that are left which leave in a round, at least one; below 1.
    one_by_one : int
        From so many features on they leave one by one.
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        Share of the rounds that a feature survived.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best: it was left at the end; constant columns share the last rank.
    n_rounds_ : int
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    Errors are squared, as those of scikit-learn's ``LinearSVC``, since that makes machines that are
    solved exactly in a few steps: a round takes some systems of equations as large as the rows or
    the columns, whichever are fewer.  Machines start from the weights of the round before.

    References
    ----------
    .. [guyon2002] Guyon, Weston, Barnhill, Vapnik. Gene selection for cancer classification using
       support vector machines. Machine Learning, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(200, 30))
    >>> y = X[:, 4] - X[:, 9] + 0.5 * X[:, 20] > 0
    >>> kp.baselines.RFESVM(3).fit(X, y).path_[0].names
    ('x9', 'x4', 'x20')
    """

    METHOD: ClassVar[str] = "rfe_svm"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ("C", "drop")

    def __init__(
        self,
        n_features_to_select: Any = None,
        C: float = 1.0,
        *,
        drop: float = 0.1,
        one_by_one: int = 32,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.C = C
        self.drop = drop
        self.one_by_one = one_by_one
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.real("drop", self.drop, below=1, must="be below 1")
        checks.whole("one_by_one", self.one_by_one, at_least=1)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        if answer.task == NUMBERS:
            machines = [SquaredMachine(answer.values, float(self.C), EPSILON)]
        else:
            machines = [SquaredMachine(label, float(self.C)) for label in answer.labels.T]
        rounds = eliminated(Z, machines, float(self.drop), int(self.one_by_one))
        self.n_rounds_ = len(rounds)
        scores = np.empty(Z.shape[1])
        for i, leaving in enumerate(rounds):
            scores[leaving] = (i + 1) / len(rounds)
        return Ranking(scores, np.concatenate(rounds)[::-1])


def eliminated(
    Z: NDArray[np.float64], machines: list[SquaredMachine], drop: float, one_by_one: int
) -> list[NDArray[np.intp]]:
    """Columns that leave in each round, the worst first; of equal ones the later column.

    Examples
    --------
    >>> Z = np.array([[-1.0, 0.3], [-2.0, -0.1], [1.0, 0.2], [2.0, -0.4]])
    >>> [one.tolist() for one in eliminated(Z, [SquaredMachine(np.sign(Z[:, 0]), 1.0)], 0.1, 8)]
    [[1], [0]]
    """
    left, rounds = np.arange(Z.shape[1]), list[NDArray[np.intp]]()
    starts: list[NDArray[np.float64] | None] = [None] * len(machines)
    update = begin("ranking")
    while len(left) > 1:
        part, squares = np.ascontiguousarray(Z[:, left]), np.zeros(len(left))
        for k, machine in enumerate(machines):
            starts[k] = found = machine.solve(part, starts[k])
            squares += np.square(found[:-1])
        at_once = max(1, min(int(drop * len(left)), len(left) - one_by_one))
        steps = np.round(squares / (SAME * max(float(squares.max()), TINY)))
        worst = np.lexsort((-left, steps))[:at_once]
        rounds.append(left[worst])
        left = np.delete(left, worst)
        starts = [None if one is None else np.delete(one, worst) for one in starts]
        update(Z.shape[1] - len(left), Z.shape[1])
    return [*rounds, left]

"""Support vector machines on a given kernel matrix, kept as plain arrays.

What the solver of the dual problem finds is kept in :class:`SVMHead`, which turns kernel values
between new rows and support rows into decisions.  Arrays only, so a model can be saved without
pickle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.losses import DualProblem, EpsilonInsensitive, Hinge
from kernelpath.mkl.svm.dual import solve_dual
from kernelpath.tables.rows import DistinctRows
from kernelpath.utils.archive_forms import REAL, Form
from kernelpath.utils.units import in_units, size_exponent

EPSILON = 0.1  # width of the tube of the SVR, in standard deviations of the target
CALIBRATION_FOLDS = 3
BELOW_BOUND = 1.0 - 1e-6
TOLERANCE = 1e-8  # of the decision value, so that rounding of the kernel makes no difference
GOOD_ENOUGH = 1e-6  # while settings are compared
FEWEST_STEPS, STEPS_PER_ROW = 10_000, 30  # at most, while settings are compared; most need 1 to 5


@dataclass(frozen=True)
class Task:
    """What is to be learned, and how rows and classes count.

    Attributes
    ----------
    kind : {"classification", "regression"}
    classes : ndarray or None
        Labels, sorted.
    class_weight : dict, "balanced" or None
    probability : bool
        Whether decisions are to be calibrated to probabilities.
    """

    kind: str
    classes: NDArray | None = None
    class_weight: Any = None
    probability: bool = False

    def codes(self, y: NDArray) -> NDArray:
        """Labels as positions in ``classes``; a continuous target as floats."""
        if self.classes is None:
            return np.asarray(y, dtype=np.float64)
        return np.searchsorted(self.classes, y)

    def code_weights(
        self, codes: NDArray, sample_weight: NDArray | None = None
    ) -> dict[int, float] | None:
        """``class_weight`` of the classes that are there, by their positions.

        ``"balanced"`` gives every class the same weight in all, those of its rows counted.

        Examples
        --------
        >>> task = Task("classification", np.array(["a", "b"]), "balanced")
        >>> task.code_weights(np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, 3.0]))
        {0: 1.0, 1: 1.0}
        """
        if self.class_weight is None or self.classes is None:
            return None
        totals = np.bincount(codes, sample_weight)
        present = np.flatnonzero(np.bincount(codes)).tolist()
        if isinstance(self.class_weight, str):
            mean = totals[present].mean()
            return {code: float(mean / totals[code]) for code in present}
        labels = self.classes.tolist()
        given = self.class_weight
        return {code: given[labels[code]] for code in present if labels[code] in given}

    def row_weights(self, codes: NDArray, sample_weight: NDArray | None) -> NDArray[np.float64]:
        """How much each row counts: its own weight times that of its class.

        Examples
        --------
        >>> task = Task("classification", np.array(["a", "b"]), {"b": 3.0})
        >>> task.row_weights(np.array([0, 1]), np.array([2.0, 2.0])).tolist()
        [2.0, 6.0]
        """
        own = np.ones(len(codes)) if sample_weight is None else sample_weight
        by_code = self.code_weights(codes, sample_weight)
        if by_code is None:
            return own
        return own * np.array([by_code.get(code, 1.0) for code in range(codes.max() + 1)])[codes]


@dataclass(frozen=True)
class SVMHead:
    r"""Decisions :math:`\sum_j \alpha_j k(x, x_j) + b` from kernel values, one per pair of classes.

    Attributes
    ----------
    support : ndarray of shape (n_support,)
        Training rows with a dual coefficient.
    dual_coef : ndarray of shape (n_pairs, n_support)
        Signed dual coefficients; each row sums to zero.
    intercept : ndarray of shape (n_pairs,)
    classes : ndarray or None
        Positions of the classes in the labels; None for regression.
    target : ndarray of shape (2,)
        Mean and scale of a continuous target.
    calibration : ndarray of shape (n_outputs, 1 + n_decisions) or None
        Logistic regression of the classes on the decisions, intercept first.
    """

    support: NDArray[np.intp]
    dual_coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    classes: NDArray[np.intp] | None
    target: NDArray[np.float64]
    calibration: NDArray[np.float64] | None = None

    #: What the arrays of a saved one must be; a model that serves a map has none.
    FORMS: ClassVar[dict[str, Form]] = {
        "dual_coef": Form(REAL, ("outputs", "rows"), optional=True),
        "intercept": Form(REAL, ("outputs",), optional=True),
        "target": Form(REAL, (2,), optional=True),
        "head_classes": Form("i8", ("classes",), low=0, optional=True),
        "calibration": Form(REAL, ("calibrated", "decisions + 1"), optional=True),
    }

    def pairs(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        """Decision of every pair of classes, from kernel values with the support rows."""
        return K @ self.dual_coef.T + self.intercept

    def decision(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        """Signed distance for two classes, votes refined by confidence for more."""
        pairs = self.pairs(K)
        if self.classes is None or len(self.classes) <= 2:
            return pairs[:, 0]
        votes, confidence = _votes(pairs, len(self.classes))
        return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))

    def predict(self, K: NDArray[np.float64]) -> NDArray:
        """Position of the class, or the value of a continuous target."""
        decision = self.decision(K)
        if self.classes is None:
            return self.target[0] + self.target[1] * decision
        if len(self.classes) == 2:
            return self.classes[(decision > 0).astype(np.intp)]
        return self.classes[decision.argmax(axis=1)]

    def proba(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        """Calibrated probability of every class."""
        assert self.calibration is not None
        return _probabilities(self.decision(K), self.calibration)

    def to_arrays(self) -> dict[str, NDArray]:
        """Arrays of a file."""
        arrays: dict[str, NDArray] = {
            "dual_coef": self.dual_coef,
            "intercept": self.intercept,
            "target": self.target,
        }
        if self.classes is not None:
            arrays["head_classes"] = self.classes
        if self.calibration is not None:
            arrays["calibration"] = self.calibration
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray], task: Task) -> Self | None:
        """The head again, None where there was none; a ValueError if it does not fit the task."""
        if "dual_coef" not in arrays:
            return None
        coef, classes = arrays["dual_coef"], arrays.get("head_classes")
        known = 0 if task.classes is None else len(task.classes)
        if (classes is None) != (task.classes is None):
            raise ValueError("the machine is for another task")
        if len(coef) != cls._n_outputs(classes):
            raise ValueError("the number of decisions does not fit the classes")
        if classes is not None and not (np.diff(classes) > 0).all():
            raise ValueError("the classes of the machine are not in order")
        if classes is not None and (len(classes) < 2 or classes[-1] >= known):
            raise ValueError("the classes of the machine are not those of the model")
        calibration = arrays.get("calibration")
        if calibration is not None:
            n_classes = 0 if classes is None else len(classes)
            shape = (1, 2) if n_classes == 2 else (n_classes, n_classes + 1)
            if classes is None or calibration.shape != shape:
                raise ValueError("the calibration does not fit the classes")
        support = np.arange(coef.shape[1])
        return cls(support, coef, arrays["intercept"], classes, arrays["target"], calibration)

    @staticmethod
    def _n_outputs(classes: NDArray | None) -> int:
        """Rows of the coefficients: one decision, or one for each pair of classes."""
        n = 0 if classes is None else len(classes)
        return 1 if n <= 2 else n * (n - 1) // 2


def fit_svm(
    K: NDArray[np.float64],
    y: NDArray,
    task: Task,
    *,
    C: float,
    sample_weight: NDArray | None = None,
    quick: bool = False,
) -> SVMHead:
    """Fit on a kernel matrix; ``y`` as ``task.codes`` gives it.

    ``quick`` is for settings that are only compared: a looser tolerance, and few steps.
    """
    if task.kind == "regression":
        return _fit_regression(K, y, C, sample_weight, quick)
    head = _fit_classes(K, y, task, C, sample_weight, quick)
    if not task.probability:
        return head
    return _calibrated(head, K, y, task, C, sample_weight, quick)


def fit_svms(
    K: NDArray[np.float64],
    y: NDArray,
    task: Task,
    values_of_C: Sequence[float],
    *,
    sample_weight: NDArray | None = None,
    quick: bool = False,
    rows: DistinctRows | None = None,
) -> dict[float, SVMHead]:
    """Fit for several values of ``C``, on ``rows`` that are the same as one if those are given.

    Where no dual coefficient reaches the bound, the solution is that of every larger ``C`` too
    and is not computed again: the hard margin, the rule rather than the exception with many
    features.
    """
    if rows is not None:
        first = rows.first
        heads = fit_svms(
            np.ascontiguousarray(K[np.ix_(first, first)]), y[first], task, values_of_C,
            sample_weight=rows.weight, quick=quick,
        )  # fmt: skip
        return {C: replace(head, support=first[head.support]) for C, head in heads.items()}
    heads = {}
    final: SVMHead | None = None
    for C in sorted(set(values_of_C)):
        if final is None:
            head = fit_svm(K, y, task, C=C, sample_weight=sample_weight, quick=quick)
            weighted = task.class_weight is not None or sample_weight is not None
            if not weighted and np.abs(head.dual_coef).max(initial=0.0) < BELOW_BOUND * C:
                final = head
        heads[C] = final if final is not None else head
    return heads


def standardised(
    y: NDArray[np.float64], sample_weight: NDArray | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A continuous target of mean 0 and variance 1, and its mean and scale.

    Examples
    --------
    >>> z, target = standardised(np.array([1e200, 3e200]), None)
    >>> z.tolist(), target.tolist()
    ([-1.0, 1.0], [2e+200, 1e+200])
    """
    unit = size_exponent(np.abs(y).max())
    y = in_units(y, unit)
    mean = np.average(y, weights=sample_weight)
    scale = np.sqrt(np.average(np.square(y - mean), weights=sample_weight)) or 1.0
    return (y - mean) / scale, in_units(np.array([mean, scale]), -unit)


def _fit_regression(
    K: NDArray, y: NDArray, C: float, sample_weight: NDArray | None, quick: bool
) -> SVMHead:
    z, target = standardised(y, sample_weight)
    u, bias = _solved(K, EpsilonInsensitive(C, EPSILON).dual(z, sample_weight), quick)
    support = np.flatnonzero(u)
    return SVMHead(support, u[None, support], np.array([bias]), None, target)


def _fit_classes(
    K: NDArray, y: NDArray, task: Task, C: float, sample_weight: NDArray | None, quick: bool
) -> SVMHead:
    """One machine for each pair of classes; a positive one speaks for the first of more than two.

    Of two it speaks for the second, as everywhere in scikit-learn.
    """
    weight = task.row_weights(y, sample_weight)
    classes = np.flatnonzero(np.bincount(y))
    loss = Hinge(C)
    if len(classes) == 2:
        u, bias = _solved(K, loss.dual(np.where(y == classes[1], 1.0, -1.0), weight), quick)
        coef, intercept = u[None], [bias]
    else:
        pairs = list(combinations(classes.tolist(), 2))
        coef, intercept = np.zeros((len(pairs), len(y))), []
        for row, (first, second) in zip(coef, pairs):
            own = np.flatnonzero((y == first) | (y == second))
            signs = np.where(y[own] == first, 1.0, -1.0)
            row[own], bias = _solved(K[np.ix_(own, own)], loss.dual(signs, weight[own]), quick)
            intercept.append(bias)
    support = np.flatnonzero(coef.any(axis=0))
    packed = np.ascontiguousarray(coef[:, support])
    return SVMHead(support, packed, np.array(intercept), classes, np.array([0.0, 1.0]))


def _solved(
    K: NDArray[np.float64], problem: DualProblem, quick: bool
) -> tuple[NDArray[np.float64], float]:
    """Dual coefficients and bias: as exact as rounding deserves, or good enough to compare."""
    if quick:
        most = max(FEWEST_STEPS, STEPS_PER_ROW * len(K))
        found = solve_dual(K, problem, tol=GOOD_ENOUGH, max_steps=most)
    else:
        found = solve_dual(K, problem, tol=TOLERANCE)
    return found.u, found.bias


def _votes(
    pairs: NDArray[np.float64], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Votes and summed confidence of every class; a positive pair speaks for its first class."""
    votes = np.zeros((len(pairs), n_classes))
    confidence = np.zeros_like(votes)
    pair = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            value = pairs[:, pair]
            first = value >= 0
            votes[:, i] += first
            votes[:, j] += ~first
            confidence[:, i] += value
            confidence[:, j] -= value
            pair += 1
    return votes, confidence


# -- calibration ----------------------------------------------------------------------------------


def _calibrated(
    head: SVMHead,
    K: NDArray,
    y: NDArray,
    task: Task,
    C: float,
    sample_weight: NDArray | None,
    quick: bool,
) -> SVMHead:
    """Logistic regression of the classes on decisions of rows held out in turn."""
    from sklearn.model_selection import StratifiedKFold

    assert head.classes is not None
    smallest = int(np.bincount(np.searchsorted(head.classes, y)).min())
    folds = min(CALIBRATION_FOLDS, smallest)
    if folds < 2:
        own = head.decision(K[:, head.support])
        return replace(head, calibration=calibrate(own, y, sample_weight))
    decisions: list[NDArray] = []
    rows: list[NDArray] = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(y, y):
        weights = None if sample_weight is None else sample_weight[train]
        part = _fit_classes(K[np.ix_(train, train)], y[train], task, C, weights, quick)
        decisions.append(part.decision(K[np.ix_(test, train[part.support])]))
        rows.append(test)
    order = np.concatenate(rows)
    weights = None if sample_weight is None else sample_weight[order]
    return replace(head, calibration=calibrate(np.concatenate(decisions), y[order], weights))


def calibrate(
    decisions: NDArray[np.float64], y: NDArray, sample_weight: NDArray | None = None
) -> NDArray[np.float64]:
    """Coefficients of a logistic regression, intercept first (Platt scaling for two classes)."""
    from sklearn.linear_model import LogisticRegression

    flat = decisions[:, None] if decisions.ndim == 1 else decisions
    model = LogisticRegression(max_iter=1000).fit(flat, y, sample_weight=sample_weight)
    return np.column_stack([model.intercept_, model.coef_])


def _probabilities(
    decisions: NDArray[np.float64], calibration: NDArray[np.float64]
) -> NDArray[np.float64]:
    from scipy.special import expit, softmax

    flat = decisions[:, None] if decisions.ndim == 1 else decisions
    logits = flat @ calibration[:, 1:].T + calibration[:, 0]
    if logits.shape[1] == 1:
        second = expit(logits[:, 0])
        return np.column_stack([1.0 - second, second])
    return softmax(logits, axis=1)

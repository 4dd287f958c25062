"""What must not change an answer: the order of rows and columns, names, units, ways to say it.

Each estimator is fitted on a table and on the same table said in another way; what it found has
to agree up to the tolerance that is stated for it, relative to its largest number.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

import kernelpath as kp
from hardening.tally import Tally

CLASSES, NUMBERS = "classes", "numbers"
LONG_SHAPES, SHORT_SHAPES = ((50, 6), (80, 12), (35, 3)), ((40, 4),)
LONG_SEEDS = 6
EQUAL, STATIONARY = "equal", "another stationary point, as good to a thousandth"
QUICK = {"norm_budget": 0.3, "search_branches": False}
ROUNDING, SOLVER = 1e-9, 1e-5  # closed formulas, and problems that are solved to a tolerance


@dataclass(frozen=True)
class Subject:
    """An estimator, its task and how far its answers may be apart."""

    title: str
    make: Callable[[], Any]
    task: str
    tol: float
    weights: bool = False
    jobs: bool = False
    convex: bool = True  # otherwise rounding may lead to another stationary point


SUBJECTS = (
    Subject("LpKTA, classes", kp.LpKTASelector, CLASSES, ROUNDING, True, True),
    Subject("LpKTA, numbers", kp.LpKTASelector, NUMBERS, ROUNDING, True, True),
    Subject("GMKL, classes", lambda: kp.GMKLClassifier(tol=1e-8), CLASSES, 1e-4, True),
    Subject("GMKL, numbers", lambda: kp.GMKLRegressor(tol=1e-8), NUMBERS, 1e-4, True),
    Subject(
        "GMKL, product",
        lambda: kp.GMKLClassifier("product", tol=1e-8),
        CLASSES,
        1e-3,
        True,
        convex=False,
    ),
    Subject("joint, classes", lambda: kp.JointPathSelector(2), CLASSES, ROUNDING),
    Subject("joint, numbers", lambda: kp.JointPathSelector(2), NUMBERS, ROUNDING),
    Subject("NMMKL, classes", lambda: kp.NMMKLSelector(2), CLASSES, ROUNDING),
    Subject("NMMKL, numbers", lambda: kp.NMMKLSelector(2), NUMBERS, ROUNDING),
    Subject("L1KR, numbers", lambda: kp.L1KRRegressor(**QUICK), NUMBERS, SOLVER),
    Subject("L1KR, classes", lambda: kp.L1KRClassifier(**QUICK), CLASSES, SOLVER),
    Subject("Fisher", kp.baselines.Fisher, CLASSES, ROUNDING),
    Subject("GiniIndex", kp.baselines.GiniIndex, CLASSES, ROUNDING),
    Subject("InformationGain", kp.baselines.InformationGain, CLASSES, ROUNDING),
    Subject("KruskalWallis", kp.baselines.KruskalWallis, CLASSES, ROUNDING),
    Subject("MRMR, classes", kp.baselines.MRMR, CLASSES, ROUNDING),
    Subject("MRMR, numbers", lambda: kp.baselines.MRMR(criterion="fcq"), NUMBERS, ROUNDING),
    Subject("ReliefF, classes", kp.baselines.ReliefF, CLASSES, ROUNDING),
    Subject("ReliefF, numbers", kp.baselines.ReliefF, NUMBERS, ROUNDING),
    Subject("Spectral, classes", kp.baselines.Spectral, CLASSES, ROUNDING),
    Subject("Spectral, numbers", kp.baselines.Spectral, NUMBERS, ROUNDING),
    Subject("ForwardStepwise", kp.baselines.ForwardStepwise, NUMBERS, ROUNDING),
    Subject("BAHSIC", kp.baselines.BAHSIC, CLASSES, ROUNDING),
    Subject("HSICLasso, classes", kp.baselines.HSICLasso, CLASSES, SOLVER),
    Subject("HSICLasso, numbers", kp.baselines.HSICLasso, NUMBERS, SOLVER),
    Subject("HKL, classes", kp.baselines.HKL, CLASSES, SOLVER),
    Subject("HKL, numbers", kp.baselines.HKL, NUMBERS, SOLVER),
    Subject("FSV", kp.baselines.FSV, CLASSES, SOLVER),
    Subject("L0Approximation", kp.baselines.L0Approximation, CLASSES, SOLVER),
    Subject("L1SVM", kp.baselines.L1SVM, CLASSES, 1e-3),
    Subject("LassoLW", kp.baselines.LassoLW, NUMBERS, SOLVER),
    Subject("R2W2", kp.baselines.R2W2, CLASSES, 1e-3),
    Subject("SVMLW", kp.baselines.SVMLW, CLASSES, 1e-3),
    Subject("SVRLW", kp.baselines.SVRLW, NUMBERS, 1e-3),
)


@dataclass(frozen=True)
class Data:
    """A table, a target and weights of the rows."""

    X: Any
    y: Any
    weight: Any = None

    def rows(self, taken: Any) -> Data:
        """Some of the rows, as often as they are named."""
        weight = None if self.weight is None else self.weight[taken]
        return Data(self.X[taken], self.y[taken], weight)


def make(shape: tuple[int, int], task: str, seed: int) -> Data:
    """Columns in several units, two of which matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * 10.0 ** rng.integers(-2, 3, shape[1])
    Z = X / X.std(axis=0)
    noise = 0.3 * rng.normal(size=shape[0])
    value = np.square(Z[:, 0]) + Z[:, 1] + noise
    y = value if task == NUMBERS else np.where(value > np.median(value), 1, 0)
    return Data(X, y)


def found(subject: Subject, data: Data, **settings: Any) -> tuple[np.ndarray, Any]:
    """What an estimator says about every column, as one vector, and the estimator."""
    model = clone(subject.make()).set_params(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = {} if data.weight is None else {"sample_weight": data.weight}
        model.fit(data.X, data.y, **weighted)
    for name in ("feature_importances_", "alignments_", "relaxed_weights_", "scores_"):
        if hasattr(model, name):
            says = np.asarray(getattr(model, name), dtype=float)
            break
    else:
        says = np.asarray(model.weights_, dtype=float)
    if name == "relaxed_weights_":  # ties of a choice are solved to a tolerance
        says = model.support_.astype(float)
    return says, model


# -- the same, said in another way ----------------------------------------------------------------


def ways(subject: Subject, data: Data, rng: Any) -> Iterator[tuple[str, Data, Any, dict]]:
    """Title, the table in another way, order of its columns, settings."""
    n, d = data.X.shape
    same = np.arange(d)
    yield "order of rows", data.rows(rng.permutation(n)), same, {}
    columns = rng.permutation(d)
    yield "order of columns", Data(data.X[:, columns], data.y), columns, {}
    if subject.task == CLASSES:
        yield "names of labels", Data(data.X, np.array(["no", "yes"])[data.y]), same, {}
    else:
        yield "scale of the target", Data(data.X, 1000.0 * data.y + 7.0), same, {}
    yield "scale of columns", Data(data.X * 10.0 ** rng.integers(-3, 3, d), data.y), same, {}
    size = data.X.std(axis=0)
    yield "offset of 1e6", Data(data.X + 1e6 * size, data.y), same, {}
    yield "sparse table", Data(sparse.csr_array(data.X), data.y), same, {}
    if subject.jobs:
        yield "two jobs", data, same, {"n_jobs": 2}


def weighted_ways(data: Data, rng: Any) -> Iterator[tuple[str, Data, Data]]:
    """Pairs of tables that are the same: with weights, and without."""
    n = len(data.y)
    weight = rng.integers(0, 4, n).astype(float)
    given = Data(data.X, data.y, weight)
    yield (
        "repeated rows",
        given,
        data.rows(rng.permutation(np.repeat(np.arange(n), weight.astype(int)))),
    )
    blown = data.X.copy()
    blown[weight == 0] *= 1000.0
    left = np.flatnonzero(weight > 0)
    yield "rows of weight 0", Data(blown, data.y, weight), given.rows(left)
    yield (
        "weights of 3",
        Data(data.X, data.y, np.full(n, 3.0)),
        data.rows(np.repeat(np.arange(n), 3)),
    )


def distance(first: Any, second: Any) -> float:
    """Largest difference, relative to the largest number."""
    return float(np.abs(first - second).max() / max(np.abs(first).max(), 1e-300))


def verdict(subject: Subject, apart: float, tol: float, first: Any, second: Any) -> str:
    """Outcome of one comparison of two fitted estimators."""
    if apart <= tol:
        return EQUAL
    solved = not subject.convex and {first.status_, second.status_} == {"converged"}
    if solved and abs(first.objective_ / second.objective_ - 1.0) <= 1e-3:
        return STATIONARY
    return f"apart by {apart:.1e}"


def of_estimators(long: bool, seed: int) -> list[Tally]:
    """All estimators but PathCV."""
    tallies = []
    shapes = LONG_SHAPES if long else SHORT_SHAPES
    for subject in SUBJECTS:
        tally = Tally(f"invariances of {subject.title} (to {subject.tol:g})", (EQUAL, STATIONARY))
        for trial in range(seed, seed + (LONG_SEEDS if long else 1)):
            for shape in shapes:
                data, rng = make(shape, subject.task, trial), np.random.default_rng(trial)
                plain, model = found(subject, data)
                case = f"seed {trial}, shape {shape}"
                for what, other, columns, settings in ways(subject, data, rng):
                    says, again = found(subject, other, **settings)
                    # An offset of a million standard deviations costs six digits.
                    tol = max(subject.tol, 1e-6) if what == "offset of 1e6" else subject.tol
                    apart = distance(plain[columns], says)
                    tally.add(verdict(subject, apart, tol, model, again), f"{what}, {case}")
                for what, one, other in weighted_ways(data, rng) if subject.weights else ():
                    (says, first), (twin, again) = found(subject, one), found(subject, other)
                    apart = distance(says, twin)
                    tally.add(verdict(subject, apart, subject.tol, first, again), f"{what}, {case}")
        tallies.append(tally)
    return tallies


# -- cross-validation -----------------------------------------------------------------------------


def of_cross_validation(long: bool, seed: int) -> list[Tally]:
    """PathCV: jobs, and rows and columns in another order with the same folds."""
    tallies = []
    for task in (CLASSES, NUMBERS):
        tally = Tally(f"invariances of PathCV, {task} (scores to 1e-3)", (EQUAL,))
        for trial in range(seed, seed + (LONG_SEEDS if long else 1)):
            data, rng = make((60, 5), task, trial), np.random.default_rng(trial)
            fold, case = rng.permutation(np.arange(60) % 3), f"seed {trial}"
            splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
            settings = {"predictor": kp.WeightedKernelSVM(C=1.0)}
            plain = _outcome(data, splits, settings)
            order, columns = rng.permutation(60), rng.permutation(5)
            place = np.argsort(order)
            moved = [(place[train], place[test]) for train, test in splits]
            others = {
                "order of rows": (data.rows(order), moved, {}),
                "order of columns": (Data(data.X[:, columns], data.y), splits, {}),
                "two jobs": (data, splits, {"n_jobs": 2}),
                "sparse table": (Data(sparse.csr_array(data.X), data.y), splits, {}),
                "weights of 1": (Data(data.X, data.y, np.ones(60)), splits, {}),
            }
            for what, (other, folds, more) in others.items():
                apart = distance(plain, _outcome(other, folds, settings | more))
                tally.add(EQUAL if apart <= 1e-3 else f"apart by {apart:.1e}", f"{what}, {case}")
        tallies.append(tally)
    return tallies


def _outcome(data: Data, splits: Any, settings: dict[str, Any]) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kp.PathCV(cv=splits, n_features=[1, 2, 3], **settings, references=False)
        model.fit(data.X, data.y, sample_weight=data.weight)
    return model.scores_.per_fold


def trials(long: bool, seed: int) -> list[Tally]:
    """All of them."""
    return of_estimators(long, seed) + of_cross_validation(long, seed)

"""Which method finds what: simulated tables with known answers, and what the guides say of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import kernelpath as kp
from common import Report
from kernelpath.catalogue import method

DRAWS = 5
METHODS = ("lp-kta", "nmmkl", "gmkl", "gmkl-product", "l1kr", "f-test", "forest")
Table = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """A table, how many features its answer has, and whether a choice is that answer."""

    words: str
    make: Callable[[int], Table]
    size: int
    right: Callable[[set[int]], bool]


def one_by_one(seed: int) -> Table:
    """A straight line, a band and a wave, each by itself."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 30))
    signal = X[:, 0] + 1.5 * (np.abs(X[:, 1]) - 0.8) + np.cos(2.5 * X[:, 2])
    return X, np.where(signal + 0.5 * rng.normal(size=300) > np.median(signal), 1, -1)


def copies(seed: int) -> Table:
    """Column 0 and five near copies of it, and a weaker column 6."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 30))
    X[:, 1:6] = X[:, [0]] + 0.2 * X[:, 1:6]
    signal = X[:, 0] + 0.7 * X[:, 6]
    return X, np.where(signal + 0.3 * rng.normal(size=300) > 0, 1, -1)


def cancelling(seed: int) -> Table:
    """Column 2 is the best one; columns 0 and 1 are the best two, as their noise cancels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 30))
    y = np.where(rng.random(300) < 0.5, -1, 1)
    e, f, g = rng.normal(size=(3, 300))
    X[:, :3] = np.column_stack([1.1 * y + e, 1.1 * y - e + 0.4 * f, 1.55 * y + g])
    return X, y


def together(seed: int) -> Table:
    """The sign of the product of two columns, neither of which says anything by itself."""
    data = kp.datasets.make_xor(n_samples=300, n_features=30, order=2, random_state=seed)
    X = np.asarray(data.X)
    others = np.setdiff1d(np.arange(30), data.relevant)
    return X[:, [*np.asarray(data.relevant), *others]], np.asarray(data.y)


PROBLEMS = (
    Problem("a line, a band and a wave, one feature each", one_by_one, 3, lambda s: s == {0, 1, 2}),
    Problem("five near copies of one, and a weaker one", copies, 2,
            lambda s: 6 in s and bool(s & set(range(6)))),
    Problem("two whose noise cancels", cancelling, 2, lambda s: s == {0, 1}),
    Problem("two that count together only", together, 2, lambda s: s == {0, 1}),
)  # fmt: skip


def chosen(name: str, X: np.ndarray, y: np.ndarray, size: int) -> set[int]:
    """The heaviest features of the smallest point with enough of them."""
    path = method(name).selector("classification", [size]).fit(X, y).path_
    enough = np.flatnonzero(path.n_selected >= size)
    if len(enough) == 0:
        return set()
    point = path[int(enough[np.argmin(path.n_selected[enough])])]
    weights = np.where(point.support, point.weights, -1.0)
    return set(np.argsort(-weights, kind="stable")[:size].tolist())


def found(report: Report) -> None:
    spent: dict[str, list[float]] = {name: [] for name in METHODS}
    for problem in PROBLEMS:
        for name in METHODS:
            right = 0
            for seed in range(DRAWS):
                X, y = problem.make(seed)
                start = time.process_time()
                right += problem.right(chosen(name, X, y, problem.size))
                spent[name].append(time.process_time() - start)
            report.add(f"{problem.words}: {name}", f"{right} of {DRAWS}", "no bar", None)
    seconds = ", ".join(f"{name} {np.median(spent[name]):.2g} s" for name in METHODS)
    report.note(f"300 rows, 30 columns; CPU time of a fit, median: {seconds}")


def in_front(report: Report) -> None:
    """Boosting on all columns, and behind a selector inside the folds."""
    data = kp.datasets.make_wide(n_samples=500, n_features=2000, random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    boosting = HistGradientBoostingClassifier(random_state=0)
    ways = {
        "all 2,000 columns": boosting,
        "12 columns by lp-KTA": make_pipeline(
            kp.LpKTASelector(n_features_to_select=12), HistGradientBoostingClassifier(random_state=0)
        ),
    }
    for words, model in ways.items():
        start = time.process_time()
        scores = cross_val_score(model, data.X, data.y, cv=folds)
        spent = time.process_time() - start
        what = f"make_wide 500 x 2,000, five folds, boosting on {words}: accuracy"
        report.add(what, f"{scores.mean():.3f} +- {scores.std(ddof=1) / 5**0.5:.3f}", "no bar", None)
        report.note(f"boosting on {words}: {spent:.1f} s of CPU for the five folds")


def rare(report: Report) -> None:
    """One class of about 6 %: what class weights change, on rows held out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    signal = X[:, 0] + np.abs(X[:, 1])
    y = signal + 0.7 * rng.normal(size=3000)
    y = (y > np.quantile(y, 0.94)).astype(int)
    train, test = slice(0, 1500), slice(1500, 3000)
    report.note(f"rare class: {np.mean(y):.1%} of 3,000 rows, half of them held out")
    measures = ("accuracy", "balanced_accuracy", "recall")
    for weights in (None, "balanced"):
        model = kp.PathCV(
            kp.LpKTASelector(), n_features=[2], class_weight=weights, scoring="accuracy",
            predictor="weighted_kernel", cv=3,
        ).fit(X[train], y[train])  # fmt: skip
        values = [f"{get_scorer(name)(model, X[test], y[test]):.3f}" for name in measures]
        words = ", ".join(name.replace("_", " ") for name in measures)
        what = f"rare class of 6 %, class_weight={weights!r}: {words}"
        report.add(what, ", ".join(values), "no bar", None)


def main() -> None:
    report = Report("which_method", "Which method finds what")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found(report)
        in_front(report)
        rare(report)
    report.save()


if __name__ == "__main__":
    main()

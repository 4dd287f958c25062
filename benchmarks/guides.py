"""Numbers of the guides: a selector in front of another model, and rare classes."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import kernelpath as kp
from common import Report


def in_front(report: Report) -> None:
    """Boosting on all columns, and behind a selector inside the folds."""
    data = kp.datasets.make_wide(n_samples=500, n_features=2000, random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    boosting = HistGradientBoostingClassifier(random_state=0)
    ways = {
        "all 2,000 columns": boosting,
        "12 columns by lp-KTA": make_pipeline(
            kp.LpKTASelector(n_features_to_select=12),
            HistGradientBoostingClassifier(random_state=0),
        ),
    }
    for words, model in ways.items():
        start = time.process_time()
        scores = cross_val_score(model, data.X, data.y, cv=folds)
        spent = time.process_time() - start
        what = f"make_wide 500 x 2,000, five folds, boosting on {words}: accuracy"
        report.add(
            what, f"{scores.mean():.3f} +- {scores.std(ddof=1) / 5**0.5:.3f}", "no bar", None
        )
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
    report = Report("guides", "A selector in front of another model, and rare classes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_front(report)
        rare(report)
    report.save()


if __name__ == "__main__":
    main()

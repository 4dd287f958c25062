"""The classical filters beside scikit-learn, SciPy, skrebate and mrmr-selection, by turns.

    python benchmarks/filters.py

Of skrebate and mrmr-selection, what is absent is left out, which a note says.  Own times are those
of whole fits, unless said otherwise: reading, standardising, ranking, and the path with the hash of
the table.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy

import numpy as np  # noqa: E402
from scipy import sparse, stats  # noqa: E402
from sklearn.feature_selection import SelectKBest, chi2, mutual_info_classif  # noqa: E402
from sklearn.preprocessing import KBinsDiscretizer  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

import kernelpath as kp  # noqa: E402
from common import Report, alternating, cpu_time  # noqa: E402
from kernelpath.baselines.chi_square import chi_squares  # noqa: E402
from kernelpath.tables.table import as_column_table  # noqa: E402

BUDGET = 20
FIVE, ONE = 5.0, 1.0


def have(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def table(n: int, d: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, classes and numbers: five columns matter, and some are much alike."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[:, d // 2 :] += 0.7 * X[:, : d - d // 2]
    numbers = X[:, :5] @ np.array([2.0, -1.5, 1.0, 1.0, 0.5]) + rng.normal(size=n)
    edges = np.quantile(numbers, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.digitize(numbers, edges), numbers


def beside(
    report: Report,
    what: str,
    own: Callable[[], Any],
    other: Callable[[], Any],
    bar: float | None,
    repeats: int = 3,
) -> None:
    """Add the time of the other relative to ours; without a bar where both do not do the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = alternating({"own": own, "other": other}, repeats)
    ratio = times["other"] / times["own"]
    shown = f"{ratio:.2f}x as fast" if ratio < 10 else f"{ratio:.0f}x as fast"
    report.add(what, shown, f">= {bar:g}x" if bar else "no bar", ratio >= bar if bar else None)
    report.note(f"{what}: {1e3 * times['own']:.1f} ms, the other {1e3 * times['other']:.1f} ms")


def relief(report: Report) -> None:
    if not have("skrebate"):
        report.note("skrebate is not here: the comparison of ReliefF was left out")
        return
    from skrebate import ReliefF

    for n, d, n_classes in ((300, 50, 2), (600, 200, 2), (600, 100, 4), (300, 50, 0)):
        X, y, numbers = table(n, d, max(n_classes, 2))
        kind = f"{n_classes} classes" if n_classes else "numbers"
        target = y if n_classes else numbers
        other = ReliefF(n_neighbors=10, n_jobs=1)
        own = kp.baselines.ReliefF(BUDGET)
        beside(
            report, f"ReliefF, {n} x {d}, {kind}, against skrebate",
            lambda own=own, X=X, t=target: own.fit(X, t),
            lambda other=other, X=X, t=target: other.fit(X, t), FIVE if n_classes else None,
            repeats=1,
        )  # fmt: skip
        alike = stats.spearmanr(own.weights_, other.feature_importances_).statistic
        report.note(f"the same table: rank correlation with the weights of skrebate {alike:.3f}")
    report.note(
        "for numbers skrebate has a method of its own, by hits and misses within one standard "
        "deviation of the target: no bar"
    )


def redundancy(report: Report) -> None:
    X, y, numbers = table(2000, 500, 3)
    if not have("mrmr"):
        report.note("mrmr-selection is not here: the comparison of mRMR was left out")
        return
    import pandas as pd
    from mrmr import mrmr_classif, mrmr_regression

    frame = pd.DataFrame(X).rename(columns=str)
    for kind, target, select in (
        ("3 classes", y, mrmr_classif), ("numbers", numbers, mrmr_regression),
    ):  # fmt: skip
        own = kp.baselines.MRMR(BUDGET, criterion="fcq")
        series, found = pd.Series(target), {}

        def other(select=select, series=series, found=found):
            found["order"] = select(frame, series, K=BUDGET, n_jobs=1, show_progress=False)

        for criterion in ("fcq", "mid"):
            model = own if criterion == "fcq" else kp.baselines.MRMR(BUDGET)
            beside(
                report, f"mRMR {criterion}, 2,000 x 500, {BUDGET} features, {kind}, against "
                "mrmr-selection (fcq)", lambda model=model, t=target: model.fit(frame, t), other,
                FIVE if criterion == "fcq" else None, repeats=1,
            )  # fmt: skip
        names = frame.columns[np.argsort(own.ranking_, kind="stable")[:BUDGET]].tolist()
        same = sum(a == b for a, b in zip(names, found["order"]))
        report.note(f"mRMR fcq, {kind}: {same} of {BUDGET} features in the same places")


def one_by_one(report: Report) -> None:
    X, y, _ = table(2000, 300, 3)
    groups = [np.flatnonzero(y == k) for k in range(3)]
    beside(
        report, "information gain (mdl), 2,000 x 300, 3 classes, against mutual_info_classif",
        lambda: kp.baselines.InformationGain(BUDGET).fit(X, y),
        lambda: mutual_info_classif(X, y, random_state=0), ONE, repeats=1,
    )  # fmt: skip
    bins = KBinsDiscretizer(10, encode="ordinal", quantile_method="averaged_inverted_cdf")
    beside(
        report, "information gain (quantile), the same table, against KBinsDiscretizer and "
        "mutual_info_classif",
        lambda: kp.baselines.InformationGain(BUDGET, discretization="quantile").fit(X, y),
        lambda: mutual_info_classif(bins.fit_transform(X), y, discrete_features=True), ONE,
    )  # fmt: skip
    beside(
        report, "Gini index, the same table, against a tree of one cut",
        lambda: kp.baselines.GiniIndex(BUDGET).fit(X, y),
        lambda: DecisionTreeClassifier(max_depth=1).fit(X, y), ONE,
    )  # fmt: skip
    beside(
        report, "Kruskal-Wallis, the same table, against scipy.stats.kruskal",
        lambda: kp.baselines.KruskalWallis(BUDGET).fit(X, y),
        lambda: stats.kruskal(*(X[rows] for rows in groups)), ONE,
    )  # fmt: skip


def counts(report: Report) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 5000)
    words = sparse.random_array((5000, 20_000), density=0.005, rng=rng, format="csr")
    words.data = np.ceil(5 * words.data)
    dense = rng.poisson(1.0, size=(5000, 400)).astype(float)
    for label, X in (("sparse, 5,000 x 20,000", words), ("dense, 5,000 x 400", dense)):
        beside(
            report, f"chi-square, {label}, the statistic alone, against chi2",
            lambda X=X: chi_squares(X, y), lambda X=X: chi2(X, y), ONE, repeats=9,
        )  # fmt: skip
        beside(
            report, f"chi-square, {label}, whole fit, against SelectKBest(chi2)",
            lambda X=X: kp.baselines.ChiSquare(BUDGET).fit(X, y),
            lambda X=X: SelectKBest(chi2, k=BUDGET).fit(X, y), ONE,
        )  # fmt: skip
        hashing = cpu_time(lambda X=X: as_column_table(X).fingerprint(y))
        report.note(f"the hash of that table, which every path keeps: {1e3 * hashing:.1f} ms")


def main() -> None:
    report = Report("filters", "Classical filters")
    print(report.title)
    relief(report)
    redundancy(report)
    one_by_one(report)
    counts(report)
    report.save()


if __name__ == "__main__":
    main()

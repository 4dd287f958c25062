"""The joint path: what it takes, Madelon's twenty columns, and interactions beside other rankings.

    python benchmarks/joint.py

XOR: the class is the sign of a product of uniform columns; found means that the columns of the
product are the first ones of the order.  Madelon's relevant columns are those that are linear
combinations of each other: the only ones that are correlated.  Real tables: mean accuracy of the
same RBF-SVM on rows left out, at seven numbers of features of each order.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy

import numpy as np  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.model_selection import GridSearchCV, train_test_split  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

import common  # noqa: E402
import kernelpath as kp  # noqa: E402

ROWS, COLUMNS, BAR_SECONDS = 600, 500, 10.0
MADELON_SPLITS, PLACES, BAR_COUNTS = (20, 21, 22), (5, 10, 15, 20), (5, 10, 15, 18)
WIDTHS, WIDE_ROWS, WIDE_DRAWS = (8, 32, 128, 512, 1024), 1000, 4
TRIPLE_DRAWS, TRIPLE_ROWS, TRIPLE_COLUMNS, BAR_TRIPLES = 10, 300, 50, 9
TREES = 500
TABLES = {"sonar": 145, "usps_ssl": 300, "coil2_ssl": 300, "ionosphere": 245, "bci": 280}
SIZES, TABLE_SPLITS, MOST_HELD_OUT = (2, 3, 5, 8, 10, 15, 20), (20, 21), 600
Order = Callable[[np.ndarray, np.ndarray], np.ndarray]


def joint(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Columns in the order of the joint path."""
    return kp.JointPathSelector().fit(X, y).order_


def anova(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same with the other kernel."""
    return kp.JointPathSelector(kernel="anova").fit(X, y).order_


def forest(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Columns by importance in a random forest."""
    model = RandomForestClassifier(TREES, random_state=0).fit(X, y)
    return np.argsort(-model.feature_importances_, kind="stable")


def lp_kta(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Columns in the order of lp-KTA."""
    return kp.LpKTASelector().fit(X, y).path_.entry_order()


JOINT = "joint path"
ORDERS: dict[str, Order] = {JOINT: joint, "forest": forest, "lp-KTA": lp_kta}


def cost(report: common.Report) -> None:
    """CPU time of one fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=ROWS) > 0
    joint(X[:50, :20], y[:50])
    start = time.process_time()
    joint(X, y)
    spent = time.process_time() - start
    report.add(
        f"{ROWS} rows, {COLUMNS} columns, whole path", f"{spent:.1f} s",
        f"<= {BAR_SECONDS:.0f} s", spent <= BAR_SECONDS,
    )  # fmt: skip


def madelon(report: common.Report) -> None:
    """Relevant columns among the first ones, of some of the rows."""
    held = common.load_shared("madelon")
    if held is None:
        return
    X, y = held
    correlated = np.abs(np.corrcoef(X.T)) - np.eye(X.shape[1])
    relevant = (correlated > 0.5).any(axis=0)
    for split in MADELON_SPLITS:
        rows, _ = train_test_split(
            np.arange(len(y)), train_size=ROWS, stratify=y, random_state=split
        )
        start = time.process_time()
        found = np.cumsum(relevant[joint(X[rows], y[rows])])
        spent = time.process_time() - start
        counts = [int(found[k - 1]) for k in PLACES]
        report.add(
            f"Madelon, {ROWS} rows (draw {split}): of its {int(relevant.sum())} relevant columns "
            f"among the first {', '.join(map(str, PLACES))}",
            f"{', '.join(map(str, counts))} ({spent:.1f} s)",
            f">= {', '.join(map(str, BAR_COUNTS))}",
            all(count >= bar for count, bar in zip(counts, BAR_COUNTS)),
        )


def product(rows: int, columns: int, order: int, seed: int, normal: bool = False) -> tuple:
    """A table whose class is the sign of the product of its first columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) if normal else rng.uniform(-1, 1, size=(rows, columns))
    return X, X[:, :order].prod(axis=1) > 0


def shares(order: int, draws: list[tuple]) -> dict[str, int]:
    """In how many draws each method has the columns of the product first."""
    return {
        name: sum(set(rank(X, y)[:order].tolist()) == set(range(order)) for X, y in draws)
        for name, rank in ORDERS.items()
    }


def others(found: dict[str, int]) -> str:
    """What the other methods found."""
    return ", ".join(f"{name} {found[name]}" for name in ORDERS if name != JOINT)


def pairs(report: common.Report) -> None:
    """Products of two columns among more and more."""
    for columns in WIDTHS:
        draws = [product(WIDE_ROWS, columns, 2, seed) for seed in range(WIDE_DRAWS)]
        found = shares(2, draws)
        report.add(
            f"XOR of 2 among {columns:,}, {WIDE_ROWS:,} rows of which 600 take part: found in",
            f"{found[JOINT]} of {WIDE_DRAWS} draws; {others(found)}",
            f"{WIDE_DRAWS} of {WIDE_DRAWS}", found[JOINT] == WIDE_DRAWS,
        )  # fmt: skip


def triples(report: common.Report) -> None:
    """Products of three columns."""
    for normal in (False, True):
        draws = [
            product(TRIPLE_ROWS, TRIPLE_COLUMNS, 3, seed, normal) for seed in range(TRIPLE_DRAWS)
        ]
        found = shares(3, draws)
        kind = "normal" if normal else "uniform"
        report.add(
            f"XOR of 3 among {TRIPLE_COLUMNS} {kind} columns, {TRIPLE_ROWS} rows: found in",
            f"{found[JOINT]} of {TRIPLE_DRAWS} draws; {others(found)}",
            "" if normal else f">= {BAR_TRIPLES} of {TRIPLE_DRAWS}",
            None if normal else found[JOINT] >= BAR_TRIPLES,
        )


def area(order: np.ndarray, train: tuple, test: tuple) -> float:
    """Mean accuracy over the sizes, in percent."""
    scores = []
    for k in SIZES:
        grid = {"gamma": [0.25 / k, 1 / k, 4 / k], "C": [1, 10, 100]}
        model = GridSearchCV(SVC(), grid, cv=3).fit(train[0][:, order[:k]], train[1])
        scores.append(100 * model.score(test[0][:, order[:k]], test[1]))
    return float(np.mean(scores))


def tables(report: common.Report) -> None:
    """The same refit of several orders on real tables."""
    ranks = {**ORDERS, "anova kernel": anova}
    for name, rows in TABLES.items():
        held = common.load_shared(name)
        if held is None:
            continue
        X, y = held
        areas: dict[str, list[float]] = {method: [] for method in ranks}
        for split in TABLE_SPLITS:
            train, test = train_test_split(
                np.arange(len(y)), train_size=rows, stratify=y, random_state=split
            )
            test = test[:MOST_HELD_OUT]
            scaler = StandardScaler().fit(X[train])
            Z = scaler.transform(X)[:, X[train].std(axis=0) > 0]
            for method, rank in ranks.items():
                order = rank(Z[train], y[train])
                areas[method].append(area(order, (Z[train], y[train]), (Z[test], y[test])))
        mean = {method: float(np.mean(values)) for method, values in areas.items()}
        rivals = ", ".join(f"{method} {mean[method]:.1f}" for method in ranks if method != JOINT)
        report.add(
            f"{name}, {rows} rows: mean accuracy at {', '.join(map(str, SIZES))} features (%)",
            f"{mean[JOINT]:.1f}; {rivals}", "", None,
        )  # fmt: skip


def main() -> None:
    """Measure, print and write down."""
    report = common.Report("joint", "The joint path")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Of .* rows .* take part")  # said in the table
        for part in (cost, madelon, pairs, triples, tables):
            part(report)
    report.note(
        f"Default settings; the forest has {TREES} trees. A normal column has most of its rows "
        "near 0, where the sign of a product of three turns: there 300 rows are too few. "
        "The real tables are those the method was developed on; two splits each."
    )
    report.save()


if __name__ == "__main__":
    main()

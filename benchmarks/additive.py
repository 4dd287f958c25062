"""The additive path: optimality, time, memory, copies, and the curve beside other rankings.

    python benchmarks/additive.py

Optimality: against cvxpy, and the certified gaps of all points.  Time: beside a random forest of
500 trees, by turns in one process and one thread.  Memory: 100,000 columns in a process of their
own.  Copies: five relevant columns, each of them three times with noise.  Curve: mean accuracy with
2, 3, 5, 8, 10, 15 and 20 features on rows held out (area), the same support vector machine behind
every ranking, tuned by three folds of the training rows.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy

import numpy as np  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.feature_selection import f_classif  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC, LinearSVC, l1_min_c  # noqa: E402

import common  # noqa: E402
import kernelpath as kp  # noqa: E402

WIDE = "wide"
SIZES = (2, 3, 5, 8, 10, 15, 20)
TABLES = ("sonar", "bci", "colon", "usps_ssl", "coil_ssl", "lymphoma")
MOST_ROWS, SPLITS = 300, 3
FOREST_BAR, MEMORY_BAR, NEAR = 3.0, 2.0, 1e-6
DRAWS = 10


# -- simulated tables ------------------------------------------------------------------------------


def simulated(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    """Two classes by a line and a parabola; the other columns are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > 1).astype(int)


def with_copies(seed: int) -> tuple[Any, Any]:
    """Five relevant columns of falling effect, each there three times, among 100."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 100))
    effects = (2.0, 1.7, 1.4, 1.2, 1.0)
    y = sum(e * np.sin(2 * X[:, j]) for j, e in enumerate(effects)) + 0.5 * rng.normal(size=300)
    for copy in (1, 2):
        X[:, 5 * copy : 5 * copy + 5] = X[:, :5] + 0.3 * rng.normal(size=(300, 5))
    return X, y


# -- rankings --------------------------------------------------------------------------------------


def f_test(X: Any, y: Any) -> Any:
    """By the F statistic."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.argsort(-np.nan_to_num(f_classif(X, y)[0]), kind="stable")


def forest(X: Any, y: Any) -> Any:
    """By the impurity importance."""
    model = RandomForestClassifier(500, random_state=0).fit(X, y)
    return np.argsort(-model.feature_importances_, kind="stable")


def l1_svm(X: Any, y: Any) -> Any:
    """By the order of entry into linear machines with the 1-norm, then the norm there."""
    first, norm = np.full(X.shape[1], np.inf), np.zeros(X.shape[1])
    grid = l1_min_c(X, y, loss="squared_hinge") * np.geomspace(1.05, 100, 30)
    for i, C in enumerate(grid):
        model = LinearSVC(penalty="l1", dual=False, C=C, max_iter=3000, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            size = np.abs(model.fit(X, y).coef_).sum(axis=0)
        new = (size > 0) & np.isinf(first)
        first[new], norm[new] = i, size[new]
        if np.isfinite(first).sum() >= 60:
            break
    return np.lexsort((np.argsort(f_test(X, y)), -norm, first))


def lp_kta(X: Any, y: Any) -> Any:
    """By the alignment."""
    return kp.LpKTASelector(task="classification").fit(X, y).path_.entry_order()


def additive(X: Any, y: Any) -> Any:
    """By the additive path."""
    return kp.AdditivePathSelector(task="classification").fit(X, y).path_.entry_order()


RIVALS = {"lp-KTA": lp_kta, "F-test": f_test, "forest": forest, "L1-SVM": l1_svm}


# -- sections --------------------------------------------------------------------------------------


def optimality(report: common.Report) -> None:
    """Objectives of cvxpy, and gaps."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from kernelpath.path_kernels.bank import KernelBank
    from kernelpath.path_kernels.column_factors import ColumnFactors
    from kernelpath.tables.table import as_column_table
    from reference.group_lasso import solve

    X, y = simulated(60, 12)
    path = kp.AdditivePathSelector(tol=1e-9).fit(X, y).path_
    factors = ColumnFactors.of(KernelBank.fit(as_column_table(X), y))
    rows, ptr = factors.rows(np.arange(12))
    each = [rows[a:b].T for a, b in pairwise(ptr)]
    target = (factors.root * np.where(y == 1, 1.0, -1.0))[:, None]
    worst = 0.0
    for i in range(1, len(path), 6):
        value, _, _ = solve(each, target, np.array([True]), factors.root, path.parameters[i])
        worst = max(worst, abs(path.values[i] / value - 1.0))
    report.add(
        f"60 x 12: largest relative difference from cvxpy, {len(range(1, len(path), 6))} points",
        f"{worst:.1e}", f"< {NEAR:g}", bool(worst < NEAR),
    )  # fmt: skip


def cost(report: common.Report) -> None:
    """Time beside a forest."""
    X, y = simulated(100, 10_000)
    made: dict[str, Any] = {}
    tasks = {
        "path": lambda: made.update(path=kp.AdditivePathSelector().fit(X, y).path_),
        "forest": lambda: RandomForestClassifier(500, random_state=0).fit(X, y),
    }
    seconds = common.alternating(tasks, repeats=3)
    ratio, path = seconds["path"] / seconds["forest"], made["path"]
    report.add(
        "100 x 10,000: whole path, against a forest of 500 trees", f"{ratio:.2f}x",
        f"<= {FOREST_BAR:g}x", ratio <= FOREST_BAR,
    )  # fmt: skip
    report.add(f"... {len(path)} points, up to {path.n_selected.max()} features: largest gap",
               f"{path.gaps.max():.1e}", f"<= {NEAR:g}", bool(path.gaps.max() <= NEAR))  # fmt: skip
    report.note(f"path {seconds['path']:.2f} s, forest {seconds['forest']:.2f} s")


def wide() -> None:
    """In a process of its own: 100,000 columns."""
    kp.AdditivePathSelector().fit(*simulated(100, 20))
    X, y = simulated(100, 100_000)
    start = time.process_time()
    selector = kp.AdditivePathSelector().fit(X, y)
    seconds = time.process_time() - start
    path = selector.path_
    print(json.dumps({
        "seconds": seconds, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "gap": path.gaps.max(), "points": len(path),
        "looked": selector.n_looked_ / 100_000 / len(path),
    }))  # fmt: skip


def memory(report: common.Report) -> None:
    """What the process of 100,000 columns said."""
    command = [sys.executable, __file__, WIDE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    report.add("100 x 100,000: whole path", f"{found['seconds']:.1f} s", "no bar", None)
    report.add(
        "... peak memory, table of 0.08 GB included", f"{found['memory']:.2f} GB",
        f"<= {MEMORY_BAR:g} GB", found["memory"] <= MEMORY_BAR,
    )  # fmt: skip
    report.add(
        f"... largest gap over all columns, {found['points']} points", f"{found['gap']:.1e}",
        f"<= {NEAR:g}", found["gap"] <= NEAR,
    )  # fmt: skip
    report.note(
        f"100,000 columns: {100 * found['looked']:.0f} % of them were looked at per point, bounds "
        "spared the others"
    )


def sparse(report: common.Report) -> None:
    """Binary columns of a sparse table."""
    given = common.load_shared("dorothea", "train")
    if given is None:
        report.note("dorothea is not here: its row was left out")
        return
    start = time.process_time()
    path = kp.AdditivePathSelector().fit(*given).path_
    seconds = time.process_time() - start
    report.add("dorothea (800 x 100,000 sparse): whole path", f"{seconds:.1f} s", "no bar", None)
    report.add(f"... largest gap over all columns, {len(path)} points", f"{path.gaps.max():.1e}",
               f"<= {NEAR:g}", bool(path.gaps.max() <= NEAR))  # fmt: skip


def copies(report: common.Report) -> None:
    """How many of five relevant columns are among the first five, copies counted once."""
    counts: dict[str, list[int]] = {"additive": [], "lp-KTA": []}
    for seed in range(DRAWS):
        X, y = with_copies(seed)
        for name, selector in (
            ("additive", kp.AdditivePathSelector()), ("lp-KTA", kp.LpKTASelector()),
        ):  # fmt: skip
            first = selector.fit(X, y).path_.entry_order()[:5]
            counts[name].append(len({int(j) % 5 for j in first if j < 15}))
    mean = {name: float(np.mean(found)) for name, found in counts.items()}
    report.add(
        f"five relevant columns, three copies of each: found among the first five, {DRAWS} draws",
        f"{mean['additive']:.1f}", f"> {mean['lp-KTA']:.1f} (lp-KTA)",
        mean["additive"] > mean["lp-KTA"],
    )  # fmt: skip


def area(train: Any, test: Any, y: Any, y_test: Any, order: Any) -> float:
    """Mean accuracy over the sizes."""
    scores = []
    for k in SIZES:
        columns = order[:k]
        grid = {"C": [1.0, 10.0, 100.0], "gamma": [0.25 / k, 1.0 / k, 4.0 / k]}
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        model = GridSearchCV(SVC(), grid, cv=folds).fit(train[:, columns], y)
        scores.append(model.score(test[:, columns], y_test))
    return float(np.mean(scores))


def curve(report: common.Report) -> None:
    """Areas on real tables."""
    methods = {"additive": additive, **RIVALS}
    means: dict[str, list[float]] = {name: [] for name in methods}
    for table in TABLES:
        given = common.load_shared(table)
        if given is None:
            report.note(f"{table} is not here")
            continue
        X, y = given
        labels, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, labels[counts >= 6])
        X, y = X[kept], y[kept]
        size = min(MOST_ROWS, round(0.7 * len(y)))
        found: dict[str, list[float]] = {name: [] for name in methods}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for split in range(SPLITS):
                A, B, a, b = train_test_split(
                    X, y, train_size=size, test_size=min(1000, len(y) - size), stratify=y,
                    random_state=split,
                )  # fmt: skip
                scaler = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()).fit(A)
                A, B = scaler.transform(A), scaler.transform(B)
                for name, rank in methods.items():
                    found[name].append(100 * area(A, B, a, b, rank(A, a)))
        rows = {name: float(np.mean(values)) for name, values in found.items()}
        for name, value in rows.items():
            means[name].append(value)
        rest = ", ".join(f"{name} {rows[name]:.1f}" for name in RIVALS)
        report.add(
            f"{table} ({size} x {X.shape[1]:,}, {len(np.unique(y))} classes): area; {rest}",
            f"{rows['additive']:.1f}", "no bar", None,
        )  # fmt: skip
    if not means["additive"]:
        return
    for name in RIVALS:
        gap = np.subtract(means["additive"], means[name])
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        report.add(
            f"mean area {np.mean(means['additive']):.1f}, less that of {name}, {len(gap)} tables",
            f"{gap.mean():+.1f} +- {error:.1f}", "no bar", None,
        )  # fmt: skip


def main() -> None:
    """Measure all sections."""
    if sys.argv[1:] == [WIDE]:
        wide()
        return
    report = common.Report("additive", "The additive path")
    print(report.title)
    optimality(report)
    cost(report)
    memory(report)
    sparse(report)
    copies(report)
    curve(report)
    report.note(
        f"area: mean accuracy at {', '.join(map(str, SIZES))} features, {SPLITS} splits with 70 % "
        f"of the rows, at most {MOST_ROWS}, for training; +- is the standard error over tables"
    )
    report.save()


if __name__ == "__main__":
    main()

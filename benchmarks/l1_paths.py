"""Paths over l1 norms: L1SVMPath against a grid of linear programs, times and gaps of L1MKLPath.

    python benchmarks/l1_paths.py

One thread, CPU time.  The linear programs are those of the same machine at budgets evenly spread
over the path, solved by HiGHS one after the other.
"""

from __future__ import annotations

import os
import time
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from scipy.optimize import linprog  # noqa: E402

import common  # noqa: E402
from kernelpath.baselines import L1MKLPath, L1SVMPath  # noqa: E402

GRID = 10  # linear programs
NEAR, CERTIFIED = 1e-6, 1e-6
SVM_SECONDS, MKL_SECONDS = 10.0, 60.0
MADELON_FEATURES = 20


def least_loss(Z: Any, label: Any, budget: float) -> float:
    """Least sum of hinge losses with a 1-norm within the budget."""
    n, d = Z.shape
    signed = label[:, None] * Z
    margins = sparse.hstack([-signed, signed, -label[:, None], -sparse.eye_array(n)])
    norm = sparse.csr_array(np.concatenate([np.ones(2 * d), np.zeros(n + 1)])[None])
    found = linprog(
        np.concatenate([np.zeros(2 * d + 1), np.ones(n)]),
        A_ub=sparse.vstack([margins, norm]).tocsc(),
        b_ub=np.append(-np.ones(n), budget),
        bounds=[(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n,
        method="highs",
    )
    return float(found.fun)


def simulated(n: int, d: int) -> tuple[Any, Any]:
    """Three relevant columns and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, :3].sum(axis=1) + rng.normal(size=n) > 0.5, 1, -1)


def fitted(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    """Path and seconds of a fit."""
    start = time.process_time()
    path = model.fit(X, y).path_
    return path, time.process_time() - start


def svm(report: common.Report, where: str, X: Any, y: Any) -> None:
    """The whole path against linear programs."""
    path, seconds = fitted(L1SVMPath(), X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    label = np.where(y == np.unique(y)[1], 1.0, -1.0)
    budgets = np.linspace(0.0, path.parameters[-1], GRID)
    start = time.process_time()
    losses = np.array([least_loss(Z, label, budget) for budget in budgets])
    grid = time.process_time() - start
    worst = float(np.abs(np.interp(budgets, path.parameters, path.values) - losses).max())
    report.add(
        f"{where}: L1SVMPath, {len(path):,} corners", f"{seconds:.2f} s",
        f"< {SVM_SECONDS:g} s", seconds < SVM_SECONDS,
    )  # fmt: skip
    report.add(
        f"... largest difference of the loss from {GRID} linear programs ({grid:.1f} s)",
        f"{worst:.1e}", f"< {NEAR:g}", worst < NEAR,
    )  # fmt: skip
    gap = float(path.gaps.max())
    report.add("... largest gap", f"{gap:.1e}", f"< {CERTIFIED:g}", gap < CERTIFIED)


def mkl(report: common.Report, where: str, X: Any, y: Any, most: int | None = None) -> None:
    """Seconds and gaps of the path of kernels."""
    path, seconds = fitted(L1MKLPath(max_features=most), X, y)
    report.add(
        f"{where}: L1MKLPath, {len(path)} points, up to {path.n_selected.max()} features",
        f"{seconds:.1f} s", f"< {MKL_SECONDS:g} s", seconds < MKL_SECONDS,
    )  # fmt: skip
    gap = float(path.gaps.max())
    report.add("... largest gap", f"{gap:.1e}", f"< {CERTIFIED:g}", gap < CERTIFIED)


def main() -> None:
    """Measure what the data that are here allow."""
    report = common.Report("l1_paths", "Paths over l1 norms")
    print(report.title)
    small = simulated(40, 5)
    L1MKLPath().fit(*small)  # compiles and imports everything
    L1SVMPath().fit(*small)
    tables = {"simulated, 60 rows, 2,000 columns": simulated(60, 2000)}
    for name in ("colon", "leukemia"):
        given = common.load_shared(name)
        if given is not None:
            X, y = given
            X = X[:, X.min(axis=0) < X.max(axis=0)]
            tables[f"{name}, {X.shape[0]} rows, {X.shape[1]:,} columns"] = X, y
    for where, (X, y) in tables.items():
        svm(report, where, X, y)
        mkl(report, where, X, y)
    given = common.load_shared("madelon", "train")
    if given is None:
        report.note("madelon is not here: its rows were left out")
    else:
        where = f"madelon, {len(given[0]):,} rows, {given[0].shape[1]} columns"
        mkl(report, where, *given, most=MADELON_FEATURES)
    report.save()


if __name__ == "__main__":
    main()

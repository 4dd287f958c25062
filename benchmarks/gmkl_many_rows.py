"""Generalised multiple kernel learning with many rows: time, memory, and how both grow.

Every fit runs in a process of its own, so that peak memory is that of one fit, with a time limit.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import kernelpath as kp
from common import HERE, Report, load_shared

LIMIT = 1500  # seconds of a process
SUM_ROWS = (1000, 2000, 4000, 8000, 16_000, 32_000)
PRODUCT_ROWS = (1000, 2000, 4000, 8000, 16_000, 20_000)
LARGE = 4000  # slopes are those from here on
N_TEST = 5000
PICTURE = HERE.parent / "docs" / "images" / "gmkl-rows.png"


def a9a(n_rows: int) -> tuple[Any, Any, Any, Any, Any]:
    """Estimator, training rows and test rows: one kernel for each of 123 two-valued columns."""
    train, rest = load_shared("a9a", "train"), load_shared("a9a", "rest")
    assert train is not None
    assert rest is not None
    X, y = train[0][:n_rows], train[1][:n_rows]
    model = kp.GMKLClassifier("sum", kp.L1(0.03 * n_rows), tol=1e-3)
    return model, X, y, rest[0], rest[1]


def interaction(n_rows: int) -> tuple[Any, Any, Any, Any, Any]:
    """The same for a product of 15 Gaussians: two interactions and eleven columns of noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + N_TEST, 15))
    signal = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) * X[:, 3]
    y = np.where(signal + 0.2 * rng.normal(size=len(X)) > 0, 1, -1)
    model = kp.GMKLClassifier("product", kp.L1(0.01 * n_rows), tol=1e-2)
    return model, X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


CASES = {"a9a": a9a, "product": interaction}


def measure(case: str, n_rows: int) -> dict[str, Any]:
    """One fit, after both routes were compiled on few rows."""
    from kernelpath.mkl import problem

    model, X, y, X_test, y_test = CASES[case](n_rows)
    usual = problem.MANY_ROWS
    for few in (usual, 100):
        problem.MANY_ROWS = few
        model.__class__(model.kernel, kp.L1(10.0), tol=1e-1).fit(X[:300], y[:300])
    problem.MANY_ROWS = usual
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    return {
        "seconds": seconds,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "certificate": model.residual_ if model.gap_ is None else model.gap_,
        "status": model.status_,
        "machines": model.n_svm_,
        "selected": int(model.support_.sum()),
        "support vectors": int((model.dual_coef_ != 0).any(axis=0).sum()),
        "accuracy": float(model.score(X_test, y_test)),
    }


def run(case: str, n_rows: int) -> dict[str, Any] | None:
    """The same in a process of its own; None if it takes too long."""
    command = [sys.executable, "-W", "ignore", __file__, case, str(n_rows)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[-1])


def slope(times: dict[int, float]) -> float:
    """Exponent of the growth of time with the rows, by least squares of logarithms."""
    rows = [n for n in times if n >= LARGE]
    return float(np.polyfit(np.log(rows), np.log([times[n] for n in rows]), 1)[0])


def growth(report: Report, case: str, what: str, sizes: tuple[int, ...]) -> dict[int, float]:
    """Times for growing numbers of rows, as a note and a row with their slope."""
    times, words = {}, []
    for n_rows in sizes:
        one = run(case, n_rows)
        if one is None:
            break
        times[n_rows] = one["seconds"]
        words.append(f"{n_rows:,}: {one['seconds']:.1f} s, {one['gigabytes']:.2f} GB")
    report.add(f"{what}: time grows from {LARGE:,} rows like", f"n^{slope(times):.2f}", "", None)
    report.note(f"{what}, rows: CPU time, peak memory: {'; '.join(words)}")
    return times


def draw(curves: dict[str, dict[int, float]]) -> None:
    """Time against rows, both logarithmic."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for (what, times), marker in zip(curves.items(), "os"):
        label = f"{what}: $n^{{{slope(times):.2f}}}$ from {LARGE:,} rows"
        axes.loglog(list(times), list(times.values()), marker=marker, label=label)
    axes.set_xlabel("training rows")
    axes.set_ylabel("CPU time of a fit (seconds)")
    axes.grid(True, which="major", alpha=0.3)
    axes.set_ylim(top=4.0 * axes.get_ylim()[1])  # room for the legend
    axes.legend(frameon=False, loc="upper left")
    ticks = SUM_ROWS
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
    axes.minorticks_off()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)
    plt.close(figure)


def one_row(report: Report, what: str, found: dict[str, Any] | None, bar: float, tol: str) -> None:
    """Time, memory and what was reached, of one large fit."""
    if found is None:
        report.add(what, f"> {LIMIT} s", f"< {bar:.0f} s", False)
        return
    seconds, memory = found["seconds"], found["gigabytes"]
    report.add(f"{what}: CPU time", f"{seconds:.1f} s", f"< {bar:.0f} s", seconds < bar)
    report.add("the same, peak memory", f"{memory:.2f} GB", "< 8 GB", memory < 8)
    reached = found["certificate"]
    report.add(f"the same, {tol}", f"{reached:.1e}", "", found["status"] == "converged")
    report.note(
        f"{what}: {found['machines']} support vector machines, {found['selected']} features "
        f"selected, {found['support vectors']:,} support vectors, test accuracy "
        f"{found['accuracy']:.3f}"
    )


def main() -> None:
    report = Report("gmkl_many_rows", "GMKL with many rows")
    curves = {}
    if load_shared("a9a") is None:
        report.note("a9a is not here: its rows were left out")
    else:
        what = "a9a, 32,561 x 123, one kernel per column, l1"
        one_row(report, what, run("a9a", 32_561), 300, "gap (asked for 1e-3)")
        curves["sum of kernels, a9a"] = growth(report, "a9a", "a9a, first rows", SUM_ROWS)
    what = "product of 15 Gaussians, 20,000 simulated rows, l1"
    one_row(report, what, run("product", 20_000), 900, "stationarity (asked for 1e-2)")
    curves["product of Gaussians, simulated"] = growth(
        report, "product", "product of 15 Gaussians", PRODUCT_ROWS
    )
    draw(curves)
    report.note(f"drawn in docs/images/{Path(PICTURE).name}")
    report.save()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        main()

"""HSIC Lasso beside the block form of pyHSICLasso on madelon, and BAHSIC on wide tables.

    python benchmarks/hsic_lasso.py [PYTHON]

PYTHON is the interpreter of an environment that has pyHSICLasso; without one only ours is measured.
Every fit has a process of its own, one thread, after a fit of a small table that compiles and
imports everything.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy

import numpy as np  # noqa: E402

import common  # noqa: E402

MOST = 20  # features
SIZES = (5, 10, 20)
BLOCK, REPEATS = 20, 3  # rows of a block and permutations: the defaults of pyHSICLasso
FASTER, SMALLER, WIDE_SECONDS = 20.0, 10.0, 60.0
RELATED = 0.2  # madelon's 20 relevant columns are correlated with each other, no other one is


# -- one fit in a process of its own ---------------------------------------------------------------


def memory(field: str) -> float:
    """Megabytes of this process: ``VmRSS``, now, or ``VmHWM``, at most."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(rf"{field}:\s+(\d+)", status)[0]) / 1024


def ours(name: str, X: Any, y: Any) -> list[int]:
    """The first columns by a selector of the package."""
    import kernelpath as kp

    model = getattr(kp.baselines, name)(MOST).fit(X, y)
    return np.argsort(model.ranking_)[:MOST].tolist()


def theirs(X: Any, y: Any) -> list[int]:
    """The first columns by pyHSICLasso, whose name of an error NumPy 2 no longer has."""
    if not hasattr(np.linalg, "linalg"):
        np.linalg.linalg = np.linalg
    from pyHSICLasso import HSICLasso

    model = HSICLasso()
    model.input(X, y)
    model.classification(MOST, B=BLOCK, M=REPEATS, n_jobs=1)
    return [int(j) for j in model.get_index()]


def work(name: str, data: str, part: str) -> None:
    """Fit once and print what it took."""
    with np.load(data, allow_pickle=False) as arrays:
        X, y = arrays["X"].astype(np.float64), arrays["y"]
        if part:
            X, y = X[arrays["split"] == 0], y[arrays["split"] == 0]
    X = np.ascontiguousarray(X[:, X.min(axis=0) < X.max(axis=0)])
    fit = theirs if name == "pyHSICLasso" else lambda X, y: ours(name, X, y)
    small = np.random.default_rng(0).normal(size=(60, 2 * MOST))
    fit(small, np.repeat([-1, 1], 30))
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    start = time.process_time()
    columns = fit(X, y)
    seconds = time.process_time() - start
    more = {"more": memory("VmHWM") - before, "peak": memory("VmHWM")}
    print(json.dumps({"seconds": seconds, "columns": columns, **more}))


def measured(python: str, name: str, data: str, part: str = "train") -> dict[str, Any]:
    """What a fit took in a process of its own."""
    command = [python, __file__, "--work", name, data, part]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


# -- how good the features are ---------------------------------------------------------------------


def accuracies(columns: list[int]) -> list[float]:
    """Percent of the rows held out that an SVM with the first columns has right."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = common.load_shared("madelon", "train")  # type: ignore[misc]
    X_new, y_new = common.load_shared("madelon", "rest")  # type: ignore[misc]
    model = make_pipeline(StandardScaler(), SVC())
    return [
        100 * model.fit(X[:, columns[:k]], y).score(X_new[:, columns[:k]], y_new) for k in SIZES
    ]


def hits(columns: list[int], X: np.ndarray) -> list[int]:
    """How many of the first columns are relevant."""
    related = np.abs(np.corrcoef(X.T) - np.eye(X.shape[1])).max(axis=0) > RELATED
    return [int(related[columns[:k]].sum()) for k in SIZES]


def on_madelon(report: common.Report, python: str | None) -> None:
    """Time, memory and features of all three."""
    data = str(common.DATA / "madelon.npz")
    X, _ = common.load_shared("madelon", "train")  # type: ignore[misc]
    found = {name: measured(sys.executable, name, data) for name in ("HSICLasso", "BAHSIC")}
    if python is not None:
        found["pyHSICLasso"] = measured(python, "pyHSICLasso", data)
        own, other = found["HSICLasso"], found["pyHSICLasso"]
        faster, smaller = other["seconds"] / own["seconds"], other["more"] / own["more"]
        where = f"madelon, {X.shape[0]:,} rows, {X.shape[1]} columns, {MOST} features"
        report.add(
            f"{where}: HSICLasso against pyHSICLasso in blocks, CPU time",
            f"{faster:.0f}x faster", f"> {FASTER:g}x", faster > FASTER,
        )  # fmt: skip
        report.add(
            "... memory beyond that of data and imports",
            f"{smaller:.0f}x less", f"> {SMALLER:g}x", smaller > SMALLER,
        )  # fmt: skip
        ours_in, theirs_in = (hits(found[k]["columns"], X) for k in ("HSICLasso", "pyHSICLasso"))
        report.add(
            f"... relevant features among the first {', '.join(map(str, SIZES))}: ours {ours_in}",
            f"{theirs_in}", "as many", all(a >= b for a, b in zip(ours_in, theirs_in)),
        )  # fmt: skip
    for name, one in found.items():
        right = ", ".join(f"{value:.1f}" for value in accuracies(one["columns"]))
        report.note(
            f"{name}: {one['seconds']:.2f} s of CPU, {one['more']:.0f} MB more and a peak of "
            f"{one['peak']:.0f} MB; {hits(one['columns'], X)} of 20 relevant features among the "
            f"first {SIZES}, with which an RBF SVM has {right} % of 600 other rows right"
        )


def main(python: str | None) -> None:
    """Measure what data and environments allow."""
    report = common.Report("hsic_lasso", "HSIC Lasso and BAHSIC")
    print(report.title)
    if python is None:
        report.note("pyHSICLasso was left out: no interpreter that has it was named")
    else:
        report.note(
            f"pyHSICLasso forms kernels of {BLOCK} rows, {REPEATS} times each row; ours are those "
            "of all rows, and the same lasso"
        )
    if common.load_shared("madelon") is None:
        report.note("madelon is not here: its rows were left out")
    else:
        on_madelon(report, python)
    for name in ("HSICLasso", "BAHSIC"):
        if common.load_shared("arcene") is not None:
            one = measured(sys.executable, name, str(common.DATA / "arcene.npz"), "")
            bar = (f"< {WIDE_SECONDS:g} s", one["seconds"] < WIDE_SECONDS)
            report.add(
                f"arcene, 200 rows, 10,000 columns, {MOST} features: {name}, CPU time",
                f"{one['seconds']:.1f} s", *bar,
            )  # fmt: skip
    report.save()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:])
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else None)

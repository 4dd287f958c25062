"""Solvers of SimpleMKL's problem, side by side: those of other authors, the paper's, and ours.

    python benchmarks/gmkl_solvers.py

The same problem for all: a sum of Gaussian kernels of ten widths for every column, hinge loss,
C = 100, weights on a simplex, relative gap 1e-3, and a limit of iterations; the gap says who
reached it.  Algorithm 1 to the letter stops by an absolute gap of 1e-3, which is stricter where
the objective is above 1.
"""

from __future__ import annotations

import os
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy

import numpy as np  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import kernelpath as kp  # noqa: E402
from common import Report, load_shared  # noqa: E402

TABLES = ("liver", "sonar", "ionosphere")
SOLVERS = ("auto", "newton", "spg", "pgd", "simple_mkl", "silp", "hessian_mkl", "spg_published",
           "spg_classical")  # fmt: skip
C = 100.0
MOST_STEPS = {"simple_mkl": 400, "silp": 250, "pgd": 300, "spg": 600, "spg_published": 400,
              "spg_classical": 400}  # fmt: skip


def fit(X: np.ndarray, y: np.ndarray, solver: str) -> tuple[float, kp.GMKLClassifier]:
    model = kp.GMKLClassifier.preset(
        "simple_mkl", base_kernel="bandwidths", C=C, solver=solver,
        max_iter=MOST_STEPS.get(solver),
    )  # fmt: skip
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start, model


def main() -> None:
    report = Report("gmkl_solvers", "GMKL: solvers of SimpleMKL's problem")
    print(report.title)
    warnings.simplefilter("ignore")
    for name in TABLES:
        table = load_shared(name)
        if table is None:
            report.note(f"{name} is not here: left out")
            continue
        X, y = StandardScaler().fit_transform(table[0]), table[1]
        fit(X, y, "auto")  # compiles
        first, _ = fit(X, y, "auto")
        for solver in SOLVERS:
            seconds, model = fit(X, y, solver)
            report.add(
                f"{name} ({X.shape[0]} x {X.shape[1]}, {10 * X.shape[1]} kernels), {solver}: "
                f"{model.n_svm_:,} machines, objective {model.objective_:.4f}, gap "
                f"{model.gap_:.0e}, {model.status_}",
                f"{seconds:.2f} s, {seconds / first:.1f}x", "", None,
            )  # fmt: skip
    report.save()


if __name__ == "__main__":
    main()

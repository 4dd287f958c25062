"""GMKL: certified gaps, machines counted for every solver, and scikit-learn's SVC inside SPG."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
from sklearn.svm import SVC

import kernelpath.mkl.svm.dual
from common import OUT, Report, load_shared
from kernelpath.mkl.losses import DualProblem, Hinge
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import L1, Lp
from kernelpath.mkl.solvers.alternation import alternate
from kernelpath.mkl.solvers.base import CONVERGED, Solution
from kernelpath.mkl.solvers.choice import solve
from kernelpath.mkl.solvers.newton import newton
from kernelpath.mkl.solvers.spg import pgd, spg
from kernelpath.mkl.svm.dual import DualSolution
from kernelpath.mkl.weighted_kernels.columns import SumOfColumnKernels
from kernelpath.mkl.weighted_kernels.products import ProductRBF
from kernelpath.mkl.weighted_kernels.published import simple_mkl_parts

C = 10.0
TOL, TIGHT = 1e-3, 1e-6
PARTS = ("sonar", "ionosphere", "wdbc", "svc")
POWERS = (1.1, 1.33, 2.0)
REPEATS = 3
EARLY = 300  # iterations of spectral gradients for a second look at warm starts
SVC_ITERATIONS = 500  # of spectral gradients, with SVC and with our machine
MOST_MACHINES = 50_000  # of projected gradient descent


# -- problems --------------------------------------------------------------------------------------


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Columns that vary, and labels -1 and +1; None where the data set is absent."""
    shared = load_shared(name)
    if shared is None:
        return None
    X, y = shared
    return X[:, X.std(axis=0) > 0], np.where(y > 0, 1.0, -1.0)


def sum_problem(X: np.ndarray, y: np.ndarray) -> Problem:
    """Sum of the kernels of SimpleMKL, l1 norm, hinge loss."""
    return Problem(SumOfColumnKernels(X, simple_mkl_parts(X)), (Hinge(C).dual(y),), L1())


def product_problem(X: np.ndarray, y: np.ndarray) -> Problem:
    """Product of one Gaussian per standardised column, l1 norm, hinge loss."""
    kernel = ProductRBF((X - X.mean(axis=0)) / X.std(axis=0))
    return Problem(kernel, (Hinge(C).dual(y),), L1())


# -- scikit-learn's machine in the place of ours ---------------------------------------------------


def svc_dual(K: np.ndarray, problem: DualProblem, *, tol: float, **_: Any) -> DualSolution:
    """What `solve_dual` returns, by SVC: cold, as SVC cannot start anywhere."""
    bound = float(np.max(problem.high - problem.low))
    svc = SVC(C=bound, kernel="precomputed", tol=tol).fit(K, problem.linear)
    u = np.zeros(len(problem.linear))
    u[svc.support_] = svc.dual_coef_[0]
    Ku, bias = K @ u, float(svc.intercept_[0])
    primal = 0.5 * float(u @ Ku) + problem.loss(Ku + bias)
    steps = int(svc.n_iter_[0])
    return DualSolution(u, Ku + bias, bias, problem.value(u, Ku), primal, steps)


@contextmanager
def svc_inside() -> Iterator[mock.MagicMock]:
    """All solvers use SVC; everything else, the outer loop first of all, stays as it is."""
    with mock.patch.object(kernelpath.mkl.svm.dual, "solve_dual", side_effect=svc_dual) as used:
        yield used


# -- measurements ----------------------------------------------------------------------------------


def timed(task: Callable[[], Solution], repeats: int = 1) -> tuple[Solution, float]:
    """Solution, and the median of the CPU times."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        found = task()
        seconds.append(time.process_time() - start)
    return found, statistics.median(seconds)


def over(found: Solution) -> str:
    """A mark before counts of runs that did not converge."""
    return "" if found.status == CONVERGED else "> "


def describe(found: Solution, seconds: float) -> str:
    gap = "" if found.gap is None else f", gap {found.gap:.1e}"
    return f"{over(found)}{found.n_svm:,} machines{gap}, {over(found)}{seconds:.2f} s"


def sums(report: Report, name: str, problem: Problem) -> None:
    """Gaps, Newton steps beside spectral gradients, alternation, warm beside cold starts."""
    label = f"{name}, {problem.kernel.n_kernels} kernels"
    exact, seconds = timed(lambda: solve(problem, tol=TIGHT))
    report.add(
        f"{label}, l1: certified relative gap, default solver",
        f"{exact.gap:.1e}", f"<= {TIGHT:.0e}", exact.gap <= TIGHT,
    )  # fmt: skip
    report.note(f"{name}, l1, gap {TIGHT:.0e} asked for: {describe(exact, seconds)}")
    fast, quick = timed(lambda: newton(problem, tol=TOL))
    warm, slow = timed(lambda: spg(problem, tol=TOL))
    ratio = fast.n_svm / warm.n_svm
    met = ratio <= 0.1 and fast.status == CONVERGED
    mark = "" if warm.status == CONVERGED else "< "
    report.add(
        f"{label}, l1, gap {TOL:.0e}: machines of Newton steps against SPG",
        f"{mark}{ratio:.3f}x", "<= 0.1x", met,
    )  # fmt: skip
    report.note(f"{name}, l1: Newton {describe(fast, quick)}; SPG {describe(warm, slow)}")
    cold = spg(problem, tol=TOL, warm=False)
    ratio = cold.n_steps / warm.n_steps
    report.add(
        f"{label}, l1, whole run of SPG: SMO steps of cold against warm starts",
        f"{ratio:.1f}x", ">= 1.8x", ratio >= 1.8,
    )  # fmt: skip
    early = min(EARLY, len(cold.history), len(warm.history)) - 1
    first = [one.history[early]["n_steps"] for one in (cold, warm)]
    report.note(
        f"{name}, SMO steps: cold {cold.n_steps:,} in {over(cold)}{cold.n_svm:,} machines, warm "
        f"{warm.n_steps:,} in {over(warm)}{warm.n_svm:,}; of the first {early + 1} iterations, "
        f"where steps are long, {first[0]:,.0f} and {first[1]:,.0f}: {first[0] / first[1]:.1f}x"
    )
    found = [alternate(replace(problem, regularizer=Lp(p)), tol=TOL) for p in POWERS]
    most = max(one.n_svm for one in found)
    counts = ", ".join(f"{one.n_svm} (p = {p:g})" for p, one in zip(POWERS, found))
    report.add(
        f"{label}, gap {TOL:.0e}: most machines of alternation, p = 1.1, 1.33 and 2",
        str(most), "<= 50", most <= 50 and all(one.status == CONVERGED for one in found),
    )  # fmt: skip
    report.note(f"{name}, alternation: {counts}")


def products(report: Report, name: str, problem: Problem) -> None:
    """Spectral against plain projected gradients on a problem that is not convex."""
    fast, quick = timed(lambda: spg(problem, tol=TOL))
    slow, long = timed(lambda: pgd(problem, tol=TOL, max_svm=MOST_MACHINES, max_iter=MOST_MACHINES))
    ratio = fast.n_svm / slow.n_svm
    report.add(
        f"{name}, product of {problem.kernel.n_kernels} Gaussians, l1: machines of SPG against PGD",
        f"{'' if slow.status == CONVERGED else '< '}{ratio:.3f}x", "<= 0.2x", ratio <= 0.2,
    )  # fmt: skip
    report.note(
        f"{name}, product, residual {TOL:.0e}: SPG {describe(fast, quick)}, objective "
        f"{fast.objective:.2f}; PGD {describe(slow, long)}, objective {slow.objective:.2f}"
    )


def against_svc(report: Report, name: str, problem: Problem) -> None:
    """The same problem to the same gap: our default, our SPG, and SPG with SVC inside."""
    start = time.process_time()
    SumOfColumnKernels(problem.kernel._X, problem.kernel.parts)
    build = time.process_time() - start
    ours, default = timed(lambda: solve(problem, tol=TOL), REPEATS)
    own, inside = timed(lambda: spg(problem, tol=TOL, max_iter=SVC_ITERATIONS), REPEATS)
    with svc_inside():
        theirs, outside = timed(lambda: spg(problem, tol=TOL, max_iter=SVC_ITERATIONS), REPEATS)
    ratio = outside / default
    report.add(
        f"{name}, {problem.kernel.n_kernels} kernels, l1: SPG with SVC inside against our default",
        f"{over(theirs)}{ratio:.1f}x", ">= 5x", ratio >= 5 and ours.status == CONVERGED,
    )  # fmt: skip
    each = [1e3 * seconds / one.n_svm for one, seconds in ((own, inside), (theirs, outside))]
    report.add(
        "... a machine with its gradient and kernel matrix, SVC inside against our SPG",
        f"{each[1] / each[0]:.1f}x", "", None,
    )  # fmt: skip
    report.note(
        f"{name}, medians of {REPEATS} runs: default {describe(ours, default)}; our SPG "
        f"{describe(own, inside)} ({each[0]:.1f} ms a machine); SPG with SVC "
        f"{describe(theirs, outside)} ({each[1]:.1f} ms). SPG was given {SVC_ITERATIONS:,} "
        f"iterations. Kernels are made once for all, in {build:.2f} s"
    )


def part(name: str) -> None:
    """Measure one data set, or "svc", and store its rows."""
    report = Report(f"gmkl_{name}", name)
    shared = rows_of("sonar" if name == "svc" else name)
    if shared is None:
        report.note(f"the data of {name} are not here: its rows were left out")
    elif name == "svc":
        against_svc(report, "sonar", sum_problem(*shared))
    else:
        sums(report, name, sum_problem(*shared))
        products(report, name, product_problem(*shared))
    report.save()


def main() -> None:
    """Measure all parts, or those that are named, and join those that there are."""
    report = Report("gmkl", "GMKL: gaps, machines, and SVC inside")
    print(report.title)
    for name in sys.argv[1:] or PARTS:
        part(name)
    for name in PARTS:
        file = OUT / f"gmkl_{name}.json"
        if file.exists():
            content = json.loads(file.read_text())
            report.rows += content["rows"]
            report.notes += content["notes"]
    report.note(
        f"C = {C:g}, strength 1, kernels of mean diagonal 1. A machine is one support vector "
        "machine solved; `>` and `<` mark runs that ended at their iteration limit"
    )
    report.save()


if __name__ == "__main__":
    main()

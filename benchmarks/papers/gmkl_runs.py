"""Projected gradients with the components of Table 7 switched on and off, and the runs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any
from unittest import mock

import numpy as np
from gmkl_settings import (
    ADULT_KERNELS,
    BOTH,
    DEFAULT,
    FOLDS,
    NONMONOTONE,
    PGD,
    SPECTRAL,
    SPG,
    TOL,
    C,
    Case,
)
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

import kernelpath.mkl.svm.dual
from common import load_shared
from kernelpath.mkl.losses import Hinge
from kernelpath.mkl.problem import PointSolver, Problem, ProblemPoint
from kernelpath.mkl.regularizers import L1, Lp
from kernelpath.mkl.solvers.base import (
    CONVERGED,
    LIMIT,
    STALLED,
    PointBounds,
    Solution,
    natural_start,
)
from kernelpath.mkl.solvers.choice import choose_solver, solve
from kernelpath.mkl.solvers.spg import spg
from kernelpath.mkl.svm.dual import solve_dual
from kernelpath.mkl.weighted_kernels.columns import SumOfColumnKernels
from kernelpath.mkl.weighted_kernels.products import ProductRBF
from kernelpath.mkl.weighted_kernels.published import simple_mkl_parts
from kernelpath.mkl.weighted_kernels.storage import PackedKernels

DECREASE = 1e-4
MOST_ITERATIONS = 2000  # of spectral gradients
CALIBRATION = 10
MOST_STEPS = 1_000_000  # of one machine, in projected gradients


# -- projected gradients, component by component ---------------------------------------------------


def descend(
    problem: Problem,
    *,
    spectral: bool,
    averaged: bool,
    tol: float = TOL,
    seconds: float = np.inf,
    precision: float = 1e-6,
) -> Solution:
    """Projected gradients; with neither component the library's `pgd`, with a limit of time.

    Parameters
    ----------
    spectral : bool
        Directions by the spectral step length, Eq. (6) to (8), instead of the gradient itself.
    averaged : bool
        Line search against the average of earlier values, Eq. (10) to (12), instead of the last.
    seconds : float
        CPU time after which the search gives up.
    precision : float
        Of every machine; the third component, the schedule, is only in `spg`.
    """
    deadline = time.process_time() + seconds
    evaluate = PointSolver(problem)
    bounds = PointBounds(problem, evaluate, tol)
    at = evaluate(natural_start(problem, None), precision)
    reference, count, memory, n_iter = at.value, 1.0, 1.0, 0
    before: tuple[NDArray, NDArray] | None = None
    step = 1.0
    while True:
        gradient = bounds.take(at)
        if bounds.done:
            return bounds.result(n_iter, CONVERGED)
        if time.process_time() > deadline:
            return bounds.result(n_iter, LIMIT)
        if spectral:
            step = spectral_step(at.weights, gradient, before, step)
        target = reference if averaged else at.value
        found = search(evaluate, at, gradient, step, spectral, target, precision, deadline)
        if isinstance(found, str):
            return bounds.result(n_iter, found)
        before, (trial, predicted) = (at.weights, gradient), found
        memory = adapted(memory, (at.value - trial.value) / predicted)
        count, previous = memory * count + 1.0, count
        reference = (memory * previous * reference + trial.value) / count
        at, n_iter = trial, n_iter + 1


def search(
    evaluate: PointSolver,
    at: ProblemPoint,
    gradient: NDArray,
    step: float,
    spectral: bool,
    target: float,
    precision: float,
    deadline: float,
) -> tuple[ProblemPoint, float] | str:
    """Halve until the value falls below the target by enough; the step taken, or why none was."""
    project = evaluate.problem.feasible.project
    direction = at.weights - project(at.weights - step * gradient)
    length = 1.0
    while length >= 1e-30:
        if spectral:  # one projection, then along a line
            moved = at.weights - length * direction
        else:
            moved = project(at.weights - length * gradient)
        predicted = float(gradient @ (at.weights - moved))
        trial = evaluate(moved, precision)
        if trial.value <= target - DECREASE * predicted:
            return (trial, predicted) if predicted > 0 else STALLED
        if time.process_time() > deadline:
            return LIMIT  # a search may halve a hundred times
        length *= 0.5
    return STALLED


def spectral_step(
    weights: NDArray, gradient: NDArray, before: tuple[NDArray, NDArray] | None, last: float
) -> float:
    """Eq. (6); the first step moves the weights by their own size."""
    if before is None:
        return float(np.linalg.norm(weights) / max(np.linalg.norm(gradient), 1e-300))
    s, y = weights - before[0], gradient - before[1]
    curvature = float(s @ y)
    return float(s @ s) / curvature if curvature > 0 else 10.0 * last


def adapted(memory: float, ratio: float) -> float:
    """Longer memory after steps that went as predicted, shorter after others."""
    if ratio > 0.75:
        return min(memory + 0.025, 1.0)
    return max(memory - 0.025, 0.1) if ratio < 0.25 else memory


# -- problems --------------------------------------------------------------------------------------


def start_worker() -> None:
    """One thread per process, and compiled code loaded before anything is timed."""
    threadpool_limits(1)
    warnings.filterwarnings("ignore", message=".* constant")
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.sign(X[:, 0])
    for kind in ("sum", "product"):
        for p in (1.0, 1.5):
            problem = make_problem(make_kernel(kind, X), y, p)
            solve(problem)
            spg(problem, max_iter=5)


@lru_cache(maxsize=1)
def load(name: str) -> tuple[NDArray, NDArray]:
    """Rows as the paper has them, as far as they are known; labels -1 and +1."""
    shared = load_shared(name)
    assert shared is not None
    X, y = shared
    X = X.toarray() if sparse.issparse(X) else X
    if name == "leukemia":  # floor, ceiling and logarithm, as usual for these intensities
        X, y = np.log10(np.clip(X[:38], 100.0, 16000.0)), y[:38]
    whole = ~np.isnan(X).any(axis=1)
    return X[whole], np.where(y[whole] > 0, 1.0, -1.0)


def make_kernel(kind: str, X: NDArray) -> Any:
    """Kernels of some training rows; columns that do not vary are left out."""
    X = X[:, X.std(axis=0) > 0]
    if kind == "sum":
        return SumOfColumnKernels(X, simple_mkl_parts(X))
    if kind == "product":
        return ProductRBF((X - X.mean(axis=0)) / X.std(axis=0))
    return PackedKernels.of(list(adult_kernels(X)))


def adult_kernels(X: NDArray) -> Any:
    """Gaussians of ten bandwidths on all columns and on four random quarters of them."""
    rng = np.random.default_rng(0)
    quarters = np.array_split(rng.permutation(X.shape[1]), 4)
    for columns in (np.arange(X.shape[1]), *quarters):
        distance = euclidean_distances(X[:, columns], squared=True)
        middle = distance.mean()
        for width in 2.0 ** np.linspace(-2.0, 3.0, ADULT_KERNELS // 5):
            K = np.exp(-distance / (middle * width))
            K -= K.mean(axis=0)
            K -= K.mean(axis=1)[:, None]
            yield K * (len(K) / K.trace())


@lru_cache(maxsize=1)
def kernel_and_labels(name: str, kind: str, fold: int | None) -> tuple[Any, NDArray]:
    X, y = load(name)
    if fold is not None:
        splits = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
        train, _ = list(splits)[fold]
        X, y = X[train], y[train]
    return make_kernel(kind, X), y


def make_problem(kernel: Any, y: NDArray, p: float) -> Problem:
    return Problem(kernel, (Hinge(C).dual(y),), L1() if p == 1 else Lp(p))


# -- runs ------------------------------------------------------------------------------------------


def affordable(problem: Problem, seconds: float) -> int:
    """Iterations of spectral gradients that the time allows, judged by the first ones."""
    start = time.process_time()
    spg(problem, tol=TOL, max_iter=CALIBRATION)
    each = (time.process_time() - start) / CALIBRATION
    return int(np.clip(seconds / each, CALIBRATION, MOST_ITERATIONS))


def run(case: Case, fold: int | None) -> dict[str, Any]:
    """All solvers of a case on one fold: machines, CPU seconds, gap and objective."""
    start = time.process_time()
    kernel, y = kernel_and_labels(case.data, case.kind, fold)
    problem = make_problem(kernel, y, case.p)
    components = {
        PGD: (False, False),
        NONMONOTONE: (False, True),
        SPECTRAL: (True, False),
        BOTH: (True, True),
    }
    result: dict[str, Any] = {"n_kernels": kernel.n_kernels, "n_rows": len(y)}
    for name in case.solvers:
        if name == SPG:
            most = affordable(problem, case.spg_seconds)
            one = measured(lambda most=most: spg(problem, tol=TOL, max_iter=most))
        elif name == DEFAULT:
            one = measured(lambda: solve(problem, tol=TOL))
            one["solver"] = choose_solver(problem)
        else:
            spectral, averaged = components[name]
            with bounded_machines():
                one = measured(
                    lambda spectral=spectral, averaged=averaged: descend(
                        problem, spectral=spectral, averaged=averaged, seconds=case.pgd_seconds
                    )
                )
        result[name] = one
    result["cpu"] = time.process_time() - start
    return result


@contextmanager
def bounded_machines() -> Iterator[None]:
    """Machines of at most so many steps: one of them must not outlast the limit of a run.

    A step of 1 can make weights so large that a single machine takes minutes.
    """
    bounded = partial(solve_dual, max_steps=MOST_STEPS)
    with mock.patch.object(kernelpath.mkl.svm.dual, "solve_dual", bounded):
        yield


def measured(task: Callable[[], Solution]) -> dict[str, Any]:
    start = time.process_time()
    found = task()
    seconds = time.process_time() - start
    gap = found.residual if found.gap is None else found.gap
    return {
        "n_svm": int(found.n_svm),
        "seconds": seconds,
        "gap": float(gap),
        "converged": found.status == CONVERGED,
        "objective": float(found.objective),
    }

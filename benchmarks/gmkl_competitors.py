"""GMKL beside EasyMKL (MKLpy) and multiple-kernel ridge (himalaya), on the same kernel matrices.

    python benchmarks/gmkl_competitors.py [sonar | wdbc | simulated | large | himalaya_1 ...]

Runs in any environment that has kernelpath and, of MKLpy (with torch and cvxopt) and himalaya,
those to compare with; of what is absent, stored results stay as they are.  Neither solves the
problem that we solve: what is compared is time to a model and its score on rows held out.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.model_selection import KFold, StratifiedShuffleSplit  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from common import OUT, Report, load_shared  # noqa: E402
from kernelpath.kernels.feature import RBF  # noqa: E402
from kernelpath.mkl.losses import Hinge, LeastSquares  # noqa: E402
from kernelpath.mkl.problem import Problem  # noqa: E402
from kernelpath.mkl.regularizers import L1, Lp  # noqa: E402
from kernelpath.mkl.solvers.choice import solve  # noqa: E402
from kernelpath.mkl.weighted_kernels.columns import ColumnKernel, SumOfColumnKernels, one_per_column  # noqa: E402
from kernelpath.mkl.weighted_kernels.precomputed import GivenKernels  # noqa: E402
from kernelpath.mkl.weighted_kernels.published import simple_mkl_parts  # noqa: E402
from kernelpath.mkl.weighted_kernels.storage import PackedKernels  # noqa: E402
from kernelpath.tracers.gmkl import largest_strength, strength_grid, trace  # noqa: E402

C, LAM = 10.0, 0.1
SPLITS = 3
ROWS = {"simulated": 2500, "large": 5000}  # four fifths are learned from
LARGEST = "large"  # the bar is for the largest problem; the others are shown
PARTS = ("sonar", "wdbc", "simulated", "large", "himalaya_1", "himalaya_50")
STRENGTHS, SMALLEST = 10, 1e-3
AS_GOOD = 0.002  # of R2 on 300 rows
DRAWS = 20  # of the 100 that random search makes unless told otherwise
GALLERY = {"n_kernels": 3, "n_targets": 50, "n_samples_train": 600, "n_samples_test": 300}


def clock(task: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = task()
    return found, time.process_time() - start


def have(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


# -- EasyMKL ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows held out, and the kernels of a table."""

    X: NDArray
    y: NDArray
    X_new: NDArray
    y_new: NDArray
    parts: list[ColumnKernel]

    def grams(self) -> tuple[list[NDArray], list[NDArray]]:
        """Every kernel as a matrix of mean diagonal 1, for the rows and for the new ones."""
        center = self.X.mean(axis=0)
        train, new = [], []
        for part in self.parts:
            own = (self.X - center)[:, list(part.columns)]
            K = part.gram(own, own)
            scale = len(K) / K.trace()
            train.append(K * scale)
            new.append(part.gram((self.X_new - center)[:, list(part.columns)], own) * scale)
        return train, new


def splits_of(name: str, n_splits: int) -> list[Split]:
    """Random halves, or four fifths where there are few rows; empty where data are absent."""
    if name in ROWS:
        X, y = make_classification(
            ROWS[name],
            49,
            n_informative=8,
            n_redundant=8,
            flip_y=0.05,
            class_sep=0.7,
            random_state=0,
        )
        n_splits = 1
    else:
        shared = load_shared(name)
        if shared is None:
            return []
        X, y = shared
    y = np.where(y > 0, 1.0, -1.0)
    found = []
    shuffle = StratifiedShuffleSplit(n_splits, test_size=0.2, random_state=0)
    for train, test in shuffle.split(X, y):
        rows = X[train]
        if name in ROWS:
            everything = ColumnKernel(
                RBF(), tuple(range(rows.shape[1])), 0.5 / rows.var(axis=0).sum()
            )
            parts = [*one_per_column(rows, RBF()), everything]
        else:
            parts = simple_mkl_parts(rows)
        found.append(Split(rows, y[train], X[test], y[test], parts))
    return found


def easy_mkl(train: list[NDArray], y: NDArray, new: list[NDArray], learner: Any) -> NDArray:
    """EasyMKL as it comes, or with another final machine."""
    import torch
    from MKLpy.algorithms import EasyMKL

    torch.set_num_threads(1)
    more = {} if learner is None else {"learner": learner}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = EasyMKL(lam=LAM, **more).fit(
            [torch.from_numpy(K) for K in train], torch.from_numpy(y)
        )
        return np.asarray(model.predict([torch.from_numpy(K) for K in new]))


def ours(train: list[NDArray], y: NDArray, new: list[NDArray], regularizer: Any) -> NDArray:
    """The same matrices, checked as those of users are, and the default solver."""
    kernel = GivenKernels(train, standardize=False)
    found = solve(Problem(kernel, (Hinge(C).dual(y),), regularizer))
    values = kernel.cross_times(found.weights, new, found.at.U)
    return np.sign(values[:, 0] + found.at.solutions[0].bias)


def ours_from_table(one: Split) -> NDArray:
    """From the table to predictions: no kernel of one column is ever a matrix."""
    kernel = SumOfColumnKernels(one.X, one.parts)
    found = solve(Problem(kernel, (Hinge(C).dual(one.y),), L1()))
    values = kernel.cross_times(found.weights, one.X_new, found.at.U)
    return np.sign(values[:, 0] + found.at.solutions[0].bias)


def against_easy_mkl(report: Report, name: str) -> None:
    """Time and accuracy from one list of matrices, and from the table."""
    splits = splits_of(name, SPLITS)
    if not splits:
        report.note(f"{name} is not here: its rows were left out")
        return
    tasks: dict[str, Callable[..., NDArray]] = {
        "ours, l1": lambda *lists: ours(*lists, L1()),
        "ours, p = 1.33": lambda *lists: ours(*lists, Lp(1.33)),
        "EasyMKL": lambda *lists: easy_mkl(*lists, None),
        "EasyMKL with SVC": lambda *lists: easy_mkl(*lists, SVC(C=C)),
    }
    seconds: dict[str, list[float]] = {task: [] for task in (*tasks, "matrices", "from table")}
    hits: dict[str, list[float]] = {task: [] for task in seconds}
    small = [K[:40, :40].copy() for K in splits[0].grams()[0][:3]]
    for task in tasks.values():  # compile and import
        task(small, splits[0].y[:40], small)
    for one in splits:
        (train, new), cpu = clock(one.grams)
        seconds["matrices"].append(cpu)
        for label, task in tasks.items():
            predicted, cpu = clock(lambda task=task: task(train, one.y, new))  # noqa: B023
            seconds[label].append(cpu)
            hits[label].append(float((predicted == one.y_new).mean()))
        predicted, cpu = clock(lambda: ours_from_table(one))  # noqa: B023
        seconds["from table"].append(cpu)
        hits["from table"].append(float((predicted == one.y_new).mean()))
    size = f"{name}, {len(splits[0].y):,} rows, {len(splits[0].parts)} kernels"
    write_easy(report, size, {k: statistics.median(v) for k, v in seconds.items()}, hits)


def write_easy(report: Report, size: str, time_of: dict[str, float], hits: dict) -> None:
    score = {label: 100 * float(np.mean(some)) for label, some in hits.items() if some}
    ratio = time_of["from table"] / (time_of["matrices"] + time_of["EasyMKL"])
    report.add(
        f"{size}: table to predictions, ours (l1) against matrices and EasyMKL",
        f"{ratio:.2f}x", "< 1x", ratio < 1,
    )  # fmt: skip
    for label in ("ours, l1", "ours, p = 1.33"):
        ratio = time_of[label] / time_of["EasyMKL"]
        bar = ("< 1x", ratio < 1) if size.startswith(LARGEST) else ("", None)
        report.add(f"... from given matrices, {label}", f"{ratio:.2f}x", *bar)
    text = "; ".join(
        f"{label} {time_of[label]:.2f} s, {score[label]:.1f} %"
        for label in time_of
        if label in score
    )
    report.note(
        f"{size}: CPU seconds and accuracy held out: {text}; the matrices "
        f"{time_of['matrices']:.2f} s"
    )


# -- himalaya --------------------------------------------------------------------------------------


def predicted(found: Any, new: NDArray[np.float64]) -> NDArray[np.float64]:
    """Predictions of all outputs for new rows, from matrices of shape (kernels, new, rows)."""
    K = np.tensordot(found.weights, new, axes=1)
    return K @ found.at.U + np.array([one.bias for one in found.at.solutions])


def our_ridge(Ks: NDArray, Y: NDArray, new: NDArray, folds: KFold) -> NDArray:
    """l1 sum of kernels with squared loss; the strength chosen by folds; one weight vector."""
    loss = LeastSquares(1.0)

    def problem(rows: NDArray) -> Problem:
        duals = tuple(loss.dual(y) for y in Y[rows].T)
        return Problem(PackedKernels.of([K[np.ix_(rows, rows)] for K in Ks]), duals, L1())

    every = problem(np.arange(len(Y)))
    strengths = strength_grid(largest_strength(every), STRENGTHS, SMALLEST)
    errors = np.zeros(STRENGTHS)
    for train, test in folds.split(Y):
        share = len(train) / len(Y)  # quadratic forms grow with the square of the rows
        grid = [L1(share**2 * s) for s in strengths]
        for i, found in enumerate(trace(problem(train), grid)):
            errors[i] += np.square(Y[test] - predicted(found, Ks[:, test][:, :, train])).sum()
    best = int(errors.argmin())
    *_, last = trace(every, [L1(s) for s in strengths[: best + 1]])
    return predicted(last, new)


def himalaya_ridge(
    Ks: NDArray, Y: NDArray, new: NDArray, folds: KFold, solver: str, n_iter: int = DRAWS
) -> NDArray:
    """Multiple-kernel ridge of himalaya, with the settings of its gallery."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    params = {"progress_bar": False}
    if solver == "random_search":
        params |= {"n_iter": n_iter, "alphas": np.logspace(-10, 10, 41), "n_targets_batch": 200}
    model = MultipleKernelRidgeCV(
        kernels="precomputed", solver=solver, solver_params=params, cv=folds, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(Ks, Y)
        return np.asarray(model.predict(new))


def r2(Y: NDArray, predicted: NDArray) -> float:
    """Mean over targets."""
    error = np.square(Y - predicted).sum(axis=0) / np.square(Y - Y.mean(axis=0)).sum(axis=0)
    return float(np.mean(1.0 - error))


def gallery_problem() -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """The data of himalaya's own example, with linear kernels: matrices and targets."""
    from himalaya.utils import generate_multikernel_dataset

    n = GALLERY["n_targets"]
    weights = np.tile([0.5, 0.3, 0.2], (n, 1))
    X, X_new, Y, Y_new, _, sizes = generate_multikernel_dataset(
        **GALLERY, kernel_weights=weights, random_state=42
    )
    ends = np.cumsum(sizes)[:-1]
    pairs = zip(np.split(X, ends, axis=1), np.split(X_new, ends, axis=1))
    both = [(A.astype(float) @ A.T, B.astype(float) @ A.T) for A, B in pairs]
    scale = [len(K) / K.trace() for K, _ in both]
    Ks = np.array([K * s for (K, _), s in zip(both, scale)])
    new = np.array([K * s for (_, K), s in zip(both, scale)])
    return Ks, new, Y.astype(float), Y_new.astype(float)


def against_himalaya(report: Report, count: int) -> None:
    """Their example with some of its targets."""
    Ks, new, Y, Y_new = gallery_problem()
    Y, Y_new, folds = Y[:, :count], Y_new[:, :count], KFold(5)
    tasks: dict[str, Callable[..., NDArray]] = {
        "ours": our_ridge,
        "random search": lambda *some: himalaya_ridge(*some, solver="random_search"),
        "hyper-gradient": lambda *some: himalaya_ridge(*some, solver="hyper_gradient"),
    }
    seconds, score = {}, {}
    for label, task in tasks.items():
        task(Ks[:, :60, :60], Y[:60, :1], new[:, :5, :60], folds)  # compile and import
        found, seconds[label] = clock(lambda task=task: task(Ks, Y, new, folds))
        score[label] = r2(Y_new, found)
    targets = f"{count} target{'s' if count > 1 else ''}"
    where = f"himalaya's example, 600 rows, 3 kernels, {targets}"
    for label in ("random search", "hyper-gradient"):
        ratio, close = seconds["ours"] / seconds[label], score["ours"] >= score[label] - AS_GOOD
        report.add(
            f"{where}: ours, R2 {score['ours']:.3f}, against {label}, R2 {score[label]:.3f}",
            f"{ratio:.2f}x", f"< 1x, R2 at most {AS_GOOD:g} smaller", ratio < 1 and close,
        )  # fmt: skip
    text = "; ".join(f"{k} {seconds[k]:.1f} s, R2 {score[k]:.3f}" for k in seconds)
    report.note(f"{where}: {text}")


# -- all -------------------------------------------------------------------------------------------


def part(name: str) -> None:
    """Measure one part and store its rows."""
    report = Report(f"gmkl_competitors_{name}", name)
    if name.startswith("himalaya"):
        against_himalaya(report, int(name.split("_")[1]))
        packages = ("himalaya",)
    else:
        against_easy_mkl(report, name)
        packages = ("MKLpy", "torch", "cvxopt")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    report.note(f"{name}, with {versions}")
    report.save()


def main() -> None:
    """Measure all parts, or those that are named, and join those that there are."""
    report = Report("gmkl_competitors", "GMKL beside EasyMKL and himalaya")
    print(report.title)
    for name in sys.argv[1:] or PARTS:
        needed = "himalaya" if name.startswith("himalaya") else "MKLpy"
        if have(needed):
            part(name)
        else:
            print(f"  {needed} is not installed here: {name} was left as it is stored")
    for name in PARTS:
        file = OUT / f"gmkl_competitors_{name}.json"
        if file.exists():
            content = json.loads(file.read_text())
            report.rows += content["rows"]
            report.notes += content["notes"]
    report.note(
        f"EasyMKL solves one margin problem (lam = {LAM:g}) on the plain sum and reads its weights "
        "from that; they are not optimal for a norm and carry no gap. Ours are, to a certified gap "
        f"of 1e-3, hinge loss with C = {C:g}, strength 1. EasyMKL ends with its own machine (KOMD) "
        f"or with SVC, C = {C:g}. Nothing was tuned; medians over {SPLITS} splits, one for the "
        "simulated tables"
    )
    report.note(
        "himalaya searches weights by cross-validated error, one vector for every target (random "
        f"search: {DRAWS} draws, its default being 100, and 41 strengths; hyper-gradient: as it "
        "comes). Ours: l1 sum, squared loss, one vector shared by all targets (as the true weights "
        f"of the example are), {STRENGTHS} strengths by the same five folds, certified gap 1e-3"
    )
    if report.rows:
        report.save()


if __name__ == "__main__":
    main()

"""One fold of Table 2 and one split of Table 3, everything learned from the training rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from lp_kta_settings import FOLDS, MOST_FEATURES, TOLERANCE, TOLERANCE_POINT, TOLERANCES, Plan
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.feature_selection import f_classif
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils.sparsefuncs import mean_variance_axis
from threadpoolctl import threadpool_limits

import kernelpath as kp
from common import PUBLISHED_LP_KTA, load_shared
from kernelpath.path_kernels import KernelBank
from kernelpath.predictors.svm import Task, fit_svms
from kernelpath.tables.table import as_column_table
from kernelpath.tracers.lp_kta.divergences import SquaredEuclidean
from kernelpath.tracers.lp_kta.problem import PNormProblem, trace_exact
from kernelpath.tracers.lp_kta.trace import trace_path

MEMORY_LIMIT = 2**30
MODES = {"plain": None, "balanced": "balanced"}


def start_worker() -> None:
    """One thread per process, and no word about columns that are constant in a fold."""
    threadpool_limits(1)
    warnings.filterwarnings("ignore", message=".* constant")


@lru_cache(maxsize=2)
def load(name: str, part: str | None) -> tuple[Any, NDArray]:
    X, y = load_shared(name, part)
    return (X.tocsr() if sp.issparse(X) else X), y


# -- kernels and weights ---------------------------------------------------------------------------


def fit_bank(X: Any, y: NDArray, s: float) -> KernelBank:
    """Kernels whose width is ``s`` standard deviations of each column."""
    variance = mean_variance_axis(X.tocsr(), 0)[1] if sp.issparse(X) else X.var(axis=0)
    gamma = 1.0 / (2.0 * s * s * np.where(variance > 0, variance, 1.0))
    return KernelBank.fit(as_column_table(X), y, gamma=gamma, n_jobs=1)


def make_problem(bank: KernelBank, r1: float, rho: float, tol: float = TOLERANCE) -> PNormProblem:
    largest = float(bank.alignments.max())
    return PNormProblem(
        alignments=bank.alignments,
        usable=~bank.constant,
        bregman_strength=r1 * largest,
        norm_strength=rho * largest,
        divergence=SquaredEuclidean(),
        reference=np.zeros(bank.n_columns),
        elimination_tol=tol,
    )


def weights_along(problem: PNormProblem, p: Sequence[float]) -> sp.csr_matrix:
    """Weights at several ``p``, one row each."""
    traced = trace_exact(problem, np.asarray(p))
    shape = (len(p), problem.n_features)
    return sp.csr_matrix((traced.data, traced.indices, traced.indptr), shape=shape)


def path_weights(bank: KernelBank, plan: Plan, p: Sequence[float]) -> sp.csr_matrix:
    """Rows for every pair of strengths and ``p``, then uniform weights."""
    rows = [weights_along(make_problem(bank, *pair), p) for pair in plan.pairs]
    return sp.vstack([*rows, sp.csr_matrix((~bank.constant).astype(float))], format="csr")


def tolerance_weights(bank: KernelBank) -> sp.csr_matrix:
    """One point of a path under several elimination tolerances."""
    r1, rho, p = TOLERANCE_POINT
    rows = [weights_along(make_problem(bank, r1, rho, tol), [p]) for tol in TOLERANCES]
    return sp.vstack(rows, format="csr")


def size_weights(bank: KernelBank, plan: Plan, sizes: Sequence[int]) -> sp.csr_matrix:
    """Rows for every pair of strengths and number of features: juncture points of the path."""
    rows = []
    most = int((~bank.constant).sum())
    for pair in plan.size_pairs:
        path = trace_path(make_problem(bank, *pair), np.array([2.0, 1.0]))
        points = [path.at(n_features=min(k, most)) for k in sizes]
        rows += [sp.csr_matrix(point.weights) for point in points]
    return sp.vstack(rows, format="csr")


# -- accuracies ------------------------------------------------------------------------------------


def balanced_accuracy(y: NDArray, predicted: NDArray) -> float:
    """Mean share of hits of the classes; scikit-learn's takes longer than an SVM here."""
    return float(np.mean([(predicted[y == one] == one).mean() for one in np.unique(y)]))


def auc(positive: NDArray[np.bool_], decision: NDArray[np.float64]) -> float:
    """Area under the ROC curve, from the ranks of the positive rows."""
    n = int(positive.sum())
    above = rankdata(decision)[positive].sum() - n * (n + 1) / 2
    return float(above / (n * (len(positive) - n)))


def score_points(
    bank: KernelBank,
    weights: sp.csr_matrix,
    X_new: Any,
    y: NDArray,
    y_new: NDArray,
    plan: Plan,
    ranked: bool = False,
) -> dict[str, Any]:
    """Hits on new rows at every point and C; with ``ranked`` also the other measures."""
    classes = np.unique(y)
    codes, codes_new = np.searchsorted(classes, y), np.searchsorted(classes, y_new)
    total = np.asarray(weights.sum(axis=1)).ravel()
    scale = np.divide(len(y), total, out=np.zeros_like(total), where=total > 0)
    kernels = bank.combine(sp.diags(scale) @ weights, X_new, memory_limit=MEMORY_LIMIT)
    measures = ("hits", "balanced_accuracy", "auc") if ranked else ("hits",)
    modes = tuple(MODES) if plan.ranked else ("plain",)
    found = {mode: {name: [] for name in measures} for mode in modes}
    for kernel, empty in zip(kernels, total == 0):
        for mode in modes:
            task = Task("classification", classes, class_weight=MODES[mode])
            heads = {} if empty else fit_svms(kernel.train, codes, task, plan.C)
            rows = {name: [] for name in measures}
            for C in plan.C:
                if empty:  # no feature: the larger class
                    decision = np.full(len(y_new), np.bincount(codes).argmax() - 0.5)
                else:
                    decision = heads[C].decision(kernel.new[:, heads[C].support])
                predicted = (decision > 0).astype(int)
                rows["hits"].append(int((predicted == codes_new).sum()))
                if ranked:
                    balanced = balanced_accuracy(codes_new, predicted)
                    rows["balanced_accuracy"].append(round(balanced, 5))
                    rows["auc"].append(round(auc(codes_new == 1, decision), 5))
            for name in measures:
                found[mode][name].append(rows[name])
    return found


def inner_hits(
    X: Any, y: NDArray, s: float, plan: Plan, make_weights: Callable[[KernelBank], sp.csr_matrix]
) -> dict[str, list]:
    """Hits of honest inner folds, summed over them."""
    folds = StratifiedKFold(plan.inner_folds, shuffle=True, random_state=0)
    total: dict[str, Any] = {}
    for train, test in folds.split(np.zeros(len(y)), y):
        bank = fit_bank(X[train], y[train], s)
        found = score_points(bank, make_weights(bank), X[test], y[train], y[test], plan)
        for mode, measures in found.items():
            total[mode] = total.get(mode, 0) + np.array(measures["hits"])
    return {mode: hits.tolist() for mode, hits in total.items()}


def one_feature(bank: KernelBank, X: Any, y: NDArray, X_new: Any, y_new: NDArray) -> dict:
    """Rule of the feature with the largest alignment: present or not, larger class of each."""
    column = int(bank.alignments.argmax())
    present = X[:, [column]].toarray().ravel() > 0
    present_new = X_new[:, [column]].toarray().ravel() > 0
    classes, codes = np.unique(y, return_inverse=True)
    answers = [classes[np.bincount(codes[present == state]).argmax()] for state in (False, True)]
    predicted = np.where(present_new, answers[1], answers[0])
    return {
        "hits": int((predicted == y_new).sum()),
        "balanced_accuracy": float(balanced_accuracy(y_new, predicted)),
    }


# -- the two tables --------------------------------------------------------------------------------


def table2_fold(name: str, plan: Plan, seed: int, fold: int) -> dict[str, Any]:
    """Path, uniform weights and tolerances on one fold, with inner folds."""
    start = time.process_time()
    X, y = load(name, plan.part)
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    train, test = list(splits)[fold]
    inner_p = [plan.p[i] for i in plan.inner_p]
    result: dict[str, Any] = {"n_test": len(test), "by_s": []}
    for s in plan.s:
        bank = fit_bank(X[train], y[train], s)
        rows = sp.vstack([path_weights(bank, plan, plan.p), tolerance_weights(bank)], format="csr")
        found = score_points(bank, rows, X[test], y[train], y[test], plan, plan.ranked)
        inner = inner_hits(
            X[train], y[train], s, plan, lambda bank: path_weights(bank, plan, inner_p)
        )
        sizes = np.diff(rows.indptr).tolist()
        result["by_s"].append({"sizes": sizes, "outer": found, "inner": inner})
    if plan.ranked:
        result["one"] = one_feature(bank, X[train], y[train], X[test], y[test])
    result["cpu"] = time.process_time() - start
    return result


def table3_split(name: str, plan: Plan, split: int) -> dict[str, Any]:
    """At most 200 features from half the rows, with inner folds; and PathCV as it comes."""
    start = time.process_time()
    X, y = load(name, plan.part)
    halves = StratifiedShuffleSplit(1, test_size=0.5, random_state=split)
    train, test = next(halves.split(np.zeros(len(y)), y))
    inner_sizes = [plan.sizes[i] for i in plan.inner_sizes]
    assert max(plan.sizes) <= MOST_FEATURES
    result: dict[str, Any] = {"n_test": len(test), "by_s": []}
    for s in plan.s:
        bank = fit_bank(X[train], y[train], s)
        rows = size_weights(bank, plan, plan.sizes)
        found = score_points(bank, rows, X[test], y[train], y[test], plan, plan.ranked)
        inner = inner_hits(
            X[train], y[train], s, plan, lambda bank: size_weights(bank, plan, inner_sizes)
        )
        sizes = np.diff(rows.indptr).tolist()
        result["by_s"].append({"sizes": sizes, "outer": found, "inner": inner})
    if plan.ranked:
        result["one"] = one_feature(bank, X[train], y[train], X[test], y[test])
    result["cpu_path"] = time.process_time() - start
    result["path_cv"] = {
        "lp-KTA": path_cv(kp.LpKTASelector(**PUBLISHED_LP_KTA), X, y, train, test, plan),
        "F test": path_cv(f_classif, X, y, train, test, plan),
    }
    result["cpu"] = time.process_time() - start
    return result


def path_cv(selector: Any, X: Any, y: NDArray, train: Any, test: Any, plan: Plan) -> dict:
    """Defaults of the library on the training half, scored on the other half."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model = kp.PathCV(
            selector, rule="best", n_features=list(plan.path_sizes), cv=plan.path_folds
        ).fit(X[train], y[train])
    point = model.operating_point_
    predicted = model.predict(X[test])
    return {
        "hits": int((predicted == y[test]).sum()),
        "balanced_accuracy": float(balanced_accuracy(y[test], predicted)),
        "n_features": int(point.n_features),
        "predictor": point.predictor,
    }


def dorothea_times(name: str, plan: Plan) -> dict[str, float]:
    """CPU time of the 101-point path of all rows, then with a kernel and an SVM at each point."""
    X, y = load(name, plan.part)
    classes, codes = np.unique(y, return_inverse=True)
    task = Task("classification", classes)
    times: dict[str, float] = {}
    for _ in range(3):
        start = time.process_time()
        path = kp.LpKTASelector(n_jobs=1, **PUBLISHED_LP_KTA).fit(X, y).path_
        traced = time.process_time()
        bank = KernelBank.fit(as_column_table(X), y, n_jobs=1)
        for point, kernel in enumerate(bank.combine(path.weights, memory_limit=MEMORY_LIMIT)):
            total = path.weights[[point]].sum()
            fit_svms(kernel.train * (len(y) / total), codes, task, [1.0])
        done = time.process_time()
        for key, value in (("path", traced - start), ("all", done - start)):
            times[key] = min(times.get(key, np.inf), value)
    return {**times, "points": len(path)}

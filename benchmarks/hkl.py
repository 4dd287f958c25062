"""HKL: a product with weak parts, and errors of prediction beside L1KR and kernel ridge.

    python benchmarks/hkl.py

The real tables are those of the L1KR paper that are here (its Table 2).  Every setting is chosen
inside the rows for training, by folds of them.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy

import numpy as np  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.kernel_ridge import KernelRidge  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import common  # noqa: E402
import kernelpath as kp  # noqa: E402

TRIALS, ROWS, COLUMNS = 10, 200, 10
PARTS, NOISE = 0.15, 0.3  # of the product
PAIR = {0, 1}
RIVALS = ("lp-kta", "gmkl", "hsic-lasso", "mutual-info", "f-test", "bahsic", "l1kr")
WIDTHS = (1.0, 2.0)
SPLITS, HELD_OUT, INNER = 1, 0.3, 3
STRENGTHS = 15
BUDGETS = (0.03, 0.3, 1.0, 4.0)  # norm budgets of L1KR
LARGEST_GAP = 1e-3


# -- a product with weak parts ---------------------------------------------------------------------


def product_table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two features whose product matters, each with a weak effect of its own, and others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, COLUMNS))
    parts = PARTS * (X[:, 0] + X[:, 1])
    return X, X[:, 0] * X[:, 1] + parts + NOISE * rng.normal(size=ROWS)


def pair_by_hkl(kernel: str, X: np.ndarray, y: np.ndarray) -> tuple[bool, Any]:
    """Whether the last point with two features has the pair, and the model."""
    model = kp.baselines.HKL(lattice=kernel).fit(X, y)
    if 2 not in model.path_.sizes:
        return False, model
    return set(np.flatnonzero(model.path_.at(n_features=2).support)) == PAIR, model


def pair_by(name: str, X: np.ndarray, y: np.ndarray) -> bool:
    """Whether the first two features of another method are the pair."""
    from kernelpath.catalogue import METHODS
    from kernelpath.tracers.any_selector import trace

    selector = METHODS[name].compared_selector("regression", [2])
    return set(trace(selector, X, y).at(2).columns) == PAIR


def on_products(report: common.Report) -> None:
    """How often the pair is found, and what it took."""
    found = dict.fromkeys(("gaussian", "polynomial", *RIVALS), 0)
    taken: dict[str, list[Any]] = {"gaussian": [], "polynomial": []}
    for seed in range(TRIALS):
        X, y = product_table(seed)
        for kernel, models in taken.items():
            start = time.process_time()
            hit, model = pair_by_hkl(kernel, X, y)
            models.append((time.process_time() - start, model))
            found[kernel] += hit
        for name in RIVALS:
            found[name] += pair_by(name, X, y)
    for kernel, models in taken.items():
        rel = max(float((m.path_.gaps / m.path_.values).max()) for _, m in models)
        report.add(
            f"{ROWS} x {COLUMNS}, a product with weak parts, {kernel}: pair found",
            f"{found[kernel]} of {TRIALS}", "no bar", None,
        )  # fmt: skip
        report.add(f"... largest gap of all points, relative, {kernel}",
                   f"{rel:.1e}", f"<= {LARGEST_GAP:g}", rel <= LARGEST_GAP)  # fmt: skip
        seconds = np.median([one for one, _ in models])
        chosen = np.median([m.n_kernels_[-1] for _, m in models])
        seen = np.median([m.n_explored_[-1] for _, m in models])
        points = np.median([len(m.path_) for _, m in models])
        report.note(
            f"{kernel}: medians of {seconds:.1f} s of CPU, {points:.0f} points; at the last one "
            f"{chosen:.0f} kernels chosen, and {seen:.0f} looked at"
        )
    others = ", ".join(f"{name} {found[name]}" for name in RIVALS)
    report.note(f"the first two features of other methods are the pair: {others} of {TRIALS}")


# -- errors of prediction --------------------------------------------------------------------------


Predictor = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, float]]


def by_hkl(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, float]:
    """Width and strength by folds; also the number of features."""
    errors = []
    for sigma in WIDTHS:
        folds = KFold(INNER, shuffle=True, random_state=1).split(X)
        each = []
        for train, test in folds:
            model = kp.baselines.HKL(sigma=sigma, strengths=STRENGTHS).fit(X[train], y[train])
            each.append(
                [
                    np.mean((model.predict(X[test], position=k) - y[test]) ** 2)
                    for k in range(len(model.path_))
                ]
            )
        length = min(map(len, each))
        mean = np.mean([one[:length] for one in each], axis=0)
        errors.append((mean.min(), sigma, int(mean.argmin())))
    _, sigma, position = min(errors)
    model = kp.baselines.HKL(sigma=sigma, strengths=STRENGTHS).fit(X, y)
    position = min(position, len(model.path_) - 1)
    return model.predict(new, position=position), float(model.path_.n_selected[position])


def by_l1kr(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, float]:
    """The point and the norm budget by rows left out, in closed form."""
    model = kp.L1KRRegressor(norm_budget=BUDGETS, search_branches=False).fit(X, y)
    return model.predict(new), float(model.support_.sum())


def by_ridge(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, float]:
    """Kernel ridge regression with width and ridge by folds."""
    grid = {
        "kernelridge__gamma": np.geomspace(1e-3, 1.0, 10),
        "kernelridge__alpha": np.geomspace(1e-4, 1.0, 9),
    }
    model = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
    search = GridSearchCV(model, grid, cv=KFold(INNER, shuffle=True, random_state=1),
                          scoring="neg_mean_squared_error")  # fmt: skip
    mean = y.mean()
    return mean + search.fit(X, y - mean).predict(new), float(X.shape[1])


MACHINES: dict[str, Predictor] = {"HKL": by_hkl, "L1KR": by_l1kr, "kernel ridge": by_ridge}


def on_table(report: common.Report, name: str, X: np.ndarray, y: np.ndarray) -> None:
    """Errors on rows held out, the same for all."""
    errors: dict[str, list[float]] = {one: [] for one in MACHINES}
    sizes: dict[str, list[float]] = {one: [] for one in MACHINES}
    seconds = dict.fromkeys(MACHINES, 0.0)
    for train, test in ShuffleSplit(SPLITS, test_size=HELD_OUT, random_state=0).split(X):
        for one, machine in MACHINES.items():
            start = time.process_time()
            found, size = machine(X[train], y[train], X[test])
            errors[one].append(float(np.mean((found - y[test]) ** 2)))
            sizes[one].append(size)
            seconds[one] += time.process_time() - start
    words = ", ".join(
        f"{one} {np.mean(errors[one]):.4g} ({np.mean(sizes[one]):.0f} features)"
        for one in list(MACHINES)[1:]
    )
    report.add(
        f"{name}, {X.shape[0]} x {X.shape[1]}: mean squared error of HKL",
        f"{np.mean(errors['HKL']):.4g} ({np.mean(sizes['HKL']):.0f} features)", "no bar", None,
    )  # fmt: skip
    report.note(
        f"{name}: {words}; {SPLITS} split, {HELD_OUT:.0%} held out, variance of the target "
        f"{y.var():.4g}; CPU time with all settings "
        + ", ".join(f"{one} {seconds[one]:.0f} s" for one in MACHINES)
    )
    start = time.process_time()
    model = kp.baselines.HKL().fit(X, y)
    taken = time.process_time() - start
    gap = float((model.path_.gaps / model.path_.values).max())
    report.add("... largest gap of a path of all rows, relative",
               f"{gap:.1e}", f"<= {LARGEST_GAP:g}", gap <= LARGEST_GAP)  # fmt: skip
    report.note(
        f"{name}, all rows: {len(model.path_)} points in {taken:.1f} s of CPU, at the last one "
        f"{model.n_kernels_[-1]} kernels of {model.path_.n_selected[-1]} features, "
        f"{model.n_explored_[-1]} looked at of 2^{X.shape[1]}"
    )


def main() -> None:
    """Measure what data allow."""
    report = common.Report("hkl", "Hierarchical kernel learning")
    print(report.title)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        on_products(report)
        for name in ("boston", "wisconsin_reg"):
            data = common.load_shared(name)
            if data is None:
                report.note(f"{name} is not here: its rows were left out")
            else:
                on_table(report, name, *data)
    report.save()


if __name__ == "__main__":
    main()

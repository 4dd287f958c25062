"""Tables 1 and 2 of the AISTATS 2010 paper on L1KR.

    python benchmarks/papers/l1kr_tables.py [case ...] [--method name ...] [--trials number]
                                            [--splits number] [--quick] [--page]

A case is a table or a row of one, such as table1, friedman2_noisy or boston.  ``--trials`` runs no
more than so many trials of it, ``--splits`` at least so many random splits of the data of Table 2;
each of their folds is a trial.  Every trial is kept under benchmarks/out/papers/l1kr and not run
again; delete the files to start over.  ``--page`` only writes the page from what is there.
``--quick`` runs a trial of each into a folder of its own and writes nothing under docs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from datetime import date
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
from l1kr_settings import (  # noqa: E402
    CASES,
    DEGREE,
    INNER_FOLDS,
    KRR,
    LASSO,
    METHODS,
    OURS,
    RIDGES,
    WIDTHS,
    Case,
    Split,
    split_of,
    whole_table,
)
from numpy.typing import NDArray  # noqa: E402
from scipy.linalg import eigh  # noqa: E402
from scipy.spatial.distance import cdist  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.linear_model import LassoCV, LinearRegression  # noqa: E402
from sklearn.model_selection import KFold  # noqa: E402

import kernelpath as kp  # noqa: E402
from common import OUT, machine  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Store:
    """Trials of one case and method in a file, written after every trial."""

    def __init__(self, folder: Path, case: Case, method: str) -> None:
        self.file = folder / f"{case.key}_{method}.json"
        self.settings = json.loads(json.dumps(case.describe(method)))
        self.trials: dict[int, dict[str, Any]] = {}
        self.date, self.versions = "", {}
        if self.file.exists():
            content = json.loads(self.file.read_text())
            if content["settings"] == self.settings:
                self.trials = {one["trial"]: one for one in content["trials"]}
                self.date, self.versions = content["date"], content["versions"]

    def add(self, trial: dict[str, Any]) -> None:
        """Keep a trial."""
        self.trials[trial["trial"]] = trial
        content = {
            "settings": self.settings,
            "date": date.today().isoformat(),
            "versions": machine(),
            "trials": [self.trials[number] for number in sorted(self.trials)],
        }
        temporary = self.file.with_suffix(".part")
        temporary.write_text(json.dumps(content))
        temporary.replace(self.file)


# -- methods ---------------------------------------------------------------------------------------


def run_l1kr(split: Split, kernel: str) -> tuple[NDArray, dict[str, Any]]:
    """Predictions of L1KR at its own choice of norm budget and point, and how its path went."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kp.L1KRRegressor(kernel, degree=DEGREE, search_branches=False)
        model.fit(split.X, split.y)
    kinds = model.path_.events.kinds
    turn = type(model.path_.events).KINDS.index("turn")
    return model.predict(split.X_test), {
        "weights": model.weights_.tolist(),
        "setting": {"norm_budget": model.norm_budget_},
        "leave_one_out": float(model.leave_one_out_[model.position_]),
        "end": model.end_,
        "early": any(issubclass(one.category, ConvergenceWarning) for one in caught),
        "turns": int(np.sum(np.asarray(kinds) == turn)),
        "points": len(model.path_),
        "kkt": float(np.max(model.path_.kkt)),
    }


def scaled(split: Split) -> Split:
    """Columns of mean 0 and deviation 1 in the training rows; constant ones become 0."""
    middle, unit = split.X.mean(axis=0), split.X.std(axis=0)
    unit = np.where(unit > 0, unit, np.inf)
    return Split((split.X - middle) / unit, split.y, (split.X_test - middle) / unit, split.y_test)


def ridge_predictions(split: Split, width: float, ridges: tuple[float, ...]) -> NDArray:
    """Predictions of kernel ridge regression for the test rows, a row for each ridge."""
    split = scaled(split)
    scale = width / split.X.shape[1]
    K = np.exp(-scale * cdist(split.X, split.X, "sqeuclidean"))
    cross = np.exp(-scale * cdist(split.X_test, split.X, "sqeuclidean"))
    row_mean, mean = K.mean(axis=0), split.y.mean()
    centred = K - row_mean - row_mean[:, None] + row_mean.mean()
    cross = cross - row_mean - cross.mean(axis=1)[:, None] + row_mean.mean()
    values, vectors = eigh(centred)
    inside, across = vectors.T @ (split.y - mean), cross @ vectors
    values, inside = np.maximum(values, 0.0) / len(values), inside / len(values)
    return np.array([mean + across @ (inside / (values + ridge)) for ridge in ridges])


def run_krr(split: Split, seed: int) -> tuple[NDArray, dict[str, Any]]:
    """Kernel ridge regression with one width for all columns; width and ridge by folds."""
    errors = np.zeros((len(WIDTHS), len(RIDGES)))
    for inside, held in KFold(INNER_FOLDS, shuffle=True, random_state=seed).split(split.X):
        part = Split(split.X[inside], split.y[inside], split.X[held], split.y[held])
        for i, width in enumerate(WIDTHS):
            gaps = ridge_predictions(part, width, RIDGES) - part.y_test
            errors[i] += (gaps**2).sum(axis=1)
    i, j = np.unravel_index(int(np.argmin(errors)), errors.shape)
    edge = i in (0, len(WIDTHS) - 1) or j in (0, len(RIDGES) - 1)
    found = ridge_predictions(split, WIDTHS[i], (RIDGES[j],))[0]
    return found, {"setting": {"width": WIDTHS[i], "ridge": RIDGES[j]}, "edge": bool(edge)}


def run_linear(split: Split, method: str, seed: int) -> tuple[NDArray, dict[str, Any]]:
    """LASSO, its penalty by folds, or least squares."""
    rows = scaled(split)
    if method == LASSO:
        folds = KFold(INNER_FOLDS, shuffle=True, random_state=seed)
        model = LassoCV(cv=folds, max_iter=100_000).fit(rows.X, rows.y)
        more = {"setting": {"alpha": float(model.alpha_)}, "weights": np.abs(model.coef_).tolist()}
        return model.predict(rows.X_test), more
    return LinearRegression().fit(rows.X, rows.y).predict(rows.X_test), {}


def run_trial(case: Case, method: str, trial: int) -> dict[str, Any]:
    """Learn from the training rows and score on the test rows."""
    split = split_of(case, trial)
    start = time.process_time()
    if method in OURS:
        found, more = run_l1kr(split, method)
    elif method == KRR:
        found, more = run_krr(split, trial)
    else:
        found, more = run_linear(split, method, trial)
    cpu = time.process_time() - start
    error = float(np.mean((found - split.y_test) ** 2))
    return {"trial": trial, "error": error, "rows": len(found), "cpu": cpu, **more}


# -- all of it -------------------------------------------------------------------------------------


def run_case(folder: Path, case: Case, options: argparse.Namespace) -> None:
    """Run what is missing of a case, one method after the other."""
    for method in options.method or METHODS:
        store = Store(folder, case, method)
        most = min(case.trials(method, options.splits), options.trials)
        missing = [trial for trial in range(most) if trial not in store.trials]
        clock = time.time()
        for trial in missing:
            store.add(run_trial(case, method, trial))
        if missing:
            cpu = sum(store.trials[trial]["cpu"] for trial in missing)
            print(
                f"{case.key:<16} {method:<11} {len(missing):>3} trials {cpu:8.1f} s CPU "
                f"{time.time() - clock:7.0f} s wall",
                flush=True,
            )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = ["table1", "table2", *(case.key for case in CASES)]
    parser.add_argument("cases", nargs="*", metavar="case", help=", ".join(known))
    parser.add_argument("--method", nargs="+", default=[], choices=METHODS)
    parser.add_argument("--trials", type=int, default=100_000, help="no more than so many")
    parser.add_argument("--splits", type=int, help="at least so many, in Table 2")
    parser.add_argument("--quick", action="store_true", help="a trial each, nothing under docs")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args(arguments)
    unknown = set(options.cases) - set(known)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if options.quick:
        options.trials = 1
    folder = OUT / "papers" / ("l1kr_quick" if options.quick else "l1kr")
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        wanted = not options.cases or {f"table{case.table}", case.key} & set(options.cases)
        if options.page or not wanted:
            continue
        if not case.drawn and whole_table(case.data) is None:
            print(f"{case.data} is not here: left out")
            continue
        run_case(folder, case, options)
    from l1kr_page import write_page

    if write_page(folder if options.quick else DOCS, folder):
        print("wrote reproduction_l1kr.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())

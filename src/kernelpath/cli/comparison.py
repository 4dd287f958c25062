"""Several methods on the same folds: the rankings, the run and its files."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from kernelpath.cli.cv import fit_cv, save_score_picture, write_scores
from kernelpath.cli.files import write_json
from kernelpath.cli.record import Record, write_page, write_record
from kernelpath.cli.settings import CVSettings, selector_jobs
from kernelpath.errors import DataError
from kernelpath.estimators.gmkl import GMKLClassifier, GMKLRegressor
from kernelpath.estimators.l1kr import L1KRRegressor
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.estimators.nmmkl import NMMKLSelector
from kernelpath.estimators.path_cv import PathCV
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.read import LoadedTable
from kernelpath.tables.table import Table
from kernelpath.tables.targets import infer_task
from kernelpath.tracers.any_selector import Baseline, size_grid

N_STRENGTHS = 20
MOST_BUDGETS = 60  # features; every budget is a problem of its own, in every fold
MOST_COLUMNS, MOST_ROWS = 200, 1000  # of a path inside a kernel, which knows no short cuts
L1KR_BUDGETS = (0.03, 0.3)  # of the norm: a path for each, in every fold
OWN_NAMES = {"f-test": "f_test", "forest": "forest"}  # as PathCV calls its baselines


@dataclass(frozen=True)
class Ranker:
    """Ranking of the columns by a method known by name; text columns count as codes."""

    name: str
    task: str
    seed: int

    def __call__(self, X: Any, y: Any) -> np.ndarray:
        """Score every column; higher is better."""
        values = TableEncoder.fit(X)[1].values
        if self.name == "mutual-info":
            return mutual_info(values, y, self.task, self.seed)
        if self.name == "gmkl":
            return entry_on_path(values, y, self.task)
        if self.name == "l1kr":
            return weights_at_best_point(values, y, self.task)
        return Baseline(OWN_NAMES[self.name], self.task, self.seed)(values, y)

    @property
    def __name__(self) -> str:
        return self.name


class BudgetChoices(BaseEstimator):
    """NMMKL with a budget for every size; text columns count as codes."""

    reads_tables = True

    def __init__(self, budgets: list[int], kernel: str, task: str) -> None:
        self.budgets = budgets
        self.kernel = kernel
        self.task = task

    def fit(self, X: Any, y: Any) -> BudgetChoices:
        """Choose the features of every budget."""
        table = X if isinstance(X, Table) else TableEncoder.fit(X)[1]
        selector = NMMKLSelector(self.budgets, kernel=self.kernel, task=self.task)
        with warnings.catch_warnings():
            # Sizes that a fold does not have are scored as the next smaller one, columns that are
            # the same differ by fold, and a point that is not exact is still a choice.
            warnings.filterwarnings("ignore", message="n_features_to_select=")
            warnings.filterwarnings("ignore", message="Some selected columns")
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.path_ = selector.fit(table, y).path_
        return self


def mutual_info(X: Any, y: Any, task: str, seed: int) -> np.ndarray:
    """Mutual information of every column with the target."""
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    measure = mutual_info_classif if task == "classification" else mutual_info_regression
    return measure(X, y, random_state=seed)


def entry_on_path(X: Any, y: Any, task: str) -> np.ndarray:
    """Features by entry on the path of a sum of kernels with an l1 norm; 0 for those left out."""
    kind = GMKLClassifier if task == "classification" else GMKLRegressor
    with warnings.catch_warnings():
        # Constant columns are reported for the table, and a point that is not exact still ranks.
        warnings.simplefilter("ignore", UserWarning)
        path = kind(strengths=N_STRENGTHS).fit(X, y).path_
    order = path.entry_order()
    scores = np.zeros(path.n_features)
    scores[order] = np.arange(len(order), 0, -1)
    return scores


def weights_at_best_point(X: Any, y: Any, task: str, most: int = MOST_COLUMNS) -> np.ndarray:
    """Features by weight inside a kernel, where the rows left out have the smallest error.

    Those without a weight there follow in the order of their first entry on the path; 0 for those
    that never enter.  Of more columns than ``most`` the first ones by lp-KTA are looked at.
    """
    target = np.unique(y, return_inverse=True)[1] * 2.0 - 1.0 if task == "classification" else y
    scores, columns = np.zeros(X.shape[1]), np.arange(X.shape[1])
    with warnings.catch_warnings():
        # Constant columns are reported for the table, and a path that ends early still ranks.
        warnings.simplefilter("ignore", UserWarning)
        if len(columns) > most:
            screen = LpKTASelector(task=task).fit(X, y).path_
            columns = np.sort(screen.entry_order()[:most])
        model = L1KRRegressor(norm_budget=L1KR_BUDGETS, search_branches=False).fit(
            X[:, columns], target
        )
    held = model.path_.supports.toarray()
    first = np.where(held.any(axis=0), held.argmax(axis=0), len(held))
    order = np.lexsort((first, -model.weights_))[: held.any(axis=0).sum()]
    scores[columns[order]] = np.arange(len(order), 0, -1)
    return scores


@dataclass(frozen=True)
class Comparison:
    """Scores of all methods; the model is that of the first."""

    model: PathCV
    scores: dict[str, Any]
    seconds: float
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        study = self.model._run.study
        return {
            "format": "kernelpath-comparison",
            "version": 1,
            "task": self.model.task_,
            "n_samples": int(study.rows.n_rows),
            "n_features": int(self.model.n_features_in_),
            "scoring": self.model.scores_.scoring,
            "n_folds": int(self.model.scores_.n_folds),
            "chance": _number(self.model.scores_.chance_mean),
            "seconds": round(self.seconds, 3),
            "notes": self.notes,
            "methods": [_method(name, own) for name, own in self.scores.items()],
        }


def _method(name: str, scores: Any) -> dict[str, Any]:
    best = int(scores.best())
    error = float(scores.se[best])
    near = scores.reaching(float(scores.mean[best]) - error)[0] if error == error else best
    return {
        "name": name,
        "n_features": scores.n_features.tolist(),
        "score": [_number(value) for value in scores.mean],
        "se": [_number(value) for value in scores.se],
        "best": _at(scores, best),
        "one_se": _at(scores, int(near)),
    }


def _at(scores: Any, place: int) -> dict[str, Any]:
    return {
        "n_features": int(scores.n_features[place]),
        "score": _number(scores.mean[place]),
        "se": _number(scores.se[place]),
    }


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def compare(
    wanted: list[str], table: LoadedTable, settings: CVSettings, memory: Path | None
) -> Comparison:
    """Score the methods, the first as the path itself and the others as its baselines."""
    start = time.perf_counter()
    # Ours first: with it the sizes of all methods are those of its path.
    order = sorted(wanted, key=lambda name: name != "lp-kta")
    task = infer_task(table.y, settings.task)
    n_columns = len(table.feature_names) - (settings.groups is not None)
    said = _check_l1kr(table, task, n_columns) if "l1kr" in wanted else []
    if "nmmkl" in wanted and settings.sizes is None and n_columns > MOST_BUDGETS:
        settings = replace(settings, sizes=size_grid(MOST_BUDGETS).tolist())
        said += [f"With nmmkl the sizes end at {MOST_BUDGETS} features; --sizes names others."]
    budgets = settings.sizes or size_grid(n_columns).tolist()
    selectors = {name: _selector(name, task, settings, budgets) for name in order}
    first = selectors.pop(order[0])
    others = {name: OWN_NAMES.get(name, selector) for name, selector in selectors.items()}
    model, notes = fit_cv(first, others, table, settings, memory)
    scores = {order[0]: model.scores_} | model.baseline_scores_
    asked = {name: scores[name] for name in wanted}
    return Comparison(model, asked, time.perf_counter() - start, notes + said)


def _check_l1kr(table: LoadedTable, task: str, n_columns: int) -> list[str]:
    """Refuse tables that l1kr cannot rank, before any work; return notes."""
    n_rows, n_classes = len(table.y), len(np.unique(table.y))
    if task == "classification" and n_classes > 2:
        raise DataError(
            f"{table.source}: l1kr takes numbers or two classes, and {table.target_name!r} has "
            f"{n_classes:,}; leave it out of --methods, or keep the rows of two classes"
        )
    if n_rows > MOST_ROWS:
        raise DataError(
            f"{table.source}: l1kr takes at most {MOST_ROWS:,} rows, and there are {n_rows:,}; "
            "leave it out of --methods, or draw some of the rows"
        )
    if n_columns <= MOST_COLUMNS:
        return []
    return [f"l1kr looks at {MOST_COLUMNS} columns only, in every fold the first by lp-kta there."]


def _selector(name: str, task: str, settings: CVSettings, budgets: list[int]) -> Any:
    if name == "lp-kta":
        jobs = selector_jobs(settings.jobs, folds=True)
        return LpKTASelector(kernel=settings.kernel, task=task, n_jobs=jobs)
    if name == "nmmkl":
        return BudgetChoices(budgets, settings.kernel, task)
    return Ranker(name, task, settings.seed)


def write_comparison(found: Comparison, record: Record, folder: Path) -> list[str]:
    """Write the files of a comparison; return why some were left out."""
    from kernelpath.report.summary import summarize_cv

    write_scores(folder / "comparison.csv", found.scores)
    write_json(folder / "comparison.json", found.as_dict())
    skipped = save_score_picture(found.model, folder / "comparison.png")
    summary = summarize_cv(found.model)
    skipped += write_page(summary, record, folder, "comparison.html")
    write_record(record, folder)
    return list(dict.fromkeys(skipped))

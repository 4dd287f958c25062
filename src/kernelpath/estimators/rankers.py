"""Methods as rankings of the columns: what takes part in a comparison where every size is scored.

A path of GMKL or L1KR has points at some sizes only.  As a ranking it has all of them, and its
features are given to the predictor without the weights of that path.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from kernelpath.errors import FewerFeaturesWarning, SameColumnsWarning
from kernelpath.estimators.gmkl import GMKLClassifier, GMKLRegressor
from kernelpath.estimators.l1kr import L1KRRegressor
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.estimators.nmmkl import NMMKLSelector
from kernelpath.path.feature_path import FeaturePath
from kernelpath.tables.constant import constant_columns
from kernelpath.tables.missing import imputed
from kernelpath.tables.table import Table, as_column_table
from kernelpath.tables.targets import as_vector
from kernelpath.tracers.any_selector import Baseline, size_grid, trace
from kernelpath.utils.provenance import versions
from kernelpath.utils.warn import warn

N_STRENGTHS = 20
MOST_COLUMNS = 200  # of a path inside a kernel, which knows no short cuts
L1KR_BUDGETS = (0.03, 0.3)  # of the norm: a path for each, in every fold


def warn_of_columns(n_columns: int) -> None:
    """Say that L1KR will not look at all columns of a wide table."""
    if n_columns > MOST_COLUMNS:
        warn(f"l1kr looks at {MOST_COLUMNS} columns only, in every fold the first by lp-kta there.")


@dataclass(frozen=True)
class Ranker:
    """Ranking of the columns by a method known by name; text columns count as codes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> int(Ranker("f-test", "classification")(X, y).argmax())
    2
    """

    name: str
    task: str
    seed: int = 0
    reads_tables: ClassVar[bool] = True

    def __call__(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Score every column; higher is better, and NaN is for those that tell nothing."""
        table = imputed(_as_table(X))
        scores = np.asarray(RANKINGS[self.name](table.values, y, self.task, self.seed), float)
        return np.where(constant_columns(table), np.nan, scores)

    @property
    def __name__(self) -> str:
        return self.name


def _as_table(X: Any) -> Table:
    return X if isinstance(X, Table) else as_column_table(X).without_identifiers()


class BudgetChoices(BaseEstimator):
    """NMMKL with a budget for every size; text columns count as codes."""

    reads_tables = True

    def __init__(self, budgets: list[int], kernel: str, task: str) -> None:
        self.budgets = budgets
        self.kernel = kernel
        self.task = task

    def fit(self, X: Any, y: Any) -> BudgetChoices:
        """Choose the features of every budget."""
        table = _as_table(X)
        selector = NMMKLSelector(self.budgets, kernel=self.kernel, task=self.task)
        with warnings.catch_warnings():
            # Sizes that a fold does not have are scored as the next smaller one, columns that are
            # the same differ by fold, and a point that is not exact is still a choice.
            for kind in (FewerFeaturesWarning, SameColumnsWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", kind)
            self.path_ = selector.fit(table, y).path_
        return self


# -- scores of the columns -------------------------------------------------------------------------


def mutual_info(X: Any, y: Any, task: str, seed: int, n_neighbors: int = 3) -> NDArray[np.float64]:
    """Mutual information of every column with the target, by nearest neighbours."""
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    measure = mutual_info_classif if task == "classification" else mutual_info_regression
    return measure(X, y, n_neighbors=n_neighbors, random_state=seed)


def entry_on_path(X: Any, y: Any, task: str, kernel: str = "sum") -> NDArray[np.float64]:
    """Features by entry on the path of a learned kernel with an l1 norm; 0 for those left out."""
    kind = GMKLClassifier if task == "classification" else GMKLRegressor
    with warnings.catch_warnings():
        # Constant columns are reported for the table, and a point that is not exact still ranks.
        warnings.simplefilter("ignore", UserWarning)
        path = kind(kernel, strengths=N_STRENGTHS).fit(X, y).path_
    order = path.entry_order()
    scores = np.zeros(path.n_features)
    scores[order] = np.arange(len(order), 0, -1)
    return scores


def weights_at_best_point(
    X: Any, y: Any, task: str, most: int = MOST_COLUMNS
) -> NDArray[np.float64]:
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
        # Pruned weights would be ties: here the small ones are an order, too.
        model = L1KRRegressor(norm_budget=L1KR_BUDGETS, search_branches=False, prune=False).fit(
            X[:, columns], target
        )
    held = model.path_.supports.toarray()
    first = np.where(held.any(axis=0), held.argmax(axis=0), len(held))
    order = np.lexsort((first, -model.weights_))[: held.any(axis=0).sum()]
    scores[columns[order]] = np.arange(len(order), 0, -1)
    return scores


RANKINGS: dict[str, Callable[[Any, Any, str, int], NDArray[np.float64]]] = {
    "f-test": lambda X, y, task, seed: Baseline("f_test", task, seed)(X, y),
    "forest": lambda X, y, task, seed: Baseline("forest", task, seed)(X, y),
    "mutual-info": mutual_info,
    "gmkl": lambda X, y, task, seed: entry_on_path(X, y, task),
    "gmkl-product": lambda X, y, task, seed: entry_on_path(X, y, task, "product"),
    "l1kr": lambda X, y, task, seed: weights_at_best_point(X, y, task),
}


# -- a ranking as a path ---------------------------------------------------------------------------


def ranked_path(ranker: Ranker, X: Any, y: Any, names: Any = None) -> FeaturePath:
    """Path with the first columns of a ranking at every size of a growing grid.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ranked_path(Ranker("f-test", "classification"), X, y).at(n_features=1).names
    ('petal length (cm)',)
    """
    table, y = _as_table(X), as_vector(y)
    traced = trace(ranker, table, y, report=True)
    n_samples, n_features = table.shape
    data = {
        "n_samples": int(n_samples),
        "n_features": int(n_features),
        "fingerprint": table.fingerprint(y),
    }
    provenance = {
        "estimator": ranker.name,
        "parameters": {"task": ranker.task, "seed": ranker.seed},
        "versions": versions(),
        "data": data,
        "task": ranker.task,
    }
    return traced.as_path(
        size_grid(int(traced.sizes[-1])),
        table.names if names is None else names,
        ranker.name,
        provenance,
    )

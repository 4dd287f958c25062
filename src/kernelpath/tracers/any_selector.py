"""What a selector chose at every size, whoever the selector is.

The protocol is small.  Anything that can be traced is one of

* an estimator of this package: ``fit`` leaves ``path_``;
* a scikit-learn estimator whose ``fit`` leaves ``scores_``, ``ranking_``, ``feature_importances_``
  or ``coef_`` (also inside ``estimator_``, or as the last step of a pipeline);
* a function ``rank(X, y)`` that returns one score per column, higher is better, such as
  :func:`sklearn.feature_selection.mutual_info_classif`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from kernelpath.errors import ConstantColumnWarning, DataError, NothingSelectedWarning
from kernelpath.kernels import feature_kernel_settings
from kernelpath.path.build import build_path, nested_rows
from kernelpath.path.feature_path import FeaturePath
from kernelpath.tables.constraints import Constraints
from kernelpath.utils.sample_weights import weight_argument
from kernelpath.utils.units import in_units, sizes_of

SMALL_SIZES = 30  # every size up to here is scored by default
MANY_ROWS, FEWER_SIZES = 50_000, 10  # beyond so many rows, up to here
GROWTH = 1.25  # ratio of the sizes beyond
N_TREES = 300
RANKED = "n_features"
"""Parameter of a path that is but a ranking."""


@dataclass(frozen=True)
class SizedPoint:
    """Chosen columns (increasing), their weights if the method gives any, and the parameter."""

    columns: NDArray[np.intp]
    weights: NDArray[np.float64] | None
    parameter: float


@dataclass(frozen=True)
class ChoicesBySize:
    """What was chosen at every size, from a path or from a ranking.

    Attributes
    ----------
    n_columns : int
    path : FeaturePath or None
    order : ndarray or None
        Columns from best to worst, for a ranking.
    importance : ndarray or None
        Score of every column, for a ranking.
    kernel : dict
        How the selector's own feature kernels are made; empty if it has none.
    ends : ndarray or None
        Sizes at which a ranking may be cut; None for all.
    """

    n_columns: int
    path: FeaturePath | None = None
    order: NDArray[np.intp] | None = None
    importance: NDArray[np.float64] | None = None
    kernel: dict[str, Any] | None = None
    ends: NDArray[np.int64] | None = None
    _points: dict[int, SizedPoint] = field(default_factory=dict, compare=False, repr=False)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Every size there is, increasing, without 0."""
        if self.ends is not None:
            return self.ends
        if self.order is not None:
            return np.arange(1, len(self.order) + 1)
        assert self.path is not None
        sizes = self.path.sizes
        return sizes[sizes > 0]

    def nearest(self, n_features: int) -> int:
        """Return the size itself, or the next smaller there is, or 0: never more features."""
        place = int(np.searchsorted(self.sizes, n_features, side="right"))
        return int(self.sizes[place - 1]) if place else 0

    def at(self, n_features: int) -> SizedPoint:
        """Choice of ``n_features`` columns, or of the nearest size there is."""
        k = self.nearest(n_features)
        if k not in self._points:  # every predictor asks, and solving for the weights takes time
            self._points[k] = self._point(k)
        return self._points[k]

    def _point(self, k: int) -> SizedPoint:
        if k == 0:
            return SizedPoint(np.zeros(0, dtype=np.intp), np.zeros(0), float("nan"))
        if self.order is not None:
            return SizedPoint(np.sort(self.order[:k]), None, float("nan"))
        assert self.path is not None
        point = self.path.at(n_features=k)
        columns = np.flatnonzero(point.support)
        return SizedPoint(columns, point.weights[columns], point.parameter)

    def under(self, constraints: Constraints) -> ChoicesBySize:
        """The same as a ranking that obeys constraints: of a path, the order of entry.

        A path stays what it is where any choice is allowed.
        """
        if self.path is not None and constraints.is_free:
            return self
        if self.order is not None:
            assert self.importance is not None
            scores = self.importance
        else:
            assert self.path is not None
            entered = self.path.entry_order()
            scores = np.full(self.n_columns, np.nan)
            scores[entered] = -np.arange(len(entered), dtype=np.float64)
        order, ends = constraints.ranking(scores)
        return ChoicesBySize(self.n_columns, order=order, importance=scores, ends=ends)

    def as_path(
        self,
        sizes: NDArray[np.int64],
        names: Any,
        method: str,
        provenance: dict[str, Any] | None = None,
    ) -> FeaturePath:
        """Return the path itself, or a ranking written as one, from many features to few."""
        if self.path is not None:
            return self.path
        assert self.order is not None
        assert self.importance is not None
        sizes = np.array(sorted({self.nearest(int(k)) for k in sizes} - {0}, reverse=True))
        return build_path(
            method=method,
            parameter_name=RANKED,
            parameters=sizes,
            weights=nested_rows(self.order, sizes, _as_weights(self.importance)),
            events=(),
            feature_names=names,
            provenance=provenance,
        )


def nearest_to_grid(sizes: NDArray[np.int64], n_rows: int = 0) -> NDArray[np.int64]:
    """Of some sizes, increasing, those next to the sizes of :func:`size_grid`.

    A model of very many rows takes its time: then there are fewer sizes.

    Examples
    --------
    >>> nearest_to_grid(np.array([2, 5, 40, 41, 42]))
    array([ 2,  5, 40, 42])
    """
    if len(sizes) == 0:
        return sizes
    every = SMALL_SIZES if n_rows <= MANY_ROWS else FEWER_SIZES
    wanted = size_grid(int(sizes[-1]), every=every)
    if len(sizes) == sizes[-1]:  # every size from 1
        return wanted
    after = np.minimum(np.searchsorted(sizes, wanted), len(sizes) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(sizes[before] - wanted) <= np.abs(sizes[after] - wanted)
    return np.unique(np.where(nearer, sizes[before], sizes[after]))


def size_grid(n_features: int, every: int = SMALL_SIZES) -> NDArray[np.int64]:
    """Every size up to 30 or another one, then growing by a quarter, the last one included.

    Examples
    --------
    >>> size_grid(100)[28:]
    array([ 29,  30,  38,  47,  59,  73,  92, 100])
    """
    small = np.arange(1, min(every, n_features) + 1)
    sizes, size = [], float(every)
    while (size := size * GROWTH) < n_features:
        sizes.append(round(size))
    return np.unique(np.concatenate([small, sizes, [n_features]]).astype(np.int64))


def trace(
    selector: Any,
    X: Any,
    y: NDArray,
    sample_weight: NDArray | None = None,
    fit_params: dict[str, Any] | None = None,
    *,
    report: bool = False,
    by_size: bool = False,
) -> ChoicesBySize:
    """Fit a clone of the selector and read what it chose at every size.

    With ``report`` the selector may warn of constant columns.  With ``by_size`` a path need not
    store points that its sizes do not depend on.  Selectors of this package take a :class:`Table`
    for ``X``, too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.feature_selection import mutual_info_classif
    >>> X, y = load_iris(return_X_y=True)
    >>> trace(mutual_info_classif, X, y).at(2).columns
    array([2, 3])
    """
    n_columns = X.shape[1]
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        # Sizes are chosen by their scores here, not by the level of chance.
        warnings.simplefilter("ignore", NothingSelectedWarning)
        # A column constant in one fold: it gets no score, or weight 0.
        if not report:
            warnings.simplefilter("ignore", ConstantColumnWarning)
            # scikit-learn's filters have no class for it.
            warnings.filterwarnings("ignore", message="Features .* are constant")
        if not hasattr(selector, "fit"):
            return _ranked(selector(X, y), n_columns, describe(selector))
        fitted = clone(selector)
        params = dict(fit_params or {})
        argument = weight_argument(fitted)
        if sample_weight is not None and argument is not None:
            params[argument] = sample_weight
        own = by_size and type(fitted).__module__.startswith("kernelpath.")
        (getattr(fitted, "_fit_by_size", fitted.fit) if own else fitted.fit)(X, y, **params)
    last = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    if getattr(last, "interrupted_", False):  # half a path is none to score
        raise KeyboardInterrupt
    path = getattr(last, "path_", None)
    if not isinstance(path, FeaturePath):
        return _ranked(_importance(last), n_columns, describe(selector))
    if path.n_features != n_columns:
        raise DataError(
            f"{describe(selector)} has a path over {path.n_features} features, but the table has "
            f"{n_columns} columns; a pipeline must keep them."
        )
    # In a pipeline the widths are those of transformed columns.
    kernel = feature_kernel_settings(vars(last), path.test) if last is fitted else {}
    return ChoicesBySize(n_columns, path=path, kernel=kernel)


def check_selector(selector: Any) -> None:
    """Refuse what cannot be traced before any work is done."""
    if isinstance(selector, type):
        raise TypeError(f"selector is the class {selector.__name__}; give an object of it, with ()")
    if callable(selector) or (hasattr(selector, "fit") and hasattr(selector, "get_params")):
        return
    hint = "; names are for kp.compare and baselines" if isinstance(selector, str) else ""
    raise TypeError(
        "selector must be a selector of kernelpath, such as kp.LpKTASelector(), a scikit-learn "
        "estimator that ranks features, or a function rank(X, y) that returns one score per "
        f"column, got {selector!r}{hint}"
    )


def describe(selector: Any) -> str:
    """Short name of a selector or ranking function."""
    if hasattr(selector, "steps"):
        return describe(selector.steps[-1][1])
    if hasattr(selector, "func"):  # functools.partial
        return describe(selector.func)
    return getattr(selector, "__name__", type(selector).__name__)


def _ranked(scores: Any, n_columns: int, name: str) -> ChoicesBySize:
    """Ranking by decreasing score; columns without a score (NaN) are not ranked."""
    if isinstance(scores, tuple):  # f_classif and chi2 give scores and p-values
        scores = scores[0]
    values = np.asarray(scores, dtype=np.float64).ravel()
    if len(values) != n_columns:
        raise DataError(
            f"{name} gave {len(values)} scores for {n_columns} columns; one per column is needed."
        )
    known = np.flatnonzero(~np.isnan(values))
    if len(known) == 0:
        raise DataError(f"{name} gave no score for any column (all NaN).")
    order = known[np.argsort(-values[known], kind="stable")]
    return ChoicesBySize(n_columns, order=order, importance=values)


def _importance(fitted: Any) -> NDArray[np.float64]:
    """One score per column from whatever the estimator learned, higher is better."""
    inner: Any = getattr(fitted, "estimator_", None)
    if getattr(fitted, "scores_", None) is not None:
        return np.asarray(fitted.scores_, dtype=np.float64)
    if getattr(fitted, "ranking_", None) is not None:
        return _from_ranks(fitted.ranking_, _learned(inner))
    for model in [fitted] if inner is None else [fitted, inner]:
        found = _learned(model)
        if found is not None:
            return found
    raise TypeError(
        f"{describe(fitted)} does not say how it ranks features: after fit it needs path_, "
        "scores_, ranking_, feature_importances_ or coef_. A support alone is one size, not a path."
    )


def _learned(model: Any) -> NDArray[np.float64] | None:
    """Importances or norms of coefficients of a fitted model, if it has any."""
    if getattr(model, "feature_importances_", None) is not None:
        return np.asarray(model.feature_importances_, dtype=np.float64)
    if getattr(model, "coef_", None) is None:
        return None
    coef = model.coef_
    dense = coef.toarray() if sparse.issparse(coef) else np.asarray(coef, dtype=np.float64)
    return np.sqrt(np.square(np.atleast_2d(dense)).sum(axis=0))


def _from_ranks(ranking: Any, inner: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Scores from ranks, best 1; the features of rank 1 in the order of the model on them."""
    scores = -np.asarray(ranking, dtype=np.float64)
    first = np.flatnonzero(scores == -1.0)
    if inner is not None and len(inner) == len(first):
        scores[first] += 0.5 * inner / (inner.max() or 1.0)
    return scores


def _as_weights(importance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores as weights if they can be (not negative, finite), else 1 for each column."""
    usable = np.isfinite(importance)
    if usable.any() and importance[usable].min() >= 0 and importance[usable].max() > 0:
        return np.where(usable, importance, 0.0)
    return np.ones_like(importance)


# -- baselines ------------------------------------------------------------------------------------


def f_test(X: Any, y: NDArray, task: str, random_state: int) -> NDArray[np.float64]:
    """F statistic of every column: analysis of variance, or correlation for regression."""
    from sklearn.feature_selection import f_classif, f_regression

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # constant columns: NaN, which is not ranked
        return (f_classif if task == "classification" else f_regression)(X, y)[0]


def forest(X: Any, y: NDArray, task: str, random_state: int) -> NDArray[np.float64]:
    """Impurity importance of every column in a random forest."""
    # Trees are grown in single precision, where differences below 1e-7 count as none.
    X = in_units(X, np.where(np.isfinite(sizes := sizes_of(X)), np.frexp(sizes)[1], 0))
    return forest_of(task, N_TREES, random_state).fit(X, y).feature_importances_


def forest_of(task: str, n_trees: int, random_state: int, **more: Any) -> Any:
    """A random forest that looks at the root of the number of columns at every cut."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    model = RandomForestClassifier if task == "classification" else RandomForestRegressor
    options = {"max_features": "sqrt", "random_state": random_state} | more
    return model(n_estimators=n_trees, **options)


BASELINES: dict[str, Callable[..., NDArray[np.float64]]] = {"f_test": f_test, "forest": forest}


@dataclass(frozen=True)
class Baseline:
    """A baseline by name, as a ranking function of a table and a target."""

    name: str
    task: str
    random_state: int

    def __call__(self, X: Any, y: NDArray) -> NDArray[np.float64]:
        """Score every column; higher is better."""
        if self.task == "regression":  # scores are free of units, but trees have their epsilons
            y = in_units(y, np.frexp(np.abs(y).max())[1])
        return BASELINES[self.name](X, y, self.task, self.random_state)

    @property
    def __name__(self) -> str:
        return self.name

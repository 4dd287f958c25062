"""Several methods side by side: the same folds, the same predictor, a paired test."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from kernelpath import catalogue
from kernelpath.errors import naming, not_one_of
from kernelpath.estimators import rankers
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.estimators.path_cv import PathCV
from kernelpath.evaluation.scores import PathScores, score_text
from kernelpath.predictors.choice import resolve_predictors, task_of
from kernelpath.predictors.weighted_kernel import WeightedKernelSVM
from kernelpath.tables.missing import missing_targets
from kernelpath.tables.reading import one_column
from kernelpath.tables.table import as_column_table, as_pandas, is_frame, named_columns, plain_table
from kernelpath.tables.targets import as_vector
from kernelpath.tracers.any_selector import check_selector, describe, size_grid
from kernelpath.utils.checks import seed_of
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import pandas as pd

FORMAT, VERSION = "kernelpath-comparison", 1
DEFAULT = ("lp-kta", "f-test", "forest")
MEAN, EACH = "mean", "each"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Scores of several methods on the same folds with the same predictor.

    Made by :func:`kernelpath.compare`.

    Attributes
    ----------
    scores : dict of str to PathScores
        By name, in the order in which the methods were given.
    model : PathCV
        The cross-validation: its path and model are those of ``first``.
    first : str
        Name of the method that the others are baselines of.
    seconds : float
        Time that it took.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=150, n_features=8, random_state=0)
    >>> found = kp.compare(
    ...     data.X, data.y, ["lp-kta", "f-test"], cv=3, n_features=[1, 2], predictor="joint_rbf")
    >>> found.to_frame()[["method", "n_features"]].values.tolist()
    [['lp-kta', 1], ['lp-kta', 2], ['f-test', 1], ['f-test', 2]]
    >>> bool(found.scores["lp-kta"].mean[1] > 0.8)
    True
    """

    scores: dict[str, PathScores]
    model: PathCV
    first: str
    seconds: float

    def to_frame(self) -> pd.DataFrame:
        """One row per method and size: mean, standard error, and the score in every fold.

        Returns
        -------
        pandas.DataFrame
            ``method``, ``n_features``, ``mean``, ``se``, ``fold_0``, ...
        """
        import pandas as pd

        frames = [own.to_frame().assign(method=name) for name, own in self.scores.items()]
        whole = pd.concat(frames, ignore_index=True)
        return whole[["method", *(name for name in whole.columns if name != "method")]]

    def differences(
        self, against: str | None = None, *, n_features: int | str = MEAN
    ) -> pd.DataFrame:
        r"""How much better or worse the methods are than one of them, with a test.

        Scores are paired by fold.  The training rows of the folds overlap, so the variance of the
        mean of the :math:`k` differences is taken as :math:`(1/k + n_{test}/n_{train})\,s^2` and
        not as :math:`s^2/k`: the corrected resampled t-test [nadeau2003]_, with :math:`k - 1`
        degrees of freedom.  It is a test of the procedure on tables of this size, for a measure
        and a number of features fixed in advance; p-values are not corrected for the number of
        rows of the table.

        Parameters
        ----------
        against : str, optional
            Name of the method that is subtracted.  Default: the first that was given.
        n_features : int, "mean" or "each"
            A number of features that was scored; the mean of the scores over all of them; or
            all of them, each in a row of its own.

        Returns
        -------
        pandas.DataFrame
            ``method``, ``against``, ``n_features`` (missing for the mean), ``difference`` (positive
            if the method is better), ``se``, ``t``, ``df``, ``p_value`` (two-sided).  With one
            fold, or none finished, all but the difference is NaN.

        References
        ----------
        .. [nadeau2003] Nadeau, Bengio. Inference for the generalization error. Machine Learning,
           2003.

        Examples
        --------
        >>> import kernelpath as kp
        >>> data = kp.datasets.make_ring(n_samples=150, n_features=8, random_state=0)
        >>> found = kp.compare(
        ...     data.X, data.y, ["f-test", "lp-kta"], cv=5, n_features=[2], predictor="joint_rbf")
        >>> row = found.differences().iloc[0]
        >>> row["method"], bool(row["difference"] > 0.1), bool(row["p_value"] < 0.05)
        ('lp-kta', True, True)
        """
        import pandas as pd

        against = next(iter(self.scores)) if against is None else against
        if against not in self.scores:
            raise not_one_of("against", against, self.scores)
        reference = self.scores[against]
        if n_features == MEAN:
            parts: list[tuple[Any, Any]] = [(pd.NA, slice(None))]
        elif n_features == EACH:
            parts = [(int(k), slice(i, i + 1)) for i, k in enumerate(reference.n_features)]
        elif isinstance(n_features, str):
            raise not_one_of("n_features", n_features, [MEAN, EACH], "a number of features")
        else:
            place = reference.position(n_features)
            parts = [(int(n_features), slice(place, place + 1))]
        rows = [
            {"method": name, "against": against, "n_features": size}
            | self._paired(own.per_fold[:, part] - reference.per_fold[:, part])
            for name, own in self.scores.items()
            if name != against
            for size, part in parts
        ]
        columns = ["method", "against", "n_features", "difference", "se", "t", "df", "p_value"]
        return pd.DataFrame(rows, columns=columns).astype({"n_features": "Int64"})

    def _paired(self, differences: NDArray[np.float64]) -> dict[str, Any]:
        splits = self.model._run.splits
        ratio = float(np.mean([len(test) / len(train) for train, test in splits]))
        return corrected_test(differences.mean(axis=1), ratio)

    def plot(self, ax: Any = None, *, x: str = "log") -> Any:
        """Draw the score of every method against the number of features.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        x : {"log", "linear", "fraction"}
            Axis of the number of features; ``"fraction"`` is the share of all columns.

        Returns
        -------
        matplotlib Axes
        """
        from kernelpath.report.displays.accuracy import AccuracyDisplay

        return AccuracyDisplay.from_scores(
            self.scores[self.first],
            baselines={name: own for name, own in self.scores.items() if name != self.first},
            n_columns=self.model.n_features_in_,
            label=self.first,
            x=x,
        ).plot(ax)

    def summary(self) -> dict[str, Any]:
        """Everything that the page shows, as a plain dict that JSON can hold.

        It is that of :meth:`PathCV.summary`, with the other methods as ``baselines``.
        """
        return self.model.summary() | {"method": self.first}

    def save_html(self, file: str | os.PathLike, *, title: str | None = None) -> None:
        """Write the page of the comparison: one file that needs nothing else.

        Parameters
        ----------
        file : str or path-like
        title : str, optional
        """
        from kernelpath.report.html import save_html

        method = catalogue.label(self.first)
        save_html(self.summary(), file, title=title or "Comparison", method=method)

    def as_dict(self, notes: Sequence[str] = ()) -> dict[str, Any]:
        """Scores, best sizes and what they are of, as JSON can hold them; with notes on them."""
        model = self.model
        return {
            "format": FORMAT,
            "version": VERSION,
            "task": model.task_,
            "n_samples": int(model.plan_.n_rows),
            "n_features": int(model.n_features_in_),
            "scoring": model.scores_.scoring,
            "n_folds": int(model.scores_.n_folds),
            "chance": _number(model.scores_.chance_mean),
            "seconds": round(self.seconds, 3),
            "notes": list(notes),
            "methods": [_method(name, own) for name, own in self.scores.items()],
        }

    def __repr__(self) -> str:
        sizes = {name: int(own.n_features[own.best()]) for name, own in self.scores.items()}
        best = ", ".join(
            f"{name} {score_text(*own.at(sizes[name]))} at {sizes[name]:,}"
            for name, own in self.scores.items()
        )
        return f"Comparison({self.model.scores_.scoring}, best of each: {best})"


def corrected_test(differences: ArrayLike, ratio: float) -> dict[str, Any]:
    """Mean of paired differences with the corrected resampled t-test.

    Parameters
    ----------
    differences : array of shape (n_folds,)
        NaN for a fold that is not finished.
    ratio : float
        Test rows of a fold for each training row.

    Examples
    --------
    >>> found = corrected_test([0.1, 0.2, 0.3], 0.5)
    >>> round(found["difference"], 3), round(found["se"], 4), found["df"]
    (0.2, 0.0913, 2)
    """
    known = np.asarray(differences, dtype=np.float64)
    known = known[~np.isnan(known)]
    k = len(known)
    mean = float(known.mean()) if k else float("nan")
    if k < 2:
        nan = float("nan")
        return {"difference": mean, "se": nan, "t": nan, "df": max(k - 1, 0), "p_value": nan}
    se = float(np.sqrt((1.0 / k + ratio) * known.var(ddof=1)))
    if se == 0.0:  # the same in all folds
        t = float(np.sign(mean) * np.inf) if mean else 0.0
    else:
        t = mean / se
    p = float(2.0 * stats.t.sf(abs(t), k - 1))
    return {"difference": mean, "se": se, "t": t, "df": k - 1, "p_value": p}


def _method(name: str, scores: PathScores) -> dict[str, Any]:
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


def _at(scores: PathScores, place: int) -> dict[str, Any]:
    return {
        "n_features": int(scores.n_features[place]),
        "score": _number(scores.mean[place]),
        "se": _number(scores.se[place]),
    }


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


# -- the comparison --------------------------------------------------------------------------------


def compare(
    X: Any,
    y: ArrayLike,
    methods: Any = DEFAULT,
    *,
    cv: Any = 5,
    predictor: Any = "auto",
    scoring: Any = None,
    n_features: int | Sequence[int] | None = None,
    kernel: str = "auto",
    task: str = "auto",
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Any = "auto",
    missing: str = "kernel",
    identifiers: str = "drop",
    inner_cv: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
    memory: str | os.PathLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Comparison:
    """Score several methods on the same folds with the same predictor.

    Every method ranks or traces the features again in every fold, from its training rows alone,
    and the predictor is fitted to what it chooses at every size.

    Parameters
    ----------
    X : array, sparse matrix or dataframe of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    methods : sequence of str or selector, or dict of name to str or selector
        Names are those of :func:`kernelpath.methods`; a selector is whatever :class:`PathCV` takes,
        and is called by its class if it has no name.
    cv, predictor, scoring, inner_cv, class_weight, n_jobs, random_state, verbose, memory, missing,
    identifiers :
        As for :class:`PathCV`.
    n_features : int, sequence of int or None
        Sizes to score.  Default: every size up to 30, then growing by a quarter; with ``"nmmkl"``
        up to 60.
    kernel : str
        Kernel of a feature for the methods by name that have one; ``"auto"`` takes the delta
        kernel for text.
    task : {"auto", "classification", "regression"}
    groups : array of shape (n_samples,), optional
        Rows of one group stay in one fold.
    sample_weight : array of shape (n_samples,), optional
        For methods, predictor and scoring that take it.
    feature_names : sequence of str, optional
        Names of the columns of an array.

    Returns
    -------
    Comparison

    Notes
    -----
    Paths that lack some sizes take part as rankings if given by name: ``"gmkl"`` and
    ``"gmkl-product"`` by the order in which features enter, ``"l1kr"`` by the weights at its best
    point.  The selectors themselves take part by their paths; a size that such a path lacks is
    scored as the next smaller one.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=150, n_features=8, random_state=0)
    >>> found = kp.compare(
    ...     data.X, data.y, {"lp-kta": "lp-kta", "mine": kp.baselines.Fisher("all")},
    ...     cv=3, n_features=[1, 2], predictor="joint_rbf")
    >>> list(found.scores)
    ['lp-kta', 'mine']
    >>> found.differences(against="mine").shape
    (1, 8)
    """
    start = time.perf_counter()
    seed = seed_of(random_state)
    wanted = named_methods(methods)
    n_columns = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
    target = one_column(y)
    target = as_vector(target[~missing_targets(target)])  # rows without one are left out
    task = task_of(target, task, predictor)
    _refuse(wanted, X, target, task)
    n_features = _sizes(wanted, n_features, n_columns)
    sizes = None if n_features is None else np.unique(np.atleast_1d(n_features)).tolist()
    threads = -1 if n_jobs != 1 else 1  # all cores where the folds do not take them
    common = {"kernel": kernel, "seed": seed, "n_jobs": threads}
    made = {name: _made(one, task, sizes, n_columns, common) for name, one in wanted.items()}
    _refuse_weights_inside(made, predictor)
    # Ours first: with it the sizes of all methods are those of its path.
    first = next((name for name in made if isinstance(made[name], LpKTASelector)), next(iter(made)))
    model = PathCV(
        made[first],
        baselines={name: one for name, one in made.items() if name != first},
        predictor=predictor, cv=cv, scoring=scoring, n_features=n_features, inner_cv=inner_cv,
        class_weight=class_weight, n_jobs=n_jobs, random_state=seed, task=task, verbose=verbose,
        memory=memory, missing=missing, identifiers=identifiers, references=False,
    )  # fmt: skip
    if feature_names is not None and not is_frame(X):
        X = named_columns(plain_table(X), feature_names)
    model.fit(X, y, groups=groups, sample_weight=sample_weight)
    scores = {first: model.scores_} | model.baseline_scores_
    asked = {name: scores[name] for name in wanted}
    return Comparison(asked, model, first, time.perf_counter() - start)


def named_methods(methods: Any) -> dict[str, Any]:
    """Entries of the catalogue, or selectors, by name.

    Examples
    --------
    >>> import kernelpath as kp
    >>> list(named_methods(["f_test", kp.LpKTASelector(), kp.LpKTASelector(kernel="linear")]))
    ['f-test', 'LpKTASelector', 'LpKTASelector 2']
    """
    if isinstance(methods, str) or hasattr(methods, "fit") or callable(methods):
        methods = [methods]
    named = methods.items() if isinstance(methods, Mapping) else [(None, one) for one in methods]
    found: dict[str, Any] = {}
    for name, one in named:
        if isinstance(one, str):
            entry = catalogue.method(one, "each of methods")
            found.setdefault(entry.name if name is None else str(name), entry)
        else:
            check_selector(one)
            found[_free_name(describe(one) if name is None else str(name), found)] = one
    if not found:
        raise ValueError(f"methods is empty; name some of {', '.join(catalogue.METHODS)}")
    return found


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """The name, with the first number that makes it differ from those taken."""
    numbered = (f"{name} {same}" for same in count(2))
    return next(free for free in chain([name], numbered) if free not in taken)


def _refuse(wanted: dict[str, Any], X: Any, y: NDArray, task: str) -> None:
    """Refuse a table that a method by name cannot use, before any work."""
    entries = [one for one in wanted.values() if isinstance(one, catalogue.Method)]
    n_classes = len(np.unique(y)) if task == catalogue.CLASSES else 0
    table = None
    if is_frame(X) and any(one.refuses_text(compared=True) for one in entries):
        table = as_column_table(as_pandas(X))
    catalogue.refuse(entries, task, n_classes, len(y), setting="methods", table=table)


def _sizes(wanted: dict[str, Any], n_features: Any, n_columns: int) -> Any:
    """Sizes to score; notes on what methods by name make of a wide table."""
    names = {one.name for one in wanted.values() if isinstance(one, catalogue.Method)}
    if "l1kr" in names:
        rankers.warn_of_columns(n_columns)
    most = catalogue.MOST_BUDGETS
    if "nmmkl" in names and n_features is None and n_columns > most:
        text = f"With nmmkl the sizes end at {counted(most, 'feature')}; n_features names others."
        warn(naming(UserWarning(text), "n_features"))
        return size_grid(most).tolist()
    return n_features


def _made(one: Any, task: str, sizes: Any, n_columns: int, common: dict[str, Any]) -> Any:
    """The selector of a method by name; others are taken as they are."""
    if not isinstance(one, catalogue.Method):
        return one
    return one.compared_selector(task, _budgets(one, sizes, n_columns), **common)


def _budgets(one: catalogue.Method, sizes: Any, n_columns: int) -> Any:
    if one.kind == "choice" and sizes is None:
        return size_grid(n_columns).tolist()
    return catalogue.budgets(one, n_columns) if sizes is None else sizes


def _refuse_weights_inside(made: dict[str, Any], predictor: Any) -> None:
    """Refuse to take weights inside one kernel for those of a sum of kernels."""
    used = any(isinstance(one, WeightedKernelSVM) for one in resolve_predictors(predictor, None))
    for name, one in made.items():
        if used and getattr(one, "weights_inside", False):
            raise ValueError(
                f"the weights of {name} are inside one kernel of all features, and not those of a "
                "sum of kernels; take predictor='joint_rbf', or an estimator, for all methods"
            )

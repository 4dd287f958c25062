"""What PathCV checks and prepares before the long work starts."""

from __future__ import annotations

import inspect
import os
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names
from sklearn.model_selection import StratifiedKFold, check_cv

from kernelpath.errors import DataError, not_one_of
from kernelpath.estimators._idle import Idle
from kernelpath.estimators.saved_settings import NotSaved
from kernelpath.evaluation.study import Split, Study, make_splitter
from kernelpath.predictors.joint_rbf import JointRBFSVM
from kernelpath.predictors.models import EstimatorPredictor, check_estimator
from kernelpath.predictors.weighted_kernel import WeightedKernelSVM
from kernelpath.tables.table import unmasked
from kernelpath.tables.targets import encode_target, infer_task
from kernelpath.tracers.any_selector import describe, size_grid
from kernelpath.utils import checks
from kernelpath.utils.sample_weights import weight_argument
from kernelpath.utils.warn import warn

SMALLEST_CLASS_WEIGHT = 1e-9
ROWS_APART = ("r2", "explained_variance")  # measures of the spread of the target

OWN_PREDICTORS: dict[str, type] = {
    "weighted_kernel": WeightedKernelSVM,
    "joint_rbf": JointRBFSVM,
}


def _foreign(model: Any) -> bool:
    return not is_own(model.predictor)


IDLE = (
    Idle("tolerance", lambda own: own.rule != "tolerance", "without rule='tolerance'"),
    Idle("budget", lambda own: callable(own.rule), "on a rule that is a function, which chooses"),
    Idle("probability", _foreign, "on a predictor of your own: set it there"),
)  # fmt: skip


def resolve_predictors(predictor: Any, selector: Any) -> tuple[Any, ...]:
    """Predictors to compare: one, or both machines of the package for ``"auto"``.

    Weights inside one kernel of all features are not those of a sum of kernels.
    """
    inside = getattr(selector, "weights_inside", False)
    if inside and (predictor == "weighted_kernel" or isinstance(predictor, WeightedKernelSVM)):
        raise ValueError(
            f"the weights of {type(selector).__name__} are inside one kernel of all features, and "
            "not those of a sum of kernels; take predictor='joint_rbf', or an estimator"
        )
    if isinstance(predictor, str):
        if predictor == "auto" and inside:
            return (JointRBFSVM(),)
        if predictor == "auto":
            return tuple(kind() for kind in OWN_PREDICTORS.values())
        if predictor in OWN_PREDICTORS:
            return (OWN_PREDICTORS[predictor](),)
        raise not_one_of("predictor", predictor, ["auto", *OWN_PREDICTORS], "an estimator")
    if isinstance(predictor, tuple(OWN_PREDICTORS.values())):
        return (predictor,)
    check_estimator(predictor)
    return (EstimatorPredictor(predictor),)


def is_own(predictor: Any) -> bool:
    """Whether the predictor is a machine of this package, as all are that files can hold."""
    return isinstance(predictor, str | WeightedKernelSVM | JointRBFSVM | NotSaved)


def check_switches(model: Any) -> None:
    """Refuse settings of the wrong type before any work is done."""
    checks.flag("probability", model.probability)
    checks.flag("nested", model.nested)
    checks.whole("verbose", model.verbose, bools=True)
    if model.n_jobs is not None and not (checks.is_whole(model.n_jobs) and model.n_jobs != 0):
        raise ValueError(
            f"n_jobs must be None or a whole number other than 0, got {model.n_jobs!r}"
        )
    if model.memory is not None and not isinstance(model.memory, str | os.PathLike):
        raise ValueError(f"memory must be None or the path of a folder, got {model.memory!r}")


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer, or the function in it, takes ``sample_weight``."""
    measure = getattr(scorer, "_score_func", scorer)
    try:
        known = inspect.signature(measure).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in known)


def warn_of_unweighted(scoring: str) -> None:
    """Say that held-out rows all count the same in the scores."""
    warn(
        f"The scoring {scoring} takes no sample_weight: every held-out row counts once in it.",
    )


def warn_of_weights(role: str, one: Any) -> None:
    """Say who will not see the sample weights; with metadata routing the user has said it."""
    if get_config().get("enable_metadata_routing") or weight_argument(one) is not None:
        return
    warn(
        f"The {role} {describe(one)} takes no sample_weight and is fitted without it.",
    )


def task_of(y: NDArray, task: str, predictor: Any) -> str:
    """Classification or regression: as said, as the predictor is, or as the target looks."""
    if task == "auto" and not is_own(predictor):
        if is_classifier(predictor):
            return "classification"
        if is_regressor(predictor):
            return "regression"
    return infer_task(y, task)


def resolve_scorer(scoring: Any, kind: str) -> tuple[Any, str]:
    """Scorer and the name of its measure."""
    if scoring is None:
        scoring = "accuracy" if kind == "classification" else "r2"
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            raise not_one_of("scoring", scoring, get_scorer_names(), "a function")
        return get_scorer(scoring), scoring
    if callable(scoring):
        name = getattr(getattr(scoring, "_score_func", scoring), "__name__", None)
        return check_scoring(None, scoring=scoring), name or type(scoring).__name__
    raise ValueError(
        "scoring must be None, the name of one measure or a function (estimator, X, y), "
        f"got {scoring!r}; several measures at once are not supported"
    )


def check_labels(y: NDArray) -> None:
    """Refuse fractions as labels: scikit-learn's measures take them for a continuous target."""
    if y.dtype.kind == "f" and np.any(y != np.floor(y)):
        values = ", ".join(f"{value:g}" for value in np.unique(y)[:3])
        raise DataError(
            f"Unknown label type: the classes in y are fractions ({values}). Give labels that are "
            "whole numbers or text, as with y.astype(str), or set task='regression'."
        )


def check_class_weight(class_weight: Any, classes: NDArray | None, own: bool) -> None:
    """Refuse weights of classes that are not there, or that nobody would use."""
    if class_weight is None:
        return
    if not own:
        raise ValueError(
            "class_weight is for the SVMs of this package; set it in the predictor instead"
        )
    if classes is None:
        raise ValueError(
            "class_weight needs classes, but the target is continuous; leave it out, or set "
            "task='classification'"
        )
    if isinstance(class_weight, str) and class_weight == "balanced":
        return
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    _check_weight_of_each(class_weight, classes)


def _check_weight_of_each(class_weight: dict[Any, Any], classes: NDArray) -> None:
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(f"class_weight names classes that y does not hold: {unknown}")
    least, most = SMALLEST_CLASS_WEIGHT, 1 / SMALLEST_CLASS_WEIGHT
    for label, weight in class_weight.items():
        if not (checks.is_number(weight) and least <= weight <= most):
            raise ValueError(
                f"class_weight must be from {least:g} to {most:g} for every class, got {weight!r} "
                f"for {label!r}"
            )


def make_splits(
    cv: Any, y: NDArray, kind: str, groups: Any, seed: int, split_params: dict[str, Any]
) -> list[Split]:
    """Folds as pairs of row numbers, each checked to be usable."""
    n = len(y)
    _check_groups(groups, n)
    if checks.is_whole(cv):
        splitter = _folds_by_number(int(cv), y, kind, groups, seed)
    else:
        splitter = check_cv(cv, y, classifier=kind == "classification")
        name = type(splitter).__name__
        if "Group" in name and groups is None and "groups" not in split_params:
            raise DataError(f"{name} needs groups: call fit(X, y, groups=...).")
    params = dict(split_params)
    if groups is not None:
        params.setdefault("groups", groups)
    try:
        with warnings.catch_warnings():  # a class with fewer rows than folds is named elsewhere
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = [
                (_row_numbers(a, n), _row_numbers(b, n))
                for a, b in splitter.split(np.zeros(n), y, **params)
            ]
    except ValueError as error:
        raise DataError(f"The rows cannot be split into folds: {error}") from error
    if not splits:
        raise DataError("cv gives no folds; a generator can be used once only, so give a list.")
    for number, (train, test) in enumerate(splits):
        _check_fold(number, y, train, test, kind)
    return splits


def _check_groups(groups: Any, n: int) -> None:
    if groups is None:
        return
    if len(groups) != n:
        raise DataError(f"groups has {len(groups)} values, but the table has {n} rows.")
    if pd.isna(np.asarray(groups)).any():
        raise DataError("groups has missing values; give every row a group.")


def folds_of_rest(cv: Any, kept: NDArray[np.intp], n: int) -> Any:
    """``cv`` for some of ``n`` rows: splits that were given by row numbers are translated."""
    if hasattr(cv, "split") or not hasattr(cv, "__iter__") or isinstance(cv, str):
        return cv
    place = np.full(n, -1)
    place[kept] = np.arange(len(kept))
    try:
        sides = [(place[_row_numbers(a, n)], place[_row_numbers(b, n)]) for a, b in cv]
    except (TypeError, ValueError) as error:
        raise DataError(f"The rows cannot be split into folds: {error}") from error
    return [(a[a >= 0], b[b >= 0]) for a, b in sides]


def check_measurable(splits: list[Split], scoring: str) -> None:
    """Refuse folds in which the measure is not defined: R2 of a single row."""
    fewest = min(len(test) for _, test in splits)
    if scoring in ROWS_APART and fewest < 2:
        n = sum(len(test) for _, test in splits)
        way = f"cv={n // 2}{' or less' * (n > 5)}" if n >= 4 else "more rows"
        raise DataError(
            f"A fold has one test row, but scoring={scoring!r} compares rows and needs 2; give "
            f"{way}, or another scoring, such as 'neg_mean_absolute_error'."
        )


def _row_numbers(rows: Any, n: int) -> NDArray[np.intp]:
    """Row numbers of one side of a split, given as numbers or as a mask."""
    given = np.asarray(unmasked(rows, "cv"))
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(f"a split must hold row numbers or a mask of {n} rows")
    if given.size and not 0 <= given.min() <= given.max() < n:
        raise ValueError(f"a split names row {given.max()}, but there are {n} rows")
    return given.astype(np.intp)


def check_inner(study: Study, splits: list[Split]) -> None:
    """Refuse inner folds that cannot be made, before any work is done."""
    inner = study.inner_cv
    if not (checks.is_whole(inner) and int(inner) >= 2) and not hasattr(inner, "get_n_splits"):
        raise ValueError(f"inner_cv must be at least 2 folds or a splitter, got {inner!r}")
    for number, (train, _) in enumerate(splits):
        try:
            inner_splits = study.inner_splits(train)
        except ValueError as error:
            raise DataError(
                f"The training rows of fold {number} cannot be split into inner folds: {error}"
            ) from error
        fewest = min(len(rows) for rows, _ in inner_splits)
        if fewest < 2 or not any(_can_train(study, rows) for rows, _ in inner_splits):
            what = "has one row" if fewest < 2 else "has one value of the target only"
            raise DataError(
                f"Fold {number} has {len(train)} training rows, of which a part {what} in the "
                "inner folds that choose predictor and settings; give more rows, or a predictor "
                "with nothing to choose, such as WeightedKernelSVM(C=1.0)."
            )


def _can_train(study: Study, rows: NDArray[np.intp]) -> bool:
    """Whether the target of some rows has two values."""
    return len(np.unique(study.y[rows])) > 1


def _folds_by_number(n_folds: int, y: NDArray, kind: str, groups: Any, seed: int) -> Any:
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, got {n_folds}")
    if n_folds > len(y):
        raise DataError(
            f"cv={n_folds} folds, but there are {len(y)} rows; give at most cv={len(y)}, or more "
            "rows."
        )
    if groups is not None:
        n_groups = len(set(np.asarray(groups).tolist()))
        if n_groups < n_folds:
            hint = (
                f"give cv={n_groups}, or leave groups out" if n_groups > 1 else "leave groups out"
            )
            groups_text = "1 group" if n_groups == 1 else f"{n_groups} groups"
            raise DataError(f"cv={n_folds} folds, but there are only {groups_text}; {hint}.")
    elif kind == "classification":
        counts = Counter(y.tolist())
        label, fewest = min(counts.items(), key=lambda item: item[1])
        if fewest == 1 or max(counts.values()) < n_folds:
            hint = f"use cv={fewest}, or " if fewest > 1 else ""
            raise DataError(
                f"{_rare_class(label, fewest, n_folds)}; {hint}merge or drop rare classes."
                f"{_maybe_quantity(y)}"
            )
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return make_splitter(n_folds, y, kind, grouped=groups is not None, seed=seed)


def _rare_class(label: Any, count: int, n_folds: int) -> str:
    rows = "1 row" if count == 1 else f"{count} rows"
    return f"Class {label!r} has {rows}, fewer than cv={n_folds} folds"


def _maybe_quantity(y: NDArray) -> str:
    if y.dtype.kind in "iuf" and len(np.unique(y)) > 2:
        return " If y is a quantity and not a label, set task='regression'."
    return ""


def warn_of_rare_classes(cv: Any, y: NDArray, splits: list[Split]) -> None:
    """Say which class some folds are judged without: it has fewer rows than there are folds."""
    if not checks.is_whole(cv):
        return
    label, fewest = min(Counter(y.tolist()).items(), key=lambda item: item[1])
    if fewest < len(splits):
        warn(
            f"{_rare_class(label, fewest, len(splits))}: some folds are judged without it. "
            f"Use cv={fewest}, or merge or drop rare classes.{_maybe_quantity(y)}",
        )


def _check_fold(number: int, y: NDArray, train: NDArray, test: NDArray, kind: str) -> None:
    if len(train) < 2 or len(test) == 0:
        raise DataError(
            f"Fold {number} has {len(train)} training and {len(test)} test rows; "
            "at least 2 and 1 are needed; give more rows, or other folds."
        )
    if kind == "regression":
        if np.ptp(y[train].astype(float)) == 0:
            raise DataError(
                f"The target is constant in the training rows of fold {number}; give more rows, or "
                "other folds."
            )
        return
    missing = sorted(set(y.tolist()) - set(y[train].tolist()), key=str)
    if missing:
        raise DataError(
            f"The training rows of fold {number} lack the class {missing[0]!r}: all its rows, or "
            "all its groups, fall into one fold. Use stratified or fewer folds, or drop the class."
        )


def resolve_sizes(n_features: Any, available: NDArray[np.int64]) -> NDArray:
    """Numbers of features to score, increasing."""
    if n_features is None:
        if len(available) == 0:
            raise DataError("The selector chose no feature at any size; there is nothing to score.")
        if len(available) == available[-1]:  # every size from 1
            return size_grid(int(available[-1]))
        wanted = size_grid(int(available[-1]))
        nearest = [available[np.abs(available - k).argmin()] for k in wanted]
        return np.unique(np.array(nearest, dtype=np.int64))
    sizes = np.unique(np.atleast_1d(np.asarray(n_features, dtype=np.int64)))
    most = int(available[-1]) if len(available) else 0
    if sizes[-1] > most > 0:
        warn(
            f"n_features goes up to {sizes[-1]}, but only {most} columns can be selected: the "
            f"others are constant or were not ranked. Larger sizes are taken as {most}.",
        )
        sizes = np.unique(np.minimum(sizes, most))
    return sizes


def check_sizes(n_features: Any, n_columns: int) -> None:
    """Refuse numbers of features that the table does not have."""
    if n_features is None:
        return
    given = np.atleast_1d(np.asarray(unmasked(n_features, "n_features"), dtype=object)).tolist()
    for k in given:
        if not checks.is_whole(k):
            raise ValueError(
                f"n_features must be whole numbers of features, got {k!r} in {n_features!r}"
            )
        if not 1 <= int(k) <= n_columns:
            raise DataError(f"n_features must lie between 1 and {n_columns} columns, got {k}.")
    if not given:
        raise ValueError("n_features is empty; give at least one number of features, or None")


def checked_target(y: NDArray, kind: str, sample_weight: Any) -> NDArray | None:
    """Classes of the target, after all checks that need no folds."""
    return encode_target(y, task=kind, sample_weight=sample_weight).classes

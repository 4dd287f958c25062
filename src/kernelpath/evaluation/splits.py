"""The rows in folds: made from what users give for ``cv``, and each checked to be usable."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv

from kernelpath.errors import DataError, naming, settings_named
from kernelpath.evaluation.study import Split, Study, make_splitter
from kernelpath.tables.any_target import JOINT, refuse_unlearnable, row_codes
from kernelpath.tables.table import unmasked
from kernelpath.utils import checks
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted, listed

MOST_NAMED = 5  # classes that were left out
FEWEST_OF_A_CLASS = 3  # rows, for folds with inner folds


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
        with warnings.catch_warnings():
            # A class with fewer rows than folds is named elsewhere; its warning has no class.
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


def sampled_rows(
    rows: NDArray[np.intp], labels: NDArray | None, most: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """At most about so many of some rows, increasing; ``labels`` keep their shares among them.

    Of a rare label ten rows stay, where there are as many.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], [900, 100])
    >>> np.bincount(labels[sampled_rows(np.arange(1000), labels, 50, rng)]).tolist()
    [45, 10]
    """
    if len(rows) <= most:
        return rows
    if labels is None:
        return np.sort(rng.choice(rows, most, replace=False))
    taken = []
    for label in np.unique(labels):
        own = rows[labels == label]
        count = max(min(len(own), 10), round(most * len(own) / len(rows)))
        taken.append(rng.choice(own, count, replace=False))
    return np.sort(np.concatenate(taken))


def fewer_rows(
    splits: Sequence[Split], labels: NDArray | None, most: int | None, seed: int
) -> list[Split]:
    """The same folds with at most so many rows to learn from."""
    if most is None or max(len(train) for train, _ in splits) <= most:
        return list(splits)
    rng = np.random.default_rng(seed)
    return [
        (sampled_rows(train, None if labels is None else labels[train], most, rng), test)
        for train, test in splits
    ]


def check_group_length(groups: Any, n: int) -> None:
    """Refuse groups of another number of rows."""
    if groups is not None and len(groups) != n:
        values, rows = counted(len(groups), "value"), counted(n, "row")
        raise DataError(f"groups has {values}, but the table has {rows}.")


def _check_groups(groups: Any, n: int) -> None:
    if groups is None:
        return
    check_group_length(groups, n)
    if pd.isna(np.asarray(groups)).any():
        raise DataError("groups has missing values; give every row a group.")


def _folds_by_number(n_folds: int, y: NDArray, kind: str, groups: Any, seed: int) -> Any:
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, got {n_folds}")
    if n_folds > len(y):
        error = DataError(
            f"cv={n_folds} folds, but there are {len(y)} rows; give at most cv={len(y)}, or more "
            "rows."
        )
        raise naming(error, "cv")
    if groups is not None:
        n_groups = len(set(np.asarray(groups).tolist()))
        if n_groups < n_folds:
            hint = (
                f"give cv={n_groups}, or leave groups out" if n_groups > 1 else "leave groups out"
            )
            few = counted(n_groups, "group")
            error = DataError(f"cv={n_folds} folds, but there are only {few}; {hint}.")
            raise naming(error, "cv")
    elif kind == "classification":
        counts = Counter(y.tolist())
        label, fewest = min(counts.items(), key=lambda item: item[1])
        if fewest == 1 or max(counts.values()) < n_folds:
            # Inner folds need two rows of it among those to learn from.
            hint = f"use cv={fewest}, or " if fewest >= FEWEST_OF_A_CLASS else ""
            error = DataError(
                f"{_rare_class(label, fewest, n_folds)}; {hint}merge or drop rare classes."
                f"{_maybe_quantity(y)}"
            )
            raise naming(error, "cv", "task")
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return make_splitter(n_folds, y, kind, grouped=groups is not None, seed=seed)


def _rare_class(label: Any, count: int, n_folds: int) -> str:
    rows = counted(count, "row")
    return f"Class {str(label)!r} has {rows}, fewer than cv={n_folds} folds"


def _maybe_quantity(y: NDArray) -> str:
    if y.dtype.kind in "iuf" and len(np.unique(y)) > 2:
        return " If y is a quantity and not a label, set task='regression'."
    return ""


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


def _check_fold(number: int, y: NDArray, train: NDArray, test: NDArray, kind: str) -> None:
    if len(train) < 2 or len(test) == 0:
        raise DataError(
            f"Fold {number} has {len(train)} training and {len(test)} test rows; "
            "at least 2 and 1 are needed; give more rows, or other folds."
        )
    if kind in JOINT:
        refuse_unlearnable(y[train], f"the training rows of fold {number}")
        return
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


def not_alone(y: NDArray, cv: Any) -> NDArray[np.intp] | None:
    """Rows whose class has another row, if some have none; the others cannot be judged by folds.

    None where all stay, or where too little would be left: then folds say what is wrong.
    """
    known, code, count = np.unique(y, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(count[code] > 1)
    if not checks.is_whole(cv) or len(kept) == len(y):
        return None
    if np.count_nonzero(count > 1) < 2 or 2 * len(kept) < len(y) or count.max() < cv:
        return None
    left = known[count == 1]
    text = (
        f"Left out: {counted(len(left), 'row')}, {'each ' if len(left) > 1 else ''}the only one of "
        f"its class ({listed([repr(one) for one in left.tolist()[:MOST_NAMED]])}"
        f"{', ...' if len(left) > MOST_NAMED else ''}); merge rare classes to keep them."
    )
    warn(text)
    return kept


def warn_of_rare_classes(cv: Any, y: NDArray, splits: list[Split]) -> None:
    """Say which class some folds are judged without: it has fewer rows than there are folds."""
    if not checks.is_whole(cv):
        return
    label, fewest = min(Counter(y.tolist()).items(), key=lambda item: item[1])
    if fewest < len(splits):
        rare = UserWarning(
            f"{_rare_class(label, fewest, len(splits))}: some folds are judged without it. "
            f"Use cv={fewest}, or merge or drop rare classes.{_maybe_quantity(y)}",
        )
        warn(naming(rare, "cv", "task"))


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


# -- folds inside folds ----------------------------------------------------------------------------


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
    return len(np.unique(row_codes(study.y[rows]))) > 1


def check_nested(
    cv: Any, y: NDArray, kind: str, groups: Any, seed: int, splits: Sequence[Split]
) -> None:
    """Refuse an outer loop that could not be finished."""
    if not (hasattr(cv, "split") or isinstance(cv, int | np.integer)):
        text = "nested=True needs cv to be a number of folds or a splitter, not splits."
        raise naming(DataError(text), "nested")
    for number, (train, _) in enumerate(splits):
        own = None if groups is None else np.asarray(groups)[train]
        try:
            make_splits(cv, y[train], kind, own, seed, {})
        except DataError as error:
            text = f"nested=True: in the training rows of fold {number}, {error}"
            raise naming(DataError(text), "nested", *settings_named(error)) from None

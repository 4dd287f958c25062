"""Rows, splits and scaling for nmmkl_tables.py: all that is learned comes from training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from nmmkl_settings import FOLDS, SIMULATED_ROWS, TOY_ROWS, TOY_TRAIN, Case
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from common import load_shared

TOYS = ("toy", "toy_small_C", "toy_one_C")
DRAWN = (*TOYS, "simulated")  # data that every trial draws anew


@dataclass(frozen=True, eq=False)
class Split:
    """Scaled columns of training and test rows, and their targets.

    ``kept`` are the columns of the table that these columns are; ``key`` names the split.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]
    kept: NDArray[np.intp]
    key: str


def make_toy(seed: int) -> tuple[NDArray, NDArray]:
    """Draw three features: the last is the best alone, the first two are the best together.

    Our reconstruction of Figure 1 of the paper, which gives no formula.
    """
    rng = np.random.default_rng(seed)
    y = np.where(rng.permutation(TOY_ROWS) < TOY_ROWS // 2, 1.0, -1.0)
    e, f, g = rng.normal(size=(3, TOY_ROWS))
    return np.column_stack([1.1 * y + e, 1.1 * y - e + 0.4 * f, 1.55 * y + g]), y


def make_simulated(seed: int) -> tuple[NDArray, NDArray]:
    """Draw Eq. (22): five features that count, a copy of the first, a product, five of noise."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(SIMULATED_ROWS, 5))
    y = first[:, :4] @ np.arange(1.0, 5.0) + np.exp(first[:, 4])
    more = [first[:, 0] + 1.0, first[:, 1] * first[:, 2]]
    return np.column_stack([first, *more, rng.normal(size=(SIMULATED_ROWS, 5))]), y


@lru_cache(maxsize=2)
def table(name: str, trial: int) -> tuple[NDArray, NDArray]:
    """All rows of a data set; labels are -1 and +1."""
    if name in TOYS:
        return make_toy(trial)
    if name == "simulated":
        return make_simulated(trial)
    shared = load_shared(name)
    assert shared is not None
    X, y = shared
    if name == "boston":
        return X, y.astype(np.float64)
    if name == "forest_fires":
        return X, np.log1p(y.astype(np.float64))
    return X, np.where(y == 1, 1.0, -1.0)  # lymphoma: its first class against all others


def outer_rows(case: Case, trial: int, n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and test rows of a trial, the same for every method."""
    order = np.random.default_rng(1000 + trial).permutation(n_rows)
    n_train = TOY_TRAIN if case.data in TOYS else round(case.train * n_rows)
    return order[:n_train], order[n_train:]


def outer_split(case: Case, trial: int) -> Split:
    """Return the training and test part of a trial."""
    X, y = table(case.data, trial if case.data in DRAWN else 0)
    train, test = outer_rows(case, trial, len(y))
    return scaled(case, X, y, train, test, f"{trial}")


def inner_splits(case: Case, trial: int) -> Iterator[Split]:
    """Yield the folds of the training rows, scaled and screened anew in each."""
    X, y = table(case.data, trial if case.data in DRAWN else 0)
    train, _ = outer_rows(case, trial, len(y))
    kind = KFold if case.regression else StratifiedKFold
    folds = kind(FOLDS, shuffle=True, random_state=trial).split(train, y[train])
    for fold, (inside, held) in enumerate(folds):
        yield scaled(case, X, y, train[inside], train[held], f"{trial}.{fold}")


def scaled(
    case: Case, X: NDArray, y: NDArray, train: NDArray[np.intp], test: NDArray[np.intp], key: str
) -> Split:
    """Scale by the training rows, fill gaps with their means, drop columns constant in them."""
    part, rest = X[train], X[test]
    means = np.nanmean(part, axis=0)
    part, rest = (np.where(np.isnan(rows), means, rows) for rows in (part, rest))
    kept = np.flatnonzero(np.ptp(part, axis=0) > 0)
    part, rest = part[:, kept], rest[:, kept]
    if case.data in ("boston", "forest_fires"):
        low, high = part.min(axis=0), part.max(axis=0)
        middle, half = (low + high) / 2, (high - low) / 2
    else:
        middle, half = part.mean(axis=0), part.std(axis=0)
    part, rest = (part - middle) / half, (rest - middle) / half
    if case.screen is not None and part.shape[1] > case.screen:
        best = np.sort(np.argsort(-fisher_scores(part, y[train]), kind="stable")[: case.screen])
        part, rest, kept = part[:, best], rest[:, best], kept[best]
    return Split(part, y[train], rest, y[test], kept, key)


def fisher_scores(X: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Squared distance of the class means over the sum of the class variances."""
    one, other = X[y > 0], X[y < 0]
    spread = one.var(axis=0) + other.var(axis=0)
    return (one.mean(axis=0) - other.mean(axis=0)) ** 2 / np.maximum(spread, 1e-300)

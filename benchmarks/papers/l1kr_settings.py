"""Data, splits, bars and the numbers of the paper for l1kr_tables.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.model_selection import KFold

from common import load_shared

GAUSS, POLY, KRR, LASSO, OLS = "gaussian", "polynomial", "krr", "lasso", "ols"
OURS = (GAUSS, POLY)
METHODS = (*OURS, KRR, LASSO, OLS)
NAMES = {GAUSS: "L1KR Gaussian", POLY: "L1KR polynomial", KRR: "KRR", LASSO: "LASSO", OLS: "OLS"}
HKL = "HKL"

TRAIN, TEST, TRIALS = 200, 100, 30
IRRELEVANT = 5
SIGNAL_TO_NOISE = 10.0
VARIANCE_ROWS = 200_000  # from which the variance of a Friedman function is taken
FOLDS = 10
SPLITS, FEWER_SPLITS = 10, 2
PAPER_SPLITS = 10
INNER_FOLDS = 5  # by which KRR and LASSO choose
DEGREE = 3
ENOUGH_TRIALS = 5  # to compare two methods
LARGE = 0.05  # of the largest weight
WIDTHS = tuple(float(one) for one in np.logspace(-4.0, 1.0, 16))  # times the number of columns
RIDGES = tuple(float(one) for one in np.logspace(-12.0, 1.0, 27))  # over the number of rows


@dataclass(frozen=True)
class Case:
    """One row of a table.  ``unit`` is that of the table, ``relevant`` the columns that count."""

    table: int
    data: str
    label: str
    noisy: bool = False
    unit: float = 1.0
    relevant: int | None = None

    @property
    def key(self) -> str:
        """Name of the stored results."""
        return self.data + ("_noisy" if self.noisy else "")

    @property
    def drawn(self) -> bool:
        """Whether every trial draws its rows anew."""
        return self.table == 1

    def trials(self, method: str, splits: int | None = None) -> int:
        """How many trials there are; a fold of a split is one."""
        if self.drawn:
            return TRIALS
        many = self.data == "diabetes" and method != POLY
        default = SPLITS if many else FEWER_SPLITS
        return FOLDS * max(default, splits or 0)

    def describe(self, method: str) -> dict[str, Any]:
        """Everything that a stored trial depends on."""
        rows = [TRAIN, TEST, IRRELEVANT, SIGNAL_TO_NOISE, VARIANCE_ROWS] if self.drawn else [FOLDS]
        own: dict[str, Any] = {}
        if method in OURS:
            own = {"kernel": method, "norm_budget": "auto", "degree": DEGREE}
        elif method == KRR:
            own = {"widths": WIDTHS, "ridges": RIDGES, "folds": INNER_FOLDS}
        elif method == LASSO:
            own = {"folds": INNER_FOLDS}
        return {"data": self.key, "rows": rows, "method": method, **own}


FRIEDMAN = (("friedman1", "#1", 1.0, 5), ("friedman2", "#2", 1e3, 4), ("friedman3", "#3", 1e-2, 4))
UNITS = {data: unit for data, _, unit, _ in FRIEDMAN}
CASES = (
    *(
        Case(1, data, f"{label} {'noisy' if noisy else 'clean'}", noisy, unit, relevant)
        for data, label, unit, relevant in FRIEDMAN
        for noisy in (False, True)
    ),
    Case(2, "diabetes", "Diabetes"),
    Case(2, "boston", "Boston"),
    Case(2, "wisconsin_reg", "Wisconsin"),
)
DIABETES = ("age", "sex", "bmi", "bp", "tc", "ldl", "hdl", "tch", "ltg", "glu")
DROPPED = ("ldl", "tch")  # by the paper

# Table 1, in units of the rows.
PAPER_ERRORS: dict[str, dict[str, float]] = {
    "friedman1": {GAUSS: 0.02, POLY: 0.10, HKL: 0.43, KRR: 3.74, LASSO: 6.93},
    "friedman1_noisy": {GAUSS: 3.57, POLY: 3.38, HKL: 5.50, KRR: 7.37, LASSO: 9.65},
    "friedman2": {GAUSS: 0.02, POLY: 0.00, HKL: 0.05, KRR: 7.10, LASSO: 16.27},
    "friedman2_noisy": {GAUSS: 10.91, POLY: 11.05, HKL: 13.70, KRR: 19.49, LASSO: 27.54},
    "friedman3": {GAUSS: 0.94, POLY: 1.13, HKL: 1.72, KRR: 2.96, LASSO: 2.92},
    "friedman3_noisy": {GAUSS: 2.57, POLY: 2.43, HKL: 4.79, KRR: 4.55, LASSO: 3.78},
    "diabetes": {
        GAUSS: 2981.61, POLY: 2996.67, HKL: 2923.80, KRR: 2984.26, LASSO: 3007.10, OLS: 3007.10,
    },
    "boston": {GAUSS: 9.94, POLY: 10.00, HKL: 10.07, KRR: 11.42, LASSO: 37.05, OLS: 37.05},
    "wisconsin_reg": {
        GAUSS: 1004.99, POLY: 1004.17, HKL: 1152.40, KRR: 1007.94, LASSO: 983.91, OLS: 1106.89,
    },
}  # fmt: skip
PAPER_MOTIF = "0.16 (77), 0.16 (78), 0.29, 0.16, 0.13 (375) and 0.16"
PAPER_FEATURES: dict[str, dict[str, int]] = {
    "diabetes": {GAUSS: 8, POLY: 8, LASSO: 10},
    "boston": {GAUSS: 12, POLY: 12, LASSO: 12},
    "wisconsin_reg": {GAUSS: 11, POLY: 11, LASSO: 11},
}
PAPER_COLUMNS = {"diabetes": 10, "boston": 12, "wisconsin_reg": 31}
PAPER_LOST = 5  # times in 30 trials that x4 of #3 clean was not found

# Of L1KR with the Gaussian kernel: errors in units of the rows, errors over the noise variance, and
# columns with a weight.
BARS = {
    "friedman1": 0.03, "friedman1_noisy": 4.2, "friedman2": 0.03, "friedman3": 1.2,
    "friedman3_noisy": 3.0, "diabetes": 3010.0,
}  # fmt: skip
NOISE_BAR = {"friedman2_noisy": 1.35}
FEATURE_BAR = {"diabetes": 9.0}


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]


def friedman(data: str, n_rows: int, seed: int) -> tuple[NDArray, NDArray]:
    """Draw columns that count and their noise-free target."""
    if data == "friedman1":
        return datasets.make_friedman1(n_rows, n_features=5, random_state=seed)
    make = {"friedman2": datasets.make_friedman2, "friedman3": datasets.make_friedman3}[data]
    return make(n_rows, random_state=seed)


@lru_cache(maxsize=3)
def noise_variance(data: str) -> float:
    """Variance of the noise: that of the function over the signal-to-noise ratio."""
    return float(friedman(data, VARIANCE_ROWS, 0)[1].var()) / SIGNAL_TO_NOISE


def drawn_split(case: Case, trial: int) -> Split:
    """Draw a trial of Table 1; clean and noisy rows differ in the noise alone."""
    n = TRAIN + TEST
    X, y = friedman(case.data, n, 1 + trial)
    rng = np.random.default_rng(1 + trial)
    X = np.column_stack([X, rng.uniform(size=(n, IRRELEVANT))])
    noise = np.sqrt(noise_variance(case.data)) * rng.normal(size=n)
    if case.noisy:
        y = y + noise
    return Split(X[:TRAIN], y[:TRAIN], X[TRAIN:], y[TRAIN:])


@lru_cache(maxsize=3)
def whole_table(data: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """All rows of a data set of Table 2, or None where it is absent."""
    if data == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    else:
        shared = load_shared(data)
        if shared is None:
            return None
        X, y = shared
    return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)


def split_of(case: Case, trial: int) -> Split:
    """Rows of a trial, the same for every method."""
    if case.drawn:
        return drawn_split(case, trial)
    found = whole_table(case.data)
    assert found is not None
    X, y = found
    split, fold = divmod(trial, FOLDS)
    folds = list(KFold(FOLDS, shuffle=True, random_state=split).split(X))
    train, test = folds[fold]
    return Split(X[train], y[train], X[test], y[test])

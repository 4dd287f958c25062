"""One trial of one method: parameters by folds for every budget, then the test rows."""

from __future__ import annotations

import itertools
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from nmmkl_data import Split, inner_splits, outer_split
from nmmkl_settings import (
    FISHER,
    FOLDS,
    FSV,
    L0,
    L1,
    LASSO,
    OURS,
    R2W2,
    STEPWISE,
    SVM,
    SVR,
    SWAP,
    Case,
)
from numpy.typing import NDArray
from sklearn import svm
from sklearn.model_selection import KFold, StratifiedKFold

import kernelpath as kp

EPSILON = 0.1  # of the selectors for regression, in standard deviations of the target

Setting = dict[str, float]


# -- methods ---------------------------------------------------------------------------------------


def settings_of(case: Case, method: str) -> list[Setting]:
    """What the folds choose from for a selector."""
    if method in OURS:
        return [{"C": C, "ridge": tau} for C, tau in itertools.product(case.C, case.tau)]
    if method in (SVM, SVR, L0, L1, R2W2):
        return [{"C": C} for C in case.other_C or case.C]
    return [{}]


def make_selector(case: Case, method: str, setting: Setting) -> Any:
    """Return an unfitted selector for all budgets of a case."""
    budgets = list(case.budgets)
    if method in OURS:
        rounding = "swap" if method == SWAP else "paper"
        task = "regression" if case.regression else "classification"
        own: dict[str, Any] = {**setting, "rounding": rounding, "task": task}
        return kp.NMMKLSelector(budgets, epsilon=EPSILON, **own)
    kinds = {
        SVM: "SVMLW", SVR: "SVRLW", LASSO: "LassoLW", FISHER: "Fisher", L1: "L1SVM", FSV: "FSV",
        L0: "L0Approximation", R2W2: "R2W2", STEPWISE: "ForwardStepwise",
    }  # fmt: skip
    more = {"epsilon": EPSILON} if method == SVR else {}
    return getattr(kp.baselines, kinds[method])(budgets, **setting, **more)


@dataclass
class Fitted:
    """Selected columns for every budget, and for NMMKL what each is worth beside the bound."""

    supports: dict[int, tuple[int, ...]]
    ratios: dict[int, float] = field(default_factory=dict)


def select(case: Case, method: str, setting: Setting, split: Split) -> Fitted:
    """Select on training rows; targets of a regression are standardised."""
    fitted = fit(case, method, setting, split)
    supports = {}
    for budget in case.budgets:
        most = min(budget, split.X.shape[1])
        supports[budget] = as_tuple(fitted.path_.at(n_features=most).support)
    return Fitted(supports, ratios_of(fitted) if method in OURS else {})


def fit(case: Case, method: str, setting: Setting, split: Split) -> Any:
    """Fit a selector."""
    y = split.y
    if case.regression:
        y = (y - y.mean()) / y.std()
    return make_selector(case, method, setting).fit(split.X, y)


def ratios_of(fitted: Any) -> dict[int, float]:
    return dict(zip(map(int, fitted.budgets_), map(float, fitted.ratios_)))


def as_tuple(support: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(j) for j in np.flatnonzero(support))


# -- the machine on the selected features ----------------------------------------------------------


def final_settings(case: Case) -> list[Setting]:
    """What the folds choose from for the machine on the selected features."""
    if not case.regression:
        return [{"C": C} for C in case.final_C]
    pairs = itertools.product(case.final_C, case.final_epsilon)
    return [{"C": C, "epsilon": epsilon} for C, epsilon in pairs]


class Machines:
    """Machines on selected features of one split; what was learned once is not learned again."""

    def __init__(self, case: Case, split: Split) -> None:
        self._case, self._split = case, split
        self._known: dict[Any, tuple[float, NDArray]] = {}

    def score(self, support: tuple[int, ...], setting: Setting) -> float:
        """Accuracy in percent, or mean squared error, on the rows held out."""
        return self._of(support, setting)[0]

    def coefficients(self, support: tuple[int, ...], setting: Setting) -> NDArray:
        """Weights of the features, for columns of deviation 1."""
        return self._of(support, setting)[1] * self._split.X[:, list(support)].std(axis=0)

    def _of(self, support: tuple[int, ...], setting: Setting) -> tuple[float, NDArray]:
        key = (support, tuple(setting.items()))
        if key not in self._known:
            self._known[key] = self._learn(support, setting)
        return self._known[key]

    def _learn(self, support: tuple[int, ...], setting: Setting) -> tuple[float, NDArray]:
        split, columns = self._split, list(support)
        kind = svm.SVR if self._case.regression else svm.SVC
        model = kind(kernel="linear", **setting).fit(split.X[:, columns], split.y)
        found = model.predict(split.X_test[:, columns])
        if self._case.regression:
            return float(np.mean((found - split.y_test) ** 2)), model.coef_[0]
        return 100.0 * float(np.mean(found == split.y_test)), model.coef_[0]


# -- a trial ---------------------------------------------------------------------------------------


def fold_scores(case: Case, method: str, trial: int, settings: list[Setting]) -> NDArray:
    """Mean score over the folds, of shape (settings, final settings, budgets); more is better."""
    finals = final_settings(case)
    scores = []
    for split in inner_splits(case, trial):
        machines = Machines(case, split)
        own = np.empty((len(settings), len(finals), len(case.budgets)))
        for i, setting in enumerate(settings):
            supports = select(case, method, setting, split).supports
            for (j, final), (k, budget) in itertools.product(
                enumerate(finals), enumerate(case.budgets)
            ):
                own[i, j, k] = machines.score(supports[budget], final)
        scores.append(-own if case.regression else own)
    return np.mean(scores, axis=0)


def choose(case: Case, method: str, trial: int) -> dict[int, tuple[Setting, Setting]]:
    """Settings of the selector and of the final machine for every budget, by folds.

    Among equals the first of the grid.
    """
    settings, finals = settings_of(case, method), final_settings(case)
    scores = fold_scores(case, method, trial, settings)
    chosen = {}
    for k, budget in enumerate(case.budgets):
        i, j = np.unravel_index(int(np.argmax(scores[:, :, k])), scores.shape[:2])
        chosen[budget] = settings[i], finals[j]
    return chosen


def choose_final(case: Case, split: Split, support: tuple[int, ...], trial: int) -> Setting:
    """Settings of the final machine on given features, by folds of the training rows."""
    finals, columns = final_settings(case), list(support)
    scores = np.zeros(len(finals))
    kind = KFold if case.regression else StratifiedKFold
    for inside, held in kind(FOLDS, shuffle=True, random_state=trial).split(split.X, split.y):
        part = Split(
            split.X[np.ix_(inside, columns)], split.y[inside],
            split.X[np.ix_(held, columns)], split.y[held], split.kept, split.key,
        )  # fmt: skip
        machines = Machines(case, part)
        scores += [machines.score(tuple(range(len(columns))), final) for final in finals]
    return finals[int(np.argmin(scores) if case.regression else np.argmax(scores))]


def run_trial(
    case: Case, method: str, trial: int, borrowed: dict[int, Setting] | None = None
) -> dict[str, Any]:
    """Choose by folds, select on all training rows, score on the test rows.

    ``borrowed`` are settings of the selector for each budget; without them the folds choose.
    """
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns and twins
        split = outer_split(case, trial)
        chosen = choose(case, method, trial) if borrowed is None else {}
        settings = borrowed or {budget: one for budget, (one, _) in chosen.items()}
        machines = Machines(case, split)
        made: dict[str, Fitted] = {}
        results = {}
        for budget, setting in settings.items():
            key = str(setting)
            if key not in made:
                made[key] = select(case, method, setting, split)
            support = made[key].supports[budget]
            if budget in chosen:
                final = chosen[budget][1]
            else:
                final = choose_final(case, split, support, trial)
            weights = np.abs(machines.coefficients(support, final))
            results[str(budget)] = {
                "score": machines.score(support, final),
                "features": [int(split.kept[support[j]]) for j in np.argsort(-weights)],
                "setting": setting,
                "final": final,
                "ratio": made[key].ratios.get(budget),
            }
    spread = float(np.mean((split.y_test - split.y_test.mean()) ** 2))
    return {
        "trial": trial,
        "budgets": results,
        "spread": spread,  # of the targets of the test rows: Q2 is the error over it
        "cpu": time.process_time() - start,
    }

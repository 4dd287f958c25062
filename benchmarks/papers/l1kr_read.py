"""From stored trials of the L1KR tables to numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from l1kr_settings import CASES, FOLDS, LARGE, METHODS, Case
from l1kr_tables import Store
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Result:
    """Stored trials of one case and method, in order; of Table 2 all folds of whole splits."""

    case: Case
    method: str
    trials: list[dict[str, Any]]
    date: str
    versions: dict[str, str]

    @property
    def numbers(self) -> list[int]:
        """Trials, or splits, that there are."""
        found = [one["trial"] for one in self.trials]
        return found if self.case.drawn else sorted({trial // FOLDS for trial in found})

    @property
    def errors(self) -> NDArray[np.float64]:
        """Mean squared errors in the unit of the case, by trial or by split."""
        errors = np.array([one["error"] for one in self.trials]) / self.case.unit
        if self.case.drawn:
            return errors
        rows = np.array([one["rows"] for one in self.trials]).reshape(-1, FOLDS)
        return (errors.reshape(-1, FOLDS) * rows).sum(axis=1) / rows.sum(axis=1)

    @property
    def mean(self) -> float:
        """Mean error."""
        return float(self.errors.mean())

    @property
    def spread(self) -> float:
        """Standard error over trials, or standard deviation between splits."""
        errors = self.errors
        if len(errors) < 2:
            return float("nan")
        return float(errors.std(ddof=1)) / (len(errors) ** 0.5 if self.case.drawn else 1.0)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights, a row for each fit."""
        return np.array([one["weights"] for one in self.trials])

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Columns with a weight, a row for each fit."""
        return self.weights > 0

    @property
    def large(self) -> NDArray[np.bool_]:
        """Columns with a large weight, a row for each fit."""
        return self.weights > LARGE * self.weights.max(axis=1, keepdims=True)

    def count(self, relevant: int, large: bool = False) -> tuple[int, float]:
        """Fits in which all of the first columns are selected, and the mean number of others."""
        chosen = self.large if large else self.selected
        every = int(chosen[:, :relevant].all(axis=1).sum())
        return every, float(chosen[:, relevant:].sum(axis=1).mean())

    def gaps(self, other: Result) -> NDArray[np.float64]:
        """Differences of errors to another method on the same trials or splits."""
        one = dict(zip(self.numbers, self.errors))
        two = dict(zip(other.numbers, other.errors))
        return np.array([one[n] - two[n] for n in sorted(one.keys() & two.keys())])


Results = dict[tuple[str, str], Result]  # by case and method


def read(folder: Path) -> Results:
    """Results with these settings, as far as there are any."""
    results: Results = {}
    for case in CASES:
        for method in METHODS:
            store = Store(folder, case, method)
            numbers = sorted(store.trials)
            if not case.drawn:
                folds = Counter(trial // FOLDS for trial in numbers)
                numbers = [trial for trial in numbers if folds[trial // FOLDS] == FOLDS]
            if numbers:
                trials = [store.trials[n] for n in numbers]
                results[case.key, method] = Result(case, method, trials, store.date, store.versions)
    return results


def present(results: Results, number_of_table: int) -> list[Case]:
    """Cases of a table with any result."""
    keys = {key for key, _ in results}
    return [case for case in CASES if case.table == number_of_table and case.key in keys]

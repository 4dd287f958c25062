"""From stored trials to numbers: means, deviations and paired comparisons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from nmmkl_settings import SIGNIFICANT, Case, Number
from numpy.typing import NDArray
from scipy import stats

BETTER, LEVEL, WORSE = "better", "level", "worse"


@dataclass(frozen=True, eq=False)
class Result:
    """Stored trials of one case, by method; only trials that all its methods have finished.

    ``trials[method]`` is a list over the same trials for every method.
    """

    case: Case
    trials: dict[str, list[dict[str, Any]]]
    date: str
    versions: dict[str, str]
    cpu: float

    @property
    def methods(self) -> list[str]:
        """Methods with results, in the order of the tables."""
        return [method for method in self.case.methods if method in self.trials]

    @property
    def n_trials(self) -> int:
        """How many trials there are."""
        return len(next(iter(self.trials.values())))

    def scores(self, method: str, budget: int) -> NDArray[np.float64]:
        """Accuracy in percent, or mean squared error, trial by trial."""
        return np.array([one["budgets"][str(budget)]["score"] for one in self.trials[method]])

    def q2(self, method: str, budget: int) -> NDArray[np.float64]:
        """Mean squared error over the variance of the test targets."""
        spread = np.array([one["spread"] for one in self.trials[method]])
        return self.scores(method, budget) / spread

    def ratios(self, method: str, budget: int) -> NDArray[np.float64]:
        """Objective of the choice relative to the dual bound."""
        return np.array([one["budgets"][str(budget)]["ratio"] for one in self.trials[method]])

    def features(self, method: str, budget: int) -> list[tuple[int, ...]]:
        """Selected columns, the largest weight first, trial by trial."""
        return [tuple(one["budgets"][str(budget)]["features"]) for one in self.trials[method]]

    def settings(self, method: str, budget: int, name: str) -> Counter[float]:
        """How often the folds chose each value of a parameter."""
        chosen = (one["budgets"][str(budget)]["setting"] for one in self.trials[method])
        return Counter(one[name] for one in chosen if name in one)

    def number(self, method: str, budget: int) -> Number:
        """Mean and standard deviation of the score."""
        return summary(self.scores(method, budget))

    def compare(self, one: str, other: str, budget: int) -> tuple[str, float]:
        """Whether the first is better in a paired t-test, and the mean of first minus second."""
        gap = self.scores(one, budget) - self.scores(other, budget)
        mean = float(gap.mean())
        if p_value(gap) >= SIGNIFICANT:
            return LEVEL, mean
        return (BETTER if (mean < 0) == self.case.regression else WORSE), mean

    def best(self, budget: int) -> list[str]:
        """Return the best method and those that are not significantly worse than it."""
        means = {method: self.number(method, budget)[0] for method in self.methods}
        pick = min if self.case.regression else max
        first = pick(means, key=lambda method: means[method])
        return [
            method
            for method in self.methods
            if method == first or self.compare(method, first, budget)[0] != WORSE
        ]

    def nested(self, method: str) -> int:
        """In how many trials every choice contains the smaller one before it."""
        count = 0
        for pairs in zip(*(self.features(method, budget) for budget in self.case.budgets)):
            sets = [set(one) for one in pairs]
            count += all(small <= large for small, large in pairwise(sets))
        return count


def summary(values: NDArray[np.float64]) -> Number:
    """Mean and standard deviation."""
    deviation = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return float(values.mean()), deviation


def p_value(gap: NDArray[np.float64]) -> float:
    """Two-sided p-value of a paired t-test; 1 where there is nothing to test."""
    if len(gap) < 2 or np.ptp(gap) == 0:
        return 1.0
    return float(stats.ttest_1samp(gap, 0.0).pvalue)


def read(folder: Path, cases: Sequence[Case]) -> dict[str, Result]:
    """Results by data set, as far as there are any with these settings."""
    results = {}
    for case in cases:
        trials: dict[str, dict[int, dict[str, Any]]] = {}
        contents = []
        for method in case.methods:
            file = folder / f"{case.key}_{method}.json"
            content = json.loads(file.read_text()) if file.exists() else None
            if content and content["settings"] == json.loads(json.dumps(case.describe(method))):
                found = {one["trial"]: one for one in content["trials"]}
                trials[method] = {n: one for n, one in found.items() if n < case.trials}
                contents.append(content)
        common = sorted(set.intersection(*map(set, trials.values()))) if trials else []
        if not common:
            continue
        last = max(contents, key=lambda one: one["date"])
        results[case.data] = Result(
            case,
            {method: [found[n] for n in common] for method, found in trials.items()},
            last["date"],
            last["versions"],
            sum(one["cpu"] for content in contents for one in content["trials"]),
        )
    return results

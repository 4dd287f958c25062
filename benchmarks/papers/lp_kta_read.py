"""From stored hits to the numbers of the tables: oracles, nested choices, differences."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lp_kta_settings import TOLERANCES, Plan
from numpy.typing import NDArray


@dataclass(frozen=True)
class Number:
    """Percentages of several folds or splits, and the features they used.

    Attributes
    ----------
    values : ndarray of shape (n_seeds, n_parts)
    features : ndarray of shape (n_seeds, n_parts)
    """

    values: NDArray[np.float64]
    features: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Mean over everything."""
        return float(self.values.mean())

    @property
    def seeds(self) -> NDArray[np.float64]:
        """Mean of each seed."""
        return self.values.mean(axis=1)

    @property
    def error(self) -> float:
        """Standard error between folds or splits; overlapping training rows are not counted."""
        return spread(self.values)


def spread(values: NDArray[np.float64]) -> float:
    """Standard error of the mean of folds or splits, seeds averaged."""
    n_parts = values.shape[1]
    if n_parts < 2:
        return float("nan")
    return float(values.std(axis=1, ddof=1).mean() / np.sqrt(n_parts))


@dataclass(frozen=True)
class Results:
    """All finished seeds of one table and data set; Table 3 has one seed, with many splits."""

    plan: Plan
    seeds: list[list[dict[str, Any]]]
    table: int
    date: str
    versions: dict[str, str]

    @property
    def cpu(self) -> float:
        """Seconds of all parts."""
        return sum(part["cpu"] for seed in self.seeds for part in seed)

    @property
    def n_grid(self) -> int:
        """Number of points of the path that compete."""
        plan = self.plan
        if self.table == 2:
            return len(plan.pairs) * len(plan.p)
        return len(plan.size_pairs) * len(plan.sizes)

    def _outer_of_inner(self) -> NDArray[np.intp]:
        """Position among the outer points of every point of the inner folds."""
        plan = self.plan
        if self.table == 2:
            pairs, every, some = len(plan.pairs), len(plan.p), plan.inner_p
        else:
            pairs, every, some = len(plan.size_pairs), len(plan.sizes), plan.inner_sizes
        return np.array([pair * every + i for pair in range(pairs) for i in some])

    def _outer(self, part: dict, points: Any, mode: str, measure: str) -> NDArray[np.float64]:
        """Percentages of some points: widths x points x C."""
        values = np.array([one["outer"][mode][measure] for one in part["by_s"]], dtype=float)
        scale = part["n_test"] if measure == "hits" else 1.0
        return 100.0 * values[:, points] / scale

    def _sizes(self, part: dict, points: Any) -> NDArray[np.float64]:
        return np.array([one["sizes"] for one in part["by_s"]], dtype=float)[:, points]

    def _points(self, uniform: bool) -> NDArray[np.intp]:
        return np.array([self.n_grid]) if uniform else np.arange(self.n_grid)

    def pooled(
        self, mode: str = "plain", measure: str = "hits", uniform: bool = False
    ) -> dict[str, Number]:
        """One setting for all folds of a seed, the best by ``measure`` on the test rows."""
        points = self._points(uniform)
        names = list(self.seeds[0][0]["by_s"][0]["outer"][mode])
        values: dict[str, list] = {name: [] for name in names}
        features = []
        for seed in self.seeds:
            arrays = {
                name: np.array([self._outer(part, points, mode, name) for part in seed])
                for name in names
            }
            sizes = np.array([self._sizes(part, points) for part in seed])
            mean = arrays[measure].mean(axis=0)
            best = np.argwhere(mean >= mean.max() - 1e-9)
            s, point, C = min(best, key=lambda at: sizes[:, at[0], at[1]].mean())
            for name in names:
                values[name].append(arrays[name][:, s, point, C])
            features.append(sizes[:, s, point])
        return {name: Number(np.array(values[name]), np.array(features)) for name in names}

    def per_part(self, mode: str = "plain", uniform: bool = False) -> Number:
        """Best setting of each fold or split on its own test rows."""
        points = self._points(uniform)
        values, features = [], []
        for seed in self.seeds:
            row, used = [], []
            for part in seed:
                hits = self._outer(part, points, mode, "hits")
                best = np.argwhere(hits >= hits.max() - 1e-9)
                sizes = self._sizes(part, points)
                row.append(hits.max())
                used.append(min(sizes[s, point] for s, point, _ in best))
            values.append(row)
            features.append(used)
        return Number(np.array(values), np.array(features))

    def nested(self, mode: str = "plain", uniform: bool = False) -> dict[str, Number]:
        """Setting with the most hits in the inner folds, the middle one of equals."""
        names = list(self.seeds[0][0]["by_s"][0]["outer"][mode])
        values: dict[str, list] = {name: [] for name in names}
        features = []
        places = self._outer_of_inner()
        where = np.array([len(places)]) if uniform else np.arange(len(places))
        outer_places = self._points(True) if uniform else places
        for seed in self.seeds:
            rows: dict[str, list] = {name: [] for name in names}
            used = []
            for part in seed:
                inner = np.array([one["inner"][mode] for one in part["by_s"]])[:, where]
                best = np.argwhere(inner == inner.max())
                s, point, C = best[len(best) // 2]
                for name in names:
                    rows[name].append(self._outer(part, outer_places, mode, name)[s, point, C])
                used.append(self._sizes(part, outer_places)[s, point])
            for name in names:
                values[name].append(rows[name])
            features.append(used)
        return {name: Number(np.array(values[name]), np.array(features)) for name in names}

    def tolerances(self) -> list[tuple[float, float, float]]:
        """Tolerance, mean number of features and accuracy, first seed.

        One width and C for all tolerances: the best on their average.
        """
        parts = self.seeds[0]
        points = self.n_grid + 1 + np.arange(len(TOLERANCES))
        mean = np.mean([self._outer(part, points, "plain", "hits") for part in parts], axis=0)
        average = mean.mean(axis=1)
        s, C = np.unravel_index(average.argmax(), average.shape)
        sizes = np.mean([self._sizes(part, points)[s] for part in parts], axis=0)
        return list(zip(TOLERANCES, sizes.tolist(), mean[s, :, C].tolist()))

    def one_feature(self) -> dict[str, Number]:
        """The rule of the feature with the largest alignment."""
        hits = [[100 * p["one"]["hits"] / p["n_test"] for p in seed] for seed in self.seeds]
        balanced = [[100 * p["one"]["balanced_accuracy"] for p in seed] for seed in self.seeds]
        ones = np.ones_like(np.array(hits))
        return {
            "hits": Number(np.array(hits), ones),
            "balanced_accuracy": Number(np.array(balanced), ones),
        }

    def path_cv(self, selector: str) -> Number:
        """PathCV on the training half."""
        runs = [[part["path_cv"][selector] for part in seed] for seed in self.seeds]
        sizes = [part["n_test"] for part in self.seeds[0]]
        values = [[100 * one["hits"] / n for one, n in zip(row, sizes)] for row in runs]
        features = [[one["n_features"] for one in row] for row in runs]
        return Number(np.array(values), np.array(features, dtype=float))

    def predictors(self, selector: str) -> dict[str, int]:
        """How often PathCV took which predictor."""
        names = [part["path_cv"][selector]["predictor"] for seed in self.seeds for part in seed]
        return {name: names.count(name) for name in sorted(set(names))}


def read(folder: Path, name: str, table: int, plan: Plan) -> Results | None:
    """Collect the stored parts that were run with these settings."""
    settings = json.loads(json.dumps(plan.describe()))
    n_files = plan.seeds if table == 2 else plan.splits
    found = []
    for i in range(n_files):
        file = folder / f"{name}_table{table}_{i}.json"
        content = json.loads(file.read_text()) if file.exists() else {}
        if content.get("settings") == settings:
            found.append(content)
    if not found:
        return None
    seeds = [content["parts"] for content in found]
    if table == 3:
        seeds = [[part for parts in seeds for part in parts]]
    last = max(found, key=lambda content: content["date"])
    return Results(plan, seeds, table, last["date"], last["versions"])

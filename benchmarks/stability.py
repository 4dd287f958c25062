"""Stability selection and the knockoff filter: what is promised, seen in simulations, and times."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path

import numpy as np

import kernelpath as kp
from common import Report, load_shared

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "stability.md"
DRAWS = 200


def times(report: Report) -> None:
    """Fifty pairs of halves."""
    data = kp.datasets.make_wide(n_samples=500, n_features=2000, random_state=0)
    tables = {"make_wide 500 x 2,000": (data.X, data.y)}
    shared = load_shared("dorothea", "train")
    if shared is None:
        report.note("dorothea is not here: its row was left out")
    else:
        tables["dorothea, 800 x 100,000 sparse"] = shared
    for name, (X, y) in tables.items():
        kp.LpKTASelector().fit(X, y)  # loops are compiled
        start = time.process_time()
        model = kp.StabilityPath().fit(X, y)
        spent = time.process_time() - start
        report.add(f"{name}: 50 pairs of halves", f"{spent:.1f} s of CPU", "no bar", None)
        report.note(f"{name}: {len(model.stable_)} stable at size {model.stable_.n_features}")


def noise(report: Report) -> None:
    """Tables in which nothing is relevant: every stable feature is false."""
    counts = []
    for seed in range(DRAWS):
        X, y = np.random.default_rng(seed).normal(size=(80, 60)), np.arange(80) % 2
        model = kp.StabilityPath(n_pairs=25, n_features=6, threshold=0.6, sizes=[6]).fit(X, y)
        counts.append(len(model.stable_))
    what = "noise, 80 x 60, 25 pairs, size 6, threshold 0.6: mean number of stable features"
    for assumption in ("none", "unimodal", "r-concave"):
        bound = model.bound(assumption=assumption)
        words = f"<= {bound:.2f} ({assumption})"
        report.add(what, f"{np.mean(counts):.2f}", words, bool(np.mean(counts) <= bound))


def knockoffs(report: Report) -> None:
    """Draws of the table of the guide."""
    code = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), flags=re.S)
    (block,) = (one.split("found = ")[0] for one in code if "X_knockoff" in one)
    draws = []
    for seed in range(DRAWS):
        names: dict = {}
        exec(block.replace("default_rng(0)", f"default_rng({seed})"), names)
        draws.append([names[name] for name in ("X", "X_knockoff", "y", "relevant")])
    for statistic in ("alignment", "entry"):
        for fdr in (0.1, 0.2):
            false, found = [], []
            for X, copies, y, relevant in draws:
                own = kp.knockoff_filter(X, copies, y, fdr=fdr, statistic=statistic)
                hit = np.isin(own.features, relevant)
                false.append((~hit).sum() / max(len(own), 1))
                found.append(hit.sum() / len(relevant))
            error = float(np.std(false) / np.sqrt(DRAWS))
            what = f"knockoffs of the guide, {statistic}: share of false discoveries"
            met = bool(np.mean(false) <= fdr + 2 * error)
            report.add(what, f"{np.mean(false):.3f} +- {error:.3f}", f"<= {fdr}", met)
            words = f"knockoffs of the guide, {statistic}, fdr={fdr}: relevant features found"
            report.add(words, f"{100 * np.mean(found):.1f} %", "no bar", None)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    kp.show_progress(False)
    report = Report("stability", "Stability selection and knockoffs")
    times(report)
    noise(report)
    knockoffs(report)
    report.note(f"means of {DRAWS} draws")
    report.save()

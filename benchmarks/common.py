"""What all benchmarks share: CPU timing, the machine, and how a result is written down."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OUT = HERE / "out"
DATA = HERE.parents[1] / "shared" / "data"
PUBLISHED_LP_KTA = {"statistic": "alignment", "bandwidth": "std"}
"""Settings of lp-KTA as in its paper."""


def cpu_time(task: Callable[[], Any], repeats: int = 5, warm_up: bool = True) -> float:
    """Smallest CPU time of several runs, in seconds; all threads counted."""
    if warm_up:
        task()
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        task()
        best = min(best, time.process_time() - start)
    return best


def alternating(tasks: dict[str, Callable[[], Any]], repeats: int = 9) -> dict[str, float]:
    """Smallest CPU time of each task, their runs taken in turn so that noise hits all alike."""
    for task in tasks.values():
        task()
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            best[name] = min(best[name], time.process_time() - start)
    return best


def machine() -> dict[str, str]:
    """Processor, cores, memory and versions."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    packages = ("kernelpath", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "processor": model,
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def load_shared(name: str, part: str | None = None) -> tuple[Any, Any] | None:
    """Read a data set kept beside the repository, or None where it is absent."""
    file = DATA / f"{name}.npz"
    if not file.exists():
        return None
    import numpy as np
    from scipy.sparse import csr_matrix

    with np.load(file, allow_pickle=False) as arrays:
        if "X" in arrays:
            X = arrays["X"].astype(np.float64)
        else:
            parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
            X = csr_matrix(parts, shape=tuple(arrays["shape"]))
        y = arrays["y"]
        if part is not None:
            keep = arrays["split"] == {"train": 0, "rest": 1}[part]
            X, y = X[keep], y[keep]
    return X, y


class Report:
    """Rows of one benchmark: what was measured, the bar, and whether it was met."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title, self.rows, self.notes = name, title, [], []

    def add(self, what: str, measured: str, bar: str, met: bool | None) -> None:
        """Add a row and print it."""
        met = None if met is None else bool(met)
        self.rows.append({"what": what, "measured": measured, "bar": bar, "met": met})
        mark = {True: "met", False: "MISSED", None: ""}[met]
        print(f"  {what:<72} {measured:>16}  {bar:<14} {mark}", flush=True)

    def note(self, text: str) -> None:
        """Add a sentence."""
        self.notes.append(text)
        print(f"  note: {text}", flush=True)

    def save(self) -> None:
        """Store the rows for docs/benchmarks.md."""
        OUT.mkdir(exist_ok=True)
        today = date.today().isoformat()
        content = {"title": self.title, "date": today, "rows": self.rows, "notes": self.notes}
        (OUT / f"{self.name}.json").write_text(json.dumps(content, indent=1))

"""Tables 1 and 3 to 7 and Figure 2 of the Neural Networks 2015 paper on NMMKL.

    python benchmarks/papers/nmmkl_tables.py [case ...] [--method name ...] [--trials number]
                                             [--quick] [--page]

A case is a table or a data set, such as table3 or wdbc; ``--trials`` runs no more than so many of
its trials.  Every trial is kept under
benchmarks/out/papers/nmmkl and not run again; delete the files to start over.  ``--page`` only
writes the page and the picture from what is there.  ``--quick`` runs two trials with a grid of one
point into a folder of its own and writes nothing under docs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import nmmkl_runs as runs  # noqa: E402
from nmmkl_data import DRAWN  # noqa: E402
from nmmkl_settings import CASES, NAMES, PUBLISHED, SWAP, Case  # noqa: E402

from common import DATA, OUT, machine  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Store:
    """Trials of one case and method in a file, written after every trial."""

    def __init__(self, folder: Path, case: Case, method: str) -> None:
        self.file = folder / f"{case.key}_{method}.json"
        self.settings = json.loads(json.dumps(case.describe(method)))
        self.trials: dict[int, dict[str, Any]] = {}
        if self.file.exists():
            content = json.loads(self.file.read_text())
            if content["settings"] == self.settings:
                self.trials = {one["trial"]: one for one in content["trials"]}

    def add(self, trial: dict[str, Any]) -> None:
        """Keep a trial."""
        self.trials[trial["trial"]] = trial
        content = {
            "settings": self.settings,
            "date": date.today().isoformat(),
            "versions": machine(),
            "trials": [self.trials[number] for number in sorted(self.trials)],
        }
        temporary = self.file.with_suffix(".part")
        temporary.write_text(json.dumps(content))
        temporary.replace(self.file)


def borrowed_settings(folder: Path, case: Case, trial: int) -> dict[int, dict[str, float]]:
    """What the folds chose for the largest weights in the same trial."""
    found = Store(folder, case, PUBLISHED).trials[trial]["budgets"]
    return {int(budget): one["setting"] for budget, one in found.items()}


def run_case(folder: Path, case: Case, methods: list[str], most: int) -> None:
    """Run what is missing of a case, one method after the other, up to so many trials."""
    for method in case.methods:
        if methods and method not in methods:
            continue
        store = Store(folder, case, method)
        missing = [trial for trial in range(min(case.trials, most)) if trial not in store.trials]
        start, clock = time.process_time(), time.time()
        for trial in missing:
            borrowed = None
            if method == SWAP and case.borrowed:
                borrowed = borrowed_settings(folder, case, trial)
            store.add(runs.run_trial(case, method, trial, borrowed))
        if missing:
            cpu, wall = time.process_time() - start, time.time() - clock
            print(
                f"{case.key:<22} {method:<12} {len(missing):>3} trials {cpu:7.1f} s CPU "
                f"{wall:7.0f} s wall",
                flush=True,
            )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = sorted({case.table for case in CASES} | {case.data for case in CASES})
    parser.add_argument("cases", nargs="*", metavar="case", help=", ".join(known))
    parser.add_argument("--method", nargs="+", default=[], choices=list(NAMES))
    parser.add_argument("--trials", type=int, default=1000, help="no more than so many")
    parser.add_argument("--quick", action="store_true", help="tiny grids, nothing under docs")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args(arguments)
    unknown = set(options.cases) - set(known)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    folder = OUT / "papers" / ("nmmkl_quick" if options.quick else "nmmkl")
    folder.mkdir(parents=True, exist_ok=True)
    cases = [case.quick() if options.quick else case for case in CASES]
    for case in cases:
        wanted = not options.cases or {case.table, case.data} & set(options.cases)
        if options.page or not wanted:
            continue
        if case.data not in DRAWN and not (DATA / f"{case.data}.npz").exists():
            print(f"{case.data} is not here: left out")
            continue
        run_case(folder, case, options.method, options.trials)
    from nmmkl_page import write_page

    if write_page(folder if options.quick else DOCS, folder, cases):
        print("wrote reproduction_nmmkl.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Tables 2 and 3 of the ICML 2014 paper on lp-KTA, as the paper reports them and honestly.

    python benchmarks/papers/lp_kta_tables.py [data set ...] [--quick] [--page]

Finished parts are kept under benchmarks/out/papers and not run again; delete them to start over.
``--page`` only writes the page from what is there.  ``--quick`` runs tiny grids into a folder of
its own and writes no page under docs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lp_kta_runs as runs  # noqa: E402
from lp_kta_page import write_page  # noqa: E402
from lp_kta_settings import FOLDS, PLANS, Plan  # noqa: E402

from common import DATA, OUT, machine  # noqa: E402

N_PROCESSES = 2
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reproduction.md"


def kept(file: Path, plan: Plan, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the stored result if it has the same settings, else work and store."""
    settings = json.loads(json.dumps(plan.describe()))
    if file.exists():
        content = json.loads(file.read_text())
        if content["settings"] == settings:
            return content
    start = time.time()
    content = {"settings": settings, "date": date.today().isoformat(), **work()}
    content["versions"] = machine()
    temporary = file.with_suffix(".part")
    temporary.write_text(json.dumps(content))
    temporary.replace(file)
    cpu = sum(part["cpu"] for part in content.get("parts", []))
    print(f"{file.stem:<24} {cpu:7.0f} s CPU {time.time() - start:7.0f} s wall", flush=True)
    return content


def run_data_set(name: str, plan: Plan, folder: Path, pool: ProcessPoolExecutor) -> None:
    """Run what is missing of both tables."""
    for seed in range(plan.seeds):

        def folds(seed: int = seed) -> dict[str, Any]:
            waiting = [pool.submit(runs.table2_fold, name, plan, seed, i) for i in range(FOLDS)]
            return {"parts": [one.result() for one in waiting]}

        kept(folder / f"{name}_table2_{seed}.json", plan, folds)
    todo = {}
    for split in range(plan.splits):
        if not (folder / f"{name}_table3_{split}.json").exists():
            todo[split] = pool.submit(runs.table3_split, name, plan, split)
    for split in range(plan.splits):

        def half(split: int = split) -> dict[str, Any]:
            future = todo.get(split) or pool.submit(runs.table3_split, name, plan, split)
            return {"parts": [future.result()]}

        kept(folder / f"{name}_table3_{split}.json", plan, half)
    if name == "dorothea":
        job = pool.submit(runs.dorothea_times, name, plan)
        kept(folder / f"{name}_times.json", plan, lambda: {"times": job.result()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="data set", help=", ".join(PLANS))
    parser.add_argument("--quick", action="store_true", help="tiny grids, no page under docs")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    unknown = set(options.names) - set(PLANS)
    if unknown:
        parser.error(f"no such data set: {', '.join(sorted(unknown))}")
    folder = OUT / "papers" / "quick" if options.quick else OUT / "papers"
    folder.mkdir(parents=True, exist_ok=True)
    plans = {name: plan.quick() if options.quick else plan for name, plan in PLANS.items()}
    if not options.page:
        with ProcessPoolExecutor(N_PROCESSES, initializer=runs.start_worker) as pool:
            for name in options.names or PLANS:
                if not (DATA / f"{name}.npz").exists():
                    print(f"{name} is not here: left out")
                    continue
                run_data_set(name, plans[name], folder, pool)
    page = folder / "reproduction.md" if options.quick else PAGE
    if write_page(page, folder, plans):
        print(f"wrote {page.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

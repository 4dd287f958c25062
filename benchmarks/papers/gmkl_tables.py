"""Tables 2, 4, 5, 7 and 9 of the KDD 2012 paper on SPG-GMKL, and Madelon.

    python benchmarks/papers/gmkl_tables.py [table ...] [--quick] [--page]

Finished parts are kept under benchmarks/out/papers/gmkl and not run again; delete them to start
over.  A table is 2, 4, 5, 7, 9 or "madelon".  ``--page`` only writes the page from what is there.
``--quick`` runs with tiny limits into a folder of its own and writes no page under docs.
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

import gmkl_madelon as madelon  # noqa: E402
import gmkl_runs as runs  # noqa: E402
from gmkl_page import write_page  # noqa: E402
from gmkl_settings import CASES  # noqa: E402

from common import DATA, OUT, machine  # noqa: E402

N_PROCESSES = 2
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reproduction_gmkl.md"
TABLES = ("2", "4", "5", "7", "9", "madelon")


def kept(file: Path, settings: dict, work: Callable[[], list[dict[str, Any]]]) -> None:
    """Work and store, unless there is a result of the same settings."""
    settings = json.loads(json.dumps(settings))
    if file.exists() and json.loads(file.read_text())["settings"] == settings:
        return
    start = time.time()
    content = {"settings": settings, "date": date.today().isoformat(), "parts": work()}
    content["versions"] = machine()
    temporary = file.with_suffix(".part")
    temporary.write_text(json.dumps(content))
    temporary.replace(file)
    cpu = sum(part["cpu"] for part in content["parts"])
    print(f"{file.stem:<28} {cpu:7.1f} s CPU {time.time() - start:7.0f} s wall", flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="table", help=", ".join(TABLES))
    parser.add_argument("--quick", action="store_true", help="tiny limits, no page under docs")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args(arguments)
    unknown = set(options.tables) - set(TABLES)
    if unknown:
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    folder = OUT / "papers" / ("gmkl_quick" if options.quick else "gmkl")
    folder.mkdir(parents=True, exist_ok=True)
    cases = [case.quick() if options.quick else case for case in CASES]
    plan = madelon.Plan().quick() if options.quick else madelon.Plan()
    if not options.page:
        with ProcessPoolExecutor(N_PROCESSES, initializer=runs.start_worker) as pool:
            for case in cases:
                if str(case.table) not in (options.tables or TABLES):
                    continue
                if not (DATA / f"{case.data}.npz").exists():
                    print(f"{case.data} is not here: left out")
                    continue

                def work(case: Any = case) -> list[dict[str, Any]]:
                    return list(pool.map(runs.run, [case] * len(case.folds), case.folds))

                kept(folder / f"{case.key}.json", case.describe(), work)
            if "madelon" in (options.tables or TABLES) and (DATA / "madelon.npz").exists():
                for size in plan.sizes:

                    def screen(size: int = size) -> list[dict[str, Any]]:
                        return [pool.submit(madelon.run, plan, size).result()]

                    kept(folder / f"madelon_{size}.json", plan.describe(), screen)

                def free() -> list[dict[str, Any]]:
                    return [pool.submit(madelon.free_choice, plan).result()]

                kept(folder / "madelon_free.json", plan.describe(), free)
    page = folder / "reproduction_gmkl.md" if options.quick else PAGE
    if write_page(page, folder, cases, plan):
        print(f"wrote {page.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""All families of trials at full length: ``make harden``, or some of them by their names."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import platform
import sys
import time
from datetime import date
from pathlib import Path

import hardening
from hardening.tally import Tally, as_table

# All other modules, but the tests, have a function ``trials``.
APART = ("__main__", "tally", "forged", "samples")
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
COUNTS = "## Counts\n"
MODULES = [
    module.name
    for module in pkgutil.iter_modules(hardening.__path__)
    if module.name not in APART and not module.name.startswith(("test_", "_"))
]


def main() -> int:
    """Run the trials, print the table and say what was broken."""
    parser = argparse.ArgumentParser(prog="make harden", description=__doc__)
    parser.add_argument("modules", nargs="*", help=f"some of {', '.join(MODULES)}; default: all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tallies: list[Tally] = []
    for name in given.modules or MODULES:
        if name not in MODULES:
            parser.error(f"there is no {name}; there are {', '.join(MODULES)}")
        started = time.process_time()
        found = importlib.import_module(f"hardening.{name}").trials(long=True, seed=given.seed)
        tallies += found
        seconds = time.process_time() - started
        print(f"{name}: {sum(t.trials for t in found)} trials, {seconds:.0f} s", file=sys.stderr)
    table = as_table(tallies)
    print(table)
    if not given.modules:
        write_page(table)
    broken = [f"{tally.title}: {case}" for tally in tallies for case in tally.broken]
    for line in broken:
        print(f"broken: {line}")
    return int(bool(broken))


def write_page(table: str) -> None:
    """Replace the counts at the end of the page on reliability; its words stay."""
    words = PAGE.read_text(encoding="utf-8").partition(COUNTS)[0]
    where = f"Python {platform.python_version()} on {platform.system()}, {date.today()}"
    note = f"Written by `make harden`; {where}.\n"
    PAGE.write_text(f"{words}{COUNTS}\n{note}\n{table}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""All families of trials at full length: ``make harden``, or some of them by their names."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import platform
import re
import signal
import sys
import time
from datetime import date
from pathlib import Path

import hardening
from hardening.tally import as_table

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
    """Run the trials, print their tables, put them on the page, and say what was broken."""
    parser = argparse.ArgumentParser(prog="make harden", description=__doc__)
    parser.add_argument("modules", nargs="*", help=f"some of {', '.join(MODULES)}; default: all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    # A shell starts background jobs with interrupts ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    broken: list[str] = []
    for name in given.modules or MODULES:
        if name not in MODULES:
            parser.error(f"there is no {name}; there are {', '.join(MODULES)}")
        started = time.process_time()
        found = importlib.import_module(f"hardening.{name}").trials(long=True, seed=given.seed)
        seconds = time.process_time() - started
        count = sum(tally.trials for tally in found)
        print(f"{name}: {count} trials, {seconds:.0f} s", file=sys.stderr)
        table = as_table(found)
        print(table, flush=True)
        broken += [f"{tally.title}: {case}" for tally in found for case in tally.broken]
        write_page(name, table)
    for line in broken:
        print(f"broken: {line}")
    return int(bool(broken))


def write_page(name: str, table: str) -> None:
    """Put the counts of one module on the page of reliability; everything else there stays."""
    words, _, rest = PAGE.read_text(encoding="utf-8").partition(COUNTS)
    parts = re.split(r"^### (\w+)\n", rest, flags=re.M)
    known = {title: text.strip() for title, text in zip(parts[1::2], parts[2::2])}
    where = f"Python {platform.python_version()} on {platform.system()}, {date.today()}."
    known[name] = f"{where}\n\n{table}"
    sections = [f"### {title}\n\n{known[title]}\n" for title in sorted(known)]
    PAGE.write_text("\n".join([words + COUNTS, *sections]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

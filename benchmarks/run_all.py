"""Run every benchmark in a process of its own, one thread each, and write docs/benchmarks.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date

from common import HERE, OUT, machine

SCRIPTS = (
    "cold_start", "alignments", "path", "combined_kernels", "path_cv", "default_speed", "guides",
    "stability", "significance", "shapes", "default_ranking", "page", "million",
    "gmkl_many_kernels", "gmkl_many_rows", "gmkl", "gmkl_competitors", "gmkl_solvers", "nmmkl",
    "nmmkl_nonlinear", "l1kr", "l1kr_branches", "l1kr_xor", "filters", "l1_paths", "hkl",
    "l1kr_prune", "additive", "joint",
)  # fmt: skip
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PAGE = HERE.parent / "docs" / "benchmarks.md"
SCRIPT = "Script: `benchmarks/"
INTRODUCTION = """# Benchmarks

Measured by `make bench`, which writes this page. Ratios compare runs that took turns in one
process; times are CPU time, the smallest of several runs, one thread unless said otherwise, after
compilation. A bar is what the project promises to stay within. Alignments are exact to
`1e-8 * max(alignment, 1)` in all rows. `python benchmarks/run_all.py path_cv` measures one section
anew and keeps the others.
"""


def main() -> int:
    environment = os.environ | dict.fromkeys(THREADS, "1")
    wanted = sys.argv[1:] or SCRIPTS
    for name in wanted:
        subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=True, env=environment)
    write_page()
    print(f"wrote {PAGE.relative_to(HERE.parent)}")
    return 0


def section(name: str) -> list[str]:
    """What a script measured, or nothing where it has not run here."""
    file = OUT / f"{name}.json"
    if not file.exists():
        return []
    content = json.loads(file.read_text())
    lines = [f"## {content['title']}\n", "| what | measured | bar | met |", "|---|---|---|---|"]
    for row in content["rows"]:
        met = {True: "yes", False: "**no**", None: ""}[row["met"]]
        lines.append(f"| {row['what']} | {row['measured']} | {row['bar']} | {met} |")
    lines += ["", *(f"- {note}" for note in content["notes"]), ""]
    return [*lines, f"{SCRIPT}{name}.py`, run on {content['date']}.\n"]


def kept_sections() -> dict[str, list[str]]:
    """Sections that are on the page, by script."""
    text = PAGE.read_text() if PAGE.exists() else ""
    found = {}
    for part in text.split("\n## ")[1:]:
        _, mark, end = part.rpartition(SCRIPT)
        if mark:
            found[end.partition(".py`")[0]] = [f"## {part.rstrip()}\n"]
    return found


def write_page() -> None:
    """Write the page: sections measured here anew, the others as they are."""
    kept = kept_sections()
    lines = [INTRODUCTION]
    for name in SCRIPTS:
        lines += section(name) or kept.get(name, [])
    lines += ["## Machine and versions\n", "Of the last run.\n", "| | |", "|---|---|"]
    lines += [f"| {key} | {value} |" for key, value in machine().items()]
    lines.append(f"| date | {date.today().isoformat()} |\n")
    PAGE.write_text("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())

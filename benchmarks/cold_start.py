"""The first run of a new user: what compiling costs, and what it cost before.

    python benchmarks/cold_start.py [--repeats 5] [--against COMMIT]

Every repeat gives each tree an empty folder for compiled code and runs the command twice in it:
cold, then warm.  What compiling costs is the difference of the two, in CPU seconds.  The trees take
turns; leave their files alone meanwhile, as compiled code of a file that was edited is not used.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from against import checked_out
from common import HERE, Report
from run_all import THREADS

BEFORE = "764d655"  # the last commit whose first run compiled every variant of every loop
COMMANDS = {"path": [], "path --cv 5": ["--cv", "5", "--predictor", "weighted_kernel"]}
HALF = 0.5


def small_table(file: Path) -> None:
    """200 rows, 20 columns, two of them of use."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=200) > 0.8
    lines = [
        ",".join([*(f"{value:.6f}" for value in row), str(int(own))]) for row, own in zip(X, y)
    ]
    names = ",".join([*(f"x{j}" for j in range(20)), "y"])
    file.write_text("\n".join([names, *lines]) + "\n")


def cpu(tree: Path, table: Path, options: list[str], cache: Path) -> float:
    """CPU seconds of one run of the command, in a process of its own."""
    environment = os.environ | dict.fromkeys(THREADS, "1")
    environment |= {"PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "kernelpath", "path", str(table), "--target", "y", *options]
    with tempfile.TemporaryDirectory() as out:
        before = os.times()
        subprocess.run(
            [*command, "--out", f"{out}/run", "--quiet"], check=True, env=environment,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def cold_and_warm(tree: Path, table: Path, options: list[str]) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as cache:
        cold = cpu(tree, table, options, Path(cache))
        return cold, cpu(tree, table, options, Path(cache))


@contextmanager
def trees(commit: str) -> Iterator[dict[str, Path]]:
    """The tree that we are in, and that of the commit where the repository holds it."""
    known = ["git", "-C", str(HERE), "cat-file", "-e", f"{commit}^{{commit}}"]
    found = {"now": HERE.parent.resolve()}
    if subprocess.run(known, capture_output=True).returncode:
        yield found
        return
    with checked_out(commit) as before:
        yield {"before": before} | found


def measure(report: Report, commit: str, repeats: int) -> None:
    with trees(commit) as sides, tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "small.csv")
        small_table(table)
        for words, options in COMMANDS.items():
            runs: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
            for i in range(repeats):
                for side in sides if i % 2 else reversed(sides):
                    runs[side].append(cold_and_warm(sides[side], table, options))
            spent = {side: np.array(own) for side, own in runs.items()}
            what = f"`kernelpath {words}`, 200 x 20"
            cold, warm = np.median(spent["now"], axis=0)
            report.add(f"{what}: first run", f"{cold:.1f} s", "no bar", None)
            report.add(f"{what}: every later run", f"{warm:.1f} s", "no bar", None)
            if "before" in spent:
                now, before = (-np.diff(spent[side], axis=1)[:, 0] for side in ("now", "before"))
                low, ratio, high = np.quantile(now / before, (0.25, 0.5, 0.75))
                bar = f"<= {HALF}x"
                report.add(
                    f"{what}: compiling, against {commit}", f"{ratio:.2f}x", bar, ratio <= HALF
                )
                report.note(
                    f"{words}: compiling takes {np.median(now):.1f} s, before "
                    f"{np.median(before):.1f} s; quartiles of the ratio {low:.2f} and {high:.2f}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--against", default=BEFORE, metavar="COMMIT")
    given = parser.parse_args()
    report = Report("cold_start", "The first run: nothing is compiled yet")
    measure(report, given.against, given.repeats)
    report.note("CPU time of whole processes, medians; the trees take turns")
    report.save()


if __name__ == "__main__":
    main()

"""Tables for the command line, and two ways to run it: in this process, and as users do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from kernelpath.cli.main import app

PROGRAM = Path(sys.executable).parent / "kernelpath"
FILES = [
    "path.csv",
    "path.kpath",
    "path.png",
    "report.html",
    "run.json",
    "selected.csv",
    "summary.json",
]
SCORED = sorted([*FILES, "accuracy.png", "model.kpmodel", "scores.csv"])
FOLDS = ["--cv", "3", "--sizes", "1,2,4", "--predictor", "weighted_kernel"]
"""A cross-validation of about a second."""


def make_frame(n_rows=60, n_features=8):
    """Table whose target depends on g3 only, without linear correlation."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(n_features)])
    frame["outcome"] = np.where(np.abs(X[:, 3]) > 0.7, "sick", "well")
    return frame


def save_csv(folder, frame, name="table.csv"):
    frame.to_csv(folder / name, index=False)
    return folder / name


def run(*arguments):
    """Run in this process; an exception that is no exit would be a bug and is raised."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def run_program(*arguments, **options):
    """Run the installed program."""
    command = [str(PROGRAM), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=120, **options
    )


def done(*arguments):
    """Run, expecting success; return what was printed."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
    return result


def assert_refused(result, *words, code=1):
    """One line on stderr that says what is wrong, and no other output."""
    stderr = result.stderr
    exit_code = result.exit_code if hasattr(result, "exit_code") else result.returncode
    assert exit_code == code, stderr
    assert len(stderr.splitlines()) == 1, stderr
    assert stderr.startswith("kernelpath: ")
    assert all(c.isprintable() for c in stderr.removesuffix("\n"))
    assert "Traceback" not in stderr
    assert result.stdout == ""
    for word in words:
        assert word in stderr
    return stderr


def contents(folder):
    """Every file below a folder with its bytes, hidden ones too."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in _files(folder)}


def _files(folder):
    return [p for p in Path(folder).rglob("*") if p.is_file()]

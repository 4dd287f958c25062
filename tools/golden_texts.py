"""Jobs of the golden comparison that are about texts: commands, public names, refusals."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from golden_record import Absent, Recorder
from sklearn.model_selection import GroupKFold, KFold

import kernelpath as kp

Job = Callable[[Recorder], None]
LACKING = re.compile(r"No such (option|command)")

# -- commands -------------------------------------------------------------------------------------


def genes(n: int = 60, d: int = 6, seed: int = 11) -> pd.DataFrame:
    """A table as users bring it: the target depends on g3, without linear correlation."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    table = pd.DataFrame(X, columns=[f"g{j}" for j in range(d)])
    table["patient"] = np.arange(n) // 3
    table["town"] = np.array(["Ulm", "Bonn"])[rng.integers(0, 2, n)]
    table["outcome"] = np.where(np.abs(X[:, 3]) + 0.2 * X[:, 1] > 0.7, "sick", "well")
    table["dose"] = X[:, 2] ** 2 + X[:, 0]
    return table


def write_tables(folder: Path) -> None:
    """Write the tables that the commands read."""
    table = genes()
    plain = table.drop(columns=["town", "dose"])
    plain.to_csv(folder / "genes.csv", index=False)
    table.drop(columns=["outcome", "patient"]).to_csv(folder / "doses.csv", index=False)
    table.drop(columns="dose").to_parquet(folder / "towns.parquet")
    genes(9, seed=12).drop(columns=["outcome", "dose"]).to_csv(folder / "new.csv", index=False)
    X = plain.drop(columns=["patient", "outcome"])
    np.savez(folder / "genes.npz", X=X.to_numpy(), y=(plain["outcome"] == "sick").to_numpy())
    rows = [" ".join(f"{j}:{v!r}" for j, v in enumerate(row)) for row in X.round(1).to_numpy()]
    labels = (plain["outcome"] == "sick").astype(int)
    lines = "".join(f"{label} {row}\n" for label, row in zip(labels, rows))
    (folder / "genes.svm").write_text(lines, encoding="utf-8")
    config = 'target = "outcome"\ngroups = "patient"\ncv = 3\nsizes = [1, 2]\n'
    (folder / "run.toml").write_text(config + 'predictor = "weighted_kernel"\n', encoding="utf-8")


def command(out: Recorder, line: str, strict: bool = True) -> None:
    """Run a command as users do; write exit code, output and errors."""
    out.file = "terminal.txt"
    given = shlex.split(line)
    done = subprocess.run(
        [sys.executable, "-m", "kernelpath", *given],
        cwd=out.folder, capture_output=True, text=True, encoding="utf-8", timeout=600,
    )  # fmt: skip
    if strict and done.returncode == 2 and LACKING.search(done.stderr):
        raise Absent(f"{line}: {done.stderr}")
    out.line(f"$ kernelpath {line}")
    for text in (done.stdout, done.stderr):
        out.lines.extend(text.splitlines())
        out.line("--")
    out.line(f"exit code {done.returncode}")


def commands(*lines: str) -> Job:
    """Job of some commands in one folder."""

    def run(out: Recorder) -> None:
        write_tables(out.folder)
        for line in lines:
            command(out, line)

    return run


FOLDS = "--cv 3 --sizes 1,2,4 --predictor weighted_kernel"
COMMANDS: dict[str, Job] = {
    "path": commands(
        "path genes.csv --target outcome --drop patient",
        "path genes.csv --target outcome --drop patient --n-features 3 --out run",
        "report run --out page.html",
        "report run/path.kpath --out from_path.html",
        "path genes.csv --target outcome --drop patient --json",
    ),
    "path_formats": commands(
        "path towns.parquet --target outcome --drop patient --kernel auto --out towns",
        "path genes.npz --kernel laplace --quiet --out npz",
        "path genes.svm --report page.html",
        "path doses.csv -t dose --drop town --norm-strength noise --bandwidth median --out doses",
    ),
    "path_cv": commands(
        f"path genes.csv -t outcome --groups patient {FOLDS} --baselines f_test --out run",
        "predict run new.csv",
        "predict run new.csv --out predictions.csv",
        "report run/model.kpmodel --out model.html",
        "report run --overwrite",
    ),
    "path_cv_numbers": commands(
        "path doses.csv -t dose --drop town --cv 2 --sizes 1,3 --rule best --out run",
        "predict run new.csv --n-features 1",
    ),
    "path_cv_proba": commands(
        f"path towns.parquet -t outcome --drop patient --kernel auto {FOLDS} --proba --nested "
        "--seed 3 --json --out run",
        "predict run new.csv --proba",
    ),
    "config": commands(
        "path genes.csv --config run.toml --out run",
        "path genes.csv --config run.toml --rule best --json",
    ),
    "compare": commands(
        "compare genes.csv -t outcome --drop patient --methods lp-kta,f-test,forest,mutual-info "
        f"{FOLDS} --out comparison",
        "compare genes.csv -t outcome --drop patient --methods gmkl,nmmkl --cv 2 --sizes 1,2 "
        "--predictor weighted_kernel --json",
    ),
    "compare_l1kr": commands(
        "compare doses.csv -t dose --drop town --methods l1kr,f-test --cv 2 --sizes 1,2 "
        "--predictor weighted_kernel",
    ),
    "path_methods": commands(
        "path genes.csv -t outcome --drop patient --method gmkl --out gmkl",
        "path genes.csv -t outcome --drop patient --method f-test --json",
        f"path genes.csv -t outcome --drop patient --method fisher {FOLDS} --out fisher",
        "predict fisher new.csv",
        "path doses.csv -t dose --drop town --method lasso-lw --cv 2 --sizes 1,3 --json",
    ),
    "demo": commands(
        "demo --rows 100 --features 300 --out demo", "demo --only wide --rows 60 --features 80"
    ),
    "test": commands(
        "test genes.csv -t outcome --drop patient --out tested",
        "test towns.parquet -t outcome --drop patient --level 0.3 --adjust by --json",
        "test doses.csv -t dose --drop town --bandwidth median",
        "test genes.svm --permutations 50 --seed 1 --level 0.5 --json",
    ),
    "methods": commands("methods", "methods --json"),
    "verbose": commands(f"path genes.csv -t outcome --drop patient {FOLDS} --verbose"),
}


def command_help(out: Recorder) -> None:
    """The help of every command that the help of the program names."""
    command(out, "--help")
    names = re.findall(r"^│ ([a-z][a-z-]*) +[A-Z]", "\n".join(out.lines), flags=re.M)
    if not names:
        raise ValueError("the help names no commands")
    for name in names:
        command(out, f"{name} --help")
    command(out, "--version")


WRONG_COMMANDS = (
    "",
    "paths",
    "path",
    "path genes.csv",
    "path none.csv -t outcome",
    "path . -t outcome",
    "path empty.csv -t outcome",
    "path table.xlsx -t outcome",
    "path cut.parquet -t outcome",
    "path genes.csv -t outcom",
    "path genes.csv -t Outcome",
    "path genes.csv -t zzz",
    "path genes.csv -t outcome --drop g33",
    "path genes.csv -t outcome --drop outcome",
    "path genes.csv -t outcome --groups nobody --cv 3",
    "path genes.csv -t outcome --foo",
    "path genes.csv -t outcome --kernel cubic",
    "path genes.csv -t outcome --method lasso",
    "path genes.csv -t outcome --method lasso-lw",
    "path genes.csv -t outcome --method gmkl --bandwidth median",
    "path genes.csv -t outcome --method l1kr --cv 3 --predictor weighted_kernel",
    "path genes.csv -t outcome --n-features 0",
    "path genes.csv -t outcome --n-features 99",
    "path genes.csv -t outcome --norm-strength x",
    "path genes.csv -t outcome --elimination-tol 0.5",
    "path genes.csv -t outcome --sizes 1,2",
    "path genes.csv -t outcome --cv 1",
    "path genes.csv -t outcome --cv 3 --sizes 1,99",
    "path genes.csv -t outcome --cv 3 --scoring f1_makro",
    "path genes.csv -t outcome --cv 3 --rule budget",
    "path genes.csv -t outcome --cv 3 --budget 2.5",
    "path genes.csv -t outcome --must-include zzz",
    "path genes.csv -t outcome --costs zzz",
    "path genes.csv -t outcome --out genes.csv",
    "path genes.csv -t outcome --config bad.toml",
    "path gaps.csv -t outcome",
    "path towns.parquet -t outcome",
    "path one_class.csv -t outcome",
    "path one_row.csv -t outcome",
    "path twice.csv -t outcome",
    "compare genes.csv -t outcome --methods lp-kta,lasso",
    "compare genes.csv -t outcome --methods f-test --cv 99",
    "test genes.csv -t outcome --level 1",
    "test genes.csv -t outcome --adjust holm",
    "test genes.csv -t outcome --kernel delta --bandwidth std",
    "test genes.csv -t outcome --seed 2",
    "test one_row.csv -t outcome",
    "predict nothing new.csv",
    "predict damaged.kpmodel new.csv",
    "report nothing",
    "report damaged.kpath",
    "demo --rows 1",
)


def wrong_commands(out: Recorder) -> None:
    """Wrong usage and wrong files."""
    write_tables(out.folder)
    table = pd.read_csv(out.place("genes.csv"))
    out.place("empty.csv").touch()
    out.place("table.xlsx").write_bytes(b"PK")
    content = out.place("towns.parquet").read_bytes()
    out.place("cut.parquet").write_bytes(content[: len(content) // 2])
    for name in ("damaged.kpath", "damaged.kpmodel"):
        out.place(name).write_bytes(b"PK\x03\x04 no archive")
    out.text("bad.toml", "target = 'outcome'\nsize = 3\n")
    out.text("twice.csv", "a,a,outcome\n1,2,x\n2,3,y\n3,5,x\n")
    table.assign(g2=table["g2"].mask(table.index == 3)).to_csv(out.place("gaps.csv"), index=False)
    table.assign(outcome="sick").to_csv(out.place("one_class.csv"), index=False)
    table[:1].to_csv(out.place("one_row.csv"), index=False)
    for line in WRONG_COMMANDS:
        command(out, line, strict=False)


# -- the public face ------------------------------------------------------------------------------


def public_names(module: ModuleType) -> list[str]:
    """Names that a module offers."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = module.__name__
    found = [name for name in vars(module) if not name.startswith("_")]
    return sorted(
        name for name in found if getattr(getattr(module, name), "__module__", "").startswith(own)
    )


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public members of a class that the package defines, inherited ones too."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == "kernelpath":
            found |= {name: one for name, one in vars(base).items() if not name.startswith("_")}
    yield from sorted(found.items())


def face(out: Recorder) -> None:
    """Names, signatures and docstrings of everything public."""
    _describe_module(out, "kp", kp)
    out.line("names: " + ", ".join(dir(kp)))


def _describe_module(out: Recorder, key: str, module: ModuleType) -> None:
    out.line(f"== {key}: {', '.join(public_names(module))}")
    _describe(out, key, module)
    for name in public_names(module):
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            _describe_module(out, f"{key}.{name}", value)
        elif name != "__version__":
            _describe(out, f"{key}.{name}", value)
            if inspect.isclass(value):
                bases = [cls.__name__ for cls in value.__mro__ if _is_public_or_foreign(cls)]
                out.line(f"bases: {', '.join(bases)}")
                for member, what in members(value):
                    _describe(out, f"{key}.{name}.{member}", what)


def _is_public_or_foreign(cls: type) -> bool:
    ours = cls.__module__.partition(".")[0] == "kernelpath"
    return not ours or getattr(kp, cls.__name__, None) is cls


def _describe(out: Recorder, key: str, value: Any) -> None:
    value = getattr(value, "__func__", value)
    signature = ""
    if callable(value):
        try:
            signature = str(inspect.signature(value))
        except (ValueError, TypeError):
            signature = "(no signature)"
    out.line(f"== {key}{signature}")
    documented = callable(value) or isinstance(value, property | ModuleType)
    for line in (inspect.getdoc(value) or "(no docstring)").splitlines() if documented else ():
        out.line(f"    {line}")
    if not documented and isinstance(value, str | int | float | tuple):
        out.line(f"    = {value!r}")


def schemas(out: Recorder) -> None:
    """JSON Schemas that come with the package, wherever they are."""
    found = sorted(Path(kp.__file__).parent.rglob("*.schema.json"))
    for file in found:
        out.place(file.name).write_bytes(file.read_bytes())
    out.line(f"{len(found)} schemas")


# -- refusals -------------------------------------------------------------------------------------

Calls = dict[str, Callable[[], Any]]
N = 40
X = np.random.default_rng(21).normal(size=(N, 6))
Y = (np.abs(X[:, 1]) > 0.7).astype(int)
Z = X[:, 0] ** 2 + X[:, 2]


def _with(value: float) -> np.ndarray:
    table = X.copy()
    table[3, 2] = value
    return table


def _fits(make: Callable[..., Any], y: Any, options: tuple[dict, ...]) -> Calls:
    """A call for each setting, named by it."""
    return {f"{one}": lambda one=one: make(**one).fit(X, y) for one in options}


def _wrong_tables(make: Callable[[], Any], y: Any) -> Calls:
    """The same wrong tables for every estimator."""
    names = list("abcdef")
    return {
        "NaN": lambda: make().fit(_with(np.nan), y),
        "inf in a sparse matrix": lambda: make().fit(sp.csr_matrix(_with(np.inf)), y),
        "NaN in a frame": lambda: make().fit(pd.DataFrame(_with(np.nan), columns=names), y),
        "text": lambda: make().fit(pd.DataFrame(X, columns=names).assign(town="Ulm"), y),
        "masked": lambda: make().fit(np.ma.masked_greater(X, 1.0), y),
        "one dimension": lambda: make().fit(X[:, 0], y),
        "no columns": lambda: make().fit(X[:, :0], y),
        "one row": lambda: make().fit(X[:1], y[:1]),
        "fewer targets": lambda: make().fit(X, y[:-1]),
        "no target": lambda: make().fit(X, None),
        "NaN in the target": lambda: make().fit(X, np.where(np.arange(N) == 3, np.nan, y)),
        "constant target": lambda: make().fit(X, np.zeros(N)),
        "two targets": lambda: make().fit(X, np.column_stack([y, y])),
        "constant columns": lambda: make().fit(np.ones((N, 3)), y),
        "one constant column": lambda: make().fit(np.column_stack([X, np.ones(N)]), y),
        "columns of another table": lambda: make().fit(X, y).transform(X[:, :3]),
        "before fit": lambda: make().transform(X),
        "names of other columns": lambda: (
            make().fit(pd.DataFrame(X, columns=names), y).transform(pd.DataFrame(X))
        ),
    }


def _weights(make: Callable[[], Any], y: Any) -> Calls:
    given = {
        "short": np.ones(N - 1), "negative": -np.ones(N), "NaN": np.full(N, np.nan),
        "zero": np.zeros(N), "text": ["a"] * N, "one class": 1.0 * (np.asarray(y) == 0),
    }  # fmt: skip
    return {
        f"sample_weight {name}": lambda one=one: make().fit(X, y, sample_weight=one)
        for name, one in given.items()
    }


def _alignments() -> Calls:
    options: tuple[dict, ...] = (
        {"kernel": "rfb"}, {"kernel": 3}, {"bandwidth": "wide"}, {"gamma": -1.0},
        {"gamma": [1.0, 2.0]}, {"gamma": np.nan}, {"method": "quick"}, {"tol": 0.0},
        {"tol": "x"}, {"task": "ranking"}, {"n_jobs": 0}, {"bandwidth": "median", "gamma": 1.0},
        {"sample_weight": np.ones(3)},
    )  # fmt: skip
    calls = {f"{one}": lambda one=one: kp.alignments(X, Y, **one) for one in options}
    path = kp.LpKTASelector(step=0.5).fit(X, Y).path_
    return calls | {
        "NaN": lambda: kp.alignments(_with(np.nan), Y),
        "one row": lambda: kp.alignments(X[:1], Y[:1]),
        "no target": lambda: kp.alignments(X, None),
        "fewer targets": lambda: kp.alignments(X, Y[:3]),
        "combined, no path": lambda: kp.combined_kernels("path", X),
        "combined, columns": lambda: kp.combined_kernels(path, X[:, :2]),
        "combined, positions": lambda: kp.combined_kernels(path, X, positions=99),
        "combined, memory": lambda: kp.combined_kernels(path, X, memory_limit="2 apples"),
        "path, no size": lambda: path.at(n_features=99),
        "path, both": lambda: path.at(n_features=1, parameter=1.0),
        "unknown name": lambda: kp.alignment_s,
        "simulated": lambda: kp.datasets.make_ring(n_samples=1),
        "simulated, task": lambda: kp.datasets.make_wide(20, 20, 2, task="ranking"),
    }


def _lp_kta() -> Calls:
    options: tuple[dict, ...] = (
        {"bregman_strength": -1.0}, {"bregman_strength": "none"}, {"norm_strength": "loud"},
        {"bregman_strength": 0, "norm_strength": 0}, {"divergence": "kL"}, {"divergence": 3},
        {"reference": -1.0}, {"divergence": "kl", "reference": 0.0}, {"p_start": 0.5},
        {"p_stop": 0.9}, {"step": 0.0}, {"elimination_tol": 0.5}, {"solver": "exactly"},
        {"solver": "predictor_corrector", "predictor_order": 3}, {"predictor_order": 2},
        {"kernel": "gaussian"}, {"n_features_to_select": 0}, {"n_features_to_select": 99},
        {"n_features_to_select": 1.5}, {"n_features_to_select": "all"}, {"random_state": "a"},
    )  # fmt: skip
    make = kp.LpKTASelector
    return _fits(make, Y, options) | _wrong_tables(make, Y) | _weights(make, Y)


def _additive() -> Calls:
    options: tuple[dict, ...] = (
        {"kernel": "gaussian"}, {"n_components": 0}, {"ridge": -1.0}, {"n_strengths": 1},
        {"strength_stop": 1.0}, {"max_features": 0}, {"tol": 1.0}, {"bandwidth": "wide"},
        {"bandwidth": "multi", "gamma": 1.0}, {"kernel": "linear", "n_components": 3},
        {"n_features_to_select": 99}, {"n_features_to_select": "all"},
    )  # fmt: skip
    make = kp.AdditivePathSelector
    return _fits(make, Y, options) | _wrong_tables(make, Y) | _weights(make, Y)


def _gmkl() -> Calls:
    options: tuple[dict, ...] = (
        {"kernel": "precomputd"}, {"kernel": "precomputed"}, {"regularizer": "l1"},
        {"regularizer": kp.L1}, {"regularizer": kp.NoRegularizer()}, {"feasible": "simplex"},
        {"C": -1.0}, {"C": "a"}, {"base_kernel": "bandwidth"}, {"loss": "hinged"}, {"loss": 3},
        {"solver": "sgd"}, {"solver": "newton", "kernel": "product"}, {"tol": 1.5},
        {"max_iter": 0}, {"strengths": "a"}, {"strengths": 5, "exponents": 5},
        {"smallest_ratio": 0.1}, {"exponents": [2.0, 0.5]}, {"n_init": 2.5},
        {"standardize": False}, {"weights": "uniforn"}, {"weights": [1.0]}, {"nystrom": 0},
        {"nystrom": 5, "kernel": "product"}, {"n_features_to_select": 2},
        {"strengths": 5, "solver": "spg", "max_iter": 2, "tol": 1e-6},
    )  # fmt: skip
    make = kp.GMKLClassifier
    calls = _fits(make, Y, options) | _wrong_tables(make, Y) | _weights(make, Y)
    numbers = _fits(kp.GMKLRegressor, Z, ({"epsilon": -1.0}, {"loss": "hinge"}))
    return calls | numbers | {
        "preset": lambda: make.preset("lpmkl"),
        "words for numbers": lambda: kp.GMKLRegressor().fit(X, np.array(["a", "b"])[Y]),
        "numbers for classes": lambda: make().fit(X, Z),
        "strength": lambda: kp.L1(0.0),
        "exponent": lambda: kp.Lp(0.5),
        "ratio": lambda: kp.ElasticNet(1.0, 2.0),
        "groups": lambda: kp.MixedNorm([]),
        "cap": lambda: kp.CappedSimplex(-1.0),
        "box": lambda: kp.Box(1.0, 0.0),
    }  # fmt: skip


def _nmmkl() -> Calls:
    options: tuple[dict, ...] = (
        {"n_features_to_select": 0}, {"n_features_to_select": 7}, {"n_features_to_select": "some"},
        {"C": 0.0}, {"ridge": -1.0}, {"kernel": "cubic"}, {"rounding": "up"},
        {"groups": [1, 2]}, {"must_include": [9]}, {"must_include": ["z"]}, {"solver": "simplex"},
        {"solver": "primal", "ridge": 0.0}, {"tol": 0.0}, {"max_iter": 0}, {"task": "ranking"},
        {"n_features_to_select": 1, "must_include": [0, 1]}, {"epsilon": -1.0},
    )  # fmt: skip
    make = kp.NMMKLSelector
    return _fits(make, Y, options) | _wrong_tables(make, Y)


def _l1kr() -> Calls:
    options: tuple[dict, ...] = (
        {"kernel": "rbf"}, {"norm_budget": -1.0}, {"norm_budget": "a"}, {"norm_budget": []},
        {"ridge": 0.0}, {"ridge": 1.0, "norm_budget": 0.3}, {"degree": 0}, {"degree": 2},
        {"max_features": 0}, {"solver": "ODE"}, {"solver": "ode", "max_features": 2}, {"tol": 0.0},
    )  # fmt: skip
    calls = _fits(kp.L1KRRegressor, Z, options)
    tables = _wrong_tables(lambda: kp.L1KRClassifier(norm_budget=0.1, search_branches=False), Y)
    return calls | tables | {
        "three classes": lambda: kp.L1KRClassifier().fit(X, np.arange(N) % 3),
        "position": lambda: kp.L1KRRegressor(norm_budget=0.1).fit(X, Z).predict(X, position=9999),
    }  # fmt: skip


def _baselines() -> Calls:
    calls = _wrong_tables(kp.baselines.Fisher, Y)
    for name in kp.baselines.__all__:
        make = getattr(kp.baselines, name)
        calls[f"{name}, size"] = lambda make=make: make(0).fit(X, Y)
        calls[f"{name}, sizes"] = lambda make=make: make([1, 99]).fit(X, Y)
        calls[f"{name}, numbers"] = lambda make=make: make(2).fit(X, Z)
        calls[f"{name}, C"] = lambda make=make: make(2, C=-1.0).fit(X, Y)
    return calls


def _path_cv() -> Calls:
    words = np.array(["no", "yes"])[Y]
    options: tuple[dict, ...] = (
        {"cv": 1}, {"cv": 41}, {"cv": "five"}, {"cv": []}, {"cv": GroupKFold(2)},
        {"cv": [([0], [1])]}, {"cv": [(np.flatnonzero(Y == 1), np.flatnonzero(Y == 0))]},
        {"n_features": 7}, {"n_features": []}, {"n_features": 2.0}, {"n_features": "all"},
        {"predictor": "svm"}, {"predictor": "joint_rfb"}, {"predictor": 3},
        {"predictor": kp.JointRBFSVM}, {"selector": 3}, {"selector": KFold(2)},
        {"scoring": "f1_makro"}, {"scoring": "neg_log_loss"}, {"scoring": ["accuracy"]},
        {"rule": "bets"}, {"rule": "budget"}, {"rule": "tolerance", "tolerance": -1},
        {"budget": 0}, {"task": "ranking"}, {"class_weight": "heavy"}, {"class_weight": {"a": 1}},
        {"memory_limit": "2 apples"}, {"memory_limit": 10}, {"inner_cv": 1},
        {"baselines": ("forrest",)}, {"nested": "yes"}, {"random_state": "a"}, {"verbose": "x"},
        {"n_jobs": 0},
    )  # fmt: skip

    def make(selector: Any = None, **given: Any) -> Any:
        small = {"cv": 2, "n_features": [1, 2], "predictor": kp.JointRBFSVM(1.0, 1.0)}
        return kp.PathCV(selector, **(small | given))

    calls = _fits(make, Y, options) | _wrong_tables(make, Y) | _weights(make, Y)
    fitted = make().fit(X, words)
    return calls | {
        "joint, C": lambda: make(predictor=kp.JointRBFSVM(C=-10)).fit(X, Y),
        "weighted, C": lambda: make(predictor=kp.WeightedKernelSVM(C=("a",))).fit(X, Y),
        "groups": lambda: make().fit(X, Y, groups=np.arange(3)),
        "rare class": lambda: make(cv=5).fit(X, np.where(np.arange(N) < 3, 2, Y)),
        "predict, NaN": lambda: fitted.predict(_with(np.nan)),
        "predict, columns": lambda: fitted.predict(X[:, :3]),
        "predict, size": lambda: fitted.predict(X, n_features=7),
        "predict, type": lambda: fitted.predict(X, n_features=2.0),
        "no probabilities": lambda: fitted.predict_proba(X),
        "score of no size": lambda: fitted.scores_.at(n_features=5),
        "choose": lambda: fitted.choose("bets"),
        "scores": lambda: kp.PathScores([2, 1], [[0.5, 0.5]]),
        "nested": lambda: kp.NestedScore([0.5], [1, 2]),
    }


def _files() -> Calls:
    """Files that are no files of the package, in the folder of the job."""
    Path("text.kpath").write_text("hello", encoding="utf-8")
    Path("empty.kpath").touch()
    path = kp.LpKTASelector(step=0.5).fit(X, Y).path_
    path.save("good.kpath")
    content = bytearray(Path("good.kpath").read_bytes())
    Path("short.kpath").write_bytes(content[: len(content) // 2])
    content[len(content) // 2] ^= 1
    Path("changed.kpath").write_bytes(content)
    names = ("none.kpath", "text.kpath", "empty.kpath", "short.kpath", "changed.kpath", ".")
    calls: Calls = {f"load_path {name}": lambda name=name: kp.load_path(name) for name in names}
    return calls | {
        "load_model of a path": lambda: kp.load_model("good.kpath"),
        "too many columns": lambda: kp.load_path("good.kpath", max_columns=2),
        "save nowhere": lambda: path.save("nowhere/path.kpath"),
        "page of nothing": lambda: kp.render_html({}),
        "page of a summary cut": lambda: kp.render_html({"version": 1}),
        "figures of nothing": lambda: kp.report_figures({}),
        "own kernel": lambda: kp.alignments(X, Y, kernel=kp.FeatureKernel()),
    }


def refusals(calls: Callable[[], Calls]) -> Job:
    """Job that writes class and text of every error and warning."""

    def run(out: Recorder) -> None:
        os.chdir(out.folder)
        for name, call in calls().items():
            out.said(re.sub(r"\s+", " ", name), call)

    return run


TEXT_JOBS: dict[str, Job] = {
    **{f"command.{name}": one for name, one in COMMANDS.items()},
    "command.help": command_help,
    "command.wrong": wrong_commands,
    "face.names": face,
    "face.schemas": schemas,
    "refusals.alignments": refusals(_alignments),
    "refusals.lp_kta": refusals(_lp_kta),
    "refusals.additive": refusals(_additive),
    "refusals.gmkl": refusals(_gmkl),
    "refusals.nmmkl": refusals(_nmmkl),
    "refusals.l1kr": refusals(_l1kr),
    "refusals.baselines": refusals(_baselines),
    "refusals.path_cv": refusals(_path_cv),
    "refusals.files": refusals(_files),
}

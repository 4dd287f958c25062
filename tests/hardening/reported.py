"""Defects that outside testers reported, each by its own recipe, one by one.

A recipe answers "mended", or with what it saw.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

import kernelpath as kp
from hardening.tally import Tally
from kernelpath.errors import MissingValuesWarning

MENDED = "mended"
REFUSALS = (ValueError, TypeError)
ROWS = 60


def _data(n_columns: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, n_columns))
    return X, (X[:, 0] + 0.5 * rng.normal(size=ROWS) > 0).astype(int)


def _table(folder: Path) -> Path:
    X, y = _data()
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])
    frame["y"] = y
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def _program(*arguments: object, code: str = "", **options: object) -> subprocess.CompletedProcess:
    """Run the command line in a process of its own, after ``code``."""
    start = f"import sys, os, signal\n{code}\nfrom kernelpath.cli.start import main\nmain()"
    command = [sys.executable, "-c", start, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def _cv(table: Path, out: Path, **options: object) -> subprocess.CompletedProcess:
    return _program(
        "path", table, "-t", "y", "--cv", 3, "--sizes", "1,2", "--predictor", "weighted_kernel",
        "--out", out, **options,
    )  # fmt: skip


def foreign_folder(folder: Path) -> str:
    """--out on a folder with files of the user that have the names of ours."""
    table = _table(folder)
    for command in (("path",), ("path", "--cv", "3", "--sizes", "1"), ("compare", "--cv", "3")):
        user = folder / f"user{len(command)}{command[0]}"
        user.mkdir()
        names = ("run.json", "report.html", "selected.csv", "scores.csv", "accuracy.png",
                 "comparison.csv")  # fmt: skip
        for name in names:
            (user / name).write_text(f'{{"mine": "{name}"}}')
        before = {p.name: p.read_bytes() for p in user.iterdir()}
        for more in ((), ("--overwrite",)):
            done = _program(command[0], table, "-t", "y", *command[1:], "--out", user, *more)
            after = {p.name: p.read_bytes() for p in user.iterdir()}
            if before != after:
                changed = [n for n in before if after.get(n) != before[n]]
                return f"{command} {more}: exit {done.returncode}, changed {changed}"
            if done.returncode != 1 or len(done.stderr.splitlines()) != 1:
                return f"{command} {more}: exit {done.returncode}, {done.stderr[-300:]}"
    return MENDED


def loaded_model_refits(folder: Path) -> str:
    """A loaded model refits as the saved one."""
    X, y = _data()
    selectors = {
        "nmmkl": kp.NMMKLSelector([1, 2, 3]),
        "fisher": kp.baselines.Fisher(),
        "gmkl": kp.GMKLClassifier(strengths=8),
        "kernel": kp.LpKTASelector(kernel=kp.Polynomial(2)),
        "gamma": kp.LpKTASelector(gamma=np.linspace(0.1, 3, X.shape[1])),
        "reference": kp.LpKTASelector(reference=np.linspace(0, 1, X.shape[1])),
    }
    for name, selector in selectors.items():
        for weight in (None, {0: 1, 1: 9}):
            model = kp.PathCV(
                selector, cv=2, n_features=[1, 2, 3], class_weight=weight,
                predictor=kp.WeightedKernelSVM(C=1.0), random_state=3, references=False,
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y).save(folder / "m.kpmodel")
                again = kp.load_model(folder / "m.kpmodel").fit(X, y)
            if not np.array_equal(model.scores_.per_fold, again.scores_.per_fold):
                return f"{name}, {weight}: other scores"
            if again.path_.method != model.path_.method:
                return f"{name}: {again.path_.method}"
            if again.class_weight != weight:
                return f"{name}: class_weight {again.class_weight}"
    return MENDED


def foreign_selector_is_not_replaced(folder: Path) -> str:
    """A selector of the user's own: the loaded model predicts, and refuses to fit."""
    from sklearn.feature_selection import SelectKBest

    X, y = _data()
    model = kp.PathCV(
        SelectKBest(k="all"), cv=3, n_features=[1, 2], predictor="weighted_kernel", references=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y).save(folder / "m.kpmodel")
        again = kp.load_model(folder / "m.kpmodel")
    if not np.array_equal(again.predict(X), model.predict(X)):
        return "other predictions"
    try:
        again.fit(X, y)
    except REFUSALS as error:
        return MENDED if "selector" in str(error) else str(error)
    same = np.array_equal(model.scores_.per_fold, again.scores_.per_fold)
    return (
        MENDED if same and type(again.selector) is SelectKBest else "refitted with another method"
    )


def masked_and_not_a_time(folder: Path) -> str:
    """What lies under a mask and NaT are never data: they are missing, the same as NaN."""
    X, y = _data()
    M = np.ma.masked_array(X.copy(), mask=np.zeros(X.shape, bool))
    M.data[3, 2], M.mask[3, 2] = 1e6, True
    hole = M.filled(np.nan)
    seconds = (np.abs(X) * 1e6).astype(np.int64)
    dates, days = seconds.astype("M8[s]"), seconds / 86400
    dates[3, 2], days[3, 2] = np.datetime64("NaT"), np.nan
    rest = np.arange(ROWS) != 5
    masked_y = np.ma.masked_array(y, mask=~rest)
    estimators = [
        kp.LpKTASelector(), kp.GMKLClassifier(), kp.PathCV(cv=3, n_features=[1], references=False),
        kp.NMMKLSelector(2), kp.baselines.Fisher(),
        kp.L1KRClassifier(norm_budget=0.3, search_branches=False),
    ]  # fmt: skip
    for estimator in estimators:
        kind = type(estimator).__name__
        for name, given, plain in (
            ("X", (M, y), (hole, y)),
            ("NaT", (dates, y), (days, y)),
            ("y", (X, masked_y), (X[rest], y[rest])),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MissingValuesWarning)
                found = _learned(estimator.fit(*given), M)
                expected = _learned(estimator.fit(*plain), hole)
            if not all(map(np.array_equal, found, expected)):
                return f"{kind}: {name} is not read as missing"
    if not np.array_equal(kp.alignments(dates, y), kp.alignments(days, y)):
        return "alignments: NaT is not read as missing"
    try:
        kp.alignments(X, y, sample_weight=np.ma.masked_array(np.ones(ROWS), mask=y == 1))
    except REFUSALS:
        return MENDED
    return "alignments accepted masked weights"


def _learned(model: object, table: object) -> list[np.ndarray]:
    """What a model has learned, and says about a table."""
    names = ("weights_", "alignments_", "ranking_")
    found = [model.get_support(), *(getattr(model, name, None) for name in names)]
    found += [getattr(model, name)(table) for name in ("predict",) if hasattr(model, name)]
    return [np.asarray(part, dtype=float) for part in found if part is not None]


class Cauchy(kp.FeatureKernel):
    """1 / (1 + gamma (x - z)^2)."""

    name = "cauchy"

    def gamma(self, sigma):
        return 1.0 / np.square(np.asarray(sigma, dtype=float))

    def half_squared_distance(self, x, z, gamma):
        d = gamma * np.square(np.subtract(x, z))
        return d / (1.0 + d)


class Sub(kp.RBF):
    """An RBF kernel with a distance of its own."""

    def half_squared_distance(self, x, z, gamma):
        return -np.expm1(-gamma * np.abs(np.subtract(x, z)) ** 1.5)


def own_kernels(folder: Path) -> str:
    """Kernels of the user's own are computed by their own formula."""
    X, y = _data()
    Y = np.where(y == 1, 1.0, -1.0) - np.where(y == 1, 1.0, -1.0).mean()
    H = np.eye(ROWS) - 1.0 / ROWS
    for kernel in (Cauchy(), Sub()):
        grams = []
        for x in X.T:
            c = x - x.mean()
            K = 1 - kernel.half_squared_distance(c[:, None], c[None], float(kernel.gamma(c.std())))
            grams.append(H @ K @ H)
        wanted = np.array([Y @ K @ Y / np.trace(K) for K in grams])
        for method in ("auto", "exact"):
            got = kp.alignments(X, y, kernel=kernel, method=method)
            if np.abs(got - wanted).max() > 1e-6:
                return f"alignments of {type(kernel).__name__}: {got[:2]} for {wanted[:2]}"
            plain = kp.GMKLClassifier(base_kernel="rbf" if type(kernel) is Sub else "linear").fit(
                X, y
            )
        own = kp.GMKLClassifier(base_kernel=kernel).fit(X, y)
        if np.allclose(own.weights_, plain.weights_, rtol=1e-3, atol=1e-4):
            return f"GMKL took {type(kernel).__name__} for a built-in kernel"
    return MENDED


def no_cache(folder: Path) -> str:
    """No writable place for compiled code."""
    import shutil

    package = folder / "package" / "kernelpath"
    shutil.copytree(Path(kp.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for place in (package, *[p for p in package.rglob("*") if p.is_dir()]):
        (place / "__pycache__").write_text("a file")
    (folder / "home").write_text("a file")
    environment = {
        **os.environ, "HOME": str(folder / "home"), "NUMBA_CACHE_DIR": str(folder / "home" / "x"),
        "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(folder / "home" / "c"),
    }  # fmt: skip
    done = _program("path", _table(folder), "-t", "y", env=environment)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr[-300:]}"
    lines = [line for line in done.stderr.splitlines() if "NUMBA_CACHE_DIR" in line]
    return MENDED if len(lines) == 1 else f"said {len(lines)} times: {done.stderr[-400:]}"


KILL = """
replace = os.replace
count = 0
def killing(a, b, **k):
    global count
    if str(b).startswith({out!r}) and os.path.dirname(str(b)) == {out!r}:
        count += 1
        if count == {nth}:
            os.kill(os.getpid(), {signal})
    return replace(a, b, **k)
os.replace = killing
"""


def killed_in_the_final_move(folder: Path) -> str:
    """SIGKILL, SIGTERM and SIGINT between the renames of the final move."""
    table = _table(folder)
    other = folder / "other.csv"
    frame = pd.read_csv(table)
    frame["y"] = frame["y"].to_numpy()[::-1]
    frame.to_csv(other, index=False)
    for kind, codes in ((9, {-9}), (15, {143}), (2, {130})):
        for nth in (1, 2, 5):
            out = folder / f"run{kind}-{nth}"
            if _cv(table, out).returncode:
                return "the first run failed"
            old = _hashes(out)
            done = _cv(other, out, code=KILL.format(out=str(out), nth=nth, signal=kind))
            if done.returncode not in codes:
                return f"signal {kind} at move {nth}: exit {done.returncode}, {done.stderr[-200:]}"
            report = _program("report", out, "--out", folder / "page.html")
            now = _hashes(out)
            mixed = any(now.get(k) == v for k, v in old.items() if k.endswith("kpmodel")) != any(
                now.get(k) == v for k, v in old.items() if k.endswith("path.kpath")
            )
            if mixed and report.returncode == 0:
                return f"signal {kind} at move {nth}: half old, half new, and report says nothing"
            again = _cv(other, out)
            if again.returncode:
                return f"signal {kind} at move {nth}: the next run fails: {again.stderr[-200:]}"
            left = [p.name for p in out.iterdir() if p.name.startswith(".")]
            left += [p.name for p in folder.iterdir() if p.name.startswith(".")]
            if left:
                return f"signal {kind} at move {nth}: {left} stays"
    return MENDED


def _hashes(out: Path) -> dict[str, int]:
    return {p.name: hash(p.read_bytes()) for p in out.iterdir() if p.is_file()}


def terminated(folder: Path) -> str:
    """SIGTERM in the middle: exit code 143, nothing hidden stays."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 60)), columns=[f"g{j}" for j in range(60)])
    frame["y"] = (frame["g0"] > 0).astype(int)
    frame.to_csv(folder / "t.csv", index=False)
    command = [sys.executable, "-m", "kernelpath", "path", "t.csv", "-t", "y", "--cv", "5",
               "--out", "run"]  # fmt: skip
    started = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    while started.poll() is None and not list(folder.rglob("fold-*")):
        time.sleep(0.02)  # until something is worth to be kept
    started.send_signal(signal.SIGTERM)
    _, words = started.communicate(timeout=120)
    if started.returncode != 143:
        return f"exit {started.returncode}: {words[-200:]}"
    left = [str(p.relative_to(folder)) for p in folder.rglob(".kernelpath-*")]
    return MENDED if not left else f"{left} stays"


def fold_of_another(folder: Path) -> str:
    """A fold checkpoint under the name of another."""
    X, y = _data()

    def fit(memory):
        model = kp.PathCV(
            cv=3, n_features=[1, 2], predictor="weighted_kernel", memory=memory, references=False
        )
        return model.fit(X, y).scores_.per_fold

    wanted = fit(None)
    fit(folder / "m")
    files = sorted((folder / "m").glob("fold-*"))
    files[0].write_bytes(files[1].read_bytes())
    return MENDED if np.array_equal(fit(folder / "m"), wanted) else "taken for its own"


LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))"
PEAK = """
import atexit, resource
def peak():
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stderr.write("\\nPEAK %d\\n" % most)
atexit.register(peak)
"""


def small_files_of_much_memory(folder: Path) -> str:
    """Files of a few bytes that declare gigabytes."""
    files = {}
    (folder / "big.svm").write_text("1 2000000000:2\n0 1:3\n")
    files["svmlight"] = ("path", folder / "big.svm")
    np.savez(folder / "big.npz", data=np.ones(1), indices=np.zeros(1, np.int32),
             indptr=np.array([0, 1, 1, 1]), shape=np.array([3, 2**40]), format=b"csr",
             y=np.array([0, 1, 0]))  # fmt: skip
    files["npz"] = ("path", folder / "big.npz")
    with zipfile.ZipFile(folder / "huge.npz", "w", zipfile.ZIP_DEFLATED) as z:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3000000, 3000000), }"
        header += b" " * (64 - (len(header) + 11) % 64) + b"\n"
        z.writestr("X.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    files["npy of 72 TB"] = ("path", folder / "huge.npz")
    base = _program("path", _table(folder), "-t", "y", code=PEAK)
    usual = int(base.stderr.split("PEAK ")[1].split()[0])
    for name, (command, file) in files.items():
        done = _program(command, file, code=LIMITED + "\n" + PEAK)
        peak = int(done.stderr.split("PEAK ")[1].split()[0]) if "PEAK" in done.stderr else 10**9
        if done.returncode != 1 or peak > usual + 200_000:
            return f"{name}: exit {done.returncode}, {peak - usual} kB more: {done.stderr[-300:]}"
    return MENDED


def scales(folder: Path) -> str:
    """Very small and very large columns and targets."""
    X, y = _data()
    wanted = kp.alignments(X, y)
    for scale in (1e-300, 1e-200, 1e-145, 1e-100, 1e100, 1e140, 1e200, 1e300):
        Z = X.copy()
        Z[:, 0] *= scale
        try:
            got = kp.alignments(Z, y)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                path = kp.LpKTASelector(n_features_to_select=1).fit(Z, y).support_
        except REFUSALS as error:
            if "0" not in str(error):
                return f"x {scale}: {error}"
            continue
        if np.abs(got - wanted).max() > 1e-6 or not path[0]:
            return f"x {scale}: alignments differ by {np.abs(got - wanted).max()}"
    t = X[:, 0] + 0.1 * X[:, 1]
    base = kp.GMKLRegressor().fit(X, t).predict(X)
    for scale in (1e-200, 1e-160, 1e-100, 1e100, 1e160, 1e200):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                got = kp.GMKLRegressor().fit(X, t * scale).predict(X) / scale
                cv = kp.PathCV(cv=3, n_features=[1, 2], references=False).fit(X, t * scale)
            except REFUSALS as error:
                if "y" not in str(error):
                    return f"y * {scale}: {error}"
                continue
        if not np.abs(got - base).max() < 0.05 or not np.isfinite(cv.scores_.mean).all():
            return f"y * {scale}: {np.abs(got - base).max()}"
    return MENDED


class NaNDivergence:
    name, positive_reference = "nan", False

    def generator(self, x):
        return np.square(np.asarray(x, float))

    def derivative(self, x):
        return np.full_like(np.asarray(x, float), np.nan)

    def second_derivative(self, x):
        return np.full_like(np.asarray(x, float), 2.0)

    def third_derivative(self, x):
        return np.zeros_like(np.asarray(x, float))


class Concave(NaNDivergence):
    def generator(self, x):
        return -np.square(np.asarray(x, float))

    def derivative(self, x):
        return -2 * np.asarray(x, float)

    def second_derivative(self, x):
        return np.full_like(np.asarray(x, float), -2.0)


class WrongConjugate(kp.L1):
    def conjugate(self, gradient):
        return 0.0


def wrong_mathematics(folder: Path) -> str:
    """Divergences and regularizers that are none."""
    X, y = _data()
    for selector in (
        kp.LpKTASelector(divergence=NaNDivergence()), kp.LpKTASelector(divergence=Concave()),
        kp.GMKLClassifier(regularizer=WrongConjugate()),
    ):  # fmt: skip
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                selector.fit(X, y)
        except REFUSALS:
            continue
        return f"{selector} accepted"
    return MENDED


def weights_of_baselines(folder: Path) -> str:
    """A baseline that takes no weights is named."""
    X, y = _data()
    model = kp.PathCV(
        cv=3, n_features=[1], baselines=["f_test"], predictor="weighted_kernel", references=False
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=np.linspace(0.5, 2, ROWS))
    said = [str(w.message) for w in seen if "f_test" in str(w.message)]
    return MENDED if len(said) == 1 else f"said {len(said)} times"


def configs(folder: Path) -> str:
    """Config files that no parser likes."""
    table = _table(folder)
    texts = ["a = " + "[" * 50_000, "seed = " + "9" * 5000, "out = nan", "out = 0x10",
             "report = -1"]  # fmt: skip
    for text in texts:
        (folder / "c.toml").write_text(text)
        done = _program("path", table, "-t", "y", "--config", folder / "c.toml", cwd=folder)
        if done.returncode not in (1, 2) or "Traceback" in done.stderr:
            return f"{text[:20]}: exit {done.returncode}, {done.stderr[-200:]}"
    return MENDED


def few_rows(folder: Path) -> str:
    """PathCV on four rows says what to do."""
    X, _ = _data()
    for n in (4, 5):
        try:
            for cv in (2, 3, 4, 5):
                kp.PathCV(cv=cv).fit(X[:n], X[:n, 0])
        except REFUSALS as error:
            if "Found array" in str(error):
                return str(error)
    return MENDED


def bytes_labels(folder: Path) -> str:
    """Labels of type bytes."""
    X, y = _data()
    try:
        kp.PathCV(cv=3, n_features=[1]).fit(X, np.array([b"a", b"b"])[y])
    except kp.DataError:
        return MENDED
    except TypeError as error:
        return str(error)
    return MENDED


def settings_without_effect(folder: Path) -> str:
    """Settings that would change nothing."""
    X, y = _data()
    for make in (
        lambda: kp.LpKTASelector(bandwidth="median", gamma=0.5),
        lambda: kp.L1KRClassifier(degree=5),
        lambda: kp.GMKLClassifier(n_init=7),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                make().fit(X, y)
            except (*REFUSALS, UserWarning):
                continue
        return f"{make()} accepted"
    return MENDED


def weights_of_gmkl(folder: Path) -> str:
    """Rows of weight 0 have no effect, repeated rows equal weights."""
    X, y = _data()
    w = np.random.default_rng(1).integers(0, 3, ROWS)
    Z = X.copy()
    Z[w == 0] *= 1000
    for target, make in ((y, kp.GMKLClassifier), (X[:, 0] ** 2, kp.GMKLRegressor)):
        a = make(tol=1e-7).fit(Z, target, sample_weight=w)
        b = make(tol=1e-7).fit(np.repeat(X, w, axis=0), np.repeat(target, w))
        if np.abs(a.weights_ - b.weights_).max() > 1e-3 * np.abs(b.weights_).max():
            return f"{make.__name__}: {np.abs(a.weights_ - b.weights_).max()}"
    return MENDED


def nmmkl_by_default(folder: Path) -> str:
    """NMMKLSelector() on tables of any width."""
    for columns in (1, 2, 5, 9, 12, 40):
        X, y = _data(columns)
        kp.NMMKLSelector().fit(X, y)
    return MENDED


QUICK = (
    loaded_model_refits, foreign_selector_is_not_replaced, masked_and_not_a_time, own_kernels,
    fold_of_another, scales, wrong_mathematics, weights_of_baselines, few_rows, bytes_labels,
    settings_without_effect, weights_of_gmkl, nmmkl_by_default,
)  # fmt: skip
PROGRAMS = (
    foreign_folder, no_cache, killed_in_the_final_move, terminated, small_files_of_much_memory,
    configs,
)  # fmt: skip


def trials(long: bool, seed: int) -> list[Tally]:
    """Every recipe once; the short form leaves out those that start programs."""
    tally = Tally("defects once reported, by their recipes", (MENDED,))
    for recipe in (*QUICK, *PROGRAMS) if long else QUICK:
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome = recipe(Path(folder))
            except Exception as error:
                outcome = f"{type(error).__name__}: {error}"[:300]
        tally.add(outcome, recipe.__name__)
    return [tally]

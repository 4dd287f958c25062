"""The speed of this tree beside that of another commit, job by job, in one run.

    python benchmarks/against.py COMMIT [--jobs NAME ...] [--pairs 5]

Every measurement is a process of its own, which runs its job once to compile and then times it;
the trees take turns, and a ratio compares two processes that ran one after the other.  The table
shows medians over the pairs, and the quartiles of the ratios.  A job is slower when three of four
ratios are above 1.05, also after as many pairs again, as a busy machine can deceive.  Exit code:
1 if a job is, or fails in this tree.  The whole takes about a quarter of an hour on a machine at
rest; what is not committed is part of this tree, so leave its files alone meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, make_friedman1

from common import HERE, cpu_time, load_shared
from run_all import THREADS

SLOWER = 1.05
DRAWS = 4  # of rows, for GMKL
RUNS = 3  # timed in a process; the fastest counts
HEADER = "| job | base | head | head / base | quartiles | slower | work at base | work at head |"
Task = Callable[[], Any]


# -- jobs: what is outside the inner function is not timed -----------------------------------------


def alignments_dense() -> Task:
    import kernelpath as kp

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 500)), rng.integers(0, 2, 2000)
    return lambda: [kp.alignments(X, y) for _ in range(60)]


def alignments_sparse() -> Task:
    import kernelpath as kp

    X, y = counts()
    return lambda: [kp.alignments(X, y) for _ in range(60)]


def lp_kta() -> Task:
    import kernelpath as kp

    data = kp.datasets.make_wide(n_samples=1000, n_features=30_000, random_state=0)

    def job() -> str:
        path = kp.LpKTASelector().fit(data.X, data.y).path_
        return f"{path.weights.nnz:,} weights"

    return job


def combined_kernels() -> Task:
    import kernelpath as kp

    data = kp.datasets.make_wide(n_samples=600, n_features=500, random_state=0)
    path = kp.LpKTASelector().fit(data.X, data.y).path_
    return lambda: f"{sum(1 for _ in kp.combined_kernels(path, data.X))} kernels"


def gmkl_sonar() -> Task:
    return gmkl(*sonar(), 180, base_kernel="simple_mkl", C=10.0)


def gmkl_wdbc() -> Task:
    return gmkl(*load_breast_cancer(return_X_y=True), 500, C=10.0, tol=1e-4)


def gmkl_product() -> Task:
    return gmkl(*load_breast_cancer(return_X_y=True), 500, kernel="product", C=10.0, tol=1e-4)


def gmkl_many_rows() -> Task:
    return gmkl(*census(), 2000)


def gmkl_many_rows_product() -> Task:
    return gmkl(*interaction(), 1000, kernel="product", tol=1e-2)


def nmmkl() -> Task:
    import kernelpath as kp

    X, y = load_breast_cancer(return_X_y=True)

    def job() -> str:
        linear = kp.NMMKLSelector(range(1, 11)).fit(X, y)
        curved = kp.NMMKLSelector([2], kernel="rbf").fit(X, y)
        return f"{linear.n_svm_ + curved.n_svm_} machines"

    return job


def l1kr() -> Task:
    import kernelpath as kp

    X, y = make_friedman1(200, 10, noise=1.0, random_state=0)
    return lambda: f"{kp.L1KRRegressor(norm_budget=0.3).fit(X, y).n_iter_} derivatives"


def path_cv() -> Task:
    import kernelpath as kp

    X, y = load_breast_cancer(return_X_y=True)
    sizes = [1, 2, 5, 10]

    def job() -> str:
        model = kp.PathCV(kp.LpKTASelector(), cv=3, n_features=sizes).fit(X, y)
        return f"{model.plan_.total:,} models"

    return job


def page() -> Task:
    import kernelpath as kp

    data = kp.datasets.make_wide(n_samples=200, n_features=20_000, random_state=0)
    path = kp.LpKTASelector().fit(data.X, data.y).path_

    def job() -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "page.html")
            kp.save_html(path.summary(data.X, data.y), file)
            return f"{file.stat().st_size / 1000:.0f} kB"

    return job


JOBS: dict[str, Callable[[], Task]] = {
    job.__name__: job
    for job in (
        alignments_dense, alignments_sparse, lp_kta, combined_kernels, gmkl_sonar, gmkl_wdbc,
        gmkl_product, gmkl_many_rows, gmkl_many_rows_product, nmmkl, l1kr, path_cv, page,
    )
}  # fmt: skip


# -- tables: simulated ones of the same kind where a data set is absent ----------------------------


def gmkl(X: Any, y: np.ndarray, n_rows: int, **settings: Any) -> Task:
    """Fits to several draws of rows, so that a machine more or less decides nothing."""
    import kernelpath as kp

    rng = np.random.default_rng(1)
    draws = [rng.permutation(len(y))[:n_rows] for _ in range(DRAWS)]

    def job() -> str:
        machines = [kp.GMKLClassifier(**settings).fit(X[own], y[own]).n_svm_ for own in draws]
        return f"{sum(machines)} machines"

    return job


def sonar() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(208, 60)).cumsum(axis=1)  # neighbours are alike
    return load_shared("sonar") or (X, np.where(X[:, 20] * X[:, 40] > 0, 1, -1))


def counts() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sparse.random_array((1427, 4322), density=0.02, rng=rng, format="csr")
    X.data = np.ceil(5.0 * X.data)
    return load_shared("relathe") or (X, rng.integers(0, 2, 1427))


def census() -> tuple[Any, np.ndarray]:
    """Two-valued columns."""
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix((rng.random((8000, 123)) < 0.11).astype(float))
    signal = X @ rng.normal(size=123) + rng.normal(size=8000)
    return load_shared("a9a", "train") or (X, np.where(signal > 0, 1, -1))


def interaction() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 15))
    signal = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) * X[:, 3]
    return X, np.where(signal + 0.2 * rng.normal(size=4000) > 0, 1, -1)


# -- one measurement -------------------------------------------------------------------------------


def measure(name: str) -> dict[str, Any]:
    """CPU time of a job in this process, and what it says about its work."""
    import kernelpath

    task = JOBS[name]()
    work = task()
    words = work if isinstance(work, str) else ""
    spent = cpu_time(task, RUNS, warm_up=False)
    return {"seconds": spent, "work": words, "file": kernelpath.__file__}


def run(name: str, tree: Path) -> dict[str, Any]:
    """The same in a process of its own, with the package of that tree."""
    environment = os.environ | dict.fromkeys(THREADS, "1") | {"PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-W", "ignore", __file__, "--measure", name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found = json.loads(done.stdout.splitlines()[-1])
    if not Path(found["file"]).is_relative_to(tree):
        raise RuntimeError(f"{found['file']} was imported, which is not in {tree}")
    return found


# -- both trees ------------------------------------------------------------------------------------


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A work tree of the commit, for as long as it is needed."""
    git = ["git", "-C", str(HERE.parent), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "base"
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def seconds(found: list[dict[str, Any]]) -> np.ndarray:
    return np.array([one["seconds"] for one in found])


def quartiles(found: dict[str, list[dict[str, Any]]]) -> np.ndarray:
    """Of the ratios of the pairs."""
    return np.quantile(seconds(found["head"]) / seconds(found["base"]), (0.25, 0.5, 0.75))


def compare(name: str, trees: dict[str, Path], pairs: int) -> tuple[str, bool]:
    """A row of the table, and whether this tree does worse."""
    found: dict[str, list[dict[str, Any]]] = {side: [] for side in trees}
    for i in range(2 * pairs):
        if i == pairs and quartiles(found)[0] <= SLOWER:
            break
        for side in ("base", "head") if i % 2 == 0 else ("head", "base"):
            found[side].append(run(name, trees[side]))
            if "error" in found[side][-1]:
                return f"| {name} | fails at {side}: {found[side][-1]['error']} |", side == "head"
    low, middle, high = quartiles(found)
    slower = bool(low > SLOWER)
    base, head = (np.median(seconds(found[side])) for side in ("base", "head"))
    work = " | ".join(found[side][0]["work"] for side in ("base", "head"))
    return (
        f"| {name} | {base:.3f} s | {head:.3f} s | {middle:.3f} | "
        f"{low:.3f} to {high:.3f} | {'**yes**' if slower else 'no'} | {work} |"
    ), slower


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the speed of this tree with a commit.")
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS), metavar="NAME")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--measure", choices=JOBS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure)))
        return 0
    if given.commit is None or given.pairs < 1:
        parser.error("a commit is needed, and at least one pair")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the work tree is removed then, too
    worse = False
    with checked_out(given.commit) as tree:
        print(f"{HEADER}\n|{'---|' * (HEADER.count('|') - 1)}", flush=True)
        for name in given.jobs:
            row, slower = compare(name, {"base": tree, "head": HERE.parent.resolve()}, given.pairs)
            print(row, flush=True)
            worse |= slower
    return int(worse)


if __name__ == "__main__":
    sys.exit(main())

"""Alignments against reading the table once, and against pairwise kernels in NumPy."""

from __future__ import annotations

import numpy as np

import kernelpath as kp
from common import Report, alternating, cpu_time, load_shared

ELEMENTS = 20_000_000


def numpy_pairwise(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Vectorised NumPy: one Gram matrix per feature, centred, contracted."""
    labels = np.unique(y)
    target = np.where(y == labels[1], 1.0, -1.0)
    target -= target.mean()
    values = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        x = X[:, j]
        variance = x.var()
        if variance == 0:
            continue
        K = np.exp(np.square(x[:, None] - x[None, :]) / (-2.0 * variance))
        trace = len(x) - K.sum() / len(x)
        values[j] = target @ K @ target / trace
    return values


def against_sum(report: Report) -> None:
    rng = np.random.default_rng(0)
    for n, bar in ((200, 25), (2000, 12), (20000, 12)):
        features = rng.normal(size=(ELEMENTS // n, n))  # feature-major
        y = np.sort(rng.integers(0, 2, n))
        shuffled = rng.permutation(y)
        rows = np.ascontiguousarray(features.T)
        continuous = rng.normal(size=n)
        times = alternating(
            {
                "sum": features.sum,
                "sorted": lambda X=features.T, y=y: kp.alignments(X, y),
                "shuffled": lambda X=features.T, y=shuffled: kp.alignments(X, y),
                "rows": lambda X=rows, y=shuffled: kp.alignments(X, y),
                "regression": lambda X=features.T, y=continuous: kp.alignments(X, y),
            }
        )
        base = times.pop("sum")
        report.note(f"n = {n:,}: np.sum reads {base / ELEMENTS * 1e9:.2f} ns per value")
        words = {
            "sorted": f"n = {n:,}, feature-major, rows sorted by class",
            "shuffled": f"n = {n:,}, feature-major, rows in any order",
            "rows": f"n = {n:,}, C order, rows in any order, all included",
            "regression": f"n = {n:,}, feature-major, continuous target",
        }
        for name, time in times.items():
            limit = {"sorted": bar, "shuffled": bar, "rows": 30}.get(name)
            ratio = time / base
            text = f"<= {limit}x" if limit else "no bar"
            report.add(words[name], f"{ratio:.1f}x np.sum", text, limit and ratio <= limit)


def against_pairwise(report: Report) -> None:
    rng = np.random.default_rng(1)
    n, count = 2000, 5000
    X = np.asfortranarray(rng.normal(size=(n, count)))
    y = rng.integers(0, 2, n)
    slow = cpu_time(lambda: numpy_pairwise(X[:, :4], y), repeats=2, warm_up=False) / 4
    fast = cpu_time(lambda: kp.alignments(X, y), repeats=3) / count
    error = np.max(np.abs(numpy_pairwise(X[:, :4], y) - kp.alignments(X[:, :4], y)))
    report.add(
        "n = 2,000, normal columns, against NumPy pairwise",
        f"{slow / fast:,.0f}x faster", ">= 1000x", slow / fast >= 1000,
    )  # fmt: skip
    report.note(f"largest difference to NumPy pairwise on those columns: {error:.1e}")
    shared = load_shared("relathe")
    if shared is None:
        report.note("relathe is not here: the sparse comparison was left out")
        return
    sparse, y = shared
    some = np.linspace(0, sparse.shape[1] - 1, 20).astype(int)
    dense = sparse[:, some].toarray()
    slow = cpu_time(lambda: numpy_pairwise(dense, y), repeats=2, warm_up=False) / len(some)
    fast = cpu_time(lambda: kp.alignments(sparse, y)) / sparse.shape[1]
    report.add(
        "relathe (1,427 x 4,322 sparse counts), against dense NumPy pairwise (20 columns)",
        f"{slow / fast:,.0f}x faster", ">= 1000x", slow / fast >= 1000,
    )  # fmt: skip


def median_bandwidth(report: Report) -> None:
    rng = np.random.default_rng(2)
    X = np.asfortranarray(rng.normal(size=(2000, 1000)))
    y = rng.integers(0, 2, 2000)
    times = alternating(
        {name: lambda name=name: kp.alignments(X, y, bandwidth=name) for name in ("std", "median")},
        repeats=3,
    )
    ratio = times["median"] / times["std"]
    report.add("n = 2,000, bandwidth median against std", f"{ratio:.0f}x the time", "no bar", None)


def main() -> None:
    report = Report("alignments", "RBF alignments, one thread, tol 1e-8, bandwidth std")
    print(report.title)
    against_sum(report)
    against_pairwise(report)
    median_bandwidth(report)
    report.save()


if __name__ == "__main__":
    main()

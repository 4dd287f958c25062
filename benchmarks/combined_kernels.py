"""Kernel matrices of all points of a path against computing each point by itself."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import kernelpath as kp
from common import Report, alternating, load_shared
from kernelpath.path_kernels import KernelBank
from kernelpath.tables.table import as_column_table

SAMPLED = (0, 20, 40, 60, 80, 100)


def traced(X: Any, y: np.ndarray) -> tuple[KernelBank, sparse.csr_matrix]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # empty columns are reported
        path = kp.LpKTASelector(statistic="alignment", bandwidth="std").fit(X, y).path_
    return KernelBank.fit(as_column_table(X), y), sparse.csr_matrix(path.weights)


def consume(bank: KernelBank, weights: Any, new: Any = None, precision: str = "double") -> None:
    for _ in bank.combine(weights, new, precision=precision):
        pass


def numpy_point(bank: KernelBank, columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """One RBF kernel after the other, in blocks of rows that stay in cache."""
    n = bank.values.shape[0]
    part = bank.values[:, columns]
    part = np.ascontiguousarray((part.toarray() if sparse.issparse(part) else part).T)
    K = np.zeros((n, n))
    for start in range(0, n, 16):
        rows = K[start : start + 16]
        gap = np.empty_like(rows)
        for i, x, weight in zip(columns, part, weights):
            np.subtract(x[start : start + 16, None], x, out=gap)
            np.square(gap, out=gap)
            gap *= -bank.gamma[i]
            np.exp(gap, out=gap)
            gap *= weight / bank.traces[i]
            rows += gap
    K -= K.mean(axis=0)
    return K - K.mean(axis=1, keepdims=True)


def measure(
    bank: KernelBank, weights: sparse.csr_matrix, n_numpy: int, repeats: int, precision: str
) -> dict[str, float]:
    """Seconds for all points: together, one by one, and with numpy.

    The last two are extrapolated, by the number of active features, from the sampled points and
    from some features.
    """
    active = np.diff(weights.indptr)
    share = active.sum() / active[list(SAMPLED)].sum()
    columns = np.flatnonzero(~bank.constant)[:: max(1, len(bank.gamma) // n_numpy)][:n_numpy]
    tasks: dict[str, Callable[[], Any]] = {
        "together": lambda: consume(bank, weights, precision=precision),
        "one by one": lambda: [consume(bank, weights[[i]], precision=precision) for i in SAMPLED],
        "numpy": lambda: numpy_point(bank, columns, np.ones(len(columns))),
    }
    times = alternating(tasks, repeats=repeats)
    times["one by one"] *= share
    times["numpy"] *= active.sum() / len(columns)
    return times


def dense(report: Report) -> None:
    shared = load_shared("madelon")
    if shared is None:
        report.note("madelon is not here: its rows were left out")
        return
    X, y = shared
    rng = np.random.default_rng(0)
    keep = rng.permutation(len(X))[:1600]
    X = X[keep] + 1e-6 * rng.normal(size=(1600, X.shape[1]))  # no two values alike
    bank, weights = traced(X, y[keep])
    for precision in ("single", "double"):
        times = measure(bank, weights, n_numpy=12, repeats=4, precision=precision)
        for other, how in (
            ("one by one", "this package point by point, from 6 points"),
            ("numpy", "numpy, from 12 features"),
        ):
            ratio = times["together"] / times[other]
            report.add(
                f"101 kernels, 1,600 x 500 continuous, {precision}, against {how}",
                f"{ratio:.3f}x", "<= 0.10x", bool(ratio <= 0.10),
            )  # fmt: skip
        report.note(
            f"continuous, {precision} precision: {times['together']:.1f} s together, "
            f"{times['one by one']:.0f} s one by one, {times['numpy']:.0f} s numpy in double "
            "precision (extrapolated by the number of active features)"
        )


def counts(report: Report) -> None:
    shared = load_shared("relathe")
    if shared is None:
        report.note("relathe is not here: its rows were left out")
        return
    X, y = shared
    keep = np.random.default_rng(0).permutation(X.shape[0])[:1140]
    bank, weights = traced(X[keep], y[keep])
    times = measure(bank, weights, n_numpy=12, repeats=2, precision="double")
    ratio = times["together"] / times["numpy"]
    report.add(
        "101 kernels, relathe (1,140 x 4,322 sparse counts), against numpy, from 12 features",
        f"{ratio:.4f}x", "<= 0.01x", bool(ratio <= 0.01),
    )  # fmt: skip
    alone = times["together"] / times["one by one"]
    report.note(
        f"relathe: {times['together']:.2f} s together, {alone:.2f} of this package point by point "
        f"(from 6 points), {times['numpy']:.0f} s numpy: sparse points share little work"
    )


def dorothea(report: Report) -> None:
    shared = load_shared("dorothea", "train")
    if shared is None:
        report.note("dorothea is not here: its row was left out")
        return
    X, y = shared
    order = np.random.default_rng(0).permutation(X.shape[0])
    X, y = X[order], y[order]
    bank, weights = traced(X[:640], y[:640])
    columns, some = X.tocsc(), range(0, 101, 10)

    def scipy_points() -> None:
        for i in some:
            active = weights.indices[weights.indptr[i] : weights.indptr[i + 1]]
            row = weights.data[weights.indptr[i] : weights.indptr[i + 1]] / bank.traces[active]
            part = columns[:, active].tocsr()
            _ = (part.multiply(row).tocsr() @ part[:640].T).toarray()

    times = alternating(
        {"together": lambda: consume(bank, weights, X[640:]), "scipy": scipy_points}, repeats=7
    )
    active = np.diff(weights.indptr)
    scipy_all = times["scipy"] * active.sum() / active[list(some)].sum()
    report.add(
        "101 kernels, dorothea (640 + 160 x 100,000 sparse), training and new rows",
        f"{times['together']:.2f} s", "<= 0.6 s", bool(times["together"] <= 0.6),
    )  # fmt: skip
    report.note(
        f"dorothea with scipy, X.multiply(w) @ X.T on the active columns: {scipy_all:.1f} s, "
        f"{scipy_all / times['together']:.1f} times as long (from 11 of 101 points, not centred)"
    )


def main() -> None:
    report = Report("combined_kernels", "Combined kernels of all points of a path")
    print(report.title)
    start = time.perf_counter()
    dense(report)
    counts(report)
    dorothea(report)
    print(f"  {time.perf_counter() - start:.0f} s")
    report.save()


if __name__ == "__main__":
    main()

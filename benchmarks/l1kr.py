"""L1KR: the path beside the published differential equation, its cost, and how that grows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1
from threadpoolctl import threadpool_limits

from common import HERE, Report
from kernelpath.mkl.weighted_kernels.ard import ARDGaussian, ARDNormalizedPolynomial
from kernelpath.tracers.l1kr.curve import Homotopy
from kernelpath.tracers.l1kr.equations import RidgeSystem
from kernelpath.tracers.l1kr.ode import ODECurve
from kernelpath.tracers.l1kr.trace import trace_l1kr

KERNELS = {"Gaussian": ARDGaussian, "polynomial": ARDNormalizedPolynomial}
DRAWS = 5
REPEATS = 3
ROWS = (100, 200, 400, 800, 1600)
COLUMNS = (10, 20, 40, 80)
PICTURE = HERE.parent / "docs" / "images" / "l1kr-growth.png"
Event = tuple[tuple[str, int], float]


def friedman(n: int, d: int, noisy: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first function of five columns among more, standardised; noise of SNR 10."""
    X, y = make_friedman1(n, d, noise=0.0, random_state=seed)
    if noisy:
        noise = np.random.default_rng(seed).normal(size=n)
        y = y + np.sqrt(y.var() / 10) * noise
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def system_of(n: int, d: int, budget: float, noisy: bool, seed: int, kernel: str) -> RidgeSystem:
    X, y = friedman(n, d, noisy, seed)
    return RidgeSystem(KERNELS[kernel](X), y, budget)


# -- the same curve --------------------------------------------------------------------------------


def events_of(curve: Any, system: RidgeSystem) -> list[Event]:
    """Who enters and leaves, and at which sum of weights."""
    return [
        (place.event, place.state.radius)
        for place in curve.trace(*system.start())
        if place.event is not None and place.event[0] != "turn"
    ]


def compared(case: tuple[Any, ...], least_ridge: float) -> tuple[bool, float, int]:
    """Whether the events are the same, the largest difference in D, and how many they are."""
    fast, slow = system_of(*case), system_of(*case)
    ours = events_of(Homotopy(fast, least_ridge=least_ridge), fast)
    theirs = events_of(ODECurve(slow, least_ridge=least_ridge), slow)
    same = [event for event, _ in ours] == [event for event, _ in theirs]
    if not same:
        return False, np.inf, len(ours)
    off = max(abs(one[1] - other[1]) / other[1] for one, other in zip(ours, theirs))
    return True, off, len(ours)


def same_events(report: Report) -> None:
    for kernel in KERNELS:
        found = [compared((200, 10, 1.0, False, seed, kernel), 2e-5) for seed in range(DRAWS)]
        report.add(
            f"200 x 10 without noise, C = 1, {kernel}: draws with the same events, in the same "
            "order, as the differential equation, and their largest relative difference in D",
            f"{sum(same for same, _, _ in found)} of {DRAWS}, "
            f"{max(off for _, off, _ in found):.0e} ({sum(n for _, _, n in found)} events)",
            f"{DRAWS} of {DRAWS}, <= 1e-6",
            all(same and off <= 1e-6 for same, off, _ in found),
        )  # fmt: skip
    same, off, n = compared((400, 50, 0.3, True, 0, "Gaussian"), 4e-5)
    report.add(
        "400 x 50, SNR 10, C = 0.3, Gaussian: the same", f"{'yes' if same else 'no'}, {off:.0e} "
        f"({n} events)", "yes, <= 1e-6", same and off <= 1e-6,
    )  # fmt: skip


# -- cost ------------------------------------------------------------------------------------------


def timed_path(*case: Any) -> tuple[Any, RidgeSystem, float]:
    """A path, its system, and the smallest CPU time."""
    best = np.inf
    for _ in range(REPEATS):
        system = system_of(*case)
        start = time.process_time()
        trace = trace_l1kr(system)
        best = min(best, time.process_time() - start)
    return trace, system, best


def timed_equation(case: tuple[Any, ...], rtol: float) -> tuple[int, float]:
    """Derivatives and CPU time of the differential equation."""
    system = system_of(*case)
    start = time.process_time()
    trace = trace_l1kr(system, solver="ode", rtol=rtol, least_ridge=2e-5)
    return trace.n_jacobians, time.process_time() - start


def cost(report: Report) -> None:
    case = (200, 10, 1.0, False, 0, "Gaussian")
    trace, system, ours = timed_path(*case)
    report.add(
        "200 x 10 without noise, C = 1: derivatives of the equations along the path",
        f"{system.n_jacobians} ({system.n_looks} machines, {len(trace.points)} points, "
        f"{ours:.2f} s)", "<= 1000", system.n_jacobians <= 1000,
    )  # fmt: skip
    for rtol, bar in ((1e-5, 3.0), (1e-8, 8.0)):
        derivatives, theirs = timed_equation(case, rtol)
        report.add(
            f"the same: CPU time of the differential equation at rtol {rtol:.0e} to ours",
            f"{theirs / ours:.1f} ({derivatives:,} derivatives, {theirs:.1f} s)", f">= {bar:g}",
            theirs >= bar * ours,
        )  # fmt: skip
    trace, system, ours = timed_path(400, 50, 0.3, True, 0, "Gaussian")
    events = sum(point.event is not None for point in trace.points)
    report.add(
        "400 x 50, SNR 10, C = 0.3: CPU time of the path", f"{ours:.1f} s ({system.n_jacobians} "
        f"derivatives, {system.n_looks} machines, {events} events)", "<= 4 s", ours <= 4.0,
    )  # fmt: skip


def threads(report: Report) -> None:
    """Time on the clock of a path with one thread for matrix products, as fits have it, and two."""
    spent = []
    for number in (1, 2):
        system = system_of(400, 10, 0.3, True, 0, "Gaussian")
        with threadpool_limits(number, user_api="blas"):
            start = time.perf_counter()
            trace_l1kr(system)
            spent.append(time.perf_counter() - start)
    report.note(
        f"400 x 10, wall time with one thread for matrix products, which is what fits of up to "
        f"2,500 rows take: {spent[0]:.1f} s; with two: {spent[1]:.1f} s."
    )


def growth(report: Report) -> None:
    """CPU time by rows, and by columns, for about as much noise."""
    by_rows = [timed_once(n, 10) for n in ROWS]
    by_columns = [timed_once(300, d) for d in COLUMNS]
    power = np.polyfit(np.log(ROWS[1:]), np.log([t for t, _, _ in by_rows[1:]]), 1)[0]
    report.note(
        "CPU time by rows (10 columns, SNR 10, C = 0.3): "
        + ", ".join(f"{n}: {t:.2f} s" for n, (t, _, _) in zip(ROWS, by_rows))
        + f"; from {ROWS[1]} rows on as n^{power:.1f}."
    )
    report.note(
        "CPU time by columns (300 rows, SNR 10, C = 0.3): "
        + ", ".join(f"{d}: {t:.2f} s" for d, (t, _, _) in zip(COLUMNS, by_columns))
        + ". [Picture](images/l1kr-growth.png)."
    )
    draw(by_rows, by_columns)


def timed_once(n: int, d: int) -> tuple[float, int, int]:
    """CPU time of a path, its machines, and the largest number of features with a weight."""
    system = system_of(n, d, 0.3, True, 0, "Gaussian")
    start = time.process_time()
    trace = trace_l1kr(system)
    spent = time.process_time() - start
    return spent, system.n_looks, max(int((point.weights > 0).sum()) for point in trace.points)


def draw(by_rows: list[tuple[float, int, int]], by_columns: list[tuple[float, int, int]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    for ax, x, points, label in (
        (axes[0], ROWS, by_rows, "rows (10 columns)"),
        (axes[1], [active for _, _, active in by_columns], by_columns,
         "most features with a weight (300 rows)"),
    ):  # fmt: skip
        ax.plot(x, [t for t, _, _ in points], "o-", color="#0072B2", linewidth=2)
        ax.set(xscale="log", yscale="log", xlabel=label)
        ax.set_xticks(x, [str(one) for one in x])
        ax.minorticks_off()
        ax.grid(axis="y", color="#e5e5e5")
        ax.spines[["top", "right"]].set_visible(False)
        for one, (t, _, _) in zip(x, points):
            ax.annotate(
                f"{t:.2g}", (one, t), xytext=(0, 7), textcoords="offset points", ha="center"
            )
    axes[0].set_ylabel("CPU seconds")
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[0].set_title("A path of L1KR, SNR 10, C = 0.3", loc="left")
    fig.savefig(PICTURE, dpi=110)


def main() -> None:
    report = Report("l1kr", "L1KR: the path through every turn")
    trace_l1kr(system_of(60, 6, 0.3, True, 0, "Gaussian"))  # compiles
    same_events(report)
    cost(report)
    threads(report)
    growth(report)
    report.note(
        "Friedman's first function of five columns; C in units of the squared norm of the target. "
        "Derivatives, machines: matrices of second derivatives, and Cholesky decompositions."
    )
    report.save()


if __name__ == "__main__":
    main()

"""P-values of alignments: whether they hold, what they cost, and what they find.

    python benchmarks/significance.py [--part calibration|cost|discoveries|tails|exact ...]

Calibration: null columns of ten shapes for each number of rows and target, size of the test over
nominal.  Cost: beside plain alignments at one width, by turns in one process and one thread.
Discoveries: linear and quadratic effects among correlated noise, Benjamini and Hochberg at 0.1.
Tails: the mixture of chi-squares (Liu's approximation, as in SKAT) and a gamma law, on the same
columns and permutations.  Exact: against dense matrices.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy

import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402
from sklearn.feature_selection import SelectFdr, f_classif  # noqa: E402

import kernelpath as kp  # noqa: E402
from common import Report, alternating, load_shared  # noqa: E402
from kernelpath.errors import ConstantColumnWarning  # noqa: E402

SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "t with 2": lambda rng, shape: rng.standard_t(2, shape),
    "Poisson(3)": lambda rng, shape: rng.poisson(3.0, shape).astype(float),
    "five values": lambda rng, shape: rng.integers(0, 5, shape).astype(float),
    "70 % zeros": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.3),
    "two values": lambda rng, shape: (rng.random(shape) < 0.3).astype(float),
    "1 in 100": lambda rng, shape: (rng.random(shape) < 0.01).astype(float),
}
TWO_VALUED = ("two values", "1 in 100")
LEVELS = (0.01, 0.001, 1e-4)
BLOCK = 5_000  # columns at a time
LOW, HIGH = 0.7, 1.5


def targets(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    few = max(2, n // 10)
    return {
        "two equal classes": rng.permutation(np.arange(n) % 2),
        "a class of 10 %": rng.permutation((np.arange(n) < few).astype(int)),
        "numbers": rng.normal(size=n),
    }


# -- calibration -----------------------------------------------------------------------------------


def sizes(shape: str, y: np.ndarray, n_columns: int, bandwidth: str) -> np.ndarray:
    """Share of null columns below each level, over the level."""
    rng = np.random.default_rng([len(y), sorted(SHAPES).index(shape)])
    log_p = []
    for start in range(0, n_columns, BLOCK):
        width = min(BLOCK, n_columns - start)
        X = np.asfortranarray(SHAPES[shape](rng, (len(y), width)))
        log_p.append(kp.alignment_test(X, y, bandwidth=bandwidth, n_jobs=1).log_p)
    values = np.concatenate(log_p)
    return np.array([np.mean(values <= np.log(level)) / level for level in LEVELS])


def calibration(report: Report) -> None:
    other = [shape for shape in SHAPES if shape not in TWO_VALUED]
    worst_two, combined = 0.0, []
    for n in (40, 100, 400, 2000):
        n_columns = 40_000 if n < 2000 else 20_000
        for name, y in targets(n).items():
            for bandwidth in ("std", "multi"):
                found = {shape: sizes(shape, y, n_columns, bandwidth) for shape in SHAPES}
                own = np.array([found[shape] for shape in other])
                mean, low, high = own.mean(axis=0), own.min(axis=0), own.max(axis=0)
                label = "one width" if bandwidth == "std" else "three widths"
                shown = ", ".join(f"{m:.2f}" for m in mean)
                bar = (mean[:2] >= LOW) & (mean[:2] <= HIGH)
                if bandwidth == "multi":
                    combined.append(mean[1])
                    bar = bar[1:]
                report.add(
                    f"n = {n:,}, {name}, {label}: size / nominal at 0.01, 0.001, 0.0001 (single "
                    f"shapes at 0.001: {low[1]:.2f} to {high[1]:.2f})",
                    shown, f"{LOW} to {HIGH}", bool(bar.all()),
                )  # fmt: skip
                if name != "numbers":
                    top = max(float(found[shape].max()) for shape in TWO_VALUED)
                    worst_two = max(worst_two, top)
    report.add(
        "three widths at 0.001, mean over all of these", f"{np.mean(combined):.2f}",
        f"{LOW} to {HIGH}", LOW <= float(np.mean(combined)) <= HIGH,
    )  # fmt: skip
    report.add(
        "columns of two values and two classes: largest size / nominal", f"{worst_two:.2f}",
        "<= 1.05", worst_two <= 1.05,
    )  # fmt: skip
    report.note(
        "Null columns per row of the table: 40,000 of each shape (20,000 at n = 2,000); the eight "
        "shapes of more than two values are averaged, so that the standard error is 0.06 (0.08) at "
        "0.001 and 0.18 (0.25) at 0.0001."
    )


# -- cost ------------------------------------------------------------------------------------------


def ratio(X: Any, y: np.ndarray, **base: Any) -> tuple[float, dict[str, float]]:
    times = alternating(
        {
            "test": lambda: kp.alignment_test(X, y, n_jobs=1),
            "alignments": lambda: kp.alignments(X, base.get("y", y), kernel="rbf", n_jobs=1),
        },
        5,
    )
    return times["test"] / times["alignments"], times


def cost(report: Report) -> None:
    rng = np.random.default_rng(0)
    for n, d, bar in ((200, 5000, 8.0), (2000, 1000, 4.0), (20_000, 200, 1.6)):
        X, y = np.asfortranarray(rng.normal(size=(n, d))), rng.integers(0, 2, n)
        found, times = ratio(X, y)
        per = 1e9 * times["test"] / n / d
        report.add(
            f"{n:,} x {d:,}: three widths with p-values, {per:.1f} ns a value, over alignments at "
            "one width", f"{found:.2f}x", f"<= {bar}x", found <= bar,
        )  # fmt: skip
    X, y = np.asfortranarray(rng.standard_t(3, (20_000, 200))), rng.integers(0, 2, 20_000)
    found, _ = ratio(X, y)
    report.add(
        "20,000 x 200 with heavy tails (t with 3): the same", f"{found:.2f}x", "< 1x", found < 1
    )
    X = np.asfortranarray(rng.normal(size=(2000, 1000)))
    two, numbers = rng.integers(0, 2, 2000), rng.normal(size=2000)
    times = alternating(
        {
            "numbers": lambda: kp.alignment_test(X, numbers, n_jobs=1),
            "classes": lambda: kp.alignment_test(X, two, n_jobs=1),
        },
        5,
    )
    found = times["numbers"] / times["classes"]
    report.add(
        "2,000 x 1,000: a target of numbers over two classes", f"{found:.2f}x", "<= 1.5x",
        found <= 1.5,
    )  # fmt: skip
    dorothea = load_shared("dorothea")
    if dorothea is None:
        report.note("Dorothea is not here: left out")
        return
    times = alternating({"test": lambda: kp.alignment_test(*dorothea, n_jobs=1)}, 3)
    report.add(
        "Dorothea, 100,000 sparse columns, with p-values", f"{times['test']:.2f} s", "< 1 s",
        times["test"] < 1,
    )  # fmt: skip


# -- discoveries -----------------------------------------------------------------------------------


def draw(seed: int, n: int = 300, d: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Columns in blocks of four with correlation 1/2; 0 to 2 act linearly, 3 to 5 by their squares.

    The six are of six blocks of their own, so that no other column has a part in the target.
    """
    rng = np.random.default_rng(seed)
    shared = np.repeat(rng.normal(size=(n, d // 4)), 4, axis=1)
    X = (shared + rng.normal(size=(n, d))) / np.sqrt(2)
    X[:, :6] = rng.normal(size=(n, 6))
    signal = 0.8 * X[:, :3].sum(axis=1) + 0.6 * (X[:, 3:6] ** 2 - 1).sum(axis=1)
    signal += rng.normal(size=n)
    return X, (signal > np.median(signal)).astype(int)


def discoveries(report: Report, draws: int = 100) -> None:
    ways = {
        "alignment_test, three widths": lambda X, y: kp.alignment_test(X, y).discoveries(0.1),
        "alignment_test, one width": lambda X, y: kp.alignment_test(
            X, y, bandwidth="std"
        ).discoveries(0.1),
        "SelectFdr(f_classif)": lambda X, y: (
            SelectFdr(f_classif, alpha=0.1).fit(X, y).get_support(indices=True)
        ),
    }
    for name, way in ways.items():
        false, linear, square = [], [], []
        for seed in range(draws):
            found = np.asarray(way(*draw(seed)))
            false.append(np.mean(found >= 6) if len(found) else 0.0)
            linear.append(np.isin([0, 1, 2], found).mean())
            square.append(np.isin([3, 4, 5], found).mean())
        rate, error = np.mean(false), np.std(false, ddof=1) / np.sqrt(draws)
        ours = name.startswith("alignment")
        report.add(
            f"{name}, {draws} draws: false discovery proportion {rate:.3f} ± {error:.3f}; linear "
            f"effects found {np.mean(linear):.2f}, quadratic", f"{np.mean(square):.2f}",
            "rate <= 0.12, quadratic >= 0.6" if ours else "no bar",
            bool(rate <= 0.12 and np.mean(square) >= 0.6) if ours else None,
        )  # fmt: skip


# -- other approximations --------------------------------------------------------------------------


def tails(report: Report, n: int = 100, n_permutations: int = 100_000) -> None:
    """Size over nominal under permutations of the target, for single columns at one width."""
    rng = np.random.default_rng(5)
    y = rng.permutation((np.arange(n) < n // 5).astype(int))
    v = y - y.mean()
    found: dict[str, list[np.ndarray]] = {"Pearson III": [], "chi-squares (Liu)": [], "gamma": []}
    H = np.eye(n) - 1 / n
    columns = [shape for shape in SHAPES if shape not in TWO_VALUED]
    for shape in columns:
        x = SHAPES[shape](rng, (n, 1))[:, 0]
        A = H @ np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / x.var()) @ H
        values, vectors = np.linalg.eigh(A)
        keep = values > 1e-10 * values[-1]
        root = vectors[:, keep] * np.sqrt(values[keep])
        q = np.concatenate([
            np.square(np.stack([rng.permutation(v) for _ in range(5000)]) @ root).sum(axis=1)
            for _ in range(n_permutations // 5000)
        ])  # fmt: skip
        mean, variance, skewness = exact_moments(A, np.outer(v, v))
        z = (q - mean) / np.sqrt(variance)
        found["Pearson III"].append(over(stats.pearson3.sf(z, skewness)))
        shape_, scale = mean**2 / variance, variance / mean
        found["gamma"].append(over(stats.gamma.sf(q, shape_, scale=scale)))
        found["chi-squares (Liu)"].append(over(liu(q / (v @ v / (n - 1)), values[keep])))
    for name, rows in found.items():
        ratios = np.array(rows)
        shown = ", ".join(f"{a:.2f} to {b:.2f}" for a, b in zip(ratios.min(0), ratios.max(0)))
        report.add(
            f"n = {n}, a class of 20 %, {len(columns)} shapes, {n_permutations:,} permutations "
            f"each, {name}: size / nominal at 0.01, 0.001, 0.0001", shown, "", None,
        )  # fmt: skip
    distance = {name: float(np.abs(np.log(np.array(rows)[:, 2] + 0.05)).mean())
                for name, rows in found.items()}  # fmt: skip
    closest = min(distance, key=distance.get)  # type: ignore[arg-type]
    report.add(
        "nearest to nominal at 0.0001 (mean distance of the logarithms)", closest,
        "Pearson III", closest == "Pearson III",
    )  # fmt: skip


def over(p: np.ndarray) -> np.ndarray:
    return np.array([np.mean(p <= level) / level for level in LEVELS])


def exact_moments(A: np.ndarray, B: np.ndarray) -> tuple[float, float, float]:
    from kernelpath.alignment.null_moments import dense_sums, permutation_moments

    found = permutation_moments(len(A), dense_sums(A), dense_sums(B))
    return float(found.mean), float(found.variance), float(found.skewness)


def liu(q: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Tail of a weighted sum of chi-squares by four moments (Liu, Tang, Zhang, 2009)."""
    c = [np.sum(values**k) for k in range(1, 5)]
    s1, s2 = c[2] / c[1] ** 1.5, c[3] / c[1] ** 2
    if s1**2 > s2:
        a = 1 / (s1 - np.sqrt(s1**2 - s2))
        delta = s1 * a**3 - a**2
        freedom = a**2 - 2 * delta
    else:
        a, delta, freedom = 1 / s1, 0.0, 1 / s1**2
    z = (q - c[0]) / np.sqrt(2 * c[1])
    at = z * np.sqrt(2) * a + freedom + delta
    return stats.ncx2.sf(at, freedom, delta) if delta > 0 else stats.chi2.sf(at, freedom)


# -- exact -----------------------------------------------------------------------------------------


def exact(report: Report) -> None:
    """Standardised statistics against dense matrices."""
    worst = {"auto": 0.0, "exact": 0.0}
    for n in (40, 150, 400):
        for y in targets(n).values():
            rng = np.random.default_rng(n)
            X = np.hstack([SHAPES[shape](rng, (n, 3)) for shape in SHAPES])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # constant columns
                tests = {way: kp.alignment_test(X, y, bandwidth="std", method=way) for way in worst}
            for j in np.flatnonzero(~np.isnan(tests["auto"].z)):
                z = dense_z(X[:, j], y)
                for way in worst:
                    error = abs(tests[way].z[j] - z) / max(1.0, abs(z))
                    worst[way] = max(worst[way], float(error))
    for way, bar in (("auto", 1e-4), ("exact", 1e-8)):
        report.add(
            f"z against dense matrices, 10 shapes, method={way!r}: largest error",
            f"{worst[way]:.0e}", f"<= {bar:.0e}", worst[way] <= bar,
        )  # fmt: skip


def dense_z(x: np.ndarray, y: np.ndarray) -> float:
    n = len(x)
    H = np.eye(n) - 1 / n
    A = H @ np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / x.var()) @ H
    v = y - y.mean()
    mean, variance, _ = exact_moments(A, np.outer(v, v))
    return float((v @ A @ v - mean) / np.sqrt(variance))


PARTS = {
    "calibration": calibration, "cost": cost, "discoveries": discoveries, "tails": tails,
    "exact": exact,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="P-values of alignments.")
    parser.add_argument("--part", nargs="*", choices=list(PARTS), default=list(PARTS))
    given = parser.parse_args()
    report = Report("significance", "P-values of alignments")
    print(report.title)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)
        for part in given.part:
            PARTS[part](report)
    if given.part == list(PARTS):
        report.save()


if __name__ == "__main__":
    main()

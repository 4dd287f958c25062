"""L1KR: other branches of stationary points, and fixed ridges in the place of norm budgets."""

from __future__ import annotations

import time
import warnings

import numpy as np
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

import kernelpath as kp
from common import Report
from kernelpath.mkl.weighted_kernels.ard import ARDGaussian
from kernelpath.tracers.l1kr.branches import path_loss, search_branches
from kernelpath.tracers.l1kr.corrector import Corrector
from kernelpath.tracers.l1kr.equations import RidgeSystem
from kernelpath.tracers.l1kr.trace import trace_l1kr
from l1kr import friedman

PROBLEMS = ((0, False, 1.0), (1, True, 0.3), (2, True, 1.0), (3, False, 0.3))  # draw, noise, C
STARTS, RADII = 6, 7
WORTH = 1e-5  # of the squared norm of the target
WIDE_DRAWS = 3
RIDGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
RIDGE_DRAWS = 5


# -- an independent search -------------------------------------------------------------------------


def machine(X: np.ndarray, y: np.ndarray, weights: np.ndarray, budget: float) -> tuple[float, ...]:
    """Ridge, coefficients and loss of the machine with a norm budget, by all eigenvalues."""
    Z = X * np.sqrt(weights)
    own = np.square(Z).sum(axis=1)
    K = np.exp(-np.maximum(own[:, None] + own - 2.0 * Z @ Z.T, 0.0))
    H = np.eye(len(y)) - 1.0 / len(y)
    values, vectors = np.linalg.eigh(H @ K @ H)
    values, part = np.maximum(values, 0.0), vectors.T @ y

    def excess(log_ridge: float) -> float:
        norm = (np.square(part / (values + np.exp(log_ridge))) * values).sum()
        return float(np.log(norm / budget))

    ridge = float(np.exp(optimize.brentq(excess, -30.0, 30.0, xtol=1e-13)))
    a = vectors @ (part / (values + ridge))
    return ridge, a, K, ridge**2 * float(a @ a)  # type: ignore[return-value]


def searched(X: np.ndarray, y: np.ndarray, budget: float, radius: float, q: np.ndarray) -> float:
    """Smallest loss that L-BFGS-B finds from a start, for weights ``radius q^2 / |q|^2``."""

    def objective(q: np.ndarray) -> tuple[float, np.ndarray]:
        square = float(q @ q)
        weights = radius * np.square(q) / square
        ridge, a, K, loss = machine(X, y, weights, budget)
        M = K * np.outer(a, a)
        forms = np.square(X).T @ M.sum(axis=1) - ((M @ X) * X).sum(axis=0)
        slope = 4.0 * ridge * forms  # of the loss with the ridge that the budget asks for
        gradient = 2.0 * q * radius / square * (slope - float(slope @ weights) / radius)
        return loss, gradient

    options = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-8}
    try:
        found = optimize.minimize(objective, q, jac=True, method="L-BFGS-B", options=options)
    except ValueError:  # no ridge is small enough
        return np.inf
    return float(found.fun)


def against_local_searches(report: Report) -> None:
    """Best loss at seven sums of weights: the branches followed, and 6 local searches each."""
    worst, n_branches, n_better = -np.inf, 0, 0
    for seed, noisy, C in PROBLEMS:
        X, y = friedman(200, 10, noisy, seed)
        system, rng = RidgeSystem(ARDGaussian(X), y, C), np.random.default_rng(seed)
        trace = trace_l1kr(system)
        branch = search_branches([(system, trace)])
        curves = [trace.points] + ([] if branch is None else [branch.points])
        n_branches += branch is not None
        largest = max(point.radius for point in trace.points)
        corrector = Corrector(system)
        for radius in np.geomspace(0.01 * largest, 0.9 * largest, RADII):
            ours = min(path_loss(corrector, points, radius) for points in curves)
            starts = rng.uniform(0.1, 1.0, size=(STARTS, X.shape[1]))
            theirs = min(searched(X, y, C * system.scale, radius, q) for q in starts)
            gain = (ours - theirs) / system.scale
            worst, n_better = max(worst, gain), n_better + (gain > WORTH)
    report.add(
        f"200 x 10, {len(PROBLEMS)} draws, {RADII} sums of weights each: largest gain of L-BFGS-B "
        f"from {STARTS} starts over the branches followed, of the squared norm of the target",
        f"{worst:.0e} ({n_better} of {len(PROBLEMS) * RADII} above the bar; another branch in "
        f"{n_branches} of {len(PROBLEMS)})",
        f"<= {WORTH:.0e}",
        bool(worst <= WORTH),
    )


def better_branches(report: Report) -> None:
    """400 x 50, SNR 10, C = 0.3: the path from zero weights misses the best branch."""
    lines, met = [], True
    for seed in range(WIDE_DRAWS):
        X, y = friedman(400, 50, True, seed)
        system = RidgeSystem(ARDGaussian(X), y, 0.3)
        trace = trace_l1kr(system)
        start = time.process_time()
        branch = search_branches([(system, trace)])
        spent = time.process_time() - start
        met &= branch is not None
        if branch is None:
            lines.append("none")
            continue
        errors = [one.points[one.best].leave_one_out for one in (trace, branch)]
        lines.append(
            f"D = {branch.radius:.3f}: loss {branch.path_loss / system.scale:.3f} to "
            f"{branch.loss / system.scale:.3f}, best error of rows left out {errors[0]:.3f} to "
            f"{errors[1]:.3f} ({spent:.0f} s)"
        )
    report.add(
        f"400 x 50, SNR 10, C = 0.3, {WIDE_DRAWS} draws: a branch with a smaller loss than the "
        "path from zero weights", "; ".join(lines), "found", met,
    )  # fmt: skip


# -- fixed ridges ----------------------------------------------------------------------------------


def fixed_ridges(report: Report) -> None:
    """Test errors and CPU time of norm budgets and of fixed ridges, chosen by rows left out."""
    for noisy in (False, True):
        errors: dict[str, list[float]] = {"budgets": [], "ridges": []}
        spent = dict.fromkeys(errors, 0.0)
        for seed in range(RIDGE_DRAWS):
            X, y = friedman(600, 10, noisy, seed)
            train, test = slice(0, 200), slice(200, None)
            for name, options in (
                ("budgets", {}), ("ridges", {"norm_budget": None, "ridge": RIDGES}),
            ):  # fmt: skip
                start = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model = kp.L1KRRegressor(search_branches=False, **options)
                    model.fit(X[train], y[train])
                spent[name] += time.process_time() - start
                errors[name].append(float(np.mean((model.predict(X[test]) - y[test]) ** 2)))
        report.note(
            f"Friedman #1, 200 x 10, {'SNR 10' if noisy else 'without noise'}, {RIDGE_DRAWS} "
            f"draws: six norm budgets, test error {np.mean(errors['budgets']):.4f} of the "
            f"variance, {spent['budgets'] / RIDGE_DRAWS:.1f} s; {len(RIDGES)} fixed ridges "
            f"{np.mean(errors['ridges']):.4f}, {spent['ridges'] / RIDGE_DRAWS:.1f} s."
        )


def main() -> None:
    report = Report("l1kr_branches", "L1KR: other branches, and fixed ridges")
    against_local_searches(report)
    better_branches(report)
    fixed_ridges(report)
    report.save()


if __name__ == "__main__":
    main()

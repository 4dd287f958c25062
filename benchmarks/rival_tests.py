"""P-values of other packages for the draws of significance.py; run in their own environment.

    python rival_tests.py NAME draws.npz out.npz

``NAME`` is ``hyppo`` (HSIC with a Gaussian kernel, its chi-square approximation) or ``dcor``
(distance covariance by permutations).  The file has ``X_0``, ``y_0``, ``X_1``, ...; the answer has
the p-values of all columns of each, and the seconds of CPU taken.
"""

from __future__ import annotations

import sys
import time

import numpy as np

PERMUTATIONS = 2000  # p-values are then no less than 1 / 2,001


def hyppo_fast(x: np.ndarray, y: np.ndarray) -> float:
    from hyppo.independence import Hsic

    return Hsic().test(x, y, auto=True)[1]


def dcor(x: np.ndarray, y: np.ndarray) -> float:
    import dcor

    found = dcor.independence.distance_covariance_test(
        x, y, num_resamples=PERMUTATIONS, random_state=0
    )
    return float(found.pvalue)


WAYS = {"hyppo": hyppo_fast, "dcor": dcor}


def main() -> None:
    name, draws, out = sys.argv[1:]
    way, given = WAYS[name], np.load(draws)
    n_draws = sum(key.startswith("X_") for key in given)
    way(given["X_0"][:, :1], given["y_0"][:, None].astype(float))  # compiled
    p, seconds = [], []
    for i in range(n_draws):
        X, y = given[f"X_{i}"], given[f"y_{i}"][:, None].astype(float)
        start = time.process_time()
        p.append([way(np.ascontiguousarray(X[:, [j]]), y) for j in range(X.shape[1])])
        seconds.append(time.process_time() - start)
    np.savez(out, p=np.array(p), seconds=np.array(seconds))


if __name__ == "__main__":
    main()

"""Small problems shared by the alignment tests."""

from __future__ import annotations

import numpy as np

from kernelpath.kernels import KERNELS as REGISTRY

KERNELS = tuple(REGISTRY)
TASKS = ("binary", "multiclass", "regression")


def make_target(task, n, rng):
    """Target of a task, and what ``task`` is called in the package."""
    if task == "binary":
        y = rng.permutation(np.arange(n) % 3 == 0).astype(int)
        return y, "classification"
    if task == "multiclass":
        return rng.permutation(np.arange(n) % 4), "classification"
    return rng.normal(size=n) ** 3 + 5.0, "regression"


def make_table(n, rng):
    """Whole numbers, two values, a constant and two values of float32: exact in every type."""
    columns = [
        np.round(rng.normal(size=n) * 40),
        rng.integers(0, 2, n),
        np.full(n, 3),
        rng.poisson(0.6, n),
        np.round(rng.exponential(size=n) * 100),
    ]
    return np.column_stack(columns).astype(float)

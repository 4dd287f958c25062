"""Problems of the tests of NMMKL."""

from __future__ import annotations

import numpy as np

from kernelpath.mkl.losses import EpsilonInsensitive, HuberHinge
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import NoRegularizer
from kernelpath.mkl.weighted_kernels.storage import FactorKernels

RNG = np.random.default_rng(0)
N, D = 60, 12
X = RNG.normal(size=(N, D))
LABELS = np.where(X[:, 0] + X[:, 1] - X[:, 2] + 0.7 * RNG.normal(size=N) > 0, 1.0, -1.0)
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * RNG.normal(size=N)
LOSSES = {
    "classes": HuberHinge(1.0, 0.1).dual(LABELS),
    "classes, small ridge": HuberHinge(0.3, 1e-3).dual(LABELS),
    "numbers": EpsilonInsensitive(1.0, 0.1).dual(NUMBERS),
    "numbers, ridge": EpsilonInsensitive(2.0, 0.1, 0.1).dual(NUMBERS),
}


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def linear(X):
    return FactorKernels(np.ascontiguousarray(standardized(X).T), np.arange(X.shape[1] + 1))


def problem_of(loss, kernel=None):
    return Problem(linear(X) if kernel is None else kernel, (LOSSES[loss],), NoRegularizer())


def toy(rng, n=400):
    """Figure 1: Z is the best feature, X and Y are the best two."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    e, f, g = rng.normal(size=(3, n))
    return np.column_stack([1.1 * y + e, 1.1 * y - e + 0.4 * f, 1.55 * y + g]), y

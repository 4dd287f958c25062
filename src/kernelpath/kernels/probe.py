"""A kernel of one feature that a user brings, held against itself at a few points."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelpath.kernels.base import FeatureKernel
from kernelpath.utils.probes import EQUAL, Vector, agree, call, finite, refused

VALUES = np.array([-2.3, -1.1, -0.4, 0.0, 0.3, 0.9, 0.9, 1.7, 3.1])
"""A centred column, with a value that occurs twice."""
DISTANCE = "half_squared_distance"
HIDDEN = 1e-9  # of the size of a kernel: differences below that have lost their digits


def probe_kernel(kernel: Any) -> None:
    """Refuse a kernel of one feature that contradicts itself at a few points."""
    x = VALUES
    gamma = _probe_width(kernel)
    # The formula that the user wrote comes first and is the one that sentences name.
    method = "gram" if hasattr(type(kernel).half_squared_distance, "derived") else DISTANCE
    if method == "gram":
        call(kernel, "gram", x[:4], x, gamma, shape=(4, len(x)))
    d = _pairs(kernel, x, x, gamma, method)
    size = float(np.abs(d).max())
    alone = _pairs(kernel, x[1:4], x[5:8], gamma, method)
    own = np.diagonal(d)
    if not agree(own, 0.0, size, EQUAL) and method == DISTANCE:
        raise refused(kernel, method, "is not 0 for a value and itself.")
    if not (agree(own, 0.0, size, EQUAL) and agree(alone, d[1:4, 5:8], size, EQUAL)):
        raise refused(
            kernel, method,
            "gives a pair of values another number where other rows are around; each pair must "
            "be computed by itself.",
        )  # fmt: skip
    if not agree(d, d.T, size, EQUAL):
        raise refused(kernel, method, "is not symmetric: (x, z) and (z, x) give other numbers.")
    if d.min() < -EQUAL * size:
        raise refused(
            kernel, method,
            f"gives a negative squared distance, {2 * d.min():g}: k(x, x) + k(z, z) - 2 k(x, z) "
            "must not be below 0.",
        )  # fmt: skip
    centred = d - d.mean(axis=0)
    centred = -(centred - centred.mean(axis=1, keepdims=True))
    if _negative(centred, size):
        raise refused(
            kernel, method,
            "does not belong to a positive definite kernel: the kernel matrix of a few values, "
            "centred, has a negative eigenvalue.",
        )  # fmt: skip
    _probe_gram(kernel, gamma, d)


def _probe_gram(kernel: Any, gamma: float, d: Vector) -> None:
    """Refuse kernel values that contradict the distances, or from which these cannot be told."""
    x = VALUES
    k = call(kernel, "gram", x, x, gamma, shape=d.shape)
    finite(kernel, "gram", k, "ordinary values")
    own, most, size = np.diagonal(k), float(np.abs(k).max()), float(np.abs(d).max())
    if not agree(0.5 * (own[:, None] + own) - k, d, size + most, EQUAL):
        raise refused(
            kernel, "gram",
            "and half_squared_distance contradict each other: d(x, z) must be (k(x, x) + "
            "k(z, z)) / 2 - k(x, z); leave one of them out, and it follows from the other.",
        )  # fmt: skip
    if hasattr(type(kernel).gram, "derived"):
        return
    if 0 < size < HIDDEN * most:
        raise refused(
            kernel, "gram",
            f"has values up to {most:.1g} that differ by {size:.1g} only, which leaves too few "
            "digits; subtract what is common to all.",
        )  # fmt: skip
    if _negative(k, most):
        raise refused(
            kernel, "gram",
            "is not positive definite: the kernel matrix of a few values has a negative "
            "eigenvalue, though not when it is centred; give half_squared_distance instead.",
        )  # fmt: skip


def _negative(matrix: Vector, size: float) -> bool:
    """Whether a matrix of entries up to ``size`` has an eigenvalue that is clearly below 0."""
    return size > 0 and bool(np.linalg.eigvalsh(matrix)[0] < -EQUAL * len(matrix) * size)


def _pairs(kernel: Any, x: Vector, z: Vector, gamma: float, method: str) -> Vector:
    """Distances of all pairs; ``method`` is what a sentence about them names."""
    d = call(kernel, DISTANCE, x[:, None], z[None, :], gamma, shape=(len(x), len(z)))
    return finite(kernel, method, d, "ordinary values")


def _probe_width(kernel: Any) -> float:
    """Width of a column of scale 1; 1 where the kernel has no width of its own."""
    if getattr(kernel.gamma, "__func__", None) is FeatureKernel.gamma:
        return 1.0
    widths = call(kernel, "gamma", np.array([0.5, 1.0, 2.0]))
    if widths.shape == ():
        raise refused(
            kernel, "gamma",
            "gives one number for several columns; for a fixed width return "
            "np.full_like(sigma, width).",
        )  # fmt: skip
    if widths.shape != (3,):
        raise refused(kernel, "gamma", f"gives shape {widths.shape} for 3 columns.")
    if not (np.isfinite(widths).all() and (widths > 0).all()):
        raise refused(kernel, "gamma", f"must be positive and finite, got {widths.tolist()}.")
    if not agree(call(kernel, "gamma", 1.0), widths[1], widths[1], EQUAL):
        raise refused(kernel, "gamma", "differs for a scale alone and among others.")
    return float(widths[1])

"""Values of a kernel by its own methods, checked: what its formula gives, or a sentence.

Compiled loops do not know a kernel of the user's own; everything that needs its values comes here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import ExtensionError
from kernelpath.kernels import codes
from kernelpath.kernels.base import DIAGONAL_BLOCK, FeatureKernel
from kernelpath.kernels.feature import formula_code
from kernelpath.utils.probes import as_numbers, read_only

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def distance_block(kernel: FeatureKernel, x: Vector, z: Vector, gamma: float) -> Matrix:
    """``d(x, z)`` of all pairs of two vectors of centred values.

    Examples
    --------
    >>> from kernelpath.kernels import Linear
    >>> distance_block(Linear(), np.array([1.0, 3.0]), np.array([0.0]), 1.0)
    array([[0.5],
           [4.5]])
    """
    x, z = read_only(x), read_only(z)
    d = kernel.half_squared_distance(x[:, None], z[None, :], gamma)
    return _checked(kernel, "half_squared_distance", d, x, z, gamma)


def kernel_values(kernel: FeatureKernel, x: Vector, z: Vector, gamma: float) -> Matrix:
    """A positive definite ``k(x, z)`` of all pairs, the kernel itself up to ``f(x) + f(z)``.

    A kernel that is given by its distance stands as ``d(x, 0) + d(0, z) - d(x, z)``, whatever its
    size: one less the distance need not be positive definite.
    """
    if formula_code(kernel) != codes.OWN:
        return kernel.gram(x, z, gamma)
    x, z = read_only(x), read_only(z)
    if not _from_distance(kernel):
        return _checked(kernel, "gram", kernel.gram(x, z, gamma), x, z, gamma)
    zero = np.zeros(1)
    from_zero = distance_block(kernel, zero, z, gamma)
    return distance_block(kernel, x, zero, gamma) + from_zero - distance_block(kernel, x, z, gamma)


def kernel_diagonal(kernel: FeatureKernel, x: Vector, gamma: float) -> Vector:
    """``k(x, x)`` of each value, in the form of :func:`kernel_values`."""
    if formula_code(kernel) == codes.OWN and _from_distance(kernel):
        return 2.0 * distance_block(kernel, x, np.zeros(1), gamma)[:, 0]
    blocks = (x[start : start + DIAGONAL_BLOCK] for start in range(0, len(x), DIAGONAL_BLOCK))
    diagonals = (np.diagonal(kernel_values(kernel, b, b, gamma)) for b in blocks)
    return np.concatenate([np.empty(0), *diagonals])


def _from_distance(kernel: FeatureKernel) -> bool:
    return getattr(type(kernel).gram, "derived", False)


def _checked(
    kernel: FeatureKernel, method: str, given: NDArray, x: Vector, z: Vector, gamma: float
) -> Matrix:
    """The values as numbers of the right shape."""
    values = as_numbers(kernel, method, given)
    label = f"{type(kernel).__name__}.{method}"
    if values.shape != (len(x), len(z)):
        raise ExtensionError(
            f"{label} gives an array of shape {values.shape} for {len(x)} and {len(z)} values; "
            f"it must be {(len(x), len(z))}."
        )
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0].tolist()
        raise ExtensionError(
            f"{label} gives {values[i, j]} for x = {x[i]:g}, z = {z[j]:g} and gamma = {gamma:g}; "
            "it must be finite for all values of a column."
        )
    return values

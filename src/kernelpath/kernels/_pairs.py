"""Compiled formulas of two numbers of a kernel, for the loops of the whole package.

A loop that needs one is made for a class of kernels: a function that takes the class, closes over
the formula, and is called once for each class.  The formula becomes part of the loop, without a
call and without a choice among kernels inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.kernels.base import PAIR_FORMULAS, FeatureKernel
from kernelpath.utils.compiled import compiled

Made = TypeVar("Made")

# Division as in NumPy: that of Python looks for zeros, which keeps loops from vector instructions.
formula = compiled(kept=False, error_model="numpy")


@dataclass(frozen=True)
class Pairs:
    """Compiled functions of ``x, z, gamma`` and the settings of the kernel."""

    distance: Any
    kernel: Any
    shifted: Any


def per_kernel(make: Callable[..., Made]) -> Callable[..., Made]:
    """Make something once for each class of kernels, and whatever else it depends on."""
    return cache(make)


@per_kernel
def pairs_of(cls: type[FeatureKernel]) -> Pairs:
    """Formulas of a class of kernels, those that it leaves out made from the others.

    Examples
    --------
    >>> from kernelpath.kernels import Linear
    >>> pairs_of(Linear).shifted(3.0, 2.0, 1.0, 1.0, 0.0)
    6.0
    """
    owner = next(one for one in cls.__mro__ if any(name in vars(one) for name in PAIR_FORMULAS))
    given = {name: formula(getattr(owner, name)) for name in PAIR_FORMULAS if name in vars(owner)}
    distance, kernel, shifted = (given.get(name) for name in PAIR_FORMULAS)
    if distance is None and kernel is None:
        raise TypeError(f"{owner.__name__} defines neither pair_distance nor pair_kernel")
    distance = _distance_of(kernel) if distance is None else distance
    kernel = _kernel_of(distance) if kernel is None else kernel
    return Pairs(distance, kernel, _shifted_of(distance) if shifted is None else shifted)


def _distance_of(kernel: Any) -> Any:
    @formula
    def distance(x, z, gamma, *settings):
        both = kernel(x, x, gamma, *settings) + kernel(z, z, gamma, *settings)
        return 0.5 * both - kernel(x, z, gamma, *settings)

    return distance


def _kernel_of(distance: Any) -> Any:
    @formula
    def kernel(x, z, gamma, *settings):
        return 1.0 - distance(x, z, gamma, *settings)

    return kernel


def _shifted_of(distance: Any) -> Any:
    @formula
    def shifted(x, z, gamma, *settings):
        both = distance(x, 0.0, gamma, *settings) + distance(0.0, z, gamma, *settings)
        return both - distance(x, z, gamma, *settings)

    return shifted


def distance_values(
    cls: type[FeatureKernel], x: ArrayLike, z: ArrayLike, gamma: float, settings: tuple
) -> NDArray:
    """``d(x, z)`` of arrays that broadcast."""
    return _values(_loop(pairs_of(cls).distance), x, z, gamma, settings)


def kernel_values(
    cls: type[FeatureKernel], x: ArrayLike, z: ArrayLike, gamma: float, settings: tuple
) -> NDArray:
    """``k(x, z)`` of arrays that broadcast."""
    return _values(_loop(pairs_of(cls).kernel), x, z, gamma, settings)


def _values(loop: Callable, x: ArrayLike, z: ArrayLike, gamma: float, settings: tuple) -> NDArray:
    x, z, width = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (x, z, gamma)))
    out = np.empty(x.shape)
    flat = (np.ascontiguousarray(values).ravel() for values in (x, z, width))
    loop(*flat, settings, out.ravel())
    return out


@cache
def _loop(function: Callable) -> Callable:
    """Compile a formula for three vectors."""

    @compiled(error_model="numpy")
    def values(x, z, gamma, settings, out):
        for i in range(out.shape[0]):
            out[i] = function(x[i], z[i], gamma[i], *settings)

    return values

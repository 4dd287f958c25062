"""Which kernel a name, an object or a setting stands for.

Compiled loops know the formulas of the package by a number, which :func:`formula_code` gives; any
other kernel is computed by its own methods, in blocks of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelpath.errors import DataError, not_one_of
from kernelpath.kernels import codes
from kernelpath.kernels._formulas import (
    KERNELS,
    RBF,
    WIDTH_POWERS,
    Delta,
    Laplace,
    Linear,
    Polynomial,
    built_in_formula,
)
from kernelpath.kernels.base import DIAGONAL_BLOCK, FORMULAS, FeatureKernel
from kernelpath.kernels.probe import probe_kernel

__all__ = [
    "DIAGONAL_BLOCK",
    "FORMULAS",
    "KERNELS",
    "RBF",
    "WIDTH_POWERS",
    "Delta",
    "FeatureKernel",
    "Laplace",
    "Linear",
    "Polynomial",
    "check_traced",
    "feature_kernel_settings",
    "formula_code",
    "refuse_idle_widths",
    "resolve_kernel",
]

SEVERAL = ("multi", "bandwidths", "simple_mkl")
"""Names that stand for several kernels of a feature."""
DEFAULT_BANDWIDTH = "std"
SCALES = ("std", "median")


def formula_code(kernel: FeatureKernel) -> int:
    """Number of the kernel's formula in compiled loops; ``codes.OWN`` if only its methods know it.

    Examples
    --------
    >>> import numpy as np
    >>> class Wide(RBF):
    ...     def gamma(self, sigma):
    ...         return 0.1 / np.square(sigma)
    >>> class Capped(RBF):
    ...     def half_squared_distance(self, x, z, gamma):
    ...         return np.minimum(super().half_squared_distance(x, z, gamma), 0.5)
    >>> formula_code(Wide()) == formula_code(RBF()), formula_code(Capped()) == codes.OWN
    (True, True)
    """
    known = built_in_formula(kernel)
    return codes.OWN if known is None else known.code


def resolve_kernel(kernel: str | FeatureKernel) -> FeatureKernel:
    """Return the kernel of a name, or the kernel itself, one of the user's own after a trial.

    Examples
    --------
    >>> resolve_kernel("rbf")
    RBF()
    >>> resolve_kernel(Polynomial(degree=2)).degree
    2
    """
    if isinstance(kernel, FeatureKernel):
        if formula_code(kernel) == codes.OWN:
            probe_kernel(kernel)
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]()
    raise not_one_of("kernel", kernel, [*KERNELS, "auto"], "a FeatureKernel")


def feature_kernel_settings(parameters: Mapping[str, Any], test: Any = None) -> dict[str, Any]:
    """Of the settings of a selector, those that say which kernel a single feature has.

    A selector with a ``base_kernel`` combines kernels by its ``kernel``; where a feature has
    several kernels or none by itself, "auto" stands for it.  A ``test`` of the features knows the
    width of each, in units of the scale; without one, a bandwidth that was left open was the
    standard deviation.

    Examples
    --------
    >>> feature_kernel_settings({"kernel": "laplace", "bandwidth": "std", "step": 0.1})
    {'kernel': 'laplace', 'bandwidth': 'std'}
    >>> feature_kernel_settings({"kernel": "product", "base_kernel": "rbf"})
    {'kernel': 'auto'}
    """
    if "base_kernel" in parameters:
        base = parameters["base_kernel"] if parameters.get("kernel") == "sum" else "auto"
        several = isinstance(base, str) and base in SEVERAL
        return {"kernel": "auto" if several else base}
    names = ("kernel", "bandwidth", "gamma")
    settings = {name: parameters[name] for name in names if name in parameters}
    if isinstance(settings.get("kernel"), str) and settings["kernel"] in SEVERAL:
        settings["kernel"] = "auto"
    if test is not None and settings.get("gamma") is not None:
        settings.pop("bandwidth", None)
        settings["gamma"] = test.gamma
    elif test is not None:
        median = isinstance(settings.get("bandwidth"), str) and settings["bandwidth"] == "median"
        settings["bandwidth"] = "median" if median else "std"
        settings["each_width"] = np.where(np.isnan(test.width), 1.0, test.width)
    elif isinstance(settings.get("bandwidth"), str) and settings["bandwidth"] not in SCALES:
        settings["bandwidth"] = "std"
    return settings


def check_traced(settings: Mapping[str, Any]) -> None:
    """Refuse settings of a path whose kernel is known by its text alone: an object of a class.

    Examples
    --------
    >>> check_traced({"kernel": "Cauchy()"})
    Traceback (most recent call last):
    ...
    kernelpath.errors.DataError: The path was computed with the kernel Cauchy(); give it again as \
kernel=.
    """
    kernel = settings.get("kernel")
    if isinstance(kernel, str) and kernel not in (*KERNELS, "auto"):
        raise DataError(
            f"The path was computed with the kernel {kernel}; give it again as kernel=."
        )


def refuse_idle_widths(bandwidth: Any, gamma: Any) -> None:
    """Refuse a bandwidth that nothing would look at.

    Examples
    --------
    >>> refuse_idle_widths("median", None)
    >>> refuse_idle_widths("median", 0.5)
    Traceback (most recent call last):
        ...
    ValueError: bandwidth='median' has no effect beside gamma, which sets the widths; leave out one
    """
    if gamma is not None and bandwidth not in (None, DEFAULT_BANDWIDTH):
        # Where several widths are the default, they cannot be left out.
        one = bandwidth == "median"
        way = "leave out one" if one else "leave out gamma, or give bandwidth='std'"
        raise ValueError(
            f"bandwidth={bandwidth!r} has no effect beside gamma, which sets the widths; {way}"
        )

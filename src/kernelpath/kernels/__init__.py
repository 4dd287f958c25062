"""Kernels of one feature, and how their width adapts to a column."""

from typing import Any

from kernelpath.kernels._formulas import built_in, built_in_formula, formula_settings
from kernelpath.kernels.feature import (
    KERNELS,
    RBF,
    Delta,
    FeatureKernel,
    Laplace,
    Linear,
    Polynomial,
    check_traced,
    feature_kernel_settings,
    formula_code,
    resolve_kernel,
)
from kernelpath.kernels.own import distance_block, kernel_diagonal, kernel_values

__all__ = [
    "KERNELS",
    "RBF",
    "Delta",
    "FeatureKernel",
    "Laplace",
    "Linear",
    "Polynomial",
    "built_in",
    "built_in_formula",
    "check_traced",
    "distance_block",
    "feature_kernel_settings",
    "formula_code",
    "formula_settings",
    "kernel_diagonal",
    "kernel_values",
    "resolve_kernel",
]


def __getattr__(name: str) -> Any:
    """Find a kernel of the package by the name of its class."""
    for kernel in KERNELS.values():
        if kernel.__name__ == name:
            return kernel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

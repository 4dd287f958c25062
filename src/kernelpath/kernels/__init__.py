"""Kernels of one feature, and how their width adapts to a column."""

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
    "check_traced",
    "distance_block",
    "feature_kernel_settings",
    "formula_code",
    "kernel_diagonal",
    "kernel_values",
    "resolve_kernel",
]

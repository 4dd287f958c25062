"""Kernels of one feature, and how their width adapts to a column."""

from kernelpath.kernels.feature import (
    KERNELS,
    RBF,
    Delta,
    FeatureKernel,
    Laplace,
    Linear,
    Polynomial,
    feature_kernel_settings,
    resolve_kernel,
)

__all__ = [
    "KERNELS",
    "RBF",
    "Delta",
    "FeatureKernel",
    "Laplace",
    "Linear",
    "Polynomial",
    "feature_kernel_settings",
    "resolve_kernel",
]

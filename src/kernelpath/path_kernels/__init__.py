"""Weighted sums of one-feature kernels, at all points of a path."""

from kernelpath.path_kernels.api import combined_kernels
from kernelpath.path_kernels.bank import Combined, KernelBank
from kernelpath.path_kernels.cross import cross_kernel

__all__ = ["Combined", "KernelBank", "combined_kernels", "cross_kernel"]

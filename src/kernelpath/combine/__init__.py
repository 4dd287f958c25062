"""Weighted sums of one-feature kernels, at all points of a path."""

from kernelpath.combine.api import combined_kernels
from kernelpath.combine.bank import Combined, KernelBank
from kernelpath.combine.cross import cross_kernel

__all__ = ["Combined", "KernelBank", "combined_kernels", "cross_kernel"]

"""Alignments of a kernel of the user's own: all pairs of rows, by its methods, in blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.alignment.columns import RaggedColumns
from kernelpath.errors import ExtensionError
from kernelpath.kernels import FeatureKernel, distance_block

BLOCK_VALUES = 2_000_000  # pairs at a time: 16 MB for each array that the kernel makes of them
ROUNDING = 1e-8  # relative: a form further below 0 is no rounding error


def own_pairwise(
    kernel: FeatureKernel,
    block: RaggedColumns,
    which: NDArray[np.intp],
    origin: NDArray[np.float64],
    mean: NDArray[np.float64],
    gamma: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """As :func:`kernelpath.alignment._point_loops.pairwise`, by the formula of the kernel itself.

    A kernel that is not positive definite shows where a sum that cannot be negative is.
    """
    for f in which.tolist():
        span = slice(block.ptr[f], block.ptr[f + 1])
        x = (block.values[span] - origin[f]) - mean[f]
        columns = block.columns if block.shared else block.columns[:, span]
        forms, sizes = np.zeros((2, len(columns)))
        height = max(1, BLOCK_VALUES // len(x))
        for start in range(0, len(x), height):
            rows = slice(start, start + height)
            d = distance_block(kernel, x[rows], x, float(gamma[f]))
            size = np.abs(columns)
            forms += ((columns[:, rows] @ d) * columns).sum(axis=1)
            sizes += ((size[:, rows] @ np.abs(d)) * size).sum(axis=1)
        numerator, trace = -forms[1:].sum(), forms[0] / columns[0].sum()
        if numerator < -ROUNDING * sizes[1:].sum() or forms[0] < -ROUNDING * sizes[0]:
            raise ExtensionError(
                f"{type(kernel).__name__} is not positive definite on the values of a column: "
                "its centred kernel matrix has a negative quadratic form."
            )
        out[f] = numerator, trace, 0.0

"""One half of a Gaussian kernel matrix when a feature goes out or comes in."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from kernelpath.utils.compiled import compiled


@compiled()
def fill_upper(
    D: NDArray[np.float64],
    Z: NDArray[np.float64],
    sign: float,
    rate: float,
    out: NDArray[np.float64],
) -> None:
    """Write ``exp(-rate (D + sign |z - z'|^2)) + 1`` into the upper triangle.

    ``Z`` holds the columns of the feature as its rows.
    """
    n, m = D.shape[0], Z.shape[0]
    for i in range(n):
        if m == 1:
            z = Z[0, i]
            for k in range(i, n):
                d = z - Z[0, k]
                out[i, k] = exp(-rate * (D[i, k] + sign * d * d)) + 1.0
            continue
        for k in range(i, n):
            total = 0.0
            for c in range(m):
                d = Z[c, i] - Z[c, k]
                total += d * d
            out[i, k] = exp(-rate * (D[i, k] + sign * total)) + 1.0

"""Compiled parts of the norm of a budget: weights of features from the sizes of their parts."""

from __future__ import annotations

import numpy as np

from kernelpath.utils.compiled import compiled

MOST_CUTS = 200


@compiled()
def level_weights(size, shift, total, out):
    """Fill ``out`` with ``clip(a * size - shift, 0, 1)`` of the sum ``total``.

    The sum grows with ``a`` in pieces that are linear: Newton steps within a bracket find it.
    Where too few sizes are positive, the others share what is left.
    """
    n = size.shape[0]
    positive, largest = 0, 0.0
    for t in range(n):
        positive += size[t] > 0.0
        largest = max(largest, size[t])
    if positive <= total:
        rest = (total - positive) / max(n - positive, 1)
        for t in range(n):
            out[t] = 1.0 if size[t] > 0.0 else rest
        return
    low, high = shift / largest, np.inf
    a = (shift + total / n) / largest
    for _ in range(MOST_CUTS):
        excess, slope = -total, 0.0
        for t in range(n):
            value = a * size[t] - shift
            if value >= 1.0:
                excess += 1.0
            elif value > 0.0:
                excess += value
                slope += size[t]
        if abs(excess) <= 1e-14 * total:
            break
        if excess > 0.0:
            high = a
        else:
            low = a
        better = a - excess / slope if slope > 0.0 else np.inf
        if low < better < high:
            a = better
        else:
            a = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
        if not low < a < high:
            break
    for t in range(n):
        out[t] = min(max(a * size[t] - shift, 0.0), 1.0)

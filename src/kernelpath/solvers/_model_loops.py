"""Compiled minimisation of a quadratic model by spectral projected gradients."""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_CUTS = 200


@njit(cache=True, nogil=True)
def _fill(x, cap, total, out):
    """Nearest point between 0 and a cap, of a given sum unless that is negative.

    Newton steps on the threshold, whose sum falls in pieces that are linear, within a bracket.
    """
    shift = 0.0
    if total >= 0.0:
        low, high = x[0], x[0]
        for t in range(x.shape[0]):
            low, high = min(low, x[t]), max(high, x[t])
        low -= min(cap, total)
        shift = high - total / x.shape[0]
        for _ in range(MOST_CUTS):
            excess, between = -total, 0
            for t in range(x.shape[0]):
                value = x[t] - shift
                if value >= cap:
                    excess += cap
                elif value > 0.0:
                    excess += value
                    between += 1
            if abs(excess) <= 1e-15 * total:
                break
            if excess > 0.0:
                low = shift
            else:
                high = shift
            better = shift + excess / between if between > 0 else low
            shift = better if low < better < high else 0.5 * (low + high)
    for t in range(x.shape[0]):
        out[t] = min(max(x[t] - shift, 0.0), cap)


@njit(cache=True, nogil=True)
def _image(H, Z, curve, move, image):
    """``(Z' Z + curve) move``, by the columns of ``H = Z' Z`` where there is one."""
    if H.shape[0] > 0:
        image[:] = 0.0
        for j in range(move.shape[0]):
            if move[j] != 0.0:
                row, factor = H[j], move[j]
                for t in range(row.shape[0]):
                    image[t] += factor * row[t]
    else:
        image[:] = Z.T @ (Z @ move)
    for t in range(move.shape[0]):
        image[t] += curve[t] * move[t]


@njit(cache=True, nogil=True)
def minimize_model(H, Z, curve, g, point, step, cap, total, max_steps, tol):
    """Minimise over weights between 0 and a cap, of a given sum unless that is negative.

    ``point`` and its gradient ``g`` are changed in place.  Ends when a step promises less than
    ``tol`` of what the best one did.
    """
    n = point.shape[0]
    trial, move, image = np.empty(n), np.empty(n), np.empty(n)
    first = 0.0
    for _ in range(max_steps):
        for t in range(n):
            trial[t] = point[t] - step * g[t]
        _fill(trial, cap, total, move)
        descent = size = 0.0
        for t in range(n):
            move[t] -= point[t]
            descent += g[t] * move[t]
            size += move[t] * move[t]
        first = min(first, descent)
        if descent >= tol * first:
            return
        _image(H, Z, curve, move, image)
        curvature = 0.0
        for t in range(n):
            curvature += move[t] * image[t]
        length = 1.0  # exact, within the set
        if curvature > 0.0:
            length = min(1.0, -descent / curvature)
        for t in range(n):
            point[t] += length * move[t]
            g[t] += length * image[t]
        step = size / curvature if curvature > 0.0 else 10.0 * step

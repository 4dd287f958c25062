"""Compiled minimisation of a quadratic model by projected gradients and conjugate gradients."""

from __future__ import annotations

import numpy as np

from kernelpath.utils.compiled import compiled

MOST_CUTS = 200
SPECTRAL = 10  # spectral steps, which find the weights that are at a bound, in a row
CONJUGATE = 30  # conjugate gradients on the others after them
FACE_TOL = 1e-12  # squared residual of these, relative
MOST_HALVINGS = 6


@compiled()
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


@compiled()
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


@compiled()
def _face(H, Z, curve, g, point, cap, total, direction):
    """Towards the minimum over the weights between their bounds, by conjugate gradients.

    Fills ``direction``, zero at the other weights, and returns the number of products it took.
    """
    n = point.shape[0]
    free = (point > 0.0) & (point < cap)
    count = free.sum()
    direction[:] = 0.0
    if count < 2:
        return 0
    mean = g[free].mean() if total >= 0.0 else 0.0
    rest, along, image = np.zeros(n), np.zeros(n), np.empty(n)
    size = 0.0
    for t in range(n):
        if free[t]:
            rest[t] = along[t] = mean - g[t]
            size += rest[t] ** 2
    enough = FACE_TOL * size
    for used in range(min(CONJUGATE, count)):
        _image(H, Z, curve, along, image)
        curvature = along @ image
        if curvature <= 0.0 or size <= 0.0:
            return used + 1
        length, before, mean = size / curvature, size, 0.0
        for t in range(n):
            if free[t]:
                direction[t] += length * along[t]
                rest[t] -= length * image[t]
                mean += rest[t] / count
        if total < 0.0:
            mean = 0.0
        size = 0.0
        for t in range(n):
            if free[t]:
                rest[t] -= mean
                size += rest[t] ** 2
        if size <= enough:
            return used + 1
        for t in range(n):
            if free[t]:
                along[t] = rest[t] + size / before * along[t]
    return min(CONJUGATE, count)


@compiled()
def _advance(H, Z, curve, g, point, cap, total, direction, work):
    """Go along a direction, projected, by the longest step that is worth it; counts products."""
    trial, move, image = work
    used, length = 0, 1.0
    for halving in range(MOST_HALVINGS):
        for t in range(point.shape[0]):
            trial[t] = point[t] + length * direction[t]
        _fill(trial, cap, total, move)
        move -= point
        descent = g @ move
        if descent < 0.0:
            _image(H, Z, curve, move, image)
            used += 1
            curvature = move @ image
            if descent + 0.5 * curvature <= 0.1 * descent or halving == MOST_HALVINGS - 1:
                best = min(1.0, -descent / curvature) if curvature > 0.0 else 1.0
                for t in range(point.shape[0]):
                    point[t] += best * move[t]
                    g[t] += best * image[t]
                return used
        length *= 0.5
    return used


@compiled()
def minimize_model(H, Z, curve, g, point, step, cap, total, max_steps, tol):
    """Minimise over weights between 0 and a cap, of a given sum unless that is negative.

    Spectral projected gradients find out which weights are at a bound, conjugate gradients the
    others (More and Toraldo 1991).  ``point`` and its gradient ``g`` are changed in place.  Ends
    when a spectral step promises less than ``tol`` of what the best one did, or after
    ``max_steps`` products with the Hessian.
    """
    n = point.shape[0]
    trial, move, image, direction = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    first, used, in_row = 0.0, 0, 0
    while used < max_steps:
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
        used, in_row = used + 1, in_row + 1
        if in_row == SPECTRAL:
            in_row = 0
            used += _face(H, Z, curve, g, point, cap, total, direction)
            used += _advance(H, Z, curve, g, point, cap, total, direction, (trial, move, image))

"""Compiled loops of the group lasso: exact steps of one group after the other, and intercepts.

Rows of the table are columns here, so that what a loop runs over is contiguous.  Everything is
multiplied by the roots of the shares of the rows beforehand: no weights appear.
"""

from __future__ import annotations

import math

import numpy as np

from kernelpath.utils.compiled import compiled

FAST = {"reassoc", "contract", "nsz"}
SECULAR_STEPS = 60
INTERCEPT_STEPS = 60
ROUNDING = 1e-15


@compiled(part=True)
def residuals(target, output, hinge, out):
    """``t - f``; of a hinge only where the margin is not reached: where ``t (t - f) > 0``."""
    for i in range(target.shape[0]):
        rest = target[i] - output[i]
        out[i] = 0.0 if hinge and rest * target[i] <= 0.0 else rest


@compiled(part=True)
def norm_of_step(squares, curvature, strength, ridge):
    """Norm of the solution of a group: the root of ``sum_j v_j^2 / (m_j t + strength)^2 = 1``.

    With ``m_j`` the curvature and the ridge.  Newton's method for the root of one over the square
    root of the sum, which is nearly linear in ``t``; from 0 it comes from the left.
    """
    t = 0.0
    for _ in range(SECULAR_STEPS):
        total, slope = 0.0, 0.0
        for j in range(squares.shape[0]):
            m = curvature[j] + ridge
            below = m * t + strength
            part = squares[j] / (below * below)
            total += part
            slope += part * m / below
        if slope <= 0.0:
            return t
        step = total * (math.sqrt(total) - 1.0) / slope
        t += step
        if abs(step) <= ROUNDING * t:
            break
    return t


@compiled(fastmath=FAST)
def sweep(rows, ptr, curvature, groups, strength, ridge, hinge, target, weights, output, rest):
    """Minimise over each of some groups in turn; return the largest change of an output.

    The loss of a group is bounded by a quadratic with the curvature of its factor, whose rows are
    orthogonal, so that the minimum of the bound is that of one unknown: the norm of the weights.
    Least squares is its own bound.
    """
    n, q = output.shape[1], output.shape[0]
    largest = 0.0
    for place in range(groups.shape[0]):
        start, stop = ptr[groups[place]], ptr[groups[place] + 1]
        r = stop - start
        v, squares = np.empty((r, q)), np.zeros(r)
        size, held = 0.0, False
        for j in range(r):
            for c in range(q):
                total = 0.0
                for i in range(n):
                    total += rows[start + j, i] * rest[c, i]
                v[j, c] = total + curvature[start + j] * weights[start + j, c]
                squares[j] += v[j, c] * v[j, c]
                held = held or weights[start + j, c] != 0.0
            size += squares[j]
        t = 0.0
        if size > strength * strength:
            t = norm_of_step(squares, curvature[start:stop], strength, ridge)
        elif not held:
            continue
        for c in range(q):
            moved = 0.0
            for j in range(r):
                new = v[j, c] * t / ((curvature[start + j] + ridge) * t + strength)
                change = new - weights[start + j, c]
                weights[start + j, c] = new
                if change != 0.0:
                    moved += change * change * curvature[start + j]
                    for i in range(n):
                        output[c, i] += change * rows[start + j, i]
            if moved > 0.0:
                residuals(target[c], output[c], hinge[c], rest[c])
                largest = max(largest, math.sqrt(moved))
    return largest


@compiled()
def set_intercepts(root, hinge, target, output, rest):
    """Move each output by a multiple of ``root`` until its residuals have no sum with it.

    The sum falls as the intercept grows and is linear between two rows whose margins are reached:
    Newton's method, within the bounds found so far.
    """
    n = root.shape[0]
    shifts = np.zeros(output.shape[0])
    for c in range(output.shape[0]):
        low, high = -np.inf, np.inf
        residuals(target[c], output[c], hinge[c], rest[c])
        for _ in range(INTERCEPT_STEPS):
            total, mass, size = 0.0, 0.0, 0.0
            for i in range(n):
                total += root[i] * rest[c, i]
                size += abs(root[i] * rest[c, i])
                if rest[c, i] != 0.0:
                    mass += root[i] * root[i]
            if abs(total) <= ROUNDING * size or mass == 0.0:
                break
            if total > 0.0:
                low = shifts[c]
            else:
                high = shifts[c]
            new = shifts[c] + total / mass
            if not low < new < high:
                new = 0.5 * (low + high)
            step = new - shifts[c]
            if abs(step) <= ROUNDING * (abs(new) + size):
                break
            shifts[c] = new
            for i in range(n):
                output[c, i] += step * root[i]
            residuals(target[c], output[c], hinge[c], rest[c])
    return shifts

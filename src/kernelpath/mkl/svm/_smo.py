"""Sequential minimal optimisation, compiled: one loop for all losses of `losses`."""

from __future__ import annotations

import numpy as np

from kernelpath.utils.compiled import compiled

FLAT = 1e-12  # least curvature along a pair
NO_NAN = {"nnan", "nsz"}  # what compilers may assume, so that several rows are compared at once


@compiled(fastmath=NO_NAN)
def smo(K, linear, low, high, kink, ridge, tol, max_iter, u, gradient):
    """Improve ``u`` in place until no pair of rows violates optimality by more than ``tol``.

    ``gradient`` is ``(K + ridge) u - linear``, kept up to date.  At ``u = 0`` the objective has a
    kink: going up costs ``kink`` more than the gradient says, going down ``kink`` less, and a step
    ends there.  Pairs are chosen by second-order gain [fan2005].  Returns the number of steps, the
    smallest slope upwards and the largest downwards; the bias lies between them.
    """
    n = u.shape[0]
    up = np.empty(n)  # added to the gradient: the slope upwards, infinite at the upper bound
    down = np.empty(n)
    diagonal = np.empty(n)
    work = np.empty(n)
    for t in range(n):
        _set_slopes(t, u, low, high, kink, up, down)
        diagonal[t] = K[t, t]
        work[t] = gradient[t] + up[t]
    i = _place_of_least(work)
    for step in range(max_iter):
        if i < 0:
            return step, np.inf, _falling(gradient, down)
        rising = gradient[i] + up[i]
        # The partner: the largest decrease that one step with i can bring.
        row = K[i]
        own = row[i] + 2.0 * ridge
        for t in range(n):
            gain = max(gradient[t] + down[t] - rising, 0.0)
            work[t] = -(gain * gain) / max(own + diagonal[t] - 2.0 * row[t], FLAT)
        j = _place_of_least(work)
        slope = gradient[j] + down[j]
        if slope - rising <= tol:  # else the largest slope is larger still
            falling = _falling(gradient, down)
            if falling - rising <= tol:
                return step, rising, falling
        move = (slope - rising) / max(row[i] + diagonal[j] - 2.0 * row[j] + 2.0 * ridge, FLAT)
        first, second = u[i], u[j]
        move = min(move, high[i] - first, second - low[j])
        if kink > 0.0:
            if first < 0.0:
                move = min(move, -first)
            if second > 0.0:
                move = min(move, second)
        u[i] = high[i] if move == high[i] - first else first + move
        u[j] = low[j] if move == second - low[j] else second - move
        if kink > 0.0:  # exactly at the kink, not a rounding beside it
            if first < 0.0 and move == -first:
                u[i] = 0.0
            if second > 0.0 and move == second:
                u[j] = 0.0
        rise = u[i] - first
        drop = second - u[j]
        gradient[i] += ridge * rise
        gradient[j] -= ridge * drop
        _set_slopes(i, u, low, high, kink, up, down)
        _set_slopes(j, u, low, high, kink, up, down)
        other = K[j]
        for t in range(n):
            gradient[t] += rise * row[t] - drop * other[t]
            work[t] = gradient[t] + up[t]
        i = _place_of_least(work)
    rising = np.inf if i < 0 else gradient[i] + up[i]
    return max_iter, rising, _falling(gradient, down)


@compiled(part=True, fastmath=NO_NAN)
def _set_slopes(t, u, low, high, kink, up, down):
    """What is added to the gradient of a row for its slopes; a row at a bound has only one."""
    up[t] = (kink if u[t] >= 0.0 else -kink) if u[t] < high[t] else np.inf
    down[t] = (kink if u[t] > 0.0 else -kink) if u[t] > low[t] else -np.inf


@compiled(part=True, fastmath=NO_NAN)
def _falling(gradient, down):
    """Largest slope downwards."""
    falling = -np.inf
    for t in range(gradient.shape[0]):
        falling = max(falling, gradient[t] + down[t])
    return falling


@compiled(part=True, fastmath=NO_NAN)
def _place_of_least(values):
    """First place of the smallest value, -1 if all are infinite.

    Eight minima at a time: each has to wait for the one before it, which takes four cycles.
    """
    n = values.shape[0]
    a = b = c = d = e = f = g = h = np.inf
    whole = n - n % 8
    for t in range(0, whole, 8):
        a = min(a, values[t])
        b = min(b, values[t + 1])
        c = min(c, values[t + 2])
        d = min(d, values[t + 3])
        e = min(e, values[t + 4])
        f = min(f, values[t + 5])
        g = min(g, values[t + 6])
        h = min(h, values[t + 7])
    for t in range(whole, n):
        a = min(a, values[t])
    least = min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))
    if least == np.inf:
        return -1
    place = 0
    while place < n - 1 and values[place] != least:  # NaN would be nowhere
        place += 1
    return place

"""Sequential minimal optimisation, compiled: one loop for all losses of `losses`."""

from __future__ import annotations

import numpy as np

from kernelpath.utils.compiled import compiled

FLAT = 1e-12  # least curvature along a pair


@compiled()
def smo(K, linear, low, high, kink, ridge, tol, max_iter, u, gradient):
    """Improve ``u`` in place until no pair of rows violates optimality by more than ``tol``.

    ``gradient`` is ``(K + ridge) u - linear``, kept up to date.  At ``u = 0`` the objective has a
    kink: going up costs ``kink`` more than the gradient says, going down ``kink`` less, and a step
    ends there.  Pairs are chosen by second-order gain [fan2005].  Returns the number of steps, the
    smallest slope upwards and the largest downwards; the bias lies between them.
    """
    n = u.shape[0]
    rising = np.inf
    falling = -np.inf
    i = -1
    for t in range(n):
        if u[t] < high[t]:
            slope = gradient[t] + (kink if u[t] >= 0.0 else -kink)
            if slope < rising:
                rising = slope
                i = t
    for step in range(max_iter):
        # The partner: the largest decrease that one step with i can bring.
        falling = -np.inf
        best = -np.inf
        j = -1
        if i >= 0:
            own = K[i, i] + 2.0 * ridge
            for t in range(n):
                if u[t] > low[t]:
                    slope = gradient[t] + (kink if u[t] > 0.0 else -kink)
                    if slope > falling:
                        falling = slope
                    gain = slope - rising
                    if gain > 0.0:
                        curvature = max(own + K[t, t] - 2.0 * K[i, t], FLAT)
                        decrease = gain * gain / curvature
                        if decrease > best:
                            best = decrease
                            j = t
        if j < 0 or falling - rising <= tol:
            return step, rising, falling
        slope = gradient[j] + (kink if u[j] > 0.0 else -kink)
        move = (slope - rising) / max(K[i, i] + K[j, j] - 2.0 * K[i, j] + 2.0 * ridge, FLAT)
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
        up = u[i] - first
        down = second - u[j]
        gradient[i] += ridge * up
        gradient[j] -= ridge * down
        rising = np.inf
        chosen = -1
        for t in range(n):
            gradient[t] += up * K[i, t] - down * K[j, t]
            if u[t] < high[t]:
                slope = gradient[t] + (kink if u[t] >= 0.0 else -kink)
                if slope < rising:
                    rising = slope
                    chosen = t
        i = chosen
    return max_iter, rising, falling

"""Projections that the feasible sets of weights share."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

SMALLEST = 1e-250  # smaller weights are 0


def p_norm(y: NDArray[np.float64], p: float) -> float:
    """p-norm of entries that are not negative, without overflow inside."""
    top = float(y.max(initial=0.0))
    if top == 0.0 or p == math.inf:
        return top
    return top * float(((y / top) ** p).sum()) ** (1.0 / p)


def fill(x: NDArray[np.float64], total: float, cap: float) -> NDArray[np.float64]:
    """Projection on ``0 <= d <= cap, sum d = total``; needs ``cap <= total <= n cap``.

    The answer is ``clip(x - threshold, 0, cap)``.  The threshold is written as ``base - lift``,
    where ``base`` is the smallest entry of ``x`` with a positive weight: what is summed are then
    weights, none of them negative, and not entries of ``x``, which may be larger by many decades.
    """
    if total == 0.0:
        return np.zeros(len(x))
    down = np.sort(x)[::-1].copy()
    count = range(1, len(x) + 1)

    def filled(entries: NDArray[np.float64]) -> float:
        return float(np.minimum(entries, cap).sum())

    with np.errstate(over="ignore"):  # differences of huge entries are clipped anyway
        # Thresholds at the first entries fill less than the total: these get positive weights.
        n_positive = bisect_left(count, True, key=lambda j: filled(down[:j] - down[j - 1]) >= total)
        base = down[n_positive - 1]
        above = down[:n_positive] - base
        n_full = 0
        if cap < total:  # lifts that bring the first entries to the cap stay within the total
            room, count = np.maximum(cap - above, 0.0), range(1, n_positive)
            n_full = bisect_left(count, True, key=lambda m: filled(above + room[m - 1]) > total)
        lift = (total - n_full * cap - above[n_full:].sum()) / (n_positive - n_full)
        return np.clip((x - base) + max(lift, 0.0), 0.0, cap)


def onto_unit_ball(y: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    r"""Projection on the unit ball of a finite ``p > 1`` of ``y >= 0`` outside it.

    The optimum has :math:`d_k + \lambda d_k^{p-1} = y_k` and :math:`\|d\|_p = 1`.  Newton steps on
    :math:`\log \|d\|_p = 0` as a function of :math:`s = \log \lambda` stay in a bracket, known
    from :math:`\lambda = d^\top (y - d) \le \|y\|_{p/(p-1)}` and
    :math:`\|y\|_p \le 1 + \lambda \|d^{p-1}\|_p` with :math:`d \le 1`.
    """
    excess = p_norm(y, p) - 1.0
    if excess < 1e-14:  # less than the rounding of the norm itself
        return y / (1.0 + excess)
    low = math.log(excess) - math.log(len(y)) / p - 0.1
    s = high = math.log(p_norm(y, p / (p - 1.0))) + 0.1
    for _ in range(200):
        d, slope = _shrink(np.maximum(y, SMALLEST), math.exp(s), p)
        top = d.max()
        share = (d / top) ** p
        log_norm = math.log(top) + math.log(share.sum()) / p
        low, high = (s, high) if log_norm > 0 else (low, s)
        step = log_norm * float(share.sum() / (share @ slope))
        if abs(log_norm) < 1e-15 or abs(step) < 1e-15 * max(abs(s), 1.0):
            break
        s = s - step if low < s - step < high else 0.5 * (low + high)
    return np.where(d > SMALLEST, d * math.exp(-log_norm), 0.0)


def _shrink(y: NDArray, multiplier: float, p: float) -> tuple[NDArray, NDArray]:
    """Solve ``d + multiplier d^(p-1) = y``; also the slope of ``log d`` in ``log multiplier``.

    The logarithm of the left side is convex and increasing in ``log d``, so Newton steps from
    above come down to the root and never pass it.
    """
    with np.errstate(over="ignore"):
        d = np.maximum(np.minimum(y, (y / multiplier) ** (1.0 / (p - 1.0))), SMALLEST)
    for _ in range(200):
        power = multiplier * d ** (p - 1.0)
        growth = d + (p - 1.0) * power  # of the left side, in log d
        step = np.log((d + power) / y) * (d + power) / growth
        previous, d = d, np.maximum(d * np.exp(-step), SMALLEST)
        if np.all(np.abs(d - previous) <= 1e-9 * d):  # the next step would be below rounding
            break
    return d, -power / growth

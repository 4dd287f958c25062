r"""The scalar problem of Generalized lp-KTA, for many features at once.

Every coordinate of the optimum solves Eq. (5) of [jawanpuria2014]

.. math:: \lambda_1 F'(\eta) + \lambda_2 p\, \eta^{p-1} = b,
          \qquad b = a + \lambda_1 F'(x_0),

which is increasing in :math:`\eta`.  It is solved for :math:`t = \log \eta`: near ``p = 1``
weights span hundreds of decades, and in :math:`\eta` itself a Newton step from a warm start lands
below zero.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernelpath.tracers.lp_kta.divergences import Divergence
from kernelpath.utils.compiled import compiled

LOWEST = -745.0  # exp of anything smaller is 0
KNOTS = 256
NARROWEST = 1e-12


def solve_weights(
    scores: NDArray[np.float64],
    p: float,
    bregman_strength: float,
    norm_strength: float,
    divergence: Divergence,
    *,
    max_iter: int = 200,
) -> NDArray[np.float64]:
    """Optimal weight for each score, by bracketed Newton steps on ``log eta``.

    Serves every divergence.  Scores without a positive root get weight 0.

    Examples
    --------
    >>> from kernelpath.tracers.lp_kta.divergences import SquaredEuclidean
    >>> solve_weights(np.array([3.0]), 2.0, 0.5, 1.0, SquaredEuclidean())
    array([1.])
    """
    scores = np.asarray(scores, dtype=np.float64)
    low = np.full(scores.shape, LOWEST)
    high = np.zeros(scores.shape)

    def excess(t: NDArray, b: NDArray) -> NDArray:
        with np.errstate(over="ignore", invalid="ignore"):
            eta = np.exp(t)
            value = norm_strength * p * np.exp((p - 1.0) * t) - b
            if bregman_strength > 0:
                value = value + bregman_strength * divergence.derivative(eta)
        return value

    for _ in range(12):  # 2^12 covers every exponent
        short = (excess(high, scores) < 0) & (high < 700.0)
        if not short.any():
            break
        high[short] = np.minimum(np.maximum(2.0 * high[short], 1.0), 700.0)
    rootless = excess(low, scores) >= 0
    t = np.where(rootless, LOWEST, 0.5 * (np.maximum(low, -50.0) + high))
    active = np.flatnonzero(~rootless)
    for _ in range(max_iter):
        if len(active) == 0:
            break
        now, b = t[active], scores[active]
        value = excess(now, b)
        low[active] = np.where(value <= 0, now, low[active])
        high[active] = np.where(value >= 0, now, high[active])
        with np.errstate(over="ignore", invalid="ignore"):
            eta = np.exp(now)
            slope = norm_strength * p * (p - 1.0) * np.exp((p - 1.0) * now)
            if bregman_strength > 0:
                slope = slope + bregman_strength * divergence.second_derivative(eta) * eta
            step = now - value / slope
        inside = (step > low[active]) & (step < high[active])
        fresh = np.where(inside, step, 0.5 * (low[active] + high[active]))
        fresh = np.where(value == 0, now, fresh)
        t[active] = fresh
        moved = np.abs(fresh - now) > 4e-16 * np.maximum(np.abs(fresh), 1.0)
        active = active[moved & (high[active] - low[active] > 1e-15 * np.abs(fresh))]
    return np.where(rootless, 0.0, np.exp(t))


@compiled(part=True)
def _euclidean_root(log_score, score, t, p, linear, power):
    """Root of ``linear e^t + power e^((p-1) t) = score`` by Newton steps on its logarithm.

    That function of ``t`` is convex and increasing with slope in [p - 1, 1], so Newton converges
    from anywhere; from the right it does so monotonically.  Returns ``t``, ``e^t`` and
    ``e^((p-1) t)``.
    """
    for _ in range(60):
        eta = math.exp(t)
        tilt = math.exp((p - 1.0) * t)
        a = linear * eta
        b = power * tilt
        ratio = (a + b) / score - 1.0
        if abs(ratio) < 1e-4:  # the logarithm by its series: cheaper than the call
            value = ratio * (1.0 - ratio * (0.5 - ratio * (1.0 / 3.0 - 0.25 * ratio)))
        else:
            value = math.log(a + b) - log_score
        step = value * (a + b) / (a + (p - 1.0) * b)
        t -= step
        if abs(step) < 1e-6:
            # Quadratic convergence: the next step would be below rounding.  The exponentials
            # move by so little that three terms of their series give all digits.
            eta *= 1.0 - step * (1.0 - step * (0.5 - step / 6.0))
            step *= p - 1.0
            tilt *= 1.0 - step * (1.0 - step * (0.5 - step / 6.0))
            break
    return t, eta, tilt


@compiled()
def euclidean_weights(
    scores, log_scores, threshold, p, bregman_strength, norm_strength, indices, data
):
    """Weights of all features with a score above the threshold, squared Euclidean divergence.

    Weights are a smooth function of the score alone: a table of exact roots with exact slopes
    gives a start from which one Newton step reaches rounding.  Fills ``indices`` and ``data`` and
    returns the largest residual of Eq. (5) and ``sum eta^p``.
    """
    linear = 2.0 * bregman_strength
    power = norm_strength * p
    smallest = np.inf
    largest = 0.0
    for b in scores:
        if b > threshold:
            smallest = min(smallest, b)
            largest = max(largest, b)
    if largest == 0.0:
        return 0.0, 0.0
    start = math.log(smallest)
    # The logarithms of the caller may differ from these by rounding, which must be far less than
    # a knot where all scores are equal.
    width = max((math.log(largest) - start) / (KNOTS - 1), NARROWEST)
    knots = np.empty(KNOTS)
    slopes = np.empty(KNOTS)
    guess = 0.0
    for k in range(KNOTS):
        log_score = start + k * width
        if k == 0:  # the smaller of the two one-term solutions lies right of the root
            guess = np.inf
            if linear > 0.0:
                guess = log_score - math.log(linear)
            if power > 0.0 and p > 1.0:
                guess = min(guess, (log_score - math.log(power)) / (p - 1.0))
        else:
            guess += slopes[k - 1] * width
        guess, eta, tilt = _euclidean_root(log_score, math.exp(log_score), guess, p, linear, power)
        knots[k] = guess
        a = linear * eta
        b = power * tilt
        slopes[k] = (a + b) / (a + (p - 1.0) * b)
    residual = 0.0
    norm = 0.0
    position = 0
    for i in range(scores.shape[0]):
        if scores[i] <= threshold:
            continue
        log_score = log_scores[i]
        place = (log_score - start) / width
        k = min(int(place), KNOTS - 2)
        s = place - k
        left = slopes[k] * width
        right = slopes[k + 1] * width
        rise = knots[k + 1] - knots[k]
        t = knots[k] + s * (
            left + s * (3.0 * rise - 2.0 * left - right + s * (left + right - 2.0 * rise))
        )
        t, eta, tilt = _euclidean_root(log_score, scores[i], t, p, linear, power)
        residual = max(residual, abs(linear * eta + power * tilt - scores[i]))
        norm += eta * tilt
        indices[position] = i
        data[position] = eta
        position += 1
    return residual, norm

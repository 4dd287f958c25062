"""Tail probabilities in logarithms: of a statistic with three known moments, and of a 2 x 2 table.

Logarithms, because strong features have p-values that no number can hold; below about 1e-10 they
are an order, no longer a probability.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import (
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    gammaln,
    log_ndtr,
    logsumexp,
    ndtri,
)

from kernelpath.utils.compiled import compiled

Array = NDArray[np.float64]
SYMMETRIC = (-1e-3, 1e-4)
"""Skewness between which the tail is the normal one; for less, the library has too few digits."""
LEAST_KNOWN = 1e-10  # below, a p-value is an order rather than a probability
MOST_DEVIATIONS = 7.0  # at which the normal tail, the longest of these, is far below that
SMALLEST = 1e-290  # probabilities of which the library has all digits
MOST_LIKELY = 0.99  # at 1 the Cauchy rule would be minus infinity
EAGER = 0.1
"""By which the Cauchy rule is too eager for kernels of several widths on one column: measured on
null columns of ten shapes, 5 % at p = 0.01 and 15 % at 0.001 (benchmarks/significance.py)."""
ALIKE = 1e-4  # logarithms of p-values that are the same but for rounding
FAR = -20.0  # log p from which the Cauchy rule is a sum of reciprocals
FRACTIONS = 200  # terms of a continued fraction


def log_pearson_tail(z: Array, skewness: Array) -> Array:
    """Log of P(Z >= z) for Pearson's type III law with mean 0, variance 1 and a skewness.

    With negative skewness the law ends at ``-2 / skewness``; from ``LEAST_KNOWN`` on the normal
    tail goes on in its place, for the order alone.

    Examples
    --------
    >>> from scipy.stats import pearson3
    >>> z, skewness = np.array([-1.0, 1.0, 5.0]), np.array([0.5, 2.0, 1.0])
    >>> np.allclose(log_pearson_tail(z, skewness), pearson3.logsf(z, skewness))
    True
    >>> log_pearson_tail(np.array([3000.0]), np.array([1.0])).round(1)  # no number holds it
    array([-5979.7])
    """
    z, skewness = np.broadcast_arrays(np.asarray(z, float), np.asarray(skewness, float))
    out = log_ndtr(-z)
    up, down = skewness > SYMMETRIC[1], skewness < SYMMETRIC[0]
    if up.any():
        shape = 4.0 / skewness[up] ** 2
        out[up] = log_gamma_tail(shape, shape + z[up] * np.sqrt(shape))
    if down.any():
        shape = 4.0 / skewness[down] ** 2
        out[down] = _log_bounded_tail(shape, z[down])
    return out


def pearson_quantile(p: float, skewness: Array) -> Array:
    """Where the tail of :func:`log_pearson_tail` has the probability ``p``.

    Examples
    --------
    >>> pearson_quantile(0.05, np.array([0.0, 1.0, -1.0])).round(3)
    array([1.645, 1.877, 1.317])
    """
    skewness = np.asarray(skewness, dtype=np.float64)
    shape = 4.0 / np.maximum(np.abs(skewness), SYMMETRIC[1]) ** 2
    up = (gammainccinv(shape, p) - shape) / np.sqrt(shape)
    down = (shape - gammaincinv(shape, p)) / np.sqrt(shape)
    skewed = np.where(skewness > 0, up, down)
    straight = (skewness <= SYMMETRIC[1]) & (skewness >= SYMMETRIC[0])
    return np.where(straight, -ndtri(p), skewed)


def _log_bounded_tail(shape: Array, z: Array) -> Array:
    """With an upper end: the lower incomplete gamma function, then an end that falls as normal."""
    tail = gammainc(shape, np.maximum(shape - z * np.sqrt(shape), 0.0))
    out = np.log(np.maximum(tail, LEAST_KNOWN))
    far = tail < LEAST_KNOWN
    if far.any():
        last = _last_known(shape[far])
        out[far] += np.minimum(log_ndtr(-z[far]) - log_ndtr(-last), 0.0)
    return out


def _last_known(shape: Array) -> Array:
    """Where the tail is ``LEAST_KNOWN``, by halving: the library's inverse has few digits there."""
    low, high = np.zeros_like(shape), np.minimum(np.sqrt(shape), MOST_DEVIATIONS)
    for _ in range(50):
        middle = 0.5 * (low + high)
        inside = gammainc(shape, shape - middle * np.sqrt(shape)) > LEAST_KNOWN
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def log_gamma_tail(shape: Array, x: Array) -> Array:
    """Log of the regularised upper incomplete gamma function; 0 for ``x <= 0``."""
    tail = gammaincc(shape, np.maximum(x, 0.0))
    with np.errstate(divide="ignore"):
        out = np.log(tail)
    far = tail < SMALLEST
    if far.any():
        out[far] = _far_gamma_tail(shape[far], x[far])
    return out


def _far_gamma_tail(shape: Array, x: Array) -> Array:
    """By Lentz's way with the continued fraction; ``x`` is far above ``shape``."""
    b = x + 1.0 - shape
    d = 1.0 / b
    c = np.full_like(b, 1e300)
    h = d
    for i in range(1, FRACTIONS):
        a = -i * (i - shape)
        b = b + 2.0
        d = 1.0 / (a * d + b)
        c = b + a / c
        h = h * d * c
        if np.all(np.abs(d * c - 1.0) < 1e-13):
            break
    return -x + shape * np.log(x) - gammaln(shape) + np.log(h)


def cauchy_combination(log_p: Array) -> Array:
    """One p-value, in logs, of several along the last axis, however these depend on each other.

    NaN stands for none; where all are above ``MOST_LIKELY``, the least stands for them.  Far out
    the mean of ``cot(pi p)`` follows Cauchy's law (Liu, Xie, 2020); nearer, dependence makes it too
    eager by a little, which is paid back: ``p`` becomes ``p (1 + EAGER (1 - p))``.  For p-values
    that are all the same, as in columns of two values, there is nothing to pay.

    Examples
    --------
    >>> np.exp(cauchy_combination(np.log([[0.01, 0.01, 0.01], [0.001, 0.5, 0.9]]))).round(4)
    array([0.01  , 0.0033])
    >>> cauchy_combination(np.array([[-2000.0, -3.0, np.nan]])).round(3)
    array([-1999.212])
    """
    known = ~np.isnan(log_p)
    count = np.maximum(known.sum(axis=-1), 1)
    p = np.exp(np.where(known, log_p, 0.0))
    with np.errstate(divide="ignore"):
        each = 1.0 / np.tan(np.pi * np.clip(p, 1e-300, MOST_LIKELY))
    mean = np.where(known, each, 0.0).sum(axis=-1) / count
    near = np.log(np.arctan2(1.0, mean) / np.pi)
    far = np.log(count) - logsumexp(np.where(known, -log_p, -np.inf), axis=-1)
    least = np.where(known, log_p, 0.0).min(axis=-1)
    alone = np.where(known, log_p, 0.0).sum(axis=-1)
    combined = np.where(least < FAR, far, near)
    combined = np.where(least > np.log(MOST_LIKELY), least, combined)
    combined = np.minimum(combined, 0.0)
    largest = np.where(known, log_p, -np.inf).max(axis=-1)
    paid = combined + np.log1p(-EAGER * np.expm1(combined))
    combined = np.where(largest - least > ALIKE, paid, combined)
    return np.where(count == 1, alone, combined)


@compiled()
def _log_hypergeometric(n, positive, chosen, gap, out):
    """Log of the probability that the number of positive rows is ``gap`` or more from its mean."""
    for i in range(out.shape[0]):
        expected = chosen[i] * positive / n
        low = max(0.0, chosen[i] + positive - n)
        high = min(chosen[i], positive)
        slack = 1e-7 * (1.0 + gap[i])
        total = -math.inf
        for side in range(2):
            k = (
                math.ceil(expected + gap[i] - slack)
                if side == 0
                else math.floor(expected - gap[i] + slack)
            )
            if side == 1 and k >= math.ceil(expected + gap[i] - slack):
                k = math.ceil(expected + gap[i] - slack) - 1.0  # the gap is 0: all, each once
            if k < low or k > high:
                continue
            log_mass = (
                math.lgamma(positive + 1.0) - math.lgamma(k + 1.0)
                - math.lgamma(positive - k + 1.0) + math.lgamma(n - positive + 1.0)
                - math.lgamma(chosen[i] - k + 1.0)
                - math.lgamma(n - positive - chosen[i] + k + 1.0) - math.lgamma(n + 1.0)
                + math.lgamma(chosen[i] + 1.0) + math.lgamma(n - chosen[i] + 1.0)
            )  # fmt: skip
            ratio = 1.0
            tail = 1.0
            while ratio > 1e-17 * tail:
                if side == 0:
                    ratio *= (
                        (positive - k)
                        * (chosen[i] - k)
                        / ((k + 1.0) * (n - positive - chosen[i] + k + 1.0))
                    )
                    k += 1.0
                else:
                    ratio *= (
                        k
                        * (n - positive - chosen[i] + k)
                        / ((positive - k + 1.0) * (chosen[i] - k + 1.0))
                    )
                    k -= 1.0
                tail += ratio
            one = log_mass + math.log(tail)
            top = max(total, one)
            total = top + math.log(math.exp(total - top) + math.exp(one - top))
        out[i] = min(total, 0.0)


def log_hypergeometric(n: float, positive: float, chosen: Array, gap: Array) -> Array:
    """Log of the probability that a count is at least as far from its mean as ``gap``.

    ``chosen`` of ``n`` rows are drawn, ``positive`` of the ``n`` are positive.

    Examples
    --------
    >>> from scipy.stats import hypergeom
    >>> k = np.arange(0, 11)
    >>> mass, gap = hypergeom(30, 12, 10).pmf(k), np.abs(k - 4.0)
    >>> expected = [mass[gap >= g - 1e-9].sum() for g in gap]
    >>> np.allclose(np.exp(log_hypergeometric(30, 12, np.full(11, 10.0), gap)), expected)
    True
    """
    out = np.empty(len(gap))
    _log_hypergeometric(
        float(n), float(positive), np.asarray(chosen, float), np.asarray(gap, float), out
    )
    return out

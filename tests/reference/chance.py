"""The slow, obvious twin of what alignments are by chance: dense matrices and all permutations.

Matrices are centred explicitly, in extended precision; missing values are a block of ones.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
from scipy.special import gammaln
from scipy.stats import pearson3

from reference.alignment import (
    LONG,
    centred_column,
    default_gamma,
    double_centre,
    gram,
    median_distance,
    std,
)
from reference.alignment import code_target as alignment_target

NEGLIGIBLE = 1e-9  # variance in squared means, below which no order changes a statistic

# -- matrices -------------------------------------------------------------------------------------


def scale_of(x, bandwidth="std"):
    """Scale of the observed values."""
    x = np.asarray(x, dtype=LONG)
    seen = x[~np.isnan(x)]
    if bandwidth == "median" and median_distance(seen) > 0:
        return median_distance(seen)
    return std(seen)


def feature_matrix(x, kernel, gamma, degree=3, coef0=1.0, own=None):
    """``H K H`` of a column in which NaN is a value like no other.

    Kernels that look at more than differences have their missing values at the mean; ``own`` is a
    function of two numbers and the width.
    """
    x = np.asarray(x, dtype=LONG)
    missing = np.isnan(x)
    at_mean = own is not None or kernel in ("linear", "polynomial")
    filled = np.where(missing, x[~missing].mean() if at_mean else x[~missing][0], x)
    if own is not None:
        z = centred_column(filled)
        K = np.array([[own(a, b, LONG(gamma)) for b in z] for a in z])
    else:
        K = gram(filled, kernel, gamma, degree, coef0)
    if missing.any() and not at_mean:
        K = K + (kernel != "delta")  # from k - 1 to k
        K[missing] = 0.0
        K[:, missing] = np.outer(missing, np.ones(missing.sum()))
    return double_centre(K)


def target_matrix(y, task):
    """``H Y Y' H``; each contrast of more than two classes counts alike."""
    Y = alignment_target(y, task)
    if Y.shape[1] > 1:
        Y = Y / np.sqrt(Y.sum(axis=0))
    return double_centre(Y @ Y.T)


# -- moments --------------------------------------------------------------------------------------


def enumerated_moments(A, B):
    """Mean, variance and skewness of ``tr(A B)`` over all orders of the rows of ``B``."""
    A, B = A.astype(float), B.astype(float)
    orders = np.array(list(permutations(range(len(A)))))
    q = np.einsum("ij,pij->p", A, B[orders[:, :, None], orders[:, None, :]])
    spread = q - q.mean()
    return q.mean(), np.mean(spread**2), np.mean(spread**3) / np.mean(spread**2) ** 1.5


def drawn_statistics(A, B, n_draws, rng):
    """``tr(A B)`` for random orders of the rows of ``B``."""
    orders = (rng.permutation(len(A)) for _ in range(n_draws))
    return np.array([np.sum(A * B[np.ix_(p, p)]) for p in orders])


def eight_sums(A, weight=None):
    """T, T2, T3, S2, S3, U, R and D, one definition after the other; rows may stand for several."""
    n = len(A)
    w = np.ones(n, dtype=LONG) if weight is None else np.asarray(weight, dtype=LONG)
    T = T2 = T3 = S2 = S3 = U = R = D = LONG(0)
    for i in range(n):
        squared_row = np.sum(w * A[i] * A[i])
        T += w[i] * A[i, i]
        T2 += w[i] * squared_row
        S2 += w[i] * A[i, i] ** 2
        S3 += w[i] * A[i, i] ** 3
        U += w[i] * np.sum(w * A[i] ** 3)
        R += w[i] * A[i, i] * squared_row
        D += w[i] * A[i, i] * np.sum(w * A[i] * np.diag(A))
        T3 += w[i] * np.sum(w * A[i] * (A @ (w * A[i])))
    return np.array([T, T2, T3, S2, S3, U, R, D])


def formula_moments(A, B, weight=None):
    """Mean, variance and skewness by the formulas as they are printed, in extended precision."""
    n = LONG(len(A)) if weight is None else LONG(np.sum(weight))
    a, b = eight_sums(A, weight), eight_sums(B, weight)
    powers = np.array([1, 2, 3, 2, 3, 3, 3, 3])
    a, b = a * (n / a[0]) ** powers, b * (n / b[0]) ** powers
    return _moments(n, a, b)


def _moments(n, a, b):
    """By the sums of two matrices of trace ``n``."""
    mean = a[0] * b[0] / (n - 1)

    def first(s):
        return (n - 1) * s[1] - s[0] ** 2

    def second(s):
        return n * (n + 1) * s[3] - (n - 1) * (s[0] ** 2 + 2 * s[1])

    variance = 2 * first(a) * first(b) / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += second(a) * second(b) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    third, falling = 0 * n, 1
    for k, terms in enumerate(zip(_terms(a), _terms(b))):
        falling *= n - k
        third += sum(c * u * v for (c, u), (_, v) in zip(*terms)) / falling
    if variance <= NEGLIGIBLE * mean**2:
        return mean, LONG(0), LONG(0)
    return mean, variance, (third - 3 * variance * mean - mean**3) / variance**1.5


def exact_moments(n, a, b):
    """Variance and third raw moment of whole-numbered sums, in fractions."""
    n, a, b = Fraction(n), [Fraction(v) for v in a], [Fraction(v) for v in b]
    mean = a[0] * b[0] / (n - 1)
    first = [(n - 1) * s[1] - s[0] ** 2 for s in (a, b)]
    second = [n * (n + 1) * s[3] - (n - 1) * (s[0] ** 2 + 2 * s[1]) for s in (a, b)]
    variance = 2 * first[0] * first[1] / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += second[0] * second[1] / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    third, falling = Fraction(0), Fraction(1)
    for k, terms in enumerate(zip(_terms(a), _terms(b))):
        falling *= n - k
        third += sum(c * u * v for (c, u), (_, v) in zip(*terms)) / falling
    central = third - 3 * variance * mean - mean**3
    return float(mean), float(variance), float(central) / float(variance) ** 1.5


def _terms(s):
    """How often, and what, for 1 to 6 different rows."""
    T, T2, T3, S2, S3, U, R, D = s
    return (
        [(1, S3)],
        [(4, U - S3), (3, T * S2 - S3), (6, -S3), (12, R - S3), (6, D - S3)],
        [
            (3, 2 * S3 - T * S2),
            (1, T**3 - 3 * T * S2 + 2 * S3),
            (12, 2 * S3 - T * S2 - D),
            (12, 2 * S3 - R),
            (24, 2 * S3 - R - D),
            (6, T * (T2 - S2) + 2 * S3 - 2 * R),
            (24, 2 * S3 - U - R),
            (8, T3 + 2 * S3 - 3 * R),
        ],
        [
            (12, T * S2 - 6 * S3 + 2 * R + 2 * D),
            (6, T * (S2 - T2) - 6 * S3 + 2 * U + 4 * R),
            (3, -(T**3) + 5 * T * S2 - 6 * S3 + 2 * D),
            (12, T * (2 * S2 - T2) - 6 * S3 + 3 * R + 2 * D),
            (8, -6 * S3 + 2 * U + 3 * R),
            (24, -T3 - 6 * S3 + U + 5 * R + D),
        ],
        [
            (3, T**3 + 2 * T * (T2 - 5 * S2) + 24 * S3 - 8 * R - 8 * D),
            (12, T * (T2 - 2 * S2) + 2 * T3 + 24 * S3 - 4 * U - 16 * R - 4 * D),
        ],
        [(1, -(T**3) - 6 * T * (T2 - 3 * S2) - 8 * T3 - 120 * S3 + 16 * U + 72 * R + 24 * D)],
    )


def standardised(A, B, weight=None):
    """``(q - mean) / sd`` and the skewness of ``q``."""
    w = np.ones(len(A), dtype=LONG) if weight is None else np.asarray(weight, dtype=LONG)
    n = w.sum()
    q = w @ (A * B) @ w * (n / (w @ np.diag(A))) * (n / (w @ np.diag(B)))
    mean, variance, skewness = formula_moments(A, B, weight)
    if variance == 0:  # no order changes it
        return 0.0, 0.0
    return float((q - mean) / np.sqrt(variance)), float(skewness)


def table_chance(
    X, y, task, kernel="rbf", factors=(1.0,), *, bandwidth="std", own=None, width=None, **settings
):
    """z and skewness of every column at every width, each of shape (n_columns, n_widths)."""
    B = target_matrix(y, task)
    z = np.empty((np.shape(X)[1], len(factors)))
    skewness = np.empty_like(z)
    for j, x in enumerate(np.asarray(X, dtype=LONG).T):
        scale = scale_of(x, bandwidth)
        for w, factor in enumerate(factors):
            one = factor * scale
            gamma = default_gamma(kernel, one) if width is None else width(one)
            A = feature_matrix(x, kernel, gamma, own=own, **settings)
            z[j, w], skewness[j, w] = standardised(A, B)
    return z, skewness


# -- probabilities --------------------------------------------------------------------------------


def pearson_p(z, skewness):
    """P-values of Pearson's type III law."""
    return pearson3.sf(z, skewness)


def cauchy(p):
    """One p-value of several: the mean of cotangents, each p at most 0.99, and a tenth more."""
    t = np.mean(1.0 / np.tan(np.pi * np.minimum(p, 0.99)))
    q = min(np.arctan2(1.0, t) / np.pi, 1.0)
    if np.ptp(np.log(np.maximum(p, 1e-300))) <= 1e-4:  # there was no choice
        return q
    return q * (1.0 + 0.1 * (1.0 - q))


def count_p(n, positive, chosen, seen):
    """P that the positive among ``chosen`` of ``n`` rows are as far from their mean as ``seen``."""

    def log_choose(a, b):
        return gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1)

    k = np.arange(max(0, chosen + positive - n), min(chosen, positive) + 1)
    mass = np.exp(
        log_choose(positive, k) + log_choose(n - positive, chosen - k) - log_choose(n, chosen)
    )
    mean = chosen * positive / n
    return float(mass[np.abs(k - mean) >= abs(seen - mean) - 1e-9].sum())


def two_valued_p(second, y):
    """The same for a column of two values: ``second`` says which rows have the second one."""
    positive = np.asarray(y) == np.unique(y)[1]
    second = np.asarray(second, dtype=bool)
    seen = int(np.sum(positive & second))
    return count_p(len(second), int(positive.sum()), int(second.sum()), seen)


def enumerated_p(x, y, statistic):
    """Share of all orders of the target whose statistic is as large."""
    y = np.asarray(y)
    seen = statistic(x, y)
    all_of_them = [statistic(x, y[list(p)]) for p in permutations(range(len(y)))]
    return np.mean(np.array(all_of_them) >= seen - 1e-9 * max(1.0, abs(seen)))


# -- many features --------------------------------------------------------------------------------


def discovered_by_e_values(p, level):
    """e-BH: the largest k such that k features have e-values of at least d / (k level)."""
    e = 1.0 / (2.0 * np.sqrt(p))
    for k in range(len(p), 0, -1):
        found = np.flatnonzero(e >= len(p) / (k * level))
        if len(found) >= k:
            return sorted(np.argsort(-e, kind="stable")[:k].tolist())
    return []


def worst_z(found, expected):
    """Largest error of standardised statistics, in units of themselves or 1."""
    return float(np.max(np.abs(found - expected) / np.maximum(1.0, np.abs(expected))))


def least_p(X, y, task, orders, factors=(1.0, 0.5, 0.25), kernel="rbf"):
    """The least combined p-value of all columns for each order of the target, one by one."""
    found = []
    for order in orders:
        z, skewness = table_chance(X, np.asarray(y)[order], task, kernel, factors)
        found.append(min(cauchy(p) for p in pearson_p(z, skewness)))
    return np.array(found)

r"""What an alignment would be by chance: exact moments over all permutations of the target.

With :math:`A = H K H` for one feature and :math:`B = H Y Y^\top H` the statistic is
:math:`q = \operatorname{tr}(A B)`.  Where the rows of the target are permuted at random, the mean,
the variance and the third moment of :math:`q` depend on :math:`A` and :math:`B` through eight sums
each (Kazi-Aoual, Hitier, Sabatier, Lebreton, 1995):

.. math::

   T = \operatorname{tr} A, \quad T_2 = \operatorname{tr} A^2, \quad T_3 = \operatorname{tr} A^3,
   \quad S_2 = \sum_i A_{ii}^2, \quad S_3 = \sum_i A_{ii}^3, \quad U = \sum_{ij} A_{ij}^3, \quad
   R = \sum_i A_{ii} (A^2)_{ii}, \quad D = \sum_{ij} A_{ii} A_{ij} A_{jj}.

No permutation is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpath.tables.targets import Target

FEWEST_ROWS = 8
"""Fewer rows have too few permutations for three moments to say anything about a tail."""
NEGLIGIBLE = 1e-9  # variance in squared means, below which no permutation changes the statistic
SUMS = ("T", "T2", "T3", "S2", "S3", "U", "R", "D")
CANCELLED = 0.05
"""Share of what the variance would be without a small difference of large terms; below, the sums
must be known to more digits than a grid has.  So it is where a few rows are far from all others and
the classes are of equal size: of a column with one odd row no permutation changes the statistic."""
BLOCK = 2_000_000  # numbers of a block of a matrix of rows


@dataclass(frozen=True)
class NullMoments:
    """Mean, variance and skewness of statistics under permutation of the target.

    Where no permutation changes a statistic, its variance is 0 and so is the skewness.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    skewness: NDArray[np.float64]

    def standardised(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """``(q - mean) / sd``; 0 where the variance is."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (statistics - self.mean) / np.sqrt(self.variance)
        return np.where(self.variance > 0, z, 0.0)


def permutation_moments(
    n: float,
    features: NDArray[np.float64],
    target: NDArray[np.float64],
    negligible: float | NDArray[np.float64] = NEGLIGIBLE,
) -> NullMoments:
    """Moments of ``tr(A B)`` for features with sums ``(..., 8)`` and a target with sums ``(8,)``.

    A variance below ``negligible`` squared means counts as none.

    Examples
    --------
    All permutations of seven rows, one by one:

    >>> from itertools import permutations
    >>> rng = np.random.default_rng(0)
    >>> H = np.eye(7) - 1 / 7
    >>> A, B = (H @ np.exp(-np.subtract.outer(x, x)**2) @ H for x in rng.normal(size=(2, 7)))
    >>> q = np.array([np.sum(A * B[np.ix_(p, p)]) for p in permutations(range(7))])
    >>> found = permutation_moments(7, dense_sums(A), dense_sums(B))
    >>> z = (q - q.mean()) / q.std()
    >>> moments = [q.mean(), q.var(), (z**3).mean()]
    >>> np.allclose([found.mean, found.variance, found.skewness], moments)
    True
    """
    n = float(n)  # whole numbers would overflow
    own, star, unit = _with_traces(n, features, target)
    mean = own[..., 0] * star[0] / (n - 1)
    variance = _variance(n, own, star)
    known = variance > negligible * mean**2
    variance = np.where(known, variance, 0.0)
    third = _third_moment(n, own, star)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = (third - 3 * variance * mean - mean**3) / variance**1.5
    skewness = np.where(known, skewness, 0.0)
    return NullMoments(mean * unit, variance * unit**2, skewness)


def cancelled(
    n: float, features: NDArray[np.float64], target: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Where the variance is a small difference of large terms.

    Examples
    --------
    One odd row, and classes of equal size or not:

    >>> odd = np.r_[1.0, np.zeros(11)]
    >>> targets = np.repeat([1.0, -1.0], 6), np.repeat([1.0, -1.0], [8, 4])
    >>> sums = [low_rank_sums((v - v.mean())[:, None], np.ones(12)) for v in (odd, *targets)]
    >>> bool(cancelled(12, sums[0], sums[1])), bool(cancelled(12, sums[0], sums[2]))
    (True, False)
    """
    n = float(n)
    own, star, _ = _with_traces(n, features, target)
    return _variance(n, own, star) < CANCELLED * 2 * own[..., 1] * star[1] / ((n + 1) * (n - 2))


def _with_traces(
    n: float, features: NDArray[np.float64], target: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The sums with both traces ``n``, and the unit of the product of the two.

    The moments are then of the size of ``n``, whatever the units.
    """
    scale = n / np.where(features[..., 0] > 0, features[..., 0], n)
    star_scale = np.asarray(n / target[0])
    own, star = _scaled(features, scale), _scaled(target, star_scale)
    return own, star, 1.0 / (scale * star_scale)


def _scaled(sums: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of ``scale * A``."""
    powers = np.array([1, 2, 3, 2, 3, 3, 3, 3])
    return sums * scale[..., None] ** powers


def _variance(n: float, own: NDArray[np.float64], star: NDArray[np.float64]) -> NDArray[np.float64]:
    def spread(s: NDArray[np.float64]) -> NDArray[np.float64]:
        return (n - 1) * s[..., 1] - s[..., 0] ** 2

    def diagonal(s: NDArray[np.float64]) -> NDArray[np.float64]:
        return n * (n + 1) * s[..., 3] - (n - 1) * (s[..., 0] ** 2 + 2 * s[..., 1])

    first = 2 * spread(own) * spread(star) / ((n - 1) ** 2 * (n + 1) * (n - 2))
    second = diagonal(own) * diagonal(star) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return first + second


def _third_moment(
    n: float, own: NDArray[np.float64], star: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Third raw moment: products of the two matrices' sums over 1, 2, ..., 6 different rows."""
    total = np.zeros(own.shape[:-1])
    falling = 1.0
    mine, other = _by_rows(own), _by_rows(star)
    for k, (first, second) in enumerate(zip(mine, other)):
        falling *= n - k
        for factor, a, b in zip(COUNTS[k], first, second):
            total += factor * a * b / falling
    return total


COUNTS = (
    (1,), (4, 3, 6, 12, 6), (3, 1, 12, 12, 24, 6, 24, 8), (12, 6, 3, 12, 8, 24), (3, 12), (1,),
)  # fmt: skip
"""How often each of the sums of :func:`_by_rows` occurs, for 1 to 6 different rows."""


def _by_rows(s: NDArray[np.float64]) -> tuple[tuple[NDArray[np.float64], ...], ...]:
    """Sums over products of three entries whose indices are 1, 2, ..., 6 different rows."""
    T, T2, T3, S2, S3, U, R, D = np.moveaxis(s, -1, 0)
    return (
        (S3,),
        (U - S3, T * S2 - S3, -S3, R - S3, D - S3),
        (
            2 * S3 - T * S2,
            T**3 - 3 * T * S2 + 2 * S3,
            2 * S3 - T * S2 - D,
            2 * S3 - R,
            2 * S3 - R - D,
            T * (T2 - S2) + 2 * S3 - 2 * R,
            2 * S3 - U - R,
            T3 + 2 * S3 - 3 * R,
        ),
        (
            T * S2 - 6 * S3 + 2 * R + 2 * D,
            T * (S2 - T2) - 6 * S3 + 2 * U + 4 * R,
            -(T**3) + 5 * T * S2 - 6 * S3 + 2 * D,
            T * (2 * S2 - T2) - 6 * S3 + 3 * R + 2 * D,
            -6 * S3 + 2 * U + 3 * R,
            -T3 - 6 * S3 + U + 5 * R + D,
        ),
        (
            T**3 + 2 * T * (T2 - 5 * S2) + 24 * S3 - 8 * R - 8 * D,
            T * (T2 - 2 * S2) + 2 * T3 + 24 * S3 - 4 * U - 16 * R - 4 * D,
        ),
        (-(T**3) - 6 * T * (T2 - 3 * S2) - 8 * T3 - 120 * S3 + 16 * U + 72 * R + 24 * D,),
    )


def dense_sums(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """The eight sums of a matrix."""
    diagonal, square = np.diag(A), A @ A
    return np.array([
        diagonal.sum(), np.trace(square), np.sum(square * A), diagonal @ diagonal,
        np.sum(diagonal**3), np.sum(A**3), diagonal @ np.diag(square), diagonal @ A @ diagonal,
    ])  # fmt: skip


def low_rank_sums(V: NDArray[np.float64], count: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""The eight sums of :math:`V V^\top`, where row ``i`` of ``V`` stands ``count[i]`` times.

    Examples
    --------
    >>> V = np.array([[1.0, 2.0], [0.0, -1.0], [-1.0, 0.0]])
    >>> whole = V[[0, 1, 1, 2]]
    >>> np.allclose(low_rank_sums(V, np.array([1.0, 2.0, 1.0])), dense_sums(whole @ whole.T))
    True
    """
    diagonal = np.sum(V * V, axis=1)
    gram = (V * count[:, None]).T @ V
    weighted = count * diagonal
    D = V.T @ weighted
    return np.array([
        np.trace(gram), np.sum(gram * gram), np.sum((gram @ gram) * gram), weighted @ diagonal,
        weighted @ diagonal**2, _cubes(V, count), weighted @ np.sum((V @ gram) * V, axis=1), D @ D,
    ])  # fmt: skip


def _cubes(V: NDArray[np.float64], count: NDArray[np.float64]) -> float:
    """Sum of the cubed entries of ``V V'``: by triples of columns or by pairs of rows."""
    n, m = V.shape
    if m * (m + 1) * (m + 2) // 6 <= n:  # each triple once, times the orders it stands for
        total = 0.0
        for i in range(m):
            for j in range(i, m):
                sums = (count * V[:, i] * V[:, j]) @ V[:, j:]
                orders = np.full(m - j, 3.0 if i == j else 6.0)
                orders[0] = 1.0 if i == j else 3.0
                total += float(orders @ sums**2)
        return total
    height = max(1, BLOCK // n)
    rows = (slice(start, start + height) for start in range(0, n, height))
    return float(sum(count[r] @ (V[r] @ V.T) ** 3 @ count for r in rows))


def target_sums(target: Target, factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The eight sums of a target whose columns are multiplied by ``factors``; rows weigh the same.

    Rows of one class are alike, so that classes stand for rows.
    """
    if target.codes is not None and target.group is not None:
        count = np.bincount(target.group, minlength=len(target.codes)).astype(np.float64)
        return low_rank_sums(target.codes * factors, count)
    weight = target.columns[:, 0]
    V = target.columns[:, 1:] / weight[:, None] * factors
    return low_rank_sums(V, weight)


def whitening(target: Target) -> NDArray[np.float64]:
    """What the target columns are multiplied by, so that each contrast of classes counts alike.

    With one indicator column per class, a class would count in proportion to its share; divided by
    the root of its count it does not.  Two classes and numbers have one column, which stays.
    """
    n_columns = target.columns.shape[1] - 1
    if target.classes is None or n_columns != len(target.classes):
        return np.ones(n_columns)
    # Of a centred indicator, sum w v^2 = count (1 - count / total).
    weight = target.columns[:, 0]
    share = np.array([
        weight[target.columns[:, 1 + k] > 0].sum() for k in range(n_columns)
    ])  # fmt: skip
    return 1.0 / np.sqrt(share)

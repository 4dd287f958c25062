r"""Bounds on the number of features that stability selection takes for stable by accident.

A selector that chooses at most :math:`q` of :math:`d` features from every half-sample chooses one
of them with probability :math:`\theta = q / d` on average.  What is bounded is the expected number
of features that are chosen with probability at most :math:`\theta`, and are nevertheless chosen by
a share of at least :math:`\tau` of the :math:`2B` halves.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

ASSUMPTIONS = ("none", "unimodal", "r-concave")
LARGEST_THETA = 1 / math.sqrt(3)  # of the bound for unimodal distributions
ROUNDING = 1e-9  # a threshold of 0.75 of 100 halves means 75 of them
OUTMOST = (1e-15, 1e6)  # shifts between which the extremal distribution is looked for


def expected_false(
    n_features: int, n_columns: int, threshold: float, n_pairs: int, assumption: str = "unimodal"
) -> float:
    r"""Bound on the expected number of features that are stable by accident.

    Parameters
    ----------
    n_features : int
        Features that are chosen from every half, at most: :math:`q`.
    n_columns : int
        Features to choose from: :math:`d`.
    threshold : float
        Share of the halves, above 1/2: :math:`\tau`.
    n_pairs : int
        Complementary pairs of halves: :math:`B`.
    assumption : {"none", "unimodal", "r-concave"}
        On the distribution, over tables, of the share of the pairs of which both halves choose a
        feature; see Notes.

    Returns
    -------
    float
        At most ``n_columns``.

    Notes
    -----
    Shares of halves are multiples of :math:`1/(2B)`, and :math:`\tau` counts as the next one.

    ``"none"``: :math:`q^2 / ((2 \tau - 1) d)`, by Theorem 1 of [shah2013]_; the number is that of
    [meinshausen2010]_.

    ``"unimodal"``: :math:`C q^2 / d` with :math:`C = 1 / (2 (2 \tau - 1 - 1/(2B)))` up to
    :math:`\tau = 3/4` and :math:`C = 4 (1 - \tau + 1/(2B)) / (1 + 1/B)` beyond, Theorem 2 there.
    It is known for :math:`\theta \le 1/\sqrt 3`, :math:`\tau \ge 1/2 + 1/B` and :math:`\tau >
    1/2 + \min(\theta^2, 1/(2B) + 3 \theta^2 / 4)`; elsewhere the first one counts.

    ``"r-concave"``: the smaller of the largest tails of a distribution that is (-1/2)-concave, for
    pairs, and of one that is (-1/4)-concave, for halves; Section 3.3 there, computed.

    References
    ----------
    .. [meinshausen2010] Meinshausen, Buehlmann. Stability selection. JRSS B 72, 2010.
    .. [shah2013] Shah, Samworth. Variable selection with error control: another look at stability
       selection. JRSS B 75, 2013.

    Examples
    --------
    >>> [round(expected_false(7, 100, 0.6, 50, kind), 2) for kind in ASSUMPTIONS]
    [2.45, 1.29, 0.53]
    """
    q, d, B = n_features, n_columns, n_pairs
    halves = math.ceil(2 * B * threshold - ROUNDING)  # that choose the feature
    tau, theta = halves / (2 * B), q / d
    known = [float(d), q**2 / ((2 * tau - 1) * d)]
    if assumption == "unimodal" and _unimodal_holds(tau, theta, B):
        known.append(unimodal_constant(tau, B) * theta * q)
    if assumption == "r-concave":
        known.append(d * largest_tail(theta**2, halves - B, B, -1 / 2))
        known.append(d * largest_tail(theta, halves, 2 * B, -1 / 4))
    return min(known)


def _unimodal_holds(tau: float, theta: float, n_pairs: int) -> bool:
    least = 0.5 + min(theta**2, 1 / (2 * n_pairs) + 0.75 * theta**2)
    on_grid = tau >= 0.5 + 1 / n_pairs - ROUNDING
    return on_grid and theta <= LARGEST_THETA and tau > least


def unimodal_constant(threshold: float, n_pairs: int) -> float:
    """The factor C of the bound for unimodal distributions.

    Examples
    --------
    >>> round(unimodal_constant(0.75, 50), 3), round(unimodal_constant(0.9, 50), 3)
    (1.02, 0.431)
    """
    if threshold <= 0.75:
        return 1 / (2 * (2 * threshold - 1 - 1 / (2 * n_pairs)))
    return 4 * (1 - threshold + 1 / (2 * n_pairs)) / (1 + 1 / n_pairs)


@lru_cache(maxsize=4096)
def largest_tail(mean: float, count: int, n: int, r: float) -> float:
    r"""Largest probability of ``count`` or more among r-concave distributions on 0 to ``n``.

    ``mean`` is the largest mean, as a share of ``n``.  The extremal distributions fall as
    :math:`(a + i)^{1/r}` up to some :math:`k`, have less at :math:`k + 1` and nothing beyond; for
    each :math:`k` the shift :math:`a` that puts most into the tail is looked for.

    Examples
    --------
    >>> largest_tail(0.05, 3, 100, -0.25)
    1.0
    >>> 0 < largest_tail(0.05, 60, 100, -0.25) < 0.01
    True
    """
    m = mean * n
    first = math.ceil(2 * m) + 1  # below, the uniform distribution has too small a mean
    if count < first or first > n:
        return 1.0
    found = 0.0
    shift = _shift_with_mean(m, first, r)
    for k in range(first, n):
        low = _shift_with_mean(m, k + 1, r)
        if k + 1 >= count and low < shift:
            objective = _Tail(m, count, k, r)
            bounds = (math.log(low), math.log(shift))
            best = optimize.minimize_scalar(
                objective, bounds=bounds, method="bounded", options={"xatol": 1e-10}
            )
            found = max(found, -float(best.fun), *(-objective(x) for x in bounds))
        shift = low
    return min(found, 1.0)


def _falling(shift: float, k: int, r: float) -> NDArray[np.float64]:
    """The weights of 0 to ``k``, the first 1."""
    return (1 + np.arange(k + 1) / shift) ** (1 / r)


def _shift_with_mean(mean: float, k: int, r: float) -> float:
    """The shift at which the falling distribution on 0 to ``k`` has this mean."""

    def excess(log_shift: float) -> float:
        weights = _falling(math.exp(log_shift), k, r)
        return float(np.arange(k + 1) @ weights / weights.sum()) - mean

    return math.exp(optimize.brentq(excess, *map(math.log, OUTMOST), xtol=1e-12))


class _Tail:
    """Minus the probability of the tail, by the logarithm of the shift."""

    def __init__(self, mean: float, count: int, k: int, r: float) -> None:
        self.mean, self.count, self.k, self.r = mean, count, k, r

    def __call__(self, log_shift: float) -> float:
        weights = _falling(math.exp(log_shift), self.k, self.r)
        # What is missing to the mean stands at k + 1, and all is divided by the sum.
        whole = (self.k + 1 - np.arange(self.k + 1)) @ weights
        return (self.k + 1 - self.mean) * float(weights[: self.count].sum() / whole) - 1.0

r"""Generalized lp-KTA [jawanpuria2014]: the problem, its thresholds and its exact path.

.. math:: \min_{\eta \ge 0} \lambda_1 \sum_i B_F(\eta_i) + \lambda_2 \sum_i \eta_i^p
          - \sum_i \eta_i a_i \qquad (1)

The weight of a feature increases with its score :math:`b_i = a_i + \lambda_1 F'(x_{0i})` and
depends on nothing else.  So a feature is selected at ``p`` iff its score exceeds

.. math:: \theta(p) = \lambda_1 F'(\epsilon) + \lambda_2 p\, \epsilon^{p-1},

and leaves at the juncture point where equality holds, a Lambert-W expression.  All supports
follow from one sort of the scores; only the weights need a solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

from kernelpath.tracers.lp_kta.divergences import Divergence, SquaredEuclidean, bregman
from kernelpath.tracers.lp_kta.weights import euclidean_weights, solve_weights
from kernelpath.utils.probes import is_own, not_nan, refused
from kernelpath.utils.progress import begin

INVERSE_E = float(np.exp(-1.0))
LARGEST_RESIDUAL = 1e-4  # relative, of a divergence of the user's own; more is no solution
SMALLEST = np.finfo(np.float64).tiny  # weights below have lost digits


@dataclass(frozen=True)
class PNormProblem:
    """Problem (1) for every ``p``.

    Parameters
    ----------
    alignments : ndarray of shape (n_features,)
    usable : ndarray of bool
        Features that are not constant; the others never enter.
    bregman_strength, norm_strength : float
        lambda_1 and lambda_2.
    divergence : Divergence
    reference : ndarray of shape (n_features,)
        x_0.
    elimination_tol : float
        epsilon: a feature is selected iff its weight exceeds it.
    kept : ndarray of bool, optional
        Features that are selected whatever their weight: none of them is ever eliminated.
    """

    alignments: NDArray[np.float64]
    usable: NDArray[np.bool_]
    bregman_strength: float
    norm_strength: float
    divergence: Divergence
    reference: NDArray[np.float64]
    elimination_tol: float
    kept: NDArray[np.bool_] | None = None

    @property
    def n_features(self) -> int:
        """Number of features, usable or not."""
        return len(self.alignments)

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """``b_i``; minus infinity for constant columns."""
        scores = self.alignments.copy()
        if self.bregman_strength > 0:
            scores += self.bregman_strength * self._slope(self.reference)
        scores[~self.usable] = -np.inf
        return scores

    @cached_property
    def log_scores(self) -> NDArray[np.float64]:
        """Logarithms of the scores, where they are positive."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(self.scores)

    @cached_property
    def n_kept(self) -> int:
        """Number of features that are never eliminated."""
        return 0 if self.kept is None else int(self.kept.sum())

    @cached_property
    def n_selectable(self) -> int:
        """Number of features that can be selected: those that are not constant, and the kept."""
        return int((self.usable if self.kept is None else self.usable | self.kept).sum())

    @cached_property
    def ranking(self) -> NDArray[np.intp]:
        """Features by decreasing score, kept ones first, ties by column order, constant last."""
        if self.kept is None:
            return np.argsort(-self.scores, kind="stable")
        return np.lexsort((-self.scores, ~self.kept))

    @cached_property
    def ranked_scores(self) -> NDArray[np.float64]:
        """Scores in the order of the ranking."""
        return self.scores[self.ranking]

    @property
    def scores_at_stake(self) -> NDArray[np.float64]:
        """Scores of the features that may be eliminated, in increasing order."""
        return self.ranked_scores[self.n_kept :][::-1]

    @cached_property
    def ties(self) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]] | None:
        """Distinct positive scores, where each feature stands among them, and how many share one.

        None unless ties are many, as with columns of zeros and ones.
        """
        distinct, place, counts = np.unique(
            np.maximum(self.scores, 0.0), return_inverse=True, return_counts=True
        )
        return (distinct, place, counts) if len(distinct) * 4 <= self.n_features else None

    @cached_property
    def scale(self) -> float:
        """Largest alignment: residuals are stated relative to it."""
        return float(self.alignments.max(initial=0.0)) or 1.0

    def threshold(self, p: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Score above which a feature is selected at ``p``."""
        p = np.asarray(p, dtype=np.float64)
        eps = self.elimination_tol
        base = 0.0
        if self.bregman_strength > 0:
            base = self.bregman_strength * float(self._slope(np.asarray(eps)))
        return base + self.norm_strength * p * eps ** (p - 1.0)

    def support_sizes(self, p: NDArray[np.float64]) -> NDArray[np.int64]:
        """Number of selected features at each ``p``: one search in the sorted scores."""
        below = np.searchsorted(self.scores_at_stake, self.threshold(p), side="right")
        return (self.n_features - below).astype(np.int64)

    def kept_below(self, threshold: float) -> NDArray[np.intp]:
        """Features that only stay because they are kept."""
        if self.kept is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(self.kept & (self.scores <= threshold))

    def juncture(self, scores: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        r"""``p`` at which the weight of each feature falls to the tolerance.

        :math:`p\,\epsilon^{p-1} = c` with ``c`` the part of the score that the norm term must
        balance gives :math:`p = W_{-1}(c\,\epsilon \ln \epsilon) / \ln \epsilon`.  Infinity:
        below the tolerance at every ``p``; 0: above it down to ``p = 1``, or kept.
        """
        if scores is None:
            junctures = self.juncture(self.scores)
            if self.kept is not None:
                junctures[self.kept] = 0.0
            return junctures
        if self.norm_strength == 0:
            return np.where(scores > self.threshold(1.0), 0.0, np.inf)
        eps = self.elimination_tol
        rest = (scores - (self.threshold(1.0) - self.norm_strength)) / self.norm_strength
        junctures = np.full(scores.shape, np.inf)
        junctures[rest > 1.0] = 0.0
        inner = (rest > 0) & (rest <= 1.0)
        argument = np.maximum(rest[inner] * eps * np.log(eps), -INVERSE_E)
        junctures[inner] = np.maximum(lambertw(argument, k=-1).real / np.log(eps), 1.0)
        return junctures

    def bounded(self, p: float) -> bool:
        """Whether the problem has a solution at ``p``: not without Bregman term at ``p = 1``."""
        if self.bregman_strength > 0 or p > 1.0:
            return True
        return bool(self.scores.max(initial=-np.inf) <= self.norm_strength)

    def weights(self, p: float, features: NDArray[np.integer]) -> NDArray[np.float64]:
        """Optimal weights of some features at ``p``."""
        scores = self.scores[features]
        if not self.is_euclidean or (p == 1.0 and self.bregman_strength == 0):
            args = (self.bregman_strength, self.norm_strength, self.divergence)
            return solve_weights(scores, p, *args)
        if p == 1.0:  # closed form
            rest = np.maximum(scores - self.norm_strength, 0.0)
            return rest / (2.0 * self.bregman_strength)
        weights, positive = np.zeros(len(scores)), scores > 0
        some = scores[positive]
        found, places = np.empty(len(some)), np.empty(len(some), dtype=np.int32)
        own = (p, self.bregman_strength, self.norm_strength)
        euclidean_weights(some, np.log(some), 0.0, *own, places, found)
        weights[positive] = found
        return weights

    @property
    def is_euclidean(self) -> bool:
        """Whether the divergence is the squared distance; that of a subclass may be another."""
        return type(self.divergence) is SquaredEuclidean

    def residual(
        self, p: float, features: NDArray[np.integer], weights: NDArray[np.float64]
    ) -> float:
        """Largest violation of Eq. (5) over the features, relative to the largest alignment.

        A weight of 0, or too small to be a number with all its digits, cannot tell.
        """
        positive = weights >= SMALLEST
        eta, scores = weights[positive], self.scores[features[positive]]
        if len(eta) == 0:
            return 0.0
        gradient = self.norm_strength * p * eta ** (p - 1.0) - scores
        if self.bregman_strength > 0:
            gradient = gradient + self.bregman_strength * self._slope(eta)
        residual = float(np.abs(gradient).max() / self.scale)
        if residual > LARGEST_RESIDUAL and is_own(self.divergence):
            raise refused(
                self.divergence, "derivative",
                f"leaves a residual of {residual:.1e} at p = {p:g}, where the weights should solve "
                "F'(x) + ... = score: it must grow with x.",
            )  # fmt: skip
        return residual

    def _slope(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """``F'(x)``, which must be a number."""
        return not_nan(self.divergence, "derivative", self.divergence.derivative(x))

    def objective(
        self,
        p: float,
        features: NDArray[np.integer],
        weights: NDArray[np.float64],
        norm: float | None = None,
    ) -> float:
        """Objective (1) with the given features at their weights and all others at 0.

        ``norm`` is the sum of the ``p``-th powers, where a solver has it already.
        """
        norm = float(np.sum(weights**p)) if norm is None else norm
        value = self.norm_strength * norm
        value -= float(weights @ self.alignments[features])
        if self.bregman_strength > 0:
            kept = bregman(self.divergence, weights, self.reference[features])
            not_nan(self.divergence, "generator", kept)
            at_zero = self._divergence_at_zero - self._zero_cost[features].sum()
            value += self.bregman_strength * float(kept.sum() + at_zero)
        return value

    @cached_property
    def _zero_cost(self) -> NDArray[np.float64]:
        """Divergence of a weight of 0, per feature."""
        return bregman(self.divergence, np.zeros(self.n_features), self.reference)

    @cached_property
    def _divergence_at_zero(self) -> float:
        return float(self._zero_cost.sum())

    def elimination_gap(self, p: float, n_selected: int) -> float:
        r"""Bound on the objective lost by setting weights at or below the tolerance to 0.

        Lemma 1: a feature with optimal weight :math:`\eta \le \epsilon` loses
        :math:`\lambda_1 \eta^2 + \lambda_2 (p - 1) \eta^p`; with another divergence
        :math:`F(0) - F(\eta) + \eta F'(\eta)` takes the place of :math:`\eta^2`.  The paper
        bounds every :math:`\eta` by :math:`\epsilon`; features that are kept have their optimal
        weight and lose nothing.  Here features are first counted in levels
        of :math:`\eta`, whose scores are known in closed form, and the top of each level bounds
        its features.  The last level reaches down to 0, where nothing is lost.
        """
        levels = self.elimination_tol * 10.0 ** -np.arange(0.0, 12.0, 0.25)
        loss = self.norm_strength * (p - 1.0) * levels**p
        scores = self.norm_strength * p * levels ** (p - 1.0)
        floor = self.norm_strength if p == 1.0 else 0.0
        if self.bregman_strength > 0:
            slope = self._slope(levels)
            generator = self.divergence.generator(levels)
            distance = float(self.divergence.generator(0.0)) - generator + levels * slope
            loss = loss + self.bregman_strength * distance
            scores = scores + self.bregman_strength * slope
            floor += self.bregman_strength * float(self.divergence.derivative(0.0))
        ascending = self.scores_at_stake
        lower = np.append(scores[1:], floor)
        below = np.searchsorted(ascending, np.append(scores[:1], lower), side="right")
        counts = np.maximum(below[:-1] - below[1:], 0)
        # At a juncture point rounding may put the leaving feature above the first level.
        uncounted = max(self.n_features - below[-1] - n_selected - counts.sum(), 0)
        return float(counts @ loss + uncounted * loss[0])


@dataclass(frozen=True)
class TracedWeights:
    """Weights along the path in CSR form, with what certifies them."""

    indptr: NDArray[np.integer]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    kkt: NDArray[np.float64]
    values: NDArray[np.float64]


def trace_exact(problem: PNormProblem, parameters: NDArray[np.float64]) -> TracedWeights:
    """Weights at every ``p`` of the grid, each solved to rounding."""
    sizes = problem.support_sizes(parameters)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)  # SciPy wants one type; int64 indices would be a copy
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1])
    kkt = np.zeros(len(parameters))
    values = np.zeros(len(parameters))
    update = begin("path")
    for i, p in enumerate(parameters):
        update(i, len(parameters))
        part = slice(indptr[i], indptr[i + 1])
        kkt[i], norm = _fill(problem, float(p), indices[part], data[part])
        values[i] = problem.objective(float(p), indices[part], data[part], norm)
    return TracedWeights(indptr, indices, data, kkt, values)


def _fill(
    problem: PNormProblem, p: float, indices: NDArray[np.int32], data: NDArray[np.float64]
) -> tuple[float, float | None]:
    """Support and weights at one ``p``, in place; returns the KKT residual and the norm term."""
    threshold = float(problem.threshold(p))
    low = problem.kept_below(threshold)
    if len(low) == 0:
        return _fill_above(problem, threshold, p, indices, data)
    n_above = len(indices) - len(low)
    above, weights = np.empty(n_above, dtype=np.int32), np.empty(n_above)
    residual, norm = _fill_above(problem, threshold, p, above, weights)
    of_low = problem.weights(p, low)
    order = np.argsort(np.concatenate([above, low]))
    indices[:] = np.concatenate([above, low])[order]
    data[:] = np.concatenate([weights, of_low])[order]
    norm = None if norm is None else norm + float(np.sum(of_low**p))
    return max(residual, problem.residual(p, low, of_low)), norm


def _fill_above(
    problem: PNormProblem,
    threshold: float,
    p: float,
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> tuple[float, float | None]:
    """The same for the features whose score is above the threshold."""
    if problem.is_euclidean and p > 1.0 and threshold > 0:
        if problem.ties is not None:
            return _fill_tied(problem, threshold, p, indices, data)
        residual, norm = euclidean_weights(
            problem.scores,
            problem.log_scores,
            threshold,
            p,
            problem.bregman_strength,
            problem.norm_strength,
            indices,
            data,
        )
        return residual / problem.scale, norm
    indices[:] = np.flatnonzero(problem.scores > threshold)
    data[:] = problem.weights(p, indices)
    return problem.residual(p, indices, data), None


def _fill_tied(
    problem: PNormProblem,
    threshold: float,
    p: float,
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> tuple[float, float]:
    """As :func:`_fill_above`, with one solve for all features of the same score."""
    assert problem.ties is not None
    distinct, place, counts = problem.ties
    first = int(np.searchsorted(distinct, threshold, side="right"))
    above = distinct[first:]
    weights = np.empty(len(above))
    residual, _ = euclidean_weights(
        above, np.log(above), threshold, p, problem.bregman_strength, problem.norm_strength,
        np.empty(len(above), dtype=np.int32), weights,
    )  # fmt: skip
    indices[:] = np.flatnonzero(problem.scores > threshold)
    data[:] = weights[place[indices] - first]
    return residual / problem.scale, float(counts[first:] @ weights**p)

r"""From the weights of a relaxed budget to a choice of features.

:math:`\omega(S)` is the objective of the machine on the chosen features, each with weight 1.  The
published rule takes the features of the largest quadratic forms :math:`\tau_i` (Algorithms 1 and 2
of [yang2015]), but all features with a weight between 0 and 1 have the same one, Corollary 1: among
them it follows the rounding errors of the solver.  Weights tell them apart, and exchanges on
:math:`\omega` itself improve on both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpath.problem import Evaluation, Evaluator

RULES = ("swap", "weights", "paper")
WHOLE = 1e-6  # a weight as close as that to 0 or 1 is that
BETTER = 1e-6  # relative: a smaller gain is none
MOST_PAIRS = 200  # exchanges that are tried before a choice counts as the best
MOST_EXCHANGES = 200


@dataclass(frozen=True, eq=False)
class Choice:
    """Chosen features and the machine on them.

    Attributes
    ----------
    members : ndarray of int
        Positions of the chosen features, increasing.
    at : Evaluation
        The machine; ``at.upper`` is its objective from above.
    """

    members: NDArray[np.intp]
    at: Evaluation


class Rounder:
    """Rounds relaxed weights for one kernel, and keeps the machines that it has solved.

    Parameters
    ----------
    evaluate : Evaluator
        Of the problem; budgets do not matter to it.
    fixed : sequence of int
        Features that are in every choice.
    tol : float
        Precision of the machines.
    """

    def __init__(self, evaluate: Evaluator, fixed: tuple[int, ...], tol: float) -> None:
        self._evaluate, self._fixed, self._tol = evaluate, fixed, tol
        self._known: dict[bytes, Choice] = {}

    def choose(
        self,
        rule: str,
        weights: NDArray[np.float64],
        quad: NDArray[np.float64],
        size: int,
        before: NDArray[np.intp] | None = None,
    ) -> Choice:
        """Choose so many features by a rule; ``before`` are those of a smaller budget."""
        if rule == "paper":
            return self.machine(self._first(quad, size))
        plain = self.machine(self._first(_by_weight(weights, quad), size))
        if rule == "weights":
            return plain
        candidates = [plain, self.machine(self._first(quad, size))]
        if before is not None and len(before) < size:
            candidates.append(self.machine(self._grown(before, quad, size)))
        best = min(candidates, key=lambda one: one.at.upper)
        return self._exchange(best, weights)

    def machine(self, members: NDArray[np.intp]) -> Choice:
        """The machine on some features."""
        members = np.sort(members)
        key = members.tobytes()
        if key not in self._known:
            kernel = self._evaluate.problem.kernel
            d = np.zeros(kernel.n_kernels)
            d[members] = 1.0
            self._known[key] = Choice(members, self._evaluate(d, self._tol))
        return self._known[key]

    def forget(self) -> None:
        """Let go of the machines of one budget."""
        self._known.clear()

    def _first(self, score: NDArray[np.float64], size: int) -> NDArray[np.intp]:
        """Features of the largest scores, the fixed ones before all others."""
        score = score.copy()
        score[list(self._fixed)] = np.inf
        return np.argsort(-score, kind="stable")[:size]

    def _grown(
        self, before: NDArray[np.intp], quad: NDArray[np.float64], size: int
    ) -> NDArray[np.intp]:
        score = quad.copy()
        score[before] = np.inf
        return np.argsort(-score, kind="stable")[:size]

    def _exchange(self, best: Choice, weights: NDArray[np.float64]) -> Choice:
        """Exchange one feature for another as long as that lowers the objective."""
        kernel = self._evaluate.problem.kernel
        for _ in range(MOST_EXCHANGES):
            quad = kernel.grad_quad(best.at.weights, best.at.U)
            better = self._better(best, _pairs(best.members, quad, weights, self._fixed))
            if better is None:
                return best
            best = better
        return best

    def _better(self, best: Choice, pairs: list[tuple[int, int]]) -> Choice | None:
        for leaves, enters in pairs[:MOST_PAIRS]:
            members = np.where(best.members == leaves, enters, best.members)
            trial = self.machine(members)
            if trial.at.upper < best.at.upper * (1.0 - BETTER):
                return trial
        return None


def _by_weight(weights: NDArray[np.float64], quad: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks by weight, and by the quadratic form among equals."""
    rounded = np.where(weights > 1.0 - WHOLE, 1.0, np.where(weights < WHOLE, 0.0, weights))
    order = np.lexsort([quad, rounded])
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    return ranks


def _pairs(
    members: NDArray[np.intp],
    quad: NDArray[np.float64],
    weights: NDArray[np.float64],
    fixed: tuple[int, ...],
) -> list[tuple[int, int]]:
    """Exchanges of features that the relaxation leaves open, the most promising first.

    What has the relaxed weight 1 stays, and what has 0 does not enter.  To first order a feature
    that enters is worth half its quadratic form, and one that leaves costs as much.
    """
    inside = np.setdiff1d(members, np.array(fixed, dtype=np.intp))
    outside = np.setdiff1d(np.arange(len(quad)), members)
    leaving = inside[weights[inside] < 1.0 - WHOLE]
    entering = outside[weights[outside] > WHOLE]
    few = int(np.ceil(np.sqrt(2 * MOST_PAIRS)))
    leaving = leaving[np.argsort(quad[leaving], kind="stable")[:few]]
    entering = entering[np.argsort(-quad[entering], kind="stable")[:few]]
    pairs = [(int(leaves), int(enters)) for leaves in leaving for enters in entering]
    return sorted(pairs, key=lambda pair: quad[pair[0]] - quad[pair[1]])

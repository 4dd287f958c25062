r"""From the weights of a relaxed budget to a choice of features.

:math:`\omega(S)` is the objective of the machine on the chosen features, each with weight 1.  The
published rule takes the features of the largest quadratic forms :math:`\tau_i` (Algorithms 1 and 2
of [yang2015]).  At the exact optimum all features with a weight between 0 and 1 have the same one,
Corollary 1.  But the paper's program with quadratic constraints is one for interior point methods,
and these stop on the central path, where

.. math:: p_i\, (\lambda + \gamma_i - \tau_i) = \mu, \qquad (1 - p_i)\, \gamma_i = \mu,

so that :math:`\tau_i = \lambda + \mu / (1 - p_i) - \mu / p_i` grows with the weight :math:`p_i`.
To rank by :math:`\tau_i` as published is to rank by weight, whatever solver found the weights.
Exchanges on :math:`\omega` itself improve on that.

Exchanges look at the rows at hand only, and a feature of chance fits these a little.  Where the
relaxation prefers another one by far, a feature has to pull at the machine by more than chance:
for one without any relation to the target :math:`u^\top K_k u` is :math:`\|u\|^2` in the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.problem import PointSolver, Problem, ProblemPoint
from kernelpath.mkl.solvers.curvature import curvature_root
from kernelpath.mkl.weighted_kernels.base import SumKernel

RULES = ("swap", "weights", "paper")
WHOLE = 1e-6  # a weight as close as that to 0 or 1 is that
BETTER = 1e-6  # relative: a smaller gain is none
MOST_PAIRS = 50  # exchanges that are tried before a choice counts as the best
LEAST_PAIRS = 10
HOPELESS = 0.05  # of the objective: beyond these, none that is to raise it by more
MOST_EXCHANGES = 200
SHARPEN = 4  # times that the machine of a choice is made more exact
BY_FAR = 2 / 3  # of the relaxed weight of another feature: less is much less
CHANCE = 16.0  # times the mean quadratic form of a feature of chance: four standard deviations
LEAST_RIDGE = 1e-6  # of the mean diagonal: a loss without a ridge gets as much
MOST_SHARE = 1.0 - 1e-9  # of its own part that a kernel can explain
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Selection:
    """Chosen features and the machine on them.

    Attributes
    ----------
    members : ndarray of int
        Positions of the chosen features, increasing.
    at : ProblemPoint
        The machine; ``at.upper`` is its objective from above.
    """

    members: NDArray[np.intp]
    at: ProblemPoint


class Rounder:
    """Rounds relaxed weights for one kernel, and keeps the machines that it has solved.

    Parameters
    ----------
    evaluate : PointSolver
        Of the problem; budgets do not matter to it.
    fixed : sequence of int
        Features that are in every choice.
    tol : float
        Precision of the machines.
    """

    def __init__(self, evaluate: PointSolver, fixed: tuple[int, ...], tol: float) -> None:
        self._evaluate, self._fixed, self._tol = evaluate, fixed, tol
        self._known: dict[bytes, Selection] = {}

    def choose(
        self,
        rule: str,
        weights: NDArray[np.float64],
        quad: NDArray[np.float64],
        size: int,
        before: NDArray[np.intp] | None = None,
    ) -> Selection:
        """Choose so many features by a rule; ``before`` are those of a smaller budget."""
        plain = self.machine(self._first(_by_weight(weights, quad), size))
        if rule in ("weights", "paper"):  # the same: see above
            return plain
        starts = [self._first(quad, size)]
        if before is not None and len(before) < size:
            starts.append(self._grown(before, quad, size))
        best = plain
        for members in starts:
            other = self.machine(members)
            if self._is_better(other, best, weights):
                best = other
        return self._exchange(best, weights)

    def machine(self, members: NDArray[np.intp]) -> Selection:
        """The machine on some features."""
        members = np.sort(members)
        key = members.tobytes()
        if key not in self._known:
            kernel = self._evaluate.problem.kernel
            d = np.zeros(kernel.n_kernels)
            d[members] = 1.0
            self._known[key] = Selection(members, self._evaluate(d, self._tol))
        return self._known[key]

    def sharpened(self, choice: Selection, gap: float) -> Selection:
        """The same features with a machine whose own gap, relative, is no more than given."""
        tol, at = self._tol, choice.at
        for _ in range(SHARPEN):
            if at.upper - at.value <= gap * at.upper:
                break
            tol *= 0.1
            at = self._evaluate(at.weights, tol)
        return Selection(choice.members, at)

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

    def _exchange(self, best: Selection, weights: NDArray[np.float64]) -> Selection:
        """Exchange one feature for another as long as that lowers the objective."""
        for _ in range(MOST_EXCHANGES):
            better = self._exchanged(best, weights)
            if better is None:
                return best
            best = better
        return best

    def _exchanged(self, best: Selection, weights: NDArray[np.float64]) -> Selection | None:
        """The first exchange that makes a choice better, the most promising tried first."""
        leaving, entering = self._open(best.members, weights)
        if len(leaving) == 0 or len(entering) == 0:
            return None
        change = predicted_changes(self._evaluate.problem, best.at, leaving, entering)
        order = np.argsort(change, axis=None, kind="stable")[:MOST_PAIRS]
        hopeful = int((change.flat[order] < HOPELESS * best.at.upper).sum())
        order = order[: max(hopeful, LEAST_PAIRS)]
        for out, into in zip(*np.unravel_index(order, change.shape)):
            members = np.where(best.members == leaving[out], entering[into], best.members)
            trial = self.machine(members)
            if self._is_better(trial, best, weights):
                return trial
        return None

    def _open(
        self, members: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Features that may leave and enter: what has the relaxed weight 1 stays, and 0 is out."""
        inside = np.zeros(len(weights), dtype=bool)
        inside[members] = True
        leaving = inside & (weights < 1.0 - WHOLE)
        leaving[list(self._fixed)] = False
        return np.flatnonzero(leaving), np.flatnonzero(~inside & (weights > WHOLE))

    def _is_better(self, trial: Selection, best: Selection, weights: NDArray[np.float64]) -> bool:
        """Whether a choice has the smaller objective, and not by features of chance."""
        if trial.at.upper >= best.at.upper * (1.0 - BETTER):
            return False
        entering = np.setdiff1d(trial.members, best.members)
        leaving = np.setdiff1d(best.members, trial.members)
        doubtful = entering[weights[entering] < BY_FAR * weights[leaving].max()]
        rest = np.intersect1d(trial.members, best.members)
        if len(doubtful) == 0 or len(rest) == 0:
            return True
        at = self.machine(rest).at
        quad = self._evaluate.problem.kernel.grad_quad(at.weights, at.U)
        return bool(quad[doubtful].min() > CHANCE * np.square(at.U).sum())


def _by_weight(weights: NDArray[np.float64], quad: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks by weight, and by the quadratic form among equals."""
    rounded = np.where(weights > 1.0 - WHOLE, 1.0, np.where(weights < WHOLE, 0.0, weights))
    order = np.lexsort([quad, rounded])
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    return ranks


# -- what exchanges would do, without a machine ----------------------------------------------------


def predicted_changes(
    problem: Problem, at: ProblemPoint, leaving: NDArray[np.intp], entering: NDArray[np.intp]
) -> NDArray[np.float64]:
    r"""Changes of the objective for every kernel that leaves (rows) and enters (columns).

    The weights of those that leave are 1, and become 0; those that enter get the weight 1.

    On the rows ``V`` between their bounds the dual vector solves linear equations, and a kernel of
    rank one, :math:`z_k z_k^\top`, that enters or leaves is an update of rank one.  With
    :math:`s_k = z_k^\top u` and :math:`G_{kl} = z_k^\top A z_l`, ``A`` as in `curvature`, the
    objective changes by

    .. math:: -\tfrac12\, s^\top (\Delta^{-1} + G)^{-1} s, \qquad \Delta = \mathrm{diag}(\pm 1),

    which is exact as long as the rows between their bounds stay the same.  Other kernels count as
    :math:`z_k = K_k u / (u^\top K_k u)^{1/2}`, the part of them that the machine feels.
    """
    kernel, K = cast(SumKernel, problem.kernel), problem.gram(at.weights)
    least = LEAST_RIDGE * float(K.trace()) / kernel.n_rows
    parts, n = np.concatenate([leaving, entering]), len(leaving)
    change = np.zeros((n, len(entering)))
    for dual, one in zip(problem.duals, at.solutions):
        images = kernel.times(parts, one.u)
        s = np.sqrt(np.maximum(one.u @ images, TINY))
        G = np.zeros((len(parts), len(parts)))
        rows = dual.between(one.u)
        if len(rows) > 1:
            Z = curvature_root(K, rows, max(dual.ridge, least), images[rows] / s)
            G = Z.T @ Z
        own = np.diag(G)
        out, into, mixed = np.minimum(own[:n], MOST_SHARE)[:, None] - 1.0, own[n:] + 1.0, G[:n, n:]
        left, right = s[:n, None], s[n:]
        top = into * left**2 - 2.0 * mixed * left * right + out * right**2
        change -= 0.5 * top / (out * into - mixed**2)
    return change

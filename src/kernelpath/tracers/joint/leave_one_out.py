"""Choosing features by the loss of rows that are left out: the questions a search asks.

Sets of features are sequences of positions in the kernel.  The scale of the kernel and the ridge
are chosen by the loss, for every set anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpath.tracers.joint.held_out import HeldOut, Matrix
from kernelpath.tracers.joint.kernels import Features, JointKernel

RIDGES = np.array([1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0])
BETTER = 1e-7  # relative: a loss that is lower by less is the same
DIGITS = 9  # of scores: beyond, they are the same
GOOD = 1.02  # losses up to so many times the best are good
SHORT = 5  # candidates by gradient that are tried first


@dataclass(frozen=True)
class Setting:
    """Scale of the kernel and ridge, the latter in units of its mean diagonal, and their loss."""

    scale: float
    ridge: float
    loss: float


@dataclass(frozen=True)
class Exchange:
    """A feature of the head that another one took the place of, and the loss after it."""

    out: int
    into: int
    loss: float


@dataclass(frozen=True)
class Exchanged:
    """A head that no single exchange with the pool improves.

    Attributes
    ----------
    head, pool : list of int
    setting : Setting
    exchanges : list of Exchange
    n_checked : int
        Exchanges that were tried at the end; none of them lowers the loss at this setting.
    """

    head: list[int]
    pool: list[int]
    setting: Setting
    exchanges: list[Exchange]
    n_checked: int


class LeaveOneOut:
    """The loss of rows that are left out, as a function of the features in a joint kernel.

    Parameters
    ----------
    kernel : JointKernel
    target : HeldOut

    Examples
    --------
    >>> from kernelpath.tracers.joint.columns import JointColumns
    >>> from kernelpath.tracers.joint.kernels import JointRBF
    >>> Z = np.random.default_rng(0).normal(size=(80, 5))
    >>> kernel = JointRBF(JointColumns(Z, np.arange(6), np.arange(5)))
    >>> problem = LeaveOneOut(kernel, HeldOut(np.sign(Z[:, [1]] * Z[:, [4]]), True))
    >>> int(problem.removal_losses([1, 2, 4], problem.tune([1, 2, 4])).argmin())
    1
    >>> problem.exchange([1, 2], [0, 3, 4]).head
    [1, 4]
    """

    def __init__(self, kernel: JointKernel, target: HeldOut) -> None:
        self.kernel, self.target = kernel, target
        self.n_solved = 0
        self._known: dict[tuple[int, ...], Setting] = {}

    # -- losses -----------------------------------------------------------------------------------

    def _loss(self, K: Matrix, ridge: float) -> float:
        self.n_solved += 1
        return self.target.loss(K, ridge * float(K.trace()) / len(K))

    def loss(self, features: Features, scale: float, ridge: float) -> float:
        """Loss of some features."""
        return self._loss(self.kernel.matrix(features, scale), ridge)

    def tune(
        self, features: Features, start: Setting | None = None, exact: bool = False
    ) -> Setting:
        """Scale and ridge with the least loss: of all, or by steps downhill from ``start``.

        With ``exact`` the loss of ``start`` is that of these features.
        """
        key = tuple(sorted(features))
        if key not in self._known:
            self._known[key] = (
                self._best_of_all(features)
                if start is None
                else self._downhill(features, start, exact)
            )
        return self._known[key]

    def _best_of_all(self, features: Features) -> Setting:
        best = Setting(np.nan, np.nan, np.inf)
        for scale in self.kernel.scales:
            K = self.kernel.matrix(features, scale)
            losses = self.target.losses(K, RIDGES * float(K.trace()) / len(K))
            at = int(rounded(losses).argmin())
            if losses[at] < best.loss * (1.0 - BETTER):
                best = Setting(scale, float(RIDGES[at]), float(losses[at]))
        return best

    def _downhill(self, features: Features, start: Setting, exact: bool) -> Setting:
        scales = self.kernel.scales
        here = (scales.index(start.scale), int(np.searchsorted(RIDGES, start.ridge)))
        known: dict[tuple[int, int], float] = {here: start.loss} if exact else {}

        def loss(at: tuple[int, int]) -> float:
            if at not in known:
                known[at] = self.loss(features, scales[at[0]], float(RIDGES[at[1]]))
            return known[at]

        while True:
            i, j = here
            near = [(i, j - 1), (i, j + 1), (i - 1, j), (i + 1, j)]
            inside = [(a, b) for a, b in near if 0 <= a < len(scales) and 0 <= b < len(RIDGES)]
            best = min(inside, key=loss)
            if not loss(best) < loss(here) * (1.0 - BETTER):
                return Setting(scales[i], float(RIDGES[j]), loss(here))
            here = best

    def removal_losses(self, features: Features, setting: Setting) -> NDArray[np.float64]:
        """Loss without each of the features, exactly."""
        matrices = self.kernel.without_each(features, setting.scale)
        return np.array([self._loss(K, setting.ridge) for K in matrices])

    def entry_losses(
        self, features: Features, setting: Setting, others: Features
    ) -> NDArray[np.float64]:
        """Loss with each of ``others`` beside the features, exactly."""
        matrices = self.kernel.with_each(features, setting.scale, others)
        return np.array([self._loss(K, setting.ridge) for K in matrices])

    # -- gradients --------------------------------------------------------------------------------

    def descents(
        self, features: Features, setting: Setting, others: Features
    ) -> NDArray[np.float64]:
        """How fast the loss falls in the weight of one more factor of each of ``others``."""
        K = self.kernel.matrix(features, setting.scale)
        gradient = self.target.gradient(K, setting.ridge * float(K.trace()) / len(K))[1]
        self.n_solved += 1
        return self.kernel.descents(features, setting.scale, gradient, others)

    def scores(self, features: Features, setting: Setting) -> NDArray[np.float64]:
        """What each of the features does for the loss, by the gradient: all at once."""
        found = np.zeros(len(features))
        for node in self.kernel.nodes:
            part = Setting(node * setting.scale, setting.ridge, setting.loss)
            found += self.descents(features, part, features)
        return found

    # -- changes of a set -------------------------------------------------------------------------

    def exchange(
        self, head: Features, pool: Features, fixed: Features = (), setting: Setting | None = None
    ) -> Exchanged:
        """Swap features of the head with features of the pool while the loss falls.

        The feature that is missed least is the first to go.  Candidates that the gradient favours
        are tried first; at the end all of them are.

        Parameters
        ----------
        head, pool : sequence of int
        fixed : sequence of int
            Of the head, never swapped.
        setting : Setting, optional
            To begin with.
        """
        head, pool = list(map(int, head)), sorted(set(map(int, pool)) - set(map(int, head)))
        setting = self.tune(head, setting)
        done: list[Exchange] = []
        known: dict[tuple[int, int], float] = {}  # losses after exchanges, of this head
        most: int | None = SHORT
        while True:
            swap = self._lower(head, pool, set(fixed), setting, most, known)
            if swap is not None:
                head[head.index(swap.out)] = swap.into
                pool = sorted({*pool, swap.out} - {swap.into})
                setting = self.tune(head, replace(setting, loss=swap.loss), exact=True)
                done.append(Exchange(swap.out, swap.into, setting.loss))
                known, most = {}, SHORT
            elif most is None:
                return Exchanged(head, pool, setting, done, len(known))
            else:
                most = None

    def _lower(
        self,
        head: list[int],
        pool: list[int],
        fixed: set[int],
        setting: Setting,
        most: int | None,
        known: dict[tuple[int, int], float],
    ) -> Exchange | None:
        """The best exchange of the feature of the head that is missed least among those with one.

        With ``most`` only so many candidates are tried, by the gradient.
        """
        losses = rounded(self.removal_losses(head, setting))
        for i in np.argsort(losses, kind="stable").tolist():
            if head[i] in fixed or not pool:
                continue
            others = [*head[:i], *head[i + 1 :]]
            wanted = pool
            if most is not None and most < len(pool):
                slopes = rounded(self.descents(others, setting, pool))
                wanted = [pool[at] for at in np.argsort(-slopes, kind="stable")[:most]]
            fresh = [j for j in wanted if (head[i], j) not in known]
            found = self.entry_losses(others, setting, fresh).tolist()
            known.update({(head[i], j): loss for j, loss in zip(fresh, found)})
            after = np.array([known[head[i], j] for j in wanted])
            best = int(rounded(after).argmin())
            if after[best] < setting.loss * (1.0 - BETTER):
                return Exchange(head[i], wanted[best], float(after[best]))
        return None

    def good_head(self, order: Features, setting: Setting | None = None) -> list[int]:
        """The shortest beginning of an order whose loss is about the least of all beginnings."""
        losses = []
        for k in range(1, len(order) + 1):
            setting = self.tune(order[:k], setting)
            losses.append(setting.loss)
        good = np.flatnonzero(np.array(losses) <= GOOD * min(losses))
        return [int(j) for j in order[: int(good[0]) + 1]]

    def substitutes(self, head: Features, others: Features) -> NDArray[np.intp]:
        """Features that would stand in for one of the head, the best first.

        Of every beginning of the head each feature is left out in turn, and the slopes of the loss
        there are added up.  With all of the head they would say nothing: a copy of what is there
        adds nothing.

        Parameters
        ----------
        head : sequence of int
            In the order of what they do, without copies of one another.
        others : sequence of int
        """
        slopes = np.zeros(len(others))
        setting = None
        for k in range(1, len(head) + 1):
            setting = self.tune(head[:k], setting)
            for i in range(k):
                part = [*head[:i], *head[i + 1 : k]]
                slopes += self.descents(part, setting, others)
        return np.asarray(others, dtype=np.intp)[np.argsort(-rounded(slopes), kind="stable")]


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values without the digits in which sums in another order may differ."""
    largest = float(np.abs(values).max(initial=0.0))
    if not 0 < largest < np.inf:
        return values
    return np.round(values / largest, DIGITS) * largest

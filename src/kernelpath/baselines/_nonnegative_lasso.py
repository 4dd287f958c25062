r"""The whole path of a lasso with weights that are not negative, from products made when needed.

.. math:: \min_{a \ge 0}\; \tfrac12 a^\top G a - b^\top a + \lambda \textstyle\sum_k a_k,
          \qquad G \ge 0 \text{ entry by entry}, \quad G_{kk} = 1

Between two events the active weights are :math:`a = G_{AA}^{-1} (b_A - \lambda 1)`.  As no entry
of G is negative, :math:`(b - G a)_k \le b_k`: a variable cannot enter before :math:`\lambda` has
come down to its :math:`b_k`, and until then nothing of its row of G is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

DEPENDENT = 1e-10  # what is left of a squared norm that is but rounding
END = 1e-9  # of the largest strength; below, the path has come to 0
PARALLEL = 1e-12  # slopes that differ by less do not meet
FIRST_ROWS = 32  # rows of G to begin with; their number doubles
TINY = np.finfo(np.float64).tiny
MOST_EVENTS = 20  # for each variable; a tie that turns in circles is left

Products = Callable[[int, int, int], NDArray[np.float64]]


@dataclass(eq=False)
class LassoPath:
    """Events of a path.

    Attributes
    ----------
    order : list of int
        Variables by their first entry.
    entries : list of float
        Strengths at these entries.
    strengths : list of float
        All events, and the end.
    weights : list of tuple
        Active variables and their weights at these strengths.
    kkt : list of float
        Largest violation of the optimality conditions there, relative to the largest strength.
    left : ndarray of shape (n_variables,)
        ``b - G a`` at the last event; an upper bound of it for variables that could not enter.
    """

    order: list[int] = field(default_factory=list)
    entries: list[float] = field(default_factory=list)
    strengths: list[float] = field(default_factory=list)
    weights: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = field(default_factory=list)
    kkt: list[float] = field(default_factory=list)
    left: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


def lasso_path(b: NDArray[np.float64], products: Products, most: int) -> LassoPath:
    """Follow the path from its largest strength until ``most`` variables have entered, or to 0.

    Parameters
    ----------
    b : ndarray of shape (n_variables,)
        In decreasing order.
    products : callable
        ``products(k, start, stop)`` returns ``G[k, start:stop]``.
    most : int

    Examples
    --------
    >>> G, b = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, 0.8])
    >>> found = lasso_path(b, lambda k, start, stop: G[k, start:stop], 2)
    >>> found.order, np.round(found.entries, 6).tolist()
    ([0, 1], [1.0, 0.6])
    """
    return _Homotopy(b, products).run(most)


class _Homotopy:
    """A walk along the path; variables that may enter are the first ``known`` ones."""

    def __init__(self, b: NDArray[np.float64], products: Products) -> None:
        self.b, self._products = b, products
        self.known = 0
        self.rows: dict[int, NDArray[np.float64]] = {}  # of G, of all that ever were active
        self.active: list[int] = []
        self.barred: set[int] = set()  # combinations of the active ones, which speak for them
        self.just_left: list[int] = []
        self.found = LassoPath()
        self._solve()

    def run(self, most: int) -> LassoPath:
        """Event after event."""
        strength, end = np.inf, END * float(self.b[0])
        for _ in range(MOST_EVENTS * len(self.b)):
            at, who, leaves = self._next_event(strength)
            if at <= end:
                break
            if not leaves and self._depends(who):
                self.barred.add(who)
                continue
            strength = at
            self._note(strength)
            if leaves:
                self._leave(who)
                continue
            self._enter(who, strength)
            if len(self.found.order) == most:
                return self.found
        self._note(0.0)
        return self.found

    # -- events -----------------------------------------------------------------------------------

    def _next_event(self, strength: float) -> tuple[float, int, bool]:
        """Where, who, and whether it leaves; variables become known until no other could be it."""
        at, who, leaves = 0.0, -1, False
        for k, rest, pull in zip(self.active, self.rest, self.pull):
            if pull < 0 and rest / pull > at:
                at, who, leaves = min(rest / pull, strength), k, True
        while True:
            if self.known:
                free = self.rise < 1.0 - PARALLEL
                free[[*self.active, *self.barred, *self.just_left]] = False
                meets = np.where(free, self.height / np.where(free, 1.0 - self.rise, 1.0), -1.0)
                first = int(np.argmax(meets))
                if meets[first] > at:
                    at, who, leaves = min(float(meets[first]), strength), first, False
            higher = int(np.searchsorted(-self.b, -at, side="left"))
            if higher <= self.known:
                return at, who, leaves
            self._learn(min(higher, max(2 * self.known, FIRST_ROWS)))

    def _learn(self, stop: int) -> None:
        for k, row in self.rows.items():
            self.rows[k] = np.concatenate([row, self._products(k, self.known, stop)])
        self.known = stop
        self._solve()

    def _depends(self, who: int) -> bool:
        """Whether a variable is a combination of the active ones, which then speak for it."""
        if not self.active:
            return False
        own = np.array([self.rows[k][who] for k in self.active])
        return bool(1.0 - own @ cho_solve(self._factor, own) <= DEPENDENT)

    def _enter(self, who: int, strength: float) -> None:
        if who not in self.rows:
            self.rows[who] = self._products(who, 0, self.known)
            self.found.order.append(who)
            self.found.entries.append(strength)
        self.active.append(who)
        self.just_left = []
        self._solve()

    def _leave(self, who: int) -> None:
        self.active.remove(who)
        self.barred, self.just_left = set(), [who]
        self._solve()

    def _solve(self) -> None:
        """Lines in the strength: weights ``rest - s pull``, and ``b - G a = height + s rise``."""
        self.height, self.rise = self.b[: self.known].copy(), np.zeros(self.known)
        self.rest = self.pull = np.zeros(0)
        if self.active:
            own = np.array([self.rows[k] for k in self.active])
            self._factor = cho_factor(own[:, self.active])
            self.rest = cho_solve(self._factor, self.b[self.active])
            self.pull = cho_solve(self._factor, np.ones(len(self.active)))
            self.height -= self.rest @ own
            self.rise += self.pull @ own

    def _note(self, strength: float) -> None:
        """Write down where the path is, and how well it fulfils the conditions there."""
        weights = np.maximum(self.rest - strength * self.pull, 0.0)
        left = self.height + strength * self.rise
        over = float((left - strength).max(initial=0.0))
        under = float(np.abs(left[self.active] - strength).max(initial=0.0))
        self.found.strengths.append(strength)
        self.found.weights.append((np.array(self.active, dtype=np.intp), weights))
        self.found.kkt.append(max(over, under) / max(float(self.b[0]), TINY))
        self.found.left = np.concatenate([left, self.b[self.known :]])

r"""The exact path of the 1-norm support vector machine, by the parametric simplex method.

In the strength :math:`\lambda` of the norm the machine is the linear program

.. math:: \min_{b_0, b, \xi, r}\; \sum_i \xi_i + \lambda \|b\|_1, \qquad
          y_i (b_0 + x_i^\top b) + \xi_i - r_i = 1,\quad \xi, r \ge 0,

whose optimal bases are followed from :math:`\lambda = \infty` down to 0.  A basis is a set of rows
at the elbow, where :math:`\xi_i = r_i = 0`, a set of features with a weight, one fewer, and for
every other row the side of the elbow it is on: only a system of as many equations as there are rows
at the elbow is ever solved.  Where the optimum moves, :math:`\lambda` rests and
:math:`s = \|b\|_1` grows along an edge: the corners are those of the path in :math:`s`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, qr_delete, qr_insert, solve_triangular

REFACTOR = 64  # changes of the basis after which its factors are made anew
PIVOT = 1e-9  # smaller rates of change are rounding errors
TIE = 1e-11  # relative; nearer to each other, two events are one
STILL = 1e-10  # relative; a shorter step goes nowhere
END = 1e-10  # of the first strength, at which the path has come to its end
LAST_GAP = 1e-9  # up to which the end counts as that of the path without a cost of the norm
PATIENCE = 20  # exchanges for each row and column without a step, which exact numbers never need


@dataclass(frozen=True, eq=False)
class Corner:
    """A corner of the path.

    Attributes
    ----------
    columns : ndarray of int
        Features with a weight, increasing.
    weights : ndarray
        What these are.
    bias, budget, loss : float
        ``budget`` is the 1-norm of the weights, ``loss`` the sum of the slacks.
    strength : float
        Rate at which the loss falls from here on; 0 at the end.
    gap : float
        How far ``loss`` is at most above the least one within the budget, by the multipliers,
        relative to the loss without features.
    kkt : float
        Largest violation of the optimality conditions: of the margin of a row or its multiplier, or
        of the slope of a feature relative to the first strength.
    """

    columns: NDArray[np.intp]
    weights: NDArray[np.float64]
    bias: float
    budget: float
    loss: float
    strength: float
    gap: float
    kkt: float


@dataclass(frozen=True)
class Event:
    """What becomes part of the basis: a feature with its sign, or a row that leaves the elbow.

    ``place`` is the column, or the place of the row at the elbow; ``sign`` that of the weight, or
    the side of the row.
    """

    is_column: bool
    place: int
    sign: float


@dataclass(frozen=True)
class Edge:
    """How far the point moves, how the budget grows, and what stops it: a place, first features."""

    step: float
    growth: float
    leaving: int


class Basis:
    """Rows at the elbow, features with a weight, and the factors of their equations."""

    def __init__(self, Z: NDArray[np.float64], row: int) -> None:
        self._Z = Z
        self.rows, self.columns = [row], np.zeros(0, dtype=np.intp)
        self.signs = np.zeros(0)
        self._renew()

    def _renew(self) -> None:
        M = np.column_stack([np.ones(len(self.rows)), self._Z[self.rows][:, self.columns]])
        self._Q, self._R = qr(M)
        self._changes = 0

    def solve(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bias and weights, in this order, that give scores to the rows."""
        return solve_triangular(self._R, self._Q.T @ right)

    def solve_transposed(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Dual coefficients of the rows from sums over them: without and with the features."""
        return self._Q @ solve_triangular(self._R, right, trans="T")

    def remove_row(self, place: int) -> None:
        del self.rows[place]
        self._Q, self._R = qr_delete(self._Q, self._R, place, which="row")

    def add_row(self, row: int) -> None:
        self.rows.append(row)
        new = np.append(1.0, self._Z[row, self.columns])
        self._Q, self._R = qr_insert(self._Q, self._R, new, len(self.rows) - 1, which="row")

    def remove_column(self, place: int) -> None:
        self.columns = np.delete(self.columns, place)
        self.signs = np.delete(self.signs, place)
        self._Q, self._R = qr_delete(self._Q, self._R, place + 1, which="col")

    def add_column(self, column: int, sign: float) -> None:
        self.columns = np.append(self.columns, column)
        self.signs = np.append(self.signs, sign)
        new = self._Z[self.rows, column]
        self._Q, self._R = qr_insert(self._Q, self._R, new, len(self.columns), which="col")

    def changed(self) -> None:
        """Count a change; now and then the factors are made anew."""
        self._changes += 1
        if self._changes >= REFACTOR:
            self._renew()


class SVMPath:
    """Follows the path; `run` returns its corners.

    Equal ratios are decided by a second right-hand side, one number for each row, as if the 1 of
    each row were larger by an infinitesimal multiple of it.  So no basis comes twice, however many
    rows or columns are the same, and nothing is perturbed.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
    label : ndarray of shape (n_rows,)
        -1 and 1.
    most : int
        Where more features would have a weight, the path ends.
    """

    def __init__(self, Z: NDArray[np.float64], label: NDArray[np.float64], most: int) -> None:
        self._Z, self._by_rows = np.asfortranarray(Z), np.ascontiguousarray(Z)
        self._label, self._most = label, most
        self._second = np.random.default_rng(0).uniform(0.5, 1.5, len(label))
        self._begin()

    def _begin(self) -> None:
        """At no budget all rows of the larger class are at the elbow, and the others are beyond.

        As many of them as the smaller class has rows get the multiplier 1: which, says the second
        right-hand side.
        """
        label = self._label
        larger = 1.0 if label.sum() >= 0 else -1.0
        rows = np.flatnonzero(label == larger)
        n_smaller = len(label) - len(rows)
        rows = rows[np.argsort(-self._second[rows])]
        self._sides = np.full(len(label), 1.0)  # 1: with a slack, 0: at the elbow, -1: within
        self._sides[rows[n_smaller - 1 :]] = -1.0
        self._sides[rows[n_smaller - 1]] = 0.0
        self._basis = Basis(self._by_rows, int(rows[n_smaller - 1]))
        self._slopes_beyond = self._Z.T @ (label * (self._sides > 0))
        self._null = 2.0 * n_smaller
        self._primal()
        self._strength = math.inf
        self._dual()
        # Above the first event, where no feature has a weight, nothing depends on the strength.
        self._strength = self._first = 2.0 * float(np.abs(self._slopes).max())

    def run(self, tell: Callable[[int], None] = lambda n_features: None) -> list[Corner]:
        """Corners from no budget to the end.

        Examples
        --------
        >>> Z = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> found = SVMPath(Z, np.sign(Z[:, 0]), 1).run()
        >>> [(one.budget, one.loss, one.strength) for one in found[:2]]
        [(0.0, 4.0, 6.0), (0.5, 1.0, 2.0)]
        """
        corners: list[Corner] = []
        still, patience = 0, PATIENCE * sum(self._Z.shape) + 1000
        while (event := self._next_event()) is not None:
            edge = self._edge(event)
            still += 1
            if edge.step * edge.growth > STILL * max(1.0, self._budget):
                still = 0
                corners.append(self._corner())
                if len(corners[-1].columns) > self._most:
                    return corners[:-1]
            if still > patience:
                raise RuntimeError(
                    "the path of the 1-norm machine does not get on, as rounding errors are larger "
                    "than what its columns tell; leave out columns that are nearly sums of others"
                )
            self._exchange(event, edge)
            self._primal()
            tell(len(self._basis.columns))
        self._dual()
        before = self._corner()
        self._strength = 0.0
        self._dual()
        # With nearly dependent columns what is left of the strength may be no rounding error.
        corners.append(min(self._corner(), before, key=lambda one: max(one.gap, LAST_GAP)))
        return corners[:-1] if len(corners[-1].columns) > self._most else corners

    # -- the point of a basis ---------------------------------------------------------------------

    def _primal(self) -> None:
        """Bias, weights and ``1 - y f`` of every row, for both right-hand sides."""
        rows, columns = self._basis.rows, self._basis.columns
        right = self._label[rows, None] * np.column_stack([np.ones(len(rows)), self._second[rows]])
        self._solution = self._basis.solve(right)
        scores = self._solution[0] + self._Z[:, columns] @ self._solution[1:]
        ones = np.column_stack([np.ones(len(self._label)), self._second])
        self._slacks = ones - self._label[:, None] * scores
        self._budget = float(self._basis.signs @ self._solution[1:, 0])

    def _dual(self) -> None:
        """Signed multipliers at the elbow and slopes of all features, and their rates.

        The rates are those of a strength that grows, the slopes ``sum_i y_i a_i x_ij``.
        """
        basis, rows = self._basis, self._basis.rows
        beyond = float(self._label[self._sides > 0].sum())
        rest = self._slopes_beyond[basis.columns]
        strength = self._strength if len(basis.columns) else 0.0
        right = np.column_stack(
            [
                np.append(-beyond, strength * basis.signs - rest),
                np.append(0.0, basis.signs),
            ]
        )
        self._dual_at, self._dual_rate = basis.solve_transposed(right).T
        both = np.column_stack([self._dual_at, self._dual_rate])
        found = self._by_rows[rows].T @ both
        self._slopes = self._slopes_beyond + found[:, 0]
        self._slope_rates = found[:, 1]

    def _corner(self) -> Corner:
        basis, rows = self._basis, self._basis.rows
        weights, bias = self._solution[1:, 0], float(self._solution[0, 0])
        held = np.flatnonzero(np.abs(weights) > STILL * max(np.abs(weights).max(initial=0.0), 0.01))
        held = held[np.argsort(basis.columns[held])]
        slack, multipliers = self._slacks[:, 0], (self._sides > 0).astype(np.float64)
        multipliers[rows] = self._label[rows] * self._dual_at
        allowed = np.clip(multipliers, 0.0, 1.0)
        steepest = float(np.abs(self._Z.T @ (self._label * allowed)).max())
        loss, budget = float(np.maximum(slack, 0.0).sum()), float(np.abs(weights[held]).sum())
        wrong = [
            np.abs(multipliers - allowed).max(), abs(self._label @ allowed),
            np.abs(slack[rows]).max(), np.max(-self._sides * slack),
            (steepest - self._strength) / max(self._first, TIE),
            np.max(self._strength - basis.signs * self._slopes[basis.columns], initial=0.0)
            / max(self._first, TIE),
        ]  # fmt: skip
        gap = (loss - (allowed.sum() - budget * steepest)) / self._null
        return Corner(
            basis.columns[held], weights[held], bias, budget, loss, self._strength,
            max(float(gap), 0.0), max(0.0, *map(float, wrong)),
        )  # fmt: skip

    # -- from basis to basis ----------------------------------------------------------------------

    def _next_event(self) -> Event | None:
        """What happens first when the strength falls, to where it falls; None at the end."""
        self._dual()
        multipliers = self._label[self._basis.rows] * self._dual_at
        rates = self._label[self._basis.rows] * self._dual_rate
        least = PIVOT * np.abs(rates).max(initial=0.0)
        inactive = np.ones(len(self._slopes), dtype=bool)
        inactive[self._basis.columns] = False
        blocks = [
            (multipliers, np.where(rates > least, rates, 0.0)),
            (1.0 - multipliers, np.where(rates < -least, -rates, 0.0)),
            (self._strength - self._slopes, np.where(inactive, 1.0 - self._slope_rates, 0.0)),
            (self._strength + self._slopes, np.where(inactive, 1.0 + self._slope_rates, 0.0)),
        ]
        rooms = np.maximum(np.concatenate([room for room, _ in blocks]), 0.0)
        speeds = np.concatenate([speed for _, speed in blocks])
        m = len(multipliers)
        speeds[2 * m :][speeds[2 * m :] < PIVOT] = 0.0
        falls = np.full(len(rooms), math.inf)
        np.divide(rooms, speeds, out=falls, where=speeds > 0)
        first = float(falls.min())
        if self._strength - first <= END * self._first:
            return None
        speeds[: 2 * m] *= self._strength
        tied = np.flatnonzero(falls <= first + TIE * self._strength)
        # Of events at one strength the one that changes fastest, then that of the first column.
        which = int(tied[np.argmax(speeds[tied] >= (1.0 - PIVOT) * speeds[tied].max())])
        self._fall(first)
        if which < 2 * m:
            return Event(False, which % m, -1.0 if which < m else 1.0)
        which -= 2 * m
        d = len(self._slopes)
        return Event(True, which % d, 1.0 if which < d else -1.0)

    def _fall(self, amount: float) -> None:
        self._strength -= amount
        self._dual_at = self._dual_at - amount * self._dual_rate
        self._slopes = self._slopes - amount * self._slope_rates

    def _edge(self, event: Event) -> Edge:
        """Where the point moves, how far, and what stops it."""
        basis, label = self._basis, self._label
        right, own = np.zeros(len(basis.rows)), np.zeros(len(label))
        if event.is_column:
            own = event.sign * self._Z[:, event.place]
            right = -own[basis.rows]
        else:
            right[event.place] = -event.sign * label[basis.rows[event.place]]
        change = basis.solve(right)
        rows_change = -label * (change[0] + self._Z[:, basis.columns] @ change[1:] + own)
        signs = np.concatenate([basis.signs, self._sides])
        values = np.concatenate([self._solution[1:], self._slacks]) * signs[:, None]
        moves = np.concatenate([change[1:], rows_change]) * signs
        least = PIVOT * max(float(np.abs(moves).max(initial=0.0)), 1.0 if event.is_column else 0.0)
        stopping = np.flatnonzero(moves < -least)
        if len(stopping) == 0:
            raise RuntimeError("an edge of the 1-norm machine has no end; scale its columns")
        rooms, speeds = np.maximum(values[stopping, 0], 0.0), -moves[stopping]
        step = float((rooms / speeds).min())
        tied = rooms - step * speeds <= TIE * max(1.0, float(np.abs(values[:, 0]).max()))
        second = np.where(tied, values[stopping, 1] / speeds, math.inf)
        growth = float(basis.signs @ change[1:]) + event.is_column
        return Edge(step, growth, int(stopping[np.argmin(second)]))

    def _exchange(self, event: Event, edge: Edge) -> None:
        """One variable becomes part of the basis, another one leaves."""
        basis = self._basis
        row = edge.leaving - len(basis.columns)
        if row >= 0:  # comes to the elbow
            self._slopes_beyond = self._slopes_beyond - self._beyond(row)
            self._sides[row] = 0.0
            basis.add_row(row)
        else:
            basis.remove_column(edge.leaving)
        if event.is_column:
            basis.add_column(event.place, event.sign)
        else:
            row = basis.rows[event.place]
            self._sides[row] = event.sign
            self._slopes_beyond = self._slopes_beyond + self._beyond(row)
            basis.remove_row(event.place)
        basis.changed()

    def _beyond(self, row: int) -> NDArray[np.float64] | float:
        return self._label[row] * self._by_rows[row] if self._sides[row] > 0 else 0.0

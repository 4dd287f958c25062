r"""Loss functions of a support vector machine, as the dual problems they lead to.

Every loss here is a maximum over one signed dual coefficient ``u`` for each row,

.. math:: \ell_i(s) = \max_{l_i \le u \le h_i} (c_i - s) u - e |u| - \tfrac{\tau}{2} u^2,

so that minimising :math:`\tfrac12 \|w\|^2 + \sum_i \ell_i(s_i)`, with a bias, is the dual problem

.. math:: \max_u\; c^\top u - e \|u\|_1 - \tfrac12 u^\top (K + \tau I) u,
          \qquad l \le u \le h,\; 1^\top u = 0.

A loss is the choice of :math:`c, l, h, e, \tau`; the solver and the certificates see only these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class DualProblem:
    """The dual problem of a loss and a target, for any kernel matrix.

    Attributes
    ----------
    linear : ndarray of shape (n_rows,)
        ``c``: what a unit of each dual coefficient earns.
    low, high : ndarray of shape (n_rows,)
        Bounds of the dual coefficients; ``low <= 0 <= high``, infinite ones allowed.
    kink : float
        ``e``: cost of the absolute value.
    ridge : float
        ``tau``: added to the diagonal of the kernel matrix.
    """

    linear: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    kink: float = 0.0
    ridge: float = 0.0

    @cached_property
    def is_linear_system(self) -> bool:
        """Whether the optimum solves linear equations: no bounds and no kink."""
        unbounded = np.isinf(self.low).all() and np.isinf(self.high).all()
        return bool(self.kink == 0.0 and self.ridge > 0.0 and unbounded)

    def between(self, u: NDArray[np.float64]) -> NDArray[np.intp]:
        """Rows that can move both ways: between their bounds and not at the kink."""
        inside = (u > self.low) & (u < self.high)
        if self.kink > 0.0:
            inside &= u != 0.0
        return np.flatnonzero(inside)

    def sample(self, rows: NDArray[np.intp]) -> DualProblem:
        """The problem of some rows that stand for all: each weighs as much as those it is for.

        Examples
        --------
        >>> some = Hinge(C=2.0).dual(np.array([1.0, -1.0, 1.0, -1.0])).sample(np.array([0, 1]))
        >>> some.low.tolist(), some.high.tolist()
        ([0.0, -4.0], [4.0, 0.0])
        """
        room = self.high - self.low
        finite = bool(np.isfinite(room).all())  # then rows may have weights
        each = float(room.sum() / room[rows].sum() if finite else len(self.linear) / len(rows))
        return replace(
            self,
            linear=self.linear[rows],
            low=each * self.low[rows],
            high=each * self.high[rows],
            ridge=self.ridge / each,
        )

    def loss(self, scores: NDArray[np.float64]) -> float:
        """Loss of scores, summed over the rows."""
        residual = self.linear - scores
        if self.is_linear_system:
            return float(residual @ residual) / (2.0 * self.ridge)
        shrunk = np.sign(residual) * np.maximum(np.abs(residual) - self.kink, 0.0)
        if self.ridge > 0.0:
            u = np.clip(shrunk / self.ridge, self.low, self.high)
        else:
            u = np.where(shrunk > 0, self.high, np.where(shrunk < 0, self.low, 0.0))
        return float(residual @ u - self.kink * np.abs(u).sum() - 0.5 * self.ridge * (u @ u))

    def value(self, u: NDArray[np.float64], Ku: NDArray[np.float64]) -> float:
        """Dual objective at ``u``, given ``K u``."""
        return float(
            self.linear @ u - self.kink * np.abs(u).sum() - 0.5 * (u @ Ku + self.ridge * (u @ u))
        )

    def feasible(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """A point within the bounds and of sum zero, near ``u``.

        The larger side gives way: first its rows between the bounds, then those at a bound, so
        that after a small change of the kernel the rows at a bound are still there.
        """
        u = np.clip(u, self.low, self.high)
        excess = float(u.sum())
        size = float(np.abs(u).sum())
        if abs(excess) <= 1e-12 * size:  # rounding: a row at its bound stays there
            return u
        side = u > 0 if excess > 0 else u < 0
        free = side & (u < self.high) & (u > self.low)
        for rows in (free, side & ~free):
            held = float(u[rows].sum())
            if excess != 0.0 and held != 0.0:
                share = min(excess / held, 1.0)
                u[rows] *= 1.0 - share
                excess -= share * held
        return u


@runtime_checkable
class Loss(Protocol):
    """What the fits ask of a loss."""

    def dual(self, y: NDArray[np.float64], weight: NDArray | None = None) -> DualProblem:
        """Dual problem of a target; ``weight`` multiplies the loss of each row."""


def _scaled(C: float, y: NDArray, weight: NDArray | None) -> NDArray[np.float64]:
    return np.full(len(y), C) if weight is None else C * np.asarray(weight, dtype=np.float64)


@dataclass(frozen=True)
class Hinge:
    """``C max(0, 1 - y s)`` for labels -1 and +1."""

    C: float = 1.0
    takes_weights: ClassVar[bool] = True

    def dual(self, y: NDArray[np.float64], weight: NDArray | None = None) -> DualProblem:
        """``u = y alpha`` with ``0 <= alpha <= C``."""
        bound = y * _scaled(self.C, y, weight)
        return DualProblem(y, np.minimum(bound, 0.0), np.maximum(bound, 0.0))


@dataclass(frozen=True)
class SquaredHinge:
    """``C/2 max(0, 1 - y s)^2`` for labels -1 and +1."""

    C: float = 1.0

    def dual(self, y: NDArray[np.float64], weight: NDArray | None = None) -> DualProblem:
        """``u = y alpha`` with ``alpha >= 0`` and ``1/C`` on the diagonal."""
        _refuse_weight(weight, self)
        low = np.where(y > 0, 0.0, -math.inf)
        return DualProblem(y, low, np.where(y > 0, math.inf, 0.0), ridge=1.0 / self.C)


@dataclass(frozen=True)
class HuberHinge:
    r"""Huberised hinge, the loss of NMMKL: quadratic up to a slack of ``ridge * C``, then linear.

    With the slack :math:`z = \max(0, 1 - y s)`: :math:`z^2 / (2 \tau)` for :math:`z \le \tau C`,
    else :math:`C z - \tau C^2 / 2`.
    """

    C: float = 1.0
    ridge: float = 0.1

    def dual(self, y: NDArray[np.float64], weight: NDArray | None = None) -> DualProblem:
        """``u = y alpha`` with ``0 <= alpha <= C`` and ``ridge`` on the diagonal."""
        if self.ridge > 0.0:
            _refuse_weight(weight, self)
        box = Hinge(self.C).dual(y, weight)
        return DualProblem(y, box.low, box.high, ridge=self.ridge)


@dataclass(frozen=True)
class EpsilonInsensitive:
    """``C max(0, |y - s| - epsilon)``, with ``ridge`` its huberised form."""

    C: float = 1.0
    epsilon: float = 0.1
    ridge: float = 0.0

    @property
    def takes_weights(self) -> bool:
        """Whether rows may have weights: squares would need a diagonal of their own."""
        return self.ridge == 0.0

    def dual(self, y: NDArray[np.float64], weight: NDArray | None = None) -> DualProblem:
        """``-C <= u <= C`` with the kink ``epsilon``."""
        if self.ridge > 0.0:
            _refuse_weight(weight, self)
        bound = _scaled(self.C, y, weight)
        return DualProblem(y, -bound, bound, kink=self.epsilon, ridge=self.ridge)


@dataclass(frozen=True)
class LeastSquares:
    """``C/2 (y - s)^2``: kernel ridge regression with a bias."""

    C: float = 1.0

    def dual(self, y: NDArray[np.float64], weight: NDArray | None = None) -> DualProblem:
        """No bounds, and ``1/C`` on the diagonal."""
        _refuse_weight(weight, self)
        free = np.full(len(y), math.inf)
        return DualProblem(y, -free, free, ridge=1.0 / self.C)


def _refuse_weight(weight: NDArray | None, loss: object) -> None:
    if weight is not None and np.any(np.asarray(weight) != 1.0):
        raise ValueError(
            f"{type(loss).__name__} takes no sample weights other than 0 and 1: they would need a "
            "diagonal of their own; use a hinge or eps-insensitive loss"
        )


LOSSES: dict[str, type] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "huber_hinge": HuberHinge,
    "epsilon_insensitive": EpsilonInsensitive,
    "least_squares": LeastSquares,
}

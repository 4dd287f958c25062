r"""The path of logistic multiple kernel learning over the strength of its block l1 norm.

At the optimum the part of a kernel is :math:`f_j = \eta_j K_j v` with :math:`v_i = y_i / (1 +
e^{y_i f_i})`, and for the kernels with :math:`\eta_j > 0`

.. math:: f = b + \sum_j \eta_j K_j v, \qquad 1^\top v = 0, \qquad v^\top K_j v = \lambda^2,

while :math:`v^\top K_j v \le \lambda^2` for all others.  These equations are smooth: a tangent
predicts, Newton's method corrects.  A kernel enters or leaves where :math:`\eta_j = 0` and
:math:`v^\top K_j v = \lambda^2` both hold; with :math:`\lambda` as one more unknown this is again a
system for Newton's method, so that events are located to rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

MOST_NEWTON = 25
SOLVED = 1e-10  # residual of the equations
OVER = 1e-8  # relative; what is over the strength by less is not
MOST_OVER = 2e-6  # no further beyond, where kernels nearly are the same and change places
FIRST_STEP, LARGEST_STEP, SMALLEST_STEP = 0.05, 0.3, 1e-11  # of the strength
GROWTH = 1.5
CORNERS = 30  # tries to find the first event of a step


@dataclass(frozen=True, eq=False)
class State:
    """Solution for some kernels at one strength.

    ``active`` are their columns, ``eta`` their weights, ``f`` the scores of the rows.
    """

    strength: float
    active: NDArray[np.intp]
    eta: NDArray[np.float64]
    f: NDArray[np.float64]
    bias: float

    def towards(self, other: State, share: float) -> State:
        """Between two solutions for the same kernels."""
        return replace(
            self,
            strength=self.strength + share * (other.strength - self.strength),
            eta=self.eta + share * (other.eta - self.eta),
            f=self.f + share * (other.f - self.f),
            bias=self.bias + share * (other.bias - self.bias),
        )


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the path: kernels with a weight, increasing, objective and certificates."""

    strength: float
    columns: NDArray[np.intp]
    weights: NDArray[np.float64]
    bias: float
    value: float
    gap: float
    kkt: float


class NotSolved(Exception):
    """Newton's method did not arrive."""


class MKLPath:
    """Follows the path; `run` returns its points.

    Parameters
    ----------
    factors : list of ndarray of shape (n_rows, rank)
        Kernels as products of factors.
    label : ndarray of shape (n_rows,)
        -1 and 1.
    """

    def __init__(self, factors: list[NDArray[np.float64]], label: NDArray[np.float64]) -> None:
        self._label, self._over = label, OVER
        self._factors = np.concatenate(factors, axis=1)
        self._ends = np.cumsum([0, *(factor.shape[1] for factor in factors)])

    def run(
        self, most: int, ratio: float, tell: Callable[[int], None] = lambda n: None
    ) -> list[Point]:
        """Points from the strength of the first entry down to ``ratio`` times it.

        Examples
        --------
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> points = MKLPath([x], np.sign(x[:, 0])).run(1, 0.5)
        >>> points[0].strength, points[0].columns.tolist(), points[-1].columns.tolist()
        (3.0, [], [0])
        """
        now = self._start()
        points, lowest, step = [self._point(now)], ratio * now.strength, FIRST_STEP
        if now.strength <= 0.0:
            return points
        while now.strength > lowest and len(now.active) <= most:
            if step < SMALLEST_STEP and self._over < MOST_OVER:
                self._over, step = 10.0 * self._over, FIRST_STEP
            elif step < SMALLEST_STEP:
                raise RuntimeError(
                    "the path of multiple kernels does not get on, as two kernels nearly are the "
                    "same; leave one of such columns out, or raise smallest_ratio"
                )
            target = max(now.strength * (1.0 - step), lowest)
            try:
                there, event = self._advance(now, target)
            except (NotSolved, np.linalg.LinAlgError):
                step /= 4.0
                continue
            points.append(self._point(there))
            now = there if event is None else self._changed(there, event)
            step = FIRST_STEP if event is not None else min(step * GROWTH, LARGEST_STEP)
            tell(len(now.active))
        return points

    def _start(self) -> State:
        """No kernel has a weight; the one that is first to have one is about to."""
        share = float((self._label > 0).mean())
        bias = float(np.log(share / (1.0 - share)))
        f = np.full(len(self._label), bias)
        sizes = self._sizes(self._slope(f))
        first = np.flatnonzero(sizes >= sizes.max() * (1.0 - 1e-12))[:1]
        return State(float(sizes.max()), first, np.zeros(1), f, bias)

    # -- parts of the problem ---------------------------------------------------------------------

    def _slope(self, f: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._label * expit(-self._label * f)

    def _sizes(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Root of ``v' K_j v`` for all kernels."""
        return np.sqrt(np.add.reduceat(np.square(self._factors.T @ v), self._ends[:-1]))

    def _factor(self, j: int) -> NDArray[np.float64]:
        return self._factors[:, self._ends[j] : self._ends[j + 1]]

    # -- Newton's method --------------------------------------------------------------------------

    def _linear(self, at: State, event: int | None, free: NDArray[np.bool_]) -> Newton:
        kernels = at.active if event is None or event in at.active else np.append(at.active, event)
        factors = [self._factor(int(j)) for j in kernels]
        weight = np.zeros(len(kernels))
        weight[: len(at.active)] = at.eta
        weight[: len(at.active)][~free] = 0.0
        v = self._slope(at.f)
        products = [factor.T @ v for factor in factors]
        G = np.column_stack([np.ones(len(v)), *(F @ p for F, p in zip(factors, products))])
        squares = np.array([p @ p for p in products])
        which = np.zeros(len(kernels), dtype=bool)
        which[: len(at.active)] = free
        ranks = [factor.shape[1] for factor in factors]
        return Newton(
            np.column_stack(factors), np.repeat(weight, ranks), G, np.append(True, which),
            weight, squares, v, np.abs(v) * (1.0 - np.abs(v)),
        )  # fmt: skip

    def _solved(self, at: State, event: int | None = None) -> State:
        """Solution at a strength, or where the kernel ``event`` is about to enter or leave."""
        free = at.active != event if event is not None else np.ones(len(at.active), dtype=bool)
        for _ in range(MOST_NEWTON):
            parts = self._linear(at, event, free)
            rest, c = parts.residuals(at)
            wrong = np.abs(rest).max() / (1.0 + np.abs(at.f).max()), abs(c[0]) / len(rest)
            if max(*wrong, np.abs(c[1:]).max() / at.strength**2) < SOLVED:
                return at
            theta, change, fall = parts.step(rest, c, at.strength, event is not None)
            if not np.isfinite(change).all() or np.abs(change).max() > 50.0:
                raise NotSolved
            eta = at.eta.copy()
            eta[free] += theta[1:]
            at = replace(
                at, strength=at.strength + fall, eta=np.where(free, eta, 0.0), f=at.f + change,
                bias=at.bias + theta[0],
            )  # fmt: skip
            if at.strength <= 0.0:
                raise NotSolved
        raise NotSolved

    def _predicted(self, now: State, strength: float) -> State:
        """Along the tangent."""
        parts = self._linear(now, None, np.ones(len(now.active), dtype=bool))
        fall = strength - now.strength
        c = np.append(0.0, np.full(len(now.active), -now.strength * fall))
        theta, change, _ = parts.step(np.zeros(len(now.f)), c, now.strength, False)
        return replace(
            now, strength=strength, eta=now.eta + theta[1:], f=now.f + change,
            bias=now.bias + theta[0],
        )  # fmt: skip

    # -- a step and what happens on it ------------------------------------------------------------

    def _advance(self, now: State, strength: float) -> tuple[State, int | None]:
        """Solution at a lower strength, or at the first event before it, and whose that is."""
        there = self._solved(self._predicted(now, strength))
        event: int | None = None
        before = self._rooms(now)
        for _ in range(CORNERS):
            after = self._rooms(there)
            if event is not None:
                after[event] = 0.0
            late = np.flatnonzero(after < -self._over)
            if len(late) == 0:
                return there, event
            rooms = np.maximum(before[late], 0.0)
            shares = rooms / (rooms - after[late])
            event = int(late[np.argmin(shares)])
            there = self._solved(now.towards(there, float(shares.min())), event)
            if not strength <= there.strength <= now.strength * (1.0 + SOLVED):
                raise NotSolved
        raise NotSolved

    def _rooms(self, at: State) -> NDArray[np.float64]:
        """How far each kernel is from its event, 0 or less where it is late, in its own unit."""
        rooms = 1.0 - self._sizes(self._slope(at.f)) / at.strength
        largest = np.abs(at.eta).max(initial=0.0)
        rooms[at.active] = at.eta / largest if largest > 0.0 else 0.0
        return rooms

    def _changed(self, at: State, event: int) -> State:
        """The kernel of an event enters, or leaves."""
        if event in at.active:
            kept = at.active != event
            return replace(at, active=at.active[kept], eta=at.eta[kept])
        return replace(at, active=np.append(at.active, event), eta=np.append(at.eta, 0.0))

    # -- certificates -----------------------------------------------------------------------------

    def _point(self, at: State) -> Point:
        r"""Objective at exact scores, and its distance from a feasible point of the dual problem.

        .. math:: \max_{0 \le a \le 1}\; -\sum_i a_i \log a_i + (1 - a_i) \log (1 - a_i)
                  \quad \text{subject to} \quad y^\top a = 0,\;
                  (a \circ y)^\top K_j (a \circ y) \le \lambda^2
        """
        y, v = self._label, self._slope(at.f)
        eta = np.maximum(at.eta, 0.0)
        f, norm = np.full(len(y), at.bias), 0.0
        for j, weight in zip(at.active.tolist(), eta):
            product = self._factor(j).T @ v
            f += weight * (self._factor(j) @ product)
            norm += weight * float(np.linalg.norm(product))
        value = float(np.logaddexp(0.0, -y * f).sum()) + at.strength * norm
        a = expit(-y * f)
        ups, downs = float(a[y > 0].sum()), float(a[y < 0].sum())
        a *= np.where(y > 0, min(1.0, downs / ups), min(1.0, ups / downs))
        sizes = self._sizes(y * a)
        a *= min(1.0, at.strength / max(float(sizes.max()), 1e-300))
        bound = -float((xlogy(a, a) + xlogy(1.0 - a, 1.0 - a)).sum())
        over = sizes / max(at.strength, 1e-300) - 1.0
        kkt = max(
            float(np.abs(f - at.f).max()), abs(ups - downs) / len(y), float(over.max()),
            float(np.abs(over[at.active]).max(initial=0.0)),
        )  # fmt: skip
        held = np.flatnonzero(eta > 0.0)
        held = held[np.argsort(at.active[held])]
        return Point(
            at.strength, at.active[held], eta[held], at.bias, value,
            max(value - bound, 0.0) / value, max(kkt, 0.0),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Newton:
    """The equations at one point, linearised.

    Attributes
    ----------
    factors : ndarray of shape (n_rows, n_parts)
        Factors of the kernels side by side.
    weights : ndarray of shape (n_parts,)
        Weight of the kernel of each.
    columns : ndarray of shape (n_rows, 1 + n_kernels)
        1, and ``K_j v``.
    free : ndarray of bool, shape (1 + n_kernels,)
        Whose weight is an unknown.
    eta, squares : ndarray of shape (n_kernels,)
        Weights, and ``v' K_j v``.
    v, curvature : ndarray of shape (n_rows,)
    """

    factors: NDArray[np.float64]
    weights: NDArray[np.float64]
    columns: NDArray[np.float64]
    free: NDArray[np.bool_]
    eta: NDArray[np.float64]
    squares: NDArray[np.float64]
    v: NDArray[np.float64]
    curvature: NDArray[np.float64]

    def residuals(self, at: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the scores, and of the sum of ``v`` and the sizes of the kernels."""
        rest = at.f - at.bias - self.columns[:, 1:] @ self.eta
        return rest, np.append(self.v.sum(), 0.5 * (self.squares - at.strength**2))

    def step(
        self,
        rest: NDArray[np.float64],
        c: NDArray[np.float64],
        strength: float,
        moves: bool,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Changes of bias and free weights, of the scores, and if it ``moves`` of the strength."""
        free = self.columns[:, self.free]
        found = self._inverse(np.column_stack([free, rest]))
        matrix, right = self.columns.T @ found[:, :-1], c + self.columns.T @ found[:, -1]
        if moves:
            own = np.full((len(c), 1), strength)
            own[0] = 0.0
            matrix = np.hstack([matrix, own])
        theta = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        fall = float(theta[-1]) if moves else 0.0
        theta = theta[: free.shape[1]]
        dv = found[:, -1] - found[:, :-1] @ theta
        change = free @ theta - rest + self.factors @ (self.weights * (self.factors.T @ dv))
        return theta, change, fall

    def _inverse(self, M: NDArray[np.float64]) -> NDArray[np.float64]:
        """``W (I + K W)^-1 M`` with the curvature ``W``, by rows or by parts of the kernels."""
        root = np.sqrt(self.curvature)[:, None]
        B, M = root * self.factors, root * M
        n, r = B.shape
        if r < n:
            inner = np.eye(r) + self.weights[:, None] * (B.T @ B)
            M = M - B @ np.linalg.solve(inner, self.weights[:, None] * (B.T @ M))
        else:
            M = np.asarray(np.linalg.solve(np.eye(n) + (B * self.weights) @ B.T, M))
        return root * M

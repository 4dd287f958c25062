r"""Hierarchical kernel learning: kernels chosen along a lattice, with a bound over all others.

With squared loss, :math:`a = (K(\zeta) + n \lambda I)^{-1} y` for centred kernels and target,
the problem of [bach2009]_ over the weights :math:`x_v` of the nodes of a hull, which sum to 1, is

.. math:: \min_x F(x) = \tfrac{\lambda}{2}\, y^\top a, \qquad
          \zeta_w^{-1} = \sum_{v \le w} d_v^2 / x_v, \qquad K(\zeta) = \sum_w \zeta_w K_w.

It is smooth inside and convex; an interior point method follows its barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve

from kernelpath.baselines._hkl_lattice import Array, Lattice, Node, parents, sources

Measure = Callable[[list[Node], Array, float], Array]
MOST_STEPS = 200
BOUNDARY = 0.95  # of the way to it
DECREASE = 0.01  # of the barrier function, beside what its slope promises
SHORTEST = 1e-10
AT_ONCE = 0.25  # of the kernels that are there, added in a round
PRUNED = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


# -- the reduced problem ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class State:
    r"""What belongs to weights of the nodes of a hull.

    Attributes
    ----------
    x, zeta : ndarray of shape (n_nodes,)
        Weights of the groups, which sum to 1, and of the kernels.
    dual : ndarray of shape (n_rows,)
    value : float
        The objective, a mean squared error and a norm.
    images : ndarray of shape (n_rows, n_nodes)
        Product of each centred kernel with the dual.
    quadratic : ndarray of shape (n_nodes,)
        Those of the dual with each kernel.
    loads : ndarray of shape (n_nodes,)
        :math:`d_v^{-2} \sum_{w \ge v} (\zeta_w d_v^2 / x_v)^2 a^\top K_w a`: at the optimum the
        same for all nodes with a weight, and no more for any other.
    factor : tuple
        Cholesky factor of the kernel and the ridge.
    """

    x: Array
    zeta: Array
    dual: Array
    value: float
    images: Array
    quadratic: Array
    loads: Array
    factor: tuple[Array, bool]

    @property
    def norm(self) -> float:
        """Squared norm of the function."""
        return float(self.zeta @ self.quadratic)


class Hull:
    """Nodes that are looked at, with their kernels; all parents of a node are among them."""

    def __init__(self, lattice: Lattice, target: Array, beta: float, root_weight: float) -> None:
        self.lattice, self.target, self.beta = lattice, target, beta
        self.nodes: list[Node] = []
        self.squares = np.zeros(0)  # of d_v
        self.below = np.zeros((0, 0), dtype=bool)  # [w, v]: whether v is w or an ancestor
        self._kernels = lattice.stack()
        if root_weight > 0:
            root = (0,) * lattice.n_features
            # A constant, of which nothing is left by centring.
            self._append(root, root_weight, lattice.kernel(sources([], *self._size)[0]) * 0.0)

    @property
    def _size(self) -> tuple[int, int]:
        return self.lattice.n_features, self.lattice.n_levels

    def add(self, node: Node) -> None:
        """Add a node whose parents are there."""
        self._append(node, self.beta ** sum(node), self.lattice.kernel(node))

    def _append(self, node: Node, weight: float, kernel: Array) -> None:
        self._kernels.append(kernel)
        self.nodes.append(node)
        self.squares = np.append(self.squares, weight**2)
        table = np.array(self.nodes)
        last = (table <= table[-1]).all(axis=1)
        m = len(table)
        grown = np.zeros((m, m), dtype=bool)
        grown[:-1, :-1] = self.below
        grown[-1] = last
        self.below = grown

    def sources(self, beside: list[Node]) -> list[Node]:
        """Nodes all of whose parents are in the hull or beside it, and that are not themselves."""
        return sources([*self.nodes, *beside], *self._size)

    def missing(self, node: Node) -> list[Node]:
        """The node and those of its ancestors that are not there, without the root."""
        found = {node} - set(self.nodes)
        for one in list(found):
            for parent in parents(one):
                found |= set(self.missing(parent)) if any(parent) else set()
        return sorted(found)

    def zeta(self, x: Array) -> Array:
        """Weights of the kernels: harmonic sums over ancestors; 0 where one of them is 0."""
        sums = self.below @ (self.squares / np.where(x > 0, x, 1.0))
        return np.where(self.below @ (x == 0.0), 0.0, 1.0 / sums)

    def at(self, x: Array, ridge: float) -> State:
        """Solve the ridge regression; ``ridge`` is the number of rows times the strength."""
        zeta = self.zeta(x)
        K = self._kernels.combined(zeta)
        means = K.mean(axis=0)
        K -= means[:, None] + (means - means.mean())[None, :]
        K.flat[:: len(K) + 1] += ridge
        factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        dual = cho_solve(factor, self.target, check_finite=False)
        dual -= dual.mean()
        images = self._kernels.times(dual)
        images -= images.mean(axis=0)
        quadratic = np.maximum(dual @ images, 0.0)
        steep = self.below * zeta[:, None] / np.where(x > 0, x, 1.0)
        loads = self.squares * (quadratic @ np.square(steep))
        value = ridge * float(self.target @ dual) / (2.0 * len(dual))
        return State(x, zeta, dual, value, images, quadratic, loads, factor)

    def mean_of(self, state: State) -> float:
        """Mean over the rows of the function, before it is centred."""
        return float((self._kernels.times(state.dual) @ state.zeta).mean())

    def newton(self, state: State, ridge: float, barrier: float) -> Array:
        """Step of the barrier problem, relative to the weights; they go on summing to 1."""
        n, x, below = len(state.dual), state.x, self.below
        strength = ridge / n
        spread = self.squares / x
        J = below * np.square(state.zeta)[:, None] * spread  # d zeta_w / d log x_v
        inner = cho_solve(state.factor, state.images, check_finite=False)
        second = J.T @ (strength * (state.images.T @ inner)) @ J
        pull = strength * state.quadratic
        ratio = below * spread * state.zeta[:, None]
        second -= ratio.T @ ((pull * state.zeta)[:, None] * ratio)
        slope = -0.5 * (pull @ J)
        second.flat[:: len(x) + 1] += -2.0 * slope + barrier
        matrix = np.zeros((len(x) + 1, len(x) + 1))
        matrix[:-1, :-1] = second
        matrix[-1, :-1] = matrix[:-1, -1] = x
        found = solve(matrix, np.append(barrier - slope, 0.0), assume_a="sym", check_finite=False)
        return found[:-1]


def gap_of(state: State, bound: float, target: Array) -> float:
    """Gap of a state, from an upper bound of the squared dual norm of its dual vector.

    The dual vector may be scaled: the best factor gives the largest lower bound.
    """
    excess = max(bound - state.norm, 0.0)
    return state.value * excess / (float(target @ state.dual) + excess)


def scale_of(value: float, target: Array) -> float:
    """What gaps are relative to: the objective, or how far it is below that of the zero function.

    Where the strength is large, all functions have nearly the same objective.
    """
    return min(value, 0.5 * float(target @ target) / len(target) - value)


def solve_hull(hull: Hull, ridge: float, start: Array, tol: float) -> State:
    """Interior point method: solve the problem of a hull to a relative gap."""
    m, n = len(start), len(hull.target)
    x = (1.0 - 1e-3) * start / start.sum() + 1e-3 / m
    state = hull.at(x, ridge)
    barrier = np.inf
    for _ in range(MOST_STEPS):
        excess = float(state.loads.max()) - state.norm
        if gap_of(state, state.norm + excess, hull.target) <= tol * scale_of(
            state.value, hull.target
        ):
            break
        barrier = min(barrier, 0.2 * ridge / (2.0 * n) * excess / m)
        step = hull.newton(state, ridge, barrier)
        state, moved = _line_search(hull, state, step, ridge, barrier)
        if moved < SHORTEST:
            break
    return state


def _line_search(
    hull: Hull, state: State, step: Array, ridge: float, barrier: float
) -> tuple[State, float]:
    n, x = len(state.dual), state.x
    strength = ridge / n
    slopes = -0.5 * strength * state.loads * x - barrier  # d / d log x
    slope = float(slopes @ step)
    length = min(1.0, BOUNDARY / max(float(-step.min()), 1e-300))
    here = state.value - barrier * float(np.log(x).sum())
    while length >= SHORTEST:
        new = hull.at(_normalised(x * (1.0 + length * step)), ridge)
        there = new.value - barrier * float(np.log(new.x).sum())
        if there <= here + DECREASE * length * slope + 1e-14 * abs(here):
            return new, length
        length *= 0.5
    return state, 0.0


def _normalised(x: Array) -> Array:
    return x / x.sum()


# -- the active set --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Solved:
    """A point of the path, with its proof.

    Attributes
    ----------
    strength, value, gap : float
        ``gap`` bounds how far the objective is above its optimum over the whole lattice.
    nodes : list of tuple
        Nodes that are chosen: all with a weight, and with each its ancestors; without the root.
    zeta, x : ndarray
        Weights of their kernels, and of their groups.
    dual : ndarray of shape (n_rows,)
    offset : float
        Mean of the function over the rows, before it is centred.
    errors : ndarray of shape (n_rows,)
        Residual of each row without it, the weights of kernels being as they are.
    explored : int
        Kernels that the proof looked at one by one.
    """

    strength: float
    value: float
    gap: float
    nodes: list[Node]
    zeta: Array
    x: Array
    dual: Array
    offset: float
    errors: Array
    explored: int


class TooManyKernels(Exception):
    """The hull would have more kernels than it may."""


class ActiveSet:
    """Solves one strength after the other; what was looked at stays.

    Kernels of the hull have weights.  Others are looked at one by one only to bound their
    descendants: as long as they violate no necessary condition, their weights are zero.

    Parameters
    ----------
    hull : Hull
    tol : float
        Largest gap, relative to the objective.
    most_kernels, most_explored : int
        In the hull, and looked at in all.
    """

    def __init__(self, hull: Hull, tol: float, most_kernels: int, most_explored: int) -> None:
        self._hull, self._tol = hull, tol
        self._most_kernels, self._most_explored = most_kernels, most_explored
        self._beside: list[Node] = []
        self._x = np.ones(len(hull.nodes))
        nodes = hull.sources([])
        self._grow(nodes, self._by(hull.lattice.own, nodes, hull.target), -np.inf)

    def _by(self, measure: Measure, nodes: list[Node], dual: Array) -> Array:
        return measure(nodes, dual, self._hull.beta) if nodes else np.zeros(0)

    def _grow(self, nodes: list[Node], loads: Array, allowed: float) -> None:
        """Add the nodes with the largest loads, and their ancestors, to the hull."""
        hull = self._hull
        count = max(4, round(AT_ONCE * len(hull.nodes)))
        order = [k for k in np.argsort(-loads, kind="stable") if loads[k] > allowed]
        added = sorted({one for k in order[:count] for one in hull.missing(nodes[k])}, key=sum)
        self._look_at(len(added), hull=True)
        for node in added:
            hull.add(node)
        self._beside = [node for node in self._beside if node not in set(added)]
        self._x = np.concatenate([self._x, np.full(len(added), 1e-3 / len(hull.nodes))])

    def _look_at(self, more: int, hull: bool = False) -> None:
        known = len(self._hull.nodes)
        if hull and known + more > self._most_kernels:
            raise TooManyKernels
        if known + len(self._beside) + more > self._most_explored:
            raise TooManyKernels

    def solve(self, strength: float) -> Solved:
        """Solve for a strength to a gap that is proved over the whole lattice."""
        hull, tol = self._hull, self._tol
        ridge = strength * len(hull.target)
        while True:
            state = solve_hull(hull, ridge, self._x, 0.5 * tol)
            self._x = state.x
            outside = self._outside(
                state.dual, state.norm + _excess(state, 0.75 * tol, hull.target)
            )
            if outside is not None:
                return self._pruned(state, max(float(state.loads.max()), outside), strength)

    def _outside(self, dual: Array, allowed: float) -> float | None:
        """Bound of the loads outside the hull; None if that was too large and the hull has grown.

        The loads of kernels that are looked at are their own; those that are not are below nodes
        whose loads with all descendants are bounded.
        """
        hull, lattice = self._hull, self._hull.lattice
        own: dict[Node, float] = {}
        whole: dict[Node, float] = {}
        while True:
            frontier = hull.sources(self._beside)
            fresh = [node for node in (*self._beside, *frontier) if node not in own]
            own |= zip(fresh, self._by(lattice.own, fresh, dual))
            if max(own.values(), default=0.0) > allowed:  # necessary: it is chosen, now at least
                self._grow(list(own), np.array(list(own.values())), allowed)
                return None
            fresh = [node for node in frontier if node not in whole]
            whole |= zip(fresh, self._by(lattice.with_descendants, fresh, dual))
            more = [node for node in frontier if whole[node] > allowed]
            if not more:  # sufficient: no descendant is
                bounds = [own[node] for node in self._beside] + [whole[one] for one in frontier]
                return float(max(bounds, default=0.0))
            self._look_at(len(more))
            self._beside += more

    def _pruned(self, state: State, bound: float, strength: float) -> Solved:
        """The same without kernels of hardly any weight, if the gap allows."""
        hull, ridge = self._hull, strength * len(self._hull.target)
        lower = state.value - gap_of(state, bound, hull.target)
        for least in PRUNED:
            kept = hull.below[state.x >= least].any(axis=0)
            new = hull.at(_normalised(np.where(kept, state.x, 0.0)), ridge)
            if new.value - lower <= self._tol * scale_of(new.value, hull.target):
                state = new
                break
        chosen = [k for k, node in enumerate(hull.nodes) if state.x[k] > 0 and any(node)]
        n = len(state.dual)
        inverse = cho_solve(state.factor, np.eye(n), check_finite=False)
        return Solved(
            strength=strength,
            value=state.value,
            gap=max(state.value - lower, 0.0),
            nodes=[hull.nodes[k] for k in chosen],
            zeta=state.zeta[chosen],
            x=state.x[chosen],
            dual=state.dual,
            offset=hull.mean_of(state),
            errors=state.dual / (np.diag(inverse) - 1.0 / (n * ridge)),
            explored=len(hull.nodes) + len(self._beside),
        )


def _excess(state: State, tol: float, target: Array) -> float:
    """By how much the squared dual norm may exceed the norm for a relative gap of ``tol``."""
    share = tol * scale_of(state.value, target) / state.value
    return share / (1.0 - share) * float(target @ state.dual)

"""The group lasso for some of its groups: sweeps of exact steps, extrapolated, until a gap."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kernelpath.tracers.additive import _loops
from kernelpath.tracers.additive.problem import Array, Factors, GroupLasso

SWEEPS = 5  # over groups with a weight, for each one over all
REMEMBERED = 5  # iterates that are extrapolated from
MOST_SWEEPS = 400  # over all groups, at one strength
RIDGE = 1e-10  # of the steps that are combined
NOTHING = 1e-12  # of the curvature of a factor


@dataclass
class Solved:
    """What the working set has at a strength.

    Attributes
    ----------
    value : float
        Objective.
    theta : ndarray
        Point of the dual, before it is shortened.
    products : ndarray of shape (n_groups,)
        Norms of the products of ``theta`` with the factors of the working set.
    closed : bool
        Whether the gap among these groups is closed.
    """

    value: float
    theta: Array
    products: Array
    closed: bool = False


class WorkingSet:
    """Groups that may have weights, with factors turned to orthogonal rows, and their weights.

    Parameters
    ----------
    problem : GroupLasso
    factors : Factors
    """

    def __init__(self, problem: GroupLasso, factors: Factors) -> None:
        n, q = len(problem.root), len(problem.target)
        self.problem, self._factors = problem, factors
        self.groups = np.zeros(0, dtype=np.intp)
        self._rows, self._ptr = np.zeros((0, n)), np.zeros(1, dtype=np.intp)
        self._curvature, self.weights = np.zeros(0), np.zeros((0, q))
        self.rest = problem.start()
        self._output = problem.target - self.rest
        self.intercepts = problem.target @ problem.root

    @property
    def norms(self) -> Array:
        """Norm of the weights of each group."""
        return _norms(self.weights, self._ptr)

    def add(self, groups: NDArray[np.intp]) -> None:
        """Take in more groups, without weights."""
        if len(groups) == 0:
            return
        raw, ptr = self._factors.rows(groups)
        parts, curvatures = [self._rows], [self._curvature]
        ends = [self._ptr]
        for start, stop in pairwise(ptr.tolist()):
            turned, curvature = _orthogonal(raw[start:stop])
            parts.append(turned)
            curvatures.append(curvature)
            ends.append(np.array([ends[-1][-1] + len(turned)]))
        n_new = sum(len(part) for part in parts[1:])
        self._rows, self._curvature = np.concatenate(parts), np.concatenate(curvatures)
        self._ptr = np.concatenate(ends)
        self.weights = np.concatenate([self.weights, np.zeros((n_new, self.weights.shape[1]))])
        self.groups = np.concatenate([self.groups, groups])

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Leave out groups that have no weights."""
        inside = np.repeat(which, np.diff(self._ptr))
        self._rows, self._curvature = self._rows[inside], self._curvature[inside]
        self.weights = self.weights[inside]
        self._ptr = np.concatenate([[0], np.cumsum(np.diff(self._ptr)[which])])
        self.groups = self.groups[which]

    def products(self, theta: Array) -> Array:
        """Norms of the products of the factors with a point of the dual."""
        return _norms(self._rows @ theta.T, self._ptr)

    def solve(self, strength: float, tol: float) -> Solved:
        """Descend until the gap among the groups is at most ``tol`` times the objective."""
        problem, trail = self.problem, _Trail()
        every = np.arange(len(self.groups))
        for _ in range(MOST_SWEEPS):
            if trail.full:
                self._jump(trail, strength)
                trail = _Trail()
            self._sweep(every, strength)
            support = np.flatnonzero(self.norms)
            for _ in range(SWEEPS):
                self._sweep(support, strength)
            trail.add(self.weights, self.intercepts)
            found = self.state(strength)
            gap = found.value - problem.dual(found.theta, found.products, strength)
            if gap <= tol * found.value:
                found.closed = True
                break
        return found

    def state(self, strength: float) -> Solved:
        """Objective and dual point as things are."""
        theta = self.problem.balanced(self.rest)
        value = self.problem.primal(self.rest, self.norms, strength)
        return Solved(value, theta, self.products(theta))

    def kkt(self, strength: float) -> float:
        """Largest violation of the optimality conditions, relative to the strength.

        Those of groups without weights outside are part of the gap.
        """
        gradient, norms = self._rows @ self.rest.T, self.norms
        held = norms > 0
        pull = np.divide(1.0, norms, out=np.zeros_like(norms), where=held)
        pull[held] += self.problem.ridge
        sizes = np.diff(self._ptr)
        gradient -= strength * np.repeat(pull, sizes)[:, None] * self.weights
        wrong = _norms(gradient, self._ptr) - np.where(held, 0.0, strength)
        sums = np.abs(self.rest @ self.problem.root)
        worst = float(max(wrong.max(initial=0.0), sums.max()))
        return worst / strength if worst > 0 else 0.0

    def _sweep(self, which: NDArray[np.intp], strength: float) -> None:
        problem = self.problem
        _loops.sweep(
            self._rows, self._ptr, self._curvature, which, strength, strength * problem.ridge,
            problem.hinge, problem.target, self.weights, self._output, self.rest,
        )  # fmt: skip
        self.intercepts += _loops.set_intercepts(
            problem.root, problem.hinge, problem.target, self._output, self.rest
        )

    def _jump(self, trail: _Trail, strength: float) -> None:
        """Go where the last iterates seem to lead, if that is lower (Anderson, 1965)."""
        weights, intercepts = trail.extrapolated()
        norms = self.norms
        weights[np.repeat(norms == 0.0, np.diff(self._ptr))] = 0.0
        output = weights.T @ self._rows + np.outer(intercepts, self.problem.root)
        rest = self.problem.target - output
        rest[self.problem.hinge[:, None] & (rest * self.problem.target <= 0.0)] = 0.0
        there = self.problem.primal(rest, _norms(weights, self._ptr), strength)
        if there < self.problem.primal(self.rest, norms, strength):
            self.weights, self._output, self.rest = weights, output, rest
            self.intercepts = intercepts


class _Trail:
    """The last iterates."""

    def __init__(self) -> None:
        self._kept: list[tuple[Array, Array]] = []

    @property
    def full(self) -> bool:
        return len(self._kept) > REMEMBERED

    def add(self, weights: Array, intercepts: Array) -> None:
        self._kept.append((weights.copy(), intercepts.copy()))

    def extrapolated(self) -> tuple[Array, Array]:
        """The combination of the iterates, of shares that sum to 1, with the shortest step."""
        weights, intercepts = (np.array(parts) for parts in zip(*self._kept))
        steps = np.diff(weights.reshape(len(weights), -1), axis=0)
        inner = steps @ steps.T
        inner += RIDGE * np.trace(inner) * np.eye(len(inner))
        share = np.append(np.zeros(len(inner) - 1), 1.0)
        if inner[0, 0] > 0.0:
            share = np.linalg.solve(inner, np.ones(len(inner)))
            share /= share.sum()
        return np.tensordot(share, weights[1:], axes=1), share @ intercepts[1:]


def _orthogonal(factor: Array) -> tuple[Array, Array]:
    """The same kernel by orthogonal rows, and their squares; rows without any are left out."""
    values, vectors = np.linalg.eigh(factor @ factor.T)
    kept = values > NOTHING * values[-1]
    turned = np.ascontiguousarray(vectors[:, kept].T @ factor)
    return turned, np.square(turned).sum(axis=1)


def _norms(values: Array, ptr: NDArray[np.intp]) -> Array:
    """Norms of stretches of rows."""
    if len(ptr) == 1:
        return np.zeros(0)
    return np.sqrt(np.add.reduceat(np.square(values).sum(axis=1), ptr[:-1]))

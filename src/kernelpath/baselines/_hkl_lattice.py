"""Kernels of products of features: one-feature kernels, their products, and sums over descendants.

A node is a tuple of levels, one for each feature; level 0 is the constant 1.  Its kernel is the
product over the features of the kernels of their levels, its ancestors are the nodes with no larger
levels, and its descendants those with no smaller ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Node = tuple[int, ...]
Shares = Callable[[int], dict[int, float]]
TINY = 1e-100  # what stands for a zero that is divided by
BLOCK = 2**23  # numbers of an array that is worked on at once
NOTHING = 1e-9  # a column of that variance, beside 1, is but rounding


def parents(node: Node) -> list[Node]:
    """Nodes one level below, in any one feature.

    Examples
    --------
    >>> parents((0, 2, 1))
    [(0, 1, 1), (0, 2, 0)]
    """
    return [(*node[:i], one - 1, *node[i + 1 :]) for i, one in enumerate(node) if one]


def sources(nodes: Iterable[Node], n_features: int, n_levels: int) -> list[Node]:
    """Nodes outside all of whose parents are inside, in increasing order; the root is inside.

    Examples
    --------
    >>> sources([(1, 0), (0, 1)], 2, 1)
    [(1, 1)]
    """
    root = (0,) * n_features
    inside = {root, *nodes}
    first = [(*root[:i], 1, *root[i + 1 :]) for i in range(n_features)]
    alone = [i for i in range(n_features) if first[i] in inside]
    found = {node for node in first if node not in inside}
    for node in inside - {root}:
        for i in alone:  # a feature with others must be there by itself
            child = (*node[:i], node[i] + 1, *node[i + 1 :])
            if child[i] <= n_levels and child not in inside and inside.issuperset(parents(child)):
                found.add(child)
    return sorted(found)


class Lattice(ABC):
    """One-feature kernels of all levels, from standardised columns.

    Every kernel of a level above 0 is centred over the rows, with a diagonal of mean 1.
    """

    n_rows: int
    n_features: int
    n_levels: int

    @abstractmethod
    def level(self, i: int, level: int, rows: slice, columns: slice) -> Array | float:
        """Part of the kernel of a feature and a level above 0."""

    @abstractmethod
    def kernel(self, node: Node) -> Array:
        """Kernel of a node: a matrix, or for kernels of rank one its factor."""

    @abstractmethod
    def cross(self, nodes: Sequence[Node], weights: Array, Z: Array) -> Array:
        """Weighted sum of the kernels of nodes, between new rows and those of the table."""

    def stack(self) -> KernelStack:
        """An empty stack for kernels of this lattice."""
        return KernelStack(self.n_rows)

    # -- sums over sources ------------------------------------------------------------------------

    def own(self, nodes: list[Node], dual: Array, beta: float) -> Array:
        r"""For each node :math:`\alpha^\top K_t \alpha / d_t^2`: the necessary condition."""
        return self._sums(nodes, dual, lambda level: {level: beta ** (-2.0 * level)})

    def with_descendants(self, nodes: list[Node], dual: Array, beta: float) -> Array:
        r"""For each node the bound of the sufficient condition, a sum over all descendants.

        .. math:: \sum_{w \ge t} \frac{\alpha^\top K_w \alpha}{(\sum_{t \le v \le w} d_v)^2}

        As both the kernels and the inner sums are products over the features, so is the sum of the
        matrices.  The root must not be among the nodes.
        """

        def shares(level: int) -> dict[int, float]:
            sums = np.cumsum(beta ** np.arange(level, self.n_levels + 1.0))
            return {level + k: float(one**-2) for k, one in enumerate(sums)}

        return self._sums(nodes, dual, shares)

    def _sums(self, nodes: list[Node], dual: Array, shares: Shares) -> Array:
        r"""Inner products of :math:`\alpha\alpha^\top` with products of weighted sums of levels.

        Nodes with a feature at level 1 share the product of their other features with those of the
        same parent: its inner products with the first levels of all features are one product of
        matrices.
        """
        plan = _Plan(nodes)
        found = np.zeros(len(nodes))
        n = self.n_rows
        wide = len(plan.stems) + (self.n_levels + 2) * self.n_features + 2
        height = max(1, min(n, BLOCK // (n * wide)))
        for start in range(0, n, height):
            rows, columns = slice(start, min(start + height, n)), slice(start, n)
            pairs = np.outer(dual[rows], dual[columns])
            pairs[:, rows.stop - start :] *= 2.0  # the matrices are symmetric
            found += self._block(plan, pairs, rows, columns, shares)
        return found

    def _block(
        self, plan: _Plan, pairs: Array, rows: slice, columns: slice, shares: Shares
    ) -> Array:
        def table(i: int, level: int) -> Array:
            total = np.zeros(pairs.shape)
            for one, share in shares(level).items():
                total += share * (self.level(i, one, rows, columns) if one else 1.0)
            return total.ravel()

        product = pairs.ravel()
        base = []
        for i in range(self.n_features):
            factor = table(i, 0)
            factor[np.abs(factor) < TINY] = TINY  # a quotient by anything else loses no digits
            product = product * factor
            base.append(factor)
        quotients = {key: table(*key) / base[key[0]] for key in sorted(plan.factors)}
        stems = np.empty((len(plan.stems), len(product)))
        for row, stem in zip(stems, plan.stems):
            row[:] = product
            for i, level in enumerate(stem):
                if level:
                    row *= quotients[i, level]
        firsts = np.array([quotients[i, 1] for i in plan.firsts]).reshape(-1, len(product))
        sums = stems @ firsts.T
        result = np.empty(len(plan.places))
        for k, (place, i, level) in enumerate(plan.places):
            if level == 1:
                result[k] = sums[place, plan.firsts.index(i)]
            else:
                result[k] = stems[place] @ quotients[i, level]
        return result


class _Plan:
    """Each node as a stem, without one of its features, and that feature with its level."""

    def __init__(self, nodes: list[Node]) -> None:
        places: dict[Node, int] = {}
        self.places = []
        for node in nodes:
            i = node.index(1) if 1 in node else int(np.flatnonzero(node)[0])
            stem = (*node[:i], 0, *node[i + 1 :])
            self.places.append((places.setdefault(stem, len(places)), i, node[i]))
        self.stems = list(places)
        self.factors = {(i, one) for node in nodes for i, one in enumerate(node) if one}
        self.firsts = sorted({i for _, i, level in self.places if level == 1})


# -- Gaussian kernels: a feature is there or not ---------------------------------------------------


class GaussianLattice(Lattice):
    """All subsets of the features: products of their centred Gaussian kernels.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        Standardised columns.
    bandwidth : float
        Width in standard deviations.

    Examples
    --------
    >>> Z = np.array([[1.0, -1.0], [-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> GaussianLattice(Z, 1.0).kernel((1, 1))[0]
    array([ 1., -1., -1.,  1.])
    """

    n_levels = 1

    def __init__(self, Z: Array, bandwidth: float) -> None:
        self._Z, self._bandwidth = Z, bandwidth
        self.n_rows, self.n_features = Z.shape
        self._matrices = np.empty((self.n_features, self.n_rows, self.n_rows))
        self._means = np.empty((self.n_features, self.n_rows))
        self._scales = np.empty(self.n_features)
        for i, K in enumerate(self._matrices):
            K[:] = self._plain(Z[:, i], i)
            self._means[i] = K.mean(axis=0)
            grand = self._means[i].mean()
            self._scales[i] = 1.0 - grand
            K -= self._means[i][:, None] + (self._means[i] - grand)[None, :]
            K /= self._scales[i]
            K[:] = (K + K.T) / 2.0

    def _plain(self, values: Array, i: int) -> Array:
        distances = (values[:, None] - self._Z[None, :, i]) / self._bandwidth
        return np.exp(-0.5 * np.square(distances))

    def level(self, i: int, level: int, rows: slice, columns: slice) -> Array:
        """Part of the kernel of a feature."""
        return self._matrices[i, rows, columns]

    def kernel(self, node: Node) -> Array:
        """Product of the kernels of the features that are there."""
        return np.prod(self._matrices[np.flatnonzero(node)], axis=0)

    def cross(self, nodes: Sequence[Node], weights: Array, Z: Array) -> Array:
        """Weighted sum of the kernels of nodes, between new rows and those of the table."""
        single = {}
        for i in sorted({i for node in nodes for i, there in enumerate(node) if there}):
            K = self._plain(Z[:, i], i)
            K -= K.mean(axis=1, keepdims=True) + (self._means[i] - self._means[i].mean())
            single[i] = K / self._scales[i]
        total = np.zeros((len(Z), self.n_rows))
        for node, weight in zip(nodes, weights):
            total += weight * np.prod([K for i, K in single.items() if node[i]], axis=0)
        return total


# -- polynomials: the level of a feature is its degree ---------------------------------------------


class PolynomialLattice(Lattice):
    """Products of polynomials of single features that are orthonormal over the rows.

    Those of a normal column are nearly Hermite's.  A column with few distinct values has no more
    polynomials than that; higher ones are 0.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        Standardised columns.
    degree : int

    Examples
    --------
    >>> PolynomialLattice(np.array([[-1.0], [0.0], [1.0]]), 3).kernel((1,)).round(3)
    array([-1.225,  0.   ,  1.225])
    """

    def __init__(self, Z: Array, degree: int) -> None:
        self.n_rows, self.n_features = Z.shape
        self.n_levels = degree
        self._recurrences = [_recurrence(column, degree) for column in Z.T]
        self._factors = [_values(column, own) for column, own in zip(Z.T, self._recurrences)]

    def stack(self) -> KernelStack:
        """An empty stack for kernels of rank one."""
        return FactorStack(self.n_rows)

    def level(self, i: int, level: int, rows: slice, columns: slice) -> Array:
        """Part of the kernel of a degree of a feature."""
        values = self._factors[i][level]
        return np.outer(values[rows], values[columns])

    def kernel(self, node: Node) -> Array:
        """Product of the polynomials of a node."""
        return _product(node, self._factors)

    def cross(self, nodes: Sequence[Node], weights: Array, Z: Array) -> Array:
        """Weighted sum of the kernels of nodes, between new rows and those of the table."""
        new = [_values(column, own) for column, own in zip(Z.T, self._recurrences)]
        total = np.zeros((len(Z), self.n_rows))
        for node, weight in zip(nodes, weights):
            total += np.outer(weight * _product(node, new), self.kernel(node))
        return total


def _product(node: Node, factors: list[list[Array]]) -> Array:
    return np.prod([factors[i][node[i]] for i in np.flatnonzero(node)], axis=0)


def _recurrence(z: Array, degree: int) -> list[tuple[float, float, float]]:
    """Shift, memory and scale of each step of the three-term recurrence; scale 0 ends it."""
    steps: list[tuple[float, float, float]] = []
    before, now, memory = np.zeros(len(z)), np.ones(len(z)), 0.0
    for _ in range(degree):
        shift = float(z @ now**2 / len(z))
        new = (z - shift) * now - memory * before
        scale = float(np.sqrt(np.mean(new**2)))
        if scale**2 < NOTHING:
            break
        steps.append((shift, memory, scale))
        before, now, memory = now, new / scale, scale
    return steps + [(0.0, 0.0, 0.0)] * (degree - len(steps))


def _values(z: Array, steps: list[tuple[float, float, float]]) -> list[Array]:
    """Values of the polynomials of degrees 0, 1, ..."""
    found, before = [np.ones(len(z))], np.zeros(len(z))
    for shift, memory, scale in steps:
        if scale == 0.0:
            found.append(np.zeros(len(z)))
            continue
        new = ((z - shift) * found[-1] - memory * before) / scale
        before = found[-1]
        found.append(new)
    return found


# -- several kernels -------------------------------------------------------------------------------


class KernelStack:
    """Kernel matrices of several nodes, in an array that grows."""

    def __init__(self, n_rows: int) -> None:
        self._array = np.empty((4, *self._shape(n_rows)))
        self._n = 0

    def _shape(self, n_rows: int) -> tuple[int, ...]:
        return (n_rows, n_rows)

    @property
    def _held(self) -> Array:
        return self._array[: self._n]

    def append(self, kernel: Array) -> None:
        """Add a kernel."""
        if self._n == len(self._array):
            more = np.empty((len(self._array) // 2, *self._array.shape[1:]))
            self._array = np.concatenate([self._array, more])
        self._array[self._n] = kernel
        self._n += 1

    def combined(self, weights: Array) -> Array:
        """Weighted sum."""
        flat = self._held.reshape(self._n, -1)
        return (weights @ flat).reshape(self._array.shape[1:])

    def times(self, vector: Array) -> Array:
        """Product of each kernel with a vector, in columns."""
        return (self._held @ vector).T


class FactorStack(KernelStack):
    """Factors of kernels of rank one."""

    def _shape(self, n_rows: int) -> tuple[int, ...]:
        return (n_rows,)

    def combined(self, weights: Array) -> Array:
        """Weighted sum."""
        return (self._held.T * weights) @ self._held

    def times(self, vector: Array) -> Array:
        """Product of each kernel with a vector, in columns."""
        return self._held.T * (self._held @ vector)

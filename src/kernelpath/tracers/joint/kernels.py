r"""Kernels of several features together, without weights: `JointRBF` and `JointANOVA`.

Both have a scale ``c`` that is divided by the number of features.  A kernel gives its matrix, the
matrices with one feature less or one more, and what one more factor of a feature would change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kernelpath.tracers.joint.columns import JointColumns

Matrix = NDArray[np.float64]
Features = Sequence[int] | NDArray[np.intp]
BLOCK = 2048  # columns in a matrix product
RANK = 6  # of the kernel of one feature


class JointKernel(Protocol):
    """What the search needs to know of a kernel."""

    n_rows: int
    n_features: int
    scales: ClassVar[tuple[float, ...]]
    nodes: ClassVar[tuple[float, ...]]

    def matrix(self, features: Features, c: float) -> Matrix:
        """Kernel matrix of some features."""

    def without_each(self, features: Features, c: float) -> Iterator[Matrix]:
        """Kernel matrices without one of them, each in turn."""

    def with_each(self, features: Features, c: float, others: Features) -> Iterator[Matrix]:
        """Kernel matrices with one more, each in turn."""

    def descents(
        self, features: Features, c: float, gradient: Matrix, others: Features
    ) -> NDArray[np.float64]:
        """How fast a loss falls in the weight of one more factor of each of ``others``.

        ``gradient`` is that of the loss in the kernel matrix.
        """


class JointRBF:
    r""":math:`K = \exp(-\tfrac{c}{k} \sum_j D_j) + 1`, with squared distances of mean 2.

    Examples
    --------
    >>> columns = JointColumns(np.array([[1.0], [-1.0]]), np.array([0, 1]), np.array([0]))
    >>> JointRBF(columns).matrix([0], 0.5).round(3).tolist()
    [[2.0, 1.135], [1.135, 2.0]]
    """

    scales: ClassVar[tuple[float, ...]] = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0)
    nodes: ClassVar[tuple[float, ...]] = (1.0,)

    def __init__(self, columns: JointColumns) -> None:
        self.columns = columns
        self.n_rows, self.n_features = columns.n_rows, columns.n_features
        self._held: tuple[bytes, Matrix] = (b"", np.zeros((0, 0)))

    def _distances(self, features: Features) -> Matrix:
        """Squared distances, which every scale asks for again."""
        key = np.asarray(features, dtype=np.intp).tobytes()
        if self._held[0] != key or not len(self._held[1]):
            self._held = (key, self.columns.distances(list(features)))
        return self._held[1]

    def matrix(self, features: Features, c: float) -> Matrix:
        """Kernel matrix of some features."""
        return _gaussian(self._distances(features), c / max(len(features), 1))

    def without_each(self, features: Features, c: float) -> Iterator[Matrix]:
        """Kernel matrices without one of them, each in turn."""
        D, rate = self._distances(features), c / max(len(features) - 1, 1)
        for j in features:
            yield _gaussian(D - self.columns.distances([j]), rate)

    def with_each(self, features: Features, c: float, others: Features) -> Iterator[Matrix]:
        """Kernel matrices with one more, each in turn."""
        D, rate = self._distances(features), c / (len(features) + 1)
        for j in others:
            yield _gaussian(D + self.columns.distances([j]), rate)

    def descents(
        self, features: Features, c: float, gradient: Matrix, others: Features
    ) -> NDArray[np.float64]:
        r"""How fast a loss falls in the weight of one more distance of each of ``others``.

        With :math:`M = G \circ (K - 1)` and :math:`m = M 1` that is :math:`\tfrac{c}{k} \sum M
        \circ D_j = \tfrac{2c}{k} (\sum_i m_i x_{ij}^2 - x_j^\top M x_j)`: one matrix product.
        """
        rate = c / max(len(features), 1)
        return 2.0 * rate * self.slopes(gradient * (self.matrix(features, c) - 1.0), others)

    def slopes(self, M: Matrix, others: Features) -> NDArray[np.float64]:
        r"""Half of :math:`\sum M \circ D_j` for each of ``others``."""
        m = M.sum(axis=1)
        which = np.asarray(others, dtype=np.intp)
        found = np.empty(len(which))
        for start in range(0, len(which), BLOCK):
            own = which[start : start + BLOCK]
            Z = self.columns.Z[:, self.columns.columns(own)]
            by_column = m @ np.square(Z) - np.einsum("ij,ij->j", Z, M @ Z)
            widths = self.columns.starts[own + 1] - self.columns.starts[own]
            found[start : start + BLOCK] = np.add.reduceat(by_column, np.cumsum(widths) - widths)
        return found


def _gaussian(D: Matrix, rate: float) -> Matrix:
    K = np.multiply(D, -rate)
    np.exp(K, out=K)
    K += 1.0
    return K


class JointANOVA:
    r""":math:`K = \prod_j (1 + \tfrac{c}{k} k_j)`: effects of features alone, and of them together.

    :math:`k_j = F_j F_j^\top` is the Gaussian kernel of one feature, of width 1 in standard
    deviations, by a few landmarks, centred and of mean diagonal 1.

    Examples
    --------
    >>> Z = np.random.default_rng(0).normal(size=(20, 2))
    >>> kernel = JointANOVA(JointColumns(Z, np.arange(3), np.arange(2)))
    >>> one, both = kernel.matrix([0], 1.0), kernel.matrix([0, 1], 2.0)
    >>> bool(np.allclose(both, one * kernel.matrix([1], 1.0)))
    True
    """

    scales: ClassVar[tuple[float, ...]] = (0.5, 1.0, 2.0, 4.0, 8.0)
    # A feature that is strong has no slope left at its own weight: slopes are added up from there
    # to almost no weight.
    nodes: ClassVar[tuple[float, ...]] = (1.0, 0.25, 0.0625, 0.015625)

    def __init__(self, columns: JointColumns) -> None:
        self.n_rows, self.n_features = columns.n_rows, columns.n_features
        self.F = np.zeros((self.n_features, self.n_rows, RANK))
        for j in range(self.n_features):
            own = columns.Z[:, columns.starts[j] : columns.starts[j + 1]]
            factor = _factor(own)
            self.F[j, :, : factor.shape[1]] = factor

    def _of(self, feature: int) -> Matrix:
        return self.F[feature] @ self.F[feature].T

    def matrix(self, features: Features, c: float) -> Matrix:
        """Kernel matrix of some features."""
        return self._times(np.ones((self.n_rows, self.n_rows)), features, c / max(len(features), 1))

    def _times(self, K: Matrix, features: Features, rate: float) -> Matrix:
        K = K.copy()
        for j in features:
            K *= 1.0 + rate * self._of(j)
        return K

    def without_each(self, features: Features, c: float) -> Iterator[Matrix]:
        """Kernel matrices without one of them, each in turn.

        A factor may be 0: products of the others are made by halves, and nothing is divided.
        """
        rate = c / max(len(features) - 1, 1)

        def walk(own: Features, others: Matrix) -> Iterator[Matrix]:
            if len(own) == 1:
                yield others
                return
            half = len(own) // 2
            yield from walk(own[:half], self._times(others, own[half:], rate))
            yield from walk(own[half:], self._times(others, own[:half], rate))

        if len(features):
            yield from walk(features, np.ones((self.n_rows, self.n_rows)))

    def with_each(self, features: Features, c: float, others: Features) -> Iterator[Matrix]:
        """Kernel matrices with one more, each in turn."""
        rate = c / (len(features) + 1)
        K = self._times(np.ones((self.n_rows, self.n_rows)), features, rate)
        for j in others:
            yield K * (1.0 + rate * self._of(j))

    def descents(
        self, features: Features, c: float, gradient: Matrix, others: Features
    ) -> NDArray[np.float64]:
        r"""How fast a loss falls in the weight of one more factor of each of ``others``.

        With :math:`M = G \circ K` that is :math:`-\tfrac{c}{k} \mathrm{tr}(F_j^\top M F_j)`.
        """
        M = gradient * self.matrix(features, c)
        which = np.asarray(others, dtype=np.intp)
        found = np.empty(len(which))
        for start in range(0, len(which), BLOCK // RANK):
            own = slice(start, start + BLOCK // RANK)
            F = self.F[which[own]].transpose(1, 0, 2).reshape(self.n_rows, -1)
            found[own] = np.einsum("ij,ij->j", F, M @ F).reshape(-1, RANK).sum(axis=1)
        return (-c / max(len(features), 1)) * found


def _factor(Z: Matrix) -> Matrix:
    """Centred factor of the Gaussian kernel of one feature, with landmarks over its range."""
    known = np.unique(Z, axis=0)
    if len(known) > RANK:  # the ends, and quantiles of the rows between
        order = np.lexsort(Z.T[::-1])
        places = np.round(np.linspace(0, len(Z) - 1, RANK)).astype(np.intp)
        known = np.unique(Z[order[places]], axis=0)
    near, far = (np.exp(-0.5 * _squared(A, known)) for A in (known, Z))
    values, Q = eigh(near)
    kept = values > 1e-10 * values[-1]
    F = far @ (Q[:, kept] / np.sqrt(values[kept]))
    F -= F.mean(axis=0)
    return F / np.sqrt(np.square(F).sum() / len(F))


def _squared(A: Matrix, B: Matrix) -> Matrix:
    return np.square(A[:, None, :] - B[None, :, :]).sum(axis=2)


KERNELS: dict[str, type[JointRBF] | type[JointANOVA]] = {"rbf": JointRBF, "anova": JointANOVA}

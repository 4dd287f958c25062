r"""Kernels with feature weights inside, and all their derivatives.

.. math:: k(x, z) = \exp\bigl(-\sum_k d_k (x_k - z_k)^2\bigr), \qquad
          k(x, z) = \Bigl(\frac{\sum_k d_k x_k z_k}{1 + \sum_k d_k} + 1\Bigr)^q,

the ARD-Gaussian and the normalised ARD-polynomial kernel of [li2010].  A path of weights needs, at
one point, :math:`a^\top \partial_k K a` for all features, :math:`\partial_k K a` and
:math:`a^\top \partial_k \partial_l K a` for some, and the first of these as a rate along a
direction: all by products of matrices, without an array of rows by rows for each feature.

Matrices of rows by rows are used again once nobody needs them: to get fresh memory from the
system takes longer than to fill it.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.weighted_kernels._ard_loops import (
    centred_lower,
    distances_times,
    gaussian_less_one,
)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

SINGLE = 12  # features: with more, the largest product of the curvature is of single precision


class MatrixPool:
    """Square matrices of one size that are used again, once nobody holds them.

    Whoever needs a transpose or another view has to hold the matrix, too.

    Examples
    --------
    >>> matrices = MatrixPool(3)
    >>> first = matrices.take()
    >>> memory = first.base
    >>> del first
    >>> matrices.take().base is memory
    True
    """

    def __init__(self, n: int) -> None:
        self._n, self._free = n, list[Matrix]()

    def take(self) -> Matrix:
        """A matrix with anything in it."""
        memory = self._free.pop() if self._free else np.empty((self._n, self._n))
        matrix = memory[:]
        weakref.finalize(matrix, self._free.append, memory).atexit = False
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        return {"_n": self._n, "_free": []}


class ARDKernel(ABC):
    """A kernel with one weight inside for each column of a table.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Standardised columns.
    """

    def __init__(self, X: Matrix) -> None:
        self.X = np.ascontiguousarray(X, dtype=np.float64)
        self.n_rows, self.n_kernels = self.X.shape
        self.matrices = MatrixPool(self.n_rows)

    @abstractmethod
    def at(self, weights: Vector) -> ARDPoint:
        """The kernel at some weights."""

    @abstractmethod
    def cross(self, weights: Vector, X: Matrix) -> Matrix:
        """Values for new rows and the training rows, less what is the same for all."""

    def products(self, weights: Vector, out: Matrix) -> Vector:
        """Fill with ``x' D z`` for all pairs of rows; the ``x' D x`` are returned."""
        used = np.flatnonzero(weights)
        X = np.ascontiguousarray(self.X[:, used])
        scaled = X * weights[used]
        if (weights[used] > 0.0).all():
            roots = X * np.sqrt(weights[used])
            np.dot(roots, roots.T, out=out)  # symmetric: half the work
        else:
            np.dot(scaled, X.T, out=out)
        return np.asarray((scaled * X).sum(axis=1))


class ARDPoint(ABC):
    """A kernel matrix at some weights, and its derivatives there.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_rows)
        ``K - 1``: subtracting a constant changes nothing once the matrix is centred, and small
        weights keep their digits.
    kernel : ARDKernel
    """

    kernel: ARDKernel
    values: Matrix

    def centred(self, ridge: float, out: Matrix) -> Matrix:
        """Fill the lower triangle with that of ``H K H + ridge I``."""
        centred_lower(self.values, self.values.mean(axis=0), ridge, out)
        return out

    def times(self, B: Matrix) -> Matrix:
        """``K B``."""
        return np.asarray(self.values @ B + B.sum(axis=0))

    @abstractmethod
    def slopes(self, a: Vector) -> Vector:
        """``a' dK_k a`` of all features."""

    @abstractmethod
    def images(self, a: Vector, parts: Indices) -> Matrix:
        """``dK_k a`` of some features, as columns."""

    @abstractmethod
    def curvature(self, a: Vector, parts: Indices) -> Matrix:
        """``a' ddK_kl a`` of some features; with many of them, of single precision."""

    @abstractmethod
    def along(self, rate: Vector) -> ARDDirection:
        """What the kernel does where the weights have a rate of change."""


class ARDDirection(ABC):
    """Rates of change along a direction of the weights."""

    @abstractmethod
    def image(self, a: Vector) -> Vector:
        """The rate of ``K a`` where ``a`` stays."""

    @abstractmethod
    def slopes(self, a: Vector, a_rate: Vector) -> Vector:
        """Rates of the slopes of all features where ``a`` has a rate of change, too."""


def crossed_forms(values: Matrix, plus: float, X: Matrix, a: Vector) -> Matrix:
    """``sum_ij (values + plus)_ij a_i a_j x_ik x_il x_jk x_jl`` for all pairs of columns."""
    p = X.shape[1]
    first, second = np.triu_indices(p)
    kind: Any = np.float32 if p > SINGLE else np.float64
    pairs = X.astype(kind).T
    pairs = pairs[first] * pairs[second] * a.astype(kind)
    forms = np.einsum("ki,ki->k", pairs, pairs @ values.astype(kind, copy=False))
    forms = forms + plus * np.square(pairs.sum(axis=1))
    Q = np.empty((p, p))
    Q[first, second] = Q[second, first] = forms
    return Q


# -- Gaussian --------------------------------------------------------------------------------------


class ARDGaussian(ARDKernel):
    """``exp(-sum_k d_k (x_k - z_k)^2)``.

    Examples
    --------
    >>> kernel = ARDGaussian(np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]]))
    >>> point = kernel.at(np.array([0.5, 0.0]))
    >>> (point.values + 1.0)[0].round(4).tolist()
    [1.0, 0.1353, 0.6065]
    """

    def __init__(self, X: Matrix) -> None:
        super().__init__(X)
        self.squares = np.square(self.X)

    def at(self, weights: Vector) -> GaussianPoint:
        """The kernel at some weights."""
        return GaussianPoint(self, weights)

    def cross(self, weights: Vector, X: Matrix) -> Matrix:
        """Values for new rows and the training rows, less 1."""
        used = np.flatnonzero(weights)
        left, right = X[:, used], self.X[:, used]
        E = 2.0 * (left * weights[used]) @ right.T
        E -= (np.square(left) @ weights[used])[:, None]
        E -= np.square(right) @ weights[used]
        return np.expm1(E)


class GaussianPoint(ARDPoint):
    r"""The ARD-Gaussian kernel at some weights.

    With :math:`\delta_k = (x_k - z_k)^2` all derivatives are forms of
    :math:`M = K \circ a a^\top`, and :math:`M B = a \circ K (a \circ B)`.
    """

    kernel: ARDGaussian

    def __init__(self, kernel: ARDGaussian, weights: Vector) -> None:
        self.kernel = kernel
        self.values = kernel.matrices.take()
        gaussian_less_one(self.values, kernel.products(weights, self.values))

    def slopes(self, a: Vector) -> Vector:
        """``-2 (m' x_k^2 - x_k' M x_k)`` with ``m = M 1``."""
        return self.forms(a * self.times(a), a[:, None] * self.products(a))

    def products(self, a: Vector) -> Matrix:
        """``K (a o X)`` of all features; remembered."""
        if self._products[0] is not a:
            self._products = (a, self.times(self.kernel.X * a[:, None]))
        return self._products[1]

    @cached_property
    def _products(self) -> tuple[Vector | None, Matrix]:
        return None, np.zeros((0, 0))

    def forms(self, m: Vector, MX: Matrix) -> Vector:
        """``-sum_ij M_ij (x_ik - x_jk)^2`` of all features, for a symmetric matrix."""
        kernel = self.kernel
        return np.asarray(-2.0 * (m @ kernel.squares - np.einsum("ik,ik->k", kernel.X, MX)))

    def images(self, a: Vector, parts: Indices) -> Matrix:
        """``-(x_k^2 o Ka - 2 x_k o K(x_k o a) + K(x_k^2 o a))``."""
        X, squares = self.kernel.X[:, parts], self.kernel.squares[:, parts]
        last = self.times(squares * a[:, None])
        return np.asarray(
            2.0 * X * self.products(a)[:, parts] - squares * self.times(a)[:, None] - last
        )

    def curvature(self, a: Vector, parts: Indices) -> Matrix:
        """``sum_ij M_ij (x_ik - x_jk)^2 (x_il - x_jl)^2``, expanded into products of matrices."""
        X, squares = self.kernel.X[:, parts], self.kernel.squares[:, parts]
        Q = 4.0 * crossed_forms(self.values, 1.0, X, a)
        MX = a[:, None] * self.products(a)[:, parts]
        mixed = squares.T @ (X * MX)  # sum_i x_ik^2 x_il (M x_l)_i
        Q -= 4.0 * (mixed + mixed.T)
        scaled = squares * a[:, None]
        own = squares * (a * self.times(a))[:, None]
        Q += 2.0 * (scaled.T @ self.times(scaled) + own.T @ squares)
        return Q

    def along(self, rate: Vector) -> GaussianDirection:
        """What the kernel does where the weights have a rate of change."""
        return GaussianDirection(self, rate)


class GaussianDirection(ARDDirection):
    """The rate of ``K``, which is ``-K o sum_k rate_k delta_k``."""

    def __init__(self, point: GaussianPoint, rate: Vector) -> None:
        self._point, kernel = point, point.kernel
        self._K_rate = kernel.matrices.take()
        distances_times(self._K_rate, kernel.products(rate, self._K_rate), point.values)

    def image(self, a: Vector) -> Vector:
        """The rate of ``K a`` where ``a`` stays."""
        return np.asarray(self._K_rate @ a)

    def slopes(self, a: Vector, a_rate: Vector) -> Vector:
        """As the slopes, with the rate of change of ``M`` in its place."""
        point, X = self._point, self._point.kernel.X
        m = a * (point.times(a_rate) + self._K_rate @ a) + a_rate * point.times(a)
        moved = point.times(X * a_rate[:, None]) + self._K_rate @ (X * a[:, None])
        return point.forms(m, a[:, None] * moved + a_rate[:, None] * point.products(a))


# -- polynomial ------------------------------------------------------------------------------------


class ARDNormalizedPolynomial(ARDKernel):
    """``(sum_k d_k x_k z_k / (1 + sum_k d_k) + 1)^degree``.

    Examples
    --------
    >>> kernel = ARDNormalizedPolynomial(np.array([[1.0], [-1.0]]), degree=2)
    >>> (kernel.at(np.array([1.0])).values + 1.0).tolist()
    [[2.25, 0.25], [0.25, 2.25]]
    """

    def __init__(self, X: Matrix, degree: int = 3) -> None:
        super().__init__(X)
        self.degree = degree

    def at(self, weights: Vector) -> PolynomialPoint:
        """The kernel at some weights."""
        return PolynomialPoint(self, weights)

    def cross(self, weights: Vector, X: Matrix) -> Matrix:
        """Values for new rows and the training rows, less 1."""
        used = np.flatnonzero(weights)
        inner = (X[:, used] * weights[used]) @ self.X[:, used].T / (1.0 + weights.sum())
        return np.asarray((1.0 + inner) ** self.degree - 1.0)


class PolynomialPoint(ARDPoint):
    r"""The normalised ARD-polynomial kernel at some weights.

    With :math:`w = \sum_k d_k x_k x_k^\top / S` and :math:`S = 1 + \sum_k d_k`,
    :math:`\partial_k w = (x_k x_k^\top - w) / S`.
    """

    kernel: ARDNormalizedPolynomial

    def __init__(self, kernel: ARDNormalizedPolynomial, weights: Vector) -> None:
        self.kernel, self.total = kernel, 1.0 + float(weights.sum())
        self.w, self.values, self.first = (kernel.matrices.take() for _ in range(3))
        kernel.products(weights, self.w)
        self.w /= self.total
        q = kernel.degree
        np.power(self.w + 1.0, q - 1, out=self.first)
        np.multiply(self.first, self.w + 1.0, out=self.values)
        self.values -= 1.0
        self.first *= q

    @cached_property
    def second(self) -> Matrix:
        """``f''(w)`` of the power ``f``."""
        q = self.kernel.degree
        return np.asarray(q * (q - 1) * (1.0 + self.w) ** max(q - 2, 0))

    def slopes(self, a: Vector) -> Vector:
        """``(x_k' M x_k - sum M o w) / S`` with ``M = f'(w) o aa'``."""
        return self.forms(self.first * np.outer(a, a))

    def forms(self, M: Matrix) -> Vector:
        """``sum_ij M_ij (x_ik x_jk - w_ij) / S`` of all features."""
        X = self.kernel.X
        return np.asarray(
            (np.einsum("ik,ik->k", X, M @ X) - float((M * self.w).sum())) / self.total
        )

    def images(self, a: Vector, parts: Indices) -> Matrix:
        """``(x_k o F(x_k o a) - (F o w) a) / S`` with ``F = f'(w)``."""
        X = self.kernel.X[:, parts]
        same = (self.first * self.w) @ a
        return np.asarray((X * (self.first @ (X * a[:, None])) - same[:, None]) / self.total)

    def curvature(self, a: Vector, parts: Indices) -> Matrix:
        """Second derivatives: of the power, and of the normalisation."""
        X, S, A = self.kernel.X[:, parts], self.total, np.outer(a, a)
        M, N = self.first * A, self.second * A
        Q = crossed_forms(self.second, 0.0, X, a)
        Nw = N * self.w
        lone = np.einsum("ik,ik->k", X, Nw @ X)
        Q += float((Nw * self.w).sum()) - lone - lone[:, None]
        plain = np.einsum("ik,ik->k", X, M @ X)  # d_l d_k w = (2w - x_k x_k' - x_l x_l') / S^2
        Q += 2.0 * float((M * self.w).sum()) - plain - plain[:, None]
        return Q / S**2

    def along(self, rate: Vector) -> PolynomialDirection:
        """What the kernel does where the weights have a rate of change."""
        return PolynomialDirection(self, rate)


class PolynomialDirection(ARDDirection):
    """The rates of ``w`` and of ``S``."""

    def __init__(self, point: PolynomialPoint, rate: Vector) -> None:
        self._point, self._grown = point, float(rate.sum())
        self._w_rate = point.kernel.matrices.take()
        point.kernel.products(rate, self._w_rate)
        self._w_rate -= self._grown * point.w
        self._w_rate /= point.total

    def image(self, a: Vector) -> Vector:
        """The rate of ``K a`` where ``a`` stays."""
        return np.asarray((self._point.first * self._w_rate) @ a)

    def slopes(self, a: Vector, a_rate: Vector) -> Vector:
        """As the slopes, with the rates of ``M``, ``w`` and ``S``."""
        point, both = self._point, np.outer(a, a_rate)
        A = np.outer(a, a)
        M = point.first * A
        M_rate = point.first * (both + both.T) + point.second * self._w_rate * A
        lost = float((M * self._w_rate).sum()) + self._grown * point.forms(M)
        return np.asarray(point.forms(M_rate) - lost / point.total)

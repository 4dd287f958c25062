r"""Kernels with feature weights inside, and all their derivatives.

.. math:: k(x, z) = \exp\bigl(-\sum_k d_k (x_k - z_k)^2\bigr), \qquad
          k(x, z) = \Bigl(\frac{\sum_k d_k x_k z_k}{1 + \sum_k d_k} + 1\Bigr)^q,

the ARD-Gaussian and the normalised ARD-polynomial kernel of [li2010].  A path of weights needs, at
one point, :math:`a^\top \partial_k K a` for all features, :math:`\partial_k K a` and
:math:`a^\top \partial_k \partial_l K a` for some, and the first of these as a rate along a
direction: all by products of matrices, without an array of rows by rows for each feature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


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

    @abstractmethod
    def at(self, weights: Vector) -> ARDPoint:
        """The kernel at some weights."""

    @abstractmethod
    def cross(self, weights: Vector, X: Matrix) -> Matrix:
        """Values for new rows and the training rows, less what is the same for all."""


class ARDPoint(ABC):
    """A kernel matrix at some weights, and its derivatives there.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_rows)
        ``K - 1``: subtracting a constant changes nothing once the matrix is centred, and small
        weights keep their digits.
    """

    values: Matrix

    @property
    def centred(self) -> Matrix:
        """``H K H``."""
        means = self.values.mean(axis=0)
        return self.values - means - means[:, None] + means.mean()

    @abstractmethod
    def slopes(self, a: Vector) -> Vector:
        """``a' dK_k a`` of all features."""

    @abstractmethod
    def images(self, a: Vector, parts: NDArray[np.intp]) -> Matrix:
        """``dK_k a`` of some features, as columns."""

    @abstractmethod
    def curvature(self, a: Vector, parts: NDArray[np.intp]) -> Matrix:
        """``a' ddK_kl a`` of some features."""

    @abstractmethod
    def rates(self, a: Vector, a_rate: Vector, rate: Vector) -> Vector:
        """Rates of the slopes of all features where ``a`` and the weights have rates of change."""


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

    def exponents(self, weights: Vector, left: Matrix, right: Matrix) -> Matrix:
        """``-sum_k d_k (x_k - z_k)^2`` for two sets of rows."""
        used = np.flatnonzero(weights)
        scaled = left[:, used] * weights[used]
        E = 2.0 * scaled @ right[:, used].T
        E -= (scaled * left[:, used]).sum(axis=1)[:, None]
        E -= np.square(right[:, used]) @ weights[used]
        return E

    def cross(self, weights: Vector, X: Matrix) -> Matrix:
        """Values for new rows and the training rows, less 1."""
        return np.expm1(self.exponents(weights, X, self.X))


class GaussianPoint(ARDPoint):
    """The ARD-Gaussian kernel at some weights."""

    def __init__(self, kernel: ARDGaussian, weights: Vector) -> None:
        self._kernel = kernel
        E = kernel.exponents(weights, kernel.X, kernel.X)
        np.fill_diagonal(E, 0.0)
        self.values = np.expm1(E)
        self._K = self.values + 1.0

    def slopes(self, a: Vector) -> Vector:
        """``-2 (m' x_k^2 - x_k' M x_k)`` with ``M = K o aa'`` and ``m = M 1``."""
        return self._forms(self._K * np.outer(a, a))

    def _forms(self, M: Matrix) -> Vector:
        """``-sum_ij M_ij (x_ik - x_jk)^2`` of all features, for a symmetric matrix."""
        X, squares = self._kernel.X, self._kernel.squares
        return -2.0 * (M.sum(axis=1) @ squares - np.einsum("ik,ik->k", X, M @ X))

    def images(self, a: Vector, parts: NDArray[np.intp]) -> Matrix:
        """``-(x_k^2 o Ka - 2 x_k o K(x_k o a) + K(x_k^2 o a))``."""
        X, squares, p = self._kernel.X[:, parts], self._kernel.squares[:, parts], len(parts)
        right = np.column_stack([a, X * a[:, None], squares * a[:, None]])
        product = self._K @ right
        return 2.0 * X * product[:, 1 : p + 1] - squares * product[:, :1] - product[:, p + 1 :]

    def curvature(self, a: Vector, parts: NDArray[np.intp]) -> Matrix:
        """``sum_ij M_ij (x_ik - x_jk)^2 (x_il - x_jl)^2``, expanded into products of matrices."""
        X, squares, p = self._kernel.X[:, parts], self._kernel.squares[:, parts], len(parts)
        M = self._K * np.outer(a, a)
        first, second = np.triu_indices(p)
        pairs = X[:, first] * X[:, second]
        Q = np.empty((p, p))
        crossed = np.einsum("ik,ik->k", pairs, M @ pairs)
        Q[first, second] = Q[second, first] = 4.0 * crossed
        MX = M @ X
        mixed = (squares * 1.0).T @ (X * MX)  # sum_i x_ik^2 x_il (M x_l)_i
        Q -= 4.0 * (mixed + mixed.T)
        Q += 2.0 * (squares.T @ (M @ squares) + (squares * M.sum(axis=1)[:, None]).T @ squares)
        return Q

    def rates(self, a: Vector, a_rate: Vector, rate: Vector) -> Vector:
        """As the slopes, with the rate of change of ``M`` in its place."""
        X, used = self._kernel.X, np.flatnonzero(rate)
        scaled = X[:, used] * rate[used]
        own = (scaled * X[:, used]).sum(axis=1)
        distance = own[:, None] + own - 2.0 * scaled @ X[:, used].T
        both = np.outer(a, a_rate)
        return self._forms(self._K * (both + both.T - distance * np.outer(a, a)))


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

    def inner(self, weights: Vector, left: Matrix, right: Matrix) -> Matrix:
        """``sum_k d_k x_k z_k / (1 + sum_k d_k)`` for two sets of rows."""
        used = np.flatnonzero(weights)
        return (left[:, used] * weights[used]) @ right[:, used].T / (1.0 + weights.sum())

    def cross(self, weights: Vector, X: Matrix) -> Matrix:
        """Values for new rows and the training rows, less 1."""
        return (1.0 + self.inner(weights, X, self.X)) ** self.degree - 1.0


class PolynomialPoint(ARDPoint):
    r"""The normalised ARD-polynomial kernel at some weights.

    With :math:`w = \sum_k d_k x_k x_k^\top / S` and :math:`S = 1 + \sum_k d_k`,
    :math:`\partial_k w = (x_k x_k^\top - w) / S`.
    """

    def __init__(self, kernel: ARDNormalizedPolynomial, weights: Vector) -> None:
        self._kernel, q = kernel, kernel.degree
        self._total = 1.0 + float(weights.sum())
        self._w = kernel.inner(weights, kernel.X, kernel.X)
        self.values = (1.0 + self._w) ** q - 1.0
        self._first = q * (1.0 + self._w) ** (q - 1)
        self._second = q * (q - 1) * (1.0 + self._w) ** max(q - 2, 0)

    def slopes(self, a: Vector) -> Vector:
        """``(x_k' M x_k - sum M o w) / S`` with ``M = f'(w) o aa'``."""
        return self._forms(self._first * np.outer(a, a))

    def _forms(self, M: Matrix) -> Vector:
        X = self._kernel.X
        return (np.einsum("ik,ik->k", X, M @ X) - float((M * self._w).sum())) / self._total

    def images(self, a: Vector, parts: NDArray[np.intp]) -> Matrix:
        """``(x_k o F(x_k o a) - (F o w) a) / S`` with ``F = f'(w)``."""
        X = self._kernel.X[:, parts]
        same = (self._first * self._w) @ a
        return (X * (self._first @ (X * a[:, None])) - same[:, None]) / self._total

    def curvature(self, a: Vector, parts: NDArray[np.intp]) -> Matrix:
        """Second derivatives: of the power, and of the normalisation."""
        X, S, p = self._kernel.X[:, parts], self._total, len(parts)
        A = np.outer(a, a)
        M, N = self._first * A, self._second * A
        first, second = np.triu_indices(p)
        pairs = X[:, first] * X[:, second]
        Q = np.empty((p, p))
        crossed = np.einsum("ik,ik->k", pairs, N @ pairs)
        Q[first, second] = Q[second, first] = crossed
        Nw = N * self._w
        lone = np.einsum("ik,ik->k", X, Nw @ X)
        Q += float((Nw * self._w).sum()) - lone - lone[:, None]
        plain = np.einsum("ik,ik->k", X, M @ X)  # d_l d_k w = (2w - x_k x_k' - x_l x_l') / S^2
        Q += 2.0 * float((M * self._w).sum()) - plain - plain[:, None]
        return Q / S**2

    def rates(self, a: Vector, a_rate: Vector, rate: Vector) -> Vector:
        """As the slopes, with the rates of ``M``, ``w`` and ``S``."""
        X, used = self._kernel.X, np.flatnonzero(rate)
        S, grown = self._total, float(rate.sum())
        w_rate = ((X[:, used] * rate[used]) @ X[:, used].T - grown * self._w) / S
        A, both = np.outer(a, a), np.outer(a, a_rate)
        M = self._first * A
        M_rate = self._first * (both + both.T) + self._second * w_rate * A
        now = self._forms(M)
        return self._forms(M_rate) - (float((M * w_rate).sum()) + grown * now) / S

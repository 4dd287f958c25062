r"""Kernels that are no sum of their parts: products of Gaussians and weighted polynomials.

Their derivative in every weight is a contraction of one matrix with the table, so all of them
together cost two products of matrices and no matrix of distances is ever stored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.grams import CachedRows
from kernelpath.mkl.weighted_kernels.base import WeightedKernel, as_columns
from kernelpath.tables.rows import Shares, mean_of

TILE = 256  # rows of kernel values that exist at a time
MANY_PAIRED = 2000  # rows: beyond, single precision serves derivatives as it serves machines


class ProductRBF(WeightedKernel):
    r"""Product of one Gaussian kernel per feature, Section 5.3 of [jain2012].

    .. math:: K(d)_{ij} = \prod_k \exp(-d_k (x_{ik} - x_{jk})^2)

    The weight of a feature is its width: zero leaves it out.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features of comparable scale.
    shares : ndarray of shape (n_rows,), optional
        Weights of the rows in the size of a weight that matters.

    Attributes
    ----------
    weight_unit : float
        Size of a weight that matters, in the units of the table.

    Examples
    --------
    >>> kernel = ProductRBF(np.array([[0.0, 5.0], [1.0, 7.0]]))
    >>> kernel.gram(np.array([1.0, 0.0])).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """

    def __init__(self, X: NDArray[np.float64], shares: Shares = None) -> None:
        # Only differences count; small numbers keep their digits.
        self._center = mean_of(X, shares)
        self._X = np.ascontiguousarray(X - self._center)
        self.n_rows, self.n_kernels = X.shape
        self.weight_unit = _unit(self._X, shares)

    @property
    def nbytes(self) -> int:
        """Memory of the table."""
        return self._X.nbytes

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel matrix of the training rows."""
        used = np.flatnonzero(weights)
        A = self._X[:, used] * np.sqrt(weights[used])
        square = np.einsum("ij,ij->i", A, A)
        distance = A @ A.T  # a matrix times its transpose: half the work
        distance *= 2.0
        distance -= square[:, None]
        distance -= square[None, :]
        np.minimum(distance, 0.0, out=distance)
        K = np.exp(distance, out=distance)
        np.fill_diagonal(K, 1.0)
        return K

    def large_gram(self, weights: NDArray[np.float64]) -> CachedRows:
        """The same for many rows: rows of single precision, when they are asked for."""
        left, right = _pair(self._X, self._X, weights)

        def compute(rows: NDArray[np.intp]) -> NDArray[np.float32]:
            return _single(left[rows], right)

        return CachedRows(self.n_rows, compute, float(self.n_rows))

    def cross(self, weights: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel values between new rows and the training rows."""
        return np.exp(_exponents(*_pair(X - self._center, self._X, weights)))

    def cross_times(self, weights: NDArray, X: NDArray, U: NDArray) -> NDArray[np.float64]:
        """``K(X, rows) U`` for new rows."""
        return _by_tiles(self.cross, weights, X, U)

    def grad_quad(self, weights: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray:
        """Derivative of ``sum_o u_o' K(d) u_o`` in each weight.

        It is ``-sum_ij M_ij (x_ik - x_jk)^2`` with ``M = (U U') * K``, on the rows with a dual
        coefficient only, tile by tile and each pair once.
        """
        U = as_columns(U)
        rows = np.flatnonzero(np.any(U != 0.0, axis=1))
        X, U = self._X[rows], U[rows]
        left, right = _pair(X, X, weights)
        single = len(rows) > MANY_PAIRED
        squares = np.square(X)
        total = np.zeros(self.n_kernels)
        for first in range(0, len(rows), TILE):
            own, rest = slice(first, first + TILE), slice(first, None)
            tile = (_single if single else _double)(left[own], right[rest])
            M = tile * (U[own] @ U[rest].T)
            M[:, : U[own].shape[0]] *= 0.5  # within the tile every pair is there twice
            total += squares[own].T @ M.sum(axis=1) + squares[rest].T @ M.sum(axis=0)
            total -= 2.0 * np.einsum("ik,ik->k", X[own], M @ X[rest])
        return -2.0 * total


def _unit(X: NDArray[np.float64], shares: Shares) -> float:
    """Weight at which the mean feature, of those that differ from zero, has the size 1."""
    squares = mean_of(np.square(X), shares)
    return 1.0 / float(squares[squares > 0].mean()) if squares.any() else 1.0


def _pair(
    X: NDArray, Z: NDArray, weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two tables whose product is minus the weighted squared distances: one product does all."""
    used = np.flatnonzero(weights)
    root = np.sqrt(weights[used])
    A, B = X[:, used] * root, Z[:, used] * root
    a, b = np.einsum("ij,ij->i", A, A)[:, None], np.einsum("ij,ij->i", B, B)[:, None]
    left = np.hstack([2.0 * A, -a, np.full((len(A), 1), -1.0)])
    return left, np.hstack([B, np.ones((len(B), 1)), b])


def _exponents(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    distance = left @ right.T
    return np.minimum(distance, 0.0, out=distance)


def _double(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    exponents = _exponents(left, right)
    return np.exp(exponents, out=exponents)


def _single(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float32]:
    """Kernel values of single precision, from distances of double precision."""
    exponents = _exponents(left, right).astype(np.float32)
    return np.exp(exponents, out=exponents)


def _by_tiles(
    cross: Callable[[NDArray, NDArray], NDArray], weights: NDArray, X: NDArray, U: NDArray
) -> NDArray[np.float64]:
    """``K(X, rows) U``, a few new rows at a time."""
    U = as_columns(U)
    product = np.empty((len(X), U.shape[1]))
    for first in range(0, len(X), TILE):
        product[first : first + TILE] = cross(weights, X[first : first + TILE]) @ U
    return product


class ARDPolynomial(WeightedKernel):
    r"""Polynomial of a weighted inner product.

    .. math:: K(d)_{ij} = \Bigl(c_0 + \sum_k d_k x_{ik} x_{jk}\Bigr)^{degree}

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Standardised features.
    degree : int
    coef0 : float
    shares : ndarray of shape (n_rows,), optional
        Weights of the rows in the size of a weight that matters.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        degree: int = 2,
        coef0: float = 1.0,
        shares: Shares = None,
    ) -> None:
        if degree < 1 or coef0 < 0:
            raise ValueError(
                f"degree must be at least 1 and coef0 at least 0, got {degree} and {coef0}"
            )
        self._X, self._degree, self._coef0 = np.ascontiguousarray(X), degree, coef0
        self.n_rows, self.n_kernels = X.shape
        self.weight_unit = _unit(self._X, shares)

    @property
    def nbytes(self) -> int:
        """Memory of the table."""
        return self._X.nbytes

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel matrix of the training rows."""
        used = np.flatnonzero(weights)
        A = self._X[:, used] * np.sqrt(weights[used])
        return (self._coef0 + A @ A.T) ** self._degree

    def large_gram(self, weights: NDArray[np.float64]) -> CachedRows:
        """The same for many rows: rows of single precision, when they are asked for."""
        diagonal = (self._coef0 + np.square(self._X) @ weights) ** self._degree

        def compute(rows: NDArray[np.intp]) -> NDArray[np.float32]:
            return (self._base(self._X[rows], self._X, weights) ** self._degree).astype(np.float32)

        return CachedRows(self.n_rows, compute, float(diagonal.sum()))

    def cross(self, weights: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel values between new rows and the training rows."""
        return self._base(X, self._X, weights) ** self._degree

    def cross_times(self, weights: NDArray, X: NDArray, U: NDArray) -> NDArray[np.float64]:
        """``K(X, rows) U`` for new rows."""
        return _by_tiles(self.cross, weights, X, U)

    def grad_quad(self, weights: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray:
        """Derivative of ``sum_o u_o' K(d) u_o``: the diagonal of ``X' ((U U') * K') X``."""
        U = as_columns(U)
        rows = np.flatnonzero(np.any(U != 0.0, axis=1))
        X, U = self._X[rows], U[rows]
        total = np.zeros(self.n_kernels)
        for first in range(0, len(rows), TILE):
            own = slice(first, first + TILE)
            M = self._degree * self._base(X[own], X, weights) ** (self._degree - 1)
            M *= U[own] @ U.T
            total += np.einsum("ik,ik->k", X[own], M @ X)
        return total

    def _base(self, X: NDArray, Z: NDArray, weights: NDArray) -> NDArray[np.float64]:
        used = np.flatnonzero(weights)
        return self._coef0 + (X[:, used] * weights[used]) @ Z[:, used].T

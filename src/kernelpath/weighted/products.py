r"""Kernels that are no sum of their parts: products of Gaussians and weighted polynomials.

Their derivative in every weight is a contraction of one matrix with the table, so all of them
together cost two products of matrices and no matrix of distances is ever stored.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.weighted.base import as_columns


class ProductRBF:
    r"""Product of one Gaussian kernel per feature, Section 5.3 of [jain2012].

    .. math:: K(d)_{ij} = \prod_k \exp(-d_k (x_{ik} - x_{jk})^2)

    The weight of a feature is its width: zero leaves it out.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features of comparable scale.

    Examples
    --------
    >>> kernel = ProductRBF(np.array([[0.0, 5.0], [1.0, 7.0]]))
    >>> kernel.gram(np.array([1.0, 0.0])).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """

    is_sum = False

    def __init__(self, X: NDArray[np.float64]) -> None:
        # Only differences count; small numbers keep their digits.
        self._center = X.mean(axis=0)
        self._X = np.ascontiguousarray(X - self._center)
        self.n_rows, self.n_kernels = X.shape

    @property
    def nbytes(self) -> int:
        """Memory of the table."""
        return self._X.nbytes

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel matrix of the training rows."""
        return _gaussian(self._X, None, weights)

    def cross(self, weights: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel values between new rows and the training rows."""
        return _gaussian(X - self._center, self._X, weights)

    def cross_times(self, weights: NDArray, X: NDArray, U: NDArray) -> NDArray[np.float64]:
        """``K(X, rows) U`` for new rows."""
        return self.cross(weights, X) @ as_columns(U)

    def grad_quad(self, weights: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray:
        """Derivative of ``sum_o u_o' K(d) u_o`` in each weight.

        It is ``-sum_ij M_ij (x_ik - x_jk)^2`` with ``M = (U U') * K``, on the rows with a dual
        coefficient only.
        """
        U = as_columns(U)
        rows = np.flatnonzero(np.any(U != 0.0, axis=1))
        X, U = self._X[rows], U[rows]
        M = _gaussian(X, None, weights)
        M *= U @ U.T
        squares = np.square(X).T @ M.sum(axis=1)
        mixed = np.einsum("ik,ik->k", X, M @ X)
        return 2.0 * (mixed - squares)


def _scaled(
    X: NDArray, Z: NDArray | None, weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns with a weight, times its root; one and the same array if there is one table."""
    used = np.flatnonzero(weights)
    root = np.sqrt(weights[used])
    A = X[:, used] * root
    return A, A if Z is None else Z[:, used] * root


def _gaussian(X: NDArray, Z: NDArray | None, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """``exp`` of minus the weighted squared distances, within one table or between two."""
    A, B = _scaled(X, Z, weights)
    distance = -2.0 * (A @ B.T)
    distance += np.einsum("ij,ij->i", A, A)[:, None]
    distance += np.einsum("ij,ij->i", B, B)[None, :]
    np.maximum(distance, 0.0, out=distance)
    np.negative(distance, out=distance)
    K = np.exp(distance, out=distance)
    if Z is None:
        np.fill_diagonal(K, 1.0)
    return K


class ARDPolynomial:
    r"""Polynomial of a weighted inner product.

    .. math:: K(d)_{ij} = \Bigl(c_0 + \sum_k d_k x_{ik} x_{jk}\Bigr)^{degree}

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Standardised features.
    degree : int
    coef0 : float
    """

    is_sum = False

    def __init__(self, X: NDArray[np.float64], degree: int = 2, coef0: float = 1.0) -> None:
        if degree < 1 or coef0 < 0:
            raise ValueError(
                f"degree must be at least 1 and coef0 at least 0, got {degree} and {coef0}"
            )
        self._X, self._degree, self._coef0 = np.ascontiguousarray(X), degree, coef0
        self.n_rows, self.n_kernels = X.shape

    @property
    def nbytes(self) -> int:
        """Memory of the table."""
        return self._X.nbytes

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel matrix of the training rows."""
        return self._base(self._X, None, weights) ** self._degree

    def cross(self, weights: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel values between new rows and the training rows."""
        return self._base(X, self._X, weights) ** self._degree

    def cross_times(self, weights: NDArray, X: NDArray, U: NDArray) -> NDArray[np.float64]:
        """``K(X, rows) U`` for new rows."""
        return self.cross(weights, X) @ as_columns(U)

    def grad_quad(self, weights: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray:
        """Derivative of ``sum_o u_o' K(d) u_o``: the diagonal of ``X' ((U U') * K') X``."""
        U = as_columns(U)
        rows = np.flatnonzero(np.any(U != 0.0, axis=1))
        X, U = self._X[rows], U[rows]
        M = self._degree * self._base(X, None, weights) ** (self._degree - 1)
        M *= U @ U.T
        return np.einsum("ik,ik->k", X, M @ X)

    def _base(self, X: NDArray, Z: NDArray | None, weights: NDArray) -> NDArray[np.float64]:
        A, B = _scaled(X, Z, weights)
        return self._coef0 + A @ B.T

"""A kernel matrix by its factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.mkl.grams.base import Inverse, Rows

MOST_INVERTED = 2000  # rank: a larger system is left to conjugate gradients


class LowRank:
    r"""A matrix by its factor, :math:`K = F^\top \operatorname{diag}(s) F`.

    Parameters
    ----------
    factor : ndarray of shape (rank, n_rows)
        Not copied.
    scale : ndarray of shape (rank,)
        Not negative.

    Examples
    --------
    >>> K = LowRank(np.array([[1.0, 2.0, 3.0]]), np.array([2.0]))
    >>> K.times(np.array([1.0]), np.array([1])).tolist()
    [4.0, 8.0, 12.0]
    """

    def __init__(self, factor: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        self.factor, self.scale = factor, scale
        self.rank, self.n_rows = factor.shape

    def trace(self) -> float:
        """Sum of the diagonal."""
        return float(self.scale @ np.einsum("ij,ij->i", self.factor, self.factor))

    def block(self, rows: Rows, columns: Rows) -> NDArray[np.float64]:
        """``K[rows][:, columns]``."""
        left = self.factor[:, rows]
        right = left if columns is rows else self.factor[:, columns]
        return left.T @ (right * self.scale[:, None])

    def times(self, u: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
        """``K[:, rows] u``, in the number of rows times the rank."""
        part = self.factor if len(rows) == self.n_rows else self.factor[:, rows]
        return (self.scale * (part @ u)) @ self.factor

    def inverse(self, ridge: float) -> Inverse | None:
        """Product with the inverse, by a system of the size of the rank."""
        if self.rank > MOST_INVERTED:
            return None
        return low_rank_inverse(self.factor * np.sqrt(self.scale)[:, None], ridge)


def low_rank_inverse(factor: NDArray[np.float64], ridge: float) -> Inverse:
    """Product with ``(F' F + ridge)^-1``: a system of the size of the rank instead of the rows."""
    if len(factor) == 0:
        return lambda B: B / ridge
    small = factor @ factor.T
    small.flat[:: len(small) + 1] += ridge
    root = linalg.cho_factor(small, lower=True, overwrite_a=True)

    def product(B: NDArray[np.float64]) -> NDArray[np.float64]:
        return (B - factor.T @ linalg.cho_solve(root, factor @ B)) / ridge

    return product

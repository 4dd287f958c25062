r"""Loss of rows that kernel ridge regression predicts without having seen them, in closed form.

With :math:`B = (K + \lambda I)^{-1}` and :math:`a = B y`, the fit without the rows :math:`g` misses
them by

.. math:: r_g = B_{gg}^{-1} a_g,

for one row :math:`r_i = a_i / B_{ii}`.  No fit is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dlauum, dpotrf, dtrtri

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOut:
    r"""Target, and which rows are left out together.

    The loss is :math:`\frac1n \sum_i \max(0, y_i r_i)^2` for codes of -1 and +1, summed over their
    columns, and :math:`\frac1n \sum_i r_i^2` for numbers.

    Attributes
    ----------
    Y : ndarray of shape (n_rows, n_outputs)
    codes : bool
        Whether ``Y`` holds codes; what is beyond one then costs nothing.
    groups : ndarray of int, shape (n_rows,), or None
        Rows of one group are left out together; None for one row at a time.

    Examples
    --------
    >>> y = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    >>> HeldOut(y, True).loss(y @ y.T, 0.01) < 1e-4  # the others say it all
    True
    >>> HeldOut(y, True).loss(np.eye(4), 0.01)  # the others say nothing
    1.0
    """

    Y: Matrix
    codes: bool
    groups: NDArray[np.intp] | None = None

    @cached_property
    def _members(self) -> list[NDArray[np.intp]]:
        """Rows of the groups: an array of shape (groups, rows) for each size of a group."""
        assert self.groups is not None
        order = np.argsort(self.groups, kind="stable")
        sizes = np.bincount(self.groups)
        starts = np.cumsum(sizes) - sizes
        found = []
        for size in np.unique(sizes[sizes > 0]).tolist():
            own = starts[sizes == size]
            found.append(order[own[:, None] + np.arange(size)])
        return found

    # -- the loss ---------------------------------------------------------------------------------

    def loss(self, K: Matrix, ridge: float) -> float:
        """Loss for a kernel matrix, by one Cholesky decomposition of its upper triangle.

        The matrix is overwritten.
        """
        root = inverse_root(K, ridge, overwrite=True)
        A = root.T @ (root @ self.Y)
        if self.groups is None:
            return self._mean(A / np.einsum("ij,ij->j", root, root)[:, None])
        R = np.empty_like(A)
        for rows in self._members:
            part = root[:, rows].transpose(1, 0, 2)
            R[rows] = np.linalg.solve(part.transpose(0, 2, 1) @ part, A[rows])
        return self._mean(R)

    def losses(self, K: Matrix, ridges: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loss for several ridges, by one eigendecomposition."""
        values, Q = eigh(K, driver="evd")
        QY, squares = Q.T @ self.Y, np.square(Q)
        found = []
        for ridge in ridges.tolist():
            inverse = 1.0 / np.maximum(values + ridge, 1e-12 * ridge)
            A = Q @ (inverse[:, None] * QY)
            if self.groups is None:
                found.append(self._mean(A / (squares @ inverse)[:, None]))
                continue
            R = np.empty_like(A)
            for rows in self._members:
                part = Q[rows]
                R[rows] = np.linalg.solve((part * inverse) @ part.transpose(0, 2, 1), A[rows])
            found.append(self._mean(R))
        return np.array(found)

    def _mean(self, R: Matrix) -> float:
        missed = np.maximum(self.Y * R, 0.0) if self.codes else R
        return float(np.square(missed).sum()) / len(R)

    # -- its gradient -----------------------------------------------------------------------------

    def gradient(self, K: Matrix, ridge: float) -> tuple[float, Matrix]:
        r"""Loss, and its symmetric gradient in the kernel matrix.

        With :math:`h = \partial L / \partial r` and :math:`u_g = B_{gg}^{-1} h_g`,

        .. math:: \frac{\partial L}{\partial K} = B V B - \tfrac12 (a (B u)^\top + (B u) a^\top),

        where :math:`V` has the blocks :math:`\tfrac12 (r_g u_g^\top + u_g r_g^\top)`; for one row
        at a time it is diagonal.
        """
        B = inverse(K, ridge)
        A, n = B @ self.Y, len(K)
        if self.groups is None:
            b = B.diagonal()[:, None]
            R = A / b
            H = self._slopes(R)
            U = H / b
            half = B * np.sqrt((U * R).sum(axis=1))  # u r is not negative
            BVB = half @ half.T
        else:
            R, U, VB = np.empty_like(A), np.empty_like(A), np.empty_like(B)
            for rows in self._members:
                blocks = B[rows[:, :, None], rows[:, None, :]]
                R[rows] = np.linalg.solve(blocks, A[rows])
            H = self._slopes(R)
            for rows in self._members:
                blocks = B[rows[:, :, None], rows[:, None, :]]
                U[rows] = np.linalg.solve(blocks, H[rows])
                VB[rows] = (R[rows] @ U[rows].transpose(0, 2, 1)) @ B[rows]
            BVB = B @ VB
            BVB = 0.5 * (BVB + BVB.T)
        cross = A @ (B @ U).T
        G = BVB - 0.5 * (cross + cross.T)
        assert G.shape == (n, n)
        return self._mean(R), G

    def _slopes(self, R: Matrix) -> Matrix:
        """Derivatives of the loss in the residuals."""
        missed = np.where(self.Y * R > 0, R, 0.0) if self.codes else R
        return missed * (2.0 / len(R))


def inverse_root(K: Matrix, ridge: float, overwrite: bool = False) -> Matrix:
    """The lower triangular ``R`` with ``R' R = (K + ridge I)^-1``.

    Examples
    --------
    >>> inverse_root(np.array([[3.0]]), 1.0).tolist()
    [[0.5]]
    """
    shifted = (K if overwrite else K.copy()).T  # the upper triangle of rows is the lower of columns
    np.einsum("ii->i", shifted)[:] += ridge
    root, failed = dpotrf(shifted, lower=1, overwrite_a=1)
    if failed:  # beyond rounding errors the kernel is no kernel
        raise np.linalg.LinAlgError("the kernel matrix is not positive definite")
    return dtrtri(root, lower=1, overwrite_c=1)[0]


def inverse(K: Matrix, ridge: float) -> Matrix:
    """The matrix ``(K + ridge I)^-1``.

    Examples
    --------
    >>> inverse(np.array([[3.0]]), 1.0).tolist()
    [[0.25]]
    """
    lower = dlauum(inverse_root(K, ridge), lower=1, overwrite_c=1)[0]
    lower += np.tril(lower, -1).T
    return lower

r"""Second derivatives of a support vector machine in the weights of its kernels.

With :math:`Y` the images :math:`K_k u` of the dual vector on the rows ``V`` between their bounds,

.. math:: H = Y^\top A\, Y, \qquad
          A = M^{-1} - \frac{M^{-1} 1 1^\top M^{-1}}{1^\top M^{-1} 1},
          \quad M = (K + \tau I)_{VV}.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.mkl.grams import Gram, LowRank, block, low_rank_inverse

JITTER = 1e-12
MANY_BETWEEN = 2000  # rows: beyond, a factor of low rank is used as such


def curvature_root(
    K: NDArray[np.float64] | Gram, rows: NDArray[np.intp], ridge: float, images: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A matrix ``Z`` with ``Z' Z`` the Hessian.

    Parameters
    ----------
    K : ndarray or Gram
        Kernel matrix of all rows.
    rows : ndarray of int
        Rows between their bounds.
    ridge : float
        What the loss adds to the diagonal.
    images : ndarray of shape (len(rows), n_kernels)
        Products of the kernels with the dual vector, on these rows.
    """
    if isinstance(K, LowRank) and ridge > 0.0 and len(rows) > max(MANY_BETWEEN, 2 * K.rank):
        return _root_by_factor(K, rows, ridge, images)
    M = block(K, rows, rows).copy()
    M.flat[:: len(rows) + 1] += ridge + JITTER * float(np.trace(M)) / len(rows) + 1e-300
    try:
        root = linalg.cholesky(M, lower=True)
    except linalg.LinAlgError:
        M.flat[:: len(rows) + 1] += 1e-8 * float(np.trace(M)) / len(rows)
        root = linalg.cholesky(M, lower=True)
    return root_by_decomposition((root, True), images)


def root_by_decomposition(
    root: tuple[NDArray[np.float64], bool], images: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same from a Cholesky decomposition of ``M``, lower triangular or not."""
    factor, lower = root
    right = np.column_stack([images, np.ones(len(images))])
    both = linalg.solve_triangular(
        factor, right, lower=lower, trans=0 if lower else 1, overwrite_b=True, check_finite=False
    )
    Z, ones = both[:, :-1], both[:, -1]
    Z -= np.outer(ones, ones @ Z) / float(ones @ ones)  # the bias takes its share
    return Z


def _root_by_factor(
    K: LowRank, rows: NDArray[np.intp], ridge: float, images: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same by a system of the size of the rank, for a loss that keeps many rows free."""
    invert = low_rank_inverse(K.factor[:, rows] * np.sqrt(K.scale)[:, None], ridge)
    both = np.column_stack([images, np.ones(len(rows))])
    inner = both.T @ invert(both)
    H, mixed = inner[:-1, :-1], inner[:-1, -1]
    H = H - np.outer(mixed, mixed) / inner[-1, -1]
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T

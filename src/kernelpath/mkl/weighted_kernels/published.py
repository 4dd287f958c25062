"""The kernels of the papers: many bandwidths, one feature at a time and all together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelpath.kernels.feature import RBF, Polynomial
from kernelpath.mkl.weighted_kernels.columns import ColumnKernel
from kernelpath.tables.rows import Shares, spread_of

BANDWIDTHS = tuple(2.0 ** np.arange(-3.0, 7.0))
DEGREES = (1, 2, 3)


def simple_mkl_parts(
    X: NDArray[np.float64],
    *,
    shares: Shares = None,
    bandwidths: Sequence[float] = BANDWIDTHS,
    degrees: Sequence[int] = DEGREES,
    together: bool = True,
) -> list[ColumnKernel]:
    r"""Kernels of SimpleMKL, which the SPG-GMKL paper takes for its small data sets.

    Gaussian kernels of ten bandwidths and polynomials of three degrees, for every column and for
    all columns together: 13 (n_columns + 1) kernels.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    shares : ndarray of shape (n_rows,), optional
        Weights of the rows in the standard deviations.
    bandwidths : sequence of float
        Widths of the Gaussian kernels, in standard deviations of a column; times the root of the
        number of columns for all together.
    degrees : sequence of int
    together : bool
        Whether kernels of all columns are among them.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 4))
    >>> len(simple_mkl_parts(X)), len(simple_mkl_parts(X, together=False))
    (65, 52)
    """
    scale = spread_of(X, shares)
    scale[scale == 0] = 1.0
    groups: list[tuple[tuple[int, ...], float]]
    groups = [((j,), float(scale[j])) for j in range(X.shape[1])]
    if together:
        every = tuple(range(X.shape[1]))
        groups.append((every, float(np.sqrt(np.square(scale).sum()))))
    parts = []
    for columns, sigma in groups:
        for width in bandwidths:
            parts.append(ColumnKernel(RBF(), columns, 0.5 / (width * sigma) ** 2))
        for degree in degrees:
            kernel = Polynomial(degree=int(degree), coef0=0.0 if degree == 1 else 1.0)
            parts.append(ColumnKernel(kernel, columns, 1.0 / sigma**2))
    return parts

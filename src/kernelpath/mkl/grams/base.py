r"""What a support vector machine asks of a kernel matrix: small blocks, and products.

Both are to be had from a factor, or from rows of single precision that are computed when they are
asked for, so with many rows the matrix itself need not exist.  Where few rows make it affordable
it is a plain array; :func:`block` reads both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]
Inverse = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@runtime_checkable
class Gram(Protocol):
    """A symmetric positive semidefinite matrix that can be asked for parts of it.

    Attributes
    ----------
    n_rows : int
    """

    n_rows: int

    def trace(self) -> float:
        """Sum of the diagonal."""

    def block(self, rows: Rows, columns: Rows) -> NDArray[np.float64]:
        """``K[rows][:, columns]`` in double precision; both are to be few."""

    def times(self, u: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
        """``K[:, rows] u``, where ``u`` has one number for each of these rows."""

    def inverse(self, ridge: float) -> Inverse | None:
        """Product with ``(K + ridge)^-1``, to rounding, or None where it is too dear."""


def block(K: NDArray[np.float64] | Gram, rows: Rows, columns: Rows) -> NDArray[np.float64]:
    """Part of a kernel matrix, whether it is an array or not.

    Examples
    --------
    >>> two = np.array([0, 2])
    >>> block(np.arange(9.0).reshape(3, 3), two, two).tolist()
    [[0.0, 2.0], [6.0, 8.0]]
    """
    return K[np.ix_(rows, columns)] if isinstance(K, np.ndarray) else K.block(rows, columns)

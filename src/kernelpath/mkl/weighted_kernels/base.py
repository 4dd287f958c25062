r"""What the solvers ask of a weighted kernel :math:`K(d)` on fixed training rows.

A fit term meets a kernel only through ``gram`` and through ``grad_quad``, the derivative of
:math:`\sum_o u_o^\top K(d) u_o` in every weight.  A sum :math:`K(d) = \sum_k d_k K_k` can do more,
and the faster solvers ask for it.

With many rows a matrix of ``gram`` is too large.  A kernel that has another form for it offers
``large_gram(weights)``, which returns a :class:`~kernelpath.mkl.grams.base.Gram`.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class WeightedKernel(Protocol):
    """A kernel matrix that depends on weights.

    Attributes
    ----------
    n_kernels, n_rows : int
        Number of weights and of training rows.
    is_sum : bool
        Whether ``K`` is a sum with the weights as coefficients: then the problem is convex, and
        the object also has the methods of :class:`SumKernel`.
    """

    n_kernels: int
    n_rows: int
    is_sum: bool

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K(d)``, of shape (n_rows, n_rows)."""

    def grad_quad(self, weights: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray:
        """Derivative of ``sum_o u_o' K(d) u_o`` in each weight; ``U`` has shape (n_rows, n)."""


@runtime_checkable
class SumKernel(WeightedKernel, Protocol):
    """A sum of kernels with the weights as coefficients."""

    def quad(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """``sum_o u_o' K_k u_o`` of every part; ``U`` has shape (n_rows, n)."""

    def times(self, parts: NDArray[np.intp], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K_k u`` of some parts, as columns."""

    def restrict(self, parts: NDArray[np.intp]) -> SumKernel:
        """The sum of some parts only."""


class SumBase:
    """What follows for every sum from ``quad``."""

    is_sum = True

    def grad_quad(self, weights: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray:
        """``sum_o u_o' K_k u_o``: it does not depend on the weights."""
        return self.quad(U)

    def quad(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """See :class:`SumKernel`."""
        raise NotImplementedError


def as_columns(U: NDArray[np.float64]) -> NDArray[np.float64]:
    """One or several dual vectors as the columns of a matrix."""
    return U[:, None] if U.ndim == 1 else U


def images(
    kernel: SumKernel, parts: NDArray[np.intp], U: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``K_k u_o`` of some parts and all columns of ``U``, of shape (n_rows, n_columns, n_parts).

    A kernel that has a product of matrices for it offers ``images(parts, U)``.
    """
    if U.shape[1] > 1 and hasattr(kernel, "images"):
        return kernel.images(parts, U)
    return np.stack([kernel.times(parts, u) for u in U.T], axis=1)

r"""What the solvers ask of a weighted kernel :math:`K(d)` on fixed training rows.

A fit term meets a kernel only through ``gram`` and through ``grad_quad``, the derivative of
:math:`\sum_o u_o^\top K(d) u_o` in every weight.  A sum :math:`K(d) = \sum_k d_k K_k` can do more,
and the faster solvers ask for it.

With many rows a matrix of ``gram`` is too large.  A kernel that has another form for it returns
that from ``large_gram``, a :class:`~kernelpath.mkl.grams.Gram`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.grams import Gram

Factors = tuple[NDArray[np.float64], NDArray[np.intp]]


class WeightedKernel(ABC):
    """A kernel matrix that depends on weights.

    An object of a user need not be of this class: see :meth:`of`.

    Attributes
    ----------
    n_kernels, n_rows : int
        Number of weights and of training rows.
    is_sum : bool
        Whether ``K`` is a sum with the weights as coefficients: then the problem is convex, and
        the object also has the methods of :class:`SumKernel`.
    weight_unit : float
        Size of a weight that matters.
    """

    n_kernels: int
    n_rows: int
    is_sum: ClassVar[bool] = False
    weight_unit: float = 1.0

    @staticmethod
    def of(given: Any) -> WeightedKernel:
        """The kernel itself, or what is known of an object of another class with its methods."""
        if isinstance(given, WeightedKernel):
            return given
        return _OwnSum(given) if given.is_sum else _OwnKernel(given)

    @property
    def given(self) -> Any:
        """The object that messages are about."""
        return self

    @abstractmethod
    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K(d)``, of shape (n_rows, n_rows)."""

    @abstractmethod
    def grad_quad(self, weights: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray:
        """Derivative of ``sum_o u_o' K(d) u_o`` in each weight; ``U`` has shape (n_rows, n)."""

    def large_gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64] | Gram:
        """``K(d)`` for many rows: the matrix, unless there is another form of it."""
        return self.gram(weights)

    @property
    def nbytes(self) -> int:
        """Memory of what is held; 0 where nobody knows."""
        return 0

    @property
    def rank(self) -> float:
        """Ranks of the parts of a sum together; infinite where nobody knows."""
        return math.inf

    def as_factors(self) -> Factors | None:
        """Factors of the parts of a sum, one below the other, and where each begins."""
        return None


class SumKernel(WeightedKernel):
    """A sum of kernels with the weights as coefficients."""

    is_sum: ClassVar[bool] = True

    @abstractmethod
    def quad(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """``sum_o u_o' K_k u_o`` of every part; ``U`` has shape (n_rows, n)."""

    @abstractmethod
    def times(self, parts: NDArray[np.intp], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K_k u`` of some parts, as columns."""

    @abstractmethod
    def restrict(self, parts: NDArray[np.intp]) -> SumKernel:
        """The sum of some parts only."""

    def grad_quad(self, weights: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray:
        """``sum_o u_o' K_k u_o``: it does not depend on the weights."""
        return self.quad(U)

    def images(self, parts: NDArray[np.intp], U: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K_k u_o`` of some parts and all columns of ``U``, (n_rows, n_columns, n_parts)."""
        return self._images(parts, U) if U.shape[1] > 1 else self._times_each(parts, U)

    def _images(self, parts: NDArray[np.intp], U: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for several columns, where there is a product of matrices for it."""
        return self._times_each(parts, U)

    def _times_each(self, parts: NDArray[np.intp], U: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([self.times(parts, u) for u in U.T], axis=1)


class _OwnKernel(WeightedKernel):
    """A kernel of another class; it may know its ``weight_unit`` and a ``large_gram``."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.n_kernels, self.n_rows = given.n_kernels, given.n_rows
        self.weight_unit = float(getattr(given, "weight_unit", 1.0))
        self._large_gram = getattr(given, "large_gram", given.gram)

    @property
    def given(self) -> Any:
        return self._given

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._given.gram(weights)

    def grad_quad(self, weights: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray:
        return self._given.grad_quad(weights, U)

    def large_gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64] | Gram:
        return self._large_gram(weights)


class _OwnSum(_OwnKernel, SumKernel):
    """A sum of another class; it may know its ``images``, ``rank`` and ``as_factors``."""

    def __init__(self, given: Any) -> None:
        super().__init__(given)
        self._own_images = getattr(given, "images", self._times_each)
        self._as_factors = getattr(given, "as_factors", lambda: None)

    def quad(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._given.quad(U)

    def times(self, parts: NDArray[np.intp], u: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._given.times(parts, u)

    def restrict(self, parts: NDArray[np.intp]) -> SumKernel:
        inside = WeightedKernel.of(self._given.restrict(parts))
        assert isinstance(inside, SumKernel)
        return inside

    def _images(self, parts: NDArray[np.intp], U: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._own_images(parts, U)

    @property
    def rank(self) -> float:
        return getattr(self._given, "rank", math.inf)

    def as_factors(self) -> Factors | None:
        return self._as_factors()


def as_columns(U: NDArray[np.float64]) -> NDArray[np.float64]:
    """One or several dual vectors as the columns of a matrix."""
    return U[:, None] if U.ndim == 1 else U

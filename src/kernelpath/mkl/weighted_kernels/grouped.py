"""Kernels taken together: several columns of a table that are one feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.weighted_kernels.base import Factors, SumKernel
from kernelpath.mkl.weighted_kernels.storage import in_order


class GroupedKernels(SumKernel):
    r"""Means of kernels, one weight for each group of them.

    .. math:: K(d) = \sum_g d_g \frac{1}{|g|} \sum_{k \in g} K_k

    Parameters
    ----------
    kernel : SumKernel
    groups : ndarray of shape (kernel.n_kernels,)
        Group of each kernel, from 0 on.

    Examples
    --------
    >>> from kernelpath.mkl.weighted_kernels.storage import FactorKernels
    >>> three = FactorKernels(np.array([[1.0, -1.0], [2.0, -2.0], [0.0, 0.0]]), np.arange(4))
    >>> two = GroupedKernels(three, np.array([0, 0, 1]))
    >>> two.n_kernels, two.gram(np.array([1.0, 0.0])).round(6).tolist()
    (2, [[2.5, -2.5], [-2.5, 2.5]])
    """

    def __init__(self, kernel: Any, groups: NDArray[np.intp]) -> None:
        self._kernel, self._groups = kernel, np.asarray(groups, dtype=np.intp)
        sizes = np.bincount(self._groups)
        self._shares = 1.0 / sizes[self._groups]
        self.n_kernels, self.n_rows = len(sizes), kernel.n_rows

    @property
    def nbytes(self) -> int:
        """Memory of the kernels."""
        return self._kernel.nbytes

    @property
    def rank(self) -> float:
        """Ranks of all kernels together."""
        return self._kernel.rank

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted sum of the groups."""
        return self._kernel.gram(weights[self._groups] * self._shares)

    def large_gram(self, weights: NDArray[np.float64]) -> Any:
        """The same for many rows."""
        return self._kernel.large_gram(weights[self._groups] * self._shares)

    def cross_times(
        self, weights: NDArray[np.float64], rows: Any, U: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """``K(rows, training rows) U`` of the weighted sum."""
        return self._kernel.cross_times(weights[self._groups] * self._shares, rows, U)

    def as_factors(self) -> Factors | None:
        """The factors of the kernels of each group as one; None where a kernel has none."""
        own = self._kernel.as_factors()
        if own is None:
            return None
        factors, starts = in_order(own, np.argsort(self._groups, kind="stable"))
        sizes = np.bincount(self._groups)
        first = starts[np.concatenate([[0], np.cumsum(sizes)])]
        return factors / np.sqrt(np.repeat(sizes, np.diff(first)))[:, None], first

    def quad(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quadratic forms of all groups."""
        own = self._kernel.quad(U) * self._shares
        return np.bincount(self._groups, own, minlength=self.n_kernels).astype(np.float64)

    def times(self, parts: NDArray[np.intp], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K_g u`` of some groups, as columns."""
        product = np.empty((self.n_rows, len(parts)))
        for place, group in enumerate(np.asarray(parts).tolist()):
            own = np.flatnonzero(self._groups == group)
            product[:, place] = self._kernel.times(own, u) @ self._shares[own]
        return product

    def restrict(self, parts: NDArray[np.intp]) -> GroupedKernels:
        """Some of the groups."""
        place = np.full(self.n_kernels, -1)
        place[parts] = np.arange(len(parts))
        own = np.flatnonzero(place[self._groups] >= 0)
        return GroupedKernels(self._kernel.restrict(own), place[self._groups[own]])

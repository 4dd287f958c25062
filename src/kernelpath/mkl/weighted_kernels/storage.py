"""Sums of kernels held as numbers: matrices, and factors of matrices of low rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.grams import Gram, LowRank
from kernelpath.mkl.weighted_kernels._factor_loops import pack, packed_sum, packed_times
from kernelpath.mkl.weighted_kernels.base import Factors, SumKernel, as_columns

LOW_RANK = 0.25  # of the rows: a factor of higher rank is slower than the matrix
HIGH_RANK = 0.5  # of the rows: a sum of so many columns is one matrix, as long as that fits
MOST_DENSE_ROWS = 6000  # more rows: a matrix of double precision would not fit


class PackedKernels(SumKernel):
    """Matrices, each kept as its lower triangle in one row of a table.

    Parameters
    ----------
    packed : ndarray of shape (n_kernels, n_rows (n_rows + 1) / 2)
    n_rows : int
    """

    def __init__(self, packed: NDArray, n_rows: int) -> None:
        self._packed = packed
        self.n_kernels, self.n_rows = len(packed), n_rows

    @classmethod
    def of(cls, grams: Sequence[NDArray], dtype: Any = np.float64) -> PackedKernels:
        """From whole matrices."""
        n = len(grams[0])
        packed = np.empty((len(grams), n * (n + 1) // 2), dtype=dtype)
        for triangle, gram in zip(packed, grams):
            pack(gram, triangle)
        return cls(packed, n)

    @property
    def nbytes(self) -> int:
        """Memory of the matrices."""
        return self._packed.nbytes

    @property
    def rank(self) -> int:
        """Ranks of all parts together, each counted in full."""
        return self.n_kernels * self.n_rows

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted sum of the matrices."""
        K = np.zeros((self.n_rows, self.n_rows))
        packed_sum(self._packed, np.flatnonzero(weights), weights, K)
        return K

    def quad(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """``sum_o u_o' K_k u_o`` of every matrix."""
        U = as_columns(U)
        products = U @ U.T
        products.flat[:: self.n_rows + 1] *= 0.5
        pairs = np.empty(self._packed.shape[1])
        pack(products, pairs)
        return 2.0 * (self._packed @ pairs)

    def times(self, parts: NDArray[np.intp], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K_k u`` of some matrices, as columns."""
        product = np.zeros((len(parts), self.n_rows))
        packed_times(self._packed, np.asarray(parts, dtype=np.intp), u, product)
        return product.T

    def _images(self, parts: NDArray[np.intp], U: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K_k u_o`` of some matrices and all columns of ``U``."""
        product = np.empty((self.n_rows, U.shape[1], len(parts)))
        for place, part in enumerate(np.asarray(parts).tolist()):
            product[:, :, place] = self.gram(np.eye(1, self.n_kernels, part)[0]) @ U
        return product

    def restrict(self, parts: NDArray[np.intp]) -> PackedKernels:
        """Some of the matrices."""
        return PackedKernels(self._packed[parts], self.n_rows)


class FactorKernels(SumKernel):
    r"""Matrices of low rank, :math:`K_k = \Phi_k \Phi_k^\top`.

    Parameters
    ----------
    factors : ndarray of shape (n_columns, n_rows)
        Transposed factors of all parts, below one another.
    starts : ndarray of shape (n_kernels + 1,)
        Where the factor of each part begins.
    """

    def __init__(self, factors: NDArray[np.float64], starts: NDArray[np.intp]) -> None:
        self._factors, self._starts = factors, np.asarray(starts, dtype=np.intp)
        self.n_kernels, self.n_rows = len(starts) - 1, factors.shape[1]

    @classmethod
    def of(cls, factors: Sequence[NDArray[np.float64]]) -> FactorKernels:
        """From factors of shape (n_rows, rank)."""
        starts = np.cumsum([0, *(factor.shape[1] for factor in factors)])
        return cls(np.ascontiguousarray(np.hstack(factors).T), starts)

    @property
    def nbytes(self) -> int:
        """Memory of the factors."""
        return self._factors.nbytes

    @property
    def ranks(self) -> NDArray[np.intp]:
        """Rank of each part."""
        return np.diff(self._starts)

    @property
    def rank(self) -> int:
        """Ranks of all parts together."""
        return len(self._factors)

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted sum of the matrices, by one product of factors; weights may be negative."""
        columns = self._columns_of(np.flatnonzero(weights))
        scale = np.repeat(weights, self.ranks)[columns, None]
        used = self._factors[columns]
        if (scale >= 0).all():  # a matrix times its transpose: half the work
            used = used * np.sqrt(scale)
            return used.T @ used
        K = used.T @ (used * scale)
        return 0.5 * (K + K.T)

    def large_gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64] | LowRank:
        """Weighted sum by the factors themselves; weights may not be negative.

        Where the matrix has fewer numbers than the factors of all used parts, it is the matrix.
        """
        columns = self._columns_of(np.flatnonzero(weights))
        if self.n_rows <= MOST_DENSE_ROWS and len(columns) > HIGH_RANK * self.n_rows:
            return self.gram(weights)
        every = len(columns) == len(self._factors)
        used = self._factors if every else self._factors[columns]
        return LowRank(used, np.repeat(weights, self.ranks)[columns])

    def as_factors(self) -> Factors:
        """The factors of all parts, one below the other, and where each begins."""
        return self._factors, self._starts

    def quad(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """``sum_o |Phi_k' u_o|^2`` of every part."""
        squares = np.square(self._factors @ as_columns(U)).sum(axis=1)
        return segment_sums(squares, self._starts)

    def times(self, parts: NDArray[np.intp], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """``Phi_k Phi_k' u`` of some parts, as columns."""
        columns = self._columns_of(np.asarray(parts))
        used = self._factors[columns]
        scaled = used * (used @ u)[:, None]
        starts = np.concatenate([[0], np.cumsum(self.ranks[parts])])
        return segment_sums(scaled, starts).T

    def _images(self, parts: NDArray[np.intp], U: NDArray[np.float64]) -> NDArray[np.float64]:
        """``Phi_k Phi_k' u_o`` of some parts and all columns of ``U``."""
        product = np.empty((self.n_rows, U.shape[1], len(parts)))
        inner = self._factors @ U
        for place, part in enumerate(np.asarray(parts).tolist()):
            own = slice(self._starts[part], self._starts[part + 1])
            product[:, :, place] = self._factors[own].T @ inner[own]
        return product

    def restrict(self, parts: NDArray[np.intp]) -> FactorKernels:
        """Some of the parts."""
        starts = np.concatenate([[0], np.cumsum(self.ranks[parts])])
        return FactorKernels(self._factors[self._columns_of(np.asarray(parts))], starts)

    def _columns_of(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rows of the table of factors that belong to some parts."""
        if len(parts) == self.n_kernels and np.array_equal(parts, np.arange(self.n_kernels)):
            return np.arange(len(self._factors))
        ranks = self.ranks[parts]
        before = np.cumsum(ranks) - ranks
        return np.repeat(self._starts[parts] - before, ranks) + np.arange(ranks.sum())


def in_order(given: Factors, order: NDArray[np.intp]) -> Factors:
    """Factors with their parts in another order."""
    factors, starts = given
    if np.array_equal(order, np.arange(len(order))):
        return given
    ranks = np.diff(starts)[order]
    fresh = np.concatenate([[0], np.cumsum(ranks)])
    return factors[np.repeat(starts[order] - fresh[:-1], ranks) + np.arange(fresh[-1])], fresh


def segment_sums(values: NDArray, starts: NDArray[np.intp]) -> NDArray:
    """Sums of consecutive rows; a segment may be empty."""
    total = np.zeros((len(starts) - 1, *values.shape[1:]))
    filled = np.flatnonzero(np.diff(starts) > 0)
    if len(filled):
        total[filled] = np.add.reduceat(values, starts[filled], axis=0)
    return total


class Concatenated(SumKernel):
    """Several sums as one, their parts in a given order.

    Parameters
    ----------
    families : sequence of SumKernel
    places : sequence of ndarray
        Positions of the parts of each family in the whole.
    """

    def __init__(self, families: Sequence[SumKernel], places: Sequence[NDArray[np.intp]]) -> None:
        held = [(f, np.asarray(p)) for f, p in zip(families, places) if f.n_kernels]
        self._families = [family for family, _ in held]
        self._places = [place for _, place in held]
        self.n_kernels = sum(family.n_kernels for family in self._families)
        self.n_rows = self._families[0].n_rows

    @property
    def nbytes(self) -> int:
        """Memory of all families."""
        return sum(family.nbytes for family in self._families)

    @property
    def rank(self) -> float:
        """Ranks of all parts together; a matrix counts in full."""
        return sum(family.rank for family in self._families)

    def gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of the matrices of the families."""
        K = np.zeros((self.n_rows, self.n_rows))
        for family, places in zip(self._families, self._places):
            if weights[places].any():
                K += family.gram(weights[places])
        return K

    def large_gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64] | Gram:
        """Sum of the factors of the families; an array where one of them has none."""
        own = [(f, weights[p]) for f, p in zip(self._families, self._places) if weights[p].any()]
        if any(family.as_factors() is None for family, _ in own):
            return self.gram(weights)
        made = [family.large_gram(some) for family, some in own]
        if len(made) == 1:
            return made[0]
        low = [one for one in made if isinstance(one, LowRank)]
        if len(low) < len(made):
            return self.gram(weights)
        factors = [one.factor for one in low] or [np.zeros((0, self.n_rows))]
        return LowRank(np.vstack(factors), np.concatenate([np.zeros(0), *(m.scale for m in low)]))

    def as_factors(self) -> Factors | None:
        """The factors of all parts; None where one of them has none."""
        own = self._families[0].as_factors() if len(self._families) == 1 else None
        return None if own is None else in_order(own, np.argsort(self._places[0]))

    def quad(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quadratic forms of all parts."""
        q = np.empty(self.n_kernels)
        for family, places in zip(self._families, self._places):
            q[places] = family.quad(U)
        return q

    def times(self, parts: NDArray[np.intp], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K_k u`` of some parts, as columns."""
        product = np.empty((self.n_rows, len(parts)))
        for family, inside, own in self._split(parts):
            product[:, inside] = family.times(own, u)
        return product

    def _images(self, parts: NDArray[np.intp], U: NDArray[np.float64]) -> NDArray[np.float64]:
        """``K_k u_o`` of some parts and all columns of ``U``."""
        product = np.empty((self.n_rows, U.shape[1], len(parts)))
        for family, inside, own in self._split(parts):
            product[:, :, inside] = family.images(own, U)
        return product

    def restrict(self, parts: NDArray[np.intp]) -> Concatenated:
        """Some of the parts."""
        split = self._split(parts)
        return Concatenated([f.restrict(own) for f, _, own in split], [i for _, i, _ in split])

    def _split(self, parts: NDArray[np.intp]) -> list[tuple[SumKernel, NDArray, NDArray]]:
        """For each family: positions within ``parts``, and numbers within the family."""
        split = []
        for family, places in zip(self._families, self._places):
            number = np.full(self.n_kernels, -1)
            number[places] = np.arange(len(places))
            inside = np.flatnonzero(number[parts] >= 0)
            if len(inside):
                split.append((family, inside, number[np.asarray(parts)[inside]]))
        return split


def families_of(
    factors: Sequence[NDArray[np.float64]],
    low: Sequence[int],
    matrices: Sequence[NDArray[np.float64]],
    full: Sequence[int],
) -> tuple[list[SumKernel], list[NDArray[np.intp]]]:
    """Factors, of shape (rank, n_rows), and whole matrices, for one sum with these places."""
    families: list[SumKernel] = []
    if factors:
        starts = np.cumsum([0, *map(len, factors)])
        families.append(FactorKernels(np.vstack(factors), starts))
    if matrices:
        families.append(PackedKernels.of(matrices))
    places = [np.array(some, dtype=np.intp) for some in (low, full) if some]
    return families, places

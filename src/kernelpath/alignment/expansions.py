r"""Two expansions of the Gaussian kernel, each with the error it makes.

Chebyshev tables
    ``d(u, v) = 1 - exp(-c (u - v)^2)`` on the square [-1, 1]^2 depends on one number only,
    ``length = range / sigma`` (``c = length^2 / 8``).  Lengths are rounded up to a geometric grid
    by widening the interval, so a few dozen tables serve every column.
Sums of exponentials
    ``exp(-z^2 / 2) ~ Re sum_m f_m exp(-r_m |z|)`` by the trapezoidal rule on a Talbot contour
    :cite:`trefethen2006`, for kernels too narrow for polynomials.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn

GRID_RATIO = 1.04
SHORTEST = 1e-7  # below, the kernel equals its linear limit to rounding
NOISE = 3e-17  # coefficients below this share of max d are rounding


def grid_index(length: NDArray[np.float64]) -> NDArray[np.int64]:
    """Index of the smallest grid length that is not below ``length``."""
    ratio = np.log(np.maximum(length, SHORTEST)) / math.log(GRID_RATIO)
    return np.ceil(ratio - 1e-9).astype(np.int64)


def grid_length(index: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """Length of a grid index."""
    return GRID_RATIO ** np.asarray(index, dtype=np.float64)


def tolerance_key(tolerance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Half decades of a kernel tolerance, rounded to the finer side; 32 is the finest table."""
    with np.errstate(divide="ignore"):
        key = np.ceil(-2.0 * np.log10(tolerance))
    return np.clip(key, 8, 32).astype(np.int64)


@dataclass(frozen=True)
class ChebyshevTable:
    """``d`` as a polynomial of degree below ``degree`` in each variable.

    Attributes
    ----------
    degree : int
    even, odd : ndarray
        Coefficients of the pairs of even and of odd degrees; mixed pairs vanish by symmetry.
    tail : ndarray of shape (degree,)
        ``sum_{b >= degree} |d_ab|`` for each kept degree ``a``.
    corner : float
        ``sum_{a, b >= degree} |d_ab|`` and the rounding of the table itself.
    """

    degree: int
    even: NDArray[np.float64]
    odd: NDArray[np.float64]
    tail: NDArray[np.float64]
    corner: float


@functools.lru_cache(maxsize=64)
def _coefficients(index: int) -> NDArray[np.float64]:
    """Chebyshev coefficients of ``d`` on the square, to rounding."""
    length = float(grid_length(index))
    size = math.ceil(36 + 4.8 * length)
    nodes = np.cos(math.pi * (np.arange(size) + 0.5) / size)
    squares = np.square(nodes[:, None] - nodes[None, :])
    values = -np.expm1(-(length**2 / 8.0) * squares)
    coefficients = dctn(values, type=2) / size**2
    coefficients[0] *= 0.5
    coefficients[:, 0] *= 0.5
    coefficients[np.abs(coefficients) < NOISE * values.max()] = 0.0
    parity = np.add.outer(np.arange(size), np.arange(size)) % 2
    coefficients[parity == 1] = 0.0
    return coefficients


@functools.lru_cache(maxsize=512)
def chebyshev_table(index: int, key: int) -> ChebyshevTable:
    """Table for a grid length, with dropped mass at most ``10^(-key / 2)`` of ``max d``.

    Examples
    --------
    >>> chebyshev_table(int(grid_index(np.array([7.0]))[0]), 20).degree < 36
    True
    """
    coefficients = _coefficients(index)
    magnitude = np.abs(coefficients)
    size = len(magnitude)
    largest = -math.expm1(-(float(grid_length(index)) ** 2) / 2.0)
    rows = magnitude.cumsum(axis=0).cumsum(axis=1)
    dropped = rows[-1, -1] - np.diag(rows)  # mass outside the leading square of each size
    enough = dropped <= 10.0 ** (-key / 2) * largest
    # Rounding of the cumulative sums must not make a finer table look out of reach.
    degree = int(np.argmax(enough)) + 1 if enough.any() else size
    degree = max(degree, 3)
    kept = coefficients[:degree, :degree]
    return ChebyshevTable(
        degree=degree,
        even=np.ascontiguousarray(kept[0::2, 0::2]),
        odd=np.ascontiguousarray(kept[1::2, 1::2]),
        tail=magnitude[:degree, degree:].sum(axis=1),
        corner=float(magnitude[degree:, degree:].sum()) + NOISE * largest * degree,
    )


@dataclass(frozen=True)
class TableStack:
    """Several Chebyshev tables in common arrays, for the compiled loops."""

    degree: NDArray[np.int64]
    even: NDArray[np.float64]
    odd: NDArray[np.float64]
    tail: NDArray[np.float64]
    corner: NDArray[np.float64]


def stack_tables(tables: list[ChebyshevTable]) -> TableStack:
    """Pad tables to a common size."""
    degree = np.array([table.degree for table in tables], dtype=np.int64)
    top = int(degree.max())
    half = ((top + 1) // 2 + 3) // 4 * 4  # whole vectors
    even = np.zeros((len(tables), half, half))
    odd = np.zeros((len(tables), half, half))
    tail = np.zeros((len(tables), top))
    for i, table in enumerate(tables):
        even[i, : len(table.even), : len(table.even)] = table.even
        odd[i, : len(table.odd), : len(table.odd)] = table.odd
        tail[i, : table.degree] = table.tail
    corner = np.array([table.corner for table in tables])
    return TableStack(degree, even, odd, tail, corner)


@dataclass(frozen=True)
class ExponentialSum:
    """``exp(-z^2 / 2) ~ Re sum_m factors[m] exp(-rates[m] |z|)`` within ``error``."""

    rates: NDArray[np.complex128]
    factors: NDArray[np.complex128]
    error: float


@functools.lru_cache(maxsize=8)
def exponential_sum(n_nodes: int = 24) -> ExponentialSum:
    """Exponentials by the trapezoidal rule on a Talbot contour with ``n_nodes`` nodes.

    Examples
    --------
    >>> exponential_sum().error < 2e-13
    True
    """
    theta = math.pi * np.arange(1, n_nodes, 2) / n_nodes
    # The contour of Trefethen, Weideman and Schmelzer (2006), Eq. (3.1), and its derivative.
    a, b, c, d = 0.5071, 0.6407, 0.6122, 0.2645
    z = n_nodes * (a * theta / np.tan(b * theta) - c + 1j * d * theta)
    slope = n_nodes * (a / np.tan(b * theta) - a * b * theta / np.sin(b * theta) ** 2 + 1j * d)
    factors = 2.0 / (1j * n_nodes) * np.exp(z) * slope * np.sqrt(math.pi / z)
    rates = np.sqrt(2.0 * z)
    gaps = np.concatenate([np.linspace(0, 12, 4801), np.geomspace(12, 1e6, 400)])
    approximation = (factors * np.exp(-np.multiply.outer(gaps, rates))).real.sum(axis=1)
    error = 1.5 * float(np.max(np.abs(approximation - np.exp(-0.5 * gaps**2))))
    return ExponentialSum(rates, factors, error)

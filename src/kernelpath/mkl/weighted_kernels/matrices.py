"""Matrices that users bring: what is refused, and which of them are kept as factors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.lapack import dpstrf

from kernelpath.errors import DataError
from kernelpath.mkl.weighted_kernels._factor_loops import size_and_asymmetry
from kernelpath.mkl.weighted_kernels.storage import LOW_RANK, Concatenated, joined
from kernelpath.tables.table import plain_array

SYMMETRY = 1e-8  # largest difference of a matrix from its transpose, relative to its size
NEGATIVE = 1e-8  # smallest eigenvalue, relative to the largest, that counts as zero
SINGLE = 1e-5  # the same, and for symmetry, where matrices were given in single precision
RANK_TOL = 1e-10  # share of the trace that a factor may leave out


def check_grams(grams: Any) -> list[NDArray[np.float64]]:
    """Refuse what is no list of kernel matrices of the same rows, and say which one and why."""
    if getattr(grams, "ndim", 3) == 2:
        grams = [grams]
    grams = list(grams)
    checked = [as_numbers(k, gram) for k, gram in enumerate(grams)]
    if not checked:
        raise DataError("There is no kernel matrix; give at least one.")
    n = len(checked[0]) if checked[0].ndim else 0
    for k, gram in enumerate(checked):
        if gram.shape != (n, n):
            raise DataError(
                f"Kernel matrix {k} has the shape {gram.shape}, but all must be square and as "
                f"large as the first, ({n}, {n})."
            )
        size, apart = size_and_asymmetry(gram)
        if np.isnan(size):
            raise DataError(f"Kernel matrix {k} holds NaN or infinite values.")
        if apart > max(SYMMETRY, rounding_of(grams[k])) * size:
            raise DataError(f"Kernel matrix {k} is not symmetric.")
        if apart > SYMMETRY * size:
            checked[k] = 0.5 * (gram + gram.T)
    return checked


def as_numbers(k: int, gram: Any) -> NDArray[np.float64]:
    """A matrix that was given as an array of double precision, row after row."""
    if sparse.issparse(gram):
        gram = gram.toarray()
    gram = plain_array(gram, f"Kernel matrix {k}")
    try:
        return np.asarray(gram, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(f"Kernel matrix {k} is no matrix of numbers ({error}).") from error


def rounding_of(gram: Any) -> float:
    """Rounding errors of a matrix as it was given, relative to its size."""
    return SINGLE if getattr(getattr(gram, "dtype", None), "itemsize", 8) < 8 else NEGATIVE


def factored(
    grams: Iterable[NDArray[np.float64]], tol: float = RANK_TOL, rounding: float = NEGATIVE
) -> Concatenated:
    """Matrices of low rank as factors, the others packed.

    Refuses matrices that are not positive semidefinite, but for rounding.
    """
    factors, whole, low, full = [], [], [], []
    for k, gram in enumerate(grams):
        factor = factor_of(gram, tol, f"Kernel matrix {k}", rounding)
        if factor.shape[1] <= LOW_RANK * len(gram):
            factors.append(factor.T)
            low.append(k)
        else:
            whole.append(gram)
            full.append(k)
    return joined(factors, low, whole, full)


def factor_of(
    gram: NDArray,
    tol: float = RANK_TOL,
    name: str = "A kernel matrix",
    rounding: float = NEGATIVE,
) -> NDArray:
    """Factor of a positive semidefinite matrix, of as few columns as the tolerance allows.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> factor_of(np.outer(x, x)).shape
    (3, 1)
    """
    factor = _pivoted(gram, tol)
    return _spectral(gram, tol, name, rounding) if factor is None else factor


def _pivoted(gram: NDArray, tol: float) -> NDArray | None:
    """Factor by pivoted Cholesky, or None where what it leaves out is not small."""
    n, trace = len(gram), float(np.trace(gram))
    if n == 0 or trace <= 0.0:
        return None
    least = tol * trace / n  # of the diagonal that is left out
    lower, pivots, rank, info = dpstrf(gram.T, tol=least, lower=1)  # symmetric: in LAPACK's order
    if info < 0:
        return None
    factor = np.zeros((n, rank))
    factor[pivots - 1] = np.tril(lower[:, :rank])
    # A remainder that is positive semidefinite is as small as its diagonal.
    probe = np.random.default_rng(0).normal(size=n)
    rest = gram @ probe - factor @ (factor.T @ probe)
    room = n * least + 1e-12 * trace
    return factor if np.linalg.norm(rest) <= room * np.linalg.norm(probe) else None


def _spectral(gram: NDArray, tol: float, name: str, rounding: float) -> NDArray:
    """Factor by eigenvectors, which says what is wrong with a matrix that has none."""
    values, vectors = np.linalg.eigh(gram)
    largest = max(values[-1], 0.0) if len(values) else 0.0
    if len(values) and values[0] < -rounding * max(largest, np.abs(gram).max()):
        raise DataError(
            f"{name} is not positive semidefinite: it has the eigenvalue {values[0]:.3g}."
        )
    kept = np.maximum(values[::-1], 0.0)
    rest = kept.sum() - np.cumsum(kept)
    rank = int(np.searchsorted(-rest, -tol * kept.sum())) + 1 if kept.sum() > 0 else 0
    return vectors[:, ::-1][:, :rank] * np.sqrt(kept[:rank])

r"""Factors of the kernels of columns, from some of the rows, for all rows and new ones.

With the rows :math:`P` chosen one after the other, always the one explained worst so far,
:math:`K \approx K_{\cdot P} K_{PP}^{-1} K_{P \cdot} = F^\top F`: a pivoted Cholesky decomposition.
Smooth kernels of one column need few rows for all digits.  Cut earlier, it is an approximation by
Nystrom with these rows as landmarks, and the trace that is left says how good.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.errors import ExtensionError
from kernelpath.mkl.weighted_kernels._factor_loops import map_rows, pivoted_factor
from kernelpath.tables.rows import Shares, mean_of

FEW_VALUES = 3  # rank: centring may take away one of so few
NOTHING = 1e-12  # of the trace
INDEFINITE = 1e-5  # of the largest diagonal entry: more below 0 is no rounding error


@dataclass(frozen=True, eq=False)
class Factor:
    """What maps rows to the centred factor of one kernel, scaled to a mean diagonal of 1.

    Attributes
    ----------
    points : ndarray of shape (n_landmarks, n_columns)
        Rows that the factor was made from.
    triangle : ndarray of shape (n_landmarks, n_landmarks)
        Cholesky factor of their kernel matrix.
    mean : ndarray of shape (n_landmarks,)
    turn : ndarray of shape (rank, n_landmarks) or float
        Scale, and where centring lowered the rank the directions that are left.
    """

    points: NDArray[np.float64]
    triangle: NDArray[np.float64]
    mean: NDArray[np.float64]
    turn: NDArray[np.float64] | float

    @property
    def rank(self) -> int:
        """Rows of the factor."""
        return len(self.mean) if isinstance(self.turn, float) else len(self.turn)

    def rows(self, part: Any, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Factor of any rows of the columns of the kernel, of shape (rank, n_rows)."""
        formula = part.formula
        if formula is not None:
            raw = np.empty((len(self.points), len(own)))
            points = np.ascontiguousarray(self.points[:, 0])
            kernel, *numbers = formula
            map_rows(kernel)(own[:, 0], points, self.triangle, *numbers, raw)
        else:
            values = part.gram(self.points, own)
            raw = linalg.solve_triangular(self.triangle, values, lower=True)
        return _turned(raw - self.mean[:, None], self.turn)


def make_factor(
    part: Any, own: NDArray[np.float64], most: int, tol: float, shares: Shares = None
) -> tuple[NDArray[np.float64], Factor | None, float]:
    """Centred factor of a kernel on rows of its columns, what maps rows to it, and what is left.

    Parameters
    ----------
    part : ColumnKernel
    own : ndarray of shape (n_rows, n_columns)
    most : int
        Largest number of landmarks.
    tol : float
        Share of the trace that may be left.
    shares : ndarray of shape (n_rows,), optional
        Weights of the rows in means and traces.

    Returns
    -------
    rows : ndarray of shape (rank, n_rows)
    factor : Factor or None
        None where the kernel is the same for all rows.
    left : float
        Share of the trace that is left: larger than ``tol`` if there were not enough landmarks.
    """
    n = len(own)
    rows, pivots = np.empty((most, n)), np.empty(most, dtype=np.intp)
    formula = part.formula
    if formula is not None:
        kernel, *numbers = formula
        rank, left = pivoted_factor(kernel)(own[:, 0], *numbers, tol, rows, pivots)
    else:
        rank, left = _pivoted(part, own, tol, rows, pivots)
    rows, pivots = rows[:rank], pivots[:rank]
    mean = mean_of(rows.T, shares)
    centred = rows - mean[:, None]
    size, whole = _mean_square(centred, shares), _mean_square(rows, shares)
    if shares is not None and left > tol:
        diagonal = float(mean_of(part.diagonal(own), shares)[0])
        left = max(diagonal - whole, 0.0) / diagonal
    if size <= NOTHING * whole:
        return np.zeros((0, n)), None, left
    turn = _turn(centred, np.sqrt(1.0 / size))
    triangle = np.ascontiguousarray(rows[:, pivots].T)
    return _turned(centred, turn), Factor(own[pivots], triangle, mean, turn), left


def _mean_square(factor: NDArray[np.float64], shares: Shares) -> float:
    """Mean diagonal of the kernel that has this factor."""
    diagonal = np.square(factor).sum(axis=0)
    return float(diagonal.sum() / len(diagonal) if shares is None else shares @ diagonal)


def _turn(centred: NDArray[np.float64], scale: float) -> NDArray[np.float64] | float:
    """Directions that are left after centring: of two values, one."""
    if not 1 < len(centred) <= FEW_VALUES:
        return scale
    values, vectors = np.linalg.eigh(centred @ centred.T)
    kept = values > NOTHING * values.sum()
    return scale if kept.all() else scale * vectors[:, kept].T


def _turned(centred: NDArray[np.float64], turn: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return turn @ centred if isinstance(turn, np.ndarray) else centred * turn


def _pivoted(
    part: Any,
    own: NDArray[np.float64],
    tol: float,
    rows: NDArray[np.float64],
    pivots: NDArray[np.intp],
) -> tuple[int, float]:
    """`pivoted_factor` for kernels that no loop knows, a row of the kernel at a time."""
    rest = part.diagonal(own)
    total, largest = float(rest.sum()), float(rest.max(initial=0.0))
    rank = 0
    while rest.sum() > tol * total and rank < len(rows):
        j = int(np.argmax(rest))
        value = part.gram(own[[j]], own)[0] - rows[:rank, j] @ rows[:rank]
        rows[rank] = value / np.sqrt(rest[j])
        pivots[rank] = j
        rest = rest - np.square(rows[rank])
        rest[j] = 0.0
        if rest.min() < -INDEFINITE * largest:
            raise ExtensionError(
                f"{type(part.kernel).__name__} is not positive definite on the values of a column: "
                "its kernel matrix has a negative eigenvalue."
            )
        rest = np.maximum(rest, 0.0)
        rank += 1
    return rank, float(rest.sum()) / total if total > 0 else 0.0

r"""The group lasso over factors of kernels: objective, dual, and what a gap is.

.. math:: \min_{b, W}\; \tfrac12 \sum_i s_i \sum_c \ell(y_{ic}, f_{ic})
          + \lambda \sum_k \bigl( \|W_k\|_F + \tfrac{\rho}{2} \|W_k\|_F^2 \bigr),
          \qquad f_i = b + \sum_k W_k^\top F_{ki}

with the squared hinge :math:`\max(0, 1 - y f)^2` or :math:`(y - f)^2`, and shares :math:`s_i` of
the rows.  A target of another size than 1 scales its hinge: :math:`\max(0, |y| - \pm f)^2`.  All is
multiplied by :math:`\sqrt{s_i}` here: :math:`T` is the target, :math:`G_k` a factor, and the loss
half the square of the residuals :math:`R`.  Then

.. math:: \max_\theta\; \langle \theta, T \rangle - \tfrac12 \|\theta\|^2
          - \tfrac{1}{2 \lambda \rho} \sum_k \max(0, \|G_k^\top \theta\|_F - \lambda)^2

is the dual, over :math:`\theta` with :math:`\sum_i \sqrt{s_i} \theta_{ic} = 0`, and for a hinge
:math:`\theta T \ge 0`; for :math:`\rho = 0` the last term is the condition
:math:`\|G_k^\top \theta\|_F \le \lambda` for all :math:`k`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Factors(Protocol):
    """Factors of kernels, made when they are asked for."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""

    def together(self, n_numbers: int) -> int:
        """How many groups have factors of about so many numbers."""

    def rows(self, groups: NDArray[np.intp]) -> tuple[Array, NDArray[np.intp]]:
        """Rows of the factors of some groups, one under the other, and where each begins.

        They are of shape (total rank, n_rows), times the roots of the shares of the rows, centred
        and with squares that sum to 1 in each group.
        """


@dataclass(frozen=True, eq=False)
class GroupLasso:
    """What is to be explained, and by how much the groups are held.

    Attributes
    ----------
    target : ndarray of shape (n_columns, n_rows)
        Times the roots of the shares of the rows.
    hinge : ndarray of bool, shape (n_columns,)
        Columns that are classes, with targets of two signs; others are numbers.
    root : ndarray of shape (n_rows,)
        Roots of the shares of the rows.
    ridge : float
        Share of the squared norm.

    Examples
    --------
    >>> root = np.full(4, 0.5)
    >>> problem = GroupLasso(root * [[-1.0, -1.0, 1.0, 1.0]], np.array([True]), root)
    >>> theta = problem.target.copy()
    >>> problem.dual(theta, np.array([0.5]), 1.0), problem.primal(theta, np.array([0.0]), 1.0)
    (0.5, 0.5)
    """

    target: Array
    hinge: NDArray[np.bool_]
    root: Array
    ridge: float = 0.0

    def primal(self, rest: Array, norms: Array, strength: float) -> float:
        """Objective at residuals and norms of the groups."""
        penalty = float(norms.sum() + 0.5 * self.ridge * np.square(norms).sum())
        return 0.5 * float(np.square(rest).sum()) + strength * penalty

    def dual(self, theta: Array, norms: Array, strength: float) -> float:
        """Lower bound of the objective from a balanced ``theta`` and norms of its products.

        Those that are not above the strength may be left out.  Without a ridge ``theta`` is
        shortened until none is.
        """
        inner, square = float((theta * self.target).sum()), float(np.square(theta).sum())
        if self.ridge > 0:
            over = np.maximum(norms - strength, 0.0)
            return inner - 0.5 * square - float(np.square(over).sum()) / (2 * strength * self.ridge)
        largest = float(norms.max(initial=0.0))
        scale = min(1.0, strength / largest) if largest > 0 else 1.0
        return scale * inner - 0.5 * scale**2 * square

    def balanced(self, rest: Array) -> Array:
        """Residuals as a point of the dual: their sums with the intercept made exactly 0."""
        theta = rest.copy()
        for c in np.flatnonzero(self.hinge):
            parts = theta[c] * self.root
            above = self.target[c] > 0
            up, down = float(parts[above].sum()), -float(parts[~above].sum())
            if up > down:
                theta[c, above] *= down / up
            elif down > up:
                theta[c, ~above] *= up / down
        rows = np.flatnonzero(~self.hinge)
        theta[rows] -= np.outer(theta[rows] @ self.root, self.root)
        return theta

    def start(self) -> Array:
        """Residuals where no group has a weight; the intercept is the mean.

        It is so for a hinge, too, as no row reaches its margin by a mean.
        """
        return self.target - np.outer(self.target @ self.root, self.root)

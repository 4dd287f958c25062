"""The feasible set of a feature budget: so many features, some of which must be in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.mkl.feasible_sets import CappedSimplex


@dataclass(frozen=True)
class Budget:
    r"""Weights between 0 and 1 of a given sum, some of which are 1.

    .. math:: \{d : 0 \le d_k \le 1,\; \textstyle\sum_k d_k = \mathrm{total},\;
              d_k = 1 \text{ for } k \in \mathrm{fixed}\}

    The relaxation of a choice of ``total`` features; without fixed ones a
    :class:`~kernelpath.mkl.feasible_sets.CappedSimplex`.

    Parameters
    ----------
    total : float
        Sum of the weights, at least the number of fixed ones.
    fixed : tuple of int
        Weights that are 1.

    Examples
    --------
    >>> Budget(2, fixed=(3,)).project([0.9, 0.4, 0.0, 0.0])
    array([0.75, 0.25, 0.  , 1.  ])
    >>> Budget(2, fixed=(3,)).minimize_linear([0.5, -1.0, 0.0, 7.0])
    array([0., 1., 0., 1.])
    """

    total: float
    fixed: tuple[int, ...] = ()

    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.total < len(self.fixed):
            raise ValueError(
                f"a budget of {self.total:g} has no room for {len(self.fixed)} fixed features"
            )

    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        """Nearest point."""
        x = np.asarray(x, dtype=np.float64)
        free = self._free(len(x))
        d = np.ones(len(x))
        if free.any():
            d[free] = self._rest.project(x[free])
        return d

    def support(self, g: ArrayLike) -> float:
        """Value of the fixed entries and of the largest others."""
        g = np.asarray(g, dtype=np.float64)
        return float(g @ self.minimize_linear(-g))

    def minimize_linear(self, g: ArrayLike) -> NDArray[np.float64]:
        """The fixed ones, and the smallest entries of the others."""
        g = np.asarray(g, dtype=np.float64)
        free = self._free(len(g))
        d = np.ones(len(g))
        if free.any():
            d[free] = self._rest.minimize_linear(g[free])
        return d

    def start(self, n: int) -> NDArray[np.float64]:
        """Equal weights of those that are not fixed."""
        free = self._free(n)
        d = np.ones(n)
        if free.any():
            d[free] = self._rest.start(int(free.sum()))
        return d

    def restrict(self, some: NDArray[np.intp]) -> Budget:
        """The set of some weights, all others being zero; fixed ones have to be among them."""
        places = {int(k): place for place, k in enumerate(some)}
        return Budget(self.total, tuple(places[k] for k in self.fixed))

    @property
    def _rest(self) -> CappedSimplex:
        return CappedSimplex(self.total - len(self.fixed))

    def _free(self, n: int) -> NDArray[np.bool_]:
        free = np.ones(n, dtype=bool)
        free[list(self.fixed)] = False
        return free

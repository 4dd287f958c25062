r"""Feasible sets of kernel weights: where the weights of multiple kernel learning may lie.

All methods minimise :math:`r(d) + \mathrm{fit}(K(d))` over weights :math:`d \ge 0` in such a set.
Solvers need its Euclidean projection; a bounded set also minimises linear functions, which gives
optimality gaps.  The functions :math:`r` live in :mod:`kernelpath.mkl.regularizers`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.mkl._projections import fill, onto_unit_ball, p_norm
from kernelpath.tables.table import unmasked

ROUNDING = 1e-12  # relative; totals closer than this are taken as equal
UNBOUNDED = "{} is not bounded; minimize_linear needs Simplex, LpBall or another bounded set"


class FeasibleSet(ABC):
    """What solvers ask of a set of weights.

    A set needs ``project``, ``start`` and ``bounded``, and ``support`` if it is bounded; the rest
    has defaults that hold for every set, and says what faster solvers can make use of.  An object
    of a user need not be of this class: see :meth:`of`.

    Attributes
    ----------
    non_negative_only : bool
        Whether nothing but ``d >= 0`` is asked.
    bounds_each_weight : bool
        Whether each weight may have bounds of its own, so that none can be left out.
    fixed : tuple of int
        Weights that no point has at zero.
    """

    non_negative_only: ClassVar[bool] = False
    bounds_each_weight: ClassVar[bool] = False
    fixed: tuple[int, ...] = ()

    @classmethod
    def of(cls, given: Any) -> FeasibleSet:
        """The set itself, or what is known of an object of another class that has its methods."""
        return given if isinstance(given, FeasibleSet) else _OwnSet(given)

    @property
    def given(self) -> Any:
        """The object that messages are about."""
        return self

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Whether every linear function has a minimiser on the set."""

    @abstractmethod
    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        """Point of the set that is nearest to ``x`` in the Euclidean norm."""

    @abstractmethod
    def start(self, n: int) -> NDArray[np.float64]:
        """Natural point with ``n`` weights to start a solver from."""

    def minimize_linear(self, g: ArrayLike) -> NDArray[np.float64]:
        """Minimiser of ``g @ d`` over the set, which must be bounded."""
        raise TypeError(UNBOUNDED.format(self))

    def support(self, g: ArrayLike) -> float:
        """Largest value of ``g @ d`` over the set; may be infinite."""
        g = np.asarray(g, dtype=np.float64)
        return float(g @ self.minimize_linear(-g))

    def restrict(self, some: NDArray[np.intp]) -> FeasibleSet:
        """The set of some weights, all others being zero."""
        return self

    @property
    def fewest(self) -> int:
        """Number of weights below which the set has no point."""
        return 0

    @property
    def budget(self) -> float | None:
        """Sum of weights between 0 and 1, if that and ``fixed`` are all that is asked."""
        return None

    def cap_and_total(self, n: int) -> tuple[float, float] | None:
        """Largest weight and sum, if these are all that is asked of ``n``; below 0 is no sum."""
        return None


class _OwnSet(FeasibleSet):
    """A set of another class; of what solvers can make use of, it may have ``restrict``."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.fixed = tuple(getattr(given, "fixed", ()))
        self._restrict = getattr(given, "restrict", None)

    @property
    def given(self) -> Any:
        return self._given

    @property
    def bounded(self) -> bool:
        return bool(self._given.bounded)

    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        return self._given.project(x)

    def start(self, n: int) -> NDArray[np.float64]:
        return self._given.start(n)

    def minimize_linear(self, g: ArrayLike) -> NDArray[np.float64]:
        return self._given.minimize_linear(g)

    def support(self, g: ArrayLike) -> float:
        return self._given.support(g)

    def restrict(self, some: NDArray[np.intp]) -> FeasibleSet:
        return self if self._restrict is None else FeasibleSet.of(self._restrict(some))


@dataclass(frozen=True)
class NonNegative(FeasibleSet):
    r"""All weights that are not negative.

    .. math:: \{d : d \ge 0\}

    Examples
    --------
    >>> NonNegative().project([1.5, -2.0])
    array([1.5, 0. ])
    """

    bounded: ClassVar[bool] = False
    non_negative_only: ClassVar[bool] = True

    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        """Set negative entries to 0."""
        return np.maximum(_vector(x), 0.0)

    def support(self, g: ArrayLike) -> float:
        """Return 0 if no entry of ``g`` is positive, else infinity."""
        return math.inf if np.any(_vector(g) > 0) else 0.0

    def start(self, n: int) -> NDArray[np.float64]:
        """All weights ``1 / n``."""
        return np.full(n, 1.0 / n)

    def cap_and_total(self, n: int) -> tuple[float, float]:
        """Neither."""
        return math.inf, -1.0


class _FixedTotal(FeasibleSet):
    """What the simplex and the capped simplex share: a total, and a cap of at most the total."""

    bounded: ClassVar[bool] = True

    @abstractmethod
    def _shape(self, n: int) -> tuple[float, float]:
        """Total and cap."""

    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        """Nearest point, from one sort and searches in it: ``O(n log n)``."""
        x = _vector(x)
        return fill(x, *self._shape(len(x)))

    def support(self, g: ArrayLike) -> float:
        """Value of the largest entries, filled up to the cap; no sort of all: ``O(n)``."""
        g = _vector(g)
        n_full, rest = self._filled(len(g))
        count = n_full + (rest > 0.0)
        if count == 0:
            return 0.0
        largest = np.sort(np.partition(g, len(g) - count)[len(g) - count :])[::-1]
        value = float(largest[:n_full].sum()) * self._shape(len(g))[1] if n_full else 0.0
        return value + (rest * float(largest[-1]) if rest > 0.0 else 0.0)

    def minimize_linear(self, g: ArrayLike) -> NDArray[np.float64]:
        """Fill the smallest entries up to the cap, the first ones of equals."""
        order = np.argsort(_vector(g), kind="stable")
        n_full, rest = self._filled(len(order))
        d = np.zeros(len(order))
        d[order[:n_full]] = self._shape(len(order))[1]
        if rest > 0.0:
            d[order[n_full]] = rest
        return d

    def _filled(self, n: int) -> tuple[int, float]:
        """Number of weights at the cap in a corner, and what is left for one more."""
        total, cap = self._shape(n)
        n_full = round(total / cap) if cap > 0 else 0
        # A total of n_full caps but for rounding must not leave a speck on one more weight.
        if abs(total - n_full * cap) <= ROUNDING * total:
            return n_full, 0.0
        n_full = math.floor(total / cap)
        return n_full, total - n_full * cap

    def start(self, n: int) -> NDArray[np.float64]:
        """Equal weights."""
        return np.full(n, self._shape(n)[0] / n)


@dataclass(frozen=True)
class Simplex(_FixedTotal):
    r"""Weights that are not negative and have a given sum.

    .. math:: \{d : d \ge 0,\; \textstyle\sum_k d_k = \mathrm{radius}\}

    Parameters
    ----------
    radius : float, default=1.0
        Sum of the weights.

    Examples
    --------
    >>> Simplex().project([0.75, 0.5, -3.0])
    array([0.625, 0.375, 0.   ])
    >>> Simplex(2.0).minimize_linear([3.0, -1.0, -1.0])
    array([0., 2., 0.])
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        _check_finite("radius", self.radius, "the sum that the weights should have")

    def cap_and_total(self, n: int) -> tuple[float, float]:
        """No weight is larger than the sum."""
        return self.radius, self.radius

    def _shape(self, n: int) -> tuple[float, float]:
        return self.radius, self.radius


@dataclass(frozen=True)
class CappedSimplex(_FixedTotal):
    r"""Weights between 0 and a cap that have a given sum.

    .. math:: \{d : 0 \le d_k \le \mathrm{cap},\; \textstyle\sum_k d_k = \mathrm{total}\}

    With ``cap=1`` and a whole ``total`` its corners are the choices of ``total`` kernels.

    Parameters
    ----------
    total : float
        Sum of the weights, whole or not.  There must be at least ``total / cap`` weights.
    cap : float, default=1.0
        Largest weight; may be infinite.

    Examples
    --------
    >>> CappedSimplex(2).project([5.0, 0.75, 0.25, 0.0])
    array([1.  , 0.75, 0.25, 0.  ])
    >>> CappedSimplex(1.5).minimize_linear([1.0, -2.0, 1.0])
    array([0.5, 1. , 0. ])
    """

    total: float
    cap: float = 1.0

    def __post_init__(self) -> None:
        _check_finite("total", self.total, "the sum that the weights should have")
        if not self.cap > 0:
            raise ValueError(f"cap must be > 0, got {self.cap!r}; give the largest weight allowed")

    @property
    def fewest(self) -> int:
        """As many as the total takes."""
        return math.ceil(self.total / self.cap)

    @property
    def budget(self) -> float | None:
        """The total, where the cap is 1."""
        return float(self.total) if self.cap == 1.0 else None

    def cap_and_total(self, n: int) -> tuple[float, float] | None:
        """Both, if there are enough weights."""
        return (self.cap, self.total) if self.total <= n * self.cap else None

    def _shape(self, n: int) -> tuple[float, float]:
        if self.total > self.cap * n * (1.0 + ROUNDING):
            way = "lower total, raise cap or bring more kernels"
            raise ValueError(f"{n} weights up to {self.cap:g} cannot sum to {self.total:g}; {way}")
        return self.total, min(self.cap, self.total)


@dataclass(frozen=True)
class Budget(FeasibleSet):
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
    def fewest(self) -> int:
        """As many as the total takes."""
        return math.ceil(self.total)

    @property
    def budget(self) -> float:
        """The total."""
        return float(self.total)

    @property
    def _rest(self) -> CappedSimplex:
        return CappedSimplex(self.total - len(self.fixed))

    def _free(self, n: int) -> NDArray[np.bool_]:
        free = np.ones(n, dtype=bool)
        free[list(self.fixed)] = False
        return free


@dataclass(frozen=True)
class Box(FeasibleSet):
    r"""Weights between two bounds.

    .. math:: \{d : \mathrm{low}_k \le d_k \le \mathrm{high}_k\}

    Parameters
    ----------
    low : float or array-like of shape (n,), default=0.0
        Lower bounds, not negative.
    high : float or array-like of shape (n,), default=1.0
        Upper bounds; with an infinite one the set is not bounded.

    Examples
    --------
    >>> Box(0.0, [1.0, 2.0]).project([-1.0, 5.0])
    array([0., 2.])
    """

    low: ArrayLike = 0.0
    high: ArrayLike = 1.0

    bounds_each_weight: ClassVar[bool] = True

    def __post_init__(self) -> None:
        low, high = (
            np.asarray(unmasked(getattr(self, name), name), np.float64) for name in ("low", "high")
        )
        given = f"got low={self.low!r} and high={self.high!r}"
        if max(low.ndim, high.ndim) > 1 or (low.ndim == high.ndim and low.shape != high.shape):
            raise ValueError(f"low and high must be numbers or vectors of one length, {given}")
        if not np.all((low >= 0) & (low <= high) & np.isfinite(low)):
            raise ValueError(f"bounds must be 0 <= low <= high with a finite low, {given}")
        for name, bound in (("low", low), ("high", high)):  # tuples compare, hash and stay
            object.__setattr__(self, name, tuple(bound.tolist()) if bound.ndim else float(bound))

    @property
    def bounded(self) -> bool:
        """Whether all upper bounds are finite."""
        return bool(np.isfinite(self.high).all())

    def restrict(self, some: NDArray[np.intp]) -> Box:
        """The bounds of some weights."""
        low, high = (b if np.ndim(b) == 0 else np.asarray(b)[some] for b in (self.low, self.high))
        return Box(low, high)

    def _bounds(self, n: int) -> list[NDArray[np.float64]]:
        sizes = {np.size(bound) for bound in (self.low, self.high) if np.ndim(bound)}
        if sizes - {n}:
            raise ValueError(f"the bounds are for {max(sizes)} weights, got {n}")
        return [np.broadcast_to(np.asarray(b, np.float64), n) for b in (self.low, self.high)]

    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        """Clip to the bounds."""
        x = _vector(x)
        return np.clip(x, *self._bounds(len(x)))

    def support(self, g: ArrayLike) -> float:
        """Value with upper bounds where ``g`` is positive and lower bounds elsewhere."""
        g = _vector(g)
        low, high = self._bounds(len(g))
        return float(g @ np.where(g > 0, high, low))

    def minimize_linear(self, g: ArrayLike) -> NDArray[np.float64]:
        """Lower bounds where ``g`` is not negative, upper bounds elsewhere."""
        if not self.bounded:
            raise TypeError(UNBOUNDED.format(self))
        g = _vector(g)
        low, high = self._bounds(len(g))
        return np.where(g < 0, high, low)

    def start(self, n: int) -> NDArray[np.float64]:
        """Middle of finite bounds, ``low + 1`` where the upper one is infinite."""
        low, high = self._bounds(n)
        return low + np.where(np.isfinite(high), 0.5 * (high - low), 1.0)


@dataclass(frozen=True)
class LpBall(FeasibleSet):
    r"""Weights that are not negative and have a bounded p-norm.

    .. math:: \{d : d \ge 0,\; \|d\|_p \le \mathrm{radius}\}

    Parameters
    ----------
    p : float
        Exponent, at least 1; may be infinite.
    radius : float, default=1.0
        Largest norm.

    Examples
    --------
    >>> LpBall(2).project([3.0, 4.0, -1.0])
    array([0.6, 0.8, 0. ])
    >>> LpBall(3, radius=2.0).support([0.0, 1.5])
    3.0
    """

    p: float
    radius: float = 1.0
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.p >= 1:
            raise ValueError(f"p must be a number >= 1, got {self.p!r}; below 1 no ball is convex")
        _check_finite("radius", self.radius, "the largest norm of the weights")

    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        """Nearest point: closed forms for ``p`` in 1, 2, infinity, else Newton steps."""
        y = np.maximum(_vector(x), 0.0)
        if self.p == math.inf:
            return np.minimum(y, self.radius)
        norm = p_norm(y, self.p)
        if norm <= self.radius:
            return y
        if self.p == 1 or self.radius == 0.0:
            return fill(y, self.radius, self.radius)
        onto = y / norm if self.p == 2 else onto_unit_ball(y / self.radius, float(self.p))
        return self.radius * onto

    def support(self, g: ArrayLike) -> float:
        """``radius`` times the dual norm of the positive part."""
        dual = math.inf if self.p == 1 else 1.0 if self.p == math.inf else self.p / (self.p - 1.0)
        return self.radius * p_norm(np.maximum(_vector(g), 0.0), dual)

    def minimize_linear(self, g: ArrayLike) -> NDArray[np.float64]:
        """Point where Hoelder's inequality is tight; 0 if no entry is negative."""
        gain = np.maximum(-_vector(g), 0.0)
        if not gain.any():
            return gain
        if self.p == 1:
            return Simplex(self.radius).minimize_linear(-gain)
        d = np.where(gain > 0, (gain / gain.max()) ** (1.0 / (self.p - 1.0)), 0.0)
        return self.radius * (d / p_norm(d, self.p))

    def start(self, n: int) -> NDArray[np.float64]:
        """Equal weights of norm ``radius``."""
        return np.full(n, self.radius * n ** (-1.0 / self.p))


def _vector(x: ArrayLike) -> NDArray[np.float64]:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise ValueError(f"expected one number for each weight, got an array of shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError("expected finite numbers, got NaN or infinity; check the step before")
    return x


def _check_finite(name: str, value: float, meaning: str) -> None:
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}; give {meaning}")

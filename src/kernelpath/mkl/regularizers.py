r"""Regularizers of kernel weights: the function ``r`` that multiple kernel learning adds to a fit.

All methods minimise :math:`r(d) + \mathrm{fit}(K(d))` over :math:`d \ge 0` in one of the sets of
:mod:`kernelpath.mkl.feasible_sets`.  Besides the methods of :class:`Regularizer` there may be
others, which :class:`~kernelpath.mkl.problem.Problem` looks for:

``conjugate(g)``
    :math:`\max_{d \ge 0}\, g^\top d - r(d)`, possibly infinite.
``domain_scale(g)``
    Largest ``s >= 0`` for which ``conjugate(s * g)`` is finite, infinite where it always is.
``closed_form(squared_norms)``
    :math:`\arg\min_{d \ge 0} \sum_k s_k / (2 d_k) + r(d)`, with :math:`d_k = 0` where the squared
    norm :math:`s_k` is 0: the closed-form update of [kloft2011].
``with_strength(strength)``
    A copy with another strength.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.errors import DataError
from kernelpath.tables.table import unmasked

ROUNDING = 1e-12  # relative; a dual point on the edge of the domain shall not leave it by rounding
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.finfo(np.float64).tiny)


@runtime_checkable
class Regularizer(Protocol):
    """What solvers ask of a regularizer: a convex function of weights that are not negative."""

    def value(self, d: ArrayLike) -> float:
        """``r(d)``."""

    def gradient(self, d: ArrayLike) -> NDArray[np.float64]:
        """First derivatives; at ``d_k = 0`` the one from the right."""

    def hess_diag(self, d: ArrayLike) -> NDArray[np.float64]:
        """Second derivatives in each weight; may be infinite at ``d_k = 0``."""


@dataclass(frozen=True)
class NoRegularizer:
    r"""No regularizer; the feasible set has to keep the weights finite.

    .. math:: r(d) = 0

    Examples
    --------
    >>> NoRegularizer().conjugate([0.0, 1.0])
    inf
    """

    def value(self, d: ArrayLike) -> float:
        """Return 0."""
        _weights(d)
        return 0.0

    def gradient(self, d: ArrayLike) -> NDArray[np.float64]:
        """Zeros."""
        return np.zeros(len(_weights(d)))

    hess_diag = gradient

    def conjugate(self, g: ArrayLike) -> float:
        """Return 0 if no entry is positive, else infinity."""
        return math.inf if _positive_part(g).any() else 0.0

    def domain_scale(self, g: ArrayLike) -> float:
        """Return infinity if no entry is positive, else 0."""
        return 0.0 if _positive_part(g).any() else math.inf


class _WithStrength:
    """What regularizers with a factor in front share."""

    strength: float

    def with_strength(self, strength: float) -> Self:
        """Copy with another strength."""
        return replace(self, strength=strength)  # type: ignore[type-var]


class _PowerSum(_WithStrength):
    """Methods of ``strength / p * sum(d ** p)``."""

    p: float

    def __post_init__(self) -> None:
        _check(self.strength, p=self.p)

    def value(self, d: ArrayLike) -> float:
        """``strength / p`` times the sum of the powers."""
        return self.strength / self.p * _sum_of_powers(_weights(d), self.p)

    def gradient(self, d: ArrayLike) -> NDArray[np.float64]:
        """``strength * d ** (p - 1)``."""
        return _times(self.strength, _power(_weights(d), self.p - 1.0))

    def hess_diag(self, d: ArrayLike) -> NDArray[np.float64]:
        """``strength * (p - 1) * d ** (p - 2)``: infinite at 0 if ``1 < p < 2``."""
        return _times(self.strength * (self.p - 1.0), _power(_weights(d), self.p - 2.0))

    def conjugate(self, g: ArrayLike) -> float:
        """Power with ``1 / p + 1 / q = 1``; for ``p = 1`` whether ``g`` exceeds the strength."""
        return _power_conjugate(_positive_part(g), self.p, self.strength)

    def domain_scale(self, g: ArrayLike) -> float:
        """``strength / max(g)`` for ``p = 1``, else infinite."""
        return _power_domain(_positive_part(g), self.p, self.strength)

    def closed_form(self, squared_norms: ArrayLike) -> NDArray[np.float64]:
        """``(squared_norms / (2 strength)) ** (1 / (p + 1))``, as in [kloft2011]."""
        root = 1.0 / (self.p + 1.0)
        return _weights(squared_norms, "squared_norms") ** root / (2.0 * self.strength) ** root


@dataclass(frozen=True)
class L1(_PowerSum):
    r"""Sum of the weights, which makes most of them 0.

    .. math:: r(d) = \mathrm{strength} \sum_k d_k

    Parameters
    ----------
    strength : float, default=1.0
        Factor, positive.

    Examples
    --------
    >>> L1(2.0).value([1.0, 3.0])
    8.0
    """

    strength: float = 1.0
    p: float = field(default=1.0, init=False, repr=False)


@dataclass(frozen=True)
class Lp(_PowerSum):
    r"""Power of the p-norm, the regularizer of lp-norm multiple kernel learning [kloft2011].

    .. math:: r(d) = \frac{\mathrm{strength}}{p} \sum_k d_k^p

    Parameters
    ----------
    p : float
        Exponent, at least 1; 1 is the same function as :class:`L1`.
    strength : float, default=1.0
        Factor, positive.

    Examples
    --------
    >>> Lp(2, strength=0.5).value([1.0, 3.0])
    2.5
    >>> Lp(3).closed_form([32.0, 0.0])
    array([2., 0.])
    """

    p: float
    strength: float = 1.0


@dataclass(frozen=True)
class ElasticNet(_WithStrength):
    r"""Sum of the weights and of their squares.

    .. math:: r(d) = \mathrm{strength}\, \sum_k \rho d_k + \tfrac12 (1 - \rho) d_k^2

    Parameters
    ----------
    strength : float, default=1.0
        Factor, positive.
    l1_ratio : float, default=0.5
        The share :math:`\rho` of the sum, from 0 to 1.

    Examples
    --------
    >>> ElasticNet(2.0).gradient([0.0, 3.0])
    array([1., 4.])
    """

    strength: float = 1.0
    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        _check(self.strength)
        if not 0 <= self.l1_ratio <= 1:
            raise ValueError(f"l1_ratio must be from 0 (Lp(2)) to 1 (L1), got {self.l1_ratio!r}")

    @property
    def _parts(self) -> tuple[float, float]:
        return self.strength * self.l1_ratio, self.strength * (1.0 - self.l1_ratio)

    def value(self, d: ArrayLike) -> float:
        """``r(d)``."""
        d = _weights(d)
        return math.fsum(c / k * _sum_of_powers(d, k) for c, k in zip(self._parts, (1, 2)) if c)

    def gradient(self, d: ArrayLike) -> NDArray[np.float64]:
        """``strength * (l1_ratio + (1 - l1_ratio) * d)``."""
        linear, square = self._parts
        return linear + _times(square, _weights(d))

    def hess_diag(self, d: ArrayLike) -> NDArray[np.float64]:
        """``strength * (1 - l1_ratio)``, everywhere."""
        return np.full(len(_weights(d)), self._parts[1])

    def conjugate(self, g: ArrayLike) -> float:
        """Sum of half the squares above ``strength * l1_ratio``, over the square's factor."""
        linear, square = self._parts
        if square == 0.0:
            return _power_conjugate(_positive_part(g), 1.0, linear)
        return _power_conjugate(np.maximum(_positive_part(g) - linear, 0.0), 2.0, square)

    def domain_scale(self, g: ArrayLike) -> float:
        """Infinite if ``l1_ratio < 1``."""
        linear, square = self._parts
        return _power_domain(_positive_part(g), 1.0 if square == 0.0 else 2.0, linear)

    def closed_form(self, squared_norms: ArrayLike) -> NDArray[np.float64]:
        r"""Root of :math:`a d^2 + b d^3 = s / 2`, the two factors being ``a`` and ``b``.

        In :math:`u = d / \sqrt{s / 2}` it is :math:`a u^2 + b \sqrt{s / 2}\, u^3 = 1`.  The log of
        the left side is convex in :math:`\log u`, with a slope from 2 to 3: Newton steps from above
        stay above, and an error, at first below 0.35, becomes at most its square over 16.
        """
        half = math.sqrt(0.5) * np.sqrt(_weights(squared_norms, "squared_norms"))
        linear, square = self._parts
        cubic = np.maximum(square * half, SMALLEST)
        u = np.minimum(linear**-0.5 if linear else math.inf, cubic ** (-1.0 / 3.0))
        for _ in range(6):
            a, b = linear * u**2, cubic * u**3
            u = u * np.exp(-np.log(a + b) * (a + b) / (2.0 * a + 3.0 * b))
        return u * half


@dataclass(frozen=True)
class MixedNorm(_WithStrength):
    r"""Norm inside groups of kernels, power of the norms over the groups.

    .. math:: r(d) = \frac{\mathrm{strength}}{p} \sum_g \|d_g\|_q^p

    Where all weights of a group are 0, the derivatives are those of one weight that grows alone.
    For ``p = 1`` the first ones are ``strength``, although for ``q > 1`` the weights would grow
    more cheaply together: the function has no gradient there.

    Parameters
    ----------
    groups : sequence of int of length n_kernels
        Label of the group of each kernel.
    p, q : float, default=1.0, 2.0
        Exponents over and inside the groups, at least 1.  ``p = 1`` drops whole groups.
    strength : float, default=1.0
        Factor, positive.

    Examples
    --------
    >>> r = MixedNorm([0, 0, 7])
    >>> r.value([3.0, 4.0, 2.0])
    7.0
    >>> r.gradient([3.0, 4.0, 0.0])
    array([0.6, 0.8, 1. ])
    """

    groups: Sequence[int]
    p: float = 1.0
    q: float = 2.0
    strength: float = 1.0
    _index: NDArray[np.intp] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self.strength, p=self.p, q=self.q)
        try:
            labels = np.asarray(unmasked(self.groups, "groups"))
        except ValueError as error:
            if isinstance(error, DataError):
                raise
            labels = np.zeros((0, 0))  # lists of several lengths
        if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
            raise ValueError(f"groups must be one integer for each kernel, got {self.groups!r}")
        object.__setattr__(self, "groups", tuple(labels.tolist()))
        object.__setattr__(self, "_index", np.unique(labels, return_inverse=True)[1])

    def _norms(self, x: NDArray[np.float64], q: float) -> tuple[NDArray, NDArray]:
        """Norm of each group, and each entry over the norm of its group (1 if that is 0)."""
        index = self._index
        if len(x) != len(index):
            raise ValueError(f"groups has labels for {len(index)} kernels, got {len(x)} numbers")
        top = np.zeros(index.max() + 1)
        np.maximum.at(top, index, x)
        x = np.where(top[index] > 0, x, 1.0) / np.where(top > 0, top, 1.0)[index]
        scaled: NDArray = np.ones(len(top))
        if q < math.inf:
            scaled = np.where(top > 0, np.bincount(index, x**q) ** (1.0 / q), 1.0)
        return _times(top, scaled), x / scaled[index]

    def _dual_norms(self, g: ArrayLike) -> NDArray[np.float64]:
        dual = self.q / (self.q - 1.0) if self.q > 1 else math.inf
        return self._norms(_positive_part(g), dual)[0]

    def value(self, d: ArrayLike) -> float:
        """``strength / p`` times the sum of the powers of the norms."""
        return self.strength / self.p * _sum_of_powers(self._norms(_weights(d), self.q)[0], self.p)

    def gradient(self, d: ArrayLike) -> NDArray[np.float64]:
        """``strength * norm ** (p - 1) * (d / norm) ** (q - 1)``."""
        norms, shares = self._norms(_weights(d), self.q)
        factor = _times(self.strength, _power(norms, self.p - 1.0))
        return _times(factor[self._index], shares ** (self.q - 1.0))

    def hess_diag(self, d: ArrayLike) -> NDArray[np.float64]:
        """Second derivatives, by the product rule; infinite at some 0 if ``p`` or ``q < 2``."""
        norms, shares = self._norms(_weights(d), self.q)
        others = (self.q - 1.0) * np.maximum(1.0 - shares**self.q, 0.0)  # 0 if alone
        inside = (self.p - 1.0) * shares ** (2.0 * self.q - 2.0)
        inside += _times(others, _power(shares, self.q - 2.0))
        factor = _times(self.strength, _power(norms, self.p - 2.0))
        return _times(factor[self._index], inside)

    def conjugate(self, g: ArrayLike) -> float:
        """Conjugate of the power, at the dual norms of the positive parts of the groups."""
        return _power_conjugate(self._dual_norms(g), self.p, self.strength)

    def domain_scale(self, g: ArrayLike) -> float:
        """``strength`` over the largest dual norm for ``p = 1``, else infinite."""
        return _power_domain(self._dual_norms(g), self.p, self.strength)

    def closed_form(self, squared_norms: ArrayLike) -> NDArray[np.float64]:
        r"""Shares inside a group as :math:`s_k^{1/(q+1)}`, and a norm for each group.

        Stationarity is :math:`s_k / (2 d_k^2) = \lambda N^{p-q} d_k^{q-1}` with :math:`N =
        \|d_g\|_q`, so :math:`d_k = N s_k^{1/(q+1)} / A` with :math:`A = \|s_g^{1/(q+1)}\|_q`.  Put
        back, :math:`N^{p+1} = A^{q+1} / (2 \lambda)`: the group is one kernel of squared norm
        :math:`A^{q+1}`, which is the quasi-norm of exponent :math:`q / (q + 1)` of :math:`s_g`.
        """
        squares = _weights(squared_norms, "squared_norms")
        norms, shares = self._norms(squares ** (1.0 / (self.q + 1.0)), self.q)
        root = 1.0 / (self.p + 1.0)
        norms = _power(norms, (self.q + 1.0) * root) / (2.0 * self.strength) ** root
        return norms[self._index] * shares


def _weights(d: ArrayLike, name: str = "weights") -> NDArray[np.float64]:
    d = _vector(d)
    if len(d) and d.min() < 0:
        raise ValueError(f"{name} must not be negative, got {d.min():g}; project them first")
    return d


def _positive_part(g: ArrayLike) -> NDArray[np.float64]:
    return np.maximum(_vector(g), 0.0)


def _vector(x: ArrayLike) -> NDArray[np.float64]:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"expected one number for each kernel, got an array of shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError("expected finite numbers, got NaN or infinity; check the step before")
    return x


def _check(strength: float, **exponents: float) -> None:
    if not 0 < strength < math.inf:
        raise ValueError(f"strength must be > 0, got {strength!r}; for none use NoRegularizer()")
    for name, p in exponents.items():
        if not 1 <= p < math.inf:
            raise ValueError(f"{name} must be finite and >= 1, got {p!r}; below 1 is not convex")


def _power(x: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    with np.errstate(over="ignore", divide="ignore"):
        return x**exponent


def _sum_of_powers(x: NDArray[np.float64], exponent: float) -> float:
    with np.errstate(over="ignore"):
        return float((x**exponent).sum())


def _times(a: float | NDArray, b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Product in which 0 times infinity is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where((np.asarray(a) == 0) | (b == 0), 0.0, a * b)


def _power_conjugate(h: NDArray[np.float64], p: float, strength: float) -> float:
    """Sum of the conjugates of ``strength / p * t ** p`` at ``h >= 0``."""
    if p == 1:
        return math.inf if h.max(initial=0.0) > strength * (1.0 + ROUNDING) else 0.0
    dual = p / (p - 1.0)
    return strength / dual * _sum_of_powers(_times(1.0 / strength, h), dual)


def _power_domain(h: NDArray[np.float64], p: float, strength: float) -> float:
    """Largest factor of ``h >= 0`` with a finite conjugate."""
    top = float(h.max(initial=0.0))
    return math.inf if p > 1 or top == 0.0 else min(strength / top, LARGEST)

r"""What a kernel of one feature is: a width, and a formula of which the others follow.

Centring makes a kernel depend only on its *half squared distance*

.. math:: d(x, z) = \tfrac12 k(x, x) + \tfrac12 k(z, z) - k(x, z),

since :math:`H K H = -H d H`.  Every contraction in the package is written with ``d``: for a
wide kernel ``k`` is close to 1 everywhere and differences of ``k`` cancel, while ``d`` keeps
all its digits.  A kernel is the formula of ``d``, or of ``k``, and the default width for a
column of a given scale.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.kernels import codes

FORMULAS = ("half_squared_distance", "gram")
PAIR_FORMULAS = ("pair_distance", "pair_kernel", "pair_shifted")
"""Formulas of two numbers, which compiled loops call; see :mod:`kernelpath.kernels._formulas`."""
DIAGONAL_BLOCK = 32  # values at a time of which the kernel of each with itself is taken


@dataclass(frozen=True)
class FeatureKernel:
    """A kernel of one feature, given by the half squared distance or by the kernel itself.

    A kernel of your own is a subclass with a width and one of the two formulas; the other one
    follows from it.  It may also be a subclass of a kernel of the package with another formula:
    of the two, the one that is defined nearest to your class counts.  It is computed by that
    formula everywhere, pair by pair of rows, in blocks that bound the memory.

    Where a kernel is given it is tried at a few points: shapes, finite numbers, ``d(x, x) = 0``,
    symmetry, values that do not depend on the other rows, and a positive definite matrix of these
    points.  That it is positive definite everywhere cannot be shown so, and stays your promise.

    Examples
    --------
    >>> import kernelpath as kp
    >>> class Cauchy(kp.FeatureKernel):
    ...     def gamma(self, sigma):
    ...         return 1 / np.square(sigma)
    ...
    ...     def half_squared_distance(self, x, z, gamma):
    ...         squares = gamma * np.square(np.subtract(x, z))
    ...         return squares / (1 + squares)
    >>> data = kp.datasets.make_ring(n_samples=200, n_features=10, random_state=0)
    >>> best = np.argsort(-kp.alignments(data.X, data.y, kernel=Cauchy()))[:2]
    >>> sorted(best.tolist()) == sorted(data.relevant.tolist())
    True
    """

    name: ClassVar[str] = ""
    scale_free: ClassVar[bool] = False
    # Of kernels that are part of the package:
    code: ClassVar[int] = codes.OWN
    width_power: ClassVar[int] = 0  # the power of a column's unit that its width has
    of_differences: ClassVar[bool] = False  # of two values only x - z counts

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        given = vars(cls)
        if any(name in given for name in PAIR_FORMULAS) and not any(n in given for n in FORMULAS):
            for name, method in zip(FORMULAS, (_distance_of_pairs(cls), _gram_of_pairs(cls))):
                setattr(cls, name, method)
        distance, gram = (_depth(cls, name) for name in FORMULAS)
        if distance < gram:
            setattr(cls, FORMULAS[1], _gram_of_distance(cls))
        elif gram < distance:
            setattr(cls, FORMULAS[0], _distance_of_gram(cls))

    def gamma(self, sigma: ArrayLike) -> NDArray[np.float64]:
        """Width parameter of columns with scale ``sigma``."""
        raise TypeError(
            f"{type(self).__name__} does not define gamma(sigma), the width for a column of "
            "standard deviation sigma"
        )

    def half_squared_distance(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``d(x, z)`` for broadcastable ``x`` and ``z``, already centred at the column mean."""
        raise TypeError(f"{type(self).__name__} defines neither half_squared_distance nor gram")

    def gram(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``k(x, z)`` for one-dimensional ``x`` and ``z``, centred at the column mean."""
        raise TypeError(f"{type(self).__name__} defines neither half_squared_distance nor gram")

    def has_usual_settings(self) -> bool:
        """Whether the formulas of two numbers can take the settings of a kernel of the package."""
        return True


def _depth(cls: type, name: str) -> int:
    """How far up among its ancestors the method of a class is defined."""
    return next(i for i, ancestor in enumerate(cls.__mro__) if name in vars(ancestor))


def _method(cls: type, name: str, kernel: FeatureKernel) -> Any:
    """The method as a class has it, for an object of it or of a subclass with another one."""
    return vars(cls.__mro__[_depth(cls, name)])[name].__get__(kernel, type(kernel))


def _gram_of_distance(cls: type) -> Any:
    """``gram`` for a class that defines the distance; not that of a later subclass."""

    def gram(self: FeatureKernel, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``k(x, z)`` for one-dimensional ``x`` and ``z``: one less the half squared distance."""
        x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
        return 1.0 - _method(cls, FORMULAS[0], self)(x[:, None], z[None, :], gamma)

    gram.derived = True  # type: ignore[attr-defined]
    return gram


def _distance_of_gram(cls: type) -> Any:
    """``half_squared_distance`` for a class that defines the kernel."""

    def half_squared_distance(
        self: FeatureKernel, x: ArrayLike, z: ArrayLike, gamma: float
    ) -> NDArray:
        """``d(x, z)`` for broadcastable ``x`` and ``z``, from the kernel."""
        x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
        k = _method(cls, FORMULAS[1], self)
        own, other = (_diagonal(k, values.ravel(), gamma) for values in (x, z))
        cross = np.asarray(k(x.ravel(), z.ravel(), gamma))
        d = 0.5 * (own[:, None] + other) - cross
        places = (np.arange(values.size).reshape(values.shape) for values in (x, z))
        return d[tuple(places)]

    half_squared_distance.derived = True  # type: ignore[attr-defined]
    return half_squared_distance


def _diagonal(k: Any, x: NDArray, gamma: float) -> NDArray:
    """``k(x, x)`` of each value."""
    blocks = (x[start : start + DIAGONAL_BLOCK] for start in range(0, len(x), DIAGONAL_BLOCK))
    return np.concatenate([np.empty(0), *(np.diagonal(k(b, b, gamma)) for b in blocks)])


def settings_of(kernel: FeatureKernel, cls: type[FeatureKernel]) -> tuple[float, ...]:
    """Fields that a class of kernels has, as the numbers that its formulas of pairs get."""
    return tuple(float(getattr(kernel, field.name)) for field in fields(cls))


def _distance_of_pairs(cls: type[FeatureKernel]) -> Any:
    """``half_squared_distance`` for a class that defines a formula of two numbers."""

    def half_squared_distance(
        self: FeatureKernel, x: ArrayLike, z: ArrayLike, gamma: float
    ) -> NDArray:
        """``d(x, z)`` for broadcastable ``x`` and ``z``."""
        from kernelpath.kernels._pairs import distance_values

        return distance_values(cls, x, z, gamma, settings_of(self, cls))

    return half_squared_distance


def _gram_of_pairs(cls: type[FeatureKernel]) -> Any:
    """``gram`` for a class that defines a formula of two numbers."""

    def gram(self: FeatureKernel, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``k(x, z)`` for one-dimensional ``x`` and ``z``."""
        from kernelpath.kernels._pairs import kernel_values

        x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
        return kernel_values(cls, x[:, None], z[None, :], gamma, settings_of(self, cls))

    return gram

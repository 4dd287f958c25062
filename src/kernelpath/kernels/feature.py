r"""One-dimensional kernels, one per feature.

Centring makes a kernel depend only on its *half squared distance*

.. math:: d(x, z) = \tfrac12 k(x, x) + \tfrac12 k(z, z) - k(x, z),

since :math:`H K H = -H d H`.  Every contraction in the package is written with ``d``: for a
wide kernel ``k`` is close to 1 everywhere and differences of ``k`` cancel, while ``d`` keeps
all its digits.  A kernel here is the formula of ``d``, or of ``k``, and the default width for a
column of a given scale.  Compiled loops know the formulas of the package by a number, which
:func:`formula_code` gives; any other kernel is computed by its own methods, in blocks of rows.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.errors import DataError, not_one_of
from kernelpath.kernels import codes
from kernelpath.kernels.probe import probe_kernel

FORMULAS = ("half_squared_distance", "gram")
SEVERAL = ("bandwidths", "simple_mkl")
"""Names that stand for several kernels of a feature."""
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

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
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


@dataclass(frozen=True)
class RBF(FeatureKernel):
    r"""Gaussian kernel :math:`\exp(-\gamma (x - z)^2)`, :math:`\gamma = 1 / (2 \sigma^2)`."""

    name: ClassVar[str] = "rbf"

    def gamma(self, sigma: ArrayLike) -> NDArray[np.float64]:
        """``1 / (2 sigma^2)``."""
        return 0.5 / np.square(np.asarray(sigma, dtype=float))

    def half_squared_distance(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``1 - exp(-gamma (x - z)^2)``."""
        return -np.expm1(-gamma * np.square(np.subtract(x, z)))


@dataclass(frozen=True)
class Laplace(FeatureKernel):
    r"""Laplace kernel :math:`\exp(-\gamma |x - z|)`, :math:`\gamma = 1 / \sigma`."""

    name: ClassVar[str] = "laplace"

    def gamma(self, sigma: ArrayLike) -> NDArray[np.float64]:
        """``1 / sigma``."""
        return 1.0 / np.asarray(sigma, dtype=float)

    def half_squared_distance(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``1 - exp(-gamma |x - z|)``."""
        return -np.expm1(-gamma * np.abs(np.subtract(x, z)))


@dataclass(frozen=True)
class Delta(FeatureKernel):
    """Categorical kernel: 1 for equal values, 0 for different ones."""

    name: ClassVar[str] = "delta"
    scale_free: ClassVar[bool] = True

    def gamma(self, sigma: ArrayLike) -> NDArray[np.float64]:
        """No width: ones."""
        return np.ones_like(np.asarray(sigma, dtype=float))

    def half_squared_distance(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``1 if x != z else 0``."""
        return np.not_equal(x, z).astype(float)


@dataclass(frozen=True)
class Polynomial(FeatureKernel):
    r"""Polynomial kernel :math:`(c_0 + \gamma x z)^{degree}` of the centred column.

    With the default width :math:`\gamma = 1 / \sigma^2` the column is standardised, so no
    scaler is needed.

    Parameters
    ----------
    degree : int
        1 to 6.
    coef0 : float
        The constant ``c_0 >= 0``; with 0 only the highest power counts.
    """

    degree: int = 3
    coef0: float = 1.0
    name: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        if not (isinstance(self.degree, int | np.integer) and 1 <= self.degree <= 6):
            raise ValueError(f"degree must be an integer from 1 to 6, got {self.degree!r}")
        if not (np.isfinite(self.coef0) and self.coef0 >= 0):
            raise ValueError(f"coef0 must be a finite number >= 0, got {self.coef0!r}")

    def gamma(self, sigma: ArrayLike) -> NDArray[np.float64]:
        """``1 / sigma^2``."""
        return 1.0 / np.square(np.asarray(sigma, dtype=float))

    def gram(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``(coef0 + gamma x z)^degree``."""
        return (self.coef0 + gamma * np.multiply.outer(x, z)) ** self.degree

    def half_squared_distance(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """Half the squared distance of the monomial feature maps."""
        x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)

        def k(a: NDArray, b: NDArray) -> NDArray:
            return (self.coef0 + gamma * a * b) ** self.degree

        return 0.5 * (k(x, x) + k(z, z)) - k(x, z)


@dataclass(frozen=True)
class Linear(Polynomial):
    r"""Linear kernel :math:`x z`: the squared correlation with the target, up to a factor."""

    degree: int = 1
    coef0: float = 0.0
    name: ClassVar[str] = "linear"
    scale_free: ClassVar[bool] = True


KERNELS: dict[str, type[FeatureKernel]] = {
    kernel.name: kernel for kernel in (RBF, Linear, Polynomial, Laplace, Delta)
}


_CODES = {RBF: codes.RBF, Laplace: codes.LAPLACE, Delta: codes.DELTA, Polynomial: codes.POLYNOMIAL}
_METHODS = {cls: [getattr(cls, name) for name in FORMULAS] for cls in _CODES}


def formula_code(kernel: FeatureKernel) -> int:
    """Number of the kernel's formula in compiled loops; ``codes.OWN`` if only its methods know it.

    The one place that decides.  A subclass of a kernel of the package with another width has its
    formula; one with another distance or another ``gram`` has not.

    Examples
    --------
    >>> class Wide(RBF):
    ...     def gamma(self, sigma):
    ...         return 0.1 / np.square(sigma)
    >>> class Capped(RBF):
    ...     def half_squared_distance(self, x, z, gamma):
    ...         return np.minimum(super().half_squared_distance(x, z, gamma), 0.5)
    >>> formula_code(Wide()) == formula_code(RBF()), formula_code(Capped()) == codes.OWN
    (True, True)
    """
    cls = type(kernel)
    known = next((ancestor for ancestor in cls.__mro__ if ancestor in _CODES), None)
    if known is None or any(name in getattr(kernel, "__dict__", ()) for name in FORMULAS):
        return codes.OWN
    if [getattr(cls, name) for name in FORMULAS] != _METHODS[known]:
        return codes.OWN
    if isinstance(kernel, Polynomial) and not _is_usual(kernel):
        return codes.OWN
    return _CODES[known]


def _is_usual(kernel: Polynomial) -> bool:
    """Whether compiled loops can do a polynomial: a subclass may allow other settings."""
    whole = isinstance(kernel.degree, numbers.Integral)
    return whole and 1 <= kernel.degree <= 6 and bool(0 <= kernel.coef0 < np.inf)


WIDTH_POWERS: dict[type[FeatureKernel], int] = {
    RBF: -2, Linear: -2, Polynomial: -2, Laplace: -1, Delta: 0
}  # fmt: skip
"""Power of a column's unit that its width parameter has; a kernel of the user's own may have any
formula, and does not appear."""


def resolve_kernel(kernel: str | FeatureKernel) -> FeatureKernel:
    """Return the kernel of a name, or the kernel itself, one of the user's own after a trial.

    Examples
    --------
    >>> resolve_kernel("rbf")
    RBF()
    >>> resolve_kernel(Polynomial(degree=2)).degree
    2
    """
    if isinstance(kernel, FeatureKernel):
        if formula_code(kernel) == codes.OWN:
            probe_kernel(kernel)
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]()
    raise not_one_of("kernel", kernel, [*KERNELS, "auto"], "a FeatureKernel")


def feature_kernel_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Of the settings of a selector, those that say which kernel a single feature has.

    A selector with a ``base_kernel`` combines kernels by its ``kernel``; where a feature has
    several kernels or none by itself, "auto" stands for it.

    Examples
    --------
    >>> feature_kernel_settings({"kernel": "laplace", "bandwidth": "std", "step": 0.1})
    {'kernel': 'laplace', 'bandwidth': 'std'}
    >>> feature_kernel_settings({"kernel": "product", "base_kernel": "rbf"})
    {'kernel': 'auto'}
    """
    if "base_kernel" in parameters:
        base = parameters["base_kernel"] if parameters.get("kernel") == "sum" else "auto"
        several = isinstance(base, str) and base in SEVERAL
        return {"kernel": "auto" if several else base}
    names = ("kernel", "bandwidth", "gamma")
    settings = {name: parameters[name] for name in names if name in parameters}
    if isinstance(settings.get("kernel"), str) and settings["kernel"] in SEVERAL:
        settings["kernel"] = "auto"
    return settings


def check_traced(settings: Mapping[str, Any]) -> None:
    """Refuse settings of a path whose kernel is known by its text alone: an object of a class.

    Examples
    --------
    >>> check_traced({"kernel": "Cauchy()"})
    Traceback (most recent call last):
    ...
    kernelpath.errors.DataError: The path was computed with the kernel Cauchy(); give it again as \
kernel=.
    """
    kernel = settings.get("kernel")
    if isinstance(kernel, str) and kernel not in (*KERNELS, "auto"):
        raise DataError(
            f"The path was computed with the kernel {kernel}; give it again as kernel=."
        )

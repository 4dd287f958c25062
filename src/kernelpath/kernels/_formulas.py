"""The kernels of the package: their formulas, plain and compiled, and nothing of them elsewhere.

A kernel is one class.  Loops all over the package call its formulas of two numbers,

``pair_distance(x, z, gamma, ...)``
    the half squared distance, which alignments and the kernels of a path are made of;
``pair_kernel(x, z, gamma, ...)``
    the kernel itself, for sums of kernels; if it is left out, ``1 - d``;
``pair_shifted(x, z, gamma, ...)``
    ``d(x, 0) + d(0, z) - d(x, z)`` of values that are not 0, for sparse columns; only where more
    digits can be had than by these differences.

They are static methods of plain arithmetic and functions of :mod:`math`, which are compiled into
each loop for each kernel (see :mod:`kernelpath.kernels._pairs`).  After ``gamma`` come the fields
of the class, if it has any, as floats, which must not be negative.  ``half_squared_distance`` and
``gram`` of arrays follow from them, unless the class defines them as well, for NumPy.

Some kernels have faster algorithms where they are used, which go by the number of the formula:
expansions and sorting in ``alignment``, vector instructions and powers in ``path_kernels``.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.kernels import codes
from kernelpath.kernels.base import FORMULAS, PAIR_FORMULAS, FeatureKernel, settings_of

Kernel = TypeVar("Kernel", bound=type[FeatureKernel])

KERNELS: dict[str, type[FeatureKernel]] = {}
BY_CODE: dict[int, type[FeatureKernel]] = {}
WIDTH_POWERS: dict[type[FeatureKernel], int] = {}
"""Power of a column's unit that its width parameter has; a kernel of the user's own may have any
formula, and does not appear."""
_METHODS: dict[type[FeatureKernel], list] = {}  # of classes with a formula of their own


def built_in(cls: Kernel) -> Kernel:
    """Make a class of kernels part of the package: known by its name, and to compiled loops.

    Users and files call it by its ``name``.  Its ``code`` stands for the formula in files: a number
    that no other kernel has or ever had.  A subclass without a formula of two numbers has that of
    its parent.
    """
    if not cls.name or cls.name in (*KERNELS, "auto"):
        raise ValueError(f"{cls.__name__} needs a name that no other kernel has, not {cls.name!r}")
    if any(name in vars(cls) for name in PAIR_FORMULAS):
        if cls.code < 0 or cls.code in BY_CODE:
            raise ValueError(f"{cls.__name__} needs a code that no other kernel has: {cls.code}")
        BY_CODE[cls.code] = cls
        _METHODS[cls] = [getattr(cls, name) for name in FORMULAS]
    KERNELS[cls.name] = cls
    WIDTH_POWERS[cls] = cls.width_power
    return cls


# -- kernels --------------------------------------------------------------------------------------


@built_in
@dataclass(frozen=True)
class RBF(FeatureKernel):
    r"""Gaussian kernel :math:`\exp(-\gamma (x - z)^2)`, :math:`\gamma = 1 / (2 \sigma^2)`."""

    name: ClassVar[str] = "rbf"
    code: ClassVar[int] = codes.RBF
    width_power: ClassVar[int] = -2
    of_differences: ClassVar[bool] = True

    def gamma(self, sigma: ArrayLike) -> NDArray[np.float64]:
        """``1 / (2 sigma^2)``."""
        return 0.5 / np.square(np.asarray(sigma, dtype=float))

    def half_squared_distance(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``1 - exp(-gamma (x - z)^2)``."""
        return -np.expm1(-gamma * np.square(np.subtract(x, z)))

    def gram_of_rows(self, X: NDArray, Z: NDArray, gamma: float) -> NDArray:
        """``k`` of all pairs of rows of two tables, by their squared distance."""
        inner = X @ Z.T
        distance = np.add.outer(np.square(X).sum(axis=1), np.square(Z).sum(axis=1)) - 2.0 * inner
        return np.exp(-gamma * np.maximum(distance, 0.0))

    @staticmethod
    def pair_distance(x, z, gamma):
        """``1 - exp(-gamma (x - z)^2)``."""
        gap = x - z
        return -math.expm1(-gamma * gap * gap)

    @staticmethod
    def pair_kernel(x, z, gamma):
        """``exp(-gamma (x - z)^2)``."""
        gap = x - z
        return math.exp(-gamma * gap * gap)

    @staticmethod
    def pair_shifted(x, z, gamma):
        """``d(x, 0) d(z, 0) + k(x, 0) k(z, 0) (exp(2 gamma x z) - 1)``, without cancellation."""
        tx, tz = gamma * x * x, gamma * z * z
        t = gamma * (x - z) * (x - z)
        shared = 2.0 * gamma * x * z
        first = math.expm1(-tx) * math.expm1(-tz)
        if shared > 1.0:  # exp(shared) may overflow
            return first + (math.exp(-t) - math.exp(-tx - tz))
        return first + math.exp(-tx - tz) * math.expm1(shared)


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
    code: ClassVar[int] = codes.POLYNOMIAL
    width_power: ClassVar[int] = -2

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

    def gram_of_rows(self, X: NDArray, Z: NDArray, gamma: float) -> NDArray:
        """``k`` of all pairs of rows of two tables, by their inner product."""
        return (self.coef0 + gamma * (X @ Z.T)) ** self.degree

    def has_usual_settings(self) -> bool:
        """Whether compiled loops can take the settings: a subclass may allow others."""
        whole = isinstance(self.degree, numbers.Integral)
        return whole and 1 <= self.degree <= 6 and bool(0 <= self.coef0 < np.inf)

    @staticmethod
    def pair_distance(x, z, gamma, degree, coef0):
        """Half the squared distance of the monomial feature maps."""
        xx = (coef0 + gamma * x * x) ** int(degree)
        zz = (coef0 + gamma * z * z) ** int(degree)
        return 0.5 * (xx + zz) - (coef0 + gamma * x * z) ** int(degree)

    @staticmethod
    def pair_kernel(x, z, gamma, degree, coef0):
        """``(coef0 + gamma x z)^degree``."""
        return (coef0 + gamma * x * z) ** int(degree)


@built_in
@dataclass(frozen=True)
class Linear(Polynomial):
    r"""Linear kernel :math:`x z`: the squared correlation with the target, up to a factor."""

    degree: int = 1
    coef0: float = 0.0
    name: ClassVar[str] = "linear"
    scale_free: ClassVar[bool] = True


built_in(Polynomial)  # named after the simpler one


@built_in
@dataclass(frozen=True)
class Laplace(FeatureKernel):
    r"""Laplace kernel :math:`\exp(-\gamma |x - z|)`, :math:`\gamma = 1 / \sigma`."""

    name: ClassVar[str] = "laplace"
    code: ClassVar[int] = codes.LAPLACE
    width_power: ClassVar[int] = -1
    of_differences: ClassVar[bool] = True

    def gamma(self, sigma: ArrayLike) -> NDArray[np.float64]:
        """``1 / sigma``."""
        return 1.0 / np.asarray(sigma, dtype=float)

    def half_squared_distance(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``1 - exp(-gamma |x - z|)``."""
        return -np.expm1(-gamma * np.abs(np.subtract(x, z)))

    @staticmethod
    def pair_distance(x, z, gamma):
        """``1 - exp(-gamma |x - z|)``."""
        gap = x - z
        return -math.expm1(-gamma * abs(gap))

    @staticmethod
    def pair_kernel(x, z, gamma):
        """``exp(-gamma |x - z|)``."""
        gap = x - z
        return math.exp(-gamma * abs(gap))

    @staticmethod
    def pair_shifted(x, z, gamma):
        """As for the Gaussian kernel; of two values of one sign the smaller part is shared."""
        tx, tz = gamma * abs(x), gamma * abs(z)
        t = gamma * abs(x - z)
        shared = 2.0 * min(tx, tz) if (x > 0.0) == (z > 0.0) else 0.0
        first = math.expm1(-tx) * math.expm1(-tz)
        if shared > 1.0:  # exp(shared) may overflow
            return first + (math.exp(-t) - math.exp(-tx - tz))
        return first + math.exp(-tx - tz) * math.expm1(shared)


@built_in
@dataclass(frozen=True)
class Delta(FeatureKernel):
    """Categorical kernel: 1 for equal values, 0 for different ones."""

    name: ClassVar[str] = "delta"
    code: ClassVar[int] = codes.DELTA
    scale_free: ClassVar[bool] = True
    of_differences: ClassVar[bool] = True

    def gamma(self, sigma: ArrayLike) -> NDArray[np.float64]:
        """No width: ones."""
        return np.ones_like(np.asarray(sigma, dtype=float))

    def half_squared_distance(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``1 if x != z else 0``."""
        return np.not_equal(x, z).astype(float)

    @staticmethod
    def pair_distance(x, z, gamma):
        """``1 if x != z else 0``."""
        return 0.0 if x == z else 1.0

    @staticmethod
    def pair_kernel(x, z, gamma):
        """``1 if x == z else 0``."""
        return 1.0 if x == z else 0.0

    @staticmethod
    def pair_shifted(x, z, gamma):
        """Two for equal values, which differ from 0 alike; one for others."""
        return 2.0 if x == z else 1.0


# -- which formula a kernel has -------------------------------------------------------------------


def built_in_formula(kernel: FeatureKernel) -> type[FeatureKernel] | None:
    """Class of the package whose formula a kernel has; None if only its methods know it.

    The one place that decides.  A subclass of a kernel of the package with another width has its
    formula; one with another distance or another ``gram`` has not.
    """
    cls = type(kernel)
    known = next((ancestor for ancestor in cls.__mro__ if ancestor in _METHODS), None)
    if known is None or any(name in getattr(kernel, "__dict__", ()) for name in FORMULAS):
        return None
    if [getattr(cls, name) for name in FORMULAS] != _METHODS[known]:
        return None
    return known if kernel.has_usual_settings() else None


def formula_settings(kernel: FeatureKernel) -> tuple[float, ...]:
    """What the formulas of two numbers of a kernel of the package get after the width.

    Examples
    --------
    >>> formula_settings(RBF()), formula_settings(Polynomial(degree=2))
    ((), (2.0, 1.0))
    """
    known = built_in_formula(kernel)
    return () if known is None else settings_of(kernel, known)

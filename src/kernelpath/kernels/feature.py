r"""One-dimensional kernels, one per feature.

Centring makes a kernel depend only on its *half squared distance*

.. math:: d(x, z) = \tfrac12 k(x, x) + \tfrac12 k(z, z) - k(x, z),

since :math:`H K H = -H d H`.  Every contraction in the package is written with ``d``: for a
wide kernel ``k`` is close to 1 everywhere and differences of ``k`` cancel, while ``d`` keeps
all its digits.  A kernel here is the formula of ``d`` and the default width for a column of a
given scale; the compiled loops know the same formulas by ``code``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.errors import not_one_of


@dataclass(frozen=True)
class FeatureKernel:
    """A kernel of one feature.

    Subclasses give ``name``, the integer ``code`` of the compiled loops, the width for a
    column of scale ``sigma`` and the formula of the half squared distance.
    """

    name: ClassVar[str] = ""
    code: ClassVar[int] = -1
    scale_free: ClassVar[bool] = False

    def gamma(self, sigma: ArrayLike) -> NDArray[np.float64]:
        """Width parameter of columns with scale ``sigma``."""
        raise TypeError(f"{type(self).__name__} does not define a width")

    def half_squared_distance(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``d(x, z)`` for broadcastable ``x`` and ``z``, already centred at the column mean."""
        raise TypeError(f"{type(self).__name__} does not define a distance")

    def gram(self, x: ArrayLike, z: ArrayLike, gamma: float) -> NDArray:
        """``k(x, z)`` for one-dimensional ``x`` and ``z``, centred at the column mean."""
        x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
        return 1.0 - self.half_squared_distance(x[:, None], z[None, :], gamma)


@dataclass(frozen=True)
class RBF(FeatureKernel):
    r"""Gaussian kernel :math:`\exp(-\gamma (x - z)^2)`, :math:`\gamma = 1 / (2 \sigma^2)`."""

    name: ClassVar[str] = "rbf"
    code: ClassVar[int] = 0

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
    code: ClassVar[int] = 1

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
    code: ClassVar[int] = 2
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
    code: ClassVar[int] = 3

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


WIDTH_POWERS: dict[type[FeatureKernel], int] = {
    RBF: -2, Linear: -2, Polynomial: -2, Laplace: -1, Delta: 0
}  # fmt: skip
"""Power of a column's unit that its width parameter has; a kernel of the user's own may have any
formula, and does not appear."""


def resolve_kernel(kernel: str | FeatureKernel) -> FeatureKernel:
    """Return the kernel of a name, or the kernel itself.

    Examples
    --------
    >>> resolve_kernel("rbf")
    RBF()
    >>> resolve_kernel(Polynomial(degree=2)).degree
    2
    """
    if isinstance(kernel, FeatureKernel):
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]()
    raise not_one_of("kernel", kernel, [*KERNELS, "auto"], "a FeatureKernel")


def feature_kernel_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Of the settings of a selector, those that say which kernel a single feature has.

    A selector with a ``base_kernel`` combines kernels by its ``kernel``; where the kernel of a
    feature by itself is not one of ours, "auto" stands for it.

    Examples
    --------
    >>> feature_kernel_settings({"kernel": "laplace", "bandwidth": "std", "step": 0.1})
    {'kernel': 'laplace', 'bandwidth': 'std'}
    >>> feature_kernel_settings({"kernel": "product", "base_kernel": "rbf"})
    {'kernel': 'auto'}
    """
    if "base_kernel" in parameters:
        base = parameters["base_kernel"] if parameters.get("kernel") == "sum" else "auto"
        known = isinstance(base, FeatureKernel) or (isinstance(base, str) and base in KERNELS)
        return {"kernel": base if known else "auto"}
    names = ("kernel", "bandwidth", "gamma")
    settings = {name: parameters[name] for name in names if name in parameters}
    if settings.get("kernel") == "bandwidths":  # several kernels for a feature
        settings["kernel"] = "auto"
    return settings

r"""Decomposable Bregman divergences, the first regulariser of Generalized lp-KTA.

.. math:: B_F(x) = F(x) - F(x_0) - (x - x_0) F'(x_0)

A divergence is given by its generator ``F`` on the non-negative numbers.  A new one is a class
with the methods of :class:`Divergence`; nothing else in the package needs to know it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.utils.probes import is_own, probe_divergence


@runtime_checkable
class Divergence(Protocol):
    """What the lp-KTA solvers ask of a divergence.

    ``F`` must be convex and twice differentiable for positive arguments; ``third_derivative`` is
    used by the second-order predictor only.  All four are held against each other at a few points
    when a divergence is given, and a NaN on the way is an error.
    """

    name: str
    positive_reference: bool

    def generator(self, x: ArrayLike) -> NDArray[np.float64]:
        """``F(x)``, also at 0."""

    def derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """``F'(x)``; may be minus infinity at 0."""

    def second_derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """``F''(x)`` for positive ``x``."""

    def third_derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """``F'''(x)`` for positive ``x``."""


@dataclass(frozen=True)
class SquaredEuclidean:
    """``F(x) = x^2``: the divergence is ``(x - x_0)^2``."""

    name: ClassVar[str] = "euclidean"
    positive_reference: ClassVar[bool] = False

    def generator(self, x: ArrayLike) -> NDArray[np.float64]:
        """``x^2``."""
        return np.square(np.asarray(x, dtype=np.float64))

    def derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """``2 x``."""
        return 2.0 * np.asarray(x, dtype=np.float64)

    def second_derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """2."""
        return np.full_like(np.asarray(x, dtype=np.float64), 2.0)

    def third_derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """0."""
        return np.zeros_like(np.asarray(x, dtype=np.float64))


@dataclass(frozen=True)
class GeneralizedKL:
    """``F(x) = x log x - x``: the divergence is ``x log(x / x_0) - x + x_0``."""

    name: ClassVar[str] = "kl"
    positive_reference: ClassVar[bool] = True

    def generator(self, x: ArrayLike) -> NDArray[np.float64]:
        """``x log x - x``, 0 at 0."""
        x = np.asarray(x, dtype=np.float64)
        return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)) - x, 0.0)

    def derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """``log x``."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(x, dtype=np.float64))

    def second_derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """``1 / x``."""
        return 1.0 / np.asarray(x, dtype=np.float64)

    def third_derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """``-1 / x^2``."""
        return -1.0 / np.square(np.asarray(x, dtype=np.float64))


DIVERGENCES: dict[str, type] = {"euclidean": SquaredEuclidean, "kl": GeneralizedKL}


def resolve_divergence(divergence: str | Divergence, points: ArrayLike = ()) -> Divergence:
    """Return the divergence of a name, or the divergence itself, one of the user's after a trial.

    ``points`` are weights at which it will be needed, to be tried besides others.

    Examples
    --------
    >>> resolve_divergence("kl").name
    'kl'
    """
    if isinstance(divergence, str) and divergence in DIVERGENCES:
        return DIVERGENCES[divergence]()
    if not isinstance(divergence, str | type) and isinstance(divergence, Divergence):
        if is_own(divergence):
            probe_divergence(divergence, points)
        return divergence
    missing = [
        name
        for name in ("generator", "derivative", "second_derivative", "third_derivative")
        if not callable(getattr(divergence, name, None))
    ]
    detail = ""
    if isinstance(divergence, type):
        detail = ", a class: give an object of it"
    elif missing and not isinstance(divergence, str):
        detail = f" (missing: {', '.join(missing)})"
    raise ValueError(
        f"divergence must be 'euclidean', 'kl' or an object with the methods of "
        f"kernelpath.tracers.lp_kta.divergences.Divergence, got {divergence!r}{detail}"
    )


def bregman(
    divergence: Divergence, x: NDArray[np.float64], reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``B_F(x; x_0)``, elementwise."""
    slope = divergence.derivative(reference)
    base = divergence.generator(reference)
    return divergence.generator(x) - base - (x - reference) * slope

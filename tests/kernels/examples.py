"""Kernels that a user might bring, each with its formula for two numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import kernelpath as kp


class Cauchy(kp.FeatureKernel):
    """By its distance; without a name."""

    def gamma(self, sigma):
        return 1 / np.square(sigma)

    def half_squared_distance(self, x, z, gamma):
        squares = gamma * np.square(np.subtract(x, z))
        return squares / (1 + squares)


class Multiquadric(kp.FeatureKernel):
    """By the kernel alone, under the name of another."""

    name = "rbf"

    def gamma(self, sigma):
        return 1 / np.square(sigma)

    def gram(self, x, z, gamma):
        return 2 / np.sqrt(1 + gamma * np.subtract.outer(x, z) ** 2)


class Energy(kp.FeatureKernel):
    """A distance without bound: one less the distance is not positive definite."""

    scale_free = True

    def gamma(self, sigma):
        return 1 / np.asarray(sigma)

    def half_squared_distance(self, x, z, gamma):
        return 0.5 * gamma * np.abs(np.subtract(x, z))


class Rough(kp.RBF):
    """A Gaussian kernel with a distance of its own."""

    def half_squared_distance(self, x, z, gamma):
        rough = -np.expm1(-np.sqrt(gamma) * np.abs(np.subtract(x, z)))
        return 0.5 * super().half_squared_distance(x, z, gamma) + 0.5 * rough


class Mixed(kp.Polynomial):
    """A polynomial with a kernel of its own, made from its parent's."""

    def gram(self, x, z, gamma):
        return super().gram(x, z, gamma) + np.exp(-gamma * np.subtract.outer(x, z) ** 2)


class Doubled(kp.RBF):
    """A Gaussian kernel with a kernel of its own, where the parent defines a distance."""

    def gram(self, x, z, gamma):
        return 2 * super().gram(x, z, gamma) + gamma * np.multiply.outer(x, z)


class Shifted(kp.Polynomial):
    """A polynomial with a distance of its own."""

    def half_squared_distance(self, x, z, gamma):
        return 0.25 * gamma * np.square(np.subtract(x, z))


@dataclass(frozen=True)
class Loose(kp.Polynomial):
    """A polynomial whose settings the package does not have."""

    def __post_init__(self):
        pass


class Wide(kp.RBF):
    """Another width only: the package's formula."""

    def gamma(self, sigma):
        return 0.1 / np.square(sigma)


@dataclass
class Example:
    """An object, its formula for two centred numbers, the width for a scale."""

    kernel: Any
    k: Any
    width: Any
    by_distance: bool = False


def square(scale):
    return 1 / scale**2


def _rough(a, b, g):
    return 0.5 * math.exp(-g * (a - b) ** 2) + 0.5 * math.exp(-math.sqrt(g) * abs(a - b))


# fmt: off
OWN = {
    "distance": Example(Cauchy(), lambda a, b, g: 1 / (1 + g * (a - b) ** 2), square, True),
    "gram": Example(
        Multiquadric(), lambda a, b, g: 2 / math.sqrt(1 + g * (a - b) ** 2), square
    ),
    "unbounded": Example(
        Energy(), lambda a, b, g: 0.5 * g * (abs(a) + abs(b) - abs(a - b)), lambda s: 1 / s, True
    ),
    "rbf subclass": Example(Rough(), _rough, lambda s: 0.5 / s**2, True),
    "polynomial subclass": Example(
        Mixed(degree=2), lambda a, b, g: (1 + g * a * b) ** 2 + math.exp(-g * (a - b) ** 2), square
    ),
    "rbf subclass by gram": Example(
        Doubled(), lambda a, b, g: 2 * math.exp(-g * (a - b) ** 2) + g * a * b,
        lambda s: 0.5 / s**2,
    ),
    "polynomial subclass by distance": Example(
        Shifted(), lambda a, b, g: 0.5 * g * a * b, square, True
    ),
    "polynomial beyond": Example(Loose(degree=8), lambda a, b, g: (1 + g * a * b) ** 8, square),
}
COMPILED = {
    "rbf": Example("rbf", lambda a, b, g: math.exp(-g * (a - b) ** 2), lambda s: 0.5 / s**2),
    "laplace": Example("laplace", lambda a, b, g: math.exp(-g * abs(a - b)), lambda s: 1 / s),
    "linear": Example("linear", lambda a, b, g: g * a * b, square),
    "polynomial": Example("polynomial", lambda a, b, g: (1 + g * a * b) ** 3, square),
    "delta": Example("delta", lambda a, b, g: float(a == b), lambda s: 1.0),
    "wide": Example(Wide(), lambda a, b, g: math.exp(-g * (a - b) ** 2), lambda s: 0.1 / s**2),
}
# fmt: on
EXAMPLES = OWN | COMPILED

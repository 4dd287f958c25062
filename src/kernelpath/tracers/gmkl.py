r"""Paths of generalised multiple kernel learning: one problem for each strength, or each norm.

Every point is solved from the one before it and carries its own gap.  The path of an l1 norm
begins where the first kernel gets a weight: with the dual vectors of the empty model, no weight
pays as long as :math:`\sigma \ge \max_k \tfrac12 u^\top K_k u`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import L1, Lp, Regularizer
from kernelpath.mkl.solvers.base import Solution
from kernelpath.mkl.solvers.choice import solve
from kernelpath.mkl.svm.dual import solve_without_kernel
from kernelpath.path.build import build_path
from kernelpath.path.feature_path import FeaturePath
from kernelpath.utils.checks import is_finite

SELECTED = 1e-6  # of the largest weight: a smaller one is no selection
# Strength by default: what a unit of weight costs, as a share of the loss without any kernel.
SUM_SHARE = 0.3  # of kernels with mean diagonal 1
OTHER_SHARE = 0.01  # on standardised features
HALF = 0.5  # of the strength that leaves no kernel: the default is at most that
SUM_RATIO, OTHER_RATIO = 1e-3, 1e-5  # smallest strength of a path, relative to the largest
P_START, P_STOP = 2.0, 1.0


def largest_strength(problem: Problem) -> float:
    """Strength of an l1 norm from which on all weights of a sum are zero.

    The smallest such strength where the empty model has one dual vector: for least squares, and for
    a hinge loss with classes of equal size.  With unequal classes it has many, and weights may stay
    zero for some strengths below this one, too.
    """
    U = np.column_stack([solve_without_kernel(dual).u for dual in problem.duals])
    quad = problem.kernel.grad_quad(np.zeros(problem.kernel.n_kernels), U)
    return 0.5 * float(quad.max(initial=0.0))


def strength_grid(largest: float, n_points: int, smallest_ratio: float) -> NDArray[np.float64]:
    """Strengths from the largest down, evenly spaced in their logarithm.

    Examples
    --------
    >>> strength_grid(8.0, 4, 1e-3).round(3).tolist()
    [8.0, 0.8, 0.08, 0.008]
    """
    return largest * np.geomspace(1.0, smallest_ratio, n_points)


def trace(
    problem: Problem,
    regularizers: Iterable[Regularizer],
    *,
    solver: str = "auto",
    tell: Callable[[int], None] | None = None,
    **options: Any,
) -> Iterator[Solution]:
    """Solve for one regulariser after the other, each from the last solution."""
    start: NDArray[np.float64] | None = None
    duals = None
    for number, regularizer in enumerate(regularizers):
        found = solve(
            replace(problem, regularizer=regularizer), solver, start, duals=duals, **options
        )
        if found.weights.any():  # nothing can grow from nothing
            start = found.weights
        duals = tuple(one.u for one in found.at.solutions)
        if tell is not None:
            tell(number + 1)
        yield found


def path_of(
    solutions: list[Solution],
    parameters: NDArray[np.float64],
    *,
    method: str,
    parameter_name: str,
    **more: Any,
) -> FeaturePath:
    """Path over features from solutions over kernels, with the weights of the features."""
    return build_path(
        method=method,
        parameter_name=parameter_name,
        parameters=parameters,
        values=[one.objective for one in solutions],
        kkt=[one.residual for one in solutions],
        gaps=[one.gap for one in solutions],
        **more,
    )


def feature_weights(
    weights: NDArray[np.float64], features: NDArray[np.intp], n_features: int
) -> NDArray[np.float64]:
    """Sum of the weights of the kernels of each feature; what is next to nothing is nothing.

    ``features`` says whose each kernel is; one of many features, marked by -1, belongs to none.
    """
    own = features >= 0
    total = np.bincount(features[own], weights[own], minlength=n_features)
    return np.where(total > SELECTED * total.max(initial=0.0), total, 0.0)


# -- what the weights of an estimator cost, at one point or along a path ---------------------------


def at_one_point(own: Any, problem: Problem) -> Regularizer:
    """The regularizer that was given, or an l1 norm of a sensible strength."""
    if own is not None:
        return own
    null = sum(solve_without_kernel(dual).primal for dual in problem.duals)
    strength = (SUM_SHARE if problem.is_convex else OTHER_SHARE) * null / problem.weight_unit
    largest = largest_strength(problem)
    if largest > 0:  # more would leave no kernel
        strength = min(strength, HALF * largest)
    return L1(strength if strength > 0 else 1.0)


def weaker(regularizer: Any) -> Regularizer:
    """The default again with less strength, where it left no kernel: with unequal classes."""
    return regularizer.with_strength(regularizer.strength / 4.0)


def along_strengths(
    own: Any, problem: Problem, strengths: Any, smallest_ratio: float | None
) -> tuple[NDArray[np.float64], list[Regularizer]]:
    """Strengths from the largest down, and the regularizer with each of them."""
    if np.ndim(strengths) == 0:
        ratio = smallest_ratio or (SUM_RATIO if problem.is_convex else OTHER_RATIO)
        grid = strength_grid(largest_strength(problem), int(strengths), ratio)
    else:
        grid = np.sort(_numbers("strengths", strengths, least=0.0, open_below=True))[::-1]
    base = L1() if own is None else own
    if not hasattr(base, "with_strength"):
        raise TypeError(
            f"strengths needs a regularizer with a method with_strength(strength) that returns a "
            f"copy with another strength; {type(base).__name__} has none"
        )
    return grid, [base.with_strength(float(strength)) for strength in grid]


def along_exponents(
    own: Any, problem: Problem, exponents: Any
) -> tuple[NDArray[np.float64], list[Regularizer]]:
    r"""Exponents from the largest down, with :math:`\lambda \sum_k d_k^p` for each of them.

    The factor :math:`\lambda` stays that of the regularizer that was given, ``strength / p``.
    """
    if np.ndim(exponents) == 0:
        grid = np.linspace(P_START, P_STOP, int(exponents))
    else:
        grid = np.sort(_numbers("exponents", exponents, least=1.0, open_below=False))[::-1]
    powers = hasattr(own, "p") and hasattr(own, "strength")
    if isinstance(own, L1) and type(own) is not L1:
        powers = False  # its cost may be another than a power, and it has no exponent to set
    if own is not None and not powers:
        raise TypeError(
            "exponents needs a regularizer with an exponent p and a strength, such as "
            f"kp.Lp(2.0, strength=0.1), got {own!r}"
        )
    base = at_one_point(own, problem)
    factor = base.strength / base.p  # type: ignore[attr-defined]
    if isinstance(base, L1):
        base = Lp(1.0)
    made = [replace(base, p=float(p), strength=float(p) * factor) for p in grid]  # type: ignore[type-var]
    return grid, [L1(factor) if one == Lp(1.0, factor) else one for one in made]


def check_points(name: str, points: Any) -> None:
    """Refuse a number of points that makes no path."""
    if points is None or np.ndim(points) > 0:
        return
    if not is_finite(points) or int(points) != points or points < 2:
        raise ValueError(f"{name} must be at least 2 points, or the points, got {points!r}")


def _numbers(name: str, given: Any, least: float, open_below: bool) -> NDArray[np.float64]:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    inside = values > least if open_below else values >= least
    if values.ndim != 1 or len(values) == 0 or not (np.isfinite(values) & inside).all():
        wanted = "positive numbers" if open_below else f"numbers of at least {least:g}"
        raise ValueError(f"{name} must be a number of points or {wanted}, got {given!r}")
    return values

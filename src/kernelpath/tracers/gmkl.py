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
from scipy import sparse

from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import Regularizer
from kernelpath.mkl.solvers.base import Solution
from kernelpath.mkl.solvers.choice import solve
from kernelpath.mkl.svm.dual import solve_without_kernel
from kernelpath.path.feature_path import FeaturePath, PathEvent

SELECTED = 1e-6  # of the largest weight: a smaller one is no selection


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
    features: NDArray[np.intp],
    n_features: int,
    *,
    method: str,
    parameter_name: str,
    **more: Any,
) -> FeaturePath:
    """Path over features from solutions over kernels; ``features`` says whose each kernel is.

    A kernel of many features, marked by -1, belongs to none.
    """
    rows = [feature_weights(one.weights, features, n_features) for one in solutions]
    W = sparse.csr_array(np.array(rows))
    return FeaturePath(
        method=method,
        parameter_name=parameter_name,
        parameters=parameters,
        weights=W,
        supports=W > 0,
        values=[one.objective for one in solutions],
        kkt=[one.residual for one in solutions],
        gaps=[np.nan if one.gap is None else one.gap for one in solutions],
        events=events_between(np.array(rows) > 0, parameters, more.get("feature_names")),
        **more,
    )


def feature_weights(
    weights: NDArray[np.float64], features: NDArray[np.intp], n_features: int
) -> NDArray[np.float64]:
    """Sum of the weights of the kernels of each feature; what is next to nothing is nothing."""
    own = features >= 0
    total = np.bincount(features[own], weights[own], minlength=n_features)
    return np.where(total > SELECTED * total.max(initial=0.0), total, 0.0)


def events_between(
    inside: NDArray[np.bool_], parameters: NDArray[np.float64], names: Any = None
) -> list[PathEvent]:
    """Who enters and who leaves, from point to point."""
    events: list[PathEvent] = []
    before = np.zeros(inside.shape[1], dtype=bool)
    for position, now in enumerate(inside):
        for kind, which in (("enter", now & ~before), ("leave", before & ~now)):
            for feature in np.flatnonzero(which).tolist():
                name = f"x{feature}" if names is None else str(names[feature])
                events.append(PathEvent(kind, feature, name, float(parameters[position]), position))
        before = now
    return events

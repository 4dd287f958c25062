"""The chosen point of a path without the features that it does as well without.

Where the weights of the features that matter are large enough to fit the rows, others have small
weights on the path, too: they entered before.  They are left out from the smallest weight on, the
other weights and the ridge staying as they are, and rows left out say how many are needed.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from kernelpath.tracers.any_selector import size_grid
from kernelpath.tracers.l1kr.equations import RidgeState, RidgeSystem
from kernelpath.tracers.l1kr.trace import L1KRPoint, light

Vector = np.ndarray


def pruned(system: RidgeSystem, point: L1KRPoint) -> L1KRPoint:
    """The machine with the fewest features within one standard error of the best one.

    The errors are squared residuals of rows left out, and differences are paired by row.  The point
    itself where nothing is gained by leaving any out, or where it has one feature.
    """
    order = np.argsort(-point.weights, kind="stable")
    order = order[point.weights[order] > 0]
    if len(order) < 2:
        return point
    plain = RidgeSystem(system.kernel, system.y, None, point.ridge)
    sizes = size_grid(len(order)).tolist()
    try:
        errors = np.array([_squares(plain, point, order[:k]) for k in sizes])
        best = fewest(errors)
        if sizes[best] == len(order):
            return point
        state = _machine(plain, point, order[: sizes[best]])
    except linalg.LinAlgError:  # rounding errors are larger than the ridge
        return point
    return light(plain, state, np.sort(order[: sizes[best]]), None)


def fewest(errors: Vector) -> int:
    """First row of ``errors``, (n_sizes, n_rows), that is as good as the one with the least mean.

    Examples
    --------
    >>> fewest(np.array([[9.0, 7.0, 8.0], [1.0, 1.3, 0.9], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]))
    1
    """
    best = int(errors.mean(axis=1).argmin())
    more = errors - errors[best]
    se = more.std(axis=1, ddof=1) / math.sqrt(errors.shape[1])
    return int(np.flatnonzero(more.mean(axis=1) <= se)[0])


def _machine(system: RidgeSystem, point: L1KRPoint, kept: Vector) -> RidgeState:
    weights = np.zeros_like(point.weights)
    weights[kept] = point.weights[kept]
    return system.look(weights, math.log(point.ridge))


def _squares(system: RidgeSystem, point: L1KRPoint, kept: Vector) -> Vector:
    return np.square(_machine(system, point, kept).leave_one_out)

"""The points of an L1KR path, light enough to keep them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelpath.mkl.weighted_kernels.ard import Vector
from kernelpath.tracers.l1kr.corrector import Corrector
from kernelpath.tracers.l1kr.curve import End, Homotopy
from kernelpath.tracers.l1kr.equations import Indices, RidgeState, RidgeSystem
from kernelpath.tracers.l1kr.ode import ODECurve

SOLVERS = ("homotopy", "ode")
STOPPED = (End.STUCK, End.BLURRED, End.ENDLESS, End.CIRCLES, End.INTERRUPTED)
UNEXPLAINED = 1e-3  # of the target: with as much left, a ridge of zero is no perfect fit


@dataclass(frozen=True, eq=False)
class L1KRPoint:
    """A point of the path.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
    active : ndarray of int
        Features with a weight, and one that enters here, whose weight is still zero.
    ridge : float
    a : ndarray of shape (n_rows,)
        Coefficients of the machine.
    radius, loss, multiplier : float
        Sum of the weights, sum of squared residuals, and what more of the weights is worth.
    leave_one_out : float
        Mean squared residual of rows that are left out, in closed form.
    residual : float
        How far from optimal, relative.
    event : tuple of (str, int) or None
    """

    weights: Vector
    active: Indices
    ridge: float
    a: Vector
    radius: float
    loss: float
    multiplier: float
    leave_one_out: float
    residual: float
    event: tuple[str, int] | None


@dataclass(frozen=True, eq=False)
class L1KRTrace:
    """A path and why it ended.

    Attributes
    ----------
    points : list of L1KRPoint
    end : str
    n_jacobians : int
    """

    points: list[L1KRPoint]
    end: End
    n_jacobians: int

    @property
    def ended_early(self) -> bool:
        """Whether the path did not come to an end of its own."""
        last = self.points[-1]
        scale = len(last.a)  # of a standardised target
        conflict = self.end == End.SPENT and last.loss > UNEXPLAINED * scale
        return conflict or self.end in STOPPED

    @property
    def best(self) -> int:
        """Position of the smallest error of rows left out."""
        return int(np.argmin([point.leave_one_out for point in self.points]))


def trace_l1kr(
    system: RidgeSystem,
    *,
    solver: str = "homotopy",
    **options: Any,
) -> L1KRTrace:
    """Follow the path from no weights to its end."""
    curve: Any = (
        Homotopy(system, **options) if solver == "homotopy" else ODECurve(system, **options)
    )
    points: list[L1KRPoint] = []
    try:
        for place in curve.trace(*Corrector(system).start()):
            points.append(light(system, place.state, place.active, place.event))
    except KeyboardInterrupt:
        if not points:
            raise
        curve.end = End.INTERRUPTED
    jacobians = curve.n_jacobians if solver == "ode" else system.n_jacobians
    return L1KRTrace(points, curve.end, jacobians)


def light(
    system: RidgeSystem, state: RidgeState, active: Indices, event: tuple[str, int] | None
) -> L1KRPoint:
    """A point of the path without its matrices."""
    return L1KRPoint(
        weights=np.maximum(state.weights, 0.0),  # of rounding errors
        active=active,
        ridge=state.ridge,
        a=state.a,
        radius=state.radius,
        loss=state.loss,
        multiplier=state.multiplier,
        leave_one_out=float(np.square(state.leave_one_out).mean()),
        residual=system.violation(state, active),
        event=event,
    )

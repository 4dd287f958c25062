"""The dual problem without any kernel: one number, the bias, decides about every row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.losses import DualProblem


def null_coefficients(problem: DualProblem) -> NDArray[np.float64]:
    r"""Dual coefficients where the kernel matrix is zero.

    Every row is at its best for a bias that makes their sum zero.  The sum falls with the bias and
    is linear between the points where a row meets a bound or the kink, so a search among these
    finds it exactly.  Rows that the bias fits exactly, and leaves free, take equal shares of their
    room: of all solutions that has the smallest quadratic forms.

    Examples
    --------
    >>> from kernelpath.mkl.losses import Hinge
    >>> null_coefficients(Hinge(3.0).dual(np.array([1.0, 1.0, 1.0, -1.0]))).tolist()
    [1.0, 1.0, 1.0, -3.0]
    """
    if problem.is_linear_system:
        return (problem.linear - problem.linear.mean()) / problem.ridge
    corners = _corners(problem)
    # At the first corner no row wants to be negative, at the last one none positive.
    below, above = -1, len(corners) - 1
    while above - below > 1:
        middle = (below + above) // 2
        if _best(problem, corners[middle])[0].sum() > 0.0:
            below = middle
        else:
            above = middle
    least, most = _best(problem, corners[above])
    if most.sum() >= 0.0 or below < 0:
        room = float(most.sum() - least.sum())
        return least + (-float(least.sum()) / room if room > 0.0 else 0.0) * (most - least)
    left = _best(problem, corners[below])[0]
    share = float(left.sum()) / float(left.sum() - most.sum())
    return (1.0 - share) * left + share * most


def _corners(problem: DualProblem) -> NDArray[np.float64]:
    """Biases at which some row meets a bound or the kink, in order."""
    rising, falling = problem.linear - problem.kink, problem.linear + problem.kink
    corners = [rising, falling]
    if problem.ridge > 0.0:
        corners += [rising - problem.ridge * problem.high, falling - problem.ridge * problem.low]
    every = np.unique(np.concatenate(corners))
    return every[np.isfinite(every)]


def _best(problem: DualProblem, bias: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smallest and largest coefficient of every row that is optimal for a bias."""
    rising, falling = problem.linear - problem.kink, problem.linear + problem.kink
    if problem.ridge > 0.0:
        wanted = np.maximum(rising - bias, 0.0) + np.minimum(falling - bias, 0.0)
        u = np.clip(wanted / problem.ridge, problem.low, problem.high)
        return u, u
    least = np.where(bias < rising, problem.high, np.where(bias < falling, 0.0, problem.low))
    most = np.where(bias <= rising, problem.high, np.where(bias <= falling, 0.0, problem.low))
    return least, most

"""Solving the dual problem of a loss for one kernel matrix, to a tolerance and from a start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kernelpath.mkl.grams import MOST_INVERTED, Gram, LowRank
from kernelpath.mkl.losses import DualProblem
from kernelpath.mkl.svm.blocks import slopes, solve_by_blocks
from kernelpath.mkl.svm.free import solve_pairs_and_free
from kernelpath.mkl.svm.smooth import solve_smooth

MAX_STEPS = 100_000_000
CONJUGATE_STEPS = 10_000
ROUNDING = 1e-13  # of the target: a smaller residual is none


@dataclass(frozen=True, eq=False)
class DualSolution:
    """A point of the dual problem and what it proves.

    Attributes
    ----------
    u : ndarray of shape (n_rows,)
        Signed dual coefficients; their sum is zero.
    scores : ndarray of shape (n_rows,)
        Decision values of the rows, bias included.
    bias : float
    dual, primal : float
        Objective values: the optimum lies between them.
    n_steps : int
        Steps of the solver.
    root : tuple, optional
        Cholesky decomposition of ``K + ridge`` for all rows, where the solver made one.
    """

    u: NDArray[np.float64]
    scores: NDArray[np.float64]
    bias: float
    dual: float
    primal: float
    n_steps: int
    root: tuple[NDArray[np.float64], bool] | None = None

    @property
    def gap(self) -> float:
        """How far from optimal the point can be at most, relative to the primal value."""
        return max(self.primal - self.dual, 0.0) / max(abs(self.primal), 1e-300)


def solve_dual(
    K: NDArray | Gram,
    problem: DualProblem,
    *,
    tol: float = 1e-3,
    start: NDArray[np.float64] | None = None,
    max_steps: int = MAX_STEPS,
) -> DualSolution:
    """Solve the dual problem of a loss.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows), or Gram
        Symmetric and positive semidefinite.  An array is solved as a whole, a `Gram` by blocks.
    problem : DualProblem
    tol : float
        Largest violation of the optimality conditions, in units of the decision value.
    start : ndarray of shape (n_rows,), optional
        Dual coefficients to start from; they need not be feasible.
    max_steps : int
        Pairs of rows that are looked at.

    Examples
    --------
    >>> from kernelpath.mkl.losses import Hinge
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> solution = solve_dual(np.outer(x, x), Hinge(C=10.0).dual(np.sign(x)), tol=1e-9)
    >>> solution.u.tolist(), solution.gap
    ([0.0, -0.5, 0.5, 0.0], 0.0)
    """
    n = len(problem.linear)
    u = np.zeros(n) if start is None else problem.feasible(start)
    if not isinstance(K, np.ndarray):
        return _solve_gram(K, problem, tol, u, max_steps)
    if problem.is_linear_system:
        (solution,) = solve_systems(K, (problem,))
        return solution
    gradient = (K @ u if u.any() else 0.0) + problem.ridge * u - problem.linear
    n_steps, rising, falling = solve_pairs_and_free(
        np.ascontiguousarray(K), problem, tol, int(max_steps), u, gradient
    )
    Ku = gradient - problem.ridge * u + problem.linear
    return _solution(problem, u, Ku, _bias(rising, falling), n_steps)


def solve_duals(
    K: NDArray | Gram,
    problems: Sequence[DualProblem],
    tol: float,
    starts: Sequence[NDArray[np.float64]] | None = None,
) -> tuple[DualSolution, ...]:
    """Solve the dual problems of several outputs with one kernel matrix."""
    if isinstance(K, np.ndarray) and share_a_system(problems):
        return solve_systems(K, problems)
    begin = [None] * len(problems) if starts is None else starts
    return tuple(solve_dual(K, one, tol=tol, start=u) for one, u in zip(problems, begin))


def _solve_gram(
    K: Gram, problem: DualProblem, tol: float, u: NDArray[np.float64], max_steps: int
) -> DualSolution:
    if problem.is_linear_system:
        u, Ku, bias, n_steps = _conjugate_gradients(K, problem, tol, u)
        return _solution(problem, u, Ku, bias, n_steps)
    before = 0
    if problem.ridge > 0.0 and isinstance(K, LowRank) and 0 < K.rank <= MOST_INVERTED:
        # Blocks check what comes out and bring its sum to zero; a good start is left to them.
        used = np.flatnonzero(u)
        up, down = slopes(problem, u, K.times(u[used], used))
        rising, falling = float(up.min()), float(down.max())
        if falling - rising > tol:
            u, before = solve_smooth(K, problem, 0.1 * tol, u, _bias(rising, falling))
            u = problem.feasible(u)
    Ku, rising, falling, n_steps = solve_by_blocks(K, problem, tol, u, max_steps)
    n_steps += before
    return _solution(problem, u, Ku, _bias(rising, falling), n_steps)


def _bias(rising: float, falling: float) -> float:
    """Middle of the interval of optimal biases; its end where it has only one."""
    if math.isinf(rising) or math.isinf(falling):
        known = [slope for slope in (rising, falling) if not math.isinf(slope)]
        return -known[0] if known else 0.0
    return -0.5 * (rising + falling)


def _solution(
    problem: DualProblem, u: NDArray, Ku: NDArray, bias: float, n_steps: int
) -> DualSolution:
    scores = Ku + bias
    primal = 0.5 * float(u @ Ku) + problem.loss(scores)
    return DualSolution(u, scores, bias, problem.value(u, Ku), primal, n_steps)


# -- least squares: linear equations ---------------------------------------------------------------


def share_a_system(problems: Sequence[DualProblem]) -> bool:
    """Whether all outputs lead to linear equations with the same matrix."""
    return all(one.is_linear_system and one.ridge == problems[0].ridge for one in problems)


def solve_systems(
    K: NDArray[np.float64], problems: Sequence[DualProblem]
) -> tuple[DualSolution, ...]:
    """Least squares for several targets of one matrix: one decomposition serves them all."""
    targets = np.column_stack([problem.linear for problem in problems])
    U, biases, root = _solve_equations(K, problems[0].ridge, targets)
    KU = K @ U
    return tuple(
        replace(_solution(problem, u, Ku, float(bias), 0), root=root)
        for problem, u, Ku, bias in zip(problems, U.T, KU.T, biases)
    )


def _solve_equations(
    K: NDArray[np.float64], ridge: float, targets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[NDArray[np.float64], bool]]:
    """``(K + ridge) u + bias = target`` and ``sum(u) = 0``, by one Cholesky decomposition.

    Targets and solutions are columns; there is a bias for each of them.  Returns these and the
    decomposition.
    """
    M = K.copy()
    M.flat[:: len(K) + 1] += ridge
    factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    right = np.column_stack([targets, np.ones(len(K))])
    both = linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)
    ones = both[:, -1:]
    biases = both[:, :-1].sum(axis=0) / ones.sum()
    U = both[:, :-1] - ones * biases
    return U - U.mean(axis=0), biases, factor


def _conjugate_gradients(
    K: Gram, problem: DualProblem, tol: float, u: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, int]:
    """The same system by conjugate gradients within ``sum(u) = 0``, from ``u``.

    Where the matrix has a factor, its inverse leaves one or two steps, which repair the rounding.
    Returns ``u``, ``K u``, the bias and the number of steps.
    """
    every = np.arange(len(u))
    invert = K.inverse(problem.ridge)
    ones = np.ones(len(u)) if invert is None else invert(np.ones(len(u)))

    def toward(residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """The residual through the inverse, less what would change the sum."""
        z = residual if invert is None else invert(residual)
        return z - ones * (z.sum() / ones.sum())

    u = u.copy()
    Ku = K.times(u, every) if u.any() else np.zeros(len(u))
    residual = problem.linear - Ku - problem.ridge * u
    enough = max(0.5 * tol, ROUNDING * float(np.abs(problem.linear).max(initial=0.0)))
    z = toward(residual)
    move, size = z.copy(), float(residual @ z)
    n_steps = 0
    while np.abs(residual - residual.mean()).max() > enough and size > 0:
        if n_steps == CONJUGATE_STEPS:
            break
        image = K.times(move, every)
        length = size / float(move @ image + problem.ridge * (move @ move))
        u += length * move
        Ku += length * image
        residual -= length * (image + problem.ridge * move)
        z = toward(residual)
        before, size = size, float(residual @ z)
        move = z + (size / before) * move
        n_steps += 1
    return u, Ku, float(residual.mean()), n_steps


# -- no kernel: one number, the bias, decides about every row --------------------------------------


def solve_without_kernel(problem: DualProblem) -> DualSolution:
    """Solve the dual problem without any kernel: the solution is a bias.

    Examples
    --------
    >>> from kernelpath.mkl.losses import Hinge
    >>> solution = solve_without_kernel(Hinge(3.0).dual(np.array([1.0, 1.0, 1.0, -1.0])))
    >>> solution.bias, solution.dual, solution.primal
    (1.0, 6.0, 6.0)
    """
    u = _null_coefficients(problem)
    zero = np.zeros(len(u))
    up, down = slopes(problem, u, zero)
    return _solution(problem, u, zero, _bias(float(up.min()), float(down.max())), 0)


def _null_coefficients(problem: DualProblem) -> NDArray[np.float64]:
    r"""Dual coefficients where the kernel matrix is zero.

    Every row is at its best for a bias that makes their sum zero.  The sum falls with the bias and
    is linear between the points where a row meets a bound or the kink, so a search among these
    finds it exactly.  Rows that the bias fits exactly, and leaves free, take equal shares of their
    room: of all solutions that has the smallest quadratic forms.

    Examples
    --------
    >>> from kernelpath.mkl.losses import Hinge
    >>> _null_coefficients(Hinge(3.0).dual(np.array([1.0, 1.0, 1.0, -1.0]))).tolist()
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

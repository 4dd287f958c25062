"""Weights that are set by a rule, not learned with the machine: the baselines of the papers."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from kernelpath.errors import DataError, not_one_of
from kernelpath.mkl.problem import PointSolver, Problem, relative
from kernelpath.mkl.solvers.base import CONVERGED, LIMIT, MissingCapability, Solution
from kernelpath.mkl.weighted_kernels.base import SumKernel
from kernelpath.tables.rows import Shares
from kernelpath.tables.table import unmasked

TIGHT = 1e-9
RULES = ("uniform", "centered_kta")
MOST_NUMBERS = 2**24  # of the products with single rows that are held at a time


def svm_at(problem: Problem, weights: NDArray[np.float64], tol: float) -> Solution:
    """The machine of given weights; its gap is that of the machine alone."""
    evaluate = PointSolver(problem)
    precision = 0.1 * tol
    K = problem.gram(weights)
    at = evaluate(weights, precision, K)
    while relative(at.upper, at.value) > tol and precision > TIGHT:
        precision *= 0.1
        at = evaluate(weights, precision, K)
    gap = relative(at.upper, at.value)
    status = CONVERGED if gap <= tol else LIMIT
    return Solution(at, at.value, gap, gap, evaluate.n_svm, evaluate.n_steps, 1, status)


def weights_by_rule(
    problem: Problem, rule: str | ArrayLike, shares: Shares = None
) -> NDArray[np.float64]:
    """Weights by name of a rule, or as they are given; ``shares`` are the weights of the rows."""
    n = problem.kernel.n_kernels
    if isinstance(rule, str):
        if rule not in RULES:
            raise not_one_of("weights", rule, ("learn", *RULES), "one number for each kernel")
        if not problem.kernel.is_sum:
            raise MissingCapability(
                f"weights={rule!r} needs a sum of kernels, which this kernel is not; give one "
                "number for each weight"
            )
        return np.full(n, 1.0 / n) if rule == "uniform" else centered_kta(problem, shares)
    try:
        given = np.asarray(unmasked(rule, "weights"), dtype=np.float64)
    except DataError:
        raise
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != (n,) or not np.isfinite(given).all() or given.min() < 0 or not given.any():
        raise DataError(
            f"weights must be {n} numbers, one for each kernel, not negative and not all zero."
        )
    return given


def centered_kta(problem: Problem, shares: Shares = None) -> NDArray[np.float64]:
    r"""Weights of the largest centred alignment with the target, Proposition 9 of [cortes2012].

    .. math:: v = \arg\min_{v \ge 0} v^\top M v - 2 v^\top a, \qquad
              M_{kl} = \langle K_k, K_l \rangle_F, \quad a_k = \sum_o y_o^\top K_k y_o

    for centred kernels and targets.  The direction of :math:`v` is what counts; here the weights
    sum to 1, so that the combined kernel is of the size of one.  Rows with weights count as often
    as these say.
    """
    kernel = cast(SumKernel, problem.kernel)
    Y = np.column_stack([dual.linear for dual in problem.duals])
    each = np.full(len(Y), 1.0 / len(Y)) if shares is None else shares
    Y = each[:, None] * (Y - each @ Y)
    M, a = frobenius_products(kernel, each), kernel.quad(Y)
    scale = np.sqrt(np.diag(M))
    usable = np.flatnonzero(scale > 0)
    if len(usable) == 0 or a[usable].max() <= 0:
        raise DataError("No kernel is aligned with the target; there is nothing to weigh.")
    size = scale[usable]
    values, vectors = np.linalg.eigh(M[np.ix_(usable, usable)] / np.outer(size, size))
    kept = values > 1e-12 * values[-1]
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    right = (vectors[:, kept].T @ (a[usable] / size)) / np.sqrt(values[kept])
    v = np.zeros(kernel.n_kernels)
    v[usable] = nnls(root, right)[0] / size
    return v / v.sum()


def frobenius_products(kernel: SumKernel, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    r""":math:`\langle H K_k H, H K_l H \rangle_F` of all pairs, from products with single rows.

    Sums over pairs of rows are weighted by both shares, and so are the means of :math:`H`.
    """
    n, m = kernel.n_rows, kernel.n_kernels
    root = np.sqrt(shares)
    M = np.zeros((m, m))
    step = max(1, MOST_NUMBERS // max(1, n * m))
    for start in range(0, n, step):
        own = slice(start, min(start + step, n))
        single = np.eye(n, own.stop - start, -start) - shares[:, None]
        moved = kernel.images(np.arange(m), single)
        moved -= np.tensordot(shares, moved, axes=1)
        moved *= root[:, None, None] * root[own][None, :, None]
        stacked = moved.reshape(-1, m)
        M += stacked.T @ stacked
    return M

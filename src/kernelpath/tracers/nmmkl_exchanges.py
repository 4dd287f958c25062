r"""What the exchange of one kernel for another does to the objective, without a machine.

On the rows ``V`` between their bounds the dual vector solves linear equations, and a kernel of rank
one, :math:`z_k z_k^\top`, that enters or leaves is an update of rank one.  With
:math:`s_k = z_k^\top u` and :math:`G_{kl} = z_k^\top A z_l`, ``A`` as in `curvature`, the objective
changes by

.. math:: -\tfrac12\, s^\top (\Delta^{-1} + G)^{-1} s, \qquad \Delta = \mathrm{diag}(\pm 1),

which is exact as long as the rows between their bounds stay the same.  Other kernels count as
:math:`z_k = K_k u / (u^\top K_k u)^{1/2}`, the part of them that the machine feels.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernelpath.mkl.problem import Problem, ProblemPoint
from kernelpath.mkl.solvers.curvature import curvature_root
from kernelpath.mkl.weighted_kernels.base import SumKernel

LEAST_RIDGE = 1e-6  # of the mean diagonal: a loss without a ridge gets as much
MOST_SHARE = 1.0 - 1e-9  # of its own part that a kernel can explain
TINY = 1e-300


def predicted_changes(
    problem: Problem, at: ProblemPoint, leaving: NDArray[np.intp], entering: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Changes of the objective for every kernel that leaves (rows) and enters (columns).

    The weights of those that leave are 1, and become 0; those that enter get the weight 1.
    """
    kernel, K = cast(SumKernel, problem.kernel), problem.gram(at.weights)
    least = LEAST_RIDGE * float(K.trace()) / kernel.n_rows
    parts, n = np.concatenate([leaving, entering]), len(leaving)
    change = np.zeros((n, len(entering)))
    for dual, one in zip(problem.duals, at.solutions):
        images = kernel.times(parts, one.u)
        s = np.sqrt(np.maximum(one.u @ images, TINY))
        G = np.zeros((len(parts), len(parts)))
        rows = dual.between(one.u)
        if len(rows) > 1:
            Z = curvature_root(K, rows, max(dual.ridge, least), images[rows] / s)
            G = Z.T @ Z
        own = np.diag(G)
        out, into, mixed = np.minimum(own[:n], MOST_SHARE)[:, None] - 1.0, own[n:] + 1.0, G[:n, n:]
        left, right = s[:n, None], s[n:]
        top = into * left**2 - 2.0 * mixed * left * right + out * right**2
        change -= 0.5 * top / (out * into - mixed**2)
    return change

"""Slow twins of the paths over l1 norms: each point by a solver that knows nothing of a path."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def l1_svm_loss(Z, label, budget):
    """Least sum of hinge losses with ``||b||_1 <= budget``, a linear program."""
    n, d = Z.shape
    signed = label[:, None] * Z
    margins = sparse.hstack([-signed, signed, -label[:, None], -sparse.eye_array(n)])
    norm = sparse.csr_array(np.concatenate([np.ones(2 * d), np.zeros(n + 1)])[None])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    found = linprog(
        np.concatenate([np.zeros(2 * d + 1), np.ones(n)]),
        A_ub=sparse.vstack([margins, norm]).tocsc(),
        b_ub=np.append(-np.ones(n), budget),
        bounds=bounds,
        method="highs",
    )
    assert found.status == 0
    return found.fun

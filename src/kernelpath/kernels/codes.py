"""Numbers by which compiled loops know the formulas of the package's own kernels.

Every loop writes its formula out, in the form that it can do fast and without cancellation, and
answers NaN to a number that it does not know.  Which kernel has such a formula is decided by
:func:`kernelpath.kernels.formula_code`, nowhere else.
"""

from __future__ import annotations

RBF, LAPLACE, DELTA, POLYNOMIAL = 0, 1, 2, 3
OWN = -1
"""A kernel that only its Python methods know."""

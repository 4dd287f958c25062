"""Numbers of the formulas of the package's own kernels, in files and where one is looked for.

A kernel has its number from its class (:mod:`kernelpath.kernels._formulas`); here are those that
have an algorithm of their own somewhere.  Which kernel has which formula is decided by
:func:`kernelpath.kernels.formula_code`, nowhere else.
"""

from __future__ import annotations

RBF, LAPLACE, DELTA, POLYNOMIAL = 0, 1, 2, 3
OWN = -1
"""A kernel that only its Python methods know."""

r"""A missing value as a category of its own: ``k(missing, missing) = 1``, ``k(missing, x) = 0``.

For kernels of differences no new formula is needed.  A value so far from all others that
``exp`` of its distance is 0 has exactly these kernel values, so that missing cells are written as
that *far value*, and every sum of the package goes on as it is.  The width of a column, its
mean and its range are those of the observed values.  The kernel is the one of the observed rows,
bordered by a block of ones: positive semi-definite as that one is.

A kernel that looks at more than differences (linear, polynomial, a user's own) has no such value;
its missing cells stand at the mean of the column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.kernels import codes
from kernelpath.kernels._formulas import BY_CODE

FAR = 1e15  # widths of the kernel, and ranges of the observed values
NO_CATEGORY = -FAR - 0.5  # no code of a category, and no number that one would compare


def has_category(code: int) -> bool:
    """Whether missing values are a category of their own under a formula.

    Examples
    --------
    >>> has_category(codes.RBF), has_category(codes.POLYNOMIAL)
    (True, False)
    """
    return code != codes.OWN and BY_CODE[code].of_differences


def far_values(
    numbers: NDArray[np.int64], gamma: NDArray[np.float64], center: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What stands for a missing value in columns with these formulas, widths and means.

    Examples
    --------
    >>> far = far_values(np.array([codes.RBF, codes.DELTA]), np.array([0.25, 1.0]), np.zeros(2))
    >>> far.tolist()
    [2000000000000000.0, -1000000000000000.5]
    """
    far = center.copy()
    for code in np.unique(numbers).tolist():
        if not has_category(code):
            continue
        where, power = numbers == code, BY_CODE[code].width_power
        if power == 0:
            far[where] = NO_CATEGORY
        else:
            with np.errstate(over="ignore", divide="ignore"):
                far[where] += FAR * gamma[where] ** (1.0 / power)
    return far

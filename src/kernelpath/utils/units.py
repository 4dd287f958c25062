"""Numbers of any size, in units in which their squares are numbers, too.

A column in metres or in light years, or a target of 1e-200: what is far from 1 is multiplied by a
power of two, which costs no digit, and everything else stays as it is, bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

__all__ = ["FAR", "exponents_of", "in_units", "size_exponent", "sizes_of"]

FAR = 300
"""Numbers between ``2**-FAR`` and ``2**FAR``, about 1e-90 and 1e90, need no other unit."""


def size_exponent(size: ArrayLike) -> Any:
    """Exponent of the unit in which numbers as large as ``size`` are within reach, mostly 0.

    Examples
    --------
    >>> size_exponent([1.0, 0.0, 2.0**310, 2.0**-1000]).tolist()
    [0, 0, 11, -699]
    """
    size = np.asarray(size, dtype=np.float64)
    power = np.frexp(size)[1]
    beyond = np.where(power > FAR, power - FAR, np.where(power < -FAR, power + FAR, 0))
    return np.where(np.isfinite(size) & (size > 0), beyond, 0)


def exponents_of(values: Any) -> NDArray[np.int64]:
    """Exponent of the unit of every column of an array or sparse matrix.

    Examples
    --------
    >>> exponents_of(np.array([[1.0, 1e-200], [2.0, 0.0]])).tolist()
    [0, -364]
    """
    return size_exponent(sizes_of(values))


def sizes_of(values: Any) -> NDArray[np.float64]:
    """Largest absolute value of every column, NaN apart; 1 for types that no other unit is for.

    Examples
    --------
    >>> sizes_of(np.array([[1.0, -5.0], [2.0, 0.0]])).tolist()
    [2.0, 5.0]
    """
    if values.dtype.itemsize < 8 or values.dtype.kind != "f" or 0 in values.shape:
        return np.ones(values.shape[1])
    if sparse.issparse(values):
        low, high = values.nanmin(axis=0).toarray().ravel(), values.nanmax(axis=0).toarray().ravel()
    else:
        low, high = values.min(axis=0), values.max(axis=0)
        holes = np.flatnonzero(np.isnan(low))
        if len(holes):
            part = values[:, holes]
            low[holes], high[holes] = np.fmin.reduce(part), np.fmax.reduce(part)
    return np.maximum(np.abs(low), np.abs(high))


def in_units(values: Any, exponents: ArrayLike) -> Any:
    """Numbers, or columns, in units of ``2**exponents``; the same object where all are 0.

    Examples
    --------
    >>> in_units(np.array([[3.0, 2.0**-1000]]), [0, -999]).tolist()
    [[3.0, 0.5]]
    """
    powers = np.asarray(exponents)
    if not powers.any():
        return values
    if not sparse.issparse(values):
        return np.ldexp(np.asarray(values, dtype=np.float64), -powers)
    columns = values.tocsc().astype(np.float64)
    of_entry = np.repeat(powers, np.diff(columns.indptr))
    columns.data = np.ldexp(columns.data, -of_entry)
    return columns if values.format == "csc" else columns.asformat(values.format)

"""Numbers as JSON can hold them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def number(value: float, digits: int = 7) -> float | None:
    """Round to significant digits; what is not finite becomes None, as JSON has no NaN."""
    value = float(value)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def numbers(values: Iterable[float], digits: int = 7) -> list[float | None]:
    """Round each number.

    Examples
    --------
    >>> numbers([1.0, 0.123456789, float("nan")])
    [1.0, 0.1234568, None]
    """
    return [number(value, digits) for value in values]


def plain(value: Any) -> Any:
    """Return the value if JSON can hold it, else its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return number(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)

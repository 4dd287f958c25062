"""The form of a summary: its name, its version, and the schema beside this file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from kernelpath.errors import DataError

FORMAT, VERSION = "kernelpath-summary", 1


def schema() -> dict[str, Any]:
    """JSON Schema of the summaries.

    Examples
    --------
    >>> schema()["properties"]["version"]["const"] == VERSION
    True
    """
    text = resources.files("kernelpath.report").joinpath("summary.schema.json").read_text("utf-8")
    return json.loads(text)


@cache
def _sections() -> tuple[str, ...]:
    return tuple(schema()["required"])


def refuse_other_dicts(summary: Mapping[str, Any]) -> None:
    """Refuse a dict that is no summary, or lacks a section, in one sentence.

    Examples
    --------
    >>> refuse_other_dicts({})
    Traceback (most recent call last):
    ...
    kernelpath.errors.DataError: this dict is no summary: it has no 'format'; make one with \
path.summary(X, y) or PathCV.summary()
    """
    missing = [name for name in _sections() if name not in summary]
    if missing or summary["format"] != FORMAT:
        why = f"it has no {missing[0]!r}" if missing else f"its format is {summary['format']!r}"
        raise DataError(
            f"this dict is no summary: {why}; make one with path.summary(X, y) or PathCV.summary()"
        )


# -- numbers as JSON can hold them -----------------------------------------------------------------


def number(value: float, digits: int = 7) -> float | None:
    """Round to significant digits; what is not finite becomes None, as JSON has no NaN."""
    value = float(value)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def numbers(values: Iterable[float], digits: int = 7) -> list[float | None]:
    """Round each number.

    Examples
    --------
    >>> numbers([1.0, 0.123456789, float("nan")])
    [1.0, 0.1234568, None]
    """
    return [number(value, digits) for value in values]

"""What the arrays of a file must be: type, shape, range and finiteness, said once for each.

The type and shape of an array are checked before it is unpacked, its values after; the writer
checks the same, so that nothing is written that could not be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

WHOLE = "i4 i8"  # types of indices and counts
REAL = "f8"
ANY = "*"


@dataclass(frozen=True)
class Form:
    """What one array must be.

    Parameters
    ----------
    types : str
        Kinds with their bytes, such as ``"f8"`` or ``"i4 i8"``; ``"*"`` for any but objects.
    shape : tuple of int and str, or None
        Sizes, by number or by the name of a count; ``"1|columns"`` is one of the two. None for any
        shape at all.
    low, high : float or None
        Smallest and largest value.
    nan, infinite : bool
        Whether such values may stand in it.
    optional : bool
        Whether it may be absent.
    """

    types: str
    shape: tuple[int | str, ...] | None
    low: float | None = None
    high: float | None = None
    nan: bool = False
    infinite: bool = False
    optional: bool = False


@dataclass
class Forms:
    """Forms of all arrays of a file, and the counts that their shapes speak of.

    A count that is not given takes the size of the first array that speaks of it.

    Examples
    --------
    >>> forms = Forms({"x": Form("f8", ("rows",)), "y": Form("i8", ("rows",), low=0)})
    >>> forms.check({"x": np.zeros(3), "y": np.arange(3)})
    >>> forms.check({"x": np.zeros(3), "y": np.arange(2)})
    Traceback (most recent call last):
        ...
    ValueError: y has shape (2,), where (rows,) with rows = 3 is due
    """

    forms: dict[str, Form]
    counts: dict[str, int] = field(default_factory=dict)

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse arrays that are not as they must be, with a ValueError."""
        self.check_names(arrays)
        for name, array in arrays.items():
            self.check_head(name, array.dtype, array.shape)
            self.check_values(name, array)

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse arrays that are missing, and those that nothing is known about."""
        given = set(names)
        required = {name for name, form in self.forms.items() if not form.optional}
        if missing := sorted(required - given):
            raise ValueError(f"the arrays {', '.join(missing[:3])} are missing")
        if strange := sorted(given - self.forms.keys()):
            raise ValueError(f"nothing is known about the arrays {', '.join(strange[:3])}")

    def check_head(self, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        """Refuse a type or shape, before there is an array."""
        form = self.forms[name]
        kind = f"{dtype.kind}{dtype.itemsize}"
        if dtype.hasobject or dtype.names or not (form.types == ANY or kind in form.types.split()):
            raise ValueError(f"{name} is of type {dtype}, where {form.types} is due")
        if form.shape is None:
            return
        fits = len(shape) == len(form.shape)
        if not (fits and all(map(self._fits, shape, form.shape))):
            known = {n: c for n, c in self.counts.items() if n in " ".join(map(str, form.shape))}
            counts = ", ".join(f"{name} = {count}" for name, count in known.items())
            due = f"({', '.join(map(str, form.shape))}{',' * (len(form.shape) == 1)})"
            due += f" with {counts}" * bool(counts)
            raise ValueError(f"{name} has shape {shape}, where {due} is due")

    def _fits(self, size: int, due: int | str) -> bool:
        if isinstance(due, int):
            return size == due
        choices = due.split("|")
        if len(choices) == 1:
            return size == self.counts.setdefault(due, size)
        known = {int(choice) if choice.isdigit() else self.counts[choice] for choice in choices}
        return size in known

    def check_values(self, name: str, array: np.ndarray) -> None:
        """Refuse values out of range, NaN and infinity where they may not stand."""
        form = self.forms[name]
        if array.size == 0 or array.dtype.kind not in "biuf":
            return
        if array.dtype.kind == "f":
            if not form.nan and np.isnan(array).any():
                raise ValueError(f"{name} holds NaN")
            if not form.infinite and np.isinf(array).any():
                raise ValueError(f"{name} holds infinity")
        low = math.inf if form.low is None else np.fmin.reduce(array, axis=None)
        high = -math.inf if form.high is None else np.fmax.reduce(array, axis=None)
        if form.low is not None and low < form.low:
            raise ValueError(f"{name} holds {low}, below {form.low:g}")
        if form.high is not None and high > form.high:
            raise ValueError(f"{name} holds {high}, above {form.high:g}")


def named(prefix: str, forms: Mapping[str, Form]) -> dict[str, Form]:
    """Forms of one part, by the names that its arrays have in the file."""
    return {f"{prefix}{name}": form for name, form in forms.items()}


def within(form: Form, prefix: str) -> Form:
    """Give the counts of a form names of their own."""
    if form.shape is None:
        return form
    return replace(
        form, shape=tuple(n if isinstance(n, int) else f"{prefix}{n}" for n in form.shape)
    )


def name_forms(count: str, prefix: str = "names", optional: bool = False) -> dict[str, Form]:
    """Forms of what :func:`kernelpath.utils.archive.encode_names` gives."""
    return {
        f"{prefix}_text": Form("u1", (f"{prefix} bytes",), optional=optional),
        f"{prefix}_lengths": Form("i8", (count,), low=0, optional=optional),
    }


def checked_count(header: Mapping[str, Any], name: str, low: int = 0, high: float = 2**62) -> int:
    """Return a whole number of a header, or say what is wrong with it, with a ValueError."""
    value = header[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} is {str(value)[:40]}")
    return value


def checked_text(header: Mapping[str, Any], *names: str) -> None:
    """Refuse what is not text, with a ValueError."""
    for name in names:
        if not isinstance(header[name], str):
            raise ValueError(f"{name} is {str(header[name])[:40]}, not text")

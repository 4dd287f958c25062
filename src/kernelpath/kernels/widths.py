"""Which settings of widths go together."""

from __future__ import annotations

from typing import Any

DEFAULT_BANDWIDTH = "std"


def refuse_idle_widths(bandwidth: Any, gamma: Any) -> None:
    """Refuse a bandwidth that nothing would look at.

    Examples
    --------
    >>> refuse_idle_widths("median", None)
    >>> refuse_idle_widths("median", 0.5)
    Traceback (most recent call last):
        ...
    ValueError: bandwidth='median' has no effect beside gamma, which sets the widths; leave out one
    """
    if gamma is not None and bandwidth not in (None, DEFAULT_BANDWIDTH):
        raise ValueError(
            f"bandwidth={bandwidth!r} has no effect beside gamma, which sets the widths; leave out "
            "one"
        )

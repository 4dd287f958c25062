"""Text of strangers in files that are read with ``cat`` and editors too."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline


def visible(text: str) -> str:
    r"""Write control characters out, so that a name cannot command a terminal.

    Examples
    --------
    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    >>> visible("two\nlines")
    'two\nlines'
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)

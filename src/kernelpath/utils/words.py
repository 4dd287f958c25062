"""Counts in words, for whatever is printed."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """A number and its noun; ``nouns`` is the plural where it is not made by an "s".

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence with commas and "and".

    Examples
    --------
    >>> listed(["age"]), listed(["age", "sex", "town"])
    ('age', 'age, sex and town')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)

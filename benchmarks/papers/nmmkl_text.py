"""Sentences in Markdown, for the pages of nmmkl_tables.py."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable


def bullet(*sentences: str) -> str:
    """Join sentences into one bullet of Markdown; empty ones are left out."""
    text = "- " + " ".join(one for one in sentences if one)
    return textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False)


def listed(items: Iterable[str]) -> str:
    items = list(items)
    if len(items) < 2:
        return "".join(items) or "none"
    return f"{', '.join(items[:-1])} and {items[-1]}"

"""Makes ``tests/`` importable, so that every test reaches the slow twins in ``reference``."""

from __future__ import annotations

import sys

import pytest


def _close_figures():
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def no_open_figures():
    """A test begins without open figures, whatever ran before it in the same process."""
    _close_figures()
    yield
    _close_figures()

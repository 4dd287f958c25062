"""Methods that draw many times draw a few times here."""

from __future__ import annotations

import pytest

from baseline_examples import draw_less


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch):
    """Tests that need many say so."""
    draw_less(monkeypatch)

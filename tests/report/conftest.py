"""Summaries to draw, and a browser to open pages in."""

from __future__ import annotations

import pytest

from report.browser import chromium
from report.display_examples import iris_summary, mixed_summaries


@pytest.fixture(scope="module")
def iris():
    return iris_summary()


@pytest.fixture(scope="module")
def mixed():
    return mixed_summaries()


@pytest.fixture(scope="module")  # its event loop must not outlive a file
def browser():
    try:
        manager = chromium()
        found = manager.__enter__()
    except LookupError as error:
        pytest.skip(f"no browser: {error}")
    yield found
    manager.__exit__(None, None, None)

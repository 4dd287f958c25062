"""Bombs, a few of each kind."""

from __future__ import annotations

import sys

import pytest

from hardening.bombs import trials


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_bombs_are_refused_in_little_memory():
    tables, archives = trials(long=False, seed=0)
    tables.check(at_least=4)
    archives.check(at_least=3)

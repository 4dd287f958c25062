"""A short round of the invariances."""

from __future__ import annotations

from hardening.invariances import trials


def test_invariances():
    for tally in trials(long=False, seed=0):
        tally.check(at_least=5)

"""A few of the trials with objects of strangers."""

from __future__ import annotations

from hardening.extensions import trials


def test_extensions():
    for tally in trials(long=False, seed=0):
        tally.check(at_least=12)

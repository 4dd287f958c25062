"""Accidental damage, a few of each kind."""

from __future__ import annotations

from hardening.mutations import trials

AT_LEAST = (25, 25, 4, 12, 12, 12, 12, 12, 12)


def test_no_promise_is_broken():
    for tally, count in zip(trials(long=False, seed=0), AT_LEAST, strict=True):
        tally.check(count)

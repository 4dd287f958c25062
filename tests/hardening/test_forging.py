"""Forgeries, a sample of them."""

from __future__ import annotations

from hardening.forging import trials

AT_LEAST = (40, 40, 40, 40)


def test_no_promise_is_broken():
    for tally, count in zip(trials(long=False, seed=0), AT_LEAST, strict=True):
        tally.check(count)

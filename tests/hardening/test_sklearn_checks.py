"""A short round of the checks; the others are in ``tests/estimators/test_sklearn_checks.py``."""

from __future__ import annotations

from hardening.sklearn_checks import trials


def test_checks():
    for tally in trials(long=False, seed=0):
        tally.check(at_least=40)

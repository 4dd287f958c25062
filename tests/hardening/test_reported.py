"""Defects that outside testers reported stay mended: the recipes that need no other process."""

from __future__ import annotations

from hardening import reported


def test_reported_defects_stay_mended():
    for tally in reported.trials(long=False, seed=0):
        tally.check(at_least=13)

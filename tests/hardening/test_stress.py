from __future__ import annotations

from hardening import stress


def test_nasty_tables_and_targets_are_right_or_refused():
    for tally in stress.trials(long=False, seed=0):
        tally.check(at_least=120)

"""Kills at any moment leave the old run or the new one."""

from __future__ import annotations

import os

import pytest

from hardening.kills import trials


@pytest.mark.skipif(os.name == "nt", reason="no such signals on Windows")
def test_kills_leave_the_old_run_or_the_new_one():
    for tally, count in zip(trials(long=False, seed=0), (10, 50, 10, 10, 3, 3, 3), strict=True):
        tally.check(at_least=count)

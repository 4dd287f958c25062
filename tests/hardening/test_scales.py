from __future__ import annotations

from hardening import scales


def test_sizes_of_columns_and_targets_do_not_matter():
    columns, targets = scales.trials(long=False, seed=0)
    columns.check(at_least=10)
    targets.check(at_least=4)

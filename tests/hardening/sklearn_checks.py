"""All of scikit-learn's checks of all estimators with default settings, the long ones included."""

from __future__ import annotations

import warnings
from unittest import SkipTest

import kernelpath as kp
from hardening.tally import Tally
from sklearn_examples import CANNOT_HOLD, ESTIMATORS, checks_of

PASSED, SKIPPED, STATED = "passed", "skipped", "cannot hold, as stated"


def trials(long: bool, seed: int) -> list[Tally]:
    """All of them, or those of one baseline."""
    tallies = []
    for cls in ESTIMATORS if long else (kp.baselines.Fisher,):
        tally = Tally(f"scikit-learn's checks of {cls.__name__}()", (PASSED, SKIPPED, STATED))
        for name, estimator, check in checks_of(cls):
            stated = name in CANNOT_HOLD.get(cls, {})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    check(estimator)
                    outcome = "holds, against what is stated" if stated else PASSED
                except SkipTest:
                    outcome = SKIPPED
                except Exception as error:
                    outcome = STATED if stated else f"{type(error).__name__}: {error}"[:200]
            tally.add(outcome, name)
        tallies.append(tally)
    return tallies

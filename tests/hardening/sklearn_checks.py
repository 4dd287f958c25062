"""All of scikit-learn's checks of all estimators with default settings, the long ones included."""

from __future__ import annotations

import warnings
from unittest import SkipTest

import kernelpath as kp
from hardening.tally import Tally
from sklearn_examples import ESTIMATORS, checks_of

PASSED, SKIPPED = "passed", "skipped"


def trials(long: bool, seed: int) -> list[Tally]:
    """All of them, or those of one baseline."""
    tallies = []
    for cls in ESTIMATORS if long else (kp.baselines.Fisher,):
        tally = Tally(f"scikit-learn's checks of {cls.__name__}()", (PASSED, SKIPPED))
        for name, estimator, check in checks_of(cls):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    check(estimator)
                    outcome = PASSED
                except SkipTest:
                    outcome = SKIPPED
                except Exception as error:
                    outcome = f"{type(error).__name__}: {error}"[:200]
            tally.add(outcome, name)
        tallies.append(tally)
    return tallies

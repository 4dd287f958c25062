"""scikit-learn's checks of every public estimator, with default settings.

The checks that take long for estimators which try many models are in ``make harden``, all of them.
"""

from __future__ import annotations

import warnings

import pytest

from sklearn_examples import (
    COUNTS,
    ESTIMATORS,
    LARGE,
    TRYING,
    checks_of,
    public_estimators,
    same_version,
)

CASES = [
    pytest.param(estimator, check, id=f"{cls.__name__}-{name}-{number}")
    for cls in ESTIMATORS
    for number, (name, estimator, check) in enumerate(checks_of(cls, large=False))
]


@pytest.mark.parametrize(("estimator", "check"), CASES)
def test_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their tables are of a kind that deserves warnings
        check(estimator)


def test_every_public_estimator_is_here():
    assert public_estimators() == set(ESTIMATORS)


def test_settings_are_the_defaults():
    for cls in ESTIMATORS:
        _, estimator, _ = next(checks_of(cls))
        assert type(estimator) is cls
        assert repr(estimator) == f"{cls.__name__}()"


def test_counts():
    for cls, count in COUNTS.items():
        every = [name for name, _, _ in checks_of(cls)]
        assert len(every) == count or (not same_version() and len(every) >= 40)
    for cls in TRYING:
        names = {name for name, _, _ in checks_of(cls)}
        assert len(names & LARGE) >= 6

"""Columns and targets of all sizes in every estimator, against the same of size 1."""

from __future__ import annotations

import warnings

import numpy as np

import kernelpath as kp
from hardening.tally import Tally
from scale_examples import MIXED, MODELS, REGRESSIONS, SCALES, assert_same, fitted

SAME, REFUSED = "same as of size 1", "refused in words"


def trials(long: bool, seed: int) -> list[Tally]:
    """All sizes in all estimators; without ``long`` one in twenty-five."""
    columns = Tally("columns of 1e-310 to 1e300", (SAME, REFUSED))
    targets = Tally("targets of 1e-310 to 1e300", (SAME, REFUSED))
    sizes = {f"{size:g}": np.array([size, 1.0, 1.0, 1.0]) for size in SCALES} | {"mixed": MIXED}
    cases = [(columns, name, what, size, 1.0) for what, size in sizes.items() for name in MODELS]
    cases += [(targets, name, f"{unit:g}", 1.0, unit) for unit in SCALES for name in REGRESSIONS]
    for tally, name, what, units, unit in cases if long else cases[seed % 25 :: 25]:
        tally.add(_outcome(name, units, unit), f"{name}, {what}")
    return [columns, targets]


def _outcome(name: str, units: object, unit: float) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            assert_same(name, fitted(name, units, unit), units, unit)
        except kp.DataError:
            return REFUSED
        except AssertionError as error:
            return f"other results ({' '.join(str(error).split())[:100]})"
        except Exception as error:
            return f"{type(error).__name__} ({error})"[:120]
    return SAME

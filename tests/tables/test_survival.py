"""Survival times as residuals, against Cox's partial likelihood row by row."""

from __future__ import annotations

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.errors import DataError
from kernelpath.tables.survival import survival_fields
from reference import cox

RNG = np.random.default_rng(5)
N = 40
X = RNG.normal(size=(N, 3))
TIME = np.round(RNG.exponential(size=N) * np.exp(-X[:, 0]), 1)  # with ties
EVENT = RNG.random(N) < 0.6
DTYPE = [("event", bool), ("time", float)]
Y = np.array(list(zip(EVENT, TIME)), dtype=DTYPE)


def test_residuals_are_those_of_the_definition():
    assert len(np.unique(TIME)) < N  # ties, also of events with censored rows
    found = kp.survival_target(TIME, EVENT)
    np.testing.assert_allclose(found, cox.residuals(TIME, EVENT), rtol=0, atol=1e-14)
    assert abs(found.sum()) < 1e-12
    assert found.max() <= 1


@pytest.mark.parametrize("j", range(3))
def test_sums_with_a_column_are_the_score_of_cox(j):
    x = X[:, j]
    found = float(x @ kp.survival_target(TIME, EVENT))
    assert found == pytest.approx(cox.score_at_zero(x, TIME, EVENT), abs=1e-12)
    step = 1e-5
    rise = cox.log_likelihood(step, x, TIME, EVENT) - cox.log_likelihood(-step, x, TIME, EVENT)
    assert found == pytest.approx(rise / (2 * step), abs=1e-6)


def test_weights_are_repeated_rows():
    weights = RNG.integers(0, 4, N)
    rows = np.repeat(np.arange(N), weights)
    found = kp.survival_target(TIME, EVENT, sample_weight=weights)
    repeated = kp.survival_target(TIME[rows], EVENT[rows])
    np.testing.assert_allclose(found[rows], repeated, rtol=0, atol=1e-13)


def test_rows_of_weight_0_at_the_end_divide_by_nothing():
    found = kp.survival_target([1.0, 2.0, 9.0], [1, 0, 1], sample_weight=[1, 1, 0])
    np.testing.assert_allclose(found[:2], [0.5, -0.5])
    assert np.isfinite(found).all()


def test_the_unit_and_the_order_of_rows_do_not_matter():
    order = RNG.permutation(N)
    found = kp.survival_target(TIME, EVENT)
    np.testing.assert_allclose(kp.survival_target(365 * TIME[order], EVENT[order]), found[order])


@pytest.mark.parametrize("event", [EVENT.astype(int), EVENT.astype(float), EVENT.tolist()])
def test_events_are_flags_or_0_and_1(event):
    np.testing.assert_array_equal(kp.survival_target(TIME, event), kp.survival_target(TIME, EVENT))


@pytest.mark.parametrize(
    "y",
    [
        Y,
        Y.view(np.recarray),
        np.array(list(zip(TIME, EVENT)), dtype=[("days", np.float32), ("dead", bool)]),
    ],
)
def test_a_structured_array_is_read_by_its_types(y):
    time, event = survival_fields(y)
    np.testing.assert_array_equal(event, EVENT)
    np.testing.assert_allclose(time, TIME, rtol=1e-6)
    np.testing.assert_allclose(kp.survival_target(y), kp.survival_target(TIME, EVENT), atol=1e-12)


@pytest.mark.parametrize(
    ("time", "event", "words"),
    [
        ([1.0, -2.0, 3.0], [1, 0, 1], "1 survival time below 0, such as -2"),
        ([1.0, np.nan, 3.0], [1, 0, 1], "NaN or inf in 1 row"),
        ([1.0, np.inf, 3.0], [1, 0, 1], "NaN or inf in 1 row"),
        (["a", "b", "c"], [1, 0, 1], "time must be numbers"),
        ([[1.0], [2.0], [3.0]], [1, 0, 1], "time must be one-dimensional"),
        ([1.0, 2.0, 3.0], [0, 0, 0], "No row has the event"),
        ([1.0, 2.0, 3.0], [1, 2, 1], "1 and 0; got 2"),
        ([1.0, 2.0, 3.0], [1, np.nan, 1], "1 and 0; got nan"),
        ([1.0, 2.0, 3.0], ["yes", "no", "no"], "1 and 0; got 'yes'"),
        ([1.0, 2.0, 3.0], [[1], [0], [1]], "event must be one-dimensional"),
        ([1.0, 2.0, 3.0], [1, 0], "time has 3 values, but event has 2 values"),
        ([1.0, 2.0, 3.0], None, "event is missing"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(time, event, words):
    with pytest.raises(DataError, match=words) as caught:
        kp.survival_target(time, event)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "dtype",
    [
        [("event", bool), ("late", bool)],
        [("time", float), ("age", float)],
        [("event", bool), ("time", float), ("age", float)],
        [("event", "U3"), ("time", float)],
    ],
)
def test_fields_of_other_types_are_refused(dtype):
    with pytest.raises(DataError, match="one field of booleans, the event, and one of numbers"):
        kp.survival_target(np.zeros(4, dtype=dtype))


def test_no_event_among_the_rows_with_a_weight():
    with pytest.raises(DataError, match="No row has the event"):
        kp.survival_target([1.0, 2.0, 3.0], [1, 0, 0], sample_weight=[0, 1, 1])

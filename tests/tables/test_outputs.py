"""Targets of several columns: what they are read as, coded as and refused for."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from kernelpath.errors import ConstantColumnWarning, DataError
from kernelpath.tables.any_target import (
    as_any_target,
    constant_target,
    encode_any,
    joint_target,
    kind_of,
    row_codes,
    taken,
)
from kernelpath.tables.outputs import Outputs
from kernelpath.tables.targets import encode_target

RNG = np.random.default_rng(2)
N = 30
NUMBER = RNG.normal(size=N) + 100
LABEL = RNG.permutation(np.arange(N) % 3 == 0).astype(int)
GRADE = RNG.permutation(np.array(["low", "middle", "high"])[np.arange(N) % 3])
WEIGHT = RNG.integers(0, 3, N)
SURVIVAL = np.array([(True, 1.0), (False, 2.0)], dtype=[("event", bool), ("time", float)])


def test_columns_are_those_of_each_output_over_the_root_of_their_number():
    y = pd.DataFrame({"number": NUMBER, "label": LABEL, "grade": GRADE})
    for weight in (None, WEIGHT):
        found = encode_any(y, sample_weight=weight)
        alone = [encode_target(y[name], sample_weight=weight).columns for name in y]
        np.testing.assert_allclose(found.columns[:, 0], alone[0][:, 0])
        expected = np.hstack([columns[:, 1:] for columns in alone]) / np.sqrt(3)
        np.testing.assert_allclose(found.columns[:, 1:], expected, rtol=1e-15)
        assert found.task == "outputs"
        assert found.columns.shape == (N, 1 + 1 + 1 + 3)


def test_standardised_columns_weigh_as_much_as_one():
    y = RNG.normal(size=(N, 4))
    columns = encode_any(y).columns
    assert np.square(columns[:, 1:]).sum() == pytest.approx(N)  # as of one standardised column
    np.testing.assert_allclose(columns[:, 1:].sum(axis=0), 0, atol=1e-12)


def test_each_column_has_its_own_task_unless_it_is_given():
    y = joint_target(np.column_stack([NUMBER, LABEL, np.arange(N) % 3]))
    assert y.judged().tasks == ("regression", "classification", "classification")
    assert y.judged("regression").tasks == ("regression",) * 3
    assert y.judged().judged("regression").tasks == ("regression",) * 3
    known = y.judged()[:2]  # two values would be labels; what all rows said stays
    assert known.judged().tasks == ("regression", "classification", "classification")


@pytest.mark.parametrize(
    "y",
    [
        np.column_stack([NUMBER, LABEL]),
        np.column_stack([NUMBER, LABEL]).tolist(),
        np.column_stack([NUMBER, LABEL]).astype(object),
        pd.DataFrame({"a": NUMBER, "b": LABEL}),
        pd.DataFrame({"a": NUMBER, "b": LABEL}).astype({"b": "Int64"}),
        pd.DataFrame({"a": NUMBER, "b": LABEL > 0}),
        csr_matrix(np.column_stack([NUMBER, LABEL])),
    ],
    ids=["array", "list", "objects", "frame", "nullable", "flags", "sparse"],
)
def test_arrays_lists_and_frames_are_one(y):
    expected = encode_any(np.column_stack([NUMBER, LABEL])).columns
    np.testing.assert_allclose(encode_any(y).columns, expected, rtol=1e-14)
    assert kind_of(joint_target(y)) == "outputs"


def test_polars_frames_are_taken():
    pl = pytest.importorskip("polars")
    y = pl.DataFrame({"a": NUMBER, "b": LABEL})
    assert joint_target(y).names.tolist() == ["a", "b"]


@pytest.mark.parametrize("y", [LABEL, LABEL[:, None], pd.Series(LABEL), pd.DataFrame({"a": LABEL})])
def test_one_column_stays_as_it_was(y):
    assert joint_target(y) is None
    np.testing.assert_array_equal(encode_any(y).columns, encode_target(LABEL).columns)


def test_a_constant_column_is_named_once_and_left_out():
    y = pd.DataFrame({"number": NUMBER, "same": 3.0, "none": "x"})
    with pytest.warns(ConstantColumnWarning) as caught:
        found = encode_any(y)
    (text,) = [str(one.message) for one in caught]
    assert text == "Columns 'same', 'none' of y are constant and are left out."
    np.testing.assert_array_equal(found.columns, encode_any(NUMBER).columns)
    with pytest.warns(ConstantColumnWarning, match="Column 1 of y is constant and is left out"):
        encode_any(np.column_stack([NUMBER, np.ones(N)]))


def test_a_column_is_constant_among_the_rows_that_count():
    other = np.where(WEIGHT > 0, 1.0, NUMBER)
    with pytest.warns(ConstantColumnWarning, match="Column 1"):
        encode_any(np.column_stack([NUMBER, other]), sample_weight=WEIGHT)


def test_constant_columns_alone_are_refused():
    with pytest.raises(DataError, match="Every column of y is constant"):
        encode_any(np.ones((N, 2)))


@pytest.mark.parametrize(
    ("column", "task", "words"),
    [
        (np.where(np.arange(N) == 3, np.nan, NUMBER), "auto", "has NaN or inf in 1 row"),
        (GRADE, "regression", "holds text"),
        ([f"id{i}" for i in range(N)], "auto", "Every row has its own class"),
        (pd.date_range("2020-01-01", periods=N), "auto", "datetime64"),
    ],
)
def test_a_column_that_cannot_be_a_target_is_named(column, task, words):
    y = pd.DataFrame({"number": NUMBER, "odd": column})
    with pytest.raises(DataError, match=words) as caught:
        encode_any(y, task=task)
    assert str(caught.value).startswith("Column 'odd' of y: ")


def test_a_column_keeps_its_number_where_others_are_left_out():
    y = np.column_stack([np.ones(N, int), LABEL, np.arange(N)]).astype(object)
    with (
        pytest.warns(ConstantColumnWarning, match="Column 0 of y"),
        pytest.raises(DataError, match="Column 2 of y: Every row has its own class"),
    ):
        encode_any(y, task="classification")


def test_survival_times_have_no_classes():
    assert encode_any(SURVIVAL, task="regression").task == "survival"
    with pytest.raises(DataError, match="no classes"):
        encode_any(SURVIVAL, task="classification")


def test_rows_codes_and_constants():
    y = joint_target(np.column_stack([NUMBER, LABEL])).judged()
    rows = np.array([3, 3, 0])
    assert row_codes(taken(y, rows)).tolist() == [0, 0, 1]
    assert row_codes(SURVIVAL[[1, 0, 1]]).tolist() == [0, 1, 0]
    assert row_codes(LABEL) is LABEL
    found = constant_target(np.asarray(y), None)
    np.testing.assert_allclose(found, [[NUMBER.mean(), 0]])
    weighted = constant_target(np.asarray(y), np.where(LABEL == 1, 5.0, 1.0))
    assert weighted[0, 1] == 1
    assert constant_target(SURVIVAL, None).tolist() == [0.0]


def test_text_beside_numbers_is_judged_column_by_column():
    y = as_any_target(pd.DataFrame({"number": NUMBER, "grade": GRADE}))
    assert isinstance(y, Outputs)
    assert y.tasks == ("regression", "classification")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_any_target(LABEL) is LABEL

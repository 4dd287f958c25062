"""Complementary halves: disjoint, equal, with every class, whole groups together."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpath.errors import DataError
from kernelpath.inference.halves import Halving


def pairs(halving, n=30, seed=0):
    return [halving.pair(seed, number) for number in range(n)]


@pytest.mark.parametrize("n", [4, 5, 20, 21])
def test_halves_are_disjoint_and_leave_one_row_at_most(n):
    y = np.arange(n, dtype=float)
    for one, other in pairs(Halving.of(y, classes=False)):
        assert len(one) == len(other) == n // 2
        assert not set(one) & set(other)
        assert (np.diff(one) > 0).all()


def test_every_row_is_in_either_half_equally_often():
    y = np.arange(9, dtype=float)
    count = np.zeros((2, 9))
    for halves in pairs(Halving.of(y, classes=False), 4000):
        for side, rows in enumerate(halves):
            count[side, rows] += 1
    # 4 of 9 rows; the standard deviation of a share of 4,000 draws is below 0.008.
    np.testing.assert_allclose(count / 4000, 4 / 9, atol=0.04)


def test_classes_are_shared_out_evenly():
    y = np.repeat(["a", "b", "c"], [5, 7, 20])
    for one, other in pairs(Halving.of(y, classes=True)):
        assert len(one) == len(other) == 16
        for label in "abc":
            own = [int((y[rows] == label).sum()) for rows in (one, other)]
            assert max(own) - min(own) <= 1
            assert sum(own) >= (y == label).sum() - 1


def test_pairs_depend_on_seed_and_number_alone():
    halving = Halving.of(np.arange(30.0), classes=False)
    again = Halving.of(np.arange(30.0), classes=False)
    for number in (5, 0, 3):
        np.testing.assert_array_equal(halving.pair(1, number)[0], again.pair(1, number)[0])
    assert halving.pair(1, 0)[0].tolist() != halving.pair(1, 1)[0].tolist()
    assert halving.pair(1, 0)[0].tolist() != halving.pair(2, 0)[0].tolist()


@pytest.mark.parametrize("classes", [True, False])
def test_groups_stay_together(classes):
    groups = np.repeat(np.arange(11), [1, 2, 3, 4, 5, 6, 3, 3, 3, 3, 3])
    y = (groups % 2).astype(float)
    for one, other in pairs(Halving.of(y, classes, [f"patient {g}" for g in groups])):
        assert not set(groups[one]) & set(groups[other])
        assert len(set(groups[one])) == len(set(groups[other])) == 5
        for rows in (one, other):
            assert set(y[rows]) == {0.0, 1.0}
            assert all((groups[rows] == g).sum() == (groups == g).sum() for g in groups[rows])


def test_halves_without_a_class_are_drawn_again():
    """One group in four holds the rare class beside the frequent one, which is the most common."""
    groups = np.repeat(np.arange(8), 5)
    y = np.zeros(40, dtype=int)
    y[[0, 5]] = 1  # in the groups 0 and 1
    for halves in pairs(Halving.of(np.append(y, [1, 1]), True, np.append(groups, [0, 1]))):
        for rows in halves:
            assert np.append(y, [1, 1])[rows].sum() == 2


@pytest.mark.parametrize(
    ("y", "classes", "groups", "words"),
    [
        ([1.0, 2.0, 3.0], False, None, "3 rows cannot be divided into halves; give at least 4"),
        ([0, 0, 0, 1], True, None, "Class '1' has one row, but both halves need one"),
        ([0, 0, 1, 1], True, [1, 1, 1, 1], "All rows are of one group"),
        ([0, 0, 1, 1], True, [1, 1, None, 1], "groups has missing values"),
        ([0, 0, 1, 1], True, [1, 1, 2], "groups has 3 values, but the table has 4 rows"),
        ([0, 0, 1, 1], True, [1, 1, 2, 2], "a half lacks a class"),
        ([1.0, 1, 1, 2], False, None, "a half has one value of the target only"),
    ],
)
@pytest.mark.filterwarnings("ignore:Class")
def test_what_cannot_be_divided_is_refused(y, classes, groups, words):
    with pytest.raises(DataError, match=words):
        Halving.of(np.array(y), classes, groups).pair(0, 0)


def test_a_class_of_few_rows_is_named():
    with pytest.warns(UserWarning, match="Class 'rare' has 3 rows: some halves learn from one"):
        Halving.of(np.repeat(["often", "rare"], [9, 3]), classes=True)

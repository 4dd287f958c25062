"""Tables of many rows: scored models learn from some, the final one from all."""

from __future__ import annotations

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.evaluation.splits import fewer_rows
from kernelpath.tracers.any_selector import nearest_to_grid

SETTINGS = {"predictor": "logistic", "cv": 2, "n_features": [1], "references": False}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=2400) > 0).astype(int)


def test_a_sample_of_each_fold_with_the_shares_of_the_classes():
    labels = np.repeat([0, 1, 2], [9000, 985, 15])
    rows = np.random.default_rng(0).permutation(10_000)
    splits = [(rows[:8000], rows[8000:]), (rows[2000:], rows[:2000])]
    fewer = fewer_rows(splits, labels, 1000, seed=0)
    for (train, test), (taken, kept) in zip(splits, fewer):
        assert np.isin(taken, train).all()
        assert len(np.unique(taken)) == len(taken)
        assert kept is test
        shares = np.bincount(labels[taken])
        assert abs(len(taken) - 1000) <= 12
        assert abs(shares[0] - 900) <= 5
        assert shares[2] >= 10
    assert fewer_rows(splits, labels, None, seed=0)[0][0] is splits[0][0]
    assert len(fewer_rows(splits, None, 1000, seed=0)[1][0]) == 1000


def test_the_scores_are_of_some_rows_and_the_model_of_all(table):
    X, y = table
    with pytest.warns(UserWarning, match=r"1,000 of the 1,200 rows of a fold.*max_train_rows"):
        some = kp.PathCV(max_train_rows=1000, **SETTINGS).fit(X, y)
    all_of_them = kp.PathCV(**SETTINGS).fit(X, y)
    assert not np.array_equal(some.scores_.per_fold, all_of_them.scores_.per_fold)
    assert some.operating_point_.settings == all_of_them.operating_point_.settings
    assert np.array_equal(some.decision_function(X), all_of_them.decision_function(X))


@pytest.mark.parametrize("given", [999, 0, 2.5, "all"])
def test_what_is_no_number_of_rows_is_refused(table, given):
    with pytest.raises((ValueError, TypeError), match="max_train_rows"):
        kp.PathCV(max_train_rows=given, **SETTINGS).fit(*table)


def test_fewer_sizes_where_rows_are_many():
    sizes = np.arange(1, 51)
    assert nearest_to_grid(sizes, 50_000).tolist() == [*range(1, 31), 38, 47, 50]
    assert nearest_to_grid(sizes, 50_001).tolist() == [
        *range(1, 11),
        12,
        16,
        20,
        24,
        31,
        38,
        48,
        50,
    ]

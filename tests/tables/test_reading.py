"""What is taken for a table: arrays with text, names of all kinds; and what is none."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import kernelpath as kp
from kernelpath.errors import ReadingWarning

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=N)
TOWN = RNG.choice(["Ulm", "Bonn", "Rom"], N)
FRAME = pd.DataFrame({"x": X, "town": TOWN})
Y = ((X > 0) ^ (TOWN == "Ulm")).astype(int)


def objects(*columns):
    array = np.empty((N, len(columns)), dtype=object)
    for j, column in enumerate(columns):
        array[:, j] = column
    return array


def fitted(table, **settings):
    return kp.PathCV(
        cv=3, n_features=[1, 2], predictor="logistic", **settings, references=False
    ).fit(table, Y)


@pytest.mark.parametrize(
    "table",
    [objects(X, TOWN), objects(X, TOWN).tolist(), np.column_stack([X.astype(str), TOWN])],
    ids=["objects", "lists", "text"],
)
def test_an_array_with_text_is_the_table_that_a_frame_with_it_is(table):
    of_frame, of_array = fitted(FRAME), fitted(table)
    np.testing.assert_allclose(of_array.scores_.per_fold, of_frame.scores_.per_fold)
    np.testing.assert_array_equal(
        of_array.predict(table, n_features=2), of_frame.predict(FRAME, n_features=2)
    )
    assert of_array.transform(table).shape[1] == of_array.operating_point_.n_features


def test_identifiers_of_an_array_with_text_are_left_out():
    table = objects(X, TOWN, [f"person {i}" for i in range(N)])
    with pytest.warns(ReadingWarning, match="identifiers.*column 2"):
        assert fitted(table).path_.at(n_features=2).support.tolist() == [True, True, False]


def test_names_that_are_numbers_beside_text_count_as_text():
    table = FRAME.rename(columns={"x": 7})
    model = fitted(table)
    assert set(model.feature_names_in_) == {"7", "town"}
    np.testing.assert_array_equal(model.predict(table), fitted(FRAME).predict(FRAME))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("table.csv", "X is the name 'table.csv', not a table; read it first"),
        ({"x": X}, "X is a dict; give pandas.DataFrame"),
        (None, "X is None"),
        (pl.DataFrame({"x": X}).lazy(), "lazy table; call .collect"),
        (FRAME[[]], "0 feature"),
        (FRAME.assign(l=[[1, 2]] * N), "column 'l' holds values of the type list"),
    ],
    ids=["name", "dict", "nothing", "lazy", "no columns", "lists"],
)
def test_what_is_no_table_is_refused_with_the_way_to_one(table, words):
    with pytest.raises(kp.DataError, match=f"(?i){words}"):
        fitted(table)


def test_rankings_leave_identifiers_out_too():
    table = FRAME.assign(name=[f"person {i}" for i in range(N)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)
        found = kp.compare(
            table, Y, ["f-test", "mutual-info"], cv=3, n_features=[1, 2], predictor="logistic"
        )
    for scores in found.scores.values():
        assert not any(support[2] for fold in scores.supports for support in fold.toarray())


def test_a_comparison_leaves_out_rows_without_a_target():
    target = np.where(Y == 1, "yes", "no").astype(object)
    target[:5] = None
    with pytest.warns(UserWarning, match="5 rows without a target"):
        found = kp.compare(
            FRAME, target, ["lp-kta"], cv=3, n_features=[1], predictor="logistic", missing="impute"
        )
    assert found.model.plan_.n_rows == N - 5


SELECTORS = (
    kp.PathCV, kp.LpKTASelector, kp.GMKLClassifier, kp.NMMKLSelector, kp.L1KRRegressor,
    kp.AdditivePathSelector, kp.JointPathSelector,
    kp.baselines.MRMR, kp.baselines.L1SVM, kp.baselines.HSICLasso, kp.baselines.Spectral,
)  # fmt: skip


@pytest.mark.parametrize("make", SELECTORS)
def test_the_name_of_the_target_is_not_the_target(make):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "sick": [0, 1, 0, 1]})
    words = r"^y is the name 'sick'; give the column itself, y=df\['sick'\], and X without it\.$"
    with pytest.raises(kp.DataError, match=words):
        make().fit(frame, "sick")
    with pytest.raises(kp.DataError, match=words):
        kp.compare(frame, "sick")

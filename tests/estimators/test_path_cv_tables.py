"""PathCV on tables as they are: imputation inside the folds, and new rows of chosen columns."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pandas as pd
import pytest

import kernelpath as kp
from kernelpath.evaluation.study import Study
from kernelpath.predictors.svm import Task
from kernelpath.tables.missing import Imputer
from kernelpath.tables.table import as_column_table

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
TOWN = RNG.choice(["Ulm", "Bonn", "Rom"], N)
FRAME = pd.DataFrame(
    {
        "x": X + 40,
        "town": TOWN,
        "holes": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N)),
        "name": [f"person {i}" for i in range(N)],
        "since": pd.date_range("2020-01-01", periods=N).astype(str),
        "grade": pd.Categorical(RNG.choice(["low", "high"], N), ["low", "high"], ordered=True),
        "price": [f"{value:.2f}".replace(".", ",") for value in RNG.normal(size=N)],
    }
)
Y = np.where((X > 0) ^ (TOWN == "Ulm"), "yes", "no")


@pytest.fixture(autouse=True)
def _notes_are_not_the_matter():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def model_of(predictor="logistic", **settings):
    settings = {"cv": 3, "n_features": [2, 5], "rule": "best", "references": False} | settings
    return kp.PathCV(predictor=predictor, **settings).fit(FRAME, Y)


def loaded(model):
    file = io.BytesIO()
    model.save(file, n_features=5)
    file.seek(0)
    return kp.load_model(file)


def test_what_is_imputed_is_learned_from_the_rows_to_learn_from():
    table = as_column_table(np.array([[1.0], [np.nan], [3.0], [100.0], [np.nan]]))
    study = Study(
        table, np.arange(5.0), Task("regression", None), None, (), None, np.ones(1, int),
        imputes=True,
    )  # fmt: skip
    train, test = np.array([0, 1, 2]), np.array([3, 4])
    assert study.held_out(train, test).values.ravel().tolist() == [100.0, 2.0]
    assert study.held_out(train, train).values.ravel().tolist() == [1.0, 2.0, 3.0]


def test_rows_held_out_do_not_change_what_a_fold_imputes():
    far = FRAME.copy()
    splits = [(np.arange(40), np.arange(40, N))]
    far.loc[40:, "holes"] = far.loc[40:, "holes"] + 1e3  # rows held out only
    models = [
        kp.PathCV(
            cv=splits,
            n_features=[6],
            missing="impute",
            predictor="weighted_kernel",
            references=False,
        )
        for _ in range(2)
    ]
    found = [model.fit(table, Y)._run.study for model, table in zip(models, (FRAME, far))]
    one, other = (study.part(splits[0][0]).rows.values for study in found)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("predictor", ["logistic", "weighted_kernel", "joint_rbf"])
@pytest.mark.parametrize("missing", ["kernel", "impute"])
def test_new_rows_need_the_chosen_columns_alone_also_after_loading(predictor, missing):
    model = model_of(predictor, missing=missing)
    for k in (2, 5):
        names = list(model.path_.at(n_features=k).names)
        want = model.predict(FRAME, n_features=k)
        some = FRAME[names[::-1]].assign(other="unknown")
        empty = FRAME.assign(**dict.fromkeys(set(FRAME) - set(names), np.nan))
        hole = FRAME.copy()
        hole.loc[3, names] = None
        again = loaded(model)
        for own in (model, again):
            np.testing.assert_array_equal(own.predict(some, n_features=k), want)
            np.testing.assert_array_equal(own.predict(empty, n_features=k), want)
        np.testing.assert_array_equal(
            model.predict(hole, n_features=k), again.predict(hole, n_features=k)
        )
        with pytest.raises(kp.DataError, match=f"lacks column '{names[0]}'"):
            again.predict(FRAME.drop(columns=names[0]), n_features=k)


def test_transform_and_score_take_the_chosen_columns_alone():
    model = model_of()
    names = list(model.operating_point_.feature_names)
    some = FRAME[names[::-1]].assign(other=1)
    assert str(model.transform(some)) == str(model.transform(FRAME))  # NaN is not NaN
    assert model.score(some, Y) == model.score(FRAME, Y)
    selector = kp.LpKTASelector(n_features_to_select=2).fit(FRAME, Y)
    kept = selector.get_feature_names_out().tolist()
    assert selector.transform(FRAME[kept[::-1]]).tolist() == FRAME[kept].to_numpy().tolist()
    with pytest.raises(kp.DataError, match="lacks column"):
        selector.transform(FRAME[kept[:1]])


@pytest.mark.parametrize("predictor", ["logistic", "joint_rbf"])
def test_a_hole_that_fit_has_not_seen_stands_at_the_median(predictor):
    table = FRAME[["x", "grade"]]
    model = kp.PathCV(cv=3, n_features=[1], predictor=predictor, references=False).fit(
        table, X > 0.3
    )
    assert model.operating_point_.feature_names == ("x",)
    hole, middle = (
        model.decision_function(pd.DataFrame({"x": [value]}))
        for value in (np.nan, FRAME["x"].median())
    )
    np.testing.assert_allclose(hole, middle)


def test_new_rows_of_an_imputing_model_get_what_all_rows_say():
    model = model_of("weighted_kernel", missing="impute")
    want = Imputer.fit(as_column_table(FRAME[["holes"]])).fill[0]
    place = list(FRAME).index("holes")
    assert model._encoder.fill[place] == loaded(model)._encoder.fill[place] == want


def test_obstacles_are_said_together():
    selector = kp.LpKTASelector(kernel="rbf")
    words = r"3 obstacles: \(1\) .*'holes'.*missing='kernel'.*\(2\) .*'town'.*kernel='auto'"
    words += r".*\(3\) .*one class"
    with pytest.raises(kp.DataError, match=words):
        kp.PathCV(selector, missing="error").fit(FRAME, np.ones(N))
    with pytest.raises(kp.DataError, match=words):
        kp.LpKTASelector(kernel="rbf", missing="error").fit(FRAME, np.ones(N))

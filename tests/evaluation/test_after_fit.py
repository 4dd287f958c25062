"""What may happen after fit: other sizes, changed tables, contradicting rules; and weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelpath as kp
from evaluation.helpers import WEIGHTED, path_cv, ring
from kernelpath.errors import ReadingWarning

X, Y = ring()


def test_score_at_another_size():
    model = path_cv().fit(X, Y)
    for k in (1, 3):
        expected = np.mean(model.predict(X, n_features=k) == Y)
        assert model.score(X, Y, n_features=k) == pytest.approx(expected)
    assert model.score(X, Y) == np.mean(model.predict(X) == Y)


def test_an_array_changed_after_fit_is_refused():
    table = X.copy()
    model = path_cv().fit(table, Y)
    known = model.operating_point_.n_features
    other = next(k for k in range(1, X.shape[1] + 1) if k != known)
    table[0, 0] += 1.0
    with pytest.raises(kp.DataError, match="changed since fit"):
        model.predict(X, n_features=other)
    with pytest.raises(kp.DataError, match="changed since fit"):
        model.plot(baselines=("f_test",))
    assert model.predict(X).shape == Y.shape
    table[0, 0] = X[0, 0]
    assert model.predict(X, n_features=other).shape == Y.shape


@pytest.mark.parametrize("predictor", [WEIGHTED, LogisticRegression()], ids=["own", "estimator"])
def test_a_frame_may_get_another_column_after_fit(predictor):
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    model = path_cv(predictor=predictor).fit(frame, Y)
    rows = frame.copy()
    expected = path_cv(predictor=predictor).fit(rows, Y).predict(rows, n_features=4)
    frame["predicted"] = model.predict(rows)
    frame["f0"] = 0.0
    np.testing.assert_array_equal(model.predict(rows, n_features=4), expected)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rule": "one_se", "tolerance": 0.5}, "tolerance=0.5 has no effect"),
        ({"rule": "budget", "tolerance": 0.5}, "tolerance=0.5 has no effect"),
    ],
)
def test_contradicting_rules(arguments, words):
    model = path_cv().fit(X, Y)
    with pytest.raises(ValueError, match=words):
        model.choose(**arguments)
    assert model.choose(budget=1).n_features == 1
    assert model.choose("budget", budget=1).n_features == 1
    for rule in ("best", "one_se", "tolerance"):
        assert model.choose(rule, budget=1).n_features == 1
    assert model.choose(budget=1, tolerance=0.0).rule == "tolerance"


@pytest.mark.parametrize(
    "predictor",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2),
        GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}, cv=2),
    ],
    ids=["plain", "pipeline", "search", "search of a pipeline"],
)
def test_weights_reach_the_predictor(predictor):
    weight = np.where(Y.max() == Y, 200.0, 1.0)
    model = path_cv(kp.LpKTASelector(), predictor=predictor).fit(X, Y, sample_weight=weight)
    assert np.mean(model.predict(X) == Y.max()) > 0.95


def test_who_takes_no_weights_is_named():
    model = path_cv(SelectKBest(k=1), predictor=KNeighborsClassifier())
    with pytest.warns(UserWarning, match="takes no sample_weight") as told:
        model.fit(X, Y, sample_weight=np.ones(len(Y)))
    assert [str(one.message).split(" takes")[0] for one in told] == [
        "The selector SelectKBest",
        "The predictor KNeighborsClassifier",
    ]


def test_numbers_where_text_was():
    frame = pd.DataFrame(X[:, :3], columns=list("abc")).assign(town=np.where(Y, "Ulm", "Bonn"))
    model = path_cv(kp.LpKTASelector(kernel="auto"), n_features=[2]).fit(frame, Y)
    with pytest.raises(kp.DataError, match="holds numbers in column 'town'"):
        model.predict(frame.assign(town=3))
    with pytest.warns(ReadingWarning, match="not seen"):
        assert len(model.predict(frame.assign(town="Rom"))) == len(Y)


def test_labels_keep_their_type():
    whole = pd.Series(Y.astype(int)).astype("Int64")
    assert path_cv().fit(X, whole).classes_.dtype.kind == "i"
    mixed = np.array([1 if value else "a" for value in Y], dtype=object)
    with pytest.raises(kp.DataError, match="mixes numbers and text"):
        path_cv().fit(X, mixed)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"probability": "yes"}, "probability must be True or False"),
        ({"nested": "yes"}, "nested must be True or False"),
        ({"verbose": "x"}, "verbose must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"memory": 3}, "memory must be"),
    ],
)
def test_switches_of_the_wrong_type(options, words):
    with pytest.raises(ValueError, match=words):
        path_cv(**options).fit(X, Y)


def test_groups_without_a_group():
    groups = np.arange(float(len(Y))) % 6
    groups[3] = np.nan
    with pytest.raises(kp.DataError, match="groups has missing values"):
        path_cv().fit(X, Y, groups=groups)


def test_the_plan_counts_the_outer_loop(capsys):
    path_cv(nested=True, verbose=1).fit(X, Y)
    said = capsys.readouterr().err
    assert "again on the training rows of each of the" in said
    assert "outer loop, fold 1 of" in said
    assert "s left" in said.split("outer loop, fold 2 of")[1].splitlines()[0]

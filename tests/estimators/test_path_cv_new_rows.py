"""Tables that nobody prepared: what PathCV makes of them, and which columns it asks for again."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import kernelpath as kp
from kernelpath.errors import LeakWarning, MissingValuesWarning, RareClassWarning, ReadingWarning

PREDICTORS = ("weighted_kernel", "joint_rbf", "logistic", "boosting", "forest")


def people(n=120, seed=0):
    """Numbers, text, dates, holes, an identifier, and a target of two classes."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50.0, 12.0, n)
    town = rng.choice(["Ulm", "Bonn", "Kiel"], n)
    y = np.where((age > 50) ^ (town == "Kiel"), "yes", "no")
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "town": pd.Series(town).where(rng.random(n) > 0.1),
            "since": pd.date_range("2020", periods=n).astype(str),
            "name": [f"person {i}" for i in range(n)],
            "height": rng.normal(size=n),
            "mark": rng.choice(["1", "2", "?"], n),
        }
    )
    return frame, y


def fitted(predictor, **options):
    frame, y = people()
    model = kp.PathCV(
        predictor=predictor, cv=3, n_features=[1, 2, 5], rule="best", **options, references=False
    )
    with pytest.warns(ReadingWarning, match="days since 1970.*'since'.*identifiers.*'name'"):
        model.fit(frame, y)
    return model, frame, y


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_every_predictor_takes_such_a_table_and_can_be_saved(predictor, tmp_path):
    model, frame, _ = fitted(predictor)
    assert "name" not in model.operating_point_.feature_names
    assert model.scores_.mean.max() > 0.6
    expected = model.predict(frame)
    model.save(tmp_path / "m.kpmodel")
    again = kp.load_model(tmp_path / "m.kpmodel")
    np.testing.assert_array_equal(again.predict(frame), expected)
    if predictor in ("logistic", "boosting", "forest"):
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        assert model.predict_proba(frame).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_the_chosen_columns_are_enough_in_any_order(predictor):
    model, frame, y = fitted(predictor)
    chosen = list(model.operating_point_.feature_names)
    expected, score = model.predict(frame), model.score(frame, y)
    for part in (frame[chosen[::-1]], frame[chosen].assign(more=1.0), frame[::-1][::-1]):
        np.testing.assert_array_equal(model.predict(part), expected)
        assert model.score(part, y) == score
    with pytest.raises(kp.DataError, match=f"X lacks .*'{chosen[0]}'"):
        model.predict(frame.drop(columns=chosen[0]))


def test_what_is_not_looked_at_may_be_missing():
    model, frame, _ = fitted("joint_rbf")
    others = [name for name in frame if name not in model.operating_point_.feature_names]
    expected = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame.assign(**dict.fromkeys(others))), expected)


def test_rows_without_a_target_are_absent_rows():
    frame, y = people()
    frame = frame.drop(columns=["name", "since"])
    gaps = pd.Series(y, dtype=object)
    gaps[::10] = None
    there = gaps.notna().to_numpy()
    model = kp.PathCV(predictor="logistic", cv=3, n_features=[1, 2], references=False)
    with pytest.warns(MissingValuesWarning, match="12 rows without a target, of 120"):
        found = model.fit(frame, gaps).scores_
    want = kp.PathCV(predictor="logistic", cv=3, n_features=[1, 2], references=False).fit(
        frame[there], y[there]
    )
    np.testing.assert_array_equal(found.per_fold, want.scores_.per_fold)


@pytest.mark.parametrize("predictor", ["weighted_kernel", "joint_rbf", "logistic"])
def test_nothing_is_learned_from_rows_held_out(predictor):
    """A column that is not chosen may hold anything in the test rows, without any effect."""
    frame, y = people()
    frame = frame.drop(columns=["name", "since"])
    rows = np.arange(len(y))
    split = [(rows[rows % 3 > 0], rows[rows % 3 == 0])]
    other = frame.copy()
    other.loc[split[0][1], "height"] = np.where(np.arange(40) % 2, np.nan, 1e6 * np.arange(40))
    found = [
        kp.PathCV(predictor=predictor, cv=split, n_features=[2], rule="best", references=False)
        .fit(X, y)
        .scores_
        for X in (frame, other)
    ]
    assert not found[0].supports[0].csr.toarray()[0, 2]  # the heights
    np.testing.assert_array_equal(found[0].per_fold, found[1].per_fold)


@pytest.mark.parametrize("missing", ["kernel", "impute", "drop", "error"])
def test_four_ways_for_missing_values(missing):
    frame, y = people()
    frame = frame.drop(columns=["name", "since"])
    model = kp.PathCV(
        predictor="weighted_kernel", cv=3, n_features=[2], missing=missing, references=False
    )
    if missing == "error":
        with pytest.raises(kp.DataError, match="contains NaN in columns 'age'"):
            model.fit(frame, y)
    elif missing == "drop":
        with pytest.warns(MissingValuesWarning, match="with missing values"):
            model.fit(frame, y)
    else:
        model.fit(frame, y)
        assert len(model.predict(frame)) == len(y)


def test_a_rare_class_counts_as_much_as_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 1.6).astype(int)
    model = kp.PathCV(cv=3, n_features=[1, 2], references=False)
    with pytest.warns(RareClassWarning, match="balanced accuracy"):
        model.fit(X, y)
    assert model.scores_.scoring == "balanced_accuracy"
    assert model.scores_.mean.max() > 0.8
    plain = kp.PathCV(cv=3, n_features=[1, 2], scoring="accuracy", references=False).fit(X, y)
    assert plain._run.study.task.class_weight is None
    ranked = kp.PathCV(cv=3, n_features=[1, 2], scoring="roc_auc", references=False).fit(X, y)
    assert ranked._run.study.task.class_weight == "balanced"


def test_identifiers_are_kept_if_the_selector_is_told_to():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"customer_id": rng.permutation(90) + 1000, "c": rng.normal(size=90)})
    y = frame["customer_id"] > 1045
    selector = kp.LpKTASelector(identifiers="keep")
    with pytest.warns(LeakWarning, match="customer_id"):
        model = kp.PathCV(selector, predictor="logistic", cv=3, n_features=[1]).fit(frame, y)
    assert model.operating_point_.feature_names == ("customer_id",)


def test_rankings_by_name_take_holes_and_text():
    frame, y = people()
    frame = frame.drop(columns=["name", "since"])
    found = kp.compare(frame, y, methods=["lp-kta", "f-test", "mutual-info"], cv=3,
                       predictor="logistic", n_features=[1, 2])  # fmt: skip
    assert set(found.scores) == {"lp-kta", "f-test", "mutual-info"}


# -- holes where fit had none ----------------------------------------------------------------------

FATES = {
    "weighted_kernel": "such a value is like no other",
    "joint_rbf": "the median of fit stands for a number",
    "logistic": "the median of fit stands for a number",
    "boosting": "they go where most rows of fit went",
    "forest": "they go where most rows of fit went",
}


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_holes_that_fit_has_not_seen_are_said_once_with_what_is_done(predictor):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 4)), columns=["a", "b", "c", "d"])
    frame.loc[:5, "b"] = np.nan
    y = frame["a"] + frame["b"].fillna(0) + frame["c"] > 0
    model = kp.PathCV(cv=2, predictor=predictor, n_features=[3], references=False).fit(frame, y)
    assert set(model.operating_point_.feature_names) == {"a", "b", "c"}
    holes = frame.head(8).copy()
    holes.loc[2:3, ["a", "b", "c"]] = np.nan
    file = io.BytesIO()
    model.save(file)
    for one in (model, kp.load_model(io.BytesIO(file.getvalue()))):
        with pytest.warns(MissingValuesWarning, match="columns 'a', 'c', where fit had") as caught:
            one.predict(holes)
        assert len(caught) == 1
        assert FATES[predictor] in str(caught[0].message)
        one.predict(frame)  # nothing new
        one.predict(holes.drop(columns="d").assign(a=0.0, c=0.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: kp.PathCV(cv=2, predictor="weighted_kernel", n_features=[2], missing="impute"),
        lambda: kp.GMKLClassifier(),
        lambda: kp.L1KRClassifier(norm_budget=0.1, search_branches=False),
    ],
)
def test_who_imputes_says_so_of_holes_that_are_new(make):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame.loc[:5, "b"] = np.nan
    model = make().fit(frame, frame["a"] + 0.5 * rng.normal(size=60) > 0)
    model.predict(frame)
    holes = frame.assign(a=np.nan)
    with pytest.warns(MissingValuesWarning, match="column 'a', .* the median, or the most"):
        found = model.predict(holes)
    np.testing.assert_array_equal(found, model.predict(frame.assign(a=frame["a"].median())))


# -- names that are no text ------------------------------------------------------------------------


@pytest.mark.parametrize("predictor", ["logistic", "weighted_kernel", LogisticRegression()])
def test_names_that_are_numbers_are_known_as_text(predictor):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=[10, 20, 30, 40])
    y = frame[30] + rng.normal(size=60) > 0
    model = kp.PathCV(cv=2, predictor=predictor, n_features=[1], references=False).fit(frame, y)
    assert model.path_.feature_names.tolist() == ["10", "20", "30", "40"]
    assert model.operating_point_.feature_names == ("30",)
    assert model.get_feature_names_out().tolist() == ["30"]
    assert not hasattr(model, "feature_names_in_")  # as scikit-learn has it
    models = [model]
    if isinstance(predictor, str):
        file = io.BytesIO()
        model.save(file)
        models.append(kp.load_model(io.BytesIO(file.getvalue())))
    expected, column = model.predict(frame), frame[[30]].to_numpy()
    for one in models:
        for rows in (frame, frame[[40, 30, 20, 10]], frame[[30]]):
            np.testing.assert_array_equal(one.predict(rows), expected)
            np.testing.assert_array_equal(one.transform(rows), column)
        np.testing.assert_array_equal(one.predict(frame.to_numpy()), expected)
        with pytest.raises(kp.DataError, match="lacks column '30'"):
            one.predict(frame[[10]])


def test_rows_whose_names_are_numbers_in_another_order_are_not_taken_by_place():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=[1, 0])
    model = kp.GMKLClassifier().fit(frame, frame[0] + rng.normal(size=60) > 0)
    model.predict(frame)
    with pytest.raises(kp.DataError, match="names should match"):
        model.predict(frame[[0, 1]])


def test_numbers_that_are_written_otherwise_in_new_rows_are_read_and_said():
    frame, y = people()
    numbers = frame[["age", "height"]].round(2)
    model = kp.PathCV(cv=3, n_features=[2], predictor="logistic", references=False)
    expected = model.fit(numbers, y).predict(numbers)
    text = numbers.map(lambda x: None if np.isnan(x) else str(x).replace(".", ","))
    file = io.BytesIO()
    model.save(file)
    for one in (model, kp.load_model(io.BytesIO(file.getvalue()))):
        with pytest.warns(ReadingWarning, match="New rows were read as numbers with a decimal c"):
            np.testing.assert_array_equal(one.predict(text), expected)

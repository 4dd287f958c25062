"""Columns that alone tell nearly everything."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.neighbors import KNeighborsClassifier

import kernelpath as kp
from kernelpath.errors import LeakWarning
from kernelpath.evaluation.leaks import EVERYTHING, PERFECT, TOGETHER, Landmarks, Leak

RNG = np.random.default_rng(0)
NOISE = pd.DataFrame(RNG.normal(size=(120, 5)), columns=list("abcde"))
Y = (NOISE["a"] + NOISE["b"] + RNG.normal(size=120) > 0).astype(int)
QUICK = {"cv": 3, "predictor": "logistic", "n_features": [1, 2, 3, 4]}


def fitted(X, y, **options):
    return kp.PathCV(**QUICK | options).fit(X, y)


def test_a_copy_of_the_target_is_named():
    table = NOISE.assign(earnings=Y * 2.0 + 1)
    with pytest.warns(LeakWarning, match="Column 'earnings' alone reaches 1.000, nearly perfect"):
        model = fitted(table, Y)
    (leak,) = model.leaks_
    assert (leak.name, leak.column, leak.kind) == ("earnings", 5, PERFECT)
    (notice,) = (one for one in model.summary()["notices"] if one["kind"] == "leak")
    assert notice["text"] == str(leak)
    file = io.BytesIO()
    model.save(file)
    again = kp.load_model(io.BytesIO(file.getvalue()))
    assert again.leaks_ == model.leaks_
    assert notice in again.summary()["notices"]


def test_a_curve_of_the_target_is_named_though_the_model_is_linear():
    table = pd.DataFrame(RNG.normal(size=(400, 5)), columns=list("abcde"))
    target = table["a"] + RNG.normal(size=400)
    with pytest.warns(LeakWarning, match="'cubic'"):
        model = fitted(table.assign(cubic=target**3), target)
    assert model.leaks_[0].score > model.scores_.mean.max()


def test_a_category_of_many_values_is_looked_at_though_it_is_ranked_last():
    rng = np.random.default_rng(1)
    model = rng.integers(0, 40, 240)
    kind = np.arange(40) % 3
    y = np.where(rng.random(240) < 0.9, kind[model], rng.integers(0, 3, 240))
    table = pd.DataFrame(rng.normal(size=(240, 4)) + 0.6 * y[:, None], columns=list("abcd"))
    table = table.assign(model=[f"model {i}" for i in model])
    published = kp.LpKTASelector(statistic="alignment", bandwidth="std")
    fit = fitted(table, y, selector=published, predictor="auto", n_features=[1, 2, 3, 4, 5])
    assert fit.path_.entry_order()[-1] == 4  # p-values put it earlier
    (leak,) = fit.leaks_
    assert (leak.name, leak.kind) == ("model", EVERYTHING)
    assert fit.scores_.mean[:4].max() < leak.score - 0.1  # the curve itself does not tell


def test_a_category_of_many_values_that_tells_little_is_not_named():
    rng = np.random.default_rng(2)
    table = NOISE.assign(town=[f"town {i}" for i in rng.integers(0, 30, 120)])
    assert fitted(table, Y).leaks_ == ()


def test_two_columns_that_add_up_to_the_target_are_named():
    table = pd.DataFrame(RNG.normal(size=(300, 6)), columns=list("abcdef"))
    target = table["b"] + 0.8 * table["e"]
    with pytest.warns(LeakWarning, match="Columns 'b' and 'e' together reach 1.000, nearly"):
        model = fitted(table, target)
    (leak,) = model.leaks_
    assert (leak.name, leak.others, leak.kind) == ("b", ("e",), TOGETHER)
    file = io.BytesIO()
    model.save(file)
    again = kp.load_model(io.BytesIO(file.getvalue()))
    assert again.leaks_ == model.leaks_
    assert {"kind": "leak", "text": str(leak)} in again.summary()["notices"]


def test_classes_may_be_told_apart_by_two_columns():
    table = pd.DataFrame(RNG.normal(size=(300, 6)), columns=list("abcdef"))
    far = (table["b"] + table["e"]).abs() > 0.8
    model = fitted(table[far], (table["b"] + table["e"] > 0)[far])
    assert model.scores_.mean.max() > 0.99
    assert model.leaks_ == ()


def test_few_rows_may_be_told_apart_by_two_columns():
    table = pd.DataFrame(RNG.normal(size=(80, 6)), columns=list("abcdef"))
    assert fitted(table, table["b"] + 0.8 * table["e"]).leaks_ == ()


def test_a_leak_is_found_behind_the_first_column():
    table = NOISE.assign(almost=np.where(RNG.random(120) < 0.03, 1 - Y, Y), leak=Y)[
        [*"abcde", "almost", "leak"]
    ]
    with pytest.warns(LeakWarning):
        model = fitted(table, Y)
    assert "leak" in {one.name for one in model.leaks_ if one.kind == PERFECT}


def test_a_leak_is_found_though_the_curve_falls_behind_it():
    """Neighbours in many columns of noise are no neighbours."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(150, 12)), columns=[f"n{j}" for j in range(12)])
    y = (table["n0"] + 0.3 * rng.normal(size=150) > 0).astype(int)
    model = fitted(table, y, n_features=[1, 12], predictor=KNeighborsClassifier())
    assert model.scores_.mean[0] > model.scores_.mean[1] + 0.05
    assert [(leak.name, leak.kind) for leak in model.leaks_] == [("n0", EVERYTHING)]


def test_a_column_that_does_as_well_as_a_poor_curve_is_no_leak():
    """Boosting of all columns knows much more: the curve is what is poor, not the column great."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    target = table["a"] + 3 * table["b"] * (table["c"] > 0) - 1.5 * table["b"]
    model = fitted(table, target, n_features=[1])
    assert model.reference_scores_["boosting"].mean > model.scores_.mean[0] + 0.3
    assert model.leaks_ == ()


def test_a_single_honest_predictor_is_told_without_a_warning():
    noisy = (NOISE["a"] + 0.6 * RNG.normal(size=120) > 0).astype(int)
    model = fitted(NOISE, noisy)  # a warning would be an error
    assert {one.kind for one in model.leaks_} <= {EVERYTHING}
    told = [one["text"] for one in model.summary()["notices"] if one["kind"] == "one_feature"]
    assert len(told) == len(model.leaks_)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_diabetes])
def test_honest_tables_give_no_alarm(load):
    model = fitted(*load(return_X_y=True, as_frame=True))
    assert all(one.kind == EVERYTHING for one in model.leaks_)


@pytest.mark.parametrize(
    ("table", "target"),
    [
        (pd.DataFrame({"only": Y * 1.0}), Y),  # one column: nothing to be told apart
        (NOISE.iloc[:20].assign(leak=Y), Y[:20]),  # few rows
        (NOISE, pd.Series(RNG.permutation(Y))),  # nothing is known
    ],
)
def test_no_leak_is_named_where_it_means_little(table, target):
    assert fitted(table, target, n_features=[1]).leaks_ == ()


def test_without_references_nobody_looks():
    assert fitted(NOISE.assign(leak=Y), Y, references=False).leaks_ == ()


@pytest.mark.parametrize(
    ("score", "kind"), [(0.996, PERFECT), (0.897, EVERYTHING), (0.89, ""), (0.4, "")]
)
def test_kinds_by_the_distance_from_perfect_and_from_the_best(score, kind):
    assert Landmarks(chance=0.5, best=0.9, perfect=1.0).kind(score) == kind


def test_a_measure_without_a_perfect_score():
    marks = Landmarks(chance=0.5, best=0.9, perfect=float("nan"))
    assert marks.kind(0.9) == EVERYTHING
    assert marks.kind(0.7) == ""
    assert marks.tell(se=0.01)
    assert not marks.tell(se=0.3)


def test_other_kinds_are_refused():
    with pytest.raises(ValueError, match="a leak cannot be"):
        Leak(0, "a", 1.0, 1.0, "else")

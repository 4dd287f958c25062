"""``kernelpath compare --methods l1kr``: the ranking, and the tables that it refuses."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cli.helpers import FOLDS, assert_refused, done, run, save_csv
from kernelpath.estimators import rankers
from kernelpath.estimators.l1kr import L1KRRegressor
from kernelpath.estimators.rankers import L1KR_BUDGETS, weights_at_best_point


@pytest.fixture(scope="module")
def product():
    """Columns of which only the product of the first two counts, a twin and a constant."""
    X = np.random.default_rng(0).normal(size=(80, 5))
    return np.column_stack([X, X[:, 0], np.ones(80)]), X[:, 0] * X[:, 1]


def test_features_by_weight_then_by_entry(product):
    X, y = product
    scores = weights_at_best_point(X, y, "regression")
    with pytest.warns(UserWarning, match="constant"):
        model = L1KRRegressor(norm_budget=L1KR_BUDGETS, search_branches=False).fit(X, y)
    order = np.argsort(-scores, kind="stable")
    held = np.flatnonzero(model.weights_ > 0)
    assert order[: len(held)].tolist() == held[np.argsort(-model.weights_[held])].tolist()
    assert sorted(order[:2].tolist()) == [0, 1]
    entered = [event.feature for event in model.path_.events if event.kind == "enter"]
    later = [i for i in dict.fromkeys(entered) if model.weights_[i] == 0]
    assert order[len(held) : len(held) + len(later)].tolist() == later
    assert np.count_nonzero(scores) == len(held) + len(later)
    assert scores[5] == scores[6] == 0.0  # twin and constant


def test_two_classes(product):
    X, y = product
    scores = weights_at_best_point(X, np.where(y > 0, "sick", "well"), "classification")
    assert sorted(np.argsort(-scores)[:2].tolist()) == [0, 1]


def test_wide_tables_are_screened(product):
    X, y = np.abs(product[0][:, :5]), product[0][:, 2] ** 2
    scores = weights_at_best_point(X, y, "regression", most=2)
    assert np.argmax(scores) == 2
    assert np.count_nonzero(scores) <= 2


@pytest.mark.parametrize("target", ["two", "number"])
def test_l1kr_in_a_comparison(tmp_path, frame, target):
    level = np.abs(frame["g3"])
    frame = frame.assign(
        outcome=level if target == "number" else frame["outcome"],
        town=np.where(np.arange(60) % 3, "Ulm", "Bonn"),
        flat=1.0,
    )
    file = save_csv(tmp_path, frame[["g2", "g3", "town", "flat", "outcome"]])
    result = done("compare", file, "-t", "outcome", "--cv", 2, "--sizes", "1,2", "--predictor",
                  "weighted_kernel", "--methods", "f-test,l1kr", "--kernel", "auto",
                  "--json")  # fmt: skip
    found = json.loads(result.stdout)
    scores = {one["name"]: one["score"] for one in found["methods"]}
    assert list(scores) == ["f-test", "l1kr"]
    assert scores["l1kr"][0] > found["chance"] + 0.2


def test_more_columns_than_it_looks_at_are_named(monkeypatch, table):
    monkeypatch.setattr(rankers, "MOST_COLUMNS", 3)
    ranked = []
    monkeypatch.setattr(
        rankers,
        "weights_at_best_point",
        lambda X, y, task: ranked.append(X.shape) or np.arange(X.shape[1]),
    )
    result = done("compare", table, "-t", "outcome", *FOLDS, "--methods", "l1kr", "--json")
    assert "l1kr looks at 3 columns only" in " ".join(json.loads(result.stdout)["notes"])
    assert ranked


def test_three_classes_are_refused(tmp_path, frame):
    three = frame.assign(outcome=np.array(["a", "b", "c"])[np.arange(60) % 3])
    result = run("compare", save_csv(tmp_path, three), "-t", "outcome", "--methods", "l1kr,f-test")
    assert_refused(result, "two classes", "'outcome' has 3", "leave it out of --methods")


def test_many_rows_are_refused(tmp_path):
    rows = pd.DataFrame({"a": np.arange(2001.0), "y": np.arange(2001.0) ** 2})
    result = run("compare", save_csv(tmp_path, rows), "-t", "y", "--methods", "l1kr")
    assert_refused(result, "at most 1,000 rows", "2,001")

"""The catalogue: one entry a method, and what each says of itself is true."""

from __future__ import annotations

import dataclasses
import json
from importlib import import_module

import numpy as np
import pytest

import kernelpath as kp
from baseline_examples import draw_less
from kernelpath import catalogue
from kernelpath.catalogue import CLASSES, METHODS, NUMBERS
from kernelpath.estimators._base import PathSelector
from kernelpath.estimators.rankers import RANKINGS, Ranker, ranked_path
from kernelpath.tracers.any_selector import BASELINES, trace


@pytest.fixture(scope="module")
def tables():
    X = np.random.default_rng(0).normal(size=(60, 5))
    labels, numbers = np.where(X[:, 1] > 0, "sick", "well"), X[:, 1] + X[:, 2]
    X -= X.min(axis=0)  # not every method takes negative values
    return {CLASSES: (X, labels), NUMBERS: (X, numbers)}


def cases():
    """Those that need another package have tests of their own."""
    own = [(name, entry) for name, entry in METHODS.items() if not entry.needs]
    return [(name, task) for name, entry in own for task in entry.tasks]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "task"), cases())
def test_every_entry_makes_a_selector_that_can_be_traced(monkeypatch, tables, name, task):
    draw_less(monkeypatch)
    X, y = tables[task]
    entry = METHODS[name]
    selector = entry.selector(task, catalogue.budgets(entry, 5))
    found = trace(selector, X, y)
    assert 1 in found.at(3).columns
    assert bool(getattr(selector, "weights_inside", False)) == entry.weights_inside
    compared = entry.compared_selector(task, [1, 2, 3], kernel="rbf", seed=0, n_jobs=1)
    assert 1 in trace(compared, X, y).at(3).columns
    # A comparison scores all sizes; weights inside a kernel are no weights of a sum.
    assert not getattr(compared, "weights_inside", False)


def test_all_competitors_and_rankings_are_there():
    made = {
        type(entry.selector(entry.tasks[0], [1])).__name__
        for entry in METHODS.values()
        if entry.guide == "baselines" and not entry.needs
    }
    # Two names are older than their classes, and rank the columns as they stand.
    older = {"forest": "ForestRanking", "mutual-info": "MutualInformation"}
    assert set(older) <= set(METHODS)
    assert made | set(older.values()) == set(kp.baselines.__all__)
    assert set(RANKINGS) <= set(METHODS)
    assert set(catalogue.BASELINES) == set(BASELINES)
    assert {name.replace("_", "-") for name in BASELINES} <= set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_settings_are_those_of_the_selector(name):
    entry = METHODS[name]
    values = {"C": 0.5, "kernel": "linear", "seed": 3}
    known = {key: values[key] for key in entry.settings if key in values}
    selector = entry.selector(entry.tasks[0], [1, 2], **known)
    for key, value in known.items():
        held = ("base_kernel", "kernel") if key == "kernel" else (key,)
        assert value in [getattr(selector, one, None) for one in held]
    with pytest.raises(ValueError, match=f"a setting of {name}"):
        entry.selector(entry.tasks[0], [1], colour=1)


def test_entries_are_frozen_and_complete():
    for name, entry in METHODS.items():
        assert entry.name == name
        assert entry.kind in ("path", "choice", "ranking")
        assert entry.text in ("kernel", "codes", "no")
        assert entry.label
        assert entry.paper.endswith(".")
        assert entry.line[0].islower() or entry.line[0] == "F"
        json.dumps(entry.as_dict())
        with pytest.raises(dataclasses.FrozenInstanceError):
            entry.name = "other"


def test_names_are_found_and_missed():
    assert catalogue.method("LP_KTA") is METHODS["lp-kta"]
    with pytest.raises(ValueError, match="did you mean 'fisher'"):
        catalogue.method("fischer")


@pytest.mark.parametrize(
    ("name", "task", "n_classes", "n_rows", "words"),
    [
        ("l1kr", CLASSES, 3, 50, "two classes, and y has 3"),
        ("l1kr", NUMBERS, 0, 2000, "at most 1,000 rows, and there are 2,000"),
        ("forward-stepwise", CLASSES, 4, 50, "two classes, and y has 4"),
        ("bahsic", CLASSES, 2, 6000, "at most 5,000 rows, and there are 6,000"),
        ("svm-lw", NUMBERS, 0, 50, "svm-lw takes classes, and y holds numbers"),
        ("chi-square", NUMBERS, 0, 50, "chi-square takes classes, and y holds numbers"),
        ("lasso-lw", CLASSES, 2, 50, "lasso-lw takes numbers, and y holds classes"),
    ],
)
def test_tables_that_a_method_cannot_use(name, task, n_classes, n_rows, words):
    why = METHODS[name].why_not(task, n_classes, n_rows)
    assert words in why[0]
    assert why[1]


def test_tables_that_it_can_use():
    assert METHODS["l1kr"].why_not(CLASSES, 2, 1000) is None
    assert METHODS["lp-kta"].why_not(CLASSES, 30, 10**6) is None


def test_budgets_of_wide_tables():
    assert catalogue.budgets(METHODS["nmmkl"], 1000)[-1] == catalogue.MOST_BUDGETS
    assert catalogue.budgets(METHODS["fisher"], 100) is None
    grid = catalogue.budgets(METHODS["fisher"], 2000)
    assert (grid[-1], len(grid) < 60) == (2000, True)


def test_the_table():
    table = kp.methods()
    assert table.index.tolist() == list(METHODS)
    assert table.loc["l1kr", "most_classes"] == 2
    assert table["most_rows"].isna().sum() == len(METHODS) - 3
    assert table.loc["svm-lw", "tasks"] == CLASSES
    assert table.loc[table["weights_inside"]].index.tolist() == ["gmkl-product", "l1kr"]


def test_a_function_is_not_replaced_by_its_module():
    import_module("kernelpath.catalogue")
    import_module("kernelpath.comparison")
    assert callable(kp.methods)
    assert callable(kp.compare)


def test_a_ranking_as_a_path(tables):
    X, y = tables[CLASSES]
    path = ranked_path(Ranker("f-test", CLASSES), X, y, names=list("abcde"))
    assert path.method == "f-test"
    assert path.n_selected.tolist() == [5, 4, 3, 2, 1]
    assert path.at(n_features=1).names == ("b",)
    assert path.provenance["task"] == CLASSES
    assert path.provenance["data"]["n_samples"] == 60


def test_a_saved_model_knows_its_ranking(tables, tmp_path):
    X, y = tables[CLASSES]
    model = kp.PathCV(
        Ranker("f-test", CLASSES), cv=2, predictor="joint_rbf", n_features=[1, 2], references=False
    )
    model.fit(X, y).save(tmp_path / "m.kpmodel")
    again = kp.load_model(tmp_path / "m.kpmodel")
    assert again.selector == Ranker("f-test", CLASSES)
    assert again.fit(X, y).scores_ == model.scores_


def test_weights_of_a_product_are_no_weights_of_a_sum(tables):
    X, y = tables[CLASSES]
    product = kp.GMKLClassifier("product", strengths=5)
    assert isinstance(product, PathSelector)
    with pytest.raises(ValueError, match="inside one kernel"):
        kp.PathCV(product, predictor="weighted_kernel", references=False).fit(X, y)
    assert not kp.GMKLClassifier().weights_inside


@pytest.mark.parametrize("name", RANKINGS)
def test_no_ranking_chooses_a_constant_column(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    X[:, 2] = 5.0
    y = (X[:, 0] > 0).astype(int)
    scores = Ranker(name, CLASSES)(X, y)
    assert np.isnan(scores).tolist() == [False, False, True, False]
    assert scores[0] == np.nanmax(scores)

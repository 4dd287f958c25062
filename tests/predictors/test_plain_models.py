"""Linear models and trees behind a design: the same as scikit-learn's on columns made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from kernelpath.predictors.base import TrainingRows
from kernelpath.predictors.design import Design, Filling
from kernelpath.predictors.linear import LinearPredictor, logistic_coefficients
from kernelpath.predictors.svm import Task
from kernelpath.predictors.trees import BoostingPredictor, ForestPredictor, Trees
from kernelpath.tables.table import Table
from kernelpath.tracers.any_selector import ChoicesBySize

RNG = np.random.default_rng(0)
N = 150
NUMBERS = RNG.normal(size=(N, 3))
CODES = RNG.integers(0, 4, N).astype(float)
HOLES = RNG.random(N) < 0.2
X = np.column_stack([NUMBERS, CODES])
X[HOLES, 1] = np.nan
X[::9, 3] = np.nan
ROWS = Table(X, None, np.array([False, False, False, True]))
TWO = (NUMBERS[:, 0] + (CODES == 2) > 0.3).astype(int)
THREE = np.digitize(NUMBERS[:, 0], [-0.5, 0.5])
WAVE = np.sin(NUMBERS[:, 0]) + HOLES
TARGETS = {"two": TWO, "three": THREE, "numbers": WAVE}


def by_hand(scaled):
    """Median and indicator for the holes, one column per category, missing being one of them."""
    middle = np.nanmedian(X[:, 1])
    codes = np.where(np.isnan(X[:, 3]), -1.0, X[:, 3])
    known, counts = np.unique(codes, return_counts=True)
    hot = [codes == known[i] for i in np.argsort(-counts, kind="stable")]
    columns = [X[:, 0], np.where(HOLES, middle, X[:, 1]), HOLES, X[:, 2], *hot]
    made = np.column_stack(columns).astype(float)
    return (made - made.mean(axis=0)) / made.std(axis=0) if scaled else made


def part_of(name):
    y = TARGETS[name]
    task = Task("regression") if name == "numbers" else Task("classification", np.unique(y))
    return TrainingRows(ROWS, y, task, ChoicesBySize(4, order=np.arange(4)))


def only(predictor, part, setting):
    (candidate,) = predictor.models(part, [(4, [setting])], part.rows)
    return candidate, candidate.build()


def test_designs_are_those_made_by_hand():
    for scaled in (True, False):
        design = Design.fit(ROWS, np.arange(4), scaled=scaled)
        np.testing.assert_allclose(design.apply(ROWS), by_hand(scaled), atol=1e-12)
    again = Design.from_arrays(design.to_arrays())
    np.testing.assert_array_equal(again.apply(ROWS), design.apply(ROWS))
    kept = design.apply(ROWS, holes=True)
    np.testing.assert_array_equal(np.isnan(kept[:, 1]), HOLES)


@pytest.mark.parametrize("holes", [False, True])
def test_sparse_designs(holes):
    S = sparse.random(60, 5, 0.3, random_state=0, format="csr")
    S.data[:: 4 if holes else 1000] = np.nan if holes else 1.0
    plain = np.zeros(5, bool)
    ours = Design.fit(Table(S, None, plain), np.array([1, 3]), scaled=False)
    theirs = Design.fit(Table(S.toarray(), None, plain), np.array([1, 3]), scaled=False)
    made = ours.apply(Table(S, None, plain))
    assert sparse.issparse(made) == (not holes)  # indicators are dense
    want = theirs.apply(Table(S.toarray(), None, plain))
    np.testing.assert_allclose(made.toarray() if sparse.issparse(made) else made, want)


def test_a_new_category_has_no_column():
    design = Design.fit(ROWS, np.array([3]), scaled=False)
    assert not design.apply(Table(np.full((1, 4), 9.0), None, ROWS.categorical)).any()


def test_fillings_say_where_numbers_were_missing():
    filling = Filling.fit(ROWS, np.array([1, 3]))
    table = filling.apply(ROWS)
    np.testing.assert_array_equal(table.values[:, 2], HOLES)
    assert table.categorical.tolist() == [False, True, True]
    np.testing.assert_array_equal(table.values[HOLES, 0], np.nanmedian(X[:, 1]))
    np.testing.assert_array_equal(filling.of(np.array([1])), [0, 2])


@pytest.mark.parametrize("name", TARGETS)
def test_linear_models_are_those_of_scikit_learn(name):
    part, y = part_of(name), TARGETS[name]
    candidate, model = only(LinearPredictor(), part, {"C": 0.5})
    made = by_hand(scaled=True)
    if name == "numbers":
        z = (y - y.mean()) / y.std()
        want = Ridge(alpha=2.0).fit(made, z).predict(made) * y.std() + y.mean()
        np.testing.assert_allclose(model.predict(ROWS), want, atol=1e-9)
        return
    theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(made, y)
    np.testing.assert_allclose(model.proba(ROWS), theirs.predict_proba(made), atol=1e-3)
    np.testing.assert_array_equal(candidate.outputs.predict(None), model.predict(ROWS))


@pytest.mark.parametrize("shape", [(60, 4), (60, 60), (20, 90)])
def test_newton_steps_end_at_the_minimum_whatever_the_start(shape):
    rng = np.random.default_rng(8)
    A, weight = rng.normal(size=shape), rng.uniform(0.5, 3.0, shape[0])
    up = A[:, 0] + rng.normal(size=shape[0]) > 0.3
    values_of_C = [10.0, 0.01, 1.0]
    found = logistic_coefficients(A, up, weight, values_of_C)
    assert sorted(found) == sorted(values_of_C)
    for C, coef in found.items():
        theirs = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(A, up, weight)
        np.testing.assert_allclose(coef[:-1], theirs.coef_[0], atol=1e-4)
        np.testing.assert_allclose(coef[-1], theirs.intercept_[0], atol=1e-4)


def test_newton_steps_bear_classes_that_a_column_separates():
    A = np.array([[-1e3], [-1.0], [1.0], [1e3]])
    coef = logistic_coefficients(A, A[:, 0] > 0, np.ones(4), [1e6])[1e6]
    assert np.isfinite(coef).all()
    assert ((A[:, 0] * coef[0] + coef[1] > 0) == (A[:, 0] > 0)).all()


@pytest.mark.parametrize("name", TARGETS)
def test_boosting_is_that_of_scikit_learn(name):
    part, y = part_of(name), TARGETS[name]
    _, model = only(BoostingPredictor(), part, {"max_leaf_nodes": 8})
    made = np.where(np.isnan(Design.fit(ROWS, np.arange(4), scaled=False).apply(ROWS, holes=True)),
                    np.nan, by_hand(scaled=False))  # fmt: skip
    made[HOLES, 1] = np.nan
    options = {"max_leaf_nodes": 8, "early_stopping": False, "min_samples_leaf": 5, "max_iter": 100}
    if name == "numbers":
        z = (y - y.mean()) / y.std()
        theirs = HistGradientBoostingRegressor(random_state=0, **options).fit(made, z)
        want = theirs.predict(made) * y.std() + y.mean()
        np.testing.assert_allclose(model.predict(ROWS), want, atol=1e-9)
    else:
        theirs = HistGradientBoostingClassifier(random_state=0, **options).fit(made, y)
        np.testing.assert_allclose(model.proba(ROWS), theirs.predict_proba(made), atol=1e-9)


@pytest.mark.parametrize("name", TARGETS)
def test_forests_are_those_of_scikit_learn(name):
    part, y = part_of(name), TARGETS[name]
    _, model = only(ForestPredictor(), part, {})
    made = Design.fit(ROWS, np.arange(4), scaled=False).apply(ROWS, holes=True)
    if name == "numbers":
        z = (y - y.mean()) / y.std()
        theirs = RandomForestRegressor(100, random_state=0).fit(made, z)
        want = theirs.predict(made) * y.std() + y.mean()
        np.testing.assert_allclose(model.predict(ROWS), want, atol=1e-9)
    else:
        theirs = RandomForestClassifier(100, random_state=0).fit(made, y)
        np.testing.assert_allclose(model.proba(ROWS), theirs.predict_proba(made), atol=1e-9)


def _trees():
    leaf = np.array([[0.0], [1.0], [2.0]])
    return {
        "roots": np.array([0]), "output": np.array([0]), "feature": np.array([0, -1, -1]),
        "left": np.array([1, 0, 0]), "right": np.array([2, 0, 0]),
        "threshold": np.zeros(3), "missing_left": np.array([True, False, False]), "value": leaf,
        "start": np.zeros(1),
    }  # fmt: skip


def test_a_tree_by_hand():
    sums = Trees(**_trees()).sums(np.array([[-1.0], [0.0], [0.5], [np.nan]]))
    assert sums[:, 0].tolist() == [1.0, 1.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left", np.array([0, 0, 0])),  # in circles
        ("right", np.array([9, 0, 0])),
        ("feature", np.array([4, -1, -1])),
        ("roots", np.array([3])),
        ("output", np.array([1])),
        ("start", np.zeros(2)),
    ],
)
def test_trees_that_lead_nowhere_are_refused(name, value):
    Trees(**_trees()).check(1, 1)
    with pytest.raises(ValueError, match="do not fit together"):
        Trees(**(_trees() | {name: value})).check(1, 1)

"""The L1KR estimator: predictions, choices along the path, tables and settings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

import kernelpath as kp
from kernelpath import L1KRRegressor
from kernelpath.errors import MissingValuesWarning
from kernelpath.tables.standardize import check_size

RNG = np.random.default_rng(0)
N, D = 120, 6
X = RNG.uniform(size=(N, D))
Y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 5 * X[:, 2] + 3.0
NEW = RNG.uniform(size=(40, D))
TRUE = 10 * np.sin(np.pi * NEW[:, 0] * NEW[:, 1]) + 5 * NEW[:, 2] + 3.0


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_an_effect_of_two_features_together(kernel):
    model = L1KRRegressor(kernel, norm_budget=1.0).fit(X, Y)
    assert np.mean((model.predict(NEW) - TRUE) ** 2) < 0.02 * TRUE.var()
    assert set(np.argsort(-model.weights_)[:3].tolist()) == {0, 1, 2}
    assert model.path_.kkt.max() < 1e-6
    residual = Y - model.predict(X, position=model.position_)
    loss = model.path_.values[model.position_] * Y.var()
    assert np.sum(residual**2) == pytest.approx(loss, rel=1e-6, abs=1e-9)
    assert model.score(NEW, TRUE) > 0.98


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_features_that_do_not_matter_are_pruned(noise):
    y = Y + noise * np.random.default_rng(1).normal(size=N)
    whole, model = (L1KRRegressor(norm_budget=1.0, prune=p).fit(X, y) for p in (False, True))
    assert set(np.flatnonzero(model.support_)) == {0, 1, 2}
    assert whole.support_.sum() > 3
    np.testing.assert_array_equal(whole.predict(NEW), model.predict(NEW, model.position_))
    np.testing.assert_array_equal(model.weights_, np.where(model.support_, whole.weights_, 0.0))
    errors = [np.mean((one.predict(NEW) - TRUE) ** 2) for one in (model, whole)]
    assert errors[0] < errors[1]
    # The machine is that of plain ridge regression in the kernel that is left.
    Z, New = ((part - X.mean(axis=0)) / X.std(axis=0) for part in (X, NEW))
    scaled = np.sqrt(model.weights_)
    K, k = (np.exp(-cdist(A * scaled, Z * scaled, "sqeuclidean")) for A in (Z, New))
    ones = np.ones((N, 1))
    system = np.block([[K + model.ridge_ * np.eye(N), ones], [ones.T, np.zeros((1, 1))]])
    alpha = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(k @ alpha[:N] + alpha[N], model.predict(NEW), rtol=1e-6)


def test_pruning_is_the_choice_of_plain_loops():
    """Rows are left out one by one, of the kernels with the k largest weights."""
    whole = L1KRRegressor(norm_budget=1.0, prune=False).fit(X, Y)
    order = np.argsort(-whole.weights_)
    order = order[whole.weights_[order] > 0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    errors = np.zeros((len(order), N))
    for k in range(1, len(order) + 1):
        scaled = np.sqrt(np.where(np.isin(np.arange(D), order[:k]), whole.weights_, 0.0))
        K = np.exp(-cdist(Z * scaled, Z * scaled, "sqeuclidean"))
        for i in range(N):
            rest = np.delete(np.arange(N), i)
            ones = np.ones((N - 1, 1))
            system = np.block(
                [[K[np.ix_(rest, rest)] + whole.ridge_ * np.eye(N - 1), ones], [ones.T, 0.0]]
            )
            alpha = np.linalg.solve(system, np.append(Y[rest], 0.0))
            errors[k - 1, i] = (K[i, rest] @ alpha[:-1] + alpha[-1] - Y[i]) ** 2
    best = errors.mean(axis=1).argmin()
    more = errors - errors[best]
    enough = more.mean(axis=1) <= more.std(axis=1, ddof=1) / np.sqrt(N)
    chosen = order[: int(enough.argmax()) + 1]
    model = L1KRRegressor(norm_budget=1.0).fit(X, Y)
    assert set(np.flatnonzero(model.support_)) == set(chosen.tolist())


def test_the_best_of_several_budgets():
    model = L1KRRegressor(norm_budget=[0.01, 1.0]).fit(X, Y)
    assert model.norm_budget_ == 1.0
    worse = L1KRRegressor(norm_budget=0.01).fit(X, Y)
    assert model.leave_one_out_.min() < worse.leave_one_out_.min()


def test_another_point_of_the_path():
    model = L1KRRegressor(norm_budget=0.3).fit(X, Y)
    early = np.mean((model.predict(NEW, position=2) - TRUE) ** 2)
    assert early > np.mean((model.predict(NEW) - TRUE) ** 2)
    events = [event.kind for event in model.path_.events]
    assert events.count("enter") - events.count("leave") == model.path_.n_selected[-1]


def test_copies_constant_columns_and_units():
    Z = np.column_stack([X, -3.0 * X[:, 0] + 7.0, np.full(N, 2.0)])
    with pytest.warns(UserWarning, match="Column 7 is constant"):
        model = L1KRRegressor(norm_budget=0.3).fit(Z, Y)
    plain = L1KRRegressor(norm_budget=0.3).fit(X * 1e6, Y * 1e-6)
    assert [tie.tolist() for tie in model.ties_] == [[0, 6]]
    np.testing.assert_allclose(model.weights_[:D], plain.weights_, rtol=1e-6, atol=1e-9)
    assert (model.weights_[D:] == 0.0).all()


def test_a_limit_of_features_and_a_fixed_ridge():
    few = L1KRRegressor(norm_budget=0.3, max_features=2).fit(X, Y)
    assert few.path_.n_selected.max() == 2
    assert few.end_ == "the largest number of features"
    fixed = L1KRRegressor(norm_budget=None, ridge=0.5).fit(X, Y)
    assert fixed.norm_budget_ is None
    assert fixed.ridge_ == pytest.approx(0.5)


def test_a_budget_that_is_too_large_keeps_what_was_found():
    rows = np.repeat(X[:30], 2, axis=0)
    target = np.repeat(Y[:30], 2) + np.tile([1.0, -1.0], 30)
    with pytest.warns(ConvergenceWarning, match="Lower norm_budget"):
        model = L1KRRegressor(norm_budget=100.0).fit(rows, target)
    assert len(model.path_) > 10
    assert np.isfinite(model.predict(NEW)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "gaussia"}, "did you mean 'gaussian'"),
        ({"norm_budget": -1.0}, "norm_budget must be a positive number"),
        ({"norm_budget": [1.0, "a"]}, "norm_budget must be a positive number"),
        ({"norm_budget": "best"}, "norm_budget must be"),
        ({"norm_budget": 1.0, "ridge": 1.0}, "not both"),
        ({"max_features": 0}, "max_features must be a whole number"),
        ({"norm_budget": []}, "got none"),
        ({"norm_budget": None}, "give norm_budget or ridge"),
        ({"norm_budget": None, "ridge": [1.0, -1.0]}, "ridge must be a positive number"),
        ({"degree": None}, "degree must be a whole number"),
        ({"tol": 0}, "tol must be a positive number"),
        ({"solver": "ode", "max_features": 2}, "neither ridge nor max_features"),
        ({"norm_budget": None, "ridge": 1e-9}, "rounding errors hide the path"),
        ({"norm_budget": 1e100}, "more than any machine can have"),
        ({"random_state": -1}, "random_state must be a whole number from 0 on"),
        ({"search_branches": "yes"}, "search_branches must be True or False"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"norm_budget": None, "ridge": 1.0, "solver": "ode"}, "neither ridge nor max_features"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(ValueError, match=words):
        L1KRRegressor(**options).fit(X, Y)


def test_bad_tables():
    with pytest.raises(kp.DataError, match="at least 5 rows"):
        L1KRRegressor().fit(X[:4], Y[:4])
    with pytest.raises(kp.DataError, match=r"constant|same"):
        L1KRRegressor().fit(X, np.ones(N))
    with pytest.raises(kp.DataError, match="fewer"):
        check_size(100_000, 10)


# -- designs, skewed columns and far rows ---------------------------------------------------------


def test_a_balanced_design():
    design = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    model = L1KRRegressor().fit(design, design[:, 0] * design[:, 1])
    assert model.branch_ == "another branch"
    assert model.support_.tolist() == [True, True, False, False]
    assert model.score(design, design[:, 0] * design[:, 1]) > 0.9
    with pytest.warns(ConvergenceWarning, match="no better than the mean.*search_branches=True"):
        L1KRRegressor(search_branches=False).fit(design, design[:, 0] * design[:, 1])
    together = L1KRRegressor(norm_budget=0.3, search_branches=False)
    together.fit(design, design[:, 0] + design[:, 1])
    entered = {
        (event.kind, event.feature) for event in together.path_.events if event.position == 0
    }
    assert entered == {("enter", 0), ("enter", 1)}


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_skewed_columns(seed):
    rng = np.random.default_rng(seed)
    skewed = np.exp(1.5 * rng.normal(size=(80, 6)))
    model = L1KRRegressor(norm_budget=0.3).fit(skewed, skewed[:, 0] / 10 + rng.normal(size=80))
    assert np.isfinite(model.predict(1e300 * skewed)).all()


def test_whole_numbers_are_a_quantity():
    counts = RNG.integers(0, 4, size=N) + (X[:, 0] > 0.5)
    path = L1KRRegressor(norm_budget=0.1, search_branches=False).fit(X, counts).path_
    assert path.summary(X, counts)["data"]["task"] == "regression"


def test_sources_of_chance():
    for source in (None, np.random.RandomState(0), np.int64(3)):
        L1KRRegressor(norm_budget=0.1, random_state=source).fit(X[:40], Y[:40])


def test_ties_in_the_order_of_columns_and_the_most_features():
    twice = np.column_stack([X, X[:, 1], X[:, 0]])
    model = L1KRRegressor(norm_budget=0.1, search_branches=False).fit(twice, Y)
    assert [tie.tolist() for tie in model.ties_] == [[0, 7], [1, 6]]


@pytest.mark.parametrize(
    "estimator", [L1KRRegressor(), kp.LpKTASelector(), kp.GMKLRegressor(), kp.PathCV()]
)
def test_text_in_an_array(estimator):
    table = X.astype(object)
    table[3, 1] = "low"
    with pytest.raises(
        kp.DataError, match="column 1 is mostly numbers but holds text such as 'low'"
    ):
        estimator.fit(table, Y)


def test_columns_of_new_rows_that_are_no_numbers_are_named():
    model = L1KRRegressor(norm_budget=0.1, search_branches=False).fit(X, Y)
    table = NEW.copy()
    table[0, 2] = np.inf
    with pytest.raises(kp.DataError, match="infinity in column 2"):
        model.predict(table)
    table[0, 2] = np.nan  # stands at the median of the rows of fit
    filled = np.where(np.isnan(table), np.median(X, axis=0), table)
    with pytest.warns(MissingValuesWarning, match="missing in column 2, where fit had all"):
        found = model.predict(table)
    np.testing.assert_array_equal(found, model.predict(filled))

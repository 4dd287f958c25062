"""Methods around models of scikit-learn, and elimination, each against a slow, obvious twin."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import (
    RFE,
    VarianceThreshold,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import kernelpath as kp
from baseline_examples import LABELS, STANDARD, THREE, VALUES, D, N, X, Z, against_the_rest
from kernelpath.baselines import (
    CARS,
    RFESVM,
    SPEC,
    ForestRanking,
    MutualInformation,
    PermutationImportance,
    Spectral,
    VarianceFilter,
)
from kernelpath.baselines._linear import SquaredMachine
from kernelpath.baselines.cars import coefficient_weights, sizes_of_rounds
from kernelpath.baselines.forest import dense_ranks, folds_of
from kernelpath.estimators.rankers import Ranker
from kernelpath.tables.content import by_content
from reference import wrappers as slow

RNG = np.random.default_rng(21)
COUNTS = RNG.poisson(np.geomspace(0.5, 400.0, D), size=(N, D)).astype(float)


def order_of(selector):
    return np.argsort(selector.ranking_).tolist()


def test_the_name_of_the_paper():
    assert SPEC is Spectral


@given(st.integers(0, 2**31), st.integers(1, 12))
def test_an_order_that_only_the_content_decides(seed, n_columns):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(9, n_columns))
    shuffled = rng.permutation(n_columns)
    there = A[:, shuffled]
    np.testing.assert_array_equal(A[:, by_content(A)], there[:, by_content(there)])
    assert sorted(by_content(A)) == list(range(n_columns))


# -- forests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [LABELS, THREE, VALUES], ids=["two", "three", "numbers"])
def test_importance_of_scikit_learn(y):
    order = by_content(Z)
    kind = RandomForestRegressor if y is VALUES else RandomForestClassifier
    twin = kind(60, max_features="sqrt", random_state=3)
    twin.fit(dense_ranks(X)[:, order], np.round(STANDARD, 12) if y is VALUES else y)
    found = ForestRanking("all", n_estimators=60, random_state=3, n_jobs=2).fit(X, y)
    np.testing.assert_allclose(found.scores_[order], twin.feature_importances_, rtol=1e-6)
    assert found.scores_.sum() == pytest.approx(1.0)
    if y is VALUES:
        there = ForestRanking("all", n_estimators=60, random_state=3).fit(X, 1e6 * VALUES - 3.0)
        np.testing.assert_allclose(found.scores_, there.scores_, rtol=1e-6)


def test_a_forest_sees_ranks_only():
    here = ForestRanking("all").fit(X, VALUES)
    there = ForestRanking("all").fit(np.exp(Z) * 1e200, VALUES * 1e-9)
    A = X[:, by_content(Z)]  # columns are handed over in another order, but as ranks
    np.testing.assert_array_equal(ForestRanking("all").fit(A, VALUES).scores_,
                                  here.scores_[by_content(Z)])  # fmt: skip
    assert set(order_of(here)[:2]) == set(order_of(there)[:2]) == {5, 1}


def test_the_older_name_is_the_same_forest():
    older = Ranker("forest", "regression")(X, VALUES)
    assert order_of(ForestRanking("all", n_estimators=300).fit(X, VALUES))[:2] == [5, 1]
    assert np.argsort(-older)[:2].tolist() == [5, 1]


def test_losses_by_loops():
    rng = np.random.default_rng(0)
    for y, model, score in (
        (LABELS, LogisticRegression(), lambda m, A, t: np.mean(m.predict(A) == t)),
        (STANDARD, LinearRegression(), lambda m, A, t: m.score(A, t)),
    ):
        selector = PermutationImportance("all", model, n_repeats=60, cv=3).fit(X, y)
        answer = selector._answer(y)
        folds = folds_of(answer, N, 3, 0)
        expected = slow.shuffled_losses(model.fit, score, Z, y, folds, 60, rng)
        np.testing.assert_allclose(selector.weights_, expected, atol=0.06)
        np.testing.assert_array_equal(selector.scores_, np.maximum(selector.weights_, 0.0))
        assert (selector.weights_ < 0).any()
        held = np.sort(np.concatenate([test for _, test in folds]))
        np.testing.assert_array_equal(held, np.arange(N))


def test_the_default_model_is_a_forest():
    selector = PermutationImportance(3, n_repeats=3, cv=2).fit(X, VALUES)
    assert selector.get_support(indices=True).tolist() == [1, 5, 7]
    again = PermutationImportance(3, n_repeats=3, cv=2, n_jobs=2).fit(X, VALUES)
    np.testing.assert_array_equal(selector.weights_, again.weights_)
    other = PermutationImportance(3, n_repeats=3, cv=2, random_state=1).fit(X, VALUES)
    assert not np.array_equal(selector.weights_, other.weights_)


def test_a_score_by_name_and_classes_that_are_rare():
    rare = np.where(np.arange(N) < 3, "a", THREE)
    found = PermutationImportance(2, LogisticRegression(), scoring="balanced_accuracy", cv=5)
    assert found.fit(X, rare).support_.sum() == 2
    with pytest.raises(kp.DataError, match="two rows of every class"):
        found.fit(X, np.where(np.arange(N) < 1, "single", THREE))


# -- elimination ----------------------------------------------------------------------------------


def machine(A, y, C, epsilon=None):
    """Weights of a linear machine with squared errors, and its bias, by cvxpy."""
    w, b = cp.Variable(A.shape[1]), cp.Variable()
    if epsilon is None:
        errors = cp.pos(1 - cp.multiply(y, A @ w + b))
    else:
        errors = cp.pos(cp.abs(y - A @ w - b) - epsilon)
    goal = 0.5 * cp.sum_squares(w) + C * cp.sum_squares(errors)
    cp.Problem(cp.Minimize(goal)).solve(solver="CLARABEL")
    return np.append(w.value, b.value)


@pytest.mark.parametrize("columns", [3, 60, 200])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_machines_with_squared_errors(C, columns):
    rng = np.random.default_rng(columns)
    A = np.column_stack([Z[:, :3], rng.normal(size=(N, columns - 3))])
    for y, epsilon in ((LABELS, None), (STANDARD, 0.1)):
        found = SquaredMachine(y, C, epsilon)
        expected, start = machine(A, y, C, epsilon), rng.normal(size=columns + 1)
        at = found.solve(A)
        assert found._objective(A, at) <= found._objective(A, expected) * (1 + 1e-9)
        np.testing.assert_allclose(at, expected, atol=2e-4)
        np.testing.assert_allclose(found.solve(A, start), at, atol=1e-8)
        # The slope of the objective is 0.
        errors = found._errors(A, at)
        np.testing.assert_allclose(at[:-1], 2.0 * C * A.T @ errors, atol=1e-8 * (1 + C))
        assert errors.sum() == pytest.approx(0.0, abs=1e-8)


def test_elimination_by_scikit_learn():
    """Its machine has a bias that counts in the norm, next to nothing at this scale."""
    model = LinearSVC(C=0.5, dual=False, tol=1e-10, intercept_scaling=1e3, max_iter=10**5)
    twin = RFE(model, n_features_to_select=1).fit(Z, LABELS)
    found = RFESVM("all", C=0.5).fit(X, LABELS)
    np.testing.assert_array_equal(found.ranking_, twin.ranking_)
    assert found.n_rounds_ == D


@pytest.mark.parametrize(("drop", "one_by_one"), [(0.1, 32), (0.3, 4), (0.6, 1)])
@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_elimination_by_loops(kind, drop, one_by_one):
    wide = np.column_stack([Z, np.random.default_rng(8).normal(size=(N, 12))])
    wide = (wide - wide.mean(axis=0)) / wide.std(axis=0)
    y = {"two": LABELS, "three": THREE, "numbers": VALUES}[kind]

    def squares(A):
        if y is VALUES:
            return np.square(machine(A, STANDARD, 0.1, 0.1)[:-1])
        labels = [LABELS] if y is LABELS else against_the_rest(y)
        return np.square([machine(A, label, 0.1)[:-1] for label in labels]).sum(axis=0)

    expected = slow.eliminate(wide, squares, drop, one_by_one)
    found = RFESVM("all", C=0.1, drop=drop, one_by_one=one_by_one).fit(wide, y)
    assert order_of(found) == expected
    assert found.scores_[expected[0]] == 1.0
    assert np.unique(np.round(found.scores_ * found.n_rounds_)).size == found.n_rounds_


def test_what_elimination_sees_and_single_weights_do_not():
    """Copies share a weight, so that one fit underrates them; after rounds one of them is left."""
    rng = np.random.default_rng(5)
    base = rng.normal(size=(120, 4))
    copies = base[:, [0]] + 0.05 * rng.normal(size=(120, 6))
    y = np.sign(1.5 * base[:, 0] + base[:, 1])
    A = np.column_stack([copies, base[:, 1:]])
    first_two = set(order_of(RFESVM("all").fit(A, y))[:2])
    assert 6 in first_two
    assert first_two & set(range(6))


# -- filters --------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [LABELS, THREE, VALUES], ids=["two", "three", "numbers"])
def test_information_of_scikit_learn(y):
    order = by_content(Z)
    measure = mutual_info_regression if y is VALUES else mutual_info_classif
    expected = measure(Z[:, order], y, n_neighbors=4, random_state=2)
    found = MutualInformation("all", n_neighbors=4, random_state=2).fit(X, y).scores_[order]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    older = Ranker("mutual-info", "regression" if y is VALUES else "classification")(X, y)
    np.testing.assert_allclose(MutualInformation("all").fit(X, y).scores_, older, atol=1e-6)


def test_information_of_a_normal_pair():
    rng = np.random.default_rng(2)
    x, noise = rng.normal(size=(2, 3000))
    y = 0.8 * x + 0.6 * noise
    found = MutualInformation("all").fit(np.column_stack([x, noise**2, rng.normal(size=3000)]), y)
    assert found.scores_[0] == pytest.approx(-0.5 * np.log(1 - 0.8**2), abs=0.05)
    assert found.scores_[2] < 0.03


def test_variances():
    plain = VarianceFilter("all").fit(X, LABELS)
    np.testing.assert_allclose(plain.scores_, VarianceThreshold(1e-12).fit(X).variances_)
    assert order_of(plain) == list(range(D))[::-1]
    np.testing.assert_array_equal(plain.scores_, VarianceFilter("all").fit(X, VALUES).scores_)
    expected = {
        "variance": COUNTS.var(axis=0),
        "variation": COUNTS.std(axis=0) / COUNTS.mean(axis=0),
        "log": np.log1p(COUNTS).var(axis=0),
    }
    for measure, scores in expected.items():
        for table in (COUNTS, sparse.csr_array(COUNTS), sparse.csc_matrix(COUNTS)):
            found = VarianceFilter("all", measure=measure).fit(table, LABELS)
            np.testing.assert_allclose(found.scores_, scores, rtol=1e-9)
    here, there = (VarianceFilter("all", measure="variation").fit(A, LABELS)
                   for A in (COUNTS, COUNTS * np.geomspace(1e-200, 1e200, D)))  # fmt: skip
    np.testing.assert_allclose(here.scores_, there.scores_, rtol=1e-9)


def test_variances_of_huge_and_tiny_values():
    A = Z * np.array([1e300, 2e300, 1e-300, 2e-300, 1.0, 2.0, 3.0, 4.0, 5.0])
    found = VarianceFilter("all").fit(A, LABELS)
    assert order_of(found) == [1, 0, 8, 7, 6, 5, 4, 3, 2]
    assert np.isfinite(found.scores_).all()


def test_negative_values_have_no_logarithm():
    for measure in ("variation", "log"):
        with pytest.raises(kp.DataError, match=r"column 0 holds negative values; leave such"):
            VarianceFilter(1, measure=measure).fit(np.column_stack([Z[:, 0], COUNTS]), LABELS)


# -- competition ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [1, 3, D])
def test_coefficients_of_partial_least_squares(n_components):
    b = np.abs(slow.pls(Z, STANDARD, n_components))
    found = coefficient_weights(Z, STANDARD[:, None], n_components)
    np.testing.assert_allclose(found, b / b.sum(), rtol=1e-6, atol=1e-9)
    if n_components == D:  # all components are least squares
        b = np.abs(LinearRegression().fit(Z, STANDARD).coef_)
        np.testing.assert_allclose(found, b / b.sum(), rtol=1e-6)


@pytest.mark.parametrize("y", [LABELS, VALUES], ids=["classes", "numbers"])
def test_the_competition_by_loops(y):
    order = by_content(Z)
    groups = np.zeros(N) if y is VALUES else LABELS
    target = STANDARD if y is VALUES else LABELS
    rng = np.random.default_rng(7)
    runs = [slow.cars_run(Z[:, order], target, groups, 3, 15, 0.7, rng) for _ in range(4)]
    found = CARS("all", n_components=3, n_rounds=15, n_runs=4, row_share=0.7, random_state=7)
    np.testing.assert_allclose(found.fit(X, y).scores_[order], np.mean(runs, axis=0), atol=1e-12)


def test_the_competition_keeps_what_matters():
    wide = np.column_stack([X, RNG.normal(size=(N, 200))])
    found = CARS(3, n_runs=4, n_rounds=20).fit(wide, VALUES)
    assert found.get_support(indices=True).tolist() == [1, 5, 7]
    np.testing.assert_array_equal(found.scores_, found.fit(wide, VALUES).scores_)
    assert CARS(1, n_runs=3).fit(X, THREE).get_support(indices=True).tolist() == [4]
    other = CARS(3, n_runs=4, n_rounds=20, random_state=1).fit(wide, VALUES)
    assert not np.array_equal(found.scores_, other.scores_)


@given(st.integers(1, 5000), st.integers(2, 60))
def test_fewer_and_fewer_columns(n_columns, n_rounds):
    sizes = sizes_of_rounds(n_columns, n_rounds)
    assert sizes[0] == n_columns
    assert sizes[-1] == min(2, n_columns)
    assert (np.diff(sizes) <= 0).all()

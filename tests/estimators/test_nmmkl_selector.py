"""`kp.NMMKLSelector`: the selector, and what users trip over."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import kernelpath as kp
from kernelpath.mkl.feasible_sets import CappedSimplex
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import NoRegularizer
from kernelpath.mkl.solvers.choice import solve
from nmmkl_examples import LABELS, LOSSES, D, N, X, linear

# -- the selector ---------------------------------------------------------------------------------


def test_a_selector_like_any_other():
    selector = kp.NMMKLSelector(3).fit(X, LABELS)
    assert selector.transform(X).shape == (N, 3)
    assert selector.support_.sum() == 3
    assert selector.ratio_ <= selector.bound_ * (1 + 1e-4)
    assert selector.gap_ <= 1e-4
    assert selector.relaxed_weights_.sum() == pytest.approx(3.0)
    assert clone(selector).get_params() == selector.get_params()
    pipeline = make_pipeline(kp.NMMKLSelector(4), SVC()).fit(X, LABELS)
    assert pipeline.score(X, LABELS) > 0.8


def test_text_labels_several_classes_and_sparse_tables():
    from scipy import sparse

    y = np.array(["a", "b", "c"])[np.digitize(X[:, 4], [-0.5, 0.5])]
    selector = kp.NMMKLSelector(1, kernel="rbf").fit(X, y)
    assert selector.get_support(indices=True).tolist() == [4]
    assert selector.classes_.tolist() == ["a", "b", "c"]
    thin = np.where(np.abs(X) > 1, X, 0.0)
    dense = kp.NMMKLSelector(3).fit(thin, LABELS)
    again = kp.NMMKLSelector(3).fit(sparse.csr_array(thin), LABELS)
    np.testing.assert_array_equal(dense.support_, again.support_)


def test_groups_count_once_and_fixed_columns_are_in():
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(D)])
    groups = [j // 3 for j in range(D)]
    selector = kp.NMMKLSelector(2, groups=groups, must_include=["g10"]).fit(frame, LABELS)
    chosen = selector.get_support(indices=True)
    assert len(chosen) == 6
    assert set(chosen.tolist()) >= {9, 10, 11}
    assert {j // 3 for j in chosen.tolist()} == {0, 3}


def test_constant_columns_are_never_chosen():
    Z = np.column_stack([np.ones(N), X[:, :3]])
    with pytest.warns(UserWarning, match="Column 0 is constant"):
        selector = kp.NMMKLSelector(3).fit(Z, LABELS)
    assert selector.get_support(indices=True).tolist() == [1, 2, 3]
    with pytest.warns(UserWarning, match="only 3 features|constant") as caught:
        selector = kp.NMMKLSelector(4).fit(Z, LABELS)
    assert any("only 3 features can be chosen" in str(one.message) for one in caught)
    assert all(one.filename == __file__ for one in caught)
    assert selector.support_.sum() == 3


def test_ties_are_stated():
    Z = np.column_stack([X, -2.0 * X[:, 0]])
    with pytest.warns(UserWarning, match="twins that explain exactly as much: 'x0', 'x12'"):
        selector = kp.NMMKLSelector(3).fit(Z, LABELS)
    assert [tie.tolist() for tie in selector.ties_] == [[0, 12]]


def test_cross_validation_of_budgets():
    selector = kp.NMMKLSelector([1, 2, 3, 5])
    model = kp.PathCV(selector, cv=3, references=False).fit(X, LABELS)
    assert model.operating_point_.n_features in (1, 2, 3, 5)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_features_to_select": 0}, kp.DataError, "at least 1"),
        ({"n_features_to_select": 13}, kp.DataError, "at most 12"),
        ({"n_features_to_select": 2.5}, ValueError, "whole number"),
        ({"n_features_to_select": []}, ValueError, "whole number"),
        ({"n_features_to_select": "al"}, ValueError, "did you mean 'all'"),
        ({"n_features_to_select": 1, "must_include": [0, 1]}, kp.DataError, "no room for the 2"),
        ({"must_include": ["a"]}, kp.DataError, "'a', which X does not have"),
        ({"must_include": [12]}, kp.DataError, "positions from 0 to 11"),
        ({"C": 0.0}, ValueError, "C must be a number that is positive"),
        ({"ridge": -1.0}, ValueError, "ridge must be a number that is at least 0"),
        ({"rounding": "swp"}, ValueError, "did you mean 'swap'"),
        ({"solver": "alternation"}, ValueError, "solver must be one of"),
        ({"kernel": "simple_mkl"}, ValueError, "kernels of several columns"),
        ({"groups": [0, 1]}, kp.DataError, "one label for each of the 12 columns"),
    ],
)
def test_bad_settings(options, error, words):
    with pytest.raises(error, match=words):
        kp.NMMKLSelector(**({"n_features_to_select": 3} | options)).fit(X, LABELS)


def test_one_class():
    with pytest.raises(kp.DataError, match="one class only"):
        kp.NMMKLSelector(2, task="classification").fit(X, np.ones(N))


def test_solve_with_a_working_set():
    problem = Problem(linear(X), (LOSSES["classes"],), NoRegularizer(), CappedSimplex(3.0))
    every, few = solve(problem, "newton", tol=1e-5), solve(problem, "working_set", tol=1e-5)
    assert few.objective == pytest.approx(every.objective, rel=2e-5)


# -- what users trip over -------------------------------------------------------------------------


def test_text_columns_and_kernels_by_other_names():
    import pandas as pd

    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(LABELS > 0, "yes", "no")})
    selector = kp.NMMKLSelector(1, kernel="delta").fit(frame, LABELS)
    assert selector.get_feature_names_out().tolist() == ["b"]
    with pytest.raises(kp.DataError, match="use kernel='auto'"):
        kp.NMMKLSelector(1, kernel="rbf").fit(frame, LABELS)
    with pytest.raises(ValueError, match="kernel must be one of"):
        kp.NMMKLSelector(1, kernel="rbff").fit(X, LABELS)


def test_numpy_numbers_are_numbers_in_the_record():
    path = kp.NMMKLSelector(np.int64(2)).fit(X, LABELS).path_
    assert path.provenance["parameters"]["n_features_to_select"] == 2


@pytest.mark.parametrize("kernel", ["multi", "bandwidths"])
def test_a_weighted_kernel_for_several_bandwidths(kernel):
    selector = kp.NMMKLSelector([1, 2], kernel=kernel)
    model = kp.PathCV(selector, cv=2, predictor="weighted_kernel", references=False).fit(
        X[:, :4], LABELS
    )
    assert model.operating_point_.n_features in (1, 2)


@pytest.mark.parametrize("solver", ["primal", "clarabel"])
def test_other_solvers_choose_the_same(solver):
    path = kp.NMMKLSelector([1, 3, 5]).fit(X, LABELS).path_
    other = kp.NMMKLSelector([1, 3, 5], solver=solver).fit(X, LABELS).path_
    np.testing.assert_array_equal(path.supports.toarray(), other.supports.toarray())


@pytest.mark.parametrize("solver", ["auto", "working_set", "newton"])
def test_fixed_columns_in_wide_tables(solver):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 2100))
    y = np.where(Z[:, 0] + Z[:, 1] + 0.5 * rng.normal(size=40) > 0, 1, 0)
    selector = kp.NMMKLSelector(4, must_include=[5, 2000], solver=solver).fit(Z, y)
    assert (selector.relaxed_weights_[[5, 2000]] == 1.0).all()
    assert selector.support_[[5, 2000]].all()
    assert selector.relaxed_weights_.sum() == pytest.approx(4.0)
    exact = kp.NMMKLSelector(4, must_include=[5, 2000], solver="clarabel").fit(Z, y)
    lower = [one.objective_ / one.ratio_ for one in (selector, exact)]
    assert lower[0] == pytest.approx(lower[1], rel=3e-4)


def test_a_budget_that_is_all_fixed():
    for options in (
        {"must_include": [0, 1, 2, 3]},
        {"groups": [0, 1, 0, 0], "must_include": [0, 1]},
    ):
        selector = kp.NMMKLSelector("all", **options).fit(X[:, :4], LABELS)
        assert selector.support_.all()
        assert selector.ratio_ == pytest.approx(1.0, abs=1e-4)


def test_copies_that_are_both_selected_are_stated():
    Z = X[:, :6].copy()
    Z[:, 1] = Z[:, 0]
    y = np.where(Z[:, 0] + 0.1 * X[:, 11] > 0, 1, 0)
    with pytest.warns(UserWarning, match="copies of each other: 'x0', 'x1'"):
        kp.NMMKLSelector(2, rounding="weights").fit(Z, y)


@pytest.mark.parametrize("unit", [1e-165, 1e160, 1.0])
def test_units_of_the_target_do_not_matter(unit):
    y = X[:, 3] + 0.1 * X[:, 11]
    assert kp.NMMKLSelector(1).fit(X, y * unit).get_support(indices=True).tolist() == [3]


def test_an_epsilon_that_explains_everything():
    with pytest.warns(UserWarning, match="Lower epsilon"):
        kp.NMMKLSelector(1, epsilon=100.0).fit(X, X[:, 0])


def test_the_ratio_is_exact_where_the_bound_is_one():
    y = np.argsort(np.argsort(X[:, 0])) * 3 // N
    selector = kp.NMMKLSelector(D, C=70.0, ridge=0.0, kernel="laplace").fit(X, y)
    assert selector.ratio_ <= selector.bound_ + 2e-4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"tol": 1e-15}, "tol must be at least 1e-10"),
        ({"ridge": 1e300}, "ridge must be at most"),
        ({"n_features_to_select": [1, [2, 3]]}, "must be a whole number, several of them"),
        ({"groups": [[1], [2]] + [3] * (D - 2)}, "names or numbers as labels"),
        ({"groups": [float("nan")] * D}, "a label that is missing"),
        ({"must_include": ["x99"]}, "'x99', which X does not have"),
    ],
)
def test_more_bad_settings(options, words):
    with pytest.raises((ValueError, kp.DataError), match=words):
        kp.NMMKLSelector(**({"n_features_to_select": 2} | options)).fit(X, LABELS)


def test_ways_to_name_fixed_columns():
    for given in (3, "x3", [3], np.array([3]), ["x3", 3], np.arange(D) == 3):
        assert kp.NMMKLSelector(2, must_include=given).fit(X, LABELS).support_[3]


def test_constant_columns_that_must_be_in_are_in_without_a_weight():
    Z = X.copy()
    Z[:, 1] = 5.0
    pairs = kp.NMMKLSelector(2, groups=[j // 2 for j in range(D)], must_include=[1])
    with pytest.warns(UserWarning, match="constant"):
        point = pairs.fit(Z, LABELS).path_[-1]
    assert point.support[[0, 1]].all()
    assert point.n_selected == 4
    assert point.weights[[0, 1]].tolist() == [1.0, 0.0]
    with pytest.warns(UserWarning, match="constant"):
        path = kp.NMMKLSelector([1, 2, 3], must_include=[1]).fit(Z, LABELS).path_
    assert all(support[1] for support in path.supports)
    assert path.n_selected.tolist() == [2, 3]
    with pytest.warns(UserWarning, match="constant"), pytest.raises(kp.DataError, match="is spent"):
        kp.NMMKLSelector(1, must_include=[1]).fit(Z, LABELS)


def test_groups_have_two_names():
    groups = [[0, 1], ["x2", "x3"]]
    one, other = (
        kp.NMMKLSelector([2], **{name: groups}).fit(X, LABELS).path_
        for name in ("groups", "feature_groups")
    )
    assert one == other
    with pytest.raises(ValueError, match="give one of them"):
        kp.NMMKLSelector(2, groups=groups, feature_groups=groups).fit(X, LABELS)


def test_a_ridge_next_to_nothing():
    selector = kp.NMMKLSelector([1, 2], ridge=1e-15).fit(X, LABELS)
    assert selector.bound_ >= selector.ratio_ * (1 - 1e-4)

"""The baselines: each against a slow, obvious twin, and all as selectors like any other."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, lasso_path
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelpath as kp
from kernelpath.baselines import (
    FSV,
    L1SVM,
    R2W2,
    SVMLW,
    SVRLW,
    Fisher,
    ForwardStepwise,
    L0Approximation,
    LassoLW,
)
from kernelpath.baselines._machines import MOST_MATRIX_ROWS, linear_machine, solve_program
from kernelpath.baselines.concave import concave_objective, descend
from kernelpath.baselines.radius_margin import RadiusMargin, squared_radius
from kernelpath.fits.losses import Hinge

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "baselines.md"
EVERY = [getattr(kp.baselines, name) for name in kp.baselines.__all__]
FOR_CLASSES = [cls for cls in EVERY if "classification" in cls.TASKS]
FOR_NUMBERS = [cls for cls in EVERY if "regression" in cls.TASKS]
FOR_MANY_CLASSES = [cls for cls in FOR_CLASSES if cls is not ForwardStepwise]

RNG = np.random.default_rng(0)
N, D = 70, 9
X = RNG.normal(size=(N, D)) * np.geomspace(0.01, 100.0, D) + 5.0
Z = (X - X.mean(axis=0)) / X.std(axis=0)
LABELS = np.where(Z[:, 0] + Z[:, 1] - Z[:, 2] + 0.7 * RNG.normal(size=N) > 0, 1.0, -1.0)
THREE = np.array(["a", "b", "c"])[np.digitize(Z[:, 4] + 0.2 * RNG.normal(size=N), [-0.5, 0.5])]
VALUES = 3.0 * Z[:, 5] - 2.0 * Z[:, 1] + Z[:, 7] + 0.5 * RNG.normal(size=N) + 40.0
STANDARD = (VALUES - VALUES.mean()) / VALUES.std()


def target_of(cls):
    return VALUES if cls in FOR_NUMBERS and cls is not Fisher else LABELS


def against_the_rest(y):
    return [np.where(y == label, 1.0, -1.0) for label in np.unique(y)]


def toy(rng, n=400):
    """Figure 1 of the NMMKL paper: Z is the best feature, X and Y are the best two."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    e, f, g = rng.normal(size=(3, n))
    return np.column_stack([1.1 * y + e, 1.1 * y - e + 0.4 * f, 1.55 * y + g]), y


# -- largest weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_weights_of_the_linear_machine(C):
    for y, scores in ((LABELS, SVMLW("all", C=C).fit(X, LABELS).scores_),):
        twin = SVC(kernel="linear", C=C, tol=1e-7).fit(Z, y)
        np.testing.assert_allclose(scores, np.abs(twin.coef_[0]), atol=1e-3)
    each = [SVC(kernel="linear", C=C, tol=1e-7).fit(Z, y).coef_[0] for y in against_the_rest(THREE)]
    found = SVMLW("all", C=C).fit(X, THREE).scores_
    np.testing.assert_allclose(found, np.linalg.norm(each, axis=0), atol=1e-3)


def test_many_rows_need_no_kernel_matrix():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(MOST_MATRIX_ROWS + 1, 4))
    y = np.sign(A[:, 0] - A[:, 2] + rng.normal(size=len(A)))
    found = linear_machine(A, Hinge(0.01).dual(y))[0]
    twin = SVC(kernel="linear", C=0.01, tol=1e-6).fit(A, y)
    np.testing.assert_allclose(found, twin.coef_[0], atol=1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_weights_of_support_vector_regression(epsilon):
    found = SVRLW("all", C=0.5, epsilon=epsilon).fit(X, VALUES).scores_
    twin = SVR(kernel="linear", C=0.5, epsilon=epsilon, tol=1e-7).fit(Z, STANDARD)
    np.testing.assert_allclose(found, np.abs(twin.coef_[0]), atol=1e-3)


def test_units_of_the_target_do_not_matter():
    for cls in (SVRLW, LassoLW, ForwardStepwise):
        here = cls("all").fit(X, VALUES)
        there = cls("all").fit(X, 1e6 * VALUES - 3.0)
        np.testing.assert_allclose(here.scores_, there.scores_, rtol=1e-3, atol=1e-6)


def test_weights_of_the_lasso_and_then_the_order_of_entry():
    selector = LassoLW("all", alpha=0.3).fit(X, VALUES)
    twin = Lasso(alpha=0.3).fit(Z, STANDARD)
    np.testing.assert_allclose(selector.scores_, np.abs(twin.coef_), atol=1e-6)
    inside = np.flatnonzero(twin.coef_)
    assert 1 <= len(inside) < D
    assert set(np.flatnonzero(selector.ranking_ <= len(inside))) == set(inside)
    _, weights, _ = lasso_path(Z, STANDARD)
    entry = [next((k for k in range(100) if row[k] != 0), 100) for row in weights]
    order = np.argsort(selector.ranking_)[len(inside) :]
    assert (np.diff(np.array(entry)[order]) >= 0).all()


def test_cross_validation_of_the_lasso_is_the_same_each_time():
    first, again = (LassoLW(3).fit(X, VALUES) for _ in range(2))
    assert first.alpha_ == again.alpha_
    assert first.path_ == again.path_
    assert set(first.get_support(indices=True)) == {1, 5, 7}
    # Rows sorted by the target: unshuffled folds would have to extrapolate.
    order = np.argsort(VALUES)
    assert set(LassoLW(3).fit(X[order], VALUES[order]).get_support(indices=True)) == {1, 5, 7}


# -- Fisher ---------------------------------------------------------------------------------------


def test_fisher_by_loops():
    two = Fisher("all").fit(X, LABELS).scores_
    three = Fisher("all").fit(X, THREE).scores_
    numbers = Fisher("all").fit(X, VALUES).scores_
    for j in range(D):
        plus, minus = Z[LABELS > 0, j], Z[LABELS < 0, j]
        expected = (plus.mean() - minus.mean()) ** 2 / (plus.var() + minus.var())
        assert two[j] == pytest.approx(expected)
        parts = [Z[label == THREE, j] for label in "abc"]
        between = sum(len(part) * (part.mean() - Z[:, j].mean()) ** 2 for part in parts)
        assert three[j] == pytest.approx(between / sum(len(part) * part.var() for part in parts))
        assert numbers[j] == pytest.approx(np.corrcoef(X[:, j], VALUES)[0, 1] ** 2)


def test_a_column_that_is_the_class():
    selector = Fisher(1).fit(np.column_stack([X, LABELS]), LABELS)
    assert selector.get_support(indices=True).tolist() == [D]
    assert np.isfinite(selector.scores_).all()


# -- machines of the 1-norm -----------------------------------------------------------------------


def cvxpy_program(label, costs, slack_costs):
    w, b = cp.Variable(D), cp.Variable()
    slack = cp.pos(1 - cp.multiply(label, Z @ w + b))
    problem = cp.Problem(cp.Minimize(costs @ cp.abs(w) + slack_costs @ slack))
    problem.solve(solver="CLARABEL")
    return problem.value, w.value


@pytest.mark.parametrize("C", [0.05, 0.5])
def test_the_hinge_with_the_1_norm(C):
    found = L1SVM("all", C=C, loss="hinge").fit(X, LABELS)
    value, w = cvxpy_program(LABELS, np.ones(D), np.full(N, C))
    np.testing.assert_allclose(found.scores_, np.abs(w), atol=1e-4)
    program = solve_program(Z, LABELS, np.ones(D), np.full(N, C))
    assert program.value == pytest.approx(value, rel=1e-6)
    assert program.slopes.max() <= 1 + 1e-7  # optimality: at most the cost, equal where w is not 0
    np.testing.assert_allclose(program.slopes[np.abs(program.weights) > 1e-9], 1.0)


def test_the_squared_hinge_with_the_1_norm():
    selector = L1SVM("all", C=0.02).fit(X, LABELS)
    model = LinearSVC(penalty="l1", dual=False, C=0.02, tol=1e-8, max_iter=100_000).fit(Z, LABELS)
    np.testing.assert_allclose(selector.scores_, np.abs(model.coef_[0]), atol=1e-4)
    # Features without weight: who is nearest to one gets it first when C grows.
    outside = np.flatnonzero(selector.scores_ == 0)
    assert len(outside) >= 3
    next_one = outside[np.argmin(selector.ranking_[outside])]
    for C in 0.02 * np.geomspace(1.0, 10.0, 200):
        twin = LinearSVC(penalty="l1", dual=False, C=C, tol=1e-6, max_iter=100_000).fit(Z, LABELS)
        entered = np.setdiff1d(np.flatnonzero(twin.coef_[0]), np.flatnonzero(selector.scores_))
        if len(entered):
            assert next_one in entered
            break


@pytest.mark.parametrize("balance", [0.02, 0.1])
def test_fsv_by_tangents_in_cvxpy(balance):
    steepness = 5.0
    share = np.where(LABELS > 0, np.sum(LABELS > 0), np.sum(LABELS < 0))
    w, values = np.zeros(D), []
    for _ in range(20):
        costs = balance * steepness * np.exp(-steepness * np.abs(w))
        value, new = cvxpy_program(LABELS, costs, (1 - balance) / share)
        program = solve_program(Z, LABELS, costs, (1 - balance) / share)
        assert program.value == pytest.approx(value, rel=1e-6, abs=1e-7)
        bias = program.bias
        objective = concave_objective(Z, LABELS, program.weights, bias, balance, steepness)
        if values and objective >= values[-1] - 1e-9:
            break
        values.append(objective)
        w = new
    found = FSV("all", balance=balance).fit(X, LABELS)
    np.testing.assert_allclose(found.objectives_[0], values, rtol=1e-6)
    np.testing.assert_allclose(found.scores_, np.abs(w), atol=1e-4)
    assert (np.diff(found.objectives_[0]) < 0).all()


def test_fsv_ends_where_its_tangent_has_nothing_to_gain():
    end = descend(Z, LABELS, 0.05, 5.0)
    assert 1 <= np.count_nonzero(end.weights) < D
    assert len(end.objectives) < 20
    outside = end.weights == 0
    assert end.slopes[outside].max() <= 0.05 * 5.0 + 1e-9


# -- scales ---------------------------------------------------------------------------------------


def by_cvxpy(A, label, C):
    """Weights of a linear machine, from its multipliers: exact for columns of tiny scale too."""
    w, b, slack = cp.Variable(D), cp.Variable(), cp.Variable(N, nonneg=True)
    rows = cp.multiply(label, A @ w + b) >= 1 - slack
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(slack)), [rows])
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    return A.T @ (label * rows.dual_value)


def naive_zero_norm(labels, C, steps):
    """Scales after each machine, without leaving any column out."""
    z, history = np.ones(D), []
    for _ in range(steps):
        z = z * np.linalg.norm([by_cvxpy(Z * z, label, C) for label in labels], axis=0)
        history.append(z)
    return np.array(history)


@pytest.mark.parametrize("labels", [LABELS, THREE], ids=["two", "three"])
def test_scales_of_the_zero_norm(labels):
    y = [LABELS] if labels is LABELS else against_the_rest(THREE)
    selector = L0Approximation("all", C=0.5).fit(X, labels)
    history = naive_zero_norm(y, 0.5, selector.n_iter_)
    relative = history / history.max(axis=1, keepdims=True)
    vanished = np.argmax(relative <= 1e-6, axis=0)
    vanished[(relative > 1e-6).all(axis=0)] = selector.n_iter_
    assert len(np.unique(vanished)) >= 3
    np.testing.assert_array_equal(np.floor(selector.scores_), vanished)
    last = relative[np.minimum(vanished, selector.n_iter_ - 1), np.arange(D)]
    by_hand = sorted(range(D), key=lambda j: (-vanished[j], -last[j]))
    assert np.argsort(selector.ranking_).tolist() == by_hand
    left = history[-1] > 1e-6
    np.testing.assert_allclose(selector.scales_[left], history[-1][left], rtol=1e-2)


def test_a_choice_of_the_zero_norm_does_not_depend_on_other_budgets():
    path = L0Approximation("all").fit(X, LABELS).path_
    for k in range(1, D + 1):
        alone = L0Approximation(k).fit(X, LABELS)
        np.testing.assert_array_equal(alone.support_, path.at(n_features=k).support)


def test_the_radius_is_that_of_the_smallest_ball():
    K = Z @ Z.T
    radius, beta = squared_radius(K)
    center, size = cp.Variable(D), cp.Variable()
    inside = [cp.sum_squares(row - center) <= size for row in Z]
    cp.Problem(cp.Minimize(size), inside).solve(solver="CLARABEL")
    assert radius == pytest.approx(float(size.value), rel=1e-5)
    np.testing.assert_allclose(Z.T @ beta, center.value, atol=1e-2)
    assert squared_radius(K, start=beta)[0] == pytest.approx(radius, rel=1e-6)


def test_the_norm_is_that_of_the_hard_margin():
    w, b, slack = cp.Variable(D), cp.Variable(), cp.Variable(N)
    scales = np.sqrt(RNG.uniform(0.2, 2.0, size=D))
    rows = [cp.multiply(LABELS, (Z * scales) @ w + b) >= 1 - slack]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) + 3.0 * cp.sum_squares(slack)), rows)
    problem.solve(solver="CLARABEL")
    norm, _ = RadiusMargin(Z, LABELS[:, None], 3.0).norm((Z * scales**2) @ Z.T)
    assert norm == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize("labels", [[LABELS], against_the_rest(THREE)], ids=["two", "three"])
def test_slopes_of_the_bound_by_differences(labels, monkeypatch):
    monkeypatch.setattr("kernelpath.baselines.radius_margin.SVM_TOL", 1e-9)
    monkeypatch.setattr("kernelpath.baselines.radius_margin.BALL_TOL", 1e-9)
    bound = RadiusMargin(Z, np.column_stack(labels), 2.0)
    squares, step = np.random.default_rng(5).uniform(0.2, 2.0, size=D), 1e-4
    slopes = bound(squares)[1]
    for j in range(D):
        move = step * np.eye(D)[j]
        change = bound(squares + move)[0] - bound(squares - move)[0]
        assert slopes[j] == pytest.approx(change / (2 * step), rel=1e-3, abs=1e-3)


def test_the_descent_ends_in_a_stationary_point():
    selector = R2W2("all", C=1.0, tol=1e-10).fit(X, LABELS)
    assert selector.bound_ < selector.start_bound_
    squares = selector.scores_**2
    assert squares.sum() == pytest.approx(D)
    value, slopes = RadiusMargin(Z, LABELS[:, None], 1.0)(squares)
    assert value == pytest.approx(selector.bound_, rel=1e-6)
    slopes = (slopes - slopes @ squares / D) / value
    kept = squares > 1e-3
    assert np.abs(slopes[kept]).max() < 2e-3
    assert slopes[~kept].min(initial=0.0) > -2e-3


def test_a_small_cost_of_errors_lets_the_margin_decide():
    found = R2W2(3, C=0.01).fit(X, LABELS)
    assert found.get_support(indices=True).tolist() == [0, 1, 2]


# -- steps ----------------------------------------------------------------------------------------


def by_least_squares(y, steps):
    """Forward selection that fits every candidate from scratch."""
    chosen, tests = [], []
    for _ in range(steps):
        rss = {}
        for extra in [[], *([j] for j in range(D) if j not in chosen)]:
            A = np.column_stack([np.ones(N), X[:, chosen + extra]])
            rss[tuple(extra)] = np.sum(np.square(y - A @ np.linalg.lstsq(A, y)[0]))
        before = rss.pop(())
        (best,) = min(rss, key=rss.get)
        free = N - len(chosen) - 2
        f = (before - rss[best,]) / (rss[best,] / free)
        tests.append((f, stats.f.sf(f, 1, free)))
        chosen.append(best)
    return chosen, np.array(tests)


@pytest.mark.parametrize("y", [VALUES, LABELS], ids=["numbers", "classes"])
def test_forward_selection_by_least_squares(y):
    chosen, tests = by_least_squares(y, D)
    selector = ForwardStepwise("all").fit(X, y)
    assert np.argsort(selector.ranking_).tolist() == chosen
    np.testing.assert_allclose(selector.f_values_, tests[:, 0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(selector.p_values_, tests[:, 1], rtol=1e-5, atol=1e-12)
    full = np.column_stack([np.ones(N), X])
    left = y - full @ np.linalg.lstsq(full, y)[0]
    assert selector.scores_.sum() == pytest.approx(1 - left.var() / y.var())


def test_the_path_ends_where_nothing_is_significant():
    chosen, tests = by_least_squares(VALUES, D)
    reached = int(np.argmax(tests[:, 1] > 0.01))
    assert 3 <= reached < D
    with pytest.warns(UserWarning, match=rf"ended with {reached} .*significance=0.01") as caught:
        selector = ForwardStepwise("all", significance=0.01).fit(X, VALUES)
    assert caught[0].filename == __file__
    assert selector.path_.n_selected.tolist() == list(range(1, reached + 1))
    assert selector.support_.sum() == reached
    assert (selector.ranking_[chosen[reached:]] == reached + 1).all()
    with pytest.warns(UserWarning, match="fewer than the 8 asked for"):
        selector = ForwardStepwise([2, 8], significance=0.01).fit(X, VALUES)
    assert selector.budgets_.tolist() == [2, reached]


def test_a_path_without_any_feature():
    noise = np.random.default_rng(8).normal(size=N)
    with pytest.warns(UserWarning, match="ended with 0 features"):
        selector = ForwardStepwise(3, significance=1e-6).fit(X, noise)
    assert not selector.support_.any()
    assert selector.path_.n_selected.tolist() == [0]


def test_forward_selection_with_few_rows_and_copies():
    rng = np.random.default_rng(9)
    wide = rng.normal(size=(12, 30))
    with pytest.warns(UserWarning, match="ended with 10 features.*nothing to add"):
        selector = ForwardStepwise("all").fit(wide, wide[:, 0] + rng.normal(size=12))
    assert len(selector.path_) == 10
    with pytest.warns(UserWarning, match=f"ended with {D} features"):
        copies = ForwardStepwise("all").fit(np.column_stack([X, 2.0 * X]), VALUES)
    assert (copies.support_[:D] ^ copies.support_[D:]).all()  # one of each two


# -- the paper's example --------------------------------------------------------------------------


def test_table_1():
    """Fisher keeps Z in the pair; the others rank Z last and find the pair."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        A, y = toy(rng)
        alone, pair = Fisher([1, 2]).fit(A, y).path_
        assert alone.names == ("x2",)
        assert "x2" in pair.names
        for selector in (SVMLW([1, 2]), L0Approximation([1, 2]), FSV([1, 2]), L1SVM([1, 2])):
            alone, pair = selector.fit(A, y).path_
            assert alone.names != ("x2",)
            assert set(pair.names) == {"x0", "x1"}


# -- selectors like any other ---------------------------------------------------------------------


@parametrize_with_checks([LassoLW(1, alpha=0.1) if cls is LassoLW else cls(1) for cls in EVERY])
def test_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their tables are of a kind that deserves warnings
        check(estimator)


@pytest.mark.parametrize("cls", EVERY)
def test_what_a_fit_leaves(cls, tmp_path):
    y = target_of(cls)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(D)])
    selector = cls([2, 5]).fit(frame, y)
    path = selector.path_
    assert path.method == cls.METHOD
    assert path.parameter_name == "budget"
    assert path.parameters.tolist() == path.n_selected.tolist() == [2.0, 5.0]
    assert path.is_nested
    assert [(one.kind, one.position) for one in path.events] == [("enter", 0)] * 2 + [
        ("enter", 1)
    ] * 3
    assert set(path[0].names) <= set(selector.get_feature_names_out())
    assert selector.feature_names_in_.tolist() == frame.columns.tolist()
    assert selector.transform(frame).shape == (N, 5)
    np.testing.assert_array_equal(selector.support_, selector.ranking_ <= 5)
    np.testing.assert_allclose(
        path[1].weights[selector.support_], selector.scores_[path[1].support]
    )
    assert (selector.scores_ >= 0).all()
    first = np.argsort(selector.ranking_)[:5]
    if cls is not ForwardStepwise:  # there a later feature may explain more
        assert (np.diff(selector.scores_[first]) <= 0).all()
    path.save(tmp_path / "path.kpath")
    assert kp.load_path(tmp_path / "path.kpath") == path
    assert pickle.loads(pickle.dumps(selector)).path_ == path
    assert clone(selector).get_params() == selector.get_params()
    assert path.provenance["estimator"] == cls.__name__
    np.testing.assert_array_equal(cls(5).fit(X, y).support_, selector.support_)


@pytest.mark.parametrize("cls", EVERY)
def test_order_and_units_of_columns_do_not_matter(cls):
    y, shuffled = target_of(cls), np.random.default_rng(4).permutation(D)
    scale = np.random.default_rng(5).uniform(0.1, 10.0, size=D)
    here = cls("all").fit(X, y)
    there = cls("all").fit((X * scale - 7.0)[:, shuffled], y)
    np.testing.assert_array_equal(here.ranking_[shuffled][:], there.ranking_)


@pytest.mark.parametrize("cls", EVERY)
def test_sparse_tables_and_text_labels(cls):
    thin = np.where(np.abs(Z) > 0.5, Z, 0.0)
    y = target_of(cls)
    dense = cls("all").fit(thin, y)
    np.testing.assert_array_equal(
        dense.ranking_, cls("all").fit(sparse.csr_array(thin), y).ranking_
    )
    if y is LABELS:
        text = cls("all").fit(thin, np.where(LABELS > 0, "yes", "no"))
        np.testing.assert_array_equal(dense.ranking_, text.ranking_)
        assert text.classes_.tolist() == ["no", "yes"]
        assert not hasattr(Fisher(2).fit(X, LABELS).fit(X, VALUES), "classes_")


@pytest.mark.parametrize("cls", FOR_MANY_CLASSES)
def test_several_classes(cls):
    selector = cls(1).fit(X, THREE)
    if cls is R2W2:
        selector.set_params(C=0.01).fit(X, THREE)
    assert selector.get_support(indices=True).tolist() == [4]
    assert selector.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("cls", EVERY)
def test_cross_validation_and_pipelines(cls):
    y = target_of(cls)
    model = kp.PathCV(cls("all"), cv=3, predictor=SVC() if y is LABELS else SVR())
    assert model.fit(X, y).scores_.n_features.tolist() == list(range(1, D + 1))
    pipeline = make_pipeline(cls(3), SVC() if y is LABELS else SVR()).fit(X, y)
    assert pipeline[:-1].transform(X).shape == (N, 3)
    search = GridSearchCV(pipeline, {f"{pipeline.steps[0][0]}__n_features_to_select": [1, 3]}, cv=2)
    assert search.fit(X, y).best_params_


def test_with_the_machines_of_the_package():
    """Also where chosen features have no weight."""
    model = kp.PathCV(
        L1SVM("all", C=1e-4), cv=3, predictor="weighted_kernel", n_features=[1, 4]
    ).fit(X, LABELS)
    assert model.operating_point_.n_features >= 1
    assert model.path_.parameters.tolist() == list(range(1, D + 1))


# -- tables and targets that cannot be used as they are -------------------------------------------


@pytest.mark.parametrize("cls", EVERY)
def test_constant_columns_are_never_chosen(cls):
    A = np.column_stack([np.full(N, 3.0), X[:, :3]])
    with pytest.warns(UserWarning, match="Column 0 is constant") as caught:
        selector = cls("all").fit(A, target_of(cls))
    assert all(one.filename == __file__ for one in caught)
    assert selector.get_support(indices=True).tolist() == [1, 2, 3]
    assert selector.ranking_[0] == 4
    assert selector.scores_[0] == 0
    with pytest.warns(UserWarning, match="constant") as caught:
        selector = cls(4).fit(A, target_of(cls))
    assert any("only 3 features to choose from" in str(one.message) for one in caught)
    assert all(one.filename == __file__ for one in caught)
    assert selector.support_.sum() == 3
    with pytest.raises(kp.DataError, match="Every column is constant"):
        cls(1).fit(np.ones((N, 2)), target_of(cls))


@pytest.mark.parametrize("cls", EVERY)
def test_values_that_are_no_numbers(cls):
    for bad in (np.nan, np.inf):
        A = X.copy()
        A[3, 2] = bad
        with pytest.raises(kp.DataError, match="NaN or inf in column 2"):
            cls(1).fit(A, target_of(cls))
    with pytest.raises(kp.DataError, match="has 69 values"):
        cls(1).fit(X, target_of(cls)[:-1])


def test_huge_and_tiny_values():
    A = X.copy()
    A[:, 0], A[:, 1], A[:, 2] = 1e300 * X[:, 0], 1e-300 * X[:, 1], Z[:, 2] + 1e9
    np.testing.assert_allclose(Fisher(1).fit(A, LABELS).scores_, Fisher(1).fit(X, LABELS).scores_,
                               rtol=1e-5)  # fmt: skip


@pytest.mark.parametrize("cls", FOR_CLASSES)
def test_one_class(cls):
    with pytest.raises(kp.DataError, match="one class only"):
        cls(1).fit(X, np.repeat("a", N))


@pytest.mark.parametrize("cls", FOR_NUMBERS)
def test_a_constant_target(cls):
    with pytest.raises(kp.DataError, match=r"constant|one class only"):
        cls(1).fit(X, np.ones(N))


@pytest.mark.parametrize("cls", EVERY)
def test_a_target_for_another_method(cls):
    if cls not in FOR_NUMBERS:
        with pytest.raises(kp.DataError, match="is for classes, but y holds continuous numbers"):
            cls(1).fit(X, VALUES)
    if cls not in FOR_CLASSES:
        with pytest.raises(kp.DataError, match="is for a target of numbers, but y holds labels"):
            cls(1).fit(X, THREE)
    if cls is ForwardStepwise:
        with pytest.raises(kp.DataError, match="numbers or two classes, but y has 3 classes"):
            cls(1).fit(X, THREE)


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize(
    ("budget", "error", "words"),
    [
        (0, kp.DataError, "at least 1"),
        (D + 1, kp.DataError, f"at most {D}, the number of columns"),
        (2.5, ValueError, "whole number"),
        ([], ValueError, "whole number"),
        (True, ValueError, "whole number"),
        ([[1, 2]], ValueError, "whole number"),
        ("al", ValueError, "did you mean 'all'"),
    ],
)
def test_bad_budgets(cls, budget, error, words):
    with pytest.raises(error, match=words):
        cls(budget).fit(X, target_of(cls))


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (SVMLW(C=0.0), "C must be a number that is positive"),
        (SVMLW(C="1"), "C must be a number that is positive"),
        (SVRLW(C=np.nan), "C must be a number that is positive"),
        (SVRLW(epsilon=-0.1), "epsilon must be a number that is at least 0"),
        (LassoLW(alpha=0.0), "alpha must be a number that is positive"),
        (Fisher(task="classes"), "task must be one of"),
        (L1SVM(loss="hinge2"), "did you mean 'hinge'"),
        (L1SVM(C=-1.0), "C must be a number that is positive"),
        (FSV(balance=1.0), "balance must be below 1"),
        (FSV(balance=0.0), "balance must be a number that is positive"),
        (FSV(steepness=np.inf), "steepness must be a number that is positive"),
        (L0Approximation(C=0.0), "C must be a number that is positive"),
        (L0Approximation(max_iter=0), "max_iter must be a whole number that is positive"),
        (R2W2(tol=0.0), "tol must be a number that is positive"),
        (R2W2(max_iter=1.5), "max_iter must be a whole number that is positive"),
        (ForwardStepwise(significance=0.0), "significance must be a number that is positive"),
        (ForwardStepwise(significance=1.0), "significance must be below 1"),
    ],
)
def test_bad_settings(selector, words):
    with pytest.raises(ValueError, match=words):
        selector.set_params(n_features_to_select=2).fit(X, target_of(type(selector)))


# -- the page -------------------------------------------------------------------------------------


def test_the_guide_runs():
    text = GUIDE.read_text(encoding="utf-8")
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(compile(block, GUIDE.name, "exec"), names)
    assert names["chosen"]["NMMKL"] == [["x2"], ["x0", "x1"]]
    assert names["chosen"]["SVM-LW"][1] == ["x0", "x1"]
    assert "x2" in names["chosen"]["Fisher"][1]
    assert names["scores"]["Fisher"][0] > names["scores"]["SVM-LW"][0]
    assert names["scores"]["Fisher"][1] < names["scores"]["SVM-LW"][1]
    assert all(f"`{cls.__name__}`" in text for cls in EVERY)


def test_text_columns_are_refused():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(LABELS > 0, "yes", "no")})
    with pytest.raises(kp.DataError, match="text; encode it"):
        SVMLW(1).fit(frame, LABELS)


def test_a_cost_that_no_machine_finishes():
    with pytest.raises(ValueError, match="C must be at most"):
        SVMLW(1, C=1e12).fit(X, LABELS)


def test_a_descent_that_was_cut_short():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        R2W2(1, max_iter=1).fit(X, LABELS)

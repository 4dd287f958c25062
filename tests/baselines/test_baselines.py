"""The baselines, each against a slow, obvious twin."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Lasso, lasso_path
from sklearn.svm import SVC, SVR, LinearSVC

from baseline_examples import (
    LABELS,
    RNG,
    STANDARD,
    THREE,
    VALUES,
    D,
    N,
    X,
    Z,
    against_the_rest,
)
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
from kernelpath.baselines._linear import MOST_MATRIX_ROWS, linear_machine, solve_program
from kernelpath.baselines.fsv import concave_objective, descend
from kernelpath.baselines.r2w2 import RadiusMargin, squared_radius
from kernelpath.mkl.losses import Hinge
from nmmkl_examples import toy

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
    monkeypatch.setattr("kernelpath.baselines.r2w2.SVM_TOL", 1e-9)
    monkeypatch.setattr("kernelpath.baselines.r2w2.BALL_TOL", 1e-9)
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

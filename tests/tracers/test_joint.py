"""Features judged together: closed forms against refits, gradients, exchanges, what is found."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kernelpath.tables.table import Table
from kernelpath.tracers.joint.columns import JointColumns
from kernelpath.tracers.joint.held_out import HeldOut, inverse, inverse_root
from kernelpath.tracers.joint.kernels import KERNELS
from kernelpath.tracers.joint.leave_one_out import RIDGES, LeaveOneOut
from kernelpath.tracers.joint.screen import sample_rows, screen
from kernelpath.tracers.joint.trace import eliminate, joint_order
from reference import joint as slow

N, D = 25, 6
RNG = np.random.default_rng(3)
Z = RNG.normal(size=(N, D))
Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
SLOW = {"rbf": slow.rbf, "anova": slow.anova}
GROUPS = np.array([*np.repeat(np.arange(6), 3), *np.repeat([6, 7], 2), 8, 9, 10])
SIGNS = np.where(Z[:, [0]] * Z[:, [1]] + 0.3 * Z[:, [2]] > 0, 1.0, -1.0)
MANY = np.where(np.arange(N)[:, None] % 3 == np.arange(3), 1.0, -1.0)
TARGETS = {
    "two classes": (SIGNS, True),
    "three classes": (MANY, True),
    "numbers": (Z[:, [0]] * Z[:, [1]], False),
}
CASES = [(name, groups) for name in TARGETS for groups in (None, GROUPS)]
ids = {"ids": lambda value: "groups" if isinstance(value, np.ndarray) else str(value)}


def plain(values):
    return JointColumns(
        np.asfortranarray(values), np.arange(values.shape[1] + 1), np.arange(values.shape[1])
    )


def problem(values, Y, codes=True, kernel="rbf", groups=None):
    return LeaveOneOut(KERNELS[kernel](plain(values)), HeldOut(Y, codes, groups))


def table(values, categorical=None):
    none = np.zeros(values.shape[1], dtype=bool)
    return Table(values, None, none if categorical is None else np.array(categorical))


# -- closed forms against refits ------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("features", [[], [2], [0, 1, 4], list(range(D))])
def test_kernel_matrices(kernel, features):
    fast = KERNELS[kernel](plain(Z))
    if features or kernel == "anova":
        np.testing.assert_allclose(
            fast.matrix(features, 2.0), SLOW[kernel](Z, features, 2.0), atol=1e-9
        )
    for j, K in zip(features, fast.without_each(features, 2.0), strict=True):
        rest = [f for f in features if f != j]
        np.testing.assert_allclose(K, fast.matrix(rest, 2.0), atol=1e-9)
    others = [f for f in range(D) if f not in features]
    for j, K in zip(others, fast.with_each(features, 2.0, others), strict=True):
        np.testing.assert_allclose(K, fast.matrix([*features, j], 2.0), atol=1e-9)


@pytest.mark.parametrize(("name", "groups"), CASES, **ids)
def test_the_loss_is_that_of_refits(name, groups):
    Y, codes = TARGETS[name]
    K = slow.rbf(Z, [0, 1, 3], 1.0)
    target = HeldOut(Y, codes, groups)
    wanted = [slow.loss(K, ridge, Y, codes, groups) for ridge in (1e-3, 0.1, 10.0)]
    np.testing.assert_allclose(target.losses(K, np.array([1e-3, 0.1, 10.0])), wanted, rtol=1e-7)
    for ridge, one in zip((1e-3, 0.1, 10.0), wanted):
        assert target.loss(K.copy(), ridge) == pytest.approx(one, rel=1e-7)
        assert target.gradient(K, ridge)[0] == pytest.approx(one, rel=1e-7)


@pytest.mark.parametrize(("name", "groups"), CASES, **ids)
def test_the_gradient_is_that_of_finite_differences(name, groups):
    Y, codes = TARGETS[name]
    target = HeldOut(Y, codes, groups)
    K, step = slow.rbf(Z, [0, 1, 3], 1.0), 1e-6
    G = target.gradient(K, 0.1)[1]
    np.testing.assert_array_equal(G, G.T)
    for seed in range(5):
        change = np.random.default_rng(seed).normal(size=(N, N))
        change += change.T
        up, down = (target.loss(K + sign * step * change, 0.1) for sign in (1, -1))
        assert (up - down) / (2 * step) == pytest.approx((G * change).sum(), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_descents_are_those_of_one_more_factor(kernel):
    own = problem(Z, SIGNS, kernel=kernel)
    setting = own.tune([0, 1, 3])
    found = own.descents([0, 1, 3], setting, list(range(D)))
    K = SLOW[kernel](Z, [0, 1, 3], setting.scale)
    ridge, rate, step = setting.ridge * np.trace(K) / N, setting.scale / 3, 1e-6
    for j in range(D):
        one = slow.one_feature(Z[:, j])
        apart = (Z[:, [j]] - Z[:, j]) ** 2
        up, down = (
            K * (1 + weight * rate * one)
            if kernel == "anova"
            else (K - 1) * np.exp(-weight * rate * apart) + 1
            for weight in (step, -step)
        )
        fall = slow.loss(down, ridge, SIGNS, True) - slow.loss(up, ridge, SIGNS, True)
        assert found[j] == pytest.approx(fall / (2 * step), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("name", "groups"), CASES, **ids)
def test_changes_of_a_set_are_those_computed_anew(kernel, name, groups):
    Y, codes = TARGETS[name]
    own = problem(Z, Y, codes, kernel, groups)
    features, others = [1, 2, 4], [0, 3, 5]
    setting = own.tune(features)

    def loss(which):
        return slow.set_loss(SLOW[kernel], Z, which, setting.scale, setting.ridge, Y, codes, groups)

    assert setting.loss == pytest.approx(loss(features), rel=1e-6)
    without = [loss([f for f in features if f != j]) for j in features]
    np.testing.assert_allclose(own.removal_losses(features, setting), without, rtol=1e-6)
    entered = [loss([*features, j]) for j in others]
    np.testing.assert_allclose(own.entry_losses(features, setting, others), entered, rtol=1e-6)


def test_tuning_finds_the_best_of_the_grid_and_steps_end_where_none_is_lower():
    own = problem(Z, SIGNS)
    best = own.tune([0, 1])
    scales = own.kernel.scales
    every = [[own.loss([0, 1], c, ridge) for ridge in RIDGES] for c in scales]
    assert best.loss == pytest.approx(np.min(every))
    start = own.tune([2, 3, 4, 5])
    near = own.tune([2, 3, 4], start)
    i, j = scales.index(near.scale), RIDGES.tolist().index(near.ridge)
    for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
        if 0 <= a < len(scales) and 0 <= b < len(RIDGES):
            assert own.loss([2, 3, 4], scales[a], RIDGES[b]) >= near.loss * (1 - 1e-6)


def test_inverses():
    K = slow.rbf(Z, [0, 1], 1.0)
    wanted = np.linalg.inv(K + 0.1 * np.eye(N))
    root = inverse_root(K, 0.1)
    np.testing.assert_allclose(root.T @ root, wanted, rtol=1e-8)
    np.testing.assert_allclose(inverse(K, 0.1), wanted, rtol=1e-8)


# -- exchanges and elimination --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_no_exchange_is_left_that_lowers_the_loss(seed):
    values = np.random.default_rng(seed).normal(size=(N, 8))
    Y = np.where(values[:, [0]] * values[:, [1]] + values[:, [2]] > 0, 1.0, -1.0)
    own = problem(values, Y)
    found = own.exchange([3, 4, 0], [1, 2, 5, 6, 7])
    assert sorted([*found.head, *found.pool]) == list(range(8))
    assert found.n_checked == 15
    scale, ridge = found.setting.scale, found.setting.ridge
    assert not slow.lower_exchanges(slow.rbf, values, found.head, found.pool, scale, ridge, Y, True)
    losses = [own.tune([3, 4, 0]).loss, *(one.loss for one in found.exchanges)]
    assert all(b < a for a, b in pairwise(losses))
    assert 0 in own.exchange([3, 4, 0], range(8), fixed=[0]).head


def test_elimination_lets_the_least_missed_leave():
    own = problem(Z, SIGNS)
    order = eliminate(own, range(D)).order
    last = order[-1]
    setting = own.tune(range(D))
    without = [
        slow.set_loss(
            slow.rbf, Z, [f for f in range(D) if f != j], setting.scale, setting.ridge, SIGNS, True
        )
        for j in range(D)
    ]
    assert last == int(np.argmin(without))
    assert set(eliminate(own, range(D), fixed=[4, 5]).order[:2]) == {4, 5}


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_pure_interaction_among_30_columns_is_found(kernel):
    values = np.random.default_rng(0).normal(size=(200, 30))
    own = problem(values, np.sign(values[:, [7]] * values[:, [21]]), kernel=kernel)
    assert set(joint_order(own, range(30)).order[:2]) == {7, 21}


def test_substitutes_are_copies_of_the_head():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(150, 20))
    values[:, 10:13] = values[:, :3] + 0.3 * rng.normal(size=(150, 3))
    own = problem(values, np.where(values[:, [0]] * values[:, [1]] + values[:, [2]] > 0, 1.0, -1.0))
    assert own.good_head([0, 1, 2, 5, 6]) in ([0, 1, 2], [0, 1, 2, 5])
    found = own.substitutes([0, 1, 2], range(3, 20))
    assert set(found[:3].tolist()) == {10, 11, 12}


def test_another_start_keeps_its_order_after_the_head():
    values = np.random.default_rng(2).normal(size=(60, 16))
    own = problem(values, np.sign(values[:, [3]] + values[:, [4]]))
    start = [*range(15, -1, -1)]
    found = joint_order(own, range(16), start=start)
    assert sorted(found.order) == list(range(16))
    assert set(found.order[:10]) >= {3, 4}
    assert found.order[10:] == [j for j in start if j not in found.order[:10]]
    assert found.substitutes == []


# -- columns and rows -----------------------------------------------------------------------------


def test_features_have_squared_distances_of_mean_2_wherever_they_stand():
    values = np.column_stack(
        [RNG.normal(size=40) * 1e6 + 1e9, RNG.integers(0, 4, 40), RNG.normal(size=40)]
    )
    values[::5, 2] = np.nan
    own = JointColumns.of(table(values, [False, True, False]), np.arange(3))
    for j in range(3):
        assert own.distances([j]).mean() == pytest.approx(2.0)
    order = np.array([2, 0, 1])
    again = JointColumns.of(table(values[:, order], [False, False, True]), np.arange(3))
    np.testing.assert_array_equal(own.source, order[again.source])
    np.testing.assert_array_equal(own.Z, again.Z)
    np.testing.assert_allclose(
        own.distances([0, 1, 2]), sum(own.distances([j]) for j in range(3)), atol=1e-9
    )


def test_missing_numbers_are_as_far_from_others_as_two_rows_are():
    values = RNG.normal(size=(60, 1))
    values[:20] = np.nan
    D = JointColumns.of(table(values), np.arange(1)).distances([0])
    assert D[:20, :20].max() == 0
    seen = D[20:, 20:].sum() / 40**2
    assert D[:20, 20:].mean() == pytest.approx(seen)


def test_columns_that_are_constant_in_the_rows_are_left_out():
    values = np.column_stack([np.ones(10), RNG.normal(size=10)])
    assert JointColumns.of(table(values), np.arange(2)).source.tolist() == [1]


def test_rows_are_drawn_by_what_is_in_them():
    values, labels = RNG.normal(size=(200, 3)), np.repeat([0, 1, 2], [100, 80, 20])
    rows = sample_rows(table(values), labels, 100, seed=1)
    np.testing.assert_array_equal(np.bincount(labels[rows]), [50, 40, 10])
    order = RNG.permutation(200)
    again = sample_rows(table(values[order][:, [2, 0, 1]] * 4 + 1), labels[order], 100, seed=1)
    assert set(order[again].tolist()) == set(rows.tolist())
    assert set(sample_rows(table(values), labels, 100, seed=2).tolist()) != set(rows.tolist())


def test_the_screen_keeps_a_pure_interaction():
    values = np.random.default_rng(4).normal(size=(150, 300))
    Y = np.sign(values[:, [12]] * values[:, [250]])
    own = table(values)
    kept = screen(
        lambda which: JointColumns.of(own, which), np.arange(300), HeldOut(Y, True), 60,
        np.arange(20, 30), lambda done, total: None,
    )  # fmt: skip
    assert len(kept) == 60
    assert {12, 250, *range(20, 30)} <= set(kept.tolist())

"""GMKL estimators: what is selected, and what is said of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kernelpath as kp

RING = kp.datasets.make_ring(n_samples=120, n_features=8, random_state=0)
X, Y = RING.X, RING.y
RELEVANT = sorted(RING.relevant.tolist())
TRAIN = np.arange(80)


@pytest.mark.parametrize("share", [0.99, 0.95, 0.8])
@pytest.mark.parametrize("base_kernel", ["rbf", "linear", "multi", "bandwidths"])
def test_nothing_is_left_of_where_a_solver_started(base_kernel, share):
    """Near the strength that leaves nothing, equal weights of next to nothing are optimal too."""
    rng = np.random.default_rng(4)
    table = rng.normal(size=(120, 30))
    y = 0.3 * table[:, 0] + rng.normal(size=120) > 0
    path = kp.GMKLClassifier(base_kernel=base_kernel, strengths=2).fit(table, y).path_
    model = kp.GMKLClassifier(
        base_kernel=base_kernel, regularizer=kp.L1(share * path.parameters[0])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table, y)
    assert model.support_.sum() <= 5
    assert model.gap_ <= 1e-3


def test_selections_do_not_depend_on_the_order_of_columns():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        table = rng.normal(size=(150, 10))
        y = table[:, 1] + 0.5 * table[:, 2] + rng.normal(size=150) > 0
        here = kp.GMKLClassifier(base_kernel="linear").fit(table, y).support_
        there = kp.GMKLClassifier(base_kernel="linear").fit(table[:, ::-1], y).support_[::-1]
        np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize(
    "options",
    [{}, {"strengths": 5}, {"weights": "uniform"}, {"feasible": kp.Box(0.1, 1.0)}],
    ids=["learned", "path", "rule", "box"],
)
@pytest.mark.filterwarnings("ignore:No kernel has a weight")
def test_constant_columns_are_never_selected(options):
    table = np.column_stack([X[:, RELEVANT[0]], np.full(120, 3.3), X[:, RELEVANT[1]]])
    with pytest.warns(UserWarning, match="Column 1 is constant"):
        model = kp.GMKLClassifier(**options).fit(table, Y)
    assert model.support_.tolist() == [True, False, True]
    if "strengths" in options:
        assert not model.path_.weights.toarray()[:, 1].any()


@pytest.mark.parametrize("feasible", [kp.LpBall(1.5, 1.0), kp.Box(0.0, 1.0), None])
@pytest.mark.filterwarnings("ignore:No kernel has a weight")
def test_products_are_no_worse_than_nothing(feasible):
    rng = np.random.default_rng(40)
    table = rng.normal(size=(300, 2))
    f = np.sin(2 * table[:, 0]) + 0.5 * table[:, 1] + 0.3 * rng.normal(size=300)
    rare = np.argsort(np.argsort(f)) < 10
    model = kp.GMKLClassifier(kernel="product", regularizer=kp.L1(8.0), feasible=feasible)
    model.fit(table, rare)
    assert model.objective_ <= 20.0 * (1 + 1e-9)  # without any feature
    assert model.status_ == "converged"
    assert model.residual_ <= model.tol


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0])
def test_the_default_strength_leaves_something_for_any_cost(C):
    assert kp.GMKLClassifier(C=C).fit(X, Y).support_.any()


def test_an_empty_model_is_said_to_be_one():
    with pytest.warns(UserWarning, match="No kernel has a weight: the model is a constant"):
        kp.GMKLClassifier(regularizer=kp.L1(1e6)).fit(X, Y)


def test_machines_of_a_rule_are_exact_for_any_cost():
    s = np.sin(2 * X[:, 0]) + 0.5 * X[:, -1]
    model = kp.GMKLRegressor(base_kernel="delta", weights="uniform", C=1000.0).fit(X, s)
    assert model.gap_ <= 1e-3


def test_a_size_that_the_path_skips():
    model = kp.GMKLClassifier(strengths=15).fit(X, Y)
    missing = sorted(set(range(1, 9)) - set(model.path_.n_selected.tolist()))
    size = missing[-1]
    with pytest.warns(UserWarning, match=f"exactly {size} features; the one with") as caught:
        model = kp.GMKLClassifier(strengths=15, n_features_to_select=size).fit(X, Y)
    assert caught[0].filename == __file__
    assert model.support_.sum() < size


def test_matrices_in_single_precision_and_under_numbers():
    from sklearn.metrics.pairwise import rbf_kernel

    Z = X[TRAIN].astype(np.float32)
    grams = {0: rbf_kernel(Z), 1: Z @ Z.T}
    model = kp.GMKLClassifier(kernel="precomputed").fit(grams, Y[TRAIN])
    assert model.gap_ <= 1e-3
    assert len(model.predict(grams)) == 80


def test_three_widths_are_kernels_side_by_side_and_find_a_wave():
    """As the sum of matrices of these kernels; one width does not hear the wave."""
    rng = np.random.default_rng(6)
    table = rng.normal(size=(150, 3))
    y = (np.sin(4 * table[:, 1]) > 0).astype(int)
    model = kp.GMKLClassifier(base_kernel="multi", tol=1e-6).fit(table, y)
    assert model.feature_importances_.argmax() == 1
    grams = [
        np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / (width * x.std()) ** 2)
        for x in table.T
        for width in (1.0, 0.5, 0.25)
    ]
    twin = kp.GMKLClassifier("precomputed", tol=1e-6).fit(grams, y)
    largest = twin.weights_.max()
    np.testing.assert_allclose(model.weights_, twin.weights_, atol=1e-3 * largest)
    wide = kp.GMKLClassifier(tol=1e-6).fit(table, y)
    assert model.score(table, y) > 0.9 > wide.score(table, y)

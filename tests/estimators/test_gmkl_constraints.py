"""GMKL with columns that are always in, and with columns that go together."""

import numpy as np
import pytest

import kernelpath as kp

RNG = np.random.default_rng(1)
N, D = 60, 7
LABELS = np.repeat([0, 1], N // 2)
X = RNG.normal(size=(N, D)) + np.linspace(1.5, 0.0, D) * LABELS[:, None]


def test_a_group_is_the_given_kernel_that_is_the_mean_of_its_columns():
    """The same model from kernel matrices, with the mean in the place of the columns."""
    groups = [[0, 4], [2, 3]]
    grouped = kp.GMKLClassifier(feature_groups=groups, tol=1e-6).fit(X, LABELS)
    grams = []
    for j in range(D):
        x = X[:, j]
        K = np.exp(-np.square(x[:, None] - x) / (2 * x.var()))
        H = np.eye(N) - 1 / N
        K = H @ K @ H
        grams.append(K / np.trace(K) * N)
    means = [(grams[0] + grams[4]) / 2, grams[1], (grams[2] + grams[3]) / 2, *grams[5:]]
    slow = kp.GMKLClassifier("precomputed", tol=1e-6).fit(means, LABELS)
    np.testing.assert_allclose(grouped.weights_, slow.weights_, rtol=2e-3, atol=2e-4)
    assert grouped.objective_ == pytest.approx(slow.objective_, rel=1e-5)
    assert grouped.gap_ < 1e-5
    shared = grouped.feature_importances_
    assert shared[0] == shared[4] == pytest.approx(grouped.weights_[0] / 2)
    np.testing.assert_allclose(
        grouped.decision_function(X), slow.decision_function(means), atol=5e-3
    )


def test_along_a_path_groups_move_together_and_some_columns_never_leave():
    model = kp.GMKLClassifier(
        strengths=12, feature_groups={"pair": ["x0", "x1"]}, must_include=["x6"]
    ).fit(X, LABELS)
    supports = model.path_.supports.toarray()
    assert supports[:, 6].all()
    assert (supports[:, 0] == supports[:, 1]).all()
    assert 1 <= model.path_.n_selected.min() < model.path_.n_selected.max()
    assert model.path_.weights.toarray()[0, 6] == 0.0
    assert model.support_[6]
    assert model.transform(X).shape[1] == model.support_.sum()


def test_regression_and_constant_columns():
    Z = X.copy()
    Z[:, [3, 5]] = 1.0
    with pytest.warns(kp.errors.ConstantColumnWarning):
        model = kp.GMKLRegressor(must_include=[5], feature_groups=[[0, 3]]).fit(Z, X[:, 0])
    assert model.support_[[0, 3, 5]].all()
    assert model.feature_importances_[[3, 5]].tolist() == [0.0, 0.0]
    assert model.feature_importances_[0] > 0


def test_groups_need_a_sum_of_kernels():
    with pytest.raises(ValueError, match="feature_groups has no effect"):
        kp.GMKLClassifier("product", feature_groups=[[0, 1]]).fit(X, LABELS)
    inside = kp.GMKLClassifier("product", must_include=[6]).fit(X, LABELS)
    assert inside.support_[6]


@pytest.mark.parametrize("options", [{"weights": "uniform"}, {"weights": "centered_kta"},
                                     {"base_kernel": "bandwidths"}, {"nystrom": 10}])  # fmt: skip
def test_groups_go_with_other_settings(options):
    model = kp.GMKLClassifier(feature_groups=[[0, 1, 2]], **options).fit(X, LABELS)
    assert len(set(model.feature_importances_[:3])) == 1
    assert model.score(X, LABELS) > 0.7

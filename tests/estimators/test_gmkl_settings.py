"""GMKL estimators: presets, weights by a rule, paths over p."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import kernelpath as kp
from gmkl_examples import NEW, RELEVANT, TRAIN, X, Y, centred, matrices

# -- presets --------------------------------------------------------------------------------------

SPARSE = ("simple_mkl", "product_l1", "centered_kta")


@pytest.mark.parametrize(
    "name",
    ["simple_mkl", "lp_mkl", "product_l1", "uniform", "centered_kta", "square_loss_lp_mkl"],
)
def test_presets(name):
    model = kp.GMKLClassifier.preset(name, C=5.0).fit(X, Y)
    assert model.get_params()["C"] == 5.0
    assert model.score(X, Y) > 0.8
    assert clone(model).get_params().keys() == model.get_params().keys()
    if name in SPARSE:
        assert sorted(np.argsort(-model.feature_importances_)[:2].tolist()) == RELEVANT
    target = np.square(X[:, RELEVANT]).sum(axis=1)
    if name == "square_loss_lp_mkl":
        assert model.path_.parameter_name == "p"
        assert (model.path_.parameters[0], model.path_.parameters[-1]) == (2.0, 1.0)
    assert kp.GMKLRegressor.preset(name, C=5.0).fit(X, target).score(X, target) > 0.6


def test_presets_are_what_their_papers_say():
    simple = kp.GMKLClassifier.preset("simple_mkl").fit(X, Y)
    assert simple.weights_.sum() == pytest.approx(1.0)
    assert len(simple.weights_) == 13 * 9
    equal = kp.GMKLClassifier.preset("uniform").fit(X, Y)
    np.testing.assert_allclose(equal.weights_, 1.0 / 8)
    with pytest.raises(ValueError, match="did you mean 'lp_mkl'"):
        kp.GMKLClassifier.preset("lpmkl")


# -- weights by a rule ----------------------------------------------------------------------------


def test_centered_alignment_against_its_definition():
    """Largest cosine between the combined and the ideal kernel, both centred."""
    model = kp.GMKLClassifier(kernel="precomputed", weights="centered_kta")
    model.fit(matrices(TRAIN), Y[TRAIN])
    y = np.where(Y[TRAIN] == model.classes_[1], 1.0, -1.0)
    kernels = [centred(K) for K in matrices(TRAIN)]
    kernels = [K * len(K) / np.trace(K) for K in kernels]
    ideal = centred(np.outer(y, y))

    def cosine(v):
        K = sum(w * one for w, one in zip(v, kernels))
        return -np.sum(K * ideal) / np.linalg.norm(K)

    found = minimize(
        cosine, np.full(8, 1.0 / 8), bounds=[(0, None)] * 8, tol=1e-14, options={"maxiter": 500}
    )
    assert cosine(model.weights_) <= found.fun * (1 - 1e-9)
    np.testing.assert_allclose(model.weights_, found.x / found.x.sum(), atol=2e-4)


def test_weights_that_are_given():
    weights = np.arange(1.0, 9.0)
    model = kp.GMKLClassifier(kernel="precomputed", weights=weights, C=3.0, standardize=False)
    model.fit(matrices(TRAIN), Y[TRAIN])
    np.testing.assert_array_equal(model.weights_, weights)
    K = sum(w * one for w, one in zip(weights, matrices(TRAIN)))
    new = sum(w * one for w, one in zip(weights, matrices(NEW)))
    machine = SVC(C=3.0, kernel="precomputed", tol=1e-8).fit(K, Y[TRAIN])
    values = model.decision_function(matrices(NEW))
    np.testing.assert_allclose(values, machine.decision_function(new), atol=1e-2)
    assert model.gap_ <= 1e-3
    assert model.n_svm_ == 1
    exact = kp.GMKLClassifier(kernel="product", weights=np.eye(8)[1]).fit(X, Y)
    assert exact.get_support(indices=True).tolist() == [1]


# -- paths over p ---------------------------------------------------------------------------------


def _square_loss(kernels, y, ridge, factor, p):
    """Eq. (7) of the lp-KTA paper, minimised over the weights by SciPy."""
    n = len(y)

    def value(log_weights):
        weights = np.exp(log_weights)
        Q = sum(w * K for w, K in zip(weights, kernels)) + ridge * np.eye(n)
        a = np.linalg.solve(Q, y)
        gradient = factor * p * weights ** (p - 1) - 0.5 * np.array([a @ K @ a for K in kernels])
        return 0.5 * y @ a + factor * np.sum(weights**p), gradient * weights

    found = minimize(
        value, np.full(len(kernels), -2.0), jac=True, method="L-BFGS-B",
        bounds=[(-40, 10)] * len(kernels), options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return np.exp(found.x), found.fun


def test_square_loss_path_against_scipy():
    y = np.where(Y == 1, 1.0, -1.0)[TRAIN]
    y = y - y.mean()
    kernels = [centred(K) for K in matrices(TRAIN)[:5]]
    kernels = [K * len(K) / np.trace(K) for K in kernels]
    model = kp.GMKLRegressor.preset(
        "square_loss_lp_mkl", kernel="precomputed", C=2.0, tol=1e-8, exponents=[1.8, 1.3, 1.1],
        regularizer=kp.Lp(2.0, strength=0.6),
    )  # fmt: skip
    model.fit(kernels, y)
    scaled = y / y.std()
    for point, p in zip(model.path_, (1.8, 1.3, 1.1)):
        weights, value = _square_loss(kernels, scaled, 0.5, 0.3, p)
        assert point.value == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(point.weights, weights, atol=2e-3)


def critical_factor(u, v, y, ridge, p):
    """Factor of the norm at which the weight of u vanishes at p; Theorem 4 of the lp-KTA paper."""
    share = (u @ y) / ((u @ v) * (v @ y))
    weight = ridge * share / (1.0 - share)
    return 0.5 * ((v @ y) / (ridge + weight)) ** 2 / (p * weight ** (p - 1.0))


def test_square_loss_is_not_monotone_in_p():
    """Theorem 4: a weight that is zero at one p only, and grows again."""
    rng = np.random.default_rng(1)
    y, v, u = unit(rng.normal(size=(3, 60)))
    v, y = unit(y + v), y * np.sqrt(60.0)
    u = unit(0.8 * v + 0.2 * u)
    assert (u @ v) * (v @ y) > u @ y > 0  # the condition of the theorem
    factor = critical_factor(u, v, y, ridge=0.5, p=1.5)
    model = kp.GMKLRegressor(
        kernel="precomputed", standardize=False, loss="least_squares", C=2.0, tol=1e-9,
        regularizer=kp.Lp(2.0, strength=2.0 * factor), exponents=[2.0, 1.75, 1.5, 1.3, 1.1],
        max_iter=20000,
    )  # fmt: skip
    grams = [np.outer(u, u), np.outer(v, v)]
    W = model.fit(grams, y).path_.weights.toarray()[:, 0]
    assert W[2] < 1e-3 * W.max()
    assert min(W[0], W[-1]) > 0.05 * W.max()
    expected, _ = _square_loss(grams, y, 0.5, factor, 1.1)
    assert W[-1] == pytest.approx(expected[0], rel=0.01)
    assert model.path_.gaps.max() < 1e-8


def unit(x):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"exponents": 5, "strengths": 5}, ValueError, "leave out one"),
        ({"exponents": [2.0, 0.5]}, ValueError, "numbers of at least 1"),
        ({"exponents": 1}, ValueError, "at least 2 points"),
        ({"exponents": 3, "regularizer": kp.ElasticNet()}, TypeError, "exponent p"),
        ({"exponents": 3, "weights": "uniform"}, ValueError, "one point"),
        ({"weights": "uniforn"}, ValueError, "did you mean 'uniform'"),
        ({"weights": [1.0, 2.0]}, kp.DataError, "8 numbers"),
        ({"weights": -np.ones(8)}, kp.DataError, "not negative"),
        ({"weights": "uniform", "kernel": "product"}, TypeError, "a sum of kernels"),
        ({"nystrom": 5, "kernel": "product"}, ValueError, "leave it out"),
        ({"nystrom": 0}, ValueError, "nystrom must be None or a number of rows"),
        ({"kernel": "precomputd"}, ValueError, "did you mean 'precomputed'"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"n_init": 2.5}, ValueError, "n_init must be at least 1"),
        ({"regularizer": kp.L1}, TypeError, r"such as kp.L1\(1.0\), got the class"),
        ({"regularizer": "l1"}, TypeError, r"such as kp.L1\(1.0\)"),
        ({"feasible": "simplex"}, TypeError, r"such as kp.Simplex\(1.0\)"),
        ({"loss": 3}, TypeError, "such as 'least_squares'"),
        ({"regularizer": kp.NoRegularizer()}, ValueError, "needs a bounded feasible set"),
        (
            {"base_kernel": "bandwidth"},
            ValueError,
            "base_kernel must be.*did you mean 'bandwidths'",
        ),
        ({"loss": "hinged"}, ValueError, "did you mean 'hinge'"),
        ({"strengths": "a"}, ValueError, "strengths must be at least 2 points"),
        ({"strengths": ["a", "b"]}, ValueError, "strengths must be a number of points or"),
        ({"smallest_ratio": 0.1}, ValueError, "smallest_ratio=0.1 has no effect"),
        ({"smallest_ratio": 2.0, "strengths": 5}, ValueError, "smaller than 1"),
        (
            {"kernel": "product", "base_kernel": "linear"},
            ValueError,
            "no effect without kernel='sum'",
        ),
        ({"standardize": False}, ValueError, "standardize=False has no effect"),
        ({"weights": "uniform", "regularizer": kp.L1()}, ValueError, "no effect on weights"),
        ({"weights": "uniform", "feasible": kp.Box()}, ValueError, "feasible has no effect"),
        ({"weights": "uniform", "solver": "spg"}, ValueError, "solver='spg' has no effect"),
        ({"weights": {"a": 1.0}}, kp.DataError, "8 numbers"),
        ({"weights": ["a"] * 8}, kp.DataError, "8 numbers"),
        ({"strengths": 4, "feasible": kp.Simplex()}, ValueError, "sum of the weights is fixed"),
        ({"tol": 1.5}, ValueError, "smaller than 1"),
        ({"solver": "newton", "kernel": "product"}, TypeError, "a kernel that is no sum with L1"),
        ({"loss": "epsilon_insensitive"}, ValueError, "loss must be one of"),
    ],
)
def test_bad_settings(options, error, words):
    with pytest.raises(error, match=words):
        kp.GMKLClassifier(**options).fit(X, Y)


def test_a_regularizer_without_a_strength():
    class Own:
        def value(self, d):
            return float(np.sum(d))

        def gradient(self, d):
            return np.ones(len(d))

        def hess_diag(self, d):
            return np.zeros(len(d))

    with pytest.raises(TypeError, match="with_strength"):
        kp.GMKLClassifier(regularizer=Own(), strengths=4).fit(X, Y)


def test_points_that_were_not_reached_are_counted():
    model = kp.GMKLClassifier(strengths=5, solver="spg", max_iter=2, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match="of 5 points|iteration limit"):
        model.fit(X, Y)


@pytest.mark.parametrize(
    "selector",
    [kp.GMKLClassifier(strengths=6), kp.GMKLClassifier("product", strengths=4, tol=1e-2)],
    ids=["sum", "product"],
)
def test_cross_validation_and_summary_with_the_data(selector):
    """The kernel of a feature is not the kernel that combines them."""
    model = kp.PathCV(selector, cv=2, references=False).fit(X, Y)
    assert model.scores_.mean.max() > 0.6
    summary = model.summary()
    assert summary["views"]
    convex = selector.kernel == "sum"
    words = "how far the objective is above its optimum" if convex else "There is no bound"
    assert words in kp.render_html(summary)
    assert selector.fit(X, Y).path_.summary(X, Y)["redundancy"]


def test_nothing_stays_of_an_earlier_fit():
    model = kp.GMKLClassifier(strengths=3, nystrom=5).fit(X, Y)
    assert hasattr(model, "path_")
    model.set_params(strengths=None, nystrom=None).fit(X, Y)
    assert not hasattr(model, "path_")
    assert not hasattr(model, "trace_left_out_")


def test_weights_of_rows_that_a_loss_does_not_take():
    for weight in (np.full(len(Y), 10.0), np.arange(1.0, len(Y) + 1)):
        with pytest.raises(ValueError, match="takes no sample weights"):
            kp.GMKLClassifier(loss="least_squares").fit(X, Y, sample_weight=weight)
    kp.GMKLClassifier(loss="least_squares").fit(X, Y, sample_weight=np.ones(len(Y)))


def test_copies_share_the_weight_of_one():
    one = kp.GMKLClassifier(regularizer=kp.L1(5.0), tol=1e-6).fit(X, Y)
    copies = np.column_stack([X, X[:, RELEVANT[0]]])
    both = kp.GMKLClassifier(regularizer=kp.L1(5.0), tol=1e-6).fit(copies, Y)
    total = both.weights_[RELEVANT[0]] + both.weights_[8]
    assert total == pytest.approx(one.weights_[RELEVANT[0]], rel=1e-2)
    assert both.objective_ == pytest.approx(one.objective_, rel=1e-5)


def test_given_matrices_with_many_rows(monkeypatch):
    """By factors, without a matrix of all pairs: the same model."""
    from kernelpath.mkl import problem

    small = kp.GMKLClassifier(kernel="precomputed", tol=1e-5).fit(matrices(TRAIN), Y[TRAIN])
    monkeypatch.setattr(problem, "MANY_ROWS", 10)
    large = kp.GMKLClassifier(kernel="precomputed", tol=1e-5).fit(matrices(TRAIN), Y[TRAIN])
    assert large.objective_ == pytest.approx(small.objective_, rel=1e-4)


def test_warnings_point_to_the_caller():
    with pytest.warns(UserWarning, match="constant") as caught:
        kp.GMKLClassifier().fit(np.column_stack([X, np.ones(120)]), Y)
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning) as caught:
        kp.GMKLClassifier(solver="spg", tol=1e-9, max_iter=2).fit(X, Y)
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning) as caught:
        kp.GMKLClassifier(solver="spg", tol=1e-9, max_iter=2, strengths=3).fit(X, Y)
    assert caught[0].filename == __file__

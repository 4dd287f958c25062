"""GMKLClassifier and GMKLRegressor as scikit-learn estimators and selectors."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.svm import SVC

import kernelpath as kp
from kernelpath.mkl.losses import LeastSquares
from kernelpath.mkl.weighted_kernels.products import ProductRBF

RING = kp.datasets.make_ring(n_samples=120, n_features=8, random_state=0)
X, Y = RING.X, RING.y
RELEVANT = sorted(RING.relevant.tolist())
WAVE = np.sin(2 * X[:, 2]) + X[:, 5] ** 2


def heaviest(model, count=2):
    return sorted(np.argsort(-model.feature_importances_)[:count].tolist())


@pytest.mark.parametrize(
    "options",
    [
        {}, {"kernel": "product"}, {"kernel": "polynomial"}, {"regularizer": kp.Lp(1.5)},
        {"feasible": kp.Simplex(1.0), "C": 10.0}, {"base_kernel": "simple_mkl"},
        {"regularizer": kp.ElasticNet(5.0)}, {"solver": "spg"}, {"strengths": 8},
    ],
    ids=str,
)  # fmt: skip
def test_relevant_features_get_the_weights(options):
    model = kp.GMKLClassifier(**options).fit(X, Y)
    assert heaviest(model) == RELEVANT
    assert model.status_ == "converged"
    assert model.score(X, Y) > 0.8
    convex = options.get("kernel", "sum") == "sum"
    assert (model.gap_ is not None and model.gap_ <= 1e-3) == convex
    assert model.transform(X).shape[1] == model.support_.sum()
    assert model.dual_coef_.shape == (1, len(X))


@pytest.mark.parametrize(
    "options",
    [{"C": 10.0}, {"C": 10.0, "kernel": "product"}, {"loss": LeastSquares(10.0)}],
    ids=str,
)
def test_regression(options):
    model = kp.GMKLRegressor(**options).fit(X, WAVE)
    assert heaviest(model, 1) == [2]  # by far the stronger one
    assert model.score(X, WAVE) > 0.7
    weaker = kp.GMKLRegressor(regularizer=kp.L1(5.0), **options).fit(X, WAVE)
    assert heaviest(weaker) == [2, 5]
    assert weaker.score(X, WAVE) > 0.9
    moved = kp.GMKLRegressor(**options).fit(X, 1e3 + 50 * WAVE)  # other units
    np.testing.assert_allclose(moved.predict(X), 1e3 + 50 * model.predict(X), rtol=1e-3)


def test_predictions_are_those_of_a_machine_with_that_kernel():
    model = kp.GMKLClassifier(C=5.0, tol=1e-6).fit(X, Y)
    order = model._rows.group  # rows as they came
    K = model._bound.kernel.gram(model.weights_)[np.ix_(order, order)]
    machine = SVC(C=5.0, kernel="precomputed", tol=1e-8).fit(K, Y)
    np.testing.assert_allclose(model.decision_function(X), machine.decision_function(K), atol=2e-2)
    assert (model.predict(X) == machine.predict(K)).mean() > 0.98


def test_several_classes_share_the_weights():
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 3], [-0.5, 0.5])]
    model = kp.GMKLClassifier(C=10.0).fit(X, y)
    assert heaviest(model, 1) == [3]
    assert model.decision_function(X).shape == (len(X), 3)
    assert model.dual_coef_.shape == (3, len(X))
    assert model.score(X, y) > 0.9


def test_the_path_over_strengths():
    model = kp.GMKLClassifier(strengths=10, smallest_ratio=1e-2).fit(X, Y)
    path = model.path_
    assert len(path) == 10
    assert path.parameter_name == "strength"
    assert path.n_selected[0] == 0  # the largest strength leaves nothing
    assert path.n_selected[-1] > 0
    assert (path.gaps <= 1e-3).all()
    assert (np.diff(path.parameters) < 0).all()
    assert (np.diff(path.values) <= 1e-6 * path.values[:-1]).all()  # weaker costs less
    assert sorted(path.entry_order()[:2].tolist()) == RELEVANT
    entered = [event.feature for event in path.events if event.kind == "enter"]
    assert set(RELEVANT) <= set(entered)
    cut = kp.GMKLClassifier(strengths=10, smallest_ratio=1e-2, n_features_to_select=2).fit(X, Y)
    assert cut.support_.sum() == 2


@pytest.mark.filterwarnings("ignore:No kernel has a weight")
@pytest.mark.parametrize("case", ["equal classes", "least squares", "unequal classes"])
def test_the_largest_strength(case):
    rows = np.r_[np.flatnonzero(Y.min() == Y)[:50], np.flatnonzero(Y.max() == Y)[:50]]
    if case == "unequal classes":
        rows = rows[:70]
    loss = LeastSquares(1.0) if case == "least squares" else None

    def n_selected(strength):
        model = kp.GMKLClassifier(strengths=[strength], loss=loss, tol=1e-9)
        return int(model.fit(X[rows], Y[rows]).path_.n_selected[0])

    largest = kp.GMKLClassifier(strengths=2, loss=loss).fit(X[rows], Y[rows]).path_.parameters[0]
    assert n_selected(1.0001 * largest) == 0
    # With unequal classes the empty model has many dual vectors: a bound, not the smallest one.
    assert n_selected((0.3 if case == "unequal classes" else 0.995) * largest) > 0


def test_inside_a_cross_validation():
    selector = kp.GMKLClassifier(strengths=8, smallest_ratio=1e-2)
    model = kp.PathCV(
        selector, cv=2, predictor="joint_rbf", n_features=[1, 2], references=False
    ).fit(X, Y)
    assert model.path_.method == "gmkl"
    assert sorted(model.path_.at(n_features=2).support.nonzero()[0].tolist()) == RELEVANT
    assert model.scores_.mean[1] > 0.8


def test_tables_of_all_kinds():
    names = [f"gene {j}" for j in range(8)]
    plain = kp.GMKLClassifier().fit(X, Y)
    framed = kp.GMKLClassifier().fit(pd.DataFrame(X, columns=names), Y)
    np.testing.assert_allclose(framed.weights_, plain.weights_)
    assert list(framed.get_feature_names_out()) == [
        names[j] for j in np.flatnonzero(plain.support_)
    ]
    thin = kp.GMKLClassifier(tol=1e-8).fit(sparse.csr_array(X), Y)
    exact = kp.GMKLClassifier(tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(thin.weights_, exact.weights_, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(
        thin.decision_function(sparse.csr_array(X)), exact.decision_function(X), atol=1e-3
    )
    town = np.where(X[:, 0] > 0, "Ulm", "Bonn")
    mixed = pd.DataFrame(X[:, :3], columns=list("abc")).assign(town=town)
    model = kp.GMKLClassifier(base_kernel="auto").fit(mixed, X[:, 0] > 0)
    assert model.support_[3]
    with pytest.raises(kp.DataError, match="'town' holds text"):
        kp.GMKLClassifier(base_kernel="rbf").fit(mixed, X[:, 0] > 0)
    with pytest.raises(kp.DataError, match="takes numbers"):
        kp.GMKLClassifier("product").fit(mixed, X[:, 0] > 0)


class Twice(ProductRBF):
    """Products of Gaussians of half the width: rows count twice, new ones too."""

    def __init__(self, rows):
        super().__init__(2.0 * rows)

    def cross_times(self, weights, X, U):
        return super().cross_times(weights, 2.0 * X, U)


class Doubled:
    """A kernel of one's own."""

    def bind(self, rows):
        return Twice(rows)


class Forgetful:
    """It forgets for new rows what it does to those of training."""

    def bind(self, rows):
        return ProductRBF(2.0 * rows)


class Halfway:
    """Something that is no kernel."""

    def bind(self, rows):
        return object()


def test_kernels_of_ones_own():
    own = kp.GMKLClassifier(Doubled(), tol=1e-4).fit(X, Y)
    assert heaviest(own) == RELEVANT
    with pytest.raises(TypeError, match="which lacks n_kernels"):
        kp.GMKLClassifier(Halfway()).fit(X, Y)
    with pytest.raises(kp.ExtensionError, match="cross_times of the training rows differs"):
        kp.GMKLClassifier(Forgetful()).fit(X, Y)


def test_copies_starts_and_weights_of_rows():
    model = kp.GMKLClassifier(kernel="product", n_init=3, random_state=0).fit(X, Y)
    again = clone(model).fit(X, Y)
    np.testing.assert_array_equal(model.weights_, again.weights_)
    assert model.objective_ <= kp.GMKLClassifier(kernel="product").fit(X, Y).objective_
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))
    weight = np.arange(len(X)) % 3
    rows = np.repeat(np.arange(len(X)), weight)
    one = kp.GMKLClassifier("product", kp.L1(1.0), standardize=False, tol=1e-6)
    some, many = clone(one).fit(X, Y, sample_weight=weight), clone(one).fit(X[rows], Y[rows])
    assert some.objective_ == pytest.approx(many.objective_, rel=1e-3)


def test_a_limit_is_said_with_the_gap():
    with pytest.warns(ConvergenceWarning, match=r"iteration limit\) with a certified gap of"):
        kp.GMKLClassifier(solver="spg", tol=1e-9, max_iter=2).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="stationarity residual"):
        kp.GMKLClassifier("product", tol=1e-12, max_iter=2).fit(X, Y)


def test_constant_columns_and_nothing_left():
    table = np.column_stack([X, np.ones(len(X))])
    with pytest.warns(UserWarning, match="Column 8 is constant"):
        model = kp.GMKLClassifier().fit(table, Y)
    assert not model.support_[8]
    with pytest.warns(UserWarning, match="No kernel has a weight"):
        nothing = kp.GMKLClassifier(regularizer=kp.L1(1e9)).fit(X, Y)
    np.testing.assert_array_equal(nothing.weights_, 0.0)
    assert nothing.gap_ <= 1e-3
    assert len(np.unique(nothing.predict(X))) == 1


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"C": 0}, ValueError, "C must be a positive number"),
        ({"C": -1.0}, ValueError, "C must be a positive number"),
        ({"tol": 0.0}, ValueError, "tol must be a positive number"),
        ({"kernel": "sums"}, ValueError, "did you mean 'sum'"),
        ({"kernel": 3}, ValueError, "an object with a method bind"),
        ({"base_kernel": "rbff"}, ValueError, "did you mean 'rbf'"),
        ({"solver": "newtn"}, ValueError, "did you mean 'newton'"),
        ({"kernel": "product", "solver": "newton"}, TypeError, "a sum of kernels"),
        ({"strengths": 1}, ValueError, "at least 2 points"),
        ({"strengths": [1.0, -1.0]}, ValueError, "positive numbers"),
        ({"n_features_to_select": 2}, ValueError, "no effect without strengths"),
        ({"n_init": 0}, ValueError, "n_init must be at least 1"),
    ],
)
def test_bad_settings(options, error, words):
    with pytest.raises(error, match=words):
        kp.GMKLClassifier(**options).fit(X, Y)


def test_bad_data():
    with pytest.raises(ValueError, match=r"0\.5"):
        kp.Lp(0.5)
    gaps = X.copy()
    gaps[3, 2] = np.inf
    with pytest.raises(kp.DataError, match="infinity in column 2"):
        kp.GMKLClassifier().fit(gaps, Y)
    with pytest.raises(ValueError, match="class"):
        kp.GMKLClassifier().fit(X, np.ones(len(X)))
    with pytest.raises(kp.DataError, match="120 rows, but y has 119"):
        kp.GMKLClassifier().fit(X, Y[:-1])
    with pytest.warns(DataConversionWarning, match="column-vector"):
        kp.GMKLClassifier().fit(X, Y[:, None])
    with pytest.raises(NotFittedError):
        kp.GMKLRegressor().predict(X)
    with pytest.raises(ValueError, match="epsilon"):
        kp.GMKLRegressor(epsilon=-1.0).fit(X, WAVE)


def test_epsilon_that_is_no_number():
    with pytest.raises(ValueError, match="epsilon must be a number"):
        kp.GMKLRegressor(epsilon="a").fit(np.eye(6), np.arange(6.0))

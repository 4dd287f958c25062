"""GMKL estimators: given matrices, units, and the Nystrom approximation."""

from __future__ import annotations

import numpy as np
import pytest

import kernelpath as kp
from gmkl_examples import NEW, RELEVANT, TRAIN, X, Y, matrices, rbf

# -- given matrices -------------------------------------------------------------------------------


def test_given_matrices_are_the_kernels_of_the_features():
    """The same kernels, once by name and once as matrices."""
    own = X / X[TRAIN].std(axis=0)
    options = {"C": 5.0, "regularizer": kp.L1(2.0), "tol": 1e-6}
    by_name = kp.GMKLClassifier(**options).fit(X[TRAIN], Y[TRAIN])
    grams = {f"x{j}": rbf(own[TRAIN, j], own[TRAIN, j]) for j in range(8)}
    given = kp.GMKLClassifier(kernel="precomputed", **options).fit(grams, Y[TRAIN])
    np.testing.assert_allclose(given.weights_, by_name.weights_, atol=1e-3)
    assert given.objective_ == pytest.approx(by_name.objective_, rel=1e-5)
    new = {f"x{j}": rbf(own[NEW, j], own[TRAIN, j]) for j in range(8)}
    new = dict(reversed(new.items()))  # found by name
    expected = by_name.decision_function(X[NEW])
    np.testing.assert_allclose(given.decision_function(new), expected, atol=1e-2)
    names = given.get_feature_names_out().tolist()
    assert list(given.transform(new)) == names
    assert names == [f"x{j}" for j in np.flatnonzero(given.support_)]


@pytest.mark.parametrize("form", ["list", "array", "one"])
def test_forms_of_matrices(form):
    features = [RELEVANT[0]] if form == "one" else range(8)
    grams, new = matrices(TRAIN, features=features), matrices(NEW, features=features)
    if form == "array":
        grams, new = np.array(grams), np.array(new)
    if form == "one":
        grams, new = grams[0], new[0]
    model = kp.GMKLClassifier(kernel="precomputed", regularizer=kp.L1(0.1)).fit(grams, Y[TRAIN])
    assert model.predict(new).shape == (40,)
    assert model.n_features_in_ == len(features)
    if form != "one":
        assert len(model.transform(new)) == model.support_.sum()


def test_a_path_over_matrices():
    model = kp.GMKLClassifier(kernel="precomputed", strengths=6).fit(
        dict(zip("abcdefgh", matrices(TRAIN))), Y[TRAIN]
    )
    assert model.path_.n_selected[0] <= 1
    entered = [event.name for event in model.path_.events if event.kind == "enter"]
    assert set(entered) <= set("abcdefgh")
    assert entered
    again = kp.GMKLClassifier(kernel="precomputed").fit(matrices(TRAIN), Y[TRAIN])
    assert not hasattr(again, "feature_names_in_")


def _changed(change):
    grams = matrices(TRAIN)
    grams[3] = change(grams[3].copy())
    return grams


def _nan(K):
    K[1, 1] = np.nan
    return K


def _skew(K):
    K[0, 1] += 1e-3
    return K


@pytest.mark.parametrize(
    ("grams", "words"),
    [
        (_changed(_nan), "Kernel matrix 3 holds NaN"),
        (_changed(_skew), "Kernel matrix 3 is not symmetric"),
        (_changed(lambda K: K - 5 * np.eye(80)), "Kernel matrix 3 is not positive semidefinite"),
        (_changed(lambda K: K[:-1, :-1]), r"Kernel matrix 3 has the shape \(79, 79\)"),
        (_changed(lambda K: K[:-1]), r"Kernel matrix 3 has the shape \(79, 80\)"),
        ([], "no kernel matrix"),
        (7, "takes kernel matrices"),
        ("gram", "takes kernel matrices"),
        (["gram"], "Kernel matrix 0 is no matrix of numbers"),
    ],
    ids=["nan", "skew", "negative", "small", "oblong", "none", "number", "text", "texts"],
)
def test_bad_matrices(grams, words):
    with pytest.raises(kp.DataError, match=words):
        kp.GMKLClassifier(kernel="precomputed").fit(grams, Y[TRAIN])


def test_matrices_that_explain_nothing():
    grams = _changed(np.ones_like)
    with pytest.warns(UserWarning, match="Matrix 3 is constant"):
        model = kp.GMKLClassifier(kernel="precomputed").fit(grams, Y[TRAIN])
    assert model.weights_[3] == 0.0
    raw = kp.GMKLClassifier(kernel="precomputed", standardize=False, regularizer=kp.L1(1.0))
    with pytest.warns(UserWarning, match="Matrix 3 is constant"):
        raw.fit(_changed(np.zeros_like), Y[TRAIN])
    with pytest.raises(kp.DataError, match="Every matrix is constant"):
        kp.GMKLClassifier(kernel="precomputed").fit([np.zeros((80, 80))], Y[TRAIN])


def test_bad_new_matrices():
    model = kp.GMKLClassifier(kernel="precomputed").fit(matrices(TRAIN), Y[TRAIN])
    with pytest.raises(kp.DataError, match="7 matrices were given, but fit had 8"):
        model.predict(matrices(NEW)[:7])
    with pytest.raises(kp.DataError, match=r"shape \(40, 79\)"):
        model.predict(matrices(NEW, TRAIN[:-1]))
    with pytest.raises(kp.DataError, match="NaN"):
        model.predict([np.full((4, 80), np.nan)] * 8)
    named = kp.GMKLClassifier(kernel="precomputed").fit(
        dict(zip("abcdefgh", matrices(TRAIN))), Y[TRAIN]
    )
    with pytest.raises(kp.DataError, match="no matrix 'h'"):
        named.predict(dict(zip("abcdefg", matrices(NEW))))
    with pytest.raises(kp.DataError, match="'i' was not there in fit"):
        named.predict(dict(zip("abcdefghi", [*matrices(NEW), matrices(NEW)[0]])))


def test_sparse_matrices_are_matrices():
    from scipy import sparse

    grams = [np.where(K > 0.9, 1.0, 0.0) * np.eye(80) + K for K in matrices(TRAIN)]
    plain = kp.GMKLClassifier(kernel="precomputed").fit(grams, Y[TRAIN])
    thin = kp.GMKLClassifier(kernel="precomputed").fit(
        [sparse.csr_array(K) for K in grams], Y[TRAIN]
    )
    np.testing.assert_array_equal(thin.weights_, plain.weights_)


@pytest.mark.parametrize("kernel", ["product", "polynomial"])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_features_do_not_matter(kernel, unit):
    """Weights, start and default strength are in the units of the table."""
    here, there = (
        kp.GMKLClassifier(kernel=kernel, standardize=False, C=10.0, tol=1e-4).fit(scale * X, Y)
        for scale in (1.0, unit)
    )
    np.testing.assert_allclose(there.weights_ * unit**2, here.weights_, atol=0.05)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-3)


@pytest.mark.parametrize("size", [1e160, 1e-160])
@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "product", "standardize": False},
        {"kernel": "polynomial", "standardize": False},
        {"base_kernel": "simple_mkl"},
    ],
)
def test_columns_whose_squares_are_no_numbers_where_units_matter(settings, size):
    far = X.copy()
    far[:, 2] *= size
    with pytest.raises(kp.DataError, match=r"Column 2 has values of about .*another unit"):
        kp.GMKLClassifier(**settings).fit(far, Y)


def test_nystrom_is_opt_in_and_says_what_it_leaves_out():
    exact = kp.GMKLClassifier(base_kernel="laplace").fit(X, Y)
    rough = kp.GMKLClassifier(base_kernel="laplace", nystrom=40).fit(X, Y)
    assert not hasattr(exact, "trace_left_out_")
    assert rough.trace_left_out_.shape == (8,)
    assert 0 < rough.trace_left_out_.max() < 0.1
    assert rough.objective_ == pytest.approx(exact.objective_, rel=0.05)
    assert np.mean(rough.predict(X) == exact.predict(X)) > 0.95

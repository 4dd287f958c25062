"""Kernels of the user's own, and those of the package, against dense loops in every consumer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import kernelpath as kp
from kernelpath.kernels import codes, formula_code, resolve_kernel
from kernelpath.mkl.losses import Hinge, HuberHinge
from kernelpath.mkl.svm.dual import solve_duals
from kernelpath.predictors import base
from kernelpath.report import summary_views as views
from kernelpath.tables.table import as_column_table
from kernels.examples import COMPILED, EXAMPLES, OWN, Cauchy, Wide
from reference import own_kernels as slow

RNG = np.random.default_rng(0)
N = 36  # more than the rows that are few enough for any algorithm
X = np.round(RNG.normal(size=(N, 5)), 2)
X[:, 3] = X[:, 3] > 0  # two values
X[:, 4] = np.round(3 * np.abs(X[:, 4])) * (RNG.uniform(size=N) < 0.4)  # mostly zeros
NEW = np.vstack([X[:3], np.round(RNG.normal(size=(8, 5)), 2)])
NEW[3:, 3] = 1.0
COUNTS = RNG.integers(1, 4, size=N)
SIGNAL = np.abs(X[:, 0]) + 0.7 * X[:, 1] + 0.3 * X[:, 3]
TARGETS = {
    "two classes": ((SIGNAL > 0.9).astype(int), "classification"),
    "three classes": (np.digitize(SIGNAL, [0.4, 1.3]), "classification"),
    "regression": (SIGNAL, "regression"),
}
TABLES = {"dense": lambda X: X, "sparse": sp.csr_matrix, "by column": np.asfortranarray}


@pytest.fixture(params=EXAMPLES)
def example(request):
    return EXAMPLES[request.param]


@pytest.fixture(params=OWN)
def own(request):
    return OWN[request.param]


def close(actual, expected, tol=1e-9):
    expected = np.asarray(expected)
    return np.abs(np.asarray(actual) - expected).max() <= tol * np.abs(expected).max()


# -- who is who ------------------------------------------------------------------------------------


def test_which_kernels_are_compiled():
    for example in OWN.values():
        assert formula_code(example.kernel) == codes.OWN
    for example in COMPILED.values():
        assert formula_code(resolve_kernel(example.kernel)) != codes.OWN


def test_a_method_put_on_an_object_or_a_class_makes_a_kernel_own(monkeypatch):
    kernel = Wide()
    object.__setattr__(kernel, "gram", lambda x, z, gamma: np.ones((len(x), len(z))))
    assert formula_code(kernel) == codes.OWN
    with pytest.raises(kp.ExtensionError, match="contradict each other"):
        kp.alignments(X, TARGETS["two classes"][0], kernel=kernel)
    monkeypatch.setattr(kp.RBF, "half_squared_distance", Cauchy.half_squared_distance)
    assert formula_code(kp.RBF()) == codes.OWN


def test_one_formula_follows_from_the_other(example):
    kernel = resolve_kernel(example.kernel)
    x, z, gamma = X[:6, 0], NEW[:4, 0], 0.7
    own = np.array([example.k(a, a, gamma) for a in x])
    other = np.array([example.k(a, a, gamma) for a in z])
    d = 0.5 * (own[:, None] + other) - slow.matrix(example.k, x, z, gamma)
    if example.kernel == "linear":
        assert close(kernel.half_squared_distance(x[:, None], z, gamma), d)
    assert np.allclose(kernel.half_squared_distance(x[:, None], z[None, :], gamma), d, atol=1e-12)
    assert np.allclose(kernel.half_squared_distance(x[2], z, gamma), d[2], atol=1e-12)
    assert np.allclose(kernel.half_squared_distance(x[:4], z, gamma), d.diagonal(), atol=1e-12)
    assert kernel.half_squared_distance(x[:0, None], z[None, :], gamma).shape == (0, 4)
    k = kernel.gram(x, z, gamma)
    own = np.diagonal(kernel.gram(x, x, gamma))
    other = np.diagonal(kernel.gram(z, z, gamma))
    assert np.allclose(0.5 * (own[:, None] + other) - k, d, atol=1e-12)


# -- alignments and lp-KTA -------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("target", TARGETS)
def test_alignments(example, target, table):
    y, task = TARGETS[target]
    expected = slow.alignments(X, y, example.k, example.width, task)
    for method in ("auto", "exact", "fast"):
        got = kp.alignments(TABLES[table](X), y, kernel=example.kernel, method=method, task=task)
        assert close(got, expected, 1e-7)
    weighted = slow.alignments(X, y, example.k, example.width, task, COUNTS)
    got = kp.alignments(TABLES[table](X), y, kernel=example.kernel, sample_weight=COUNTS, task=task)
    assert close(got, weighted, 1e-7)


def test_alignments_in_blocks_of_rows(own, monkeypatch):
    y, _ = TARGETS["two classes"]
    whole = kp.alignments(X, y, kernel=own.kernel)
    monkeypatch.setattr("kernelpath.alignment.own.BLOCK_VALUES", 100)
    assert close(kp.alignments(X, y, kernel=own.kernel), whole, 1e-13)
    assert np.array_equal(
        kp.alignments(X, y, kernel=own.kernel, n_jobs=2),
        kp.alignments(X, y, kernel=own.kernel, n_jobs=1),
    )


def test_given_widths_need_no_width_of_the_kernel():
    class Bare(kp.FeatureKernel):
        def half_squared_distance(self, x, z, gamma):
            return Cauchy().half_squared_distance(x, z, gamma)

    y, _ = TARGETS["two classes"]
    got = kp.alignments(X, y, kernel=Bare(), gamma=0.5)
    assert np.array_equal(got, kp.alignments(X, y, kernel=Cauchy(), gamma=0.5))
    with pytest.raises(TypeError, match="Bare does not define gamma"):
        kp.alignments(X, y, kernel=Bare())


def test_lp_kta(example):
    y, task = TARGETS["two classes"]
    selector = kp.LpKTASelector(kernel=example.kernel, statistic="alignment")
    selector.fit(X, y, sample_weight=COUNTS)
    expected = slow.alignments(X, y, example.k, example.width, task, COUNTS)
    assert close(selector.alignments_, expected, 1e-7)


def test_a_formula_of_ones_own_has_one_width(own):
    y, _ = TARGETS["two classes"]
    selector = kp.LpKTASelector(kernel=own.kernel).fit(X, y)
    assert (selector.statistic_, selector.test_) == ("alignment", None)


# -- combined kernels ------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["dense", "sparse"])
def test_combined_kernels(example, table):
    y, _ = TARGETS["two classes"]
    path = kp.LpKTASelector(kernel=example.kernel, statistic="alignment").fit(X, y).path_
    positions = [0, 40, -1]
    for counts in (None, COUNTS):
        given = kp.combined_kernels(
            path, TABLES[table](X), X_new=TABLES[table](NEW), kernel=example.kernel,
            positions=positions, sample_weight=counts,
        )  # fmt: skip
        for position, got in zip(positions, given):
            weights = path.weights[[position]].toarray()[0]
            K, K_new = slow.combined(X, NEW, weights, example.k, example.width, counts)
            assert close(got.train, K, 1e-8)
            assert close(got.new, K_new, 1e-8)


def test_a_path_does_not_know_an_object(own):
    y, _ = TARGETS["two classes"]
    for path in (
        kp.LpKTASelector(kernel=own.kernel).fit(X, y).path_,
        kp.NMMKLSelector([1, 2], kernel=own.kernel).fit(X, y).path_,
        kp.GMKLClassifier(base_kernel=own.kernel, strengths=3).fit(X, y).path_,
    ):
        with pytest.raises(kp.DataError, match=r"computed with the kernel .*kernel="):
            next(kp.combined_kernels(path, X))
        with pytest.raises(kp.DataError, match=r"computed with the kernel .*kernel="):
            path.summary(X, y)


def test_a_kernel_that_calls_itself_rbf_is_not_taken_for_it():
    class Named(Cauchy):
        def __repr__(self):
            return "rbf"

    y, _ = TARGETS["two classes"]
    path = kp.LpKTASelector(kernel=Named()).fit(X, y).path_
    with pytest.raises(kp.DataError, match="computed with the kernel <rbf>"):
        next(kp.combined_kernels(path, X))


# -- predictions -----------------------------------------------------------------------------------


def _path_cv(example, y, task, table="dense"):
    selector = kp.LpKTASelector(kernel=example.kernel, statistic="alignment")
    model = kp.PathCV(
        selector, predictor=kp.WeightedKernelSVM(C=1.0), n_features=[3], cv=3, references=False
    )
    return model.fit(TABLES[table](X), y)


@pytest.mark.parametrize("table", ["dense", "sparse"])
@pytest.mark.parametrize("target", TARGETS)
def test_path_cv(example, target, table):
    y, task = TARGETS[target]
    model = _path_cv(example, y, task, table)
    weights = model.path_.at(3).weights
    expected = slow.predictions(X, y, NEW, weights, example.k, example.width, task, 1.0)
    new = TABLES[table](NEW)
    got = model.decision_function(new) if target == "two classes" else model.predict(new)
    if target == "three classes":
        assert np.array_equal(got, expected)
    else:
        assert np.abs(got - expected).max() < 0.01 * np.ptp(expected)


def test_path_cv_with_more_rows_than_a_matrix_allows(own, monkeypatch, tmp_path):
    y, task = TARGETS["two classes"]
    exact = _path_cv(own, y, task)
    monkeypatch.setattr(base, "LARGE_ROWS", 20)
    mapped = _path_cv(own, y, task)
    assert np.mean(mapped.predict(NEW) == exact.predict(NEW)) >= 0.8
    with pytest.raises(ValueError, match="cannot be saved"):
        mapped.save(tmp_path / "model.kpmodel")


def test_finished_folds_of_another_formula_are_not_taken(tmp_path):
    y, _ = TARGETS["two classes"]

    def scores(power):
        class Power(kp.FeatureKernel):
            def gamma(self, sigma):
                return 1 / np.square(sigma)

            def half_squared_distance(self, x, z, gamma):
                return -np.expm1(-((gamma * np.square(np.subtract(x, z))) ** power))

        selector = kp.LpKTASelector(kernel=Power())
        model = kp.PathCV(selector, predictor="weighted_kernel", n_features=[1, 2, 3], cv=3,
                          memory=tmp_path, references=False)  # fmt: skip
        model.fit(X, y)
        return len(list(tmp_path.glob("*.kpfold")))

    first = scores(1.0)
    assert first >= 3
    assert [scores(1.0), scores(0.2)] == [first, 2 * first]


def test_own_kernels_are_not_saved(own, tmp_path):
    y, task = TARGETS["two classes"]
    model = _path_cv(own, y, task)
    file = tmp_path / "model.kpmodel"
    with pytest.raises(ValueError, match="cannot be saved"):
        model.save(file)
    assert not file.exists()


@pytest.mark.parametrize("table", ["dense", "sparse"])
@pytest.mark.parametrize("target", TARGETS)
def test_gmkl(example, target, table):
    y, task = TARGETS[target]
    estimator = kp.GMKLRegressor if task == "regression" else kp.GMKLClassifier
    got = estimator(base_kernel=example.kernel, tol=1e-6).fit(TABLES[table](X), y)
    given, given_new = [], []
    for x, new in zip(X.T, NEW.T):
        mean, scale = slow.mean_and_scale(x, np.ones(len(x)))
        gamma = example.width(scale)
        given.append(slow.matrix(example.k, x - mean, x - mean, gamma))
        given_new.append(slow.matrix(example.k, new - mean, x - mean, gamma))
    expected = estimator(kernel="precomputed", tol=1e-6).fit(given, y)
    assert got.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    outcome = "predict" if task == "regression" else "decision_function"
    actual = getattr(got, outcome)(TABLES[table](NEW))
    assert close(actual, getattr(expected, outcome)(given_new), 2e-2)


def test_gmkl_uniform_paths_and_landmarks(example):
    y, _ = TARGETS["two classes"]
    K, K_new = slow.combined(X, NEW, np.full(5, N / 5), example.k, example.width)
    uniform = kp.GMKLClassifier(base_kernel=example.kernel, weights="uniform", tol=1e-8).fit(X, y)
    (solution,) = solve_duals(K, [Hinge(1.0).dual(np.where(y == 1, 1.0, -1.0))], 1e-10)
    # The objective counts the sum of the weights, which is 1.
    assert uniform.objective_ - 1.0 == pytest.approx(solution.dual, rel=1e-6)
    assert close(uniform.decision_function(NEW), K_new @ solution.u + solution.bias, 1e-4)
    rough = kp.GMKLClassifier(
        base_kernel=example.kernel, weights="uniform", tol=1e-8, nystrom=N
    ).fit(X, y)
    assert close(rough.decision_function(NEW), uniform.decision_function(NEW), 1e-4)
    path = kp.GMKLClassifier(base_kernel=example.kernel, strengths=4).fit(X, y).path_
    assert np.nanmax(path.gaps) <= 1e-3


@pytest.mark.parametrize("table", ["dense", "sparse"])
def test_nmmkl(example, table):
    y, _ = TARGETS["two classes"]
    selector = kp.NMMKLSelector([2], C=1.0, kernel=example.kernel).fit(TABLES[table](X), y)
    chosen = np.where(selector.support_, float(N), 0.0)
    K, _ = slow.combined(X, NEW, chosen, example.k, example.width)
    (solution,) = solve_duals(K, [HuberHinge(1.0, 0.1).dual(np.where(y == 1, 1.0, -1.0))], 1e-10)
    assert selector.support_.sum() == 2
    assert selector.objective_ == pytest.approx(solution.dual, rel=1e-3)


# -- reports ---------------------------------------------------------------------------------------


def test_views(example):
    x, grid = X[:, 0], np.linspace(-1.5, 1.5, 9)
    got = views.kernel_curve(x, SIGNAL[:, None], grid, {"kernel": example.kernel})[:, 0]
    k = example.k
    if (
        example in OWN.values() and example.by_distance
    ):  # it stands as the one that is 0 at the mean
        k = slow.anchored(example.k)
    expected = slow.curve(x, SIGNAL, grid, k, example.width, views.RIDGES, views.LANDMARKS)
    assert np.abs(got - expected).max() < 1e-3 * np.ptp(SIGNAL)


def test_redundancy_and_summary(example):
    y, task = TARGETS["two classes"]
    got = views.redundancy(as_column_table(X), [0, 1, 3], kernel={"kernel": example.kernel})
    parts = [
        slow.combined(X, NEW, np.eye(5)[j], example.k, example.width)[0].ravel() for j in (0, 1, 3)
    ]
    parts = [part / np.linalg.norm(part) for part in parts]
    assert np.abs(got - np.array(parts) @ np.array(parts).T).max() < 1e-5
    model = _path_cv(example, y, task)
    curves = model.summary()["views"][0]["curves"]
    path = kp.LpKTASelector(kernel=example.kernel).fit(X, y).path_
    kernel = None if isinstance(example.kernel, str) else example.kernel
    summary = path.summary(X, y, kernel=kernel)
    assert np.isfinite(np.array(curves, dtype=float)).any()
    assert len(summary["views"]) >= 1

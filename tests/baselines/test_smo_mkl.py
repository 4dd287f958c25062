"""SMO-MKL against its own objective, minimised by SciPy over machines of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

from baseline_examples import LABELS, THREE, D, N, X, Z, against_the_rest
from kernelpath.baselines import SMOMKL
from reference.l1_paths import one_feature_kernels


def twin(kernels, labels, p, C, strength):
    """Weights and objective by L-BFGS-B."""

    def objective(d):
        K = sum(weight * k for weight, k in zip(d, kernels))
        norm = (d**p).sum() ** (1 / p)
        value, slope = 0.5 * strength * norm**2, strength * norm ** (2 - p) * d ** (p - 1)
        for label in labels:
            machine = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, label)
            u = np.zeros(len(label))
            u[machine.support_] = machine.dual_coef_[0]
            value += np.abs(u).sum() - 0.5 * u @ K @ u
            slope = slope - 0.5 * np.array([u @ k @ u for k in kernels])
        return value, slope

    start = np.full(len(kernels), 0.3)
    options = {"ftol": 1e-14, "gtol": 1e-8}
    found = minimize(
        objective, start, jac=True, bounds=[(1e-10, None)] * len(start), options=options
    )
    return found.x, found.fun


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(("p", "C", "strength"), [(1.33, 1.0, 1.0), (2.0, 0.3, 1.0), (1.1, 1, 3)])
def test_the_optimum_of_the_paper(p, C, strength, kernel):
    model = SMOMKL("all", p, C, strength=strength, kernel=kernel, tol=1e-8).fit(X, LABELS)
    weights, value = twin(one_feature_kernels(Z, kernel), [LABELS], p, C, strength)
    assert model.gap_ < 1e-8
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.scores_, weights, atol=2e-3 * weights.max())
    np.testing.assert_array_equal(np.argsort(model.ranking_), np.argsort(-model.scores_))


def test_several_classes_have_common_weights():
    model = SMOMKL("all", tol=1e-7).fit(X, THREE)
    kernels, labels = one_feature_kernels(Z), against_the_rest(THREE)
    weights, value = twin(kernels, labels, 1.33, 1.0, 1.0)
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(model.scores_, weights, atol=5e-3 * weights.max())


def test_a_power_instead_of_the_squared_norm_is_another_problem():
    """What would be found if the norm were not squared, as in the other form of lp-norm MKL."""
    import kernelpath as kp

    other = kp.GMKLClassifier(base_kernel="rbf", regularizer=kp.Lp(1.33), tol=1e-8).fit(X, LABELS)
    found = SMOMKL("all", tol=1e-8).fit(X, LABELS)
    assert other.objective_ != pytest.approx(found.objective_, rel=1e-2)


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (SMOMKL(p=1.0), "p must be a number from 1.01 to 100, got 1.0"),
        (SMOMKL(C=0.0), "C must be a number that is positive"),
        (SMOMKL(strength=-1.0), "strength must be a number that is positive"),
        (SMOMKL(tol=1.0), "tol must be below 1"),
        (SMOMKL(kernel="rfb"), "did you mean 'rbf'"),
    ],
)
def test_bad_settings(selector, words):
    with pytest.raises(ValueError, match=words):
        selector.fit(X, LABELS)


def test_sizes():
    assert SMOMKL([1, 3]).fit(X, LABELS).path_.n_selected.tolist() == [1, 3]
    assert (len(X), X.shape[1]) == (N, D)

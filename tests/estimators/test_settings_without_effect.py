"""Settings that others make pointless: refused, one by one, and not when they are left alone."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import kernelpath as kp
from cli.helpers import make_frame, run, save_csv
from kernelpath.estimators import _path_cv_checks, additive, gmkl, l1kr, lp_kta, nmmkl
from kernelpath.inference import stability
from kernelpath.kernels import feature_kernel_settings
from kernelpath.mkl.losses import Hinge, LeastSquares
from kernelpath.utils.checks import Idle, refuse_idle

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = (np.square(X[:, 0]) + np.square(X[:, 1]) > 1.4).astype(int)
VALUES = X[:, 0] + 0.1 * RNG.normal(size=40)
GRAMS = [np.multiply.outer(x, x) for x in X.T]
ONE = kp.WeightedKernelSVM(C=1.0)

# The estimator, its data, and the setting of it that would change nothing.
PAIRS = [
    (kp.LpKTASelector(bandwidth="median", gamma=0.5), (X, Y), "bandwidth='median'.*beside gamma"),
    (kp.LpKTASelector(kernel="linear", bandwidth="median"), (X, Y), "bandwidth='median'.*no width"),
    (kp.LpKTASelector(kernel=kp.Delta(), bandwidth="median"), (X, Y), "bandwidth='median'.*delta"),
    (kp.LpKTASelector(kernel="linear", gamma=[1.0] * 4), (X, Y), "gamma.*no width"),
    (kp.AdditivePathSelector(kernel="linear", gamma=0.5), (X, Y), "gamma=0.5.*no width"),
    (kp.AdditivePathSelector(bandwidth="multi", gamma=0.5), (X, Y), "bandwidth='multi'.*gamma"),
    (kp.AdditivePathSelector(kernel="delta", n_components=3), (X, Y), "n_components=3.*exact"),
    (kp.LpKTASelector(predictor_order=2), (X, Y), "predictor_order=2.*solver='exact'"),
    (kp.LpKTASelector(statistic="calibrated", tol=1e-4), (X, Y), "tol=0.0001.*by p-values"),
    (kp.LpKTASelector(0.0, 1.0, reference=0.1), (X, Y), "reference=0.1.*bregman_strength=0"),
    (kp.LpKTASelector(0.0, 1.0, divergence="kl"), (X, Y), "divergence='kl'.*bregman_strength=0"),
    (kp.L1KRRegressor(degree=2), (X, VALUES), "degree=2.*kernel='gaussian'"),
    (kp.L1KRClassifier(degree=2), (X, Y), "degree=2.*kernel='gaussian'"),
    (kp.NMMKLSelector(1, epsilon=0.2), (X, Y), "epsilon=0.2.*on classes"),
    (kp.GMKLClassifier(n_init=3), (X, Y), "n_init=3.*sum of kernels"),
    (kp.GMKLClassifier("precomputed", n_init=3), (GRAMS, Y), "n_init=3.*sum of kernels"),
    (kp.GMKLClassifier("product", n_init=3, strengths=3), (X, Y), "n_init=3.*along a path"),
    (kp.GMKLClassifier("product", n_init=3, weights=[1.0] * 4), (X, Y), "n_init=3.*by a rule"),
    (kp.GMKLClassifier("product", nystrom=5), (X, Y), "nystrom=5.*without kernel='sum'"),
    (kp.GMKLClassifier("product", base_kernel="linear"), (X, Y), "base_kernel='linear'.*without"),
    (kp.GMKLClassifier(standardize=False), (X, Y), "standardize=False.*kernel='sum'"),
    (kp.GMKLClassifier(weights="uniform", strengths=3), (X, Y), "strengths=3.*one point"),
    (kp.GMKLClassifier(weights="uniform", exponents=3), (X, Y), "exponents=3.*one point"),
    (kp.GMKLClassifier(weights="uniform", regularizer=kp.L1()), (X, Y), "regularizer.*by a rule"),
    (kp.GMKLClassifier(weights="uniform", feasible=kp.Box()), (X, Y), "feasible.*by a rule"),
    (kp.GMKLClassifier(weights="uniform", solver="spg"), (X, Y), "solver='spg'.*by a rule"),
    (kp.GMKLClassifier(weights="uniform", max_iter=5), (X, Y), "max_iter=5.*by a rule"),
    (kp.GMKLClassifier(strengths=3, feasible=kp.Simplex(1.0)), (X, Y), "strengths=3.*is fixed"),
    (kp.GMKLClassifier(n_features_to_select=2), (X, Y), "n_features_to_select=2.*strengths"),
    (kp.GMKLClassifier(smallest_ratio=0.1), (X, Y), "smallest_ratio=0.1.*number of strengths"),
    (kp.GMKLClassifier(strengths=[1.0, 0.1], smallest_ratio=0.1), (X, Y), "smallest_ratio=0.1"),
    (kp.GMKLClassifier(C=5.0, loss=Hinge(2.0)), (X, Y), "C=5.0.*beside a loss"),
    (kp.GMKLRegressor(epsilon=0.2, loss="least_squares"), (X, VALUES), "epsilon=0.2.*another loss"),
    (kp.GMKLRegressor(epsilon=0.2, loss=LeastSquares()), (X, VALUES), "epsilon=0.2.*another loss"),
    (kp.GMKLClassifier("product", feature_groups=[[0, 1]]), (X, Y), "feature_groups.*a sum of"),
    (kp.PathCV(cv=2, tolerance=0.1), (X, Y), "tolerance=0.1.*rule='tolerance'"),
    (kp.PathCV(cv=2, level=0.2), (X, Y), "level=0.2.*rule='fdr'"),
    (kp.PathCV(cv=2, rule=lambda scores: 1, budget=2), (X, Y), "budget=2.*a function"),
    (kp.PathCV(cv=2, predictor=LogisticRegression(), probability=True), (X, Y), "of your own"),
    (kp.PathCV(cv=2, probability=True), (X, VALUES), "probability=True.*continuous target"),
    (kp.PathCV(cv=2, predictor=ONE, inner_cv=4), (X, Y), "inner_cv=4.*nothing to choose"),
    (kp.PathCV(cv=2, predictor=LinearRegression(), inner_cv=4), (X, VALUES), "inner_cv=4"),
    (kp.StabilityPath(n_features=2, max_false=0.5), (X, Y), "max_false=0.5.*n_features='auto'"),
]  # fmt: skip
RULES = {
    kp.GMKLRegressor: gmkl.IDLE,
    kp.LpKTASelector: lp_kta.IDLE,
    kp.L1KRRegressor: l1kr.IDLE,
    kp.NMMKLSelector: nmmkl.IDLE,
    kp.AdditivePathSelector: additive.IDLE,
    kp.PathCV: _path_cv_checks.IDLE,
    kp.StabilityPath: stability.IDLE,
}


@pytest.mark.parametrize(("model", "data", "words"), PAIRS, ids=[pair[2] for pair in PAIRS])
def test_refused(model, data, words):
    before = model.get_params()
    with pytest.raises(ValueError, match=words) as refused:
        model.fit(*data)
    assert "no effect" in str(refused.value)
    assert ";" in str(refused.value)  # and then what to do
    assert model.get_params() == before


def test_every_rule_is_tried():
    tried = " ".join(pair[2] for pair in PAIRS)
    for cls, rules in RULES.items():
        names = inspect.signature(cls.__init__).parameters
        for rule in rules:
            assert rule.setting in names
            assert rule.setting in tried or "of your own" in rule.why


def test_alignments_and_combined_kernels():
    with pytest.raises(ValueError, match="bandwidth='median' has no effect beside gamma"):
        kp.alignments(X, Y, bandwidth="median", gamma=0.5)
    path = kp.LpKTASelector(gamma=0.5, step=0.5).fit(X, Y).path_
    assert feature_kernel_settings(path.provenance["parameters"])["gamma"] == 0.5
    with pytest.raises(ValueError, match="bandwidth='median' has no effect beside gamma"):
        kp.combined_kernels(path, X, bandwidth="median", gamma=0.5)
    (own,) = kp.combined_kernels(path, X, positions=0, bandwidth="median")
    fresh = kp.LpKTASelector(bandwidth="median", step=0.5).fit(X, Y).path_
    (as_traced,) = kp.combined_kernels(path, X, positions=0)
    (twin,) = kp.combined_kernels(path, X, positions=0, kernel="rbf", bandwidth="median")
    np.testing.assert_array_equal(own.train, twin.train)
    assert np.abs(own.train - as_traced.train).max() > 1e-4
    assert fresh.provenance["parameters"]["bandwidth"] == "median"


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float64(3.0)])
def test_a_default_that_is_spelled_out_is_no_wish(value):
    rule = Idle("degree", lambda own: True, "ever")
    model = kp.L1KRRegressor(degree=3).set_params(degree=value)
    refuse_idle(model, [rule])
    with pytest.raises(ValueError, match="degree=4 has no effect ever"):
        refuse_idle(model.set_params(degree=4), [rule])


def test_rules_of_a_sister_class():
    refuse_idle(kp.GMKLClassifier(), [Idle("epsilon", lambda own: True, "ever")])


def test_options_that_only_folds_look_at(tmp_path):
    save_csv(tmp_path, make_frame())
    refused = run("path", tmp_path / "table.csv", "--target", "outcome", "--seed", "7")
    assert refused.exit_code == 2
    assert "'--seed': has no effect without --cv" in refused.stderr

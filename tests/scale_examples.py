"""Every estimator on tables whose columns and targets are as large or small as numbers get."""

from __future__ import annotations

from functools import cache

import numpy as np

import kernelpath as kp
from kernelpath import baselines

RNG = np.random.default_rng(3)
N, D = 40, 4
X = RNG.normal(size=(N, D)).round(3)
NUMBERS = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.1 * RNG.normal(size=N)
LABELS = (np.median(NUMBERS) < NUMBERS).astype(int)
NEW = RNG.normal(size=(7, D)).round(3)
SCALES = (1e-310, 1e-300, 1e-200, 1e-145, 1e-100, 1.0, 1e100, 1e140, 1e160, 1e200, 1e300)
MIXED = np.array([1e-300, 1e300, 1.0, 1e-160])


def path_cv(**settings):
    """A small cross-validation."""
    quick = {"cv": 2, "n_features": [1, 3], "references": False}
    return kp.PathCV(kp.LpKTASelector(step=0.5), **quick, **settings)


def _l1kr(kind, *arguments, **settings):
    return kind(*arguments, norm_budget=0.3, search_branches=False, **settings)


MODELS = {
    "LpKTA": (lambda: kp.LpKTASelector(step=0.5), LABELS),
    "LpKTA numbers": (lambda: kp.LpKTASelector(step=0.5), NUMBERS),
    "LpKTA median": (lambda: kp.LpKTASelector(step=0.5, bandwidth="median"), LABELS),
    "LpKTA laplace": (lambda: kp.LpKTASelector(step=0.5, kernel="laplace"), LABELS),
    "LpKTA polynomial": (lambda: kp.LpKTASelector(step=0.5, kernel="polynomial"), LABELS),
    "additive": (lambda: kp.AdditivePathSelector(2, n_strengths=12), LABELS),
    "additive numbers": (lambda: kp.AdditivePathSelector(2, kernel="laplace"), NUMBERS),
    "additive polynomial": (lambda: kp.AdditivePathSelector(2, kernel="polynomial"), NUMBERS),
    "GMKL": (lambda: kp.GMKLClassifier(), LABELS),
    "GMKL bandwidths": (lambda: kp.GMKLClassifier(base_kernel="bandwidths"), LABELS),
    "GMKL linear": (lambda: kp.GMKLClassifier(base_kernel="linear"), LABELS),
    "GMKL laplace": (lambda: kp.GMKLClassifier(base_kernel="laplace"), LABELS),
    "GMKL product": (lambda: kp.GMKLClassifier(kernel="product"), LABELS),
    "GMKL polynomial": (lambda: kp.GMKLClassifier(kernel="polynomial"), LABELS),
    "GMKL numbers": (lambda: kp.GMKLRegressor(), NUMBERS),
    "GMKL squares": (lambda: kp.GMKLRegressor(loss="least_squares"), NUMBERS),
    "PathCV weighted": (lambda: path_cv(predictor="weighted_kernel"), LABELS),
    "PathCV joint": (lambda: path_cv(predictor="joint_rbf"), LABELS),
    "PathCV numbers": (lambda: path_cv(), NUMBERS),
    "PathCV baselines": (
        lambda: path_cv(predictor=kp.WeightedKernelSVM(C=10.0), baselines=["f_test", "forest"]),
        NUMBERS,
    ),
    "PathCV GMKL": (
        lambda: kp.PathCV(
            kp.GMKLClassifier(strengths=4), cv=2, n_features=[1, 2], references=False
        ),
        LABELS,
    ),
    "NMMKL": (lambda: kp.NMMKLSelector(2), LABELS),
    "NMMKL rbf": (lambda: kp.NMMKLSelector(2, kernel="rbf"), NUMBERS),
    "Joint": (lambda: kp.JointPathSelector(2), LABELS),
    "Joint numbers": (lambda: kp.JointPathSelector(2), NUMBERS),
    "L1KR": (lambda: _l1kr(kp.L1KRClassifier), LABELS),
    "L1KR numbers": (lambda: _l1kr(kp.L1KRRegressor), NUMBERS),
    "L1KR polynomial": (lambda: _l1kr(kp.L1KRRegressor, "polynomial", degree=5), NUMBERS),
    "SVMLW": (lambda: baselines.SVMLW(2), LABELS),
    "Fisher": (lambda: baselines.Fisher(2), LABELS),
    "L1SVM": (lambda: baselines.L1SVM(2), LABELS),
    "FSV": (lambda: baselines.FSV(2), LABELS),
    "L0Approximation": (lambda: baselines.L0Approximation(2), LABELS),
    "R2W2": (lambda: baselines.R2W2(2), LABELS),
    "GiniIndex": (lambda: baselines.GiniIndex(2), LABELS),
    "InformationGain": (lambda: baselines.InformationGain(2), LABELS),
    "KruskalWallis": (lambda: baselines.KruskalWallis(2), LABELS),
    "MRMR": (lambda: baselines.MRMR(2), LABELS),
    "MRMR numbers": (lambda: baselines.MRMR(2, criterion="fcq"), NUMBERS),
    "ReliefF": (lambda: baselines.ReliefF(2), LABELS),
    "ReliefF numbers": (lambda: baselines.ReliefF(2), NUMBERS),
    "Spectral": (lambda: baselines.Spectral(2, supervised=False), LABELS),
    "Spectral numbers": (lambda: baselines.Spectral(2), NUMBERS),
    "SVRLW": (lambda: baselines.SVRLW(2), NUMBERS),
    "LassoLW": (lambda: baselines.LassoLW(2), NUMBERS),
    "ForwardStepwise": (lambda: baselines.ForwardStepwise(2), NUMBERS),
    "BAHSIC": (lambda: baselines.BAHSIC(2), LABELS),
    "BAHSIC numbers": (lambda: baselines.BAHSIC(2), NUMBERS),
    "BAHSIC linear": (lambda: baselines.BAHSIC(2, "linear"), NUMBERS),
    "HSICLasso": (lambda: baselines.HSICLasso(2), LABELS),
    "HSICLasso numbers": (lambda: baselines.HSICLasso(2), NUMBERS),
    "HKL": (lambda: baselines.HKL(2, strengths=6), LABELS),
    "HKL numbers": (lambda: baselines.HKL(2, strengths=6), NUMBERS),
}  # fmt: skip
REGRESSIONS = [name for name, (_, y) in MODELS.items() if y is NUMBERS]
LOOSE = {"GMKL": 5e-3, "PathCV": 2e-3, "L1KR": 1e-5}  # tolerances of their solvers
LOCAL = ("GMKL product", "GMKL polynomial")
"""Of several optima a last bit may decide which one is reached: another must be as good."""
AS_GOOD = 0.01  # of the objective


def fitted(name, units=1.0, unit=1.0, layout=np.asarray):
    """Fit with columns and target in some units."""
    make, y = MODELS[name]
    return make().fit(layout(X * units), y * unit if y is NUMBERS else y)


@cache
def plain_model(name):
    """The same with everything of size 1."""
    return fitted(name)


def assert_same(name, model, units=1.0, unit=1.0, layout=np.asarray):
    """Fail unless a model in some units says what that of size 1 says."""
    plain = plain_model(name)
    tol = next((tol for start, tol in LOOSE.items() if name.startswith(start)), 1e-6)
    np.testing.assert_array_equal(model.get_support(), plain.get_support())
    if name in LOCAL:
        assert abs(model.objective_ - plain.objective_) <= AS_GOOD * plain.objective_
        assert model.weights_.argmax() == plain.weights_.argmax()
        return
    for attribute in ("alignments_", "feature_importances_", "weights_"):
        if hasattr(plain, attribute):
            np.testing.assert_allclose(
                getattr(model, attribute), getattr(plain, attribute), rtol=tol, atol=tol
            )
    if isinstance(plain, kp.PathCV):
        np.testing.assert_allclose(model.scores_.mean, plain.scores_.mean, rtol=0, atol=tol)
        for key, scores in plain.baseline_scores_.items():
            np.testing.assert_allclose(model.baseline_scores_[key].mean, scores.mean, atol=tol)
    if hasattr(plain, "predict"):
        expected, found = plain.predict(NEW), model.predict(layout(NEW * units))
        assert np.isfinite(found).all()
        size = np.abs(expected).max()
        np.testing.assert_allclose(found / unit, expected, rtol=10 * tol, atol=10 * tol * size)
        y = MODELS[name][1]
        scored = model.score(layout(X * units), y * unit if y is NUMBERS else y)
        np.testing.assert_allclose(scored, plain.score(X, y), rtol=0, atol=10 * tol)

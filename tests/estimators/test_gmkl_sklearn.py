"""scikit-learn's own checks of the GMKL estimators with other settings than the defaults."""

from __future__ import annotations

import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelpath as kp

CASES = [
    kp.GMKLRegressor(strengths=3),
    kp.GMKLClassifier(kernel="product", tol=1e-2),
]


@parametrize_with_checks(CASES)
def test_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their tables are of a kind that deserves warnings
        check(estimator)

"""scikit-learn's own checks of the GMKL estimators."""

from __future__ import annotations

import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelpath as kp

WEIGHTS = "weights count in the loss only: widths, means and scales of the kernels do not see them"
KNOWN = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
CASES = [
    kp.GMKLClassifier(),
    kp.GMKLRegressor(strengths=3),
    kp.GMKLClassifier(kernel="product", tol=1e-2),
]


@parametrize_with_checks(CASES, expected_failed_checks=lambda estimator: KNOWN)
def test_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their tables are of a kind that deserves warnings
        check(estimator)


def test_the_known_failures_are_failures():
    from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

    with pytest.raises(AssertionError):
        check_sample_weight_equivalence_on_dense_data("GMKLClassifier", kp.GMKLClassifier())

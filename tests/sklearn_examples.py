"""Every public estimator with default settings, and scikit-learn's checks of it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

import kernelpath as kp
from kernelpath.baselines import __all__ as baseline_names

BASELINES = tuple(getattr(kp.baselines, name) for name in baseline_names)
COUNTED_WITH = "1.9"
"""Version of scikit-learn whose checks are counted; others have a few more or fewer."""
COUNTS = {
    kp.AdditivePathSelector: 55,
    kp.GMKLClassifier: 68,
    kp.GMKLRegressor: 65,
    kp.JointPathSelector: 47,
    kp.AutoPathSelector: 55,
    kp.L1KRClassifier: 61,
    kp.L1KRRegressor: 57,
    kp.LpKTASelector: 55,
    kp.NMMKLSelector: 47,
    kp.PathCV: 55,
    kp.StabilityPath: 47,
    **dict.fromkeys(BASELINES, 47),
    kp.baselines.ChiSquare: 48,  # one more, of negative values
}
ESTIMATORS = tuple(COUNTS)

# Checks that fit many or larger tables: seconds each for those that try several models in a fit.
TRYING = (
    kp.PathCV, kp.StabilityPath, kp.L1KRClassifier, kp.L1KRRegressor, kp.baselines.ForestRanking,
    kp.baselines.PermutationImportance, kp.baselines.CARS,
)  # fmt: skip
LARGE = {
    "check_classifier_data_not_an_array", "check_classifiers_classes", "check_classifiers_train",
    "check_fit_check_is_fitted", "check_n_features_in", "check_regressor_data_not_an_array",
    "check_regressors_int", "check_regressors_train", "check_supervised_y_2d",
    "check_dict_unchanged", "check_dont_overwrite_parameters", "check_dtype_object",
    "check_estimator_sparse_array", "check_estimator_sparse_matrix", "check_estimator_sparse_tag",
    "check_estimators_dtypes", "check_estimators_nan_inf", "check_estimators_pickle",
    "check_f_contiguous_array_estimator", "check_fit2d_predict1d", "check_fit_idempotent",
    "check_fit_score_takes_y", "check_methods_sample_order_invariance",
    "check_methods_subset_invariance", "check_n_features_in_after_fitting",
    "check_pipeline_consistency", "check_positive_only_tag_during_fit",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data", "check_sample_weights_list",
    "check_transformer_data_not_an_array", "check_transformer_general",
    "check_transformer_preserve_dtypes",
}  # fmt: skip


def public_estimators() -> set[type]:
    """Classes that users can reach and scikit-learn would check."""
    found = set()
    for module in (kp, kp.baselines):
        for name in dir(module):
            one = getattr(module, name)
            if not name.startswith("_") and inspect.isclass(one):
                found |= {one} if issubclass(one, BaseEstimator) else set()
    return found


def checks_of(cls: type, large: bool = True) -> Iterator[tuple[str, Any, Any]]:
    """Name, estimator and check; without ``large`` only the quick ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        for estimator, check in estimator_checks_generator(cls()):
            name = check.func.__name__
            if large or cls not in TRYING or name not in LARGE:
                yield name, estimator, check


def same_version() -> bool:
    """Whether the counts are those of the version that is here."""
    return sklearn.__version__.startswith(COUNTED_WITH + ".")

"""Settings of model files of format 1, which left out without a word what JSON cannot hold."""

from __future__ import annotations

from typing import Any

from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.estimators.saved_settings import NotSaved
from kernelpath.predictors.joint_rbf import JointRBFSVM
from kernelpath.predictors.weighted_kernel import WeightedKernelSVM

UNKNOWN = "left out by the kernelpath that wrote the file"
PREDICTORS = {"WeightedKernelSVM": WeightedKernelSVM, "JointRBFSVM": JointRBFSVM}
PARAMETERS = (
    "predictor", "cv", "scoring", "rule", "n_features", "n_jobs", "verbose", "random_state",
    "budget", "tolerance", "inner_cv", "nested", "class_weight", "probability", "task",
    "memory_limit",
)  # fmt: skip
SELECTOR_PARAMETERS = (
    "bregman_strength", "norm_strength", "divergence", "reference", "p_start", "p_stop", "step",
    "elimination_tol", "solver", "predictor_order", "kernel", "bandwidth", "gamma",
    "n_features_to_select", "task", "tol", "n_jobs", "random_state",
)  # fmt: skip


def first_version_settings(header: dict[str, Any], method: str) -> dict[str, Any]:
    """Settings of the model, with a stand-in for each one that the file leaves open.

    Parameters
    ----------
    header : dict
        Of the file.
    method : str
        What traced the path in the file.  No selector and a path of lp-KTA mean the default one;
        the settings of other selectors were not written.
    """
    known = {name: header["parameters"].get(name, NotSaved(UNKNOWN)) for name in PARAMETERS}
    if isinstance(saved := known["predictor"], dict):
        grids = {name: tuple(values) for name, values in saved["settings"].items()}
        known["predictor"] = PREDICTORS[saved["kind"]](**grids)
    if any(name.startswith("baseline ") for name in header["parts"]):
        known["baselines"] = NotSaved(UNKNOWN)
    selector = header["selector"]
    if selector is not None:
        settings = {name: selector.get(name, NotSaved(UNKNOWN)) for name in SELECTOR_PARAMETERS}
        known["selector"] = LpKTASelector(**settings)
    elif method != "lp-kta":
        known["selector"] = NotSaved(f"a selector for paths of {method}, {UNKNOWN}")
    return known

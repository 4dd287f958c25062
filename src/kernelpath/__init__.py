"""The whole non-linear feature-selection path of a table, by multiple kernel learning.

>>> import kernelpath as kp
>>> data = kp.datasets.make_ring(n_samples=200, n_features=10, random_state=0)
>>> path = kp.LpKTASelector().fit(data.X, data.y).path_
>>> sorted(path.at(n_features=2).support.nonzero()[0].tolist()) == sorted(data.relevant.tolist())
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kernelpath._version import __version__

if TYPE_CHECKING:
    from kernelpath import baselines, datasets
    from kernelpath.alignment import alignments
    from kernelpath.combine import combined_kernels
    from kernelpath.errors import DataError, ExtensionError, KernelPathError, PathFileError
    from kernelpath.estimators.gmkl import GMKLClassifier, GMKLRegressor
    from kernelpath.estimators.l1kr import L1KRClassifier, L1KRRegressor
    from kernelpath.estimators.lp_kta import LpKTASelector
    from kernelpath.estimators.nmmkl import NMMKLSelector
    from kernelpath.estimators.path_cv import PathCV
    from kernelpath.estimators.path_cv_file import load_model
    from kernelpath.feasible_sets import Box, CappedSimplex, LpBall, NonNegative, Simplex
    from kernelpath.kernels import RBF, Delta, FeatureKernel, Laplace, Linear, Polynomial
    from kernelpath.nested import NestedScore
    from kernelpath.operating_point import OperatingPoint
    from kernelpath.path import FeaturePath, PathEvent, PathPoint
    from kernelpath.path_file import load_path
    from kernelpath.predictors.joint_rbf import JointRBFSVM
    from kernelpath.predictors.weighted_kernel import WeightedKernelSVM
    from kernelpath.progress import show_progress
    from kernelpath.regularizers import GeneralizedKL, SquaredEuclidean
    from kernelpath.report.accuracy import AccuracyDisplay
    from kernelpath.report.certificates_display import CertificateDisplay
    from kernelpath.report.displays import SizeDisplay, WeightsDisplay
    from kernelpath.report.entries_display import EntriesDisplay
    from kernelpath.report.html import render_html, save_html
    from kernelpath.report.redundancy_display import RedundancyDisplay
    from kernelpath.report.report_figures import report_figures
    from kernelpath.report.stability_display import StabilityDisplay
    from kernelpath.report.views_display import ViewsDisplay
    from kernelpath.scoring import PathScores
    from kernelpath.stability import Stability
    from kernelpath.weight_norms import L1, ElasticNet, Lp, MixedNorm, NoRegularizer

# Public name -> module that defines it.  Importing the package loads none of them.
_HOME = {
    "alignments": "kernelpath.alignment",
    "DataError": "kernelpath.errors",
    "ExtensionError": "kernelpath.errors",
    "KernelPathError": "kernelpath.errors",
    "PathFileError": "kernelpath.errors",
    "combined_kernels": "kernelpath.combine",
    "LpKTASelector": "kernelpath.estimators.lp_kta",
    "GMKLClassifier": "kernelpath.estimators.gmkl",
    "GMKLRegressor": "kernelpath.estimators.gmkl",
    "NMMKLSelector": "kernelpath.estimators.nmmkl",
    "L1KRClassifier": "kernelpath.estimators.l1kr",
    "L1KRRegressor": "kernelpath.estimators.l1kr",
    "L1": "kernelpath.weight_norms",
    "Lp": "kernelpath.weight_norms",
    "ElasticNet": "kernelpath.weight_norms",
    "MixedNorm": "kernelpath.weight_norms",
    "NoRegularizer": "kernelpath.weight_norms",
    "NonNegative": "kernelpath.feasible_sets",
    "Simplex": "kernelpath.feasible_sets",
    "CappedSimplex": "kernelpath.feasible_sets",
    "Box": "kernelpath.feasible_sets",
    "LpBall": "kernelpath.feasible_sets",
    "PathCV": "kernelpath.estimators.path_cv",
    "load_model": "kernelpath.estimators.path_cv_file",
    "NestedScore": "kernelpath.nested",
    "OperatingPoint": "kernelpath.operating_point",
    "JointRBFSVM": "kernelpath.predictors.joint_rbf",
    "WeightedKernelSVM": "kernelpath.predictors.weighted_kernel",
    "PathScores": "kernelpath.scoring",
    "Stability": "kernelpath.stability",
    "RBF": "kernelpath.kernels",
    "Delta": "kernelpath.kernels",
    "FeatureKernel": "kernelpath.kernels",
    "Laplace": "kernelpath.kernels",
    "Linear": "kernelpath.kernels",
    "Polynomial": "kernelpath.kernels",
    "FeaturePath": "kernelpath.path",
    "PathEvent": "kernelpath.path",
    "PathPoint": "kernelpath.path",
    "load_path": "kernelpath.path_file",
    "AccuracyDisplay": "kernelpath.report.accuracy",
    "WeightsDisplay": "kernelpath.report.displays",
    "SizeDisplay": "kernelpath.report.displays",
    "EntriesDisplay": "kernelpath.report.entries_display",
    "CertificateDisplay": "kernelpath.report.certificates_display",
    "StabilityDisplay": "kernelpath.report.stability_display",
    "ViewsDisplay": "kernelpath.report.views_display",
    "RedundancyDisplay": "kernelpath.report.redundancy_display",
    "report_figures": "kernelpath.report.report_figures",
    "render_html": "kernelpath.report.html",
    "save_html": "kernelpath.report.html",
    "show_progress": "kernelpath.progress",
    "GeneralizedKL": "kernelpath.regularizers",
    "SquaredEuclidean": "kernelpath.regularizers",
}
_MODULES = ("baselines", "datasets")

__all__ = [
    "L1",
    "RBF",
    "AccuracyDisplay",
    "Box",
    "CappedSimplex",
    "CertificateDisplay",
    "DataError",
    "Delta",
    "ElasticNet",
    "EntriesDisplay",
    "ExtensionError",
    "FeatureKernel",
    "FeaturePath",
    "GMKLClassifier",
    "GMKLRegressor",
    "GeneralizedKL",
    "JointRBFSVM",
    "KernelPathError",
    "L1KRClassifier",
    "L1KRRegressor",
    "Laplace",
    "Linear",
    "Lp",
    "LpBall",
    "LpKTASelector",
    "MixedNorm",
    "NMMKLSelector",
    "NestedScore",
    "NoRegularizer",
    "NonNegative",
    "OperatingPoint",
    "PathCV",
    "PathEvent",
    "PathFileError",
    "PathPoint",
    "PathScores",
    "Polynomial",
    "RedundancyDisplay",
    "Simplex",
    "SizeDisplay",
    "SquaredEuclidean",
    "Stability",
    "StabilityDisplay",
    "ViewsDisplay",
    "WeightedKernelSVM",
    "WeightsDisplay",
    "__version__",
    "alignments",
    "baselines",
    "combined_kernels",
    "datasets",
    "load_model",
    "load_path",
    "render_html",
    "report_figures",
    "save_html",
    "show_progress",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"kernelpath.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'kernelpath' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

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
    from kernelpath.catalogue import methods
    from kernelpath.comparison import Comparison, compare
    from kernelpath.errors import DataError, ExtensionError, KernelPathError, PathFileError
    from kernelpath.estimators.additive import AdditivePathSelector
    from kernelpath.estimators.auto import AutoPathSelector
    from kernelpath.estimators.gmkl import GMKLClassifier, GMKLRegressor
    from kernelpath.estimators.joint import JointPathSelector
    from kernelpath.estimators.l1kr import L1KRClassifier, L1KRRegressor
    from kernelpath.estimators.lp_kta import LpKTASelector
    from kernelpath.estimators.model_file import load_model
    from kernelpath.estimators.nmmkl import NMMKLSelector
    from kernelpath.estimators.path_cv import PathCV
    from kernelpath.evaluation.nested import NestedScore
    from kernelpath.evaluation.operating_point import OperatingPoint
    from kernelpath.evaluation.scores import PathScores
    from kernelpath.evaluation.stability import Stability
    from kernelpath.inference.knockoffs import KnockoffSelection, knockoff_filter
    from kernelpath.inference.significance import alignment_test
    from kernelpath.inference.stability import StabilityPath, StableFeatures
    from kernelpath.kernels import RBF, Delta, FeatureKernel, Laplace, Linear, Polynomial
    from kernelpath.mkl.convergence import ConvergenceHistory
    from kernelpath.mkl.feasible_sets import Box, CappedSimplex, LpBall, NonNegative, Simplex
    from kernelpath.mkl.regularizers import L1, ElasticNet, Lp, MixedNorm, NoRegularizer
    from kernelpath.path.feature_path import FeaturePath, PathEvent, PathPoint
    from kernelpath.path.file import load_path
    from kernelpath.path.significance import AlignmentTest
    from kernelpath.path_kernels import combined_kernels
    from kernelpath.predictors.joint_rbf import JointRBFSVM
    from kernelpath.predictors.weighted_kernel import WeightedKernelSVM
    from kernelpath.report.displays.accuracy import AccuracyDisplay
    from kernelpath.report.displays.certificates import CertificateDisplay
    from kernelpath.report.displays.convergence import ConvergenceDisplay
    from kernelpath.report.displays.entries import EntriesDisplay
    from kernelpath.report.displays.figures import report_figures
    from kernelpath.report.displays.path import SizeDisplay, WeightsDisplay
    from kernelpath.report.displays.redundancy import RedundancyDisplay
    from kernelpath.report.displays.selection import SelectionDisplay
    from kernelpath.report.displays.significance import SignificanceDisplay
    from kernelpath.report.displays.stability import StabilityDisplay
    from kernelpath.report.displays.views import ViewsDisplay
    from kernelpath.report.html import render_html, save_html
    from kernelpath.tables.survival import survival_target
    from kernelpath.tracers.lp_kta.divergences import GeneralizedKL, SquaredEuclidean
    from kernelpath.utils.progress import show_progress

# Public name -> module that defines it.  Importing the package loads none of them.
_HOME = {
    "alignments": "kernelpath.alignment",
    "AlignmentTest": "kernelpath.path.significance",
    "alignment_test": "kernelpath.inference.significance",
    "DataError": "kernelpath.errors",
    "ExtensionError": "kernelpath.errors",
    "KernelPathError": "kernelpath.errors",
    "PathFileError": "kernelpath.errors",
    "survival_target": "kernelpath.tables.survival",
    "combined_kernels": "kernelpath.path_kernels",
    "Comparison": "kernelpath.comparison",
    "compare": "kernelpath.comparison",
    "methods": "kernelpath.catalogue",
    "LpKTASelector": "kernelpath.estimators.lp_kta",
    "AutoPathSelector": "kernelpath.estimators.auto",
    "AdditivePathSelector": "kernelpath.estimators.additive",
    "GMKLClassifier": "kernelpath.estimators.gmkl",
    "GMKLRegressor": "kernelpath.estimators.gmkl",
    "NMMKLSelector": "kernelpath.estimators.nmmkl",
    "L1KRClassifier": "kernelpath.estimators.l1kr",
    "L1KRRegressor": "kernelpath.estimators.l1kr",
    "L1": "kernelpath.mkl.regularizers",
    "Lp": "kernelpath.mkl.regularizers",
    "ElasticNet": "kernelpath.mkl.regularizers",
    "MixedNorm": "kernelpath.mkl.regularizers",
    "NoRegularizer": "kernelpath.mkl.regularizers",
    "NonNegative": "kernelpath.mkl.feasible_sets",
    "Simplex": "kernelpath.mkl.feasible_sets",
    "CappedSimplex": "kernelpath.mkl.feasible_sets",
    "Box": "kernelpath.mkl.feasible_sets",
    "LpBall": "kernelpath.mkl.feasible_sets",
    "JointPathSelector": "kernelpath.estimators.joint",
    "PathCV": "kernelpath.estimators.path_cv",
    "load_model": "kernelpath.estimators.model_file",
    "NestedScore": "kernelpath.evaluation.nested",
    "OperatingPoint": "kernelpath.evaluation.operating_point",
    "JointRBFSVM": "kernelpath.predictors.joint_rbf",
    "WeightedKernelSVM": "kernelpath.predictors.weighted_kernel",
    "PathScores": "kernelpath.evaluation.scores",
    "Stability": "kernelpath.evaluation.stability",
    "StabilityPath": "kernelpath.inference.stability",
    "StableFeatures": "kernelpath.inference.stability",
    "KnockoffSelection": "kernelpath.inference.knockoffs",
    "knockoff_filter": "kernelpath.inference.knockoffs",
    "RBF": "kernelpath.kernels",
    "Delta": "kernelpath.kernels",
    "FeatureKernel": "kernelpath.kernels",
    "Laplace": "kernelpath.kernels",
    "Linear": "kernelpath.kernels",
    "Polynomial": "kernelpath.kernels",
    "FeaturePath": "kernelpath.path.feature_path",
    "PathEvent": "kernelpath.path.feature_path",
    "PathPoint": "kernelpath.path.feature_path",
    "load_path": "kernelpath.path.file",
    "AccuracyDisplay": "kernelpath.report.displays.accuracy",
    "WeightsDisplay": "kernelpath.report.displays.path",
    "SizeDisplay": "kernelpath.report.displays.path",
    "EntriesDisplay": "kernelpath.report.displays.entries",
    "CertificateDisplay": "kernelpath.report.displays.certificates",
    "ConvergenceDisplay": "kernelpath.report.displays.convergence",
    "ConvergenceHistory": "kernelpath.mkl.convergence",
    "SelectionDisplay": "kernelpath.report.displays.selection",
    "StabilityDisplay": "kernelpath.report.displays.stability",
    "SignificanceDisplay": "kernelpath.report.displays.significance",
    "ViewsDisplay": "kernelpath.report.displays.views",
    "RedundancyDisplay": "kernelpath.report.displays.redundancy",
    "report_figures": "kernelpath.report.displays.figures",
    "render_html": "kernelpath.report.html",
    "save_html": "kernelpath.report.html",
    "show_progress": "kernelpath.utils.progress",
    "GeneralizedKL": "kernelpath.tracers.lp_kta.divergences",
    "SquaredEuclidean": "kernelpath.tracers.lp_kta.divergences",
}
_MODULES = ("baselines", "datasets")

__all__ = [
    "L1",
    "RBF",
    "AccuracyDisplay",
    "AdditivePathSelector",
    "AlignmentTest",
    "AutoPathSelector",
    "Box",
    "CappedSimplex",
    "CertificateDisplay",
    "Comparison",
    "ConvergenceDisplay",
    "ConvergenceHistory",
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
    "JointPathSelector",
    "JointRBFSVM",
    "KernelPathError",
    "KnockoffSelection",
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
    "SelectionDisplay",
    "SignificanceDisplay",
    "Simplex",
    "SizeDisplay",
    "SquaredEuclidean",
    "Stability",
    "StabilityDisplay",
    "StabilityPath",
    "StableFeatures",
    "ViewsDisplay",
    "WeightedKernelSVM",
    "WeightsDisplay",
    "__version__",
    "alignment_test",
    "alignments",
    "baselines",
    "combined_kernels",
    "compare",
    "datasets",
    "knockoff_filter",
    "load_model",
    "load_path",
    "methods",
    "render_html",
    "report_figures",
    "save_html",
    "show_progress",
    "survival_target",
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

"""Write docs/api.md from the docstrings: ``make readme``."""

from __future__ import annotations

import inspect
from pathlib import Path

import kernelpath as kp

PAGE = Path(__file__).parent / "api.md"
GROUPS = {
    "Accuracy along a path": (
        "PathCV", "PathScores", "OperatingPoint", "Stability", "NestedScore", "JointRBFSVM",
        "WeightedKernelSVM", "load_model",
    ),
    "Features to be trusted": (
        "StabilityPath", "StableFeatures", "knockoff_filter", "KnockoffSelection",
    ),
    "Methods side by side": ("compare", "Comparison", "methods"),
    "Selectors": (
        "LpKTASelector", "AdditivePathSelector", "JointPathSelector", "AutoPathSelector",
        "GMKLClassifier",
        "GMKLRegressor", "NMMKLSelector", "L1KRRegressor", "L1KRClassifier",
    ),
    "Baselines": ("baselines",),
    "Costs and sets of weights": (
        "L1", "Lp", "ElasticNet", "MixedNorm", "NoRegularizer", "NonNegative", "Simplex",
        "CappedSimplex", "Box",
        "LpBall",
    ),
    "The path": ("FeaturePath", "PathPoint", "PathEvent", "load_path"),
    "Which features are real": ("alignment_test", "AlignmentTest"),
    "Alignments and kernels": (
        "alignments", "survival_target", "combined_kernels", "FeatureKernel", "RBF", "Linear",
        "Polynomial", "Laplace", "Delta", "GeneralizedKL", "SquaredEuclidean",
    ),
    "Pictures and pages": (
        "AccuracyDisplay", "SizeDisplay", "WeightsDisplay", "EntriesDisplay", "StabilityDisplay",
        "SelectionDisplay", "SignificanceDisplay", "ViewsDisplay", "RedundancyDisplay",
        "CertificateDisplay", "ConvergenceDisplay", "ConvergenceHistory",
        "report_figures", "render_html", "save_html", "show_progress",
    ),
    "Errors": ("KernelPathError", "DataError", "ExtensionError", "PathFileError"),
}  # fmt: skip
METHODS = {
    "PathCV": ("fit", "predict", "decision_function", "predict_proba", "score", "choose", "plot",
               "summary", "save"),
    "StabilityPath": ("fit", "stable_features", "bound", "of", "to_frame", "probabilities_of",
                      "plot"),
    "Comparison": ("to_frame", "differences", "plot", "summary", "save_html", "as_dict"),
    "AlignmentTest": ("discoveries", "adjusted", "to_frame", "plot"),
    "FeaturePath": ("at", "entry_order", "to_frame", "plot", "summary", "save"),
    "PathScores": ("at", "to_frame"),
    "Stability": ("of", "core", "to_frame"),
    "baselines": ("SVMLW", "SVRLW", "LassoLW", "Fisher", "L1SVM", "FSV", "L0Approximation", "R2W2",
                  "ForwardStepwise", "InformationGain", "ChiSquare", "GiniIndex", "KruskalWallis",
                  "MRMR", "ReliefF", "Spectral", "HSICLasso", "BAHSIC",
                  "ForestRanking", "PermutationImportance", "RFESVM", "MutualInformation",
                  "VarianceFilter", "CARS", "CenteredKTA", "Uniform", "L1SVMPath", "L1MKLPath",
                  "SMOMKL", "HKL"),
}  # fmt: skip

DATASETS = ("make_wide", "iter_wide_chunks", "make_additive", "make_xor", "make_ring")


def page() -> str:
    """Text of the page."""
    lines = [
        "# API",
        "",
        "Everything that `import kernelpath as kp` offers, from the docstrings.",
        "",
    ]
    for group, names in GROUPS.items():
        lines += [f"## {group}", ""]
        for name in names:
            value = getattr(kp, name)
            lines += [f"### kp.{name}", "", "```text", inspect.getdoc(value) or "", "```", ""]
            for method in METHODS.get(name, ()):
                found = inspect.getattr_static(value, method)
                doc = inspect.getdoc(getattr(found, "fn", found))  # available_if wraps some
                lines += [f"#### {name}.{method}", "", "```text", doc or "", "```", ""]
    lines += ["## Data sets", "", "`kp.datasets` makes simulated problems with known features:", ""]
    for name in DATASETS:
        summary = (inspect.getdoc(getattr(kp.datasets, name)) or "").splitlines()[0]
        lines.append(f"- `kp.datasets.{name}`: {summary}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")

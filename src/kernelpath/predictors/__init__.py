"""Models at the points of a path: kernel machines of this package, and any estimator."""

PREDICTOR_NAMES = (
    "weighted_kernel", "joint_rbf", "logistic", "ridge", "boosting", "forest",
)  # fmt: skip
"""Machines of this package; here, since the command line needs the names alone."""

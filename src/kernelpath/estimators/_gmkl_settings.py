"""What the settings of GMKL have to be, and which of them have no effect beside others."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelpath.mkl.feasible_sets import CappedSimplex, Simplex
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import L1, NoRegularizer
from kernelpath.utils.checks import Idle
from kernelpath.utils.probes import is_own, probe_dual, probe_feasible, probe_regularizer

NEEDS = {
    "regularizer": (("value", "gradient", "hess_diag"), "kp.L1(1.0)"),
    "feasible": (("project", "start"), "kp.Simplex(1.0)"),
    "loss": (("dual",), "'least_squares'"),
}


def check_objects(regularizer: Any, feasible: Any, loss: Any) -> None:
    """Refuse what is no regularizer, set or loss, and a problem that nothing bounds."""
    given = {"regularizer": regularizer, "feasible": feasible, "loss": loss}
    for name, value in given.items():
        methods, example = NEEDS[name]
        if value is None or (name == "loss" and isinstance(value, str)):
            continue
        if isinstance(value, type):
            raise TypeError(f"{name} must be an object such as {example}, got the class {value!r}")
        if not all(hasattr(value, method) for method in methods):
            raise TypeError(f"{name} must be an object such as {example}, got {value!r}")
    bounded = feasible is not None and getattr(feasible, "bounded", True)
    if isinstance(regularizer, NoRegularizer) and not bounded:
        raise ValueError(
            "NoRegularizer needs a bounded feasible set, such as kp.Simplex(1.0), or the weights "
            "would grow without end"
        )


def probe_objects(estimator: Any, problem: Problem) -> None:
    """Hold a regularizer, set or loss of the user's own against itself, at a few weights."""
    n = problem.kernel.n_kernels
    if not isinstance(estimator.loss, str | None) and is_own(estimator.loss):
        for dual in problem.duals:
            probe_dual(estimator.loss, dual, problem.kernel.n_rows)
    if estimator.feasible is not None and is_own(estimator.feasible):
        probe_feasible(estimator.feasible, n)
    own = estimator.regularizer
    if own is not None and is_own(own):
        probe_regularizer(own, n, estimator.feasible)
        if estimator.strengths is not None and hasattr(own, "with_strength"):
            for strength in (0.5, 2.0):
                probe_regularizer(own.with_strength(strength), n, estimator.feasible)


# -- settings without effect -----------------------------------------------------------------------


def _named(estimator: Any) -> str | None:
    return estimator.kernel if isinstance(estimator.kernel, str) else None


def by_rule(estimator: Any) -> bool:
    """Whether the weights are set, and not learned."""
    return not (isinstance(estimator.weights, str) and estimator.weights == "learn")


def traces(estimator: Any) -> bool:
    """Whether there is a path."""
    return estimator.strengths is not None or estimator.exponents is not None


def _fixed_sum(estimator: Any) -> bool:
    simplex = isinstance(estimator.feasible, Simplex | CappedSimplex)
    return simplex and isinstance(estimator.regularizer, L1 | None)


ON_A_RULE = "on weights that are set by a rule"
IDLE = (
    Idle("nystrom", lambda own: _named(own) != "sum",
         "without kernel='sum', whose kernels it approximates"),
    Idle("base_kernel", lambda own: _named(own) != "sum",
         "without kernel='sum': it is the kernel of a feature there"),
    Idle("feature_groups", lambda own: _named(own) not in ("sum", "precomputed"),
         "without a sum of kernels, kernel='sum': only there several columns can have one weight"),
    Idle("standardize", lambda own: _named(own) == "sum",
         "with kernel='sum', whose kernels have widths in standard deviations and a mean diagonal "
         "of 1"),
    Idle("strengths", by_rule, f"{ON_A_RULE}, which are one point; a path needs weights='learn'"),
    Idle("exponents", by_rule, f"{ON_A_RULE}, which are one point; a path needs weights='learn'"),
    Idle("regularizer", by_rule, ON_A_RULE, "leave one of them out"),
    Idle("feasible", by_rule, ON_A_RULE, "leave one of them out"),
    Idle("solver", by_rule, ON_A_RULE, "leave one of them out"),
    Idle("max_iter", by_rule, ON_A_RULE, "leave one of them out"),
    Idle("n_init", by_rule, ON_A_RULE, "leave one of them out"),
    Idle("n_init", lambda own: _named(own) in ("sum", "precomputed"),
         "on a sum of kernels, whose problem is convex: one start finds the optimum"),
    Idle("n_init", traces, "along a path, where each point starts from the last"),
    Idle("strengths", _fixed_sum, "where the sum of the weights is fixed",
         "leave out feasible, or take another regularizer"),
    Idle("n_features_to_select", lambda own: not traces(own), "without strengths or exponents",
         "give both"),
    Idle("smallest_ratio", lambda own: own.strengths is None or np.ndim(own.strengths) > 0,
         "without a number of strengths", "give both"),
    Idle("C", lambda own: own.loss is not None and not isinstance(own.loss, str),
         "beside a loss that is an object and has a cost of its own", "give it there"),
    Idle("epsilon", lambda own: own.loss not in (None, "epsilon_insensitive"),
         "with another loss than the eps-insensitive one"),
)  # fmt: skip

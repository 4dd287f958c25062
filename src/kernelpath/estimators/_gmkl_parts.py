"""What regularizers, feasible sets and losses of a GMKL estimator have to be."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelpath.feasible_sets import CappedSimplex, Simplex
from kernelpath.probes import is_own, probe_dual, probe_feasible, probe_regularizer
from kernelpath.problem import Problem
from kernelpath.weight_norms import L1, NoRegularizer

NEEDS = {
    "regularizer": (("value", "gradient", "hess_diag"), "kp.L1(1.0)"),
    "feasible": (("project", "start"), "kp.Simplex(1.0)"),
    "loss": (("dual",), "'least_squares'"),
}


def check_parts(regularizer: Any, feasible: Any, loss: Any) -> None:
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


def probe_parts(estimator: Any, problem: Problem) -> None:
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


def refuse_without_effect(estimator: Any) -> None:
    """Refuse settings that others make pointless: what was asked for would not happen."""
    kernel = estimator.kernel if isinstance(estimator.kernel, str) else None
    learned = isinstance(estimator.weights, str) and estimator.weights == "learn"
    path = estimator.strengths is not None or estimator.exponents is not None
    counted = estimator.strengths is not None and np.ndim(estimator.strengths) == 0
    base = estimator.base_kernel
    changed_base = not (isinstance(base, str) and base == "rbf")
    rules = [
        (estimator.nystrom is not None and kernel != "sum",
         "nystrom approximates the kernels of kernel='sum'; leave it out"),
        (changed_base and kernel != "sum",
         "base_kernel is the kernel of a feature in kernel='sum' and has no effect otherwise; "
         "leave it out"),
        (not estimator.standardize and kernel == "sum",
         "standardize=False has no effect with kernel='sum', whose kernels have widths in standard "
         "deviations and a mean diagonal of 1; leave it out"),
        (path and not learned, "a path needs weights='learn': weights by a rule are one point"),
        (estimator.regularizer is not None and not learned,
         "regularizer has no effect on weights that are set by a rule; leave one of them out"),
        (estimator.feasible is not None and not learned,
         "feasible has no effect on weights that are set by a rule; leave one of them out"),
        (estimator.solver != "auto" and not learned,
         "solver has no effect on weights that are set by a rule; leave one of them out"),
        (estimator.strengths is not None and isinstance(estimator.feasible, Simplex | CappedSimplex)
         and isinstance(estimator.regularizer, L1 | None),
         "strengths have no effect where the sum of the weights is fixed; leave out feasible, or "
         "take another regularizer"),
        (estimator.n_features_to_select is not None and not path,
         "n_features_to_select has no effect without strengths or exponents; give both"),
        (estimator.smallest_ratio is not None and not counted,
         "smallest_ratio has no effect without a number of strengths; give both"),
        (counted and estimator.smallest_ratio is not None and estimator.smallest_ratio >= 1,
         f"smallest_ratio must be smaller than 1, got {estimator.smallest_ratio!r}"),
    ]  # fmt: skip
    for pointless, message in rules:
        if pointless:
            raise ValueError(message)

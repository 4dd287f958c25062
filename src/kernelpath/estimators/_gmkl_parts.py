"""What regularizers, feasible sets and losses of a GMKL estimator have to be."""

from __future__ import annotations

from typing import Any

from kernelpath.weight_norms import NoRegularizer

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

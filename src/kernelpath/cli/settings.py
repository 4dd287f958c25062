"""Settings of a cross-validation, from the options, checked before any file is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import typer

from kernelpath.catalogue import BASELINES, METHODS, Method
from kernelpath.cli.options import parse_names, parse_sizes
from kernelpath.errors import not_one_of

LARGEST_C = 1e8
WITHOUT_WIDTH = ("linear", "delta")
ONLY_SCORED = {  # with the values that say nothing
    "rule": None, "budget": None, "tolerance": None, "predictor": None, "scoring": None,
    "baselines": None, "nested": False, "groups": None, "sizes": None, "proba": False, "seed": 0,
}  # fmt: skip
OF_METHODS = {  # options that some methods have, with the values that say nothing
    "kernel": "rbf", "bandwidth": "std", "norm_strength": "auto", "bregman_strength": "auto",
    "elimination_tol": 1e-3, "C": None, "jobs": None,
}  # fmt: skip


@dataclass(frozen=True)
class CVSettings:
    """Everything about the folds."""

    cv: int
    rule: str = "one_se"
    budget: int | None = None
    tolerance: float = 0.01
    predictor: str = "auto"
    scoring: str | None = None
    baselines: list[str] = field(default_factory=list)
    nested: bool = False
    groups: str | None = None
    sizes: list[int] | None = None
    seed: int = 0
    proba: bool = False
    jobs: int | None = None
    task: str = "auto"
    kernel: str = "rbf"
    verbose: bool = False

    def arguments(self) -> dict[str, Any]:
        """Arguments of PathCV, but selector, baselines and memory."""
        return {
            "cv": self.cv,
            "rule": self.rule,
            "budget": self.budget,
            "tolerance": self.tolerance,
            "predictor": self.predictor,
            "scoring": self.scoring,
            "n_features": self.sizes,
            "nested": self.nested,
            "probability": self.proba,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            "task": self.task,
            "verbose": int(self.verbose),
        }


def resolve_rule(
    rule: str | None, budget: int | None, tolerance: float | None
) -> tuple[str, int | None, float]:
    """Rule with its numbers; a budget or a tolerance alone implies its rule.

    Examples
    --------
    >>> resolve_rule(None, 20, None), resolve_rule("one_se", 20, None)
    (('budget', 20, 0.01), ('one_se', 20, 0.01))
    """
    if tolerance is not None and rule not in (None, "tolerance"):
        raise typer.BadParameter(
            f"has no effect with --rule {rule}; leave out one of the two",
            param_hint="'--tolerance'",
        )
    if rule == "budget" and budget is None:
        raise typer.BadParameter("budget needs --budget, the largest number", param_hint="'--rule'")
    implied = "tolerance" if tolerance is not None else "budget" if budget is not None else "one_se"
    return rule or implied, budget, 0.01 if tolerance is None else tolerance


def check_scoring(name: str | None) -> None:
    """Refuse a measure that scikit-learn does not have."""
    if name is None:
        return
    from sklearn.metrics import get_scorer_names

    if name not in get_scorer_names():
        error = str(not_one_of("it", name, get_scorer_names()))
        raise typer.BadParameter(error, param_hint="'--scoring'")


def method_settings(given: dict[str, Any]) -> tuple[Method, dict[str, Any]]:
    """Method, and the settings of its selector; options that it does not have are refused."""
    method = METHODS[given["method"]]
    idle = [name for name in _said(given) if not _has(method, name, given)]
    if idle:
        raise typer.BadParameter(
            f"has no effect with --method {method.name}; leave it out",
            param_hint=", ".join(f"'--{name.replace('_', '-')}'" for name in idle),
        )
    if method.weights_inside and _text(given["predictor"]) == "weighted_kernel":
        raise typer.BadParameter(
            f"weighted_kernel is not for {method.name}, whose weights are inside one kernel of all "
            "features; take joint_rbf, or leave it out",
            param_hint="'--predictor'",
        )
    if given["C"] is not None and not 1 / LARGEST_C <= given["C"] <= LARGEST_C:
        raise typer.BadParameter(
            f"must lie between {1 / LARGEST_C:g} and {LARGEST_C:g}", param_hint="'--C'"
        )
    if method.name == "lp-kta":
        return method, lp_kta_settings(given)
    wanted = [name for name in ("C", "seed") if name in method.settings]
    settings: dict[str, Any] = {n: given[n] for n in wanted if given[n] is not None}
    if "kernel" in method.settings:
        settings["kernel"] = str(given["kernel"])
    return method, settings


def _said(given: dict[str, Any]) -> list[str]:
    """Options of some methods whose values say something."""
    return [name for name, silent in OF_METHODS.items() if str(given[name]) != str(silent)]


def _has(method: Method, option: str, given: dict[str, Any]) -> bool:
    """Whether an option is one of the method's, or of the folds."""
    if option == "jobs":
        return given["cv"] is not None or "n_jobs" in method.settings
    if option == "kernel" and method.text == "codes":
        return str(given["kernel"]) == "auto"  # which says that text columns are welcome
    return option in method.settings


def lp_kta_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of lp-KTA; strengths that no path can have are refused."""
    norm, bregman = given["norm_strength"], given["bregman_strength"]
    if not 0 < given["elimination_tol"] < 0.36787944117144233:
        raise typer.BadParameter(
            "must lie between 0 and 1/e = 0.3679", param_hint="'--elimination-tol'"
        )
    if norm == bregman == 0:
        raise typer.BadParameter(
            "both are 0, so nothing bounds the weights; make one positive",
            param_hint="'--norm-strength', '--bregman-strength'",
        )
    if str(given["kernel"]) in WITHOUT_WIDTH and str(given["bandwidth"]) != "std":
        raise typer.BadParameter(
            f"has no effect with --kernel {given['kernel']!s}, which has no width; leave it out",
            param_hint="'--bandwidth'",
        )
    return {
        "kernel": str(given["kernel"]),
        "bandwidth": str(given["bandwidth"]),
        "norm_strength": norm,
        "bregman_strength": bregman,
        "elimination_tol": given["elimination_tol"],
        "n_jobs": selector_jobs(given["jobs"], folds=given["cv"] is not None),
    }


def selector_jobs(jobs: int | None, folds: bool) -> int:
    """Threads of the selector: all cores where the folds do not take them."""
    return -1 if jobs is None or (folds and jobs != 1) else jobs


def cv_settings(given: dict[str, Any]) -> CVSettings | None:
    """Settings of the folds, or None without ``--cv``."""
    if given["cv"] is None:
        own = METHODS[given["method"]].settings
        used = [
            name
            for name, silent in ONLY_SCORED.items()
            if given[name] != silent and name not in own
        ]
        if used:
            hint = ", ".join(f"'--{name}'" for name in used)
            raise typer.BadParameter(
                "has no effect without --cv; add --cv 5 or leave it out", param_hint=hint
            )
        return None
    rule, budget, tolerance = resolve_rule(
        _text(given["rule"]), given["budget"], given["tolerance"]
    )
    return CVSettings(
        rule=rule,
        budget=budget,
        tolerance=tolerance,
        baselines=parse_names(given["baselines"], "--baselines", BASELINES),
        nested=given["nested"],
        proba=given["proba"],
        **shared_settings(given),
    )


def shared_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Settings that ``path`` and ``compare`` have in common."""
    check_scoring(given["scoring"])
    return {
        "cv": given["cv"],
        "predictor": _text(given["predictor"]) or "auto",
        "scoring": given["scoring"],
        "groups": given["groups"],
        "sizes": parse_sizes(given["sizes"]),
        "seed": given["seed"],
        "jobs": given["jobs"],
        "task": str(given["task"]),
        "kernel": str(given["kernel"]),
        "verbose": given["verbose"],
    }


def _text(value: Any) -> str | None:
    return None if value is None else str(value)

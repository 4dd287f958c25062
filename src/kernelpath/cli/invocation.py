"""How a command was called: its words, its options from line and file, and what they mean.

Whatever can be refused before a file is read is refused here.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from kernelpath.catalogue import BASELINE_NAMES, METHODS, Method
from kernelpath.errors import not_one_of
from kernelpath.kernels import KERNELS

CALLED = "kernelpath.arguments"
MAY_STAND_ALONE = "--report"
HINT = "'--config'"
RIVALS = (("quiet", "verbose"), ("rule", "tolerance"))
NAMES_OF_FILES = {"out", "report"}
NOT_IN_FILES = {"config", "help", "install_completion", "show_completion"}
LARGEST_C = 1e8
ONLY_SCORED = {  # with the values that say nothing
    "rule": None, "budget": None, "tolerance": None, "level": None, "predictor": None,
    "scoring": None, "baselines": None, "nested": False, "groups": None, "sizes": None,
    "proba": False, "seed": 0, "class_weight": None, "max_train_rows": None,
}  # fmt: skip
OF_METHODS = {  # options that some methods have, with the values that say nothing
    "kernel": "auto", "bandwidth": "auto", "norm_strength": "auto", "bregman_strength": "auto",
    "elimination_tol": 1e-3, "C": None, "jobs": None, "must_include": None, "feature_group": None,
    "costs": None, "statistic": "auto",
}  # fmt: skip
RANKINGS = ("must_include", "feature_group", "costs")  # of OF_METHODS, what folds do for rankings


# -- the words of the command ----------------------------------------------------------------------


class RecordingCommand(TyperCommand):
    """Keeps the arguments as typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after writing the arguments down."""
        ctx.meta[CALLED] = list(args)
        return super().parse_args(ctx, with_empty_value(args))


def with_empty_value(args: list[str]) -> list[str]:
    """Write out the missing value of an option that may stand alone.

    Examples
    --------
    >>> with_empty_value(["a.csv", "--report", "--cv", "5"])
    ['a.csv', '--report=', '--cv', '5']
    >>> with_empty_value(["a.csv", "--report", "b.html"])
    ['a.csv', '--report', 'b.html']
    """
    last = args.index("--") if "--" in args else len(args)
    return [
        f"{arg}="
        if arg == MAY_STAND_ALONE and i < last and args[i + 1 : i + 2] in ([], _option(args, i + 1))
        else arg
        for i, arg in enumerate(args)
    ]


def _option(args: list[str], i: int) -> list[str] | None:
    return args[i : i + 1] if args[i : i + 1] and args[i].startswith("-") else None


def argv(context: typer.Context) -> list[str]:
    """The command as typed, program first."""
    return ["kernelpath", str(context.info_name), *context.meta.get(CALLED, [])]


def command_line(words: list[str]) -> str:
    """One line that a shell reads as these words.

    Examples
    --------
    >>> command_line(["kernelpath", "path", "my table.csv"])
    "kernelpath path 'my table.csv'"
    """
    return shlex.join(words)


# -- options from a file ---------------------------------------------------------------------------


def read_config(context: typer.Context, value: Path | None) -> Path | None:
    """Make the values of a file the defaults of the command."""
    if value is None or context.resilient_parsing:
        return value
    options = {
        param.name: param
        for param in context.command.params
        if param.name and param.name not in NOT_IN_FILES and param.param_type_name == "option"
    }
    names = {option_name(param): name for name, param in options.items()}
    defaults: dict[str, Any] = {}
    for key, given in _content(value).items():
        wanted = key.replace("_", "-")
        if wanted not in names:
            raise _bad(value, str(not_one_of("each key", key, names)))
        name = names[wanted]
        if name in defaults:
            raise _bad(value, f"{key} is there twice, with a dash and with an underscore")
        defaults[name] = _as_option(value, key, given, options[name])
        _check_type(context, value, key, defaults[name], options[name])
    context.default_map = {**(context.default_map or {}), **defaults}
    return value


def _content(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise _bad(file, "no such file: check the name and the folder") from None
    except OSError as error:
        raise _bad(file, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise _bad(file, "the text is not UTF-8: save the file in that encoding") from None
    except tomllib.TOMLDecodeError as error:
        raise _bad(file, f"is not TOML: {error}") from None
    except RecursionError:
        raise _bad(file, "is nested too deeply; options are text, numbers and lists") from None
    except ValueError as error:  # a number of thousands of digits
        raise _bad(file, f"cannot be read: {str(error).split(';')[0]}") from None


def _as_option(file: Path, key: str, given: Any, param: Any) -> Any:
    """Value as the parser takes it: text with commas in place of a list."""
    if param.name in NAMES_OF_FILES and not isinstance(given, str):
        raise _bad(file, f"{key} must be the name of a file or folder in quotes, got {given}")
    flag = bool(getattr(param, "is_flag", False))
    if isinstance(given, bool):
        if not flag:
            raise _bad(file, f"{key} takes a value, not true or false")
        return given
    if flag:
        raise _bad(file, f"{key} is a switch: write true or false")
    if not isinstance(given, str | int | float | list):
        raise _bad(file, f"{key} must be text, a number, a list or true or false")
    items = given if isinstance(given, list) else [given]
    if any(isinstance(item, bool | list | dict) for item in items):
        raise _bad(file, f"{key} may hold text or numbers only")
    words = [str(item) for item in items]
    return words if param.multiple else ",".join(words)


def _check_type(context: typer.Context, file: Path, key: str, value: Any, param: Any) -> None:
    """Refuse what the option would refuse, but name the file."""
    try:
        param.process_value(context, value)
    except typer.BadParameter as error:
        raise _bad(file, f"{key}: {error.message}") from None


def _bad(file: Path, text: str) -> typer.BadParameter:
    return typer.BadParameter(f"{file}: {text}", param_hint=HINT)


# -- options in force ------------------------------------------------------------------------------


def apply_config(context: typer.Context) -> dict[str, Any]:
    """Options in force; where the command line and a file contradict each other, the line wins."""
    given = context.params

    def from_line(name: str) -> bool:
        return getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"

    for name, rival in (*RIVALS, *((b, a) for a, b in RIVALS)):
        if name in given and rival in given and from_line(name) and not from_line(rival):
            given[rival] = False if isinstance(given[rival], bool) else None
    return given


def options_in_force(context: typer.Context) -> dict[str, Any]:
    """Every option by its long name, after the configuration file, as JSON can hold it."""
    return {
        option_name(param): _as_json(context.params.get(param.name))
        for param in context.command.params
        if param.name in context.params and param.name not in NOT_IN_FILES - {"config"}
    }


def _as_json(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return value


def option_name(param: Any) -> str:
    """Long name of an option, without dashes in front."""
    return max(param.opts, key=len).lstrip("-")


# -- values with several names or numbers ----------------------------------------------------------


def parse_sizes(text: str | None) -> list[int] | None:
    """Numbers of features, separated by commas.

    Examples
    --------
    >>> parse_sizes("1, 2,10")
    [1, 2, 10]
    """
    if text is None:
        return None
    try:
        sizes = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < 1:
        raise typer.BadParameter(
            f"{text!r} is no list of numbers of features such as 1,2,5,10", param_hint="'--sizes'"
        )
    return sizes


def parse_names(text: str | None, option: str, known: Iterable[str]) -> list[str]:
    """Known names, separated by commas, each once; dashes and underscores are the same."""
    choices = list(known)
    names: list[str] = []
    for part in (text or "").split(","):
        given = part.strip()
        if not given:
            continue
        same = [name for name in choices if _plain(name) == _plain(given)]
        if not same:
            text = str(not_one_of("each", given, choices))
            raise typer.BadParameter(text, param_hint=f"'{option}'")
        names += [name for name in same if name not in names]
    return names


def parse_method(text: str) -> str:
    """Name of a method; dashes and underscores are the same.

    Examples
    --------
    >>> parse_method("f_test")
    'f-test'
    """
    found = [name for name in METHODS if _plain(name) == _plain(text)]
    if not found:
        raise typer.BadParameter(str(not_one_of("it", text, METHODS)))
    return found[0]


def _plain(name: str) -> str:
    return name.replace("_", "-").casefold()


# -- settings of a method --------------------------------------------------------------------------


def method_settings(given: dict[str, Any]) -> tuple[Method, dict[str, Any]]:
    """Method, and the settings of its selector; options that it does not have are refused."""
    method = METHODS[given["method"]]
    _refuse_idle(method, given)
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
    if "bandwidth" in method.settings:
        bandwidth = _bandwidth(given)
        settings["bandwidth"] = "std" if bandwidth == "auto" else bandwidth
    if "n_jobs" in method.settings:
        settings["n_jobs"] = selector_jobs(given["jobs"], folds=given["cv"] is not None)
    return method, settings


def _bandwidth(given: dict[str, Any]) -> str:
    """Width of the kernels, refused for those without one."""
    kernel = KERNELS.get(str(given["kernel"]))  # none for auto
    if kernel is not None and kernel.scale_free and str(given["bandwidth"]) not in ("auto", "std"):
        raise typer.BadParameter(
            f"has no effect with --kernel {given['kernel']!s}, which has no width; leave it out",
            param_hint="'--bandwidth'",
        )
    return str(given["bandwidth"])


def _refuse_idle(method: Method, given: dict[str, Any]) -> None:
    """Refuse options that a method does not have."""
    idle = [name for name in _said(given) if not _has(method, name, given)]
    if not idle:
        return
    ranked = method.kind == "ranking" and set(idle) <= set(RANKINGS)
    way = " without --cv; add --cv 5, or leave it out" if ranked else "; leave it out"
    raise typer.BadParameter(
        f"has no effect with --method {method.name}{way}",
        param_hint=", ".join(f"'--{name.replace('_', '-')}'" for name in idle),
    )


def _said(given: dict[str, Any]) -> list[str]:
    """Options of some methods whose values say something."""
    silent = {name: (str(value), "[]", "()") for name, value in OF_METHODS.items()}
    return [name for name, words in silent.items() if str(given[name]) not in words]


def _has(method: Method, option: str, given: dict[str, Any]) -> bool:
    """Whether an option is one of the method's, or of the folds."""
    if option == "jobs":
        return given["cv"] is not None or "n_jobs" in method.settings
    if option == "kernel" and method.text == "codes":
        return str(given["kernel"]) == "auto"  # which says that text columns are welcome
    if option in RANKINGS and given["cv"] is not None and method.kind == "ranking":
        return True
    if option == "costs" and given["cv"] is not None:  # they are counted for any method
        return True
    return {"feature_group": "feature_groups"}.get(option, option) in method.settings


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
    bandwidth, statistic = _bandwidth(given), str(given["statistic"])
    if _text(given["rule"]) == "fdr" and statistic == "auto":  # which counts p-values
        statistic = "calibrated"
    return {
        "kernel": str(given["kernel"]),
        "bandwidth": bandwidth,
        "statistic": statistic,
        "norm_strength": norm,
        "bregman_strength": bregman,
        "elimination_tol": given["elimination_tol"],
        "n_jobs": selector_jobs(given["jobs"], folds=given["cv"] is not None),
    }


def selector_jobs(jobs: int | None, folds: bool) -> int:
    """Threads of the selector: all cores where the folds do not take them."""
    return -1 if jobs is None or (folds and jobs != 1) else jobs


# -- settings of the folds -------------------------------------------------------------------------


@dataclass(frozen=True)
class CVSettings:
    """Everything about the folds."""

    cv: int
    rule: str = "one_se"
    budget: float | None = None
    tolerance: float = 0.01
    level: float = 0.1
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
    kernel: str = "auto"
    missing: str = "kernel"
    identifiers: str = "drop"
    class_weight: str | None = "auto"
    max_train_rows: int = 50_000
    verbose: bool = False
    constraints: dict[str, Any] = field(default_factory=dict)

    def of_table(self) -> dict[str, Any]:
        """What decides whether a table can be used."""
        named = ("kernel", "task", "missing", "identifiers")
        return {name: str(getattr(self, name)) for name in named} | {
            "must_include": self.constraints.get("must_include")
        }

    def arguments(self) -> dict[str, Any]:
        """Arguments of PathCV, but selector, baselines and memory."""
        return {
            "cv": self.cv,
            "rule": self.rule,
            "budget": self.budget,
            "tolerance": self.tolerance,
            "level": self.level,
            "predictor": self.predictor,
            "scoring": self.scoring,
            "n_features": self.sizes,
            "nested": self.nested,
            "probability": self.proba,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            "task": self.task,
            "missing": self.missing,
            "identifiers": self.identifiers,
            "class_weight": self.class_weight,
            "max_train_rows": self.max_train_rows,
            "verbose": int(self.verbose),
            **self.constraints,
        }


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
            hint = ", ".join(f"'--{name.replace('_', '-')}'" for name in used)
            raise typer.BadParameter(
                "has no effect without --cv; add --cv 5 or leave it out", param_hint=hint
            )
        return None
    baselines = parse_names(given["baselines"], "--baselines", BASELINE_NAMES)
    if given["method"] in baselines:
        raise typer.BadParameter(
            f"{given['method']} is the method of the path itself; leave it out",
            param_hint="'--baselines'",
        )
    rule, budget, tolerance = resolve_rule(
        _text(given["rule"]), given["budget"], given["tolerance"]
    )
    if budget is not None and given["costs"] is None and (budget < 1 or int(budget) != budget):
        raise typer.BadParameter(
            f"{budget:g} is no number of features; add --costs if it is a cost",
            param_hint="'--budget'",
        )
    level = given["level"]
    if level is not None and rule != "fdr":
        raise typer.BadParameter(
            f"has no effect with --rule {rule}; add --rule fdr", param_hint="'--level'"
        )
    if level is not None and not 0 < level < 1:
        raise typer.BadParameter("must lie between 0 and 1", param_hint="'--level'")
    if rule == "fdr" and given["method"] not in (None, "lp-kta"):
        raise typer.BadParameter(
            f"fdr counts p-values, which {given['method']} does not give; leave out --method",
            param_hint="'--rule'",
        )
    return CVSettings(
        rule=rule,
        budget=budget,
        tolerance=tolerance,
        level=CVSettings.level if level is None else level,
        baselines=baselines,
        nested=given["nested"],
        proba=given["proba"],
        max_train_rows=given["max_train_rows"] or CVSettings.max_train_rows,
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
        "class_weight": _class_weight(given["class_weight"]),
        "verbose": given["verbose"],
        **table_settings(given),
    }


def table_settings(given: dict[str, Any]) -> dict[str, Any]:
    """What becomes of missing values and of columns that name rows."""
    kept = "keep" if given["keep_identifiers"] else "drop"
    return {"missing": str(given["missing"]), "identifiers": kept}


def _class_weight(value: Any) -> str | None:
    return None if value == "none" else _text(value) or "auto"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def resolve_rule(
    rule: str | None, budget: float | None, tolerance: float | None
) -> tuple[str, float | None, float]:
    """Rule with its numbers; a tolerance alone implies its rule, and a budget bounds any.

    Examples
    --------
    >>> resolve_rule(None, 20, None), resolve_rule(None, 20, 0.1)
    (('one_se', 20, 0.01), ('tolerance', 20, 0.1))
    """
    if tolerance is not None and rule not in (None, "tolerance"):
        raise typer.BadParameter(
            f"has no effect with --rule {rule}; leave out one of the two",
            param_hint="'--tolerance'",
        )
    if rule == "budget" and budget is None:
        raise typer.BadParameter("budget needs --budget, the largest number", param_hint="'--rule'")
    implied = "one_se" if tolerance is None else "tolerance"
    return rule or implied, budget, 0.01 if tolerance is None else tolerance


def check_scoring(name: str | None) -> None:
    """Refuse a measure that scikit-learn does not have."""
    if name is None:
        return
    from sklearn.metrics import get_scorer_names

    if name not in get_scorer_names():
        error = str(not_one_of("it", name, get_scorer_names()))
        raise typer.BadParameter(error, param_hint="'--scoring'")

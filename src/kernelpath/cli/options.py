"""The options that commands share, how their values are read, and what shells complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelpath.catalogue import BASELINE_NAMES, METHODS
from kernelpath.cli.constraints import parse_budget
from kernelpath.cli.invocation import parse_method, read_config
from kernelpath.evaluation import RULE_NAMES
from kernelpath.kernels import KERNELS
from kernelpath.predictors import PREDICTOR_NAMES
from kernelpath.tables import MISSING

SCORINGS = (
    "accuracy", "balanced_accuracy", "f1", "f1_macro", "matthews_corrcoef", "neg_log_loss",
    "roc_auc", "average_precision", "r2", "neg_mean_squared_error", "neg_mean_absolute_error",
)  # fmt: skip
"""Measures that shells complete; every name of scikit-learn is taken."""


class Task(StrEnum):
    """What the target is."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


if TYPE_CHECKING:  # members that are found at run time are no type to a checker
    Kernel = str
    Rule = str
    Predictor = str
    Missing = str
else:
    Kernel = StrEnum("Kernel", {name: name for name in (*KERNELS, "auto")})
    Rule = StrEnum("Rule", {name: name for name in dict.fromkeys(("one_se", *RULE_NAMES))})
    Predictor = StrEnum("Predictor", {name: name for name in ("auto", *PREDICTOR_NAMES)})
    Missing = StrEnum("Missing", {name: name for name in MISSING})
DEFAULT_KERNEL = Kernel("auto")
DEFAULT_MISSING = Missing("kernel")


class ClassWeight(StrEnum):
    """How classes count in the models."""

    auto = "auto"
    balanced = "balanced"
    none = "none"


class Bandwidth(StrEnum):
    """Scale of a column."""

    auto = "auto"
    std = "std"
    median = "median"
    multi = "multi"


# -- values ----------------------------------------------------------------------------------------


def strength(*words: str) -> Callable[[str], float | str]:
    """Reader of a number that is at least 0, or one of the words."""

    def parse(value: str) -> float | str:
        if value in words:
            return value
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if not 0 <= number < float("inf"):
            raise typer.BadParameter(f"{value!r} is neither a number >= 0 nor {' or '.join(words)}")
        return number

    return parse


def _jobs(value: int | None) -> int | None:
    if value == 0:
        raise typer.BadParameter("0 threads cannot work; give 1 or more, or -1 for all cores")
    return value


def named(text: str) -> Path:
    """A folder by its name; an empty one is a variable that is not set, not the current folder.

    Examples
    --------
    >>> named("run").name
    'run'
    """
    if not str(text):
        raise typer.BadParameter("is empty; name a folder, or . for the current one")
    return Path(text)


def complete_list(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Completion of the last name of a list with commas.

    Examples
    --------
    >>> complete_list(["f-test", "forest"])("f-test,fo")
    ['f-test,forest']
    """
    choices = list(known)

    def complete(incomplete: str) -> list[str]:
        head, comma, last = incomplete.rpartition(",")
        used = head.split(",")
        return [head + comma + n for n in choices if n.startswith(last) and n not in used]

    return complete


def _complete_scoring(incomplete: str) -> list[str]:
    return [name for name in SCORINGS if name.startswith(incomplete)]


# -- options ---------------------------------------------------------------------------------------

TABLE_PANEL = "Tables as they are"
SCORED_PANEL = "Cross-validation"
KERNEL_PANEL = "Kernels and strengths"


def _option(*names: str, **settings: Any) -> Any:
    settings.setdefault("show_default", False)
    return typer.Option(*names, **settings)


DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        readable=False,  # what cannot be read is said in one line, with exit code 1
        show_default=False,
        help="CSV or TSV (also .gz), Parquet, Arrow/Feather, NPZ or svmlight file.",
    ),
]
TargetOption = Annotated[
    str | None,
    _option(
        "--target",
        "-t",
        metavar="COL",
        help="Column to predict. NPZ and svmlight files bring their own.",
    ),
]
MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        callback=lambda value: parse_method(value),
        autocompletion=complete_list(METHODS),
        help="Method that traces the path or ranks the features; see kernelpath methods.",
    ),
]
TaskOption = Annotated[Task, typer.Option(help="Whether the target is a class or a number.")]
DropOption = Annotated[
    list[str] | None,
    _option(
        "--drop",
        metavar="COL",
        help="Column to leave out, or several with commas; may be repeated.",
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        rich_help_panel=TABLE_PANEL,
        help="What becomes of missing values: a category of their own in each column, the median "
        "or most frequent value, their rows left out, or refused.",
    ),
]
IdentifiersOption = Annotated[
    bool,
    _option(
        "--keep-identifiers",
        rich_help_panel=TABLE_PANEL,
        help="Count columns that name rows (text with a value of its own in most rows, row "
        "numbers, ids) as features. Default: they are left out, with a note.",
    ),
]
MaxColumnsOption = Annotated[
    int | None,
    _option(
        "--max-columns",
        min=1,
        metavar="N",
        help="Most columns to accept. Default: 5,000,000; of a small sparse file fewer.",
    ),
]
KernelOption = Annotated[
    Kernel,
    typer.Option(
        help="Kernel of each feature; auto: delta for categories and text, rbf otherwise.",
        rich_help_panel=KERNEL_PANEL,
    ),
]
BandwidthOption = Annotated[
    Bandwidth,
    typer.Option(
        help="Kernel width: standard deviation, median distance (slower), or the best of several "
        "widths for each column (multi). Default: multi with p-values, std with alignments.",
        show_default=False,
        rich_help_panel=KERNEL_PANEL,
    ),
]
NormOption = Annotated[
    str,
    typer.Option(
        callback=lambda v: strength("auto", "noise")(v),
        metavar="NUMBER|auto|noise",
        help="Weight of the sparsity term; noise: only features above chance stay at p = 1.",
        rich_help_panel=KERNEL_PANEL,
    ),
]
BregmanOption = Annotated[
    str,
    typer.Option(
        callback=lambda v: strength("auto")(v),
        metavar="NUMBER|auto",
        help="Weight of the smoothing term.",
        rich_help_panel=KERNEL_PANEL,
    ),
]
CostOption = Annotated[
    float | None,
    _option(
        "--C",
        metavar="NUMBER",
        rich_help_panel=KERNEL_PANEL,
        help="Cost of errors, for methods that are machines. Default: that of the method.",
    ),
]
EliminationOption = Annotated[
    float,
    typer.Option(
        help="A feature is selected if its weight exceeds this; below 1/e.",
        rich_help_panel=KERNEL_PANEL,
    ),
]
SizeOption = Annotated[
    int | None,
    _option(
        "--n-features",
        "-k",
        min=1,
        help="Number of features to write to selected.csv, and to keep a model of. "
        "Default: the chosen number with --cv, the sparsest point without.",
    ),
]
OutOption = Annotated[
    Path | None,
    _option("--out", "-o", metavar="DIR", parser=named, help="Folder for the results."),
]
ReportOption = Annotated[
    str | None,
    _option(
        "--report",
        metavar="[FILE]",
        help="Write the page to this file too. Without a name: report.html, in the run folder "
        "if there is one (where it is written in any case).",
    ),
]
OverwriteOption = Annotated[
    bool,
    _option(
        "--overwrite/--no-overwrite",
        help="Replace files of kernelpath's own kinds that are in the way; others never.",
    ),
]
JobsOption = Annotated[
    int | None,
    _option(
        "--jobs",
        "-j",
        callback=_jobs,
        help="Threads, or with --cv folds at the same time; -1 uses all cores. Default: threads "
        "on all cores, and one fold after the other.",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        min=0, max=2**32 - 1, metavar="INTEGER", help="Seed of shuffling and forests, below 2**32."
    ),
]
JsonOption = Annotated[bool, _option("--json/--no-json", help="Print one JSON object, no table.")]
QuietOption = Annotated[bool, _option("--quiet/--no-quiet", "-q", help="No progress and no table.")]
VerboseOption = Annotated[
    bool,
    _option("--verbose/--no-verbose", "-v", help="Say how much work there is and where it stands."),
]
ConfigOption = Annotated[
    Path | None,
    _option(
        "--config",
        metavar="FILE.toml",
        is_eager=True,
        readable=False,
        callback=read_config,
        help="Take options from a TOML file: keys are their names. The command line wins.",
    ),
]
FoldsOption = Annotated[
    int | None,
    _option("--cv", min=2, metavar="FOLDS", help="Score every size in so many folds, choose one."),
]
RuleOption = Annotated[
    Rule | None,
    _option(
        "--rule",
        rich_help_panel=SCORED_PANEL,
        help="What picks the number of features; one_se: the fewest within one standard error of "
        "the best; stable: the most that the folds agree on. Default: one_se.",
    ),
]
BudgetOption = Annotated[
    float | None,
    _option(
        "--budget",
        parser=parse_budget,
        metavar="NUMBER",
        rich_help_panel=SCORED_PANEL,
        help="Largest number of features to choose, under any rule. With --costs: the largest "
        "cost of the chosen features together.",
    ),
]
MustIncludeOption = Annotated[
    list[str] | None,
    _option(
        "--must-include",
        metavar="COLS",
        help="Columns that are always in, with commas, or patterns such as lab_*; may be repeated.",
    ),
]
FeatureGroupOption = Annotated[
    list[str] | None,
    _option(
        "--feature-group",
        metavar="COLS",
        help="Columns that go in or out together, with commas, or a pattern such as color_*; "
        "repeat it for every group.",
    ),
]
CostsOption = Annotated[
    str | None,
    _option(
        "--costs",
        metavar="FILE|a=3,b=0.5",
        help="What columns cost to measure, in a file with a name and a cost in every row, or in "
        "words; 1 for others.",
    ),
]
ToleranceOption = Annotated[
    float | None,
    _option(
        "--tolerance",
        min=0,
        rich_help_panel=SCORED_PANEL,
        help="Loss of score that is accepted, for --rule tolerance. Default: 0.01.",
    ),
]
PredictorOption = Annotated[
    Predictor | None,
    _option(
        "--predictor",
        rich_help_panel=SCORED_PANEL,
        help="SVM on the weighted sum of kernels or on one joint kernel, a linear model, boosted "
        "trees, a forest, or the best of some. Default: auto.",
    ),
]
ScoringOption = Annotated[
    str | None,
    _option(
        "--scoring",
        metavar="NAME",
        rich_help_panel=SCORED_PANEL,
        autocompletion=_complete_scoring,
        help="Any measure of scikit-learn. Default: accuracy, balanced_accuracy where a class is "
        "rarer than one to four, or r2.",
    ),
]
ClassWeightOption = Annotated[
    ClassWeight | None,
    _option(
        "--class-weight",
        rich_help_panel=SCORED_PANEL,
        help="How classes count in the models; balanced: alike, however rare; none: every row "
        "alike. Default: auto, balanced where a class is rare or the measure ranks or balances.",
    ),
]
BaselinesOption = Annotated[
    str | None,
    _option(
        "--baselines",
        metavar="NAMES",
        rich_help_panel=SCORED_PANEL,
        autocompletion=complete_list(BASELINE_NAMES),
        help="Other methods to score on the same folds, with commas; see kernelpath methods.",
    ),
]
MaxTrainRowsOption = Annotated[
    int | None,
    _option(
        "--max-train-rows",
        min=1000,
        rich_help_panel=SCORED_PANEL,
        help="Rows of a fold that scored models learn from, at most; the final model learns from "
        "all. Default: 50000.",
    ),
]
NestedOption = Annotated[
    bool,
    _option(
        "--nested/--no-nested",
        rich_help_panel=SCORED_PANEL,
        help="Score the whole procedure, the choice included, in an outer loop.",
    ),
]
GroupsOption = Annotated[
    str | None,
    _option(
        "--groups",
        metavar="COL",
        rich_help_panel=SCORED_PANEL,
        help="Column whose equal values stay in one fold; it is no feature.",
    ),
]
SizesOption = Annotated[
    str | None,
    _option(
        "--sizes",
        metavar="1,2,5,...",
        rich_help_panel=SCORED_PANEL,
        help="Numbers of features to score. Default: all up to 30, then a growing grid.",
    ),
]
ProbaOption = Annotated[
    bool,
    _option(
        "--proba/--no-proba",
        rich_help_panel=SCORED_PANEL,
        help="Calibrate, so that predict --proba works.",
    ),
]
MethodsOption = Annotated[
    str,
    typer.Option(
        "--methods",
        metavar="NAMES",
        autocompletion=complete_list(METHODS),
        help="Methods to compare, with commas; see kernelpath methods.",
    ),
]

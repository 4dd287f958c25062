"""Options about p-values: those of ``kernelpath test``, and of paths that rank by them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kernelpath.cli.options import KERNEL_PANEL, SCORED_PANEL, _jobs, _option


class Widths(StrEnum):
    """Widths of a kernel in a test."""

    multi = "multi"
    std = "std"
    median = "median"


class Statistic(StrEnum):
    """What ranks the columns."""

    auto = "auto"
    alignment = "alignment"
    calibrated = "calibrated"


if TYPE_CHECKING:  # members that are found at run time are no type to a checker
    Adjustment = str
else:
    Adjustment = StrEnum("Adjustment", {name: name for name in ("bh", "by", "e-bh", "max")})
DEFAULT_ADJUSTMENT = Adjustment("bh")


def share(value: float) -> float:
    """A rate between 0 and 1.

    Examples
    --------
    >>> share(0.1)
    0.1
    """
    if not 0 < value < 1:
        raise typer.BadParameter(f"must lie between 0 and 1, got {value:g}")
    return value


LevelOption = Annotated[
    float,
    typer.Option(
        callback=lambda value: share(value),
        metavar="NUMBER",
        help="False discovery rate: the share of the discoveries, on average, that may be chance; "
        "with --adjust max the probability that any of them is.",
    ),
]
AdjustOption = Annotated[
    Adjustment,
    typer.Option(
        help="How p-values pay for their number: Benjamini and Hochberg; Benjamini and Yekutieli "
        "or e-BH, which hold for any dependence of the features and find less; or max, the best of "
        "all features in permutations of the target, for the family-wise error rate.",
    ),
]
WidthsOption = Annotated[
    Widths,
    typer.Option(
        help="Kernel width; multi: standard deviation, half and a quarter of it, wide ones for "
        "slow effects and narrow ones for waves; or one of the two others.",
        rich_help_panel=KERNEL_PANEL,
    ),
]
PermutationsOption = Annotated[
    int,
    _option(
        "--permutations",
        min=0,
        metavar="N",
        help="Make p-values near the threshold exact by up to so many permutations of the "
        "target, 10000 for instance. Default: none; with --adjust max, permutations of the target "
        "for all features together, 1000.",
    ),
]
PermutationSeedOption = Annotated[
    int,
    typer.Option("--seed", min=0, max=2**32 - 1, metavar="INTEGER", help="Seed of --permutations."),
]
ThreadsOption = Annotated[
    int | None,
    _option("--jobs", "-j", callback=_jobs, help="Threads. Default: one for every core."),
]
StatisticOption = Annotated[
    Statistic,
    typer.Option(
        help="Rank columns by alignment, or by the p-value of their alignment (calibrated). "
        "Default: p-values, but alignments where a strength or one width is given.",
        show_default=False,
        rich_help_panel=KERNEL_PANEL,
    ),
]
RuleLevelOption = Annotated[
    float | None,
    _option(
        "--level",
        min=0,
        max=1,
        rich_help_panel=SCORED_PANEL,
        help="False discovery rate, for --rule fdr. Default: 0.1.",
    ),
]

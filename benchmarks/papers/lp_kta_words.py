"""What the numbers of the two tables say; a sentence whose numbers do not bear it is left out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import numpy as np
from lp_kta_read import Number, Results, spread
from lp_kta_settings import PAPER

from common import load_shared

CLOSE = 1.0  # points; below this a number of the paper counts as reproduced


class Said:
    """Sentences of one bullet, each with the condition under which it is true."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def add(self, text: str, holds: bool = True) -> Said:
        """Add a sentence, or say on the screen that it no longer holds."""
        if holds:
            self.sentences.append(text)
        else:
            print(f"left out, the numbers do not bear it: {text}")
        return self

    def bullet(self) -> list[str]:
        """Return the sentences as one bullet of Markdown."""
        if not self.sentences:
            return []
        text = "- " + " ".join(self.sentences)
        return [textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False)]


def label(name: str) -> str:
    return name.capitalize()


def listed(items: Iterable[str]) -> str:
    items = list(items)
    if len(items) < 2:
        return "".join(items) or "none"
    return f"{', '.join(items[:-1])} and {items[-1]}"


def split_by_closeness(measured: dict[str, float], paper: dict[str, float]) -> tuple[str, str]:
    """Names with differences to the paper: reached (or exceeded), and missed."""
    reached, missed = [], []
    for name, value in measured.items():
        gap = value - paper[name]
        (reached if gap >= -CLOSE else missed).append(f"{label(name)} ({gap:+.2f})")
    return listed(reached), listed(missed)


def paired(one: Number, other: Number) -> tuple[float, float]:
    """Mean difference over the same folds, and its standard error."""
    gap = one.values - other.values
    return float(gap.mean()), spread(gap)


def differences(pairs: dict[str, tuple[Number, Number]]) -> str:
    found = {name: paired(*both) for name, both in pairs.items()}
    return ", ".join(f"{label(name)} {gap:+.2f} ± {se:.2f}" for name, (gap, se) in found.items())


def clear(pairs: dict[str, tuple[Number, Number]]) -> list[str]:
    """Names whose difference exceeds two standard errors, in favour of the first."""
    found = {name: paired(*both) for name, both in pairs.items()}
    return [label(name) for name, (gap, se) in found.items() if gap > 2 * se]


# -- Table 2 ---------------------------------------------------------------------------------------


def table2_oracle(two: dict[str, Results]) -> list[str]:
    pooled = {name: one.pooled()["hits"].mean for name, one in two.items()}
    best = {name: one.per_part().mean for name, one in two.items()}
    paper = {name: PAPER[name].table2[0] for name in two}
    reached, missed = split_by_closeness(pooled, paper)
    said = Said().add(
        "**Table 2 as the paper reports it.** The pooled oracle comes within one point of the "
        f"paper or exceeds it on {reached}; missed: {missed}."
    )
    between = [label(name) for name in two if pooled[name] <= paper[name] <= best[name]]
    said.add(
        f"On {listed(between)} the paper lies between the pooled and the per-fold oracle.",
        bool(between),
    )
    uniform = {name: one.pooled(uniform=True)["hits"].mean for name, one in two.items()}
    reached, missed = split_by_closeness(uniform, {name: PAPER[name].uniform for name in two})
    said.add(f"Uniform weights, by the same measure: {reached}; missed: {missed}.")
    return said.bullet()


def table2_honest(two: dict[str, Results]) -> list[str]:
    drop = {n: one.pooled()["hits"].mean - one.nested()["hits"].mean for n, one in two.items()}
    pairs = {
        name: (one.nested()["hits"], one.nested(uniform=True)["hits"]) for name, one in two.items()
    }
    said = Said().add(
        "**Table 2 without test labels.** Nested choices lie below the pooled oracle by "
        + ", ".join(f"{value:.2f} ({label(name)})" for name, value in drop.items())
        + "."
    )
    said.add(
        "Learned against uniform weights, both nested, on the same folds: "
        f"{differences(pairs)}. Beyond two standard errors: {listed(clear(pairs))}."
    )
    return said.bullet()


def arcene(two: dict[str, Results]) -> list[str]:
    if "arcene" not in two:
        return []
    one = two["arcene"]
    paper = PAPER["arcene"].table2[0]
    pooled, best, nested = one.pooled()["hits"], one.per_part(), one.nested()["hits"]
    uniform = one.nested(uniform=True)["hits"]
    gap, se = paired(nested, uniform)
    n_test = one.seeds[0][0]["n_test"]
    seeds = f"{len(one.seeds)} seeds"
    said = Said().add(
        f"**Arcene is an oracle effect.** The paper's {paper:.2f} is reached only by looking at "
        f"the test rows: pooled oracle {pooled.mean:.2f} ({pooled.seeds.min():.0f} to "
        f"{pooled.seeds.max():.0f} over {seeds}), per-fold oracle {best.mean:.2f}, nested "
        f"{nested.mean:.2f} ({nested.seeds.min():.0f} to {nested.seeds.max():.0f}).",
        nested.seeds.max() < paper <= max(best.mean, pooled.seeds.max()),
    )
    said.add(
        f"Nested differs from nested uniform weights ({uniform.mean:.2f}) by {gap:+.2f} ± "
        f"{se:.2f}: no gain that these {one.seeds[0][0]['n_test'] * len(one.seeds[0])} rows can "
        f"show. A fold has {n_test} test rows, so one row is {100 / n_test:.0f} points.",
        abs(gap) <= 2 * se,
    )
    return said.bullet()


def counts(two: dict[str, Results]) -> list[str]:
    found = {name: one.tolerances() for name, one in two.items()}
    ratio = {name: rows[-1][1] / max(rows[0][1], 1) for name, rows in found.items()}
    low, high = min(ratio, key=ratio.__getitem__), max(ratio, key=ratio.__getitem__)
    change = [np.ptp([value for _, _, value in rows]) for rows in found.values()]
    said = Said().add(
        "**The feature counts of Table 2 mean nothing without the elimination tolerance**, which "
        "the paper does not state. At one and the same point of the path, tolerances from "
        f"{found[low][0][0]:g} to {found[low][-1][0]:g} multiply the count by {ratio[low]:.1f} "
        f"({label(low)}) to {ratio[high]:.1f} ({label(high)}); accuracy moves by "
        f"{min(change):.2f} to {max(change):.2f} points.",
        min(ratio.values()) > 1.2,
    )
    ours = {name: one.pooled()["hits"].features.mean(axis=1) for name, one in two.items()}
    texts = []
    for name, values in ours.items():
        span = sorted({round(values.min()), round(values.max())})
        told = " to ".join(f"{value:,}" for value in span)
        texts.append(f"{label(name)} {told} ({PAPER[name].table2[1]:,})")
    said.add(f"Features at our pooled oracle (paper): {'; '.join(texts)}.")
    return said.bullet()


# -- Table 3 ---------------------------------------------------------------------------------------


def table3_oracle(three: dict[str, Results]) -> list[str]:
    pooled = {name: one.pooled()["hits"].mean for name, one in three.items()}
    best = {name: one.per_part().mean for name, one in three.items()}
    paper = {name: PAPER[name].table3[0] for name in three}
    reached, missed = split_by_closeness(pooled, paper)
    said = Said().add(
        "**Table 3.** The pooled oracle comes within one point of the paper or exceeds it on "
        f"{reached}; missed: {missed}."
    )
    if "relathe" in three:
        tops = {
            "per-split oracle": best["relathe"],
            "nested": three["relathe"].nested()["hits"].mean,
            "`PathCV`": three["relathe"].path_cv("lp-KTA").mean,
            "`PathCV` with the F test": three["relathe"].path_cv("F test").mean,
        }
        said.add(
            f"**Relathe does not reproduce**: {paper['relathe']:.2f} in the paper, here at most "
            f"{max(pooled['relathe'], *tops.values()):.2f} ("
            + ", ".join(f"{what} {value:.2f}" for what, value in tops.items())
            + "). The cause is not known to us; the paper does not say how the text was prepared.",
            max(pooled["relathe"], *tops.values()) < paper["relathe"] - CLOSE,
        )
    if "arcene" in three:
        said.add(
            f"Arcene's {paper['arcene']:.2f} is reached by the per-split oracle alone "
            f"({best['arcene']:.2f}); one setting for all splits gives {pooled['arcene']:.2f}, "
            f"nested {three['arcene'].nested()['hits'].mean:.2f}.",
            best["arcene"] >= paper["arcene"] - CLOSE > pooled["arcene"],
        )
    return said.bullet()


def table3_defaults(three: dict[str, Results]) -> list[str]:
    against_paper = {
        name: one.path_cv("lp-KTA").mean - PAPER[name].table3[0] for name, one in three.items()
    }
    said = Said().add(
        "**Defaults, honestly scored.** `PathCV` against the oracle of the paper: "
        + ", ".join(f"{label(name)} {gap:+.2f}" for name, gap in against_paper.items())
        + "."
    )
    if "madelon" in three:
        one = three["madelon"]
        model, pooled = one.path_cv("lp-KTA"), one.pooled()["hits"]
        joint = one.predictors("lp-KTA").get("joint_rbf", 0)
        n_splits = len(one.seeds[0])
        said.add(
            "On Madelon a sum of one-feature kernels, which cannot express interactions, has "
            f"{pooled.mean:.2f} as its oracle, while `PathCV` took the joint RBF kernel in "
            f"{joint} of {n_splits} splits and scored {model.mean:.2f}.",
            joint == n_splits and model.mean > pooled.mean + 5,
        )  # fmt: skip
    pairs = {n: (one.path_cv("lp-KTA"), one.path_cv("F test")) for n, one in three.items()}
    ahead, behind = clear(pairs), clear({name: pair[::-1] for name, pair in pairs.items()})
    said.add(
        "Ranking by lp-KTA against ranking by the F test, same procedure, same splits: "
        f"{differences(pairs)}. Beyond two standard errors ahead: {listed(ahead)}; behind: "
        f"{listed(behind)}."
    )
    return said.bullet()


# -- Dorothea --------------------------------------------------------------------------------------


def dorothea(two: dict[str, Results], three: dict[str, Results]) -> list[str]:
    if "dorothea" not in two or "dorothea" not in three:
        return []
    one, paper = two["dorothea"], PAPER["dorothea"]
    pooled, best = one.pooled()["hits"], one.per_part()
    nested, balanced = one.nested(), one.nested("balanced")
    uniform, single = one.nested(uniform=True), one.one_feature()
    gap, se = paired(nested["hits"], single["hits"])
    said = Said().add(
        f"**Dorothea: {paper.table2[0]:.2f} is an oracle.** Pooled {pooled.mean:.2f}, per fold "
        f"{best.mean:.2f}, but nested {nested['hits'].mean:.2f} (balanced class weights "
        f"{balanced['hits'].mean:.2f}).",
        max(nested["hits"].mean, balanced["hits"].mean) < paper.table2[0] <= best.mean,
    )
    said.add(
        f"**One feature does as well**: {single['hits'].mean:.2f} by asking whether it is present, "
        f"against which nested lp-KTA is {gap:+.2f} ± {se:.2f}.",
        gap <= 2 * se,
    )
    half = three["dorothea"]
    half_one, half_nested = half.one_feature()["hits"], half.nested()["hits"]
    said.add(
        f"In Table 3: one feature {half_one.mean:.2f}, nested {half_nested.mean:.2f}, "
        f"`PathCV` {half.path_cv('lp-KTA').mean:.2f}, paper {paper.table3[0]:.2f} (oracle)."
    )
    shared = load_shared("dorothea", one.plan.part)
    if shared is not None:
        majority = 100 * np.unique(shared[1], return_counts=True)[1].max() / len(shared[1])
        said.add(f"The larger class alone is {majority:.2f}.")
    said.add(
        f"Against uniform weights nested lp-KTA raises "
        f"balanced accuracy from {uniform['balanced_accuracy'].mean:.1f} to "
        f"{nested['balanced_accuracy'].mean:.1f} and lowers AUC from {uniform['auc'].mean:.1f} to "
        f"{nested['auc'].mean:.1f}.",
        nested["balanced_accuracy"].mean > uniform["balanced_accuracy"].mean
        and nested["auc"].mean < uniform["auc"].mean,
    )
    return said.bullet()


def speed(times: dict | None) -> list[str]:
    if times is None:
        return []
    return (
        Said()
        .add(
            "**Time.** Table 4 of the paper gives 12.5 s a point for Dorothea, and its text says "
            "that the algorithm \"was able to generate the entire path in 21 minutes using "
            "pre-computed kernels and 36 minutes using kernels computed on the fly\" on a "
            "\"standard 2.40 GHz Intel Xeon desktop with 32 GB of RAM\"."
        )
        .add(
            f"Here the published method on the 800 training rows takes {times['path']:.2f} s of "
            f"CPU for {times['points']} points, and {times['all']:.1f} s with the combined kernel "
            "and an SVM (C = 1) at every point. The machines are not comparable, and what the "
            "paper's minutes include is not spelled out."
        )
        .bullet()
    )  # fmt: skip


def findings(two: dict[str, Results], three: dict[str, Results], times: dict | None) -> list[str]:
    """All bullets that have their numbers."""
    lines: list[str] = []
    if two:
        lines += table2_oracle(two) + table2_honest(two) + arcene(two) + counts(two)
    if three:
        lines += table3_oracle(three) + table3_defaults(three)
    return lines + dorothea(two, three) + speed(times)

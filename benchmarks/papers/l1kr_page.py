"""docs/reproduction_l1kr.md from the stored trials: the tables; sentences are in l1kr_words.py."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from l1kr_read import Result, Results, present, read
from l1kr_settings import (
    BARS,
    DIABETES,
    FEATURE_BAR,
    GAUSS,
    HKL,
    KRR,
    LARGE,
    LASSO,
    METHODS,
    NAMES,
    NOISE_BAR,
    OLS,
    OURS,
    PAPER_ERRORS,
    PAPER_FEATURES,
    Case,
    noise_variance,
)

PAGE = "reproduction_l1kr.md"
COLUMNS = (*OURS, HKL, KRR, LASSO, OLS)
TITLE = """# Reproduction: Tables 1 and 2 of the L1KR paper

Li, Sminchisescu: *The feature selection path in kernel methods*, AISTATS 2010. Written by
`benchmarks/papers/l1kr_tables.py`; every number here, those in sentences included, is filled in by
that script from its own runs, the paper's apart.

How to read the tables:

- *L1KR*: `kp.L1KRRegressor(search_branches=False)`, the path from zero weights, as published. The
  norm budget and the point of the path are those of the smallest error of rows left out of the
  training rows; the paper chose the point by cross-validation. *KRR*: kernel ridge regression with
  one Gaussian width for all standardised columns. *LASSO* and *OLS* are linear.
- Numbers are mean squared errors on test rows, with the standard error of the mean over trials in
  Table 1 and the standard deviation between random splits in Table 2. The paper gives neither.
- HKL is not implemented here: its column holds the paper's numbers and none of ours.
"""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def wrapped(text: str) -> str:
    """Fill a paragraph or a bullet."""
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)


def listed(items: Iterable[str]) -> str:
    items = list(items)
    if len(items) < 2:
        return "".join(items) or "none"
    return f"{', '.join(items[:-1])} and {items[-1]}"


def number(value: float, like: float | None = None) -> str:
    """Three digits or so, or as many decimals as another number has."""
    size = abs(value if like is None else like)
    return f"{value:.{3 if size < 1 else 2 if size < 100 else 0}f}"


def cell(result: Result | None) -> str:
    """Mean, spread and, in Table 2, the number of features."""
    if result is None:
        return "not run"
    text = number(result.mean)
    if np.isfinite(result.spread):
        text += f" ± {number(result.spread, like=result.mean)}"
    if not result.case.drawn and "weights" in result.trials[0]:
        text += f" ({result.selected.sum(axis=1).mean():.1f})"
    return text


def count_text(results: Results, case: Case) -> str:
    """How many trials or splits each method has, once where they are the same."""
    counts = [len(results[case.key, m].numbers) for m in METHODS if (case.key, m) in results]
    return str(counts[0]) if len(set(counts)) == 1 else ", ".join(map(str, counts))


def error_table(results: Results, which: int) -> list[str]:
    """Two lines for each case: the paper's and ours."""
    cases, rows = present(results, which), []
    for case in cases:
        paper, features = PAPER_ERRORS[case.key], PAPER_FEATURES.get(case.key, {})
        told = [
            f"{paper[m]:.2f}" + (f" ({features[m]})" if m in features else "") if m in paper else ""
            for m in COLUMNS
        ]
        rows.append([case.label, "paper", "", *told])
        ours = ["" if m == HKL else cell(results.get((case.key, m))) for m in COLUMNS]
        rows.append([case.label, "here", count_text(results, case), *ours])
    heads = [NAMES.get(method, HKL) for method in COLUMNS]
    return table(["data", "", "trials" if which == 1 else "splits", *heads], rows) if rows else []


def noise_table(results: Results) -> list[str]:
    """Errors of the noisy rows over the variance of the noise."""
    rows = []
    for case in present(results, 1):
        if case.noisy:
            variance = noise_variance(case.data) / case.unit
            paper = PAPER_ERRORS[case.key][LASSO] - PAPER_ERRORS[case.data][LASSO]
            found = [results.get((case.key, method)) for method in METHODS]
            ratios = [f"{one.mean / variance:.2f}" if one else "not run" for one in found]
            told = [f"{paper:.2f}", f"{PAPER_ERRORS[case.key][GAUSS] / paper:.2f}"]
            rows.append([case.label, *told, number(variance), *ratios])
    head = ["data", "paper: LASSO, noisy less clean", "L1KR Gaussian over it"]
    head.append("here: noise variance")
    return table([*head, *(NAMES[method] for method in METHODS)], rows) if rows else []


def selection_table(results: Results) -> list[str]:
    """Which columns have a weight in Table 1."""
    rows = []
    for case in present(results, 1):
        for method in (*OURS, LASSO):
            one = results.get((case.key, method))
            if one is None:
                continue
            every = one.selected[:, : case.relevant].all(axis=1).sum()
            large = one.large[:, : case.relevant].all(axis=1).sum()
            rows.append([
                case.label, NAMES[method], str(len(one.trials)), str(every),
                f"{one.selected.sum(axis=1).mean():.1f}", str(large),
                f"{one.large.sum(axis=1).mean():.1f}", str(case.relevant),
            ])  # fmt: skip
    share = f"{100 * LARGE:.0f} %"
    head = ["data", "method", "trials", "all relevant have a weight", "columns with a weight",
            f"all relevant above {share}", f"columns above {share}", "relevant"]  # fmt: skip
    return table(head, rows) if rows else []


def diabetes_table(results: Results) -> list[str]:
    """How often each column of the diabetes data has a weight."""
    rows = []
    for method in (*OURS, LASSO):
        one = results.get(("diabetes", method))
        if one is not None:
            counts = one.selected.sum(axis=0)
            rows.append([NAMES[method], str(len(one.trials)), *map(str, counts)])
    return table(["method", "fits", *DIABETES], rows) if rows else []


def path_table(results: Results) -> list[str]:
    """What norm budgets were chosen and how the paths went."""
    ours = [one for one in results.values() if one.method in OURS]
    chosen = [[round(trial["setting"]["norm_budget"], 6) for trial in one.trials] for one in ours]
    budgets = sorted(set().union(*chosen))
    rows = []
    for one, counts in zip(ours, map(Counter, chosen)):
        rows.append([
            one.case.label, NAMES[one.method], str(len(one.trials)),
            *(str(counts[budget]) for budget in budgets),
            str(sum(trial["turns"] > 0 for trial in one.trials)),
            str(sum(trial["early"] for trial in one.trials)),
            f"{max(trial['kkt'] for trial in one.trials):.0e}",
            f"{np.mean([trial['cpu'] for trial in one.trials]):.1f}",
        ])  # fmt: skip
    head = ["data", "method", "fits", *(f"C = {budget:g}" for budget in budgets)]
    head += ["turn back", "ended early", "largest residual", "CPU s"]
    return table(head, rows) if rows else []


@dataclass(frozen=True)
class Bar:
    """A measured number and what it is to stay within."""

    what: str
    measured: float
    limit: float
    result: Result

    @property
    def met(self) -> bool:
        """Whether it does."""
        return self.measured <= self.limit


def bars(results: Results) -> list[Bar]:
    """All bars of L1KR with the Gaussian kernel that there are numbers for."""
    found = []
    for (key, method), one in results.items():
        if method != GAUSS:
            continue
        label = one.case.label
        if key in BARS:
            found.append(Bar(f"{label}, error", one.mean, BARS[key], one))
        if key in NOISE_BAR:
            ratio = one.mean * one.case.unit / noise_variance(one.case.data)
            found.append(Bar(f"{label}, error / noise variance", ratio, NOISE_BAR[key], one))
        if key in FEATURE_BAR:
            count = float(one.selected.sum(axis=1).mean())
            found.append(Bar(f"{label}, columns with a weight", count, FEATURE_BAR[key], one))
    return found


def bar_table(results: Results) -> list[str]:
    """Return the bars as a table."""
    rows = [
        [bar.what, str(len(bar.result.trials)), number(bar.measured), f"<= {bar.limit:g}",
         "yes" if bar.met else "**no**"]
        for bar in bars(results)
    ]  # fmt: skip
    return table(["L1KR Gaussian", "fits", "measured", "bar", "met"], rows) if rows else []


def machine_section(results: Results) -> list[str]:
    """Return the machine, versions and time."""
    last = max(results.values(), key=lambda one: one.date)
    total = sum(trial["cpu"] for one in results.values() for trial in one.trials)
    rows = [[key, value] for key, value in last.versions.items()]
    rows += [["date", last.date], ["CPU time of all fits", f"{total / 60:.0f} min"]]
    return ["## Machine and versions\n", *table(["", ""], rows)]


def section(head: list[str], lines: list[str]) -> list[str]:
    """Return lines under their head, or nothing where there are none."""
    return [*head, *lines] if lines else []


def write_page(docs: Path, folder: Path) -> bool:
    """Write what is there; tell if anything was."""
    from l1kr_words import WORDS, absent, findings, settings

    results = read(folder)
    if not results:
        return False
    lines = [TITLE, *absent(results), "## What reproduces and what does not\n"]
    lines += [*findings(results), "", *bar_table(results)]
    if present(results, 1):
        lines += ["## Table 1: Friedman's functions\n", WORDS["table1"], *error_table(results, 1)]
        lines += section([WORDS["noise"]], noise_table(results))
        head = ["### Columns with a weight\n", WORDS["selection"]]
        lines += section(head, selection_table(results))
    if present(results, 2):
        lines += ["## Table 2: real data\n", WORDS["table2"], *error_table(results, 2)]
        lines += section(["### Columns of the diabetes data\n"], diabetes_table(results))
    lines += section(["## Paths\n", WORDS["paths"]], path_table(results))
    lines += ["## Settings\n", *settings(results), "", *machine_section(results)]
    (docs / PAGE).write_text("\n".join(lines).rstrip() + "\n")
    return True

"""docs/reproduction_nmmkl.md from the stored trials; sentences are in nmmkl_words.py."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import nmmkl_figure
from nmmkl_notes import NOTES
from nmmkl_read import Result, read
from nmmkl_settings import (
    ENOUGH_TRIALS,
    FOLDS,
    LABELS,
    NAMES,
    PAPER_ACCURACY,
    PAPER_ERRORS,
    PAPER_PICKS,
    PAPER_SHAPES,
    PAPER_TRIALS,
    PUBLISHED,
    SCREEN,
    SWAP,
    Case,
    Number,
)

from common import load_shared

PICTURE = "nmmkl-accuracy.png"
PAGE = "reproduction_nmmkl.md"
TITLE = """# Reproduction: Tables 1 and 3 to 7 and Figure 2 of the NMMKL paper

Yang, Xu, Lyu, King: *Budget constrained non-monotonic feature selection*, Neural Networks, 2015.
Written by `benchmarks/papers/nmmkl_tables.py`; every number here, those in sentences included, is
filled in by that script from its own runs, the paper's apart.

How to read the tables:

- *NMMKL*: `kp.NMMKLSelector` with two ways from the relaxed weights to features. *Published*:
  `rounding="paper"`, the largest quadratic forms as an interior point method has them, which are
  those of the largest weights. *Swap*: the default, which also exchanges features; the paper has
  nothing like it. The paper's numbers of NMMKL stand beside the first.
- The other methods are those of `kp.baselines`.
- Test accuracy in percent, or mean squared error, of a linear support vector machine on the
  selected features: mean ± standard deviation over random trials, the same splits for all methods.
- **Bold**: the best, and what a paired t-test at 95 % does not find worse. Test rows of different
  trials overlap, so that such a test finds too many differences, and of equals it calls one pair
  in twenty different in any case; the paper's has the same flaw. Which of its numbers the paper
  printed in bold is lost in our text version of it.
"""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def wrapped(text: str) -> str:
    """Fill a paragraph or a bullet."""
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)


def cell(number: Number, digits: int, bold: bool = False) -> str:
    text = f"{number[0]:.{digits}f} ± {number[1]:.{digits}f}"
    return f"**{text}**" if bold else text


# -- classification --------------------------------------------------------------------------------


def accuracy_rows(result: Result, methods: Sequence[str]) -> list[list[str]]:
    """Two lines for each budget: the paper's, where it has numbers, and ours."""
    rows, data = [], result.case.data
    for budget in result.case.budgets:
        label = [LABELS[data], str(budget)]
        paper = PAPER_ACCURACY.get((data, budget))
        if paper:
            cells = [cell(paper[method], 1) if method in paper else "" for method in methods]
            rows.append([*label, "paper", *cells])
        best = result.best(budget) if result.n_trials >= ENOUGH_TRIALS else []
        cells = [
            cell(result.number(method, budget), 1, method in best)
            if method in result.trials
            else ""
            for method in methods
        ]
        rows.append([*label, "here", *cells])
    return rows


def accuracy_table(title: str, results: Sequence[Result]) -> list[str]:
    """Return a table of accuracies."""
    if not results:
        return []
    methods = results[0].case.methods
    head = ["data", "features", "", *(NAMES[method] for method in methods)]
    rows = [row for result in results for row in accuracy_rows(result, methods)]
    return [f"## {title}\n", *table(head, rows)]


def toy_picks(results: Sequence[Result]) -> list[str]:
    """Return how often each method found the best one and the best two features."""
    if not results:
        return []
    methods = results[0].case.methods
    rows = []
    for result in results:
        for budget, best, name in ((1, {2}, "Z"), (2, {0, 1}, "X and Y")):
            counts = [
                f"{sum(set(one) == best for one in result.features(method, budget))}"
                if method in result.trials
                else ""
                for method in methods
            ]
            rows.append([LABELS[result.case.data], name, str(result.n_trials), *counts])
    head = ["times that ... was selected", "", "of", *(NAMES[method] for method in methods)]
    return table(head, rows)


def shapes() -> list[str]:
    """Table 2 beside the files at hand."""
    rows = []
    for data, (n_columns, n_rows) in PAPER_SHAPES.items():
        shared = load_shared(data)
        if shared is None:
            continue
        X, y = shared
        classes = f"{int((y == 1).sum())} / {int((y != 1).sum())}"
        same = "yes" if X.shape == (n_rows, n_columns) else "no"
        rows.append([LABELS[data], f"{n_columns} x {n_rows}", f"{X.shape[1]} x {X.shape[0]}",
                     same, classes])  # fmt: skip
    if not rows:
        return []
    head = ["data", "paper: columns x rows", "here", "same", "rows of the two classes"]
    return ["## Table 2: the data\n", *table(head, rows)]


# -- regression ------------------------------------------------------------------------------------


def error_table(title: str, result: Result | None, digits: int) -> list[str]:
    """Return a table of mean squared errors and Q2."""
    if result is None:
        return []
    rows, data = [], result.case.data
    for budget in result.case.budgets:
        best, paper = result.best(budget), PAPER_ERRORS[data, budget]
        errors = [cell(paper[m][0], digits) if m in paper else "" for m in result.methods]
        q2 = [f"{paper[m][1][0]:.4f}" if m in paper else "" for m in result.methods]
        rows.append([str(budget), "paper", "MSE", *errors])
        own = [cell(result.number(m, budget), digits, m in best) for m in result.methods]
        rows.append([str(budget), "here", "MSE", *own])
        rows.append([str(budget), "paper", "Q2", *q2])
        rows.append([str(budget), "here", "Q2",
                     *(f"{result.q2(m, budget).mean():.4f}" for m in result.methods)])  # fmt: skip
    head = ["features", "", "", *(NAMES[method] for method in result.methods)]
    return [f"## {title}\n", *table(head, rows)]


def pick_table(result: Result | None) -> list[str]:
    """Table 4: which features were selected, the largest weight first."""
    if result is None:
        return []
    rows = []
    for method in result.methods:
        paper = PAPER_PICKS.get(method, ("", ""))
        own = [counted(result.features(method, budget)) for budget in result.case.budgets]
        rows.append([NAMES[method], paper[0], own[0], paper[1], own[1]])
    head = ["", "paper: 5 features", "here", "paper: 6 features", "here"]
    return ["## Table 4: which features of the simulated data\n", *table(head, rows)]


def counted(picks: Sequence[tuple[int, ...]], most: int = 4) -> str:
    """Say how often each choice was made; 8 to 12 are noise."""
    counts = Counter(picks).most_common()
    shown = [f"{count}: {' '.join(str(j + 1) for j in pick)}" for pick, count in counts[:most]]
    rest = sum(count for _, count in counts[most:])
    return "; ".join(shown) + (f"; {rest}: others" if rest else "")


# -- settings --------------------------------------------------------------------------------------


def values(numbers: Sequence[float]) -> str:
    return "{" + ", ".join(f"{one:g}" for one in numbers) + "}"


def grid_table(results: Sequence[Result]) -> list[str]:
    """Return what the folds chose from, case by case, and how many trials there were."""
    rows = []
    for result in results:
        case = result.case
        final = values(case.final_C)
        if case.regression:
            final += f", epsilon {values(case.final_epsilon)}"
        rows.append([
            LABELS[case.data], str(result.n_trials), values(case.C), values(case.tau),
            values(case.other_C or case.C), final, "yes" if case.borrowed else "no",
        ])  # fmt: skip
    head = ["data", "trials", "NMMKL: C", "tau", "others: C", "final machine: C", "borrowed"]
    return table(head, rows)


def notes(results: Sequence[Result]) -> list[str]:
    """Return the bullets on settings."""
    fewer = [f"{LABELS[one.case.data]} {one.n_trials}" for one in results
             if one.n_trials < PAPER_TRIALS and not one.case.regression]  # fmt: skip
    filled = {
        "FOLDS": FOLDS,
        "NAMES[SWAP]": NAMES[SWAP],
        "NAMES[PUBLISHED]": NAMES[PUBLISHED],
        "SCREEN": SCREEN,
        "reduced": ", ".join(fewer) or "nothing",
    }
    lines = []
    for text in NOTES:
        for name, value in filled.items():
            text = text.replace("{" + name + "}", str(value))
        lines.append(wrapped(f"- {text}"))
    return lines


def write_page(docs: Path, folder: Path, cases: Sequence[Case]) -> bool:
    """Write what is there; tell if anything was."""
    from nmmkl_words import findings

    results = read(folder, cases)
    if not results:
        return False
    groups = {name: [one for one in results.values() if one.case.table == name]
              for name in ("table1", "table3", "figure2")}  # fmt: skip
    lines = [TITLE]
    absent = [f"{LABELS[case.data]}, {NAMES[method]}" for case in cases for method in case.methods
              if case.data not in results or method not in results[case.data].trials]  # fmt: skip
    if absent:
        lines.append(wrapped(f"Not run: {'; '.join(absent)}.") + "\n")
    lines += ["## What reproduces and what does not\n", *findings(results), ""]
    lines += accuracy_table("Table 1: the toy, accuracy", groups["table1"])
    lines += toy_picks(groups["table1"])
    lines += shapes()
    lines += accuracy_table("Table 3: UCI data, accuracy", groups["table3"])
    lines += figure_section(docs, groups["figure2"])
    lines += pick_table(results.get("simulated"))
    lines += error_table("Table 5: simulated data", results.get("simulated"), 4)
    lines += error_table("Table 6: Housing", results.get("boston"), 2)
    lines += error_table("Table 7: Forest fires", results.get("forest_fires"), 4)
    lines += ["## Settings\n", *grid_table(list(results.values()))]
    lines += [*notes(list(results.values())), ""]
    lines += machine_section(list(results.values()))
    (docs / PAGE).write_text("\n".join(lines).rstrip() + "\n")
    return True


def figure_section(docs: Path, results: Sequence[Result]) -> list[str]:
    """Return the picture and its numbers."""
    if not results:
        return []
    nmmkl_figure.draw(list(results), docs / "images" / PICTURE)
    title, _, *rows = accuracy_table("Figure 2: other data, accuracy", results)
    words = wrapped(
        "The paper gives the values of its Figure 2 only as a picture: there are no numbers of it "
        "to stand beside ours. R2W2 and FSV are left out here as they are there. Bars are one "
        "standard error of the mean over trials. Data with fewer than "
        f"{ENOUGH_TRIALS} trials has no bold numbers, and no part in the counts above."
    )
    alt = "Test accuracy against the number of selected features for each method and data set"
    head = accuracy_table("", results)[1]
    return [title, f"![{alt}](images/{PICTURE})\n", words, "", head, *rows]


def machine_section(results: Sequence[Result]) -> list[str]:
    """Return the machine, versions and time."""
    last = max(results, key=lambda one: one.date)
    rows = [[key, value] for key, value in last.versions.items()]
    total = sum(result.cpu for result in results)
    rows += [["date", last.date], ["CPU time of all runs", f"{total / 60:.0f} min"]]
    return ["## Machine and versions\n", *table(["", ""], rows)]

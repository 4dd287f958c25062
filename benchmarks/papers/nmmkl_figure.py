"""Figure 2 of the NMMKL paper from our runs: accuracy against the number of features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from nmmkl_read import Result
from nmmkl_settings import FISHER, L0, L1, LABELS, NAMES, PUBLISHED, SVM, SWAP

STYLES = {
    PUBLISHED: ("#d55e00", "o", "-"),
    SWAP: ("#000000", "s", "-"), SVM: ("#0072b2", "^", "--"),
    L0: ("#009e73", "v", "--"), FISHER: ("#999999", "D", ":"), L1: ("#cc79a7", "P", "--"),
}  # fmt: skip


def draw(results: list[Result], file: Path) -> None:
    """Draw one panel for each data set: means, and one standard error of each."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n_columns = min(3, len(results))
    n_rows = -(-len(results) // n_columns)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(3.6 * n_columns, 2.9 * n_rows + 0.5), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis, result in zip(axes.flat, results):
        panel(axis, result)
    for axis in list(axes.flat)[len(results) :]:
        axis.set_visible(False)
    for row in axes:
        row[0].set_ylabel("test accuracy, %")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False, fontsize=8.5)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=140)
    plt.close(figure)


def panel(axis: Any, result: Result) -> None:
    """Draw one data set; methods are set apart a little so that their bars can be told apart."""
    budgets = np.array(result.case.budgets, dtype=np.float64)
    middle = (len(result.methods) - 1) / 2
    for place, method in enumerate(result.methods):
        color, marker, line = STYLES[method]
        scores = [result.scores(method, budget) for budget in result.case.budgets]
        means = [one.mean() for one in scores]
        errors = [one.std(ddof=1) / np.sqrt(len(one)) if len(one) > 1 else 0.0 for one in scores]
        axis.errorbar(
            budgets + 0.5 * (place - middle), means, yerr=errors, color=color, marker=marker,
            linestyle=line, markersize=4, linewidth=1.2, elinewidth=0.8, label=NAMES[method],
        )  # fmt: skip
    axis.set_xticks(budgets)
    axis.set_xlabel("features selected")
    axis.set_title(f"{LABELS[result.case.data]}, {result.n_trials} trials", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)

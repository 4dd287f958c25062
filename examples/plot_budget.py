"""Which five measurements?

Five of thirty measurements act on the outcome, most of them not linearly. For every budget NMMKL
chooses the best features anew: with linear kernels it cannot see them, with Gaussian ones it can.
The accuracy on new rows says where to stop, and ``ratios_`` how much better any other choice of as
many features could be.

``marginal_values_``, what one more feature would be worth, has a knee where the useful features end
if errors cost little. If they cost much, as by default, any further kernel helps to fit the rows at
hand: the value falls without a knee, and features of chance come and go.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelpath as kp

COLORS = {"rbf": "#0072B2", "linear": "#D55E00"}
COST = 0.01
data = kp.datasets.make_wide(n_samples=700, n_features=30, n_relevant=5, random_state=3)
table = pd.DataFrame(data.X, columns=data.feature_names)
X, y, X_new, y_new = table[:200], data.y[:200], table[200:], data.y[200:]
budgets = list(range(1, 11))


def accuracy(support):
    """Of a machine on the chosen features, on new rows."""
    model = make_pipeline(StandardScaler(), SVC(C=3.0)).fit(X.loc[:, support], y)
    return model.score(X_new.loc[:, support], y_new)


selectors = {
    kernel: kp.NMMKLSelector(budgets, kernel=kernel, C=COST).fit(X, y) for kernel in COLORS
}
accuracies = {
    kernel: [accuracy(point.support) for point in selector.path_]
    for kernel, selector in selectors.items()
}
costly = kp.NMMKLSelector(budgets, kernel="rbf", C=1.0).fit(X, y)

print(f"features that act  {', '.join(table.columns[data.relevant])}")
for kernel, selector in selectors.items():
    five = ", ".join(sorted(selector.path_.at(n_features=5).names))
    print(f"best five, {kernel:<7} {five}; accuracy {accuracies[kernel][4]:.2f}")
print("rbf, C = 1:")
for event in costly.path_.events:
    print(f"  budget {event.parameter:.0f}: {event.name} {event.kind}s")

fig, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
(score, who), (value, ratio) = axes
for kernel, color in COLORS.items():
    score.plot(budgets, accuracies[kernel], color=color, marker="o", label=kernel)
    ratio.plot(budgets, selectors[kernel].ratios_, color=color, marker="o", label=kernel)
score.set(title=f"Accuracy on new rows, C = {COST}", ylabel="accuracy")
ratio.set(title=f"No other choice is better by more, C = {COST}", ylabel="ratio to the dual bound")
for ax in (score, ratio):
    ax.legend(title="kernel", frameon=False)

for selector, style in ((selectors["rbf"], "o-"), (costly, "o:")):
    share = selector.marginal_values_ / selector.marginal_values_[0]
    value.plot(budgets, share, style, color=COLORS["rbf"], label=f"rbf, C = {selector.C:g}")
value.set(title="What one more feature would be worth", ylabel="relative to budget 1")
value.set_yscale("log")
value.legend(frameon=False)

supports = costly.path_.supports.toarray()
shown = np.flatnonzero(supports.any(axis=0))
acts = np.isin(shown, data.relevant)
order = np.lexsort([supports[:, shown].argmax(axis=0), ~acts])  # those that act come first
shown, acts = shown[order], acts[order]
cells = np.where(supports[:, shown].T, np.where(acts, 2, 1)[:, None], 0)
edges = np.arange(len(budgets) + 1) + 0.5, np.arange(len(shown) + 1) - 0.5
shades = ListedColormap(["#F4F6F8", "#BBBBBB", COLORS["rbf"]])
who.pcolormesh(*edges, cells, cmap=shades, vmin=0, vmax=2, edgecolors="white")
who.set_yticks(range(len(shown)), [data.feature_names[j] for j in shown])
who.set_title("Who is in, rbf, C = 1 (grey: does not act)")
who.invert_yaxis()

for ax in axes.flat:
    ax.set(xlabel="budget", xticks=budgets)
    ax.spines[["top", "right"]].set_visible(False)
for ax in (score, value, ratio):
    ax.axvline(5, color="0.7", linestyle="--", zorder=0)
# fig.savefig("budget.png") keeps the picture

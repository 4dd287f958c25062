"""Can a path of feature weights turn back?

L1KR puts a weight on every feature inside one Gaussian kernel and follows the best weights while
their sum may grow. Friedman's function depends on five of ten columns, and one of them, x2, only
through a parabola: a wide kernel sees nothing of it. The path takes useless columns first. Once x2
has a weight it can explain so much that the others need less: the sum of the weights falls, useless
columns leave, and then it grows again. Figure 3 of the L1KR paper shows such a turn.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning

import kernelpath as kp

USEFUL = range(5)

X, y = make_friedman1(n_samples=200, n_features=10, noise=0.0, random_state=0)
with warnings.catch_warnings():
    # Without noise the machine can fit the rows exactly, and there the path ends.
    warnings.simplefilter("ignore", ConvergenceWarning)
    model = kp.L1KRRegressor(norm_budget=1.0, search_branches=False).fit(X, y)
path = model.path_


def useless(position):
    """How many columns without any effect have a weight at a point of the path."""
    return sum(feature not in USEFUL for feature in path.supports.indices(position))


turns = [event.position for event in path.events if event.kind == "turn"]
share = path.weights.toarray()[:, 2] / path.parameters
error = np.sqrt(model.leave_one_out_) / y.std()
for event in path.events:
    if event.kind == "turn" or event.feature == 2:
        what = event.kind if event.feature < 0 else f"{event.name} {event.kind}s"
        print(f"sum of weights {event.parameter:.4f}: {what}")
# Where it turns back, where it turns again, and where the sum is once more as large as at first.
back, again = turns[0], turns[-1]
same = again + int(np.argmax(path.parameters[again:] >= path.parameters[back]))
for position in (back, again, same, model.position_):
    print(
        f"point {position}: sum {path.parameters[position]:.4f}, {share[position]:.0%} of it x2; "
        f"useless columns: {useless(position)}; error of rows left out: {error[position]:.3f}"
    )

fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(1.35, 1))
path.plot(axes[0])
axes[1].plot(path.parameters, error, color="#0072B2", linewidth=2)
axes[1].plot(path.parameters[turns], error[turns], "o", color="#0072B2", markerfacecolor="white")
axes[1].set(xscale="log", ylim=(0, None), xlabel="sum of weights")
axes[1].set_title("Error of rows left out, in spreads of y", loc="left")
axes[1].spines[["top", "right"]].set_visible(False)
# fig.savefig("turning_back.png") keeps the picture

"""Is a weight always smaller for a smaller p?

For lp-KTA it is, once it is small, and so features can be dropped for good. For lp-norm multiple
kernel learning with square loss it is not: Figure 2 of the lp-KTA paper shows a weight on the
Parkinsons data that falls to zero at p = 1.5 and grows again. This draws such a weight.

Two features with unit-rank kernels, u and v, are enough (Theorem 4 of the paper): where u helps to
predict the target less than its correlation with v would suggest, v takes over too much of it.
"""

from itertools import permutations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kernelpath as kp

FILE = Path(__file__).resolve().parents[2] / "shared" / "data" / "parkinsons.npz"
RIDGE, P_ZERO = 20.0, 1.5


def unit(x):
    """Centred, of length 1."""
    x = x - x.mean(axis=0)
    return x / np.linalg.norm(x, axis=0)


def read():
    """The Parkinsons data of the UCI repository, or simulated columns where they are not there."""
    if FILE.exists():
        with np.load(FILE) as file:
            return file["X"], file["y"].astype(float), file["feature_names"].tolist()
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], [48, 147])
    v = y + rng.normal(size=195)
    u = v - 0.3 * y + 0.3 * rng.normal(size=195)
    return np.column_stack([u, v]), y, ["u", "v"]


def gain(U, y, pair):
    """How far a pair is from the edge of the condition of the theorem; at most 0: it fails."""
    u, v = U[:, pair[0]], U[:, pair[1]]
    return min((u @ v) * (v @ y) - u @ y, u @ y)


X, labels, names = read()
U, y = unit(X), labels - labels.mean()
first, second = max(permutations(range(X.shape[1]), 2), key=lambda pair: gain(U, y, pair))
u, v = U[:, first], U[:, second]

# At p = 1.5 the weight of u is zero if v has this weight, and v has it with this factor.
share = (u @ y) / ((u @ v) * (v @ y))
weight = RIDGE * share / (1 - share)
factor = 0.5 * ((v @ y) / (RIDGE + weight)) ** 2 / (P_ZERO * weight ** (P_ZERO - 1))

model = kp.GMKLClassifier.preset(
    "square_loss_lp_mkl",
    kernel="precomputed",
    standardize=False,
    C=1 / RIDGE,
    regularizer=kp.Lp(2.0, strength=2 * factor),
    exponents=np.linspace(2, 1.1, 37),
    tol=1e-10,
    max_iter=20000,
).fit({names[first]: np.outer(u, u), names[second]: np.outer(v, v)}, labels)

path = model.path_
weights = path.weights.toarray()
at_zero = weights[np.isclose(path.parameters, P_ZERO), 0].item()
print(f"the weight of {names[first]} at p = {P_ZERO}: {at_zero:.1e}")
print(f"at p = 2 it is {weights[0, 0]:.2f}, at p = 1.1 {weights[-1, 0]:.2f}")
print(f"certified gap at every point below {path.gaps.max():.0e}")

fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(path.parameters, weights[:, 0], color="#0072B2", linewidth=2)
ax.set(xlabel="norm exponent p", ylabel=f"weight of {names[first]}", ylim=(0, None))
ax.set_title("Square-loss lp-MKL: a weight that leaves and comes back", loc="left")
ax.spines[["top", "right"]].set_visible(False)
# fig.savefig("not_monotone.png") keeps the picture

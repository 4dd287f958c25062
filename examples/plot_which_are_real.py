"""Which features are real, and which are the best of the noise?

A ranking has a first feature on noise, too. Five of 1,000 columns matter here, each in another way:
a line, a parabola, a step, a bump and a wave. The test finds them and says where chance begins; the
F-test, at the same false discovery rate, finds what looks like a line.  At a rate of 0.1 one
discovery in ten may be chance, on average; lower the level to be surer.
"""

import numpy as np
from sklearn.feature_selection import SelectFdr, f_classif

import kernelpath as kp

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 1000))
signal = (
    0.9 * X[:, 0]
    + 0.7 * (X[:, 1] ** 2 - 1)
    + 0.9 * np.sign(X[:, 2])
    + 2.0 * np.exp(-8 * (X[:, 3] - 0.5) ** 2)
    + 1.2 * np.sin(4 * X[:, 4])
)
noisy = signal + 0.5 * rng.normal(size=500)
y = np.where(noisy > np.median(noisy), "yes", "no")

test = kp.alignment_test(X, y)
axes = test.plot(level=0.1)  # axes.figure.savefig("which_are_real.png") keeps the picture

linear = np.flatnonzero(SelectFdr(f_classif, alpha=0.1).fit(X, y).get_support())
print("relevant            x0, x1, x2, x3, x4")
print(
    "alignment test     ", ", ".join(test.feature_names[j] for j in sorted(test.discoveries(0.1)))
)
print("F-test             ", ", ".join(f"x{j}" for j in linear))

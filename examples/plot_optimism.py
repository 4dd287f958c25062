"""Why is the best point of a curve optimistic?

A table of pure noise: every point of the curve is honest and scatters around one half, but the best
of them is chosen for being too high. The outer loop of ``nested=True`` puts that right.
"""

import numpy as np

import kernelpath as kp

best, nested = [], []
for seed in range(6):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 60)), rng.permutation(np.repeat([0, 1], 30))
    model = kp.PathCV(
        kp.LpKTASelector(),
        predictor=kp.JointRBFSVM(gamma=(1,), C=(1,)),
        rule="best",
        nested=True,
        random_state=seed,
    ).fit(X, y)
    best.append(model.operating_point_.score)
    nested.append(model.nested_score_.mean)
axes = model.plot()  # axes.figure.savefig("optimism.png") keeps the picture

print(f"truth                     0.50\nbest point of the curve   {np.mean(best):.2f}")
print(f"nested                    {np.mean(nested):.2f}")

"""Which features matter when none of them is correlated with the target?

Two columns of forty decide whether a row lies inside or outside a ring. Their correlation with the
class is next to nothing, so a linear ranking misses them; the lp-KTA path has them first.
"""

from __future__ import annotations

import numpy as np
from sklearn.feature_selection import f_classif

import kernelpath as kp

data = kp.datasets.make_ring(n_samples=300, n_features=40, random_state=0)

path = kp.LpKTASelector().fit(data.X, data.y).path_
f_statistics, _ = f_classif(data.X, data.y)

first_by_path = path.entry_order()[:2]
first_by_f_test = np.argsort(-f_statistics)[:2]
print(f"relevant columns:        {sorted(data.relevant.tolist())}")
print(f"first two of the path:   {sorted(first_by_path.tolist())}")
print(f"first two by the F test: {sorted(first_by_f_test.tolist())}")

point = path.at(n_features=2)
print(f"the point with two features: p = {point.parameter:.4f}, KKT residual {point.kkt:.1e}")
path.plot()

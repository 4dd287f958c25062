"""Feature selection by other methods, behind one face: what papers compare themselves with.

Every class is a scikit-learn selector.  ``fit`` leaves ``path_`` with a point for each budget,
``scores_``, ``ranking_`` and ``support_``; columns are standardised inside.

>>> import kernelpath as kp
>>> data = kp.datasets.make_additive(n_samples=200, n_features=8, random_state=0)
>>> path = kp.baselines.Fisher([1, 3]).fit(data.X, data.y).path_
>>> path.n_selected.tolist()
[1, 3]
"""

from kernelpath.baselines.bahsic import BAHSIC
from kernelpath.baselines.fisher import Fisher
from kernelpath.baselines.fsv import FSV
from kernelpath.baselines.hsic_lasso import HSICLasso
from kernelpath.baselines.l0 import L0Approximation
from kernelpath.baselines.l1_svm import L1SVM
from kernelpath.baselines.largest_weights import SVMLW, SVRLW, LassoLW
from kernelpath.baselines.r2w2 import R2W2
from kernelpath.baselines.stepwise import ForwardStepwise

__all__ = [
    "BAHSIC",
    "FSV",
    "L1SVM",
    "R2W2",
    "SVMLW",
    "SVRLW",
    "Fisher",
    "ForwardStepwise",
    "HSICLasso",
    "L0Approximation",
    "LassoLW",
]

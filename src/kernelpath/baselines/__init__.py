"""Feature selection by other methods, behind one face: what the papers compare themselves with.

Every class is a scikit-learn selector.  ``fit`` leaves ``path_`` with a point for each budget,
``scores_``, ``ranking_`` and ``support_``; columns are standardised inside,
except for :class:`ChiSquare`, which takes counts.

>>> import kernelpath as kp
>>> data = kp.datasets.make_additive(n_samples=200, n_features=8, random_state=0)
>>> path = kp.baselines.Fisher([1, 3]).fit(data.X, data.y).path_
>>> path.n_selected.tolist()
[1, 3]
"""

from kernelpath.baselines.bahsic import BAHSIC
from kernelpath.baselines.chi_square import ChiSquare
from kernelpath.baselines.fisher import Fisher
from kernelpath.baselines.fsv import FSV
from kernelpath.baselines.gini import GiniIndex
from kernelpath.baselines.hkl import HKL
from kernelpath.baselines.hsic_lasso import HSICLasso
from kernelpath.baselines.information_gain import InformationGain
from kernelpath.baselines.kruskal_wallis import KruskalWallis
from kernelpath.baselines.l0 import L0Approximation
from kernelpath.baselines.l1_svm import L1SVM
from kernelpath.baselines.largest_weights import SVMLW, SVRLW, LassoLW
from kernelpath.baselines.mrmr import MRMR
from kernelpath.baselines.r2w2 import R2W2
from kernelpath.baselines.relieff import ReliefF
from kernelpath.baselines.spectral import Spectral
from kernelpath.baselines.stepwise import ForwardStepwise

__all__ = [
    "BAHSIC",
    "FSV",
    "HKL",
    "L1SVM",
    "MRMR",
    "R2W2",
    "SVMLW",
    "SVRLW",
    "ChiSquare",
    "Fisher",
    "ForwardStepwise",
    "GiniIndex",
    "HSICLasso",
    "InformationGain",
    "KruskalWallis",
    "L0Approximation",
    "LassoLW",
    "ReliefF",
    "Spectral",
]

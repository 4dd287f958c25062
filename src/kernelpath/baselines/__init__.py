"""Feature selection by other methods, behind one face: what the papers compare themselves with.

Every class is a scikit-learn selector.  ``fit`` leaves ``path_`` with a point for each budget,
``scores_``, ``ranking_`` and ``support_``; columns are standardised inside,
except for :class:`ChiSquare`, which takes counts, and :class:`VarianceFilter`.

>>> import kernelpath as kp
>>> data = kp.datasets.make_additive(n_samples=200, n_features=8, random_state=0)
>>> path = kp.baselines.Fisher([1, 3]).fit(data.X, data.y).path_
>>> path.n_selected.tolist()
[1, 3]
"""

from kernelpath.baselines.bahsic import BAHSIC
from kernelpath.baselines.cars import CARS
from kernelpath.baselines.centered_kta import CenteredKTA
from kernelpath.baselines.chi_square import ChiSquare
from kernelpath.baselines.fisher import Fisher
from kernelpath.baselines.forest import ForestRanking, PermutationImportance
from kernelpath.baselines.fsv import FSV
from kernelpath.baselines.gini import GiniIndex
from kernelpath.baselines.hkl import HKL
from kernelpath.baselines.hsic_lasso import HSICLasso
from kernelpath.baselines.information_gain import InformationGain
from kernelpath.baselines.kruskal_wallis import KruskalWallis
from kernelpath.baselines.l0 import L0Approximation
from kernelpath.baselines.l1_mkl_path import L1MKLPath
from kernelpath.baselines.l1_svm import L1SVM
from kernelpath.baselines.l1_svm_path import L1SVMPath
from kernelpath.baselines.largest_weights import SVMLW, SVRLW, LassoLW
from kernelpath.baselines.mrmr import MRMR
from kernelpath.baselines.mutual_information import MutualInformation
from kernelpath.baselines.r2w2 import R2W2
from kernelpath.baselines.relieff import ReliefF
from kernelpath.baselines.rfe_svm import RFESVM
from kernelpath.baselines.smo_mkl import SMOMKL
from kernelpath.baselines.spectral import Spectral
from kernelpath.baselines.stepwise import ForwardStepwise
from kernelpath.baselines.uniform import Uniform
from kernelpath.baselines.variance import VarianceFilter

SPEC = Spectral
"""The name that its paper gives the method; ``Spectral`` is the class."""

__all__ = [
    "BAHSIC",
    "CARS",
    "FSV",
    "HKL",
    "L1SVM",
    "MRMR",
    "R2W2",
    "RFESVM",
    "SMOMKL",
    "SVMLW",
    "SVRLW",
    "CenteredKTA",
    "ChiSquare",
    "Fisher",
    "ForestRanking",
    "ForwardStepwise",
    "GiniIndex",
    "HSICLasso",
    "InformationGain",
    "KruskalWallis",
    "L0Approximation",
    "L1MKLPath",
    "L1SVMPath",
    "LassoLW",
    "MutualInformation",
    "PermutationImportance",
    "ReliefF",
    "Spectral",
    "Uniform",
    "VarianceFilter",
]

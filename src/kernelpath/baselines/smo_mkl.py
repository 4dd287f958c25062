"""SMOMKL: lp-norm multiple kernel learning with the squared norm of the weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, Answer, BaselineSelector, Ranking, ranked
from kernelpath.estimators.gmkl import GMKLClassifier
from kernelpath.mkl.regularizers import MixedNorm
from kernelpath.utils import checks

KERNELS = ("rbf", "linear")
LEAST_P, MOST_P = 1.01, 100.0


class SMOMKL(BaselineSelector):
    r"""SMO-MKL: a machine that learns a sum of one-feature kernels [vishwanathan2010]_.

    .. math:: \min_{d \ge 0}\; \frac{\lambda}{2} \Bigl(\sum_k d_k^p\Bigr)^{2/p}
              + \min_{w, b} \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i f_d(x_i))

    Half the squared p-norm of the weights: lp-norm multiple kernel learning as solved by SMO-MKL,
    to which the lp-KTA paper compares itself.  A feature scores the weight of its kernel; for
    :math:`p > 1` nearly all have one, and the largest are taken.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    p : float
        Exponent of the norm, from 1.01 to 100; the lp-KTA paper has 1.01, 1.33, 1.66 and 2.
    C, strength : float
        Cost of errors, and the factor :math:`\lambda`, which is 1 in the papers.
    kernel : {"rbf", "linear"}
        Kernels of the standardised features, of trace `n_samples` when centred; the Gaussian ones
        have the width of one standard deviation.
    tol : float
        Relative gap to reach.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        Weights of the kernels.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    gap_, objective_ : float
        Certified gap, relative to the objective, and the objective.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    This is :class:`kernelpath.GMKLClassifier` with the regularizer ``kp.MixedNorm([0] * n_kernels,
    p=2, q=p)``: the optimum is that of SMO-MKL, and the solver another one.  Of several classes
    each is set against the rest, with common weights.

    References
    ----------
    .. [vishwanathan2010] Vishwanathan, Sun, Ampornpunt, Varma. Multiple kernel learning and the SMO
       algorithm. Advances in Neural Information Processing Systems, 2010.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=100, n_features=6, random_state=0)
    >>> model = kp.baselines.SMOMKL(2).fit(data.X, data.y)
    >>> bool((model.get_support(indices=True) == sorted(data.relevant)).all())
    True
    """

    METHOD: ClassVar[str] = "smo_mkl"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES,)
    POSITIVE: ClassVar[tuple[str, ...]] = ("C", "strength", "tol")

    def __init__(
        self,
        n_features_to_select: Any = None,
        p: float = 1.33,
        C: float = 1.0,
        *,
        strength: float = 1.0,
        kernel: str = "rbf",
        tol: float = 1e-4,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.p = p
        self.C = C
        self.strength = strength
        self.kernel = kernel
        self.tol = tol

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.real(
            "p", self.p, at_least=LEAST_P, at_most=MOST_P,
            must=f"be a number from {LEAST_P:g} to {MOST_P:g}",
        )  # fmt: skip
        checks.real("tol", self.tol, below=1, must="be below 1")
        checks.one_of("kernel", self.kernel, KERNELS)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        norm = MixedNorm([0] * Z.shape[1], p=2.0, q=float(self.p), strength=float(self.strength))
        model = GMKLClassifier(
            base_kernel=self.kernel, regularizer=norm, C=float(self.C), tol=float(self.tol)
        ).fit(Z, answer.codes)
        self.gap_, self.objective_ = model.gap_, model.objective_
        return ranked(model.feature_importances_)

"""R2W2: scales of the features that minimise a bound of the leave-one-out error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from kernelpath.baselines._base import Answer, BaselineSelector, Ranking, ranked
from kernelpath.mkl.losses import DualProblem, SquaredHinge
from kernelpath.mkl.svm.dual import solve_dual
from kernelpath.utils.warn import warn

SVM_TOL = 1e-5
BALL_TOL = 1e-5  # relative to the mean diagonal of the kernel


class R2W2(BaselineSelector):
    r"""R2W2: scales that minimise the radius-margin bound [weston2000]_.

    .. math:: \min_{\sigma}\; R^2(\sigma)\, \|w(\sigma)\|^2, \qquad
              K_\sigma = \sum_j \sigma_j^2 x_j x_j^\top + \tfrac1C I

    :math:`\|w\|^2` is that of the support vector machine of hard margin with this kernel, which is
    one of squared hinge loss, and :math:`R` the radius of the smallest ball that holds all rows:

    .. math:: \|w\|^2 = \max_{\alpha \ge 0,\; \alpha^\top y = 0}\;
              2 \sum_i \alpha_i - (\alpha y)^\top K_\sigma (\alpha y), \qquad
              R^2 = \max_{\beta \ge 0,\; 1^\top \beta = 1}\;
              \sum_i \beta_i K_{ii} - \beta^\top K_\sigma \beta

    A feature scores :math:`\sigma_j`.  The sum of :math:`\sigma_j^2` is kept at the number of
    features, since the bound depends on a common factor only by the term of ``C``.  The descent is
    by a quasi-Newton method in :math:`\sigma_j^2`, whose derivatives do not vanish at 0; it ends in
    a stationary point, not in the optimum.  Of several classes each is set against the rest, with
    common scales and the sum of the squared norms.  Features of scale 0 come after, by the slope of
    the bound.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    C : float
        Cost of squared errors.  If the classes overlap and it is large, the radius, which a few
        outer rows hold, can outweigh the margin; tune it, from 0.001 to 1.
    tol : float
        The descent ends when a step lowers the logarithm of the bound by less.
    max_iter : int
        Most steps.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    bound_, start_bound_ : float
        Radius times norm, both squared, at the end and with equal scales.
    n_iter_ : int
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    Every evaluation takes a kernel matrix, a machine for each class and a ball:
    `n_samples^2 n_features` and more.

    References
    ----------
    .. [weston2000] Weston, Mukherjee, Chapelle, Pontil, Poggio, Vapnik. Feature selection for SVMs.
       Advances in Neural Information Processing Systems, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import kernelpath as kp
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = kp.baselines.R2W2(2).fit(X[50:], y[50:])
    >>> sorted(selector.path_[0].names)
    ['petal length (cm)', 'petal width (cm)']
    >>> selector.bound_ < selector.start_bound_
    True
    """

    METHOD: ClassVar[str] = "r2w2"
    POSITIVE: ClassVar[tuple[str, ...]] = ("C", "tol", "max_iter")

    def __init__(
        self,
        n_features_to_select: Any = None,
        C: float = 0.01,
        *,
        tol: float = 1e-6,
        max_iter: int = 100,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        d = Z.shape[1]
        bound = RadiusMargin(Z, answer.labels, float(self.C))

        def objective(squares: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            total = float(squares.sum())
            if not total > 0:
                return np.inf, np.zeros(d)
            value, slopes = bound(squares * (d / total))
            slopes = slopes / value  # of the logarithm
            # The common factor is free, so the slope along it is taken out.
            return np.log(value), (d / total) * (slopes - slopes @ squares / total)

        self.start_bound_ = bound(np.ones(d))[0]
        options = {"maxiter": int(self.max_iter), "ftol": float(self.tol), "gtol": 0.0}
        found = minimize(
            objective, np.ones(d), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * d,
            options=options,
        )  # fmt: skip
        squares = np.maximum(found.x, 0.0) * (d / found.x.sum())
        self.bound_, slopes = bound(squares)
        self.n_iter_ = int(found.nit)
        if found.nit >= self.max_iter:
            warn(
                f"The bound was still falling after max_iter={self.max_iter} steps; raise it.",
                ConvergenceWarning,
            )
        return ranked(np.sqrt(squares), then=-slopes)


@dataclass(eq=False)
class RadiusMargin:
    """The bound and its derivatives in the squared scales.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
    labels : ndarray of shape (n_rows, n_machines)
    C : float

    Examples
    --------
    >>> Z, label = np.array([[-1.0], [1.0]]), np.array([[-1.0], [1.0]])
    >>> bound, slopes = RadiusMargin(Z, label, 1e9)(np.ones(1))
    >>> round(bound, 6), abs(round(float(slopes[0]), 6))
    (1.0, 0.0)
    """

    Z: NDArray[np.float64]
    labels: NDArray[np.float64]
    C: float
    _duals: list[Any] = field(default_factory=list, repr=False)
    _ball: Any = field(default=None, repr=False)

    def __call__(self, squares: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Squared radius times squared norms, and its derivatives."""
        K = (self.Z * squares) @ self.Z.T
        norm, norm_slopes = self.norm(K)
        K.flat[:: len(K) + 1] += 1.0 / self.C
        radius, beta = squared_radius(K, self._ball)
        self._ball = beta
        mean = self.Z.T @ beta
        radius_slopes = np.square(self.Z).T @ beta - np.square(mean)
        return norm * radius, norm * radius_slopes + radius * norm_slopes

    def norm(self, K: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Sum of the squared norms of the machines, and its derivatives; ``K`` without ``1/C``."""
        value, slopes = 0.0, np.zeros(self.Z.shape[1])
        starts = self._duals or [None] * self.labels.shape[1]
        self._duals = []
        for label, start in zip(self.labels.T, starts):
            problem = SquaredHinge(self.C).dual(label)
            u = solve_dual(K, problem, tol=SVM_TOL, start=start).u
            self._duals.append(u)
            value += 2.0 * problem.value(u, K @ u)
            slopes -= np.square(self.Z.T @ u)
        return value, slopes


def squared_radius(
    K: NDArray[np.float64], start: NDArray[np.float64] | None = None
) -> tuple[float, NDArray[np.float64]]:
    """Squared radius of the smallest ball that holds all rows of a kernel, and its multipliers.

    The multipliers, less those of the mean of all rows, have the sum zero and bounds on both sides:
    a problem for the solver of the machines.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 4.0])
    >>> radius, beta = squared_radius(np.outer(x, x))
    >>> round(radius, 6), beta.round(6).tolist()
    (4.0, [0.5, 0.0, 0.5])
    """
    n = len(K)
    mean, size = K.mean(axis=1), K.diagonal()
    low, high = np.full(n, -1.0 / n), np.full(n, 1.0 - 1.0 / n)
    problem = DualProblem(0.5 * size - mean, low, high)
    begin = None if start is None else start - 1.0 / n
    # Tolerance and bounds are absolute there, the radius is not.
    tol = BALL_TOL * max(float(size.mean()), 1e-300)
    beta = np.maximum(solve_dual(K, problem, tol=tol, start=begin).u + 1.0 / n, 0.0)
    beta /= beta.sum()
    return float(size @ beta - beta @ K @ beta), beta

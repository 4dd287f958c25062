"""CenteredKTA: the weights whose sum of kernels is best aligned with the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking
from kernelpath.baselines._nonnegative_lasso import Products, lasso_path
from kernelpath.baselines._waves import gaussian_factor, target_agreements
from kernelpath.baselines.hsic_lasso import STORED, STRETCH, KernelProducts
from kernelpath.errors import DataError
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks

KERNELS = ("rbf", "linear")
TOGETHER = 8  # rows of M that are made at once
FEW_ROWS = 500
NOTHING = 1e-12  # of the largest alignment there could be: rounding


class CenteredKTA(BaselineSelector):
    r"""Centred kernel-target alignment: the best aligned sum of kernels [cortes2012]_.

    .. math:: \max_{v \ge 0}\; \frac{\langle \sum_k v_k K_k, L \rangle_F}
              {\| \sum_k v_k K_k \|_F \| L \|_F}, \qquad L = \sum_c y_c y_c^\top

    for the centred kernels :math:`K_k` of single features and centred targets :math:`y_c` (labels
    -1 and 1, one column for each of several classes, or numbers).  Its direction is that of

    .. math:: \min_{v \ge 0}\; v^\top M v - 2 v^\top a, \qquad M_{kl} = \langle K_k, K_l \rangle_F,
              \quad a_k = \langle K_k, L \rangle_F

    (Proposition 9).  Features rank by their weight.  Those without one come after, by what they
    still have in common with the rest, :math:`(a - M v)_k`.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    kernel : {"rbf", "linear"}
        Of a standardised feature; the Gaussian has width 1, as that of :class:`LpKTASelector`.
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        Weights of the kernels at trace 1, as predictors take them; their sum is 1.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    alignment_ : float
        Centred alignment of the weighted sum with the target, at most 1.
    kkt_ : float
        Largest violation of the optimality conditions, relative to the largest alignment of one
        kernel: the certificate of the weights.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    The program is the end, at strength 0, of the non-negative l1 path that :class:`HSICLasso`
    follows, and is solved by following it.  The rows of M are made when a feature enters, from
    factors of the kernels: neither M nor a kernel matrix is formed.  The weights are no path: the
    paper has one vector, and a cut of it is not the best choice of that size.

    References
    ----------
    .. [cortes2012] Cortes, Mohri, Rostamizadeh. Algorithms for learning kernels based on centered
       alignment. Journal of Machine Learning Research, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(300, 20))
    >>> y = X[:, 3] ** 2 + X[:, 12]
    >>> model = kp.baselines.CenteredKTA(2).fit(X, y)
    >>> model.path_[0].names, bool(model.kkt_ < 1e-9)
    (('x12', 'x3'), True)
    """

    METHOD: ClassVar[str] = "centered_kta"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, n_features_to_select: Any = None, kernel: str = "rbf", *, task: str = "auto"
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.one_of("kernel", self.kernel, KERNELS)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        targets = answer.values[:, None] if answer.task == NUMBERS else answer.labels
        Y = targets - targets.mean(axis=0)
        Y = Y / np.sqrt(np.linalg.norm(Y.T @ Y))  # their kernel has norm 1
        find = linear_alignments if self.kernel == "linear" else target_agreements
        agreements = find(Z, Y)
        if agreements.max() <= NOTHING:
            raise DataError("No kernel is aligned with the target; there is nothing to weigh.")
        order = np.argsort(-agreements, kind="stable")
        linear = self.kernel == "linear"
        products: Products = LinearProducts(Z, order) if linear else GaussianProducts(Z, order)
        best = best_aligned(agreements[order], products)
        self.alignment_, self.kkt_ = best.alignment, best.kkt
        weights, left = np.zeros(Z.shape[1]), np.empty(Z.shape[1])
        weights[order[best.columns]] = best.weights
        left[order] = best.left
        for k in np.flatnonzero(weights):
            weights[k] *= 1.0 if linear else trace_of_unit(Z[:, k])
        scores = weights / weights.sum()
        return Ranking(scores, np.lexsort((np.where(scores > 0, 0.0, -left), -scores)))


@dataclass(frozen=True, eq=False)
class Aligned:
    """Optimum of the program for kernels of norm 1.

    Attributes
    ----------
    columns, weights : ndarray
        Columns with a weight, and their weights.
    left : ndarray of shape (n_columns,)
        ``a - M v``.
    alignment, kkt : float
    """

    columns: NDArray[np.intp]
    weights: NDArray[np.float64]
    left: NDArray[np.float64]
    alignment: float
    kkt: float


def best_aligned(a: NDArray[np.float64], products: Products) -> Aligned:
    """Solve the program; ``a`` is in decreasing order, and ``products`` gives parts of rows of M.

    Examples
    --------
    >>> M, a = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0.6, 0.45])
    >>> found = best_aligned(a, lambda k, start, stop: M[k, start:stop])
    >>> found.weights.round(6).tolist(), round(found.alignment, 6)
    ([0.5, 0.2], 0.6245)
    """
    end = lasso_path(a, products, len(a) + 1)  # one more than there are: to the end
    columns, weights = end.weights[-1]
    kept = weights > 0
    columns, weights = columns[kept], weights[kept]
    left = a.copy()
    for k, weight in zip(columns, weights):
        left -= weight * products(int(k), 0, len(a))
    over = max(float(left.max()), float(np.abs(left[columns]).max(initial=0.0)))
    size = float(weights @ (a - left)[columns])  # the squared norm of the sum
    alignment = float(weights @ a[columns] / np.sqrt(size))
    return Aligned(columns, weights, left, alignment, max(over, 0.0) / float(a[0]))


def linear_alignments(Z: NDArray[np.float64], Y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inner product of the linear kernel of each column with that of the target, of norm 1.

    Examples
    --------
    >>> linear_alignments(np.array([[-1.0, 1.0], [1.0, 1.0]]), np.array([[-0.5], [0.5]])).tolist()
    [0.5, 0.0]
    """
    return np.square(Y.T @ Z).sum(axis=0) / len(Z)


class LinearProducts:
    """Squared correlations: inner products of the linear kernels of standardised columns.

    Examples
    --------
    >>> products = LinearProducts(np.array([[-1.0, 1.0], [1.0, -1.0]]), np.array([1, 0]))
    >>> products(0, 0, 2).round(9).tolist()
    [1.0, 1.0]
    """

    def __init__(self, Z: NDArray[np.float64], order: NDArray[np.intp]) -> None:
        self._columns = np.ascontiguousarray(Z[:, order].T) / np.sqrt(len(Z))

    def __call__(self, k: int, start: int, stop: int) -> NDArray[np.float64]:
        """Products of column ``k`` with those from ``start`` to ``stop``."""
        return np.square(self._columns[start:stop] @ self._columns[k])


class GaussianProducts:
    """Inner products of normalised Gaussian kernels, made for neighbours at once and kept.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
    order : ndarray of shape (n_columns,)
        By which columns are counted.
    together : int
        Rows that are made at once: one, where a column is short and its factor small anyway.

    Examples
    --------
    >>> Z = np.array([[0.0, 3.0], [0.5, 1.0], [2.0, 0.0]])
    >>> GaussianProducts(Z, np.array([1, 0]))(0, 0, 2).round(3).tolist()
    [1.0, 0.677]
    """

    def __init__(
        self, Z: NDArray[np.float64], order: NDArray[np.intp], together: int | None = None
    ) -> None:
        self._products, self._n = KernelProducts(Z, order), len(order)
        self._together = together or (TOGETHER if len(Z) > FEW_ROWS else 1)
        self._kept: dict[int, NDArray[np.float64]] = {}

    def __call__(self, k: int, start: int, stop: int) -> NDArray[np.float64]:
        """Products of column ``k`` with those from ``start`` to ``stop``."""
        i = k // self._together
        first, last = i * self._together, min((i + 1) * self._together, self._n)
        rows = self._kept.get(i, np.zeros((last - first, 0)))
        if rows.shape[1] < stop:
            cover = min(-(-stop // STRETCH) * STRETCH, self._n)
            more = self._products.of_several(first, last, rows.shape[1], cover)
            rows = np.concatenate([rows, more], axis=1)
            if sum(one.size for one in self._kept.values()) > STORED:
                self._kept.clear()
            self._kept[i] = rows
        return rows[k - first, start:stop]


def trace_of_unit(column: NDArray[np.float64]) -> float:
    """Trace of the Gaussian kernel of a column, centred and of norm 1.

    A weight of it times this is the weight of the same kernel at trace 1.

    Examples
    --------
    >>> round(trace_of_unit(np.array([-1.0, 1.0])), 6)
    1.0
    """
    return float(np.square(gaussian_factor(column)).sum())

"""HSICLasso: the l1 path of a sum of kernels of single features that is to be the target's."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking
from kernelpath.baselines._nonnegative_lasso import LassoPath, lasso_path
from kernelpath.baselines._waves import compressed, gaussian_factor, target_agreements
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks

NARROWEST, WIDEST = 0.01, 100.0  # standard deviations
STRETCH = 64  # columns whose factors stand in one array
STORED = 2**25  # numbers of all factors that are kept, 256 MB; others are made again


class HSICLasso(BaselineSelector):
    r"""HSIC Lasso: non-redundant features whose kernels add up to that of the target [yamada2014]_.

    .. math:: \min_{a \ge 0}\; \tfrac12 \Bigl\| \bar L - \sum_k a_k \bar K_k \Bigr\|_F^2
              + \lambda \sum_k a_k

    :math:`\bar K_k` is the Gaussian kernel of one standardised feature and :math:`\bar L` the
    kernel of the target, both centred and of Frobenius norm 1.  Of classes it is :math:`1/n_c` for
    two rows of a class with :math:`n_c` rows and 0 for others; of numbers it is Gaussian.  The
    products :math:`\langle \bar K_k, \bar L \rangle` and :math:`\langle \bar K_k, \bar K_l \rangle`
    are normalised HSIC: features are wanted that depend on the target and not on each other.

    The path is followed from the largest :math:`\lambda` downwards, event by event, so features
    rank in the order of their first entry.  Those that never enter come after, by what they still
    have in common with the rest of the target at :math:`\lambda = 0`.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    sigma : float
        Width of the Gaussian kernels in standard deviations, from 0.01 to 100; also that of a
        target of numbers.  The paper has 1.
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        :math:`\lambda` at which a feature first entered; 0 if it never did.
    ranking_ : ndarray of int, shape (n_features,)
        1 came first; constant columns share the last rank.
    strengths_ : ndarray of shape (n_events,)
        :math:`\lambda` at all events of the l1 path; it goes as far as the largest budget needs.
    coefs_ : scipy.sparse.csr_array of shape (n_events, n_features)
        :math:`a` at these events; it is linear between them.
    kkt_ : ndarray of shape (n_events,)
        Largest violation of the optimality conditions there, relative to the largest strength.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    No matrix of rows by rows is formed.  A centred Gaussian kernel of one feature is the product of
    a factor of `r` columns, about 10 to 20, within a relative 1e-8, so that an inner product of two
    kernels takes `n_samples r^2`.  As these are never negative, a feature cannot enter before
    :math:`\lambda` has come down to its own product with the target: the first products take
    `n_samples n_features r`, and pairs are only made for features that have come so far.  The block
    form of [climente2019]_, which draws rows to save memory, is not needed.

    References
    ----------
    .. [yamada2014] Yamada, Jitkrittum, Sigal, Xing, Sugiyama. High-dimensional feature selection by
       feature-wise kernelized lasso. Neural Computation, 2014.
    .. [climente2019] Climente-González, Azencott, Kaski, Yamada. Block HSIC Lasso: model-free
       biomarker detection for ultra-high dimensional data. Bioinformatics, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(1).normal(size=(300, 20))
    >>> X[:, 7] = X[:, 3] + 0.1 * X[:, 7]  # nearly a copy
    >>> y = X[:, 3] ** 2 + np.abs(X[:, 12])
    >>> selector = kp.baselines.HSICLasso(2).fit(X, y)
    >>> selector.path_[0].names
    ('x3', 'x12')
    >>> bool(selector.kkt_.max() < 1e-9)
    True
    """

    METHOD: ClassVar[str] = "hsic_lasso"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, n_features_to_select: Any = None, *, sigma: float = 1.0, task: str = "auto"
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.sigma = sigma
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.real(
            "sigma", self.sigma, at_least=NARROWEST, at_most=WIDEST,
            must=f"be a number from {NARROWEST:g} to {WIDEST:g}",
        )  # fmt: skip

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        Z = Z / float(self.sigma)
        agreements = target_agreements(Z, self._target(answer))
        order = np.argsort(-agreements, kind="stable")
        products = KernelProducts(Z, order)
        found = lasso_path(agreements[order], products, budgets[-1])
        self._events = found, order
        scores = np.zeros(Z.shape[1])
        entered = order[found.order]
        scores[entered] = found.entries
        if len(entered) >= budgets[-1]:
            return Ranking(scores, entered)
        rest = np.setdiff1d(order, entered)
        left = np.empty(Z.shape[1])
        left[order] = found.left
        return Ranking(scores, np.concatenate([entered, rest[np.lexsort((rest, -left[rest]))]]))

    def _target(self, answer: Answer) -> NDArray[np.float64]:
        """Factor of the kernel of the target."""
        if answer.task == NUMBERS:
            return gaussian_factor(answer.values / float(self.sigma))
        counts = np.bincount(answer.codes)
        return compressed((answer.codes[:, None] == np.arange(len(counts))) / np.sqrt(counts))

    def _keep(self, ranking: Ranking, usable: NDArray[np.intp], *more: Any) -> None:
        super()._keep(ranking, usable, *more)
        found, order = self.__dict__.pop("_events")
        self.strengths_, self.kkt_ = np.array(found.strengths), np.array(found.kkt)
        self.coefs_ = _coefficients(found, usable[order], self.n_features_in_)


def _coefficients(found: LassoPath, columns: NDArray[np.intp], n_features: int) -> Any:
    """Weights at all events, by columns of the table."""
    sizes = [len(which) for which, _ in found.weights]
    indices = np.concatenate([columns[which] for which, _ in found.weights])
    values = np.concatenate([weights for _, weights in found.weights])
    pointers = np.concatenate([[0], np.cumsum(sizes)])
    result = sparse.csr_array((values, indices, pointers), shape=(len(sizes), n_features))
    result.sort_indices()
    return result


class KernelProducts:
    """Inner products of the normalised kernels of single columns, from factors that are kept.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Columns in units of the width of their kernels.
    order : ndarray of shape (n_columns,)
        By which columns are counted.
    stored : int
        Most numbers to keep.

    Examples
    --------
    >>> products = KernelProducts(np.array([[0.0, 3.0], [0.5, 1.0], [2.0, 0.0]]), np.array([1, 0]))
    >>> products(0, 0, 2).round(3).tolist()
    [1.0, 0.677]
    """

    def __init__(
        self, Z: NDArray[np.float64], order: NDArray[np.intp], stored: int = STORED
    ) -> None:
        self._Z, self._order, self._room = Z, order, stored
        self._ends = [0]  # of stretches of columns
        self._kept: dict[int, Stack] = {}

    def __call__(self, k: int, start: int, stop: int) -> NDArray[np.float64]:
        """Products of column ``k`` with those from ``start`` to ``stop``."""
        while self._ends[-1] < max(stop, k + 1):
            self._ends.append(min(self._ends[-1] + STRETCH, max(stop, k + 1)))
        own = self._own(k)
        parts = [np.zeros(0)]
        for i, (begin, end) in enumerate(pairwise(self._ends)):
            if begin < stop and end > start:
                found = self._stack(i).times(own)
                parts.append(found[max(start - begin, 0) : stop - begin])
        return np.concatenate(parts)

    def of_several(self, first: int, last: int, start: int, stop: int) -> NDArray[np.float64]:
        """Products of the columns from ``first`` to ``last``, one in each row.

        Together they take less time than one after the other.
        """
        while self._ends[-1] < max(stop, last):
            self._ends.append(min(self._ends[-1] + STRETCH, max(stop, last)))
        own = Stack([self._own(k) for k in range(first, last)])
        parts = [np.zeros((last - first, 0))]
        for i, (begin, end) in enumerate(pairwise(self._ends)):
            if begin < stop and end > start:
                found = self._stack(i).times_each(own)
                parts.append(found[:, max(start - begin, 0) : stop - begin])
        return np.concatenate(parts, axis=1)

    def _own(self, k: int) -> NDArray[np.float64]:
        i = bisect_right(self._ends, k) - 1
        if i in self._kept:
            return self._kept[i].factor(k - self._ends[i])
        return gaussian_factor(self._Z[:, self._order[k]])

    def _stack(self, i: int) -> Stack:
        if i in self._kept:
            return self._kept[i]
        columns = self._order[self._ends[i] : self._ends[i + 1]]
        stack = Stack([gaussian_factor(self._Z[:, j]) for j in columns])
        if stack.columns.size <= self._room:
            self._room -= stack.columns.size
            self._kept[i] = stack
        return stack


class Stack:
    """Factors of several kernels side by side."""

    def __init__(self, factors: list[NDArray[np.float64]]) -> None:
        self.columns = np.concatenate(factors, axis=1)
        self.ends = np.cumsum([0, *(factor.shape[1] for factor in factors)])

    def factor(self, i: int) -> NDArray[np.float64]:
        """The factor of one of them."""
        return self.columns[:, self.ends[i] : self.ends[i + 1]]

    def times(self, factor: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inner product of each kernel with one more."""
        squares = np.square(factor.T @ self.columns).sum(axis=0)
        return np.add.reduceat(squares, self.ends[:-1])

    def times_each(self, other: Stack) -> NDArray[np.float64]:
        """Inner product of each kernel, in columns, with each of another stack, in rows."""
        squares = np.square(other.columns.T @ self.columns)
        rows = np.add.reduceat(squares, other.ends[:-1], axis=0)
        return np.add.reduceat(rows, self.ends[:-1], axis=1)

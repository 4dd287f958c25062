"""Methods of other packages as baselines; each needs its package at ``fit``, and only then.

``pip install 'kernelpath[rivals]'`` installs all of them.

>>> from kernelpath.baselines import adapters
>>> adapters.Boruta.NEEDS
'boruta'
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.baselines.forest import target_of
from kernelpath.errors import DataError
from kernelpath.tables.content import by_content
from kernelpath.tables.targets import TASKS
from kernelpath.tracers.any_selector import forest_of
from kernelpath.utils import checks

__all__ = ["Abess", "Boruta", "FastCan"]


class AdaptedSelector(BaselineSelector):
    """Base of the adapters: imports the package before any work."""

    NEEDS: ClassVar[str]
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    LEAST_ROWS: ClassVar[int] = 4
    task: str

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        self._package()

    def _package(self) -> Any:
        try:
            return import_module(self.NEEDS)
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__} needs the package {self.NEEDS}, which is not installed: "
                f"pip install {self.NEEDS}"
            ) from error

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        order = by_content(Z)
        found = self._found(np.ascontiguousarray(Z[:, order]), answer, budgets[-1])
        scores = np.empty(Z.shape[1])
        scores[order] = found.scores
        return Ranking(scores, order[found.order], found.why)

    def _found(self, Z: NDArray[np.float64], answer: Answer, most: int) -> Ranking:
        """What the package finds about columns in an order that their content decides."""
        raise NotImplementedError


class Boruta(AdaptedSelector):
    """Boruta: features that matter more to a forest than shuffled copies do [kursa2010]_.

    The package ``boruta`` decides which features are confirmed, tentative and rejected, the latter
    by rank.  A feature scores one over its rank; of equal rank, those of the larger importance in
    the forests come first.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    max_iter : int
        Forests at most.
    max_depth : int
        Depth of their trees; the package advises 3 to 7.
    random_state : int
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    confirmed_ : ndarray of bool, shape (n_features,)
        What the method itself would choose.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    References
    ----------
    .. [kursa2010] Kursa, Rudnicki. Feature selection with the Boruta package. Journal of
       Statistical Software, 2010.
    """

    METHOD: ClassVar[str] = "boruta"
    NEEDS: ClassVar[str] = "boruta"

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        max_iter: int = 100,
        max_depth: int = 5,
        random_state: Any = 0,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.max_iter = max_iter
        self.max_depth = max_depth
        self.random_state = random_state
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.whole("max_iter", self.max_iter, at_least=2)
        checks.whole("max_depth", self.max_depth, at_least=1)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        found = super()._rank(Z, answer, budgets)
        self._confirmed = found.scores == 1.0
        return found

    def _found(self, Z: NDArray[np.float64], answer: Answer, most: int) -> Ranking:
        seed = checks.seed_of(self.random_state)
        model = self._package().BorutaPy(
            forest_of(answer.task, 1, seed, max_depth=int(self.max_depth)),
            n_estimators="auto", max_iter=int(self.max_iter), random_state=seed, verbose=0,
        ).fit(Z, target_of(answer))  # fmt: skip
        history = np.nan_to_num(np.asarray(model.importance_history_, dtype=np.float64))
        scores = 1.0 / np.asarray(model.ranking_, dtype=np.float64)
        return ranked(scores, then=history.mean(axis=0))

    def _keep(self, ranking: Ranking, usable: NDArray[np.intp], *more: Any) -> None:
        super()._keep(ranking, usable, *more)
        self.confirmed_ = np.zeros(self.n_features_in_, dtype=bool)
        self.confirmed_[usable] = self.__dict__.pop("_confirmed")


class FastCan(AdaptedSelector):
    """FastCan: forward selection by the canonical correlation with the target [zhang2025]_.

    Features rank by their entry and score the gain that each brought.  The path ends where the
    package finds no gain.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    task : {"auto", "classification", "regression"}
        Of classes the target is one column of 0 and 1 for each.

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 came first; features that did not come in share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    References
    ----------
    .. [zhang2025] Zhang, Wang, Worden, Sun, Cross. Canonical-correlation-based fast feature
       selection for structural health monitoring. Mechanical Systems and Signal Processing, 2025.
    """

    METHOD: ClassVar[str] = "fastcan"
    NEEDS: ClassVar[str] = "fastcan"

    def __init__(self, n_features_to_select: Any = None, *, task: str = "auto") -> None:
        self.n_features_to_select = n_features_to_select
        self.task = task

    def _found(self, Z: NDArray[np.float64], answer: Answer, most: int) -> Ranking:
        target = answer.values if answer.task == NUMBERS else answer.labels
        package = self._package()
        size = min(most, Z.shape[1], len(Z) - 1)
        while size > 0:
            try:
                model = package.FastCan(n_features_to_select=size, verbose=0).fit(Z, target)
            except RuntimeError as error:  # it says at which feature there is no gain
                said = re.search(r"the (\d+)", str(error))
                size = min(size, int(said[1]) if said else size) - 1
                continue
            order, scores = np.asarray(model.indices_, dtype=np.intp), np.zeros(Z.shape[1])
            scores[order] = np.maximum(np.asarray(model.scores_, dtype=np.float64), 0.0)
            return Ranking(scores, order, "no other feature brings a gain")
        raise DataError("fastcan finds no feature that tells anything of the target.")


class Abess(AdaptedSelector):
    """Abess: best subsets by splicing, a subset for each size [zhu2020]_.

    Linear regression for numbers, logistic or multinomial regression for classes.  Best subsets of
    different sizes need not be nested: features rank by the smallest size whose subset holds
    them, then by their coefficient there, and score one over that size.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; features in no subset share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    References
    ----------
    .. [zhu2020] Zhu, Wen, Zhu, Zhang, Wang. A polynomial algorithm for best-subset selection
       problem. Proceedings of the National Academy of Sciences, 2020.
    """

    METHOD: ClassVar[str] = "abess"
    NEEDS: ClassVar[str] = "abess"

    def __init__(self, n_features_to_select: Any = None, *, task: str = "auto") -> None:
        self.n_features_to_select = n_features_to_select
        self.task = task

    def _found(self, Z: NDArray[np.float64], answer: Answer, most: int) -> Ranking:
        package, target = self._package(), target_of(answer)
        kind = package.LinearRegression
        if answer.task != NUMBERS:
            kind = package.LogisticRegression
            if answer.labels.shape[1] > 1:
                kind, target = package.MultinomialRegression, (answer.labels + 1.0) / 2.0
        first, size = np.full(Z.shape[1], np.inf), np.zeros(Z.shape[1])
        for k in range(1, min(most, Z.shape[1], len(Z) - 1) + 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # classes that a subset separates
                coefs = np.asarray(kind(support_size=k).fit(Z, target).coef_, dtype=np.float64)
            norms = np.linalg.norm(coefs.reshape(Z.shape[1], -1), axis=1)
            new = (norms > 0) & np.isinf(first)
            first[new], size[new] = k, norms[new]
        order = np.lexsort((-size, first))[: np.count_nonzero(np.isfinite(first))]
        return Ranking(1.0 / first, order, "no other feature is in a best subset")

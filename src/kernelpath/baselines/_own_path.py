"""What the baselines share whose path is their own: points where they are, not one for a budget."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import ClassifierTags

from kernelpath.baselines._base import CLASSES, Answer, BaselineSelector, Ranking
from kernelpath.errors import DataError, FewerFeaturesWarning
from kernelpath.path.build import ENTER, LEAVE, build_path
from kernelpath.path.points import EventTable
from kernelpath.utils import checks
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted


@dataclass(frozen=True, eq=False)
class Found:
    """Points of a path over the usable columns.

    Attributes
    ----------
    columns, weights : sequence of ndarray
        Features of each point, increasing, and their weights, which may be negative.
    parameters, values, kkt, gaps : sequence of float
    """

    columns: Sequence[NDArray[np.intp]]
    weights: Sequence[NDArray[np.float64]]
    parameters: Sequence[float]
    values: Sequence[float]
    kkt: Sequence[float]
    gaps: Sequence[float]


class OwnPathBaseline(BaselineSelector):
    """Base of the baselines with a path of their own, for two classes."""

    TASKS: ClassVar[tuple[str, ...]] = (CLASSES,)
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    PARAMETER: ClassVar[str]
    max_features: int | None
    is_ranking = False

    @abstractmethod
    def _follow(self, Z: NDArray[np.float64], label: NDArray[np.float64], most: int) -> Found:
        """Follow the path as long as it has at most so many features."""

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Follow the path and choose a point of it.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
            Made dense.
        y : array of shape (n_samples,)
            Two classes.

        Returns
        -------
        self
        """
        self._check_settings()
        table, y, answer, Z, usable = self._read(X, y)
        most = len(usable) if self.max_features is None else int(self.max_features)
        with progress_bar():
            begin("path")
            found = self._follow(Z, answer.labels[:, 0], most)
        shape = len(found.columns), self.n_features_in_
        self.coefs_ = _rows(found.columns, found.weights, usable, shape)
        self.path_ = build_path(
            method=self.METHOD,
            parameter_name=self.PARAMETER,
            parameters=found.parameters,
            weights=abs(self.coefs_),
            values=found.values,
            kkt=found.kkt,
            gaps=found.gaps,
            events=_events(self.coefs_, found.parameters),
            feature_names=table.names,
            provenance=self._describe(table, y, task=answer.task),
        )
        self._choose()
        return self

    def _choose(self) -> None:
        """The last point with as many features as are asked for, or the last one of all."""
        wanted, sizes = self.n_features_to_select, self.path_.sizes
        if checks.is_whole(wanted) and 0 < wanted <= self.n_features_in_ and wanted not in sizes:
            smaller = int(sizes[sizes < wanted].max(initial=0))
            warn(
                f"No point of the path has exactly {counted(int(wanted), 'feature')}; the one "
                f"with {smaller} is kept.",
                FewerFeaturesWarning,
            )
            wanted = smaller
        chosen = self._choose_point(self.path_, wanted)
        self.position_ = chosen.position
        self.support_ = np.array(chosen.support)
        self.weights_ = self.coefs_[[chosen.position]].toarray()[0]

    def _answer(self, y: NDArray) -> Answer:
        answer = super()._answer(y)
        if answer.labels.shape[1] > 1:
            raise DataError(
                f"{type(self).__name__} is for two classes, but y has {len(self.classes_)} "
                "classes; keep the rows of two, or take a method for several, such as L1SVM."
            )
        return answer

    def _rank(self, Z: Any, answer: Answer, budgets: list[int]) -> Ranking:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _check_settings(self) -> None:
        if self.max_features is not None:
            checks.whole(
                "max_features", self.max_features, at_least=1,
                must="be a whole number from 1 on",
            )  # fmt: skip


def _rows(
    columns: Sequence[NDArray[np.intp]],
    weights: Sequence[NDArray[np.float64]],
    usable: NDArray[np.intp],
    shape: tuple[int, int],
) -> sparse.csr_array:
    """Weights at all points, by columns of the table."""
    pointers = np.concatenate([[0], np.cumsum([len(which) for which in columns])])
    indices = usable[np.concatenate(columns)]
    return sparse.csr_array((np.concatenate(weights), indices, pointers), shape=shape)


def _events(rows: sparse.csr_array, parameters: Sequence[float]) -> EventTable:
    """Who enters and who leaves, and where: points are where a weight begins to grow, or ends."""
    kinds: list[NDArray] = [np.zeros(0)]
    features: list[NDArray] = [np.zeros(0, dtype=np.intp)]
    at: list[NDArray] = [np.zeros(0)]
    positions: list[NDArray] = [np.zeros(0)]
    before = features[0]
    for i in range(rows.shape[0]):
        now = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        for kind, moved, where in (
            (ENTER, np.setdiff1d(now, before), max(i - 1, 0)),
            (LEAVE, np.setdiff1d(before, now), i),
        ):
            kinds.append(np.full(len(moved), kind))
            features.append(moved)
            at.append(np.full(len(moved), parameters[where]))
            positions.append(np.full(len(moved), i))
        before = now
    return EventTable(*map(np.concatenate, (kinds, features, at, positions)))

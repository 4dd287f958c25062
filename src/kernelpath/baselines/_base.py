"""What all baselines share: reading table and target, and a ranking as a path."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kernelpath.errors import DataError, FewerFeaturesWarning
from kernelpath.estimators._base import PathSelector, budgets_of, budgets_up_to, check_budgets
from kernelpath.path.build import build_path, nested_rows
from kernelpath.tables.constant import report_constant
from kernelpath.tables.table import Table, refuse_text
from kernelpath.tables.targets import as_vector, check_lengths, encode_target, infer_task
from kernelpath.utils import checks
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

CLASSES, NUMBERS = "classification", "regression"
PARAMETER = "budget"
LARGEST_C = 1e8  # beyond, machines take for ever


@dataclass(frozen=True, eq=False)
class Answer:
    """The target as the methods see it.

    Attributes
    ----------
    task : {"classification", "regression"}
    codes : ndarray of int, shape (n_rows,)
        Class of each row; empty for regression.
    labels : ndarray of shape (n_rows, n_machines)
        -1 and +1: one column for two classes, else one column for each class against the rest.
        Without columns for regression.
    values : ndarray of shape (n_rows,)
        The standardised target of a regression; for two classes their standardised labels.
    """

    task: str
    codes: NDArray[np.intp]
    labels: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """What a method found about the usable columns.

    Attributes
    ----------
    scores : ndarray of shape (n_usable,)
        Not negative.
    order : ndarray of shape (n_ranked,)
        Columns from best to worst; fewer than all if the method came to an end.
    why : str
        Why it came to an end.
    weights : ndarray of shape (n_usable,), optional
        What the scores come from, where it may be negative.
    """

    scores: NDArray[np.float64]
    order: NDArray[np.intp]
    why: str = ""
    weights: NDArray[np.float64] | None = None


def ranked(scores: NDArray[np.float64], then: NDArray[np.float64] | None = None) -> Ranking:
    """Ranking by decreasing score, ties by ``then``, further ties by column.

    Examples
    --------
    >>> ranked(np.array([0.0, 2.0, 0.0]), then=np.array([1.0, 0.0, 3.0])).order.tolist()
    [1, 2, 0]
    """
    keys = (-scores,) if then is None else (-then, -scores)
    return Ranking(scores, np.lexsort(keys))


class BaselineSelector(PathSelector):
    """Base of the baselines; a method says what it is called, its tasks and how it ranks."""

    METHOD: ClassVar[str]
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES,)
    POSITIVE: ClassVar[tuple[str, ...]] = ("C",)
    LEAST_ROWS: ClassVar[int] = 1
    n_features_to_select: Any
    is_ranking = True

    @abstractmethod
    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        """Rank standardised columns; ``budgets`` are the numbers of features that are wanted."""

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Rank the columns and choose those of every budget.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
            Made dense.
        y : array of shape (n_samples,)

        Returns
        -------
        self
        """
        self._check_settings()
        table, y, answer, Z, usable = self._read(X, y)
        budgets = self._budgets(len(usable))
        with progress_bar():
            begin("ranking")
            ranking = self._rank(Z, answer, budgets)
        self._keep(ranking, usable, self._reached(budgets, ranking), table, y, answer.task)
        return self

    # -- the table --------------------------------------------------------------------------------

    def _read(self, X: Any, y: Any) -> tuple[Table, NDArray, Answer, Any, NDArray[np.intp]]:
        """Table and target as given and as the method sees them, and which columns are usable."""
        table, y = self._check_table(X, y)
        refuse_text(table, "encode it as numbers")
        y = as_vector(y)
        check_lengths(table.shape[0], y)
        answer = self._answer(y)
        Z, usable = self._columns(table)
        constant = np.ones(table.shape[1], dtype=bool)
        constant[usable] = False
        report_constant(table, constant)
        return table, y, answer, Z, usable

    def _check_kernel(self, table: Table) -> None:
        if table.n_rows < self.LEAST_ROWS:
            raise DataError(
                f"{type(self).__name__} needs at least {self.LEAST_ROWS} rows, but X has "
                f"{counted(table.n_rows, 'row')}; give more rows."
            )

    def _columns(self, table: Table) -> tuple[Any, NDArray[np.intp]]:
        """Columns as `_rank` takes them, without those that are constant, and which they are."""
        return standardized(table)

    # -- the target -------------------------------------------------------------------------------

    def _task(self, y: NDArray) -> str:
        """Task of a target, or an error if the method is not made for it."""
        text = y.dtype.kind not in "biuf"
        if CLASSES not in self.TASKS:
            if text:
                raise DataError(
                    f"{type(self).__name__} is for a target of numbers, but y holds labels; "
                    "convert y to numbers, or take a method for classes, such as SVMLW or Fisher."
                )
            return NUMBERS
        task = infer_task(y, getattr(self, "task", "auto"))
        if task not in self.TASKS:
            raise DataError(
                f"{type(self).__name__} is for classes, but y holds continuous numbers; give "
                "labels, as with y.astype(str), or take a method for numbers, such as SVRLW or "
                "ForwardStepwise. Unknown label type: continuous."
            )
        return task

    def _answer(self, y: NDArray) -> Answer:
        task = self._task(y)
        target = encode_target(y, task=task)
        none = np.zeros(0, dtype=np.intp)
        if task == NUMBERS:
            if hasattr(self, "classes_"):
                del self.classes_
            return Answer(task, none, np.zeros((len(y), 0)), target.columns[:, 1])
        assert target.classes is not None
        self.classes_: NDArray = target.classes
        codes = np.searchsorted(target.classes, y).astype(np.intp)
        each = [1] if len(target.classes) == 2 else range(len(target.classes))
        labels = np.column_stack([np.where(codes == k, 1.0, -1.0) for k in each])
        values = labels[:, 0] - labels[:, 0].mean()
        return Answer(task, codes, labels, values / values.std())

    # -- budgets ----------------------------------------------------------------------------------

    def _budgets(self, n_usable: int) -> list[int]:
        """Budgets in increasing order; what exceeds the usable columns is cut, with a warning."""
        given = self.n_features_to_select
        unnamed = budgets_up_to(given, n_usable)
        if unnamed is not None:
            return unnamed
        asked = np.unique(budgets_of(given))
        if asked[0] < 1:
            raise DataError(f"n_features_to_select must be at least 1, got {asked[0]}.")
        if asked[-1] > self.n_features_in_:
            raise DataError(
                f"n_features_to_select must be at most {self.n_features_in_}, the number of "
                f"columns, got {asked[-1]}."
            )
        if asked[-1] > n_usable:
            warn(
                f"n_features_to_select={asked[-1]}, but only {counted(n_usable, 'feature')} "
                "can be chosen: the others are constant.",
                FewerFeaturesWarning,
            )
        return sorted({int(min(budget, n_usable)) for budget in asked})

    def _reached(self, budgets: list[int], ranking: Ranking) -> list[int]:
        """The budgets that the ranking can fill; where it came to an end is the last one."""
        most = len(ranking.order)
        if budgets[-1] > most and self.n_features_to_select is not None:
            warn(
                f"{type(self).__name__} ended with {counted(most, 'feature')}, fewer than "
                f"the {budgets[-1]} asked for: {ranking.why}. The path ends there.",
            )
        return sorted({min(budget, most) for budget in budgets})

    # -- the path ---------------------------------------------------------------------------------

    def _keep(
        self,
        ranking: Ranking,
        usable: NDArray[np.intp],
        budgets: list[int],
        table: Table,
        y: NDArray,
        task: str,
    ) -> None:
        """Fitted attributes."""
        order = usable[ranking.order]
        self.scores_ = np.zeros(self.n_features_in_)
        self.scores_[usable] = ranking.scores
        if ranking.weights is not None:
            self.weights_ = np.zeros(self.n_features_in_)
            self.weights_[usable] = ranking.weights
        self.ranking_ = np.full(self.n_features_in_, len(order) + 1)
        self.ranking_[order] = np.arange(1, len(order) + 1)
        self.budgets_ = np.array(budgets)
        self.support_ = self.ranking_ <= budgets[-1]
        self.path_ = build_path(
            method=self.METHOD,
            parameter_name=PARAMETER,
            parameters=budgets,
            weights=nested_rows(order, budgets, self.scores_),
            feature_names=table.names,
            provenance=self._describe(table, y, task=task),
        )

    # -- settings ---------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        for name in self.POSITIVE:
            value = getattr(self, name)
            if name == "max_iter":
                checks.whole(name, value, at_least=1, must="be a whole number that is positive")
            else:
                checks.real(name, value, above=0, must=checks.POSITIVE)
            if name == "C":
                checks.real(name, value, at_most=LARGEST_C, must=f"be at most {LARGEST_C:g}")
        check_budgets(self.n_features_to_select)


def standardized(table: Table) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Columns of mean 0 and variance 1, without those that are constant, and which they are.

    Examples
    --------
    >>> from kernelpath.tables.table import as_column_table
    >>> Z, usable = standardized(as_column_table([[1.0, 5.0], [3.0, 5.0]]))
    >>> Z.ravel().tolist(), usable.tolist()
    ([-1.0, 1.0], [0])
    """
    values = table.values
    dense = values.toarray() if sparse.issparse(values) else values
    Z = np.array(dense, dtype=np.float64, order="F")
    usable = np.flatnonzero(Z.min(axis=0) < Z.max(axis=0))
    Z = Z[:, usable]
    # Twice to a unit range: neither huge values nor a huge common offset cost digits.
    Z /= np.abs(Z).max(axis=0)
    Z -= Z[0].copy()
    Z /= np.abs(Z).max(axis=0)
    Z -= Z.mean(axis=0)
    Z /= Z.std(axis=0)
    return Z, usable

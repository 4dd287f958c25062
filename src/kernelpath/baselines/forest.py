"""ForestRanking and PermutationImportance: what a random forest, or another model, makes use of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.model_selection import KFold, StratifiedKFold

from kernelpath.baselines._base import CLASSES, NUMBERS, Answer, BaselineSelector, Ranking, ranked
from kernelpath.errors import DataError
from kernelpath.tables.content import by_content
from kernelpath.tables.targets import TASKS
from kernelpath.tracers.any_selector import forest_of
from kernelpath.utils import checks
from kernelpath.utils.progress import begin

N_TREES = 100  # of the model that PermutationImportance fits in every fold
DIGITS = 12  # of importances and targets that are compared


class ForestRanking(BaselineSelector):
    """Impurity importance in a random forest [breiman2001]_.

    A feature scores how much the cuts in it decrease the impurity of the target (Gini index of
    classes, variance of numbers), weighed by the rows that come by, over all trees; the scores sum
    to 1.  The forest is scikit-learn's.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    n_estimators : int
        Number of trees.
    max_features : "sqrt", "log2", int, float or None
        Features that are looked at for a cut, as in scikit-learn.
    n_jobs : int, optional
        Trees that are grown at a time; it changes the time only.
    random_state : int
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    Cuts see the order of the values only, so the trees are given ranks: logarithms, units and
    huge values change nothing.  Columns are handed over in an order that their content decides, so
    that their order in the table changes nothing either.  The ranking ``"forest"`` of
    :func:`kernelpath.compare` and of the command line is the same forest with 300 trees, grown on
    the columns as they stand in the table.

    Impurity favours features with many distinct values, and shares what copies have in common
    between them; :class:`PermutationImportance` looks at rows that the model has not seen.

    References
    ----------
    .. [breiman2001] Breiman. Random forests. Machine Learning, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import kernelpath as kp
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> sorted(kp.baselines.ForestRanking(2, n_estimators=100).fit(X, y).path_[0].names)
    ['petal length (cm)', 'petal width (cm)']
    """

    METHOD: ClassVar[str] = "forest_ranking"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    LEAST_ROWS: ClassVar[int] = 2

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        n_estimators: int = 500,
        max_features: Any = "sqrt",
        n_jobs: int | None = None,
        random_state: Any = 0,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.whole("n_estimators", self.n_estimators, at_least=1)

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        order = by_content(Z)
        model = forest_of(
            answer.task, int(self.n_estimators), checks.seed_of(self.random_state),
            max_features=self.max_features, n_jobs=self.n_jobs,
        )  # fmt: skip
        model.fit(dense_ranks(Z[:, order]), target_of(answer))
        scores = np.empty(Z.shape[1])
        scores[order] = model.feature_importances_
        return ranked(scores)


class PermutationImportance(BaselineSelector):
    """How much worse a model predicts where a feature is shuffled [breiman2001]_.

    In every fold of a cross-validation a model is fitted, and its score on the rows left out is
    compared with its score after the values of one feature are shuffled among them.  A feature
    scores the mean loss over shuffles and folds.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    estimator : scikit-learn estimator, optional
        The model; it gets standardised columns, classes as 0, 1, ..., and standardised numbers.
        Default: a random forest of 100 trees.
    cv : int
        Number of folds, shuffled, with the classes in equal shares; fewer where a class has
        fewer rows.
    n_repeats : int
        Shuffles of each feature in each fold.
    scoring : str or callable, optional
        A score of scikit-learn.  Default: that of the model, mostly accuracy or R2.
    n_jobs : int, optional
        Features that are shuffled at a time; it changes the time only.
    random_state : int
        Of folds, shuffles and the default forest.
    task : {"auto", "classification", "regression"}

    Attributes
    ----------
    path_ : FeaturePath
        One nested point for each budget; weights are the scores.
    scores_ : ndarray of shape (n_features,)
        The mean loss; 0 if it is negative.
    weights_ : ndarray of shape (n_features,)
        The mean loss as it is: what shuffling improves is negative.
    ranking_ : ndarray of int, shape (n_features,)
        1 is the best; constant columns share the last rank.
    support_ : ndarray of bool, shape (n_features,)
    budgets_, n_features_in_, feature_names_in_, classes_

    Notes
    -----
    Folds, shuffles and their scores are scikit-learn's (``permutation_importance``).  A feature
    that others can stand for loses little: of two copies both may score 0.  The model predicts
    ``cv * n_repeats`` times for every feature; of thousands of features choose some first.

    References
    ----------
    .. [breiman2001] Breiman. Random forests. Machine Learning, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> import kernelpath as kp
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = kp.baselines.PermutationImportance(2, LogisticRegression()).fit(X, y)
    >>> model.path_[0].names
    ('petal width (cm)', 'petal length (cm)')
    """

    METHOD: ClassVar[str] = "permutation_importance"
    TASKS: ClassVar[tuple[str, ...]] = (CLASSES, NUMBERS)
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    LEAST_ROWS: ClassVar[int] = 4

    def __init__(
        self,
        n_features_to_select: Any = None,
        estimator: Any = None,
        *,
        cv: int = 5,
        n_repeats: int = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        task: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.estimator = estimator
        self.cv = cv
        self.n_repeats = n_repeats
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.task = task

    def _check_settings(self) -> None:
        super()._check_settings()
        checks.one_of("task", self.task, TASKS)
        checks.whole("cv", self.cv, at_least=2)
        checks.whole("n_repeats", self.n_repeats, at_least=1)
        given = self.estimator
        if given is not None and (isinstance(given, type) or not hasattr(given, "predict")):
            raise ValueError(
                "estimator must be a scikit-learn classifier or regressor, such as "
                f"LogisticRegression(), or None for a random forest, got {given!r}"
            )

    def _rank(self, Z: NDArray[np.float64], answer: Answer, budgets: list[int]) -> Ranking:
        order, y = by_content(Z), target_of(answer)
        seed = checks.seed_of(self.random_state)
        model = self.estimator
        if model is None:
            model = forest_of(answer.task, N_TREES, seed)
        A, losses = np.ascontiguousarray(Z[:, order]), np.zeros(Z.shape[1])
        splits = folds_of(answer, len(Z), int(self.cv), seed)
        update = begin("ranking")
        for i, (train, test) in enumerate(splits):
            fitted = clone(model).fit(A[train], y[train])
            losses += permutation_importance(
                fitted, A[test], y[test], n_repeats=int(self.n_repeats), scoring=self.scoring,
                random_state=seed, n_jobs=self.n_jobs,
            ).importances_mean  # fmt: skip
            update(i + 1, len(splits))
        if not np.isfinite(losses).all():
            raise DataError(
                "The score of a held-out fold is not a number; give more rows, or lower cv."
            )
        weights = np.empty(Z.shape[1])
        weights[order] = np.round(losses / len(splits), DIGITS)
        return replace(ranked(np.maximum(weights, 0.0), then=weights), weights=weights)


def target_of(answer: Answer) -> NDArray:
    """Codes of the classes, or the standardised numbers; their units break no ties of cuts."""
    return np.round(answer.values, DIGITS) if answer.task == NUMBERS else answer.codes


def folds_of(
    answer: Answer, n_rows: int, cv: int, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Shuffled folds, with the classes in equal shares where each has two rows."""
    if answer.task == NUMBERS:
        return list(
            KFold(min(cv, n_rows // 2), shuffle=True, random_state=seed).split(answer.values)
        )
    fewest = int(np.bincount(answer.codes).min())
    if fewest < 2:
        raise DataError(
            "PermutationImportance needs two rows of every class, one to learn from and one to "
            "judge by, and a class has one row; leave that class out."
        )
    folds = StratifiedKFold(min(cv, fewest), shuffle=True, random_state=seed)
    return list(folds.split(answer.codes, answer.codes))


def dense_ranks(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place of every value among the distinct values of its column, from 0 on.

    Examples
    --------
    >>> dense_ranks(np.array([[0.5], [-3.0], [0.5], [9.0]])).ravel().tolist()
    [1.0, 0.0, 1.0, 2.0]
    """
    places = [np.unique(column, return_inverse=True)[1] for column in Z.T]
    return np.column_stack(places).astype(np.float64)

"""AutoPathSelector: the best of several paths, by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from kernelpath.errors import not_one_of
from kernelpath.estimators._base import DEFAULT_BUDGET, PathSelector
from kernelpath.estimators.additive import AdditivePathSelector
from kernelpath.estimators.joint import JointPathSelector
from kernelpath.estimators.lp_kta import LpKTASelector
from kernelpath.tables import IDENTIFIERS, MISSING
from kernelpath.tables.targets import TASKS
from kernelpath.utils import checks

AUTO = "auto"
FEW_ROWS = 60  # a loss of rows left out chooses badly among fewer
QUICK_ROWS = 100  # without a choice: exchanges from so many rows on
CORRELATED = 3.0  # ridge of the elastic net


def _exchange() -> Any:
    return JointPathSelector(start=AdditivePathSelector())


def _elastic() -> Any:
    return AdditivePathSelector(ridge=CORRELATED)


CANDIDATES = {
    "exchange": _exchange,
    "interaction": JointPathSelector,
    "additive": AdditivePathSelector,
    "elastic": _elastic,
    "lp-kta": LpKTASelector,
}
"""By name, in the order of preference."""
SHARED = {"task": "auto", "missing": "kernel", "identifiers": "drop", "must_include": None}
"""Settings that candidates get, unless they have their own."""
JOINT = ("exchange", "interaction")  # which leave rows out, and take no weights


class AutoPathSelector(PathSelector):
    r"""The best of several paths for a table, chosen by cross-validation.

    Single features, features judged together, features that act only together: no method is the
    best one everywhere.  Each candidate is traced in the training part of every fold, and one plain
    machine, a support vector machine with a Gaussian kernel of all chosen features, is scored at 2,
    3, 5, 8, 10, 15 and 20 features on the rows held out.  The highest mean wins; within one
    standard error of the paired differences the candidate that comes first in the order does.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Size that ``transform`` keeps: a count, a share of the usable features, or None for the
        fewest of 2, 3, 5, 8, 10, 15 and 20 whose score is within one standard error of the best;
        10 with ``quick=True``.
    candidates : "auto", list of str or dict of str to selector
        Names of those below in the order of preference, or selectors of your own by name.
        ``"auto"``: all of them, without the first two below 60 rows, where leaving rows out judges
        badly, and where rows have weights.

        ``"exchange"``: :class:`JointPathSelector` from the order of an additive path, whose first
        features are exchanged while rows left out are predicted better; ``"interaction"``: the same
        from its own elimination, which finds features that act only together; ``"additive"``:
        :class:`AdditivePathSelector`; ``"elastic"``: the same with a ridge, which keeps near copies
        together; ``"lp-kta"``: :class:`LpKTASelector`.
    cv : int or splitter
        Folds of the choice.  Inside :class:`PathCV` its folds take their place.
    quick : bool
        No choice and no folds: ``"exchange"`` from 100 rows on, else ``"additive"``.
    task, missing, identifiers, must_include
        As in :class:`AdditivePathSelector`.
    n_jobs : int, optional
        Folds at the same time.
    random_state : int, RandomState or None

    Attributes
    ----------
    path_ : FeaturePath
        That of the winner, on all rows.
    chosen_ : str
        Its name.
    selector_ : estimator
        The winner, with its settings.
    contest_ : Contest or None
        Scores of all candidates, ``areas``, and a ``sentence()`` that says who won by how much;
        None with ``quick=True``.
    candidates_ : dict of str to float
        Mean area of every candidate; NaN for those that were left out after two folds, a tenth of
        what the best gains over chance behind it.
    support_ : ndarray of bool, shape (n_features,)
    weights_ : ndarray of shape (n_features,)
    n_features_in_, feature_names_in_

    See Also
    --------
    PathCV : honest scores at every size; with ``nested=True`` the choice among the candidates too.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_xor(200, 10, order=2, random_state=0)
    >>> selector = kp.AutoPathSelector(2, candidates=["interaction", "lp-kta"], cv=3)
    >>> selector.fit(data.X, data.y).chosen_
    'interaction'
    >>> selector.get_support(indices=True).tolist() == data.relevant.tolist()
    True
    """

    chooses = True  # PathCV holds the contest on its own folds

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        candidates: Any = AUTO,
        cv: Any = 5,
        quick: bool = False,
        task: str = "auto",
        missing: str = "kernel",
        identifiers: str = "drop",
        must_include: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.candidates = candidates
        self.cv = cv
        self.quick = quick
        self.task = task
        self.missing = missing
        self.identifiers = identifiers
        self.must_include = must_include
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> AutoPathSelector:
        """Choose among the candidates, and trace the path of the winner.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Then only candidates that take weights take part.
        groups : array of shape (n_samples,), optional
            Rows of one group stay together.

        Returns
        -------
        AutoPathSelector
        """
        from kernelpath.estimators._path_cv_checks import prepare
        from kernelpath.estimators.path_cv import PathCV
        from kernelpath.evaluation.checkpoint import FoldStore
        from kernelpath.utils.progress import progress_bar

        self._check_settings()
        model = PathCV(
            self, predictor="joint_rbf", cv=self.cv, references=False,
            n_jobs=self.n_jobs, task=self.task, missing=self.missing,
            identifiers=self.identifiers, random_state=self.random_state,
        )  # fmt: skip
        with progress_bar():
            run = prepare(model, X, y, groups, sample_weight, {}, lambda: FoldStore(None))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
            elif hasattr(self, name):
                delattr(self, name)
        self.contest_, self.selector_ = run.contest, run.study.selector
        self.chosen_ = self._quick_name(run.study.rows.n_rows, sample_weight is not None)
        self.candidates_ = {}
        if self.contest_ is not None:
            self.chosen_ = self.contest_.name
            means = self.contest_.areas.mean(axis=1).tolist()
            self.candidates_ = dict(zip(self.contest_.names, means))
        self.path_ = run.path
        point = self._choose_point(self.path_, self.n_features_to_select)
        self.support_, self.weights_ = point.support, point.weights
        return self

    def _choose_point(self, path: Any, n_features: Any) -> Any:
        if n_features is None:
            most = DEFAULT_BUDGET if self.contest_ is None else self.contest_.fewest_good()
            few = path.sizes[path.sizes <= most]
            n_features = int(few[-1] if len(few) else path.sizes[0])
        return super()._choose_point(path, n_features)

    def candidates_for(self, n_rows: int, weighted: bool) -> dict[str, Any]:
        """Selectors that take part for so many rows, in the order of preference."""
        if self.quick:
            names: Any = [self._quick_name(n_rows, weighted)]
        elif isinstance(self.candidates, str):
            names = [n for n in CANDIDATES if not (n in JOINT and (weighted or n_rows < FEW_ROWS))]
        else:
            names = self.candidates
        return {str(name): self._made(name) for name in names}

    def _quick_name(self, n_rows: int, weighted: bool) -> str:
        return "exchange" if n_rows >= QUICK_ROWS and not weighted else "additive"

    def _made(self, name: Any) -> Any:
        """A candidate with the settings that all share."""
        own = self.candidates[name] if isinstance(self.candidates, Mapping) else CANDIDATES[name]()
        if not hasattr(own, "get_params"):
            return own
        known = own.get_params(deep=False)
        given = {name: getattr(self, name) for name, usual in SHARED.items()
                 if name in known and known[name] is usual}  # fmt: skip
        return clone(own).set_params(**given)

    def _check_settings(self) -> None:
        checks.flag("quick", self.quick)
        checks.one_of("task", self.task, TASKS)
        checks.one_of("missing", self.missing, MISSING)
        checks.one_of("identifiers", self.identifiers, IDENTIFIERS)
        given = self.candidates
        if isinstance(given, str):
            checks.one_of("candidates", given, [AUTO], "a list of names or a dict of selectors")
            return
        if not np.iterable(given) or not len(list(given)):
            raise ValueError(
                f"candidates must be 'auto', a list of names, or a dict of selectors, got {given!r}"
            )
        if not isinstance(given, Mapping):
            for name in given:
                if not (isinstance(name, str) and name in CANDIDATES):
                    raise not_one_of("each of candidates", name, CANDIDATES)
        if self.quick:
            raise ValueError(
                "candidates has no effect with quick=True, which chooses among none; leave out one"
            )

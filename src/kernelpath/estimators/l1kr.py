"""L1KR: kernel ridge regression with feature weights inside the kernel, along their L1 path."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from kernelpath.errors import DataError
from kernelpath.estimators._base import PathSelector, ScoredClassifier, ScoredRegressor
from kernelpath.mkl.weighted_kernels.ard import ARDGaussian, ARDKernel, ARDNormalizedPolynomial
from kernelpath.path.build import build_path
from kernelpath.path.feature_path import FeaturePath, PathEvent
from kernelpath.tables.missing import Imputer
from kernelpath.tables.reading import read_new, say_new_holes
from kernelpath.tables.standardize import FARTHEST, Columns, check_size
from kernelpath.tables.table import (
    Table,
    columns_with_holes,
    refuse_infinite,
    refuse_infinite_columns,
    refuse_text,
)
from kernelpath.tables.targets import as_vector, check_lengths, encode_target
from kernelpath.tracers.l1kr.branches import Branch, explains_nothing, search_branches
from kernelpath.tracers.l1kr.curve import End
from kernelpath.tracers.l1kr.equations import LEAST_RIDGE, NoRidge, RidgeSystem
from kernelpath.tracers.l1kr.prune import pruned
from kernelpath.tracers.l1kr.trace import SOLVERS, L1KRPoint, L1KRTrace, trace_l1kr
from kernelpath.utils import checks
from kernelpath.utils.checks import Idle, refuse_idle
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.provenance import ANOTHER_BRANCH, FROM_ZERO
from kernelpath.utils.threads import one_thread_up_to
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

METHOD = "l1kr"
ONE_THREAD_ROWS = 2500
KERNELS = ("gaussian", "polynomial")
AUTO = "auto"
MOST_RIDGE = 1e12
BUDGETS = (0.01, 0.03, 0.1, 0.3, 1.0, 4.0)
IDLE = (
    Idle("degree", lambda own: own.kernel == "gaussian",
         "with kernel='gaussian': it is that of the polynomial"),
)  # fmt: skip
SEARCHES = ("paths", "other branches")


class L1KRBase(PathSelector):
    """Fits a path for every budget and keeps the best one; see `L1KRRegressor`."""

    _task = ""
    weights_inside = True  # of one kernel of all features

    def __init__(
        self,
        kernel: str = "gaussian",
        norm_budget: Any = AUTO,
        *,
        ridge: float | None = None,
        degree: int = 3,
        max_features: int | None = None,
        search_branches: bool = True,
        solver: str = "homotopy",
        tol: float = 1e-7,
        random_state: int = 0,
        prune: bool = True,
    ) -> None:
        self.kernel = kernel
        self.norm_budget = norm_budget
        self.ridge = ridge
        self.degree = degree
        self.max_features = max_features
        self.search_branches = search_branches
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.prune = prune

    def fit(self, X: Any, y: ArrayLike) -> Any:
        """Follow the path, and choose a point.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
            Numbers; made dense.
        y : array of shape (n_samples,)

        Returns
        -------
        self
        """
        self._check_settings()
        rows, y, _ = self._check_rows(X, y)
        self._check_columns(rows)
        imputer, self._holes = Imputer.fit(rows), columns_with_holes(rows.values)
        table, self._fill = imputer.apply(rows), imputer.fill
        y = as_vector(y)
        check_lengths(table.shape[0], y)
        check_size(*table.shape)
        numbers_ = self._numbers(y)
        size = float(np.abs(numbers_).max())  # huge and tiny numbers have squares, too
        self._mean, self._unit = float(numbers_.mean()), size * float((numbers_ / size).std())
        self._target = (numbers_ - self._mean) / self._unit
        self._columns, Z = Columns.of(table)
        self.ties_ = self._columns.ties
        kernel = self._kernel(Z)
        with progress_bar(), one_thread_up_to(ONE_THREAD_ROWS, len(y)):
            outcome = self._outcome(kernel)
        for remark in outcome.remarks(searched=self._searches):
            warn(remark, ConvergenceWarning)
        self._keep(outcome, kernel, table, y)
        return self

    def _check_columns(self, table: Table) -> None:
        refuse_text(table, "encode it as numbers")

    def _numbers(self, y: NDArray) -> NDArray[np.float64]:
        """The target as numbers; remembers what they stand for."""
        raise NotImplementedError

    # -- paths -------------------------------------------------------------------------------------

    def _kernel(self, Z: NDArray[np.float64]) -> ARDKernel:
        if self.kernel == "gaussian":
            return ARDGaussian(Z)
        return ARDNormalizedPolynomial(Z, int(self.degree))

    def _outcome(self, kernel: ARDKernel) -> Outcome:
        """The path of the best budget, by rows left out, and a better branch where there is one."""
        found, interrupted = self._runs(self._systems(kernel))
        if not found:
            raise DataError(
                f"norm_budget={self.norm_budget!r} is more than any machine can have; the default "
                "tries numbers up to 4."
            )
        best = min(found, key=lambda one: one[1].points[one[1].best].leave_one_out)
        outcome = Outcome(best[1], best[0], interrupted=interrupted)
        if interrupted or not self._searches:
            return outcome
        # Where a path ends with all rows fitted, a smaller loss means little; but rounding may end
        # one at its beginning.
        runs = [
            one for one in found if one is best or one[1].end != End.SPENT or explains_nothing(*one)
        ]
        tell, seed = begin(SEARCHES[1]), self.random_state
        if not isinstance(seed, numbers.Integral):
            seed = check_random_state(seed).randint(2**31 - 1)
        try:
            branch = search_branches(runs, random_state=int(seed), tell=tell, **self._options())
        except KeyboardInterrupt:
            return replace(outcome, interrupted="in the search for other branches")
        return replace(outcome, branch=branch)

    @property
    def _searches(self) -> bool:
        """Whether other branches are looked for."""
        return bool(self.search_branches) and self.max_features is None

    def _systems(self, kernel: ARDKernel) -> list[RidgeSystem]:
        """Equations for each norm budget or ridge."""
        if self.ridge is None:
            given = BUDGETS if isinstance(self.norm_budget, str) else self.norm_budget
            budgets = np.atleast_1d(np.asarray(given, dtype=np.float64)).tolist()
            return [RidgeSystem(kernel, self._target, budget) for budget in budgets]
        ridges = np.atleast_1d(np.asarray(self.ridge, dtype=np.float64)).tolist()
        least = LEAST_RIDGE * kernel.n_rows
        if not all(least <= ridge <= MOST_RIDGE for ridge in ridges):
            raise ValueError(
                f"ridge must be from {least:.1e} to {MOST_RIDGE:.0e} for {kernel.n_rows} rows, got "
                f"{self.ridge!r}: rounding errors hide the path of a smaller one, and a larger one "
                "leaves nothing of it"
            )
        return [RidgeSystem(kernel, self._target, None, ridge) for ridge in ridges]

    def _runs(self, systems: list[RidgeSystem]) -> tuple[list[tuple[RidgeSystem, L1KRTrace]], str]:
        """Their paths, and what Ctrl-C cut short."""
        update, found = begin(SEARCHES[0]), list[tuple[RidgeSystem, L1KRTrace]]()
        for number, system in enumerate(systems):
            update(number, len(systems))
            cut = f"in path {number + 1} of {len(systems)}"
            try:
                trace = self._traced(system)
            except KeyboardInterrupt:
                if not found:
                    raise
                return found, cut
            found += [] if trace is None else [(system, trace)]
            if trace is not None and trace.end == End.INTERRUPTED:
                return found, cut
        return found, ""

    def _options(self) -> dict[str, Any]:
        return {"least_multiplier": self.tol, "most_features": self.max_features}

    def _traced(self, system: RidgeSystem) -> L1KRTrace | None:
        """A path; None where the norm budget is too large to begin with."""
        options = self._options()
        if self.solver == "ode":
            del options["most_features"]
        try:
            return trace_l1kr(system, solver=self.solver, **options)
        except NoRidge:
            return None

    def _keep(self, outcome: Outcome, kernel: ARDKernel, table: Table, y: NDArray) -> None:
        """Fitted attributes, of the curve whose best point has the smallest error."""
        best, system = outcome.best, outcome.best_system
        self._trace, self._bound = best, kernel
        self.interrupted_ = bool(outcome.interrupted)
        self.branch_ = ANOTHER_BRANCH if isinstance(best, Branch) else FROM_ZERO
        errors = [one.leave_one_out for one in best.points]
        with np.errstate(over="ignore", under="ignore"):
            self.leave_one_out_ = np.array(errors) * self._unit * self._unit
        self.position_, self.end_ = best.best, str(best.end)
        self.norm_budget_ = None if system.budget is None else system.budget / system.scale
        self.n_iter_ = max(best.n_jacobians, 1)
        self.paths_ = [
            self._path(outcome.trace, outcome.system, table, y),
            *(self._path(one, one.system, table, y) for one in [outcome.branch] if one is not None),
        ]
        self.path_ = self.paths_[outcome.curves.index(best)]
        point = best.points[self.position_]
        self.weights_ = self.path_[self.position_].weights
        self.support_ = self.path_[self.position_].support
        if self.prune and not self.interrupted_:
            fewer = pruned(system, point)
            if fewer is not point:
                self.weights_ = np.zeros(table.shape[1])
                self.weights_[self._columns.places] = fewer.weights
                self.support_ = self.weights_ > 0
                point = fewer
        self._chosen = point
        self.ridge_, self.dual_coef_ = point.ridge, self._unit * point.a
        self.intercept_ = self._mean + self._unit * self._intercept(point)

    def _path(self, trace: L1KRTrace, system: RidgeSystem, table: Table, y: NDArray) -> FeaturePath:
        branch = ANOTHER_BRANCH if isinstance(trace, Branch) else FROM_ZERO
        weights = np.zeros((len(trace.points), table.shape[1]))
        weights[:, self._columns.places] = [point.weights for point in trace.points]
        held = weights > 0
        for row, point in zip(held, trace.points):
            row[self._columns.places[point.active]] = True
        return build_path(
            method=METHOD,
            parameter_name="sum of weights",
            parameters=[point.radius for point in trace.points],
            weights=weights,
            supports=held,
            values=[point.loss for point in trace.points],
            kkt=[point.residual for point in trace.points],
            events=self._events(trace),
            feature_names=table.names,
            provenance=self._describe(
                table, y, task=self._task, branch=branch, chosen=_setting(system)
            ),
        )

    def _events(self, trace: L1KRTrace) -> list[PathEvent]:
        """Who enters and leaves, and where the path turns, as its curve met them."""
        found = [(i, point.event) for i, point in enumerate(trace.points) if point.event]
        if found and found[0][0] == 0:  # all features that the path starts with
            found[:1] = [(0, ("enter", int(k))) for k in trace.points[0].active]
        places = self._columns.places
        return [
            PathEvent(kind, int(places[k]) if k >= 0 else -1, "", trace.points[i].radius, i)
            for i, (kind, k) in found
        ]

    # -- use ---------------------------------------------------------------------------------------

    def _values(self, X: Any, position: int | None) -> NDArray[np.float64]:
        """Values of the machine of a point, in units of the target."""
        check_is_fitted(self)
        points = self._trace.points
        if position is None:
            point = self._chosen
        else:
            checks.whole("position", position, at_least=0, at_most=len(points) - 1)
            point = points[int(position)]
        with np.errstate(over="ignore", invalid="ignore"):
            K = self._bound.cross(point.weights, self._new_rows(X))
            values = K @ point.a + self._intercept(point)
            return refuse_infinite(self._mean + self._unit * values)

    def _new_rows(self, X: Any) -> NDArray[np.float64]:
        table = read_new(self, X)
        refuse_infinite_columns(table)
        self._check_columns(table)
        say_new_holes(table, self._holes)
        table = Imputer(self._fill).apply(table)
        # Far away a Gaussian kernel is 0, wherever that is; a polynomial goes on and on.
        farthest = FARTHEST if self.kernel == "gaussian" else np.inf
        return self._columns.transform(table.values, farthest)

    def _intercept(self, point: L1KRPoint) -> float:
        """Of a machine for the standardised target, whose kernel is less by 1."""
        inside = self._bound.at(point.weights).values @ point.a
        return float((self._target - inside - point.ridge * point.a).mean())

    # -- settings ----------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        checks.one_of("kernel", self.kernel, KERNELS)
        checks.one_of("solver", self.solver, SOLVERS)
        self._check_budget_or_ridge()
        checks.real("tol", self.tol, above=0)
        checks.flag("search_branches", self.search_branches)
        checks.flag("prune", self.prune)
        if isinstance(self.random_state, numbers.Integral):
            checks.whole("random_state", self.random_state, at_least=0)
        check_random_state(self.random_state)
        checks.whole("degree", self.degree, at_least=1)
        if self.max_features is not None:
            checks.whole("max_features", self.max_features, at_least=1)
        if self.solver == "ode" and not (self.ridge is None and self.max_features is None):
            raise ValueError(
                "solver='ode' has neither ridge nor max_features; use solver='homotopy' with them"
            )
        refuse_idle(self, IDLE)

    def _check_budget_or_ridge(self) -> None:
        """Refuse both, neither, and what is not positive."""
        named = isinstance(self.norm_budget, str)
        if named:
            checks.one_of("norm_budget", self.norm_budget, [AUTO], "a number or numbers")
        budget = None if named else self.norm_budget
        if self.ridge is not None and budget is not None:
            raise ValueError("give norm_budget or ridge, not both")
        if self.ridge is None and self.norm_budget is None:
            raise ValueError("give norm_budget or ridge; norm_budget='auto' tries several")
        _check_positive("norm_budget", budget)
        _check_positive("ridge", self.ridge)


class L1KRRegressor(ScoredRegressor, L1KRBase):
    r"""Kernel ridge regression with feature weights inside the kernel, along its L1 path [li2010]_.

    .. math:: \min_{\alpha, \alpha_0, d}\; \|y - K(d) \alpha - \alpha_0 1\|^2, \qquad
              \alpha^\top K(d) \alpha \le C,\; 1^\top d \le D,\; d \ge 0

    The weights are those of a Gaussian :math:`\exp(-\sum_k d_k (x_k - z_k)^2)`, or of a polynomial,
    so that effects of several features together count.  The problem is not convex; the path of its
    stationary points from :math:`D = 0` on is followed exactly, also where it turns back.

    Parameters
    ----------
    kernel : {"gaussian", "polynomial"}
        Of standardised columns.  The polynomial is
        :math:`(1 + \sum_k d_k x_k z_k / (1 + \sum_k d_k))^{degree}`.
    norm_budget : float, sequence of float, or "auto"
        ``C``, in units of the squared norm of the centred target.  Of several the one with the
        smallest error of rows left out is taken; "auto" stands for six from 0.01 to 4.
    ridge : float or sequence of float, optional
        Fix the multiplier of the norm, ``lambda``, instead of the norm itself; of several the best,
        as for ``norm_budget``.
    degree : int
        Of the polynomial.
    max_features : int, optional
        The path ends before one more feature than that gets a weight.  That is its beginning: a
        later point with as few features, as ``path_.at(n_features=3)`` of the whole path finds
        it, may be better.
    search_branches : bool
        Look for stationary points that the paths miss, by local searches from several starts; if
        one is better than its path, follow its branch in both directions, too, and keep the curve
        whose rows left out have the smaller error.  Not done with ``max_features``.
    solver : {"homotopy", "ode"}
        Arc length with a corrector, or the published differential equation, which is slower and
        has neither ``max_features`` nor ``ridge``.
    tol : float
        The path ends where more of the weights lowers the loss by no more than this, relative.
    random_state : int, RandomState or None
        Of the starts of the local searches.
    prune : bool
        Leave features out of the chosen point, from the smallest weight on, as long as rows left
        out are predicted as well without them, within one standard error of the paired
        difference.  Features that do not matter have small weights there, as they entered before
        the weights of the others were large enough.

    Attributes
    ----------
    path_ : FeaturePath
        All points of the curve that predicts; its parameter is the sum of the weights, which may
        fall, and ``path_.events`` says who enters, who leaves and where the path turns.
    paths_ : list of FeaturePath
        The path from zero weights, and the other branch where a better one was found.
    branch_ : str
        Which of them predicts: "from zero weights" or "another branch".
    position_ : int
        Point of the path with the smallest error of rows left out.
    weights_ : ndarray of shape (n_features,)
        Weights of standardised columns there, without the features that ``prune`` left out: those
        of the machine that predicts.
    support_ : ndarray of bool, shape (n_features,)
    ridge_, norm_budget_ : float
        ``norm_budget_`` is None where the ridge is fixed.
    leave_one_out_ : ndarray of shape (n_points,)
        Mean squared errors of rows left out, in closed form, at every point of ``path_``.
    dual_coef_ : ndarray of shape (n_samples,)
    intercept_ : float
        Of ``sum_i dual_coef_[i] (k(x_i, x) - 1) + intercept_``, for standardised columns.
    end_ : str
        Why the path ended.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early.
    ties_ : list of ndarray
        Columns that are nearly the same but for scale and shift: the first one stands for all.
    n_iter_ : int
        Derivatives computed.
    n_features_in_, feature_names_in_

    References
    ----------
    .. [li2010] Li, Sminchisescu. The feature selection path in kernel methods. AISTATS, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 5))
    >>> model = kp.L1KRRegressor(norm_budget=0.3).fit(X, X[:, 0] * X[:, 1])
    >>> np.argsort(-model.weights_)[:2].tolist()
    [1, 0]

    Any other point of the path predicts, too:

    >>> few = model.path_.at(n_features=3)
    >>> model.predict(X[:4], position=few.position).shape
    (4,)
    """

    _task = "regression"

    def _numbers(self, y: NDArray) -> NDArray[np.float64]:
        encode_target(y, task="regression")  # refuses what is no number, and constants
        return y.astype(np.float64)

    def predict(self, X: Any, position: int | None = None) -> NDArray[np.float64]:
        """Predict with the machine of a point of the path.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        position : int, optional
            Another point of ``path_`` than ``position_``, as
            ``model.path_.at(n_features=3).position``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._values(X, position)


class L1KRClassifier(ScoredClassifier, L1KRBase):
    r"""Two classes by `L1KRRegressor` on targets of -1 and 1.

    The loss is that of least squares, and so is the error of rows left out that chooses the point.
    The decision value is the predicted number; above 0 it means the second class of ``classes_``.
    For more classes wrap it in ``sklearn.multiclass.OneVsRestClassifier``: a path for each class.

    Parameters
    ----------
    kernel, norm_budget, ridge, degree, max_features, search_branches, solver, tol, random_state
        As for `L1KRRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    path_, paths_, branch_, position_, weights_, support_, ridge_, norm_budget_, leave_one_out_
        As for `L1KRRegressor`.
    dual_coef_, intercept_, end_, interrupted_, ties_, n_iter_, n_features_in_, feature_names_in_
        As for `L1KRRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> y = np.where(X[:, 1] * X[:, 2] > 0, "same", "other")
    >>> model = kp.L1KRClassifier(norm_budget=0.3).fit(X, y)
    >>> sorted(np.argsort(-model.weights_)[:2].tolist()), bool(model.score(X, y) > 0.9)
    ([1, 2], True)
    """

    _task = "classification"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _numbers(self, y: NDArray) -> NDArray[np.float64]:
        check_classification_targets(y)
        target = encode_target(y, task="classification")
        assert target.classes is not None
        self.classes_ = target.classes
        if len(self.classes_) > 2:
            raise DataError(
                f"Only binary classification is supported: y has {len(self.classes_)} classes. "
                "Wrap L1KRClassifier in sklearn.multiclass.OneVsRestClassifier."
            )
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def decision_function(self, X: Any, position: int | None = None) -> NDArray[np.float64]:
        """The predicted number: about -1 for the first class, and 1 for the second.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        position : int, optional
            Another point of ``path_`` than ``position_``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._values(X, position)

    def predict(self, X: Any, position: int | None = None) -> NDArray:
        """The class of the sign of the decision value.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        position : int, optional
            Another point of ``path_`` than ``position_``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        second = self.decision_function(X, position) > 0.0
        return np.asarray(self.classes_[second.astype(np.intp)])


def _check_positive(name: str, given: Any) -> None:
    """Refuse what is neither None, a positive number nor several."""
    if given is None:
        return
    values = np.atleast_1d(np.asarray(given, dtype=object)).tolist()
    if not values:
        raise ValueError(f"{name} must be a positive number or several, got none")
    for value in values:
        checks.real(name, value, above=0)


# -- what came of following the paths --------------------------------------------------------------


NOTHING = 1e-3  # of the target: a machine that explains less is no better than the mean
WORDS: dict[str, str] = {
    End.SPENT: "the ridge fell to zero before all rows were fitted: the norm budget is more than "
    "these features can use, as where rows with the same features have other targets. Lower "
    "norm_budget",
    End.STUCK: "steps became too short. Another norm_budget or a larger tol may lead farther",
    End.BLURRED: "rounding errors blur it, as where features are nearly the same or the ridge is "
    "tiny",
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """Curves that were followed.

    Attributes
    ----------
    trace : L1KRTrace
        The best path from zero weights, by rows left out.
    system : RidgeSystem
        Its equations.
    branch : Branch or None
        Another curve that is better somewhere.
    interrupted : str
        What Ctrl-C cut short; nothing if it did not.
    """

    trace: L1KRTrace
    system: RidgeSystem
    branch: Branch | None = None
    interrupted: str = ""

    @property
    def curves(self) -> list[L1KRTrace]:
        """The path, and the branch where there is one."""
        return [self.trace] if self.branch is None else [self.trace, self.branch]

    @property
    def best(self) -> L1KRTrace:
        """The curve whose best point has the smallest error of rows left out."""
        return min(self.curves, key=lambda one: one.points[one.best].leave_one_out)

    @property
    def best_system(self) -> RidgeSystem:
        """The equations of the best curve."""
        best = self.best
        return best.system if isinstance(best, Branch) else self.system

    def remarks(self, searched: bool) -> list[str]:
        """Sentences to warn with; ``searched`` says whether other branches were looked for."""
        found = []
        if self.interrupted:
            found.append(f"The fit was interrupted {self.interrupted}. What was found is kept.")
        if _explains_nothing(self.best.points[self.best.best]):
            hope = "" if searched else "; search_branches=True looks for effects in combination"
            found.append(
                "The chosen point predicts no better than the mean of the target: no feature says "
                f"anything about it by itself{hope}."
            )
        elif self._ended_early:
            found.append(
                f"The path ended early, after {counted(len(self.trace.points), 'point')}: "
                f"{WORDS.get(self.trace.end, self.trace.end)}. What was found is kept."
            )
        return found

    @property
    def _ended_early(self) -> bool:
        """Whether the path did; one that explains nothing does not count beside a branch."""
        if not self.trace.ended_early or self.trace.end == End.INTERRUPTED:
            return False
        return self.branch is None or not all(map(_explains_nothing, self.trace.points))


def _explains_nothing(point: L1KRPoint) -> bool:
    return point.loss > (1.0 - NOTHING) * len(point.a)  # of a standardised target


def _setting(system: RidgeSystem) -> dict[str, float]:
    """The norm budget or ridge of a path."""
    if system.fixed is not None:
        return {"chosen ridge": float(np.exp(system.fixed))}
    assert system.budget is not None
    return {"chosen norm_budget": system.budget / system.scale}

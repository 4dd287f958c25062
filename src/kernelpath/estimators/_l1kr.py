"""What the two L1KR estimators share: tables, paths of several budgets, and the fitted model."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelpath.errors import DataError
from kernelpath.estimators._base import PathSelector
from kernelpath.estimators._idle import Idle, refuse_idle
from kernelpath.estimators._l1kr_outcome import Outcome
from kernelpath.mkl.weighted_kernels.ard import ARDGaussian, ARDKernel, ARDNormalizedPolynomial
from kernelpath.path.feature_path import EventTable, FeaturePath
from kernelpath.tables.reading import read_new
from kernelpath.tables.standardize import FARTHEST, Columns, check_size
from kernelpath.tables.table import (
    Table,
    check_finite,
    refuse_infinite,
)
from kernelpath.tables.targets import as_vector
from kernelpath.tracers.l1kr.branches import Branch, search_branches
from kernelpath.tracers.l1kr.curve import End
from kernelpath.tracers.l1kr.equations import LEAST_RIDGE, NoRidge, RidgeSystem
from kernelpath.tracers.l1kr.trace import SOLVERS, L1KRTrace, trace_l1kr
from kernelpath.utils import checks
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.provenance import ANOTHER_BRANCH, FROM_ZERO
from kernelpath.utils.threads import one_thread_up_to
from kernelpath.utils.warn import warn

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
        table, y = self._check_table(X, y)
        self._check_columns(table)
        y = as_vector(y)
        if len(y) != table.shape[0]:
            raise DataError(f"X has {table.shape[0]} rows, but y has {len(y)} values.")
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
        check_finite(table)
        if table.categorical.any():
            text = np.flatnonzero(table.categorical)
            raise DataError(f"{table.sentence(text, 'holds', 'hold')} text; encode it as numbers.")

    def _numbers(self, y: NDArray) -> NDArray[np.float64]:
        """The target as numbers; remembers what they stand for."""
        raise NotImplementedError

    def _values(self, X: Any, position: int | None) -> NDArray[np.float64]:
        """Values of the machine of a point, in units of the target."""
        check_is_fitted(self)
        points = self._trace.points
        if position is None:
            position = self.position_
        checks.whole("position", position, at_least=0, at_most=len(points) - 1)
        point = points[int(position)]
        with np.errstate(over="ignore", invalid="ignore"):
            K = self._bound.cross(point.weights, self._new_rows(X))
            values = K @ point.a + self._intercept(int(position))
            return refuse_infinite(self._mean + self._unit * values)

    def _intercept(self, position: int) -> float:
        """Of a machine for the standardised target, whose kernel is less by 1."""
        point = self._trace.points[position]
        inside = self._bound.at(point.weights).values @ point.a
        return float((self._target - inside - point.ridge * point.a).mean())

    def _new_rows(self, X: Any) -> NDArray[np.float64]:
        table = read_new(self, X)
        self._check_columns(table)
        # Far away a Gaussian kernel is 0, wherever that is; a polynomial goes on and on.
        farthest = FARTHEST if self.kernel == "gaussian" else np.inf
        return self._columns.transform(table.values, farthest)

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
        # Where a path ends with all rows fitted, a smaller loss means little.
        runs = [one for one in found if one is best or one[1].end != End.SPENT]
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
        self.ridge_, self.dual_coef_ = point.ridge, self._unit * point.a
        self.intercept_ = self._mean + self._unit * self._intercept(self.position_)
        self.weights_ = self.path_[self.position_].weights
        self.support_ = self.path_[self.position_].support

    def _path(self, trace: L1KRTrace, system: RidgeSystem, table: Table, y: NDArray) -> FeaturePath:
        branch = ANOTHER_BRANCH if isinstance(trace, Branch) else FROM_ZERO
        weights = np.zeros((len(trace.points), table.shape[1]))
        weights[:, self._columns.places] = [point.weights for point in trace.points]
        held = weights > 0
        for row, point in zip(held, trace.points):
            row[self._columns.places[point.active]] = True
        parameters = np.array([point.radius for point in trace.points])
        return FeaturePath(
            method=METHOD,
            parameter_name="sum of weights",
            parameters=parameters,
            weights=sparse.csr_array(weights),
            supports=sparse.csr_array(held),
            values=[point.loss for point in trace.points],
            kkt=[point.residual for point in trace.points],
            gaps=np.full(len(trace.points), np.nan),
            events=self._events(trace),
            feature_names=table.names,
            provenance=self._describe(
                table, y, task=self._task, branch=branch, chosen=_setting(system)
            ),
        )

    def _events(self, trace: L1KRTrace) -> EventTable:
        found = [(i, point.event) for i, point in enumerate(trace.points) if point.event]
        if found and found[0][0] == 0:  # all features that the path starts with
            found[:1] = [(0, ("enter", int(k))) for k in trace.points[0].active]
        places = self._columns.places
        return EventTable(
            np.array([EventTable.KINDS.index(kind) for _, (kind, _) in found], dtype=np.int8),
            np.array([places[k] if k >= 0 else -1 for _, (_, k) in found], dtype=np.int64),
            np.array([trace.points[i].radius for i, _ in found]),
            np.array([i for i, _ in found], dtype=np.int64),
        )

    # -- settings ----------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        checks.one_of("kernel", self.kernel, KERNELS)
        checks.one_of("solver", self.solver, SOLVERS)
        self._check_budget_or_ridge()
        checks.real("tol", self.tol, above=0)
        checks.flag("search_branches", self.search_branches)
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


def _setting(system: RidgeSystem) -> dict[str, float]:
    """The norm budget or ridge of a path."""
    if system.fixed is not None:
        return {"chosen ridge": float(np.exp(system.fixed))}
    assert system.budget is not None
    return {"chosen norm_budget": system.budget / system.scale}


def _check_positive(name: str, given: Any) -> None:
    """Refuse what is neither None, a positive number nor several."""
    if given is None:
        return
    values = np.atleast_1d(np.asarray(given, dtype=object)).tolist()
    if not values:
        raise ValueError(f"{name} must be a positive number or several, got none")
    for value in values:
        checks.real(name, value, above=0)

"""NMMKLSelector: the best features for a budget, by non-monotonic multiple kernel learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from kernelpath.errors import DataError, FewerFeaturesWarning, SameColumnsWarning
from kernelpath.estimators._base import PathSelector, budgets_of, budgets_up_to, check_budgets
from kernelpath.estimators._gmkl_kernels import training_kernel
from kernelpath.mkl.losses import DualProblem, EpsilonInsensitive, HuberHinge
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import NoRegularizer
from kernelpath.mkl.solvers.base import CONVERGED
from kernelpath.mkl.weighted_kernels.base import SumKernel
from kernelpath.mkl.weighted_kernels.grouped import GroupedKernels
from kernelpath.path.build import build_path
from kernelpath.path.feature_path import FeaturePath
from kernelpath.tables.constant import report_constant
from kernelpath.tables.constraints import Constraints, columns_of, unit_of_columns
from kernelpath.tables.table import Table
from kernelpath.tables.targets import (
    against_rest,
    as_vector,
    check_lengths,
    encode_target,
    infer_task,
)
from kernelpath.tracers.nmmkl import BudgetPoint, published_bound, trace_budgets
from kernelpath.tracers.nmmkl_rounding import RULES
from kernelpath.utils import checks
from kernelpath.utils.checks import Idle, refuse_idle
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.threads import one_thread_up_to
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

METHOD = "nmmkl"
ONE_THREAD_ROWS = 1000
LARGEST, LEAST_TOL = 1e12, 1e-10
SOLVERS = ("auto", "newton", "spg", "pgd", "working_set", "primal", "clarabel")
MOST_BOUND_ROWS = 2000  # more rows: the bound of Theorem 4 would take longer than the path
SAME = 1e-10  # relative: quadratic forms as close as that are those of one kernel
N_PROBES = 3
IDLE = (
    Idle("epsilon", lambda own: own._task == "classification",
         "on classes: it is that of the loss for numbers"),
)  # fmt: skip


class NMMKLSelector(PathSelector):
    r"""The best features for a budget: a choice for each budget of its own [yang2015]_.

    .. math:: \min_{|S| = m}\; \omega(S), \qquad \omega(S) = \min_{w, b} \tfrac12 \|w\|^2
              + \sum_i \ell(y_i, f_S(x_i))

    where the machine sees the features of ``S`` only.  The best two need not contain the best
    one.  The choice comes from the convex relaxation with weights between 0 and 1 and is improved
    by exchanges; its dual bound certifies how much better any other choice could be.

    Parameters
    ----------
    n_features_to_select : int, sequence of int, or "all", optional
        Budget; or several, or all from 1 on: then ``path_`` holds them all, and the largest one
        is selected.  Default: all from 1 to 10, or as many as there are.
    C : float
        Cost of errors.
    ridge : float
        The paper's tau: errors up to ``ridge * C`` cost their square.  0 is the plain loss.
    task : {"auto", "classification", "regression"}
    kernel : {"linear", "rbf", "polynomial", "laplace", "delta", "auto", "multi", "bandwidths"} \
or FeatureKernel
        Kernel of a feature, centred and of mean diagonal 1.  A linear one standardises the column.
    epsilon : float
        Regression: errors up to this size, in standard deviations of the target, cost nothing.
    rounding : {"swap", "weights", "paper"}
        From the relaxed weights to features: the largest weights, improved by exchanges; or the
        largest weights, which is also the published rule, by the quadratic forms of an interior
        point method.
    feature_groups : list of lists of columns, dict of them by name, or labels, optional
        Columns that go in or out together, such as those of a variable that was split into
        indicators: by name, position or pattern (``"color_*"``), or as one label for each column.
        A group is one feature of the budget; its kernel is the mean of those of its columns.
    must_include : sequence of str or int, or mask, optional
        Columns that are in every choice, with the whole group of each; also where they are constant
        and say nothing.
    solver : {"auto", "newton", "spg", "pgd", "working_set", "primal", "clarabel"}
        Of the relaxation.  "primal" needs no kernel matrix, but a ridge; "clarabel" is an interior
        point method and an optional dependency.
    tol : float
        Relative gap of the relaxation to reach.
    max_iter : int, optional
    groups : optional
        Another name for ``feature_groups``.

    Attributes
    ----------
    path_ : FeaturePath
        One point for each budget; supports need not be nested, and ``path_.events`` says who
        enters and who leaves.  Selected features have weight 1.
    support_ : ndarray of bool, shape (n_features,)
    relaxed_weights_ : ndarray of shape (n_features,)
        Weights of the relaxation, between 0 and 1.
    gap_ : float
        How far the objective of the relaxation is above its optimum at most, relative.
    ratio_ : float
        Objective of the choice relative to the dual bound: no other choice of as many features is
        better by a larger factor.
    bound_ : float
        Theorem 4 of the paper, known before rounding; `ratio_` is no larger, up to ``tol``.
    marginal_value_ : float
        What one more feature would be worth: the multiplier of the budget.
    budgets_, ratios_, bounds_, marginal_values_ : ndarray of shape (n_budgets,)
        The same for every budget.
    relaxed_path_ : ndarray of shape (n_budgets, n_features)
    ties_ : list of ndarray
        Columns that no target can tell apart; which of them is chosen means nothing.
    objective_, n_svm_, n_iter_, n_features_in_, feature_names_in_, classes_

    References
    ----------
    .. [yang2015] Yang, Xu, Lyu, King. Budget constrained non-monotonic feature selection. Neural
       Networks, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([-1, 1], 100)
    >>> e, f, g = rng.normal(size=(3, 200))
    >>> X = np.column_stack([1.1 * y + e, 1.1 * y - e + 0.4 * f, 1.55 * y + g])
    >>> path = kp.NMMKLSelector([1, 2], C=0.1).fit(X, y).path_
    >>> path[0].names, path[1].names
    (('x2',), ('x0', 'x1'))
    """

    def __init__(
        self,
        n_features_to_select: Any = None,
        C: float = 1.0,
        ridge: float = 0.1,
        *,
        task: str = "auto",
        kernel: Any = "linear",
        epsilon: float = 0.1,
        rounding: str = "swap",
        feature_groups: Any = None,
        must_include: Any = None,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        groups: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.C = C
        self.ridge = ridge
        self.task = task
        self.kernel = kernel
        self.epsilon = epsilon
        self.rounding = rounding
        self.feature_groups = feature_groups
        self.must_include = must_include
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.groups = groups

    def fit(self, X: Any, y: ArrayLike) -> NMMKLSelector:
        """Choose the features of every budget.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        NMMKLSelector
        """
        self._check_settings()
        table, y = self._check_table(X, y)
        with progress_bar(), one_thread_up_to(ONE_THREAD_ROWS, table.shape[0]):
            begin("kernels")
            problem, columns = self._problem(table, as_vector(y))
            self._trace(problem, columns, table, y)
        return self

    def _problem(self, table: Table, y: NDArray) -> tuple[Problem, list[NDArray[np.intp]]]:
        """The machine and its kernels, one for each unit of the budget; the columns of each."""
        duals = self._duals(y)
        check_lengths(table.shape[0], y)
        bound = training_kernel("sum", self.kernel, True, table, parameter="kernel")
        if (bound.features < 0).any():
            raise ValueError(
                f"kernel={self.kernel!r} has kernels of several columns, which no budget can "
                "count; take one kernel per column, such as 'bandwidths'"
            )
        units = self._units(table)
        constraints = Constraints.read(table, self.must_include, units)
        report_constant(
            table, bound.constant, brought=None if constraints is None else constraints.brought
        )
        # Constant columns have no kernel to speak of: they are no units.
        usable = ~bound.constant[bound.features]
        kept = np.unique(units[bound.features[usable]])
        place = np.full(units.max() + 1, -1)
        place[kept] = np.arange(len(kept))
        kernel: Any = bound.kernel
        own = place[units[bound.features]]
        if not usable.all():
            kernel = kernel.restrict(np.flatnonzero(usable))
        if kernel.n_kernels != len(kept):
            kernel = GroupedKernels(kernel, own[usable])
        fixed = np.unique(units[columns_of(self.must_include, table)])
        self._fixed = tuple(place[fixed[place[fixed] >= 0]].tolist())
        # Units that are constant altogether have no kernel, but they are in if they must be.
        self._still = np.flatnonzero(np.isin(units, fixed[place[fixed] < 0]))
        self._n_still = int(np.sum(place[fixed] < 0))
        self._constant = bound.constant
        columns = [np.flatnonzero(units == unit) for unit in kept]
        return Problem(kernel, duals, NoRegularizer()), columns

    def _units(self, table: Table) -> NDArray[np.intp]:
        """Unit of the budget that each column belongs to."""
        if self.groups is None:
            return unit_of_columns(self.feature_groups, table)
        if self.feature_groups is not None:
            raise ValueError("groups is another name for feature_groups; give one of them")
        return unit_of_columns(self.groups, table, "groups")

    def _duals(self, y: NDArray) -> tuple[DualProblem, ...]:
        task = infer_task(y, self.task)
        target = encode_target(y, task=task)
        self._task = task
        refuse_idle(self, IDLE)
        if task == "regression":
            if hasattr(self, "classes_"):
                del self.classes_
            scaled = target.columns[:, 1]
            return (EpsilonInsensitive(self.C, self.epsilon, self.ridge).dual(scaled),)
        assert target.classes is not None
        self.classes_: NDArray = target.classes
        loss = HuberHinge(self.C, self.ridge)
        return tuple(loss.dual(signs) for signs in against_rest(y, self.classes_))

    def _budgets(self, n_units: int, n_fixed: int, least: int) -> list[int]:
        """Budgets in increasing order; what exceeds the usable features is cut, with a warning.

        Of several budgets those without room for the fixed features are left out.
        """
        given = self.n_features_to_select
        unnamed = budgets_up_to(given, n_units, least)
        if unnamed is not None:
            return unnamed
        asked = np.unique(budgets_of(given))
        if asked[0] < 1:
            raise DataError(f"n_features_to_select must be at least 1, got {asked[0]}.")
        if asked[-1] < least:
            room = "has no room for the" if n_fixed > asked[-1] else "is spent on the constant"
            raise DataError(
                f"a budget of {asked[-1]} {room} {counted(n_fixed, 'feature')} of must_include."
            )
        if asked[-1] > self.n_features_in_:
            raise DataError(
                f"n_features_to_select must be at most {self.n_features_in_}, the number of "
                f"columns, got {asked[-1]}."
            )
        if asked[-1] > n_units:
            warn(
                f"n_features_to_select={asked[-1]}, but only {counted(n_units, 'feature')} can "
                "be chosen (groups count once, constant columns not at all).",
                FewerFeaturesWarning,
            )
        return sorted({int(min(budget, n_units)) for budget in asked[asked >= least]})

    def _trace(
        self, problem: Problem, columns: list[NDArray[np.intp]], table: Table, y: NDArray
    ) -> None:
        still, n_fixed = self._n_still, len(self._fixed)
        n_units, least = problem.kernel.n_kernels + still, max(n_fixed, 1) + still
        budgets = self._budgets(n_units, n_fixed + still, least)
        update = begin("budgets")
        options = {} if self.max_iter is None else {"max_iter": self.max_iter}
        points = list(
            trace_budgets(
                problem,
                [budget - still for budget in budgets],
                fixed=self._fixed,
                rounding=self.rounding,
                solver=self.solver,
                tol=self.tol,
                tell=lambda done: update(done, len(budgets)),
                **options,
            )
        )
        self._warn(points)
        few = problem.kernel.n_rows <= MOST_BOUND_ROWS
        self.budgets_ = np.array(budgets)
        self.ratios_ = np.array([one.ratio for one in points])
        self.marginal_values_ = np.array([one.marginal_value for one in points])
        self.bounds_ = np.array(
            [published_bound(problem, one.relaxed) if few else np.nan for one in points]
        )
        self.relaxed_path_ = self._on_columns([one.relaxed.weights for one in points], columns)
        self.path_ = self._path(points, columns, table, y)
        self.ties_ = [
            np.sort(np.concatenate([columns[unit] for unit in group]))
            for group in twins(problem.kernel)  # type: ignore[arg-type]
        ]
        self._keep(points)
        self._state_ties()
        if self.objective_ <= 0.0:
            warn(
                "Nothing is left to explain: all errors are within epsilon, and any choice is as "
                "good. Lower epsilon.",
            )

    def _on_columns(
        self, rows: list[NDArray[np.float64]], columns: list[NDArray[np.intp]]
    ) -> NDArray[np.float64]:
        """Numbers of units as numbers of columns."""
        full = np.zeros((len(rows), self.n_features_in_))
        for unit, own in enumerate(columns):
            full[:, own] = np.array([row[unit] for row in rows])[:, None]
        return full

    def _path(
        self,
        points: list[BudgetPoint],
        columns: list[NDArray[np.intp]],
        table: Table,
        y: NDArray,
    ) -> FeaturePath:
        chosen = self._on_columns([one.choice.at.weights for one in points], columns) > 0
        chosen[:, self._still] = True
        return build_path(
            method=METHOD,
            parameter_name="budget",
            parameters=self.budgets_.astype(np.float64),
            weights=(chosen & ~self._constant).astype(np.float64),
            supports=chosen,
            values=[one.objective for one in points],
            kkt=[one.relaxed.residual for one in points],
            gaps=[one.relaxed.gap for one in points],
            feature_names=table.names,
            provenance=self._describe(table, y, task=self._task),
        )

    def _keep(self, points: list[BudgetPoint]) -> None:
        """Fitted attributes of the largest budget."""
        last = points[-1]
        self.support_ = self.path_[-1].support
        self.relaxed_weights_ = self.relaxed_path_[-1]
        self.gap_, self.objective_ = last.relaxed.gap, last.objective
        self.ratio_, self.bound_ = float(self.ratios_[-1]), float(self.bounds_[-1])
        self.marginal_value_ = float(self.marginal_values_[-1])
        self.n_svm_ = sum(one.n_svm for one in points)
        self.n_iter_ = max(1, *(one.relaxed.n_iter for one in points))

    def _warn(self, points: list[BudgetPoint]) -> None:
        missed = [one for one in points if one.relaxed.status != CONVERGED]
        if missed:
            worst = max(one.relaxed.gap or np.inf for one in missed)
            warn(
                f"At {len(missed)} of {len(points)} budgets the relaxation did not reach "
                f"tol={self.tol:g}; the largest certified gap is {worst:.1e}. Raise max_iter or "
                "tol.",
                ConvergenceWarning,
            )

    def _state_ties(self) -> None:
        """Warn where a choice between columns that are the same was made."""
        names = self.path_.feature_names

        def shown(ties: list[NDArray[np.intp]]) -> str:
            return "; ".join(", ".join(repr(str(names[j])) for j in tie[:5]) for tie in ties[:3])

        chosen = [int(self.support_[tie].sum()) for tie in self.ties_]
        split = [tie for tie, count in zip(self.ties_, chosen) if 0 < count < len(tie)]
        if split:
            warn(
                f"Some selected columns have twins that explain exactly as much: {shown(split)}. "
                "Which of them was chosen means nothing; ties_ lists them.",
                SameColumnsWarning,
            )
        copies = [tie[self.support_[tie]] for tie, count in zip(self.ties_, chosen) if count > 1]
        if copies:
            warn(
                f"Some selected columns are copies of each other: {shown(copies)}. Leave out all "
                "but one of them to spend the budget on others.",
                SameColumnsWarning,
            )

    def _check_settings(self) -> None:
        for name in ("C", "tol", "ridge", "epsilon"):
            value = getattr(self, name)
            if name in ("C", "tol"):
                checks.real(name, value, above=0, must=checks.POSITIVE)
            else:
                checks.real(name, value, at_least=0, must=checks.NOT_NEGATIVE)
            checks.real(name, value, at_most=LARGEST, must=f"be at most {LARGEST:g}")
        least = f"be at least {LEAST_TOL:g}: rounding errors"
        checks.real("tol", self.tol, at_least=LEAST_TOL, must=least)
        if self.max_iter is not None:
            checks.whole("max_iter", self.max_iter, at_least=1)
        checks.one_of("rounding", self.rounding, RULES)
        checks.one_of("solver", self.solver, SOLVERS)
        check_budgets(self.n_features_to_select)


# -- columns that are the same ---------------------------------------------------------------------


def twins(kernel: SumKernel) -> list[NDArray[np.intp]]:
    """Kernels that are the same, as sets of at least two: no target can tell them apart.

    Equal quadratic forms of random vectors mean equal kernels.

    Examples
    --------
    >>> from kernelpath.mkl.weighted_kernels.storage import FactorKernels
    >>> x = np.array([1.0, -2.0, 1.0])
    >>> twins(FactorKernels(np.array([x, [0.0, 1.0, -1.0], -x]), np.arange(4)))
    [array([0, 2])]
    """
    rng = np.random.default_rng(0)
    probes = [rng.normal(size=(kernel.n_rows, 1)) for _ in range(N_PROBES)]
    forms = np.array([kernel.quad(probe) for probe in probes])
    order = np.lexsort(forms)
    size = np.abs(forms).max(axis=0)
    apart = np.abs(np.diff(forms[:, order], axis=1)) > SAME * size[order[1:]]
    runs = np.split(order, np.flatnonzero(apart.any(axis=0)) + 1)
    return [np.sort(run) for run in runs if len(run) > 1]

"""What the estimators of generalised multiple kernel learning share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelpath.errors import DataError
from kernelpath.estimators._base import PathSelector
from kernelpath.estimators._gmkl_kernels import TrainingKernel
from kernelpath.estimators._gmkl_parts import IDLE, check_parts, probe_parts
from kernelpath.estimators._gmkl_presets import PRESETS
from kernelpath.estimators._gmkl_tables import Reader, reader_for
from kernelpath.estimators._idle import refuse_idle
from kernelpath.mkl.feasible_sets import NonNegative
from kernelpath.mkl.losses import LOSSES, Loss
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import L1
from kernelpath.mkl.solvers.base import CONVERGED, STALLED, Solution
from kernelpath.mkl.solvers.choice import solve
from kernelpath.mkl.solvers.fixed import svm_at, weights_by_rule
from kernelpath.mkl.solvers.start import natural_start
from kernelpath.tables.reading import one_column
from kernelpath.tables.rows import DistinctRows, shares_of
from kernelpath.tables.table import Table, refuse_infinite, report_constant
from kernelpath.tables.targets import as_vector, check_sample_weight
from kernelpath.tracers import gmkl_strengths as regularizing
from kernelpath.tracers.gmkl import feature_weights, path_of, trace
from kernelpath.utils import checks
from kernelpath.utils.progress import begin, progress_bar, working
from kernelpath.utils.threads import one_thread_up_to
from kernelpath.utils.warn import warn

METHOD = "gmkl"
ONE_THREAD_ROWS = 1000
FEWER = 4  # times that a default strength which leaves nothing is divided


class GMKLBase(PathSelector):
    """What classifier and regressor share."""

    @property
    def weights_inside(self) -> bool:
        """Whether the weights are inside one kernel of all features, and not those of a sum."""
        return isinstance(self.kernel, str) and self.kernel in ("product", "polynomial")

    @classmethod
    def preset(cls, name: str, **params: Any) -> Self:
        """An estimator with the settings of a published method.

        Parameters
        ----------
        name : {"simple_mkl", "lp_mkl", "product_l1", "uniform", "centered_kta", \
"square_loss_lp_mkl"}
            SimpleMKL (weights on the simplex), lp-norm MKL (p = 4/3), the product of Gaussian
            kernels with an l1 norm, equal weights, weights by centred kernel-target alignment, or
            lp-norm MKL with square loss as a path over p.
        **params
            Settings of your own, which replace those of the preset.

        Examples
        --------
        >>> import kernelpath as kp
        >>> kp.GMKLClassifier.preset("uniform", C=10.0)
        GMKLClassifier(C=10.0, weights='uniform')
        """
        checks.one_of("preset", name, PRESETS)
        return cls(**(PRESETS[name] | params))

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
        """Learn weights and machine, and with `strengths` or `exponents` the path.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
            With ``kernel="precomputed"`` the kernel matrices: a list, a dict from names, or an
            array of shape (n_kernels, n_samples, n_samples).
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as one that is there twice, and one of weight 0 as one that
            is not there: in the loss and in widths, means and scales of the kernels.  For hinge
            and eps-insensitive losses; the others take weights of 0 and 1 only.  A kernel object
            of your own sees the rows with a weight, once each.

        Returns
        -------
        self
        """
        self._check_settings()
        self._forget()
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        with progress_bar():
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: ArrayLike, sample_weight: Any) -> None:
        begin("reading")
        self._reader: Reader = reader_for(self.kernel)
        table = self._reader.read(self, X)
        y = as_vector(one_column(y))
        if len(y) != table.shape[0]:
            raise DataError(f"X has {table.shape[0]} rows, but y has {len(y)} values.")
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, len(y))
        loss = self._checked_loss()
        merge = getattr(loss, "takes_weights", False)
        self._rows: DistinctRows = self._reader.rows(table, y, sample_weight, merge)
        targets = self._targets(y[self._rows.first], self._rows.weight)
        duals = tuple(loss.dual(target, self._rows.weight) for target in targets)
        feasible = NonNegative() if self.feasible is None else self.feasible
        with one_thread_up_to(ONE_THREAD_ROWS, len(y)):
            begin("kernels")
            self._bound: TrainingKernel = self._reader.bind(self, table, self._rows)
            self._bound = self._bound.without_constant()
            report_constant(table, self._bound.constant, what=self._reader.unit)
            if self.nystrom is not None:
                self.trace_left_out_ = self._bound.kernel.left_out  # type: ignore[attr-defined]
            self._learn(Problem(self._bound.kernel, duals, L1(), feasible), table, y)

    def _learn(self, problem: Problem, table: Table, y: NDArray) -> None:
        probe_parts(self, problem)
        if not (isinstance(self.weights, str) and self.weights == "learn"):
            begin("weights by a rule")
            weights = weights_by_rule(problem, self.weights, shares_of(self._rows.weight))
            self._keep(svm_at(problem, weights, self.tol))
        elif self.strengths is None and self.exponents is None:
            begin("weights")
            self._keep(self._solve(problem))
        else:
            solutions = self._trace(problem, table, y)
            missed = sum(one.status != CONVERGED for one in solutions)
            chosen = solutions[self._position(self.n_features_to_select)]
            self._keep(chosen, missed, len(solutions))

    def _trace(self, problem: Problem, table: Table, y: NDArray) -> list[Solution]:
        """Set the path, and return its solutions."""
        if self.exponents is None:
            name = "strength"
            parameters, steps = regularizing.along_strengths(
                self.regularizer, problem, self.strengths, self.smallest_ratio
            )
        else:
            name = "p"
            parameters, steps = regularizing.along_exponents(
                self.regularizer, problem, self.exponents
            )
        update = begin("path")
        # Of several optima, the one that comes from many features is the better one: features
        # that act only together are not found from none.
        order = slice(None) if problem.is_convex else slice(None, None, -1)
        solutions = list(
            trace(
                problem,
                steps[order],
                solver=self.solver,
                tell=lambda done: update(done, len(steps)),
                **self._options(),
            )
        )[order]
        self.path_ = path_of(
            solutions,
            parameters,
            self._bound.features,
            table.shape[1],
            method=METHOD,
            parameter_name=name,
            feature_names=table.names,
            provenance=self._describe(table, y, task=self._task),
        )
        return solutions

    def _solve(self, problem: Problem) -> Solution:
        """Best of ``n_init`` runs; convex problems need one."""
        regularizer = regularizing.at_one_point(self.regularizer, problem)
        problem = Problem(problem.kernel, problem.duals, regularizer, problem.feasible)
        found = solve(problem, self.solver, **self._options())
        for _ in range(FEWER if self.regularizer is None and problem.is_convex else 0):
            if found.weights.any():
                break
            weaker = regularizing.weaker(problem.regularizer)
            problem = Problem(problem.kernel, problem.duals, weaker, problem.feasible)
            found = solve(problem, self.solver, **self._options())
        rng = check_random_state(self.random_state)
        for _ in range(1, 1 if problem.is_convex else self.n_init):
            start = natural_start(problem, None)
            start = start * rng.uniform(0.0, 2.0, size=len(start))
            other = solve(problem, self.solver, start, **self._options())
            if other.objective < found.objective:
                found = other
        return found

    def _position(self, n_features: Any) -> int:
        """Place of the point to keep: the last, or the one with as many features as asked for."""
        if n_features is None:
            return len(self.path_) - 1
        sizes = self.path_.n_selected
        whole = checks.is_whole(n_features)
        if whole and 0 < n_features <= self.n_features_in_ and not (sizes == n_features).any():
            smaller = int(sizes[sizes < n_features].max(initial=0))
            warn(
                f"No point of the path has exactly {n_features} features; the one with {smaller} "
                "is kept. More points may have one.",
            )
            n_features = smaller
        point = self._choose_point(self.path_, n_features)
        return int(np.flatnonzero(sizes == point.n_selected)[-1])

    def _keep(self, solution: Solution, missed: int = 0, n_points: int = 1) -> None:
        """Fitted attributes of one solution."""
        if solution.status != CONVERGED or missed:
            warn(self._shortfall(solution, missed, n_points), ConvergenceWarning)
        if not solution.weights.any():
            warn(
                "No kernel has a weight: the model is a constant. Give the regularizer less "
                "strength, or raise C.",
            )
        self.weights_ = solution.weights
        self.feature_importances_ = feature_weights(
            solution.weights, self._bound.features, self.n_features_in_
        )
        self.support_ = self.feature_importances_ > 0
        self.dual_coef_ = self._rows.spread(solution.at.U.T)
        self.intercept_ = np.array([one.bias for one in solution.at.solutions])
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.residual_ = solution.residual
        self.n_svm_, self.n_iter_ = solution.n_svm, solution.n_iter
        self.status_ = solution.status

    def _shortfall(self, solution: Solution, missed: int, n_points: int) -> str:
        """How far the solver stayed behind the tolerance."""
        if solution.status == CONVERGED:
            return (
                f"At {missed} of {n_points} points of the path tol={self.tol:g} was not reached; "
                "path_.gaps and path_.kkt say where. Raise max_iter or tol."
            )
        state = f"a stationarity residual of {solution.residual:.1e}"
        if solution.gap is not None:
            state = f"a certified gap of {solution.gap:.1e}"
        way = "raise tol, or try another solver" if solution.status == STALLED else "raise max_iter"
        return (
            f"The solver stopped ({solution.status}) with {state} where tol={self.tol:g} was "
            f"asked for; {way}."
        )

    def _forget(self) -> None:
        """Take away what an earlier fit with other settings left."""
        for name in ("path_", "trace_left_out_"):
            if hasattr(self, name):
                delattr(self, name)

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"tol": self.tol}
        return options if self.max_iter is None else options | {"max_iter": self.max_iter}

    def _check_settings(self) -> None:
        for name in ("C", "tol", "smallest_ratio"):
            value = getattr(self, name)
            if not (name == "smallest_ratio" and value is None):
                checks.real(name, value, above=0, bools=True)
        if self.tol >= 1:
            raise ValueError(f"tol is a relative gap and must be smaller than 1, got {self.tol!r}")
        for name in ("n_init", "max_iter"):
            value = getattr(self, name)
            if not (name == "max_iter" and value is None):
                checks.whole(name, value, at_least=1, must="be at least 1, a whole number")
        check_parts(self.regularizer, self.feasible, self.loss)
        if self.strengths is not None and self.exponents is not None:
            raise ValueError("a path goes over strengths or over exponents; leave out one")
        regularizing.check_points("strengths", self.strengths)
        regularizing.check_points("exponents", self.exponents)
        refuse_idle(self, IDLE)
        self._check_ratio()

    def _check_ratio(self) -> None:
        """The strengths of a path that is given by their number fall to a part of the largest."""
        counted = self.strengths is not None and np.ndim(self.strengths) == 0
        if counted and self.smallest_ratio is not None:
            checks.real("smallest_ratio", self.smallest_ratio, below=1, must="be smaller than 1")

    def _checked_loss(self) -> Loss:
        """The loss that was given, by name with cost `C`, or the default."""
        if not isinstance(self.loss, str):
            return self._default_loss() if self.loss is None else self.loss
        checks.one_of("loss", self.loss, self._losses, "a loss")
        if self.loss == "epsilon_insensitive":
            return self._default_loss()
        return LOSSES[self.loss](self.C)

    @working("predictions")
    def _values(self, X: Any) -> NDArray[np.float64]:
        """Decision values of new rows, one column per output."""
        check_is_fitted(self, "weights_")
        new = self._reader.read_new(self, X)
        own = self._rows.gather(self.dual_coef_)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._bound.values(self.weights_, new, own.T) + self.intercept_
        return refuse_infinite(values)

    def transform(self, X: Any) -> Any:
        """Keep the selected features; of given kernel matrices, the selected ones as a list."""
        check_is_fitted(self, "weights_")
        chosen = self._reader.transform(self, X)
        return super().transform(X) if chosen is None else chosen

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def _targets(self, y: NDArray, sample_weight: Any) -> list[NDArray[np.float64]]:
        raise NotImplementedError

    def _default_loss(self) -> Loss:
        raise NotImplementedError

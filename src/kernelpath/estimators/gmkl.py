"""GMKLClassifier and GMKLRegressor: generalised multiple kernel learning as estimators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from kernelpath.estimators._base import (
    PathSelector,
    ScoredClassifier,
    ScoredRegressor,
    require_target,
)
from kernelpath.estimators._gmkl_kernels import Reader, TrainingKernel, reader_for
from kernelpath.estimators._gmkl_settings import (
    IDLE,
    by_rule,
    check_objects,
    probe_objects,
    traces,
)
from kernelpath.mkl.convergence import ConvergenceHistory
from kernelpath.mkl.feasible_sets import NonNegative, Simplex
from kernelpath.mkl.losses import LOSSES, EpsilonInsensitive, Hinge, Loss
from kernelpath.mkl.problem import Problem
from kernelpath.mkl.regularizers import L1, Lp, NoRegularizer
from kernelpath.mkl.solvers.base import CONVERGED, STALLED, Solution, natural_start
from kernelpath.mkl.solvers.choice import solve
from kernelpath.mkl.solvers.fixed import svm_at, weights_by_rule
from kernelpath.tables.constant import report_constant
from kernelpath.tables.constraints import constraints_of
from kernelpath.tables.missing import with_targets
from kernelpath.tables.reading import one_column
from kernelpath.tables.rows import DistinctRows, mean_of, shares_of, spread_of
from kernelpath.tables.table import Table, refuse_infinite
from kernelpath.tables.targets import (
    against_rest,
    as_vector,
    check_lengths,
    check_sample_weight,
    encode_target,
)
from kernelpath.tracers import gmkl as tracing
from kernelpath.tracers.gmkl import feature_weights, path_of, trace
from kernelpath.utils import checks
from kernelpath.utils.checks import refuse_idle
from kernelpath.utils.progress import begin, progress_bar, working
from kernelpath.utils.threads import one_thread_up_to
from kernelpath.utils.units import in_units, size_exponent
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

METHOD = "gmkl"
ONE_THREAD_ROWS = 1000
FEWER = 4  # times that a default strength which leaves nothing is divided
#: Published methods as settings.
PRESETS: dict[str, dict[str, Any]] = {
    # Rakotomamonjy, Bach, Canu, Grandvalet, JMLR 2008: weights that sum to one.
    "simple_mkl": {
        "base_kernel": "simple_mkl", "feasible": Simplex(1.0), "regularizer": NoRegularizer(),
    },
    # Kloft, Brefeld, Sonnenburg, Zien, JMLR 2011.
    "lp_mkl": {"regularizer": Lp(4.0 / 3.0)},
    # Varma and Babu, ICML 2009; Jain, Vishwanathan, Varma, KDD 2012.
    "product_l1": {"kernel": "product"},
    "uniform": {"weights": "uniform"},
    # Cortes, Mohri, Rostamizadeh, JMLR 2012, Proposition 9.
    "centered_kta": {"weights": "centered_kta"},
    # Eq. (7) of the lp-KTA paper: lambda_2 is strength / p, and C is twice lambda_1.
    "square_loss_lp_mkl": {"loss": "least_squares", "regularizer": Lp(2.0), "exponents": 21},
}  # fmt: skip


class GMKLBase(PathSelector):
    """What classifier and regressor share: all but the target and the default loss."""

    _task: str
    _losses: tuple[str, ...]

    def __init__(
        self,
        kernel: Any = "sum",
        regularizer: Any = None,
        C: float = 1.0,
        *,
        base_kernel: Any = "auto",
        feasible: Any = None,
        loss: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        strengths: Any = None,
        exponents: Any = None,
        smallest_ratio: float | None = None,
        n_features_to_select: int | None = None,
        n_init: int = 1,
        standardize: bool = True,
        weights: Any = "learn",
        nystrom: int | None = None,
        random_state: Any = None,
        must_include: Any = None,
        feature_groups: Any = None,
    ) -> None:
        self.kernel = kernel
        self.regularizer = regularizer
        self.C = C
        self.base_kernel = base_kernel
        self.feasible = feasible
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.strengths = strengths
        self.exponents = exponents
        self.smallest_ratio = smallest_ratio
        self.n_features_to_select = n_features_to_select
        self.n_init = n_init
        self.standardize = standardize
        self.weights = weights
        self.nystrom = nystrom
        self.random_state = random_state
        self.must_include = must_include
        self.feature_groups = feature_groups

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
        require_target(self, y)
        with progress_bar():
            self._fit(X, y, sample_weight)
        return self

    def _forget(self) -> None:
        """Take away what an earlier fit with other settings left."""
        for name in ("path_", "trace_left_out_"):
            if hasattr(self, name):
                delattr(self, name)

    def _fit(self, X: Any, y: ArrayLike, sample_weight: Any) -> None:
        begin("reading")
        self._reader: Reader = reader_for(self.kernel)
        table = self._reader.read(self, X)
        table, y, sample_weight = with_targets(table, one_column(y), sample_weight)
        y = as_vector(y)
        check_lengths(table.shape[0], y)
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
            self._constraints = constraints_of(self, table)
            brought = None if self._constraints is None else self._constraints.brought
            report_constant(table, self._bound.constant, self._reader.unit, brought)
            if self.nystrom is not None:
                self.trace_left_out_ = self._bound.kernel.left_out  # type: ignore[attr-defined]
            if self._constraints is not None:
                self._bound = self._bound.taken_together(self._constraints)
            self._learn(Problem(self._bound.kernel, duals, L1(), feasible), table, y)

    def _checked_loss(self) -> Loss:
        """The loss that was given, by name with cost `C`, or the default."""
        if not isinstance(self.loss, str):
            return self._default_loss() if self.loss is None else self.loss
        checks.one_of("loss", self.loss, self._losses, "a loss")
        if self.loss == "epsilon_insensitive":
            return self._default_loss()
        return LOSSES[self.loss](self.C)

    def _targets(self, y: NDArray, sample_weight: Any) -> list[NDArray[np.float64]]:
        """The target as numbers, one for each output; remembers what they stand for."""
        raise NotImplementedError

    def _default_loss(self) -> Loss:
        raise NotImplementedError

    def _learn(self, problem: Problem, table: Table, y: NDArray) -> None:
        probe_objects(self, problem)
        if by_rule(self):
            begin("weights by a rule")
            weights = weights_by_rule(problem, self.weights, shares_of(self._rows.weight))
            self._keep(svm_at(problem, weights, self.tol))
        elif not traces(self):
            begin("weights")
            self._keep(self._solve(problem))
        else:
            solutions = self._trace(problem, table, y)
            missed = sum(one.status != CONVERGED for one in solutions)
            chosen = solutions[self._position(self.n_features_to_select)]
            self._keep(chosen, missed, len(solutions))

    def _trace(self, problem: Problem, table: Table, y: NDArray) -> list[Solution]:
        """Set the path, and return its solutions."""
        norm = self.regularizer
        if self.exponents is None:
            name, how = "strength", (self.strengths, self.smallest_ratio)
            parameters, steps = tracing.along_strengths(norm, problem, *how)
        else:
            name = "p"
            parameters, steps = tracing.along_exponents(norm, problem, self.exponents)
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
        columns = [self._on_columns(one.weights) for one in solutions]
        self.path_ = path_of(
            solutions,
            parameters,
            weights=np.array([weights for weights, _ in columns]),
            supports=np.array([support for _, support in columns]),
            method=METHOD,
            parameter_name=name,
            feature_names=table.names,
            provenance=self._describe(table, y, task=self._task),
        )
        return solutions

    def _on_columns(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Weights of kernels as weights of columns, and which columns are selected."""
        features, own = self._bound.features, self._constraints
        if own is None:
            found = feature_weights(weights, features, self.n_features_in_)
            return found, found > 0
        total = feature_weights(weights, features, own.n_units)
        moving = ~self._bound.constant  # columns of a group that have a kernel share its weight
        share = moving / np.maximum(np.bincount(own.unit, moving), 1.0)[own.unit]
        return total[own.unit] * share, ((total > 0) | own.unit_kept)[own.unit]

    def _solve(self, problem: Problem) -> Solution:
        """Best of ``n_init`` runs; convex problems need one."""
        regularizer = tracing.at_one_point(self.regularizer, problem)
        problem = replace(problem, regularizer=regularizer)
        found = solve(problem, self.solver, **self._options())
        for _ in range(FEWER if self.regularizer is None and problem.is_convex else 0):
            if found.weights.any():
                break
            problem = replace(problem, regularizer=tracing.weaker(problem.regularizer))
            found = solve(problem, self.solver, **self._options())
        rng = check_random_state(self.random_state)
        for _ in range(1, 1 if problem.is_convex else self.n_init):
            start = natural_start(problem, None)
            start = start * rng.uniform(0.0, 2.0, size=len(start))
            other = solve(problem, self.solver, start, **self._options())
            if other.objective < found.objective:
                found = other
        return found

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"tol": self.tol}
        return options if self.max_iter is None else options | {"max_iter": self.max_iter}

    def _position(self, n_features: Any) -> int:
        """Place of the point to keep: the last, or the one with as many features as asked for."""
        if n_features is None:
            return len(self.path_) - 1
        sizes = self.path_.n_selected
        whole = checks.is_whole(n_features)
        if whole and 0 < n_features <= self.n_features_in_ and not (sizes == n_features).any():
            smaller = int(sizes[sizes < n_features].max(initial=0))
            warn(
                f"No point of the path has exactly {counted(n_features, 'feature')}; the one "
                f"with {smaller} is kept. More points may have one.",
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
        self.feature_importances_, self.support_ = self._on_columns(solution.weights)
        self.dual_coef_ = self._rows.spread(solution.at.U.T)
        self.intercept_ = np.array([one.bias for one in solution.at.solutions])
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.residual_ = solution.residual
        self.n_svm_, self.n_iter_ = solution.n_svm, solution.n_iter
        self.status_ = solution.status
        self.history_ = ConvergenceHistory.of(solution.history)

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

    # -- use ---------------------------------------------------------------------------------------

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

    # -- settings ----------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        checks.real("C", self.C, above=0, bools=True)
        checks.real("tol", self.tol, above=0, bools=True)
        if self.smallest_ratio is not None:
            checks.real("smallest_ratio", self.smallest_ratio, above=0, bools=True)
        if self.tol >= 1:
            raise ValueError(f"tol is a relative gap and must be smaller than 1, got {self.tol!r}")
        least = "be at least 1, a whole number"
        checks.whole("n_init", self.n_init, at_least=1, must=least)
        if self.max_iter is not None:
            checks.whole("max_iter", self.max_iter, at_least=1, must=least)
        check_objects(self.regularizer, self.feasible, self.loss)
        if self.strengths is not None and self.exponents is not None:
            raise ValueError("a path goes over strengths or over exponents; leave out one")
        tracing.check_points("strengths", self.strengths)
        tracing.check_points("exponents", self.exponents)
        refuse_idle(self, IDLE)
        self._check_ratio()

    def _check_ratio(self) -> None:
        """The strengths of a path that is given by their number fall to a part of the largest."""
        counted = self.strengths is not None and np.ndim(self.strengths) == 0
        if counted and self.smallest_ratio is not None:
            checks.real("smallest_ratio", self.smallest_ratio, below=1, must="be smaller than 1")


class GMKLClassifier(ScoredClassifier, GMKLBase):
    r"""Support vector machine that learns its kernel [jain2012]_.

    .. math:: \min_{d \in F}\; r(d) + \min_{w, b} \tfrac12 \|w\|^2
              + C \sum_i \max(0, 1 - y_i f_d(x_i))

    with one weight :math:`d_k` for each kernel.  Sums of kernels are convex, and the result carries
    a certified gap; products are not, and it carries a stationarity residual.

    Parameters
    ----------
    kernel : {"sum", "product", "polynomial", "precomputed"} or object with ``bind(X)``
        Weighted sum of one kernel per feature, product of one Gaussian per feature with the weights
        as widths, polynomial of the weighted inner product, or weighted sum of kernel matrices that
        take the place of ``X``.
    regularizer : Regularizer, optional
        Cost of the weights: ``kp.L1``, ``kp.Lp``, ``kp.ElasticNet``, ``kp.MixedNorm`` or your own.
        Default: l1; a unit of weight costs 0.3 of the loss of a model without features for sums,
        0.01 for products and polynomials, less if that leaves no feature.
    C : float
        Cost of errors.
    base_kernel : str or FeatureKernel
        Kernel of a feature in a sum; ``"auto"`` takes the delta kernel for text,
        ``"multi"`` three Gaussian kernels per feature, of 1, 1/2 and 1/4 standard deviations,
        ``"bandwidths"`` ten of 1/8 to 64, and ``"simple_mkl"`` these ten and three polynomial
        kernels per feature and on all.  Gaussian
        kernels of more columns than memory can hold as factors are computed when needed.
    feasible : FeasibleSet, optional
        Where weights may lie.  Default: anywhere not negative.
    loss : {"hinge", "squared_hinge", "huber_hinge", "least_squares"} or Loss, optional
        Another loss than the hinge, by name with cost ``C``; the Huber hinge is a square up to a
        slack of ``0.1 * C``, so that a large ``C`` changes nothing.
    solver : {"auto", "spg", "pgd", "newton", "alternation", "working_set"}
        To compare with there are ``"spg_published"``, Algorithm 1 of the paper to the letter,
        ``"spg_classical"``, the same with the line search of Eq. (9), and for weights on a simplex
        ``"simple_mkl"``, ``"silp"`` and ``"hessian_mkl"``, as other authors published them.
    tol : float
        Relative gap, or stationarity residual, to reach.
    max_iter : int, optional
    strengths : int or array, optional
        Trace a path over so many strengths, or these; ``path_`` holds it.
    exponents : int or array, optional
        Trace a path over the exponent ``p`` of the regularizer instead: so many from 2 to 1, or
        these.  The factor of the sum of powers stays the same.
    smallest_ratio : float, optional
        Smallest strength of such a path, relative to the largest.  Default: 1e-3 for sums, else
        1e-5.
    n_features_to_select : int, optional
        Point of the path to keep.  Default: the last one.
    n_init : int
        Starting points for kernels that are not sums; along a path each point starts from the last.
    standardize : bool
        Whether products and polynomials see standardised features, and given matrices are centred
        and scaled to a mean diagonal of 1.
    weights : {"learn", "uniform", "centered_kta"} or array
        Learn the weights with the machine, or set them: all equal, by the largest centred alignment
        with the target, or as given.  Then ``gap_`` is that of the machine alone.
    nystrom : int, optional
        Approximate kernels of a sum whose rank is higher by so many rows each (Nystrom), for tables
        with many rows; ``trace_left_out_`` says what that leaves out.  Default: no approximation.
    random_state : int, RandomState or None
    must_include : sequence of str or int, or mask, optional
        Columns that are selected at every point, by name, pattern (``"lab_*"``), position or mask.
        Their weights are learned and cost what those of others do, so they may be 0.
    feature_groups : list of lists of columns, dict of them by name, or labels, optional
        Columns that go in or out together: named as in ``must_include``, or by one label for each
        column.  A group has one weight: its kernel is the mean of the kernels of its columns, which
        share the weight in ``path_``.  For sums of kernels.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,)
    feature_importances_ : ndarray of shape (n_features,)
        Weights of the kernels of each feature, summed.
    support_ : ndarray of bool, shape (n_features,)
    dual_coef_ : ndarray of shape (n_outputs, n_samples)
    intercept_ : ndarray of shape (n_outputs,)
    objective_, gap_, residual_, n_svm_, n_iter_, status_, history_
        Objective, gap (how far it is above its optimum at most, relative; None for products),
        stationarity residual, support vector machines, iterations, and how the solver ended.
    trace_left_out_ : ndarray of shape (n_kernels,)
        With ``nystrom``: share of the trace of each kernel that the approximation leaves out.
    path_ : FeaturePath
        With ``strengths`` or ``exponents``.
    classes_, n_features_in_, feature_names_in_

    References
    ----------
    .. [jain2012] Jain, Vishwanathan, Varma. SPG-GMKL: generalized multiple kernel learning with a
       million kernels. KDD 2012.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=100, n_features=6, random_state=0)
    >>> model = kp.GMKLClassifier().fit(data.X, data.y)
    >>> heaviest = model.feature_importances_.argsort()[-2:]
    >>> sorted(heaviest.tolist()) == sorted(data.relevant.tolist())
    True
    >>> model.gap_ < 1e-3
    True
    """

    _task = "classification"
    _losses = ("hinge", "squared_hinge", "huber_hinge", "least_squares")

    def _targets(self, y: NDArray, sample_weight: Any) -> list[NDArray[np.float64]]:
        check_classification_targets(y)
        target = encode_target(y, task="classification", sample_weight=sample_weight)
        assert target.classes is not None
        self.classes_: NDArray = target.classes
        return against_rest(y, self.classes_)

    def _default_loss(self) -> Loss:
        return Hinge(self.C)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Decision values: positive for the second of two classes, a column per class for more."""
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray:
        """Predict classes."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(np.intp)]
        return self.classes_[values.argmax(axis=1)]


class GMKLRegressor(ScoredRegressor, GMKLBase):
    r"""Support vector regression that learns its kernel; see :class:`GMKLClassifier`.

    The target is standardised inside, so that `C` and `epsilon` are in standard deviations.

    Parameters
    ----------
    kernel, regularizer, C, base_kernel, feasible, solver, tol, max_iter, strengths, exponents, \
smallest_ratio, n_features_to_select, n_init, standardize, weights, nystrom, random_state, \
must_include, feature_groups :
        As for the classifier.
    epsilon : float
        Errors up to this size, in standard deviations of the target, cost nothing.
    loss : {"epsilon_insensitive", "least_squares"} or Loss, optional
        Another loss than the eps-insensitive one, by name with cost ``C``.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> model = kp.GMKLRegressor(C=10.0).fit(X, np.cos(2 * X[:, 1]))
    >>> int(model.feature_importances_.argmax()), bool(model.score(X, np.cos(2 * X[:, 1])) > 0.9)
    (1, True)
    """

    def __init__(
        self,
        kernel: Any = "sum",
        regularizer: Any = None,
        C: float = 1.0,
        epsilon: float = 0.1,
        *,
        base_kernel: Any = "auto",
        feasible: Any = None,
        loss: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        strengths: Any = None,
        exponents: Any = None,
        smallest_ratio: float | None = None,
        n_features_to_select: int | None = None,
        n_init: int = 1,
        standardize: bool = True,
        weights: Any = "learn",
        nystrom: int | None = None,
        random_state: Any = None,
        must_include: Any = None,
        feature_groups: Any = None,
    ) -> None:
        super().__init__(
            kernel, regularizer, C, base_kernel=base_kernel, feasible=feasible, loss=loss,
            solver=solver, tol=tol, max_iter=max_iter, strengths=strengths, exponents=exponents,
            smallest_ratio=smallest_ratio, n_features_to_select=n_features_to_select,
            n_init=n_init, standardize=standardize, weights=weights, nystrom=nystrom,
            random_state=random_state, must_include=must_include, feature_groups=feature_groups,
        )  # fmt: skip
        self.epsilon = epsilon

    _task = "regression"
    _losses = ("epsilon_insensitive", "least_squares")

    def _targets(self, y: NDArray, sample_weight: Any) -> list[NDArray[np.float64]]:
        encode_target(
            y, task="regression", sample_weight=sample_weight
        )  # refuses what is no number
        y = y.astype(np.float64)
        self._unit = size_exponent(np.abs(y).max())
        y = in_units(y, self._unit)
        shares = shares_of(sample_weight)
        self._mean = float(mean_of(y, shares)[0])
        self._scale = float(spread_of(y[:, None], shares)[0]) or 1.0
        return [(y - self._mean) / self._scale]

    def _default_loss(self) -> Loss:
        checks.real("epsilon", self.epsilon, at_least=0, bools=True)
        return EpsilonInsensitive(self.C, self.epsilon)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target."""
        values = self._values(X)[:, 0] * self._scale + self._mean
        with np.errstate(over="ignore"):
            return refuse_infinite(in_units(values, -self._unit))

"""AdditivePathSelector: a thin scikit-learn face on the path of the group lasso."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from kernelpath.alignment.api import check_bandwidth, kernel_per_column, widths_of
from kernelpath.alignment.calibration import several_widths
from kernelpath.estimators._base import DEFAULT_BUDGET, PathSelector
from kernelpath.estimators._ranking import without_width
from kernelpath.estimators.lp_kta import WITHOUT_WIDTH
from kernelpath.kernels import KERNELS, FeatureKernel
from kernelpath.kernels.feature import WIDTH_POWERS, refuse_idle_widths
from kernelpath.path.feature_path import FeaturePath, PathPoint
from kernelpath.path_kernels.bank import KernelBank
from kernelpath.path_kernels.column_factors import N_COMPONENTS, ColumnFactors
from kernelpath.tables import IDENTIFIERS
from kernelpath.tables.any_target import encode_any, joint_target, kind_of, taken
from kernelpath.tables.constant import report_constant
from kernelpath.tables.constraints import Constraints, constraints_of
from kernelpath.tables.outputs import Outputs
from kernelpath.tables.table import Table
from kernelpath.tables.targets import check_sample_weight, encode_target, refuse_weightless
from kernelpath.tracers.additive.path import path_of
from kernelpath.tracers.additive.problem import GroupLasso
from kernelpath.tracers.additive.trace import Traced, Tracer
from kernelpath.utils import checks
from kernelpath.utils.checks import Idle, refuse_idle
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.threads import one_thread_up_to
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

NOT_CLOSED = 100.0  # times the tolerance: a gap that is worth a word
MOST_COMPONENTS = 50
MOST_STRENGTHS = 10_000
ONE_THREAD_ROWS = 1000


def _exact(own: AdditivePathSelector) -> bool:
    """Whether the factors of all kernels are exact."""
    return isinstance(own.kernel, str) and own.kernel in ("delta", "linear", "polynomial")


IDLE = (
    Idle("bandwidth", without_width, WITHOUT_WIDTH),
    Idle("gamma", without_width, WITHOUT_WIDTH),
    Idle("n_components", _exact, "with a linear, polynomial or delta kernel: its factor is exact"),
)  # fmt: skip


class AdditivePathSelector(PathSelector):
    r"""Feature path of an additive model with one non-linear function for each feature.

    .. math:: \min_{b, W}\; \tfrac{1}{2n} \sum_i \sum_c \ell(y_{ic}, f_{ic})
              + \lambda \sum_k \bigl( \|W_k\|_F + \tfrac{\rho}{2} \|W_k\|_F^2 \bigr),
              \qquad f = b + \sum_k F_k W_k

    for a strength :math:`\lambda` that falls from where the first feature enters.  The factor
    :math:`F_k` of the kernel of feature ``k`` is centred and has a mean diagonal of 1, so that this
    is multiple kernel learning with a sum of kernels under the l1 norm [bach2008]_: features are
    judged together, and one that says the same as others does not enter beside them.  Classes have
    the squared hinge :math:`\max(0, 1 - y f)^2` with :math:`y = \pm 1`, one column ``c`` for two
    classes and one for each of more, numbers the squared error.  A feature is one group over all
    columns: it is in for all classes or outputs, or for none.

    Parameters
    ----------
    n_features_to_select : int, float, or None
        Size that ``transform`` keeps: a count, a share of the usable features, or None for 10, or
        as many as there are.
    kernel, bandwidth, gamma
        See :func:`kernelpath.alignments`.  With ``bandwidth="multi"`` or a tuple the kernel of a
        column is the mean of those of all its widths.
    n_components : int
        Rank of the factor of a kernel without an exact one: Nystrom's, with landmarks among the
        values of the column.  Linear, polynomial and delta kernels, and columns of so many values
        and one more, have exact factors.
    ridge : float
        :math:`\rho`, at least 0: the elastic net, which keeps more of a group of features that say
        nearly the same.  Norms are below 1 on most of a path: 3 is much.
    n_strengths : int
        Points of the grid; between them, strengths are solved at which single features enter.
    strength_stop : float
        Where the path ends at the latest, relative to its first strength.
    max_features : int
        The path ends where so many features have a weight.
    tol : float
        Gap to reach at every point, relative to the objective.  A point that takes too many steps
        keeps the gap that it has, which ``path_.gaps`` tells, and a warning if it is large.
    task : {"auto", "classification", "regression"}
        What ``y`` holds, each of its columns for itself.
    n_jobs : int, optional
        Threads for the widths of the kernels.
    missing, identifiers
        See :class:`LpKTASelector`.
    must_include : sequence of str or int, or mask, optional
        Columns that are selected at every point.  They are held as all others are, and their
        weight may be 0.
    feature_groups : list of lists of columns, dict of them by name, or labels, optional
        Columns that go in or out together: the kernel of the group is the mean of theirs.

    Attributes
    ----------
    path_ : FeaturePath
        Points by falling strength.  ``weights`` are norms :math:`\|W_k\|_F`, ``gaps`` are proved
        by a point of the dual problem that is feasible for *all* features, relative to the
        objective, ``kkt`` is the largest violation of the optimality conditions relative to the
        strength.  ``path_.at(n_features=k)`` works for every ``k``: a point of the path, or, with a
        note that says so, the first ``k`` in the order of entry.
    support_ : ndarray of bool, shape (n_features,)
    weights_ : ndarray of shape (n_features,)
        Weights at the chosen point.
    relevance_ : ndarray of shape (n_features,)
        Strength at which a feature would enter if it were the only one.  Those that do not enter on
        the path follow in this order.
    intercepts_ : ndarray of shape (n_points, n_columns)
    n_looked_ : int
        How often a feature was looked at outside of the working set; bounds spared all others.
    n_features_in_, feature_names_in_

    See Also
    --------
    LpKTASelector : features one at a time.
    kernelpath.baselines.L1MKLPath : with logistic loss, for two classes, event by event.

    Notes
    -----
    Features that may have weights are solved by exact steps of one after the other, extrapolated;
    all others are proved to have none by bounds of their dual norms, most of them without a look
    [ndiaye2017]_.  Factors are kept in single precision up to 256 MB and made again beyond, column
    by column, so that neither they nor a sparse table are ever in memory as a whole.  A step takes
    ``n_samples n_components n_columns`` operations for each feature.

    References
    ----------
    .. [bach2008] Bach. Consistency of the group lasso and multiple kernel learning. Journal of
       Machine Learning Research, 2008.
    .. [ndiaye2017] Ndiaye, Fercoq, Gramfort, Salmon. Gap safe screening rules for sparsity
       enforcing penalties. Journal of Machine Learning Research, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelpath as kp
    >>> X = np.random.default_rng(0).normal(size=(200, 20))
    >>> y = X[:, 3] ** 2 + np.abs(X[:, 12]) > 1.5
    >>> X[:, 7] = X[:, 3] + 0.05 * X[:, 7]  # nearly a copy
    >>> kp.LpKTASelector().fit(X, y).path_.at(n_features=2).names
    ('x3', 'x7')
    >>> selector = kp.AdditivePathSelector(n_features_to_select=2).fit(X, y)
    >>> selector.path_.at(n_features=2).names
    ('x3', 'x12')
    >>> bool(selector.path_.gaps.max() <= 1e-6)
    True
    """

    takes_joint_targets = True

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        kernel: str | FeatureKernel = "auto",
        bandwidth: str | Sequence[float] = "std",
        gamma: ArrayLike | None = None,
        n_components: int = N_COMPONENTS,
        ridge: float = 0.0,
        n_strengths: int = 50,
        strength_stop: float = 0.01,
        max_features: int = 60,
        tol: float = 1e-6,
        task: str = "auto",
        n_jobs: int | None = None,
        missing: str = "kernel",
        identifiers: str = "drop",
        must_include: Any = None,
        feature_groups: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.gamma = gamma
        self.n_components = n_components
        self.ridge = ridge
        self.n_strengths = n_strengths
        self.strength_stop = strength_stop
        self.max_features = max_features
        self.tol = tol
        self.task = task
        self.n_jobs = n_jobs
        self.missing = missing
        self.identifiers = identifiers
        self.must_include = must_include
        self.feature_groups = feature_groups

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> AdditivePathSelector:
        """Make the factors and trace the path.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs), or structured array
            Several columns count alike.  A structured array of events and times stands for its
            residuals: see :func:`kernelpath.survival_target`.
        sample_weight : array of shape (n_samples,), optional
            Whole numbers mean repeated rows.

        Returns
        -------
        AdditivePathSelector
        """
        self._check_settings()
        table, given, weight = self._check_rows(X, y, sample_weight)
        units = constraints_of(self, table)
        if weight is not None:
            table, given, weight = _with_weight(table, given, weight)
        with progress_bar(), one_thread_up_to(ONE_THREAD_ROWS, table.n_rows):
            begin("factors of the kernels")
            factors = self._factors(table.within_reach(), given, weight, units)
            constant = factors.bank.constant
            brought = None if units is None else units.brought
            report_constant(table, constant, brought=brought)
            target, hinge = targets_of(given, self.task, weight)
            problem = GroupLasso(factors.root * target, hinge, factors.root, float(self.ridge))
            sizes = None if units is None else units.unit_sizes
            traced = Tracer(problem, factors, tol=float(self.tol), sizes=sizes).run(
                np.geomspace(1.0, float(self.strength_stop), int(self.n_strengths)),
                int(self.max_features),
                begin("strengths"),
            )
        self._warn_of_gaps(traced)
        self.intercepts_ = np.array(traced.intercepts)
        self.n_looked_ = traced.n_looked
        task = kind_of(joint_target(given)) or ("classification" if hinge.any() else "regression")
        self.path_ = path_of(
            traced,
            constant,
            units,
            feature_names=table.names,
            provenance=self._describe(table, given, task=task, n_constant=int(constant.sum())),
        )
        self.relevance_ = self.path_.extension.relevance.copy()  # type: ignore[union-attr]
        point = self._choose_point(self.path_, self.n_features_to_select)
        self.support_ = point.support
        self.weights_ = point.weights
        return self

    def _factors(
        self, table: Table, y: Any, sample_weight: Any, units: Constraints | None
    ) -> ColumnFactors:
        """Factors of all columns, at one width or several."""
        shares, scale = widths_of(self.bandwidth)
        options: dict[str, Any] = {
            "kernel": self.kernel, "sample_weight": sample_weight, "task": self.task,
            "n_jobs": self.n_jobs,
        }  # fmt: skip
        bank = KernelBank.fit(table, y, bandwidth=scale, gamma=self.gamma, **options)
        gammas = [bank.gamma]
        if shares != (1.0,):
            gammas = [self._at_width(bank, table, y, share, options) for share in shares]
            single = np.array([not several_widths(kernel) for kernel in bank.kernels])[bank.which]
            for more in gammas[1:]:
                more[single] = np.nan
        return ColumnFactors.of(bank, gammas, int(self.n_components), units)

    def _at_width(
        self, bank: KernelBank, table: Table, y: Any, share: float, options: dict[str, Any]
    ) -> NDArray[np.float64]:
        """Width parameters of all columns at a share of their scale."""
        powers = [WIDTH_POWERS.get(type(kernel)) for kernel in bank.kernels]
        if None in powers:  # the width of a kernel of one's own may be anything
            return KernelBank.fit(table, y, bandwidth=(share,), **options).gamma.copy()
        single = [not several_widths(kernel) for kernel in bank.kernels]
        powers = [0 if alone else power for alone, power in zip(single, powers)]
        return bank.gamma * share ** np.array(powers, dtype=np.float64)[bank.which]

    def _choose_point(self, path: FeaturePath, n_features: Any) -> PathPoint:
        if n_features is None:
            few = path.sizes[path.sizes <= DEFAULT_BUDGET]
            n_features = int(few[-1] if len(few) else path.sizes[0])
        return super()._choose_point(path, n_features)

    def _warn_of_gaps(self, traced: Traced) -> None:
        open_ = sum(gap > NOT_CLOSED * self.tol for gap in traced.gaps)
        if open_:
            warn(
                f"The gap of {counted(open_, 'point')} of the path is above {NOT_CLOSED:g} times "
                f"tol={self.tol:g}, at most {max(traced.gaps):.1e}; path_.gaps has them all.",
                ConvergenceWarning,
            )

    def _check_kernel(self, table: Table) -> None:
        kernel_per_column(self.kernel, table)

    def _check_settings(self) -> None:
        checks.whole("n_components", self.n_components, at_least=1, at_most=MOST_COMPONENTS)
        checks.real("ridge", self.ridge, at_least=0, must=checks.NOT_NEGATIVE)
        checks.whole("n_strengths", self.n_strengths, at_least=2, at_most=MOST_STRENGTHS)
        checks.real(
            "strength_stop", self.strength_stop, above=0, below=1,
            must="be a share of the first strength, above 0 and below 1",
        )  # fmt: skip
        checks.whole("max_features", self.max_features, at_least=1)
        checks.real("tol", self.tol, at_least=1e-12, at_most=0.1, must="be from 1e-12 to 0.1")
        checks.one_of("identifiers", self.identifiers, IDENTIFIERS)
        if isinstance(self.kernel, str):
            checks.one_of("kernel", self.kernel, [*KERNELS, "auto"], "a FeatureKernel")
        check_bandwidth(self.bandwidth)
        refuse_idle_widths(self.bandwidth, self.gamma)
        refuse_idle(self, IDLE)


def targets_of(
    y: Any, task: str, sample_weight: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Columns of the target, one in each row, and which of them are classes of -1 and 1.

    Numbers are standardised.  With several outputs, each is divided by the root of their number.

    Examples
    --------
    >>> targets_of(np.array(["a", "b", "b", "c"]), "auto")[0].tolist()
    [[1.0, -1.0, -1.0, -1.0], [-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, -1.0, 1.0]]
    """
    joint = joint_target(y)
    if not isinstance(joint, Outputs):
        code = encode_target if joint is None else encode_any
        found = code(y, task=task, sample_weight=sample_weight)
        values = (found.columns[:, 1:] / found.columns[:, :1]).T
        if found.classes is None:
            return values, np.zeros(len(values), dtype=bool)
        return np.where(values > 0, 1.0, -1.0), np.ones(len(values), dtype=bool)
    judged = joint.judged(task)
    assert judged.tasks is not None
    pairs = [(v, t) for v, t in zip(judged.vectors(), judged.tasks) if len(np.unique(v)) > 1]
    parts = [targets_of(vector, own, sample_weight) for vector, own in pairs]
    values = np.concatenate([part for part, _ in parts]) / np.sqrt(len(parts))
    return values, np.concatenate([hinge for _, hinge in parts])


def _with_weight(table: Table, y: Any, sample_weight: Any) -> tuple[Table, NDArray, Any]:
    """Rows with a weight: one of weight 0 is not there."""
    weights = check_sample_weight(sample_weight, table.n_rows)
    keep = np.flatnonzero(weights > 0)
    if len(keep) == len(weights):
        return table, y, weights
    refuse_weightless(np.asarray(y), weights)
    return table.take(keep), taken(y, keep), weights[keep]

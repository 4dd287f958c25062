"""The lp-KTA selector: a thin scikit-learn face on the tracer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from kernelpath.alignment import align_table
from kernelpath.alignment.api import (
    check_bandwidth,
    kernel_per_column,
    without_weightless_rows,
)
from kernelpath.alignment.calibration import CalibratedResult
from kernelpath.alignment.engine import AlignmentResult
from kernelpath.errors import (
    ConstantColumnWarning,
    DataError,
    NothingSelectedWarning,
    naming,
)
from kernelpath.estimators._base import PathSelector
from kernelpath.estimators._ranking import (
    AUTO,
    ONE_WIDTH,
    STATISTICS,
    TOL,
    Ranking,
    ranking_of,
    ranking_without_p_values,
    widths_given,
    without_width,
)
from kernelpath.kernels import FeatureKernel
from kernelpath.path.feature_path import FeaturePath, PathPoint
from kernelpath.path.significance import AlignmentTest
from kernelpath.tables import IDENTIFIERS
from kernelpath.tables.any_target import taken
from kernelpath.tables.constant import report_constant
from kernelpath.tables.constraints import Constraints, constraints_of
from kernelpath.tables.table import Table, unmasked
from kernelpath.tables.targets import Target
from kernelpath.tracers.lp_kta.divergences import Divergence, resolve_divergence
from kernelpath.tracers.lp_kta.problem import INVERSE_E, PNormProblem
from kernelpath.tracers.lp_kta.trace import LARGEST_REFERENCE, SOLVERS, grid, trace_path
from kernelpath.tracers.lp_kta.units import Units
from kernelpath.utils import checks
from kernelpath.utils.checks import Idle, refuse_idle
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.warn import warn

N_PERMUTATIONS = 5
AUTO_NORM = 0.1  # share of the largest alignment
TOP_WEIGHT = 0.5  # weight of the best feature without the norm term, under "auto"


WITHOUT_WIDTH = "with a linear or delta kernel, which has no width"
IDLE = (
    Idle("bandwidth", lambda own: without_width(own) and own.bandwidth != ONE_WIDTH,
         WITHOUT_WIDTH),
    Idle("gamma", without_width, WITHOUT_WIDTH),
    Idle("predictor_order", lambda own: own.solver == "exact",
         "with solver='exact', which predicts nothing"),
    Idle("reference", lambda own: own.bregman_strength == 0,
         "with bregman_strength=0: it is the reference of the divergence"),
    Idle("divergence", lambda own: own.bregman_strength == 0, "with bregman_strength=0"),
    Idle("tol", lambda own: own.statistic == "calibrated",
         "with statistic='calibrated', which ranks by p-values"),
)  # fmt: skip


class LpKTASelector(PathSelector):
    r"""Feature path by Generalized lp-KTA [jawanpuria2014]_.

    .. math:: \min_{\eta \ge 0} \lambda_1 \sum_i B_F(\eta_i) + \lambda_2 \sum_i \eta_i^p
              - \sum_i \eta_i a_i

    for ``p`` falling from ``p_start`` to ``p_stop``.  In the published method :math:`a_i` is the
    centred, trace-normalised kernel-target alignment of feature ``i``
    (:func:`kernelpath.alignments`, here ``statistic="alignment", bandwidth="std"``); by default it
    is what that alignment, at three widths of the kernel, says against chance.
    Features whose weight is at most ``elimination_tol`` are not selected; they leave at juncture
    points as ``p`` falls and never come back.

    Parameters
    ----------
    bregman_strength : float or "auto"
        :math:`\lambda_1`.  ``"auto"``: the best feature would have weight 1/2 without the norm
        term (for the squared Euclidean divergence, the largest alignment).
    norm_strength : float, "auto" or "noise"
        :math:`\lambda_2`.  ``"auto"``: 0.1 of the largest alignment (the largest alignment
        itself when ``bregman_strength=0``).  ``"noise"``: the median over 5 label permutations
        of the largest alignment.  At ``p = 1`` only features stay that exceed this chance level
        of the *best* feature; in a table of pure noise that is none or one or two.
    divergence : {"euclidean", "kl"} or Divergence
        The Bregman divergence :math:`B_F`.
    reference : float or array of shape (n_features,), optional
        :math:`x_0`.  Default 0 for ``"euclidean"`` and ``elimination_tol`` for ``"kl"``, which
        needs it positive.
    p_start, p_stop, step : float
        Grid of ``p``, decreasing; ``p_stop >= 1``.
    elimination_tol : float
        Weight above which a feature is selected; below 1/e, where supports are nested.
    solver : {"exact", "predictor_corrector"}
        Closed-form supports and exact weights, or Algorithm 1 of the paper.
    predictor_order : {0, 1, 2}
        Warm start, first or second order; for ``solver="predictor_corrector"``.
    kernel, gamma
        See :func:`kernelpath.alignments`.
    bandwidth : {"auto", "std", "median", "multi"} or tuple of float
        See :func:`kernelpath.alignments`; ``"multi"`` or a tuple gives each column that of several
        widths at which its alignment is least likely by chance.  ``"auto"``: ``"multi"`` with
        p-values, ``"std"`` with alignments.
    n_features_to_select : int, float, "fdr" or None
        Size that ``transform`` keeps: a count, a share of the usable features, ``"fdr"`` for the
        discoveries at a false discovery rate of 0.1, or None for the sparsest non-empty point of
        the path, which may still hold most features.  A count beyond the columns that are not
        constant keeps all of those, with a warning.
    task : {"auto", "classification", "regression"}
        What ``y`` holds, each of its columns for itself.
    tol : float
        Error of the alignments, relative to the larger of 1 and the alignment.
    n_jobs : int, optional
        Threads for the alignments.
    random_state : int, RandomState or None
        Permutations of ``norm_strength="noise"``.
    missing : {"kernel", "impute", "drop", "error"}
        What becomes of missing values (NaN, None, NaT, masked cells).  ``"kernel"``: in each column
        they are a category of their own, so that it may inform that a value is missing;
        ``"impute"``: the median, or the most frequent category; ``"drop"``: rows with a missing
        value are left out; ``"error"``: refused by name.  Rows without a target are left out.
    identifiers : {"drop", "keep"}
        Whether columns of a dataframe that name its rows (text with a value of its own in most
        rows, row numbers, whole numbers called an id) are left out, with a warning.
    must_include : sequence of str or int, or mask, optional
        Columns that are selected at every point, by name, pattern (``"lab_*"``), position or mask,
        identifiers included.  None of them is ever eliminated: its weight is its own optimal one,
        which may be 0, as that of a constant column is.  The smallest size of the path is their
        number.
    feature_groups : list of lists of columns, dict of them by name, or labels, optional
        Columns that go in or out together, such as those of a variable that was split into
        indicators: named as in ``must_include``, or by one label for each column.  See Notes.
    costs : dict of str to float, or array of shape (n_features,), optional
        What a column costs to measure; 1 for those that a dict does not name.  Cheap features are
        preferred among equals; one of infinite cost is never selected.  See Notes.
    statistic : {"auto", "alignment", "calibrated"}
        What stands for :math:`a_i`; ``score`` is another name of it.  ``"calibrated"``:
        :math:`-\ln p_i`, with the p-value of :func:`kernelpath.alignment_test` over all widths of
        ``bandwidth``; it has the scale of the alignment, is near 1 without relation, too, and makes
        columns of different shape, kernel and width comparable.  Every class counts alike, however
        rare.  At least 8 rows are needed.  ``"auto"``: ``"calibrated"``, but ``"alignment"`` with
        fewer rows, weights that are not whole numbers or p-values that are all 1 whatever the
        order of the target, and where something was set that is
        measured by the alignment or its one width: a strength, ``"noise"``, ``reference``, ``tol``,
        ``gamma``, ``bandwidth="std"`` or ``"median"``, a kernel of your own.

    Attributes
    ----------
    path_ : FeaturePath
        The whole path; ``path_.at(n_features=k)`` works for every ``k`` up to the number of
        columns that are not constant.  With ``must_include`` or ``feature_groups`` it works for
        those in ``path_.sizes``.
    support_ : ndarray of bool, shape (n_features,)
    weights_ : ndarray of shape (n_features,)
        Weights at the chosen point.
    alignments_, alignment_bounds_ : ndarray of shape (n_features,)
        Alignments, at the width of each feature, and bounds on their error.
    test_ : AlignmentTest or None
        P-value and width of each feature; None with one width and ``statistic="alignment"``.
    statistic_ : {"alignment", "calibrated"}
        What was taken for :math:`a_i`.
    bandwidth_ : str, tuple of float or None
        The widths that it was taken at; None where ``gamma`` gives them or the kernel has none.
    bregman_strength_, norm_strength_ : float
        Strengths as used.
    n_features_in_, feature_names_in_

    See Also
    --------
    kernelpath.alignments : the alignments alone.
    kernelpath.alignment_test : the p-values alone.

    Notes
    -----
    With one reference for all features a weight increases with :math:`a_i`, so every support
    is a set of best features: the method ranks features one by one and neither removes
    redundant ones nor sees pure interactions.  Supports cost one sort; the weights at all ``p``
    about as much as the alignments of 800 rows; p-values three to four times as much there, and
    hardly more with many rows.

    With groups or costs the objective has one term for each group ``g`` (a column alone is a group
    of one):

    .. math:: \min_{\eta \ge 0} \lambda_1 \sum_g B_F(\eta_g) + \lambda_2 \sum_g \eta_g^p
              - \sum_g \eta_g a_g, \qquad a_g = \frac{1}{c_g |g|} \sum_{i \in g} a_i

    The kernel of a group is the mean of the trace-normalised kernels of its columns over its cost
    :math:`c_g`, the sum of the costs of its columns in units of the mean over all groups (1
    without costs).  So features are ranked by :math:`a_i` per unit of cost, as a knapsack is filled
    by density, and the currency does not matter.  A group that costs nothing counts as the cheapest
    of the others here.  Every column of a group has the weight :math:`\eta_g / (c_g |g|)` in
    ``path_``, so that the weighted sum of the kernels of all columns is the kernel of the
    objective; constant columns are not counted in :math:`|g|`, and have weight 0 where their
    group is selected.

    References
    ----------
    .. [jawanpuria2014] Jawanpuria, Varma, Nath. On p-norm path following in multiple kernel
       learning for non-linear feature selection. ICML 2014.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=300, n_features=40, random_state=0)
    >>> selector = kp.LpKTASelector(n_features_to_select=2).fit(data.X, data.y)
    >>> bool((selector.get_support(indices=True) == sorted(data.relevant)).all())
    True
    >>> selector.path_.parameters[[0, -1]]
    array([2., 1.])
    >>> selector.statistic_, selector.bandwidth_
    ('calibrated', 'multi')
    """

    takes_joint_targets = True

    def __init__(
        self,
        bregman_strength: float | str = "auto",
        norm_strength: float | str = "auto",
        divergence: str | Divergence = "euclidean",
        reference: ArrayLike | None = None,
        p_start: float = 2.0,
        p_stop: float = 1.0,
        step: float = 0.01,
        elimination_tol: float = 1e-3,
        solver: str = "exact",
        predictor_order: int = 1,
        kernel: str | FeatureKernel = "auto",
        bandwidth: str | Sequence[float] = "auto",
        gamma: ArrayLike | None = None,
        n_features_to_select: float | None = None,
        task: str = "auto",
        tol: float = TOL,
        n_jobs: int | None = None,
        random_state: Any = 0,
        missing: str = "kernel",
        identifiers: str = "drop",
        must_include: Any = None,
        feature_groups: Any = None,
        costs: Any = None,
        statistic: str = "auto",
        **score: str,
    ) -> None:
        self.bregman_strength = bregman_strength
        self.norm_strength = norm_strength
        self.divergence = divergence
        self.reference = reference
        self.p_start = p_start
        self.p_stop = p_stop
        self.step = step
        self.elimination_tol = elimination_tol
        self.solver = solver
        self.predictor_order = predictor_order
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.gamma = gamma
        self.n_features_to_select = n_features_to_select
        self.task = task
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.missing = missing
        self.identifiers = identifiers
        self.must_include = must_include
        self.feature_groups = feature_groups
        self.costs = costs
        # A parameter of this name would hide scikit-learn's method; as a keyword it does not.
        self.statistic = score.get("score", statistic)
        if unknown := sorted(score.keys() - {"score"}):
            raise TypeError(f"LpKTASelector has no parameter {', '.join(map(repr, unknown))}")

    def set_params(self, **params: Any) -> LpKTASelector:
        """Set parameters; ``score`` is another name of ``statistic``.

        Returns
        -------
        LpKTASelector
        """
        if "score" in params:
            params["statistic"] = params.pop("score")
        return super().set_params(**params)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LpKTASelector:
        """Compute the alignments and trace the path.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs), or structured array
            Several columns count alike: features are ranked by the mean of the alignments with
            each.  A structured array of events and times stands for its residuals: see
            :func:`kernelpath.survival_target`.
        sample_weight : array of shape (n_samples,), optional
            Whole numbers mean repeated rows.

        Returns
        -------
        LpKTASelector
        """
        return self._fit(X, y, sample_weight)

    def _fit_by_size(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LpKTASelector:
        """Fit with a path that may store its ends alone.

        ``path_.at(n_features=k)`` is the same point as after `fit`, for every ``k``.
        """
        return self._fit(X, y, sample_weight, by_size=True)

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        by_size: bool = False,
    ) -> LpKTASelector:
        self._check_settings()
        table, y, sample_weight = self._check_rows(X, y, sample_weight)
        constraints = constraints_of(self, table)
        with progress_bar():
            ranking, result, target = self._ranked(table, y, sample_weight)
            self.statistic_ = ranking.statistic
            self.bandwidth_ = None if widths_given(self) else ranking.bandwidth
            brought = None if constraints is None else constraints.brought
            report_constant(table, result.constant, brought=brought)
            problem, units = self._problem(table, y, sample_weight, ranking, result, constraints)
            self.alignments_ = result.values
            self.alignment_bounds_ = result.bounds
            self.test_ = None
            if isinstance(result, CalibratedResult):
                self.test_ = AlignmentTest.of(result, table.names)
            self.bregman_strength_ = problem.bregman_strength
            self.norm_strength_ = problem.norm_strength
            self.path_ = trace_path(
                problem,
                grid(self.p_start, self.p_stop, self.step),
                units=units,
                by_size=by_size,
                solver=self.solver,
                predictor_order=self.predictor_order,
                feature_names=table.names,
                test=self.test_,
                provenance=self._describe(
                    table,
                    y,
                    task=target.task,
                    n_constant=int(result.constant.sum()),
                    chosen=ranking.as_dict(),
                    bregman_strength=problem.bregman_strength,
                    norm_strength=problem.norm_strength,
                ),
            )
        point = self._choose_point(self.path_, self.n_features_to_select)
        self.support_ = point.support
        self.weights_ = point.weights
        return self

    def _sparsest_point(self, path: FeaturePath) -> PathPoint:
        """Return the end of the path; with ``"noise"`` also if nothing is above chance there."""
        if self.norm_strength != "noise" or path.n_selected[-1] > 0:
            return super()._sparsest_point(path)
        text = "No feature exceeds the chance level of norm_strength='noise'; none is selected."
        warn(naming(NothingSelectedWarning(text), "norm_strength"))
        return path[-1]

    def _ranked(
        self, table: Table, y: NDArray, sample_weight: ArrayLike | None
    ) -> tuple[Ranking, AlignmentResult, Target]:
        """What features are ranked by: plain alignments, too, where chance can change none."""
        ranking = ranking_of(self, table.n_rows, sample_weight)
        result, target = self._align(table, y, sample_weight, ranking, begin("alignments"))
        plain = ranking_without_p_values(self)
        if ranking == plain or ranking.scores(result).any():
            return ranking, result, target
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantColumnWarning)  # of outputs, said before
            return plain, *self._align(table, y, sample_weight, plain)

    def _align(
        self,
        table: Table,
        y: NDArray,
        sample_weight: ArrayLike | None,
        ranking: Ranking,
        progress: Callable[[int, int], None] | None = None,
    ) -> Any:
        return align_table(
            table,
            y,
            kernel=self.kernel,
            bandwidth=ranking.bandwidth,
            gamma=self.gamma,
            tol=self.tol,
            n_jobs=self.n_jobs,
            sample_weight=sample_weight,
            task=self.task,
            calibrated=ranking.calibrated,
            progress=progress,
        )

    def _problem(
        self,
        table: Table,
        y: NDArray,
        sample_weight: ArrayLike | None,
        ranking: Ranking,
        result: AlignmentResult,
        constraints: Constraints | None,
    ) -> tuple[PNormProblem, Units | None]:
        """The problem, and which columns its features are where they are not one each."""
        alignments, usable = ranking.scores(result), ~result.constant
        divergence = resolve_divergence(self.divergence, [self.elimination_tol, TOP_WEIGHT])
        reference = _reference(self.reference, divergence, self.elimination_tol, len(alignments))
        units = None
        if constraints is not None:
            units = Units(constraints, alignments, usable, reference)
        values = alignments if units is None else units.values(alignments)
        largest = float(values.max()) or 1.0
        bregman = self.bregman_strength
        if bregman == "auto":
            rise = divergence.derivative(TOP_WEIGHT) - divergence.derivative(reference.min())
            bregman = largest / max(float(rise), 1e-3)
        norm = self.norm_strength
        if norm == "noise":
            norm = self._noise_ceiling(table, y, sample_weight, ranking, units)
        elif norm == "auto":
            norm = largest * (AUTO_NORM if float(bregman) > 0 else 1.0)
        settings: dict[str, Any] = {
            "bregman_strength": float(bregman),
            "norm_strength": float(norm),
            "divergence": divergence,
            "elimination_tol": float(self.elimination_tol),
        }
        if units is not None:
            return units.problem(**settings), units
        problem = PNormProblem(
            alignments=alignments, usable=usable, reference=reference, **settings
        )
        return problem, None

    def _noise_ceiling(
        self,
        table: Table,
        y: NDArray,
        sample_weight: ArrayLike | None,
        ranking: Ranking,
        units: Units | None,
    ) -> float:
        """Median over label permutations of the largest alignment."""
        rng = check_random_state(self.random_state)
        if sample_weight is not None:  # labels move among the rows that count
            values, y, sample_weight = without_weightless_rows(table.values, y, sample_weight)
            table = replace(table, values=values)
        update, largest = begin("permutations"), []
        for done in range(N_PERMUTATIONS):
            shuffled = taken(y, rng.permutation(len(y)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstantColumnWarning)  # of outputs, said before
                found = ranking.scores(self._align(table, shuffled, sample_weight, ranking)[0])
            largest.append((found if units is None else units.values(found)).max())
            update(done + 1, N_PERMUTATIONS)
        return float(np.median(largest))

    def _check_kernel(self, table: Table) -> None:
        kernel_per_column(self.kernel, table)

    def _check_settings(self) -> None:
        self._check_strengths()
        checks.real(
            "elimination_tol", self.elimination_tol, above=0, below=INVERSE_E,
            must="lie between 0 and 1/e = 0.3679, where a weight below it only shrinks as p falls",
        )  # fmt: skip
        self._check_grid()
        if self.solver not in SOLVERS:
            raise ValueError(
                f"solver must be 'exact' or 'predictor_corrector', got {self.solver!r}"
            )
        if self.predictor_order not in (0, 1, 2):
            raise ValueError(f"predictor_order must be 0, 1 or 2, got {self.predictor_order!r}")
        checks.one_of("identifiers", self.identifiers, IDENTIFIERS)
        checks.one_of("statistic", self.statistic, STATISTICS)
        if not (isinstance(self.bandwidth, str) and self.bandwidth == AUTO):
            check_bandwidth(self.bandwidth)
        refuse_idle(self, IDLE)

    def _check_strengths(self) -> None:
        for name, words in (
            ("bregman_strength", ("auto",)),
            ("norm_strength", ("auto", "noise")),
        ):
            value = getattr(self, name)
            if not (isinstance(value, str) and value in words):
                options = " or ".join(repr(word) for word in words)
                checks.real(name, value, at_least=0, must=f"be a number >= 0 or {options}")
        if self.bregman_strength == 0 and self.norm_strength == 0:
            raise ValueError(
                "bregman_strength and norm_strength are both 0: nothing bounds the weights"
            )

    def _check_grid(self) -> None:
        p_range = (self.p_start, self.p_stop, self.step)
        if not all(checks.is_finite(value) for value in p_range):
            raise ValueError(f"p_start, p_stop and step must be numbers, got {p_range}")
        if not (1 <= self.p_stop < self.p_start and self.step > 0):
            raise ValueError(
                "the path needs 1 <= p_stop < p_start and step > 0, got "
                f"p_start={self.p_start!r}, p_stop={self.p_stop!r}, step={self.step!r}"
            )


def _reference(
    reference: ArrayLike | None, divergence: Divergence, eps: float, n_features: int
) -> NDArray[np.float64]:
    """x_0 of every feature."""
    if reference is None:
        reference = eps if divergence.positive_reference else 0.0
    reference = unmasked(reference, "reference")
    try:
        values = np.asarray(reference, dtype=np.float64)
        number = np.asarray(reference).dtype.kind in "iufO"
    except (TypeError, ValueError):
        number = False
    if not number:
        raise DataError(f"reference must be numbers, got {reference!r}.")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_features):
        raise DataError(
            f"reference must be a number or one number per feature ({n_features}), "
            f"got shape {values.shape}."
        )
    if not np.all((values >= 0) & (values <= LARGEST_REFERENCE)):
        raise DataError(f"reference must be from 0 to {LARGEST_REFERENCE:g}, got {_worst(values)}.")
    if divergence.positive_reference and values.min() <= 0:
        raise DataError(f"The divergence {divergence.name!r} needs a positive reference.")
    slope = divergence.derivative(values.min())
    if not np.isfinite(slope):
        raise DataError(
            f"The divergence {divergence.name!r} has the derivative {float(slope)} at "
            f"{values.min():g}; give a reference where it is finite."
        )
    return np.broadcast_to(values, (n_features,)).astype(np.float64)


def _worst(values: NDArray[np.float64]) -> float:
    """The first value that is out of range."""
    return float(np.ravel(values)[np.ravel(~((values >= 0) & (values <= LARGEST_REFERENCE)))][0])

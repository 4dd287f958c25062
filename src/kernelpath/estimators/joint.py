"""JointPathSelector: features judged together, by the loss of rows that are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelpath.alignment.api import align_table
from kernelpath.errors import DataError, naming
from kernelpath.estimators._base import PathSelector
from kernelpath.evaluation.splits import check_group_length
from kernelpath.path.build import build_path, nested_rows
from kernelpath.path.feature_path import FeaturePath, PathPoint
from kernelpath.tables import MISSING
from kernelpath.tables.constant import constant_columns, report_constant
from kernelpath.tables.constraints import columns_of
from kernelpath.tables.missing import imputed, missing_targets
from kernelpath.tables.table import Table
from kernelpath.tables.targets import (
    TASKS,
    against_rest,
    as_vector,
    check_lengths,
    encode_target,
    infer_task,
)
from kernelpath.tracers.any_selector import size_grid, trace
from kernelpath.tracers.joint.columns import JointColumns
from kernelpath.tracers.joint.held_out import HeldOut
from kernelpath.tracers.joint.kernels import KERNELS
from kernelpath.tracers.joint.leave_one_out import LeaveOneOut, Setting
from kernelpath.tracers.joint.path import JointExtension
from kernelpath.tracers.joint.screen import sample_rows, screen
from kernelpath.tracers.joint.trace import JointOrder, joint_order
from kernelpath.utils import checks
from kernelpath.utils.progress import begin, progress_bar
from kernelpath.utils.threads import one_thread_up_to
from kernelpath.utils.warn import warn
from kernelpath.utils.words import counted

METHOD = "joint"
ELIMINATION = "elimination"
ONE_THREAD_ROWS = 1000
FEWEST_ROWS, FEWEST_GROUPS = 5, 3
MATRICES = 10  # of rows by rows, that a step holds at once
MOST_BYTES = 4 * 2**30
IDENTIFIERS = ("drop", "keep")


class JointPathSelector(PathSelector):
    r"""Features that act together: a path by the loss of rows left out, in one kernel of them all.

    .. math:: L(S) = \frac1n \sum_i \max(0,\; y_i r_i)^2, \qquad r_i = \frac{a_i}{B_{ii}}, \quad
              B = (K_S + \lambda I)^{-1}, \quad a = B y

    where :math:`K_S` is one kernel of all features in ``S`` and :math:`r_i` is by how much kernel
    ridge regression misses row ``i`` when it has not seen it, in closed form.  Features leave,
    those first that this loss misses least; the first ten are then exchanged with others while it
    falls.  A feature that says nothing alone, and much together with another one, is found.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number of features or a share of them.  Default: the number with the least loss.
    kernel : {"rbf", "anova"}
        ``"rbf"``: :math:`\exp(-\tfrac ck \sum_j D_j) + 1`, ``D_j`` being squared distances in
        feature ``j`` alone and ``k`` their number.  ``"anova"``:
        :math:`\prod_j (1 + \tfrac ck k_j)`, with kernels of one feature; effects of features alone
        count more.  It takes up to three times as long.
    start : "elimination", sequence of columns, estimator or callable
        Order whose first columns are exchanged: that of the elimination; or another one, which then
        also ranks what comes after them: columns by name or position, the best first, or what
        :class:`PathCV` takes as a selector.
    max_rows : int or None
        Of more rows so many take part, drawn so that all classes keep their shares; None for all.
        Time grows with their third power.
    max_columns : int
        Of more columns so many take part: half of them by their alignment with the target, the
        others by what they do in one kernel of all columns.
    task : {"auto", "classification", "regression"}
    missing : {"kernel", "impute", "drop", "error"}
        What becomes of missing values.  With ``"kernel"`` they are a value of their own.
    identifiers : {"drop", "keep"}
    must_include : sequence of str or int, or mask, optional
        Columns that are in every choice.
    random_state : int, RandomState or None
        Which rows are drawn; None means 0.

    Attributes
    ----------
    path_ : FeaturePath
        Nested, with a point for every number of features.  ``value`` is the loss of rows left out,
        with scale and ridge chosen by it; it is known up to 30 features and on a grid beyond.
    support_ : ndarray of bool, shape (n_features,)
    weights_ : ndarray of shape (n_features,)
        1 for what is selected: the kernel has no weights.
    loo_loss_ : float
        Loss of rows left out for the selected features; NaN where it is not known.
    order_ : ndarray of int
        Columns, the first to be taken first.
    exchanges_ : list of tuple
        Columns that went out, columns that came in for them, and the loss after it.
    n_checked_ : int
        Exchanges of one of the first ten columns that were tried at the end; none lowers the loss.
    scale_, ridge_ : float
        Of the kernel of the selected features: ``c``, and the ridge in units of the mean diagonal.
    rows_ : ndarray of int
        Rows that took part, of those with a target.
    n_features_in_, feature_names_in_, classes_

    See Also
    --------
    LpKTASelector : one feature at a time, for tables of any size.

    Notes
    -----
    A category or a number with missing values is one feature of several columns.  A sparse table is
    made dense for the rows and columns that take part, in blocks before that.

    The loss is that of the rows it was chosen by, hence too small: choose how many features by
    :class:`PathCV`, which traces the path anew in every fold.  With fewer than about 60 rows it is
    a poor judge.  Rows that belong together, as several of one person do, must be left out
    together: give ``groups``.

    Sample weights are not taken: a row that stands for several could not be left out alone.

    References
    ----------
    .. [guyon2002] Guyon, Weston, Barnhill, Vapnik. Gene selection for cancer classification using
       support vector machines. Machine Learning, 2002.
    .. [cawley2004] Cawley, Talbot. Fast exact leave-one-out cross-validation of sparse
       least-squares support vector machines. Neural Networks, 2004.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_xor(150, 12, order=2, random_state=0)
    >>> selector = kp.JointPathSelector(2).fit(data.X, data.y)
    >>> selector.get_support(indices=True).tolist() == data.relevant.tolist()
    True
    """

    takes_groups = True  # of rows that are left out together

    def __init__(
        self,
        n_features_to_select: Any = None,
        kernel: str = "rbf",
        *,
        start: Any = ELIMINATION,
        max_rows: int | None = 600,
        max_columns: int = 3000,
        task: str = "auto",
        missing: str = "kernel",
        identifiers: str = "drop",
        must_include: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.start = start
        self.max_rows = max_rows
        self.max_columns = max_columns
        self.task = task
        self.missing = missing
        self.identifiers = identifiers
        self.must_include = must_include
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> JointPathSelector:
        """Order the columns and choose a number of them.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        groups : array of shape (n_samples,), optional
            Rows of one group are left out together.

        Returns
        -------
        JointPathSelector
        """
        self._check_settings()
        codes = None if groups is None else _group_codes(groups)
        table, y, codes = self._check_rows(X, y, codes)
        y = as_vector(y)
        check_lengths(table.n_rows, y)
        check_group_length(codes, table.n_rows)
        with progress_bar():
            self._fit(table, y, codes)
        return self

    def _fit(self, table: Table, y: NDArray, groups: NDArray[np.intp] | None) -> None:
        values, codes = self._target(y)
        kept = np.zeros(table.shape[1], dtype=bool)
        kept[columns_of(self.must_include, table)] = True
        constant = constant_columns(table)
        report_constant(table, constant, brought=kept)
        rows = self._rows(table, values if not codes else np.unique(y, return_inverse=True)[1])
        self.rows_ = rows
        target = HeldOut(values[rows], codes, None if groups is None else groups[rows])
        _check_groups(target.groups)
        part = table.take(rows)
        with one_thread_up_to(ONE_THREAD_ROWS, len(rows)):
            columns, rest = self._columns(table, part, y, target, kept, ~constant)
            features = JointColumns.of(part, columns)
            problem = LeaveOneOut(KERNELS[self.kernel](features), target)
            place = np.full(table.shape[1], -1)
            place[features.source] = np.arange(features.n_features)
            fixed = place[np.flatnonzero(kept)]
            found = joint_order(
                problem,
                np.arange(features.n_features),
                start=self._start(table, y, place),
                fixed=fixed[fixed >= 0],
                tell=begin,
            )
            settings = self._settings(problem, found, int((fixed >= 0).sum()))
        still = np.flatnonzero(kept & (place < 0))
        ordered = features.source[found.order]
        rest = np.concatenate([rest, np.setdiff1d(columns, features.source)]).astype(np.intp)
        self.order_ = np.concatenate([still, ordered, rest[~kept[rest]]]).astype(np.int64)
        self._keep(table, y, codes, settings, len(still), int(kept.sum()))
        exchanged = found.exchanged
        self.n_checked_ = 0 if exchanged is None else exchanged.n_checked
        self.exchanges_ = [
            (int(features.source[one.out]), int(features.source[one.into]), one.loss)
            for one in (exchanged.exchanges if exchanged is not None else [])
        ]

    # -- the target and the rows ------------------------------------------------------------------

    def _target(self, y: NDArray) -> tuple[NDArray[np.float64], bool]:
        """Columns of the target, and whether they are codes."""
        task = infer_task(y, self.task)
        encoded = encode_target(y, task=task)
        if task == "regression":
            if hasattr(self, "classes_"):
                del self.classes_
            return encoded.columns[:, 1:], False
        assert encoded.classes is not None
        self.classes_: NDArray = encoded.classes
        return np.column_stack(against_rest(y, self.classes_)), True

    def _rows(self, table: Table, label: NDArray) -> NDArray[np.intp]:
        """Rows that take part."""
        n = table.n_rows
        if n < FEWEST_ROWS:
            raise DataError(
                f"JointPathSelector leaves rows out one at a time and needs at least {FEWEST_ROWS} "
                f"rows, got n_samples = {n}."
            )
        taking = n if self.max_rows is None else min(n, int(self.max_rows))
        needed = 8.0 * MATRICES * taking**2
        if needed > MOST_BYTES:
            error = DataError(
                f"Kernel matrices of {taking:,} rows would need {needed / 2**30:.0f} GB, more than "
                f"the {MOST_BYTES / 2**30:.0f} GB that are allowed; lower max_rows."
            )
            raise naming(error, "max_rows")
        if taking < n and table.hashed:  # a training part of a fold says nothing
            text = (
                f"Of {n:,} rows {taking:,} take part, drawn so that the target keeps its shares; "
                "max_rows says how many."
            )
            warn(naming(UserWarning(text), "max_rows"))
        label = label[:, 0] if label.ndim > 1 else label
        return sample_rows(table, label, taking, checks.seed_of(self.random_state))

    # -- the columns ------------------------------------------------------------------------------

    def _columns(
        self,
        table: Table,
        part: Table,
        y: NDArray,
        target: HeldOut,
        kept: NDArray[np.bool_],
        usable: NDArray[np.bool_],
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns that take part, and the others in their order."""
        columns, most = np.flatnonzero(usable), int(self.max_columns)
        if len(columns) <= most:
            return columns, np.zeros(0, dtype=np.intp)
        n_kept = int((kept & usable).sum())
        if n_kept > most:
            error = DataError(
                f"{counted(n_kept, 'column')} must be in, more than max_columns={most}."
            )
            raise naming(error, "max_columns")
        result, _ = align_table(table, y, task=self.task, tol=1e-6, progress=begin("alignments"))
        scores = np.where(kept, np.inf, result.values)[columns]
        by_alignment = columns[np.argsort(-scores, kind="stable")]
        chosen = screen(
            lambda which: JointColumns.of(part, which),
            columns,
            target,
            most,
            by_alignment[: max(most // 2, n_kept)],
            begin("screen"),
        )
        return chosen, by_alignment[~np.isin(by_alignment, chosen)]

    def _start(self, table: Table, y: NDArray, place: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Features in the order to start with, if it is not that of the elimination."""
        if isinstance(self.start, str) and self.start == ELIMINATION:
            return None
        if hasattr(self.start, "fit") or callable(self.start):
            own = getattr(self.start, "reads_tables", False)
            traced = trace(self.start, table if own else imputed(table).values, y)
            order = traced.path.entry_order() if traced.path is not None else traced.order
            assert order is not None
        else:
            order = np.concatenate([columns_of([one], table, "start") for one in self.start])
        found = place[order]
        return found[found >= 0]

    # -- the path ---------------------------------------------------------------------------------

    def _settings(self, problem: LeaveOneOut, found: JointOrder, least: int) -> dict[int, Setting]:
        """Settings of the kernel, with their losses, at the sizes whose loss is known."""
        update = begin("losses")
        n = len(found.order)
        sizes = [k for k in [0, *size_grid(n).tolist()] if k >= least] if n else [0]
        settings: dict[int, Setting] = {}
        last = None
        for done, k in enumerate(sizes):
            settings[k] = last = problem.tune(found.order[:k], last)
            update(done + 1, len(sizes))
        return settings

    def _keep(
        self,
        table: Table,
        y: NDArray,
        codes: bool,
        settings: dict[int, Setting],
        n_still: int,
        n_kept: int,
    ) -> None:
        known = {k + n_still: one for k, one in settings.items()}
        sizes = sorted(known)
        if len(self.order_) > sizes[-1]:
            sizes.append(len(self.order_))
        losses = np.array([known[k].loss if k in known else np.nan for k in sizes])
        ones = np.ones(table.shape[1])
        self.path_ = build_path(
            method=METHOD,
            parameter_name="n_features",
            parameters=sizes,
            weights=nested_rows(self.order_, sizes, ones),
            values=losses,
            feature_names=table.names,
            provenance=self._describe(
                table, y, task="classification" if codes else "regression", n_rows=len(self.rows_)
            ),
            extension=JointExtension(self.order_, n_kept),
        )
        point = self._choose_point(self.path_, self.n_features_to_select)
        self.support_, self.weights_ = point.support, point.weights
        self.loo_loss_ = float(point.value)
        setting = known.get(point.n_selected, Setting(np.nan, np.nan, np.nan))
        self.scale_, self.ridge_ = setting.scale, setting.ridge

    def _sparsest_point(self, path: FeaturePath) -> PathPoint:
        """The point with the least loss of rows left out."""
        losses = np.where(path.n_selected > 0, path.values, np.nan)
        return path[int(np.nanargmin(losses))] if np.isfinite(losses).any() else path[-1]

    def _check_settings(self) -> None:
        checks.one_of("kernel", self.kernel, KERNELS)
        checks.one_of("task", self.task, TASKS)
        checks.one_of("missing", self.missing, MISSING)
        checks.one_of("identifiers", self.identifiers, IDENTIFIERS)
        if isinstance(self.start, str):
            others = "columns in their order, a selector or a function"
            checks.one_of("start", self.start, [ELIMINATION], others)
        elif isinstance(self.start, type) or not (
            hasattr(self.start, "fit") or callable(self.start) or np.iterable(self.start)
        ):
            raise ValueError(
                "start must be 'elimination', columns in their order, a selector or a function, "
                f"got {self.start!r}"
            )
        if self.max_rows is not None:
            checks.whole("max_rows", self.max_rows, at_least=FEWEST_ROWS)
        checks.whole("max_columns", self.max_columns, at_least=1)


def _group_codes(groups: ArrayLike) -> NDArray[np.intp]:
    """Groups as numbers."""
    given = np.asarray(groups)
    if given.ndim != 1:
        raise DataError(f"groups must be one-dimensional, got an array of shape {given.shape}.")
    if missing_targets(given).any():
        raise DataError("groups has missing values; give every row a group.")
    return np.unique(given, return_inverse=True)[1].astype(np.intp)


def _check_groups(groups: NDArray[np.intp] | None) -> None:
    """Refuse groups that are too few to leave one out."""
    if groups is not None and (n := len(np.unique(groups))) < FEWEST_GROUPS:
        raise DataError(
            f"Groups are left out one at a time: at least {FEWEST_GROUPS} are needed, and there "
            f"{'is' if n == 1 else 'are'} {n}; leave groups out, or give more."
        )
